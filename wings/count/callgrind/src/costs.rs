//! Instructions by function and by call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::{FunctionCount, MatchedNames, StackFrame};
use assay_symbols::{DonorNames, NameDonor, Symbols};

pub(crate) type FunctionId = u32;

/// Exact instructions of functions and of calls. Each recursion level that the tool distinguishes is a separate
/// function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Costs {
    pub(crate) functions: Vec<OwnCost>,
    pub(crate) calls: Vec<CallCost>,
    pub(crate) files: BTreeMap<String, PathBuf>,
    /// Functions with names from matching code of other builds, and these builds.
    pub(crate) matched: BTreeSet<StackFrame>,
    pub(crate) builds: BTreeSet<String>,
}

/// A function and the instructions that it executed itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCost {
    pub(crate) frame: StackFrame,
    /// Recursion level, such as 2 for `walk'2`; 0 if the tool names none.
    pub(crate) nested: u32,
    pub(crate) instructions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallCost {
    pub(crate) caller: FunctionId,
    pub(crate) callee: FunctionId,
    pub(crate) calls: u64,
    /// Instructions of the callee and of everything that it called.
    pub(crate) inclusive: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'a> {
    pub caller: &'a StackFrame,
    pub callee: &'a StackFrame,
    pub calls: u64,
    /// Instructions of the callee and of everything that it called. Within a cycle of calls, these overlap.
    pub inclusive: u64,
}

pub(crate) struct ReportName {
    pub(crate) plain: String,
    /// Recursion level of a function, as in [`OwnCost`].
    pub(crate) nested: u32,
    /// Path of an object; `None` for other names.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Default)]
pub(crate) struct NameIds {
    by_name: HashMap<(Option<u32>, u32), FunctionId>,
    by_frame: HashMap<(StackFrame, u32), FunctionId>,
    calls: HashMap<[FunctionId; 2], usize>,
}

impl NameIds {
    pub(crate) fn functions(&self) -> usize {
        self.by_frame.len()
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn known(&self, object: Option<u32>, name: u32) -> Option<FunctionId> {
        self.by_name.get(&(object, name)).copied()
    }

    fn new(costs: &Costs) -> Self {
        let functions = costs.functions.iter().zip(0..);
        let calls = costs.calls.iter().enumerate();
        Self {
            by_name: HashMap::new(),
            by_frame: functions.map(|(own, at)| ((own.frame.clone(), own.nested), at)).collect(),
            calls: calls.map(|(at, call)| ([call.caller, call.callee], at)).collect(),
        }
    }

    fn function(&mut self, costs: &mut Costs, frame: StackFrame, nested: u32) -> FunctionId {
        let next = costs.functions.len() as FunctionId;
        let function = *self.by_frame.entry((frame.clone(), nested)).or_insert(next);
        if function == next {
            costs.functions.push(OwnCost { frame, nested, instructions: 0 });
        }
        function
    }
}

impl Costs {
    pub(crate) fn function(
        &mut self,
        ids: &mut NameIds,
        id: (Option<u32>, u32),
        module: &str,
        ReportName { plain, nested, .. }: &ReportName,
    ) -> FunctionId {
        let frame = StackFrame { function: plain.clone(), module: module.to_owned() };
        let function = ids.function(self, frame, *nested);
        ids.by_name.insert(id, function);
        function
    }

    /// Adds instructions that a function executed itself. `None` if the sum overflows.
    pub(crate) fn spend(&mut self, function: FunctionId, instructions: u64) -> Option<()> {
        let own = &mut self.functions[function as usize].instructions;
        *own = own.checked_add(instructions)?;
        Some(())
    }

    /// `None` if a sum overflows.
    pub(crate) fn call(
        &mut self,
        ids: &mut NameIds,
        [caller, callee]: [FunctionId; 2],
        calls: u64,
        inclusive: u64,
    ) -> Option<()> {
        let next = self.calls.len();
        let at = *ids.calls.entry([caller, callee]).or_insert(next);
        if at == next {
            self.calls.push(CallCost { caller, callee, calls: 0, inclusive: 0 });
        }
        let call = &mut self.calls[at];
        call.calls = call.calls.checked_add(calls)?;
        call.inclusive = call.inclusive.checked_add(inclusive)?;
        Some(())
    }

    /// `None` if the sum overflows.
    pub(crate) fn total(&self) -> Option<u64> {
        let mut owns = self.functions.iter().map(|own| own.instructions);
        owns.try_fold(0_u64, u64::checked_add)
    }

    /// Adds the costs of other batches or threads. Sums saturate.
    pub fn add<'a>(&mut self, others: impl IntoIterator<Item = &'a Self>) {
        let mut ids = NameIds::new(self);
        for other in others {
            let files = other.files.iter().map(|(module, path)| (module.clone(), path.clone()));
            self.files.extend(files);
            self.matched.extend(other.matched.iter().cloned());
            self.builds.extend(other.builds.iter().cloned());
            let mut merged = Vec::with_capacity(other.functions.len());
            for own in &other.functions {
                let function = ids.function(self, own.frame.clone(), own.nested);
                let sum = &mut self.functions[function as usize].instructions;
                *sum = sum.saturating_add(own.instructions);
                merged.push(function);
            }
            for call in &other.calls {
                let functions =
                    [call.caller, call.callee].map(|function| merged[function as usize]);
                let _ = self.call(&mut ids, functions, call.calls, call.inclusive);
            }
        }
    }

    /// Names unnamed functions by the symbols that profiles use, else those of stripped files by matching code of a
    /// donor, else by their start address. `donors` returns other builds of a file, the most similar first. The files
    /// of the modules must still exist.
    pub fn named(
        mut self,
        symbols: &mut Symbols,
        donors: impl Fn(&Path) -> Vec<NameDonor>,
    ) -> Self {
        let mut from_donors: BTreeMap<String, Option<Arc<DonorNames>>> = BTreeMap::new();
        for OwnCost { frame, .. } in self.functions.iter_mut().filter(|own| !own.frame.is_named()) {
            let (address, path) = (address_of(frame), self.files.get(&frame.module));
            let (Some(address), Some(path)) = (address, path) else { continue };
            let Some(file) = symbols.file(path) else { continue };
            frame.function = file.function(address);
            let Some(start) = address_of(frame).filter(|_| file.is_stripped) else { continue };
            let names = from_donors.entry(frame.module.clone());
            let names = names.or_insert_with(|| symbols.matched(path, &donors(path)));
            let Some(names) = names else { continue };
            if let Some(name) = names.find(start) {
                frame.function = name.to_owned();
                self.matched.insert(frame.clone());
                self.builds.insert(names.build.clone());
            }
        }
        // Several offsets may belong to one function.
        let mut all = Self::default();
        all.add([&self]);
        all
    }

    /// Every function once, in order, with the instructions that it executed itself. They add up to the total.
    pub fn functions(&self) -> Vec<FunctionCount> {
        let frames: BTreeSet<&StackFrame> = self.functions.iter().map(|own| &own.frame).collect();
        let places: BTreeMap<&StackFrame, u32> = frames.into_iter().zip(0..).collect();
        let count = |frame: &&StackFrame| FunctionCount {
            frame: (*frame).clone(),
            own: 0,
            calls: 0,
            callers: Vec::new(),
        };
        let mut counts: Vec<FunctionCount> = places.keys().map(count).collect();
        for own in &self.functions {
            let count = &mut counts[places[&own.frame] as usize];
            count.own = count.own.saturating_add(own.instructions);
        }
        for edge in self.edges() {
            let callee = &mut counts[places[edge.callee] as usize];
            callee.calls = callee.calls.saturating_add(edge.calls);
            callee.callers.push(places[edge.caller]);
        }
        counts
    }

    /// The functions, among all in their order, whose names are those of matching code of other builds.
    pub fn matched(&self) -> MatchedNames {
        let frames: BTreeSet<&StackFrame> = self.functions.iter().map(|own| &own.frame).collect();
        let matched =
            frames.into_iter().zip(0..).filter(|(frame, _)| self.matched.contains(*frame));
        MatchedNames {
            builds: self.builds.iter().cloned().collect(),
            functions: matched.map(|(_, place)| place).collect(),
        }
    }

    /// The calls between functions, by caller and callee, including those of a function by itself.
    pub fn edges(&self) -> Vec<Edge<'_>> {
        let mut edges: BTreeMap<[&StackFrame; 2], [u64; 2]> = BTreeMap::new();
        for call in &self.calls {
            let [caller, callee] =
                [call.caller, call.callee].map(|function| &self.functions[function as usize]);
            let [calls, inclusive] = edges.entry([&caller.frame, &callee.frame]).or_default();
            *calls = calls.saturating_add(call.calls);
            // The outermost call of a function already includes its recursive calls.
            if caller.frame != callee.frame || caller.nested < callee.nested {
                *inclusive = inclusive.saturating_add(call.inclusive);
            }
        }
        edges
            .into_iter()
            .map(|([caller, callee], [calls, inclusive])| Edge { caller, callee, calls, inclusive })
            .collect()
    }

    /// The modules in which unnamed functions have more than a twentieth of the instructions.
    pub fn stripped(&self) -> Vec<String> {
        let mut modules: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        for own in &self.functions {
            let [named, unnamed] = modules.entry(&own.frame.module).or_default();
            let count = if own.frame.is_named() { named } else { unnamed };
            *count = count.saturating_add(own.instructions);
        }
        let is_stripped = |(_, [named, unnamed]): &(&str, [u64; 2])| *unnamed > named / 19;
        modules.into_iter().filter(is_stripped).map(|(module, _)| module.to_owned()).collect()
    }
}

/// The address that stands for the name of a function without one.
fn address_of(frame: &StackFrame) -> Option<u64> {
    let digits = frame.function.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}
