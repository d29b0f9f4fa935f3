//! Profiles and counts as folded stacks, the input of flame graph tools: a line per stack, with its functions from the
//! outermost on and its cost.

use assay_model::{
    CallNode, CallTree, CellId, CellProfile, KERNEL, StackFrame, StudyRecord, printable,
};

use crate::charts::{setup_word, stem};
use assay_model::labels;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFile {
    /// Without extension: letters, digits, `-`, `_`, `.` and `=`, unique in a study.
    pub name: String,
    /// Samples of CPU time, microseconds of waiting, or instructions.
    pub text: String,
}

/// Limit for all stacks of a study, bytes; each file sums the rest in one line. A profile has some megabytes.
const STACKS_BYTES: usize = 256 << 20;

const LEFT_OUT: &str = "[left out]";

/// Profiles and counts as stacks. Systems and tests without either have no file.
pub fn stacks(record: &StudyRecord) -> Vec<StackFile> {
    let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
    let labels = labels(&names);
    let mut left = STACKS_BYTES;
    let sampled = record.profiles.iter().flat_map(|profiled| {
        let CellProfile { system, cell, profile } = profiled;
        let waits = profile.waits.as_ref().map(|waits| ("waits", &waits.calls, 1000));
        let trees = [("serving", &profile.serving, 1), ("background", &profile.background, 1)];
        trees.into_iter().chain(waits).map(|tree| (*system, *cell, tree))
    });
    let counted = record.counts.iter();
    let counted = counted
        .map(|counted| (counted.system, counted.cell, ("instructions", &counted.count.calls, 1)));
    let files = sampled.chain(counted);
    let files = files.map(|(system, cell, (kind, tree, unit))| StackFile {
        name: name(record, &labels, (cell, system), kind),
        text: folded(tree, unit, &mut left),
    });
    let mut files: Vec<StackFile> = files.filter(|file| !file.text.is_empty()).collect();
    let mut taken: Vec<String> = Vec::new();
    for file in &mut files {
        crate::charts::make_unique(&mut file.name, &taken);
        taken.push(file.name.clone());
    }
    files
}

fn name(
    record: &StudyRecord,
    labels: &[String],
    (cell, system): (CellId, usize),
    kind: &str,
) -> String {
    let setup = (record.study.setups.len() > 1).then(|| setup_word(cell.setup));
    let label = labels.get(system).cloned();
    stem("stacks", [Some(cell.test.name.clone()), setup, label, Some(kind.to_owned())])
}

/// Costs are divided by `unit`. `left` is the remaining budget of bytes.
fn folded(tree: &CallTree, unit: u64, left: &mut usize) -> String {
    let names: Vec<String> = tree.frames.iter().map(function).collect();
    let mut text = String::new();
    let mut left_out = 0_u64;
    for node in tree.nodes.iter().filter(|node| node.own >= unit) {
        let spent = node.own / unit;
        let line = line(tree, &names, node, spent, *left);
        match line.and_then(|line| Some((left.checked_sub(line.len())?, line))) {
            Some((rest, line)) => {
                *left = rest;
                text.push_str(&line);
            }
            None => left_out = left_out.saturating_add(spent),
        }
    }
    if left_out > 0 {
        text.push_str(&format!("{LEFT_OUT} {left_out}\n"));
    }
    text
}

/// The line of a stack that ends with `node`; `None` if longer than `most`.
fn line(
    tree: &CallTree,
    names: &[String],
    node: &CallNode,
    spent: u64,
    most: usize,
) -> Option<String> {
    let mut stack: Vec<&str> = Vec::new();
    let (mut bytes, mut next) = (0, Some(node));
    // A caller comes before its callees, so this ends.
    while let Some(call) = next {
        let name = names.get(call.frame as usize).map_or("", String::as_str);
        bytes += name.len() + 1;
        if bytes > most {
            return None;
        }
        stack.push(name);
        next = call.caller.and_then(|caller| tree.nodes.get(caller as usize));
    }
    stack.reverse();
    Some(format!("{} {spent}\n", stack.join(";")))
}

/// A function by the conventions of tools: kernel functions are marked, and separators are removed.
fn function(frame: &StackFrame) -> String {
    let [name, module] = [&frame.function, &frame.module].map(|it| printable(it).replace(';', ":"));
    match (frame.module.as_str(), frame.is_named()) {
        (KERNEL, _) => format!("{name}_[k]"),
        (_, true) => name,
        (_, false) if module == name => name,
        (_, false) => format!("{name} ({module})"),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::CallNode;

    use super::*;

    #[test]
    fn each_stack_has_a_line() {
        let frame = |function: &str, module: &str| StackFrame {
            function: function.to_owned(),
            module: module.to_owned(),
        };
        let tree = CallTree {
            frames: vec![
                frame("main", "mysqld"),
                frame("a<b; c>", "mysqld"),
                frame("0x10", "libc.so.6"),
                frame("read", "[kernel]"),
            ],
            nodes: vec![
                CallNode { caller: None, frame: 0, own: 0 },
                CallNode { caller: Some(0), frame: 1, own: 2500 },
                CallNode { caller: Some(1), frame: 3, own: 900 },
                CallNode { caller: Some(0), frame: 2, own: 3000 },
            ],
        };
        let text = |unit| {
            let mut left = STACKS_BYTES;
            folded(&tree, unit, &mut left)
        };
        assert_eq!(
            text(1),
            "main;a<b: c> 2500\nmain;a<b: c>;read_[k] 900\nmain;0x10 (libc.so.6) 3000\n"
        );
        assert_eq!(text(1000), "main;a<b: c> 2\nmain;0x10 (libc.so.6) 3\n");
    }

    #[test]
    fn what_is_too_long_is_told_together() {
        let name = |at: usize| format!("{at}{}", "x".repeat(400));
        let frame = |at| StackFrame { function: name(at), module: "mysqld".to_owned() };
        let node = |at: u32| CallNode { caller: at.checked_sub(1), frame: at, own: 1 };
        let tree = CallTree {
            frames: (0..1000).map(frame).collect(),
            nodes: (0..1000).map(node).collect(),
        };
        let mut left = 1 << 20;
        let text = folded(&tree, 1, &mut left);
        assert!(text.len() <= (1 << 20) + 20, "{}", text.len());
        let spent = text.lines().map(|it| it.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(spent.sum::<u64>(), 1000);
        assert_eq!(text.lines().last().unwrap().split(' ').next(), Some("[left"));
        // Another file used up the budget.
        assert_eq!(folded(&tree, 1, &mut 0), "[left out] 1000\n");
    }

    #[test]
    fn no_function_breaks_a_line_or_turns_it() {
        let frame = |function: &str, module: &str| StackFrame {
            function: function.to_owned(),
            module: module.to_owned(),
        };
        assert_eq!(function(&frame("a\u{202e}b\nc;d", "mysqld")), "a\u{fffd}b c:d");
        assert_eq!(function(&frame("0x10", "lib\u{202e};.so")), "0x10 (lib\u{fffd}:.so)");
    }
}
