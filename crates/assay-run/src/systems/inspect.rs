//! Reads everything that the audit compares from a running server with data.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use assay_load::{ClientSession, ClientWork};
use assay_model::{DataSet, IbenchStep, StartFrom, Study, System, Test};
use assay_servers::audit::{AuditFacts, AuditedPlan};
use assay_wire::Connection;
use assay_workloads::sql::is_control;
use assay_workloads::{IbenchStatement, IbenchTable, ibench_statements};

use super::instance::Instance;
use super::plans::plans_of;
use super::statements::{Questions, setup, shortened};

const COLD: &str = "internal error: plans are asked of a server whose caches are cold";

pub fn facts(server: &Instance, system: &System, asked: &Questions) -> Result<AuditFacts> {
    let mut control = Connection::connect(&server.connect_options())?;
    let mut settings = assay_servers::effective_settings(&mut control)?;
    settings.extend(assay_servers::answers(&mut control, &system.spec, server.log().as_deref())?);
    // If the server runs on another machine, its process is unknown.
    if let Some(pid) = server.pid() {
        match (server, assay_servers::build_facts(pid, &system.artifact)) {
            // Its files may be gone, or in a container.
            (Instance::Attached(_), Err(_)) => {}
            (_, facts) => settings.extend(facts?),
        }
    }
    settings.extend(assay_servers::flag_facts(&system.spec));
    let syntax = system.spec.product.dialect();
    let PrepareRefusals { statements, failing } = unprepared(server, system, asked)?;
    // Statements that begin and end transactions have no plan.
    let (control_of, work): (Vec<_>, Vec<_>) =
        statements.into_iter().partition(|sql| is_control(sql, syntax));
    let work: Vec<String> = work.iter().map(|sql| shortened(sql)).collect();
    settings.insert("session.unprepared".to_owned(), work.join(", "));
    settings.insert("session.unprepared_control".to_owned(), control_of.join(", "));
    let mut plans = Vec::new();
    for test in asked.tests.iter().filter(|test| !failing.contains_key(*test)) {
        let warm = asked.warm.context(COLD)?;
        plans.extend(plans_of(&server.connect_options(), system, *test, asked, warm)?);
    }
    let failing: Vec<String> =
        failing.into_iter().map(|(test, why)| format!("{}: {why}", test.name)).collect();
    settings.insert("session.cannot_run".to_owned(), failing.join("; "));
    Ok(AuditFacts { settings, plans, ..AuditFacts::default() })
}

pub fn data_fact(
    study: &Study,
    data: DataSet,
    state: StartFrom,
    (rows, checksum): (u64, &str),
) -> (String, String) {
    let data = if study.has_known_tables() { data.to_string() } else { "tables".to_owned() };
    let state = match state {
        StartFrom::Fresh => "as loaded",
        StartFrom::Aged => "aged",
    };
    (format!("data.{data} {state}"), format!("{rows} rows, checksum {checksum}"))
}

#[derive(Default)]
struct PrepareRefusals {
    /// Statements that are sent as text instead.
    statements: Vec<String>,
    failing: BTreeMap<Test, String>,
}

/// Finds statements that a server refuses to prepare, like the measured clients. A test that cannot run fails when it
/// is measured, and prevents no other.
fn unprepared(server: &Instance, system: &System, asked: &Questions) -> Result<PrepareRefusals> {
    let mut refused = PrepareRefusals::default();
    for test in asked.tests {
        let work = ClientWork {
            dialect: system.spec.product.dialect(),
            test: *test,
            setup: setup(asked.data),
            statements: asked.statements,
            seed: asked.seed,
        };
        match ClientSession::open(&server.connect_options(), &work, &[]) {
            Ok(session) => refused.statements.extend_from_slice(session.unprepared()),
            // A mix goes on without the kind of events that the server refuses.
            Err(assay_load::LoadError::Prepare { source, .. })
                if source.server_code().is_some() && is_mix(*test) => {}
            Err(assay_load::LoadError::Prepare { source, .. })
                if source.server_code().is_some() =>
            {
                refused.failing.insert(*test, source.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    refused.statements.sort_unstable();
    refused.statements.dedup();
    Ok(refused)
}

fn is_mix(test: Test) -> bool {
    test.definition().roles.iter().map(|role| role.script.mix.len()).sum::<usize>() > 1
}

pub fn explain_queue<'a>(
    control: &mut Connection,
    table: &IbenchTable,
    steps: impl IntoIterator<Item = &'a IbenchStep>,
    lowest: u64,
) -> Result<Vec<AuditedPlan>> {
    let mut plans = Vec::new();
    for IbenchStatement { purpose, shape, sql } in ibench_statements(table, steps, lowest) {
        if let Some(found) = assay_servers::explain(control, &sql)? {
            let (test, plan, notes) = (purpose.to_owned(), found.plan, found.warnings);
            let (statement, place, event) = (shape, None, 0);
            plans.push(AuditedPlan { test, statement, place, event, plan, notes });
        }
    }
    Ok(plans)
}
