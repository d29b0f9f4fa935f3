//! A flame graph: every call as a box below its caller, as wide as its cost including callees.

use std::collections::BTreeMap;

use assay_model::{CallTree, StackFrame};
use assay_svg::{Anchor, Paper, SMALL, fitted, width};
use assay_verdict::{FunctionKey, Modules};

use crate::number::figure;
use crate::words::function_name;

const WIDTH: f64 = 1000.0;

const ROW: f64 = 15.0;

/// Narrower boxes are left out.
const NARROWEST: f64 = 3.0;

/// Deeper calls are left out.
const DEPTH_MAX: usize = 60;

/// Share of the caller's cost at which a call counts as the only one.
const ONLY: f64 = 0.985;

/// Share of the whole by which a coloured call changed.
const CHANGED: f64 = 0.005;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// µs.
    CpuTime,
    Instructions,
}

impl Cost {
    fn of_threads(self, label: &str) -> String {
        match self {
            Self::CpuTime => format!("CPU time of the threads of {label} by call"),
            Self::Instructions => format!("instructions of an operation of {label} by call"),
        }
    }

    fn number(self, amount: f64) -> String {
        match self {
            Self::CpuTime => format!("{amount:.2}"),
            Self::Instructions => figure(Some(amount)),
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::CpuTime => "µs",
            Self::Instructions => "instructions",
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) tree: &'a CallTree,
    /// Decides which functions are the same on both sides.
    pub(crate) modules: &'a Modules<'a>,
    /// Cost of an operation, which the tree divides into its parts.
    pub(crate) per_op: f64,
}

#[derive(Default)]
struct Call<'a> {
    /// Function and module in the system, or in the base if only the base has it.
    name: &'a str,
    module: &'a str,
    /// Including callees, per operation.
    here: f64,
    base: f64,
    callees: BTreeMap<FunctionKey<'a>, Call<'a>>,
}

/// With a base, colours show changes. `None` without calls.
pub(crate) fn graph(
    label: &str,
    cost: Cost,
    here: Side<'_>,
    base: Option<Side<'_>>,
) -> Option<String> {
    let mut root = Call::default();
    add(&mut root, here, |call| &mut call.here);
    if let Some(base) = base {
        add(&mut root, base, |call| &mut call.base);
    }
    if root.here <= 0.0 {
        return None;
    }
    let (begin, whole) = (first_choice(&root), root.here);
    let mut drawing = Drawing {
        paper: Paper::new(WIDTH),
        cost,
        scale: WIDTH / begin.here,
        whole,
        has_base: base.is_some(),
        depth: 0,
    };
    let mut x = 0.0;
    for call in by_amount(begin) {
        drawing.call(call, x, 0);
        x += call.here * drawing.scale;
    }
    let height = ROW * (drawing.depth + 1) as f64;
    Some(drawing.paper.inline(height, &cost.of_threads(label)))
}

fn add<'a>(
    root: &mut Call<'a>,
    Side { tree, modules, per_op }: Side<'a>,
    side: impl for<'c> Fn(&'c mut Call<'a>) -> &'c mut f64,
) {
    let inclusive = tree.inclusive();
    let each = per_op / tree.total().max(1) as f64;
    *side(root) += per_op;
    let function = |at: usize| {
        let frame: &StackFrame = tree.frames.get(tree.nodes.get(at)?.frame as usize)?;
        let key = modules.key(frame);
        Some((key, key.function.unwrap_or(&frame.module), frame.module.as_str()))
    };
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    let mut begins = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        match node.caller.and_then(|caller| callees.get_mut(caller as usize)) {
            Some(of_caller) => of_caller.push(at),
            None => begins.push(at),
        }
    }
    let mut path: Vec<(FunctionKey<'a>, &str, &str)> = Vec::new();
    let mut pending: Vec<(usize, usize)> = begins.into_iter().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = pending.pop() {
        let Some(function) = function(at) else { continue };
        path.truncate(depth);
        path.push(function);
        let mut call = &mut *root;
        for (key, name, module) in &path {
            let new = || Call { name, module, ..Call::default() };
            call = call.callees.entry(*key).or_insert_with(new);
        }
        *side(call) += inclusive.get(at).copied().unwrap_or(0) as f64 * each;
        if depth < DEPTH_MAX {
            let of_call = callees.get(at).into_iter().flatten();
            pending.extend(of_call.map(|callee| (*callee, depth + 1)));
        }
    }
}

/// Skips calls without alternatives: the first drawn caller has several callees.
fn first_choice<'c, 'a>(root: &'c Call<'a>) -> &'c Call<'a> {
    let mut call = root;
    while let Some(most) = call.callees.values().max_by(|a, b| a.here.total_cmp(&b.here)) {
        if most.here < ONLY * call.here || most.callees.is_empty() {
            break;
        }
        call = most;
    }
    call
}

fn by_amount<'c, 'a>(call: &'c Call<'a>) -> Vec<&'c Call<'a>> {
    let mut callees: Vec<_> = call.callees.values().collect();
    callees.sort_by(|one, other| other.here.total_cmp(&one.here));
    callees
}

struct Drawing {
    paper: Paper,
    cost: Cost,
    /// Width per unit of cost.
    scale: f64,
    whole: f64,
    has_base: bool,
    depth: usize,
}

impl Drawing {
    fn call(&mut self, call: &Call, x: f64, depth: usize) {
        let (name, wide) = (function_name(call.name, call.module), call.here * self.scale);
        if wide < NARROWEST {
            return;
        }
        self.depth = self.depth.max(depth);
        let y = ROW * depth as f64;
        let change = call.here - call.base;
        let class = match () {
            () if !self.has_base => "cell",
            () if change > CHANGED * self.whole => "cell worse",
            () if change < -CHANGED * self.whole => "cell better",
            () => "cell",
        };
        let [here, before] = [call.here, call.base].map(|amount| self.cost.number(amount));
        let before = if self.has_base { format!("{before} → ") } else { String::new() };
        let told = format!("{name}: {before}{here} {} per operation", self.cost.unit());
        self.paper.with_title(&told, |paper| {
            paper.rect(class, (x, y), ((wide - 0.8).max(0.4), ROW - 1.0));
            if wide > width("mm…", SMALL) {
                let text = fitted(&name, SMALL, wide - 4.0);
                paper.text((x + 2.0, y + SMALL + 1.0), Anchor::Start, "small", &text);
            }
        });
        let mut x = x;
        for callee in by_amount(call) {
            self.call(callee, x, depth + 1);
            x += callee.here * self.scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{CallNode, Profile, ProfileLimits};

    use super::*;

    fn profile(server: &str, stacks: &[(&[&str], u64)]) -> Profile {
        let mut tree = CallTree::default();
        for (stack, own) in stacks {
            let mut caller = None;
            for function in *stack {
                tree.frames.push(StackFrame {
                    function: (*function).to_owned(),
                    module: server.to_owned(),
                });
                let node = CallNode { caller, frame: tree.frames.len() as u32 - 1, own: 0 };
                tree.nodes.push(node);
                caller = Some(tree.nodes.len() as u32 - 1);
            }
            tree.nodes.last_mut().unwrap().own = *own;
        }
        Profile {
            frequency: 1000,
            ops: 1000.0,
            server: server.to_owned(),
            serving: tree,
            dispersion: 1.0,
            background: CallTree::default(),
            waits: None,
            processor: Vec::new(),
            limits: ProfileLimits::default(),
        }
    }

    fn drawn((base, before): (&Profile, f64), (other, after): (&Profile, f64)) -> Option<String> {
        let [of_base, of_other] = Modules::from_profiles(base, other);
        let here = Side { tree: &other.serving, modules: &of_other, per_op: after };
        let there = Side { tree: &base.serving, modules: &of_base, per_op: before };
        graph("11.8", Cost::CpuTime, here, Some(there))
    }

    #[test]
    fn boxes_are_as_wide_as_calls_are_long_and_coloured_by_what_changed() {
        let base =
            profile("mysqld", &[(&["main", "run", "parse"], 50), (&["main", "run", "read"], 50)]);
        let other =
            profile("mysqld", &[(&["main", "run", "parse"], 50), (&["main", "run", "read"], 150)]);
        let told = drawn((&base, 10.0), (&other, 20.0)).unwrap();
        assert!(!told.contains("main"), "{told}");
        assert!(told.contains("read: 5.00 → 15.00 µs per operation"), "{told}");
        assert!(told.contains(r#"class="cell worse" x="0.0" y="0.0" width="749.2""#), "{told}");
        assert!(told.contains("parse: 5.00 → 5.00 µs per operation"), "{told}");
        assert!(told.contains(r#"class="cell" x="750.0""#), "{told}");
        let nothing = profile("mysqld", &[]);
        assert_eq!(drawn((&nothing, 0.0), (&nothing, 0.0)), None);
    }

    /// The table of functions matches them in the same way.
    #[test]
    fn functions_without_a_name_are_the_same_in_a_program_of_another_name() {
        let base = profile("mysqld", &[(&["run", "0x10"], 50), (&["run", "read"], 50)]);
        let mut other = profile("mariadbd", &[(&["run", "0x30"], 50), (&["run", "read"], 50)]);
        let told = drawn((&base, 10.0), (&other, 10.0)).unwrap();
        assert!(told.contains("mariadbd: 5.00 → 5.00 µs per operation"), "{told}");
        assert!(!told.contains("worse") && !told.contains("better"), "{told}");
        // Functions of a program that has names in only one version are shown together.
        other.limits.stripped.push("mariadbd".to_owned());
        let told = drawn((&base, 10.0), (&other, 10.0)).unwrap();
        assert!(told.contains("mariadbd: 10.00 → 10.00 µs per operation"), "{told}");
    }
}
