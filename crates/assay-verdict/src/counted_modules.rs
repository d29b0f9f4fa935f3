//! What was counted of a system, and which of its functions are those of another one.

use std::collections::BTreeMap;

use assay_model::FunctionCount;

use crate::profile::{Modules, plain};

/// What was counted of a system.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// Operations meanwhile.
    pub ops: u64,
    /// The module of the server's own code.
    pub server: &'a str,
    /// The functions.
    pub functions: &'a [FunctionCount],
}

impl<'a> Counted<'a> {
    /// Its modules as other versions know them, and whether most of their instructions have the name of a function.
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

/// The modules of the base and of another system, which tell which of their functions are the same. `is_same_build`:
/// whether both run the same program, whose functions without a name are then known by the beginning of their code.
/// Otherwise, they are told together, module by module; so are all functions of a module that only one side names.
pub(crate) fn counted_modules<'a>(
    base: Counted<'a>,
    other: Counted<'a>,
    is_same_build: bool,
) -> [Modules<'a>; 2] {
    let [of_base, of_other] = [&base, &other].map(Counted::plain_modules);
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
