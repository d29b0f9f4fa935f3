//! Operators and functions of pgbench's expressions.

use assay_model::limits::user::ZIPF_S;
use assay_model::{Distribution, Function, Range as Integers, Term};
use assay_workloads::Number;

/// Binary operators: notation, precedence, function. Prefixes of others come after them.
pub(super) const OPERATORS: [(&str, u32, Function); 19] = [
    ("or", 1, Function::Or),
    ("and", 2, Function::And),
    ("<<", BITS, Function::ShiftLeft),
    (">>", BITS, Function::ShiftRight),
    ("<=", COMPARISON, Function::LessOrEqual),
    (">=", COMPARISON, Function::Less),
    ("<>", COMPARISON, Function::Equal),
    ("!=", COMPARISON, Function::Equal),
    ("<", COMPARISON, Function::Less),
    (">", COMPARISON, Function::LessOrEqual),
    ("=", COMPARISON, Function::Equal),
    ("|", BITS, Function::BitOr),
    ("#", BITS, Function::BitXor),
    ("&", BITS, Function::BitAnd),
    ("+", 7, Function::Add),
    ("-", 7, Function::Subtract),
    ("*", 8, Function::Multiply),
    ("/", 8, Function::Divide),
    ("%", 8, Function::Modulo),
];

/// Operators that negate their function.
pub(super) const OPPOSITES: [&str; 4] = [">=", ">", "<>", "!="];

/// Precedence of `NOT`, of `IS`, of comparisons, which cannot be chained, of bitwise operators, and of signs.
pub(super) const NOT: u32 = 3;
pub(super) const IS: u32 = 4;
pub(super) const COMPARISON: u32 = 5;
pub(super) const BITS: u32 = 6;
pub(super) const SIGN: u32 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Of(Function),
    /// A function with a seed as last operand.
    Seeded(Function),
    Itself,
    Pi,
}

/// Name, function, fewest and most operands.
pub(super) const FUNCTIONS: [(&str, Named, u32, u32); 21] = [
    ("abs", Named::Of(Function::Abs), 1, 1),
    ("debug", Named::Itself, 1, 1),
    ("double", Named::Of(Function::Double), 1, 1),
    ("exp", Named::Of(Function::Exp), 1, 1),
    ("greatest", Named::Of(Function::Greatest), 1, 100),
    ("hash", Named::Seeded(Function::HashMurmur2), 1, 2),
    ("hash_fnv1a", Named::Seeded(Function::HashFnv1a), 1, 2),
    ("hash_murmur2", Named::Seeded(Function::HashMurmur2), 1, 2),
    ("int", Named::Of(Function::Int), 1, 1),
    ("least", Named::Of(Function::Least), 1, 100),
    ("ln", Named::Of(Function::Ln), 1, 1),
    ("mod", Named::Of(Function::Modulo), 2, 2),
    ("permute", Named::Seeded(Function::Permute), 2, 3),
    ("pi", Named::Pi, 0, 0),
    ("pow", Named::Of(Function::Power), 2, 2),
    ("power", Named::Of(Function::Power), 2, 2),
    ("random", Named::Of(Function::Random), 2, 2),
    ("random_exponential", Named::Of(Function::RandomExponential), 3, 3),
    ("random_gaussian", Named::Of(Function::RandomGaussian), 3, 3),
    ("random_zipfian", Named::Of(Function::RandomZipfian), 3, 3),
    ("sqrt", Named::Of(Function::Sqrt), 1, 1),
];

pub(super) const KEYWORDS: [&str; 10] =
    ["and", "or", "not", "is", "isnull", "notnull", "when", "then", "else", "end"];

/// The draw that a whole expression amounts to, if its ends are constants. It then needs no expression.
pub(super) fn simple_draw(terms: &[Term]) -> Option<Integers> {
    let (low, high, draw) = match *terms {
        [Term::Integer(low), Term::Integer(high), Term::Call(Function::Random, 2)] => {
            (low, high, Distribution::Uniform)
        }
        [Term::Integer(low), Term::Integer(high), s, Term::Call(Function::RandomZipfian, 3)] => {
            let s = match s {
                Term::Integer(s) => s as f64,
                Term::Real(s) => s,
                _ => return None,
            };
            // Above, only the first value is drawn.
            (low, high, Distribution::Zipfian { s: s.min(*ZIPF_S.end()) })
        }
        _ => return None,
    };
    Some(Integers { low, high, draw, is_reversed: false })
}

pub(super) fn cannot_draw(function: Function, operands: &[Number]) -> &'static str {
    if let [Number::Integer(low), Number::Integer(high), ..] = operands
        && low > high
    {
        return "the range is empty";
    }
    match function {
        Function::RandomGaussian => "the parameter must be at least 2.0",
        Function::RandomExponential => "the parameter must be more than zero",
        Function::RandomZipfian => "the parameter must be a number from 1.001 to 1000",
        _ => "the ends of the range must be whole numbers",
    }
}
