//! What is expected of the variance of a quantity before a study has measured it.

/// Standard deviation, over blocks, of the log ratio of two systems, as the design of a study lets expect it before it
/// has blocks to tell: fresh instances differ by 0.003 to 0.006 in a quiet hour, and by 0.005 to 0.010 in a noisy one.
pub const BLOCK_SD: f64 = 0.007;

/// The same of the logarithm of a rate itself. The speed of the machine changes between blocks, and nothing cancels it:
/// by 0.005 on a machine of one's own, by 0.02 to 0.1 on one that others share.
const LEVEL_SD: f64 = 0.05;

/// Degrees of freedom up to which that adds to what blocks show. Machines differ in it more than in ratios.
const LEVEL_DF: f64 = 4.0;

/// The same of the log ratio of a round, where hardly any round tells.
pub(crate) const ROUND_SD: f64 = 0.1;

/// Degrees of freedom up to which the design adds to what a study has measured of its own variance. They say how far
/// off the expected standard deviations may be: one that is twice as large is still in the usual range.
pub(crate) const DESIGN_DF: f64 = 6.0;

/// How many times as large as of independent values the variance of a round is expected to be, and the degrees of
/// freedom up to which that adds to what rounds show: turns follow each other so quickly that a pair of them shares
/// most of the noise of the machine.
pub(crate) const DEPENDENCE: f64 = 1.25;
pub(crate) const DEPENDENCE_DF: f64 = 20.0;

/// Degrees of freedom up to which the variance that is known without the deviations of a cell's blocks adds to what
/// those deviations show. With few cells and blocks, these tell as little as one degree of freedom.
pub(crate) const KNOWN_DF: f64 = 20.0;

/// The part of the expected variance between blocks that all tests of an instance have in common.
pub(crate) const COMMON: f64 = 0.5;

/// What may be assumed of the variance of a quantity before it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assumed {
    /// That of ratios of systems that take turns on the same machine.
    Design,
    /// That of rates of one system, in a study whose blocks follow each other on one machine.
    Level,
    /// Nothing.
    Nothing,
}

impl Assumed {
    /// The degrees of freedom that are added to so many measured ones, to make up to `most`.
    pub(crate) fn adds(self, df: f64, most: f64) -> f64 {
        match self {
            Self::Design => (most - df).max(0.0),
            Self::Level => (most.min(LEVEL_DF) - df).max(0.0),
            Self::Nothing => 0.0,
        }
    }

    /// The variance between blocks that is expected.
    pub(crate) fn between(self) -> f64 {
        let sd = if self == Self::Level { LEVEL_SD } else { BLOCK_SD };
        sd * sd
    }

    /// A variance with its degrees of freedom, filled up to `most` of them by what is assumed.
    pub(crate) fn fill(self, assumed: f64, (measured, df): (f64, f64), most: f64) -> (f64, f64) {
        let added = self.adds(df, most);
        let sum = added + df;
        if sum > 0.0 { ((added * assumed + df * measured) / sum, sum) } else { (measured, df) }
    }
}
