//! Shell completions and help.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn assay(home: &Path) -> Command {
    let mut command = Command::new(cargo_bin("assay"));
    command.env("HOME", home).env("ASSAY_LEDGER", home.join("ledger.db"));
    command.env("ASSAY_CACHE", home.join("cache"));
    command
}

fn asked(shell: &str, home: &Path, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let mut command = assay(home);
    command.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", index).arg("--").arg("assay");
    said(command.args(words)).lines().map(str::to_owned).collect()
}

#[test]
fn shells_complete_systems_tests_studies_and_options() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let table = "col-1 : my5651\ncol-2 : my8036\n1000\t900\tpoint-query_range=100\n";
    fs_err::write(home.join("table"), table).unwrap();
    said(assay(home).args(["import", "mytools"]).arg(home.join("table")));
    let list: serde_json::Value =
        serde_json::from_str(&said(assay(home).args(["studies", "--format", "json"]))).unwrap();
    let study = list["studies"][0]["id"].as_str().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        for (words, wanted) in [
            (vec!["compare", "mariadb@10.1"], "mariadb@10.11"),
            (vec!["gate", "--base", "mysql@8"], "mysql@8.0"),
            (vec!["server", "start", "postgres@"], "postgres@17"),
            (vec!["compare", "--tests", "scan,point"], "scan,point-query"),
            (vec!["bench", "--test", "oltp_r"], "oltp_read_only"),
            (vec!["report", ""], study),
            (vec!["studies", "name", ""], study),
            (vec!["compare", "--bud"], "--budget"),
            (vec!["comp"], "compare"),
        ] {
            let found = asked(shell, home, &words);
            let is_there = found
                .iter()
                .any(|line| line.split(['\t', ':']).next() == Some(wanted) || line == wanted);
            assert!(is_there, "{shell} {words:?}: {found:?}");
        }
    }
    assert!(asked("bash", home, &["compare", "oracle@"]).is_empty());
}

#[test]
fn completing_a_word_creates_nothing() {
    let home = tempfile::tempdir().unwrap();
    for words in [&["server", "stop", ""][..], &["report", ""], &["compare", "mariadb@"]] {
        asked("bash", home.path(), words);
    }
    assert_eq!(fs_err::read_dir(home.path()).unwrap().count(), 0);
}

/// Bash ends words at `@`, so it replaces only the part after the product.
#[test]
fn bash_completes_the_part_that_it_replaces() {
    let home = tempfile::tempdir().unwrap();
    let script = said(assay(home.path()).args(["completions", "bash"]));
    for (line, part, wanted) in [
        ("assay compare mariadb@10.1", "@10.1", "@10.11"),
        ("assay compare mariadb@10.11 mysql@8", "@8", "@8.0"),
        ("assay gate --base=mysql@8", "@8", "@8.0"),
        ("assay compare x --tests point-q", "point-q", "point-query"),
    ] {
        let tried = format!(
            "{script}\nCOMP_LINE={}; COMP_POINT=${{#COMP_LINE}}; _assay assay '{part}' x\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            format_args!("\"{line}\"")
        );
        let path = cargo_bin("assay").parent().unwrap().display().to_string();
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &tried]).env("PATH", format!("{path}:/usr/bin:/bin"));
        let found = said(bash.env("HOME", home.path()));
        assert!(found.lines().any(|it| it == wanted), "{line}: {found}");
    }
}

#[test]
fn assay_alone_says_what_a_newcomer_needs() {
    let home = tempfile::tempdir().unwrap();
    let text = said(&mut assay(home.path()));
    assert_eq!(text.lines().filter(|line| line.starts_with("  assay ")).count(), 6, "{text}");
    let first = text.lines().find(|line| line.starts_with("  assay "));
    assert!(first.is_some_and(|line| line.starts_with("  assay upgrade ")), "{text}");
    assert!(text.contains("assay compare mariadb@10.11 mariadb@11.8"), "{text}");
}

#[test]
fn the_short_help_names_systems_and_exit_codes_and_leaves_rare_options_to_the_long_one() {
    let home = tempfile::tempdir().unwrap();
    for command in [
        &["compare"][..],
        &["gate"],
        &["audit"],
        &["insert-bench"],
        &["server", "get"],
        &["server", "start"],
    ] {
        let short = said(assay(home.path()).args(command).arg("-h"));
        assert!(short.contains("PRODUCT@VERSION"), "{command:?}: {short}");
    }
    let short = said(assay(home.path()).args(["gate", "-h"]));
    assert!(short.contains("Exit codes:\n  0"), "{short}");
    let long = said(assay(home.path()).args(["gate", "--help"]));
    for rare in ["--db-ps-mode", "--key", "--placement"] {
        assert!(!short.contains(rare) && long.contains(rare), "{rare}: {short}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let home = tempfile::tempdir().unwrap();
    let pages = home.path().join("man");
    said(assay(home.path()).arg("man").arg(&pages));
    for page in ["assay.1", "assay-compare.1", "assay-server-start.1"] {
        let text = fs_err::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{text}");
    }
}
