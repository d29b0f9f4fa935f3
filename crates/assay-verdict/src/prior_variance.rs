//! Prior variances of quantities before a study has measured them.

/// Prior standard deviation between blocks of the log ratio of two systems: fresh instances differ by 0.003 to 0.006 in
/// a quiet hour, and by 0.005 to 0.010 in a noisy one.
pub const BLOCK_SD: f64 = 0.007;

/// The same for a log rate, as nothing cancels speed changes of the machine between blocks: 0.005 on a dedicated
/// machine, 0.02 to 0.1 on a shared one.
const LEVEL_SD: f64 = 0.05;

/// Degrees of freedom up to which it complements blocks. Machines differ in it more than in ratios.
const LEVEL_DF: f64 = 4.0;

/// The same for the log ratio of a round, if hardly any round was measured.
pub(crate) const ROUND_SD: f64 = 0.1;

/// Degrees of freedom up to which the prior complements a study's own variance. They reflect the prior's uncertainty:
/// twice the expected standard deviation is still in the usual range.
pub(crate) const DESIGN_DF: f64 = 6.0;

/// Expected ratio of a round's variance to that of independent values, and the degrees of freedom up to which it
/// complements rounds: turns alternate so quickly that a pair of them shares most of the machine's noise.
pub(crate) const DEPENDENCE: f64 = 1.25;
pub(crate) const DEPENDENCE_DF: f64 = 20.0;

/// Degrees of freedom up to which a variance known without the deviations of a cell's blocks complements them. With few
/// cells and blocks, these have as little as one degree of freedom.
pub(crate) const KNOWN_DF: f64 = 20.0;

/// Share of the expected variance between blocks that is common to all tests of an instance.
pub(crate) const COMMON: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PriorVariance {
    /// For ratios of systems that alternate on the same machine.
    Design,
    /// For rates of one system, in a study whose blocks follow each other on one machine.
    Level,
    Nothing,
}

impl PriorVariance {
    /// Degrees of freedom added to `df` measured ones, to reach at most `most`.
    pub(crate) fn adds(self, df: f64, most: f64) -> f64 {
        match self {
            Self::Design => (most - df).max(0.0),
            Self::Level => (most.min(LEVEL_DF) - df).max(0.0),
            Self::Nothing => 0.0,
        }
    }

    pub(crate) fn between(self) -> f64 {
        let sd = if self == Self::Level { LEVEL_SD } else { BLOCK_SD };
        sd * sd
    }

    /// A variance with its degrees of freedom, complemented up to `most` by the assumed one.
    pub(crate) fn fill(self, assumed: f64, (measured, df): (f64, f64), most: f64) -> (f64, f64) {
        let added = self.adds(df, most);
        let sum = added + df;
        if sum > 0.0 { ((added * assumed + df * measured) / sum, sum) } else { (measured, df) }
    }
}
