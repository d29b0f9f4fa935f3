//! `assay compare`: words → plan → study → result.

use std::path::Path;

use anyhow::{Context, Result};
use assay_ledger::Ledger;
use assay_plan::MachineFacts;

use crate::cli::Compare;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::study::{self, Environment};
use crate::{paths, report};

/// Runs the main job.
pub(crate) fn run(args: &Compare, cache_dir: Option<&Path>) -> Result<Exit> {
    let cache_dir = paths::cache_dir(cache_dir)?;
    fs_err::create_dir_all(&cache_dir)?;
    let plan = assay_plan::plan(&args.request(), machine_facts(&cache_dir)?)?;

    let ledger_file = paths::ledger_file(args.ledger.file.as_deref())?;
    let mut ledger = Ledger::open(&ledger_file)?;
    let progress = Progress::new(args.quiet);
    let environment = Environment {
        cache_dir,
        offline: args.offline,
        accept_expired_index: args.accept_expired_index,
        progress: &progress,
        interrupt: Interrupt::listen()?,
    };
    let outcome = study::run(plan, &environment, &mut ledger);
    progress.finish();
    let (id, interrupted) = match outcome {
        Ok(id) => (id, false),
        // What was asked to stop may also fail because of it, such as a package client that got the same Ctrl-C.
        Err(stopped) if environment.interrupt.check().is_err() => match stopped.study {
            Some(id) => (id, true),
            None => return Ok(Exit::Interrupted),
        },
        Err(stopped) => {
            if let Some(id) = stopped.study {
                let file = ledger_file.display();
                anstream::eprintln!("note: what was measured is kept as study `{id}` in `{file}`");
            }
            return Err(stopped.error);
        }
    };
    let record = ledger.read(&id).context("cannot read back what was measured")?;
    let exit = report::write(&record, &args.output)?;
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

fn machine_facts(data: &Path) -> Result<MachineFacts> {
    Ok(MachineFacts {
        cpus: assay_probe::cpus_allowed()?.len() as u32,
        memory_mb: assay_probe::available_memory_kb()? / 1024,
        disk_mb: assay_probe::free_disk_kb(data)? / 1024,
    })
}
