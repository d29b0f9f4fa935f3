//! Studies whose systems differ in config files and options.

use assay_model::Product;
use serde_json::Value;

use crate::common::Place;

#[track_caller]
fn run(systems: &str, config: &str) -> (Value, String) {
    let place = Place::new();
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = directory.path().join(name);
        fs_err::write(&file, text).unwrap();
        file.display().to_string()
    };
    write("server.conf", config);
    let study = format!(
        "preset = \"smoke\"\ntests = [\"point-query\"]\ncompare = [\"plain\", \"tuned\"]\n\
         {systems}\n[[setup]]\nrows = 1000\n"
    );
    let study = write("study.toml", &study);
    let output = place.run_to_end(&["run", &study, "--offline", "--format", "json"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    place.assert_nothing_left();
    (serde_json::from_slice(&output.stdout).unwrap(), stderr)
}

/// Runs a command with `system` and `config`; `FILE` stands for the path of the latter. Returns stdout and stderr.
#[track_caller]
fn with_config(system: &str, command: &str, config: &str) -> (String, String) {
    with_config_and(0, system, command, config)
}

#[track_caller]
fn with_config_and(code: i32, system: &str, command: &str, config: &str) -> (String, String) {
    let place = Place::with(system);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("server.conf");
    fs_err::write(&file, config).unwrap();
    let words = command.replace("FILE", &file.display().to_string());
    let output = place.run_to_end(&words.split(' ').collect::<Vec<_>>());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    place.assert_nothing_left();
    (stdout, stderr)
}

const SMOKE: &str = "--preset smoke --key blocks=1 --tests point-query --rows 1000 --offline";

/// Options for data directories apply to the template, its sizes fit, and options that one version lacks are left out
/// there. A system that cannot be fetched is named, and the others are measured.
#[test]
fn a_my_cnf_of_production_is_for_all_systems() {
    let config = "
[mysqld]
datadir = /var/lib/mysql
read_only = 1
innodb_page_size = 8k
lower_case_table_names = 1
innodb_buffer_pool_size = 480G
innodb_io_capacity = 300
query_cache_type = 1
query_cache_limit = 2M
loose_query_cache_size = 1M
character_set_server = utf8
sql_mode = STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER
!includedir /no/such/directory/
[mysqld-5.7]
sync_frm = 1
";
    let command = format!(
        "compare mariadb@10.11 mysql@8.0 mysql@99.1 --config FILE --scale-memory --format json {SMOKE}"
    );
    let (stdout, stderr) = with_config_and(3, "mysql@8.0", &command, config);
    for message in [
        "`datadir`, `read_only` left out",
        "`/no/such/directory/`, which is not on this machine",
        "innodb_buffer_pool_size: 480G → ",
        "`mysql@8.0` does not take 3 options of the config file",
        "left out: `query_cache_type=1` (server.conf:9), `query_cache_limit=2M` (server.conf:10)",
        "`sql_mode=NO_AUTO_CREATE_USER` (this version does not take this word; server.conf:13)",
        "mysql@99.1 is left out: cannot get `mysql@99.1`",
    ] {
        assert!(stderr.contains(message), "{message}: {stderr}");
    }
    // Ineffective options would cause a warning.
    assert!(!stderr.contains("was requested"), "{stderr}");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    let events: Vec<&str> =
        result["events"].as_array().unwrap().iter().filter_map(|it| it["what"].as_str()).collect();
    assert!(events.iter().any(|it| it.contains("`query_cache_type=1`")), "{events:?}");
    assert!(events.iter().any(|it| it.contains("are divided by")), "{events:?}");
    let rows = result["config"].as_array().unwrap();
    let rows: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| ["option", "place", "severity"].map(|key| row[key].as_str().unwrap()))
        .collect();
    let expected = [
        ["query_cache_type", "server.conf:9", "must-fix"],
        ["query_cache_limit", "server.conf:10", "must-fix"],
        ["sql_mode", "server.conf:13", "must-fix"],
        ["character_set_server", "server.conf:12", "look-at"],
    ];
    assert_eq!(rows, expected, "{stderr}");
    assert_eq!(result["missing"][0]["system"], "mysql@99.1");
    let [mariadb, mysql, _] =
        finding_of(&result, "query_cache_type", ["mariadb@10.11", "mysql@8.0"]);
    assert_eq!([mariadb.as_str(), mysql.as_str()], ["ON", ""]);
    let [_, mysql, _] = finding_of(&result, "sql_mode", ["mariadb@10.11", "mysql@8.0"]);
    assert_eq!(mysql, "STRICT_TRANS_TABLES");
}

#[test]
fn a_postgresql_conf_reaches_initdb_too() {
    let config = "
wal_segment_size = 32MB
data_checksums = off
server_encoding = UTF8
work_mem = 16MB
no_such_setting = 1
shared_preload_libraries = 'auto_explain, no_such_library'
synchronous_standby_names = '*'
lc_messages = 'xx_XX.UTF-8'
";
    let command = format!(
        "compare postgres@15 postgres@15+jit=on --config postgres=FILE {SMOKE} --format json"
    );
    let (stdout, stderr) = with_config("postgres@15", &command, config);
    for message in [
        "`synchronous_standby_names`, `lc_messages` left out",
        "`no_such_setting=1`",
        "`shared_preload_libraries=no_such_library` (the build does not have this library; server.conf:7)",
    ] {
        assert!(stderr.contains(message), "{message}: {stderr}");
    }
    for setting in ["wal_segment_size", "data_checksums", "server_encoding", "work_mem"] {
        assert!(!stderr.contains(&format!("`{setting}`")), "{stderr}");
    }
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert!(result["cells"].as_array().is_some_and(|it| !it.is_empty()));
}

#[test]
fn shipped_terms_leave_each_version_its_defaults() {
    let command = format!("compare mariadb@10.11 mysql@8.0 --terms shipped --verbose {SMOKE}");
    let (stdout, _) = with_config("mysql@8.0", &command, "");
    let (_, listed) = stdout.split_once("of the versions differ:").unwrap();
    for default in ["log_bin: OFF → ON", "collation_server: latin1_swedish_ci → utf8mb4_0900_ai_ci"]
    {
        assert!(listed.contains(default), "{default}: {stdout}");
    }
    assert!(stdout.contains("each version has its own defaults"), "{stdout}");
}

#[test]
fn a_file_that_no_server_can_read_is_an_error() {
    let place = Place::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("my.cnf");
    fs_err::write(&file, "[mysqld]\nsync_binlog = 1\n").unwrap();
    let file = file.display().to_string();
    for (config, message) in [
        (format!("postgres={file}"), "no server of it is started"),
        (format!("oracle={file}"), "`oracle` is no product"),
        ("no-such.cnf".to_owned(), "does not exist"),
    ] {
        let words = ["compare", "mysql@8.0", "mysql@8.4", "--config", &config, "--offline"];
        let output = place.run_to_end(&words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(message), "{stderr}");
        assert!(stderr.contains("hint: ") || config.starts_with("oracle"), "{stderr}");
    }
}

fn finding(result: &Value, setting: &str) -> [String; 3] {
    finding_of(result, setting, ["plain", "tuned"])
}

fn finding_of(result: &Value, setting: &str, [one, other]: [&str; 2]) -> [String; 3] {
    let findings = result["audit"].as_array().unwrap();
    let found = findings.iter().find(|it| it["setting"] == setting);
    let found = found.unwrap_or_else(|| panic!("no `{setting}` in {findings:#?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    [text(&found["values"][one]), text(&found["values"][other]), text(&found["class"])]
}

#[test]
fn a_my_cnf_is_what_a_system_starts_from() {
    let systems = "
[system.plain]
is = \"mariadb@10.11\"
[system.tuned]
is = \"mariadb@10.11+innodb_io_capacity=300\"
config = \"server.conf\"
options = { max_connections = 300 }";
    let config = "
[client]
port = 3306
[mysqld]
datadir = /var/lib/mysql
socket = /var/run/mysqld/mysqld.sock
innodb-doublewrite = 0   # for the test
thread_handling = 'pool-of-threads'
innodb_io_capacity = 100
max_connections = 100
skip-name-resolve
[mysqld-5.7]
innodb_stats_persistent = OFF
";
    let (result, stderr) = run(systems, config);
    assert!(stderr.contains("`datadir`, `socket`"), "{stderr}");
    for (setting, tuned) in [
        ("innodb_doublewrite", "OFF"),
        ("thread_handling", "pool-of-threads"),
        ("innodb_io_capacity", "300"),
        ("max_connections", "300"),
        ("skip_name_resolve", "ON"),
    ] {
        let [_, value, class] = finding(&result, setting);
        assert_eq!([value.as_str(), class.as_str()], [tuned, "expected"], "{setting}");
    }
    // The threads of a pool serve all connections together, so their CPU time is that of the whole server.
    for cell in result["cells"].as_array().unwrap() {
        assert!(cell["per_op"]["server_cpu_us"].as_f64().unwrap() > 0.0, "{cell:#}");
    }
    let findings = result["audit"].as_array().unwrap();
    assert!(findings.iter().all(|it| it["setting"] != "innodb_stats_persistent"), "{findings:#?}");
}

#[test]
fn a_postgresql_conf_is_what_a_system_starts_from() {
    let _ = assay_testkit::product_prefix(Product::Postgres, "16");
    let systems = "
[system.plain]
is = \"postgres@16\"
[system.tuned]
is = \"postgres@16\"
config = \"server.conf\"";
    let config = "
data_directory = '/var/lib/postgresql/16/main'  # not here
work_mem = 16MB
track_io_timing=on
jit = on
";
    let (result, stderr) = run(systems, config);
    assert!(stderr.contains("`data_directory`"), "{stderr}");
    assert_eq!(finding(&result, "work_mem"), ["4MB", "16MB", "harmless"]);
    assert_eq!(finding(&result, "track_io_timing"), ["off", "on", "expected"]);
    // If the server was built without a compiler, this option does nothing.
    let [_, value, class] = finding(&result, "jit");
    let without_effect = stderr.contains("pg_jit_available() is false");
    assert_eq!(value, "on");
    assert_eq!(class, if without_effect { "suspicious" } else { "expected" }, "{stderr}");
}

#[test]
fn the_setting_that_made_a_change_is_found() {
    const WORKLOAD: &str = r#"
[table.t]
rows = 20000
create = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, KEY ka (a), KEY kb (b))"
columns = { id = { sequence = 1 }, a = { uniform = [1, 2000] }, b = { uniform = [1, 2000] } }

[test.either]
let.a = { uniform = [1, 2000] }
let.b = { uniform = [1, 2000] }
steps = ["SELECT COUNT(*), MAX(id) FROM t WHERE a = :a OR b = :b"]
"#;
    let place = Place::with("mariadb@10.11");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("either.toml");
    fs_err::write(&file, WORKLOAD).unwrap();
    let file = file.display().to_string();
    let new = "mariadb@10.11+optimizer_switch=index_merge=off,mrr=on+sort_buffer_size=65536";
    let compare = ["compare", "mariadb@10.11", new, "--workload", &file, "--explain-terms"];
    let options = ["--preset", "smoke", "--key", "blocks=1", "--budget", "20m", "--offline"];
    let output = place.run_to_end(&[&compare[..], &options[..], &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = report["cells"].as_array().unwrap().iter().filter_map(|it| it["why"].as_str());
    let message = message.collect::<Vec<_>>().join("\n");
    assert!(message.contains("`optimizer_switch=index_merge=on,mrr=on` undoes "), "{report:#}");
    assert_eq!(message.matches(" undoes ").count(), 1, "{message}");
    assert_eq!(place.finished(), [true, true]);
    place.assert_nothing_left();
}
