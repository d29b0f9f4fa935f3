//! First impressions: the length of a report, and ratios of any size.

use assay_model::{
    DataContent, Definition, LuaScript, Schema, StartFrom, StudyRecord, Test, TestSet,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::{Judgement, judge};

use crate::common::ibench::benchmark;
use crate::common::record;
use crate::common::studies::{ONE, study};

fn in_format(record: &StudyRecord, judgement: &Judgement, format: Format) -> String {
    render(record, judgement, format, &TextOptions { width: 120, color: false, verbose: true })
}

#[test]
fn a_terminal_shows_the_answer_the_causes_and_one_table_then_how_to_see_the_rest() {
    let record = study(&["11.8"], TestSet::Set32, &[ONE], true);
    let judgement = judge(&record);
    for width in [80, 100, 160] {
        let options = |verbose| TextOptions { width, color: false, verbose };
        let [short, whole] =
            [false, true].map(|it| render(&record, &judgement, Format::TEXT, &options(it)));
        assert!(short.lines().count() <= 86, "{short}");
        assert!(whole.lines().count() > 120, "{whole}");
        for section in ["conditions\n", "reproduce\n", "rQPS by group", "\nanswer\n"] {
            assert!(whole.contains(section) && !short.contains(section), "{section}{short}");
        }
        for part in ["mariadb@11.8.4 is ", "why, the largest changes first", "   point-query "] {
            assert!(short.contains(part), "{part}{short}");
        }
        assert!(whole.contains("\nundecided, and what would help"), "{whole}");
        let way_on = "\nundecided tests: ";
        assert!(short.contains(way_on) && !whole.contains(way_on), "{short}");
        let flat = short.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("`assay resume 20261118-0a1b --more "), "{short}");
        let last = short.lines().last().unwrap();
        assert_eq!(
            last,
            "more: `assay report 20261118-0a1b --verbose`, or a page: `-o report.html`"
        );
    }
}

#[test]
fn the_way_on_from_undecided_tests_is_one_that_the_study_can_take() {
    let way_of = |record: StudyRecord| {
        let options = TextOptions { width: 100, color: false, verbose: false };
        let text = render(&record, &judge(&record), Format::TEXT, &options);
        let line = text.lines().find_map(|line| line.strip_prefix("undecided tests: "));
        line.map(str::to_owned)
    };
    let way = |change: &dyn Fn(&mut StudyRecord)| {
        let mut record = record(&["11.8"]);
        change(&mut record);
        way_of(record)
    };
    let mut steps = benchmark();
    steps.study.recipe = "preset = \"smoke\"".to_owned();
    assert_eq!(way_of(steps).unwrap(), "`--repeats 4` carries all steps out several times");
    assert_eq!(way(&|it| it.study.recipe.clear()), None);
    assert_eq!(way(&|it| it.finished = false), None);
}

fn slowed(mut record: StudyRecord, factor: f64) -> StudyRecord {
    let first = record.study.cells[0].id;
    for slice in record.slices.iter_mut().filter(|it| it.system == 1 && it.cell == first) {
        slice.work.elapsed_ns = (slice.work.elapsed_ns as f64 * factor) as u64;
    }
    record
}

#[test]
fn a_ratio_beyond_a_factor_of_ten_is_a_factor_in_every_format() {
    for (factor, said, cell) in
        [(2400.0, "3,000 times slower", "1/3,000"), (1.0 / 400.0, "320 times faster", "320")]
    {
        let slow = slowed(record(&["11.8"]), factor);
        let judgement = judge(&slow);
        for format in [Format::TEXT, Format::MARKDOWN, Format::HTML] {
            let text = in_format(&slow, &judgement, format);
            let plain = text.replace('\\', "");
            assert!(plain.contains(said), "{format:?} {said}\n{text}");
            for never in ["<0.01", "&lt;0.01", "×0.00", ">0.00<", " 0.00 ", "−100%"] {
                assert!(!plain.contains(never), "{format:?} {never}\n{text}");
            }
        }
        let charts = assay_report::report(&slow, &judgement).with_charts("svg").0;
        for chart in charts.iter().filter(|it| it.name.starts_with("rqps-point")) {
            assert!(chart.svg.contains(said), "{}", chart.svg);
            assert!(!chart.svg.contains("class=\"arrow"), "{}", chart.svg);
        }
        let three = slowed(record(&["11.8", "12.3"]), factor);
        let options = TextOptions { width: 120, color: false, verbose: true };
        let matrix = assay_report::published(&three, &judge(&three)).render(Format::TEXT, &options);
        assert!(matrix.unwrap().contains(cell));
    }
}

#[test]
fn every_report_says_what_its_settings_leave_out_of_the_writes() {
    const FORMATS: [Format; 3] = [Format::TEXT, Format::MARKDOWN, Format::HTML];
    let durable =
        "the cost of durable commits (the log is flushed each second, not at each commit)";
    let binlog = "the binary log (it is off)";
    let said = |record: &StudyRecord, format| {
        let text = in_format(record, &judge(record), format);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for format in FORMATS {
        let lean = said(&record(&["11.8"]), format);
        assert!(lean.contains(durable) && lean.contains(binlog), "{format:?}");
        let mut published = record(&["11.8"]);
        published.study.terms = Some("published".to_owned());
        let published = said(&published, format);
        assert!(published.contains(durable) && !published.contains(binlog), "{format:?}");
        let mut paid = record(&["11.8"]);
        for system in &mut paid.systems {
            let options = ["innodb_flush_log_at_trx_commit=1", "log_bin=binlog"];
            system.options = options.map(str::to_owned).to_vec();
        }
        assert!(!said(&paid, format).contains("do not include"), "{format:?}");
        let mut reads = record(&["11.8"]);
        reads.study.cells.retain(|it| it.id.test.name() != "insert");
        reads.slices.retain(|it| it.cell.test.name() != "insert");
        assert!(!said(&reads, format).contains("do not include"), "{format:?}");
    }
}

/// A setup counts the tables of a script as one, and its rows are a guess, so the counts after the load are shown.
#[test]
fn the_tables_of_a_script_are_those_that_were_counted() {
    let mut record = study(&["11.8"], TestSet::Set27, &[ONE], false);
    let script = LuaScript {
        name: "own".to_owned(),
        files: Vec::new(),
        options: Vec::new(),
        may_use_all: false,
    };
    let own = |test: Test| {
        let schema = Schema::Lua(script.clone());
        assay_workloads::define(Definition { schema, ..test.definition().clone() })
    };
    record.study.cells.iter_mut().for_each(|cell| cell.id.test = own(cell.id.test));
    record.slices.iter_mut().for_each(|slice| slice.cell.test = own(slice.cell.test));
    let blocks = record.blocks.iter_mut().flat_map(|block| &mut block.cells);
    blocks.for_each(|cell| cell.id.test = own(cell.id.test));
    let data = record.study.setups[0].data();
    let content = |system| DataContent {
        system,
        data,
        start_from: StartFrom::Fresh,
        rows: 1500,
        checksum: "1".to_owned(),
    };
    record.data = (0..record.systems.len()).map(content).collect();
    let judgement = judge(&record);
    for format in [Format::TEXT, Format::HTML] {
        let text = in_format(&record, &judgement, format);
        assert!(text.contains("1,500 rows in all its tables together"), "{text}");
        assert!(!text.contains("lients × tables × rows"), "{text}");
        assert!(!text.contains("prepared statements"), "{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&in_format(&record, &judgement, Format::JSON)).unwrap();
    let cell = &json["cells"][0];
    assert!(cell["tables"].is_null() && cell["rows"].is_null() && cell["clients"] == 1, "{cell:#}");
}
