//! `assay map`: counted instructions of many releases, which come with assay. It answers without a server which tests
//! changed between two releases, by how much, and with which release.

mod add;
mod check;
mod counting;
mod fill;
mod known;
mod page;
mod releases;
mod shipped;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use assay_command::args::{FormatWord, Output};
use assay_command::exit::Exit;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_map_data::{CountMap, MapCell, change_along, changes, moved};
use assay_report::Page;
use assay_run::advice::HintedError;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use page::ReleaseHistory;
use releases::{found, history_range};

pub use add::MapAdd;
pub use check::MapCheck;
pub use fill::MapFill;
pub use known::KnownFromMap;
pub use page::{
    ChangedRelease, ReleasePair, change_with_interval, chart, mark, notes, percent, releases,
    step_at,
};
pub use shipped::{VARIABLE, read, read_functions_of};

const FORMS: &str = "\
SYSTEM is PRODUCT@VERSION, such as mysql@8.0.33, or a series, such as mysql@8.0: its newest release
in the map. With one SYSTEM, the answer is its history: of a series, all its releases.";

/// `assay map`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = FORMS)]
#[command(mut_arg("format", FormatWord::only(FormatWord::pages())))]
pub struct MapArgs {
    #[command(subcommand)]
    pub command: Option<MapCommand>,

    /// Two systems to compare, the base first, or one, whose history is shown
    #[arg(required = true, num_args = 1..=2, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub systems: Vec<String>,

    /// Only the tests whose names match
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    #[arg(add = ArgValueCompleter::new(candidates::tests))]
    pub tests: Vec<String>,

    /// A folder with a newer map than the one in the program
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub enum MapCommand {
    /// Count some rows of the map here, and say whether it agrees
    Check(MapCheck),
    /// Count the releases that a map lacks, and add them to its files
    Fill(MapFill),
    /// Add the counts of other folders to a map, such as those of shards
    Add(MapAdd),
}

impl Arguments for MapArgs {
    const NAME: &'static str = "map";
    const ABOUT: &'static str =
        "Say what is known of releases without measuring: their instructions per operation";
    const GROUP: CommandGroup = CommandGroup::Read;
    const EXITS: &'static [(Exit, &'static str)] =
        &[(Exit::LimitExceeded, "found a count that differs from the map")];

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        match &self.command {
            Some(MapCommand::Check(args)) => check::check(args, cache_dir),
            Some(MapCommand::Fill(args)) => fill::fill(args, cache_dir),
            Some(MapCommand::Add(args)) => add::add(args),
            None => self.show(),
        }
    }
}

impl MapArgs {
    fn show(&self) -> Result<Exit> {
        let map = shipped::read(self.dir.as_deref())?;
        match self.systems.as_slice() {
            [base, other] => self.pair(&map, [base, other]),
            [system] => self.history(&map, system),
            _ => bail!("`assay map` takes one system or two"),
        }
    }

    fn pair(&self, map: &CountMap, words: [&str; 2]) -> Result<Exit> {
        let [base, other] = words.map(|words| found(map, words));
        let pair = [base?, other?];
        let is_wanted = wanted(&self.tests)?;
        let mut all = changes(map, pair);
        all.retain(|change| is_wanted(change.test));
        let [base, other] = pair.map(|(product, version)| format!("{product}@{version}"));
        ensure!(!all.is_empty(), nothing_comparable(&base, &other, &self.tests));
        let [of_base, of_other] = [0, 1].map(|side| {
            let keys: BTreeSet<String> =
                all.iter().map(|change| change.cells[side].key()).collect();
            shipped::read_functions_of(self.dir.as_deref(), pair[side].0, Some(&keys))
        });
        let (of_base, of_other) = (of_base?, of_other?);
        let moves = |[one, other]: [&MapCell; 2]| {
            let functions = of_base.get(&one.key()).zip(of_other.get(&other.key()));
            functions.map_or_else(Vec::new, |(one, other)| moved(one, other, MOVES))
        };
        let rows = all.iter().map(|change| (change, moves(change.cells))).collect();
        let (names, is_whole) = ([base, other], self.output.verbose);
        report::put(&self.output, &Page::new(&ReleasePair { names, rows, is_whole }))?;
        Ok(Exit::Done)
    }

    fn history(&self, map: &CountMap, words: &str) -> Result<Exit> {
        let (product, range) = history_range(map, words)?;
        let [first, last] = [range[0], range[range.len() - 1]];
        let is_wanted = wanted(&self.tests)?;
        let tests = map.tests(product).into_iter().filter(|test| is_wanted(test));
        let mut rows: Vec<_> = tests
            .filter_map(|test| {
                let mut line = map.line(product, test, &[last]);
                line.retain(|cell| range.contains(&cell.version.as_str()));
                (line.len() > 1).then_some((change_along(test, &line)?, line))
            })
            .collect();
        rows.sort_by(|(one, _), (other, _)| other.size().total_cmp(&one.size()));
        let ends = [first, last].map(|version| format!("{product}@{version}"));
        ensure!(!rows.is_empty(), nothing_comparable(&ends[0], &ends[1], &self.tests));
        let history = ReleaseHistory { ends, releases: range, rows };
        report::put(&self.output, &Page::new(&history))?;
        Ok(Exit::Done)
    }
}

/// Functions that a page shows of each test.
const MOVES: usize = 6;

/// Whether a test is among those that a user asks for.
fn wanted(globs: &[String]) -> Result<impl Fn(&str) -> bool> {
    let globs = globs.iter().map(|glob| assay_plan::name_matcher(glob));
    let globs = globs.collect::<Result<Vec<_>, _>>()?;
    Ok(move |test: &str| globs.is_empty() || globs.iter().any(|fits| fits(test)))
}

fn nothing_comparable(base: &str, other: &str, tests: &[String]) -> HintedError {
    let of_tests = if tests.is_empty() { "" } else { " of these tests" };
    HintedError::new(
        format!("the map has no comparable counts{of_tests} of `{base}` and `{other}`"),
        format!("`assay count {base} {other}` counts them here"),
    )
}
