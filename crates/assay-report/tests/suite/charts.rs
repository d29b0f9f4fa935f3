//! Properties of every chart: a whole SVG, nothing from outside, no text over other text, no text that is markup.

use assay_model::{Setup, StudyRecord, TestSet};
use assay_report::{ChartFile, OtherStudy, beside, published, report};
use assay_verdict::{comparable, judge};
use roxmltree::{Document, Node};

use crate::common::record;
use crate::common::sequence::SequencePage;
use crate::common::studies::{FOUR, ONE, failed, study, with_setups};

fn drawn(record: &StudyRecord) -> Vec<ChartFile> {
    report(record, &judge(record)).with_charts("svg").0
}

fn names(charts: &[ChartFile]) -> Vec<&str> {
    charts.iter().map(|chart| chart.name.as_str()).collect()
}

fn twelve() -> StudyRecord {
    let others: Vec<String> = (0..11).map(|number| format!("11.{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let mut record = with_setups(record(&others), &FOUR);
    for (number, system) in record.systems.iter_mut().enumerate() {
        system.name = match number % 3 {
            0 => {
                format!("mariadb@git:https://example.org/server#a-branch-with-a-long-name-{number}")
            }
            1 => format!("mysql://user@database-{number}.example.org:3306/sbtest"),
            _ => format!("WWWW@数据库系统数据库系统数据库系统数据库系统 {number}"),
        };
    }
    record
}

fn sweep() -> StudyRecord {
    with_setups(
        record(&["10.12", "11.4", "11.8"]),
        &[1, 4, 16].map(|clients| Setup { clients, ..ONE }),
    )
}

fn all() -> Vec<StudyRecord> {
    let three = failed(record(&["11.4", "11.8"]), 4);
    vec![record(&["11.8"]), three, twelve(), sweep()]
}

/// In the units of the drawing, with letters as wide as those of DejaVu Sans on average.
struct TextBox {
    text: String,
    corners: [(f64, f64); 4],
}

fn text_box(node: Node) -> TextBox {
    let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let class = node.attribute("class").unwrap_or("");
    let size = match class {
        class if class.split(' ').any(|it| it == "small") => 10.0,
        "large" => 15.0,
        _ => 12.0,
    };
    let text = node.text().unwrap_or("").to_owned();
    let em = |c: char| if (c as u32) < 0x1100 { 0.54 } else { 1.0 };
    let width = size * text.chars().map(em).sum::<f64>();
    let (x, y) = (number("x"), number("y"));
    let left = match node.attribute("text-anchor") {
        Some("middle") => x - 0.5 * width,
        Some("end") => x - width,
        _ => x,
    };
    let turn = node.attribute("transform").map_or(0.0, |it| {
        let degrees = it.strip_prefix("rotate(").unwrap().split(' ').next().unwrap();
        degrees.parse::<f64>().unwrap().to_radians()
    });
    let turned = |(to_x, to_y): (f64, f64)| {
        let (dx, dy) = (to_x - x, to_y - y);
        (x + dx * turn.cos() - dy * turn.sin(), y + dx * turn.sin() + dy * turn.cos())
    };
    let (top, bottom) = (y - 0.72 * size, y + 0.1 * size);
    let corners = [(left, top), (left + width, top), (left + width, bottom), (left, bottom)];
    TextBox { text, corners: corners.map(turned) }
}

/// Separating axis theorem: a line along one of their sides separates them.
fn are_apart(one: &TextBox, other: &TextBox) -> bool {
    let sides = [one, other].into_iter().flat_map(|it| {
        let [a, b, c, _] = it.corners;
        [(b.0 - a.0, b.1 - a.1), (c.0 - b.0, c.1 - b.1)]
    });
    sides.into_iter().any(|(x, y)| {
        let along = |corners: &[(f64, f64); 4]| {
            let at = corners.map(|corner| corner.0 * x + corner.1 * y);
            (at.into_iter().fold(f64::MAX, f64::min), at.into_iter().fold(f64::MIN, f64::max))
        };
        let ((low, high), (least, most)) = (along(&one.corners), along(&other.corners));
        high <= least || most <= low
    })
}

#[track_caller]
fn assert_readable(chart: &ChartFile) {
    let document = Document::parse(&chart.svg).unwrap();
    let root = document.root_element();
    let side = |name| root.attribute(name).unwrap().parse::<f64>().unwrap();
    let (width, height) = (side("width"), side("height"));
    let texts = root.descendants().filter(|node| node.has_tag_name("text"));
    let boxes: Vec<TextBox> = texts.map(text_box).filter(|it| !it.text.is_empty()).collect();
    assert!(boxes.len() > 5, "{}", chart.name);
    for (number, one) in boxes.iter().enumerate() {
        let inside = |&(x, y): &(f64, f64)| x > -1.0 && y > 0.0 && x <= width + 1.0 && y <= height;
        assert!(one.corners.iter().all(inside), "{}: `{}` is outside", chart.name, one.text);
        for other in boxes.iter().skip(number + 1) {
            let (a, b) = (&one.text, &other.text);
            assert!(are_apart(one, other), "{}: `{a}` over `{b}`", chart.name);
        }
    }
}

#[test]
fn no_text_stands_over_another() {
    for record in all() {
        drawn(&record).iter().for_each(assert_readable);
    }
}

#[test]
fn every_chart_is_a_whole_file() {
    for record in all() {
        let charts = drawn(&record);
        let mut names = names(&charts);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), charts.len(), "{names:?}");
        for chart in &charts {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
            assert!(chart.name.chars().all(is_plain), "{}", chart.name);
            let document = Document::parse(&chart.svg).unwrap();
            for tag in ["title", "desc"] {
                let name = ("http://www.w3.org/2000/svg", tag);
                let node = document.descendants().find(|it| it.has_tag_name(name)).unwrap();
                assert!(node.text().is_some_and(|text| text.len() > 10), "{}", chart.name);
            }
            for word in ["NaN", "inf", "var(", "href", "url(", "<script"] {
                assert!(!chart.svg.contains(word), "{}: {word}", chart.name);
            }
            let style = document.descendants().find(|it| it.tag_name().name() == "style").unwrap();
            let classes = document.descendants().filter_map(|it| it.attribute("class"));
            for class in classes.flat_map(|it| it.split(' ')) {
                let known = style.text().unwrap().contains(&format!(".{class}"));
                assert!(known || class == "verdict", "{}: {class}", chart.name);
            }
        }
    }
}

#[test]
fn each_kind_of_study_has_its_charts() {
    let two = drawn(&record(&["11.8"]));
    assert_eq!(
        names(&two),
        ["groups", "rqps-point", "rqps-range-1", "rqps-range-2", "rqps-writes"]
    );
    let three = drawn(&record(&["11.4", "11.8"]));
    assert!(names(&three).contains(&"matrix") && names(&three).contains(&"versions-writes"));
    let sweep = drawn(&sweep());
    for name in ["clients-point", "matrix-c16-t1-r100000", "rqps-writes-c4-t1-r100000"] {
        assert!(names(&sweep).contains(&name), "{:?}", names(&sweep));
    }
    let mut unmeasured = record(&["11.8"]);
    unmeasured.slices.clear();
    assert_eq!(names(&drawn(&unmeasured)), [""; 0]);
}

#[test]
fn client_counts_have_response_times_and_seconds() {
    let setups = [ONE, Setup { clients: 4, ..ONE }];
    let charts = drawn(&study(&["11.8"], TestSet::Set27, &setups, false));
    let new = |chart: &&ChartFile| {
        ["response-times-", "seconds-"].iter().any(|it| chart.name.starts_with(it))
    };
    let new: Vec<&ChartFile> = charts.iter().filter(new).collect();
    let named = |name: &str| new.iter().find(|chart| chart.name == name).unwrap();
    assert_eq!(named("response-times-point").svg.matches("class=\"frame\"").count(), 9);
    assert!(named("seconds-insert").svg.contains("; 4 clients, "));
    new.into_iter().for_each(assert_readable);
}

#[test]
fn a_study_beside_another_one_has_a_scatter_plot() {
    let (ours, judgement) = (record(&["11.4", "11.8"]), judge(&record(&["11.4", "11.8"])));
    let other = OtherStudy { record: &ours, judgement: &judgement, groups: &[], note: None };
    let (charts, report) = beside((&ours, &judgement), &other).unwrap().with_charts("png");
    assert_eq!(names(&charts), ["beside-mariadb-11.4", "beside-mariadb-11.8"]);
    for chart in &charts {
        assert_readable(chart);
        assert_eq!(chart.svg.matches("<circle").count(), 5);
        assert_eq!(report.matches(&format!("]({}.png)", chart.name)).count(), 1, "{report}");
    }
}

#[test]
fn a_test_over_many_studies_has_a_chart() {
    let (study, judgement) = (record(&["11.8"]), judge(&record(&["11.8"])));
    let lines = comparable(&[(&study, &judgement)], |cell, _| cell.test.name() == "insert");
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let points = (0..40)
        .map(|number| {
            let mut point = line.points[0].clone();
            point.version = format!("11.8.{}", number / 2);
            point.rqps.value *= 1.0 + 0.002 * f64::from(number % 5);
            point
        })
        .collect();
    let (charts, report) = SequencePage { points }.page().with_charts("svg");
    let [chart] = charts.as_slice() else { panic!("{:?}", names(&charts)) };
    assert_readable(chart);
    assert!(chart.svg.contains("11.8.19"), "{}", chart.svg);
    assert!(report.contains("](sequence.svg)") && report.contains("| 11.8.3 |"), "{report}");
}

#[test]
fn published_charts_say_where_their_axes_begin_and_end() {
    let mut record = record(&["11.4", "11.8"]);
    let dwarf = record.study.cells.iter().find(|it| it.id.test.name() == "point-query").unwrap().id;
    for slice in record.slices.iter_mut().filter(|it| it.cell == dwarf && it.system == 2) {
        slice.work.elapsed_ns /= 5;
    }
    let judgement = judge(&record);
    let (charts, report) = published(&record, &judgement).with_charts("svg");
    let [point, cut, ..] = &charts[..] else { panic!("{:?}", names(&charts)) };
    assert_eq!(
        (point.name.as_str(), cut.name.as_str()),
        ("published-point", "published-point-cut")
    );
    charts.iter().for_each(assert_readable);
    assert!(point.svg.contains("The y axis starts at 0.7, not at 0."), "{}", point.svg);
    assert!(cut.svg.contains("is cut off at 0.93: point-query reaches 4.00"), "{}", cut.svg);
    assert!(
        report.contains("](published-point-cut.svg)") && report.contains("| 0.80 |"),
        "{report}"
    );
}

#[test]
fn the_report_shows_every_chart_once() {
    for record in all() {
        let judgement = judge(&record);
        let (charts, report) = report(&record, &judgement).with_charts("png");
        for chart in &charts {
            let file = format!("]({}.png)", chart.name);
            assert_eq!(report.matches(&file).count(), 1, "{file}");
        }
    }
}

#[test]
fn names_cannot_add_markup() {
    const EVIL: &str = "\"'><script>alert(1)</script>\u{1b}[2J\u{202e}![x](y)";
    let mut record = record(&["11.4", "11.8"]);
    for system in &mut record.systems {
        system.name = EVIL.to_owned();
    }
    let judgement = judge(&record);
    let (charts, report) = report(&record, &judgement).with_charts("svg");
    for chart in &charts {
        assert!(Document::parse(&chart.svg).is_ok(), "{}", chart.name);
        assert!(!chart.svg.contains("<script"), "{}", chart.name);
        assert!(!chart.svg.contains(['\u{1b}', '\u{202e}']), "{}", chart.name);
    }
    assert!(!report.contains("![x]") && !report.contains("<script"), "{report}");
    assert_eq!(report.matches("\n![").count(), charts.len());
}

#[test]
fn the_same_study_gives_the_same_charts() {
    let record = sweep();
    assert_eq!(drawn(&record), drawn(&record.clone()));
}
