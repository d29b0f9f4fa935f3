//! A test on sysbench's tables as a Lua script for sysbench.

use std::fmt::Write as _;

use assay_model::{Distribution, Fill, StatementMode, Step, TableChoice};

use crate::finding::{Finding, ReproFile, ReproRefusal, SEND_PACK, line};

const EVENT: &str = include_str!("run/event.lua");

pub(crate) fn file(finding: &Finding<'_>) -> Result<ReproFile, ReproRefusal> {
    let test = finding.cell.test;
    let setup = finding.cell.setup;
    let Some(script) = test.roles.first().map(|role| &role.script) else {
        return Err(inexpressible(finding));
    };
    let exponent = match script.draw {
        Distribution::Uniform => "nil".to_owned(),
        Distribution::Zipfian { s } => s.to_string(),
        Distribution::Gaussian | Distribution::Special | Distribution::Pareto { .. } => {
            return Err(inexpressible(finding));
        }
    };
    let mut lua = format!(
        "-- The test {} for sysbench 1.0 and later: {}.\n\n\
         -- Tables sbtest1 to sbtest<TABLES>; statements draw ids and values of k from 1 to ROWS, all alike unless\n\
         -- there is an exponent, that of a Zipfian distribution.\n\
         local TABLES, ROWS, EXPONENT = {}, {}, {exponent}\n\n\
         -- The statements of an event, in order. `sbtest` stands for one of the tables.\n\
         local STEPS = {{\n",
        line(test.name()),
        line(&test.does),
        setup.tables,
        script.rows.unwrap_or(setup.rows),
    );
    for step in &script.steps {
        let _ = writeln!(lua, "   {},", step_row(finding, step)?);
    }
    lua += "}\n";
    lua += EVENT;
    Ok(ReproFile::new("test.lua", lua))
}

fn step_row(finding: &Finding<'_>, step: &Step) -> Result<String, ReproRefusal> {
    if step.renews.is_some() {
        return Err(inexpressible(finding));
    }
    let table = match step.table {
        TableChoice::None => "none",
        TableChoice::Drawn => "drawn",
        TableChoice::Same => "same",
        TableChoice::OfClient => "client",
        TableChoice::Scratch => return Err(inexpressible(finding)),
    };
    let part = |fill: &Fill| match fill {
        Fill::Drawn(count) => Some(format!("{{ \"drawn\", {count} }}")),
        Fill::Again => Some("{ \"again\" }".to_owned()),
        Fill::Plus(distance) => Some(format!("{{ \"plus\", {distance} }}")),
        Fill::Hot(count) => Some(format!("{{ \"hot\", {count} }}")),
        Fill::Digits(groups) => Some(format!("{{ \"digits\", {groups} }}")),
        Fill::InPart(_) | Fill::Rows(_) | Fill::Unused => None,
    };
    let parts: Option<Vec<String>> = step.fill.iter().map(part).collect();
    let parts = parts.ok_or_else(|| inexpressible(finding))?;
    // Statements that begin or end a transaction need no preparing, and some servers refuse it.
    let is_prepared = finding.record.study.statements == StatementMode::Prepared
        && !step.text
        && step.table != TableChoice::None;
    Ok(format!(
        "{{ sql = \"{}\", table = \"{table}\", times = {}, prepared = {is_prepared}, fill = {{ {} }} }}",
        escaped(step.sql(finding.dialect())),
        step.times,
        parts.join(", "),
    ))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r")
}

fn inexpressible(finding: &Finding<'_>) -> ReproRefusal {
    ReproRefusal::new(
        format!("`{}` does what no script that assay can write does", finding.cell.test),
        format!("choose another test, or {SEND_PACK}"),
    )
}
