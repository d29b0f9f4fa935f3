//! Crossovers: the client counts at which a system is as fast as the base, between counts at which it is slower and
//! counts at which it is faster.
//!
//! Between measured counts, log relative QPS and both ends of its interval are interpolated linearly over
//! log2(clients). A count belongs to the crossover's interval if the interpolated interval there contains no change
//! (Fieller's construction). An interpolated half-width is at least the half-width of the interpolated estimate,
//! whatever the correlation of neighbouring counts, so the interval is never too narrow.

use std::collections::BTreeMap;

use assay_model::{CellId, Estimate, StudyRecord, Verdict};

use crate::CellJudgement;

#[derive(Debug, Clone, PartialEq)]
pub struct Crossover {
    pub few: CellId,
    /// Cell with more clients, of the same test and data.
    pub many: CellId,
    pub system: usize,
    /// Verdict with few clients, faster or slower; with many clients, it is the opposite.
    pub verdict: Verdict,
    pub holds_below: bool,
    pub holds_above: bool,
    /// Number of clients at which both are equally fast, with its 95% interval.
    pub clients: Estimate,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    /// Log2 of the number of clients.
    x: f64,
    /// Log relative QPS: the estimate and the ends of its interval.
    value: f64,
    low: f64,
    high: f64,
    verdict: Verdict,
}

#[derive(Debug, PartialEq)]
struct ClientCrossing {
    few: usize,
    many: usize,
    x: Estimate,
}

pub(crate) fn crossovers(record: &StudyRecord, cells: &[CellJudgement]) -> Vec<Crossover> {
    let mut series: BTreeMap<(CellId, usize), Vec<(CellId, Point)>> = BTreeMap::new();
    for judged in cells {
        let is_twin = record.systems.get(judged.system).is_some_and(|system| system.is_twin);
        let mut key = judged.cell;
        key.setup.clients = 0;
        if let (Some(point), false) = (Point::from_cell(judged), is_twin) {
            series.entry((key, judged.system)).or_default().push((judged.cell, point));
        }
    }
    let mut found = Vec::new();
    for ((_, system), mut series) in series {
        series.sort_by_key(|(cell, _)| cell.setup.clients);
        let (cells, points): (Vec<CellId>, Vec<Point>) = series.into_iter().unzip();
        found.extend(
            crossings(&points).iter().map(|crossing| crossover(&cells, &points, system, crossing)),
        );
    }
    found
}

fn crossover(
    cells: &[CellId],
    points: &[Point],
    system: usize,
    crossing: &ClientCrossing,
) -> Crossover {
    let (few, many) = (crossing.few, crossing.many);
    let verdict = points[few].verdict;
    let Estimate { value, low, high } = crossing.x;
    Crossover {
        few: cells[few],
        many: cells[many],
        system,
        verdict,
        holds_below: points[..few].iter().all(|point| point.verdict == verdict),
        holds_above: points[many..].iter().all(|point| is_opposite(point.verdict, verdict)),
        clients: Estimate { value: value.exp2(), low: low.exp2(), high: high.exp2() },
    }
}

impl Point {
    fn from_cell(judged: &CellJudgement) -> Option<Self> {
        let rqps = judged.rqps.filter(|rqps| rqps.has_interval() && rqps.low > 0.0)?;
        (judged.verdict != Verdict::Failed).then_some(Self {
            x: f64::from(judged.cell.setup.clients).log2(),
            value: rqps.value.ln(),
            low: rqps.low.ln(),
            high: rqps.high.ln(),
            verdict: judged.verdict,
        })
    }
}

fn is_opposite(one: Verdict, other: Verdict) -> bool {
    matches!((one, other), (Verdict::Faster, Verdict::Slower) | (Verdict::Slower, Verdict::Faster))
}

/// Changes between faster and slower, of points in order of `x`. Undecided points do not interrupt a change.
fn crossings(points: &[Point]) -> Vec<ClientCrossing> {
    let is_called = |point: &Point| matches!(point.verdict, Verdict::Faster | Verdict::Slower);
    let called: Vec<(usize, &Point)> =
        points.iter().enumerate().filter(|(_, point)| is_called(point)).collect();
    let pairs = called.iter().zip(called.iter().skip(1));
    pairs
        .filter(|((_, one), (_, next))| is_opposite(one.verdict, next.verdict))
        .filter_map(|((few, one), (many, _))| {
            let x = meeting(&points[*few..=*many], one.verdict == Verdict::Slower)?;
            Some(ClientCrossing { few: *few, many: *many, x })
        })
        .collect()
}

fn meeting(points: &[Point], rises: bool) -> Option<Estimate> {
    let values = zeros(points, |point| point.value);
    let (first, last) = (zeros(points, |point| point.high), zeros(points, |point| point.low));
    let (first, last) = if rises { (first, last) } else { (last, first) };
    // The points begin and end on opposite sides of zero, so the number of crossings is odd.
    let value = *values.get(values.len() / 2)?;
    Some(Estimate { value, low: *first.first()?, high: *last.last()? })
}

fn zeros(points: &[Point], y: impl Fn(&Point) -> f64) -> Vec<f64> {
    let pairs = points.iter().zip(points.iter().skip(1));
    pairs
        .filter_map(|(one, next)| {
            let (before, after) = (y(one), y(next));
            let crosses = before == 0.0 || before.signum() != after.signum() && after != 0.0;
            crosses.then(|| one.x + (next.x - one.x) * before / (before - after))
        })
        .filter(|x| x.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use Verdict::{Faster, Same, Slower, Undecided};

    fn point(clients: f64, value: f64, half: f64) -> Point {
        let (low, high) = (value - half, value + half);
        let verdict = match (low, high) {
            (low, _) if low > 0.0 => Faster,
            (_, high) if high < 0.0 => Slower,
            _ => Undecided,
        };
        Point { x: clients.log2(), value, low, high, verdict }
    }

    #[test]
    fn the_crossing_lies_between_the_decided_counts() {
        let points = [point(1.0, -0.1, 0.02), point(4.0, -0.06, 0.02), point(16.0, 0.06, 0.02)];
        let [crossing] = &crossings(&points)[..] else { panic!("{:?}", crossings(&points)) };
        assert_eq!((crossing.few, crossing.many), (1, 2));
        // The estimate is zero halfway between log2(4) and log2(16), the ends of its interval a sixth from there.
        let Estimate { value, low, high } = crossing.x;
        assert!((value - 3.0).abs() < 1e-12, "{crossing:?}");
        assert!((low - (3.0 - 1.0 / 3.0)).abs() < 1e-12, "{crossing:?}");
        assert!((high - (3.0 + 1.0 / 3.0)).abs() < 1e-12, "{crossing:?}");
        let falling: Vec<Point> = points
            .iter()
            .map(|it| Point {
                verdict: if it.verdict == Slower { Faster } else { Slower },
                ..point(it.x.exp2(), -it.value, 0.02)
            })
            .collect();
        assert_eq!(crossings(&falling)[0].x, crossing.x);
    }

    #[test]
    fn counts_that_are_not_decided_belong_to_the_way() {
        let mut points = [
            point(1.0, -0.1, 0.02),
            point(4.0, 0.01, 0.02),
            point(8.0, -0.005, 0.02),
            point(16.0, 0.1, 0.02),
            point(64.0, -0.1, 0.02),
        ];
        points[2].verdict = Same;
        let found = crossings(&points);
        assert_eq!(found.iter().map(|it| (it.few, it.many)).collect::<Vec<_>>(), [(0, 3), (3, 4)]);
        let Estimate { value, low, high } = found[0].x;
        assert!(low < value && value < high && low > 0.0 && high < 4.0, "{found:?}");
    }

    #[test]
    fn nothing_is_said_unless_both_sides_are_decided() {
        let rest = [point(1.0, -0.1, 0.02), point(4.0, 0.01, 0.02), point(16.0, 0.05, 0.06)];
        assert_eq!(crossings(&rest), []);
        assert_eq!(crossings(&[]), []);
        assert_eq!(crossings(&[point(1.0, 0.0, 0.0), point(1.0, 0.0, 0.0)]), []);
    }

    /// With independent errors and with errors common to all counts, at least 95% of the intervals contain the true
    /// crossing.
    #[test]
    fn intervals_cover_the_true_crossing() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut normal = || {
            let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
            (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
        };
        for shared in [0.0, 1.0] {
            let (mut covered, mut found) = (0, 0);
            for _ in 0..4000 {
                let common = normal();
                let mut measured = |clients, log| {
                    let error = if shared > 0.0 { common } else { normal() };
                    point(clients, log + 0.02 * error, 1.96 * 0.02)
                };
                let points = [measured(1.0, -0.16), measured(4.0, -0.08), measured(16.0, 0.12)];
                // The true line crosses zero two fifths of the way from 4 to 16.
                let truth = 2.0 + 2.0 * 0.4;
                for crossing in crossings(&points) {
                    found += 1;
                    covered += u32::from(crossing.x.low <= truth && truth <= crossing.x.high);
                }
            }
            let share = f64::from(covered) / f64::from(found);
            assert!(found > 3500 && share > 0.945, "{shared}: {share} of {found}");
        }
    }
}
