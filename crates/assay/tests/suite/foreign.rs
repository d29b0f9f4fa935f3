//! Studies from elsewhere are read, never run, and change nothing: forged ledgers and packs, against the commands. No
//! server is needed.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use assay_ledger::Ledger;
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
        fs_err::write(folder.path("theirs.db"), bytes).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    #[track_caller]
    fn run(&self, words: &[&str], code: i32) -> Output {
        let mut command = Command::cargo_bin("assay").unwrap();
        command
            .args(words)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("ASSAY_CACHE", self.path("cache"))
            .env("ASSAY_LEDGER", self.path("own.db"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("RUST_LOG");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}{}", out(&output), err(&output));
        output
    }

    fn forged(&self, name: &str, sql: &str) -> PathBuf {
        let path = self.path(name);
        fs_err::copy(self.path("theirs.db"), &path).unwrap();
        change(&path, sql);
        path
    }
}

fn change(ledger: &Path, sql: &str) {
    let connection = Connection::open(ledger).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
}

fn renamed(id: &str) -> String {
    let tables = [
        "test",
        "cell",
        "system",
        "run",
        "block",
        "content",
        "instance",
        "setting",
        "audit",
        "event",
        "counter_names",
        "slice",
        "verdict",
        "document",
    ];
    let moved = tables.iter().map(|it| format!("UPDATE {it} SET study = '{id}';"));
    format!("UPDATE study SET id = '{id}'; {}", moved.collect::<String>())
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A ledger's statements about itself are not trusted. An imported study, and that of a pack, is marked.
#[test]
fn a_study_from_elsewhere_is_read_and_never_run() {
    let folder = Folder::new();
    folder.run(&["import", "ledger", "theirs.db"], 0);
    folder.run(&["pack", STUDY, "p.assay", "--ledger", "theirs.db"], 0);
    let unfinished = folder.forged("unfinished.db", "UPDATE study SET finished = 0");
    for ledger in ["theirs.db", "own.db", "p.assay", unfinished.to_str().unwrap()] {
        let with =
            |words: &[&str], code| folder.run(&[words, &["--ledger", ledger]].concat(), code);
        let report = json(&with(&["report", "--format", "json"], 0));
        assert_eq!(report["study"]["foreign"], true, "{ledger}");
        for words in [
            &["report"][..],
            &["report", "--format", "html"],
            &["studies"],
            &["studies", "show"],
            &["trend", "point-query"],
            &["pack", STUDY, "copy.assay"],
            &["gate", "--study", STUDY, "--max-slowdown", "90%", "--allow-undecided"],
        ] {
            with(words, 0);
        }
        for words in [
            &["repro", STUDY, "--test", "point-query", "-o", "shown"][..],
            &["repro", "latest", "--test", "point-query", "-o", "shown"],
            &["resume", STUDY, "--offline"],
            &["resume", STUDY, "--more", "10m", "--offline"],
            &["bisect", "--study", STUDY, "--test", "point-query", "--offline"],
            &["gate", "--study", STUDY, "--max-slowdown", "90%", "--junit", "junit.xml"],
        ] {
            if ledger == "p.assay" && words[0] == "resume" {
                continue;
            }
            let refused = err(&with(words, 2));
            assert!(refused.contains(&format!("study `{STUDY}` is foreign: ")), "{refused}");
            assert!(
                refused.contains("hint: ") && refused.contains("look at its systems"),
                "{refused}"
            );
        }
        assert!(!folder.path("shown").exists() && !folder.path("junit.xml").exists());
    }
    folder.run(&["resume", STUDY, "--ledger", "p.assay"], 2);
    folder.run(&["verify", "p.assay"], 0);
    let listed = json(&folder.run(&["studies", "--format", "json"], 0));
    assert_eq!(listed["studies"][0]["foreign"], true, "{listed:#}");
    let none = err(&folder.run(&["resume", "--ledger", "unfinished.db", "--offline"], 2));
    assert!(none.contains(&format!("study `{STUDY}` is foreign: ")), "{none}");
}

/// Unescaped, these texts would be commands or lines of config files.
#[test]
fn names_and_options_that_are_no_words_are_refused() {
    let folder = Folder::new();
    let options = |json: &str| {
        format!("UPDATE system SET options = json_insert(options, '$[#]', {json}) WHERE number = 1")
    };
    let overrides = |json: &str| {
        format!(
            "UPDATE system SET spec = json_set(spec, '$.overrides', json_array({json})) WHERE number = 1"
        )
    };
    let built = |origin: &str, flags: &str| {
        format!(
            "UPDATE system SET spec = json_set(spec, '$.origin', json('{origin}'), '$.build', json('{flags}'))
                WHERE number = 1"
        )
    };
    let test = |name: &str| {
        format!(
            "UPDATE test SET name = '{name}', definition = json_set(definition, '$.name', '{name}')
                WHERE name = 'point-query';
             UPDATE cell SET test = '{name}' WHERE test = 'point-query';
             UPDATE slice SET test = '{name}' WHERE test = 'point-query'"
        )
    };
    let name = "is not the name of a test";
    let option = "is not an option of a server";
    let reserved = "is an option that only assay may set";
    for (sql, message) in [
        (test("x; touch evil"), name),
        (test("$(touch evil)"), name),
        (test("../x"), name),
        (test("-rf"), name),
        (test(""), name),
        ("UPDATE system SET name = 'a' || char(10) || 'b'".to_owned(), "has a control character"),
        (options("'include_dir ''x'''"), option),
        (options("'!includedir /tmp'"), option),
        (options("'a' || char(10) || 'archive_command=touch evil'"), option),
        (options("'--sync-binlog=1' || char(10) || 'init-file=/x'"), option),
        (options("'--init-file=/x'"), reserved),
        (options("'--loose-plugin-load-add=evil.so'"), reserved),
        (options("'--skip-grant-tables'"), reserved),
        (options("'--tmpdir=/tmp/x'"), reserved),
        (overrides("json_array('init_file', 'x')"), reserved),
        (overrides("json_array('a b', 'x')"), option),
        (overrides("json_array('build.cc', 'evil')"), reserved),
        (built(r#"{"version":"8.0"}"#, r#"{"lto":"on"}"#), "is not built from source"),
        (built(r#"{"git":"/x"}"#, r#"{"cc":"/tmp/evil"}"#), "a compiler is named by its program"),
    ] {
        let forged = folder.forged("forged.db", &sql);
        for words in [&["report"][..], &["verify"], &["import", "ledger"]] {
            let words = match words {
                ["report"] => vec!["report", "--ledger", "forged.db"],
                _ => [words, &["forged.db"]].concat(),
            };
            let refused = err(&folder.run(&words, 2));
            assert!(refused.contains(message), "{sql}: {words:?}: {refused}");
        }
        fs_err::remove_file(forged).unwrap();
    }
    assert!(!folder.path("evil").exists());
}

/// A default instead of the requested value would be another study.
#[test]
fn a_request_that_cannot_be_read_is_an_error() {
    let folder = Folder::new();
    for request in [
        "'{}'",
        "json_set(request, '$.systems', json('[{\"words\":\"a\"}]'))",
        "json_set(request, '$.options.what', 1)",
        "json_set(request, '$.options.budget', -1)",
    ] {
        folder.forged("forged.db", &format!("UPDATE study SET request = {request}"));
        for words in [
            &["report"][..],
            &["report", "--format", "json"],
            &["report", "--format", "folded", "-o", "stacks"],
            &["pack", STUDY, "p.assay"],
            &["studies", "show"],
            &["gate", "--study", STUDY, "--max-slowdown", "5%"],
        ] {
            let refused = err(&folder.run(&[words, &["--ledger", "forged.db"]].concat(), 2));
            for part in [
                format!("cannot read study `{STUDY}` of ledger `"),
                "forged.db`\n".to_owned(),
                format!("the request of study {STUDY}"),
            ] {
                assert!(refused.contains(&part), "{words:?}: {refused}");
            }
        }
        folder.run(&["import", "ledger", "forged.db"], 2);
        folder.run(&["verify", "forged.db"], 2);
    }
    assert!(!folder.path("stacks").exists() && !folder.path("p.assay").exists());
}

#[test]
fn a_document_that_cannot_be_read_is_an_error_that_names_the_ledger() {
    let folder = Folder::new();
    let document = "SELECT study, number, 0, 'count', '{}', 0 FROM cell WHERE number = 0";
    folder.forged("forged.db", &format!("INSERT OR REPLACE INTO document {document}"));
    let refused = err(&folder.run(&["report", "--ledger", "forged.db"], 2));
    for part in [
        format!("cannot read study `{STUDY}` of ledger `"),
        "forged.db`\n".to_owned(),
        "document `count` of system 1".to_owned(),
    ] {
        assert!(refused.contains(&part), "{refused}");
    }
}

const WHOLE: &str = "shards-0123456789ab";

const SECRET: &str = "00112233445566778899aabbccddeeff";

fn shard(study: &str, secret: &str) -> String {
    format!(
        "UPDATE run SET shard = json_object('study', '{study}', 'number', 1, 'of', 1, 'first', 0, 'step', 1,
            'attempt', '', 'node', 'n1', 'secret', '{secret}')"
    )
}

fn submitted(folder: &Folder) -> PathBuf {
    let jobs = folder.path("state/assay/jobs").join(WHOLE);
    fs_err::create_dir_all(&jobs).unwrap();
    let job = serde_json::json!({
        "dir": jobs, "study": WHOLE, "shards": 1, "job": 1, "secret": SECRET,
    });
    fs_err::write(jobs.join("job.json"), job.to_string()).unwrap();
    jobs
}

fn rows(ledger: &Path) -> Vec<assay_ledger::StudyRows> {
    let ledger = Ledger::open_read_only(ledger).unwrap();
    ledger.studies().unwrap().iter().map(|it| ledger.rows(&it.id).unwrap()).collect()
}

/// A shard names its study, which proves nothing.
#[test]
fn a_forged_shard_replaces_no_study() {
    let folder = Folder::new();
    fs_err::copy(folder.path("theirs.db"), folder.path("own.db")).unwrap();
    folder.run(&["studies", "name", STUDY, "nightly"], 0);
    fs_err::create_dir(folder.path("shards")).unwrap();
    let forge = |study: &str, secret: &str| {
        let sql = format!(
            "{} {}; UPDATE slice SET events = events + 1;",
            renamed("other"),
            shard(study, secret)
        );
        folder.forged("shards/1.db", &sql);
    };
    let before = rows(&folder.path("own.db"));
    // It names an ordinary study, with or without a secret, and beside files that look like a job.
    for secret in ["", SECRET] {
        forge(STUDY, secret);
        let job = serde_json::json!({
            "dir": folder.path("shards"), "study": STUDY, "shards": 1, "job": 1, "secret": SECRET,
        });
        fs_err::write(folder.path("shards/job.json"), job.to_string()).unwrap();
        for words in
            [&["collect", "--dir", "shards"][..], &["collect", STUDY, "--dir", "shards/1.db"]]
        {
            let refused = err(&folder.run(words, 2));
            assert!(refused.contains(&format!("has another study `{STUDY}`")), "{refused}");
            assert!(refused.contains("into another ledger"), "{refused}");
        }
        assert!(rows(&folder.path("own.db")) == before);
    }
    let named = out(&folder.run(&["studies"], 0));
    assert!(named.contains(&format!("{STUDY} (nightly)")), "{named}");
}

#[test]
fn a_job_collects_its_own_shards_and_no_others() {
    let folder = Folder::new();
    let jobs = submitted(&folder);
    let attempt = |name: &str, id: &str, secret: &str, more: &str| {
        let sql = format!("{} {}; {more}", renamed(id), shard(WHOLE, secret));
        fs_err::rename(folder.forged("made.db", &sql), jobs.join(name)).unwrap();
    };
    // Only a forged shard: with the right name, without the secret or with another one.
    for secret in ["", "ffffffffffffffffffffffffffffffff"] {
        attempt("forged.db", "forged", secret, "");
        let refused = err(&folder.run(&["collect"], 2));
        assert!(refused.contains("forged.db` has no shard of the job"), "{refused}");
        assert!(!folder.path("own.db").exists());
    }
    attempt("1.db", "mine", SECRET, "DELETE FROM slice WHERE block > 0");
    let forged =
        "UPDATE slice SET events = events + 1; UPDATE study SET started_ms = started_ms + 1";
    attempt("forged.db", "forged", "", forged);
    let collected = folder.run(&["collect"], 0);
    assert!(err(&collected).contains("forged.db` has no shard of the job"), "{}", err(&collected));
    let report = json(&folder.run(&["report", "--format", "json"], 0));
    assert_eq!(
        (report["study"]["id"].as_str(), report["study"]["foreign"].as_bool()),
        (Some(WHOLE), None)
    );
    // The secret stays with the job.
    let bytes = fs_err::read(folder.path("own.db")).unwrap();
    assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()));
    // It is this user's own, and changes as the job goes on.
    folder.run(&["repro", WHOLE, "--test", "point-query", "-o", "shown"], 0);
    let before = rows(&folder.path("own.db"));
    folder.run(&["collect"], 0);
    assert!(rows(&folder.path("own.db"))[0].is_same(&before[0]));
    attempt("1.db", "mine", SECRET, "");
    folder.run(&["collect"], 0);
    assert_ne!(rows(&folder.path("own.db")), before);
    let refused = err(&folder.run(&["resume", WHOLE, "--more", "1h"], 2));
    assert!(refused.contains("was collected from shards"), "{refused}");
    // A packed or shown shard does not reveal the secret.
    let of_job = jobs.join("1.db");
    folder.run(&["pack", "mine", "p.assay", "--ledger", of_job.to_str().unwrap()], 0);
    folder.run(&["import", "ledger", "p.assay", "--ledger", "unpacked.db"], 0);
    let bytes = fs_err::read(folder.path("unpacked.db")).unwrap();
    assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()));
    // Nothing may replace an imported study, not even its job.
    folder.run(&["studies", "rm", WHOLE], 0);
    folder.run(&["pack", "mine", "p.assay", "--ledger", of_job.to_str().unwrap()], 0);
    let sql = format!("{} UPDATE run SET shard = NULL", renamed(WHOLE));
    folder.forged("imported.db", &sql);
    folder.run(&["import", "ledger", "imported.db"], 0);
    let before = rows(&folder.path("own.db"));
    folder.run(&["collect"], 2);
    assert!(rows(&folder.path("own.db")) == before);
}

/// Without a job, shards may be anybody's: they make a study once, and never replace it.
#[test]
fn shards_without_a_job_make_a_study_from_elsewhere_once() {
    let folder = Folder::new();
    let forge = |more: &str| {
        folder.forged("1.db", &format!("{} {}; {more}", renamed("one"), shard(WHOLE, "")));
    };
    forge("DELETE FROM slice WHERE block > 0");
    folder.run(&["collect", "--dir", "1.db"], 0);
    let report = json(&folder.run(&["report", "--format", "json"], 0));
    assert_eq!(report["study"]["foreign"], true);
    folder.run(&["repro", WHOLE, "--test", "point-query", "-o", "shown"], 2);
    let before = rows(&folder.path("own.db"));
    folder.run(&["collect", "--dir", "1.db"], 0);
    assert!(rows(&folder.path("own.db")) == before);
    forge("");
    folder.run(&["collect", "--dir", "1.db"], 2);
    assert!(rows(&folder.path("own.db")) == before);
    folder.run(&["studies", "rm", WHOLE], 0);
    folder.run(&["collect", "--dir", "1.db"], 0);
}
