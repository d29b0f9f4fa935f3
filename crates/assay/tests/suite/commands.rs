//! Each command alone: sandboxes, load, bench, audit, cache.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use assay_model::Product;
use serde_json::Value;

use crate::common::Place;

#[track_caller]
fn json(place: &Place, args: &[&str]) -> Value {
    let output = place.run_to_end(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {stderr}"))
}

#[test]
fn a_sandbox_is_started_loaded_driven_listed_and_stopped() {
    let place = Place::new();
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(&place, &[&start[..], &["--name", "one", "--port", "0"]].concat());
    assert_eq!(server["name"], "one");
    let url = server["url"].as_str().unwrap();
    let port = server["port"].as_u64().unwrap();

    let loaded =
        json(&place, &["load", url, "--tables", "2", "--rows", "3000", "--format", "json"]);
    assert_eq!((loaded["tables"].as_u64(), loaded["rows"].as_u64()), (Some(2), Some(3000)));

    let bench = |url: &str, more: &[&str]| {
        let bench = ["bench", url, "--time", "0.3", "--format", "json", "--test"];
        json(&place, &[&bench[..], more].concat())
    };
    let points = bench(url, &["read-write_range=10", "--clients", "3", "--warmup-time", "0.1"]);
    let count = |name: &str| points[name].as_u64().unwrap();
    assert_eq!(points["schema"], 1);
    assert_eq!(count("queries"), count("read") + count("write") + count("other"));
    assert_eq!(count("read"), 14 * count("events"));
    assert!(points["latency_us"]["p50"].as_f64().unwrap() > 0.0);
    assert!(points["client_cpu_us_per_query"].as_f64().unwrap() > 0.0);
    // Anybody can connect to the port, and needs the password.
    let stranger = format!("mysql://root@127.0.0.1:{port}/sbtest");
    let refused = place.run_to_end(&["bench", &stranger, "--test", "scan"]);
    assert_eq!(refused.status.code(), Some(2));
    let login = url.split_once("@/").unwrap().0;
    let tcp = format!("{login}@127.0.0.1:{port}/sbtest");
    let paced = bench(&tcp, &["point-query", "--rate", "100", "--db-ps-mode", "disable"]);
    assert_eq!(paced["events"], 30);

    let again = place.run_to_end(&[&start[..], &["--name", "one"]].concat());
    assert_eq!(again.status.code(), Some(2));
    let port = port.to_string();
    let in_use = place.run_to_end(&[&start[..], &["--port", &port]].concat());
    assert_eq!(in_use.status.code(), Some(2));
    let message = String::from_utf8_lossy(&in_use.stderr).into_owned();
    assert!(
        message.contains("in use") && message.contains("hint: choose another port"),
        "{message}"
    );

    let listed = json(&place, &["server", "list", "--format", "json"]);
    assert_eq!(listed[0]["state"], "running");
    let mut completed = place.command(&["--", "assay", "server", "stop", ""]);
    let completed = completed.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3");
    let candidates = String::from_utf8(completed.output().unwrap().stdout).unwrap();
    assert_eq!(candidates.lines().next(), Some("one"));
    let refused = place.run_to_end(&["server", "stop", "one", "nosuch"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        message.contains("no server is called `nosuch`") && !message.contains("is stopped"),
        "{message}"
    );
    assert_eq!(json(&place, &["server", "list", "--format", "json"])[0]["state"], "running");
    let stopped = place.run_to_end(&["server", "stop", "one"]);
    assert_eq!(stopped.status.code(), Some(0));
    let message = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(message.contains("one is stopped"), "{message}");
    assert_eq!(json(&place, &["server", "list", "--format", "json"]), serde_json::json!([]));
    place.assert_nothing_left();
}

#[test]
fn the_binaries_of_a_sandbox_stay_when_the_cache_is_cleaned() {
    let place = Place::bare();
    let shared = fs_err::canonicalize(place.cache().join("prefixes")).unwrap();
    // The test needs a cache that may be emptied, with copies of the servers.
    fs_err::remove_file(place.cache().join("prefixes")).unwrap();
    fs_err::remove_file(place.cache().join("provision.lock")).unwrap();
    let copies = place.cache().join("prefixes");
    fs_err::create_dir(&copies).unwrap();
    // Another test may be unpacking another server.
    for server in fs_err::read_dir(&shared).unwrap().map(|server| server.unwrap()) {
        let name = server.file_name().to_string_lossy().into_owned();
        if name.starts_with("mariadb-10.11.") || name.starts_with("mariadb-11.8.") {
            let mut copy = std::process::Command::new("cp");
            assert!(copy.arg("-a").arg(server.path()).arg(&copies).status().unwrap().success());
        }
    }
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json"];
    let server = json(&place, &[&start[..], &["--name", "one"]].concat());
    let cleaned = place.run_to_end(&["cache", "clean", "--all"]);
    let message = String::from_utf8_lossy(&cleaned.stderr).into_owned();
    assert_eq!(cleaned.status.code(), Some(0), "{message}");
    assert!(message.contains("is in use and was kept"), "{message}");
    let listed = json(&place, &["cache", "list", "--format", "json"]);
    let left: Vec<_> = listed.as_array().unwrap().iter().map(|it| it["name"].as_str()).collect();
    assert!(left.len() == 1 && left[0].unwrap().starts_with("mariadb 11.8"), "{left:?}");
    let url = server["url"].as_str().unwrap();
    json(&place, &["load", url, "--rows", "1000", "--format", "json"]);
    assert_eq!(place.run_to_end(&["server", "stop", "one"]).status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn the_output_of_a_sandbox_suits_other_clients() {
    let place = Place::new();
    let system = "mariadb@11.8+log_bin=binlog+slow_query_log=1+slow_query_log_file=slow.log";
    let start = ["server", "start", system, "--offline", "--format", "json"];
    let server = json(&place, &[&start[..], &["--name", "logs"]].concat());
    let data = std::path::PathBuf::from(server["datadir"].as_str().unwrap());
    assert!(data.join("binlog.000001").is_file() && data.join("slow.log").is_file());
    assert_eq!(place.run_to_end(&["server", "stop", "logs"]).status.code(), Some(0));

    let _ = assay_testkit::product_prefix(Product::Postgres, "16");
    let start = ["server", "start", "postgres@16", "--offline", "--name", "p", "--port", "0"];
    let output = place.run_to_end(&start);
    let message = String::from_utf8(output.stdout).unwrap();
    let commands: Vec<(&str, &str)> = message
        .lines()
        .filter_map(|it| it.split_once("PGPASSWORD=")?.1.split_once(" psql "))
        .collect();
    assert_eq!(commands.len(), 2, "{message}");
    for (password, url) in &commands {
        let url = url.trim_matches('\'');
        let load = ["load", url, "--tables", "1", "--rows", "100", "--format", "json"];
        let loaded = place.command(&load).env("ASSAY_PASSWORD", password).output().unwrap();
        assert!(String::from_utf8_lossy(&loaded.stdout).contains("\"rows\": 100"), "{loaded:?}");
    }
    // The programs' own syntax for a socket.
    let (_, socket) = commands[0];
    assert!(socket.contains("?host=/") && socket.contains("&port="), "{message}");
    assert_eq!(place.run_to_end(&["server", "stop", "p"]).status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn a_mysql_sandbox_requires_its_password_on_the_port() {
    let _ = assay_testkit::product_prefix(Product::MySql, "5.7");
    let place = Place::new();
    let start = ["server", "start", "mysql@5.7", "--offline", "--format", "json", "--name", "m"];
    let server = json(&place, &[&start[..], &["--port", "0"]].concat());
    let (url, port) = (server["url"].as_str().unwrap(), server["port"].as_u64().unwrap());
    json(&place, &["load", url, "--tables", "1", "--rows", "1000", "--format", "json"]);
    let login = url.split_once("@/").unwrap().0;
    for (login, code) in [("mysql://root", Some(2)), (login, Some(0))] {
        let tcp = format!("{login}@127.0.0.1:{port}/sbtest");
        let bench = ["bench", &tcp, "--time", "0.2", "--test", "read-write_range=10"];
        assert_eq!(place.run_to_end(&bench).status.code(), code, "{tcp}");
    }
    assert_eq!(place.run_to_end(&["server", "stop", "m"]).status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn an_audit_lists_the_differences() {
    let place = Place::new();
    let other = "mariadb@11.8+innodb_doublewrite=OFF";
    let audit = json(&place, &["audit", "mariadb@11.8", other, "--offline", "--format", "json"]);
    let finding = |setting: &str| {
        audit["audit"].as_array().unwrap().iter().find(|it| it["setting"] == setting).cloned()
    };
    let doublewrite = finding("innodb_doublewrite").unwrap();
    assert_eq!(doublewrite["class"], "expected");
    assert_eq!(doublewrite["values"][other], "OFF");
    place.assert_nothing_left();
}

#[test]
fn every_command_that_starts_a_server_tells_all_options_that_it_does_not_take() {
    let place = Place::bare();
    let wrong = "mariadb@11.8+no_such_option=1+innodb_bufer_pool_size=1G+innodb_doublewrite=x";
    for command in [
        &["audit", "mariadb@11.8", wrong, "--offline"][..],
        &["server", "start", wrong, "--name", "wrong", "--offline"],
    ] {
        let output = place.run_to_end(command);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        for words in [
            "does not take 3 options",
            "`no_such_option` is unknown",
            "`innodb_buffer_pool_size` is the nearest",
            "innodb_doublewrite",
        ] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    // Nothing was initialised.
    assert!(!place.cache().join("templates").exists());
    place.assert_nothing_left();
}

#[test]
fn a_study_that_goes_on_loads_its_data_before_it_waits() {
    let place = Place::bare();
    let study = ["mariadb@10.11", "mariadb@11.8", "--rows", "1000", "--tests", "point-query"];
    let compare = ["compare", "--preset", "smoke", "--key", "blocks=1", "--offline"];
    let output = place.run_to_end(&[&compare[..], &study[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    fs_err::remove_dir_all(place.cache().join("templates")).unwrap();
    let lock = fs_err::File::open(place.machine_lock()).unwrap();
    lock.lock().unwrap();
    let mut command = place.command(&["resume", "latest", "--more", "5s", "--offline"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut message = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !message.contains("waiting for another assay") {
        assert_ne!(lines.read_line(&mut message).unwrap(), 0, "{message}");
    }
    drop(lock);
    assert_eq!(message.matches(" loaded 1,000 rows").count(), 2, "{message}");
    lines.read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{message}");
    assert_eq!(message.matches(" loaded 1,000 rows").count(), 2, "{message}");
    place.assert_nothing_left();
}

#[test]
fn other_commands_warn_of_a_running_study_without_waiting() {
    let place = Place::new();
    let lock = fs_err::File::create(place.machine_lock()).unwrap();
    lock.lock().unwrap();
    let system = "mariadb@10.11";
    let audit = place.run_to_end(&["audit", system, system, "--offline", "--format", "json"]);
    let nowhere = "mysql://root@127.0.0.1:1/sbtest";
    let load = place.run_to_end(&["load", nowhere]);
    let bench = place.run_to_end(&["bench", nowhere, "--test", "scan"]);
    // Only facts; the noise needs a quiet machine.
    let doctor = place.run_to_end(&["doctor", "--for", "10m", "--format", "json"]);
    drop(lock);
    let message = String::from_utf8_lossy(&doctor.stderr);
    assert_eq!(doctor.status.code(), Some(0), "{message}");
    assert!(message.contains("the noise of this machine is not measured"), "{message}");
    let found: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert!(
        found["host"]["doctor"]["noise"].is_null()
            && !found["facts"].as_array().unwrap().is_empty()
    );
    let message = String::from_utf8_lossy(&audit.stderr);
    assert_eq!(audit.status.code(), Some(0), "{message}");
    let us = format!("is measuring on this machine (pid {} of user ", std::process::id());
    assert!(message.contains(&us), "{message}");
    for (output, what) in [(load, "this load"), (bench, "this benchmark")] {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(&us) && message.contains(what), "{message}");
    }
    place.assert_nothing_left();
}

#[test]
fn the_data_that_were_not_used_for_the_longest_time_go_when_the_cache_exceeds_its_bound() {
    let place = Place::bare();
    let measured = |rows: &str, limit: &str| {
        let study = ["compare", "mariadb@11.8", "--twin", "--preset", "smoke", "--budget", "5s"];
        let tests = ["--tests", "point-query", "--key", "blocks=1", "--offline", "--rows", rows];
        let mut command = place.command(&[&study[..], &tests[..]].concat());
        let output = command.env("ASSAY_CACHE_LIMIT", limit).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{message}");
        message
    };
    let kept = || {
        let listed = json(&place, &["cache", "list", "--format", "json"]);
        let data = listed.as_array().unwrap().iter().filter(|it| it["kind"] == "data");
        data.map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let has = |rows: &str| kept().iter().any(|name| name.contains(rows));
    assert!(!measured("1000", "1G").contains("removed"));
    assert!(!measured("2000", "1G").contains("removed"));
    assert!(has("× 1000 rows") && has("× 2000 rows"), "{:?}", kept());
    let message = measured("2000", "1M");
    assert!(
        message.contains("note: removed the data of") && message.contains("× 1000 rows"),
        "{message}"
    );
    assert!(message.contains("(`ASSAY_CACHE_LIMIT`)"), "{message}");
    assert!(!has("× 1000 rows") && has("× 2000 rows"), "{:?}", kept());
    place.assert_nothing_left();
}

#[test]
fn the_cache_is_listed_and_cleaned() {
    let place = Place::bare();
    let kinds = |place: &Place| -> Vec<String> {
        let listed = json(place, &["cache", "list", "--format", "json"]);
        let kind = |entry: &Value| entry["kind"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(kind).collect()
    };
    json(&place, &["audit", "mariadb@10.11", "mariadb@11.8", "--offline", "--format", "json"]);
    let data = |kinds: &[String]| kinds.iter().filter(|kind| *kind == "data").count();
    assert_eq!(data(&kinds(&place)), 2);
    let listed = place.run_to_end(&["cache", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    for system in ["mariadb@10.11 (10.11.", "mariadb@11.8 (11.8."] {
        let is_named = |line: &str| line.contains(system) && line.ends_with("), no tables");
        assert!(listed.lines().any(is_named), "{listed}");
    }
    assert_eq!(place.run_to_end(&["cache", "clean"]).status.code(), Some(0));
    assert_eq!(data(&kinds(&place)), 2);
    assert!(kinds(&place).contains(&"server".to_owned()));
}
