//! Plans of a test's statements, as in its clients' sessions: of the statement as text, and of later executions of the
//! prepared one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use assay_load::{connect_as_client, workload_of};
use assay_model::{StatementMode, System, Test};
use assay_servers::audit::AuditedPlan;
use assay_wire::{ConnectOptions, Connection};
use assay_workloads::EventProgram;

use super::later_executions::{LaterExecution, later_executions};
use super::statements::{Questions, setup, shortened, walk};
use super::study_tables::Warm;

const VALUES: u32 = 64;

/// No further values are tried after this time.
const LIMIT: Duration = Duration::from_millis(300);

pub(super) fn plans_of(
    options: &ConnectOptions,
    system: &System,
    test: Test,
    asked: &Questions,
    _: &Warm,
) -> Result<Vec<AuditedPlan>> {
    let dialect = system.spec.product.dialect();
    let program =
        Arc::new(EventProgram::new(dialect, test, setup(asked.data), StatementMode::Text));
    let mut plans: Vec<(usize, AuditedPlan)> = Vec::new();
    let mut spent: BTreeMap<usize, (u32, Duration)> = BTreeMap::new();
    let is_own = program.is_own();
    let itself: fn(&mut Connection) -> &mut Connection = |it| it;
    for session in 0..program.sessions().len() {
        let mut control = connect_as_client(options, &program, session)?;
        let (connection, of_session) = ((&mut control, itself), (&program, session));
        walk(dialect, of_session, asked.seed, connection, &mut |control, number, found| {
            let Some(sql) = found.text(dialect) else { return Ok(false) };
            let began = Instant::now();
            let Some(explained) = assay_servers::explain(control, &sql)? else { return Ok(false) };
            let (test, statement) = (test.name.clone(), shortened(&found.statement.sql));
            let (plan, notes) = (explained.plan, explained.warnings);
            let (event, place) = (found.event, is_own.then_some(found.statement.place));
            plans.push((number, AuditedPlan { test, statement, place, event, plan, notes }));
            let (times, time) = spent.entry(number).or_default();
            *times += 1;
            *time += began.elapsed();
            Ok(*times < VALUES && *time < LIMIT && !found.statement.params.is_empty())
        })?;
    }
    let mut control = connect_as_client(options, &program, 0)?;
    // Statements that clients build only at run time.
    let examples = workload_of(&test.definition().schema).examples();
    for (number, (message, sql)) in (program.statements().len()..).zip(examples) {
        if let Some(explained) = assay_servers::explain(&mut control, &sql)? {
            let (test, statement) = (test.name.clone(), shortened(&message));
            let (plan, notes) = (explained.plan, explained.warnings);
            let (event, place) = (0, None);
            plans.push((number, AuditedPlan { test, statement, place, event, plan, notes }));
        }
    }
    if asked.statements == StatementMode::Prepared {
        let program =
            Arc::new(EventProgram::new(dialect, test, setup(asked.data), asked.statements));
        for (number, LaterExecution { does, note }) in
            later_executions(options, dialect, &program, asked)?
        {
            // They belong to the first values of a statement.
            if let Some((_, plan)) = plans.iter_mut().find(|(own, _)| *own == number) {
                plan.plan += &format!("; {does}");
                plan.notes.extend(note.clone());
            }
        }
    }
    Ok(distinct(plans))
}

/// Numbers the statements whose short forms are equal.
fn distinct(plans: Vec<(usize, AuditedPlan)>) -> Vec<AuditedPlan> {
    let mut seen: Vec<(usize, String)> = Vec::new();
    let named = plans.into_iter().map(|(number, mut plan)| {
        let alike = || seen.iter().filter(|(_, statement)| *statement == plan.statement);
        let before = alike().take_while(|(own, _)| *own != number).count();
        if alike().all(|(own, _)| *own != number) {
            seen.push((number, plan.statement.clone()));
        }
        if before > 0 {
            plan.statement += &format!(" #{}", before + 1);
        }
        plan
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_are_alike_in_short_have_numbers() {
        let plan = |number: usize, statement: &str, event| {
            let plan = AuditedPlan {
                test: "t".to_owned(),
                statement: statement.to_owned(),
                place: None,
                event,
                plan: String::new(),
                notes: Vec::new(),
            };
            (number, plan)
        };
        let all = [
            plan(0, "SELECT …", 0),
            plan(2, "SELECT …", 0),
            plan(1, "DELETE …", 0),
            plan(0, "SELECT …", 1),
            plan(2, "SELECT …", 1),
        ];
        let named: Vec<String> =
            distinct(all.to_vec()).into_iter().map(|plan| plan.statement).collect();
        assert_eq!(named, ["SELECT …", "SELECT … #2", "DELETE …", "SELECT …", "SELECT … #2"]);
    }
}
