//! Changes between releases, and the releases with which they came.

use assay_model::{COUNT_THRESHOLD, CountVerdict, Estimate, Product};

use crate::cells::MapCell;
use crate::count_map::CountMap;

/// Half of the width of a 95% interval of a normal value, in standard errors.
const Z_95: f64 = 1.96;

/// A change between two releases that follow each other in the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MapStep<'a> {
    pub from: &'a MapCell,
    pub to: &'a MapCell,
    /// Instructions per operation of `to`, divided by those of `from`.
    pub ratio: Estimate,
}

impl MapStep<'_> {
    /// Size of the change, whatever its direction.
    pub fn size(&self) -> f64 {
        self.ratio.value.ln().abs()
    }

    /// Whether both builds come from one source, and saw the same instruction sets. Otherwise, that may be the reason.
    pub fn is_counted_alike(&self) -> bool {
        (&self.from.source, &self.from.shown) == (&self.to.source, &self.to.shown)
    }
}

/// The change of a test between two releases.
#[derive(Debug, Clone, PartialEq)]
pub struct MapChange<'a> {
    pub test: &'a str,
    /// The base and the other release.
    pub cells: [&'a MapCell; 2],
    /// Instructions per operation of the other release, divided by those of the base.
    pub ratio: Estimate,
    pub verdict: CountVerdict,
    /// The steps between the two, from the base on; empty between products.
    pub steps: Vec<MapStep<'a>>,
    /// The ratio divided by the ratios of all steps: changes too small for a step.
    pub rest: f64,
}

impl<'a> MapChange<'a> {
    /// The step that changes most in the direction of the whole change.
    pub fn largest_step(&self) -> Option<&MapStep<'a>> {
        let size = |step: &&MapStep<'_>| step.ratio.value.ln() * self.ratio.value.ln().signum();
        let largest = self.steps.iter().max_by(|one, other| size(one).total_cmp(&size(other)));
        largest.filter(|step| size(step) > 0.0)
    }

    /// The largest steps in either direction, at most so many, in the order of releases.
    pub fn largest_steps(&self, most: usize) -> Vec<&MapStep<'a>> {
        let mut places: Vec<usize> = (0..self.steps.len()).collect();
        let size = |place: &usize| self.steps[*place].size();
        places.sort_by(|one, other| size(other).total_cmp(&size(one)));
        places.truncate(most);
        places.sort_unstable();
        places.into_iter().map(|place| &self.steps[place]).collect()
    }

    /// Size of the change, whatever its direction.
    pub fn size(&self) -> f64 {
        self.ratio.value.ln().abs()
    }
}

/// Instructions per operation with their 95% interval.
pub fn instructions(cell: &MapCell) -> Estimate {
    let MapCell { instructions: value, half_width, .. } = *cell;
    Estimate { value, low: (value - half_width).max(0.0), high: value + half_width }
}

/// Instructions of another cell divided by those of the base. The counts are independent.
pub fn ratio_of(base: &MapCell, other: &MapCell) -> Estimate {
    let value = other.instructions / base.instructions;
    let half = half_width([base, other]);
    Estimate { value, low: value * (-half).exp(), high: value * half.exp() }
}

/// Half of the width of the interval of a log ratio.
fn half_width(cells: [&MapCell; 2]) -> f64 {
    let [one, other] = cells.map(|cell| cell.half_width / cell.instructions);
    one.hypot(other)
}

pub fn verdict(ratio: Estimate) -> CountVerdict {
    let within = 1.0 - COUNT_THRESHOLD..=1.0 + COUNT_THRESHOLD;
    match ratio {
        _ if within.contains(&ratio.low) && within.contains(&ratio.high) => CountVerdict::Same,
        Estimate { value, low, .. } if low > 1.0 && value > *within.end() => CountVerdict::More,
        Estimate { value, high, .. } if high < 1.0 && value < *within.start() => {
            CountVerdict::Fewer
        }
        _ => CountVerdict::Undecided,
    }
}

/// Standard errors by which a step must differ from no change: a line has hundreds of neighbours.
const CALLED: f64 = 4.0;

/// The steps of a line of comparable cells: neighbours that differ by more than the threshold of counts, and by more
/// than chance makes of any of so many.
fn steps<'a>(line: &[&'a MapCell]) -> Vec<MapStep<'a>> {
    let neighbours = line.windows(2).map(|pair| {
        let [from, to] = [pair[0], pair[1]];
        MapStep { from, to, ratio: ratio_of(from, to) }
    });
    let is_step = |step: &MapStep<'_>| {
        let size = step.size();
        let error = half_width([step.from, step.to]) / Z_95;
        size > COUNT_THRESHOLD && size > CALLED * error
    };
    neighbours.filter(is_step).collect()
}

/// The change of a test between two releases of the map; `None` without comparable cells of both.
pub fn change<'a>(
    map: &'a CountMap,
    test: &'a str,
    [base, other]: [(Product, &str); 2],
) -> Option<MapChange<'a>> {
    let place =
        |line: &[&MapCell], version: &str| line.iter().position(|cell| cell.version == version);
    if base.0 != other.0 {
        let lines = [base, other].map(|(product, version)| map.line(product, test, &[version]));
        let cells = [lines[0][place(&lines[0], base.1)?], lines[1][place(&lines[1], other.1)?]];
        let is_alike = cells[0].terms_of_line() == cells[1].terms_of_line();
        return is_alike.then(|| between(test, cells, Vec::new()));
    }
    let line = map.line(base.0, test, &[base.1, other.1]);
    let (first, last) = (place(&line, base.1)?, place(&line, other.1)?);
    let mut part = line[first.min(last)..=first.max(last)].to_vec();
    if last < first {
        part.reverse();
    }
    change_along(test, &part)
}

/// The change from the first to the last of comparable cells; `None` without cells.
pub fn change_along<'a>(test: &'a str, line: &[&'a MapCell]) -> Option<MapChange<'a>> {
    let ends = [*line.first()?, *line.last()?];
    Some(between(test, ends, steps(line)))
}

fn between<'a>(test: &'a str, cells: [&'a MapCell; 2], steps: Vec<MapStep<'a>>) -> MapChange<'a> {
    let ratio = ratio_of(cells[0], cells[1]);
    let of_steps: f64 = steps.iter().map(|step| step.ratio.value).product();
    let rest = ratio.value / of_steps;
    MapChange { test, cells, ratio, verdict: verdict(ratio), steps, rest }
}

/// The changes of all tests between two releases, the largest first.
pub fn changes<'a>(map: &'a CountMap, pair: [(Product, &str); 2]) -> Vec<MapChange<'a>> {
    let tests = map.tests(pair[0].0).into_iter();
    let mut all: Vec<MapChange<'a>> = tests.filter_map(|test| change(map, test, pair)).collect();
    all.sort_by(|one, other| other.size().total_cmp(&one.size()));
    all
}

/// Whether a count made elsewhere agrees with a cell: within the threshold of counts, or within what chance makes.
pub fn agrees(cell: &MapCell, here: Estimate) -> bool {
    let half = (here.high - here.low) / 2.0 / here.value;
    let chance = half.hypot(cell.half_width / cell.instructions);
    (here.value / cell.instructions).ln().abs() <= chance.max(COUNT_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::tests::cell;

    fn map() -> CountMap {
        let levels = [
            ("5.7.44", 40_000.0),
            ("8.0.11", 40_040.0),
            ("8.0.12", 50_050.0),
            ("8.0.20", 50_000.0),
            ("9.7.1", 52_500.0),
        ];
        let mut cells: Vec<MapCell> =
            levels.map(|(version, level)| cell(version, "scan", level)).to_vec();
        let mariadb = MapCell { product: Product::MariaDb, ..cell("11.8.2", "scan", 30_000.0) };
        cells.push(mariadb);
        CountMap::new(cells, Vec::new())
    }

    fn pair<'a>(base: &'a str, other: &'a str) -> [(Product, &'a str); 2] {
        [(Product::MySql, base), (Product::MySql, other)]
    }

    #[test]
    fn steps_and_the_rest_multiply_up() {
        let map = map();
        let change = change(&map, "scan", pair("5.7.44", "9.7.1")).unwrap();
        let steps: Vec<[&str; 2]> =
            change.steps.iter().map(|step| [&*step.from.version, &*step.to.version]).collect();
        assert_eq!(steps, [["8.0.11", "8.0.12"], ["8.0.20", "9.7.1"]]);
        assert_eq!(change.verdict, CountVerdict::More);
        let product: f64 = change.steps.iter().map(|step| step.ratio.value).product();
        assert!((product * change.rest - change.ratio.value).abs() < 1e-12, "{change:?}");
        assert!(change.ratio.low < 1.3125 && 1.3125 < change.ratio.high);
        assert_eq!(change.largest_step().unwrap().to.version, "8.0.12");
    }

    #[test]
    fn a_change_backwards_has_its_steps_backwards() {
        let map = map();
        let change = change(&map, "scan", pair("9.7.1", "8.0.11")).unwrap();
        assert_eq!(change.verdict, CountVerdict::Fewer);
        let first = change.steps.first().unwrap();
        assert_eq!((first.from.version.as_str(), first.to.version.as_str()), ("9.7.1", "8.0.20"));
        assert!(first.ratio.value < 1.0);
    }

    #[test]
    fn equal_releases_and_other_products_have_no_steps() {
        let map = map();
        let same = change(&map, "scan", pair("5.7.44", "8.0.11")).unwrap();
        assert_eq!((same.verdict, same.steps.len()), (CountVerdict::Same, 0));
        let across = [(Product::MySql, "5.7.44"), (Product::MariaDb, "11.8.2")];
        let across = change(&map, "scan", across).unwrap();
        assert_eq!((across.verdict, across.steps.len()), (CountVerdict::Fewer, 0));
        assert_eq!(change(&map, "scan", pair("5.7.44", "8.4.0")), None);
        assert_eq!(change(&map, "sort", pair("5.7.44", "9.7.1")), None);
        assert_eq!(changes(&map, pair("5.7.44", "9.7.1")).len(), 1);
    }

    #[test]
    fn wide_intervals_make_no_steps() {
        let wide = |version: &str, level: f64| MapCell {
            half_width: level / 20.0,
            ..cell(version, "x", level)
        };
        let line = [wide("1", 1000.0), wide("2", 1050.0), wide("3", 2000.0)];
        let line: Vec<&MapCell> = line.iter().collect();
        let found = steps(&line);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to.version, "3");
    }

    #[test]
    fn a_count_elsewhere_agrees_within_the_threshold() {
        let here = |value: f64| Estimate { value, low: value * 0.9998, high: value * 1.0002 };
        let known = cell("8.0.12", "scan", 50_000.0);
        assert!(agrees(&known, here(50_100.0)) && agrees(&known, here(49_900.0)));
        assert!(!agrees(&known, here(50_500.0)));
        let known = MapCell { half_width: 1000.0, ..known };
        assert!(agrees(&known, here(50_500.0)));
    }
}
