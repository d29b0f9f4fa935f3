//! Pages of the map: a heat map of each product, each test over releases, and each pair of neighbouring releases
//! between which a test changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use assay_map::{
    ChangedRelease, ReleasePair, change_with_interval, chart, mark, notes, percent, releases,
    step_at,
};
use assay_map_data::{
    CellFunctions, CountMap, MapCell, MapChange, MapStep, change_along, moved, ratio_of,
};
use assay_model::{Product, counted};
use assay_plan::shell_quoted;
use assay_report::Page;
use assay_report::blocks::{
    Block, Column, Heading, HeatMap, HeatRow, HeatRun, Row, Table, Text, linked, thousands,
};

use crate::folder::{PagePlace, SiteFolder, file_name, product_path, relative};

/// Most pages of tests and of pairs of a product. A map may come from anyone.
const TESTS_MAX: usize = 200;
const PAIRS_MAX: usize = 200;

/// Functions that the page of a pair shows of each test.
const MOVES: usize = 6;

/// Steps in the row of a test.
const STEPS: usize = 2;

/// What the map has of a product.
#[derive(Debug)]
pub(crate) struct ProductOverview {
    pub(crate) product: Product,
    /// In order.
    pub(crate) releases: Vec<String>,
    pub(crate) tests: usize,
    /// Neighbouring releases between which a test changed.
    pub(crate) pairs: usize,
    /// The largest change of a test over all releases.
    pub(crate) largest: Option<String>,
}

/// A test on one line of comparable counts.
struct TestLine<'m> {
    test: &'m str,
    line: Vec<&'m MapCell>,
    change: MapChange<'m>,
    path: String,
}

/// All that the pages of a product show.
struct ProductMap<'m> {
    product: Product,
    versions: Vec<&'m str>,
    /// By name.
    tests: &'m [TestLine<'m>],
    /// Neighbouring releases between which tests changed, in order, with the paths of their pages.
    pairs: Vec<(ChangedRelease<'m>, String)>,
    /// Tests and pairs without pages.
    left_out: [usize; 2],
}

pub(crate) fn write(
    folder: &mut SiteFolder,
    map: &CountMap,
    dir: Option<&Path>,
) -> Result<Vec<ProductOverview>> {
    let mut overviews = Vec::new();
    for product in Product::ALL {
        let mut taken = BTreeSet::new();
        let tests = test_lines(map, product, &mut taken);
        let found = ProductMap::new(map, product, &tests, &mut taken);
        let path = product_path(product);
        let words = format!("{product} map of all releases");
        let command = format!("assay map {product} -o map.html");
        let part = path.clone();
        let place = PagePlace { path, part, words, command, ..PagePlace::default() };
        let before = product.to_string();
        let heading = Heading { before, small: "instructions by release", ..Heading::default() };
        let blocks = found.blocks(&place.path);
        folder.put(place, heading, blocks)?;
        found.write_tests(folder)?;
        found.write_pairs(folder, dir)?;
        overviews.push(found.overview());
    }
    Ok(overviews)
}

fn test_lines<'m>(
    map: &'m CountMap,
    product: Product,
    taken: &mut BTreeSet<String>,
) -> Vec<TestLine<'m>> {
    let line = |test: &'m str| {
        let line = map.line(product, test, &[]);
        let change = change_along(test, &line)?;
        let path = format!("{}/{}", product_path(product), file_name(test, taken));
        Some(TestLine { test, line, change, path })
    };
    map.tests(product).into_iter().take(TESTS_MAX).filter_map(line).collect()
}

impl<'m> ProductMap<'m> {
    /// `taken` has the names of the pages of the tests.
    fn new(
        map: &'m CountMap,
        product: Product,
        tests: &'m [TestLine<'m>],
        taken: &mut BTreeSet<String>,
    ) -> Self {
        let changed = releases(tests.iter().map(|test| &test.change));
        let older = changed.len().saturating_sub(PAIRS_MAX);
        let pairs = changed.into_iter().skip(older).map(|pair| {
            let name = file_name(&format!("{}..{}", pair.from, pair.to), taken);
            (pair, format!("{}/{name}", product_path(product)))
        });
        let pairs = pairs.collect();
        let left_out = [map.tests(product).len() - tests.len(), older];
        Self { product, versions: map.versions(product), tests, pairs, left_out }
    }

    fn overview(&self) -> ProductOverview {
        let size = |test: &&TestLine<'_>| test.change.size();
        let changed = self.tests.iter().filter(|test| !test.change.steps.is_empty());
        let largest = changed.max_by(|one, other| size(one).total_cmp(&size(other)));
        ProductOverview {
            product: self.product,
            releases: self.versions.iter().map(|version| (*version).to_owned()).collect(),
            tests: self.tests.len(),
            pairs: self.pairs.len() + self.left_out[1],
            largest: largest
                .map(|test| format!("{} {}", test.test, change_with_interval(test.change.ratio))),
        }
    }

    fn write_tests(&self, folder: &mut SiteFolder) -> Result<()> {
        let path = |at: Option<usize>| Some(self.tests.get(at?)?.path.clone());
        for (at, test) in self.tests.iter().enumerate() {
            let place = PagePlace {
                path: test.path.clone(),
                words: format!("{} {}", self.product, test.test),
                part: product_path(self.product),
                previous: path(at.checked_sub(1)),
                next: path(at.checked_add(1)),
                command: format!(
                    "assay map {} --tests {} -o map.html",
                    self.product,
                    shell_quoted(test.test)
                ),
            };
            let heading = Heading {
                before: test.test.to_owned(),
                small: "over releases of",
                after: self.product.to_string(),
            };
            folder.put(place, heading, self.test_blocks(test))?;
        }
        Ok(())
    }

    fn write_pairs(&self, folder: &mut SiteFolder, dir: Option<&Path>) -> Result<()> {
        let changed = self.tests.iter().flat_map(|test| &test.change.steps);
        let keys: BTreeSet<String> =
            changed.flat_map(|step| [step.from.key(), step.to.key()]).collect();
        let functions = match keys.is_empty() {
            true => CellFunctions::new(),
            false => assay_map::read_functions_of(dir, self.product, Some(&keys))?,
        };
        let path = |at: Option<usize>| Some(self.pairs.get(at?)?.1.clone());
        for (at, (pair, own)) in self.pairs.iter().enumerate() {
            let names = [pair.from, pair.to].map(|version| format!("{}@{version}", self.product));
            let place = PagePlace {
                path: own.clone(),
                words: names.join(" "),
                part: product_path(self.product),
                previous: path(at.checked_sub(1)),
                next: path(at.checked_add(1)),
                command: format!(
                    "assay map {} {} -o map.html",
                    shell_quoted(&names[0]),
                    shell_quoted(&names[1])
                ),
            };
            let changes = self.changes_of(pair);
            let moves = |change: &MapChange<'_>| {
                let [from, to] = change.cells.map(|cell| functions.get(&cell.key()));
                let both = from.zip(to).filter(|_| !change.steps.is_empty());
                both.map_or_else(Vec::new, |(from, to)| moved(from, to, MOVES))
            };
            let rows = changes.iter().map(|change| (change, moves(change))).collect();
            folder.write(&place, &Page::new(&ReleasePair { names, rows, is_whole: true }))?;
            folder.list(place);
        }
        Ok(())
    }

    /// The changes of all tests that have both releases, the largest first.
    fn changes_of(&self, pair: &ChangedRelease<'_>) -> Vec<MapChange<'m>> {
        let of_test = |test: &TestLine<'m>| {
            let place = |version: &str| test.line.iter().position(|cell| cell.version == version);
            let [from, to] = [pair.from, pair.to].map(place);
            change_along(test.test, test.line.get(from?..=to?)?)
        };
        let mut changes: Vec<MapChange<'m>> = self.tests.iter().filter_map(of_test).collect();
        changes.sort_by(|one, other| other.size().total_cmp(&one.size()));
        changes
    }

    /// The page of the pair of a step, if it has one.
    fn path_of(&self, step: &MapStep<'_>) -> Option<&str> {
        let versions = [step.from.version.as_str(), step.to.version.as_str()];
        let mut pairs = self.pairs.iter();
        let (_, path) = pairs.find(|(pair, _)| [pair.from, pair.to] == versions)?;
        Some(path)
    }

    fn blocks(&self, page: &str) -> Vec<Block<'static>> {
        let (false, [first, .., last]) = (self.tests.is_empty(), self.versions.as_slice()) else {
            let none = format!("the map has no two releases of {} yet", self.product);
            let fill = format!("assay map fill --product {}", self.product);
            return vec![Block::Answer(vec![none]), Block::command("", fill, COUNTS)];
        };
        let changed = self.tests.iter().filter(|test| !test.change.steps.is_empty());
        let answer = format!(
            "{}@{first} to {last}, {}: {} of {} changed, between {} of neighbouring releases",
            self.product,
            counted(self.versions.len() as u64, "release"),
            changed.count(),
            counted(self.tests.len() as u64, "test"),
            counted((self.pairs.len() + self.left_out[1]) as u64, "pair"),
        );
        let mut blocks = vec![Block::Answer(vec![answer]), self.heat_map(page).block()];
        if !self.pairs.is_empty() {
            let table = vec![Block::Table(self.pair_table(page))];
            blocks.extend(Block::section("Releases with changes", table));
        }
        blocks.extend(Block::notes(self.notes()));
        blocks
    }

    fn heat_map(&self, page: &str) -> HeatMap {
        let places: BTreeMap<&str, usize> =
            self.versions.iter().enumerate().map(|(at, version)| (*version, at)).collect();
        let mut labels: Vec<(usize, String)> = Vec::new();
        for (at, version) in self.versions.iter().enumerate() {
            let series = version.rsplit_once('.').map_or(*version, |(series, _)| series);
            if labels.last().is_none_or(|(_, last)| last != series) {
                labels.push((at, series.to_owned()));
            }
        }
        let rows = self.tests.iter().map(|test| {
            let [first, last] = test.change.cells.map(|cell| cell.version.as_str());
            let steps: Vec<String> =
                test.change.largest_steps(STEPS).into_iter().map(step_at).collect();
            HeatRow {
                test: test.test.to_owned(),
                to: relative(page, &format!("{}.html", test.path)),
                runs: runs(&places, test),
                cells: vec![
                    format!("{first} to {last}"),
                    change_with_interval(test.change.ratio),
                    steps.join(", "),
                ],
            }
        });
        let columns = vec![
            Column::words("first and last"),
            Column::numbers("change"),
            Column::words("largest steps"),
        ];
        HeatMap { releases: self.versions.len(), labels, columns, rows: rows.collect() }
    }

    fn test_blocks(&self, test: &TestLine<'_>) -> Vec<Block<'static>> {
        let TestLine { line, change, .. } = test;
        let (product, [first, last]) = (self.product, change.cells.map(|cell| &cell.version));
        let answer = format!(
            "{product}@{last} against {product}@{first}: {} instructions per operation, {}; {} over {}",
            change_with_interval(change.ratio),
            change.verdict.word(),
            counted(change.steps.len() as u64, "step"),
            counted(line.len() as u64, "release"),
        );
        let mut blocks = vec![Block::Answer(vec![answer])];
        blocks.extend(chart(change, line).inline());
        if !change.steps.is_empty() {
            blocks.extend(Block::section("Steps", self.steps(test)));
        }
        blocks.extend(Block::section("Releases", vec![levels(line)]));
        blocks.extend(Block::notes(notes(std::iter::once(change))));
        blocks
    }

    fn steps(&self, test: &TestLine<'_>) -> Vec<Block<'static>> {
        let columns =
            vec![Column::words("release"), Column::words("after"), Column::numbers("change")];
        let rows = test.change.steps.iter().map(|step| {
            let to = step.to.version.as_str();
            let release = match self.path_of(step) {
                Some(pair) => linked(relative(&test.path, &format!("{pair}.html")), to),
                None => Text::from(to),
            };
            let size = format!("{}{}", change_with_interval(step.ratio), mark(step));
            Row::new([release, Text::from(step.from.version.as_str()), Text::from(size)])
        });
        let mut blocks = vec![Block::Table(Table::new(columns, rows).flush())];
        blocks.extend(Block::list([format!("the rest: {}", percent(test.change.rest))]));
        blocks
    }

    /// The newest first.
    fn pair_table(&self, page: &str) -> Table {
        let columns = vec![
            Column::words("release"),
            Column::words("after"),
            Column::numbers("tests that changed"),
            Column::words("largest change"),
        ];
        let rows = self.pairs.iter().rev().map(|(pair, path)| {
            let largest = pair.largest_step().map(|(test, step)| {
                format!("{test} {}{}", change_with_interval(step.ratio), mark(step))
            });
            Row::new([
                linked(relative(page, &format!("{path}.html")), pair.to),
                Text::from(pair.from),
                Text::from(pair.steps.len().to_string()),
                Text::from(largest.unwrap_or_default()),
            ])
        });
        Table::new(columns, rows).flush()
    }

    fn notes(&self) -> Vec<String> {
        let [tests, pairs] = self.left_out;
        let tests = (tests > 0).then(|| {
            format!(
                "{} without a page: the first {TESTS_MAX} have one",
                counted(tests as u64, "test")
            )
        });
        let pairs = (pairs > 0).then(|| {
            let older = counted(pairs as u64, "older pair");
            format!("{older} of releases without a page: the newest {PAIRS_MAX} have one")
        });
        let known =
            (!self.tests.is_empty()).then(|| notes(self.tests.iter().map(|test| &test.change)));
        known.into_iter().flatten().chain(tests).chain(pairs).collect()
    }
}

/// A colour from step to step: changes that are none would make the strip flicker.
fn runs(places: &BTreeMap<&str, usize>, test: &TestLine<'_>) -> Vec<HeatRun> {
    let steps = &test.change.steps;
    let is_step = |cell: &MapCell| steps.iter().any(|step| step.to.version == cell.version);
    let mut runs: Vec<HeatRun> = Vec::new();
    for cell in &test.line {
        let at = places[cell.version.as_str()];
        match runs.last_mut() {
            Some(run) if run.releases.end == at && !is_step(cell) => run.releases.end = at + 1,
            _ => {
                let ratio = ratio_of(test.line[0], cell).value;
                let title = format!("from {} on: {}", cell.version, percent(ratio));
                runs.push(HeatRun { releases: at..at + 1, ratio, title });
            }
        }
    }
    runs
}

const COUNTS: &str = " counts them, in a checkout of assay's repository.";

/// The counts of a test on every release.
fn levels(line: &[&MapCell]) -> Block<'static> {
    let columns = vec![
        Column::words("release"),
        Column::words("source"),
        Column::numbers("instructions per operation"),
        Column::numbers("against the first"),
    ];
    let rows = line.iter().map(|cell| {
        let (count, half) = (thousands(cell.instructions), thousands(cell.half_width));
        let change = percent(ratio_of(line[0], cell).value);
        Row::new([cell.version.clone(), cell.source.clone(), format!("{count} ± {half}"), change])
    });
    Block::Table(Table::new(columns, rows).flush())
}
