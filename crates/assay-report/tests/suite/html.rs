//! Properties of every page: it is one whole file, loads nothing from outside, and no text becomes markup.

use assay_model::{Artifact, Estimate, ReportedServer, Setup, StudyRecord, TestSet};
use assay_report::{Format, TextOptions, render};
use assay_verdict::{Judgement, judge};

use crate::common::studies::{FOUR, ONE, failed, study, with_setups};
use crate::common::{event_of, prefix_of, record, suspicious};

fn rendered(record: &StudyRecord, judgement: &Judgement) -> String {
    render(record, judgement, Format::HTML, &TextOptions { width: 80, color: false, verbose: true })
}

fn page(record: &StudyRecord) -> String {
    rendered(record, &judge(record))
}

fn unmeasured() -> StudyRecord {
    let mut empty = record(&["11.8"]);
    empty.slices.clear();
    empty.finished = false;
    empty
}

/// Eleven versions against the base in eighty cells.
fn large() -> StudyRecord {
    let others: Vec<String> = (0..11).map(|number| format!("11.{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let mut small = record(&others);
    small.slices.retain(|slice| slice.round < 2);
    let clients: Vec<Setup> = (1..=16).map(|clients| Setup { clients, ..ONE }).collect();
    with_setups(small, &clients)
}

fn studies() -> Vec<StudyRecord> {
    vec![
        record(&["11.8"]),
        large(),
        unmeasured(),
        failed(study(&["11.4", "11.8"], TestSet::Set32, &[ONE], false), 4),
        suspicious(study(&["11.8"], TestSet::Set42, &FOUR, true)),
    ]
}

/// Without markup, style and script, one line for each piece of text.
fn text(page: &str) -> String {
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    let mut text = String::new();
    for piece in body.split('<') {
        let words = piece.split_once('>').map_or("", |(_, words)| words).trim();
        if !words.is_empty() {
            text.push_str(words);
            text.push('\n');
        }
    }
    text
}

/// Every tag in order: whether it closes, its name, its attributes.
fn tags(page: &str) -> Vec<(bool, &str, &str)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
        tags.push((closes, name, attributes));
        if !closes && ["style", "script"].contains(&name) {
            rest = &rest[rest.find(&format!("</{name}")).unwrap()..];
        }
    }
    tags
}

#[test]
fn every_element_is_closed_in_its_place() {
    const VOID: [&str; 4] = ["!DOCTYPE", "meta", "br", "input"];
    for study in studies() {
        let page = page(&study);
        let mut open = Vec::new();
        for (closes, name, attributes) in tags(&page) {
            if closes {
                assert_eq!(open.pop(), Some(name));
            } else if !VOID.contains(&name) && !attributes.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }
}

#[test]
fn every_link_leads_to_a_place_on_the_page() {
    for study in studies() {
        let page = page(&study);
        for link in page.split("href=\"").skip(1) {
            let target = link.split('"').next().unwrap().strip_prefix('#').unwrap();
            assert_eq!(page.matches(&format!("id=\"{target}\"")).count(), 1, "{target}");
        }
    }
}

#[test]
fn the_answer_stands_above_the_warnings_and_these_above_the_tables() {
    let mut study = record(&["11.8"]);
    study.finished = false;
    let page = page(&study);
    let at = |what: &str| page.find(what).unwrap();
    assert!(at("class=\"sentence\"") < at("class=\"warning\""));
    assert!(at("class=\"why\"") < at("class=\"warning\""));
    assert!(at("class=\"warning\"") < at("<table"));
}

#[test]
fn the_page_loads_nothing_from_outside() {
    for study in studies() {
        let page = page(&study);
        for word in [
            "http:", "https:", "\"//", "'//", "(//", "src=", "url(", "@import", "fetch(", "import(",
        ] {
            assert!(!page.contains(word), "{word}");
        }
        let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
        let policy = policy.split('"').next().unwrap().replace("&#39;", "'");
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (1, 1));
        for (_, name, attributes) in tags(&page) {
            let inline =
                [" style=", " onclick=", " onload="].iter().any(|word| attributes.contains(word));
            assert!(!inline && !attributes.starts_with("style="), "<{name} {attributes}>");
        }
    }
}

#[test]
fn the_same_study_gives_the_same_bytes() {
    let record = study(&["11.8"], TestSet::Set32, &[ONE], true);
    assert_eq!(page(&record), page(&record.clone()));
}

#[test]
fn text_of_users_and_servers_is_escaped() {
    const EVIL: &str = "\"'><script>alert(1)</script><!--{{x}}";
    let mut record = study(&["11.8"], TestSet::Set32, &FOUR, true);
    for system in &mut record.systems {
        system.name = EVIL.into();
        system.options = vec![EVIL.into()];
        let prefix = prefix_of(system);
        prefix.version = EVIL.into();
        prefix.sha256 = EVIL.into();
        prefix.build.source = EVIL.into();
        prefix.build.package_version = EVIL.into();
        prefix.build.notes = vec![EVIL.into()];
        system.spec.overrides = vec![(EVIL.into(), EVIL.into())];
    }
    prefix_of(&mut record.systems[1]).build.channel = EVIL.into();
    for finding in &mut record.audit {
        finding.setting = EVIL.into();
        finding.why = EVIL.into();
        finding.values.fill(Some(EVIL.into()));
    }
    let host = &mut record.runs[0].host;
    for text in [&mut host.cpu, &mut host.os, &mut host.kernel, &mut host.filesystem] {
        *text = EVIL.into();
    }
    host.hypervisor = Some(EVIL.into());
    record.events[0].what = event_of(EVIL);
    record.study.recipe = EVIL.into();
    record.study.id = EVIL.into();
    let mut judgement = judge(&suspicious(record.clone()));
    for cell in &mut judgement.cells {
        cell.why = Some(EVIL.into());
        cell.failure = Some(EVIL.into());
    }
    let page = rendered(&suspicious(record), &judgement);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<!--") && !page.contains("\"'>"));
    let scripts = tags(&page).iter().filter(|(_, name, _)| *name == "script").count();
    assert_eq!(scripts, 2, "opened and closed once");
    assert!(page.matches("&#60;script&#62;").count() > 20, "it is shown all the same");
}

#[test]
fn words_between_backticks_are_code_and_nothing_in_them_is_markup() {
    let mut record = record(&["11.8"]);
    record.events[0].what = event_of("set `<b>--x</b>`, then ` alone");
    record.audit.extend(suspicious(record.clone()).audit);
    for finding in &mut record.audit {
        finding.why = "see `option`".into();
    }
    let mut judgement = judge(&record);
    judgement.cells.iter_mut().for_each(|cell| cell.why = Some("`change` by `option".into()));
    let page = rendered(&record, &judgement);
    assert!(page.contains("<code>&#60;b&#62;--x&#60;/b&#62;</code>, then ` alone"), "{page}");
    assert!(page.contains("<td data-h=\"Why\">see <code>option</code></td>"), "{page}");
    assert!(page.contains("<span class=\"why\"><code>change</code> by `option</span>"), "{page}");
}

#[test]
fn a_suspicious_audit_is_reported_first() {
    let page = page(&suspicious(record(&["11.8"])));
    assert!(text(&page).starts_with("✗ Suspicious audit\n"), "{}", text(&page));
    assert!(text(&self::page(&record(&["11.8"]))).starts_with("assay\n"));
}

#[test]
fn a_twin_is_a_line_rather_than_a_column() {
    let record = study(&["11.8"], TestSet::Set32, &[ONE], true);
    let page = page(&record);
    assert!(page.contains("A/A twin: 0 false calls in 32 tests of mariadb@10.11 against itself;"));
    let table = page.split_once("id=\"table\"").unwrap().1.split_once("</thead>").unwrap().0;
    assert!(!table.contains("twin"));
    assert_eq!(table.matches("class=\"system\"").count(), 1);
}

#[test]
fn a_command_is_shown_only_if_it_repeats_the_study() {
    let mut record = study(&["11.8"], TestSet::Set27, &[ONE], false);
    record.study.recipe = "# assay compare a@1 b@2\ncompare = [\"a@1\", \"b@2\"]\n".into();
    let message = "To repeat this study on your machine";
    assert!(
        page(&record).contains(message) && page(&record).contains("<pre>assay compare a@1 b@2")
    );
    record.study.recipe = "compare = [\"old\", \"new\"]\n".into();
    assert!(!page(&record).contains(message) && page(&record).contains("assay run study.toml"));
    record.study.recipe.clear();
    assert!(!page(&record).contains(message) && !page(&record).contains("assay run study.toml"));
}

#[test]
fn every_test_has_one_row_under_every_setup() {
    let record = study(&["11.4", "11.8"], TestSet::Set32, &FOUR, false);
    let judgement = judge(&record);
    let page = rendered(&record, &judgement);
    assert_eq!(page.matches("<tbody class=\"test\"").count(), 64);
    assert_eq!(page.matches("<svg class=\"strip").count(), 64 * 2 + judgement.groups.len());
}

#[test]
fn a_large_study_is_a_small_file() {
    let page = page(&study(&["11.4", "11.8"], TestSet::Set47, &[ONE], true));
    assert!(page.len() < 422_000, "{} bytes", page.len());
    let others: Vec<String> = (0..11).map(|number| format!("11.{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let page = self::page(&study(&others, TestSet::Set47, &[ONE], false));
    assert!(page.len() < 1_580_000, "{} bytes", page.len());
}

#[test]
fn a_study_too_large_for_a_table_of_figures_is_a_matrix() {
    let page = page(&large());
    assert!(page.len() < 1_400_000, "{} bytes", page.len());
    assert!(!page.contains("<section id=\"tests\">") && !page.contains("href=\"#tests\""));
    assert_eq!(page.matches("<tr id=\"test-").count(), 80);
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 80 + 5 * 2);
}

#[test]
fn unknown_values_are_not_shown_as_numbers() {
    let record = study(&["11.8"], TestSet::Set27, &[ONE], false);
    let mut judgement = judge(&record);
    for cell in &mut judgement.cells {
        let without = |e: Estimate| Estimate::without_interval(e.value);
        (cell.qps, cell.rqps) = (cell.qps.map(without), cell.rqps.map(without));
    }
    for page in [rendered(&record, &judgement), page(&unmeasured())] {
        for word in ["NaN", "inf ", "None", "Some("] {
            assert!(!text(&page).contains(word), "{word}");
        }
        assert!(!page.contains("\"NaN"));
    }
}

#[test]
fn what_a_small_study_says() {
    insta::assert_snapshot!(text(&page(&record(&["11.8"]))));
}

#[test]
fn published_results_have_the_cpu_of_the_machine() {
    let mut record = record(&["11.8"]);
    assert!(text(&page(&record)).contains("CPU ×: server CPU per operation"));
    for system in &mut record.systems {
        system.artifact = Artifact::Reported(ReportedServer {
            reported_in: "a post".to_owned(),
            product: None,
            version: "11.8".to_owned(),
            notes: Vec::new(),
        });
    }
    assert!(text(&page(&record)).contains("CPU ×: machine CPU per operation"));
}

#[test]
fn a_system_alone_is_compared_with_itself() {
    let page = page(&study(&[], TestSet::Set27, &[ONE], true));
    assert!(page.contains("<title>mariadb@10.11.19 against itself · assay</title>"));
    assert!(text(&page).contains("against\nitself"), "{}", text(&page));
}
