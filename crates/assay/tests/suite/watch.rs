//! Watches: new versions of a product beside earlier ones.

use std::path::Path;
use std::process::Stdio;

use assay_testkit::eventually;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Place, printed};

/// MariaDB 11.8 reads rows that an index covers with fewer instructions than 11.4 and 10.11. A killed watch continues,
/// measures nothing twice, and reports a change once.
#[test]
fn a_watch_finds_what_a_new_release_changed() {
    let place = Place::with("mariadb@11.4");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watch.toml");
    let watch = |range: &str| {
        let text = format!(
            "tests = [\"points-covered-pk\"]\ncount = \"only\"\noffline = true\n\n[watch]\nrange = \"{range}\"\n\n\
             [[setup]]\nrows = 10_000\n"
        );
        fs_err::write(&file, text).unwrap();
    };
    let path = file.to_str().unwrap();
    let words = ["watch", path, "--format", "json"];

    watch("mariadb@10.11..11.4");
    let mut first = place.command(&words);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("it has begun", || place.finished().len() == 1);
    kill_process(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
    let before = printed(&place.run_to_end(&words), 0);
    assert!(before["measured"][0].as_str().unwrap().starts_with("11.4."), "{before:#}");
    assert!(before["baseline"].as_str().unwrap().starts_with("10.11."), "{before:#}");
    let measured = place.finished();
    assert!(measured.iter().all(|is_finished| *is_finished), "{measured:?}");

    let again = printed(&place.run_to_end(&words), 0);
    assert_eq!(again["measured"].as_array().unwrap().len(), 0, "{again:#}");
    assert_eq!(again["tests"], before["tests"]);
    assert_eq!(place.finished().len(), measured.len());

    watch("mariadb@10.11..11.8");
    let found = folder.path().join("found");
    let program = folder.path().join("note");
    script(&program, &format!("echo \"$ASSAY_TEST $ASSAY_VERSION\" >> {}", found.display()));
    let with_program = [&words[..], &["--run-on-found", program.to_str().unwrap()]].concat();
    let after = printed(&place.run_to_end(&with_program), 0);
    let change = &after["changes"][0];
    assert!(change["version"].as_str().unwrap().starts_with("11.8."), "{after:#}");
    assert!(change["after"].as_str().unwrap().starts_with("11.4."), "{after:#}");
    assert!((0.8..0.95).contains(&change["ratio"]["value"].as_f64().unwrap()), "{after:#}");
    assert_eq!(change["is_new"], true);
    let message = fs_err::read_to_string(&found).unwrap();
    assert!(message.starts_with("points-covered-pk mariadb@11.8."), "{message}");

    let later = printed(&place.run_to_end(&with_program), 0);
    assert_eq!(later["changes"][0]["is_new"], false, "{later:#}");
    assert_eq!(fs_err::read_to_string(&found).unwrap(), message);
    // Imported studies that name the watch are no part of it.
    place.import_forged();
    let with_forged = printed(&place.run_to_end(&words), 0);
    assert_eq!(
        (&with_forged["tests"], &with_forged["changes"]),
        (&later["tests"], &later["changes"])
    );
    assert!(
        with_forged["notes"].to_string().contains("of this watch are foreign"),
        "{with_forged:#}"
    );
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("watch.toml");
    for (text, message) in [
        ("tests = [\"scan\"]\n", "`[watch]`, which says what is watched, is missing"),
        ("[watch]\nrange = \"mariadb@11.8\"\n", "is not a range of releases"),
        ("[watch]\nrange = \"mariadb@11.4..11.8\"\npaths = [\"src\"]\n", "`paths` narrows commits"),
        ("[watch]\nrange = \"mariadb@11.8..10.11\"\n", "no source has both ends"),
    ] {
        fs_err::write(&file, text).unwrap();
        let output = place.run_to_end(&["watch", file.to_str().unwrap(), "--offline"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}: {stderr}");
        assert!(stderr.contains(message) && stderr.contains("hint: "), "{text}: {stderr}");
    }
    assert!(place.finished().is_empty());
}

fn script(path: &Path, line: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::write(path, format!("#!/bin/sh\n{line}\n")).unwrap();
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
