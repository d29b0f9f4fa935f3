//! Instructions by function and by call.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use assay_model::{Frame, FunctionCount};

use crate::symbols::Symbols;

/// The index of a function in [`Costs`].
pub(super) type Function = u32;

/// The instructions of functions and of calls, exactly as they were counted.
///
/// A function that is on the stack already is another function, in so far as the tool tells them apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Costs {
    pub(super) functions: Vec<Own>,
    pub(super) calls: Vec<Call>,
    /// Where the file of each module is.
    pub(super) files: BTreeMap<String, PathBuf>,
}

/// A function, and what it executed itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) frame: Frame,
    /// 0, or how often it is on the stack, as far as this is told apart.
    pub(super) nested: u32,
    pub(super) instructions: u64,
}

/// All calls of a function by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) caller: Function,
    pub(super) callee: Function,
    pub(super) calls: u64,
    /// What was executed meanwhile.
    pub(super) inclusive: u64,
}

/// Calls of a function by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'a> {
    /// The function that calls.
    pub caller: &'a Frame,
    /// The function that is called.
    pub callee: &'a Frame,
    /// How often.
    pub calls: u64,
    /// Instructions of the called function and of all that it called. Of functions that call each other in a circle,
    /// these contain each other.
    pub inclusive: u64,
}

/// A name as it is used.
pub(super) struct Named {
    pub(super) plain: String,
    /// How often the function is on the stack already, counted from 1 where the tool tells that apart.
    pub(super) nested: u32,
    /// Where an object is; `None` of anything else.
    pub(super) path: Option<PathBuf>,
}

/// Where a report's functions and calls are in the costs.
#[derive(Default)]
pub(super) struct Ids {
    by_name: HashMap<(Option<u32>, u32), Function>,
    by_frame: HashMap<(Frame, u32), Function>,
    calls: HashMap<[Function; 2], usize>,
}

impl Ids {
    pub(super) fn functions(&self) -> usize {
        self.by_frame.len()
    }

    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn known(&self, object: Option<u32>, name: u32) -> Option<Function> {
        self.by_name.get(&(object, name)).copied()
    }

    /// Those of costs.
    fn of(costs: &Costs) -> Self {
        let functions = costs.functions.iter().zip(0..);
        let calls = costs.calls.iter().enumerate();
        Self {
            by_name: HashMap::new(),
            by_frame: functions.map(|(own, at)| ((own.frame.clone(), own.nested), at)).collect(),
            calls: calls.map(|(at, call)| ([call.caller, call.callee], at)).collect(),
        }
    }

    fn function(&mut self, costs: &mut Costs, frame: Frame, nested: u32) -> Function {
        let next = costs.functions.len() as Function;
        let found = *self.by_frame.entry((frame.clone(), nested)).or_insert(next);
        if found == next {
            costs.functions.push(Own { frame, nested, instructions: 0 });
        }
        found
    }
}

impl Costs {
    /// The function that a report names.
    pub(super) fn function(
        &mut self,
        ids: &mut Ids,
        id: (Option<u32>, u32),
        module: &str,
        Named { plain, nested, .. }: &Named,
    ) -> Function {
        let frame = Frame { function: plain.clone(), module: module.to_owned() };
        let found = ids.function(self, frame, *nested);
        ids.by_name.insert(id, found);
        found
    }

    /// Adds instructions of a function itself. `None` if they are too many.
    pub(super) fn spend(&mut self, function: Function, instructions: u64) -> Option<()> {
        let own = &mut self.functions.get_mut(function as usize)?.instructions;
        *own = own.checked_add(instructions)?;
        Some(())
    }

    /// Adds calls. `None` if they are too many.
    pub(super) fn call(
        &mut self,
        ids: &mut Ids,
        [caller, callee]: [Function; 2],
        calls: u64,
        inclusive: u64,
    ) -> Option<()> {
        let next = self.calls.len();
        let found = *ids.calls.entry([caller, callee]).or_insert(next);
        if found == next {
            self.calls.push(Call { caller, callee, calls: 0, inclusive: 0 });
        }
        let call = self.calls.get_mut(found)?;
        // The tool subtracts what it had counted when a call began, which may be more if it was told to begin anew
        // meanwhile.
        let inclusive = if inclusive > i64::MAX as u64 { 0 } else { inclusive };
        call.calls = call.calls.checked_add(calls)?;
        call.inclusive = call.inclusive.checked_add(inclusive)?;
        Some(())
    }

    /// Instructions of all functions; `None` if they are too many.
    pub(super) fn total(&self) -> Option<u64> {
        let mut owns = self.functions.iter().map(|own| own.instructions);
        owns.try_fold(0_u64, u64::checked_add)
    }

    /// Adds those of other batches or threads. Counts that are too large stay the largest.
    pub fn add<'a>(&mut self, others: impl IntoIterator<Item = &'a Self>) {
        let mut ids = Ids::of(self);
        for other in others {
            let files = other.files.iter().map(|(module, path)| (module.clone(), path.clone()));
            self.files.extend(files);
            let mut places = Vec::with_capacity(other.functions.len());
            for own in &other.functions {
                let place = ids.function(self, own.frame.clone(), own.nested);
                if let Some(known) = self.functions.get_mut(place as usize) {
                    known.instructions = known.instructions.saturating_add(own.instructions);
                }
                places.push(place);
            }
            for call in &other.calls {
                let place = |of: Function| places.get(of as usize).copied();
                if let (Some(caller), Some(callee)) = (place(call.caller), place(call.callee)) {
                    let _ = self.call(&mut ids, [caller, callee], call.calls, call.inclusive);
                }
            }
        }
    }

    /// The same with names for the functions that have none, as far as symbols of their modules' files tell them: those
    /// that profiles use. The files must still be there.
    #[must_use]
    pub fn named(mut self, symbols: &mut Symbols) -> Self {
        for Own { frame, .. } in self.functions.iter_mut().filter(|own| !own.frame.is_named()) {
            let digits = frame.function.strip_prefix("0x");
            let address = digits.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            let path = self.files.get(&frame.module);
            if let (Some(address), Some(path)) = (address, path)
                && let Some(file) = symbols.file(path).filter(|file| !file.is_stripped)
            {
                frame.function = file.function(address);
            }
        }
        // Several parts may be of one function.
        let mut all = Self::default();
        all.add([&self]);
        all
    }

    /// Every function once, in order, with what it executed itself. These add up to the total.
    #[must_use]
    pub fn functions(&self) -> Vec<FunctionCount> {
        let frames: BTreeSet<&Frame> = self.functions.iter().map(|own| &own.frame).collect();
        let places: BTreeMap<&Frame, u32> = frames.into_iter().zip(0..).collect();
        let count = |frame: &&Frame| FunctionCount {
            frame: (*frame).clone(),
            own: 0,
            calls: 0,
            callers: Vec::new(),
        };
        let mut counts: Vec<FunctionCount> = places.keys().map(count).collect();
        let place = |frame: &Frame| places.get(frame).copied();
        for own in &self.functions {
            if let Some(count) = place(&own.frame).and_then(|at| counts.get_mut(at as usize)) {
                count.own = count.own.saturating_add(own.instructions);
            }
        }
        for edge in self.edges() {
            let caller = place(edge.caller);
            let callee = place(edge.callee).and_then(|at| counts.get_mut(at as usize));
            if let (Some(caller), Some(callee)) = (caller, callee) {
                callee.calls = callee.calls.saturating_add(edge.calls);
                callee.callers.push(caller);
            }
        }
        counts
    }

    /// The calls between functions, by caller and callee. A call of a function by itself counts as such.
    #[must_use]
    pub fn edges(&self) -> Vec<Edge<'_>> {
        let mut edges: BTreeMap<[&Frame; 2], [u64; 2]> = BTreeMap::new();
        for call in &self.calls {
            let own = |of: Function| self.functions.get(of as usize);
            let (Some(caller), Some(callee)) = (own(call.caller), own(call.callee)) else {
                continue;
            };
            let [calls, inclusive] = edges.entry([&caller.frame, &callee.frame]).or_default();
            *calls = calls.saturating_add(call.calls);
            // What a function executes inside of itself was counted when it was called first.
            if caller.frame != callee.frame || caller.nested < callee.nested {
                *inclusive = inclusive.saturating_add(call.inclusive);
            }
        }
        let edges = edges.into_iter();
        let all = edges.map(|([caller, callee], [calls, inclusive])| Edge {
            caller,
            callee,
            calls,
            inclusive,
        });
        all.collect()
    }

    /// The modules of which more than a twentieth of the instructions are those of functions without a name.
    #[must_use]
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
