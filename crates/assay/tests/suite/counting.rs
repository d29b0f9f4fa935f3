//! Counts of instructions on real servers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::common::Place;

/// A gate on instructions measures no time, takes no lock and has no budget.
#[test]
fn a_gate_on_instructions_fails_where_a_system_executes_more() {
    let place = Place::with("postgres@16");
    let file = place.run().join("gate.xml");
    let systems = ["gate", "postgres@16", "postgres@16", "--count", "--max-more", "1%"];
    let few = ["--tests", "point-query", "--rows", "1000", "--offline", "--junit"];
    let rest = [&["--format", "json"][..], &few].concat();
    let output = place.run_to_end(&[&systems[..], &rest, &[file.to_str().unwrap()]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let gate = &result["gate"]["cells"][0];
    assert_eq!((&gate["verdict"], &gate["max_more"]), (&"passed".into(), &0.01.into()), "{gate}");
    assert!(gate["rqps"].is_null() && gate["instructions"]["value"].is_number(), "{gate}");
    assert!(result["cells"][1]["verdict"].is_null() && result["cells"][1]["qps"].is_null());
    assert!(fs_err::read_to_string(&file).unwrap().contains("instructions "), "{stderr}");
    fs_err::remove_file(&file).unwrap();
    // Other limits can be tried, but not those of times.
    let again = |limit| place.run_to_end(&["gate", "--study", "latest", limit, "0.001%"]);
    assert_ne!(again("--max-more").status.code(), Some(2));
    assert_eq!(again("--max-slowdown").status.code(), Some(2));
    let text = place.run_to_end(&["report", "--verbose"]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("--count --max-more 1%"), "{text}");
    // The second system reads the whole table.
    let whole = "postgres@16+enable_indexscan=off+enable_bitmapscan=off+enable_indexonlyscan=off";
    let systems = ["gate", "postgres@16", whole, "--count", "--max-more", "1%"];
    let output = place.run_to_end(&[&systems[..], &few, &[file.to_str().unwrap()]].concat());
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{message}");
    // The words may be on two lines.
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("instructions per operation: "), "{message}");
    assert!(fs_err::read_to_string(&file).unwrap().contains("<failure"), "{message}");
    fs_err::remove_file(&file).unwrap();
    assert!(!text.contains("slices"), "{text}");
    place.assert_nothing_left();
}

/// The performance schema does more for each statement. Counts show it on a busy machine, too.
#[test]
fn a_count_finds_what_the_performance_schema_adds_to_a_statement() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let words = [
        "compare",
        "mariadb@11.8",
        "mariadb@11.8+performance_schema=ON",
        "--preset",
        "smoke",
        "--budget",
        "10s",
        "--tests",
        "point-query",
        "--rows",
        "1000",
        "--key",
        "blocks=1",
        "--count",
        "-o",
        file.to_str().unwrap(),
    ];
    let output = place.run_to_end(&words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("counting instructions of 1 test"), "{stderr}");
    assert!(stderr.contains("counting took "), "{stderr}");
    let result: Value = serde_json::from_slice(&fs_err::read(file).unwrap()).unwrap();
    let count = |cell: usize| &result["cells"][cell]["count"];
    let instructions = |cell: usize| count(cell)["instructions"]["value"].as_f64().unwrap();
    assert_eq!((&count(0)["by"], &count(0)["ratio"]), (&"callgrind".into(), &Value::Null));
    assert!(instructions(0) > 10_000.0, "{result:#}");
    let ratio = count(1)["ratio"]["value"].as_f64().unwrap();
    assert!(ratio > 1.01, "{:#} {:#}", count(0), count(1));
    assert_eq!(count(1)["verdict"], "more", "{:#} {:#}", count(0), count(1));
    // Functions add up to the total, and those of the performance schema are among the first.
    let functions = count(1)["functions"].as_array().unwrap();
    let mut named = functions.iter().take(20).filter_map(|function| function["name"].as_str());
    assert!(named.any(|name| name.starts_with("psi_")), "{functions:#?}");
    let rest = &count(1)["functions_rest"];
    let changes = functions.iter().chain([rest]).filter_map(|line| line["change"].as_f64());
    let change = instructions(1) - instructions(0);
    assert!((changes.sum::<f64>() / change - 1.0).abs() < 1e-3, "{change} {functions:#?}");
    let text =
        place.run_to_end(&["report", "latest", "--ledger", place.ledger().to_str().unwrap()]);
    let text = String::from_utf8_lossy(&text.stdout);
    assert!(text.contains("instructions per operation"), "{text}");
    place.assert_nothing_left();
}

/// The first test is in the ledger when a server of the second ends. The test is counted all the same.
#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_server_that_ends_while_it_is_counted_starts_again() {
    let place = Place::with("mariadb@10.11");
    let file = place.run().join("count.json");
    let systems = ["count", "mariadb@10.11", "mariadb@10.11", "--rows", "1000", "--offline"];
    let tests = ["--tests", "point-query,range-covered-pk", "-o", file.to_str().unwrap()];
    let mut command = place.command(&[&systems[..], &tests].concat());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut message = String::new();
    while !message.contains("(2 of 2, about ") {
        assert!(stderr.read_line(&mut message).unwrap() > 0, "{message}");
    }
    let servers = place.running();
    assert_eq!(servers.len(), 4, "{message}");
    kill_process(servers[0], Signal::KILL).unwrap();
    stderr.read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{message}");
    assert!(message.contains(" is counted again: "), "{message}");
    let result: Value = serde_json::from_slice(&fs_err::read(&file).unwrap()).unwrap();
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4, "{result:#}");
    assert!(cells.iter().all(|cell| cell["count"]["by"].is_string()), "{result:#}");
    fs_err::remove_file(&file).unwrap();
    place.assert_nothing_left();
}
