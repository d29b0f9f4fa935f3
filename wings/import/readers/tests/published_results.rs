//! Checks that published results parse without a fault, and that computed figures equal the published ones.
//!
//! `ASSAY_PUBLISHED` names their directory; the default is `../shared/published` beside the repository, if it exists.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]
#![expect(clippy::print_stderr, reason = "a test that is left out must say so")]

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use assay_import::{
    IbenchResult, IbenchRow, IbenchSecond, ImportFacts, IostatSample, LineFault, QpsKind, QpsTable,
    ibench_run, iostat, metrics, qps_table, rate_table, step_result, step_rows, step_seconds,
    steps_of_server, study_of, study_of_ibench_runs, study_of_steps, summary_results, sysbench_run,
    vmstat,
};
use assay_model::{Setup, Slice, System, Verdict};
use serde_json::Value;

#[derive(Default)]
struct Comparisons {
    compared: usize,
    wrong: Vec<String>,
}

impl Comparisons {
    fn equal(&mut self, what: impl Fn() -> String, found: &str, published: &str) {
        self.compared += 1;
        if found != published {
            self.wrong.push(format!("{}: {found}, published {published}", what()));
        }
    }

    fn told(&self, what: &str) {
        eprintln!("{what}: {} of {}", self.compared - self.wrong.len(), self.compared);
    }
}

fn published() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/published");
    let folder = std::env::var_os("ASSAY_PUBLISHED").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "skipped: there are no published results in {}; set ASSAY_PUBLISHED",
        folder.display()
    );
    None
}

fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, prefix));
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn sound<T>((value, faults): (T, Vec<LineFault>)) -> T {
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(told, [""; 0]);
    value
}

fn open(path: &Path) -> BufReader<fs_err::File> {
    BufReader::new(fs_err::File::open(path).unwrap())
}

fn qps(path: &Path) -> QpsTable {
    sound(qps_table(&path.display().to_string(), open(path)).unwrap())
}

fn steps(path: &Path) -> Vec<IbenchRow> {
    sound(step_rows(&path.display().to_string(), open(path)).unwrap())
}

fn beside(path: &Path, from: &str, to: &str) -> PathBuf {
    let name = path.file_name().unwrap().to_string_lossy();
    path.with_file_name(name.replacen(from, to, 1))
}

/// A ratio as printed in the posts: two decimals, `1` if both are zero, `inf` if only the base is.
fn printed_ratio(value: f64, base: f64) -> String {
    match (value == 0.0, base == 0.0) {
        (true, true) => "1".to_owned(),
        (false, true) => "inf".to_owned(),
        _ => format!("{:.2}", value / base),
    }
}

/// The rate that this share of the seconds reaches or exceeds, as Mark Callaghan computes it: the one at the rounded
/// rank from the highest rate, with halves rounded to even. `None` without seconds.
fn rate_reached(rates: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = rates.collect();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let rank = (share * sorted.len() as f64).round_ties_even() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

type Check = (&'static str, fn(&Path, &mut Comparisons));

const CHECKS: [Check; 12] = [
    ("relative rates", relative_rates_are_ratios_of_the_absolute_ones),
    ("relative metrics", relative_metrics_are_ratios_of_the_printed_ones),
    ("rates of sysbench", tables_have_the_rates_that_sysbench_printed),
    ("metrics from samples", metrics_follow_from_samples),
    ("percentiles of rates", runs_of_the_insert_benchmark_are_read),
    ("fields of steps", rows_of_steps_are_ratios_to_the_first_of_their_family),
    ("summaries of the Insert Benchmark", summaries_of_the_insert_benchmark_are_reproduced),
    ("statistics of groups", statistics_of_groups_are_reproduced),
    ("studies of tables and their metrics", studies_have_what_was_published),
    ("studies of steps", studies_of_steps_have_what_was_published),
    ("studies of raw runs", studies_of_raw_runs_have_what_was_published),
    ("steps in the summaries of servers", summaries_of_servers_are_the_merged_steps),
];

#[test]
fn everything_published_is_reproduced() {
    let Some(folder) = published() else { return };
    let mut all = Comparisons::default();
    for (what, check) in CHECKS {
        let mut checked = Comparisons::default();
        check(&folder, &mut checked);
        checked.told(what);
        assert!(checked.compared > 0, "{what}: nothing was compared");
        all.compared += checked.compared;
        all.wrong.extend(checked.wrong);
    }
    all.told("all");
    assert!(all.wrong.is_empty(), "{:#?}", &all.wrong[..all.wrong.len().min(20)]);
}

fn relative_rates_are_ratios_of_the_absolute_ones(folder: &Path, checked: &mut Comparisons) {
    for path in files(folder, "qps.rel.") {
        let relative = qps(&path);
        let absolute = beside(&path, "qps.rel.", "qps.abs.");
        let absolute = qps(&absolute.with_file_name(
            absolute.file_name().unwrap().to_string_lossy().trim_end_matches(".edit"),
        ));
        for row in &relative.rows {
            // Edited tables have shorter names, where they are unique, and one that is mistyped.
            let short = row.test.replace("simplex", "simple");
            let is_same =
                |name: &str| name == short || name.starts_with(&format!("{short}_range="));
            let same = absolute.rows.iter().find(|it| is_same(&it.test)).unwrap();
            let base = same.values[0].unwrap();
            for (number, value) in row.values.iter().enumerate() {
                let ratio = printed_ratio(same.values[number + 1].unwrap(), base);
                let what = || format!("{} {} column {}", path.display(), row.test, number + 1);
                checked.equal(what, &ratio, &format!("{:.2}", value.unwrap()));
            }
        }
        let is_csv = path.extension().is_some_and(|it| it == "csv");
        assert!(is_csv || matches!(relative.kind, QpsKind::RelativeTo(_)));
    }
}

fn relative_metrics_are_ratios_of_the_printed_ones(folder: &Path, checked: &mut Comparisons) {
    for path in [files(folder, "o.met"), files(folder, "met.")].concat() {
        for section in sound(metrics(&path.display().to_string(), open(&path)).unwrap()).sections {
            let Some((base, others)) = section.absolute.split_first() else { continue };
            for (row, published) in others.iter().zip(&section.relative) {
                assert_eq!(row.server, published.server);
                for (number, column) in section.columns.iter().enumerate() {
                    let value = |values: &[Option<f64>]| values[number].unwrap();
                    let ratio = printed_ratio(value(&row.values), value(&base.values));
                    let what = || format!("{} {} {column}", section.title, row.server);
                    checked.equal(what, &ratio, &published.printed[number]);
                }
            }
        }
    }
}

/// Except for `scan`.
fn tables_have_the_rates_that_sysbench_printed(folder: &Path, checked: &mut Comparisons) {
    let folder = folder.join("sysbench-raw/nov25-pn53-mysql-dop1");
    let table = qps(&folder.join("qps.abs.all.tsv"));
    for (column, server) in table.servers.iter().enumerate() {
        for row in table.rows.iter().filter(|row| !row.test.starts_with("scan")) {
            let name = row.test.replace("_range=", ".range");
            let path = folder.join(server).join(format!("sb.o.{name}.pk1.dop1"));
            if !path.exists() {
                continue;
            }
            let run = sound(sysbench_run(&path.display().to_string(), open(&path)).unwrap());
            assert!(run.is_complete() && run.threads == Some(1), "{}", path.display());
            let what = || path.display().to_string();
            let printed = format!("{:.0}", row.values[column].unwrap());
            checked.equal(what, &format!("{:.0}", run.qps.unwrap()), &printed);
        }
    }
    // All outputs but `sb.o.myvac`, which is none.
    for path in files(folder.parent().unwrap(), "sb.o.") {
        let run = sound(sysbench_run(&path.display().to_string(), open(&path)).unwrap());
        assert_eq!(run.is_complete(), !path.ends_with("sb.o.myvac"), "{}", path.display());
    }
}

/// The lines of numbers in a file of metrics of one run: those of the device, and those of the CPU.
fn printed(path: &Path) -> [Vec<String>; 2] {
    let text = fs_err::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    [lines[2], lines[5]].map(|line| line.split_whitespace().map(str::to_owned).collect())
}

fn metrics_follow_from_samples(folder: &Path, checked: &mut Comparisons) {
    let folder = folder.join("sysbench-raw/feb25-hetz48-postgres-dop40");
    for path in files(&folder, "sb.vm.") {
        let samples = sound(vmstat(&path.display().to_string(), open(&path)).unwrap());
        let [device, cpu] = printed(&beside(&path, "sb.vm.", "sb.met."));
        let q: f64 = device[8].parse().unwrap();
        let switches = samples.published_mean(|it| it.cs).unwrap();
        let busy = samples.published_mean(|it| it.us + it.sy).unwrap();
        let found = [
            samples.published_samples().to_string(),
            format!("{switches:.0}"),
            format!("{busy:.1}"),
            format!("{:.3}", switches / q),
            format!("{:.6}", busy / q),
        ];
        for (found, printed) in found.iter().zip(&cpu) {
            checked.equal(|| path.display().to_string(), found, printed);
        }
    }
    for path in files(&folder, "sb.io.") {
        let samples = sound(iostat(&path.display().to_string(), open(&path)).unwrap());
        let [device, _] = printed(&beside(&path, "sb.io.", "sb.met."));
        let q: f64 = device[8].parse().unwrap();
        let mean = |value: fn(&IostatSample) -> f64| samples.mean_of("md2", value).unwrap();
        let [reads, read_kb] = [mean(|it| it.reads), mean(|it| it.read_kb)];
        let [writes, write_kb] = [mean(|it| it.writes), mean(|it| it.write_kb)];
        let found = [
            samples.devices["md2"].len().to_string(),
            format!("{reads:.1}"),
            format!("{:.1}", read_kb / 1024.0),
            format!("{writes:.1}"),
            format!("{:.1}", write_kb / 1024.0),
            format!("{:.3}", reads / q),
            format!("{:.3}", read_kb / q),
            format!("{:.3}", write_kb / q),
        ];
        for (found, printed) in found.iter().zip(&device) {
            checked.equal(|| path.display().to_string(), found, printed);
        }
    }
}

/// Percentiles of rates follow from the seconds, and the histograms hold every statement.
fn runs_of_the_insert_benchmark_are_read(folder: &Path, checked: &mut Comparisons) {
    let folder = folder.join("ibench-raw");
    for path in files(&folder, "o.ib.dop1.") {
        let run = sound(ibench_run(&path.display().to_string(), open(&path)).unwrap());
        let summary = fs_err::read_to_string(path.with_file_name("o.res.dop1")).unwrap();
        for line in summary.lines() {
            // `50th, 15 / 30 = 100 insert, 100 delete, 5663 query`
            let Some((percent, rates)) = line
                .split_once("th, ")
                .and_then(|(percent, rest)| Some((percent, rest.split_once(" = ")?.1)))
            else {
                continue;
            };
            // Too few seconds for a percentile.
            if rates.starts_with("NA") {
                continue;
            }
            let share = percent.parse::<f64>().unwrap() / 100.0;
            let rate = |value: fn(&IbenchSecond) -> f64| {
                rate_reached(run.seconds.iter().map(value), share).unwrap_or(0.0)
            };
            let found = format!(
                "{} insert, {} delete, {} query",
                rate(|it| it.inserts),
                rate(|it| it.deletes),
                rate(|it| it.queries)
            );
            checked.equal(|| format!("{} {percent}", path.display()), &found, rates);
        }
    }
}

fn rows_of_steps_are_ratios_to_the_first_of_their_family(folder: &Path, checked: &mut Comparisons) {
    for path in files(folder, "rel.") {
        let absolute = steps(&beside(&path, "rel.", "mrg."));
        let mut bases: BTreeMap<usize, &IbenchRow> = BTreeMap::new();
        let mut others = Vec::new();
        for row in &absolute {
            match bases.get(&row.family) {
                None => drop(bases.insert(row.family, row)),
                Some(base) => others.push((*base, row)),
            }
        }
        for ((base, row), published) in others.into_iter().zip(steps(&path)) {
            assert_eq!(row.tag, published.tag, "{}", path.display());
            for number in 0..row.values.len() {
                let ratio = match (row.values[number], base.values[number]) {
                    (Some(value), Some(base)) => printed_ratio(value, base),
                    _ => "NA".to_owned(),
                };
                let what = || format!("{} {} column {number}", path.display(), row.tag);
                checked.equal(what, &ratio, &published.printed[number]);
            }
        }
    }
}

fn summaries_of_the_insert_benchmark_are_reproduced(folder: &Path, checked: &mut Comparisons) {
    let expected = fs_err::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    for set in expected["insert_benchmark"].as_array().unwrap() {
        let of_set = folder.join(set["dataset"].as_str().unwrap());
        let table = |name: &str| {
            let path = of_set.join(name);
            sound(rate_table(name, open(&path)).unwrap())
        };
        let (rates, ratios, inserts) = (table("tput.tsv"), table("tputr.tsv"), table("iput.tsv"));
        let base = &rates.rows[0];
        for (row, printed) in rates.rows.iter().zip(&ratios.rows) {
            for (number, step) in rates.steps.iter().enumerate() {
                let found =
                    printed_ratio(row.values[number].unwrap(), base.values[number].unwrap());
                let what = || format!("{} {step}", row.server);
                checked.equal(what, &found, &format!("{:.2}", printed.values[number].unwrap()));
                let json = &set["relative"][&row.server][number];
                checked.equal(what, &found, json.as_str().unwrap());
            }
        }
        // A step misses its rate below 95% of the target.
        let clients = set["clients"].as_f64().unwrap();
        let mut missed = Vec::new();
        for row in &inserts.rows {
            for (number, target) in set["insert_rate_target"].as_array().unwrap().iter().enumerate()
            {
                let least = (0.95 * clients * target.as_f64().unwrap()).round();
                let rate = row.values[number].unwrap();
                if rate < least {
                    missed.push(format!(
                        "{} {} {rate} of {least}",
                        row.server, inserts.steps[number]
                    ));
                }
            }
        }
        let told = set["sla_failures"].as_array().unwrap().iter().map(|it| {
            let word = |key: &str| it[key].as_str().unwrap().to_owned();
            format!("{} {} {} of {}", word("dbms"), word("step"), it["rate"], it["threshold"])
        });
        let told: Vec<String> = told.collect();
        checked.equal(|| set["dataset"].to_string(), &missed.join("; "), &told.join("; "));
    }
}

/// An imported table is judged like a measured study; the statistics of its groups are the published ones.
fn statistics_of_groups_are_reproduced(folder: &Path, checked: &mut Comparisons) {
    let expected = fs_err::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let mut judged = BTreeMap::new();
    for stats in expected["group_stats"].as_array().unwrap() {
        let word = |key: &str| stats[key].as_str().unwrap();
        let key = (word("dataset"), word("table"), word("base"));
        let (record, judgement) = judged.entry(key).or_insert_with(|| {
            let table = qps(&folder.join(word("dataset")).join(word("table")));
            let record = study_of(&with_base(table, word("base")), None, &about()).unwrap();
            let judgement = assay_verdict::judge(&record);
            (record, judgement)
        });
        let published = format!("published as `{}`", word("me"));
        let is_me = |it: &System| it.artifact.notes().contains(&published);
        let me = record.systems.iter().position(is_me).unwrap();
        let of_me = judgement.groups.iter().filter(|it| it.system == me);
        let group = of_me.into_iter().find(|it| it.group.word == word("group")).unwrap();
        for (name, value) in [
            ("n", f64::from(group.n)),
            ("min", group.min),
            ("max", group.max),
            ("avg", group.avg),
            ("median", group.median),
            ("stddev", group.stddev.unwrap()),
        ] {
            let what = || format!("{} {} {} {name}", word("dataset"), word("me"), word("group"));
            let published = format!("{:.6}", stats[name].as_f64().unwrap());
            checked.equal(what, &format!("{value:.6}"), &published);
        }
        // A single run has no interval, so there is no verdict.
        let of_me = judgement.cells.iter().filter(|it| it.system == me);
        assert!(of_me.into_iter().all(|it| {
            it.verdict == Verdict::Undecided && it.rqps.is_none_or(|rqps| !rqps.has_interval())
        }));
    }
}

/// Moves the server `base` to the first column.
fn with_base(mut table: QpsTable, base: &str) -> QpsTable {
    let at = table.servers.iter().position(|it| it == base).unwrap();
    table.servers.swap(0, at);
    table.rows.iter_mut().for_each(|row| row.values.swap(0, at));
    table
}

fn about() -> ImportFacts {
    ImportFacts {
        reported_in: "published".to_owned(),
        id: "published".to_owned(),
        imported_ms: 0,
        setup: Setup { clients: 1, tables: 1, rows: 50_000_000 },
        assay_version: String::new(),
    }
}

fn studies_have_what_was_published(folder: &Path, checked: &mut Comparisons) {
    for path in files(folder, "qps.abs.") {
        let word = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(word) = word.strip_prefix("qps.abs.").and_then(|it| it.strip_suffix(".tsv"))
        else {
            continue;
        };
        let table = qps(&path);
        let names = [format!("o.met.{word}"), format!("met.{word}.txt"), "o.met".to_owned()];
        let beside = names.iter().map(|name| path.with_file_name(name)).find(|it| it.is_file());
        let metrics =
            beside.map(|it| sound(metrics(&it.display().to_string(), open(&it)).unwrap()));
        // One file is cut off, and another one has scan in another unit than its table.
        let place = path.display().to_string();
        let is_whole = !["/dop4/", "/feb24-"].iter().any(|it| place.contains(it));
        if let Some(metrics) = &metrics {
            let has_rates = metrics.has_rates_of(&table);
            checked.equal(|| place.clone(), &has_rates.to_string(), &is_whole.to_string());
        }
        let record = study_of(&table, metrics.as_ref(), &about()).unwrap();
        let judgement = assay_verdict::judge(&record);
        let cells = judgement.cells.chunks(table.servers.len());
        assert_eq!(cells.len(), table.rows.len());
        for (row, cells) in table.rows.iter().zip(cells) {
            let base = row.values[0].unwrap();
            for (cell, value) in cells.iter().zip(&row.values) {
                let what = || format!("{} {} {}", path.display(), row.test, cell.system);
                let qps = cell.qps.unwrap().value;
                checked.equal(what, &format!("{qps:.0}"), &format!("{:.0}", value.unwrap()));
                if cell.system > 0 {
                    let rqps = format!("{:.2}", cell.rqps.unwrap().value);
                    checked.equal(what, &rqps, &printed_ratio(value.unwrap(), base));
                }
                let server = &table.servers[cell.system];
                let title = format!("sb.met.{}.", row.test.replace("_range=", ".range"));
                let section = metrics.iter().flat_map(|it| &it.sections);
                let section = section.into_iter().find(|it| it.title.starts_with(&title));
                let Some(section) = section else { continue };
                let of_server = section.absolute.iter().find(|it| it.server == *server).unwrap();
                for (name, value) in section.columns.iter().zip(&of_server.values) {
                    let found = cell.published.iter().find(|(it, _)| it == name);
                    if name != "o/s" {
                        let found = format!("{:?}", found.map(|it| it.1));
                        checked.equal(what, &found, &format!("{value:?}"));
                    }
                }
                let relative = section.relative.iter().find(|it| it.server == *server);
                if let Some((column, relative)) = section.column("cpu/o").zip(relative) {
                    let ratio = format!("{:.2}", cell.cpu_ratio.unwrap().value);
                    checked.equal(what, &ratio, &relative.printed[column]);
                }
            }
        }
    }
}

fn studies_of_steps_have_what_was_published(folder: &Path, checked: &mut Comparisons) {
    let expected = fs_err::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    for set in expected["insert_benchmark"].as_array().unwrap() {
        let of_set = folder.join(set["dataset"].as_str().unwrap());
        let table = |name: &str| sound(rate_table(name, open(&of_set.join(name))).unwrap());
        let (rates, inserts) = (table("tput.tsv"), table("iput.tsv"));
        let record = study_of_steps(&summary_results(&rates, Some(&inserts)), &about()).unwrap();
        assert!(record.repeated.is_empty());
        let record = record.record;
        let judgement = assay_verdict::judge(&record);
        for (number, cells) in judgement.cells.chunks(rates.rows.len()).enumerate() {
            for (cell, row) in cells.iter().zip(&rates.rows) {
                let what = || format!("{} {}", row.server, rates.steps[number]);
                let published = row.values[number].unwrap();
                let rate = cell.qps.unwrap().value;
                checked.equal(what, &format!("{rate:.0}"), &format!("{published:.0}"));
                // A step that misses its SLA is not compared.
                if let Some(rqps) = cell.rqps {
                    let told = set["relative"][&row.server][number].as_str().unwrap();
                    checked.equal(what, &format!("{:.2}", rqps.value), told);
                }
            }
        }
        let missed = judgement.cells.iter().filter_map(|cell| cell.step.as_ref()?.sla_met);
        let missed = missed.filter(|met| !met).count();
        let published = set["sla_failures"].as_array().unwrap().len();
        checked.equal(|| set["dataset"].to_string(), &missed.to_string(), &published.to_string());
    }
}

fn studies_of_raw_runs_have_what_was_published(folder: &Path, checked: &mut Comparisons) {
    let mut results = Vec::new();
    let mut published = Vec::new();
    for path in files(&folder.join("ibench-raw"), "o.ib.dop1.") {
        let word = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let step = path.parent().unwrap();
        let (step, server) = (word(step), word(step.parent().unwrap()));
        let summary = fs_err::read_to_string(path.with_file_name("o.res.dop1")).unwrap();
        let first: Vec<String> =
            summary.lines().next().unwrap().split(", ").map(str::to_owned).collect();
        let run = sound(ibench_run(&path.display().to_string(), open(&path)).unwrap());
        let seconds = step_seconds(open(&path.with_file_name("o.res.dop1"))).unwrap();
        published.push((server.clone(), step.clone(), first));
        results.push(IbenchResult { step, server, seconds, clients: vec![run] });
    }
    let record = study_of_ibench_runs(&results, &about()).unwrap().record;
    for (server, step, summary) in published {
        let plain = step.split(".L").next().unwrap();
        let name = format!("published as `{server}`");
        let system =
            record.systems.iter().position(|it| it.artifact.notes().contains(&name)).unwrap();
        let is_it = |it: &&Slice| it.system == system && it.cell.test.name() == plain;
        let slice = record.slices.iter().find(is_it).unwrap();
        let number =
            |unit: &str| summary.iter().find_map(|part| part.strip_suffix(unit)).map(str::to_owned);
        let what = || format!("{server} {step}");
        let work = slice.step.as_ref().unwrap();
        if step != "l.x" {
            checked.equal(
                what,
                &work.insert.rows.to_string(),
                &number(" rows-per-process").unwrap(),
            );
            // The summaries truncate rates after one digit.
            let rate = (10.0 * work.insert.rows as f64 / slice.rate_s()).floor() / 10.0;
            checked.equal(what, &format!("{rate:.1}"), &number(" rows-per-second").unwrap());
        }
        if plain.starts_with('q') {
            // The summary counts the queries of the last full second, the histogram all.
            let queries: f64 = number(" queries").unwrap().parse().unwrap();
            let difference = (work.query.statements as f64 / queries - 1.0).abs();
            checked.equal(what, &(difference < 0.001).to_string(), "true");
        }
    }
}

/// Rows of `o.sum.*`, whose steps have no names, are those of the files of the steps.
fn summaries_of_servers_are_the_merged_steps(folder: &Path, checked: &mut Comparisons) {
    let folder = folder.join("ibench/jan21-nuc-20m");
    let mut merged = BTreeMap::new();
    for path in files(&folder.join("res.latest"), "mrg.") {
        let step = path.file_name().unwrap().to_string_lossy().replacen("mrg.", "", 1);
        for result in steps(&path).iter().filter_map(|row| step_result(&step, row)) {
            merged.insert((result.server.clone(), step.clone()), result);
        }
    }
    for path in files(&folder, "o.sum.") {
        for result in steps_of_server(&steps(&path)) {
            let key = (result.server.clone(), result.step.clone());
            let Some(same) = merged.get(&key) else { continue };
            for ((name, value), (_, merged)) in result.published.iter().zip(&same.published) {
                let found = if name == "rps" { format!("{value:.0}") } else { value.to_string() };
                checked.equal(|| format!("{key:?} {name}"), &found, &merged.to_string());
            }
        }
    }
}
