//! Meanings of the JSON fields: the table in the reference. A test compares it with the output.

use assay_model::LIMITED_STUDY;

use super::cell::CELL_COLUMNS;
use super::field::{FieldFacts, all_described, facts};
use super::json::EVENTS;
use super::sections::{CROSSOVERS, GROUP_PAIRS, GROUPS, LINES, STEPS, TOTALS, TWIN};

/// Fields and their meanings. `[]` is each element of a list, `*` each key of a map. An interval has `value`, `low` and
/// `high`, and is one row.
const STUDY: &[(&str, &str)] = &[
    ("schema", "version of this shape: 1; new fields do not raise it"),
    ("study.id", "id of the study"),
    ("study.started", "when it began, UTC; null for published results"),
    ("study.preset", "`smoke`, `quick`, `standard` or `published`"),
    ("study.seed", "seed of every random choice"),
    ("study.threshold", "smallest relative change of practical interest, such as 0.02"),
    (
        "study.judge",
        "what decides the answer and the limits, and when enough is measured: `both`, `time` or `cpu`; null for \
         published results, and if only instructions were counted",
    ),
    ("study.budget_s", "time that the study may take, seconds"),
    ("study.elapsed_s", "time that it took, seconds"),
    (
        "study.spent.measured_s",
        "seconds in the measured parts of turns; `spent` is left out where systems take no turns",
    ),
    ("study.spent.warming_s", "seconds in the warm parts of turns"),
    ("study.spent.starting_s", "seconds from the start of a block's servers to their first slice"),
    (
        "study.spent.preparing_s",
        "seconds until the first servers started; `elapsed_s` does not include fetching, loading and aging",
    ),
    ("study.spent.other_s", "the other seconds"),
    ("study.finished", "whether it ran to its end"),
    ("study.terms", "the terms that the servers started on"),
    ("study.priority", "of clients and servers: `realtime`, `normal`, or `mixed` if tests differ"),
    ("study.table_form.*", "how sysbench's tables were created, where not in the usual form"),
    ("host.cpu", "processor model; every field of `host` is null if the machine is unknown"),
    ("host.cpus", "online CPUs"),
    ("host.memory_kb", "memory, KiB"),
    ("host.kernel", "kernel release"),
    ("host.os", "distribution"),
    ("host.hypervisor", "hypervisor; null if there is none"),
    ("host.filesystem", "type of the file system that holds the data"),
    ("host.counts_disk_wait", "whether the kernel accounts for waiting for disks"),
    ("host.counts_device", "whether reads and writes of the block device are counted"),
    ("host.realtime", "`permitted`, or what keeps the user from real-time priority"),
    (
        "host.cpu_weight",
        "CPU weight of clients and servers at normal priority; null for the usual one",
    ),
    ("host.doctor", "what `assay doctor` found before the study; null if it did not look"),
    ("workload_version", "version of the definition of the tests; null for published results"),
    ("workload", "name of the workload file, if one was measured"),
    (
        "systems[].name",
        "name of the system in this report: as given, short if it has many options; all other fields name systems \
         by it",
    ),
    ("systems[].product", "`mariadb`, `mysql` or `postgres`"),
    ("systems[].version", "version of the server"),
    (
        "systems[].spec",
        "the system with all options that were asked of it; null for published results",
    ),
    ("systems[].engine", "storage engine"),
    ("systems[].build", "version of the package"),
    ("systems[].source", "where the binaries come from"),
    ("systems[].sha256", "checksum of the binaries; null for a server that already ran"),
    ("systems[].is_base", "whether the others are divided by it"),
    ("systems[].is_twin", "whether it is the base a second time"),
    (
        "same_systems[].systems[]",
        "two systems that are the same although other options were asked for; left out where there are none",
    ),
    ("same_systems[].options[].setting", "an option that makes no difference"),
    ("same_systems[].options[].value", "the value that both systems have"),
    (
        "same_systems[].options[].because",
        "`terms`, `default`, `spelling` (both values mean the same) or `no-effect`",
    ),
    ("same_systems[].options[].why", "why the option has no effect; null for other reasons"),
    ("audit[].setting", "name of a setting, build fact or plan that differs"),
    ("audit[].values.*", "its value in each system"),
    ("audit[].class", "`expected`, `suspicious` or `harmless`"),
    ("audit[].kind", "`builds`, `data`, `tables`, `session`, `settings` or `plans`"),
    ("audit[].why", "why it has this class"),
];

const RANKING: &[(&str, &str)] = &[
    (
        "ranking.overall.tests",
        "which of three or more systems is the fastest, over all tests by the geometric mean: number of tests; \
         `ranking` is missing with fewer systems",
    ),
    ("ranking.overall.left_out", "tests that a ranked system has not completed"),
    (
        "ranking.overall.groups[][]",
        "names of the systems in groups, the fastest group first; those of a group cannot be told apart",
    ),
    ("ranking.overall.systems[].system", "name of a ranked system, the fastest first"),
    (
        "ranking.overall.systems[].rank",
        "1 more than the number of systems that are faster for certain",
    ),
    ("ranking.overall.pairs[].system", "the lower system of a pair"),
    ("ranking.overall.pairs[].than", "the higher one"),
    (
        "ranking.overall.pairs[].ratio",
        "QPS of the lower one divided by that of the higher one; the intervals of all pairs of a ranking hold at \
         once with 95% confidence",
    ),
    (
        "ranking.overall.pairs[].verdict",
        "`slower` if they certainly differ, `same` within the threshold, or `undecided`",
    ),
    ("ranking.overall.unranked[]", "systems that failed, did not answer or were not measured"),
    ("ranking.tests[].test", "the same in one test: its name"),
    ("ranking.tests[].clients", "number of clients"),
    ("ranking.tests[].tables", "number of tables"),
    ("ranking.tests[].rows", "rows of each table"),
    ("ranking.tests[].groups[][]", "as in `ranking.overall`"),
    ("ranking.tests[].systems[].system", "as in `ranking.overall`"),
    ("ranking.tests[].systems[].rank", "as in `ranking.overall`"),
    ("ranking.tests[].pairs[].system", "as in `ranking.overall`"),
    ("ranking.tests[].pairs[].than", "as in `ranking.overall`"),
    ("ranking.tests[].pairs[].ratio", "as in `ranking.overall`"),
    ("ranking.tests[].pairs[].verdict", "as in `ranking.overall`"),
    ("ranking.tests[].unranked[]", "as in `ranking.overall`"),
];

const SECONDS: &[(&str, &str)] =
    &[("seconds[].*", "course of a test second by second, in studies of several client counts")];

/// Fields of the object with the name [`LIMITED_STUDY`].
const LIMITS: &[(&str, &str)] = &[
    ("verdict", "`passed`, `exceeded`, `undecided` or `failed`"),
    ("judge", "what its limits apply to: `time`, `cpu` or `instructions`"),
    ("allow_undecided", "whether undecided tests pass too"),
    ("passed", "number of tests that keep their limit"),
    ("exceeded", "number of tests beyond their limit"),
    ("undecided", "number of undecided tests"),
    ("failed", "number of tests that could not be measured"),
    ("cells[].*", "each test with its limit, the limited ratio, verdict and advice"),
];

const FINDINGS: &[(&str, &str)] = &[
    ("missing[].system", "a system that could not be fetched, and is not measured"),
    ("missing[].why", "why"),
    ("config[].system", "a system that does not take an option of the config file"),
    ("config[].option", "the option"),
    ("config[].value", "its value"),
    ("config[].place", "the file and the line that set it, such as `my.cnf:12`; null if not known"),
    (
        "config[].severity",
        "`must-fix`: the server does not start with the file; `look-at`: the option is deprecated; `not-compared`: the \
         base does not take it either",
    ),
    ("config[].said", "what the server says; null if it does not know the option"),
    ("config[].remedy", "what to do with the line"),
    (
        "answers_compared[].system",
        "a system whose answers to the statements of a user's tests were compared with those of the base",
    ),
    ("answers_compared[].statements", "statements that were compared"),
    ("answers_compared[].same", "those with the same answers"),
    ("answers_compared[].undetermined", "those whose answers cannot be compared"),
    ("answers_compared[].least", "the fewest values of one of the same statements"),
    ("answers_compared[].most", "the most"),
    ("answers_compared[].values", "the values of all of them"),
    (
        "answers[].system",
        "a system that answers a statement of a user's test differently from the base",
    ),
    ("answers[].test", "the test"),
    ("answers[].statement", "the statement with marks for its values"),
    ("answers[].sent", "the statement with the values with which it was carried out"),
    (
        "answers[].what",
        "what differs: `error`, `other-error`, `no-answer`, `rows`, `values`, `order`, `choice`, `names`, `types`, \
         `warnings`; or why nothing is compared: `same-error`, if both refuse the statement for all of its values, or \
         `undetermined`, if neither the statement nor the base decides the answer",
    ),
    (
        "answers[].severity",
        "`must-fix`, `look-at`, or `not-compared`, which says nothing about the system",
    ),
    (
        "answers[].why",
        "why the statement permits the difference; for types, why the connections give texts another collation; null \
         if the statement decides the answer",
    ),
    ("answers[].events", "number of events in which it differed"),
    ("answers[].compared", "number of events in which it was compared, each with other values"),
    ("answers[].base", "the answer of the base, as far as it differs"),
    ("answers[].here", "the answer of the system, as far as it differs"),
    ("restored[].system", "a system with messages while a dump was restored"),
    ("restored[].what", "`error`, `warning`, `left-out`, `empty`, `made` or `login`"),
    ("restored[].file", "the name of the dump"),
    ("restored[].line", "the line where the statement begins; 0 if it is about all of the dump"),
    ("restored[].statement", "the first line of the statement"),
    ("restored[].message", "what the system said, or what was left out"),
    ("restored[].count", "how often the message came"),
    (
        "valgrind_cpu.hidden[]",
        "features of the CPU that valgrind hid from servers, as in `/proc/cpuinfo`, if it counted",
    ),
    (
        "valgrind_cpu.used.*",
        "instruction sets after which the functions that a system executed are named",
    ),
];

/// Schema 1, as a table in Markdown.
pub fn json_fields() -> String {
    let limits = format!("{LIMITED_STUDY}.");
    let all = [
        ("", all_described(STUDY)),
        ("cells[].", facts(CELL_COLUMNS)),
        ("groups[].", facts(GROUPS)),
        ("group_pairs[].", facts(GROUP_PAIRS)),
        ("", all_described(RANKING)),
        ("steps[].", facts(STEPS)),
        ("lines[].", facts(LINES)),
        ("crossovers[].", facts(CROSSOVERS)),
        ("totals[].", facts(TOTALS)),
        ("", all_described(SECONDS)),
        (limits.as_str(), all_described(LIMITS)),
        ("twin.", facts(TWIN)),
        ("", all_described(FINDINGS)),
        ("events[].", facts(EVENTS)),
    ];
    let rows = all.into_iter().flat_map(|(before, facts)| {
        let facts = facts.into_iter().filter(|it| !it.about.is_empty());
        facts.map(move |FieldFacts { path, about, .. }| format!("| `{before}{path}` | {about} |\n"))
    });
    format!("| field | meaning |\n|---|---|\n{}", rows.collect::<String>())
}
