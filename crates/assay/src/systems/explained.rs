//! The plans of a test's statements, as its clients' sessions get them: of the statement as text, and of later
//! executions of the prepared one.

use std::sync::Arc;

use anyhow::Result;
use assay_load::{connect_as_client, workload_of};
use assay_model::{StatementMode, System, Test};
use assay_servers::audit::Plan;
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::Program;

use super::again::{Again, later_executions};
use super::questions::{Questions, setup};
use super::shortened::shortened;
use super::study_tables::Warm;
use super::walk::walk;

/// The plans of a test's statements, with the values of the first event that has them.
pub(super) fn plans(
    options: &ConnectOptions,
    system: &System,
    test: Test,
    asked: &Questions,
    _: &Warm,
) -> Result<Vec<Plan>> {
    let dialect = system.spec.product.dialect();
    let program = Arc::new(Program::new(dialect, test, setup(asked.data), StatementMode::Text));
    let mut control = connect_as_client(options, &program)?;
    let mut plans: Vec<(usize, Plan)> = Vec::new();
    let itself: fn(&mut Connection) -> &mut Connection = |it| it;
    walk(dialect, &program, asked.seed, (&mut control, itself), &mut |control, number, found| {
        let Some(sql) = found.text(dialect) else { return Ok(()) };
        if let Some(explained) = assay_servers::explain(control, &sql)? {
            let (test, statement) = (test.name.clone(), shortened(&found.statement.sql));
            let (plan, notes) = (explained.plan, explained.warnings);
            plans.push((number, Plan { test, statement, plan, notes }));
        }
        Ok(())
    })?;
    // Statements that clients put together only while they work.
    let examples = workload_of(&test.definition().schema).examples();
    for (number, (told, sql)) in (program.statements().len()..).zip(examples) {
        if let Some(explained) = assay_servers::explain(&mut control, &sql)? {
            let (test, statement) = (test.name.clone(), shortened(&told));
            let (plan, notes) = (explained.plan, explained.warnings);
            plans.push((number, Plan { test, statement, plan, notes }));
        }
    }
    if asked.statements == StatementMode::Prepared {
        let program = Arc::new(Program::new(dialect, test, setup(asked.data), asked.statements));
        for (number, Again { does, note }) in later_executions(options, dialect, &program, asked)? {
            for (_, plan) in plans.iter_mut().filter(|(of, _)| *of == number) {
                plan.plan += &format!("; {does}");
                plan.notes.extend(note.clone());
            }
        }
    }
    Ok(distinct(plans.into_iter().map(|(_, plan)| plan).collect()))
}

/// Numbers the statements that are no different in short.
fn distinct(mut plans: Vec<Plan>) -> Vec<Plan> {
    let mut seen: Vec<String> = Vec::with_capacity(plans.len());
    for plan in &mut plans {
        let count = seen.iter().filter(|it| **it == plan.statement).count();
        seen.push(plan.statement.clone());
        if count > 0 {
            plan.statement += &format!(" #{}", count + 1);
        }
    }
    plans
}
