//! Counts of a system, and the modules that match its functions with another's.

use std::collections::BTreeMap;

use assay_model::FunctionCount;

use crate::profile::{Modules, plain};

#[derive(Debug, Clone, Copy)]
pub struct SystemCounts<'a> {
    pub ops: u64,
    pub server: &'a str,
    pub functions: &'a [FunctionCount],
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
}

/// Modules of the base and of another system, which match their functions. With `is_same_build`, unnamed functions are
/// identified by their start address. Otherwise, they are merged per module, as are all functions of a module named on
/// one side only.
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
    modules.map(|it| it.of_same_build(is_same_build))
}
