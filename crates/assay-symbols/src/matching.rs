//! Finds the functions of a program in another build of it, whose names are known.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::code::{CodeFunction, ProgramCode};
use crate::names::plain;

/// Minimum size, bytes: smaller code may be equal by chance.
const SIZE_LEAST: u64 = 24;

/// Most unmatched functions between two matched ones for their order to match them.
const BETWEEN_MOST: usize = 3;

/// Most passes. Each matches the neighbours of what the one before it has matched.
const PASSES: usize = 30;

/// Names of the functions of `code` that have none, by their addresses: those of the matching functions of `donor`.
///
/// Functions match if no other unmatched function of either build has the same symbol, the same instructions (apart
/// from distances) and strings, or the same strings at a similar size; if matching functions call them at the same
/// place; or if as many functions of similar sizes are between matching ones. Equal instructions do not match if they
/// call functions that match others, and similar sizes do not if the symbols differ. Compilers and versions differ, so
/// a name may be wrong.
pub(crate) fn matched_names(code: &ProgramCode, donor: &ProgramCode) -> BTreeMap<u64, String> {
    let mut matching = CodeMatching::new([&code.functions, &donor.functions]);
    matching.by_key(|function| function.symbol.as_deref(), |_, _, _| true);
    for _ in 0..PASSES {
        let mut joined = matching.by_key(digest, CodeMatching::have_same_calls);
        joined += matching.by_key(|function| function.strings, CodeMatching::are_alike);
        joined += matching.by_calls();
        if joined == 0 && matching.by_order() == 0 {
            break;
        }
    }
    matching.names()
}

fn digest(function: &CodeFunction) -> Option<(u64, u64, Option<u64>)> {
    let CodeFunction { digest, size, strings, .. } = function;
    (*size >= SIZE_LEAST).then_some((*digest, *size, *strings))
}

struct CodeMatching<'a> {
    sides: [&'a [CodeFunction]; 2],
    /// The matching function of the other side, for each function of a side.
    found: [Vec<Option<u32>>; 2],
}

/// For a function, the partner with the most votes, their number, and whether another one has as many.
type BestPartner = (u32, u32, bool);

impl<'a> CodeMatching<'a> {
    fn new(sides: [&'a [CodeFunction]; 2]) -> Self {
        Self { sides, found: sides.map(|functions| vec![None; functions.len()]) }
    }

    fn is_free(&self, side: usize, function: usize) -> bool {
        self.found[side][function].is_none()
    }

    /// Returns 1, or 0 if either is matched already.
    fn join(&mut self, one: u32, other: u32) -> usize {
        let (at_one, at_other) = (one as usize, other as usize);
        if !(self.is_free(0, at_one) && self.is_free(1, at_other)) {
            return 0;
        }
        self.found[0][at_one] = Some(other);
        self.found[1][at_other] = Some(one);
        1
    }

    /// Matches functions with a key that no other unmatched function of either side has, if `fits` does not rule it
    /// out. Returns their number.
    fn by_key<K: Eq + Hash>(
        &mut self,
        key: impl Fn(&'a CodeFunction) -> Option<K>,
        fits: impl Fn(&Self, u32, u32) -> bool,
    ) -> usize {
        let mut places: HashMap<K, [(u32, u32); 2]> = HashMap::new();
        for (side, functions) in self.sides.into_iter().enumerate() {
            for (at, function) in functions.iter().enumerate() {
                if let (true, Some(key)) = (self.is_free(side, at), key(function)) {
                    let (count, last) = &mut places.entry(key).or_default()[side];
                    *count += 1;
                    *last = at as u32;
                }
            }
        }
        let pairs = places.into_values().filter_map(|sides| match sides {
            [(1, one), (1, other)] if fits(self, one, other) => Some((one, other)),
            _ => None,
        });
        // The order of keys is random, so all pairs are judged by the same matches.
        let pairs: Vec<(u32, u32)> = pairs.collect();
        pairs.into_iter().map(|(one, other)| self.join(one, other)).sum()
    }

    /// Matches what matched functions call at the same place, counted from the first call or from the last one.
    fn by_calls(&mut self) -> usize {
        let mut votes: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let [functions, others] = self.sides;
        for (function, other) in functions.iter().zip(&self.found[0]) {
            let Some(other) = other.and_then(|at| others.get(at as usize)) else { continue };
            let agree = |(one, other): &(&u32, &u32)| {
                self.found[0][**one as usize] == Some(**other) || self.are_alike(**one, **other)
            };
            let first = function.calls.iter().zip(&other.calls).take_while(agree);
            let last = function.calls.iter().rev().zip(other.calls.iter().rev()).take_while(agree);
            for (one, other) in first.chain(last) {
                if self.is_free(0, *one as usize) {
                    *votes.entry((*one, *other)).or_default() += 1;
                }
            }
        }
        let mut best: [HashMap<u32, BestPartner>; 2] = Default::default();
        for (&(one, other), &count) in &votes {
            for (side, (function, partner)) in [(one, other), (other, one)].into_iter().enumerate()
            {
                let (known, most, is_tied) = best[side].entry(function).or_default();
                if count > *most {
                    (*known, *most, *is_tied) = (partner, count, false);
                } else if count == *most {
                    *is_tied = true;
                }
            }
        }
        let is_best = |side: usize, function: u32, partner: u32| {
            let found: Option<&BestPartner> = best[side].get(&function);
            found.is_some_and(|(known, _, is_tied)| *known == partner && !is_tied)
        };
        let pairs: Vec<(u32, u32)> = votes.into_keys().collect();
        let pairs = pairs.into_iter();
        let pairs =
            pairs.filter(|(one, other)| is_best(0, *one, *other) && is_best(1, *other, *one));
        pairs.map(|(one, other)| self.join(one, other)).sum()
    }

    /// Whether both are unmatched and of similar size.
    fn are_alike(&self, one: u32, other: u32) -> bool {
        let (one, other) = (one as usize, other as usize);
        self.is_free(0, one) && self.is_free(1, other) && self.are_similar(one, other, 2)
    }

    /// Whether none of their calls at the same places is of functions that match others.
    fn have_same_calls(&self, one: u32, other: u32) -> bool {
        let [one, other] = [&self.sides[0][one as usize], &self.sides[1][other as usize]];
        one.calls.iter().zip(&other.calls).all(|(one, other)| {
            let partners = (self.found[0][*one as usize], self.found[1][*other as usize]);
            partners == (None, None) || partners == (Some(*other), Some(*one))
        })
    }

    /// Whether neither is larger than the other by more than 16 bytes and a part of it, `1 / part`, and their symbols
    /// do not differ.
    fn are_similar(&self, one: usize, other: usize, part: u64) -> bool {
        let (one, other) = (&self.sides[0][one], &self.sides[1][other]);
        let (least, most) = (one.size.min(other.size), one.size.max(other.size));
        let is_unnamed = one.symbol.is_none() || other.symbol.is_none();
        let is_near = most - least <= (most / part).saturating_add(16);
        is_near && (is_unnamed || one.symbol == other.symbol)
    }

    /// Matches the functions between two matched ones.
    fn by_order(&mut self) -> usize {
        let matched: Vec<(usize, usize)> = self.found[0]
            .iter()
            .enumerate()
            .filter_map(|(one, other)| Some((one, (*other)? as usize)))
            .collect();
        let mut joined = 0;
        for pair in matched.windows(2) {
            let [(first, other_first), (last, other_last)] = [pair[0], pair[1]];
            let between = last - first - 1;
            let is_alike = other_last.checked_sub(other_first) == Some(between + 1)
                && (1..=BETWEEN_MOST).contains(&between)
                && (1..=between).all(|step| {
                    let (one, other) = (first + step, other_first + step);
                    self.is_free(1, other) && self.are_similar(one, other, 5)
                });
            if is_alike {
                let steps = 1..=between;
                joined += steps
                    .map(|step| self.join((first + step) as u32, (other_first + step) as u32))
                    .sum::<usize>();
            }
        }
        joined
    }

    fn names(&self) -> BTreeMap<u64, String> {
        let [functions, others] = self.sides;
        let unnamed =
            functions.iter().zip(&self.found[0]).filter(|(function, _)| function.symbol.is_none());
        let name = |(function, other): (&CodeFunction, &Option<u32>)| {
            let symbol = others.get((*other)? as usize)?.symbol.as_deref()?;
            Some((function.begin, plain(symbol))).filter(|(_, name)| !name.is_empty())
        };
        unnamed.filter_map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, size, digest and calls.
    type Row<'a> = (Option<&'a str>, u64, u64, &'a [u32]);

    fn program(rows: &[Row<'_>]) -> ProgramCode {
        let function = |(at, &(name, size, digest, calls)): (usize, &Row<'_>)| CodeFunction {
            begin: 0x1000 * at as u64,
            size,
            symbol: name.map(str::to_owned),
            digest,
            strings: None,
            calls: calls.to_vec(),
        };
        ProgramCode { functions: rows.iter().enumerate().map(function).collect() }
    }

    fn names(code: &[Row<'_>], donor: &[Row<'_>]) -> Vec<(u64, String)> {
        let found = matched_names(&program(code), &program(donor));
        found.into_iter().map(|(at, name)| (at / 0x1000, name)).collect()
    }

    fn named(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
        expected.iter().map(|(at, name)| (*at, (*name).to_owned())).collect()
    }

    #[test]
    fn equal_code_matches_if_it_occurs_once() {
        let donor = [
            (Some("one"), 100, 1, &[][..]),
            (Some("two"), 100, 2, &[]),
            (Some("_ZN3THD7cleanupEv.cold"), 90, 3, &[]),
            (Some("tiny"), 5, 4, &[]),
        ];
        let code =
            [(None, 5, 4, &[][..]), (None, 90, 3, &[]), (None, 100, 2, &[]), (None, 100, 2, &[])];
        assert_eq!(names(&code, &donor), named(&[(1, "THD::cleanup")]));
    }

    #[test]
    fn equal_code_that_calls_other_functions_does_not_match() {
        let with = |name: Option<&'static str>, called: &'static [u32]| -> [Row<'static>; 3] {
            [(Some("one"), 100, 1, &[]), (Some("two"), 100, 2, &[]), (name, 50, 3, called)]
        };
        let donor = with(Some("caller"), &[0]);
        assert_eq!(names(&with(None, &[0]), &donor), named(&[(2, "caller")]));
        assert_eq!(names(&with(None, &[1]), &donor), named(&[]));
    }

    #[test]
    fn functions_that_matching_ones_call_match() {
        let donor = [
            (Some("read"), 500, 1, &[1, 2, 3][..]),
            (Some("open"), 100, 2, &[]),
            (Some("search"), 2000, 3, &[4]),
            (Some("close"), 100, 4, &[]),
            (Some("compare"), 300, 5, &[]),
        ];
        // Another compiler: no code is equal, the order is another one, and a call is new.
        let code = [
            (None, 310, 10, &[][..]),
            (None, 2100, 11, &[0]),
            (None, 120, 12, &[]),
            (Some("read"), 520, 13, &[4, 1, 5, 2]),
            (None, 110, 14, &[]),
            (None, 5000, 15, &[]),
        ];
        let all = [(0, "compare"), (1, "search"), (2, "close"), (4, "open")];
        assert_eq!(names(&code, &donor), named(&all));
    }

    #[test]
    fn functions_between_matching_ones_match_if_their_sizes_do() {
        let donor = [
            (Some("first"), 100, 1, &[][..]),
            (Some("second"), 200, 2, &[]),
            (Some("third"), 1000, 3, &[]),
            (Some("last"), 100, 4, &[]),
        ];
        let with = |size| {
            [
                (Some("first"), 90, 11, &[][..]),
                (None, 210, 12, &[]),
                (None, size, 13, &[]),
                (Some("last"), 90, 14, &[]),
            ]
        };
        assert_eq!(names(&with(1100), &donor), named(&[(1, "second"), (2, "third")]));
        assert_eq!(names(&with(3000), &donor), named(&[]));
    }

    #[test]
    fn calls_that_contradict_each_other_match_nothing() {
        let donor = [
            (Some("one"), 500, 1, &[2][..]),
            (Some("two"), 500, 2, &[3]),
            (Some("left"), 100, 3, &[]),
            (Some("right"), 100, 4, &[]),
        ];
        let code =
            [(Some("one"), 500, 11, &[2][..]), (Some("two"), 500, 12, &[2]), (None, 100, 13, &[])];
        assert_eq!(names(&code, &donor), named(&[]));
    }
}
