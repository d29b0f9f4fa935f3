//! Wrong use: a clear message, a hint, exit code 2, nothing on stdout.

use std::path::Path;

use assert_cmd::Command;

fn assay(args: &[&str]) -> (i32, String, String) {
    assay_in(tempfile::tempdir().unwrap().path(), args)
}

fn assay_in(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("assay")
        .unwrap()
        .args(args)
        .env("ASSAY_CACHE", folder.join("cache"))
        .env("ASSAY_LEDGER", folder.join("ledger.db"))
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn refused(args: &[&str], message: &str, hint: &str) {
    let (code, stdout, stderr) = assay(args);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(stdout, "");
    assert!(stderr.contains(message), "no `{message}` in: {stderr}");
    assert!(stderr.contains(hint), "no `{hint}` in: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn malformed_system_names() {
    refused(
        &["compare", "mariabd@10.11", "mariadb@11.8"],
        "not a product",
        "hint: did you mean `mariadb@10.11`",
    );
    refused(&["compare", "mariadb", "mariadb@11.8"], "no `@`", "hint: a system is written");
    refused(
        &["compare", "mariadb@10.11/heap", "mariadb@11.8"],
        "not a supported engine",
        "`rocksdb`",
    );
    refused(&["compare", "mariadb@10.11"], "at least one other system", "hint: for example");
}

#[test]
fn reserved_options() {
    let given = |option: &str| format!("mariadb@10.11+{option}");
    for (option, message, hint) in [
        ("datadir=/home/me/data", "option `datadir` cannot be set", "hint: leave the option out"),
        ("loose-skip-networking=0", "`loose_skip_networking`", "hint: leave"),
        ("datad=x", "may be short for `datadir`", "hint: write the name in full"),
        ("general_log_file=/etc/cron.d/x", "lies outside the server's", "hint: use a plain name"),
        ("log_bin=../x", "lies outside the server's", "hint: use a plain name"),
    ] {
        refused(&["compare", "mariadb@11.8", &given(option)], message, hint);
        refused(&["server", "start", &given(option)], message, hint);
        refused(&["audit", &given(option), "mariadb@11.8"], message, hint);
    }
    let commands = "postgres@16+archive_command=touch x";
    refused(&["server", "start", commands], "`archive_command`", "hint: leave the option out");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    let study = "compare = [\"a\", \"mariadb@11.8\"]\n[system.a]\nis = \"mariadb@10.11\"\n\
                 options = { tmpdir = \"/home/me\" }\n";
    fs_err::write(&file, study).unwrap();
    refused(&["run", file.to_str().unwrap()], "`tmpdir`", "hint: leave the option out");
}

#[test]
fn tests_that_match_nothing() {
    refused(
        &["compare", "mariadb@10.11", "mariadb@11.8", "--tests", "point-querry"],
        "matches none",
        "hint: did you mean `point-query`",
    );
}

#[test]
fn listed_tests_can_be_requested() {
    let (code, stdout, stderr) = assay(&["tests", "point*,scan", "read-only_*", "--set", "47"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    for note in ["point-query ", "points-covered-si ", "scan ", "read-only_range=10 ", "of the 47"]
    {
        assert!(stdout.contains(note), "no `{note}` in: {stdout}");
    }
    assert!(!stdout.contains("update-one"), "{stdout}");
    let (code, stdout, _) = assay(&["tests", "--set", "42", "--format", "json"]);
    assert_eq!(code, 0);
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&document["schema"], &document["set"]), (&1.into(), &42.into()));
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 42);
    let find = |name: &str| tests.iter().find(|test| test["test"] == name).unwrap();
    let pre = find("random-points.pre_range=10");
    assert_eq!((&pre["group"], &pre["pre"]), (&"point-2".into(), &true.into()));
    assert_eq!(find("update-index")["class"], "write");
    assert_eq!(find("delete")["statements"][0], "DELETE FROM sbtest WHERE id=?");
    refused(&["tests", "point-querry"], "matches none", "hint: did you mean `point-query`");
}

/// A short recording, so that the figures are poor but complete.
#[test]
fn the_doctor_examines_this_machine() {
    let (code, stdout, stderr) = assay(&["doctor", "--for", "1s", "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(document["schema"], 1);
    let found =
        |fact: &str| document["facts"].as_array().unwrap().iter().any(|it| it["fact"] == fact);
    for fact in ["CPUs", "other load", "memory", "disk flush", "clock", "noise"] {
        assert!(found(fact), "no {fact} in: {stdout}");
    }
    assert!(document["host"]["doctor"]["noise"]["asked_ms"].as_f64() >= Some(1.0), "{stdout}");
    assert_eq!(document["presets"].as_array().unwrap().len(), 3);
    assert_eq!(document["needed"].as_array().unwrap().len(), 3);
    refused(&["doctor", "--for", "0.1s"], "must be between 1 second and 10 minutes", "");
    refused(&["doctor", "--cache-dir", "/proc/x"], "cache directory", "`ASSAY_CACHE`");
}

#[test]
fn invalid_numbers() {
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8"];
    for (option, value) in [
        ("--rows", "0"),
        ("--rows", "-1"),
        ("--tables", "0"),
        ("--clients", "0"),
        ("--budget", "soon"),
        ("--threshold", "2"),
        ("--set", "33"),
        ("--seed", "x"),
        ("--key", "blocks=0"),
    ] {
        refused(&[&systems[..], &[option, value]].concat(), option, "");
    }
    let bench = ["bench", "mysql://me@host/db", "--test", "scan"];
    for (args, note) in [
        ([&systems[..], &["--seed", "x"]].concat(), "`x` is not a whole number"),
        (
            [&bench[..], &["--clients", "1-8"]].concat(),
            "several client counts need `assay compare`",
        ),
        ([&bench[..], &["--clients", "5000"]].concat(), "must be between 1 and 4,096"),
        ([&systems[..], &["--rows", "10G"]].concat(), "between 1,000 and 2,000,000,000"),
        ([&systems[..], &["--tables", "10G"]].concat(), "between 1 and 1,000"),
        ([&systems[..], &["--budget", "5"]].concat(), "5 seconds or 5 minutes? Write `5m`"),
        (vec!["resume", "--more", "10"], "10 seconds or 10 minutes?"),
        (vec!["server", "start", "mysql@8.0", "--port", "70000"], "between 0 and 65,535"),
        (vec!["server", "start", "mysql@8.0", "--buffer-pool", "1T"], "a size such as `512M`"),
    ] {
        refused(&args, note, "");
    }
}

#[test]
fn gates() {
    let systems = ["gate", "--base", "mariadb@10.11", "--other", "mariadb@11.8"];
    let with = |args: &[&'static str]| [&systems[..], args].concat();
    refused(&systems, "--max-slowdown <PERCENT>", "");
    refused(&["gate", "--max-slowdown", "3%"], "<SYSTEM>", "");
    // Systems may be plain words, but not together with the option.
    let words = ["gate", "mariadb@10.11", "mariadb@11.8"];
    refused(&words, "--max-slowdown <PERCENT>", "");
    let limit = ["--max-slowdown", "3%", "--limit"];
    refused(&[&words[..], &limit, &["writs=5%"]].concat(), "is no group", "did you mean `writes`");
    refused(&[&words[..], &["--base", "mysql@9.7"]].concat(), "cannot be used with", "");
    refused(&with(&["--max-slowdown", "3"]), "write `3%`", "");
    refused(&with(&["--max-slowdown", "0%"]), "more than 0%", "");
    let limited = |limit| with(&["--max-slowdown", "3%", "--limit", limit]);
    refused(&limited("writes"), "is not a limit such as `point*=1%`", "");
    refused(&limited("wirtes=3%"), "matches none", "hint: ");
    refused(&limited("point-querry=3%"), "matches none", "hint: did you mean `point-query`");
    let published = with(&["--max-slowdown", "3%", "--preset", "published"]);
    refused(&published, "limits need repeated measurements", "");
    refused(&with(&["--max-slowdown", "3%", "--junit", "/nosuch/x.xml"]), "`/nosuch/x.xml`", "");
    refused(&with(&["--study", "latest"]), "cannot be used with", "");
    refused(&["gate", "--study", "latest", "--tests", "scan"], "cannot be used with", "");
    refused(&["gate", "--study", "latest", "--limit", "scan=3%"], "--max-slowdown", "");
    refused(&["gate", "--study", "latest", "--max-slowdown", "3%"], "ledger", "");
}

/// Each of them gets the text to type instead.
#[test]
fn syntax_of_other_tools() {
    for (name, meant) in [
        ("mariadb:10.11", "`mariadb@10.11`"),
        ("mysql8.0", "`mysql@8.0`"),
        ("pg@16", "`postgres@16`"),
        ("percona@8.0", "`mysql@8.0.36-28`"),
        ("aurora@3", "compare the community version"),
    ] {
        refused(&["compare", name, "mariadb@11.8"], "is not a system name", meant);
    }
    let systems = ["compare", "mariadb@10.11", "mariadb@11.8"];
    let with = |args: &[&'static str]| [&systems[..], args].concat();
    refused(&with(&["--time", "10"]), "`--budget 10m`", "`--key slice=100ms`");
    refused(&with(&["--blocks", "2"]), "unexpected argument", "`--key blocks=VALUE`");
    refused(&with(&["--key", "rounds=2,blocks=0"]), "'0' for '--key blocks", "between 1 and ");
    refused(&with(&["--my-cnf=x"]), "unexpected argument", "`--config FILE`");
    refused(&with(&["--tests", "bulk_insert"]), "matches none", "`--suite oltp`");
    refused(&with(&["--range-size", "10"]), "unexpected argument", "`--suite oltp -- --range-size");
    // These are understood, and fail only because of the size.
    for size in [["--table-size", "2000M"], ["--table_size", "2G"], ["--rows", "1_999M"]] {
        refused(&with(&size), "not enough memory", "would fit");
    }
    refused(
        &with(&["--duration", "10"]),
        "unexpected argument '--duration'",
        "hint: limit a study",
    );
    refused(
        &with(&["--mysql-host=h"]),
        "unexpected argument '--mysql-host'",
        "hint: name a server that",
    );
    refused(&with(&["--budget", "-5m"]), "a time must be longer than zero", "");
    refused(&with(&["--clients", "1-5000"]), "from 1 to 4,096", "");
    let (_, _, stderr) = assay(&with(&["--nosuch", "10"]));
    assert!(stderr.contains("'--nosuch'") && !stderr.contains("-- --nosuch"), "{stderr}");
    refused(&with(&["--threads", "1-1024"]), "32,768 tests times setups", "");
    refused(&with(&["-o", "report.pdf"]), "no format with the extension `.pdf`", "`.html`");
    refused(&with(&["--cache-dir", "/proc/x"]), "cache directory", "`ASSAY_CACHE`");
}

#[test]
fn an_unusable_state_directory_names_its_variable() {
    let mut command = Command::cargo_bin("assay").unwrap();
    command.args(["server", "list"]).env("XDG_STATE_HOME", "/proc/x").env_remove("RUST_LOG");
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("state directory") && stderr.contains("hint: set `XDG_STATE_HOME`"));
}

#[test]
fn arguments_cannot_control_the_terminal() {
    for args in [
        &["compare", "mariadb@1\u{1b}[2J", "\u{202e}\nhint: run this"][..],
        &["--\u{9b}31m\u{7}\nhint: run this"],
        &["report", "--ledger", "/x\u{1b}[31m\nhint: run this"],
    ] {
        let (code, stdout, stderr) = assay(args);
        assert_eq!((code, stdout.as_str()), (2, ""));
        let harmful = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert_eq!(stderr.find(harmful), None, "{stderr:?}");
        assert!(!stderr.lines().any(|line| line.starts_with("hint: run")), "{stderr}");
    }
}

#[test]
fn too_many_cells() {
    let clients: Vec<String> = (1..=320).map(|count: u32| count.to_string()).collect();
    let clients = clients.join(",");
    refused(
        &["compare", "mariadb@10.11", "mariadb@11.8", "--clients", &clients],
        "10,240 tests times setups are too many: a study may have 10,000",
        "hint: use fewer client counts",
    );
}

#[test]
fn a_machine_that_is_too_small() {
    refused(
        &["compare", "mariadb@10.11", "mariadb@11.8", "--rows", "2000000000"],
        "not enough memory",
        "would fit",
    );
}

#[test]
fn sizes_replace_those_of_a_study_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    fs_err::write(&file, "compare = [\"mariadb@10.11\", \"mariadb@11.8\"]").unwrap();
    let run = |more: &[&str], message: &str, hint: &str| {
        let file = file.to_str().unwrap();
        refused(&[&["run", file, "--offline"][..], more].concat(), message, hint);
    };
    run(&["--rows", "2000M"], "not enough memory", "in every `[[setup]]`");
    run(&["--rows", "3k,2k,1k"], "`--rows 3000,2000,1000` is out of range", "");
    run(&["--scale", "1%", "--rows", "1M"], "cannot be used with", "");
    run(&["--scale", "1%"], "note: `--scale`: rows: 100,000 → 1,000", "");
}

#[test]
fn a_version_that_is_not_in_the_cache_while_offline() {
    refused(&["compare", "mariadb@10.11", "mariadb@11.8", "--offline"], "mariadb@10.11", "hint: ");
}

#[test]
fn a_report_without_a_study() {
    refused(&["report"], "ledger", "");
}

#[test]
fn malformed_urls() {
    refused(
        &["bench", "root@localhost/db", "--test", "scan"],
        "does not begin with `mysql://` or `postgres://`",
        "hint: `assay server list` shows",
    );
    refused(&["load", "mysql://me:secret@host"], "no database", "hint: for example");
    refused(
        &["load", "postgres://me@host/db", "--engine", "innodb"],
        "not a supported engine",
        "use `heap`",
    );
    let url = "mysql://me:secret@host/db";
    refused(&["compare", url, "mysql@8.0", "--twin"], "cannot take part", "that assay starts");
    refused(&["compare", url, url], "the same database is named twice", "hint: an A/A test");
    let (_, _, stderr) = assay(&["server", "get", url]);
    assert!(stderr.contains("me@host") && !stderr.contains("secret"), "{stderr}");
    let (_, _, stderr) = assay(&["bench", "mysql://me:secret@127.0.0.1:1/db", "--test", "scan"]);
    assert!(stderr.contains("127.0.0.1:1") && !stderr.contains("secret"), "{stderr}");
}

#[test]
fn missing_paths() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let path = missing.to_str().unwrap();
    let note = format!("`{path}` does not exist");
    let directory = format!("mysql@dir:{path}");
    let repository = format!("mysql@git:{path}#x");
    refused(&["audit", &directory, "mysql@8.0", "--offline"], &note, "hint: `PRODUCT@dir");
    refused(&["server", "get", &repository], &note, "hint: `PRODUCT@git:PATH#REF`");
    let page = missing.join("x.html");
    refused(&["report", "-o", page.to_str().unwrap()], "cannot be written", "");
    refused(&["studies", "-o", page.to_str().unwrap()], "cannot be written", "");
    let folder = folder.path().to_str().unwrap();
    refused(&["studies", "--ledger", folder], "is a directory", "hint: `--ledger`");
    refused(&["cache", "list", "--cache-dir", path], &note, "hint: `--cache-dir`");
    assert!(!missing.exists());
}

#[test]
fn an_unusable_output_path_is_reported_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let note = format!("`{path}` is a directory; `-o` takes a file");
    for command in [&["compare", "mariadb@1", "mariadb@2"][..], &["report"], &["studies"]] {
        refused(&[command, &["-o", path]].concat(), &note, "");
        refused(&[command, &["-o", "/proc/x.html"]].concat(), "/proc/x.html", "hint: `-o` takes");
    }
}

/// The shell counts blocks of 512 or 1024 bytes.
#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs_err::File::create(folder.path().join("tests.json")).unwrap().into_parts().0;
    let mut shell = std::process::Command::new("sh");
    let words = "ulimit -f 1; exec \"$@\"";
    shell.args(["-c", words, "sh", env!("CARGO_BIN_EXE_assay"), "tests", "--format", "json"]);
    let output = shell.stdout(file).stderr(std::process::Stdio::piped()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("error: ") && stderr.contains("File too large"), "{stderr}");
}

#[test]
fn without_a_home_the_error_says_what_to_set() {
    for (args, variable) in
        [(&["cache", "list"][..], "`ASSAY_CACHE`"), (&["studies"], "`ASSAY_LEDGER`")]
    {
        let mut command = Command::cargo_bin("assay").unwrap();
        command.args(args).env_clear().env("HOME", "relative");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        let note = stderr.contains("nor `HOME` names") && stderr.contains("hint: set `HOME`");
        assert!(note && stderr.contains(variable), "{stderr}");
    }
}

#[test]
fn study_files_with_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.toml");
    fs_err::write(&file, "preset = \"quik\"\ncompare = [\"mariadb@10.11\", \"mariadb@11.8\"]\n")
        .unwrap();
    let path = file.to_str().unwrap();
    refused(&["run", path], "study.toml:1:10", "did you mean `quick`");
    refused(
        &["run", "/no/such/file.toml"],
        "`/no/such/file.toml` does not exist",
        "hint: name a study",
    );
    refused(&["run", "."], "`.` is a directory", "hint: name a study file");
}

/// No server is started, and no cache is made.
#[test]
fn files_with_settings_are_audited() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs_err::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let dump = "Variable_name\tValue\nversion\t8.4.8\nsync_binlog\t1\nlog_bin\tON\n";
    let dump = format!("dump={}", path("a.txt", dump));
    let config = path("b.cnf", "[mysqld]\nsync-binlog = 0\n!include more.cnf\n");
    let mine = format!("mine={config}");
    let (code, stdout, stderr) = assay(&["audit", &dump, &mine]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    for line in ["\ndump: SHOW VARIABLES of mysql 8.4.8: 3 settings", "  sync_binlog = 1 → 0\n"] {
        assert!(stdout.contains(line), "no `{line}` in: {stdout}");
    }
    assert!(stdout.contains("it includes `more.cnf`, which is not read"), "{stdout}");
    let (code, stdout, _) = assay(&["audit", &dump, &config, "--format", "json"]);
    assert_eq!(code, 0);
    let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let findings = document["audit"].as_array().unwrap();
    let values =
        |setting: &str| &findings.iter().find(|it| it["setting"] == setting).unwrap()["values"];
    assert_eq!(values("sync_binlog")[&config], "0");
    assert_eq!(values("log_bin")[&config], "(not in file)");
    assert_eq!(document["files"][0]["form"], "SHOW VARIABLES");
    assert_eq!(document["files"][1]["form"], "my.cnf");
    let prose = path("c.txt", "It was a dark night.\n");
    refused(&["audit", &dump, &prose], "no settings in a form", "hint: assay reads the output of");
    refused(&["audit", &dump, "no/such.txt"], "does not exist", "hint: name a system");
    refused(
        &["audit", &dump, &mine, "--config", &config],
        "all systems are files",
        "hint: leave them",
    );
}

#[test]
fn missing_sandboxes_and_studies() {
    refused(&["server", "stop", "nobody"], "no server is called `nobody`", "");
    refused(&["resume"], "there is no such file", "hint: `assay compare`");
    refused(&["studies"], "there is no such file", "`ASSAY_LEDGER` names another");
    refused(
        &["audit", "mariadb@10.11"],
        "at least one other system",
        "`assay audit mariadb@10.11 mar",
    );
    refused(&["server", "status"], "'status'", "hint: `assay server list` shows");
    for listing in ["ls", "list"] {
        refused(&[listing], listing, "`assay server list`");
    }
    refused(&["server", "stop", "--all"], "'--all'", "hint: name the servers");
}

#[test]
fn a_malformed_config_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs_err::write(path("my.cnf"), "[mysqld]\n!exclude x\n").unwrap();
    let study =
        "compare = ['a', 'mariadb@11.8']\n[system.a]\nis = 'mariadb@10.11'\nconfig = 'my.cnf'\n";
    fs_err::write(path("study.toml"), study).unwrap();
    let study = path("study.toml");
    let hint = "hint: a `my.cnf` has groups such as `[mysqld]`";
    refused(&["run", study.to_str().unwrap()], "line 2 of the config file", hint);
}

/// A study that comes with assay must not end because no source has its servers.
#[test]
fn shipped_studies_name_versions_that_have_a_source() {
    let cache = tempfile::tempdir().unwrap();
    let listed = assay_in(cache.path(), &["server", "list", "--available"]).1;
    let known: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(known.len() > 100, "{known:?}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../posts");
    let folders = fs_err::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let files = folders.flat_map(|it| ["here.toml", "here-io.toml"].map(|name| it.join(name)));
    for file in files.filter(|it| it.exists()) {
        let text = fs_err::read_to_string(file).unwrap();
        for name in
            text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split('"'))
        {
            let version = name.split_once('@').map_or("", |(_, version)| version);
            if !version.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let name = name.split(['/', '+']).next().unwrap();
            let is_it = |it: &&str| *it == name || it.starts_with(&format!("{name}."));
            assert!(known.iter().any(is_it), "{name} has no source");
        }
    }
}
