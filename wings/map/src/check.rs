//! `assay map check`: counts some rows of the map here, and says whether it agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_command::args::{FormatWord, MeasureArgs};
use assay_command::exit::Exit;
use assay_command::measurement::planned;
use assay_command::{candidates, report};
use assay_map_data::{CountMap, MapCell, agrees};
use assay_model::{Counting, Product, StudyRecord};
use assay_options::whole;
use assay_plan::Request;
use assay_report::{Format, Page};
use assay_run::advice::HintedError;
use assay_run::progress::print;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::page::{CheckedCell, CheckedCells};
use crate::releases::{found, release_named};
use crate::shipped::{self, VARIABLE};

fn formats() -> impl Iterator<Item = FormatWord> {
    FormatWord::pages().filter(|word| *word != FormatWord::Of(Format::CSV))
}

#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(formats())))]
pub struct MapCheck {
    /// Check a release, such as `mysql@8.0.33` [default: the whole map]
    #[arg(value_name = "SYSTEM", add = ArgValueCompleter::new(candidates::systems))]
    pub system: Option<String>,

    /// Rows that are counted, chosen by chance
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32), default_value_t = 3)]
    pub random: u32,

    /// Choose the same rows as another check with this seed [default: by chance]
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,

    /// Choose only among the tests whose names match
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub tests: Vec<String>,

    /// A folder with a newer map than the one in the program
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

pub(crate) fn check(args: &MapCheck, cache_dir: Option<&Path>) -> Result<Exit> {
    let map = shipped::read(args.dir.as_deref())?;
    let release = args.system.as_deref().map(|words| found(&map, words)).transpose()?;
    // Its hashes differ from process to process.
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 32);
    let cells = sample(&map, release, args, seed)?;
    if cells.is_empty() {
        bail!(nothing_to_check(&map, args.system.as_deref()));
    }
    if args.seed.is_none() && !args.measuring.quiet {
        print(&format!("note: `--seed {seed}` chooses the same rows of the same map"));
    }
    let (mut checked, mut outcome) = (Vec::new(), Ok(Exit::Done));
    for cells in studies(cells) {
        let request = request(&cells, args);
        let planned = planned(request, &args.measuring, None, |machine, _| machine, cache_dir);
        outcome = planned.and_then(|planned| {
            planned.measure_for(|record, _| {
                checked.extend(compared(record, &cells));
                Ok(Exit::Done)
            })
        });
        if !matches!(outcome, Ok(Exit::Done)) {
            break;
        }
    }
    let checked = CheckedCells { cells: checked };
    // A check that was interrupted or failed may have counted nothing; what it counted is shown.
    if !checked.cells.is_empty() {
        report::put(&args.measuring.output, &Page::new(&checked))?;
    }
    let is_missing = checked.cells.iter().any(|checked| checked.here.is_none());
    let differs = checked.cells.iter().any(|checked| checked.here.is_some() && !checked.agrees);
    Ok(match outcome? {
        Exit::Done if differs => Exit::LimitExceeded,
        Exit::Done if is_missing => Exit::Incomplete,
        exit => exit,
    })
}

fn nothing_to_check(map: &CountMap, system: Option<&str>) -> HintedError {
    if map.cells().is_empty() {
        return HintedError::new(
            "the map is empty",
            "name a folder with another one with `--dir`, or fill it: `assay map fill --product PRODUCT`",
        );
    }
    let of_system = system.map(|words| format!(" of `{words}`")).unwrap_or_default();
    HintedError::new(
        format!("the map has no test{of_system} that this assay counts in the same way"),
        "`assay map SYSTEM` shows what it has; after a change of a test, `assay map fill` counts it again",
    )
}

/// Cells that this assay would count in the same way.
fn sample<'m>(
    map: &'m CountMap,
    release: Option<(Product, &str)>,
    args: &MapCheck,
    seed: u64,
) -> Result<Vec<&'m MapCell>> {
    let tests = assay_plan::select_of(Request::default().shipped_tests(), &args.tests)?;
    let digests: BTreeMap<&str, &str> =
        tests.iter().map(|test| (test.name(), test.digest.as_str())).collect();
    let is_wanted = |cell: &&MapCell| {
        release.is_none_or(|release| release == (cell.product, cell.version.as_str()))
            && digests.get(cell.test.as_str()) == Some(&cell.digest.as_str())
    };
    let mut cells: Vec<&MapCell> = map.cells().iter().filter(is_wanted).collect();
    cells.sort_by_cached_key(|cell| {
        let mut hasher = DefaultHasher::new();
        (seed, cell.product, cell.key()).hash(&mut hasher);
        hasher.finish()
    });
    cells.truncate(args.random as usize);
    // A map may come from anyone, and the name of a system may be an address of sources to build.
    for cell in &cells {
        release_named(&cell.system())?;
    }
    Ok(cells)
}

/// The cells of each study, which has one system, one source and one set of terms.
fn studies(cells: Vec<&MapCell>) -> Vec<Vec<&MapCell>> {
    let mut studies: BTreeMap<_, Vec<&MapCell>> = BTreeMap::new();
    for cell in cells {
        let MapCell { product, version, source, terms, .. } = cell;
        studies.entry((product, version, source, terms)).or_default().push(cell);
    }
    studies.into_values().collect()
}

fn request(cells: &[&MapCell], args: &MapCheck) -> Request {
    let tests: BTreeSet<&String> = cells.iter().map(|cell| &cell.test).collect();
    let first = cells[0];
    Request {
        tests: tests.into_iter().cloned().collect(),
        count: Counting::Only,
        terms: first.terms.clone(),
        source: Some(first.source.clone()),
        offline: args.measuring.offline,
        accept_expired_index: args.measuring.accept_expired_index,
        ..Request::of_systems(&[first.system()])
    }
}

fn compared<'m>(record: &StudyRecord, cells: &[&'m MapCell]) -> Vec<CheckedCell<'m>> {
    let judgement = assay_verdict::judge(record);
    let checked = |&cell: &&'m MapCell| {
        let mut judged = judgement.cells.iter().filter(|judged| judged.system == 0);
        let judged = judged.find(|judged| judged.cell.test.name() == cell.test);
        let here = judged.and_then(|judged| Some(judged.count.as_ref()?.instructions));
        CheckedCell { cell, here, agrees: here.is_some_and(|here| agrees(cell, here)) }
    };
    cells.iter().map(checked).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use assay_map_data::read_rows;
    use clap::FromArgMatches as _;

    use super::*;

    fn args(words: &[&str]) -> MapCheck {
        let command = MapCheck::augment_args(clap::Command::new("check").no_binary_name(true));
        MapCheck::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn a_seed_chooses_rows_of_the_whole_map() {
        let mut text = "product,version,source,program,test,digest,terms,instructions,half_width,\
                        background,times,counter,shown\n"
            .to_owned();
        for version in ["8.0.11", "8.0.12", "8.0.33"] {
            for test in Request::default().shipped_tests().into_iter().take(5) {
                let (name, digest) = (test.name(), &test.digest);
                let rest = "lean,40000.0,4.0,,2,valgrind 3.19.0,avx2";
                let _ = writeln!(text, "mysql,{version},maven,0a,{name},{digest},{rest}");
            }
            text += &format!("mysql,{version},maven,0a,scan,old,lean,4.0,1.0,,2,valgrind,avx2\n");
        }
        let map = CountMap::new(read_rows("mysql.csv", &text).unwrap(), Vec::new());
        let chosen = |release: Option<(Product, &str)>, words: &[&str], seed| {
            let cells = sample(&map, release, &args(words), seed).unwrap();
            cells.iter().map(|cell| cell.key()).collect::<Vec<String>>()
        };
        let four = chosen(None, &["--random", "4"], 7);
        assert_eq!((four.len(), &four), (4, &chosen(None, &["--random", "4"], 7)));
        assert_ne!(four, chosen(None, &["--random", "4"], 8));
        // Changed work is not chosen.
        assert_eq!(chosen(None, &["--random", "100"], 7).len(), 15);
        let release = Some((Product::MySql, "8.0.12"));
        let keys = chosen(release, &["--random", "100"], 7);
        assert!(keys.len() == 5 && keys.iter().all(|key| key.starts_with("8.0.12,")), "{keys:?}");
        let text = text.replace("mysql,8.0.11,", "mysql,git:https://example.org/server,");
        let foreign = CountMap::new(read_rows("mysql.csv", &text).unwrap(), Vec::new());
        assert!(sample(&foreign, None, &args(&["--random", "100"]), 7).is_err());
    }

    #[test]
    fn a_study_has_one_release() {
        let text = "product,version,source,program,test,digest,terms,instructions,half_width,\
                    background,times,counter,shown\n\
                    mysql,8.0.11,maven,0a,scan,d,lean,4.0,1.0,,2,valgrind,avx2\n\
                    mysql,8.0.11,maven,0a,sort,d,lean,4.0,1.0,,2,valgrind,avx2\n\
                    mysql,8.0.11,apt,0a,scan,d,lean,4.0,1.0,,2,valgrind,avx2\n\
                    postgres,16.1,maven,0a,scan,d,lean,4.0,1.0,,2,valgrind,avx2\n";
        let cells: Vec<MapCell> = read_rows("mysql.csv", text).unwrap();
        let sizes: Vec<usize> = studies(cells.iter().collect()).iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 4);
        assert_eq!(sizes.len(), 3);
        let request = request(&[&cells[1], &cells[0]], &args(&["--offline"]));
        assert_eq!(request.tests, ["scan", "sort"]);
        assert_eq!((request.source.as_deref(), request.offline), (Some("maven"), true));
    }
}
