//! The posts that come with assay, and the page of one that was measured.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_model::{
    Artifact, RunningServer, Slice, Study, System, Test, TestSet, WorkCounters, counted,
};
use assay_plan::StudyPlan;
use assay_report::TextOptions;

use super::*;

/// Large enough for every published study.
const LARGE: MachineFacts =
    MachineFacts { cpus: 64, memory_mb: 4_000_000, disk_mb: 40_000_000, realtime: None };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../posts")
}

fn names_of(systems: &[SystemRequest]) -> BTreeSet<&str> {
    systems.iter().map(|it| it.name.as_deref().unwrap_or(&it.words)).collect()
}

#[test]
fn every_post_of_the_repository_is_in_the_program() {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.join("study.toml").exists() {
            found.push(name);
            continue;
        }
        // Only statements, for studies of the author's own files.
        for entry in fs_err::read_dir(&path).unwrap() {
            let file = entry.unwrap().path();
            let shown = file.display().to_string();
            assert!(shown.contains("/claims"), "{shown}");
            let text = fs_err::read_to_string(&file).unwrap();
            assay_claim_check::read_claims(&shown, &text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    found.sort();
    let shipped: Vec<&str> = POSTS.iter().map(|post| post.name).collect();
    assert_eq!(shipped, found);
    for post in POSTS {
        let is_io = folder().join(post.name).join("study-io.toml").exists();
        assert_eq!(post.sets.len(), 1 + usize::from(is_io), "{}", post.name);
        let (month, subject) = post.month_and_subject();
        assert!(month.contains('-') && !subject.is_empty(), "{}", post.name);
    }
}

#[test]
fn a_post_is_found_by_a_part_of_its_name() {
    let name = |words| found(words).map(|post| post.name).map_err(|error| error.to_string());
    assert_eq!(name("latin1"), Ok("2026-04-mariadb-latin1"));
    assert_eq!(name("2025-08-mysql-small"), Ok("2025-08-mysql-small"));
    assert!(name("insert-benchmark").unwrap_err().contains("`insert-benchmark`"));
    assert!(name("no-such-post").is_err());
}

/// Printed numbers name systems and tests that their studies have, and counterparts that here.toml has.
#[test]
fn printed_numbers_belong_to_their_studies() {
    for post in POSTS {
        let printed = PrintedPost::read(post.printed.text)
            .unwrap_or_else(|error| panic!("{}: {error:#}", post.name));
        for table in &printed.tables {
            let title = format!("{}: {}", post.name, table.title);
            let of_table = |set: &&PostSet| set.study.name() == table.study;
            let set = post.sets.iter().find(of_table).unwrap_or_else(|| panic!("{title}"));
            let request = set.study.request().unwrap();
            let systems = names_of(&request.systems);
            for column in table.columns() {
                assert!(systems.contains(column.system), "{title}: {}", column.system);
            }
            assert!(table.base.as_deref().is_none_or(|base| systems.contains(base)), "{title}");
            let plan = planned_study(&request, &title);
            for row in table.rows.keys() {
                assert!(has_row(&plan.study, row), "{title}: {row}");
            }
        }
        let [mut study, mut here] = [BTreeSet::new(), BTreeSet::new()];
        for set in post.sets {
            let requests = [set.study, set.here].map(|file| file.request().unwrap());
            let names = requests.each_ref().map(|request| names_of(&request.systems));
            study.extend(names[0].iter().map(|name| (*name).to_owned()));
            here.extend(names[1].iter().map(|name| (*name).to_owned()));
        }
        for (name, counterpart) in &printed.here {
            assert!(study.contains(name), "{}: {name}", post.name);
            assert!(here.contains(counterpart), "{}: {counterpart}", post.name);
        }
    }
}

fn planned_study(request: &Request, title: &str) -> StudyPlan {
    assay_plan::plan(request, LARGE).unwrap_or_else(|error| panic!("{title}: {error}"))
}

fn has_row(study: &Study, row: &str) -> bool {
    let set: TestSet = study.set;
    let is_row = |test: Test| beside::names_test(row, test.name()) || test.group(set).word == row;
    study.cells.iter().any(|cell| is_row(cell.id.test))
}

#[test]
fn every_file_of_a_post_can_be_read() {
    for post in POSTS {
        for set in post.sets {
            let claims = set.claims().unwrap_or_else(|error| panic!("{error}"));
            assert!(!claims.claims.is_empty(), "{}", post.name);
            for file in [set.study, set.here] {
                let request = file.request().unwrap_or_else(|error| panic!("{error}"));
                planned_study(&request, file.path);
                let head = file.head();
                assert!(!head.is_empty() && head.iter().all(|it| !it.contains('#')), "{head:?}");
            }
        }
    }
}

/// The same question can be counted, unless it is one of steps.
#[test]
fn a_post_can_be_answered_by_counts() {
    for post in POSTS {
        for set in post.sets {
            let request = set.here.request().unwrap();
            let is_stepwise = request.insert_bench.is_some();
            let plan = assay_plan::plan(&only_counted(request), LARGE);
            assert_eq!(plan.is_ok(), !is_stepwise, "{}", post.name);
        }
    }
}

#[test]
fn the_list_says_what_can_be_had_here() {
    let known = assay_provision::catalog_names().unwrap();
    let listed: Vec<ListedPost> =
        POSTS.iter().map(|post| listed(post, &known, LARGE).unwrap()).collect();
    let page = list::posts(&listed);
    let options = TextOptions { width: 120, color: false, verbose: true };
    let json: serde_json::Value =
        serde_json::from_str(&page.render(Format::JSON, &options).unwrap()).unwrap();
    let first = &json["posts"][1];
    assert_eq!(
        (&first["month"], &first["subject"]),
        (&"2024-04".into(), &"mariadb-mysql-small".into())
    );
    assert_eq!(first["studies"][0]["seconds"], 1800);
    assert_eq!(first["studies"][0]["systems"][0]["available"], true);
    let text = page.render(Format::TEXT, &options).unwrap();
    assert!(text.contains("30 min") && text.contains("Axel Schwenke"), "{text}");
}

fn running(planned: Vec<assay_plan::PlannedSystem>) -> Vec<System> {
    let system = |(number, planned): (usize, assay_plan::PlannedSystem)| System {
        artifact: Artifact::Running(RunningServer {
            url: format!("mysql://localhost:{number}/x"),
            product: planned.spec.product,
            version: planned.name.rsplit('@').next().unwrap().to_owned(),
            program: None,
            notes: Vec::new(),
        }),
        name: planned.name,
        spec: planned.spec,
        is_base: number == 0,
        is_twin: planned.is_twin,
        options: Vec::new(),
    };
    planned.into_iter().enumerate().map(system).collect()
}

/// In the post of 2013, MySQL has the same names in both studies, but MariaDB has not.
#[test]
fn a_system_also_answers_for_its_namesake() {
    let post = found("2013").unwrap();
    let printed = PrintedPost::read(post.printed.text).unwrap();
    let counterparts = |file: PostFile| {
        let plan = planned_study(&file.request().unwrap(), file.path);
        printed.counterparts(&running(plan.systems))
    };
    let here = counterparts(post.sets[0].here);
    assert_eq!(here["mysql-5.5"], "mysql-5.5");
    assert_eq!(here["mariadb-10.0"], "mariadb-10.1");
    assert!(counterparts(post.sets[0].study).is_empty());
}

/// The latin1 post, measured on servers whose relative rates are the printed ones.
fn measured(post: &Post, printed: &PrintedPost) -> StudyRecord {
    let tests = ["point-query", "points-*", "range-*", "insert"].map(str::to_owned).into();
    let request = Request { tests, ..post.sets[0].here.request().unwrap() };
    let plan = planned_study(&request, post.name);
    let systems = running(plan.systems);
    let mut slices = Vec::new();
    for cell in &plan.study.cells {
        for (number, system) in systems.iter().enumerate() {
            let ratio = ratio(printed, &system.name, cell.id.test.name()).unwrap_or(1.0);
            for (block, round) in (0..6_u32).flat_map(|block| (0..4).map(move |it| (block, it))) {
                let zigzag = f64::from((block * 5 + round * 3 + number as u32) % 5) - 2.0;
                let events = (1e5 * ratio * (1.0 + 0.001 * zigzag)) as u64;
                let elapsed_ns = 1_000_000_000;
                let work =
                    WorkCounters { events, read: events, elapsed_ns, ..WorkCounters::default() };
                slices.push(Slice { block, round, work, ..Slice::new(number, cell.id) });
            }
        }
    }
    let host = assay_model::Host::default();
    StudyRecord { slices, finished: true, ..StudyRecord::new(plan.study, host, systems) }
}

fn ratio(printed: &PrintedPost, system: &str, test: &str) -> Option<f64> {
    let (name, _) = printed.here.iter().find(|(_, here)| *here == system)?;
    printed.tables.iter().find_map(|table| {
        let column = table.columns().iter().position(|it| it.system == name)?;
        let row = table.rows.iter().find(|(row, _)| beside::names_test(row, test))?;
        row.1.get(column).copied()
    })
}

/// A test without a value may have had any.
#[test]
fn a_statistic_of_a_group_needs_all_of_its_tests() {
    let post = found("2024-04").unwrap();
    let printed = PrintedPost::read(post.printed.text).unwrap();
    let mut record = measured(post, &printed);
    let are_known = |record: &StudyRecord, group: &str| {
        let mut numbers = MeasuredNumbers::new(record);
        let beside = numbers.beside(&printed.tables[0], &printed);
        assert!(beside.numbers.iter().any(|it| it.row == group), "{group}");
        beside.numbers.iter().filter(|it| it.row == group).all(|it| it.here.is_some())
    };
    assert!(are_known(&record, "point-1") && are_known(&record, "range-1"));
    let system = record.systems.iter().position(|it| it.name == "mariadb@11.4.5").unwrap();
    record.slices.retain(|it| it.system != system || it.cell.test.name() != "point-query");
    assert!(!are_known(&record, "point-1") && are_known(&record, "range-1"));
}

#[test]
fn a_base_that_the_study_cannot_have_gives_no_numbers() {
    let post = found("2024-04").unwrap();
    let printed = PrintedPost::read(post.printed.text).unwrap();
    let mut record = measured(post, &printed);
    let name = printed.tables[0].base.as_deref().unwrap();
    let base = printed.answering(name, &record.systems).unwrap();
    record.systems[base].is_twin = true;
    let mut numbers = MeasuredNumbers::new(&record);
    let beside = numbers.beside(&printed.tables[0], &printed);
    assert!(beside.numbers.iter().all(|it| it.here.is_none()));
}

#[test]
fn the_page_of_a_post_has_numbers_claims_and_differences() {
    let post = found("latin1").unwrap();
    let printed = PrintedPost::read(post.printed.text).unwrap();
    let record = measured(post, &printed);
    let judgement = assay_verdict::judge(&record);
    let set = &post.sets[0];
    let parts = [part(set, set.here, &printed, (&record, &judgement)).unwrap()];
    let page = page::post(post.name, &printed, &parts);
    let options = TextOptions { width: 160, color: false, verbose: true };
    let rendered = |format| page.render(format, &options).unwrap();
    let json: serde_json::Value = serde_json::from_str(&rendered(Format::JSON)).unwrap();
    let tables = json["parts"][0]["tables"].as_array().unwrap();
    assert_eq!((json["schema"].as_u64(), tables.len()), (Some(1), 4));
    let points = &tables[0];
    assert!(points["correlation"]["value"].as_f64().unwrap() > 0.99, "{points:#}");
    assert!(points["rank_correlation"]["value"].as_f64().unwrap() > 0.9, "{points:#}");
    assert_eq!(
        (&points["within"], &points["base"]),
        (&points["intervals"], &"mariadb@10.2.11".into())
    );
    let numbers = points["numbers"].as_array().unwrap();
    let is_meant = |it: &&serde_json::Value| {
        it["row"] == "point-query_range=100" && it["printed_system"] == "mariadb@11.4.10"
    };
    let number = numbers.iter().find(is_meant).unwrap();
    assert_eq!((&number["system"], &number["printed"]), (&"mariadb@11.4.5".into(), &0.93.into()));
    assert!(number["difference"].as_f64().unwrap().abs() < 0.01, "{number:#}");
    // No system answers for 13.0.0.
    assert!(numbers.iter().any(|it| it["system"].is_null() && it["here"].is_null()));
    let claims = json["parts"][0]["claims"]["claims"].as_array().unwrap();
    assert_eq!(claims.len(), set.claims().unwrap().claims.len());
    let differences = json["parts"][0]["differences"].as_array().unwrap();
    assert!(differences.iter().any(|it| it["what"] == "system" && it["here"] == "not measured"));
    let text = rendered(Format::TEXT);
    for expected in [
        &counted(claims.len() as u64, "claim")[..],
        "mariadb@11.4.5 for mariadb@11.4.10",
        "= within",
        "what differs from the post",
        "Asked: how the queries per second",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let is_row = |line: &str| line.contains("mariadb@13.0.0") && line.contains('–');
    assert!(text.lines().any(is_row), "{text}");
    let html = rendered(Format::HTML);
    assert!(html.contains("<h1>Mark Callaghan, Sysbench vs MariaDB"), "{html}");
    assert!(rendered(Format::MARKDOWN).contains("### Claims"));
    let (charts, _) = page.with_charts("svg");
    assert!(charts.iter().any(|chart| chart.name.starts_with("published-point")));
    assert_eq!(page.render(Format::CSV, &options), None);
}
