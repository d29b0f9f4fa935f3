//! A real server, fetched by the real apt from the archive this machine is configured with.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::{Engine, Hint as _, Origin, Prefix, Product, SystemSpec};
use assay_provision::{Error, Options, Progress, Provisioner};

const ONLINE: Options = Options { offline: false, accept_expired_index: false };
const OFFLINE: Options = Options { offline: true, accept_expired_index: false };

/// The cache that all tests and runs share, so that a server is fetched once.
fn cache() -> PathBuf {
    let named = std::env::var_os("ASSAY_CACHE").map(PathBuf::from);
    let xdg = std::env::var_os("XDG_CACHE_HOME").map(|home| PathBuf::from(home).join("assay"));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/assay"));
    named.or(xdg).or(home).expect("ASSAY_CACHE, XDG_CACHE_HOME or HOME is set")
}

fn mariadb(version: &str) -> SystemSpec {
    let origin = Origin::Version(version.to_owned());
    SystemSpec { product: Product::MariaDb, origin, engine: Engine::InnoDb, overrides: Vec::new() }
}

fn get(options: Options, version: &str) -> Result<(Prefix, Vec<Progress>), Error> {
    let provisioner = Provisioner::new(cache(), options)?;
    let mut steps = Vec::new();
    let prefix = provisioner.get(&mariadb(version), &mut |step| steps.push(step))?;
    Ok((prefix, steps))
}

/// Every library of a program, as its own loader finds them.
fn libraries(prefix: &Prefix, program: &Path) -> Vec<PathBuf> {
    let path: Vec<_> = prefix.layout.library_path.iter().map(|it| it.to_str().unwrap()).collect();
    let loader = prefix.layout.loader.as_ref().unwrap();
    let output = Command::new(loader)
        .args(["--library-path", &path.join(":"), "--list"])
        .arg(program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let found = text.lines().filter_map(|line| line.split_once(" => "));
    found.map(|(_, place)| PathBuf::from(place.split(" (").next().unwrap())).collect()
}

#[test]
fn a_series_becomes_a_server_with_all_its_libraries_and_is_then_cached() {
    let (prefix, _) = get(ONLINE, "10.11").unwrap();
    assert!(prefix.version.starts_with("10.11."), "{}", prefix.version);
    assert!(prefix.build.released);
    assert_eq!(prefix.build.source, "apt");
    for path in [&prefix.layout.server, &prefix.layout.share_dir, &prefix.layout.plugin_dir] {
        assert!(path.starts_with(&prefix.path) && path.exists(), "{}", path.display());
    }
    assert!(prefix.layout.charsets_dir.join("latin1.xml").exists());
    let libraries = libraries(&prefix, &prefix.layout.server);
    assert!(libraries.len() > 5, "{libraries:?}");
    for library in libraries {
        assert!(library.starts_with(&prefix.path), "{} is of the host", library.display());
    }
    let (again, steps) = get(ONLINE, "10.11").unwrap();
    assert_eq!((again, steps), (prefix.clone(), vec![Progress::Cached]));
    let (offline, steps) = get(OFFLINE, &prefix.version).unwrap();
    assert_eq!((offline, steps), (prefix, vec![Progress::Cached]));
}

#[test]
fn the_server_runs_on_its_own_loader() {
    let (prefix, _) = get(ONLINE, "10.11").unwrap();
    let path: Vec<_> = prefix.layout.library_path.iter().map(|it| it.to_str().unwrap()).collect();
    let output = Command::new(prefix.layout.loader.as_ref().unwrap())
        .args(["--library-path", &path.join(":")])
        .arg(&prefix.layout.server)
        .args(["--no-defaults", "--version"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&prefix.version), "{text}");
}

#[test]
fn an_unknown_version_says_which_there_are() {
    let error = get(ONLINE, "10.4").unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("no source has mariadb `10.4`; there are "), "{text}");
    assert!(text.contains(" (bookworm"), "{text}");
}

#[test]
fn offline_with_nothing_cached_says_so_and_gives_a_hint() {
    let empty = tempfile::tempdir().unwrap();
    let provisioner = Provisioner::new(empty.path(), OFFLINE).unwrap();
    let error = provisioner.get(&mariadb("10.11"), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "mariadb `10.11` is not in the cache");
    assert_eq!(error.hints(), ["run once without `--offline` to fetch it"]);
}

#[test]
fn the_versions_of_the_released_suites_are_listed() {
    let provisioner = Provisioner::new(cache(), ONLINE).unwrap();
    let available = provisioner.available(Product::MariaDb).unwrap();
    for series in ["10.5.", "10.11.", "11.8."] {
        let mut versions = available.iter().filter(|it| it.version.starts_with(series));
        assert!(versions.any(|it| it.released), "{series} is not among {available:?}");
    }
}
