//! Counts of a system, the modules that match its functions with another's, and the callers of unnamed functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_model::{CallTree, FunctionCount, StackFrame};

use crate::profile::{Modules, plain};

#[derive(Debug, Clone, Copy)]
pub struct SystemCounts<'a> {
    pub ops: u64,
    pub server: &'a str,
    pub functions: &'a [FunctionCount],
    pub calls: &'a CallTree,
    /// Sorted indices of the functions whose names are those of matching code of other builds.
    pub matched: &'a [u32],
}

impl<'a> SystemCounts<'a> {
    /// Its modules by version-independent names, and whether most of their instructions have a function name.
    fn plain_modules(&self) -> BTreeMap<&'a str, bool> {
        let mut all: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        for FunctionCount { frame, own, .. } in self.functions {
            let [named, unnamed] = all.entry(plain(&frame.module, self.server)).or_default();
            let sum = if frame.is_named() { named } else { unnamed };
            *sum = sum.saturating_add(*own);
        }
        let module = |(module, [named, unnamed]): (&'a str, [u64; 2])| (module, named >= unnamed);
        all.into_iter().map(module).collect()
    }

    /// Its named functions, with the version-independent names of their modules.
    fn names(&self) -> BTreeSet<(&'a str, &'a str)> {
        let frames = self.functions.iter().map(|function| &function.frame);
        let named = frames.filter(|frame| frame.is_named());
        named.map(|frame| (plain(&frame.module, self.server), frame.function.as_str())).collect()
    }
}

/// Modules of the base and of another system, which match their functions. With `is_same_build`, unnamed functions are
/// identified by their start address. Otherwise, they are merged per module. So are the functions of a module named on
/// one side only, except those with names of both sides.
pub(crate) fn counted_modules<'a>(
    base: SystemCounts<'a>,
    other: SystemCounts<'a>,
    is_same_build: bool,
) -> [Modules<'a>; 2] {
    let [of_base, of_other] = [&base, &other].map(SystemCounts::plain_modules);
    let nameless = |side: &BTreeMap<&'a str, bool>, others: &BTreeMap<&'a str, bool>| {
        let both = side.iter().filter(|(module, _)| others.contains_key(*module));
        both.filter(|(_, is_named)| !**is_named).map(|(module, _)| *module).collect()
    };
    let modules = Modules::between([
        (base.server, nameless(&of_base, &of_other)),
        (other.server, nameless(&of_other, &of_base)),
    ]);
    let common = &base.names() & &other.names();
    modules.map(|modules| modules.of_same_build(is_same_build).with_common(common.clone()))
}

/// Instructions of a function itself, in calls below one named function. `None` if there is none above it.
pub(crate) type CalledPart<'a> = (Option<&'a str>, u64);

/// Most unnamed callers between a function and a named one, where the call tree lacks the function.
const DEPTH_MAX: usize = 50;

/// Divides the instructions of each unnamed function among the nearest named functions that called it, directly or
/// through other unnamed ones; the largest part first. Parts add up to the function's count. A named function is one
/// part without a caller.
///
/// Call trees leave out small calls. The instructions of these belong to the largest part, or to a nearest named caller
/// if the tree has no call of the function.
pub(crate) fn called_parts<'a>(
    side: SystemCounts<'a>,
    modules: &Modules<'a>,
) -> Vec<Vec<CalledPart<'a>>> {
    let name = |frame: &'a StackFrame| modules.key(frame).function.filter(|_| frame.is_named());
    let in_tree = called_in_tree(side.calls, name);
    let nearest = nearest_callers(side.functions, name);
    let parts = side.functions.iter().zip(nearest).map(|(function, nearest)| {
        if name(&function.frame).is_some() {
            return vec![(None, function.own)];
        }
        let mut left = function.own;
        let mut parts: Vec<CalledPart<'a>> = Vec::new();
        let mut calls: Vec<(&'a str, u64)> = in_tree
            .get(&function.frame)
            .into_iter()
            .flatten()
            .map(|(at, own)| (*at, *own))
            .collect();
        // Ties are in the order of names.
        calls.sort_by_key(|(_, own)| std::cmp::Reverse(*own));
        for (caller, own) in calls {
            let own = own.min(left);
            left -= own;
            parts.push((Some(caller), own));
        }
        match parts.first_mut() {
            Some((_, own)) => *own += left,
            None => parts.push((nearest, left)),
        }
        parts
    });
    parts.collect()
}

/// For each unnamed function of a tree, its instructions by the nearest named function above it.
fn called_in_tree<'a>(
    tree: &'a CallTree,
    name: impl Fn(&'a StackFrame) -> Option<&'a str>,
) -> HashMap<&'a StackFrame, BTreeMap<&'a str, u64>> {
    let mut found: HashMap<&StackFrame, BTreeMap<&str, u64>> = HashMap::new();
    // Callers precede callees.
    let mut nearest: Vec<Option<&str>> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let above = node.caller.and_then(|caller| nearest.get(caller as usize).copied().flatten());
        let frame = tree.frames.get(node.frame as usize);
        let named = frame.and_then(&name);
        if let (None, Some(frame), Some(above)) = (named, frame, above) {
            let sum = found.entry(frame).or_default().entry(above).or_default();
            *sum = sum.saturating_add(node.own);
        }
        nearest.push(named.or(above));
    }
    found
}

/// For each function, the first by name of the nearest named callers; a named function is its own.
fn nearest_callers<'a>(
    functions: &'a [FunctionCount],
    name: impl Fn(&'a StackFrame) -> Option<&'a str>,
) -> Vec<Option<&'a str>> {
    let mut nearest: Vec<Option<&str>> =
        functions.iter().map(|function| name(&function.frame)).collect();
    for _ in 0..DEPTH_MAX {
        let open = functions.iter().enumerate().filter(|(at, _)| nearest[*at].is_none());
        let found = open.filter_map(|(at, function)| {
            let callers = function.callers.iter();
            let names = callers.filter_map(|&at| nearest.get(at as usize).copied().flatten());
            Some((at, names.min()?))
        });
        let found: Vec<(usize, &str)> = found.collect();
        if found.is_empty() {
            break;
        }
        found.into_iter().for_each(|(at, caller)| nearest[at] = Some(caller));
    }
    nearest
}
