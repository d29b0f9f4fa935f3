//! Every fault on the way to a server, provoked for real with a mirror on loopback: each gives a clear message and a
//! hint, leaves nothing half done, and the next attempt works.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![expect(clippy::print_stdout, reason = "how a process tells the test what it got")]

mod mirror;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use assay_model::{Build, Hint as _, Origin, Product, SystemSpec};
use assay_provision::{
    CacheEntryKind, Cleaning, ProvisionError, ProvisionOptions, ProvisionProgress, Provisioner,
};
use assay_testkit::{eventually, run_tests, tests};
use fs_err as fs;
use mirror::ubuntu::Ubuntu;
use mirror::{CONTENT, Content, Fault, Mirror, checked};
use tempfile::TempDir;

const CACHE: &str = "ASSAY_FAULTS_CACHE";
const ACCEPT_EXPIRED: &str = "ASSAY_FAULTS_ACCEPT_EXPIRED";
const SYSTEM: &str = "ASSAY_FAULTS_SYSTEM";
/// Requests valgrind instead of a server.
const VALGRIND: &str = "valgrind";
const SOURCE: &str = "ASSAY_FAULTS_SOURCE";

/// A proxy that does not answer: only the mirror can be reached.
const NOBODY: &str = "http://127.0.0.1:9";

/// Runs in a child process.
fn get_into(cache: OsString) {
    let accept_expired_index = std::env::var_os(ACCEPT_EXPIRED).is_some();
    let options = ProvisionOptions { offline: false, accept_expired_index };
    let named = std::env::var(SYSTEM).ok();
    if named.as_deref() == Some(VALGRIND) {
        let found = Provisioner::new(cache, options).and_then(|it| it.valgrind(&mut note));
        return say(found.map(|it| (it.build, it.path)));
    }
    let named = named.as_ref().and_then(|name| name.split_once('@'));
    let spec = named.map_or_else(mariadb, |(product, version)| {
        let product = Product::ALL.into_iter().find(|it| it.word() == product);
        system(product.unwrap(), version)
    });
    let got = Provisioner::new(cache, options)
        .and_then(|provisioner| provisioner.with_source(std::env::var(SOURCE).ok()))
        .and_then(|provisioner| provisioner.get(&spec, &mut note));
    say(got.map(|prefix| (prefix.build, prefix.path)));
}

fn say(got: Result<(Build, PathBuf), ProvisionError>) {
    match got {
        Ok((build, path)) => {
            println!("\nFROM {} {}", build.channel, build.package_version);
            println!("GOT {}", path.display());
        }
        Err(error) => println!("\nERROR {error}\nHINT {}", error.hints().join(" ")),
    }
}

fn note(step: ProvisionProgress) {
    if let ProvisionProgress::PassedOver { why } = step {
        println!("\nPASSED {why}");
    }
}

fn mariadb() -> SystemSpec {
    system(Product::MariaDb, "10.11")
}

fn system(product: Product, version: &str) -> SystemSpec {
    SystemSpec::new(product, Origin::Version(version.to_owned()))
}

struct Machine {
    mirror: Mirror,
    cache: TempDir,
}

impl Machine {
    fn new(content: Content) -> Self {
        Self { mirror: Mirror::new(content), cache: TempDir::new().unwrap() }
    }

    fn command(&self) -> Command {
        let mut command = self.mirror.machine(&std::env::current_exe().unwrap());
        command.env(CACHE, self.cache.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn get(&self) -> Result<PathBuf, (String, String)> {
        result(&checked(self.command().output().unwrap()).stdout)
    }

    /// Gets a server while the mirror fails: the error reports it, nothing is left behind, and without the fault it
    /// works.
    #[track_caller]
    fn fails(&self, fault: Fault, message: &str, hint: &str) {
        self.mirror.set(fault);
        let (said, hinted) = self.get().expect_err("the fault has no effect");
        assert!(said.contains(message), "{said}");
        assert!(hinted.contains(hint), "{hinted}");
        self.is_clean_and_works();
    }

    #[track_caller]
    fn is_clean_and_works(&self) {
        assert_eq!(names(&self.cache.path().join("prefixes")), [""; 0]);
        self.mirror.set(Fault::None);
        self.get().unwrap();
    }
}

fn result(output: &[u8]) -> Result<PathBuf, (String, String)> {
    let output = String::from_utf8_lossy(output);
    let line = |word: &str| output.lines().find_map(|line| line.strip_prefix(word));
    match line("GOT ") {
        Some(path) => Ok(path.into()),
        None => Err((line("ERROR ").unwrap().to_owned(), line("HINT ").unwrap().to_owned())),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// The suite and the package's version that a machine with a release of Ubuntu gets, or the message.
fn got_on(machine: &Mirror, system: &str) -> Result<String, String> {
    let cache = TempDir::new().unwrap();
    let mut command = machine.machine(&std::env::current_exe().unwrap());
    command.env(CACHE, cache.path()).env(SYSTEM, system).env("HTTPS_PROXY", NOBODY);
    let output = checked(command.output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |word: &str| text.lines().find_map(|line| line.strip_prefix(word));
    match line("FROM ") {
        Some(from) => Ok(from.to_owned()),
        None => Err(format!("{} {}", line("ERROR ").unwrap(), line("HINT ").unwrap())),
    }
}

/// The sources of one release lead to the servers of the others.
fn ubuntu_has_its_servers_from_updates_and_security() {
    for machine in [Ubuntu::Jammy, Ubuntu::Noble].map(Mirror::ubuntu) {
        for (system, from) in [
            ("mysql@8.0", "noble-security 8.0.44-0ubuntu0.24.04.1"),
            ("mysql@8.0.28", "jammy 8.0.28-0ubuntu4"),
            ("mysql@8.0.36", "noble 8.0.36-2ubuntu3"),
            ("mariadb@10.6", "jammy-updates 1:10.6.22-0ubuntu0.22.04.1"),
            ("mariadb@10.11", "noble-updates 1:10.11.13-0ubuntu0.24.04.1"),
        ] {
            assert_eq!(got_on(&machine, system).as_deref(), Ok(from), "{system}");
        }
    }
}

/// Debian's servers are not Ubuntu's, and the error says where they are.
fn a_series_of_debian_is_named_as_such_on_ubuntu() {
    let machine = Mirror::ubuntu(Ubuntu::Noble);
    let said = got_on(&machine, "mariadb@11.8").unwrap_err();
    for part in [
        "no source of mariadb `11.8` can be reached",
        "Debian trixie, since this machine has no such archive in apt's sources",
        "`mariadb@11.8` is in Debian trixie: add that archive to apt's sources",
        "mariadb@dir:PATH",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

fn an_index_that_is_signed_for_another_distribution() {
    let machine = Machine::new(Content { origin: "Ubuntu", ..CONTENT });
    let (message, _) = machine.get().unwrap_err();
    assert!(message.contains("its origin is `Ubuntu`"), "{message}");
}

/// The releases of a distribution are unavailable without apt; the error names them.
fn a_machine_without_apt_is_told_which_release_has_a_series() {
    let machine = Machine::new(CONTENT);
    let programs = TempDir::new().unwrap();
    let failure = |system: &str, source: Option<&str>| {
        let mut command = machine.command();
        command.env("PATH", programs.path()).env(SYSTEM, system).env("HTTPS_PROXY", NOBODY);
        command.envs(source.map(|source| (SOURCE, source)));
        let (message, hint) = result(&checked(command.output().unwrap()).stdout).unwrap_err();
        format!("{message} {hint}")
    };
    let said = failure("mariadb@11.8", None);
    for part in [
        "no source of mariadb `11.8` can be reached",
        "cannot be downloaded",
        "Debian trixie, since this machine has no apt",
        "`mariadb@11.8` is in Debian trixie: run assay there or in a container of it",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = failure("mysql@8.0", Some("apt"));
    for part in [
        "source `apt` of mysql `8.0` cannot be used on this machine",
        "`mysql@8.0` is in Ubuntu jammy, Ubuntu noble",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // Another source has it, but its client is missing too.
    let said = failure("postgres@16", None);
    assert!(said.contains("`mvn` is not installed"), "{said}");
    assert!(said.contains("install the package `maven`"), "{said}");
}

fn a_mirror_that_is_not_there() {
    let machine = Machine::new(CONTENT);
    machine.mirror.unreachable();
    let (message, hint) = machine.get().unwrap_err();
    assert!(message.starts_with("package archive for `bookworm` cannot be reached"), "{message}");
    assert!(hint.contains("`--offline`"), "{hint}");
}

fn the_login_of_a_mirror_is_not_shown_and_kept_for_its_owner_alone() {
    let machine = Machine::new(CONTENT);
    machine.mirror.unreachable_with("me:canary7f3a@");
    let (message, hint) = machine.get().unwrap_err();
    assert!(!format!("{message} {hint}").contains("canary7f3a"), "{message}");
    machine.mirror.log_in("me:canary7f3a@");
    machine.get().unwrap();
    let mut holding = Vec::new();
    let mut open = vec![machine.cache.path().to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            if metadata.is_dir() {
                open.push(path);
            } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("canary7f3a") {
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{}", path.display());
                holding.push(entry.file_name());
            }
        }
    }
    holding.sort();
    assert_eq!(holding, ["apt.conf", "debian.sources"]);
}

fn a_mirror_that_says_nothing_is_given_up() {
    let machine = Machine::new(CONTENT);
    machine.fails(Fault::Silent, "package archive for `bookworm` cannot be reached", "network");
}

fn a_download_that_is_cut_off() {
    let machine = Machine::new(CONTENT);
    machine.fails(Fault::CutOff, "package archive for `bookworm`", "network");
}

fn a_package_that_is_not_the_signed_one() {
    Machine::new(CONTENT).fails(Fault::Altered, "does not match", "proxy or mirror");
}

fn a_package_that_is_gone() {
    Machine::new(CONTENT).fails(
        Fault::Gone,
        "lacks a file that its index names",
        "try again later",
    );
}

fn an_index_that_is_not_the_signed_one() {
    Machine::new(CONTENT).fails(Fault::AlteredIndex, "does not match", "proxy or mirror");
}

fn an_index_without_a_signature() {
    Machine::new(CONTENT).fails(Fault::Unsigned, "cannot be verified", "debian-archive-keyring");
}

fn a_page_of_html_for_an_index() {
    Machine::new(CONTENT).fails(Fault::Garbage, "cannot be verified", "debian-archive-keyring");
}

fn an_expired_index_is_taken_on_request_only() {
    let machine = Machine::new(Content { valid_hours: -24, ..CONTENT });
    let mut command = machine.command();
    command.env("HTTPS_PROXY", NOBODY);
    let output = checked(command.output().unwrap());
    let (message, hint) = result(&output.stdout).unwrap_err();
    // The packages of other sources need libraries of this index.
    assert!(message.starts_with("package index of `bookworm` has expired"), "{message}");
    assert!(hint.contains("`--accept-expired-index`"), "{hint}");
    let note = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(note.contains("PASSED package index of `bookworm` has expired"), "{note}");
    let output = machine.command().env(ACCEPT_EXPIRED, "1").output().unwrap();
    result(&checked(output).stdout).unwrap();
}

/// Only Debian's unreleased suite and the vendor may have MySQL 9.7, and the vendor is unreachable here.
fn an_expired_index_is_passed_over_for_the_vendor_and_named_if_that_cannot_be_reached() {
    let machine = Machine::new(Content { has_expired_sid: true, ..CONTENT });
    let mut command = machine.command();
    command.env(SYSTEM, "mysql@9.7").env("HTTPS_PROXY", NOBODY);
    let output = checked(command.output().unwrap());
    let (message, hint) = result(&output.stdout).unwrap_err();
    assert!(message.contains("package index of `sid` has expired"), "{message}");
    assert!(message.contains("mysql-9.7") && message.contains("cannot be downloaded"), "{message}");
    let note = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(note.contains("PASSED package index of `sid` has expired"), "{note}");
    assert!(hint.contains("`--accept-expired-index`"), "{hint}");
}

fn a_damaged_cache_is_repaired() {
    let machine = Machine::new(CONTENT);
    let prefix = machine.get().unwrap();
    let server = prefix.join("usr/sbin/mariadbd");
    let loosen = |path: &Path| {
        for path in [path.parent().unwrap(), path] {
            fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    let damages: [(&str, &dyn Fn()); 5] = [
        ("a truncated file", &|| {
            loosen(&server);
            fs::OpenOptions::new().write(true).open(&server).unwrap().set_len(1000).unwrap();
        }),
        ("a missing file", &|| {
            loosen(&server);
            fs::remove_file(&server).unwrap();
        }),
        ("a missing marker", &|| fs::remove_file(prefix.join("prefix.json")).unwrap()),
        ("a half-written marker", &|| fs::write(prefix.join("prefix.json"), "{").unwrap()),
        ("lost directories", &|| {
            loosen(&prefix.join("usr/lib"));
            loosen(&prefix.join("usr/sbin"));
            fs::rename(prefix.join("usr/sbin"), prefix.join("usr/lib/sbin")).unwrap();
        }),
    ];
    for (number, (what, damage)) in damages.iter().enumerate() {
        damage();
        assert_eq!(machine.get().as_ref(), Ok(&prefix), "{what}");
        assert_eq!(fs::metadata(&server).unwrap().len(), 300 << 10, "{what}");
        assert_eq!(machine.mirror.downloads(), 2 + number, "{what}");
    }
}

fn what_a_killed_run_left_does_not_matter() {
    let machine = Machine::new(CONTENT);
    let prefixes = machine.cache.path().join("prefixes");
    fs::create_dir_all(prefixes.join(".new-tree/usr")).unwrap();
    fs::write(prefixes.join(".new-file"), "x").unwrap();
    fs::write(machine.cache.path().join(".new-file-x"), "{").unwrap();
    fs::write(machine.cache.path().join("resolved.json"), "{\"half").unwrap();
    let lists = machine.cache.path().join("apt/bookworm/lists");
    fs::create_dir_all(&lists).unwrap();
    fs::write(lists.join("127.0.0.1_dists_bookworm_InRelease"), "half").unwrap();
    let prefix = machine.get().unwrap();
    assert_eq!(names(&prefixes), [prefix.file_name().unwrap().to_str().unwrap()]);
    assert!(!machine.cache.path().join(".new-file-x").exists());
}

fn a_damaged_index_is_fetched_again() {
    let machine = Machine::new(CONTENT);
    let prefix = machine.get().unwrap();
    let cache = machine.cache.path();
    let lists = cache.join("apt/bookworm/lists");
    let packages = names(&lists).into_iter().find(|name| name.ends_with("Packages")).unwrap();
    for damage in [&|| fs::write(lists.join(&packages), "Package: half").unwrap() as (), &|| {
        fs::remove_dir_all(&lists).unwrap()
    }] as [&dyn Fn(); 2]
    {
        fs::remove_file(cache.join("resolved.json")).unwrap();
        damage();
        assert_eq!(machine.get().as_ref(), Ok(&prefix));
    }
}

fn two_that_fill_one_cache_download_once() {
    let machine = Machine::new(CONTENT);
    let children = [(); 2].map(|()| machine.command().spawn().unwrap());
    let got = children.map(|child| result(&checked(child.wait_with_output().unwrap()).stdout));
    assert!(got[0].is_ok() && got[0] == got[1], "{got:?}");
    assert_eq!(machine.mirror.downloads(), 1);
}

/// A separate file system for a cache, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path, options: &str) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path);
        checked(mount.output().unwrap());
        Self(path.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn a_disk_that_is_full_in_the_middle_of_unpacking() {
    let machine = Machine::new(Content { zeros_mb: 300, ..CONTENT });
    let disk = SmallDisk::mount(machine.cache.path(), "size=260m,mode=0700");
    let (message, hint) = machine.get().unwrap_err();
    assert!(
        message.contains("No space left") || message.contains("not enough disk space"),
        "{message}"
    );
    assert!(hint.contains("`--cache-dir`"), "{hint}");
    let more = Command::new("mount").args(["-o", "remount,size=700m"]).arg(&disk.0).output();
    checked(more.unwrap());
    machine.is_clean_and_works();
}

fn a_disk_with_too_little_room_is_said_before_anything_is_fetched() {
    let machine = Machine::new(CONTENT);
    let _disk = SmallDisk::mount(machine.cache.path(), "size=20m,mode=0700");
    let (message, hint) = machine.get().unwrap_err();
    assert!(message.starts_with("not enough disk space under"), "{message}");
    assert!(hint.contains("`--cache-dir`"), "{hint}");
}

fn what_is_held_is_kept_by_cleaning() {
    let machine = Machine::new(CONTENT);
    let path = machine.get().unwrap();
    let offline = ProvisionOptions { offline: true, accept_expired_index: false };
    let open = || Provisioner::new(machine.cache.path(), offline).unwrap();
    let (user, cleaner) = (open(), open());
    let prefix = user.get(&mariadb(), &mut |_| {}).unwrap();
    let hold = user.hold(&prefix).unwrap();
    let entries = cleaner.entries().unwrap();
    let of_prefix = entries.iter().find(|entry| entry.path == path).unwrap();
    assert!(of_prefix.in_use && of_prefix.bytes > 300 << 10, "{of_prefix:?}");
    let version = "10.11.99".to_owned();
    assert_eq!(of_prefix.kind, CacheEntryKind::Prefix { product: Product::MariaDb, version });

    let recent = cleaner.clean(Cleaning::Unused(Duration::from_secs(3600)), || {}).unwrap();
    assert_eq!((recent.removed.len(), recent.in_use.len()), (0, 0));
    let held = cleaner.clean(Cleaning::Unused(Duration::ZERO), || {}).unwrap();
    assert_eq!((held.removed.len(), held.in_use.len()), (0, 1));
    assert!(path.exists());
    drop(hold);
    // A process that another test starts holds a copy of the lock until it calls exec.
    eventually("nothing is in use", || cleaner.entries().unwrap().iter().all(|it| !it.in_use));
    let all = cleaner.clean(Cleaning::Everything, || {}).unwrap();
    assert_eq!((all.removed.len(), all.in_use.len()), (3, 0));
    assert_eq!(names(&machine.cache.path().join("prefixes")), [""; 0]);
    assert!(matches!(user.hold(&prefix), Err(ProvisionError::Io(_))));
    assert_eq!(machine.get(), Ok(path));
}

/// Programs of the machine without valgrind.
fn programs_without_valgrind() -> TempDir {
    let place = TempDir::new().unwrap();
    for name in names(Path::new("/usr/bin")).into_iter().filter(|name| name != VALGRIND) {
        let link = place.path().join(&name);
        std::os::unix::fs::symlink(Path::new("/usr/bin").join(name), link).unwrap();
    }
    place
}

fn valgrind_is_verified_like_a_server_and_its_absence_is_explained() {
    let machine = Machine::new(CONTENT);
    let programs = programs_without_valgrind();
    let get = || {
        let mut command = machine.command();
        command.env(SYSTEM, VALGRIND).env("PATH", programs.path());
        result(&checked(command.output().unwrap()).stdout)
    };
    machine.mirror.set(Fault::Altered);
    let (message, hint) = get().unwrap_err();
    assert!(message.contains("does not match its signed index"), "{message}");
    assert!(hint.contains("change the mirror"), "{hint}");
    assert_eq!(names(&machine.cache.path().join("prefixes")), [""; 0]);
    machine.mirror.set(Fault::None);
    let path = get().unwrap();
    assert!(path.starts_with(machine.cache.path().join("tools")), "{}", path.display());
    // The cached one is used as long as nothing newer is available.
    fs::remove_file(machine.cache.path().join("resolved.json")).unwrap();
    fs::remove_dir_all(machine.cache.path().join("apt")).unwrap();
    machine.mirror.unreachable();
    assert_eq!(get().unwrap(), path);
    let cleaner = Provisioner::new(machine.cache.path(), ProvisionOptions::default()).unwrap();
    cleaner.clean(Cleaning::Everything, || {}).unwrap();
    let (message, hint) = get().unwrap_err();
    assert!(
        message.starts_with(
            "this machine has no valgrind, and none can be fetched: package archive for"
        ),
        "{message}"
    );
    assert!(hint.starts_with("install the package `valgrind` check the network"), "{hint}");
}

fn main() -> ExitCode {
    if let Some(cache) = std::env::var_os(CACHE) {
        get_into(cache);
        return ExitCode::SUCCESS;
    }
    let anyone = tests![
        ubuntu_has_its_servers_from_updates_and_security,
        a_series_of_debian_is_named_as_such_on_ubuntu,
        an_index_that_is_signed_for_another_distribution,
        a_machine_without_apt_is_told_which_release_has_a_series,
        a_mirror_that_is_not_there,
        the_login_of_a_mirror_is_not_shown_and_kept_for_its_owner_alone,
        a_mirror_that_says_nothing_is_given_up,
        a_download_that_is_cut_off,
        a_package_that_is_not_the_signed_one,
        a_package_that_is_gone,
        an_index_that_is_not_the_signed_one,
        an_index_without_a_signature,
        a_page_of_html_for_an_index,
        an_expired_index_is_taken_on_request_only,
        an_expired_index_is_passed_over_for_the_vendor_and_named_if_that_cannot_be_reached,
        a_damaged_cache_is_repaired,
        what_a_killed_run_left_does_not_matter,
        a_damaged_index_is_fetched_again,
        two_that_fill_one_cache_download_once,
        what_is_held_is_kept_by_cleaning,
        valgrind_is_verified_like_a_server_and_its_absence_is_explained,
    ];
    let root = tests![
        a_disk_that_is_full_in_the_middle_of_unpacking,
        a_disk_with_too_little_room_is_said_before_anything_is_fetched,
    ];
    run_tests(&anyone, &root)
}
