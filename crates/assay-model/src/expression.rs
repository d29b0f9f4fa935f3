//! Expressions of pgbench scripts, as data.

use serde::{Deserialize, Serialize};

/// A term of an expression in postfix order: operands precede their operator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Term {
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Null,
    /// An earlier variable of the transaction, by index.
    Variable(u32),
    /// Number of the client, from 0.
    Client,
    Seed,
    /// A function of this many terms before it.
    Call(Function, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Function {
    Or,
    And,
    Not,
    IsNull,
    IsTrue,
    IsFalse,
    Less,
    LessOrEqual,
    Equal,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    BitNot,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Abs,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    /// `permute(a, size, seed)`
    Permute,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    /// `CASE WHEN a THEN b ... ELSE c END`: pairs, then the value if no condition is true.
    Case,
}

impl Function {
    pub fn draws(self) -> bool {
        matches!(
            self,
            Self::Random | Self::RandomExponential | Self::RandomGaussian | Self::RandomZipfian
        )
    }
}
