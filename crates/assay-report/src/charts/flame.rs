//! A flame graph: every call as a box, as wide as the time that it takes with all that it calls, below its caller.

use std::collections::BTreeMap;

use assay_model::CallTree;

use super::paper::{Anchor, Paper, SMALL, fitted, width};

/// Width of the drawing.
const WIDTH: f64 = 1000.0;

/// Height of a box.
const ROW: f64 = 15.0;

/// Boxes that are narrower are left out.
const NARROWEST: f64 = 3.0;

/// Calls below this many others are left out.
const DEPTH_MAX: usize = 60;

/// A call without a choice takes so much of its caller's time.
const ONLY: f64 = 0.985;

/// A change by this part of the whole time is shown in colour.
const CHANGED: f64 = 0.005;

/// A call in both profiles.
#[derive(Default)]
struct Call<'a> {
    /// With what it calls, µs per operation.
    time: f64,
    base: f64,
    callees: BTreeMap<&'a str, Call<'a>>,
}

/// The calls of a system. The tree tells the parts of its CPU time per operation, µs. With a base, colours show what
/// changed. `None` if nothing was sampled.
pub(crate) fn graph(
    label: &str,
    (tree, cpu_us): (&CallTree, f64),
    base: Option<(&CallTree, f64)>,
) -> Option<String> {
    let mut root = Call::default();
    add(&mut root, tree, cpu_us, |call| &mut call.time);
    if let Some((tree, cpu_us)) = base {
        add(&mut root, tree, cpu_us, |call| &mut call.base);
    }
    if root.time <= 0.0 {
        return None;
    }
    let (begin, whole) = (first_choice(&root), root.time);
    let mut drawing = Drawing {
        paper: Paper::new(WIDTH),
        scale: WIDTH / begin.time,
        whole,
        has_base: base.is_some(),
        depth: 0,
    };
    let mut x = 0.0;
    for (name, call) in by_time(begin) {
        drawing.call(name, call, x, 0);
        x += call.time * drawing.scale;
    }
    let height = ROW * (drawing.depth + 1) as f64;
    let label = format!("CPU time of the threads of {label} by call");
    Some(drawing.paper.inline(height, &label))
}

/// Adds the times of a tree to calls of the same names.
fn add<'a>(
    root: &mut Call<'a>,
    tree: &'a CallTree,
    cpu_us: f64,
    side: impl for<'c> Fn(&'c mut Call<'a>) -> &'c mut f64,
) {
    let inclusive = tree.inclusive();
    let each = cpu_us / tree.total().max(1) as f64;
    *side(root) += cpu_us;
    let name = |at: usize| {
        let frame = tree.frames.get(tree.nodes.get(at)?.frame as usize)?;
        // Functions without a name differ from version to version.
        Some(if frame.is_named() { frame.function.as_str() } else { frame.module.as_str() })
    };
    let mut callees: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    let mut begins = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        match node.caller.and_then(|caller| callees.get_mut(caller as usize)) {
            Some(of_caller) => of_caller.push(at),
            None => begins.push(at),
        }
    }
    let mut path: Vec<&str> = Vec::new();
    let mut pending: Vec<(usize, usize)> = begins.into_iter().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = pending.pop() {
        let Some(name) = name(at) else { continue };
        path.truncate(depth);
        path.push(name);
        let mut call = &mut *root;
        for step in &path {
            call = call.callees.entry(step).or_default();
        }
        *side(call) += inclusive.get(at).copied().unwrap_or(0) as f64 * each;
        if depth < DEPTH_MAX {
            let of_call = callees.get(at).into_iter().flatten();
            pending.extend(of_call.map(|callee| (*callee, depth + 1)));
        }
    }
}

/// The call from which on calls differ: what always calls the same is not drawn.
fn first_choice<'c, 'a>(root: &'c Call<'a>) -> &'c Call<'a> {
    let mut call = root;
    while let Some(most) = call.callees.values().max_by(|a, b| a.time.total_cmp(&b.time)) {
        if most.time < ONLY * call.time || most.callees.is_empty() {
            break;
        }
        call = most;
    }
    call
}

fn by_time<'c, 'a>(call: &'c Call<'a>) -> Vec<(&'a str, &'c Call<'a>)> {
    let mut callees: Vec<_> = call.callees.iter().map(|(name, call)| (*name, call)).collect();
    callees.sort_by(|(_, one), (_, other)| other.time.total_cmp(&one.time));
    callees
}

struct Drawing {
    paper: Paper,
    /// Width of a microsecond.
    scale: f64,
    whole: f64,
    has_base: bool,
    /// The deepest row.
    depth: usize,
}

impl Drawing {
    fn call(&mut self, name: &str, call: &Call, x: f64, depth: usize) {
        let wide = call.time * self.scale;
        if wide < NARROWEST {
            return;
        }
        self.depth = self.depth.max(depth);
        let y = ROW * depth as f64;
        let change = call.time - call.base;
        let class = match () {
            () if !self.has_base => "cell",
            () if change > CHANGED * self.whole => "cell worse",
            () if change < -CHANGED * self.whole => "cell better",
            () => "cell",
        };
        let told = match self.has_base {
            true => format!("{name}: {:.2} → {:.2} µs per operation", call.base, call.time),
            false => format!("{name}: {:.2} µs per operation", call.time),
        };
        self.paper.told(&told, |paper| {
            paper.rect(class, (x, y), ((wide - 0.8).max(0.4), ROW - 1.0));
            if wide > width("mm…", SMALL) {
                let text = fitted(name, SMALL, wide - 4.0);
                paper.text((x + 2.0, y + SMALL + 1.0), Anchor::Start, "small", &text);
            }
        });
        let mut x = x;
        for (name, callee) in by_time(call) {
            self.call(name, callee, x, depth + 1);
            x += callee.time * self.scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{CallNode, Frame};

    use super::*;

    fn tree(stacks: &[(&[&str], u64)]) -> CallTree {
        let mut tree = CallTree::default();
        for (stack, own) in stacks {
            let mut caller = None;
            for function in *stack {
                tree.frames
                    .push(Frame { function: (*function).to_owned(), module: "server".to_owned() });
                let node = CallNode { caller, frame: tree.frames.len() as u32 - 1, own: 0 };
                tree.nodes.push(node);
                caller = Some(tree.nodes.len() as u32 - 1);
            }
            tree.nodes.last_mut().unwrap().own = *own;
        }
        tree
    }

    #[test]
    fn boxes_are_as_wide_as_calls_are_long_and_coloured_by_what_changed() {
        let base = tree(&[(&["main", "run", "parse"], 50), (&["main", "run", "read"], 50)]);
        let other = tree(&[(&["main", "run", "parse"], 50), (&["main", "run", "read"], 150)]);
        let drawn = graph("11.8", (&other, 20.0), Some((&base, 10.0))).unwrap();
        // What always calls the same is left out.
        assert!(!drawn.contains("main"), "{drawn}");
        assert!(drawn.contains("read: 5.00 → 15.00 µs per operation"), "{drawn}");
        assert!(drawn.contains(r#"class="cell worse" x="0.0" y="0.0" width="749.2""#), "{drawn}");
        assert!(drawn.contains("parse: 5.00 → 5.00 µs per operation"), "{drawn}");
        assert!(drawn.contains(r#"class="cell" x="750.0""#), "{drawn}");
        assert_eq!(graph("11.8", (&CallTree::default(), 0.0), None), None);
    }
}
