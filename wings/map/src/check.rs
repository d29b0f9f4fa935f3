//! `assay map check`: counts some tests of a release here, and says whether the map agrees.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_command::args::{FormatWord, MeasureArgs};
use assay_command::exit::Exit;
use assay_command::measurement::planned;
use assay_command::{candidates, report};
use assay_map_data::{CountMap, MapCell, agrees};
use assay_model::{Counting, Product, StudyRecord, Test};
use assay_options::whole;
use assay_plan::Request;
use assay_report::{Format, Page};
use assay_run::advice::HintedError;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::page::{CheckedCell, CheckedCells};
use crate::releases::found;
use crate::shipped::{self, VARIABLE};

fn formats() -> impl Iterator<Item = FormatWord> {
    FormatWord::pages().filter(|word| *word != FormatWord::Of(Format::CSV))
}

#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(formats())))]
pub struct MapCheck {
    /// The release, such as `mysql@8.0.33` [default: one of the map, by chance]
    #[arg(value_name = "SYSTEM", add = ArgValueCompleter::new(candidates::systems))]
    pub system: Option<String>,

    /// Tests that are counted, chosen by chance
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32), default_value_t = 3)]
    pub sample: u32,

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
    // Its hashes differ from process to process.
    let chance = RandomState::new();
    let (product, version) = match &args.system {
        Some(words) => found(&map, words)?,
        None => chosen_release(&map, &chance)?,
    };
    let system = format!("{product}@{version}");
    let cells = sample(&map, (product, version), args, &chance)?;
    let Some(first) = cells.first() else {
        bail!(HintedError::new(
            format!("the map has no test of `{system}` that this assay counts in the same way"),
            "`assay map SYSTEM` shows what it has; after a change of a test, `assay map fill` counts it again",
        ));
    };
    let request = Request {
        tests: cells.iter().map(|cell| cell.test.clone()).collect(),
        count: Counting::Only,
        terms: first.terms.clone(),
        source: Some(first.source.clone()),
        offline: args.measuring.offline,
        accept_expired_index: args.measuring.accept_expired_index,
        ..Request::of_systems(std::slice::from_ref(&system))
    };
    let planned = planned(request, &args.measuring, None, |machine, _| machine, cache_dir)?;
    planned.measure_for(|record, _| {
        let checked = CheckedCells { system: system.clone(), cells: compared(record, &cells) };
        report::put(&args.measuring.output, &Page::new(&checked))?;
        let is_missing = checked.cells.iter().any(|checked| checked.here.is_none());
        let differs = checked.cells.iter().any(|checked| checked.here.is_some() && !checked.agrees);
        Ok(match (differs, is_missing) {
            (true, _) => Exit::LimitExceeded,
            (false, true) => Exit::Incomplete,
            (false, false) => Exit::Done,
        })
    })
}

fn chosen_release<'m>(map: &'m CountMap, chance: &RandomState) -> Result<(Product, &'m str)> {
    let of_product =
        |product| map.versions(product).into_iter().map(move |version| (product, version));
    let releases = Product::ALL.into_iter().flat_map(of_product);
    let chosen = releases.min_by_key(|release| chance.hash_one(release));
    let no_release = || {
        HintedError::new(
            "the map is empty",
            "name a folder with another one with `--dir`, or fill it: `assay map fill --product PRODUCT`",
        )
    };
    Ok(chosen.ok_or_else(no_release)?)
}

/// Cells of a release that this assay would count in the same way.
fn sample<'m>(
    map: &'m CountMap,
    (product, version): (Product, &str),
    args: &MapCheck,
    chance: &RandomState,
) -> Result<Vec<&'m MapCell>> {
    let tests = Request::default().shipped_tests();
    let tests = assay_plan::select_of(tests, &args.tests)?;
    let cell = |test: Test| {
        let line = map.line(product, test.name(), &[version]);
        let cell = line.into_iter().find(|cell| cell.version == version)?;
        (cell.digest == test.digest).then_some(cell)
    };
    let mut cells: Vec<&MapCell> = tests.into_iter().filter_map(cell).collect();
    cells.sort_by_cached_key(|cell| chance.hash_one(cell.key()));
    cells.truncate(args.sample as usize);
    // One study has one source and one set of terms.
    let first = cells.first().map(|cell| (cell.source.clone(), cell.terms.clone()));
    cells.retain(|cell| first == Some((cell.source.clone(), cell.terms.clone())));
    Ok(cells)
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
