//! Recognises the program that wrote an output.

use std::io::{BufRead, Result};

use crate::line::each_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// A report of a test of SQL by sysbench 0.5, 1.0 or 1.1.
    Sysbench,
    /// The summary of pgbench.
    Pgbench,
    Other(OtherOutput),
    Unknown,
}

/// An output that is recognised but not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherOutput {
    Sysbench04,
    SysbenchCsv,
    SysbenchJson,
    SysbenchCpu,
    SysbenchMemory,
    SysbenchFileio,
    SysbenchThreads,
    SysbenchPreparation,
    PgbenchLog,
    PgbenchInitialization,
    HammerDb,
    Mysqlslap,
    GoTpc,
    Ycsb,
    TpccMysql,
    DbtTwo,
    BenchBase,
}

impl OtherOutput {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench04 => "the output of sysbench 0.4",
            Self::SysbenchCsv => "intermediate reports of sysbench as CSV",
            Self::SysbenchJson => "intermediate reports of sysbench as JSON",
            Self::SysbenchCpu => "the output of the cpu test of sysbench",
            Self::SysbenchMemory => "the output of the memory test of sysbench",
            Self::SysbenchFileio => "the output of the fileio test of sysbench",
            Self::SysbenchThreads => "the output of a test of sysbench without SQL",
            Self::SysbenchPreparation => "the output of `sysbench prepare` or `cleanup`",
            Self::PgbenchLog => "a log of transactions by `pgbench --log`",
            Self::PgbenchInitialization => "the output of `pgbench --initialize`",
            Self::HammerDb => "the output of HammerDB",
            Self::Mysqlslap => "the output of mysqlslap",
            Self::GoTpc => "the output of go-tpc",
            Self::Ycsb => "the output of YCSB",
            Self::TpccMysql => "the output of tpcc-mysql",
            Self::DbtTwo => "the output of DBT-2",
            Self::BenchBase => "the output of BenchBase",
        }
    }

    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Sysbench04 => {
                "its built-in OLTP test is not that of later versions: run the test with sysbench 0.5 or later"
            }
            Self::SysbenchCsv | Self::SysbenchJson => {
                "import the output with the report at its end, `SQL statistics`: run without the hook that prints \
                 another format"
            }
            Self::SysbenchCpu
            | Self::SysbenchMemory
            | Self::SysbenchFileio
            | Self::SysbenchThreads => {
                "it does not ask a server; import runs of a script with SQL, such as `oltp_read_write`"
            }
            Self::SysbenchPreparation => "import the output of `sysbench SCRIPT run`",
            Self::PgbenchLog => "import the summary that pgbench prints at its end",
            Self::PgbenchInitialization => "import the summary of a run",
            Self::HammerDb
            | Self::Mysqlslap
            | Self::GoTpc
            | Self::Ycsb
            | Self::TpccMysql
            | Self::DbtTwo
            | Self::BenchBase => {
                "import outputs of sysbench 0.5, 1.0 or 1.1, or summaries of pgbench"
            }
        }
    }
}

/// Words that only one kind of output has, at the beginning of a line or anywhere in it.
const WORDS: [(&str, OtherOutput); 24] = [
    ("Prime numbers limit:", OtherOutput::SysbenchCpu),
    ("CPU speed:", OtherOutput::SysbenchCpu),
    ("Maximum prime number checked in CPU test", OtherOutput::SysbenchCpu),
    ("Running memory speed test", OtherOutput::SysbenchMemory),
    ("Extra file open flags:", OtherOutput::SysbenchFileio),
    ("File operations:", OtherOutput::SysbenchFileio),
    ("General statistics:", OtherOutput::SysbenchThreads),
    ("Creating table '", OtherOutput::SysbenchPreparation),
    ("Dropping table '", OtherOutput::SysbenchPreparation),
    ("creating primary keys...", OtherOutput::PgbenchInitialization),
    ("HammerDB CLI", OtherOutput::HammerDb),
    ("Vuser 1:", OtherOutput::HammerDb),
    ("TEST RESULT : System achieved", OtherOutput::HammerDb),
    ("System achieved ", OtherOutput::HammerDb),
    ("Running for engine ", OtherOutput::Mysqlslap),
    ("Average number of seconds to run all queries:", OtherOutput::Mysqlslap),
    ("[Summary] NEW_ORDER", OtherOutput::GoTpc),
    ("[Current] NEW_ORDER", OtherOutput::GoTpc),
    ("[OVERALL], Throughput(ops/sec)", OtherOutput::Ycsb),
    ("*** easy### TPC-C Load Generator", OtherOutput::TpccMysql),
    ("###easy### TPC-C Load Generator", OtherOutput::TpccMysql),
    ("[transaction percentage]", OtherOutput::TpccMysql),
    ("new-order transactions per minute (NOTPM)", OtherOutput::DbtTwo),
    ("com.oltpbenchmark.", OtherOutput::BenchBase),
];

const CSV_NUMBERS: usize = 10;

pub fn output(content: impl BufRead) -> Result<Output> {
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
        let found = WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, other)| *other);
        others.extend(found.filter(|it| !others.contains(it)));
        Ok(())
    })?;
    Ok(match () {
        () if is_old => Output::Other(OtherOutput::Sysbench04),
        () if is_report => Output::Sysbench,
        () if is_pgbench => Output::Pgbench,
        // The run did not end, or the file is cut off.
        () if is_sysbench && is_sql => Output::Sysbench,
        () if json > 0 => Output::Other(OtherOutput::SysbenchJson),
        () if csv > 0 => Output::Other(OtherOutput::SysbenchCsv),
        () => {
            // Every report of sysbench has general statistics; only one without other words is of threads.
            others.sort_by_key(|it| *it == OtherOutput::SysbenchThreads);
            match others.first() {
                Some(OtherOutput::SysbenchThreads) if !is_sysbench => Output::Unknown,
                Some(other) => Output::Other(*other),
                None if is_sysbench => Output::Sysbench,
                None if log > 0 => Output::Other(OtherOutput::PgbenchLog),
                None => Output::Unknown,
            }
        }
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

    fn of(text: &str) -> Output {
        output(text.as_bytes()).unwrap()
    }

    #[test]
    fn outputs_are_known_by_their_words() {
        const HEADER: &str =
            "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nNumber of threads: 1\n";
        const GENERAL: &str = "Threads started!\n\nGeneral statistics:\n  total time:  1.0s\n";
        let other = |body: &str| of(&[HEADER, body, GENERAL].concat());
        for (body, expected) in [
            ("Prime numbers limit: 10000\n", OtherOutput::SysbenchCpu),
            (
                "Running memory speed test with the following options:\n",
                OtherOutput::SysbenchMemory,
            ),
            ("Extra file open flags: (none)\n", OtherOutput::SysbenchFileio),
            ("", OtherOutput::SysbenchThreads),
        ] {
            assert_eq!(other(body), Output::Other(expected));
        }
        assert_eq!(other("SQL statistics:\r\n    queries performed:\r\n"), Output::Sysbench);
        assert_eq!(
            other("1,4,10.0,200.0,140.0,40.0,20.0,5.09,0.00,0.00\n"),
            Output::Other(OtherOutput::SysbenchCsv)
        );
        assert_eq!(
            other("[\n  {\n    \"time\": 1,\n    \"tps\": 10.0,\n"),
            Output::Other(OtherOutput::SysbenchJson)
        );
        let old =
            "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n    transactions: 1\n";
        assert_eq!(of(old), Output::Other(OtherOutput::Sysbench04));
        assert_eq!(of(HEADER), Output::Sysbench);
        // Truncated reports.
        assert_eq!(of(&[HEADER, "Threads started!\n"].concat()), Output::Sysbench);
        let interval =
            "[ 10s ] thds: 4 tps: 9.00 qps: 180.00 (r/w/o: 1.00/1.00/1.00) lat (ms,95%): 1.00\n";
        assert_eq!(of(&[HEADER, "Threads started!\n", interval].concat()), Output::Sysbench);
    }

    #[test]
    fn outputs_of_other_programs_are_named() {
        for (text, expected) in [
            (
                "Vuser 1:TEST RESULT : System achieved 9000 NOPM from 20000 MySQL TPM\n",
                Output::Other(OtherOutput::HammerDb),
            ),
            (
                "Benchmark\n\tRunning for engine innodb\n\tAverage number of seconds to run all queries: 0.1 seconds\n",
                Output::Other(OtherOutput::Mysqlslap),
            ),
            ("0 199 2241 0 1175850568 995598\n", Output::Other(OtherOutput::PgbenchLog)),
            ("1345828501 5601 1542744 483552416 61 2573\n", Output::Other(OtherOutput::PgbenchLog)),
            ("transaction type: <builtin: select only>\n", Output::Pgbench),
            ("hello\n", Output::Unknown),
            ("", Output::Unknown),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
