//! The microbenchmarks outside of the published sets, on each product.

use serde_json::Value;

use crate::common::Place;

const TESTS: &str = "prepare,connect,*-foreign-key,*-cascade,*-trigger,create-drop-*";

#[test]
fn extra_tests_run_and_are_checked_on_every_product() {
    for system in ["mariadb@10.11", "mysql@8.0", "postgres@16"] {
        let place = Place::with(system);
        let study = ["compare", system, system, "--offline", "--set", "all", "--tests", TESTS];
        // More than a busy machine needs.
        let effort = ["--preset", "smoke", "--check", "--budget", "10m", "--format", "json"];
        let output = place.run_to_end(&[&study[..], &effort].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{system}: {message}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cells = result["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2 * 11, "{system}");
        for cell in cells {
            assert_eq!(cell["group"], "extra", "{system}: {cell:#}");
            assert!(cell["qps"]["value"].as_f64().unwrap() > 0.0, "{system}: {cell:#}");
        }
        place.assert_nothing_left();
    }
}
