//! Attributes a change in instructions to functions, exactly.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::FunctionCount;

use crate::module_counts::{SystemCounts, called_parts, counted_modules};
use crate::profile::FunctionKey;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionCounts {
    /// `None` for unnamed functions of the module: those below `caller`, or all others.
    pub function: Option<String>,
    pub module: String,
    /// The nearest named function that calls an unnamed one, directly or through other unnamed ones.
    pub caller: Option<String>,
    /// Whether the name is that of matching code of another build, on either side.
    pub is_matched: bool,
    pub is_in: [bool; 2],
    pub own: [u64; 2],
    pub calls: [u64; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    One,
    /// A function only in the base and one only in the other system, probably the same renamed: no other function of
    /// either side alone has these callers, or a name extending or extended by this one, and the costs are similar.
    Renamed,
    /// Functions only on one side and their only caller, listed first, whose cost on the other side is higher by about
    /// as much: probably inlined there.
    Inlined,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountChange {
    pub kind: Kind,
    /// For [`Kind::Renamed`], the base's first.
    pub functions: Vec<FunctionCounts>,
    /// Change in instructions per operation, as the numerator of a fraction with denominator
    /// [`Instructions::denominator`]. These add up exactly to [`Instructions::by`].
    pub by: i128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    pub ops: [u64; 2],
    pub totals: [u64; 2],
    pub changes: Vec<CountChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    pub functions: usize,
    pub own: [u64; 2],
    pub by: i128,
}

impl FunctionCounts {
    /// Whether its name is not only an address.
    pub fn has_name(&self) -> bool {
        self.function.as_deref().is_some_and(|name| !name.starts_with("0x"))
    }
}

impl CountChange {
    /// Whether all of its functions have a name or a named caller.
    fn is_named(&self) -> bool {
        self.functions.iter().all(|function| function.has_name() || function.caller.is_some())
    }

    pub fn own(&self) -> [u64; 2] {
        sum(self.functions.iter().map(|it| it.own))
    }
}

impl Instructions {
    /// Denominator of the changes: the product of both sides' operations.
    pub fn denominator(&self) -> i128 {
        let [base, other] = self.ops.map(i128::from);
        base * other
    }

    /// Change of all instructions per operation, as the numerator of a fraction.
    pub fn by(&self) -> i128 {
        by(self.totals, self.ops)
    }

    pub fn per_op(&self, by: i128) -> f64 {
        by as f64 / self.denominator().max(1) as f64
    }

    /// Share of the changes, whatever their signs, in functions with a name or with a named caller. `None` without
    /// changes.
    pub fn named_share(&self) -> Option<f64> {
        let size = |change: &CountChange| change.by.unsigned_abs() as f64;
        let all: f64 = self.changes.iter().map(size).sum();
        let named: f64 = self.changes.iter().filter(|change| change.is_named()).map(size).sum();
        (all > 0.0).then(|| named / all)
    }

    pub fn each_per_op(&self, own: [u64; 2]) -> [f64; 2] {
        let [base, other] = self.ops.map(|ops| ops.max(1) as f64);
        [own[0] as f64 / base, own[1] as f64 / other]
    }

    /// The largest changes, up to `most`, and the rest, which completes the whole; `None` if it is empty.
    pub fn largest(&self, most: usize) -> (&[CountChange], Option<Rest>) {
        let (shown, others) = self.changes.split_at_checked(most).unwrap_or((&self.changes, &[]));
        let rest = Rest {
            functions: others.iter().map(|it| it.functions.len()).sum(),
            own: sum(others.iter().map(CountChange::own)),
            by: others.iter().map(|it| it.by).sum(),
        };
        (shown, (rest.functions > 0).then_some(rest))
    }
}

fn sum(counts: impl Iterator<Item = [u64; 2]>) -> [u64; 2] {
    counts.fold([0, 0], |[base, other], [a, b]| [base.saturating_add(a), other.saturating_add(b)])
}

fn by([before, after]: [u64; 2], [ops_before, ops_after]: [u64; 2]) -> i128 {
    i128::from(after) * i128::from(ops_before) - i128::from(before) * i128::from(ops_after)
}

/// Maximum cost ratio of functions that may be the same.
const ALIKE: f64 = 2.0;

/// Minimum and maximum change of a caller as a share of the cost of inlined functions.
const INLINED: [f64; 2] = [0.25, 1.25];

/// Compares the counts of the base and of another system; `None` if a side has no operations. Functions match by name
/// and module, as determined by [`counted_modules`], or by a name unique among the functions of each side alone.
pub fn compare_counts(
    base: SystemCounts<'_>,
    other: SystemCounts<'_>,
    is_same_build: bool,
) -> Option<Instructions> {
    let ops = [base.ops, other.ops];
    if ops.contains(&0) {
        return None;
    }
    let mut matched = FunctionMatches::find([base, other], is_same_build);
    matched.join_moved();
    let mut changes = Vec::new();
    // In the same build, a function on one side only was merely not called on the other.
    if !is_same_build {
        changes.extend(matched.renamed(ops));
        changes.extend(matched.inlined(ops));
    }
    changes.extend(
        matched.found.into_values().map(|found| change(Kind::One, vec![found.counts], ops)),
    );
    // Ties are ordered by name.
    changes.sort_by_key(|change| std::cmp::Reverse(change.by.abs()));
    let totals = sum(changes.iter().map(CountChange::own));
    Some(Instructions { ops, totals, changes })
}

fn change(kind: Kind, functions: Vec<FunctionCounts>, ops: [u64; 2]) -> CountChange {
    let own = sum(functions.iter().map(|it| it.own));
    CountChange { kind, functions, by: by(own, ops) }
}

struct FunctionMatches<'a> {
    found: BTreeMap<FunctionKey<'a>, FoundCounts<'a>>,
}

#[derive(Default)]
struct FoundCounts<'a> {
    counts: FunctionCounts,
    callers: [BTreeSet<FunctionKey<'a>>; 2],
}

impl FunctionCounts {
    fn alone_in(&self) -> Option<usize> {
        match self.is_in {
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        }
    }
}

impl<'a> FunctionMatches<'a> {
    fn find(sides: [SystemCounts<'a>; 2], is_same_build: bool) -> Self {
        let [base, other] = sides;
        let modules = counted_modules(base, other, is_same_build);
        let mut found: BTreeMap<FunctionKey<'a>, FoundCounts<'a>> = BTreeMap::new();
        for (at, (side, modules)) in sides.iter().zip(&modules).enumerate() {
            let key = |function: &'a FunctionCount| modules.key(&function.frame);
            let parts = called_parts(*side, modules);
            for ((function, parts), place) in side.functions.iter().zip(parts).zip(0..) {
                let key_of_caller = |caller: &u32| side.functions.get(*caller as usize).map(key);
                let callers = function.callers.iter().filter_map(key_of_caller);
                let key = key(function);
                let is_matched = side.matched.binary_search(&place).is_ok();
                let mut calls = function.calls;
                for (caller, own) in parts {
                    // An address is a function of its own.
                    let apart = caller.filter(|_| key.function.is_none());
                    let entry = found.entry(FunctionKey { caller: apart, ..key }).or_default();
                    entry.counts.function = key.function.map(str::to_owned);
                    entry.counts.module.clone_from(&function.frame.module);
                    if entry.counts.caller.is_none() {
                        entry.counts.caller = caller.map(str::to_owned);
                    }
                    entry.counts.is_matched |= is_matched;
                    // The calls are with the largest part.
                    entry.counts.add(at, own, std::mem::take(&mut calls));
                    if let Some(known) = entry.callers.get_mut(at) {
                        known.extend(callers.clone().filter(|caller| *caller != key));
                    }
                }
            }
        }
        Self { found }
    }

    /// Joins one-sided functions that only moved to another module.
    fn join_moved(&mut self) {
        let mut by_name: BTreeMap<&'a str, [Vec<FunctionKey<'a>>; 2]> = BTreeMap::new();
        for (key, found) in &self.found {
            if let (Some(name), Some(side)) = (key.function, found.counts.alone_in())
                && let Some(keys) = by_name.entry(name).or_default().get_mut(side)
            {
                keys.push(*key);
            }
        }
        let mut moved: BTreeMap<FunctionKey<'a>, FunctionKey<'a>> = BTreeMap::new();
        for keys in by_name.values() {
            let [[before], [after]] = keys.each_ref().map(Vec::as_slice) else { continue };
            let Some(old) = self.found.remove(before) else { continue };
            if let Some(new) = self.found.get_mut(after) {
                let [is_in, _] = old.counts.is_in;
                new.counts.is_in[0] = is_in;
                new.counts.own[0] = old.counts.own[0];
                new.counts.calls[0] = old.counts.calls[0];
                new.counts.is_matched |= old.counts.is_matched;
                let [callers, _] = old.callers;
                new.callers[0] = callers;
                moved.insert(*before, *after);
            }
        }
        for callers in self.found.values_mut().flat_map(|found| &mut found.callers) {
            *callers = callers.iter().map(|key| *moved.get(key).unwrap_or(key)).collect();
        }
    }

    fn alone(&self) -> impl Iterator<Item = (FunctionKey<'a>, usize, &FoundCounts<'a>)> {
        let alone = |(key, found): (&FunctionKey<'a>, _)| {
            let found: &FoundCounts<'a> = found;
            // The group of unnamed functions is no function.
            key.function?;
            Some((*key, found.counts.alone_in()?, found))
        };
        self.found.iter().filter_map(alone)
    }

    fn take(&mut self, keys: &[FunctionKey<'a>]) -> Vec<FunctionCounts> {
        keys.iter().filter_map(|key| Some(self.found.remove(key)?.counts)).collect()
    }

    fn renamed(&mut self, ops: [u64; 2]) -> Vec<CountChange> {
        let mut by_callers: BTreeMap<&BTreeSet<FunctionKey<'a>>, [Vec<FunctionKey<'a>>; 2]> =
            BTreeMap::new();
        for (key, side, found) in self.alone() {
            let Some(callers) = found.callers.get(side).filter(|it| !it.is_empty()) else {
                continue;
            };
            if let Some(keys) = by_callers.entry(callers).or_default().get_mut(side) {
                keys.push(key);
            }
        }
        let by_callers = by_callers.values().filter_map(|keys| {
            let [[before], [after]] = keys.each_ref().map(Vec::as_slice) else { return None };
            Some([*before, *after])
        });
        let mut pairs: Vec<_> = by_callers.filter(|pair| self.are_alike(pair, ops)).collect();
        let mut taken: BTreeSet<FunctionKey<'a>> = pairs.iter().flatten().copied().collect();
        let by_name = self.related().into_iter().filter(|pair| self.are_alike(pair, ops));
        pairs.extend(by_name.filter(|pair| pair.iter().all(|key| taken.insert(*key))));
        pairs.iter().map(|pair| change(Kind::Renamed, self.take(pair), ops)).collect()
    }

    /// Functions of the base alone, each with the only one-sided function of the other system whose name extends or is
    /// extended by its own.
    fn related(&self) -> Vec<[FunctionKey<'a>; 2]> {
        // By module and name, so that a name is followed by its extensions.
        type Side<'a> = BTreeMap<(&'a str, &'a str), FunctionKey<'a>>;
        let mut sides: [Side<'a>; 2] = Default::default();
        for (key, side, _) in self.alone() {
            if let (Some(functions), Some(name)) = (sides.get_mut(side), key.function) {
                functions.insert((key.module, name), key);
            }
        }
        let longer = |short: &FunctionKey<'a>, functions: &Side<'a>| -> Vec<FunctionKey<'a>> {
            let name = short.function.unwrap_or_default();
            let continues = |module: &str, it: &str| module == short.module && it.starts_with(name);
            let found = functions.range((short.module, name)..).map(|(at, key)| (*at, *key));
            let found = found.take_while(|((module, name), _)| continues(module, name));
            found.map(|(_, key)| key).filter(|key| are_related(short, key)).collect()
        };
        let [base, other] = &sides;
        let mut pairs = Vec::new();
        for before in base.values() {
            pairs.extend(longer(before, other).into_iter().map(|after| [*before, after]));
        }
        for after in other.values() {
            pairs.extend(longer(after, base).into_iter().map(|before| [before, *after]));
        }
        let mut times: BTreeMap<FunctionKey<'a>, u32> = BTreeMap::new();
        pairs.iter().flatten().for_each(|key| *times.entry(*key).or_default() += 1);
        pairs.retain(|pair| pair.iter().all(|key| times.get(key) == Some(&1)));
        pairs
    }

    fn are_alike(&self, [before, after]: &[FunctionKey<'a>; 2], ops: [u64; 2]) -> bool {
        let cost =
            |key, side| self.found.get(key).map_or(0.0, |it: &FoundCounts<'_>| it.cost(side, ops));
        (1.0 / ALIKE..=ALIKE).contains(&(cost(after, 1) / cost(before, 0)))
    }

    fn inlined(&mut self, ops: [u64; 2]) -> Vec<CountChange> {
        // By caller and side, the functions without other callers.
        let mut by_caller: BTreeMap<FunctionKey<'a>, [Vec<FunctionKey<'a>>; 2]> = BTreeMap::new();
        for (key, side, found) in self.alone() {
            let callers = found.callers.get(side).map(|it| it.iter().collect::<Vec<_>>());
            if let Some([caller]) = callers.as_deref()
                && let Some(keys) = by_caller.entry(**caller).or_default().get_mut(side)
            {
                keys.push(key);
            }
        }
        let mut groups = Vec::new();
        for (caller, keys) in by_caller {
            let Some(found) = self.found.get(&caller) else { continue };
            // The caller's additional cost on the side that lacks the functions.
            let (side, parts) = match keys {
                [parts, none] if none.is_empty() => (0, parts),
                [none, parts] if none.is_empty() => (1, parts),
                _ => continue,
            };
            let more = found.cost(1 - side, ops) - found.cost(side, ops);
            let lost = parts.iter().filter_map(|key| self.found.get(key));
            let lost: f64 = lost.map(|part| part.cost(side, ops)).sum();
            let [least, most] = INLINED;
            let is_named = caller.function.is_some() && found.counts.is_in == [true; 2];
            if is_named && lost > 0.0 && (least..=most).contains(&(more / lost)) {
                groups.push([vec![caller], parts].concat());
            }
        }
        // A function may be the caller of one group and a member of another.
        let mut taken: BTreeSet<FunctionKey<'a>> = BTreeSet::new();
        groups.retain(|group| group.iter().all(|key| taken.insert(*key)));
        groups.iter().map(|group| change(Kind::Inlined, self.take(group), ops)).collect()
    }
}

/// Minimum common bytes of related names.
const COMMON_LEAST: usize = 8;

/// Whether one of two names in a module extends the other by further words: `walk_tree` and `walk_tree_impl`.
fn are_related(one: &FunctionKey<'_>, other: &FunctionKey<'_>) -> bool {
    let (Some(a), Some(b)) = (one.function, other.function) else { return false };
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let rest = long.strip_prefix(short).and_then(|rest| rest.bytes().next());
    let is_word = rest.is_some_and(|next| next == b'_' || next.is_ascii_uppercase());
    one.module == other.module && short.len() >= COMMON_LEAST && is_word
}

impl FoundCounts<'_> {
    fn cost(&self, side: usize, ops: [u64; 2]) -> f64 {
        let own = self.counts.own.get(side).copied().unwrap_or(0);
        own as f64 / ops.get(side).copied().unwrap_or(1).max(1) as f64
    }
}

impl FunctionCounts {
    fn add(&mut self, side: usize, own: u64, calls: u64) {
        self.own[side] = self.own[side].saturating_add(own);
        self.calls[side] = self.calls[side].saturating_add(calls);
        self.is_in[side] = true;
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{CallNode, CallTree, StackFrame};

    use super::*;

    type Row<'a> = (&'a str, &'a str, u64, u64, &'a [&'a str]);

    fn counts(rows: &[Row<'_>]) -> Vec<FunctionCount> {
        let place = |name: &&str| rows.iter().position(|row| row.0 == *name).unwrap() as u32;
        let count = |&(name, module, own, calls, callers): &Row<'_>| FunctionCount {
            frame: StackFrame { function: name.to_owned(), module: module.to_owned() },
            own,
            calls,
            callers: callers.iter().map(place).collect(),
        };
        rows.iter().map(count).collect()
    }

    fn compared(base: (u64, &[Row<'_>]), other: (u64, &[Row<'_>]), is_same: bool) -> Instructions {
        let none = CallTree::default();
        compared_with(base, other, is_same, [&none, &none])
    }

    fn compared_with(
        base: (u64, &[Row<'_>]),
        other: (u64, &[Row<'_>]),
        is_same: bool,
        trees: [&CallTree; 2],
    ) -> Instructions {
        let [base, other] = [base, other].map(|(ops, rows)| (ops, counts(rows)));
        let sides = [(&base, trees[0]), (&other, trees[1])];
        let [base, other] = sides.map(|((ops, functions), calls)| SystemCounts {
            ops: *ops,
            server: "server",
            functions,
            calls,
            matched: &[],
        });
        let found = compare_counts(base, other, is_same).unwrap();
        assert_eq!(found.changes.iter().map(|it| it.by).sum::<i128>(), found.by());
        for (functions, total) in [base, other].iter().map(|it| it.functions).zip(found.totals) {
            assert_eq!(functions.iter().map(|it| it.own).sum::<u64>(), total);
        }
        for most in [0, 1, 2, 100] {
            let (shown, rest) = found.largest(most);
            let shown: i128 = shown.iter().map(|it| it.by).sum();
            assert_eq!(shown + rest.map_or(0, |rest| rest.by), found.by());
        }
        found
    }

    fn message(found: &Instructions) -> Vec<(Kind, Vec<&str>, f64)> {
        let name = |it: &FunctionCounts| it.function.as_deref().unwrap_or("?").to_owned();
        let leak = |text: String| -> &'static str { text.leak() };
        let names = |it: &CountChange| it.functions.iter().map(|it| leak(name(it))).collect();
        found.changes.iter().map(|it| (it.kind, names(it), found.per_op(it.by))).collect()
    }

    #[test]
    fn changes_add_up_whatever_the_numbers_of_operations() {
        let base: &[Row<'_>] =
            &[("main", "server", 10, 0, &[]), ("parse", "server", 300, 3, &["main"])];
        let other: &[Row<'_>] =
            &[("main", "server", 23, 0, &[]), ("parse", "server", 1400, 14, &["main"])];
        let found = compared((3, base), (7, other), false);
        assert_eq!((found.totals, found.denominator()), ([310, 1423], 21));
        assert_eq!(found.by(), 1423 * 3 - 310 * 7);
        let [parse, main] = &found.changes[..] else { panic!("{found:?}") };
        assert_eq!(parse.functions[0].function.as_deref(), Some("parse"));
        assert_eq!((found.per_op(parse.by), parse.functions[0].calls), (100.0, [3, 14]));
        assert_eq!(found.each_per_op(parse.own()), [100.0, 200.0]);
        assert_eq!(main.by, 23 * 3 - 10 * 7);
        let (shown, rest) = found.largest(1);
        assert_eq!((shown.len(), rest), (1, Some(Rest { functions: 1, own: [10, 23], by: -1 })));
        let calls = &CallTree::default();
        let nothing = SystemCounts { ops: 0, server: "", functions: &[], calls, matched: &[] };
        assert!(
            compare_counts(
                SystemCounts { ops: 0, ..nothing },
                SystemCounts { ops: 1, ..nothing },
                false
            )
            .is_none()
        );
    }

    #[test]
    fn a_function_that_moved_to_another_module_is_the_same() {
        let base: &[Row<'_>] =
            &[("lock", "libpthread.so.0", 5, 1, &[]), ("free", "libc.so.6", 3, 1, &[])];
        let other: &[Row<'_>] = &[
            ("lock", "libc.so.6", 7, 1, &[]),
            ("free", "libc.so.7", 3, 1, &[]),
            ("free", "libjemalloc.so.2", 4, 1, &[]),
        ];
        let found = compared((1, base), (1, other), false);
        let one = |name| (Kind::One, vec![name]);
        let expected = [one("free"), one("lock"), one("free")];
        assert_eq!(
            message(&found).into_iter().map(|(kind, names, _)| (kind, names)).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(found.changes[1].functions[0].own, [5, 7]);
    }

    #[test]
    fn functions_without_a_name_are_one_unless_the_program_is_the_same() {
        let base: &[Row<'_>] = &[("0x10", "server", 5, 1, &[]), ("0x20", "server", 3, 1, &[])];
        let other: &[Row<'_>] = &[("0x10", "server", 9, 1, &[]), ("0x28", "server", 1, 1, &[])];
        assert_eq!(message(&compared((1, base), (1, other), false)), [(Kind::One, vec!["?"], 2.0)]);
        let found = compared((1, base), (1, other), true);
        let expected = [("0x10", 4.0), ("0x20", -3.0), ("0x28", 1.0)];
        assert_eq!(message(&found), expected.map(|(name, by)| (Kind::One, vec![name], by)));
    }

    fn tree(rows: &[(Option<u32>, &str, u64)]) -> CallTree {
        let frame =
            |name: &str| StackFrame { function: name.to_owned(), module: "server".to_owned() };
        let node = |(at, (caller, _, own)): (u32, &(Option<u32>, &str, u64))| CallNode {
            caller: *caller,
            frame: at,
            own: *own,
        };
        CallTree {
            frames: rows.iter().map(|(_, name, _)| frame(name)).collect(),
            nodes: (0..).zip(rows).map(node).collect(),
        }
    }

    fn lines(found: &Instructions) -> Vec<(Option<&str>, Option<&str>, [u64; 2])> {
        let functions = found.changes.iter().flat_map(|change| &change.functions);
        functions.map(|one| (one.function.as_deref(), one.caller.as_deref(), one.own)).collect()
    }

    #[test]
    fn unnamed_functions_are_kept_apart_by_the_nearest_named_caller() {
        // Of 0x20, the tree lacks 10 instructions. It has no call of 0x30, and nothing calls 0x40.
        let base: &[Row<'_>] = &[
            ("read", "server", 10, 1, &[]),
            ("write", "server", 10, 1, &[]),
            ("0x10", "server", 5, 1, &["read"]),
            ("0x20", "server", 100, 4, &["0x10", "write"]),
            ("0x30", "server", 8, 1, &["0x20"]),
            ("0x40", "server", 3, 1, &[]),
        ];
        let calls = tree(&[
            (None, "read", 10),
            (Some(0), "0x10", 5),
            (Some(1), "0x20", 60),
            (None, "write", 10),
            (Some(3), "0x20", 30),
        ]);
        let other: &[Row<'_>] = &[
            ("read", "server", 10, 1, &[]),
            ("write", "server", 10, 1, &[]),
            ("0x14", "server", 40, 1, &["read"]),
        ];
        let others = tree(&[(None, "read", 10), (Some(0), "0x14", 40), (None, "write", 10)]);
        let found = compared_with((1, base), (1, other), false, [&calls, &others]);
        let expected = [
            (None, Some("write"), [30 + 8, 0]),
            (None, Some("read"), [5 + 70, 40]),
            (None, None, [3, 0]),
            (Some("read"), None, [10, 10]),
            (Some("write"), None, [10, 10]),
        ];
        assert_eq!(lines(&found), expected);
        let share = found.named_share().unwrap();
        assert!((share - 73.0 / 76.0).abs() < 1e-9, "{share}");
        // In the same build, each function is apart.
        let found = compared_with((1, base), (1, base), true, [&calls, &calls]);
        let lines = lines(&found);
        assert!(lines.contains(&(Some("0x20"), Some("read"), [100, 100])), "{lines:?}");
        assert_eq!(found.named_share(), None);
    }

    #[test]
    fn names_of_a_module_count_unless_only_one_of_both_sides_has_them() {
        let names = |base: &[Row<'_>], other: &[Row<'_>]| -> Vec<Option<String>> {
            let found = compared((1, base), (1, other), false);
            found.changes.into_iter().map(|it| it.functions[0].function.clone()).collect()
        };
        let name = Some("SSL_read".to_owned());
        let none: &[Row<'_>] = &[("main", "server", 1, 0, &[])];
        let all: &[Row<'_>] = &[("SSL_read", "libssl.so.3", 7, 1, &[])];
        let most: &[Row<'_>] =
            &[("SSL_read", "libssl.so.3", 7, 1, &[]), ("0x10", "libssl.so.3", 5, 1, &[])];
        let few: &[Row<'_>] =
            &[("SSL_read", "libssl.so.3", 7, 1, &[]), ("0x10", "libssl.so.3", 9, 1, &[])];
        // Only the base has the name `SSL_write`, so it may be that of an unnamed function.
        let both: &[Row<'_>] =
            &[("SSL_read", "libssl.so.3", 7, 1, &[]), ("SSL_write", "libssl.so.3", 5, 1, &[])];
        assert_eq!(names(both, few), [None, name.clone()]);
        for (base, other) in [(all, most), (most, all), (few, few), (none, few)] {
            let names = names(base, other);
            assert!(names.contains(&name) && names.contains(&None), "{names:?}");
        }
    }

    #[test]
    fn a_function_with_another_name_is_told_as_one() {
        let base: &[Row<'_>] =
            &[("main", "server", 1, 0, &[]), ("old_read", "server", 100, 1, &["main"])];
        let other: &[Row<'_>] =
            &[("main", "server", 1, 0, &[]), ("new_read", "server", 120, 1, &["main"])];
        let found = compared((1, base), (1, other), false);
        assert_eq!(message(&found)[0], (Kind::Renamed, vec!["old_read", "new_read"], 20.0));
        // Two candidates, or dissimilar costs, prove nothing.
        let more: &[Row<'_>] = &[
            ("main", "server", 1, 0, &[]),
            ("new_read", "server", 120, 1, &["main"]),
            ("new_check", "server", 80, 1, &["main"]),
        ];
        let dear: &[Row<'_>] =
            &[("main", "server", 1, 0, &[]), ("new_read", "server", 900, 1, &["main"])];
        for other in [more, dear] {
            let found = compared((1, base), (1, other), false);
            assert!(found.changes.iter().all(|it| it.kind == Kind::One), "{found:?}");
        }
    }

    #[test]
    fn a_name_that_got_another_word_is_told_as_one() {
        let callers = &["main", "scan"];
        let base: &[Row<'_>] = &[
            ("main", "server", 1, 0, &[]),
            ("scan", "server", 1, 1, &["main"]),
            ("walk_tree", "server", 100, 1, callers),
            ("sort_rows", "server", 100, 1, callers),
        ];
        let other: &[Row<'_>] = &[
            ("main", "server", 1, 0, &[]),
            ("walk_tree_impl", "server", 120, 1, &["main"]),
            ("sort_rows_fast", "server", 60, 1, &["main"]),
            ("sort_rows_slow", "server", 60, 1, &["main"]),
        ];
        let found = compared((1, base), (1, other), false);
        let renamed: Vec<_> =
            message(&found).into_iter().filter(|it| it.0 == Kind::Renamed).collect();
        assert_eq!(renamed, [(Kind::Renamed, vec!["walk_tree", "walk_tree_impl"], 20.0)]);
        // In the same build, each name is a function.
        let found = compared((1, base), (1, other), true);
        assert!(found.changes.iter().all(|it| it.kind == Kind::One), "{found:?}");
    }

    #[test]
    fn an_inlined_function_is_told_with_its_caller() {
        let base: &[Row<'_>] = &[
            ("main", "server", 1, 0, &[]),
            ("scan", "server", 500, 1, &["main"]),
            ("next", "server", 100, 9, &["scan"]),
        ];
        let other: &[Row<'_>] =
            &[("main", "server", 1, 0, &[]), ("scan", "server", 580, 1, &["main"])];
        for (base, other, by) in [(base, other, -20.0), (other, base, 20.0)] {
            let found = compared((1, base), (1, other), false);
            assert_eq!(message(&found)[0], (Kind::Inlined, vec!["scan", "next"], by));
        }
        // The caller did not change: the function is gone.
        let gone: &[Row<'_>] =
            &[("main", "server", 1, 0, &[]), ("scan", "server", 500, 1, &["main"])];
        let found = compared((1, base), (1, gone), false);
        assert_eq!(message(&found)[0], (Kind::One, vec!["next"], -100.0));
        assert_eq!(found.changes[0].functions[0].is_in, [true, false]);
    }
}
