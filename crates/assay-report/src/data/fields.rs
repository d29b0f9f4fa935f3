//! Meanings of the JSON fields: the table in the reference. A test compares it with the output.

use assay_verdict::{CellFigure, LATENCIES, PER_OP, Term};

use super::row::latency_name;
use crate::section;

/// A field and its meaning. `[]` is each element of a list, `*` each key of a map. An interval has `value`, `low` and
/// `high`, and is one row.
const FIELDS: &[(&str, &str)] = &[
    ("schema", "version of this shape: 1; new fields do not raise it"),
    ("study.id", "id of the study"),
    ("study.started", "when it began, UTC; null for published results"),
    ("study.preset", "`smoke`, `quick`, `standard` or `published`"),
    ("study.seed", "seed of every random choice"),
    ("study.threshold", "smallest relative change of practical interest, such as 0.02"),
    ("study.budget_s", "time that the study may take, seconds"),
    ("study.elapsed_s", "time that it took, seconds"),
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
    ("cells[].test", "name of the test"),
    ("cells[].group", "`point`, `range-1`, `range-2`, `writes`, or the group of the suite"),
    ("cells[].clients", "number of clients"),
    ("cells[].tables", TABLES),
    ("cells[].rows", "rows of each table; null where `tables` is"),
    ("cells[].priority", "of clients and servers in its turns: `realtime` or `normal`"),
    ("cells[].system", "name of the system"),
    ("cells[].qps", "operations per second, an interval"),
    ("cells[].tps", "events per second: all events by all the time"),
    ("cells[].rqps", "QPS divided by that of the base, an interval; null for the base"),
    ("cells[].verdict", "`faster`, `slower`, `same`, `uneven`, `undecided` or `failed`"),
    ("cells[].slices", "slices that the verdict uses"),
    ("cells[].troubled", "slices in machine trouble"),
    ("cells[].troubled_by.steal", "of these, with CPU time taken by the hypervisor"),
    ("cells[].troubled_by.other_process", "of these, beside other busy processes"),
    ("cells[].troubled_by.clock_jump", "of these, with a jump of the clock"),
    ("cells[].troubled_by.throttled", "of these, in which real-time threads had to wait"),
    ("cells[].disturbed", "whether the verdict also uses slices in machine trouble"),
    ("cells[].blocks", "blocks of fresh servers"),
    ("cells[].ops", "operations in these slices"),
    ("cells[].errors", "errors after which an event was repeated"),
    ("cells[].latency_us", FIGURES),
    ("cells[].per_op", FIGURES),
    (
        "cells[].change_us.time",
        "change of the time per operation against the base, µs, an interval",
    ),
    ("cells[].change_us", FIGURES),
    ("cells[].change_us.background_cpu", "change of background CPU, which is not part of `time`"),
    (
        "cells[].counters.*.before",
        "a counter of the server's own status that changed: per operation of the base",
    ),
    ("cells[].counters.*.after", "the same of the system"),
    ("cells[].counters.*.change", "the difference, an interval"),
    (
        "cells[].profile.*",
        "functions and waits of a profile, µs per operation; only with `--profile`",
    ),
    (
        "cells[].count.instructions",
        "instructions per operation of the serving thread outside the kernel, an interval; `count` is null where \
         nothing was counted",
    ),
    (
        "cells[].count.instructions.ratio",
        "the same divided by that of the base, an interval; null for the base",
    ),
    (
        "cells[].count.instructions.verdict",
        "`more`, `fewer`, `same` or `undecided`; null for the base. `gate --max-more` and `bisect` use this count",
    ),
    (
        "cells[].count.instructions_total.*",
        "the same of all threads of the server, those in the background included; null if those were not counted",
    ),
    ("cells[].count.ratio", "`instructions.ratio`"),
    ("cells[].count.verdict", "`instructions.verdict`"),
    ("cells[].count.by", "what counted: `callgrind` or `hardware`"),
    ("cells[].count.background", "instructions per operation of the server's other threads"),
    (
        "cells[].count.kernel",
        "instructions per operation that the kernel executed for the serving thread; null if they were not counted",
    ),
    (
        "cells[].count.left_out",
        "pairs of batches left out of the ratio because of work that few batches have",
    ),
    ("cells[].count.functions[].name", "a function, or several that are told together"),
    ("cells[].count.functions[].object", "the file that holds its code"),
    (
        "cells[].count.functions[].base",
        "its instructions per operation of the base; null if it has no function of this name",
    ),
    ("cells[].count.functions[].other", "the same of the system"),
    (
        "cells[].count.functions[].change",
        "the difference; with the rest, they add up to that of all",
    ),
    ("cells[].count.functions_rest.*", "all other functions together"),
    ("cells[]", SECTIONS),
    ("cells[].cpu_ratio", "server CPU per operation divided by that of the base, an interval"),
    ("cells[].cpu_verdict", "verdict on `cpu_ratio`; `slower` means more CPU time"),
    ("cells[].detectable", "smallest relative change that four of five such studies would call"),
    ("cells[].beyond_threshold", "confidence that the change exceeds the threshold, 0 to 1"),
    ("cells[].same_within", "largest relative change that agrees with the verdict `same`"),
    (
        "cells[].cause",
        "main cause of a change: `server-cpu`, `other-wait`, `plan`, `several`, `work`, ...; null without one",
    ),
    ("cells[].why", "the cause as a sentence; for `undecided`, what would decide it"),
    ("cells[].published.*", "figures of published results, by their published names"),
    ("cells[].step.seconds", "duration of a step of the Insert Benchmark, seconds"),
    ("cells[].step.ips", "rows inserted per second"),
    ("cells[].step.dps", "rows deleted per second"),
    ("cells[].step.qps", "queries per second"),
    ("cells[].step.target_ips", "background rate; null if there is none"),
    ("cells[].step.sla_met", "whether the background rate was kept"),
    ("cells[].step.failed", "whether the step failed"),
    ("cells[].step.indexes_s", "time that creating the indexes took, seconds"),
    ("cells[].step.within", "half-width of the interval of the rate within the step, a fraction"),
    (
        "cells[].step.insert.*",
        "statements, rows, retries, response-time buckets and longest time of inserts",
    ),
    ("cells[].step.delete.*", "the same of deletions"),
    ("cells[].step.query.*", "the same of queries"),
    ("cells[].step.lowest_queries.*", "queries for the lowest key: count, mean and longest time"),
    (
        "cells[].fingerprint",
        "statements of a test of a workload file, with marks for their values; null for a mix; this and the next six \
         fields are present only for workload files",
    ),
    ("cells[].calls", "calls in the log that the test comes from; null if it comes from none"),
    (
        "cells[].share",
        "their share of the time of all statements of the log, 0 to 1; of all calls, if the log has no times",
    ),
    (
        "cells[].plan_changed",
        "whether a statement has another plan than in the base; null if the plans were not compared",
    ),
    (
        "cells[].answers_differ",
        "whether an answer differs from that of the base, apart from warnings; null if the answers were not compared",
    ),
    (
        "cells[].new_errors",
        "with how many values the system refuses a statement that the base answers; null if the answers were not \
         compared",
    ),
    (
        "cells[].new_warnings",
        "with how many values it has warnings that the base does not have; null if the answers were not compared",
    ),
    ("groups[].group", "name of the group"),
    ("groups[].clients", "number of clients"),
    ("groups[].tables", TABLES),
    ("groups[].rows", "rows of each table; null where `tables` is"),
    ("groups[].system", "name of the system"),
    ("groups[].n", "tests that have a relative QPS"),
    ("groups[].bounded", "tests of which only a bound is known, which the other figures leave out"),
    ("groups[].min", "smallest relative QPS"),
    ("groups[].max", "largest relative QPS"),
    ("groups[].avg", "mean relative QPS"),
    ("groups[].median", "median relative QPS"),
    ("groups[].stddev", "sample standard deviation; null for a single test"),
    ("groups[].median_low", "lower end of the 95% interval of the median; null with few blocks"),
    ("groups[].median_high", "upper end"),
    ("groups[].why", "what the changes of its tests come from"),
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
        "`slower` if they are told apart, `same` within the threshold, or `undecided`",
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
    ("steps[].test", "test of a step from one version to the next"),
    ("steps[].clients", "number of clients"),
    ("steps[].tables", TABLES),
    ("steps[].rows", "rows of each table; null where `tables` is"),
    ("steps[].from", "the earlier version"),
    ("steps[].to", "the later version"),
    ("steps[].ratio", "QPS of the later version divided by that of the earlier one, an interval"),
    ("steps[].verdict", "verdict on it"),
    ("steps[].beyond_threshold", "confidence that the change exceeds the threshold, 0 to 1"),
    ("steps[].is_change", "whether reports name it as a place of change"),
    ("lines[].test", "test of a line of versions"),
    ("lines[].clients", "number of clients"),
    ("lines[].tables", TABLES),
    ("lines[].rows", "rows of each table; null where `tables` is"),
    ("lines[].systems[]", "the versions, in their order"),
    ("lines[].ratio", "the last version divided by the first, an interval"),
    ("lines[].verdict", "verdict on it"),
    ("lines[].main_step.from", "the step with the largest part in the change: from this version"),
    ("lines[].main_step.to", "to this version"),
    ("lines[].main_step.share", "its share of the whole change"),
    ("lines[].main_step.confidence", "confidence that it is the largest step"),
    ("crossovers[].test", "test in which one system overtakes another as clients are added"),
    ("crossovers[].tables", TABLES),
    ("crossovers[].rows", "rows of each table; null where `tables` is"),
    ("crossovers[].system", "name of the system"),
    ("crossovers[].clients_below", "the client count below the crossover"),
    ("crossovers[].verdict_below", "the verdict there"),
    ("crossovers[].clients_above", "the client count above it"),
    ("crossovers[].clients", "where both are equally fast, an interval"),
    (
        "totals[].test",
        "mix of a workload file whose parts were measured alone too; `totals` is present only then",
    ),
    ("totals[].clients", "number of clients"),
    ("totals[].tables", TABLES),
    ("totals[].rows", "rows of each table; null where `tables` is"),
    ("totals[].system", "name of the system"),
    (
        "totals[].time",
        "time of its events, from the tests that measure each kind of them alone, divided by the time in the base: an \
         interval",
    ),
    ("totals[].measured", "kinds of events that were measured alone in both"),
    ("totals[].kinds", "all kinds of events"),
    ("seconds[].*", "course of a test second by second, in studies of several client counts"),
    ("gate.verdict", "`passed`, `exceeded`, `undecided` or `failed`"),
    ("gate.allow_undecided", "whether undecided tests let the gate pass"),
    ("gate.passed", "number of tests that keep their limit"),
    ("gate.exceeded", "number of tests beyond their limit"),
    ("gate.undecided", "number of undecided tests"),
    ("gate.failed", "number of tests that could not be measured"),
    ("gate.cells[].*", "each test with its limit, relative QPS, verdict and advice"),
    ("twin.system", "name of the twin"),
    ("twin.false_calls", "changes called between the base and its twin"),
    ("twin.cells", "tests of the twin"),
    ("twin.detectable_median", "change that would be called in half of the tests"),
    ("twin.detectable_max", "change that would be called in all of them"),
    ("missing[].system", "a system that was asked for and takes no part, because it cannot be had"),
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
    ("restored[].system", "a system that told something while a dump was restored"),
    ("restored[].what", "`error`, `warning`, `left-out`, `empty`, `made` or `login`"),
    ("restored[].file", "the name of the dump"),
    ("restored[].line", "the line where the statement begins; 0 if it is about all of the dump"),
    ("restored[].statement", "the first line of the statement"),
    ("restored[].message", "what the system said, or what was left out"),
    ("restored[].count", "how often it was told"),
    (
        "valgrind_cpu.hidden[]",
        "features of the CPU that valgrind hid from servers, as in `/proc/cpuinfo`, if it counted",
    ),
    (
        "valgrind_cpu.used.*",
        "instruction sets after which the functions that a system executed are named",
    ),
    ("events[].when", "moment of something worth reporting that is no measurement, UTC"),
    ("events[].system", "the system that it concerns"),
    ("events[].what", "what happened"),
];

const TABLES: &str = "number of tables; null for those of a workload or script of the user's own";

/// Placeholder for the rows of the figures of a group.
const FIGURES: &str = "";

/// Placeholder for the rows of the work after a study.
const SECTIONS: &str = "sections";

/// Schema 1, as a table in Markdown.
#[must_use]
pub fn json_fields() -> String {
    let row = |path: &str, meaning: &str| format!("| `{path}` | {meaning} |\n");
    let figures = |group: &str, rows: &[CellFigure], name: fn(&CellFigure) -> &'static str| {
        let rows = rows.iter().filter(|figure| figure.is_in_files());
        rows.map(|it| row(&format!("{group}.{}", name(it)), &it.meaning())).collect::<String>()
    };
    let rows = FIELDS.iter().map(|&(path, meaning)| match (path, meaning) {
        ("cells[].latency_us", FIGURES) => figures(path, LATENCIES, latency_name),
        ("cells[].per_op", FIGURES) => figures(path, PER_OP, |figure| figure.key),
        (_, FIGURES) => Term::ALL
            .map(|term| {
                let meaning = format!("the part that is {}", term.word(true));
                row(&format!("{path}.{}", term.key()), &meaning)
            })
            .concat(),
        (_, SECTIONS) => section::all()
            .flat_map(|section| {
                let key = section.key();
                let fields = section.fields().iter();
                fields.map(move |(name, meaning)| row(&format!("{path}.{key}.{name}"), meaning))
            })
            .collect(),
        _ => row(path, meaning),
    });
    format!("| field | meaning |\n|---|---|\n{}", rows.collect::<String>())
}
