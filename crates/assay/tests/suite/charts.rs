//! Charts as files of a directory, with the report that shows them.

use std::path::Path;

use serde_json::Value;

use crate::common::Place;

const TABLE: &str = "col-1 : x.ma101116_rel.z12a_c8r32.pk1\ncol-2 : x.ma110410_rel.z12a_c8r32.pk1\n\
    col-3 : x.ma110806_rel.z12b_c8r32.pk1\n\ncol-1\tcol-2\tcol-3\n\
    1000\t1050\t1100\thot-points_range=100\n2000\t1950\t1900\tinsert_range=100\n";

fn imported() -> (Place, tempfile::TempDir) {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("qps.abs.mine.tsv");
    fs_err::write(&file, TABLE).unwrap();
    assert!(place.run_to_end(&["import", "mytools", file.to_str().unwrap()]).status.success());
    (place, folder)
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_chart_becomes_a_file_that_the_report_shows() {
    let (place, folder) = imported();
    for (format, start) in [("svg", &b"<svg "[..]), ("png", &b"\x89PNG"[..])] {
        let directory = folder.path().join(format).join("new");
        let output =
            place.run_to_end(&["report", "--format", format, "-o", directory.to_str().unwrap()]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
        let report = fs_err::read_to_string(directory.join("report.md")).unwrap();
        let files = files(&directory);
        for name in ["groups", "matrix", "rqps-point", "rqps-writes", "versions-point"] {
            let name = format!("{name}.{format}");
            assert!(files.contains(&name) && report.contains(&format!("]({name})")), "{files:?}");
            assert!(fs_err::read(directory.join(name)).unwrap().starts_with(start));
        }
    }
}

#[test]
fn trends_and_studies_beside_each_other_have_charts_too() {
    let (place, folder) = imported();
    for (number, words) in
        [&["report", "--beside", "latest"][..], &["trend", "hot-points"]].into_iter().enumerate()
    {
        let directory = folder.path().join(number.to_string());
        let output = ["--format", "svg", "-o", directory.to_str().unwrap()];
        let output = place.run_to_end(&[words, &output].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report = fs_err::read_to_string(directory.join("report.md")).unwrap();
        let files = files(&directory);
        let charts: Vec<&String> = files.iter().filter(|name| name.ends_with(".svg")).collect();
        assert!(!charts.is_empty(), "{words:?}: {files:?}");
        assert!(charts.iter().all(|name| report.contains(&format!("]({name})"))), "{report}");
    }
}

#[test]
fn only_files_of_charts_are_replaced() {
    let (place, folder) = imported();
    let report = |output: &Path| {
        let output = output.to_str().unwrap();
        let output = place.run_to_end(&["report", "--format", "svg", "-o", output]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let directory = folder.path().join("charts");
    fs_err::create_dir(&directory).unwrap();
    for (name, text) in [("notes.txt", "mine"), ("groups.svg", "old")] {
        fs_err::write(directory.join(name), text).unwrap();
    }
    assert_eq!(report(&directory).0, Some(0));
    assert_eq!(fs_err::read_to_string(directory.join("notes.txt")).unwrap(), "mine");
    assert_ne!(fs_err::read_to_string(directory.join("groups.svg")).unwrap(), "old");
    let target = folder.path().join("elsewhere");
    fs_err::write(&target, "mine").unwrap();
    fs_err::remove_file(directory.join("matrix.svg")).unwrap();
    std::os::unix::fs::symlink(&target, directory.join("matrix.svg")).unwrap();
    let (code, message) = report(&directory);
    assert!(code == Some(2) && message.contains("matrix.svg` is no regular file"), "{message}");
    assert_eq!(fs_err::read_to_string(&target).unwrap(), "mine");
    let (code, message) = report(&target);
    assert!(code == Some(2) && message.contains("is no directory\n\nhint: "), "{message}");
}

#[test]
fn another_system_can_be_the_base() {
    let (place, _folder) = imported();
    for words in ["mariadb@11.4.10", "11.4.10", "2"] {
        let output = place.run_to_end(&["report", "--base", words, "--format", "json"]);
        let study: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cells = study["cells"].as_array().unwrap();
        let ratio = |system: &str| {
            let cell = cells.iter().find(|it| it["test"] == "insert" && it["system"] == system);
            cell.unwrap()["rqps"]["value"].as_f64()
        };
        let of_first = ratio("mariadb@10.11.16").unwrap();
        assert!((of_first - 2000.0 / 1950.0).abs() < 1e-6, "{of_first}");
        assert_eq!(ratio("mariadb@11.4.10"), None);
    }
    let output = place.run_to_end(&["report", "--base", "12"]);
    let message = String::from_utf8_lossy(&output.stderr);
    let names =
        "hint: its systems are 1 `mariadb@10.11.16`, 2 `mariadb@11.4.10`, 3 `mariadb@11.8.6`";
    assert!(output.status.code() == Some(2) && message.contains(names), "{message}");
}

#[test]
fn charts_need_a_directory() {
    let (place, _folder) = imported();
    for (words, message) in [
        (&["report", "--format", "svg"][..], "hint: use `--format svg -o DIR`"),
        (
            &["report", "-o", "x.png"],
            "hint: charts are files of a directory: `--format png -o DIR`",
        ),
        (&["report", "-o", "x.folded"], "hint: the stacks of profiles are files of a directory"),
        (
            &["trend", "hot-points", "--format", "folded", "-o", "new"],
            "[possible values: text, html, markdown, csv, json, svg, png]",
        ),
        (&["report", "--format", "folded", "-o", "new"], "hint: `assay compare ... --profile`"),
        (&["studies", "--format", "svg"], "[possible values: text, html, markdown, csv, json]"),
    ] {
        let output = place.run_to_end(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(message), "{stderr}");
    }
}
