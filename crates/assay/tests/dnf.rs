//! A server from a signed repository of rpm packages, up to being driven.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![cfg(target_arch = "x86_64")]

mod common;
#[path = "../../assay-provision/tests/rpms/mod.rs"]
mod rpms;
#[path = "../../assay-provision/tests/web/mod.rs"]
mod web;

use std::process::Command;

use common::Place;
use rpms::{Repository, VERSION};

#[test]
fn a_server_from_a_repository_of_rpm_packages_is_started_and_driven() {
    let repository = Repository::new(&assay_testkit::prefix("10.11").layout);
    let (catalog, folder) = (repository.catalog(), tempfile::tempdir().unwrap());
    let place = Place::new();
    // It has its own cache, because other tests would take a version with such a number for the newest.
    let cache = folder.path().join("cache");
    let assay = |args: &[&str]| -> String {
        let mut command: Command = place.command(args);
        let command = command.env("ASSAY_CATALOG", &catalog).env("ASSAY_CACHE", &cache);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let json = |args: &[&str]| -> serde_json::Value { serde_json::from_str(&assay(args)).unwrap() };
    let system = format!("mariadb@{VERSION}");
    let got = json(&["server", "get", &system, "--accept-expired-index", "--format", "json"]);
    let got = got.get(0).unwrap_or(&got);
    assert_eq!(got["source"], "dnf loopback");
    assert_eq!(got["build"], format!("3:{VERSION}-1.el9"));
    let server =
        json(&["server", "start", &system, "--offline", "--format", "json", "--name", "r"]);
    let url = server["url"].as_str().unwrap();
    assay(&["load", url, "--rows", "1000"]);
    let bench = ["bench", url, "--test", "point-query", "--time", "0.2", "--format", "json"];
    assert!(json(&bench)["queries"].as_u64().unwrap() > 0);
    assay(&["server", "stop", "r"]);
    place.assert_nothing_left();
}
