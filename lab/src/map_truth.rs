//! Sets the map of counted instructions beside published rates, and two maps beside each other.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use assay_import::{Dbms, ImportFacts, Metrics, QpsTable, dbms, metrics, qps_table, study_of};
use assay_map_data::{
    CountMap, MapCell, agrees, change, instructions, is_in_series, ratio_of, read_rows,
};
use assay_model::{COUNT_THRESHOLD, Product, Setup};

use super::{expect_only, option};

/// Names the folder with published tables.
const PUBLISHED: &str = "ASSAY_PUBLISHED";

/// A published change of about 10%, as a log ratio, between releases in neighbouring columns should be in the map.
const LARGE: f64 = 0.095;

/// A log ratio that is a change in the map.
const SEEN: f64 = 0.02;

/// Tests that are named for each pair.
const NAMED: usize = 3;

/// A table of published rates.
struct PublishedTable {
    name: String,
    /// `None` if it is unknown.
    clients: Option<u32>,
    /// By column; `None` for other engines and unknown names.
    releases: Vec<Option<Dbms>>,
    tests: Vec<PublishedRates>,
}

struct PublishedRates {
    name: String,
    is_write: bool,
    /// Operations per second, by column.
    rates: Vec<Option<f64>>,
    /// CPU per operation, by column.
    cpu: Vec<Option<f64>>,
}

/// A test on two releases. All are speeds of the second one relative to the first.
#[derive(Debug, Clone, PartialEq)]
struct ComparedTest {
    name: String,
    is_write: bool,
    /// From the map: instructions of the first divided by those of the second.
    map: f64,
    rate: f64,
    /// From the CPU per operation.
    cpu: Option<f64>,
}

/// Two columns of a table that the map has.
struct ComparedPair {
    columns: [usize; 2],
    published: [String; 2],
    in_map: [String; 2],
    tests: Vec<ComparedTest>,
}

/// Prints tables: `[--map DIR] [--against DIR]`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub(super) fn run(root: &Path, words: &[String]) -> Result<()> {
    expect_only(words, &["--map", "--against"], &[])?;
    let folder = option(words, "--map")?.map_or_else(|| root.join("map"), PathBuf::from);
    let map = map_of(&folder)?;
    if let Some(other) = option(words, "--against")? {
        println!("{}", beside(&map, &map_of(Path::new(other))?));
        return Ok(());
    }
    let published = std::env::var_os(PUBLISHED).map(PathBuf::from);
    let published = published.unwrap_or_else(|| root.join("../shared/published"));
    ensure!(
        published.is_dir(),
        "no published tables in `{}`: set {PUBLISHED}",
        published.display()
    );
    for path in files(&published)? {
        let name = path.strip_prefix(&published).unwrap_or(&path).display().to_string();
        println!("{}", section(&map, &table(&path, name)?));
    }
    Ok(())
}

fn map_of(folder: &Path) -> Result<CountMap> {
    let mut cells: Vec<MapCell> = Vec::new();
    for product in Product::ALL {
        let path = folder.join(format!("{product}.csv"));
        if path.exists() {
            cells.extend(read_rows::<MapCell>(
                &path.display().to_string(),
                &fs_err::read_to_string(&path)?,
            )?);
        }
    }
    Ok(CountMap::new(cells, Vec::new()))
}

/// The tables below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if name.starts_with("qps.abs.") && name.ends_with(".tsv") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn open(path: &Path) -> Result<BufReader<fs_err::File>> {
    Ok(BufReader::new(fs_err::File::open(path)?))
}

fn table(path: &Path, name: String) -> Result<PublishedTable> {
    let (rates, _) = qps_table(&name, open(path)?)?;
    let metrics = metrics_of(path, &rates)?;
    let clients = metrics.as_ref().and_then(Metrics::clients);
    let about = ImportFacts {
        reported_in: name.clone(),
        id: name.clone(),
        imported_ms: 0,
        setup: Setup { clients: clients.unwrap_or(1), tables: 1, rows: 50_000_000 },
        assay_version: String::new(),
    };
    let record = study_of(&rates, metrics.as_ref(), &about);
    let record = record.ok().with_context(|| format!("`{name}` is no table of rates"))?;
    let mut tests: Vec<PublishedRates> = Vec::new();
    for cell in assay_verdict::judge(&record).cells {
        let test = cell.cell.test.name();
        if tests.last().is_none_or(|last| last.name != test) {
            let none = vec![None; rates.servers.len()];
            tests.push(PublishedRates {
                name: test.to_owned(),
                is_write: cell.group.word == "writes",
                rates: none.clone(),
                cpu: none,
            });
        }
        let row = tests.last_mut().expect("a test was added");
        row.rates[cell.system] = cell.qps.map(|rate| rate.value);
        let cpu = cell.published.iter().find(|(name, _)| name == "cpu/o");
        row.cpu[cell.system] = cpu.map(|(_, seconds)| *seconds).filter(|seconds| *seconds > 0.0);
    }
    let usual = |found: &Dbms| found.engine == found.product.default_engine();
    let releases = rates.servers.iter().map(|server| dbms(server).filter(usual)).collect();
    Ok(PublishedTable { name, clients, releases, tests })
}

/// The metrics beside a table that have all of its rates.
fn metrics_of(table: &Path, rates: &QpsTable) -> Result<Option<Metrics>> {
    for entry in fs_err::read_dir(table.parent().context("a file has a folder")?)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("o.met") || name.starts_with("met.") {
            let (metrics, _) = metrics(&name, open(&path)?)?;
            if metrics.has_rates_of(rates) {
                return Ok(Some(metrics));
            }
        }
    }
    Ok(None)
}

/// The release in the map, or the nearest one of its series.
fn in_map<'m>(map: &'m CountMap, release: &Dbms) -> Option<&'m str> {
    let (series, patch) = release.version.rsplit_once('.')?;
    let patch: u64 = patch.parse().ok()?;
    let distance = |version: &&str| {
        let own: u64 = version.strip_prefix(series)?.strip_prefix('.')?.parse().ok()?;
        Some(own.abs_diff(patch))
    };
    let mut versions = map.versions(release.product);
    versions.retain(|version| is_in_series(version, series) && distance(version).is_some());
    versions.into_iter().min_by_key(distance)
}

/// Every column beside the first, and beside the one in front of it.
fn pairs(map: &CountMap, table: &PublishedTable) -> Vec<ComparedPair> {
    let columns = table.releases.len();
    let neighbours = (2..columns).map(|column| [column - 1, column]);
    let all = (1..columns).map(|column| [0, column]).chain(neighbours);
    all.filter_map(|columns| pair(map, table, columns)).collect()
}

/// `None` if the map does not have two releases for the columns.
fn pair(map: &CountMap, table: &PublishedTable, columns: [usize; 2]) -> Option<ComparedPair> {
    let [base, other] = columns.map(|column| table.releases[column].as_ref());
    let (base, other) = (base?, other?);
    let [known_base, known_other] = [in_map(map, base)?, in_map(map, other)?];
    let ends = [(base.product, known_base), (other.product, known_other)];
    if ends[0] == ends[1] {
        return None;
    }
    let tests = table.tests.iter().filter_map(|test| {
        let quotient = |values: &[Option<f64>]| {
            let [base, other] = columns.map(|column| values[column]);
            Some(other? / base?)
        };
        let map = 1.0 / change(map, &test.name, ends)?.ratio.value;
        let (rate, cpu) = (quotient(&test.rates)?, quotient(&test.cpu).map(f64::recip));
        Some(ComparedTest { name: test.name.clone(), is_write: test.is_write, map, rate, cpu })
    });
    let named = |release: &Dbms| format!("{}@{}", release.product, release.version);
    Some(ComparedPair {
        columns,
        published: [named(base), named(other)],
        in_map: ends.map(|(_, version)| version.to_owned()),
        tests: tests.collect(),
    })
}

fn section(map: &CountMap, table: &PublishedTable) -> String {
    let clients =
        table.clients.map_or_else(String::new, |clients| format!(", {clients} client(s)"));
    let mut text = format!("## {}{clients}\n\n", table.name);
    let pairs = pairs(map, table);
    let lacking = table.releases.iter().flatten().filter(|release| in_map(map, release).is_none());
    let lacking: Vec<String> =
        lacking.map(|release| format!("{}@{}", release.product, release.version)).collect();
    if !lacking.is_empty() {
        text += &format!("The map has no release of the series of {}.\n\n", lacking.join(", "));
    }
    let pairs: Vec<&ComparedPair> = pairs.iter().filter(|pair| !pair.tests.is_empty()).collect();
    if pairs.is_empty() {
        return text + "The map has no two releases of this table.\n";
    }
    text += "| published | in the map | tests | median of the map | of the rates | of the CPU | r | r of the CPU |\n\
             |---|---|---:|---:|---:|---:|---:|---:|\n";
    for pair in &pairs {
        text += &row(pair);
    }
    for pair in &pairs {
        text += &format!("\n{} to {} differ most:\n", pair.published[0], pair.published[1]);
        for test in differing(&pair.tests) {
            let cpu = test.cpu.map_or_else(String::new, |cpu| format!(", CPU {cpu:.2}"));
            let ComparedTest { name, map, rate, .. } = test;
            let reason = reason(test, pair, table.clients);
            text += &format!(
                "- `{name}`: map {map:.2}, rate {rate:.2}{cpu}; possible reason: {reason}\n"
            );
        }
    }
    text + &large_changes(&pairs)
}

fn row(pair: &ComparedPair) -> String {
    let all = |value: fn(&ComparedTest) -> Option<f64>| -> Vec<[f64; 2]> {
        pair.tests.iter().filter_map(|test| Some([test.map, value(test)?])).collect()
    };
    let (rates, cpu) = (all(|test| Some(test.rate)), all(|test| test.cpu));
    let of_map = pair.tests.iter().map(|test| test.map).collect();
    let second = |values: &[[f64; 2]]| -> Vec<f64> { values.iter().map(|pair| pair[1]).collect() };
    format!(
        "| {} → {} | {} → {} | {} | {} | {} | {} | {} | {} |\n",
        pair.published[0],
        pair.published[1],
        pair.in_map[0],
        pair.in_map[1],
        pair.tests.len(),
        number(median(of_map)),
        number(median(second(&rates))),
        number(median(second(&cpu))),
        number(correlation(&rates)),
        number(correlation(&cpu)),
    )
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// The tests of which map and rate differ most.
fn differing(tests: &[ComparedTest]) -> Vec<&ComparedTest> {
    let difference = |test: &ComparedTest| (test.map / test.rate).ln().abs();
    let mut tests: Vec<&ComparedTest> = tests.iter().collect();
    tests.sort_by(|one, other| difference(other).total_cmp(&difference(one)));
    tests.truncate(NAMED);
    tests
}

/// The most probable reason of a difference, as far as the published figures show one.
fn reason(test: &ComparedTest, pair: &ComparedPair, clients: Option<u32>) -> &'static str {
    let distance = |value: f64| (test.map / value).ln().abs();
    let is_exact = (pair.published.iter().zip(&pair.in_map)).all(|(published, known)| {
        published.split_once('@').is_some_and(|(_, version)| version == known)
    });
    if test.cpu.is_some_and(|cpu| distance(cpu) < distance(test.rate) / 2.0) {
        "the CPU per operation agrees: the rate has waiting too"
    } else if test.is_write {
        "a write: the map leaves out the kernel, other threads and the log"
    } else if clients.is_some_and(|clients| clients > 1) {
        "many clients: the map leaves out contention"
    } else if !is_exact {
        "other releases than the published"
    } else {
        "caches, memory, or another build"
    }
}

/// Whether the map has the large published changes between neighbours.
fn large_changes(pairs: &[&ComparedPair]) -> String {
    let neighbours = pairs.iter().filter(|pair| pair.columns[0] + 1 == pair.columns[1]);
    let of_pair = |pair: &&ComparedPair| -> Vec<(String, bool)> {
        let large = pair.tests.iter().filter(|test| test.rate.ln().abs() >= LARGE);
        let line = |test: &ComparedTest| {
            let is_seen = test.map.ln() * test.rate.ln().signum() >= SEEN;
            let word = if is_seen { "seen" } else { "not seen" };
            let [base, other] = &pair.published;
            let ComparedTest { name, map, rate, .. } = test;
            (
                format!("- {base} → {other}, `{name}`: rate {rate:.2}, map {map:.2}: {word}\n"),
                is_seen,
            )
        };
        large.map(line).collect()
    };
    let all: Vec<(String, bool)> = neighbours.flat_map(of_pair).collect();
    if all.is_empty() {
        return String::new();
    }
    let seen = all.iter().filter(|(_, is_seen)| *is_seen).count();
    let lines: String = all.iter().map(|(line, _)| line.as_str()).collect();
    format!("\nOf {} published changes of 10% and more, the map has {seen}:\n{lines}", all.len())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { (values[middle - 1] + upper) / 2.0 })
}

/// Correlation of the logarithms; `None` for fewer than three pairs.
fn correlation(pairs: &[[f64; 2]]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let count = pairs.len() as f64;
    let logs: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.map(f64::ln)).collect();
    let means = [0_usize, 1].map(|side| logs.iter().map(|pair| pair[side]).sum::<f64>() / count);
    let sum = |one: usize, other: usize| -> f64 {
        logs.iter().map(|pair| (pair[one] - means[one]) * (pair[other] - means[other])).sum()
    };
    Some(sum(0, 1) / (sum(0, 0) * sum(1, 1)).sqrt()).filter(|r| r.is_finite())
}

/// Cells that two maps have, of machines that may differ.
fn beside(map: &CountMap, other: &CountMap) -> String {
    let key = |cell: &MapCell| {
        let MapCell { product, version, source, test, digest, terms, .. } = cell;
        (*product, [version, source, test, digest, terms].map(String::clone))
    };
    let known: BTreeMap<_, &MapCell> = map.cells().iter().map(|cell| (key(cell), cell)).collect();
    let found = other.cells().iter();
    let both: Vec<[&MapCell; 2]> =
        found.filter_map(|cell| Some([*known.get(&key(cell))?, cell])).collect();
    if both.is_empty() {
        return "The maps have no cell in common.".to_owned();
    }
    let size = |[one, other]: &[&MapCell; 2]| ratio_of(one, other).value.ln().abs();
    let share = |count: usize| 100.0 * count as f64 / both.len() as f64;
    let near = both.iter().filter(|pair| size(pair) <= COUNT_THRESHOLD).count();
    let agreeing = both.iter().filter(|[one, other]| agrees(one, instructions(other))).count();
    let mut text = format!(
        "Of {} cells in both maps, {:.1}% are within {:.1}%, and {:.1}% within that or their intervals.\n",
        both.len(),
        share(near),
        100.0 * COUNT_THRESHOLD,
        share(agreeing),
    );
    let mut farthest = both.clone();
    farthest.sort_by(|one, other| size(other).total_cmp(&size(one)));
    for [one, other] in farthest.into_iter().take(10) {
        let change = 100.0 * (ratio_of(one, other).value - 1.0);
        let [shown, other_shown] = [&one.shown, &other.shown];
        text +=
            &format!("- {} `{}`: {change:+.2}% ({shown}; {other_shown})\n", one.system(), one.test);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: &str = "product,version,source,program,test,digest,terms,instructions,half_width,\
        background,times,counter,shown\n\
        mysql,5.6.14,maven,0a,scan,d1,lean,40000.0,4.0,,2,valgrind 3.19.0,avx2\n\
        mysql,5.6.14,maven,0a,point-query,d2,lean,30000.0,4.0,,2,valgrind 3.19.0,avx2\n\
        mysql,8.0.33,maven,0b,scan,d1,lean,50000.0,5.0,,2,valgrind 3.19.0,avx2\n\
        mysql,8.0.33,maven,0b,point-query,d2,lean,45000.0,5.0,,2,valgrind 3.19.0,avx2\n\
        mysql,8.0.44,maven,0c,scan,d1,lean,50100.0,5.0,,2,valgrind 3.19.0,avx2\n";

    fn map() -> CountMap {
        CountMap::new(read_rows("mysql.csv", CELLS).unwrap(), Vec::new())
    }

    #[test]
    fn a_table_is_set_beside_the_nearest_releases() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("qps.abs.x.tsv");
        let rates = "col-1 : x.my5651_rel.z12a.pk1\ncol-2 : x.my8036_rel.z12a.pk1\n\
                     col-3 : x.my9400_rel.z12a.pk1\n\ncol-1\tcol-2\tcol-3\n\
                     100\t80\t70\tscan_range=100\n1000\t500\t400\tpoint-query_range=100\n";
        fs_err::write(&path, rates).unwrap();
        assert_eq!(files(folder.path()).unwrap(), std::slice::from_ref(&path));
        let text = section(&map(), &table(&path, "x".to_owned()).unwrap());
        for part in [
            "no release of the series of mysql@9.4.0",
            "| mysql@5.6.51 → mysql@8.0.36 | 5.6.14 → 8.0.33 | 2 | 0.73 | 0.65 | – | – | – |",
            "- `point-query`: map 0.67, rate 0.50; possible reason: other releases than the published",
            "Of 2 published changes of 10% and more, the map has 2:",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let empty = section(&CountMap::default(), &table(&path, "x".to_owned()).unwrap());
        assert!(empty.contains("The map has no two releases"), "{empty}");
    }

    #[test]
    fn equal_ratios_correlate() {
        let r = |pairs: &[[f64; 2]]| correlation(pairs).map(|r| (r * 100.0).round() / 100.0);
        assert_eq!(r(&[[0.5, 0.5], [0.7, 0.7], [1.1, 1.1]]), Some(1.0));
        assert_eq!(r(&[[0.5, 2.0], [1.0, 1.0], [2.0, 0.5]]), Some(-1.0));
        assert_eq!(r(&[[0.5, 0.5], [0.7, 0.7]]), None);
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
    }

    #[test]
    fn two_maps_are_compared_cell_by_cell() {
        let text = CELLS.replace("50000.0,5.0,,2", "50600.0,5.0,,2").replace(",avx2", ",sse4_2");
        let other = CountMap::new(read_rows("mysql.csv", &text).unwrap(), Vec::new());
        let found = beside(&map(), &other);
        assert!(found.contains("Of 5 cells in both maps, 80.0% are within 0.5%"), "{found}");
        assert!(found.contains("- mysql@8.0.33 `scan`: +1.20% (avx2; sse4_2)"), "{found}");
    }
}
