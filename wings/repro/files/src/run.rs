//! The shell script that runs both servers and prints the ratio.

use std::fmt::Write as _;

use assay_model::{Class, Verdict};

use crate::finding::{Finding, is_started, line, measured, named};
use crate::tool::ReproTool;

const HEAD: &str = include_str!("run/head.sh");
const MYSQL: &str = include_str!("run/mysql.sh");
const POSTGRES: &str = include_str!("run/postgres.sh");
const SYSBENCH: &str = include_str!("run/sysbench.sh");
const SYSBENCH_MYSQL: &str = include_str!("run/sysbench-mysql.sh");
const SYSBENCH_POSTGRES: &str = include_str!("run/sysbench-postgres.sh");
const SYSBENCH_END: &str = include_str!("run/sysbench-end.sh");
const PGBENCH: &str = include_str!("run/pgbench.sh");
const CLIENT: &str = include_str!("run/client.sh");
const TAIL: &str = include_str!("run/tail.sh");

/// Turns in which a test that uses up rows would use up all of them, and pairs after which the data is loaded again.
const TURNS: u64 = 20;
const LASTS: u32 = 10;

pub(crate) fn script(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let mut script = opening(finding, tool);
    script += &settings(finding, tool);
    script += HEAD;
    script += if finding.is_postgres() { POSTGRES } else { MYSQL };
    match tool {
        ReproTool::Client(_) => script += CLIENT,
        ReproTool::Pgbench(_) => script += PGBENCH,
        ReproTool::Script(_) | ReproTool::Shipped { .. } => {
            script += SYSBENCH;
            script += if finding.is_postgres() { SYSBENCH_POSTGRES } else { SYSBENCH_MYSQL };
            script += &sysbench(tool);
            script += SYSBENCH_END;
        }
    }
    script += TAIL;
    script
}

/// The argument that passes a side's server to the script.
pub(crate) fn place(side: &str, starts: bool) -> String {
    if starts {
        format!("{side}=/path/to/{}", side.to_lowercase())
    } else {
        format!("{side}_SOCKET=/path/to/socket")
    }
}

fn opening(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let [base, other] = finding.sides().map(|(_, system)| named(system));
    let [base_starts, other_starts] = starts(finding);
    let mut text = format!(
        "#!/bin/sh\n# Runs `{}` with {} on two servers in turn, and prints how fast OTHER is, divided by BASE.\n#\n\
         #     {} {} ./run.sh\n#\n\
         # BASE was {base}, OTHER was {other}.\n\
         # BASE=..., OTHER=...: directories with bin/ or usr/ in them.\n\
         # BASE_SOCKET=..., OTHER_SOCKET=...: the unix sockets of servers that run; DB_USER and DB_PASSWORD log in.\n\
         # PAIRS=10: number of pairs.{} CLIENT=...: the client program.\n",
        line(finding.cell.test.name()),
        tool.name(),
        place("BASE", base_starts),
        place("OTHER", other_starts),
        if is_timed(finding, tool) { " TURN=3: seconds of a turn." } else { "" },
    );
    text += "# The servers run in a temporary directory, below TMPDIR if that is set, which is removed at the end.\n\n";
    text
}

fn settings(finding: &Finding<'_>, tool: &ReproTool) -> String {
    let setup = finding.cell.setup;
    let mut text = format!("clients={}\n", setup.clients.max(1));
    if let ReproTool::Client(client) = tool {
        let _ = writeln!(text, "events={}\nturns={}", client.events, client.turns);
    } else {
        let rows = u64::from(setup.tables) * u64::from(setup.rows);
        let least = u64::from(setup.clients.max(1));
        let events = if is_timed(finding, tool) { 0 } else { (rows / TURNS).max(least) };
        text += "# Events of a turn; 0 where its time counts.\n";
        let _ = writeln!(text, "events={events}");
    }
    text += "# Pairs after which the data are loaded again; 0 where they last.\n";
    let _ = writeln!(text, "lasts={}", lasts(finding, tool).unwrap_or(0));
    if let ReproTool::Pgbench(scripts) = tool {
        let _ = writeln!(text, "protocol={}", scripts.protocol);
    }
    let expected = match finding.judged(finding.other).map(|judged| judged.verdict) {
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Faster) => "faster",
        _ => "unclear",
    };
    let _ = writeln!(text, "# What assay found.\nexpected={expected}");
    let _ = writeln!(text, "measured={}\n", quoted(&measured(finding)));
    text
}

fn sysbench(tool: &ReproTool) -> String {
    let (script, options) = match tool {
        ReproTool::Shipped { script, options } => (word(script), options.as_slice()),
        _ => ("\"$here/test.lua\"".to_owned(), &[] as &[String]),
    };
    let mut text = format!("    sysbench {script}");
    for option in options {
        let _ = write!(text, " \\\n        {}", word(option));
    }
    text += " \"$@\"\n";
    text
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Quotes only where needed.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=:,/".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// Whether turns end after a time rather than a number of events.
pub(crate) fn is_timed(finding: &Finding<'_>, tool: &ReproTool) -> bool {
    !matches!(tool, ReproTool::Client(_)) && !uses_up_rows(finding)
}

/// Pairs after which the data must be loaded again; `None` for never.
pub(crate) fn lasts(finding: &Finding<'_>, tool: &ReproTool) -> Option<u32> {
    match tool {
        ReproTool::Client(client) => {
            (finding.cell.test.class == Class::Write).then_some(client.turns)
        }
        _ => uses_up_rows(finding).then_some(LASTS),
    }
}

fn uses_up_rows(finding: &Finding<'_>) -> bool {
    let test = finding.cell.test;
    test.planning.uses_up_rows && test.class == Class::Write
}

pub(crate) fn starts(finding: &Finding<'_>) -> [bool; 2] {
    finding.sides().map(|(_, system)| is_started(system))
}
