//! The shell script that runs both servers and prints the ratio.

use std::fmt::Write as _;

use assay_model::{Class, Verdict};

use crate::finding::{Finding, is_started, line, measured};
use crate::tool::Tool;

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

/// Turns for which the rows of a test that uses them up must last, and the turns before them.
const TURNS: u64 = 20;

/// The script.
pub(crate) fn script(finding: &Finding<'_>, tool: &Tool) -> String {
    let mut script = opening(finding, tool);
    script += &settings(finding, tool);
    script += HEAD;
    script += if finding.is_postgres() { POSTGRES } else { MYSQL };
    match tool {
        Tool::Client(_) => script += CLIENT,
        Tool::Pgbench(_) => script += PGBENCH,
        Tool::Script(_) | Tool::Shipped { .. } => {
            script += SYSBENCH;
            script += if finding.is_postgres() { SYSBENCH_POSTGRES } else { SYSBENCH_MYSQL };
            script += &sysbench(tool);
            script += SYSBENCH_END;
        }
    }
    script += TAIL;
    script
}

/// What the script does, for its readers.
fn opening(finding: &Finding<'_>, tool: &Tool) -> String {
    let [base, other] = finding.sides().map(|(_, system)| line(&system.name));
    let mut text = format!(
        "#!/bin/sh\n# Runs `{}` with {} on two servers in turn, and prints how fast OTHER is, divided by BASE.\n#\n\
         #     BASE=/path/to/server OTHER=/path/to/server ./run.sh\n#\n\
         # BASE was {base}, OTHER was {other}: directories with bin/ or usr/ in them.\n\
         # BASE_SOCKET=..., OTHER_SOCKET=...: the unix sockets of servers that run; DB_USER and DB_PASSWORD log in.\n\
         # PAIRS=10: number of pairs.",
        line(finding.cell.test.name()),
        tool.name(),
    );
    match tool {
        Tool::Client(_) => text += " CLIENT=...: the client program.\n",
        _ => text += " TURN=3: seconds of a turn. CLIENT=...: the client program.\n",
    }
    text += "# The servers run in a temporary directory, below TMPDIR if that is set, which is removed at the end.\n\n";
    text
}

/// The values that the rest of the script uses.
fn settings(finding: &Finding<'_>, tool: &Tool) -> String {
    let setup = finding.cell.setup;
    let test = finding.cell.test;
    let mut text = format!("clients={}\n", setup.clients.max(1));
    match tool {
        Tool::Client(it) => {
            let _ = writeln!(text, "events={}\nturns={}", it.events, it.turns);
            let _ = writeln!(text, "can_repeat={}", if it.can_repeat { "yes" } else { "no" });
        }
        _ => {
            let rows = u64::from(setup.tables) * u64::from(setup.rows);
            let events = if test.planning.uses_up_rows && test.class == Class::Write {
                (rows / TURNS).max(u64::from(setup.clients.max(1)))
            } else {
                0
            };
            text += "# Events of a turn; 0 where its time counts.\n";
            let _ = writeln!(text, "events={events}");
        }
    }
    if let Tool::Pgbench(it) = tool {
        let _ = writeln!(text, "protocol={}", it.protocol);
    }
    let expected = match finding.judged(finding.other).map(|it| it.verdict) {
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Faster) => "faster",
        _ => "unclear",
    };
    let _ = writeln!(text, "# What assay found.\nexpected={expected}");
    let _ = writeln!(text, "measured={}\n", quoted(&measured(finding)));
    text
}

fn sysbench(tool: &Tool) -> String {
    let (script, options) = match tool {
        Tool::Shipped { script, options } => (script.clone(), options.as_slice()),
        _ => ("\"$here/test.lua\"".to_owned(), &[] as &[String]),
    };
    let mut text = format!("    sysbench {script}");
    for option in options {
        let _ = write!(text, " \\\n        {option}");
    }
    text += " \"$@\"\n";
    text
}

/// A text as a word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Whether the script can start a side.
pub(crate) fn starts(finding: &Finding<'_>) -> [bool; 2] {
    finding.sides().map(|(_, system)| is_started(system))
}
