//! Hints for options and commands that users of sysbench and similar tools type by habit.

use std::ffi::OsString;

use assay_model::{LIMITED_STUDY, Suite};
use assay_plan::suite_facts;
use clap::Command;

/// Advice for limits, which sysbench sets for each run.
const TIME: &str = "limit a study with `--budget 10m`, a slice with `--key slice=100ms`, and `assay bench` with \
                    `--time 10` or `--events 1000`";

const SERVER: &str = "name a server that is already running by its URL, such as `mysql://user@127.0.0.1:3306/sbtest`, \
                      with the password in `ASSAY_PASSWORD`";

/// Replaces `_` by `-` in the name of an option; sysbench allows both.
pub fn dashed(word: OsString) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.starts_with("--")) else { return word };
    match text.split_once('=') {
        Some((name, value)) => format!("{}={value}", name.replace('_', "-")).into(),
        None => text.replace('_', "-").into(),
    }
}

const STEPS: &str = "the Insert Benchmark always has the same steps, in the same order; `--preset`, `--rows` and \
                     `--query-seconds` say how long they take";

const MORE: &str = "`--more 5m` measures a study for five more minutes";

const ENGINE: &str = "`assay load` has `--engine`; in a study, the engine is part of a system, such as \
                      `mariadb@10.11/rocksdb`";

const RATE: &str = "a comparison has no rate, because its verdicts are about throughput, and at a rate that all \
                    systems keep, this is the same for all; `assay bench URL --rate 500` measures response times at \
                    a rate, on one server at a time";

const PGBENCH_OPTIONS: &str = "fbSNcjTtisDr";

const PGBENCH: &str = "pgbench's `-f FILE` and `-b NAME` are `--workload FILE` and `--workload NAME`, `-S` is \
                       `--workload select-only`, `-c` is `--clients`, `-s` and `-D` stand after `--`, as in `-- \
                       --scale=10 -D days=30`, `-T` is `--time` in `assay bench` and `--budget` in a study; \
                       `docs/how-to/pgbench.md` has all of them";

const CONFIG: &str = "`--config FILE` starts all servers from your `my.cnf` or `postgresql.conf`";

const QUERIES: &str = "`--queries LOG` of `assay upgrade` takes a slow query log or another log";

const FILE: &str = "`-o page.html` writes the result to a file; its extension decides the format";

const HISTOGRAM: &str = "the summary has the average, the 95th and 99th percentile and the maximum of the response \
                         time; `--percentile` chooses the one in the lines of `--report-interval`";

/// Advice for options of tests.
const OF_TESTS: &str = "options of sysbench's scripts and of the TPC-C-like workload stand at the end, after `--`, as \
                        in `--suite oltp -- --range-size=1000`; a study file has them in `[oltp]` or `[tpcc]`";

/// The commands of studies.
const STUDIES: [&str; 5] = ["compare", LIMITED_STUDY, "count", "bisect", "submit"];

/// Whether this is an option of sysbench's scripts or of the TPC-C-like workload.
fn is_of_tests(name: &str) -> bool {
    let options = Suite::ALL.into_iter().filter_map(|suite| suite_facts(suite).options.as_ref());
    let all = options.fold(Command::new("options"), |all, options| (options.add_to)(all));
    all.get_arguments().any(|it| it.get_long() == Some(name))
}

/// Advice for sysbench's commands.
const COMMANDS: &str = "`assay load URL` creates and fills the tables, and `assay bench URL --test oltp_read_write` \
                        runs a script";

/// Hint for a word or an option that a command does not have; `usage` is the usage of the command.
pub fn option_hint(option: &str, usage: &str) -> Option<&'static str> {
    let is_of = |command: &str| usage.contains(command);
    let is_of_study = || STUDIES.iter().any(|command| is_of(&format!("assay {command}")));
    let Some(name) = option.strip_prefix("--").and_then(|it| it.split('=').next()) else {
        if option == "-R" {
            return Some(RATE);
        }
        let letter = option.strip_prefix('-').and_then(|letters| letters.chars().next());
        if letter.is_some_and(|letter| PGBENCH_OPTIONS.contains(letter)) {
            return Some(PGBENCH);
        }
        if matches!(option, "on" | "off") {
            return Some("an option gets this value with `=`, as in `--auto-inc=off`");
        }
        let is_of_sysbench = ["assay bench", "assay load"].into_iter().any(is_of);
        return (is_of_sysbench && !option.starts_with('-')).then_some(COMMANDS);
    };
    Some(match name.replace('_', "-").as_str() {
        "budget" | "time" | "tests" | "suite" | "set" | "table-size" | "tables"
            if is_of("assay insert-bench") =>
        {
            STEPS
        }
        "budget" if is_of("assay resume") => MORE,
        "mysql-storage-engine" => ENGINE,
        "histogram" => HISTOGRAM,
        "my-cnf" | "cnf" | "defaults-file" | "defaults-extra-file" | "config-file" => CONFIG,
        "slow-log" | "slow-query-log" | "query-log" => QUERIES,
        "html" | "markdown" | "csv" => FILE,
        "rate" => RATE,
        "events" | "max-requests" | "duration" | "max-time" | "tim" | "time" => TIME,
        "host" | "user" | "password" | "db-driver" => SERVER,
        "all" if is_of("assay server stop") => ALL,
        it if it.starts_with("mysql-") || it.starts_with("pgsql-") => SERVER,
        it if is_of_study() && is_of_tests(it) => OF_TESTS,
        _ => return None,
    })
}

const LISTS: &str = "`assay server list` shows the running servers, `assay studies` the studies in the ledger, and \
                     `assay cache list` the contents of the cache";

const SERVERS: &str = "`assay server list` shows the running servers";

const ALL: &str = "name the servers to stop, as `assay server list` shows them";

pub fn subcommand_hint(word: &str) -> Option<&'static str> {
    Some(match word {
        "list" | "ls" => LISTS,
        "status" | "ps" => SERVERS,
        "version" => {
            "`assay --version` prints the version of assay; `assay server list` those of servers"
        }
        "versions" | "releases" => {
            "`assay server list --available PRODUCT` lists the releases that can be fetched"
        }
        "share" | "export" => {
            "`assay pack STUDY FILE` writes a study to one file, `assay report STUDY -o FILE.html` a page"
        }
        "prepare" | "cleanup" | "sysbench" => COMMANDS,
        script if assay_plan::is_script(script) => COMMANDS,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_underscore_in_the_name_of_an_option_is_a_dash() {
        let dashed = |word: &str| dashed(word.into()).into_string().unwrap();
        assert_eq!(dashed("--table_size=1_0"), "--table-size=1_0");
        assert_eq!(dashed("--skip_trx"), "--skip-trx");
        assert_eq!(dashed("oltp_read_only"), "oltp_read_only");
    }

    #[test]
    fn options_of_sysbench_get_a_hint() {
        let compare = |option| option_hint(option, "Usage: assay compare");
        assert_eq!(compare("--mysql-host"), Some(SERVER));
        assert_eq!(compare("--mysql_port=3306"), Some(SERVER));
        assert_eq!(compare("--events"), Some(TIME));
        assert_eq!(compare("--events-of"), None);
        assert_eq!([compare("--range_size=10"), compare("--warehouses")], [Some(OF_TESTS); 2]);
        assert_eq!(option_hint("--range-size", "Usage: assay report"), None);
        assert_eq!(compare("--all"), None);
        assert_eq!([compare("--my_cnf=x"), compare("--defaults-file")], [Some(CONFIG); 2]);
        assert_eq!([compare("--slow-log"), compare("--html")], [Some(QUERIES), Some(FILE)]);
        assert_eq!([compare("--rate"), compare("--rate=5"), compare("-R")], [Some(RATE); 3]);
        assert_eq!(option_hint("--all", "Usage: assay server stop <NAME>..."), Some(ALL));
        assert_eq!(subcommand_hint("ls"), Some(LISTS));
        assert_eq!(subcommand_hint("status"), Some(SERVERS));
        assert!(subcommand_hint("share").is_some_and(|hint| hint.contains("assay pack")));
        assert_eq!(compare("-e"), None);
        assert_eq!([compare("-f"), compare("-S"), compare("-c8")], [Some(PGBENCH); 3]);
        assert_eq!(compare("run"), None);
        assert_eq!(option_hint("oltp_read_only", "Usage: assay bench <URL>"), Some(COMMANDS));
        assert_eq!(option_hint("--mysql_storage_engine=x", "Usage: assay load"), Some(ENGINE));
        assert_eq!(option_hint("--time", "Usage: assay insert-bench"), Some(STEPS));
        assert_eq!(subcommand_hint("oltp_read_write.lua"), Some(COMMANDS));
    }
}
