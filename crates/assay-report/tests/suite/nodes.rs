//! The machines that measured a study.

use assay_model::{ShardRun, StudyRecord};
use assay_report::{Format, TextOptions, by_node};
use serde_json::Value;

use crate::common::{record, run};

/// Two nodes measured every other block.
fn on_two_nodes() -> StudyRecord {
    let mut record = record(&["11.8"]);
    let node = |number: u32| {
        let (study, node) = ("shards-1".to_owned(), format!("n{number}"));
        let (first, attempt) = (number - 1, String::new());
        Some(ShardRun {
            study,
            number,
            of: 2,
            first,
            step: 2,
            attempt,
            node,
            secret: String::new(),
        })
    };
    record.runs = vec![run(0, 1000), run(0, 1000)];
    for (run, number) in record.runs.iter_mut().zip(1..) {
        run.shard = node(number);
    }
    for slice in &mut record.slices {
        slice.run = slice.block as usize % 2;
    }
    record
}

fn shown(record: &StudyRecord, format: Format) -> String {
    let judged = assay_verdict::judge(record);
    let options = TextOptions { width: 120, color: false, verbose: false };
    by_node(record, judged.nodes.as_ref().unwrap()).render(format, &options).unwrap()
}

#[test]
fn nodes_are_compared_by_the_same_systems() {
    let record = on_two_nodes();
    let json: Value = serde_json::from_str(&shown(&record, Format::JSON)).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["nodes"][1]["node"], "n2");
    let rates = json["rates"].as_array().unwrap();
    // Five tests, two systems, two nodes.
    assert_eq!(rates.len(), 5 * 2 * 2);
    for pair in rates.chunks(2) {
        let relative = |at: usize| pair[at]["relative"]["value"].as_f64().unwrap();
        assert!((relative(0) * relative(1) - 1.0).abs() < 1e-6, "{pair:?}");
        assert_eq!([&pair[0]["node"], &pair[1]["node"]], ["n1", "n2"]);
        assert_eq!(pair[0]["system"], pair[1]["system"]);
    }
    let csv = shown(&record, Format::CSV);
    assert!(csv.starts_with("test,clients,tables,rows,system,node,blocks,qps,relative,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + rates.len());
    let text = shown(&record, Format::TEXT);
    assert!(text.contains("of the mean of all nodes") && text.contains("point-query"), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(120), "{text}");
}

#[test]
fn one_machine_is_no_nodes() {
    assert_eq!(assay_verdict::judge(&record(&["11.8"])).nodes, None);
}
