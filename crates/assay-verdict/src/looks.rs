//! Error spent over the looks at a study's data (group-sequential).
//!
//! Every block is a look. The error a look may spend follows from the share of the study's information by then. The
//! number of blocks that fit is re-estimated before each block, from measured times only, so shares do not depend on
//! the estimates under test.

use statrs::distribution::{ContinuousCDF, Normal};

/// Two-sided error of a verdict, and one minus the level of every interval.
pub const ALPHA: f64 = 0.05;

/// Part of [`ALPHA`] reserved for looks beyond the plan, so that a finished study can be extended.
pub const KEPT_BACK: f64 = 0.005;

/// Share of the error that is spent evenly, so that large changes are known after the first block of many.
const EVEN: f64 = 0.2;

const GRID: usize = 200;

const REACH: f64 = 8.0;

const HALVINGS: u32 = 50;

/// Standard deviations beyond which density and tails are 0 in a floating-point number.
const FARTHEST: f64 = 40.0;

#[derive(Debug, Clone)]
pub(crate) struct Looks {
    /// Blocks planned before the first one.
    planned: u32,
    looks: Vec<BlockLook>,
    to_come: u32,
    /// Whether the study has ended: the last look at each test spends the rest.
    has_ended: bool,
}

#[derive(Debug, Clone)]
struct BlockLook {
    /// Two-sided nominal level.
    level: f64,
    spends: f64,
    /// Nominal level if it is the last look.
    last_level: f64,
    last_spends: f64,
    path: Path,
}

/// Distribution after a look of a study without effect among studies that have crossed no boundary: the score process,
/// whose variance is the share of the planned information.
#[derive(Debug, Clone)]
struct Path {
    share: f64,
    spent: f64,
    inside: Vec<(f64, f64)>,
}

impl Looks {
    pub(crate) fn new(planned: u32) -> Self {
        let planned = planned.max(1);
        Self { planned, looks: Vec::new(), to_come: planned, has_ended: false }
    }

    /// Begins a block, where `left` blocks, itself included, are expected to fit the remaining time. No effect for a
    /// block begun before.
    pub(crate) fn begin(&mut self, block: u32, left: u32) {
        self.skip_to(block);
        if self.looks.len() == block as usize {
            let before = self.path();
            let share = match before.share {
                // Beyond the plan, blocks carry as much information as earlier ones.
                full if full >= 1.0 => full * (1.0 + 1.0 / f64::from(block.max(1))),
                share => share + (1.0 - share) / f64::from(left.max(1)),
            };
            self.push(&before, share);
            self.to_come = left.saturating_sub(1);
        }
    }

    /// Registers a block without further information, as one of the planned blocks of equal size.
    pub(crate) fn see(&mut self, block: u32) {
        while self.looks.len() <= block as usize {
            let next = self.looks.len() as u32;
            self.begin(next, self.planned.saturating_sub(next));
        }
    }

    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn reopen_after(&mut self, block: u32) {
        self.looks.truncate(block as usize + 1);
        if let Some(look) = self.looks.pop() {
            let before = self.path();
            let mut closed = BlockLook::new(&before, look.path.share, spent(1.0));
            closed.path.share = 1.0_f64.max(look.path.share);
            // In units of the information that the study turned out to have.
            let scale = (closed.path.share / look.path.share).sqrt();
            closed.path.inside.iter_mut().for_each(|(at, _)| *at *= scale);
            self.looks.push(closed);
        }
    }

    pub(crate) fn level(&self, block: u32) -> f64 {
        let look = self.looks.get(block as usize);
        look.map_or(ALPHA, |it| if self.has_ended { it.last_level } else { it.level })
    }

    pub(crate) fn part(&self, block: u32) -> f64 {
        let look = self.looks.get(block as usize);
        let spends = look.map_or(0.0, |it| if self.has_ended { it.last_spends } else { it.spends });
        spends / spent(1.0)
    }

    pub(crate) fn expected(&self) -> u32 {
        let had = self.looks.iter().filter(|look| look.last_spends > 0.0).count() as u32;
        had.saturating_add(self.to_come).max(1)
    }

    pub(crate) fn last_level(&self) -> f64 {
        last_level(self.expected())
    }

    /// Missing blocks, such as those of other shards, are no looks.
    fn skip_to(&mut self, block: u32) {
        while self.looks.len() < block as usize {
            let path = self.path();
            self.looks.push(BlockLook {
                level: 0.0,
                spends: 0.0,
                last_level: 0.0,
                last_spends: 0.0,
                path,
            });
        }
    }

    fn path(&self) -> Path {
        let last = self.looks.last().map(|look| look.path.clone());
        last.unwrap_or_else(|| Path { share: 0.0, spent: 0.0, inside: vec![(0.0, 1.0)] })
    }

    fn push(&mut self, before: &Path, share: f64) {
        self.looks.push(BlockLook::new(before, share, spent(share)));
    }
}

impl BlockLook {
    fn new(before: &Path, share: f64, total: f64) -> Self {
        let sd = (share - before.share).max(0.0).sqrt();
        let level = |spends: f64| {
            let bound = before.boundary(sd, spends);
            (bound, 2.0 * normal().sf(bound / share.sqrt()))
        };
        let spends = (total - before.spent).max(0.0);
        let (bound, nominal) = level(spends);
        let (last_spends, last_level) = match (spent(1.0) - before.spent).max(0.0) {
            rest if rest > spends => (rest, level(rest).1),
            _ => (spends, nominal),
        };
        let inside = before.advance(sd, bound.min(REACH * share.sqrt()));
        let path = Path { share, spent: before.spent + spends, inside };
        Self { level: nominal, spends, last_level, last_spends, path }
    }
}

impl Path {
    /// The bound outside which a step with this standard deviation ends with probability `part` (Armitage, McPherson
    /// and Rowe 1969).
    fn boundary(&self, sd: f64, part: f64) -> f64 {
        let normal = normal();
        // Normal's functions take long to find that a value is too small for a number.
        let above = |z: f64| if z > FARTHEST { 0.0 } else { normal.sf(z) };
        let below = |z: f64| if z < -FARTHEST { 0.0 } else { normal.cdf(z) };
        let outside = |bound: f64| -> f64 {
            let contribution = |(at, weight): &(f64, f64)| {
                weight * (above((bound - at) / sd) + below((-bound - at) / sd))
            };
            self.inside.iter().map(contribution).sum()
        };
        let (mut low, mut high) = (0.0, 40.0 * (self.share + sd * sd).sqrt());
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if outside(middle) > part {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    fn advance(&self, sd: f64, bound: f64) -> Vec<(f64, f64)> {
        let step = 2.0 * bound / GRID as f64;
        let scale = step / 3.0 / (2.0 * std::f64::consts::PI).sqrt() / sd;
        (0..=GRID)
            .map(|index| {
                let at = -bound + step * index as f64;
                let simpson = match index {
                    0 | GRID => 1.0,
                    odd if odd % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let contribution = |(from, weight): &(f64, f64)| {
                    let distance = (at - from) / sd;
                    let is_far = distance.abs() > FARTHEST;
                    weight * if is_far { 0.0 } else { (-0.5 * distance * distance).exp() }
                };
                let density: f64 = self.inside.iter().map(contribution).sum();
                (at, scale * simpson * density)
            })
            .collect()
    }
}

fn normal() -> Normal {
    Normal::standard()
}

/// Error that may be spent by a share of the planned information (Lan and DeMets 1983).
///
/// Of [`ALPHA`] less [`KEPT_BACK`], the part [`EVEN`] is spent in proportion to the share t, and the rest by the
/// O'Brien-Fleming-like function 4 − 4 Φ(z(1 − α/4) / √t). Beyond the plan, [`KEPT_BACK`] (1 − 1/t) is spent in
/// addition: never all of it, so there is no last look.
fn spent(share: f64) -> f64 {
    let planned = ALPHA - KEPT_BACK;
    if share > 1.0 {
        return planned + KEPT_BACK * (1.0 - 1.0 / share);
    }
    let (even, late) = (EVEN * planned, (1.0 - EVEN) * planned);
    let normal = normal();
    let z = normal.inverse_cdf(1.0 - late / 4.0);
    even * share + 4.0 * normal.sf(z / share.sqrt())
}

/// Approximate nominal level of the last of this many looks: between that of one look and that of forty.
pub fn last_level(looks: u32) -> f64 {
    let forty = 0.0245;
    let one = ALPHA - KEPT_BACK;
    forty + (one - forty) / f64::from(looks.max(1)).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn equal(looks: u32) -> Looks {
        let mut all = Looks::new(looks);
        all.see(looks - 1);
        all
    }

    fn bounds(looks: &Looks, count: u32) -> Vec<f64> {
        (0..count).map(|look| normal().inverse_cdf(1.0 - looks.level(look) / 2.0)).collect()
    }

    /// Share of studies without effect that cross a bound at one of these shares of information.
    fn crossed(shares: &[f64], bounds: &[f64]) -> f64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let paths = 40_000;
        let crosses = |_: &u32| {
            let (mut sum, mut before) = (0.0, 0.0);
            shares.iter().zip(bounds).any(|(share, bound)| {
                let sd = (share - before).max(0.0_f64).sqrt();
                sum += sd * normal().inverse_cdf(random.random_range(1e-12..1.0));
                before = *share;
                sum.abs() > bound * share.sqrt()
            })
        };
        (0..paths).filter(crosses).count() as f64 / f64::from(paths)
    }

    /// Three standard errors of 40,000 paths.
    const SLACK: f64 = 0.0033;

    fn is_all(spent: f64) -> bool {
        (ALPHA - KEPT_BACK - SLACK..ALPHA - KEPT_BACK + SLACK).contains(&spent)
    }

    #[test]
    fn one_look_spends_all_that_is_not_kept_back() {
        assert!((equal(1).level(0) - (ALPHA - KEPT_BACK)).abs() < 1e-6);
    }

    #[test]
    fn looks_of_equal_blocks_spend_all_of_the_error() {
        for count in [2, 4, 20] {
            let shares: Vec<f64> = (1..=count).map(|it| f64::from(it) / f64::from(count)).collect();
            let spent = crossed(&shares, &bounds(&equal(count), count));
            assert!(is_all(spent), "{count}: {spent}");
        }
    }

    /// The first look of many calls a difference of ten standard errors, despite hundreds of comparisons.
    #[test]
    fn the_first_look_spends_a_part() {
        let first = equal(20).level(0);
        assert!((3e-4..1e-3).contains(&first), "{first}");
        assert!(equal(20).level(19) > 0.028);
    }

    /// Twenty blocks were planned, but after the first one only three more fit.
    #[test]
    fn a_plan_that_is_revised_spends_all_of_the_error() {
        let mut looks = Looks::new(20);
        let shares = [0.05, 0.05 + 0.95 / 3.0, 0.05 + 0.95 * 2.0 / 3.0, 1.0];
        for (block, left) in [(0, 20), (1, 3), (2, 2), (3, 1)] {
            looks.begin(block, left);
        }
        assert_eq!(looks.expected(), 4);
        let spent = crossed(&shares, &bounds(&looks, 4));
        assert!(is_all(spent), "{spent}");
        let parts: f64 = (0..4).map(|block| looks.part(block)).sum();
        assert!((parts - 1.0).abs() < 1e-9, "{parts}");
    }

    #[test]
    fn the_last_look_spends_what_is_left_whatever_ends_the_study() {
        let mut looks = Looks::new(20);
        looks.begin(0, 20);
        let only = looks.level(0);
        looks.begin(1, 4);
        let mut ended = looks.clone();
        ended.end();
        assert!(only < 0.001 && ended.level(1) > 0.04, "{only} {}", ended.level(1));
        let last = [looks.level(0), ended.level(1)];
        let bounds = last.map(|level| normal().inverse_cdf(1.0 - level / 2.0));
        let spent = crossed(&[0.05, 0.05 + 0.95 / 4.0], &bounds);
        assert!(is_all(spent), "{spent}");
    }

    /// Studies without effect cross a bound in no more than [`ALPHA`] of all cases, however often they are extended.
    #[test]
    fn looks_beyond_the_plan_keep_the_error() {
        let all = {
            let mut looks = equal(4);
            looks.see(15);
            looks
        };
        let shares: Vec<f64> = (1..=16).map(|it| f64::from(it) / 4.0).collect();
        let of_all = bounds(&all, 16);
        assert!(of_all[4..].iter().all(|bound| (2.0..4.0).contains(bound)), "{of_all:?}");
        let spent = crossed(&shares, &of_all);
        assert!((0.045..ALPHA + SLACK).contains(&spent), "{spent}");
    }

    #[test]
    fn a_study_that_goes_on_keeps_the_error() {
        let mut looks = Looks::new(20);
        looks.begin(0, 20);
        looks.begin(1, 19);
        looks.reopen_after(1);
        assert!(looks.level(1) > 0.04, "{}", looks.level(1));
        (2..8).for_each(|block| looks.begin(block, 8 - block));
        let shares: Vec<f64> = (1..=8).map(f64::from).collect();
        let spent = crossed(&shares, &bounds(&looks, 8));
        assert!((0.045..ALPHA + SLACK).contains(&spent), "{spent}");
    }

    #[test]
    fn the_level_of_the_last_look_is_about_right() {
        for count in [1, 2, 4, 10, 20, 40] {
            let (message, is) = (last_level(count), equal(count).level(count - 1));
            assert!((message / is - 1.0).abs() < 0.1, "{count}: {message} {is}");
        }
    }

    #[test]
    fn missing_blocks_are_no_looks() {
        let mut looks = Looks::new(4);
        looks.begin(2, 4);
        assert_eq!((looks.level(1), looks.part(1)), (0.0, 0.0));
        assert!(looks.level(2) > 0.0);
    }
}
