//! Answers of a small map, as text, JSON and a page.

use assay_map_data::{CountMap, MapFunction, change, changes, moved, read_rows};
use assay_model::Product;
use assay_report::{Format, Page, TextOptions};

use super::*;

/// Two tests over four releases, of which the last comes from another source.
fn map() -> CountMap {
    let header = "product,version,source,program,test,digest,terms,instructions,half_width,background,\
                  times,counter,shown\n";
    let mut text = header.to_owned();
    for (version, source, scan, points) in [
        ("5.7.44", "maven", 40_000.0, 20_000.0),
        ("8.0.11", "maven", 40_040.0, 26_000.0),
        ("8.0.12", "maven", 50_050.0, 26_000.0),
        ("9.7.1", "apt", 52_500.0, 26_000.0),
    ] {
        for (test, level) in [("scan", scan), ("hot-points", points)] {
            let half = level / 10_000.0;
            text += &format!(
                "mysql,{version},{source},0a,{test},d1,lean,{level:.1},{half:.1},,2,valgrind 3.19.0,avx2\n"
            );
        }
    }
    CountMap::new(read_rows("mysql.csv", &text).unwrap(), Vec::new())
}

const OPTIONS: TextOptions = TextOptions { width: 120, color: false, verbose: true };

fn function(name: &str, instructions: f64) -> MapFunction {
    MapFunction { instructions, module: "mysqld".to_owned(), name: name.to_owned() }
}

fn with_pair(then: impl FnOnce(&ReleasePair<'_>)) {
    let map = map();
    let pair = ["5.7.44", "9.7.1"].map(|version| (Product::MySql, version));
    let all = changes(&map, pair);
    let base = [function("row_search_mvcc", 900.0), function("parse", 50.0)];
    let other = [function("row_search_mvcc", 1500.0)];
    let rows = all.iter().map(|change| (change, moved(&base, &other, 2))).collect();
    let names = ["mysql@5.7.44", "mysql@9.7.1"].map(str::to_owned);
    then(&ReleasePair { names, rows, is_whole: false });
}

#[test]
fn a_pair_has_its_steps_and_functions() {
    with_pair(|result| {
        let text = Page::new(result).render(Format::TEXT, &OPTIONS).unwrap();
        for part in [
            "mysql@9.7.1 executes more instructions per operation than mysql@5.7.44",
            "+31.2%",
            "8.0.12 +25.0%",
            "5.7.44 → 8.0.11: +30.0% [+30.0%, +30.0%]",
            "8.0.12 → 9.7.1: +4.9% [+4.9%, +4.9%] ‡",
            "the rest: +0.1%",
            "row_search_mvcc",
            "+600",
            "valgrind 3.19.0",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let page = Page::new(result).render(Format::HTML, &OPTIONS).unwrap();
        assert!(page.contains("row_search_mvcc") && page.contains("mysql@5.7.44"));
    });
}

#[test]
fn a_pair_in_json_has_the_shape_that_scripts_read() {
    with_pair(|result| {
        let text = Page::new(result).render(Format::JSON, &OPTIONS).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["schema"], 1);
        assert_eq!(document["base"], "mysql@5.7.44");
        let test = &document["tests"][0];
        assert_eq!((&test["test"], &test["verdict"]), (&"scan".into(), &"more".into()));
        assert_eq!(test["largest_step"], "8.0.12");
        assert!((test["ratio"]["value"].as_f64().unwrap() - 1.3125).abs() < 1e-9);
        let steps = test["steps"].as_array().unwrap();
        assert_eq!((&steps[0]["from"], &steps[0]["to"]), (&"8.0.11".into(), &"8.0.12".into()));
        assert_eq!(steps[1]["is_counted_alike"], false);
        assert_eq!(test["functions"][0]["name"], "row_search_mvcc");
        let rows = Page::new(result).render(Format::CSV, &OPTIONS).unwrap();
        assert_eq!(rows.lines().count(), 3);
        assert!(rows.lines().nth(1).unwrap().starts_with("scan,40000,"), "{rows}");
    });
}

#[test]
fn a_history_names_the_releases_with_steps() {
    let map = map();
    let (first, last) = ("5.7.44", "8.0.12");
    let pair = [first, last].map(|version| (Product::MySql, version));
    let row = |test| {
        let mut line = map.line(Product::MySql, test, &[first, last]);
        line.retain(|cell| cell.version != "9.7.1");
        (change(&map, test, pair).unwrap(), line)
    };
    let releases = vec!["5.7.44", "8.0.11", "8.0.12"];
    let ends = [first, last].map(|version| format!("mysql@{version}"));
    let all = ReleaseHistory { ends, releases, rows: vec![row("hot-points"), row("scan")] };
    let text = Page::new(&all).render(Format::TEXT, &OPTIONS).unwrap();
    for part in [
        "mysql@5.7.44 to mysql@8.0.12, 3 releases: 2 of 2 tests changed, with 2 releases",
        "hot-points +30.0%",
        "scan +25.0%",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let text = Page::new(&all).render(Format::JSON, &OPTIONS).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["releases"].as_array().unwrap().len(), 3);
    assert_eq!(document["tests"][1]["levels"][2]["version"], "8.0.12");
    let one = ReleaseHistory { rows: vec![row("scan")], ..all };
    let page = Page::new(&one).render(Format::HTML, &OPTIONS).unwrap();
    assert!(page.contains("<svg"), "one test has a chart");
}

#[test]
fn a_check_says_what_differs() {
    let map = map();
    let cells = map.cells();
    let here = |value: f64| Some(Estimate { value, low: value - 1.0, high: value + 1.0 });
    let checked_cell = |cell, here, agrees| CheckedCell { cell, here, agrees };
    let all = CheckedCells {
        cells: vec![
            checked_cell(&cells[0], here(20_010.0), true),
            checked_cell(&cells[1], here(44_000.0), false),
            checked_cell(&cells[2], None, false),
        ],
    };
    let text = Page::new(&all).render(Format::TEXT, &OPTIONS).unwrap();
    for part in
        ["1 of 3 counts agree", "mysql@5.7.44", "= agrees", "≠ differs", "+10.0%", "not counted"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn changes_are_percentages_or_factors() {
    assert_eq!([1.312, 0.96, 1.0001, 1.0].map(percent), ["+31.2%", "−4.0%", "0.0%", "0.0%"]);
    assert_eq!(percent(12.3), "12.3 times");
    let far = Estimate { value: 12.3, low: 12.2, high: 12.4 };
    assert!(change_with_interval(far).ends_with(" times"));
}
