//! `assay audit`: starts systems and compares their effective settings. No load.

use std::path::Path;

use anyhow::{Context, Result};
use assay_model::System;
use assay_plan::Request;
use assay_servers::Server;

use crate::cli::{Audit, ShapeWord};
use crate::exit::Exit;
use crate::machine_lock::MachineLock;
use crate::progress::Progress;
use crate::report;
use crate::server::environment;
use crate::study::{Stage, empty_template, participants};

/// Compares the systems as a study would start them.
pub(crate) fn run(args: &Audit, cache_dir: Option<&Path>) -> Result<Exit> {
    let progress = Progress::new(args.quiet);
    let env = environment(cache_dir, args.offline, args.accept_expired_index, &progress)?;
    let machine = crate::compare::machine_facts(&env.cache_dir)?;
    let plan = assay_plan::plan(&Request::of_systems(&args.systems), machine)?;
    let participants = participants(&plan, &env)?;
    let _lock = MachineLock::wait(&progress, &env.interrupt)?;
    let stage = Stage::new(&env)?;
    stage.collect_garbage()?;
    let systems: Vec<System> = participants.iter().map(|it| it.system.clone()).collect();
    let mut settings = Vec::with_capacity(systems.len());
    for system in &systems {
        env.interrupt.check()?;
        let empty = empty_template(&env, &system.prefix, &system.options, &system.name)?;
        progress.update(&format!("starting {}", system.name));
        let server = Server::start(&stage.site, &system.prefix, &system.options, &empty)
            .with_context(|| format!("cannot start `{}`", system.name))?;
        settings.push(assay_servers::effective_settings(&mut server.connect()?)?);
        server.stop()?;
    }
    progress.finish();
    let builds: Vec<_> = systems.iter().map(|system| &system.prefix).collect();
    let overrides: Vec<_> = systems.iter().map(|it| it.spec.overrides.as_slice()).collect();
    let findings = assay_servers::audit::compare(&settings, &builds, &overrides);
    report::write_stdout(&match args.shape.format {
        ShapeWord::Text => assay_report::audit_text(&systems, &findings),
        ShapeWord::Json => assay_report::audit_json(&systems, &findings),
    })?;
    Ok(Exit::Done)
}
