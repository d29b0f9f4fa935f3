//! Mean of a ratio over tests.

use std::collections::BTreeMap;

use crate::assumed::{Assumed, COMMON, DESIGN_DF};
use crate::effect::{Effect, Reduced, common_variance};

/// Mean log ratio over tests that share instances, i.e. the log of the geometric mean ratio; `None` without tests.
///
/// The common part of a block's tests does not shrink with the number of tests; the rest of each test's variance is
/// independent. Tests measured by several machines may share all of it.
pub(crate) fn mean_over_tests(cells: &[(&Reduced, Effect)], assumed: Assumed) -> Option<Effect> {
    let count = cells.len() as f64;
    let (_, first) = cells.first()?;
    let reduced: Vec<&Reduced> = cells.iter().map(|(reduced, _)| *reduced).collect();
    let measured = common_variance(&reduced);
    let (common, common_df) = assumed.fill(COMMON * assumed.between(), measured, DESIGN_DF);
    let of_common = common * block_share(&reduced);
    let squares = |(reduced, effect): &(&Reduced, Effect)| {
        let own = common / reduced.blocks.len().max(1) as f64;
        ((effect.se * effect.se - own).max(0.0), effect.df)
    };
    let has_nodes =
        reduced.iter().any(|it| it.nodes.iter().any(|node| Some(node) != it.nodes.first()));
    let parts = if has_nodes { count } else { count * count };
    let rest: f64 = cells.iter().map(|it| squares(it).0).sum::<f64>() / parts;
    let variance = of_common + rest;
    // Satterthwaite. If nothing is known of the common part, the degrees of freedom are those of a single test.
    let least = cells.iter().map(|(_, effect)| effect.df).fold(f64::INFINITY, f64::min);
    let of_rest = if has_nodes { least } else { least * count };
    let spent = part(of_common, common_df) + part(rest, of_rest);
    let df = if common_df > 0.0 && spent > 0.0 { variance * variance / spent } else { least };
    let mut mean = *first;
    mean.log = cells.iter().map(|(_, effect)| effect.log).sum::<f64>() / count;
    mean.se = variance.sqrt();
    mean.df = df;
    mean.blocks = cells.iter().map(|(_, effect)| effect.blocks).min().unwrap_or(0);
    mean.last = cells.iter().map(|(_, effect)| effect.last).max().unwrap_or(0);
    (mean.log.is_finite() && mean.se.is_finite() && df > 0.0).then_some(mean)
}

/// Contribution of a variance to the denominator of Satterthwaite's degrees of freedom.
fn part(variance: f64, df: f64) -> f64 {
    if variance > 0.0 { variance * variance / df } else { 0.0 }
}

/// Sum over blocks of the squared weight of each block in the mean: 1 divided by the number of blocks, if all tests
/// were measured in all of them.
fn block_share(cells: &[&Reduced]) -> f64 {
    let mut weights: BTreeMap<u32, f64> = BTreeMap::new();
    for cell in cells {
        let weight = 1.0 / (cell.blocks.len().max(1) * cells.len()) as f64;
        for (block, _) in &cell.blocks {
            *weights.entry(*block).or_default() += weight;
        }
    }
    weights.values().map(|weight| weight * weight).sum()
}
