//! Searches for the version that made a change.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use assay_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Place, printed};

/// MariaDB 11.8 reads rows that an index covers with fewer instructions than 11.4 and 10.11. No comparison is lost or
/// repeated.
#[test]
fn a_search_of_releases_is_killed_and_goes_on() {
    let place = Place::with("mariadb@11.4");
    let words = ["bisect", "mariadb@10.11..11.8", "--test", "points-covered-pk", "--count"];
    let words = [&words[..], &["--rows", "10000", "--offline", "--format", "json"]].concat();
    let mut search = place.command(&words);
    let mut search = search.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("it has begun", || place.finished().len() == 2 && !place.finished()[1]);
    kill_process(Pid::from_child(&search), Signal::KILL).unwrap();
    search.wait().unwrap();
    assert_eq!(place.finished(), [true, false]);
    let output = place.run_to_end(&["resume", "--offline", "--format", "json"]);
    let answer = printed(&output, 0);
    assert!(answer["answer"]["version"].as_str().unwrap().starts_with("11.8."), "{answer:#}");
    let ratio = answer["answer"]["ratio"]["value"].as_f64().unwrap();
    assert!((0.8..0.95).contains(&ratio), "{answer:#}");
    assert!(answer["answer"]["probability"].as_f64().unwrap() >= 0.95, "{answer:#}");
    let measured = place.finished();
    assert!(measured.iter().all(|is_finished| *is_finished), "{measured:?}");
    assert_eq!(answer["comparisons"], measured.len());
    let id = answer["id"].as_str().unwrap();
    let again = printed(&place.run_to_end(&["resume", id, "--offline", "--format", "json"]), 0);
    assert_eq!(again, answer);
    assert_eq!(place.finished().len(), measured.len());
    // An imported study that names the search is no part of it, and does not lead to it.
    place.import_forged();
    let with_forged = place.run_to_end(&["resume", id, "--offline", "--format", "json"]);
    assert_eq!(printed(&with_forged, 0), answer);
    let refused = place.run_to_end(&["resume", "forged-0", "--offline"]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("is foreign"), "{message}");
    place.assert_nothing_left();
}

#[test]
fn commits_that_do_not_build_are_said() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path();
    git(tree, &["init", "--quiet", "."]);
    for (number, subject) in ["first", "second", "third"].into_iter().enumerate() {
        let file = tree.join("configure");
        let says = format!("echo configure: error: no {number}");
        fs_err::write(&file, format!("#!/bin/sh\nPACKAGE_VERSION='16.9'\n{says}\nexit 1\n"))
            .unwrap();
        fs_err::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        git(tree, &["add", "."]);
        git(tree, &["commit", "--quiet", "-m", subject]);
        git(tree, &["tag", subject]);
    }
    let repository = format!("postgres@git:{}", tree.display());
    let words = ["bisect", &repository, "first..third", "--test", "point-query", "--by", "qps"];
    let output = place.run_to_end(&[&words[..], &["--format", "json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = printed(&output, 3);
    assert!(answer["answer"].is_null() && answer["comparisons"] == 0, "{answer:#}");
    assert_eq!(answer["posterior"].as_array().unwrap().len(), 3, "{answer:#}");
    assert!(stderr.contains("is skipped"), "{stderr}");
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let place = Place::new();
    let refused = |words: &[&str], message: &str| {
        let output = place.run_to_end(&[&["bisect"], words, &["--offline"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(message) && stderr.contains("hint: "), "{words:?}: {stderr}");
    };
    refused(&["mariadb@11.8", "--test", "scan"], "is not a range of releases");
    refused(&["mariadb@11.8..10.11", "--test", "scan"], "no source has both ends");
    refused(&["mariadb@10.11..11.8", "--test", "point*"], "stands for");
    assert!(place.finished().is_empty());
}

fn git(directory: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
