//! Reports that the tool wrote, and damaged ones.

use std::collections::BTreeMap;

use assay_model::StackFrame;
use assay_symbols::Symbols;
use elf::elf;

use super::*;

#[path = "../../../../crates/assay-symbols/tests/elf/mod.rs"]
mod elf;

/// The function `work` of `recorded/small.c` in its first thread, counted with `--toggle-collect=work`.
const FIRST: &[u8] = include_bytes!("recorded/small-1.out");
/// The same in its second thread.
const SECOND: &[u8] = include_bytes!("recorded/small-2.out");
/// The same in both threads, as three parts: `--combine-dumps=yes --dump-before=even`.
const PARTS: &[u8] = include_bytes!("recorded/parts.out");
/// A thread of MariaDB 10.11 that waits for work.
const SERVER: &[u8] = include_bytes!("recorded/server.out");

/// The figures of `callgrind_annotate` for each thread.
const ANNOTATED: [(&str, u64); 7] = [
    ("even", 9 + 36),
    ("fib", 330 + 17),
    ("leaf", 504),
    ("odd", 31 + 9),
    ("twice", 11),
    ("work", 21),
    ("total", 968),
];

fn one(report: &[u8]) -> ReportPart {
    let [part] = &read(report).unwrap()[..] else { panic!("one part") };
    part.clone()
}

fn owns(costs: &Costs) -> BTreeMap<String, u64> {
    let functions = costs.functions().into_iter().filter(|count| count.own > 0);
    functions.map(|count| (count.frame.function, count.own)).collect()
}

fn of_tree(costs: &Costs) -> BTreeMap<String, u64> {
    let tree = costs.tree();
    let mut owns = BTreeMap::new();
    for node in tree.nodes.iter().filter(|node| node.own > 0) {
        let function = tree.frames[node.frame as usize].function.clone();
        *owns.entry(function).or_insert(0) += node.own;
    }
    owns
}

/// The paths of a tree with the instructions of each and of everything below it.
fn paths(costs: &Costs) -> Vec<(String, u64)> {
    let tree = costs.tree();
    let inclusive = tree.inclusive();
    let mut all: Vec<String> = Vec::new();
    for node in &tree.nodes {
        let caller = node.caller.map(|caller| all[caller as usize].clone() + ";");
        all.push(caller.unwrap_or_default() + &tree.frames[node.frame as usize].function);
    }
    all.into_iter().zip(inclusive).collect()
}

#[test]
fn functions_have_the_instructions_that_the_tool_itself_says() {
    for (report, thread) in [(FIRST, 1), (SECOND, 2)] {
        let part = one(report);
        assert_eq!((part.thread, part.number), (Some(thread), Some(1)));
        assert!(part.pid.is_some());
        let mut found = owns(&part.costs);
        found.insert("total".to_owned(), part.total);
        let annotated = ANNOTATED.map(|(name, own)| (name.to_owned(), own));
        assert_eq!(found, annotated.into_iter().collect());
    }
}

#[test]
fn calls_have_callers_and_numbers() {
    let part = one(SECOND);
    let edges = part.costs.edges();
    let edge = |caller: &str, callee: &str| {
        let found = edges
            .iter()
            .find(|edge| edge.caller.function == caller && edge.callee.function == callee);
        found.map(|edge| (edge.calls, edge.inclusive)).unwrap()
    };
    assert_eq!(edge("work", "twice"), (1, 203));
    assert_eq!(edge("work", "fib"), (1, 659));
    assert_eq!(edge("twice", "leaf"), (2, 192));
    // 24 calls within the first one, 2 of which are not within another.
    assert_eq!(edge("fib", "fib"), (24, 399 + 243));
    assert_eq!(edge("fib", "leaf"), (13, 312));
    let functions = part.costs.functions();
    let leaf = functions.iter().find(|count| count.frame.function == "leaf").unwrap();
    let callers = leaf.callers.iter().map(|at| functions[*at as usize].frame.function.as_str());
    assert_eq!(callers.collect::<Vec<_>>(), ["fib", "twice"]);
    assert_eq!((leaf.calls, leaf.frame.module.as_str()), (15, "small"));
}

#[test]
fn parts_of_one_report_add_up_to_the_whole() {
    let parts = read(PARTS).unwrap();
    let message: Vec<_> = parts.iter().map(|part| (part.number, part.total)).collect();
    assert_eq!(message, [(Some(1), 875), (Some(2), 968), (Some(3), 93)]);
    assert!(parts.iter().all(|part| part.pid == parts[0].pid));
    let mut all = Costs::default();
    all.add(parts.iter().map(|part| &part.costs));
    let mut both = Costs::default();
    both.add([&one(FIRST).costs, &one(SECOND).costs]);
    assert_eq!(owns(&all), owns(&both));
    let count = |costs: &Costs| costs.edges().iter().map(|edge| edge.calls).sum::<u64>();
    assert!(count(&both) > 0 && count(&all) > 0);
}

#[test]
fn a_tree_has_all_instructions_of_each_function() {
    for report in [FIRST, SECOND, SERVER] {
        let part = one(report);
        assert_eq!(of_tree(&part.costs), owns(&part.costs));
        assert_eq!(part.costs.tree().total(), part.total);
        assert_eq!(part.costs.tree(), one(report).costs.tree());
    }
}

#[test]
fn paths_of_a_tree_are_those_of_the_calls() {
    let paths: BTreeMap<_, _> = paths(&one(SECOND).costs).into_iter().collect();
    let path = |name: &str| {
        let found = paths.iter().find(|(path, _)| path.ends_with(name));
        *found.unwrap_or_else(|| panic!("{name} is not among {paths:#?}")).1
    };
    assert_eq!(path("work"), 968);
    assert_eq!(path("work;twice;leaf"), 192);
    // A recursive function is one level of the tree.
    assert_eq!(path("work;fib"), 659);
    assert_eq!(path("work;fib;fib;leaf"), 312);
    assert_eq!(path("work;even"), 85);
}

#[test]
fn threads_of_servers_are_read() {
    let part = one(SERVER);
    let functions = part.costs.functions();
    assert_eq!(functions.iter().map(|count| count.own).sum::<u64>(), part.total);
    let modules = ["mariadbd", "libc.so.6", "libstdc++.so.6.0.30"];
    assert!(
        functions.iter().all(|count| modules.contains(&count.frame.module.as_str())),
        "{functions:#?}"
    );
    assert!(functions.iter().any(|count| count.frame.function == "clock_gettime"));
    // The server in this package is stripped.
    assert_eq!(part.costs.stripped(), ["mariadbd"]);
    let offsets = functions.iter().filter(|count| !count.frame.is_named());
    assert!(offsets.clone().count() > 0);
    assert!(
        offsets
            .clone()
            .all(|count| count.frame.function.starts_with("0x") && count.frame.module == "mariadbd")
    );
}

fn refused(report: &str) -> String {
    read(report.as_bytes()).unwrap_err().to_string()
}

const HEADER: &str = "version: 1\nevents: Ir\n";

#[test]
fn what_is_not_in_the_format_is_refused_with_its_line() {
    let with = |body: &str| refused(&format!("{HEADER}{body}\n"));
    let line = |number: u32, why: &str| format!("line {number} of a report of callgrind: {why}");
    assert_eq!(with("fn=f\n0 12"), line(5, "the report was cut off"));
    assert_eq!(with("fn=f\n0 12\ntotals: 13"), line(6, "the counts do not add up to the total"));
    assert_eq!(with("fn=(3)"), line(3, "the number of the name is not known"));
    assert_eq!(with("0 12"), line(3, "the function is not named"));
    assert_eq!(with("fn=f\n+x 1"), line(4, "it has a number that is none"));
    assert_eq!(with("fn=f\ncalls=1 0"), line(4, "the called function is not named"));
    assert_eq!(with("fn=f\ncfn=g\ncalls=1 0\ntotals: 0"), line(7, "the report was cut off"));
    assert_eq!(with("what"), line(3, "it is neither a count nor named"));
    assert_eq!(with("xy=1"), line(3, "it says nothing that is known"));
    let most = u64::MAX;
    assert_eq!(with(&format!("fn=f\n0 {most}\n0 1")), line(5, "the counts are too large"));
    assert_eq!(with(&"x".repeat(LINE_MAX + 1)), line(3, "it is too long"));
    assert_eq!(refused("events: Dr\nfn=f\n0 1\n"), line(3, "no event is `Ir`"));
    assert_eq!(refused("version: 1\n"), line(2, "the report was cut off"));
    assert_eq!(read(b""), Ok(Vec::new()));
}

#[test]
fn forms_that_this_tool_does_not_use_are_read_too() {
    let body = "positions: instr line\nevents: Dr Ir\n\nob=(1) /usr/sbin/server\nfl=(1) a.c\nfn=(7) _ZN3THD7cleanupEv\n\
                0x10 1 5 7\n+2 * 1\n* +1\njcnd=1/2 0x20 3\n0x12 -1\ncob=(2) ???\ncfn=0x0000000004838030\n\
                calls=2 0x40 0\n* * 1 40\nfn=(below main)\n0 0 0 1\ntotals: 6 8\n";
    let part = one(body.as_bytes());
    assert_eq!(part.total, 8);
    let functions = part.costs.functions();
    let message: Vec<_> = functions
        .iter()
        .map(|count| {
            let StackFrame { function, module } = &count.frame;
            (function.as_str(), module.as_str(), count.own, count.calls)
        })
        .collect();
    let expected = [
        ("(below main)", "server", 1, 0),
        ("0x4838030", "[unknown]", 0, 2),
        ("THD::cleanup", "server", 7, 0),
    ];
    assert_eq!(message, expected);
}

#[test]
fn one_caller_has_what_only_its_calls_can_have() {
    // `read` costs 90 when `scan` calls it and 10 when `probe` does, and calls `copy` each time.
    let body = "fn=(1) scan\n0 5\ncfn=(2) read\ncalls=1 0\n0 90\nfn=(3) probe\n0 5\ncfn=(2)\ncalls=1 0\n0 10\n\
                fn=(2)\n0 60\ncfn=(4) copy\ncalls=2 0\n0 40\nfn=(4)\n0 40\ntotals: 110\n";
    let part = one(format!("{HEADER}{body}").as_bytes());
    let paths: BTreeMap<_, _> = paths(&part.costs).into_iter().collect();
    let expected = [
        ("scan", 95),
        ("scan;read", 90),
        ("scan;read;copy", 36),
        ("probe", 15),
        ("probe;read", 10),
        ("probe;read;copy", 4),
    ];
    assert_eq!(paths, expected.map(|(path, spent)| (path.to_owned(), spent)).into_iter().collect());
}

#[test]
fn functions_without_a_name_get_that_of_debug_symbols() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server");
    // Two functions of 16 bytes each, from 0x1000.
    fs_err::write(&path, elf("read_row", 2)).unwrap();
    let report = format!(
        "events: Ir\nob=({id}) {}\nfn=(1) main\n0 5\ncfn=(2) 0x1000\ncalls=3 0\n0 40\nfn=(2)\n0 30\n\
         cfn=(3) 0x0000000000001018\ncalls=1 0\n0 10\nfn=(3)\n0 10\nfn=(4) 0x5000\n0 1\ntotals: 46\n",
        path.display(),
        id = 1,
    );
    let costs = one(report.as_bytes()).costs;
    let expected = [("main", 5), ("read_row", 40), ("0x5000", 1)];
    let expected = expected.map(|(name, own)| (name.to_owned(), own));
    let named = costs.clone().named(&mut Symbols::new(false, || false), |_| Vec::new());
    assert_eq!(owns(&named), BTreeMap::from(expected));
    assert_eq!(named.total(), costs.total());
    fs_err::remove_file(&path).unwrap();
    assert_eq!(
        owns(&costs.clone().named(&mut Symbols::new(false, || false), |_| Vec::new())),
        owns(&costs)
    );
}

#[test]
fn a_call_that_takes_less_than_nothing_is_of_nothing() {
    let report = "events: Ir\nfn=(1) main\n0 5\ncfn=(2) work\ncalls=2 0\n0 18446744073709551516\ncfn=(2)\n\
                  calls=1 0\n0 40\nfn=(2)\n0 30\ntotals: 35\n";
    let costs = one(report.as_bytes()).costs;
    assert_eq!(owns(&costs), BTreeMap::from([("main".to_owned(), 5), ("work".to_owned(), 30)]));
    let edges: Vec<_> = costs.edges().iter().map(|edge| (edge.calls, edge.inclusive)).collect();
    assert_eq!(edges, [(3, 40)]);
}
