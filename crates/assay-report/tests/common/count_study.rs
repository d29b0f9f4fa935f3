//! The small study with counts of instructions.

use assay_model::{
    Artifact, CallNode, CallTree, CellCount, Count, CountBatch, CountSource, FunctionCount,
    MatchedNames, StackFrame, StudyRecord,
};

use super::record;

const OPS: u64 = 2400;

/// `run` calls each of these functions, with their instructions per operation.
pub(crate) fn count(functions: &[(&str, u64)]) -> Count {
    let each: u64 = functions.iter().map(|(_, own)| own).sum();
    let batch = |events: u64| CountBatch {
        events,
        ops: events as f64,
        serving: 5000 + each * events,
        background: Some(70 * events),
        idle: None,
        kernel: None,
    };
    let frame =
        |name: &str| StackFrame { function: name.to_owned(), module: "mariadbd".to_owned() };
    let names = [("run", 0)];
    let all = names.iter().chain(functions);
    let call = |(at, (_, own)): (usize, &(&str, u64))| CallNode {
        caller: (at > 0).then_some(0),
        frame: at as u32,
        own: own * OPS,
    };
    let function = |(at, (name, own)): (usize, &(&str, u64))| FunctionCount {
        frame: frame(name),
        own: own * OPS,
        calls: OPS,
        callers: if at > 0 { vec![0] } else { Vec::new() },
    };
    Count {
        by: CountSource::Callgrind,
        version: Some("3.19.0".to_owned()),
        hidden: vec!["avx512f".to_owned(), "sha_ni".to_owned()],
        instances: vec![[100, 300, 300, 100, 100, 300].map(batch).into(); 2],
        functions: all.clone().enumerate().map(function).collect(),
        calls: CallTree {
            frames: all.clone().map(|(name, _)| frame(name)).collect(),
            nodes: all.clone().enumerate().map(call).collect(),
        },
        ops: OPS,
        server: "mariadbd".to_owned(),
        stripped: Vec::new(),
        matched: MatchedNames::default(),
    }
}

/// Tests are given by number.
pub(crate) fn counted(tests: &[(usize, [Count; 2])]) -> StudyRecord {
    let mut record = record(&["11.8"]);
    if let Artifact::Prefix(prefix) = &mut record.systems[1].artifact {
        prefix.sha256 = "another".to_owned();
    }
    for (test, counts) in tests {
        let cell = record.study.cells[*test].id;
        let cell_count =
            |(system, count): (usize, &Count)| CellCount { system, cell, count: count.clone() };
        record.counts.extend(counts.iter().enumerate().map(cell_count));
    }
    record
}

/// `parse` takes more instructions than in the base.
pub(crate) fn changed() -> [Count; 2] {
    let base = count(&[("parse", 3000), ("read", 2000), ("0x10", 50)]);
    [base, count(&[("parse", 3400), ("read", 2000), ("0x30", 50)])]
}
