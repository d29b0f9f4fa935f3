//! Restored dumps, captured values and compared answers, on real servers.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::Place;

/// More than a busy machine needs.
const BUDGET: [&str; 2] = ["--budget", "20m"];

/// As written by `mysqldump --compact --skip-quote-names`: without the session mode that allows zero dates.
const DUMP: &str = r"/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE people (
  id int NOT NULL,
  city varchar(20) NOT NULL,
  name varchar(20) NOT NULL,
  score double NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
INSERT INTO people VALUES (1,'Rome','it\'s; me',0.1),(2,'Oslo','Ann',0.2),(3,'Rome','Bob',0.30000000000000004);
CREATE TABLE numbers (id int NOT NULL PRIMARY KEY) ENGINE=InnoDB;
INSERT INTO numbers VALUES (76),(77),(78);
CREATE TABLE words (w varchar(20) NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
INSERT INTO words VALUES ('a'),('b');
CREATE TABLE scores (
  id int NOT NULL PRIMARY KEY,
  rank int
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
INSERT INTO scores VALUES (1,1),(2,2);
CREATE TABLE dated (id int NOT NULL PRIMARY KEY, d date NOT NULL) ENGINE=InnoDB DEFAULT CHARSET=latin1;
INSERT INTO dated VALUES (1,'0000-00-00');
GRANT SELECT ON people TO 'app'@'%';
DELIMITER ;;
CREATE DEFINER=`app`@`%` FUNCTION twice(n INT) RETURNS INT DETERMINISTIC NO SQL BEGIN RETURN 2 * n; END ;;
DELIMITER ;
";

const WORKLOAD: &str = r#"
dump = "shop.sql"

[test.person]
values = { file = "ids.jsonl", names = ["id", "names"], draw = "in-order" }
steps = ["SELECT name, score FROM people WHERE id = :id AND name IN (:names)"]

[test.word]
steps = ["SELECT w FROM words WHERE w = 'a '"]

[test.city]
steps = ["SELECT city, name FROM people GROUP BY city"]

[test.now]
steps = ["SELECT id, NOW(6) FROM people ORDER BY id"]

[test.rare]
values = { file = "rare.jsonl", names = ["id"], draw = "random" }
steps = ["""SELECT id, (SELECT COUNT(*) FROM words WHERE w = CASE WHEN id = 77 THEN 'a ' ELSE 'a' END)
FROM numbers WHERE id = :id"""]

[test.total]
steps = ["SELECT SUM(score), COUNT(*), twice(4) FROM people"]

# MariaDB leaves out what stands in such comments, so that the answers differ in a known way.
[test.groups]
log = { calls = 4810, share = 0.35 }
steps = ["SELECT w, COUNT(*) FROM words GROUP BY w /*!80000 ORDER BY w DESC */"]

[test.ties]
steps = ["SELECT id FROM numbers ORDER BY id > 0 /*!80000 , -id */ LIMIT 2"]

[test.sorted]
steps = ["SELECT id FROM numbers ORDER BY id /*!80000 DESC */ LIMIT 2"]

[test.page]
steps = ["SELECT id FROM numbers /*!80000 ORDER BY id DESC */ LIMIT 2"]

[test.fewer]
steps = ["SELECT id FROM numbers WHERE id < 78 /*!80000 - 1 */ LIMIT 5"]

[test.list]
steps = ["SELECT GROUP_CONCAT(w /*!80000 ORDER BY w DESC */) FROM words"]
"#;

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        fs_err::write(folder.join(name), content).unwrap();
    }
}

fn found(result: &Value, kind: &str, fields: [&str; 3]) -> Vec<[String; 3]> {
    let empty = Vec::new();
    let all = result[kind].as_array().unwrap_or(&empty);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    all.iter().map(|it| fields.map(|field| text(&it[field]))).collect()
}

#[test]
fn an_upgrade_is_told_what_breaks_before_it_is_told_what_is_slow() {
    drop(Place::with("mysql@8.0"));
    let place = Place::with("mariadb@10.11");
    let folder = tempfile::tempdir().unwrap();
    let ids = "[1, [\"it's; me\", \"x\"]]\n[2, [\"Ann\"]]\n[3, [\"none\"]]\n";
    write(folder.path(), &[("shop.sql", DUMP), ("shop.toml", WORKLOAD), ("ids.jsonl", ids)]);
    // One value of forty has another answer, and popular ones come again and again.
    let rare: String = (0..160).map(|line| format!("[{}]\n", (line % 80).max(41))).collect();
    write(folder.path(), &[("rare.jsonl", &rare)]);
    let file = folder.path().join("shop.toml").display().to_string();
    // The default modes of MySQL 8.0; systems on equal terms share them.
    let mysql =
        "mysql@8.0+sql_mode=ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE";
    let compare = ["compare", "mariadb@10.11", mysql, "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--format", "json", "--key", "blocks=1"];
    let output = place.run_to_end(&[&compare[..], &options[..], &BUDGET].concat());
    // One test cannot run on MySQL.
    let result = json(&output, 3);
    let answers = found(&result, "answers", ["test", "system", "what"]);
    let differences = |test: &str| -> Vec<&str> {
        let of_test = answers.iter().filter(|it| it[0] == test);
        of_test
            .inspect(|it| assert!(it[1].starts_with("mysql@8.0")))
            .map(|it| it[2].as_str())
            .collect()
    };
    assert_eq!(differences("person"), [] as [&str; 0], "{answers:?}");
    assert_eq!(differences("total"), [] as [&str; 0], "{answers:?}");
    // MariaDB's collation ignores trailing spaces, and the collation itself differs.
    assert_eq!(differences("word"), ["types", "rows"], "{answers:?}");
    assert_eq!(differences("city"), ["error"], "{answers:?}");
    assert_eq!(differences("now"), ["undetermined"], "{answers:?}");
    assert!(differences("rare").contains(&"values"), "{answers:?}");
    // Unspecified order is no fault of a statement.
    for (test, what) in [
        ("groups", "order"),
        ("ties", "choice"),
        ("sorted", "values"),
        ("page", "choice"),
        ("fewer", "rows"),
        ("list", "choice"),
    ] {
        assert!(differences(test).contains(&what), "{test}: {answers:?}");
    }
    let why = found(&result, "answers", ["test", "severity", "why"]);
    let groups = ["groups", "look-at", "in MariaDB, GROUP BY also sorts"].map(str::to_owned);
    assert!(why.contains(&groups), "{why:?}");
    check_cells(&result);
    let counted = found(&result, "answers", ["test", "events", "compared"]);
    assert!(counted.contains(&["rare", "1", "39"].map(str::to_owned)), "{counted:?}");
    check_restored(&result);
    let shown = place.run_to_end(&["report", "--format", "markdown"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    for part in ["refused 3 statements of the dump", "Answers that differ", "Restoring the dump"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    place.assert_nothing_left();
}

fn check_cells(result: &Value) {
    let cells = result["cells"].as_array().unwrap();
    let cell = |test: &str| {
        cells.iter().find(|it| it["test"] == test && it["system"] != "mariadb@10.11").unwrap()
    };
    let groups = cell("groups");
    assert_eq!((&groups["calls"], &groups["share"]), (&4810.into(), &0.35.into()));
    assert_eq!(
        groups["fingerprint"],
        "SELECT w, COUNT(*) FROM words GROUP BY w /*!80000 ORDER BY w DESC */"
    );
    assert_eq!((&groups["answers_differ"], &groups["new_errors"]), (&true.into(), &0.into()));
    assert_eq!(
        (&cell("total")["answers_differ"], &cell("total")["calls"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(cell("city")["new_errors"], 1);
    let compared = &result["answers_compared"][0];
    assert_eq!(compared["same"], 2, "{compared}");
}

fn check_restored(result: &Value) {
    let note = found(result, "restored", ["system", "what", "message"]);
    let has = |system: &str, what: &str, message: &str| {
        note.iter().any(|it| it[0].starts_with(system) && it[1] == what && it[2].contains(message))
    };
    // `rank` is reserved in MySQL, and the statements that fill the table lack it.
    assert!(has("mysql@8.0", "error", "1064"), "{note:?}");
    assert!(has("mysql@8.0", "error", "0000-00-00"), "{note:?}");
    assert!(!note.iter().any(|it| it[0] == "mariadb@10.11" && it[1] == "error"), "{note:?}");
    for system in ["mariadb@10.11", "mysql@8.0"] {
        assert!(has(system, "left-out", "rights"), "{note:?}");
        assert!(has(system, "left-out", "DEFINER"), "{note:?}");
    }
    let lines = found(result, "restored", ["line", "statement", "what"]);
    let table = ["14", "CREATE TABLE scores (", "error"].map(str::to_owned);
    assert!(lines.contains(&table), "{lines:?}");
}

#[test]
fn a_dump_that_ends_the_server_is_an_error_with_its_line() {
    let place = Place::with("mariadb@10.11");
    let folder = tempfile::tempdir().unwrap();
    // The server answers SHUTDOWN, and then ends this connection while it waits.
    let dump = "-- MariaDB dump 10.19\nCREATE TABLE t (id INT);\nSHUTDOWN;\nDO SLEEP(60);\n\
                INSERT INTO t VALUES (1);\n";
    let workload = "dump = \"d.sql\"\n[test.t]\nsteps = [\"SELECT * FROM t\"]\n";
    write(folder.path(), &[("d.sql", dump), ("w.toml", workload)]);
    let file = folder.path().join("w.toml").display().to_string();
    let compare = ["compare", "mariadb@10.11", "mariadb@10.11+max_connections=200", "--offline"];
    let output = place.run_to_end(&[&compare[..], &["--workload", &file]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    // The server may tell the waiting statement that it ends, or close its connection.
    let note = |line| stderr.contains(&format!("d.sql`, line {line}: no answer to"));
    assert!((3..=5).any(note), "{stderr}");
    let untried =
        "cannot load data into `mariadb@10.11` (not tried: `mariadb@10.11+max_connections=200`)";
    assert!(stderr.contains(untried) && stderr.contains("(`SHUTDOWN`)"), "{stderr}");
    place.assert_nothing_left();
}

#[test]
fn a_statement_that_fails_everywhere_is_not_the_fault_of_one_system() {
    drop(Place::with("mariadb@11.8"));
    let place = Place::with("mariadb@10.11");
    let folder = tempfile::tempdir().unwrap();
    let workload = "dump = \"d.sql\"\n[test.gone]\nsteps = [\"SELECT * FROM gone\"]\n\
                    [test.there]\nsteps = [\"SELECT * FROM t\"]\n";
    write(
        folder.path(),
        &[("d.sql", "-- MariaDB dump 10.19\nCREATE TABLE t (id INT);\n"), ("w.toml", workload)],
    );
    let file = folder.path().join("w.toml").display().to_string();
    for mode in ["auto", "disable"] {
        let compare =
            ["compare", "mariadb@10.11", "mariadb@11.8", "--preset", "smoke", "--offline"];
        let options = ["--workload", &file, "--db-ps-mode", mode, "--key", "blocks=1"];
        let output = place.run_to_end(&[&compare[..], &options[..], &BUDGET].concat());
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        for system in ["mariadb@10.11", "mariadb@11.8"] {
            let note = format!("{system} gone failed: ");
            assert!(stderr.contains(&note), "{stderr}");
        }
        assert!(stdout.contains("gone on all systems: "), "{stdout}");
        assert!(stdout.contains("there "), "{stdout}");
    }
    place.assert_nothing_left();
}

const PG_DUMP: &str = r#"--
-- PostgreSQL database dump
--

\restrict abc

-- Dumped from database version 15.5

SET statement_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET default_table_access_method = heap;

CREATE FUNCTION public.half(n integer) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $_$ SELECT $1 / 2; -- it's; half
$_$;

ALTER FUNCTION public.half(n integer) OWNER TO app;

CREATE TABLE public.items (
    id integer NOT NULL,
    name text,
    price numeric(8,2)
);

ALTER TABLE public.items OWNER TO app;

COPY public.items (id, name, price) FROM stdin;
1	it's; a	1.50
2	\N	2.00
3	tab\there	\N
\.

COPY public.gone (id) FROM stdin;
7
\.

ALTER TABLE ONLY public.items
    ADD CONSTRAINT items_pkey PRIMARY KEY (id);

GRANT SELECT ON TABLE public.items TO app;

\unrestrict abc
"#;

const PG_WORKLOAD: &str = r#"
dump = "shop.sql.gz"

[table.more]
rows = 10
create = "CREATE TABLE more (id INT PRIMARY KEY, item INT)"
columns = { id = { sequence = 1 }, item = { uniform = [1, 3] } }

[test.items]
values = { file = "ids.jsonl", names = ["id", "price", "bytes"] }
steps = ["SELECT name, half(id), price + :price FROM items WHERE id = :id AND length(:bytes::bytea) = 2 ORDER BY id"]

[test.join]
steps = ["SELECT COUNT(*) FROM items JOIN more ON item = items.id"]
"#;

#[test]
fn a_dump_of_postgres_is_restored_with_its_copied_rows() {
    let place = Place::with("postgres@15");
    let folder = tempfile::tempdir().unwrap();
    let ids = "[1, 0.50, {\"hex\": \"00ff\"}]\n[3, 1, {\"hex\": \"0a0b\"}]\n";
    write(folder.path(), &[("shop.sql", PG_DUMP), ("shop.toml", PG_WORKLOAD), ("ids.jsonl", ids)]);
    let gzip = Command::new("gzip").arg(folder.path().join("shop.sql")).status().unwrap();
    assert!(gzip.success());
    let file = folder.path().join("shop.toml").display().to_string();
    let compare = ["compare", "postgres@15", "--twin", "--preset", "smoke", "--offline"];
    let options = ["--workload", &file, "--format", "json", "--key", "blocks=1"];
    let output = place.run_to_end(&[&compare[..], &options[..], &BUDGET].concat());
    let result = json(&output, 0);
    assert_eq!(result["answers"], Value::Null, "{result:#}");
    let note = found(&result, "restored", ["what", "line", "message"]);
    let count = |what: &str, message: &str| {
        note.iter().filter(|it| it[0] == what && it[2].contains(message)).count()
    };
    // Both the system and its twin report it.
    assert_eq!(count("left-out", "transaction_timeout"), 2, "{note:?}");
    assert_eq!(count("left-out", "owners"), 2, "{note:?}");
    assert_eq!(count("error", "\"public.gone\" does not exist"), 2, "{note:?}");
    assert_eq!(note.iter().filter(|it| it[0] == "error").count(), 2, "{note:?}");
    let events = found(&result, "events", ["what", "system", "when"]);
    let note = "the answers to 2 statements were compared: 2 statements answered the same, over 1 to 2 values each, \
    3 in all";
    let compared = |it: &[String; 3]| it[0] == note;
    assert!(events.iter().any(compared), "{events:?}");
    let with_mysql = ["compare", "postgres@15", "mysql@8.0", "--workload", &file, "--offline"];
    let refused = place.run_to_end(&with_mysql);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("dump of workload `shop` is one of another family"), "{stderr}");
    place.assert_nothing_left();
}
