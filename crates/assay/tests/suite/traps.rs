//! Known traps: requested differences are expected, and their consequences are not.

use serde_json::Value;

use crate::common::Place;

const BASE: &str = "mariadb@10.11";

#[track_caller]
fn audit(base: &str, other: &str) -> Vec<Value> {
    let place = Place::new();
    let output = place.run_to_end(&["audit", base, other, "--offline", "--format", "json"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    place.assert_nothing_left();
    assert!(document["compared"]["settings"].as_u64().unwrap() > 500, "{document}");
    assert!(document["compared"]["plans"].as_u64().unwrap() >= 32, "{document}");
    serde_json::from_value(document["audit"].take()).unwrap()
}

fn of_class<'a>(findings: &'a [Value], class: &str) -> Vec<&'a str> {
    let of_class = findings.iter().filter(|it| it["class"] == class);
    of_class.map(|it| it["setting"].as_str().unwrap()).collect()
}

#[test]
fn another_charset_is_expected_and_tables_that_follow_are_suspicious() {
    let other = "mariadb@10.11+character_set_server=utf8mb4+collation_server=utf8mb4_general_ci";
    let findings = audit(BASE, other);
    let expected = of_class(&findings, "expected");
    assert!(expected.contains(&"character_set_server"), "{expected:?}");
    let suspicious = of_class(&findings, "suspicious");
    for setting in ["schema.charset", "table.charset", "table.collation"] {
        assert!(suspicious.contains(&setting), "{setting} in {suspicious:?}");
    }
}

#[test]
fn a_requested_binary_log_is_expected() {
    let findings = audit(BASE, "mariadb@10.11+log_bin=binlog");
    assert_eq!(of_class(&findings, "expected"), ["log_bin"]);
    assert_eq!(of_class(&findings, "suspicious"), [""; 0]);
}

#[test]
fn a_requested_switch_is_expected_as_are_the_plans_that_it_changes() {
    let findings = audit(BASE, "mariadb@10.11+optimizer_switch=index_condition_pushdown=off");
    let expected = of_class(&findings, "expected");
    for setting in ["optimizer_switch.index_condition_pushdown", "plan.range-notcovered-si"] {
        assert!(expected.contains(&setting), "{setting} in {expected:?}");
    }
    assert_eq!(of_class(&findings, "suspicious"), [""; 0]);
    let plan = findings.iter().find(|it| it["setting"] == "plan.range-notcovered-si").unwrap();
    assert_eq!(plan["kind"], "plans");
    assert_eq!(plan["values"][BASE], "range k_1, index condition");
    let why = plan["why"].as_str().unwrap();
    assert!(why.contains("sbtest1") && why.contains("index_condition_pushdown=off"), "{plan}");
}

#[test]
fn one_version_from_two_builders_is_suspicious() {
    let _ = assay_testkit::prefix("10.11.5");
    let findings = audit("mariadb@10.11.5", BASE);
    let suspicious = of_class(&findings, "suspicious");
    for setting in ["build.source", "build.compiler"] {
        assert!(suspicious.contains(&setting), "{setting} in {suspicious:?}");
    }
    // No option of the older version changes it.
    let expected = of_class(&findings, "expected");
    assert!(expected.contains(&"innodb_log_write_ahead_size"), "{expected:?}");
}

#[test]
fn a_study_explains_its_tests_on_its_own_data_and_a_requested_plan_is_no_suspicion() {
    let place = Place::new();
    let other = "mariadb@10.11+optimizer_switch=index_condition_pushdown=off";
    let words = ["compare", BASE, other, "--preset", "smoke", "--key", "blocks=1", "--offline"];
    let tests = ["--tests", "range-notcovered-si,point-query", "--format", "json"];
    let output = place.run_to_end(&[&words[..], &tests[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = study["audit"].as_array().unwrap();
    assert_eq!(of_class(findings, "suspicious"), [""; 0]);
    assert!(of_class(findings, "expected").contains(&"plan.range-notcovered-si"), "{findings:?}");
    for more in [&[][..], &["--verbose"]] {
        let text = place.run_to_end(&[&["report", "--format", "text"], more].concat());
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(!text.contains("suspicious audit"), "{text}");
        assert_eq!(text.contains("the same on all systems"), !more.is_empty(), "{text}");
    }
}

#[test]
fn a_switch_that_the_server_rejects_is_suspicious() {
    let findings = audit(BASE, "mariadb@10.11+innodb_doublewrite=OF");
    let found = findings.iter().find(|it| it["setting"] == "innodb_doublewrite").unwrap();
    assert_eq!(
        (found["class"].as_str(), found["kind"].as_str()),
        (Some("suspicious"), Some("options"))
    );
    assert!(found["why"].as_str().unwrap().contains("`OF` was requested"), "{found}");
}

/// MariaDB 11.8 executes this statement with an index once, and without it from the second time on. As text, it always
/// uses the index.
const DELETED_TWICE: &str = r#"
[table.parent]
rows = "3k"
create = "CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, UNIQUE KEY (name))"
columns = { id = { sequence = 1 }, name = { pattern = "@@@@@@@@######" } }
[table.child]
rows = "30k"
create = "CREATE TABLE child (id INT PRIMARY KEY, p INT NOT NULL, kind VARCHAR(10) NOT NULL, KEY (p, kind))"
columns = { id = { sequence = 1 }, p = { uniform = [1, 3000] }, kind = "a" }
[test.delete]
let.p = { uniform = [1, 3000] }
steps = [
  { sql = "SELECT name FROM parent WHERE id = :p", keep = "name" },
  "DELETE FROM child WHERE p = (SELECT id FROM parent WHERE name = :name) AND kind = 'b'",
]
"#;

#[test]
fn what_later_executions_of_a_prepared_statement_do_is_found() {
    let place = Place::new();
    let directory = tempfile::tempdir().unwrap();
    let workload = directory.path().join("twice.toml");
    fs_err::write(&workload, DELETED_TWICE).unwrap();
    let workload = workload.to_str().unwrap();
    let audit = ["audit", BASE, "mariadb@11.8", "--workload", workload, "--offline"];
    let output = place.run_to_end(&[&audit[..], &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["audit"].as_array().unwrap();
    let plan = findings.iter().find(|it| it["setting"] == "plan.delete").unwrap();
    let [before, after] =
        [BASE, "mariadb@11.8"].map(|it| plan["values"][it].as_str().unwrap().to_owned());
    let words = "later executions: more rows read without an index than the first execution";
    assert!(!before.contains("later") && after.ends_with(words), "{plan:#}");
    assert!(
        plan["why"].as_str().unwrap().contains("(Handler_read_rnd_next) 0 → 30001"),
        "{plan:#}"
    );
}

/// Nearly all rows have the requested value: Postgres plans the first five executions for that value and reads the
/// whole table. Its generic plan uses the index and seems to be cheaper, so later executions use that.
const SKEWED: &str = r#"
[table.item]
rows = "40k"
create = "CREATE TABLE item (id INT NOT NULL PRIMARY KEY, kind INT NOT NULL, v INT NOT NULL)"
after = [
  "UPDATE item SET kind = id WHERE id % 20 = 0",
  "CREATE INDEX item_kind ON item (kind)",
  "ANALYZE item",
]
columns = { id = { sequence = 1 }, kind = { uniform = [0, 0] }, v = { uniform = [1, 9] } }
[test.skewed]
let.k = { uniform = [0, 0] }
steps = ["SELECT SUM(v) FROM item WHERE kind = :k"]
"#;

#[test]
fn the_plan_for_any_values_of_later_executions_on_postgres_is_found() {
    let place = Place::with("postgres@16");
    let directory = tempfile::tempdir().unwrap();
    let workload = directory.path().join("skewed.toml");
    fs_err::write(&workload, SKEWED).unwrap();
    let (auto, custom) = ("postgres@16", "postgres@16+plan_cache_mode=force_custom_plan");
    let audit = ["audit", auto, custom, "--workload", workload.to_str().unwrap(), "--offline"];
    let output = place.run_to_end(&[&audit[..], &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["audit"].as_array().unwrap();
    let plan = findings.iter().find(|it| it["setting"] == "plan.skewed").unwrap();
    let [auto, custom] = [auto, custom].map(|it| plan["values"][it].as_str().unwrap().to_owned());
    assert_eq!(custom, "Aggregate < Seq Scan on item");
    let later =
        "from the sixth execution on, for any values: Aggregate < Index Scan using item_kind";
    assert!(auto.starts_with(&custom) && auto.contains(later), "{auto}");
}
