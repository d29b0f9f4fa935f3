//! Order of a report: the answer and its uncertainty, the causes, then the tables.

use assay_model::{
    AuditClass, AuditFinding, CpuVerdict, Estimate, JudgedFigures, Origin, StudyRecord, Verdict,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::{CpuJudgement, CpuSummary, Judgement, judge};

use crate::common::{record, suspicious};

const ALL: [Format; 3] = [Format::TEXT, Format::MARKDOWN, Format::HTML];

fn in_format(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 400, color: false, verbose: true };
    render(record, &judge(record), format, &options)
}

#[test]
fn the_headline_has_no_median_without_its_interval() {
    let mut single = record(&["11.8"]);
    single.slices.retain(|slice| slice.block == 0);
    for format in ALL {
        assert!(!in_format(&single, format).contains("median over tests"), "{format:?}");
    }
    let text = in_format(&record(&["11.8"]), Format::TEXT);
    assert!(text.contains("(median over tests: −1.0% [−1.0%, −1.0%])"), "{text}");
}

#[test]
fn cpu_is_said_where_it_says_more_than_time() {
    let mut study = record(&["11.8"]);
    let judged = judge(&study);
    let answer = |judgement: &Judgement| assay_report::answer(&study, judgement).join("\n");
    assert!(!answer(&judged).contains("CPU per operation"), "{}", answer(&judged));
    let of_cpu = |verdict| {
        let ratio = Estimate { value: 1.1, low: 1.08, high: 1.12 };
        Some(CpuJudgement { ratio, verdict, doubt: None })
    };
    let mut busy = judged.clone();
    for cell in busy.cells.iter_mut().filter(|cell| cell.system == 1) {
        (cell.verdict, cell.cpu) = (Verdict::Undecided, of_cpu(CpuVerdict::More));
        (cell.is_disturbed, cell.troubled_by.other_process) = (true, 9);
    }
    let summary = &mut busy.systems[0];
    (summary.slower, summary.faster, summary.same, summary.undecided) = (0, 0, 0, 5);
    summary.cpu = Some(CpuSummary { more: 5, ..CpuSummary::default() });
    let text = answer(&busy);
    for part in [
        "By time, mariadb@11.8",
        "undecided in 5 of 5 tests, because other programs took this machine",
        ". By CPU per operation, which they hardly touch: more in 5",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for format in ALL {
        let options = TextOptions { width: 400, color: false, verbose: true };
        let text = render(&study, &busy, format, &options);
        assert!(text.contains("CPU more"), "{text}");
    }
    let mut waiting = judged.clone();
    let slower = waiting.cells.iter_mut().find(|cell| cell.verdict == Verdict::Slower).unwrap();
    slower.cpu = of_cpu(CpuVerdict::Same);
    let text = answer(&waiting);
    assert!(text.contains("differ: slower without more CPU in 1 (longer waits"), "{text}");
    study.study.judge = JudgedFigures::Cpu;
    let text = assay_report::answer(&study, &judged).join("\n");
    assert!(text.contains("needs more CPU per operation than mariadb@10.11.19 in "), "{text}");
}

#[test]
fn an_unknown_median_is_stated_in_words() {
    let mut wild = record(&["11.8"]);
    for slice in wild.slices.iter_mut().filter(|slice| slice.system == 1) {
        slice.work.elapsed_ns *= [1, 40, 3, 9][slice.block as usize % 4];
    }
    for format in ALL {
        let text = in_format(&wild, format);
        assert!(text.contains("median over tests: too uncertain to state"), "{text}");
        assert!(text.contains("minimum detectable effect over a factor of 2"), "{text}");
        assert!(!text.contains("−100%"), "{text}");
    }
}

#[test]
fn a_count_of_one_is_singular() {
    let mut one = record(&["11.8"]);
    one.study.cells.truncate(1);
    let id = one.study.cells[0].id;
    one.slices.retain(|slice| slice.cell == id);
    let text = in_format(&one, Format::TEXT);
    assert!(text.contains("is slower than mariadb@10.11.19 in 1 of 1 test\n"), "{text}");
    one.slices.retain(|slice| slice.block == 0);
    for format in ALL {
        let text = in_format(&one, format);
        assert!(text.contains("in 1 block of fresh servers"), "{text}");
        assert!(!text.contains("1 tests") && !text.contains("1 blocks"), "{text}");
    }
}

#[test]
fn servers_that_run_already_are_not_fresh() {
    let mut running = record(&["11.8"]);
    let url = |name: &str| Origin::Url(format!("mysql://me@{name}/sbtest"));
    running.systems[1].spec.origin = url("b");
    let text = in_format(&running, Format::TEXT);
    assert!(
        text.contains("4 blocks of fresh servers, or of fresh data on running servers"),
        "{text}"
    );
    running.systems[0].spec.origin = url("a");
    for format in ALL {
        let text = in_format(&running, format);
        assert!(text.contains("4 blocks of fresh data on running servers"), "{text}");
        assert!(!text.contains("blocks of fresh servers"), "{text}");
    }
}

#[test]
fn the_causes_stand_between_the_answer_and_the_tables() {
    for (format, table) in
        [(Format::TEXT, "rQPS by group"), (Format::MARKDOWN, "Relative QPS by group")]
    {
        let text = in_format(&record(&["11.8"]), format);
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no `{what}` in {text}"));
        assert!(at("is slower than") < at("point-query: time per"), "{text}");
        assert!(at("point-query: time per") < at(table), "{text}");
        // Only the CPU was measured, not the code.
        assert!(!text.contains("code per query"), "{text}");
    }
}

#[test]
fn columns_without_differences_are_omitted_and_named() {
    let mut study = record(&["11.8"]);
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("omitted because no test differs by 2%: client µs/op, cs/op"), "{text}");
    for slice in study.slices.iter_mut().filter(|slice| slice.system == 1) {
        let switches = slice.counter("connection_context_switches").unwrap();
        slice.counters.set("connection_context_switches", Some(2 * switches));
    }
    let text = in_format(&study, Format::TEXT);
    assert!(text.contains("omitted because no test differs by 2%: client µs/op\n"), "{text}");
    assert!(text.contains("2.00 → 4.00"), "{text}");
}

/// Most machines do not count instructions; then reports do not mention them.
#[test]
fn instructions_of_slices_are_a_figure_and_evidence() {
    let mut study = record(&["11.8"]);
    assert!(!in_format(&study, Format::HTML).contains("instr./op"));
    for slice in &mut study.slices {
        let each = [50_000, 52_400][slice.system];
        slice.counters.set("server_instructions", Some(each * slice.work.events));
    }
    let page = in_format(&study, Format::HTML);
    assert!(page.contains("instr./op") && page.contains("52,400"), "{page}");
    let message = |page: &str| page.matches("], instructions +4.8%, context switches").count();
    assert!(message(&page) > 1, "{page}");
    // Counts of only some slices are not those of the test.
    study.slices[1].counters.set("server_instructions", None);
    assert!(message(&in_format(&study, Format::HTML)) < message(&page), "{page}");
}

#[test]
fn differences_inherent_in_versions_are_noted_but_not_suspicious() {
    let mut study = record(&["11.8"]);
    let finding = |setting: &str, is_asked: bool, why: &str| AuditFinding {
        setting: setting.into(),
        values: vec![Some("a".into()), Some("b".into())],
        class: AuditClass::Expected,
        why: why.into(),
        is_asked,
        statements: Vec::new(),
    };
    study.audit = vec![
        finding("plan.scan", false, "`S`: executed with another plan by another version's planner"),
        finding("plan.point-query", true, "`S`: planned for another storage engine, as requested"),
        finding("innodb_doublewrite", true, "requested in a system's name, options or config file"),
        finding("build.pie", false, "position-independent code costs some CPU in every function"),
    ];
    for format in ALL {
        let text = in_format(&study, format).replace('\\', "");
        assert!(
            text.contains(
                "ifferences between the versions that no option can remove: the plan of scan"
            ),
            "{text}"
        );
        assert!(!text.to_lowercase().contains("suspicious audit"), "{text}");
    }
    assert!(in_format(&suspicious(study.clone()), Format::TEXT).starts_with("[suspicious audit]"));
    let text = in_format(&study, Format::TEXT);
    for message in [
        "expected: plan of scan = a → b: `S`: executed with",
        "expected: build.pie = a → b: position",
        "requested: innodb_doublewrite = a → b\n",
    ] {
        assert!(text.contains(message), "no `{message}` in {text}");
    }
}
