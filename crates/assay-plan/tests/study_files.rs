//! The study files shipped with assay and in its documentation can be read and planned.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::path::{Path, PathBuf};

use assay_model::{Experiment, Hint as _, Setup, TestSet};
use assay_plan::{MachineFacts, StudyPlan, plan, read_study, read_workload, write_study};

/// Large enough for every published study.
const LARGE: MachineFacts =
    MachineFacts { cpus: 64, memory_mb: 4_000_000, disk_mb: 40_000_000, realtime: None };

/// The machine that posts are redone on.
const HERE: MachineFacts =
    MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 60_000, realtime: None };

/// Time of a post here, seconds.
const HERE_S: f64 = 1800.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn planned(name: &str, text: &str, machine: MachineFacts) -> StudyPlan {
    let request = read_study(name, text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read_study(name, &write_study(&request)).as_ref(), Ok(&request), "{name}");
    let plan = plan(&request, machine).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(plan.study.recipe, write_study(&request), "{name}");
    plan
}

/// The files of a name in the folders of posts, by the name of the folder.
fn files(name: &str) -> Vec<(String, String)> {
    let folders = fs_err::read_dir(root().join("posts")).unwrap().map(|it| it.unwrap().path());
    let file = |folder: PathBuf| {
        let text = fs_err::read_to_string(folder.join(name)).ok()?;
        Some((folder.file_name().unwrap().to_string_lossy().into_owned(), text))
    };
    folders.filter_map(file).collect()
}

#[test]
fn each_post_has_an_exact_study_and_one_for_here() {
    for (exact, here) in [("study.toml", "here.toml"), ("study-io.toml", "here-io.toml")] {
        let mut exact = files(exact);
        assert_eq!(exact.len(), files(here).len());
        exact.sort();
        assert!(!exact.is_empty());
        for (name, text) in exact {
            let exact = planned(&name, &text, LARGE).study;
            // The post about builds measures nothing.
            let is_long = exact.experiment != Experiment::Interleaved || name.ends_with("old-cpp");
            assert!(is_long, "{name}");
            let (_, text) = files(here).into_iter().find(|it| it.0 == name).unwrap();
            let here = planned(&name, &text, HERE).study;
            assert_ne!(here.experiment, Experiment::Sequential, "{name}");
            assert!(here.budget_s <= HERE_S, "{name}: {} s", here.budget_s);
        }
    }
}

/// Compares systems, set, setups, and seconds of reads and writes with the posts.
#[test]
fn exact_studies_are_those_of_the_posts() {
    let studies = files("study.toml");
    let check = |name: &str, systems, set, setups: &[(u32, u32, u32)], (read_s, write_s)| {
        let (_, text) = studies.iter().find(|study| study.0 == name).unwrap();
        let plan = planned(name, text, LARGE);
        assert_eq!((plan.systems.len(), plan.study.set), (systems, set), "{name}");
        let expected: Vec<_> =
            setups.iter().map(|&(clients, tables, rows)| Setup { clients, tables, rows }).collect();
        assert_eq!(plan.study.setups, expected, "{name}");
        let seconds = |test: &str| {
            let cell = plan.study.cells.iter().find(|cell| cell.id.test.name() == test);
            cell.map(|cell| cell.slice_ms / 1000)
        };
        assert!(seconds("scan").is_none_or(|it| it == read_s), "{name}");
        assert_eq!(seconds("insert"), Some(write_s), "{name}");
    };
    let million = 1_000_000;
    let big = |clients| (clients, 8, 10 * million);
    let three = [(1, 1, 20 * million), (4, 1, 20 * million), (4, 4, 5 * million)];
    check("2024-04-mariadb-mysql-small", 10, TestSet::Set42, &three, (300, 600));
    check("2024-07-mariadb-mysql-medium", 12, TestSet::Set42, &[big(12)], (300, 600));
    let by_clients = [1, 4, 6, 8, 10, 20, 40].map(big);
    check("2025-03-mysql-by-clients", 6, TestSet::Set27, &by_clients, (180, 300));
    let small = [(1, 1, 50 * million)];
    check("2025-08-mysql-small", 5, TestSet::Set32, &small, (600, 900));
    check("2025-12-mysql-two-sockets", 8, TestSet::Set32, &[big(16)], (600, 900));
    check("2026-04-mariadb-latin1", 11, TestSet::Set32, &small, (600, 1800));
}

/// Memory in GB and CPUs of the machines, which are assumed for the posts of 2013 and of April 2024.
#[test]
fn studies_of_posts_fit_the_machines_of_the_posts() {
    for (file, memory_gb, cpus) in [
        ("2013-02-oltp-mysql-5.6-mariadb-10.0/study.toml", 32, 16),
        ("2024-04-mariadb-mysql-small/study.toml", 32, 8),
        ("2024-07-mariadb-mysql-medium/study.toml", 64, 16),
        ("2025-03-mysql-by-clients/study.toml", 128, 48),
        ("2025-05-doublewrite-pages/study.toml", 128, 48),
        ("2025-08-insert-benchmark/study.toml", 32, 8),
        ("2025-08-mysql-small/study.toml", 32, 8),
        ("2025-12-insert-benchmark/study.toml", 32, 8),
        ("2025-12-insert-benchmark/study-io.toml", 32, 8),
        ("2025-12-mysql-two-sockets/study.toml", 64, 24),
        ("2026-04-mariadb-latin1/study.toml", 32, 8),
    ] {
        let text = fs_err::read_to_string(root().join("posts").join(file)).unwrap();
        // Part of the memory is the kernel's.
        let machine = MachineFacts { cpus, memory_mb: memory_gb * 970, ..LARGE };
        let study = planned(file, &text, machine).study;
        assert!(study.experiment.runs_one_system(), "{file}");
        let terms = if file.starts_with("2013") { "shipped" } else { "published" };
        assert_eq!(study.terms.as_deref(), Some(terms), "{file}");
    }
}

#[test]
fn the_documented_study_can_be_run() {
    let docs = fs_err::read_to_string(root().join("docs/reference/study-files.md")).unwrap();
    let blocks: Vec<_> = docs
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default())
        .collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        planned("docs/reference/study-files.md", block, LARGE);
    }
}

/// Keys known to the parser, as listed by its errors.
fn known_keys() -> Vec<(String, Vec<String>)> {
    let homes = [
        ("", "zzzzzzzz = 1\n"),
        ("system", "[system.zz]\nis = \"mariadb@11.8\"\nzzzzzzzz = 1\n"),
        ("setup", "[[setup]]\nzzzzzzzz = 1\n"),
        ("gate", "[gate]\nmax-slowdown = \"3%\"\nzzzzzzzz = 1\n"),
        ("insert-bench", "[insert-bench]\nzzzzzzzz = 1\n"),
    ];
    let known_keys = |(home, wrong): (&str, &str)| {
        let text = match home {
            "" => format!("{wrong}compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n"),
            _ => format!("compare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n{wrong}"),
        };
        let error = read_study("keys", &text).unwrap_err();
        let error = error.hints().join(" ");
        let message = error.rsplit_once("the known keys here are ").map(|(_, keys)| keys);
        let keys = message.unwrap_or_else(|| panic!("{error}"));
        (home.to_owned(), keys.split('`').skip(1).step_by(2).map(str::to_owned).collect())
    };
    homes.into_iter().map(known_keys).collect()
}

#[test]
fn every_key_that_the_parser_knows_is_documented() {
    let docs = fs_err::read_to_string(root().join("docs/reference/study-files.md")).unwrap();
    let example = docs.split("```toml\n").nth(2).and_then(|it| it.split("```").next()).unwrap();
    for (home, keys) in known_keys() {
        assert!(keys.len() > 1, "{home}: {keys:?}");
        for key in keys {
            let row = format!("\n| `{key}` |");
            let table = format!("[{key}");
            assert!(docs.contains(&row) || docs.contains(&table), "{home}: no row for `{key}`");
            let is_shown = [format!("\n{key} ="), format!("\n# {key} ="), format!("[{key}")];
            let in_example = is_shown.iter().any(|it| format!("\n{example}").contains(it));
            assert!(
                home == "insert-bench" || key == "insert-bench" || key == "oltp" || in_example,
                "{home}: the example lacks `{key}`"
            );
        }
    }
}

#[test]
fn every_key_of_workload_files_is_documented() {
    let docs = fs_err::read_to_string(root().join("docs/reference/workload-files.md")).unwrap();
    let table = "[table.a]\nrows = 1000\ncreate = \"CREATE TABLE a (id INT PRIMARY KEY)\"\n";
    let files = |_: &str| Err("no files".to_owned());
    let steps = "[test.t]\nsteps = [\"SELECT 1\"]\n";
    for wrong in [
        format!("zz = 1\n{table}{steps}"),
        format!("{table}zz = 1\n{steps}"),
        format!("{table}columns = {{ id = {{ zz = 1 }} }}\n{steps}"),
        format!("{table}[test.t]\nzz = 1\n"),
        format!("{table}[test.t]\nsteps = [{{ zz = 1 }}]\n"),
    ] {
        let error = read_workload("keys.toml", &wrong, &files).unwrap_err();
        let message = format!("{error}\n{}", error.hints().join(" "));
        let (_, keys) =
            message.split_once("the known keys here are ").unwrap_or_else(|| panic!("{message}"));
        let keys = keys.lines().next().unwrap_or_default();
        for key in keys.split('`').skip(1).step_by(2) {
            let forms = [format!("`{key}`"), format!("{key} = "), format!("[{key}.")];
            assert!(forms.iter().any(|form| docs.contains(form)), "no word of `{key}` in {wrong}");
        }
    }
}
