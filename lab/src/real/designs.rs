//! The studies of each kind, in order of execution.

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Design {
    pub(super) key: String,
    pub(super) measured: MeasureMethod,
    /// The expected verdict on the relative QPS, if known.
    pub(super) expected: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum MeasureMethod {
    /// `assay compare` with these words.
    Compared(Vec<String>),
    /// `assay insert-bench` with these words.
    Steps(Vec<String>),
    /// `assay compare` with the errors of its rounds.
    Rounds(Vec<String>),
    /// `assay compare` with two servers that already run, the second of which has half a CPU.
    Halved(Vec<String>),
    ByHand(ByHand),
    /// `assay compare` with these words, for as long as another study of the same kind took.
    AtEqualTime {
        words: Vec<String>,
        as_long_as: String,
    },
    /// `assay compare` of a system against itself with a cause.
    Planted(PlantedCause),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ByHand {
    pub(super) systems: [&'static str; 2],
    pub(super) tests: Vec<&'static str>,
    /// Time of each run, seconds.
    pub(super) seconds: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlantedCause {
    pub(super) plant: Plant,
    /// Words of `compare`, including the systems if named.
    pub(super) words: Vec<String>,
    /// Terms as in JSON.
    pub(super) terms: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Plant {
    /// By the words of the study.
    Named,
    /// The second server is reached by TCP instead of a socket.
    Tcp,
    /// Another process computes on the CPU of both servers, before the second one and after the first.
    Hog,
    /// Disk reads of the second server are limited.
    SlowReads,
    /// Disk writes of both servers are limited, and only the second one flushes at each commit.
    SlowFlushes,
}

/// A workload with triggers that act only on servers with `default_week_format=1`, from the root of the repository.
const TRIGGERS: &str = "docs/lab/data/triggers.toml";

/// Tests that `--short` measures.
const FEW: &str = "point-query,update-index";

/// The ten writes and the other test whose result depends on earlier tests. `delete` cannot run for long: it would
/// delete most rows.
const HISTORY: [&str; 10] = [
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write_range=10",
    "read-write_range=100",
    "insert",
    "scan",
];

/// Tests measured again: in the first studies, long runs of these tests seemed to lose more.
const AGAIN: [&str; 4] = ["update-inlist", "update-index", "update-nonindex", "update-one"];

/// Lengths of turns in milliseconds, with the slice and the number of rounds that measure each of them for 2 s.
pub(crate) const TURNS: [(u32, u32, u32); 7] = [
    (2, 200, 10),
    (5, 200, 10),
    (10, 200, 10),
    (25, 200, 10),
    (50, 200, 10),
    (200, 200, 10),
    (1000, 1000, 2),
];

/// The name of the study, beside long runs, in which assay chooses the turns.
pub(crate) const SHORT_TURNS: &str = "chosen";

const TIMES: u64 = 2;

/// `None` if the kind is unknown.
pub(super) fn for_kind(kind: &str, is_short: bool) -> Option<Vec<Design>> {
    Some(match kind {
        "aa" => aa(is_short),
        "known" => known(is_short),
        "manual" => manual(is_short),
        "turns" => turns(is_short),
        "equal" => equal(is_short),
        "long" => long(is_short),
        "hour" => hour(is_short),
        "causes" => causes(is_short),
        "steps" => steps(is_short),
        _ => return None,
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn compared(key: impl Into<String>, text: &str) -> Design {
    Design { key: key.into(), measured: MeasureMethod::Compared(words(text)), expected: None }
}

/// The same system twice, in the default time of preset quick and in twice as much.
fn aa(is_short: bool) -> Vec<Design> {
    const SYSTEM: &str = "mariadb@11.8";
    let twice = |system: &str, seed: u32, minutes: u32, more: &str| {
        let key = format!("{system}, {minutes} min {seed}");
        compared(key, &format!("{system} --twin --seed {seed} --budget {minutes}m{more}"))
    };
    if is_short {
        let more = format!(" --tests {FEW}");
        return (1..=2).map(|seed| twice(SYSTEM, seed, 1, &more)).collect();
    }
    let mut designs = Vec::new();
    for seed in 1..=20 {
        designs.push(twice(SYSTEM, seed, 5, ""));
        if seed % 10 == 0 {
            designs.push(twice(SYSTEM, seed, 10, ""));
        }
    }
    designs.extend(["mysql@8.0", "postgres@17"].map(|system| twice(system, 1, 5, "")));
    // The first studies had four purge threads, before lean terms scaled them to the machine.
    designs.extend(
        (1..=4).map(|seed| twice(&format!("{SYSTEM}+innodb_purge_threads=1"), seed, 5, "")),
    );
    designs
}

fn known(is_short: bool) -> Vec<Design> {
    const WRITES: &str = "update-*,insert,write-only";
    const DURABLE: &str = "mariadb@11.8+innodb_flush_log_at_trx_commit=1+innodb_doublewrite=";
    // Every commit waits for the disk while the data age, so there are fewer rows.
    const DURABLE_SIZE: &str = "--rows 10k";
    let less = if is_short { format!(" --budget 20s --tests {FEW}") } else { String::new() };
    let writes = match is_short {
        true => less.clone(),
        false => format!(" --budget 20m --tests {WRITES}"),
    };
    let mut designs = vec![
        compared(
            "utf8mb4",
            &format!("mariadb@11.8 mariadb@11.8+character_set_server=utf8mb4{less}"),
        ),
        compared(
            "performance_schema",
            &format!("mariadb@11.8 mariadb@11.8+performance_schema=ON{less}"),
        ),
        compared("doublewrite", &format!("{DURABLE}OFF {DURABLE}ON {DURABLE_SIZE}{writes}")),
        Design {
            // A server that already runs loads its tables anew in each block, so they are small. A server that rests
            // during the other's short turns would hardly exceed its quota, and neither would one with a single client.
            measured: MeasureMethod::Halved(words(&format!(
                "--rows 10k --clients 4 --key slice=200ms,turn=200ms{less}"
            ))),
            ..compared("half a CPU", "")
        },
    ];
    designs.iter_mut().for_each(|design| design.expected = Some("slower"));
    designs
}

/// The manual design and assay's, in turn, so that both meet the same hours.
fn manual(is_short: bool) -> Vec<Design> {
    const SYSTEMS: [&str; 2] = ["mariadb@10.11", "mariadb@11.8"];
    let tests = match is_short {
        true => vec!["point-query", "update-index"],
        false => {
            vec!["point-query", "range-covered-si", "read-only_range=100", "scan", "update-index"]
        }
    };
    let seconds = if is_short { 2 } else { 60 };
    let mut designs = Vec::new();
    for time in 1..=2 {
        let by_hand = ByHand { systems: SYSTEMS, tests: tests.clone(), seconds };
        let key = format!("by hand {time}");
        let [base, other] = SYSTEMS;
        let text = format!("{base} {other} --seed {time} --tests {}", tests.join(","));
        let at_equal_time =
            MeasureMethod::AtEqualTime { words: words(&text), as_long_as: key.clone() };
        designs.push(Design { measured: MeasureMethod::ByHand(by_hand), ..compared(key, "") });
        designs.push(Design { measured: at_equal_time, ..compared(format!("assay {time}"), "") });
    }
    designs
}

/// Short studies of one block, with turns of another length each time, in varying order.
fn turns(is_short: bool) -> Vec<Design> {
    let mut designs = Vec::new();
    for time in 1..=if is_short { 2 } else { TIMES } {
        for (turn, slice, rounds) in shuffled(TURNS, time) {
            let rounds = if is_short { 2 } else { rounds };
            let less = if is_short { format!(" --tests {FEW}") } else { String::new() };
            let text = format!(
                "mariadb@10.11 mariadb@11.8 --seed {time} --key blocks=1 --budget 20m --key turn={turn}ms \
                 --key slice={slice}ms,rounds={rounds}{less}"
            );
            designs.push(compared(format!("{turn} ms {time}"), &text));
        }
    }
    designs
}

/// The same system twice with the turns that assay chooses and with turns of 50 ms, in alternation, in equal time.
fn equal(is_short: bool) -> Vec<Design> {
    const TESTS: &str = "point-query,points-covered-si,range-covered-pk,read-only_range=100,update-index,\
                         update-nonindex,insert";
    let less = match is_short {
        true => format!("10s --tests {FEW}"),
        false => format!("90s --tests {TESTS}"),
    };
    let mut designs = Vec::new();
    for time in 1..=4 {
        for (name, more) in [("chosen", ""), ("50 ms", " --key turn=50ms,slice=100ms")] {
            let text =
                format!("mariadb@11.8 --twin --seed {time} --key blocks=8 --budget {less}{more}");
            let measured = MeasureMethod::Rounds(words(&text));
            designs.push(Design { measured, ..compared(format!("{name} {time}"), "") });
        }
    }
    designs
}

/// Runs of a minute in the order A B B A, one test after the other on fresh instances, and the same tests in the turns
/// that assay chooses.
fn long(is_short: bool) -> Vec<Design> {
    let design = |test: &str, slice: &str, time: u32| {
        let text = format!(
            "mariadb@10.11 mariadb@11.8 --seed {time} --tests {test} --key blocks=1,rounds=2 --budget 20m \
             --key slice={slice},turn={slice}"
        );
        compared(format!("{test} {time}"), &text)
    };
    if is_short {
        return ["scan", "update-index"].map(|test| design(test, "1s", 1)).into();
    }
    // The number of events of a run of writes follows from the rates at which the data aged, which are half of those of
    // such a run or less.
    let slice = |test: &str| if test == "scan" { "60s" } else { "120s" };
    let times = HISTORY.map(|test| design(test, slice(test), 1)).into_iter();
    let again = AGAIN.map(|test| design(test, slice(test), 2));
    let tests = HISTORY.join(",");
    let text = format!("mariadb@10.11 mariadb@11.8 --tests {tests} --budget 3m");
    times.chain([compared(format!("{SHORT_TURNS} 1"), &text)]).chain(again).collect()
}

/// Preset standard in an hour, with one client and with as many as the machine has CPUs: placed by the kernel, and in
/// pairs.
fn hour(is_short: bool) -> Vec<Design> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let several = cpus.to_string();
    let design = |clients: &str, placement: &str| {
        let less = match is_short {
            true => format!("20s --tests {FEW}"),
            false => "60m".to_owned(),
        };
        let more =
            if placement.is_empty() { String::new() } else { format!(" --placement {placement}") };
        let text = format!(
            "mariadb@10.11 mariadb@11.8 --preset standard --clients {clients} --budget {less}{more}"
        );
        let name = [clients, placement].join(" ");
        compared(format!("{} 1", name.trim_end()), &text)
    };
    let mut designs = vec![design("1", "")];
    if cpus > 1 {
        designs.extend(["free", "pairs"].map(|placement| design(&several, placement)));
    }
    designs
}

/// Planted causes, each with the terms of the account to which its change must be attributed.
fn causes(is_short: bool) -> Vec<Design> {
    const CPU: &[&str] = &["client_cpu", "server_cpu"];
    const SERVER: &[&str] = &["server_cpu"];
    const WAIT: &[&str] = &["disk_wait", "other_wait", "unknown"];
    const QUEUE: &[&str] = &["cpu_wait"];
    let named = [
        (
            "performance schema",
            SERVER,
            "mariadb@11.8 mariadb@11.8+performance_schema=ON --tests point-query",
        ),
        (
            "no index",
            SERVER,
            "postgres@17 postgres@17+enable_indexscan=off+enable_indexonlyscan=off+enable_bitmapscan=off \
             --tests range-notcovered-si --rows 10k",
        ),
        (
            "flush at commit",
            WAIT,
            "mariadb@11.8 mariadb@11.8+innodb_flush_log_at_trx_commit=1 --tests insert",
        ),
        (
            "small cache",
            WAIT,
            "mariadb@11.8 mariadb@11.8+innodb_buffer_pool_size=8M --tests point-query --rows 200k",
        ),
        (
            "locks",
            WAIT,
            "mysql@8.0 mysql@8.0+transaction_isolation=SERIALIZABLE --tests read-write_range=10 --clients 16 \
             --rows 1000",
        ),
        (
            "one thread at a time",
            WAIT,
            "mysql@8.0 mysql@8.0+innodb_thread_concurrency=1 --tests points-covered-pk --clients 16",
        ),
    ];
    let design = |name: &str, plant, terms, text: &str| {
        let more = match (is_short, name) {
            (true, _) => "--budget 10s",
            // A small cache is filled anew for each block, and tables are loaded anew on servers that run.
            (false, "small cache" | "slow reads" | "slow flushes") => "--budget 4m --profile=all",
            (false, _) => "--budget 60s --profile=all",
        };
        let words = words(&format!("{text} {more}"));
        Design {
            key: name.to_owned(),
            measured: MeasureMethod::Planted(PlantedCause { plant, words, terms }),
            expected: None,
        }
    };
    let mut all: Vec<Design> = named
        .into_iter()
        .map(|(name, terms, text)| design(name, Plant::Named, terms, text))
        .collect();
    all.push(design("TCP", Plant::Tcp, CPU, "--tests point-query --rows 10k"));
    let hog = "--tests point-query --rows 10k --placement free";
    all.push(design("busy CPU", Plant::Hog, QUEUE, hog));
    // Limits per second apply over 100 ms, so turns are longer. Writes before the test would read 150,000 pages.
    let slow = |test: &str| format!("--tests {test} --key slice=500ms,turn=500ms");
    let reads = slow("point-query.pre --set 47 --rows 50k");
    all.push(design("slow reads", Plant::SlowReads, WAIT, &reads));
    all.push(design("slow flushes", Plant::SlowFlushes, WAIT, &slow("insert --rows 10k")));
    all.push(design("trigger", Plant::Named, SERVER, &acting("logged-update", 1)));
    all.push(design("hot row", Plant::Named, WAIT, &acting("counted-sale", 16)));
    if is_short {
        all.truncate(1);
    }
    all
}

/// The Insert Benchmark in segments: the same system twice, in which nothing may be called; changes that must be called
/// in each step that they touch; and two versions by segments and by whole steps, whose ratios must agree.
fn steps(is_short: bool) -> Vec<Design> {
    let size = if is_short {
        "--rows 20k,10k,1k --query-seconds 2"
    } else {
        "--rows 300k,200k,20k --query-seconds 20"
    };
    // Each delete reads and sorts the whole table, so there are fewer rows.
    let small = if is_short { size } else { "--rows 10k,20k,2k --query-seconds 20" };
    let design = |key: &str, text: &str| {
        let measured = MeasureMethod::Steps(words(text));
        Design { measured, ..compared(key, "") }
    };
    let flush = "mariadb@11.8 mariadb@11.8+innodb_flush_log_at_trx_commit=1";
    let no_index = "postgres@17 postgres@17+enable_indexscan=off+enable_indexonlyscan=off+enable_bitmapscan=off";
    let versions = format!("mariadb@10.11 mariadb@11.8 {size}");
    let mut all: Vec<Design> = (1..=if is_short { 1 } else { 10 })
        .map(|seed| {
            let text = format!("mariadb@11.8 mariadb@11.8 --seed {seed} {size}");
            design(&format!("equal {seed}"), &text)
        })
        .collect();
    all.push(design("flush at commit", &format!("{flush} {size}")));
    all.push(design("no index", &format!("{no_index} {small}")));
    all.push(design("by segments", &versions));
    all.push(design("whole steps", &format!("{versions} --segments 1 --repeats 4")));
    all
}

/// The words of a study in which the triggers act in the second system only.
fn acting(test: &str, clients: u32) -> String {
    format!(
        "mariadb@11.8 mariadb@11.8+default_week_format=1 --workload {TRIGGERS} --tests {test} --clients {clients}"
    )
}

/// A permutation by number (Fisher and Yates, with a linear congruential generator).
fn shuffled<T, const N: usize>(mut all: [T; N], number: u64) -> [T; N] {
    let mut state = number;
    for left in (1..N).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap(left, (state >> 33) as usize % (left + 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_studies_with_names_of_their_own() {
        for kind in ["aa", "known", "manual", "turns", "equal", "long", "hour", "causes", "steps"] {
            for is_short in [false, true] {
                let designs = for_kind(kind, is_short).unwrap();
                let keys: BTreeSet<&str> = designs.iter().map(|it| it.key.as_str()).collect();
                assert_eq!(keys.len(), designs.len(), "{kind}");
                assert!(!designs.is_empty());
            }
        }
        assert_eq!(for_kind("else", false), None);
    }

    #[test]
    fn each_length_of_turns_is_measured_as_long_as_the_others() {
        for (turn, slice, rounds) in TURNS {
            assert_eq!(slice * rounds, 2000);
            assert_eq!(slice % turn, 0);
        }
        let orders: BTreeSet<Vec<u32>> =
            (1..=TIMES).map(|time| shuffled(TURNS, time).map(|it| it.0).to_vec()).collect();
        assert_eq!(orders.len() as u64, TIMES, "{orders:?}");
    }
}
