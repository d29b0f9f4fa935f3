//! Packs, their verification, and merged ledgers. No server is needed.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use rusqlite::Connection;
use serde_json::Value;

const STUDY: &str = include_str!("../../../assay-ledger/tests/recorded/study.id");

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let recorded =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-ledger/tests/recorded/study.db.gz");
        let mut bytes = Vec::new();
        let packed = fs_err::File::open(recorded).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        fs_err::write(folder.path("ledger.db"), bytes).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::cargo_bin("assay").unwrap();
        command
            .args(words)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("ASSAY_CACHE", self.path("cache"))
            .env("ASSAY_LEDGER", self.path("ledger.db"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("RUST_LOG");
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str], code: i32) -> Output {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}{}", out(&output), err(&output));
        output
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn altered(from: &Path, to: &Path, member: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    let mut old = zip::ZipArchive::new(fs_err::File::open(from).unwrap()).unwrap();
    let mut members = Vec::new();
    for at in 0..old.len() {
        let mut file = old.by_index(at).unwrap();
        let (name, mut content) = (file.name().unwrap().into_owned(), Vec::new());
        file.read_to_end(&mut content).unwrap();
        let content = if name == member { change(content) } else { content };
        members.push((name, content));
    }
    let members: Vec<(&str, &[u8])> =
        members.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
    fs_err::write(to, assay_pack::container(&members)).unwrap();
}

#[test]
fn a_pack_proves_itself() {
    let folder = Folder::new();
    let packed = folder.run(&["pack", "latest", "a.assay"], 0);
    let digest = out(&packed).trim().to_owned();
    assert_eq!(digest.len(), 64, "{digest}");
    // Only a pack is overwritten, with the same bytes.
    let first = fs_err::read(folder.path("a.assay")).unwrap();
    folder.run(&["pack", STUDY, "a.assay"], 0);
    assert_eq!(fs_err::read(folder.path("a.assay")).unwrap(), first);
    fs_err::write(folder.path("notes.txt"), "mine").unwrap();
    let refused = folder.run(&["pack", "latest", "notes.txt"], 2);
    assert!(
        err(&refused).contains("`notes.txt` already exists and is not a pack"),
        "{}",
        err(&refused)
    );
    assert_eq!(fs_err::read(folder.path("notes.txt")).unwrap(), b"mine");
    folder.run(&["pack", "latest", "ledger.db"], 2);
    folder.run(&["pack", "latest", "no/such/directory.assay"], 2);

    let verified = out(&folder.run(&["verify", "a.assay", "--digest", &digest], 0));
    assert!(verified.contains(&digest) && verified.contains("96 slices"), "{verified}");
    assert!(verified.ends_with("verified: everything is as recorded\n"), "{verified}");
    let other = "0".repeat(64);
    let refused = out(&folder.run(&["verify", "a.assay", "--digest", &other], 3));
    assert!(refused.contains("manifest.json: digest: recorded 0000"), "{refused}");
    folder.run(&["verify", "notes.txt"], 2);
    folder.run(&["verify", "missing.assay"], 2);
    folder.run(&["verify", "/dev/zero"], 2);

    let report = folder.run(&["report", "--ledger", "a.assay", "--format", "json"], 0);
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&first)).unwrap();
    let mut member = String::new();
    zip.by_name("report.json").unwrap().read_to_string(&mut member).unwrap();
    assert_eq!(out(&report), member);
    let studies = out(&folder.run(&["studies", "--ledger", "a.assay"], 0));
    assert!(studies.contains(STUDY), "{studies}");
}

#[test]
fn a_changed_member_is_named() {
    let folder = Folder::new();
    folder.run(&["pack", "latest", "a.assay"], 0);
    let (from, to) = (folder.path("a.assay"), folder.path("b.assay"));
    let faster = |report: Vec<u8>| {
        let mut json: Value = serde_json::from_slice(&report).unwrap();
        json["cells"][1]["rqps"]["value"] = 7.into();
        let text = serde_json::to_string_pretty(&json).unwrap().into_bytes();
        // The length stays, so that only the digest differs.
        let blanks = report.len().saturating_sub(text.len());
        [text, vec![b' '; blanks]].concat()
    };
    altered(&from, &to, "report.json", faster);
    let message = out(&folder.run(&["verify", "b.assay"], 3));
    assert!(message.contains("report.json: SHA-256"), "{message}");
    assert!(
        message.contains(
            "cells[1].rqps.value (update-index, writes, 1 clients, mariadb@11.8): recorded 7"
        ),
        "{message}"
    );
    let refused = folder.run(&["report", "--ledger", "b.assay"], 2);
    assert!(err(&refused).contains("was altered: its `report.json`"), "{}", err(&refused));
    altered(&from, &to, "ledger.db", |mut bytes| {
        bytes.truncate(5000);
        bytes
    });
    let message = out(&folder.run(&["verify", "b.assay", "--format", "json"], 3));
    let message: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(
        (&message["verified"], &message["differences"][0]["member"]),
        (&false.into(), &"ledger.db".into())
    );
    altered(&from, &to, "report.csv", |bytes| [bytes, vec![b'x'; 1 << 20]].concat());
    let refused = folder.run(&["verify", "b.assay"], 2);
    assert!(err(&refused).contains("`report.csv` is longer than"), "{}", err(&refused));
}

/// Reports depend on nothing but the file.
#[test]
fn another_environment_makes_the_same_pack_and_reports() {
    let folder = Folder::new();
    folder.run(&["pack", "latest", "a.assay"], 0);
    let elsewhere = folder.path("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    let other = |words: &[&str]| {
        let output = folder
            .command(words)
            .current_dir(&elsewhere)
            .env_clear()
            .env("HOME", "/nonexistent/other")
            .env("TZ", "Asia/Tokyo")
            .env("LC_ALL", "tr_TR.UTF-8")
            .env("COLUMNS", "40")
            .env("TERM", "dumb")
            .env("CLICOLOR_FORCE", "1")
            .env("USER", "someone-else")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", err(&output));
        output.stdout
    };
    other(&["verify", "../a.assay"]);
    other(&["pack", "latest", "b.assay", "--ledger", "../ledger.db"]);
    let bytes = |name: &str| fs_err::read(folder.path(name)).unwrap();
    assert_eq!(bytes("a.assay"), bytes("elsewhere/b.assay"));
    for format in ["text", "html", "markdown", "csv", "json"] {
        let words = ["report", "--format", format, "--ledger", "../a.assay", "-o", "report"];
        other(&words);
        folder.run(&["report", "--format", format, "--ledger", "a.assay", "-o", "report"], 0);
        assert_eq!(bytes("report"), bytes("elsewhere/report"), "{format}");
    }
}

#[test]
fn recorded_verdicts_of_a_ledger_are_verified() {
    let folder = Folder::new();
    // A finished study has verdicts: without them, nothing would contradict others.
    let message = out(&folder.run(&["verify", "ledger.db"], 3));
    assert!(
        message.contains("verdicts: recorded nothing, computed those of a finished study"),
        "{message}"
    );
    assert!(message.contains("not verified: the file is damaged or was altered"), "{message}");
    let table = "col-1 : a\ncol-2 : b\n100\t110\tpoint-query\n200\t190\tscan\n";
    fs_err::write(folder.path("qps.abs.x.tsv"), table).unwrap();
    folder.run(&["import", "mytools", "qps.abs.x.tsv", "--ledger", "own.db"], 0);
    let message = out(&folder.run(&["verify", "own.db"], 0));
    assert!(
        message.contains("4 verdicts of assay") && message.contains("as recorded"),
        "{message}"
    );
    let change = |sql: &str| {
        let connection = Connection::open(folder.path("own.db")).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
    };
    change("UPDATE verdict SET verdict = 'faster', rqps = 2 WHERE cell = 0 AND system = 1");
    let message = out(&folder.run(&["verify", "own.db"], 3));
    assert!(message.contains("b, verdict: recorded faster, computed undecided"), "{message}");
    assert!(message.contains("b, rqps: recorded 2, computed 1.1"), "{message}");
    // A forger can change the version too.
    change("UPDATE study SET judged_by = '0.0.9'");
    let message = out(&folder.run(&["verify", "own.db"], 3));
    assert!(message.contains("the file says that assay 0.0.9 computed it"), "{message}");
    assert!(message.contains("An altered file can say so too"), "{message}");
    // Every version stores all verdicts.
    change("DELETE FROM verdict WHERE cell = 0");
    let message = out(&folder.run(&["verify", "own.db"], 3));
    assert!(message.contains("recorded no verdict"), "{message}");
    assert!(message.ends_with("not verified: the file is damaged or was altered\n"), "{message}");
    change("UPDATE verdict SET system = 7 WHERE system = 1");
    let refused = folder.run(&["verify", "own.db"], 2);
    let message = "table `verdict`, row 2: refers to a row that is not in the ledger";
    assert!(err(&refused).contains(message), "{}", err(&refused));
}

#[test]
fn ledgers_are_merged() {
    let folder = Folder::new();
    let merge =
        |file: &str, code| folder.run(&["import", "ledger", file, "--ledger", "own.db"], code);
    assert_eq!(out(&merge("ledger.db", 0)), format!("{STUDY}: added, 96 slices\n"));
    assert_eq!(out(&merge("ledger.db", 0)), format!("{STUDY}: already there, 96 slices\n"));
    let report =
        |ledger: &str| out(&folder.run(&["report", "--format", "json", "--ledger", ledger], 0));
    assert_eq!(report("own.db"), report("ledger.db"));
    // A pack has no personal paths, but it is the same study.
    folder.run(&["pack", "latest", "a.assay"], 0);
    assert_eq!(out(&merge("a.assay", 0)), format!("{STUDY}: already there, 96 slices\n"));
    assert_eq!(report("own.db"), report("ledger.db"));
    folder.run(&["import", "ledger", "a.assay", STUDY, "--ledger", "new.db"], 0);
    folder.run(&["import", "ledger", "a.assay", "nothing", "--ledger", "new.db"], 2);
    assert_eq!(report("new.db"), report("a.assay"));
    // Ids of another study's runs and slices are in use already.
    let change = "UPDATE study SET id = 'other';
        UPDATE cell SET study = 'other'; UPDATE system SET study = 'other'; UPDATE run SET study = 'other';
        UPDATE block SET study = 'other'; UPDATE content SET study = 'other';
        UPDATE instance SET study = 'other'; UPDATE setting SET study = 'other'; UPDATE audit SET study = 'other';
        UPDATE event SET study = 'other'; UPDATE slice SET study = 'other'; UPDATE test SET study = 'other';
        UPDATE verdict SET study = 'other'; UPDATE counter_names SET study = 'other';
        UPDATE study SET finished = 0;
        UPDATE system SET spec = json_set(spec, '$.origin', json_object('dir', '/opt/evil')) WHERE number = 1;";
    let connection = Connection::open(folder.path("new.db")).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
    drop(connection);
    assert_eq!(out(&merge("new.db", 0)), "other: added, 96 slices, unfinished\n");
    let json = |study: &str, ledger: &str| {
        let words = ["report", study, "--format", "csv", "--ledger", ledger];
        out(&folder.run(&words, 0))
    };
    assert_eq!(json("other", "own.db"), json("other", "new.db"));
    assert_eq!(json(STUDY, "own.db"), json(STUDY, "ledger.db"));
    // A merged study gains no trust.
    let refused = folder.run(&["resume", "other", "--ledger", "own.db", "--offline"], 2);
    assert!(err(&refused).contains("was not started here by you"), "{}", err(&refused));
}

fn change(ledger: &Path, sql: &str) {
    let connection = Connection::open(ledger).unwrap();
    connection
        .execute_batch(&format!("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; {sql}"))
        .unwrap();
}

/// With a case-insensitive collation, one study would also own the rows of another.
#[test]
fn an_imported_study_never_takes_rows_of_another() {
    let folder = Folder::new();
    folder.run(&["import", "ledger", "ledger.db", "--ledger", "own.db"], 0);
    let own = folder.path("own.db");
    let before = fs_err::read(&own).unwrap();
    fs_err::copy(folder.path("ledger.db"), folder.path("evil.db")).unwrap();
    change(
        &folder.path("evil.db"),
        "UPDATE study SET id = 'A'; UPDATE cell SET study = 'a'; UPDATE system SET study = 'a';
         UPDATE sqlite_schema SET sql = replace(replace(sql, 'study TEXT', 'study TEXT COLLATE NOCASE'),
            'id TEXT', 'id TEXT COLLATE NOCASE') WHERE type = 'table'",
    );
    for words in [
        &["import", "ledger", "evil.db", "--ledger", "own.db"][..],
        &["verify", "evil.db"],
        &["studies", "--ledger", "evil.db"],
        &["report", "--ledger", "evil.db"],
    ] {
        let refused = folder.run(words, 2);
        assert!(err(&refused).contains("its schema was altered"), "{}", err(&refused));
    }
    assert_eq!(fs_err::read(&own).unwrap(), before);
}

/// Ids of other existing or future studies.
#[test]
fn an_imported_study_takes_no_place_of_another() {
    let folder = Folder::new();
    folder.run(&["import", "ledger", "ledger.db", "--ledger", "own.db"], 0);
    folder.run(&["studies", "name", "latest", "nightly", "--ledger", "own.db"], 0);
    let tables = ["test", "cell", "system", "run", "block", "content", "instance", "setting"];
    let tables =
        [&tables[..], &["audit", "event", "counter_names", "slice", "verdict", "document"]]
            .concat();
    let with = |id: &str, more: &str| {
        fs_err::copy(folder.path("ledger.db"), folder.path("other.db")).unwrap();
        let moved = tables.iter().map(|it| format!("UPDATE {it} SET study = '{id}';"));
        let sql = format!("UPDATE study SET id = '{id}'; {} {more}", moved.collect::<String>());
        change(&folder.path("other.db"), &sql);
        folder.command(&["import", "ledger", "other.db", "--ledger", "own.db"]).output().unwrap()
    };
    let future = "UPDATE study SET started_ms = 253402300799000";
    for (id, more, message) in [
        ("latest", "", "its name stands for the latest study"),
        ("nightly", "", "it already has a study `nightly`"),
        ("night", "", "would take the place of its study `nightly`"),
        ("2026", "", &*format!("would take the place of its study `{STUDY}`")),
        ("..", "", "a name that assay gives to no study"),
        ("-rf", "", "a name that assay gives to no study"),
        ("a/b", "", "a name that assay gives to no study"),
        ("imported-0123456789ab", "", "is not of what it holds"),
        ("other", future, "begins in the future"),
    ] {
        let refused = with(id, more);
        assert_eq!(refused.status.code(), Some(2), "{id}: {}", out(&refused));
        assert!(err(&refused).contains(message), "{id}: {}", err(&refused));
    }
    let added = with("other", "UPDATE study SET started_ms = 1000");
    assert!(added.status.success(), "{}", err(&added));
    let latest = out(&folder.run(&["report", "--format", "json", "--ledger", "own.db"], 0));
    assert!(latest.contains(STUDY), "{latest}");
}

/// The name of published results is a digest of their content: a forger who takes the name is detected.
#[test]
fn forged_published_results_never_stand_for_the_true_ones() {
    let folder = Folder::new();
    let table = "col-1 : a\ncol-2 : b\n100\t110\tpoint-query\n200\t190\tscan\n";
    fs_err::write(folder.path("qps.abs.x.tsv"), table).unwrap();
    let import = |ledger: &str, code| {
        folder.run(&["import", "mytools", "qps.abs.x.tsv", "--ledger", ledger], code)
    };
    import("forged.db", 0);
    let again = import("forged.db", 0);
    assert!(
        err(&again).contains("note: these results are in the ledger already: study `imported-")
    );
    // Unchanged, it is the same wherever it was imported, also from a pack.
    import("own.db", 0);
    folder.run(&["pack", "latest", "p.assay", "--ledger", "forged.db"], 0);
    for file in ["forged.db", "p.assay"] {
        let same = out(&folder.run(&["import", "ledger", file, "--ledger", "own.db"], 0));
        assert!(same.contains("already there"), "{same}");
    }
    for forgery in [
        "UPDATE slice SET events = events + 1 WHERE id = 1",
        "UPDATE slice SET published = '[[\"a\",1.0]]' WHERE id = 1",
        "UPDATE system SET name = 'c' WHERE number = 1",
        "UPDATE run SET host = json_set(host, '$.cpu', 'fast')",
        "INSERT INTO event (study, when_ms, what) SELECT id, 1, '{\"kind\":\"resumed\"}' FROM study",
    ] {
        fs_err::copy(folder.path("forged.db"), folder.path("f.db")).unwrap();
        change(&folder.path("f.db"), forgery);
        // Into a ledger without the genuine ones, and into one with them.
        let words = ["import", "ledger", "f.db", "--ledger", "empty.db"];
        let refused = folder.command(&words).output().unwrap();
        assert!(err(&refused).contains("is not of what it holds"), "{forgery}: {}", err(&refused));
        folder.run(&["import", "ledger", "f.db", "--ledger", "own.db"], 2);
        // The genuine ones differ from the present ones.
        let refused = import("f.db", 2);
        assert!(err(&refused).contains("something else than its name says"), "{}", err(&refused));
    }
}
