//! Tests of the page of a search.

use assay_model::{Estimate, NamedVersion, SearchMeasure, Setup};
use assay_report::{FORMATS, TextOptions};

use super::*;

fn estimate(value: f64) -> Estimate {
    Estimate { value, low: value - 0.002, high: value + 0.002 }
}

fn version(name: &str, series: &str, ratio: Option<f64>, probability: f64) -> SearchedVersion {
    SearchedVersion {
        version: NamedVersion {
            words: format!("mariadb@{name}"),
            name: name.to_owned(),
            title: None,
        },
        series: series.to_owned(),
        ratio: ratio.map(estimate),
        comparisons: ratio.map_or(0, |_| 2),
        probability,
        unusable: None,
        source: ratio.map(|_| if series == "11.4" { "maven" } else { "apt" }.to_owned()),
    }
}

fn search(end: RangeEnd) -> Bisection<'static> {
    let broken = SearchedVersion {
        unusable: Some("does not start".to_owned()),
        ..version("11.4.2", "11.4", None, 0.0)
    };
    let versions = vec![
        version("10.11.19", "10.11", Some(1.0), 0.0),
        broken,
        version("11.4.5", "11.4", Some(0.901), 0.99),
        version("11.8.2", "11.8", None, 0.006),
        version("11.8.9", "11.8", Some(0.899), 0.004),
    ];
    let step = |at, probability, ratio| VersionStep {
        after: if at == 2 { 0 } else { at - 1 },
        at,
        probability,
        ratio: estimate(ratio),
    };
    let is_found = end == RangeEnd::Found;
    Bisection {
        id: "bisect-1",
        range: "mariadb@10.11..11.8",
        test: "points-covered-pk",
        setup: Setup { clients: 1, tables: 1, rows: 10_000 },
        measure: SearchMeasure::Instructions,
        is_of_commits: false,
        ranges: vec![SearchedRange {
            end,
            versions,
            steps: if is_found { vec![step(2, 0.99, 0.9)] } else { Vec::new() },
            runners_up: if is_found { vec![step(3, 0.006, 0.9)] } else { vec![step(2, 0.6, 0.9)] },
            ends: estimate(0.899),
            no_step: 0.0,
            several: 0.01,
        }],
        comparisons: 4,
        builds: 0,
        elapsed_s: 185.0,
        functions: Some(ChangedFunctions {
            unit: FunctionUnit::Instructions,
            changes: vec![("row_search_mvcc".to_owned(), Estimate::without_interval(-1234.0))],
        }),
        plan: Some(["index scan".to_owned(), "table scan".to_owned()]),
        commands: vec![("the comparison in full", "assay report s1".to_owned())],
    }
}

fn text(search: &Bisection<'_>, word: &str) -> String {
    let format = FORMATS.into_iter().find(|it| it.word == word).unwrap();
    let options = TextOptions { width: 120, color: false, verbose: true };
    bisection(search).render(format, &options).unwrap()
}

#[test]
fn functions_have_the_unit_that_they_were_compared_by() {
    let unit = FunctionUnit::CpuMicroseconds;
    let by = Estimate { value: 1.234, low: 1.0, high: 1.5 };
    let changes = vec![("btr_cur_search".to_owned(), by)];
    let functions = Some(ChangedFunctions { unit, changes });
    let search = Bisection { functions, ..search(RangeEnd::Found) };
    let found = text(&search, "text");
    assert!(
        found.contains("µs of CPU time per operation") && found.contains("+1.23 [+1.00, +1.50]"),
        "{found}"
    );
    let json: serde_json::Value = serde_json::from_str(&text(&search, "json")).unwrap();
    let row = &json["functions"][0];
    assert_eq!((&row["unit"], &row["change"]["value"]), (&"cpu_us".into(), &1.234.into()), "{row}");
}

#[test]
fn the_answer_names_version_size_and_probability() {
    let found = text(&search(RangeEnd::Found), "text");
    for part in [
        "points-covered-pk changed at 11.4.5: −10.0% [−10.2%, −9.8%] relative to 10.11.19, probability 99%",
        "11.4.2 cannot be used",
        "skipped: does not start",
        "10.11 and 11.4 are branches",
        "not needed: 1 other version",
        "from 2 sources: 10.11.19 is from apt, but 11.4.5 (maven) is not",
        "10.11.19 is from apt and 11.4.5 from maven: a part of the change",
        "row_search_mvcc",
        "4 comparisons, nothing built, 3 min 5 s",
        "assay report s1",
    ] {
        let flat = found.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(part), "{part} in\n{found}");
    }
    let page = text(&search(RangeEnd::Found), "html");
    assert!(page.contains("<title>11.4.5: 0.90</title>"), "{page}");
}

#[test]
fn a_search_without_an_answer_says_why() {
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = |end| flat(text(&search(end), "text"));
    assert!(
        message(RangeEnd::NoStep).contains("whether it changed between 10.11.19 and 11.8.9 is not")
    );
    let mut counted = search(RangeEnd::NoStep);
    assert!(!text(&counted, "text").contains("--count"));
    counted.ranges[0].ends = estimate(1.0);
    assert!(flat(text(&counted, "text")).contains("did not change between"));
    let mut equal = Bisection { measure: SearchMeasure::Qps, ..search(RangeEnd::NoStep) };
    equal.ranges[0].no_step = 0.9;
    assert!(text(&equal, "text").contains("no change was found between 10.11.19 and 11.8.9"));
    equal.ranges[0].ends = estimate(1.0);
    assert!(text(&equal, "text").contains("did not change between 10.11.19 and 11.8.9"));
    assert!(message(RangeEnd::Unsure).contains("where is not certain"));
    let mut doubtful = search(RangeEnd::Budget);
    doubtful.ranges[0].no_step = 0.3;
    doubtful.ranges[0].runners_up[0].probability = 0.5;
    let doubtful = text(&doubtful, "text");
    for part in [
        "whether it changed between 10.11.19 and 11.8.9 is not certain",
        "the most probable place is 11.4.5",
        "the budget allowed 4 comparisons",
        "a larger `--budget`",
        "not compared: 1 other version",
    ] {
        let flat = doubtful.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(part), "{part} in\n{doubtful}");
    }
    assert!(!doubtful.contains("other places"), "{doubtful}");
    let mut partly = search(RangeEnd::Unsure);
    partly.ranges[0].steps = search(RangeEnd::Found).ranges.remove(0).steps;
    let partly = text(&partly, "text");
    assert!(
        partly.contains("changed at 11.4.5") && partly.contains("elsewhere too is not certain")
    );
    assert!(message(RangeEnd::Interrupted).contains("was interrupted"));
    for end in [RangeEnd::Interrupted, RangeEnd::Unsure, RangeEnd::Budget] {
        let mut open = search(end);
        open.ranges[0].runners_up[0].probability = 0.06;
        for (version, probability) in
            open.ranges[0].versions.iter_mut().zip([0.0, 0.0, 0.06, 0.05, 0.05])
        {
            version.probability = probability;
        }
        let message = text(&open, "text").split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence =
            "no place is probable enough to be named, since the most probable one has 6%";
        assert!(message.contains(sentence), "{message}");
        assert!(
            !message.contains("place is 11.4.5") && message.contains("possible places: 11.4.5"),
            "{message}"
        );
        let json: serde_json::Value = serde_json::from_str(&text(&open, "json")).unwrap();
        assert!(json["answer"].is_null());
        // Nearly all of the probability is in a part of the range.
        open.ranges[0].versions[2].probability = 0.45;
        open.ranges[0].versions[3].probability = 0.5;
        let message = text(&open, "text").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            message.contains("with one of 11.4.5 to 11.8.2 with a probability of 95%"),
            "{message}"
        );
    }
    assert!(message(RangeEnd::Nothing).contains("fewer than two"));
    let empty = Bisection { ranges: Vec::new(), comparisons: 0, ..search(RangeEnd::Found) };
    assert!(text(&empty, "text").contains("nothing was compared yet"));
    assert!(text(&empty, "json").contains("\"answer\": null"));
}

#[test]
fn a_search_that_noise_ends_names_the_versions_that_remain() {
    let mut noisy = Bisection { measure: SearchMeasure::Cpu, ..search(RangeEnd::TooNoisy) };
    let probabilities = [0.0, 0.0, 0.05, 0.5, 0.45];
    for (version, probability) in noisy.ranges[0].versions.iter_mut().zip(probabilities) {
        version.probability = probability;
    }
    let noisy = text(&noisy, "text").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "the search stopped after 4 comparisons, because on a machine as noisy as this one, the rest",
        "the change came with one of 11.8.2 to 11.8.9 with a probability of 95%",
        "with `--count`, one comparison decides about a version",
        "of CPU time per operation of the serving threads need a quieter machine",
    ] {
        assert!(noisy.contains(part), "{part} in\n{noisy}");
    }
}

#[test]
fn json_has_the_contract() {
    let json: serde_json::Value =
        serde_json::from_str(&text(&search(RangeEnd::Found), "json")).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["measure"], "instructions");
    assert_eq!(json["range"], serde_json::json!(["10.11.19", "11.8.9"]));
    assert_eq!(json["answer"]["version"], "11.4.5");
    assert_eq!(json["answer"]["probability"], 0.99);
    assert_eq!(json["several"], serde_json::json!([]));
    assert_eq!(json["posterior"].as_array().unwrap().len(), 5);
    assert_eq!((&json["comparisons"], &json["builds"]), (&4.into(), &0.into()));
    let none: serde_json::Value =
        serde_json::from_str(&text(&search(RangeEnd::NoStep), "json")).unwrap();
    assert!(none["answer"].is_null());
}
