//! Computed values, as data: the expressions of pgbench scripts.

use serde::{Deserialize, Serialize};

/// A part of an expression. Expressions are written in postfix order: operands come before what uses them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Term {
    /// A whole number.
    Integer(i64),
    /// A number with decimals.
    Real(f64),
    /// A truth value.
    Boolean(bool),
    /// No value.
    Null,
    /// The value of an earlier variable of the transaction, by its index.
    Variable(u32),
    /// The number of the client, from 0.
    Client,
    /// The seed of the study.
    Seed,
    /// A function of the values of so many terms before it.
    Call(Function, u32),
}

/// A function or an operator of pgbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    /// `a OR b`
    Or,
    /// `a AND b`
    And,
    /// `NOT a`
    Not,
    /// `a IS NULL`
    IsNull,
    /// `a IS TRUE`
    IsTrue,
    /// `a IS FALSE`
    IsFalse,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a = b`
    Equal,
    /// `a | b`
    BitOr,
    /// `a # b`
    BitXor,
    /// `a & b`
    BitAnd,
    /// `a << b`
    ShiftLeft,
    /// `a >> b`
    ShiftRight,
    /// `~ a`
    BitNot,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a % b`
    Modulo,
    /// `abs(a)`
    Abs,
    /// `double(a)`
    Double,
    /// `exp(a)`
    Exp,
    /// `greatest(a, ...)`
    Greatest,
    /// `hash_fnv1a(a, seed)`
    HashFnv1a,
    /// `hash_murmur2(a, seed)`
    HashMurmur2,
    /// `int(a)`
    Int,
    /// `least(a, ...)`
    Least,
    /// `ln(a)`
    Ln,
    /// `permute(a, size, seed)`
    Permute,
    /// `power(a, b)`
    Power,
    /// `random(low, high)`
    Random,
    /// `random_exponential(low, high, parameter)`
    RandomExponential,
    /// `random_gaussian(low, high, parameter)`
    RandomGaussian,
    /// `random_zipfian(low, high, parameter)`
    RandomZipfian,
    /// `sqrt(a)`
    Sqrt,
    /// `CASE WHEN a THEN b ... ELSE c END`: pairs, and the value where no condition is true.
    Case,
}

impl Function {
    /// Whether it draws a number at random.
    #[must_use]
    pub fn draws(self) -> bool {
        matches!(
            self,
            Self::Random | Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian
        )
    }
}
