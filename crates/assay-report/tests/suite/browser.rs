//! Pages in a real browser: no errors, no overflow in any window, usable by keyboard, with screen readers, in print and
//! without JavaScript. Skipped without Chromium.

use assay_model::{Setup, StudyRecord, TestSet};
use assay_report::section::{
    AfterwardSection, JsonValue, JudgedStudy, SectionChart, SectionContent, Shade, ShadedCell,
    ShadedRow, ShadedTable, Values, chart, set_sections,
};
use assay_report::{Format, OtherStudy, TextOptions, beside, published, render};
use assay_verdict::{CellJudgement, comparable, judge};
use serde_json::{Value, json};

use crate::common::browser::{Browser, Window};
use crate::common::count_study::{changed, counted};
use crate::common::sequence::SequencePage;
use crate::common::studies::{FOUR, ONE, failed, study, with_setups};
use crate::common::{self, event_of, record, suspicious};

const OPTIONS: TextOptions = TextOptions { width: 80, color: false, verbose: true };

const DESK: Window = Window { width: 1400, is_dark: false, runs_scripts: true };

fn page(record: &StudyRecord) -> String {
    render(record, &judge(record), Format::HTML, &OPTIONS)
}

fn twelve() -> StudyRecord {
    let others: Vec<String> = (0..11).map(|number| format!("11.{number}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    study(&others, TestSet::Set32, &[ONE], false)
}

/// A section with a wide table and long charts, as those of a wing.
struct LongSection;

const LONG_STUDY: &str = "long";

impl AfterwardSection for LongSection {
    fn key(&self) -> &'static str {
        "look"
    }

    fn title(&self) -> &'static str {
        "a look"
    }

    fn content(&self, study: &JudgedStudy) -> Option<SectionContent> {
        if study.record.study.id != LONG_STUDY {
            return None;
        }
        let systems = study.record.systems.len();
        let names: Vec<String> = (0..systems).map(|it| study.label(it).to_owned()).collect();
        let cell = |shade| ShadedCell { text: "0.93 [0.91, 0.95]".to_owned(), shade };
        let row = |name: &String| ShadedRow {
            name: format!("points-covered-pk, {name}"),
            cells: vec![cell(Shade::Low), cell(Shade::None), cell(Shade::None), cell(Shade::None)],
        };
        let table = ShadedTable {
            title: "a look".to_owned(),
            note: "what its cells mean".to_owned(),
            corner: "test, system",
            columns: ["steady", "decay", "decay against the base", "stalls"]
                .map(str::to_owned)
                .to_vec(),
            rows: names.iter().map(row).collect(),
        };
        let values = |system: usize| {
            (system, (0..600).map(|it| Some(f64::from(9000 + 7 * (it % 20)))).collect())
        };
        let values: Vec<Values> = (0..systems).map(values).collect();
        let drawn = |test: &str| SectionChart {
            test: test.to_owned(),
            chart: chart("queries/s", &values, |top| format!("0 to {top}, 600 s")).unwrap(),
            summary: names.join(": steady; "),
        };
        Some(SectionContent {
            contradictions: vec!["the look contradicts the short turns".to_owned()],
            sentences: Vec::new(),
            findings: vec!["one of them stands still".to_owned()],
            tables: vec![table],
            notes: vec!["A note.".to_owned()],
            charts: vec![drawn("points-covered-pk"), drawn("scan")],
        })
    }

    fn value(&self, _: &StudyRecord, _: &CellJudgement) -> Option<JsonValue> {
        None
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// A study of three systems with long names, and a section of a wing.
fn looked() -> StudyRecord {
    set_sections(vec![&LongSection]);
    let mut record = record(&["11.4", "11.8"]);
    for (number, system) in record.systems.iter_mut().enumerate() {
        system.name = format!("mariadb@11.{number}+innodb_purge_threads=1+max_connections=500");
    }
    record.study.id = LONG_STUDY.to_owned();
    record
}

/// Names that are long and try to run something.
fn hostile() -> StudyRecord {
    const EVIL: &str = "\"'></style></title><script>window.harmed=1</script><img src=x onerror=alert(1)>\
        <svg onload=alert(2)>\u{1b}[2J\u{202e}averyveryveryveryveryveryveryveryverylongname";
    let mut record = suspicious(record(&["11.4", "11.8"]));
    record.systems.iter_mut().for_each(|system| system.name = EVIL.to_owned());
    for finding in &mut record.audit {
        (finding.setting, finding.why) = (EVIL.to_owned(), EVIL.to_owned());
        finding.values.fill(Some(EVIL.to_owned()));
    }
    record.runs[0].host.cpu = EVIL.to_owned();
    record.events[0].what = event_of(EVIL);
    (record.study.id, record.study.recipe) = (EVIL.to_owned(), EVIL.to_owned());
    record
}

fn pages() -> Vec<(&'static str, String)> {
    let two = study(&["11.8"], TestSet::Set32, &[ONE], true);
    let judged = judge(&two);
    let other = OtherStudy { record: &two, judgement: &judged, groups: &[], note: None };
    let sweep = [1, 4, 16].map(|clients| Setup { clients, ..ONE });
    let line = comparable(&[(&two, &judged)], |_, _| true).remove(0);
    let sequence = SequencePage { points: std::iter::repeat_n(line.points, 8).flatten().collect() };
    vec![
        ("two", page(&two)),
        ("one", page(&study(&[], TestSet::Set27, &[ONE], true))),
        ("several-setups", page(&failed(study(&["11.4", "11.8"], TestSet::Set27, &FOUR, true), 4))),
        ("twelve", page(&twelve())),
        ("sweep", page(&with_setups(record(&["11.4", "11.8"]), &sweep))),
        ("insert-bench", page(&common::ibench::benchmark())),
        ("counts", page(&counted(&[(0, changed()), (1, changed())]))),
        ("looked", page(&looked())),
        ("hostile", page(&hostile())),
        (
            "beside",
            beside((&two, &judged), &other).unwrap().render(Format::HTML, &OPTIONS).unwrap(),
        ),
        ("sequence", sequence.page().render(Format::HTML, &OPTIONS).unwrap()),
        ("published", published(&two, &judged).render(Format::HTML, &OPTIONS).unwrap()),
    ]
}

/// The elements that make a page wider than its window.
fn beyond(browser: &mut Browser, width: u32) -> Value {
    browser.value(&format!(
        "[...document.querySelectorAll('body *')].filter((it) => it.getBoundingClientRect().right > {width} + 1 \
         && (!it.closest('.scroll') || getComputedStyle(it.closest('.scroll')).overflowX === 'visible')).slice(-5)\
         .map((it) => `${{it.tagName}}.${{it.className}} ${{it.textContent.trim().slice(0, 40)}}`)"
    ))
}

/// Texts with too little contrast (WCAG 2.2, 1.4.3).
const FAINT: &str = r#"(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const mixed = (colors) => {
    for (const color of colors) { context.fillStyle = color; context.fillRect(0, 0, 1, 1); }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((it) => it / 255)
      .map((it) => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.closest("script, title, option, .hidden")) continue;
    const style = getComputedStyle(element);
    const behind = ["white"];
    const above = [];
    for (let it = element; it; it = it.parentElement) above.unshift(getComputedStyle(it).backgroundColor);
    const ground = [...behind, ...above];
    const color = element instanceof SVGElement ? style.fill : style.color;
    const [one, other] = [light(mixed(ground)), light(mixed([...ground, color]))];
    const contrast = Math.max(one, other) / Math.min(one, other);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5;
    if (contrast < least - 0.05)
      faint.add(`${element.tagName}.${element.getAttribute("class")} ${contrast.toFixed(2)}: ${text.slice(0, 30)}`);
  }
  return [...faint].slice(0, 10);
})()"#;

#[test]
fn the_names_of_a_matrix_are_not_squeezed() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&twelve()), Window { width: 360, ..DESK });
    let narrowest = "Math.min(...[...document.querySelectorAll('.matrix [scope=row]')]\
                     .map((it) => it.getBoundingClientRect().width))";
    let narrowest = browser.value(narrowest).as_f64().unwrap();
    assert!(narrowest > 90.0, "{narrowest}");
    let page = browser.value("document.documentElement.scrollWidth").as_u64().unwrap();
    assert!(page <= 360, "{page}");
}

#[test]
fn every_page_fits_every_window_and_nothing_goes_wrong() {
    let Some(mut browser) = Browser::start() else { return };
    let mut wrong = Vec::new();
    for (name, page) in pages() {
        for (width, is_dark) in
            [(360, false), (800, true), (1400, false), (1400, true), (2000, false)]
        {
            browser.open(&page, Window { width, is_dark, ..DESK });
            browser.picture(&format!("{name}-{width}{}", if is_dark { "-dark" } else { "" }));
            let at = format!("{name}, {width} pixels, dark: {is_dark}");
            let problems = browser.problems();
            browser.value(
                "document.querySelectorAll('.test details').forEach((it) => { it.open = true; })",
            );
            let wide = browser.value("document.documentElement.scrollWidth").as_u64().unwrap();
            if wide > u64::from(width) {
                wrong.push(format!("{at}: {wide} pixels: {}", beyond(&mut browser, width)));
            }
            // The same elements occur many times for twelve systems.
            let faint = if name == "twelve" { json!([]) } else { browser.value(FAINT) };
            let faint = faint.as_array().into_iter().flatten().map(Value::to_string);
            wrong.extend(problems.into_iter().chain(faint).map(|it| format!("{at}: {it}")));
        }
        assert!(browser.value("window.harmed === undefined").as_bool().unwrap(), "{name}");
        assert_eq!(browser.value("document.querySelectorAll('img').length"), 0, "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn names_can_be_read_in_a_narrow_window() {
    let Some(mut browser) = Browser::start() else { return };
    let record = twelve();
    let narrow = Window { width: 360, ..DESK };
    let published = published(&record, &judge(&record)).render(Format::HTML, &OPTIONS).unwrap();
    browser.open(&published, narrow);
    let heights = "[...document.querySelectorAll('.shaded th')].map((it) => it.getBoundingClientRect().height)";
    let tall = browser.value(&format!("Math.max(...{heights})")).as_f64().unwrap();
    assert!(tall < 80.0, "{tall}");
    let mut benchmark = common::ibench::benchmark();
    for (number, system) in benchmark.systems.iter_mut().enumerate() {
        system.name = format!("my8036_rel.cz11{number}_bee_with_a_long_name");
    }
    browser.open(&page(&benchmark), narrow);
    let wide = browser.value("document.documentElement.scrollWidth");
    assert_eq!(wide, 360, "{}", beyond(&mut browser, 360));
}

/// Charts fit a narrow window, no text leaves its chart, and wide tables scroll.
#[test]
fn a_section_of_a_wing_can_be_read_in_a_narrow_window() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&looked()), Window { width: 360, ..DESK });
    browser.value("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
    assert_eq!(browser.value("document.querySelectorAll('#look').length"), 1);
    let charts = browser.value("document.querySelectorAll('#look ~ * svg, #look svg').length");
    assert!(charts.as_u64().unwrap() >= 2, "{charts}");
    let cut = browser.value(
        "[...document.querySelectorAll('#look svg text')].filter((it) => { \
           const chart = it.ownerSVGElement.getBoundingClientRect(); \
           const text = it.getBoundingClientRect(); \
           return text.left < chart.left - 1 || text.right > chart.right + 1 \
               || text.top < chart.top - 1 || text.bottom > chart.bottom + 1; \
         }).map((it) => it.textContent)",
    );
    assert_eq!(cut, json!([]));
    let hidden = browser.value(
        "[...document.querySelectorAll('#look *')].filter((it) => { \
           const style = getComputedStyle(it); \
           return it.scrollWidth > it.clientWidth + 1 && it.clientWidth > 0 \
               && ['hidden', 'clip'].includes(style.overflowX); \
         }).map((it) => it.outerHTML.slice(0, 80))",
    );
    assert_eq!(hidden, json!([]));
}

const SHOWN: &str = "[...document.querySelectorAll('tbody.test')].filter((it) => it.checkVisibility())\
    .map((it) => it.rows[0].cells[0].dataset.v)";

fn shown(browser: &mut Browser) -> Vec<String> {
    serde_json::from_value(browser.value(SHOWN)).unwrap()
}

#[test]
fn tests_are_found_sorted_and_opened_by_keyboard() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&record(&["11.8"])), DESK);
    let all = shown(&mut browser);
    assert_eq!(all.len(), 5);
    browser.value("document.querySelector('[name=q]').focus()");
    browser.type_text("query");
    assert_eq!(shown(&mut browser), ["point-query"]);
    let count = |browser: &mut Browser| browser.value("document.getElementById('shown').value");
    assert_eq!(count(&mut browser), "1 of 5 tests");
    assert_eq!(browser.value("location.hash"), "#q=query");
    // The selection is part of the address.
    browser.open_again("#verdict=changed");
    let changed = shown(&mut browser);
    assert!((1..5).contains(&changed.len()), "{changed:?}");
    let words = "[...document.querySelectorAll('tbody.test')].filter((it) => it.checkVisibility())\
        .every((it) => /slower|faster|uneven/.test(it.dataset.verdict))";
    assert_eq!(browser.value(words), true);
    browser.value("document.querySelector('#filter [type=reset]').focus()");
    browser.press("Enter");
    // The page reacts to the reset in a timer, which runs before this one.
    browser.value("new Promise((done) => setTimeout(done))");
    assert_eq!(shown(&mut browser), all);
    // Upwards, downwards, as published.
    browser.value("document.querySelector('[data-sort=\"2\"] button').focus()");
    let ratios =
        "[...document.querySelectorAll('tbody.test')].map((it) => +it.rows[0].cells[2].dataset.v)";
    let sorted = |browser: &mut Browser| -> (Vec<f64>, Value) {
        let order = "document.querySelector('[data-sort=\"2\"]').getAttribute('aria-sort')";
        (serde_json::from_value(browser.value(ratios)).unwrap(), browser.value(order))
    };
    browser.press("Enter");
    let (upwards, order) = sorted(&mut browser);
    assert!(upwards.is_sorted() && order == "ascending", "{upwards:?} {order}");
    browser.press(" ");
    let (downwards, order) = sorted(&mut browser);
    assert!(downwards.iter().rev().is_sorted() && order == "descending", "{downwards:?} {order}");
    browser.press("Enter");
    assert_eq!((shown(&mut browser), sorted(&mut browser).1), (all, Value::Null));
    browser.value("document.querySelector('#test-1 summary').focus()");
    let details = "document.querySelector('#test-1 .more').checkVisibility()";
    assert_eq!(browser.value(details), false);
    browser.press("Enter");
    assert_eq!(browser.value(details), true);
    browser.picture("opened");
    let course = "document.querySelectorAll('#test-1 .rounds path').length";
    assert_eq!(browser.value(course), 2);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn the_tab_key_reaches_everything_and_shows_where_it_is() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&record(&["11.8"])), DESK);
    let mut reached = Vec::new();
    for _ in 0..80 {
        browser.press("Tab");
        let at = "(() => { const at = document.activeElement; return at === document.body ? null \
            : [at.tagName, getComputedStyle(at).outlineStyle, at.checkVisibility()]; })()";
        let at = browser.value(at);
        let Some(at) = at.as_array() else { break };
        assert_eq!((&at[1], &at[2]), (&json!("solid"), &json!(true)), "{reached:?} {at:?}");
        reached.push(at[0].as_str().unwrap().to_owned());
    }
    for tag in ["A", "INPUT", "SELECT", "BUTTON", "SUMMARY", "DIV"] {
        assert!(reached.iter().any(|it| it == tag), "{tag}: {reached:?}");
    }
}

#[test]
fn screen_readers_are_told_what_everything_is() {
    let Some(mut browser) = Browser::start() else { return };
    for (name, page) in pages() {
        if name == "twelve" {
            continue;
        }
        browser.open(&page, DESK);
        let tree = browser.call("Accessibility.getFullAXTree", json!({}));
        let nodes: Vec<&Value> = tree["nodes"].as_array().unwrap().iter().collect();
        let message =
            |node: &Value, what: &str| node[what]["value"].as_str().unwrap_or("").to_owned();
        let names_of_role = |role: &str| -> Vec<String> {
            let is_it = |it: &&&Value| it["ignored"] == false && message(it, "role") == role;
            nodes.iter().filter(is_it).map(|it| message(it, "name")).collect()
        };
        assert_eq!(names_of_role("main").len(), 1, "{name}");
        assert!(!names_of_role("heading").is_empty(), "{name}");
        for role in ["heading", "button", "link", "searchbox", "combobox", "image", "region"] {
            assert!(
                names_of_role(role).iter().all(|it| !it.trim().is_empty()),
                "{name}: {role} without a name"
            );
        }
        let language = browser.value("document.documentElement.lang");
        let title = browser.value("document.title");
        assert!(language == "en" && !title.as_str().unwrap().is_empty(), "{name}");
        let levels = "[...document.querySelectorAll('h1, h2, h3, h4')].map((it) => +it.tagName[1])";
        let levels: Vec<u8> = serde_json::from_value(browser.value(levels)).unwrap();
        let has_gap = levels.windows(2).any(|it| it[1] > it[0] + 1);
        assert!(levels.first() == Some(&1) && !has_gap, "{name}: {levels:?}");
    }
}

#[test]
fn without_javascript_the_page_is_whole() {
    let Some(mut browser) = Browser::start() else { return };
    let page = page(&record(&["11.8"]));
    browser.open(&page, Window { runs_scripts: false, ..DESK });
    assert_eq!(shown(&mut browser).len(), 5);
    let controls = "[...document.forms].some((it) => it.checkVisibility())";
    assert_eq!(browser.value(controls), false, "controls that do nothing");
    browser.value("document.querySelector('#test-1 summary').focus()");
    browser.press("Enter");
    let details = "document.querySelector('#test-1 .more').checkVisibility()";
    assert_eq!(browser.value(details), true);
    browser.open_again("#test-3");
    assert_eq!(browser.value("document.querySelector('#test-3 .more').checkVisibility()"), true);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn nothing_is_cut_off_in_print() {
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page(&study(&["11.8"], TestSet::Set32, &[ONE], false)), DESK);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let cut = "[...document.querySelectorAll('.scroll')].filter((it) => \
        getComputedStyle(it).overflowY !== 'visible' || it.scrollHeight > it.clientHeight + 1).length";
    assert_eq!(browser.value(cut), 0);
    let controls = "[...document.querySelectorAll('form, nav')].some((it) => it.checkVisibility())";
    assert_eq!(browser.value(controls), false);
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().len() > 20_000);
}
