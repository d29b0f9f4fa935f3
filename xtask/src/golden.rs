//! The golden set: ledgers of all kinds with their reports, by which two versions of assay are compared.
//!
//! `golden/make.sh` measures the ledgers. Each is kept with its reports in `golden/NAME.tar.gz`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::command::{build_assay, root};

/// The formats, by the endings of their files.
const FORMATS: [&str; 6] = ["json", "csv", "txt", "md", "html", "brief"];

/// Differences of a file that are printed.
const SHOWN: usize = 8;

const LEDGER: &str = "ledger.db";

const USAGE: &str = "usage: cargo xtask golden [--program PATH] [--keep] [NAME...] | add DIRECTORY [--program PATH]";

/// Compares the reports of the golden set with those of this version of assay, and prints what differs.
///
/// `--keep` replaces the reports by those of this version; `add` adds the ledgers that `golden/make.sh` left in a
/// directory.
/// Fails if a number or a verdict in JSON or CSV differs.
pub fn run(words: &[String]) -> Result<()> {
    let mut words = words.iter().map(String::as_str);
    let mut names = Vec::new();
    let mut program = None;
    let mut directory = None;
    let mut keeps = false;
    while let Some(word) = words.next() {
        match word {
            "--program" => program = Some(PathBuf::from(words.next().context(USAGE)?)),
            "add" => directory = Some(PathBuf::from(words.next().context(USAGE)?)),
            "--keep" => keeps = true,
            _ => {
                ensure!(!word.starts_with('-'), USAGE);
                names.push(word.to_owned());
            }
        }
    }
    let program = program.map_or_else(build_assay, Ok)?;
    let golden = root().join("golden");
    match directory {
        Some(directory) => add(&program, &directory, &golden),
        None => compare(&program, &golden, &names, keeps),
    }
}

/// The files of an archive by name.
type Files = BTreeMap<String, Vec<u8>>;

fn add(program: &Path, directory: &Path, golden: &Path) -> Result<()> {
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
        let ledger = path.join(LEDGER);
        if ledger.exists() {
            write(&golden.join(format!("{name}.tar.gz")), &reports(program, &ledger)?)?;
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
fn compare(program: &Path, golden: &Path, names: &[String], keeps: bool) -> Result<()> {
    let temporary = tempfile::tempdir()?;
    let mut figures = 0;
    let entries = fs_err::read_dir(golden)?;
    let mut archives: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    archives.retain(|path| path.to_string_lossy().ends_with(".tar.gz"));
    archives.sort();
    for archive in archives {
        let name = archive.file_name().context("no name")?.to_string_lossy().replace(".tar.gz", "");
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let expected = read(&archive)?;
        let ledger = temporary.path().join(format!("{name}.db"));
        fs_err::write(&ledger, expected.get(LEDGER).context("an archive without a ledger")?)?;
        let found = reports(program, &ledger).with_context(|| name.clone())?;
        let mut differing = 0;
        for (file, before) in &expected {
            let Some(after) = found.get(file).filter(|_| file != LEDGER) else {
                ensure!(file == LEDGER, "{name}: {file} is missing");
                continue;
            };
            let differences = differences(file, before, after)?;
            if differences.is_empty() {
                continue;
            }
            differing += 1;
            if file.ends_with(".json") || file.ends_with(".csv") {
                figures += 1;
            }
            println!("{name}/{file}: {} differences", differences.len());
            for difference in differences.iter().take(SHOWN) {
                println!("    {difference}");
            }
        }
        println!("{name}: {differing} of {} reports differ", expected.len() - 1);
        if keeps {
            write(&archive, &found)?;
        }
    }
    ensure!(keeps || figures == 0, "{figures} files with figures differ");
    Ok(())
}

/// The ledger itself and the reports of all its studies.
fn reports(program: &Path, ledger: &Path) -> Result<Files> {
    let assay = |words: &[&str]| -> Result<Vec<u8>> {
        let mut command = Command::new(program);
        command.args(words).arg("--ledger").arg(ledger).env("NO_COLOR", "1").env("COLUMNS", "120");
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        let message = String::from_utf8_lossy(&output.stderr);
        // 3: a cell failed.
        let is_done = matches!(output.status.code(), Some(0 | 3));
        ensure!(is_done, "{command:?}: {}: {message}", output.status);
        Ok(output.stdout)
    };
    let mut files = Files::from([(LEDGER.to_owned(), fs_err::read(ledger)?)]);
    let studies: Value = serde_json::from_slice(&assay(&["studies", "--format", "json"])?)?;
    for study in studies["studies"].as_array().context("no list of studies")? {
        let id = study["id"].as_str().context("a study without id")?;
        for format in FORMATS {
            let word = match format {
                "txt" => "text",
                "md" => "markdown",
                format => format,
            };
            files.insert(format!("{id}.{format}"), assay(&["report", id, "--format", word])?);
        }
    }
    Ok(files)
}

fn read(archive: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut tar = tar::Archive::new(GzDecoder::new(fs_err::File::open(archive)?));
    for entry in tar.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(name, bytes);
    }
    Ok(files)
}

fn write(archive: &Path, files: &Files) -> Result<()> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, bytes.as_slice())?;
    }
    Ok(fs_err::write(archive, tar.into_inner()?.finish()?)?)
}

/// One line for each value (JSON) or line (other formats) that differs.
fn differences(file: &str, before: &[u8], after: &[u8]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    if file.ends_with(".json") {
        let [before, after] = [before, after].map(serde_json::from_slice::<Value>);
        json_differences("", &before?, &after?, &mut differences);
        return Ok(differences);
    }
    let [before, after] = [before, after].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let lines = |text: &str| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        // HTML has few line breaks.
        for line in text.split('\n').flat_map(|line| line.split_inclusive('>')) {
            *counts.entry(line.trim_end().to_owned()).or_default() += 1;
        }
        counts
    };
    let [old, new] = [lines(&before), lines(&after)];
    for (sign, lines, others) in [('-', &old, &new), ('+', &new, &old)] {
        let more = lines.iter().filter(|(line, count)| others.get(*line).unwrap_or(&0) < *count);
        differences.extend(more.map(|(line, _)| format!("{sign} {line}")));
    }
    if differences.is_empty() && before != after {
        differences.push("the order of the lines".to_owned());
    }
    Ok(differences)
}

fn json_differences(place: &str, before: &Value, after: &Value, differences: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let other = after.get(key).unwrap_or(&Value::Null);
                json_differences(&format!("{place}.{key}"), value, other, differences);
            }
            for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
                json_differences(&format!("{place}.{key}"), &Value::Null, value, differences);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                json_differences(&format!("{place}[{at}]"), before, after, differences);
            }
        }
        (before, after) if before != after => {
            differences.push(format!("{place}: {} -> {}", short(before), short(after)));
        }
        _ => {}
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= 80 {
        text
    } else {
        format!("{}...", text.chars().take(80).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_have_their_place() {
        let found = differences(
            "a.json",
            br#"{"cells": [{"qps": 1.5, "verdict": "same"}], "old": null}"#,
            br#"{"cells": [{"qps": 1.5, "verdict": "slower"}], "new": 2}"#,
        );
        assert_eq!(
            found.unwrap(),
            [".cells[0].verdict: \"same\" -> \"slower\"", ".new: null -> 2"]
        );
    }

    #[test]
    fn lines_that_differ_are_found() {
        assert_eq!(differences("a.txt", b"a\nb\n", b"a\nc\n").unwrap(), ["- b", "+ c"]);
        assert_eq!(differences("a.txt", b"a\nb\n", b"b\na\n").unwrap(), ["the order of the lines"]);
        assert!(differences("a.txt", b"a\n", b"a\n").unwrap().is_empty());
    }
}
