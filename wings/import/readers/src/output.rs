//! Recognises the program that wrote an output.

use std::io::{self, BufRead};

use crate::line::each_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// A report of a test of SQL by sysbench 0.5, 1.0 or 1.1.
    Sysbench,
    /// The summary of pgbench.
    Pgbench,
    Other(OtherOutput),
    Unknown,
}

/// An output that is recognised but not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherOutput {
    pub what: &'static str,
    pub hint: &'static str,
}

const OLD: OtherOutput = OtherOutput {
    what: "the output of sysbench 0.4",
    hint: "its built-in OLTP test is not that of later versions: run the test with sysbench 0.5 or later",
};

const HOOK: &str = "import the output with the report at its end, `SQL statistics`: run without the hook that prints \
                    another format";
const CSV: OtherOutput =
    OtherOutput { what: "intermediate reports of sysbench as CSV", hint: HOOK };
const JSON: OtherOutput =
    OtherOutput { what: "intermediate reports of sysbench as JSON", hint: HOOK };

const PGBENCH_LOG: OtherOutput = OtherOutput {
    what: "a log of transactions by `pgbench --log`",
    hint: "import the summary that pgbench prints at its end; `assay review` reads both",
};

const NO_SQL: &str =
    "it does not ask a server; import runs of a script with SQL, such as `oltp_read_write`";
/// Every report of sysbench has general statistics.
const THREADS: OtherOutput =
    OtherOutput { what: "the output of a test of sysbench without SQL", hint: NO_SQL };

const KNOWN: &str = "import outputs of sysbench 0.5, 1.0 or 1.1, or summaries of pgbench";

/// Outputs, and words that only they have, at the beginning of a line or anywhere in it.
const OTHERS: [(OtherOutput, &[&str]); 13] = [
    (
        OtherOutput { what: "the output of the cpu test of sysbench", hint: NO_SQL },
        &["Prime numbers limit:", "CPU speed:", "Maximum prime number checked in CPU test"],
    ),
    (
        OtherOutput { what: "the output of the memory test of sysbench", hint: NO_SQL },
        &["Running memory speed test"],
    ),
    (
        OtherOutput { what: "the output of the fileio test of sysbench", hint: NO_SQL },
        &["Extra file open flags:", "File operations:"],
    ),
    (THREADS, &["General statistics:"]),
    (
        OtherOutput {
            what: "the output of `sysbench prepare` or `cleanup`",
            hint: "import the output of `sysbench SCRIPT run`",
        },
        &["Creating table '", "Dropping table '"],
    ),
    (
        OtherOutput {
            what: "the output of `pgbench --initialize`",
            hint: "import the summary of a run",
        },
        &["creating primary keys..."],
    ),
    (
        OtherOutput { what: "the output of HammerDB", hint: "`assay review` reads it" },
        &["HammerDB CLI", "Vuser 1:", "TEST RESULT : System achieved", "System achieved "],
    ),
    (
        OtherOutput { what: "the output of mysqlslap", hint: KNOWN },
        &["Running for engine ", "Average number of seconds to run all queries:"],
    ),
    (
        OtherOutput { what: "the output of go-tpc", hint: KNOWN },
        &["[Summary] NEW_ORDER", "[Current] NEW_ORDER"],
    ),
    (OtherOutput { what: "the output of YCSB", hint: KNOWN }, &["[OVERALL], Throughput(ops/sec)"]),
    (
        OtherOutput { what: "the output of tpcc-mysql", hint: KNOWN },
        &[
            "*** easy### TPC-C Load Generator",
            "###easy### TPC-C Load Generator",
            "[transaction percentage]",
        ],
    ),
    (
        OtherOutput { what: "the output of DBT-2", hint: KNOWN },
        &["new-order transactions per minute (NOTPM)"],
    ),
    (OtherOutput { what: "the output of BenchBase", hint: KNOWN }, &["com.oltpbenchmark."]),
];

const CSV_NUMBERS: usize = 10;

pub fn output(content: impl BufRead) -> io::Result<OutputKind> {
    let (mut is_report, mut is_old, mut is_pgbench) = (false, false, false);
    let (mut is_sysbench, mut is_sql) = (false, false);
    let (mut csv, mut json, mut log) = (0_u32, 0_u32, 0_u32);
    let mut others: Vec<OtherOutput> = Vec::new();
    // The parser of the output reports lines that are not text.
    each_line("", content, |_, line| {
        let text = line.trim();
        is_report |= text.starts_with("transactions:") || text.starts_with("queries performed:");
        is_old |= text.starts_with("sysbench 0.4");
        is_sysbench |= text.starts_with("sysbench ") || text.starts_with("FATAL: ");
        is_sql |= text.starts_with('[') && text.contains(" tps: ");
        is_pgbench |= text.starts_with("number of transactions actually processed:")
            || text.starts_with("transaction type:")
            || text.starts_with("pgbench (")
            || text.starts_with("pgbench: ");
        csv += u32::from(is_csv(text));
        json += u32::from(text.starts_with("\"tps\":") || text.starts_with("\"qps\":"));
        log += u32::from(is_log(text));
        let has_words = |words: &[&str]| words.iter().any(|words| text.contains(words));
        let found = OTHERS.iter().find(|(_, words)| has_words(words)).map(|(other, _)| *other);
        others.extend(found.filter(|other| !others.contains(other)));
        Ok(())
    })?;
    Ok(match () {
        () if is_old => OutputKind::Other(OLD),
        () if is_report => OutputKind::Sysbench,
        () if is_pgbench => OutputKind::Pgbench,
        // The run did not end, or the file is cut off.
        () if is_sysbench && is_sql => OutputKind::Sysbench,
        () if json > 0 => OutputKind::Other(JSON),
        () if csv > 0 => OutputKind::Other(CSV),
        () => match others.iter().find(|other| **other != THREADS) {
            Some(other) => OutputKind::Other(*other),
            None if is_sysbench && others.is_empty() => OutputKind::Sysbench,
            None if is_sysbench => OutputKind::Other(THREADS),
            None if !others.is_empty() => OutputKind::Unknown,
            None if log > 0 => OutputKind::Other(PGBENCH_LOG),
            None => OutputKind::Unknown,
        },
    })
}

/// `1,4,1000.00,20000.00,14000.00,4000.00,2000.00,5.09,0.00,0.00`
fn is_csv(text: &str) -> bool {
    let numbers = text.split(',').filter(|it| it.trim().parse::<f64>().is_ok()).count();
    numbers == CSV_NUMBERS && text.split(',').count() == CSV_NUMBERS
}

/// `0 199 2241 0 1175850568 995598` or, with `--aggregate-interval`, `1345828501 5601 1542744 483552416 61 2573`.
fn is_log(text: &str) -> bool {
    let mut words = text.split(' ');
    let are_numbers = text.split(' ').all(|it| it.parse::<u64>().is_ok() || it == "skipped");
    are_numbers && words.by_ref().count() >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> OutputKind {
        output(text.as_bytes()).unwrap()
    }

    #[test]
    fn outputs_are_known_by_their_words() {
        const HEADER: &str =
            "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 1\n";
        const GENERAL: &str = "Threads started!\n\nGeneral statistics:\n  total time:  1.0s\n";
        let other = |body: &str| kind(&[HEADER, body, GENERAL].concat());
        for (body, expected) in [
            ("Prime numbers limit: 10000\n", "cpu test"),
            ("Running memory speed test with the following options:\n", "memory test"),
            ("Extra file open flags: (none)\n", "fileio test"),
            ("", "without SQL"),
        ] {
            let OutputKind::Other(found) = other(body) else { panic!("{body}") };
            assert!(found.what.contains(expected), "{found:?}");
        }
        assert_eq!(other("SQL statistics:\r\n    queries performed:\r\n"), OutputKind::Sysbench);
        assert_eq!(
            other("1,4,10.0,200.0,140.0,40.0,20.0,5.09,0.00,0.00\n"),
            OutputKind::Other(CSV)
        );
        assert_eq!(
            other("[\n  {\n    \"time\": 1,\n    \"tps\": 10.0,\n"),
            OutputKind::Other(JSON)
        );
        let old =
            "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n    transactions: 1\n";
        assert_eq!(kind(old), OutputKind::Other(OLD));
        assert_eq!(kind(HEADER), OutputKind::Sysbench);
        // Truncated reports.
        assert_eq!(kind(&[HEADER, "Threads started!\n"].concat()), OutputKind::Sysbench);
        let interval =
            "[ 10s ] thds: 4 tps: 9.00 qps: 180.00 (r/w/o: 1.00/1.00/1.00) lat (ms,95%): 1.00\n";
        assert_eq!(kind(&[HEADER, "Threads started!\n", interval].concat()), OutputKind::Sysbench);
    }

    #[test]
    fn outputs_of_other_programs_are_named() {
        for (text, expected) in [
            (
                "Vuser 1:TEST RESULT : System achieved 9000 NOPM from 20000 MySQL TPM\n",
                OutputKind::Other(OTHERS[6].0),
            ),
            (
                "Benchmark\n\tRunning for engine innodb\n\tAverage number of seconds to run all queries: 0.1 seconds\n",
                OutputKind::Other(OTHERS[7].0),
            ),
            ("0 199 2241 0 1175850568 995598\n", OutputKind::Other(PGBENCH_LOG)),
            ("1345828501 5601 1542744 483552416 61 2573\n", OutputKind::Other(PGBENCH_LOG)),
            ("transaction type: <builtin: select only>\n", OutputKind::Pgbench),
            ("hello\n", OutputKind::Unknown),
            ("", OutputKind::Unknown),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
