//! The study files shipped with assay and in its documentation can be read and planned.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::path::{Path, PathBuf};

use assay_model::{Experiment, Hint as _, Setup, TestSet};
use assay_plan::{MachineFacts, StudyPlan, plan, read_study, read_workload, write_study};

/// Large enough for every published study.
const LARGE: MachineFacts =
    MachineFacts { cpus: 64, memory_mb: 256_000, disk_mb: 4_000_000, realtime: None };

/// Target machine of the scaled studies.
const LAPTOP: MachineFacts =
    MachineFacts { cpus: 4, memory_mb: 8_000, disk_mb: 30_000, realtime: None };

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

/// Base name, text and whether it is scaled to a laptop.
fn studies() -> Vec<(String, String, bool)> {
    let files = fs_err::read_dir(root().join("studies")).unwrap();
    let mut studies: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = fs_err::read_to_string(&path).unwrap();
            match name.strip_suffix("-laptop") {
                Some(name) => (name.to_owned(), text, true),
                None => (name, text, false),
            }
        })
        .collect();
    studies.sort();
    studies
}

#[test]
fn each_post_has_an_exact_study_and_a_laptop_study() {
    let studies = studies();
    assert!(!studies.is_empty());
    for pair in studies.chunks(2) {
        let [(name, exact, false), (same, laptop, true)] = pair else { panic!("{pair:?}") };
        assert_eq!(name, same);
        let exact = planned(name, exact, LARGE).study;
        assert_eq!(exact.experiment, Experiment::Sequential, "{name}");
        let laptop = planned(&format!("{name}-laptop"), laptop, LAPTOP).study;
        assert_eq!(laptop.experiment, Experiment::Interleaved, "{name}");
        assert_eq!((exact.set, exact.setups.len() >= laptop.setups.len()), (laptop.set, true));
    }
}

/// Compares systems, set, setups, and seconds of reads and writes with the posts.
#[test]
fn exact_studies_are_those_of_the_posts() {
    let studies = studies();
    let check = |name: &str, systems, set, setups: &[(u32, u32, u32)], (read_s, write_s)| {
        let (_, text, _) = studies.iter().find(|study| study.0 == name && !study.2).unwrap();
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
    check("mariadb-mysql-2024-07", 10, TestSet::Set42, &[big(12)], (300, 600));
    check("mariadb-latin1-2026-04", 10, TestSet::Set32, &[(1, 1, 50 * million)], (600, 1800));
    check("mysql-two-sockets-2025-12", 8, TestSet::Set32, &[big(16)], (600, 900));
    check("mysql-small-2025-08", 5, TestSet::Set32, &[(1, 1, 50 * million)], (600, 900));
    let by_clients = [1, 4, 6, 8, 10, 20, 40].map(big);
    let ten_million = (20, 20, 10 * million);
    check("mysql-doublewrite-pages-2025-05", 3, TestSet::Set32, &[ten_million], (600, 900));
    check("mysql-by-clients-2025-03", 6, TestSet::Set27, &by_clients, (180, 300));
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
    let of = |(home, wrong): (&str, &str)| {
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
    homes.into_iter().map(of).collect()
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
