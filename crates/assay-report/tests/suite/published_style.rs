//! Reports in the form of published posts.

use assay_model::{Product, Setup, StudyRecord};
use assay_report::{Format, TextOptions, published};
use assay_verdict::{GroupSummary, judge};

use crate::common::record;
use crate::common::studies::{ONE, with_setups};

fn shown(record: &StudyRecord, format: Format) -> String {
    let options = TextOptions { width: 100, color: false, verbose: true };
    published(record, &judge(record)).render(format, &options).unwrap()
}

/// A line of versions of MySQL beside one of MariaDB.
fn two_lines() -> StudyRecord {
    let mut record = record(&["8.0", "9.7", "11.8"]);
    for (system, name) in record.systems[1..3].iter_mut().zip(["mysql@8.0", "mysql@9.7"]) {
        (system.name, system.spec.product) = (name.to_owned(), Product::MySql);
    }
    record
}

/// As in the tables of posts, with two digits.
fn row(group: &GroupSummary) -> String {
    let values = [group.min, group.max, group.avg, group.median, group.stddev.unwrap()];
    let values = values.map(|value| format!("{value:.2}")).join(" | ");
    format!("| {} | {} | {values} |", group.group.word, group.n)
}

#[test]
fn groups_have_their_statistics() {
    let record = record(&["11.4", "11.8"]);
    let markdown = shown(&record, Format::MARKDOWN);
    assert!(markdown.contains("| group | tests | min | max | average | median | stddev |"));
    let groups = judge(&record).groups;
    let several: Vec<&GroupSummary> = groups.iter().filter(|it| it.stddev.is_some()).collect();
    assert_eq!(several.len(), 2);
    for group in several {
        assert!(markdown.contains(&row(group)), "{}\n{markdown}", row(group));
    }
    for heading in ["mariadb@11.4 / mariadb@10.11", "mariadb@11.8 / mariadb@10.11"] {
        assert_eq!(markdown.matches(heading).count(), 1, "{markdown}");
    }
    let text = shown(&record, Format::TEXT);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("have no intervals").count(), 1, "{text}");
}

#[test]
fn another_product_is_also_compared_with_its_own_first_version() {
    let record = two_lines();
    let pairs = judge(&record).group_pairs;
    let markdown = shown(&record, Format::MARKDOWN);
    for heading in ["mysql@9.7 / mysql@8.0", "mariadb@11.8 / mysql@9.7"] {
        assert!(markdown.contains(heading), "{markdown}");
    }
    for pair in pairs.iter().filter(|it| it.stddev.is_some()) {
        assert!(markdown.contains(&row(pair)), "{}\n{markdown}", row(pair));
    }
}

#[test]
fn every_client_count_has_its_statistics() {
    let setups = [1, 4].map(|clients| Setup { clients, ..ONE });
    let text = shown(&with_setups(record(&["11.8"]), &setups), Format::TEXT);
    for clients in [1, 4] {
        let heading = format!("mariadb@11.8 / mariadb@10.11, {clients} × 1 × 100,000");
        assert!(text.contains(&heading), "{text}");
    }
}

#[test]
fn the_page_has_every_chart_and_says_where_its_axis_begins() {
    let record = record(&["11.4", "11.8"]);
    let page = shown(&record, Format::HTML);
    let (charts, _) = published(&record, &judge(&record)).with_charts("svg");
    assert_eq!(page.matches("<svg class=\"chart\"").count(), charts.len(), "{page}");
    assert!(page.contains("The y axis starts at 0.7, not at 0."), "{page}");
    assert!(!page.contains(" style=\""), "{page}");
}
