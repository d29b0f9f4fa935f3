//! Help texts, with commands in groups.

use std::fmt::Write as _;

use clap::Command;

/// Other commands are listed under `Other`.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Measure",
        &[
            "compare",
            "upgrade",
            "gate",
            "count",
            "bisect",
            "watch",
            "run",
            "resume",
            "insert-bench",
            "doctor",
        ],
    ),
    ("Many machines", &["submit", "status", "collect"]),
    ("Read", &["report", "studies", "trend", "serve", "claims", "tests", "workload"]),
    ("Servers", &["server", "audit", "load", "bench", "cache"]),
    ("Share", &["pack", "verify", "repro", "export", "import"]),
];

pub(super) const SYSTEMS: &str = "\
SYSTEM is one of
  PRODUCT@VERSION          mariadb@11.8 (its newest patch release), mysql@8.0.40, postgres@17
  PRODUCT@VERSION/ENGINE   mariadb@10.11/rocksdb
  PRODUCT@dir:PATH         binaries in a directory, such as mariadb@dir:/opt/mariadb
  PRODUCT@git:REPO#REF     built from source, such as postgres@git:../postgres#master
  URL                      a running server: mysql://user@host/db, postgres://user@host/db
each but a URL followed by +OPTION=VALUE for options of the server, such as
  mysql@8.0+innodb_flush_log_at_trx_commit=1";

/// For screens that must also fit other text.
pub(super) const SYSTEMS_SHORT: &str = "\
SYSTEM is PRODUCT@VERSION[/ENGINE][+OPTION=VALUE], such as mariadb@11.8 or mysql@8.0+sync_binlog=1,
PRODUCT@dir:PATH, PRODUCT@git:REPO#REF, or the URL of a running server.
`--help` describes it, and has more options: the workload, the procedure, the ledger.";

pub(super) const MORE: &str = "\
SYSTEM is PRODUCT@VERSION, such as mariadb@11.8; `assay gate --help` has more forms and options.";

pub(super) const COUNT: &str = "\
Where the processor does not let users count, servers run under valgrind, which is fetched like
them. Counts do not depend on how busy the machine is, so nothing waits for other studies, there is
no budget, and a change of 0.5% shows. They say nothing about waiting and caches: `assay compare`
measures time.

SYSTEM is PRODUCT@VERSION, such as mysql@8.0.33; `assay count --help` has more forms and options.";

pub(super) const BISECT: &str = "\
Each version is compared with the first one. The next version is the one that is expected to narrow
the search most for its time. Releases come from the catalog, one of each series first. Commits
are those of a local repository along first parents, which assay builds.

Exit codes: 0 found, 3 no change or not certain, 4 interrupted; `assay resume` continues.";

pub(super) const WATCH: &str = "\
Each run compares the newest version with the one measured last and with the baseline, searches for
the version that made a change, shows all changes so far, and ends. The ledger keeps the history.

The file has options as a study file does, and what is watched:
  tests = [\"point-query\", \"update-one\"]
  count = \"only\"                             # instructions; without it, time
  [watch]
  range = \"mariadb@11.4.5..11.8\"            # or a repository, with commits = \"REL_17_0..origin/master\"

Exit codes: 0 done, 3 something could not be measured or searched, 4 interrupted; run it again.";

pub(super) const UPGRADE: &str = "\
Statements and values of the log run on copies of the dump's data in each version. Their answers are
compared first, then their time.
  assay upgrade mysql@8.0 mysql@8.4 --queries slow.log --schema dump.sql.gz --config my.cnf

SYSTEM is PRODUCT@VERSION; `assay upgrade --help` has more forms and options.";

pub(super) const GATE_EXITS: &str = "\
Exit codes:
  0  every test is within its limit
  1  a limit is exceeded
  2  wrong use, or the machine or the network does not allow it
  3  a test is undecided (unless `--allow-undecided`) or could not be measured
  4  interrupted; `assay resume` continues";

pub(crate) const WELCOME: &str = "\
assay finds out which version of a database is slower, by how much, and why.

  assay doctor                                is this machine fit to measure?
  assay compare mariadb@10.11 mariadb@11.8    get both, measure them, say which is slower
  assay report                                the latest result again; `-o result.html` for a browser
  assay resume --more 10m                     go on with what is still undecided
  assay server list --available mysql         the versions that can be compared

`assay -h` lists all commands, `assay compare -h` the options. With `--workload FILE`, `compare`
measures your own tables and statements.
";

pub(super) fn grouped(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> String {
    let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    let visible = command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
    let others: Vec<&str> = visible.filter(|name| !listed.contains(name)).collect();
    let groups = GROUPS.into_iter().chain([("Other", others.as_slice())]);
    let style = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in groups {
        let _ = write!(text, "\n{style}{heading}:{style:#}\n");
        for name in names {
            let Some(found) = command.find_subcommand(name) else { continue };
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<13}{literal:#} {about}");
        }
    }
    let _ = write!(text, "\n{style}Options:{style:#}\n{{options}}{{after-help}}");
    text
}
