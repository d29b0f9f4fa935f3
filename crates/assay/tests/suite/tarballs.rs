//! A vendor's tarball from a web server on loopback, up to a server that is driven.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::Product;

use crate::common::Place;
use crate::web::{Web, file, redirect};

/// A version that no other source has.
const NAME: &str = "mysql-5.7.98-linux-glibc2.12-x86_64";

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn tarball(directory: &Path) -> PathBuf {
    let layout = assay_testkit::product_prefix(Product::MySql, "5.7.22").layout;
    let root = directory.join(NAME);
    for (from, to) in [
        (&layout.server, "bin/mysqld"),
        (&layout.share_dir, "share"),
        (&layout.plugin_dir, "lib/plugin"),
    ] {
        let to = root.join(to);
        fs_err::create_dir_all(to.parent().unwrap()).unwrap();
        run(Command::new("cp").arg("-rL").args([from, &to]));
    }
    let packed = directory.join("packed.tar.gz");
    run(Command::new("tar").arg("-C").arg(directory).arg("-czf").args([&packed, Path::new(NAME)]));
    packed
}

#[test]
fn a_vendors_tarball_is_fetched_started_and_driven() {
    let folder = tempfile::tempdir().unwrap();
    let content = fs_err::read(tarball(folder.path())).unwrap();
    let web = Web::new(move |request, _| match request.path.as_str() {
        "/files/x" => file(request, "\"1\"", &content),
        _ => redirect("/files/x"),
    });
    let catalog = folder.path().join("catalog.toml");
    let row = format!(
        "[[package]]\nproduct = 'mysql'\nsource = 'tarball'\nname = 'loopback'\n\
         [package.tarballs]\nseries = ['5.7']\nknown = ['5.7.98']\nat = ['{}']\n\
         files = ['old/mysql-{{version}}-linux-glibc2.12-x86_64.tar.gz']\n",
        web.url("/MySQL-{series}/")
    );
    fs_err::write(&catalog, row).unwrap();
    let place = Place::new();
    // It has its own cache, because other tests would take a version with such a number for the newest.
    let cache = folder.path().join("cache");
    let assay = |args: &[&str]| {
        run(place.command(args).env("ASSAY_CATALOG", &catalog).env("ASSAY_CACHE", &cache))
    };
    let json = |args: &[&str]| -> serde_json::Value { serde_json::from_str(&assay(args)).unwrap() };
    let system = "mysql@5.7.98";
    let got = json(&["server", "get", system, "--accept-expired-index", "--format", "json"]);
    let got = got.get(0).unwrap_or(&got);
    assert_eq!((&got["source"], &got["build"]), (&"loopback tarball".into(), &NAME.into()));
    let server = json(&["server", "start", system, "--offline", "--format", "json", "--name", "v"]);
    let url = server["url"].as_str().unwrap();
    assay(&["load", url, "--rows", "1000"]);
    let bench = ["bench", url, "--test", "point-query", "--time", "0.2", "--format", "json"];
    assert!(json(&bench)["queries"].as_u64().unwrap() > 0);
    assay(&["server", "stop", "v"]);
    place.assert_nothing_left();
}
