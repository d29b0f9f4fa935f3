//! Counted instructions in reports: beside QPS, by function, as a flame graph, and as stacks.

use assay_model::{Count, Experiment, MatchedNames, StudyRecord};
use assay_report::{Format, TextOptions, answer, render, stacks};
use assay_verdict::judge;
use serde_json::{Value, json};

use crate::common::count_study::{changed, count, counted};

const OPTIONS: TextOptions = TextOptions { width: 120, color: false, verbose: true };

fn rendered(record: &StudyRecord, format: Format) -> String {
    render(record, &judge(record), format, &OPTIONS)
}

#[test]
fn a_page_draws_the_calls_of_counts_and_says_what_they_do_not_show() {
    let page = rendered(&counted(&[(0, changed())]), Format::HTML);
    let (_, rest) = page.split_once("<section id=\"counts\">").unwrap();
    let counts = rest.split_once("</section>").unwrap().0;
    for message in [
        "Calls of mariadb@11.8 by instructions: amber boxes take more instructions than in mariadb@10.11, blue ones \
         fewer",
        "class=\"cell worse\"",
        "parse: 3,000 → 3,400 instructions per operation",
        "read: 2,000 → 2,000 instructions per operation",
        // The builds differ, so functions without a name share a line.
        "mariadbd: 50.0 → 50.0 instructions per operation",
        "point-query: functions whose instructions changed in mariadb@11.8",
        "one thread at a time",
        "<tbody class=\"test\" id=\"count-1\">",
        "<svg class=\"strip slower\"",
        "parse +400",
    ] {
        assert!(counts.contains(message), "{message}: {counts}");
    }
    assert!(!counts.contains("µs"), "{counts}");
    assert!(page.contains("<a href=\"#counts\">Instructions</a>"), "{page}");
}

#[test]
fn functions_without_a_name_have_a_place_in_the_same_build() {
    let base = count(&[("parse", 3000), ("0x10", 50)]);
    let other = count(&[("parse", 3000), ("0x10", 450)]);
    let mut record = counted(&[(0, [base, other])]);
    let (first, rest) = record.systems.split_first_mut().unwrap();
    rest[0].artifact = first.artifact.clone();
    let page = rendered(&record, Format::HTML);
    assert!(page.contains("mariadbd+0x10: 50.0 → 450 instructions per operation"), "{page}");
    let text = rendered(&record, Format::TEXT);
    assert!(text.contains("mariadbd+0x10, called from run"), "{text}");
    assert!(!text.contains("without a name"), "{text}");
}

#[test]
fn a_test_is_a_row_with_the_ratios_of_all_systems() {
    let mut record = counted(&[(0, changed()), (1, changed())]);
    record.slices.clear();
    record.blocks.clear();
    record.study.experiment = Experiment::Counted;
    let text = rendered(&record, Format::TEXT);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("1.0787 [")).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].contains("point-query") && rows[0].contains("▼ more"), "{text}");
    assert!(text.contains("mariadb@10.11 instructions/op"), "{text}");
    let page = rendered(&record, Format::HTML);
    for message in ["<svg class=\"dots\"", "<a href=\"#count-1\">point-query</a>"] {
        assert!(page.contains(message), "{message}: {page}");
    }
}

#[test]
fn names_from_matching_code_have_a_mark_and_unnamed_functions_their_callers() {
    let [base, other] = changed();
    let mut other = Count { stripped: vec!["mariadbd".to_owned()], ..other };
    other.functions[3].own += 240_000;
    other.matched =
        MatchedNames { builds: vec!["mariadb 11.8.2 (maven)".to_owned()], functions: vec![1] };
    let record = counted(&[(0, [base, other])]);
    let text = rendered(&record, Format::TEXT);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for message in [
        "parse ≈ (mariadbd) 3,000 3,400 +400",
        "functions of mariadbd without a name, called from run 50.0 150 +100",
        "100% of all changes are in functions with a name or a named caller",
        "≈ marks names of functions in stripped files. Their code matches that of functions in mariadb 11.8.2 (maven):",
    ] {
        assert!(text.contains(message), "{message}: {text}");
    }
    let json: Value = serde_json::from_str(&rendered(&record, Format::JSON)).unwrap();
    let count = &json["cells"][1]["count"];
    let known = [0, 1, 2].map(|at: usize| &count["functions"][at]["by"]);
    assert_eq!(
        (known, &count["named_share"]),
        ([&json!("match"), &json!("caller"), &json!("symbol")], &json!(1))
    );
}

#[test]
fn the_sentence_on_a_test_has_both_qps_and_instructions() {
    let both = "20% slower; 7.9% more instructions, the rest is not instructions";
    let slower = counted(&[(0, changed())]);
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML, Format::JSON] {
        let message = rendered(&slower, format);
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(both), "{message}");
    }
}

#[test]
fn an_undecided_test_with_more_instructions_says_so_first() {
    let [base, other] = changed();
    let more = count(&[("parse", 3600), ("read", 2000), ("0x30", 50)]);
    let mut record = counted(&[(4, [base.clone(), other]), (1, [base, more])]);
    record.slices.retain(|slice| slice.block == 0 && slice.round == 0);
    let judgement = judge(&record);
    let lines = answer(&record, &judgement);
    assert_eq!(
        lines,
        [
            "mariadb@11.8.4 against mariadb@10.11.19: undecided in QPS in 5 of 5 tests, but 2 of these take more \
          instructions (9.8% in the median)"
        ]
    );
    let why = "undecided in QPS, but 7.9% more instructions";
    for format in [Format::TEXT, Format::MARKDOWN, Format::HTML, Format::JSON] {
        let message = rendered(&record, format);
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn batches_that_are_left_out_are_said() {
    let [base, mut other] = changed();
    let message = |other: &Count| {
        let text = rendered(&counted(&[(0, [base.clone(), other.clone()])]), Format::TEXT);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!message(&other).contains("left out"));
    other.instances[0][2].serving *= 2;
    let text = message(&other);
    let of_all = "1 pair of batches left out of ratios because of work that few batches have; all other numbers \
                  include it";
    assert!(text.contains(of_all), "{text}");
    let of_functions =
        "the lines add up to the change of all batches, also of those left out of the ratio";
    assert!(text.contains(of_functions), "{text}");
}

#[test]
fn counts_are_stacks_too() {
    let files = stacks(&counted(&[(0, changed())]));
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert!(names[0].ends_with("instructions") && names.len() == 2, "{names:?}");
    assert!(files[1].text.starts_with("run;parse 8160000\n"), "{}", files[1].text);
    assert!(files[1].text.contains("run;0x30 (mariadbd) 120000\n"), "{}", files[1].text);
}

#[test]
fn a_report_says_what_valgrind_hides_and_which_instruction_sets_were_used() {
    let with = |function| count(&[(function, 300), ("__strlen_avx2", 20)]);
    let record = counted(&[(0, [with("__memmove_avx_unaligned_erms"), with("memmove")])]);
    let text = rendered(&record, Format::TEXT);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for message in [
        "valgrind hides features of the CPU (avx512f, sha_ni), so a server",
        "mariadb@10.11 executed functions that are named after AVX, AVX2, ERMS.",
        "mariadb@11.8 executed functions that are named after AVX2.",
        "Not all of these systems executed functions for AVX, ERMS.",
    ] {
        assert!(text.contains(message), "{message}: {text}");
        assert!(rendered(&record, Format::HTML).contains(message), "{message}");
    }
    let document = |record: &StudyRecord| -> Value {
        serde_json::from_str(&rendered(record, Format::JSON)).unwrap()
    };
    let cpu = &document(&record)["valgrind_cpu"];
    assert_eq!(cpu["hidden"], json!(["avx512f", "sha_ni"]));
    assert_eq!(cpu["used"]["mariadb@11.8"], json!(["AVX2"]));
    assert_eq!(document(&counted(&[]))["valgrind_cpu"], Value::Null);
}
