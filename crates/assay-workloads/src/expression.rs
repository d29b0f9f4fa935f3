//! Evaluates expressions like pgbench.

use std::cmp::Ordering;
use std::f64::consts::TAU;

use assay_model::{Distribution, Function, Term};

use crate::distribution::RandomSampler;
use crate::number::ExpressionValue;
use crate::random::RandomStream;

pub(crate) struct Inputs<'a> {
    pub(crate) variable: &'a dyn Fn(u32) -> ExpressionValue,
    pub(crate) client: u32,
    pub(crate) seed: u64,
}

pub fn constant(function: Function, operands: &[ExpressionValue]) -> ExpressionValue {
    call(function, operands, &mut RandomStream::new(0))
}

/// NULL if the expression is malformed.
pub(crate) fn evaluate(
    terms: &[Term],
    inputs: &Inputs<'_>,
    stream: &mut RandomStream,
) -> ExpressionValue {
    let mut stack: Vec<ExpressionValue> = Vec::with_capacity(8);
    for term in terms {
        let value = match *term {
            Term::Integer(value) => ExpressionValue::Integer(value),
            Term::Real(value) => ExpressionValue::Real(value),
            Term::Boolean(value) => ExpressionValue::Boolean(value),
            Term::Null => ExpressionValue::Null,
            Term::Variable(number) => (inputs.variable)(number),
            Term::Client => ExpressionValue::Integer(inputs.client.into()),
            Term::Seed => ExpressionValue::Integer(inputs.seed as i64),
            Term::Call(function, operands) => {
                let Some(first) = stack.len().checked_sub(operands as usize) else {
                    return ExpressionValue::Null;
                };
                let value = call(function, stack.get(first..).unwrap_or_default(), stream);
                stack.truncate(first);
                value
            }
        };
        stack.push(value);
    }
    stack.pop().unwrap_or(ExpressionValue::Null)
}

fn call(
    function: Function,
    operands: &[ExpressionValue],
    stream: &mut RandomStream,
) -> ExpressionValue {
    use ExpressionValue::{Boolean, Null};
    match (function, operands) {
        // The second operand matters only if the first one does not decide, and NULL decides.
        (Function::Or, &[Boolean(true), _]) => Boolean(true),
        (Function::And, &[Boolean(false), _]) => Boolean(false),
        (Function::Or, &[Boolean(false), b @ Boolean(_)])
        | (Function::And, &[Boolean(true), b @ Boolean(_)]) => b,
        (Function::Not, &[Boolean(a)]) => Boolean(!a),
        (Function::IsNull, &[a]) => Boolean(a == Null),
        (Function::IsTrue, &[a]) => Boolean(a == Boolean(true)),
        (Function::IsFalse, &[a]) => Boolean(a == Boolean(false)),
        (Function::Case, operands) => case(operands),
        (_, operands) if operands.contains(&Null) => Null,
        (Function::Greatest, operands) => extreme(operands, Ordering::Greater),
        (Function::Least, operands) => extreme(operands, Ordering::Less),
        (_, &[a]) => of_one(function, a),
        (_, &[a, b]) => of_two(function, a, b, stream),
        (Function::Permute, &[value, size, seed]) => {
            let operands = value.integer().zip(size.integer()).zip(seed.integer());
            whole(operands.and_then(|((value, size), seed)| permuted(value, size, seed)))
        }
        (_, &[low, high, parameter]) => {
            let ends = low.integer().zip(high.integer()).filter(|(low, high)| low <= high);
            let drawn = ends.zip(parameter.real()).and_then(|((low, high), parameter)| {
                draw(function, (low, high), parameter, stream)
            });
            drawn.map_or(Null, ExpressionValue::Integer)
        }
        _ => Null,
    }
}

fn of_one(function: Function, a: ExpressionValue) -> ExpressionValue {
    let real = |real_function: fn(f64) -> f64| {
        a.real().map_or(ExpressionValue::Null, |a| ExpressionValue::Real(real_function(a)))
    };
    match (function, a) {
        (Function::BitNot, _) => whole(a.integer().map(|a| !a)),
        // The smallest integer has no positive counterpart.
        (Function::Abs, ExpressionValue::Integer(a)) => ExpressionValue::Integer(a.wrapping_abs()),
        (Function::Abs, _) => real(f64::abs),
        (Function::Double, _) => real(|a| a),
        (Function::Exp, _) => real(f64::exp),
        (Function::Int, _) => whole(a.integer()),
        (Function::Ln, _) => real(f64::ln),
        (Function::Sqrt, _) => real(f64::sqrt),
        _ => ExpressionValue::Null,
    }
}

fn of_two(
    function: Function,
    a: ExpressionValue,
    b: ExpressionValue,
    stream: &mut RandomStream,
) -> ExpressionValue {
    if let (ExpressionValue::Real(_), _) | (_, ExpressionValue::Real(_)) = (a, b)
        && let Some((a, b)) = a.real().zip(b.real())
    {
        match function {
            Function::Add => return ExpressionValue::Real(a + b),
            Function::Subtract => return ExpressionValue::Real(a - b),
            Function::Multiply => return ExpressionValue::Real(a * b),
            Function::Divide => return ExpressionValue::Real(a / b),
            _ => {}
        }
    }
    let is = |wanted: &[Ordering]| match a.compare(b) {
        Some(order) => ExpressionValue::Boolean(order.is_some_and(|order| wanted.contains(&order))),
        None => ExpressionValue::Null,
    };
    match function {
        Function::Less => is(&[Ordering::Less]),
        Function::LessOrEqual => is(&[Ordering::Less, Ordering::Equal]),
        Function::Equal => is(&[Ordering::Equal]),
        Function::Power => a
            .real()
            .zip(b.real())
            .map_or(ExpressionValue::Null, |(a, b)| ExpressionValue::Real(a.powf(b))),
        _ => whole(
            a.integer().zip(b.integer()).and_then(|(a, b)| of_integers(function, a, b, stream)),
        ),
    }
}

fn of_integers(function: Function, a: i64, b: i64, stream: &mut RandomStream) -> Option<i64> {
    match function {
        Function::BitOr => Some(a | b),
        Function::BitXor => Some(a ^ b),
        Function::BitAnd => Some(a & b),
        Function::ShiftLeft => Some(a.wrapping_shl(b as u32)),
        Function::ShiftRight => Some(a.wrapping_shr(b as u32)),
        Function::Add => a.checked_add(b),
        Function::Subtract => a.checked_sub(b),
        Function::Multiply => a.checked_mul(b),
        Function::Divide => a.checked_div(b),
        // The remainder of the smallest integer and -1 is no overflow.
        Function::Modulo if b == -1 => Some(0),
        Function::Modulo => a.checked_rem(b),
        Function::HashFnv1a => Some(fnv1a(a, b as u64)),
        Function::HashMurmur2 => Some(murmur2(a, b as u64)),
        Function::Random if a <= b => Some(between(a, b, stream.unit())),
        _ => None,
    }
}

fn draw(
    function: Function,
    (low, high): (i64, i64),
    parameter: f64,
    stream: &mut RandomStream,
) -> Option<i64> {
    /// The largest exponent: above, only the first value is drawn.
    const S_MAX: f64 = 100.0;
    let share = match function {
        Function::RandomExponential if parameter > 0.0 => {
            let cut = (-parameter).exp();
            let uniform = 1.0 - stream.unit();
            -(cut + (1.0 - cut) * uniform).ln() / parameter
        }
        Function::RandomGaussian if parameter >= 2.0 => {
            let deviation = loop {
                let (first, second) = (1.0 - stream.unit(), 1.0 - stream.unit());
                let deviation = (-2.0 * first.ln()).sqrt() * (TAU * second).sin();
                if (-parameter..parameter).contains(&deviation) {
                    break deviation;
                }
            };
            (deviation + parameter) / (2.0 * parameter)
        }
        Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => {
            let draw = Distribution::Zipfian { s: parameter.min(S_MAX) };
            let size = high.abs_diff(low).saturating_add(1);
            return Some(
                low.saturating_add_unsigned(RandomSampler::of_size(draw, size).offset(stream)),
            );
        }
        _ => return None,
    };
    Some(between(low, high, share))
}

fn between(low: i64, high: i64, share: f64) -> i64 {
    let size = high.abs_diff(low) as f64 + 1.0;
    low.saturating_add_unsigned((size * share) as u64).min(high)
}

fn case(operands: &[ExpressionValue]) -> ExpressionValue {
    let mut pairs = operands.chunks_exact(2);
    let taken = pairs.find(|pair| pair.first().is_some_and(|it| it.holds()));
    let otherwise = operands.chunks_exact(2).remainder().first();
    taken.and_then(|pair| pair.get(1)).or(otherwise).copied().unwrap_or(ExpressionValue::Null)
}

/// The largest or smallest number. One real operand makes the result real.
fn extreme(operands: &[ExpressionValue], wanted: Ordering) -> ExpressionValue {
    let has_decimals = operands.iter().any(|it| matches!(it, ExpressionValue::Real(_)));
    let alike = |it: &ExpressionValue| match it.real() {
        None => ExpressionValue::Null,
        Some(value) if has_decimals => ExpressionValue::Real(value),
        Some(_) => *it,
    };
    let mut alike = operands.iter().map(alike);
    let first = alike.next().unwrap_or(ExpressionValue::Null);
    alike.fold(first, |best, it| match it.compare(best) {
        None => ExpressionValue::Null,
        Some(order) if order == Some(wanted) => it,
        Some(_) => best,
    })
}

fn whole(value: Option<i64>) -> ExpressionValue {
    value.map_or(ExpressionValue::Null, ExpressionValue::Integer)
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;
const MURMUR_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;

fn fnv1a(value: i64, seed: u64) -> i64 {
    let bytes = value.to_le_bytes();
    let hash = bytes
        .iter()
        .fold(FNV_OFFSET ^ seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME));
    hash as i64
}

fn murmur2(value: i64, seed: u64) -> i64 {
    const SHIFT: u32 = 47;
    let mut hash = seed ^ 8_u64.wrapping_mul(MURMUR_FACTOR);
    let mut key = (value as u64).wrapping_mul(MURMUR_FACTOR);
    key = (key ^ (key >> SHIFT)).wrapping_mul(MURMUR_FACTOR);
    hash = (hash ^ key).wrapping_mul(MURMUR_FACTOR);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(MURMUR_FACTOR);
    (hash ^ (hash >> SHIFT)) as i64
}

const ROUNDS: u32 = 6;

/// pgbench's `permute`, a pseudorandom permutation that depends on a seed. The values are those of pgbench 15 and
/// later, because a script may load rows with a permutation and look them up with the same one.
///
/// The image of `value` among the numbers below `size`; `None` if the size is not positive.
fn permuted(value: i64, size: i64, seed: i64) -> Option<i64> {
    let size = u64::try_from(size).ok().filter(|size| *size > 0)?;
    if size == 1 {
        return Some(0);
    }
    let mut stream = Xoroshiro::new(seed as u64);
    // The largest power of two not above the size: the halves are the numbers below it from either end.
    let half = HalfPermutation { bits: size.ilog2() };
    let mut place = (value as u64) % size;
    for _ in 0..ROUNDS {
        place = half.mixed(place, &mut stream);
        place = size - 1 - half.mixed(size - 1 - place, &mut stream);
        place = (place + stream.below(size)) % size;
    }
    i64::try_from(place).ok()
}

struct HalfPermutation {
    bits: u32,
}

impl HalfPermutation {
    /// Permutes the numbers of the half, and leaves others unchanged. Draws the same in both cases.
    fn mixed(&self, number: u64, stream: &mut Xoroshiro) -> u64 {
        let mask = (1_u64 << self.bits) - 1;
        let odd = (stream.next() & mask) | 1;
        let flips = stream.next() & mask;
        if number > mask {
            return number;
        }
        let number = (number.wrapping_mul(odd) ^ flips) & mask;
        ((number << 1) & mask) | (number >> (self.bits - 1))
    }
}

/// xoroshiro128** (David Blackman and Sebastiano Vigna), seeded with SplitMix64, as in Postgres.
struct Xoroshiro([u64; 2]);

impl Xoroshiro {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 2].map(|()| split_mix(&mut state)))
    }

    fn next(&mut self) -> u64 {
        let [first, second] = self.0;
        let mixed = first ^ second;
        self.0 = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number below `limit`, which is at least 2. Redraws while the bits of the limit give a larger one.
    fn below(&mut self, limit: u64) -> u64 {
        let shift = 63 - (limit - 1).ilog2();
        loop {
            let number = self.next() >> shift;
            if number < limit {
                return number;
            }
        }
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(terms: &[Term], stream: &mut RandomStream) -> ExpressionValue {
        let variable = |number| ExpressionValue::Integer(10 * i64::from(number));
        evaluate(terms, &Inputs { variable: &variable, client: 3, seed: 7 }, stream)
    }

    #[test]
    fn terms_are_computed_in_postfix_order() {
        let stream = &mut RandomStream::new(1);
        let sum =
            [Term::Client, Term::Variable(2), Term::Integer(5), Term::Call(Function::Multiply, 2)];
        let sum = [&sum[..], &[Term::Call(Function::Subtract, 2)]].concat();
        assert_eq!(value(&sum, stream), ExpressionValue::Integer(3 - 20 * 5));
        let half = [Term::Integer(1), Term::Real(2.0), Term::Call(Function::Divide, 2)];
        assert_eq!(value(&half, stream), ExpressionValue::Real(0.5));
        let none = [Term::Integer(1), Term::Integer(0), Term::Call(Function::Divide, 2)];
        assert_eq!(value(&none, stream), ExpressionValue::Null);
        assert_eq!(value(&[Term::Call(Function::Add, 2)], stream), ExpressionValue::Null);
        let case = [
            Term::Boolean(false),
            Term::Integer(1),
            Term::Integer(1),
            Term::Integer(2),
            Term::Integer(3),
            Term::Call(Function::Case, 5),
        ];
        assert_eq!(value(&case, stream), ExpressionValue::Integer(2));
    }

    #[test]
    fn hashes_depend_on_the_seed() {
        assert_ne!(fnv1a(10, 1), fnv1a(10, 2));
        assert_ne!(murmur2(10, 1), murmur2(10, 2));
    }

    #[test]
    fn draws_have_the_shape_that_is_asked_for() {
        let stream = &mut RandomStream::new(3);
        let mut draw = |function, parameter| {
            let terms = [
                Term::Integer(1),
                Term::Integer(100),
                Term::Real(parameter),
                Term::Call(function, 3),
            ];
            let mut counts = [0_u32; 100];
            for _ in 0..20_000 {
                let ExpressionValue::Integer(drawn) = value(&terms, stream) else {
                    panic!("{function:?}")
                };
                counts[drawn as usize - 1] += 1;
            }
            counts
        };
        // The middle half of a bell of 5 reaches 2.5 standard deviations to each side: 98.8%.
        let bell = draw(Function::RandomGaussian, 5.0);
        let middle: u32 = bell[25..75].iter().sum();
        assert!((19_680..19_830).contains(&middle), "{middle}");
        // The first tenth: (1 - exp(-0.5)) / (1 - exp(-5)) of them, 39.6%.
        let falling = draw(Function::RandomExponential, 5.0);
        let first: u32 = falling[..10].iter().sum();
        assert!((7_600..8_250).contains(&first), "{first}");
        let zipf = draw(Function::RandomZipfian, 1.5);
        assert!(zipf[0] > zipf[1] && zipf[1] > zipf[5], "{zipf:?}");
    }

    /// Output of pgbench 15.
    #[test]
    fn values_are_those_of_pgbench() {
        assert_eq!(
            [0, 1, 2, 3].map(|it| permuted(it, 4, 42)),
            [Some(0), Some(2), Some(3), Some(1)]
        );
        for ((value, size, seed), expected) in [
            ((0, 4, 5432), 3),
            ((11, 100, 1), 42),
            ((-3, 100, 1), 60),
            ((5, 1_000_000, 99), 349_798),
            ((5, i64::MAX, 3), 882_093_455_554_196_304),
            ((123_456_789_012, 1_000_000_007, -5), 690_178_375),
        ] {
            assert_eq!(permuted(value, size, seed), Some(expected), "{value} of {size}, {seed}");
        }
        assert_eq!(
            (permuted(5, 1, 1), permuted(5, 0, 1), permuted(5, -7, 1)),
            (Some(0), None, None)
        );
    }

    #[test]
    fn every_number_is_taken_once() {
        for size in [2, 3, 7, 8, 1000] {
            let mut all: Vec<i64> = (0..size).filter_map(|it| permuted(it, size, 9)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..size), "{size}");
        }
    }
}
