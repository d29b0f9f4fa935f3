//! Studies whose systems differ in configuration: by config files that they start from, and by options.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod common;

use assay_model::Product;
use common::Place;
use serde_json::Value;

/// Runs a study file with `config` next to it as `server.conf`. Returns the result and the text on stderr.
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

/// The values of a setting in the two systems, and its class.
fn finding(result: &Value, setting: &str) -> [String; 3] {
    let findings = result["audit"].as_array().unwrap();
    let found = findings.iter().find(|it| it["setting"] == setting);
    let found = found.unwrap_or_else(|| panic!("no `{setting}` in {findings:#?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    [text(&found["values"]["plain"]), text(&found["values"]["tuned"]), text(&found["class"])]
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
    assert_eq!(finding(&result, "work_mem"), ["4MB", "16MB", "expected"]);
    assert_eq!(finding(&result, "track_io_timing"), ["off", "on", "expected"]);
    // Where the server was built without a compiler, this option does nothing.
    let [_, value, class] = finding(&result, "jit");
    let without_effect = stderr.contains("pg_jit_available() is false");
    assert_eq!(value, "on");
    assert_eq!(class, if without_effect { "suspicious" } else { "expected" }, "{stderr}");
}
