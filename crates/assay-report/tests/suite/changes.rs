//! Changes of tests: steps between versions, crossovers over client counts, and the certainty of changes.

use assay_model::{Artifact, CellId, Product, Setup, StudyRecord, TestSet};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;
use serde_json::Value;

use crate::common::record;
use crate::common::studies::{ONE, study};

fn in_format(record: &StudyRecord, format: Format, width: usize) -> String {
    render(record, &judge(record), format, &TextOptions { width, color: false, verbose: true })
}

fn json(record: &StudyRecord) -> Value {
    serde_json::from_str(&in_format(record, Format::JSON, 80)).unwrap()
}

fn scale(record: &mut StudyRecord, cell: usize, system: usize, factor: f64) {
    let id = record.study.cells[cell].id;
    for slice in record.slices.iter_mut().filter(|it| it.cell == id && it.system == system) {
        slice.work.elapsed_ns = (slice.work.elapsed_ns as f64 / factor) as u64;
    }
}

/// Three versions: point-query changes at the first step, range-covered-pk at the second, read-only up and down again,
/// points-notcovered-pk at both, insert a little at both.
fn three_versions() -> StudyRecord {
    let mut record = record(&["11.4", "11.8"]);
    scale(&mut record, 1, 2, 0.9);
    scale(&mut record, 2, 2, 0.9);
    scale(&mut record, 3, 2, 0.95);
    scale(&mut record, 4, 1, 0.981);
    scale(&mut record, 4, 2, 0.964);
    record
}

#[test]
fn a_step_to_another_makers_build_says_so() {
    let mut record = three_versions();
    let Artifact::Prefix(prefix) = &mut record.systems[2].artifact else { unreachable!() };
    prefix.build.source = "maven".to_owned();
    let text = in_format(&record, Format::TEXT, 400);
    let step = |test: &str| {
        let line = format!("▼ {test}: slower from");
        text.lines().find(|it| it.contains(&line)).unwrap().contains("to another maker's build")
    };
    assert_eq!([step("point-query"), step("range-covered-pk")], [false, true], "{text}");
}

/// One test with 1, 4 and 16 clients. The later version is slower with few clients and faster with many.
fn crossing() -> StudyRecord {
    let setups = [1, 4, 16].map(|clients| Setup { clients, ..ONE });
    let mut record = study(&["11.8"], TestSet::Set32, &setups, false);
    let kept: Vec<CellId> = (record.study.cells.iter().map(|cell| cell.id))
        .filter(|cell| cell.test.name() == "read-write_range=100")
        .collect();
    record.study.cells.retain(|cell| kept.contains(&cell.id));
    record.slices.retain(|slice| kept.contains(&slice.cell));
    let base: Vec<_> = record.slices.iter().filter(|slice| slice.system == 0).cloned().collect();
    let others = record.slices.iter_mut().filter(|slice| slice.system == 1);
    for (slice, base) in others.zip(&base) {
        let wobble = 0.004 * f64::from((3 * slice.round + slice.block) % 5) - 0.008;
        let factor = match slice.cell.setup.clients {
            1 => 0.92,
            4 => 0.96,
            _ => 1.05,
        };
        slice.work = base.work.clone();
        slice.work.elapsed_ns = (base.work.elapsed_ns as f64 / (factor + wobble)) as u64;
    }
    record
}

#[test]
fn a_terminal_says_at_which_version_a_test_changed() {
    insta::assert_snapshot!(in_format(&three_versions(), Format::TEXT, 100));
}

#[test]
fn markdown_says_at_which_version_a_test_changed() {
    let markdown = in_format(&three_versions(), Format::MARKDOWN, 100);
    let from = markdown.find("### Relative QPS").unwrap();
    let to = markdown.find("<details><summary>Conditions").unwrap();
    insta::assert_snapshot!(&markdown[from..to]);
}

fn page_text(page: &str, from: &str, to: &str) -> String {
    let start = page.find(from).unwrap_or_else(|| panic!("no `{from}`"));
    let part = &page[start..];
    let part = &part[..part.find(to).unwrap()];
    let pieces = part.split('<').filter_map(|piece| Some(piece.split_once('>')?.1.trim()));
    pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_has_a_table_of_steps() {
    let page = in_format(&three_versions(), Format::HTML, 100);
    insta::assert_snapshot!(page_text(&page, "<section id=\"steps\">", "</section>"));
}

#[test]
fn scripts_get_every_step_and_where_it_changed() {
    let document = json(&three_versions());
    let steps = document["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 10);
    let step = &steps[3];
    assert_eq!(step["test"], "range-covered-pk");
    assert_eq!((&step["from"], &step["to"]), (&"mariadb@11.4".into(), &"mariadb@11.8".into()));
    assert_eq!((&step["verdict"], &step["is_change"]), (&"slower".into(), &true.into()));
    assert!((step["ratio"]["value"].as_f64().unwrap() - 0.9).abs() < 0.002, "{step}");
    assert!(step["beyond_threshold"].as_f64().unwrap() > 0.99, "{step}");
    let line = &document["lines"][1];
    assert_eq!(line["systems"].as_array().unwrap().len(), 3);
    assert_eq!(line["main_step"]["to"], "mariadb@11.8");
    assert!(line["main_step"]["confidence"].as_f64().unwrap() > 0.99, "{line}");
    // The first step is the comparison with the base.
    let of_cells = document["cells"].as_array().unwrap().iter();
    let of_cells: Vec<&Value> = of_cells.filter(|it| it["system"] == "mariadb@11.4").collect();
    for (step, cell) in steps.iter().step_by(2).zip(of_cells) {
        assert_eq!((&step["ratio"], &step["verdict"]), (&cell["rqps"], &cell["verdict"]));
    }
}

#[test]
fn two_systems_have_no_steps() {
    let two = record(&["11.8"]);
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = in_format(&two, format, 100).to_lowercase();
        for what in ["where it changed", "\"steps\"", "\"crossovers\"", "crossovers\n"] {
            assert!(!text.contains(what), "{what}");
        }
    }
    let document = json(&two);
    for key in ["steps", "lines", "crossovers"] {
        assert_eq!(document[key], Value::Array(Vec::new()), "{key}");
    }
}

/// The base is not one of them.
#[test]
fn two_versions_of_another_product_are_compared_with_each_other() {
    let mut mixed = record(&["8.0", "9.7"]);
    for (system, name) in mixed.systems.iter_mut().skip(1).zip(["8.0", "9.7"]) {
        system.spec.product = Product::MySql;
        system.name = format!("mysql@{name}");
    }
    scale(&mut mixed, 0, 2, 0.9);
    let text = in_format(&mixed, Format::TEXT, 160);
    let message = "  ▼ point-query: mysql@9.7 slower than mysql@8.0 (−10.0% [−10.2%, −9.8%])\n";
    assert!(text.contains(message), "{text}");
    assert_eq!(json(&mixed)["lines"], Value::Array(Vec::new()));
}

#[test]
fn a_crossover_is_told_in_every_format() {
    let record = crossing();
    let text = in_format(&record, Format::TEXT, 160);
    let part = text.split("crossovers\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    let message = part.lines().next().unwrap().trim();
    let (counts, equal) = message.split_once("; ").unwrap();
    let slower = "read-write_range=100: mariadb@11.8 is slower up to 4 clients, faster from 16";
    assert_eq!((counts, equal), (slower, "equal at about 7.6 [7.2, 8.0] clients"));
    assert!(in_format(&record, Format::HTML, 80).contains(message));
    assert!(in_format(&record, Format::MARKDOWN, 80).replace('\\', "").contains(message));
    let document = json(&record);
    let crossover = &document["crossovers"][0];
    assert_eq!(crossover["test"], "read-write_range=100");
    assert_eq!(crossover["verdict_below"], "slower");
    assert_eq!((&crossover["clients_below"], &crossover["clients_above"]), (&4.into(), &16.into()));
    let clients = &crossover["clients"];
    assert!(clients["low"].as_f64() < clients["value"].as_f64(), "{clients}");
    assert!(clients["value"].as_f64() < clients["high"].as_f64(), "{clients}");
}

#[test]
fn changes_that_may_be_below_the_threshold_are_named() {
    let mut study = record(&["11.8"]);
    let all = "all called changes exceed 2% with at least 95% confidence";
    assert!(in_format(&study, Format::TEXT, 160).contains(&format!("  {all}\n")));
    // Blocks differ by 0.6%, and the change is 2.3%.
    let id = study.study.cells[4].id;
    for slice in study.slices.iter_mut().filter(|it| it.cell == id && it.system == 1) {
        let factor = 0.973 + [0.006, -0.006, 0.003, -0.003][slice.block as usize];
        slice.work.elapsed_ns = (slice.work.elapsed_ns as f64 / factor) as u64;
    }
    let cell = &json(&study)["cells"][9];
    assert_eq!((&cell["test"], &cell["verdict"]), (&"insert".into(), &"slower".into()));
    let confidence = cell["beyond_threshold"].as_f64().unwrap();
    assert!((0.6..0.95).contains(&confidence), "{cell}");
    assert_eq!(cell["same_within"], Value::Null);
    let percent = (100.0 * confidence).floor();
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
        let text = in_format(&study, format, 160).replace("All", "all");
        assert!(text.contains(&format!("{all} except insert ({percent}%)")), "{text}");
    }
    assert!(in_format(&study, Format::HTML, 80).contains(&format!("exceeds 2%: {percent}%")));
}

#[test]
fn the_same_has_a_bound() {
    let study = record(&["11.8"]);
    let cell = &json(&study)["cells"][3];
    assert_eq!((&cell["test"], &cell["verdict"]), (&"range-covered-pk".into(), &"same".into()));
    let bound = cell["same_within"].as_f64().unwrap();
    assert!((0.01..=0.02).contains(&bound), "{cell}");
    let shown = format!("same ±{}%", (1000.0 * bound).ceil() / 10.0);
    assert!(in_format(&study, Format::TEXT, 80).contains(&shown), "{shown}");
    assert!(in_format(&study, Format::MARKDOWN, 80).contains(&shown), "{shown}");
    assert_eq!(json(&study)["cells"][1]["same_within"], Value::Null);
}

#[test]
fn the_part_of_the_kernel_has_a_line_where_it_is_most_of_a_change() {
    let mut record = record(&["11.8"]);
    let has_line = |record: &StudyRecord| {
        in_format(record, Format::HTML, 80).contains("of which in the kernel")
    };
    assert!(!has_line(&record));
    for slice in record.slices.iter_mut().filter(|it| it.system == 1) {
        let user_ns = slice.counter("connection_user_ns").unwrap();
        slice.counters.set("connection_sys_ns", Some(3 * user_ns));
    }
    assert!(has_line(&record));
}

#[test]
fn a_group_says_what_its_changes_come_from() {
    let record = record(&["11.8"]);
    let document = json(&record);
    let groups = document["groups"].as_array().unwrap();
    let message: Vec<&str> = groups.iter().filter_map(|group| group["why"].as_str()).collect();
    assert!(message.iter().any(|why| why.contains(" tests, slower in ")), "{groups:#?}");
    let page = in_format(&record, Format::HTML, 80);
    assert!(message.iter().all(|why| page.contains(why)), "{message:?}");
}
