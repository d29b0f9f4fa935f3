//! Profiles as folded stacks: a line for each stack, with its functions from the outermost on and what was spent in it.
//! Many tools draw flame graphs from such files.

use assay_model::{CallTree, CellProfile, Frame, StudyRecord};

use crate::charts::{setup_word, stem};
use crate::label::labels;

/// The stacks of the threads of a system in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackFile {
    /// Its name without the ending: letters, digits, `-`, `_`, `.` and `=`, unique in a study.
    pub name: String,
    /// The stacks: samples of CPU time, or microseconds of waiting.
    pub text: String,
}

/// The profiles of a study as stacks. What was not sampled has no file.
#[must_use]
pub fn stacks(record: &StudyRecord) -> Vec<StackFile> {
    let names: Vec<&str> = record.systems.iter().map(|system| system.name.as_str()).collect();
    let labels = labels(&names);
    let mut files: Vec<StackFile> =
        record.profiles.iter().flat_map(|it| files(record, &labels, it)).collect();
    let mut taken: Vec<String> = Vec::new();
    for file in &mut files {
        crate::charts::make_unique(&mut file.name, &taken);
        taken.push(file.name.clone());
    }
    files
}

fn files(
    record: &StudyRecord,
    labels: &[String],
    CellProfile { system, cell, profile }: &CellProfile,
) -> Vec<StackFile> {
    let setup = (record.study.setups.len() > 1).then(|| setup_word(cell.setup));
    let waits = profile.waits.as_ref().map(|waits| ("waits", &waits.calls, 1000));
    let trees = [("serving", &profile.serving, 1), ("background", &profile.background, 1)];
    let file = |(kind, tree, unit): (&str, &CallTree, u64)| {
        let parts = [
            Some(cell.test.name.clone()),
            setup.clone(),
            labels.get(*system).cloned(),
            Some(kind.to_owned()),
        ];
        StackFile { name: stem("stacks", parts), text: folded(tree, unit) }
    };
    trees.into_iter().chain(waits).map(file).filter(|file| !file.text.is_empty()).collect()
}

/// The lines of a tree. What was spent is divided by `unit`.
fn folded(tree: &CallTree, unit: u64) -> String {
    let names: Vec<String> = tree.frames.iter().map(function).collect();
    let mut text = String::new();
    for node in &tree.nodes {
        let spent = node.own / unit;
        if spent == 0 {
            continue;
        }
        let mut stack: Vec<&str> = Vec::new();
        let mut next = Some(node);
        // A caller comes before what it calls, so this ends.
        while let Some(call) = next {
            stack.extend(names.get(call.frame as usize).map(String::as_str));
            next = call.caller.and_then(|caller| tree.nodes.get(caller as usize));
        }
        stack.reverse();
        text.push_str(&format!("{} {spent}\n", stack.join(";")));
    }
    text
}

/// A function as tools know it: those of the kernel have a mark, and none has what separates functions.
fn function(frame: &Frame) -> String {
    let name: String = frame.function.chars().filter(|c| !c.is_control()).collect();
    let name = name.replace(';', ":");
    match (frame.module.as_str(), frame.is_named()) {
        ("[kernel]", _) => format!("{name}_[k]"),
        (_, true) => name,
        (module, false) if module == name => name,
        (module, false) => format!("{name} ({})", module.replace([';', '\n'], ":")),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::CallNode;

    use super::*;

    #[test]
    fn each_stack_has_a_line() {
        let frame = |function: &str, module: &str| Frame {
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
        assert_eq!(
            folded(&tree, 1),
            "main;a<b: c> 2500\nmain;a<b: c>;read_[k] 900\nmain;0x10 (libc.so.6) 3000\n"
        );
        assert_eq!(folded(&tree, 1000), "main;a<b: c> 2\nmain;0x10 (libc.so.6) 3\n");
    }
}
