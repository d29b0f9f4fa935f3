//! Vendors' tarballs, from a server on loopback that has a real server under a vendor's name and layout.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use assay_model::{Hint as _, Origin, Prefix, Product, SystemSpec};
use assay_provision::{Cleaning, ProvisionError, ProvisionOptions, ProvisionProgress, Provisioner};
use fs_err as fs;
use tempfile::TempDir;

use crate::web::{Reply, Request, Web, broken_off, file, redirect, reply};

const MYSQL: &str = "mysql-5.7.23-linux-glibc2.12-x86_64";

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

/// A real MySQL in the shared cache, together with the indexes that they need.
fn server() -> Prefix {
    let provisioner = Provisioner::new(cache(), ProvisionOptions::default()).unwrap();
    provisioner.get(&system(Product::MySql, "5.7.22"), &mut |_| {}).unwrap()
}

/// A real MySQL in a tarball like its vendor's, packed once for all tests.
fn real() -> Vec<u8> {
    static PACKED: OnceLock<Vec<u8>> = OnceLock::new();
    PACKED.get_or_init(|| tarball(MYSQL)).clone()
}

/// A real MySQL in a tarball: all of it, and files that no server needs.
fn tarball(name: &str) -> Vec<u8> {
    let prefix = server();
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    tar.follow_symlinks(false);
    for directory in ["bin", "share", "lib"] {
        let from = prefix.path.join(directory);
        if from.is_dir() {
            tar.append_dir_all(format!("{name}/{directory}"), from).unwrap();
        }
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_mode(0o755);
    tar.append_data(&mut header, format!("{name}/mysql-test/mtr"), &b""[..]).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

/// Looks like a server, but its directory has another name than the tarball.
fn misnamed() -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    for file in ["bin/mysqld", "share/charsets/Index.xml"] {
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_mode(0o755);
        tar.append_data(&mut header, format!("another-directory/{file}"), &b"x"[..]).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A vendor's site, and an assay with a private cache and a catalog file that names the site.
struct Vendor {
    web: Web,
    home: TempDir,
    provisioner: Provisioner,
}

impl Vendor {
    fn new(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        let web = Web::new(answer);
        let home = tempfile::tempdir().unwrap();
        // The indexes of Debian's releases come from the user's cache, so that not every test fetches them.
        server();
        copy_state(&cache().join("apt"), &home.path().join("cache/apt"));
        let catalog = home.path().join("catalog.toml");
        let text = format!(
            "[[package]]\nproduct = 'mysql'\nsource = 'tarball'\nname = 'loopback'\n\
             only = ['bin/mysqld', 'lib', 'share']\n\
             [package.tarballs]\nseries = ['5.7', '5.8']\nknown = ['5.7.23', '5.8.1..3']\n\
             at = ['{0}/old/{{series}}/', '{0}/new/']\n\
             files = ['mysql-{{version}}-linux-glibc2.12-x86_64.tar.gz']\n\
             [[package]]\nproduct = 'mysql'\nsource = 'tarball'\nname = 'own builds'\n\
             [package.tarballs]\nseries = ['5.8']\nbuilds = true\nknown = ['5.8.1-9']\n\
             at = ['{0}/own/']\nfiles = ['own-{{version}}.tar.gz']\n",
            web.url("")
        );
        fs::write(&catalog, text).unwrap();
        let provisioner = provisioner(home.path());
        Self { web, home, provisioner }
    }

    fn get(&self, version: &str) -> Result<Prefix, ProvisionError> {
        self.provisioner.get(&system(Product::MySql, version), &mut |_| {})
    }

    fn paths(&self) -> Vec<String> {
        self.web.requests().into_iter().map(|request| request.path).collect()
    }

    /// Removes the servers from the cache, but not the checksums of their tarballs.
    fn forget(&self) {
        let cache = self.home.path().join("cache");
        fs::remove_file(cache.join("resolved.json")).unwrap();
        make_writable(&cache.join("prefixes"));
        fs::remove_dir_all(cache.join("prefixes")).unwrap();
        fs::create_dir(cache.join("prefixes")).unwrap();
    }
}

impl Drop for Vendor {
    /// A plain user cannot remove the read-only trees of servers, which would fill the disk.
    fn drop(&mut self) {
        let prefixes = self.home.path().join("cache/prefixes");
        if prefixes.is_dir() && !std::thread::panicking() {
            make_writable(&prefixes);
        }
    }
}

fn provisioner(home: &Path) -> Provisioner {
    let provisioner = Provisioner::new(home.join("cache"), ProvisionOptions::default()).unwrap();
    provisioner.with_catalog(&home.join("catalog.toml")).unwrap()
}

fn copy_state(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let status = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(status.success());
}

fn make_writable(directory: &Path) {
    fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            make_writable(&entry.path());
        }
    }
}

fn starts(prefix: &Prefix) -> String {
    let layout = &prefix.layout;
    let path: Vec<_> = layout.library_path.iter().map(|it| it.to_str().unwrap()).collect();
    let mut command = Command::new(layout.loader.as_ref().unwrap());
    command.args(["--library-path", &path.join(":")]).arg(&layout.server).arg("--version");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_vendors_tarball_becomes_a_server_through_redirects_and_a_broken_download() {
    let content = real();
    let vendor = Vendor::new(move |request, before| match (request.path.as_str(), before) {
        (path, _) if path.starts_with("/old/") => reply("404 Not Found", &[], b"<html>"),
        (path, _) if path.starts_with("/new/") => redirect("/mirror/x.tar.gz"),
        (_, 2) => broken_off(file(request, "\"a\"", &content), content.len() / 2),
        _ => file(request, "\"a\"", &content),
    });
    let mut steps = Vec::new();
    let spec = system(Product::MySql, "5.7.23");
    let prefix = vendor.provisioner.get(&spec, &mut |step| steps.push(step)).unwrap();
    let total = |step: &ProvisionProgress| {
        matches!(step, ProvisionProgress::Downloading { total: 1.., .. })
    };
    assert!(steps.iter().any(total), "the length is known");
    assert_eq!(prefix.version, "5.7.23");
    let build = &prefix.build;
    assert_eq!((build.source.as_str(), build.channel.as_str()), ("loopback", "tarball"));
    assert_eq!(build.package_version, MYSQL);
    assert!(build.notes.iter().any(|note| note.starts_with("not verified")), "{:?}", build.notes);
    assert!(starts(&prefix).contains("Ver 5.7.22"), "it is the real server that was packed");
    assert!(prefix.layout.share_dir.join("mysql_system_tables.sql").is_file());
    assert!(!prefix.path.join("mysql-test").exists());
    let name = format!("{MYSQL}.tar.gz");
    let asked = [format!("/old/5.7/{name}"), format!("/new/{name}"), "/mirror/x.tar.gz".to_owned()];
    assert_eq!(vendor.paths().get(..3).unwrap(), asked);
    let last = vendor.web.requests().pop().unwrap();
    assert!(last.range.is_some() && last.path == "/mirror/x.tar.gz", "{last:?}");
    assert_eq!(fs::read_dir(vendor.home.path().join("cache/tarball")).unwrap().count(), 0);
    let requests = vendor.paths().len();
    assert_eq!(vendor.get("5.7.23").unwrap(), prefix);
    assert_eq!(vendor.paths().len(), requests, "it was in the cache");
}

#[test]
fn a_changed_file_of_the_same_name_is_refused() {
    let content = Arc::new(Mutex::new(real()));
    let served = Arc::clone(&content);
    let vendor = Vendor::new(move |request, _| file(request, "\"a\"", &served.lock().unwrap()));
    let prefix = vendor.get("5.7.23").unwrap();
    vendor.forget();
    content.lock().unwrap().write_all(b"more").unwrap();
    let error = vendor.get("5.7.23").unwrap_err();
    assert!(matches!(error, ProvisionError::PackageChecksum { pinned: Some(_), .. }), "{error}");
    assert!(error.to_string().contains("`tarball loopback 5.7.23`"), "{error}");
    assert!(error.hints().iter().any(|hint| hint.contains("`assay cache clean --all`")));
    // The wrong file is not kept: the right one is downloaded again.
    *content.lock().unwrap() = real();
    assert_eq!(vendor.get("5.7.23").unwrap().sha256, prefix.sha256);
    content.lock().unwrap().write_all(b"more").unwrap();
    vendor.provisioner.clean(Cleaning::Everything, || {}).unwrap();
    copy_state(&cache().join("apt"), &vendor.home.path().join("cache/apt"));
    assert_ne!(vendor.get("5.7.23").unwrap().sha256, prefix.sha256);
}

#[test]
fn a_first_download_without_a_server_is_not_pinned() {
    let content = Arc::new(Mutex::new(b"<html>log in first</html>".to_vec()));
    let served = Arc::clone(&content);
    let vendor = Vendor::new(move |request, _| file(request, "\"a\"", &served.lock().unwrap()));
    for is_page in [true, false] {
        if !is_page {
            *content.lock().unwrap() = misnamed();
        }
        vendor.get("5.7.23").unwrap_err();
        assert!(!vendor.home.path().join("cache/recorded.json").exists());
    }
    *content.lock().unwrap() = real();
    let prefix = vendor.get("5.7.23").unwrap();
    // Damage does not remove a pin.
    fs::write(vendor.home.path().join("cache/recorded.json"), "{").unwrap();
    assert_eq!(vendor.get("5.7.23").unwrap(), prefix);
    vendor.forget();
    let error = vendor.get("5.7.23").unwrap_err();
    assert!(matches!(error, ProvisionError::Pins { .. }), "{error}");
    assert!(error.hints().iter().any(|hint| hint.contains("recorded.json")));
}

#[test]
fn a_missing_tarball_is_reported_with_the_known_versions() {
    let vendor = Vendor::new(|_, _| reply("404 Not Found", &[], b""));
    let error = vendor.get("5.8.99").unwrap_err();
    let name = "mysql-5.8.99-linux-glibc2.12-x86_64.tar.gz";
    let expected = format!(
        "`loopback` has no tarball of 5.8.99: nothing is at `{}`, `{}`; \
         known versions are 5.7.23, 5.8.1..3",
        vendor.web.url(&format!("/old/5.8/{name}")),
        vendor.web.url(&format!("/new/{name}"))
    );
    assert_eq!(error.to_string(), expected);
    assert!(error.hints().iter().any(|hint| hint.contains("server list --available")));
}

#[test]
fn an_unusable_reply_is_reported_with_its_address() {
    let vendor = Vendor::new(|_, _| reply("401 Unauthorized", &["Content-Length: 0"], b""));
    let error = vendor.get("5.7.23").unwrap_err();
    let address = vendor.web.url(&format!("/old/5.7/{MYSQL}.tar.gz"));
    assert_eq!(error.to_string(), format!("`{address}` cannot be downloaded: HTTP status 401"));
    let page = Vendor::new(|_, _| reply("200 OK", &["Content-Length: 6"], b"<html>"));
    let error = page.get("5.7.23").unwrap_err();
    assert!(matches!(error, ProvisionError::Malformed { .. }), "{error}");
    let other = Vendor::new(|request, _| file(request, "\"a\"", &misnamed()));
    let error = other.get("5.7.23").unwrap_err();
    assert!(matches!(error, ProvisionError::Incomplete(_)), "{error}");
}

#[test]
fn a_vendors_own_builds_need_their_full_version() {
    let content = tarball("own-5.8.1-9");
    let vendor = Vendor::new(move |request, _| match request.path.as_str() {
        "/own/own-5.8.1-9.tar.gz" => file(request, "\"a\"", &content),
        _ => reply("404 Not Found", &[], b""),
    });
    let prefix = vendor.get("5.8.1-9").unwrap();
    assert_eq!((prefix.version.as_str(), prefix.build.source.as_str()), ("5.8.1-9", "own builds"));
    // The same version without the build number, and the series, belong to other builders.
    assert!(matches!(vendor.get("5.8.1").unwrap_err(), ProvisionError::NotPublished { .. }));
    let offline = ProvisionOptions { offline: true, accept_expired_index: false };
    let offline = Provisioner::new(vendor.home.path().join("cache"), offline).unwrap();
    let cached = |version: &str| offline.get(&system(Product::MySql, version), &mut |_| {});
    assert!(matches!(cached("5.8").unwrap_err(), ProvisionError::NotCached { .. }));
    assert_eq!(cached("5.8.1-9").unwrap(), prefix);
}

#[test]
fn verified_sources_come_first_and_tarballs_are_listed_as_not_verified() {
    let vendor = Vendor::new(|_, _| reply("500 Never asked", &[], b""));
    // Maven's plugins, which it would otherwise fetch again.
    copy_state(&cache().join("maven"), &vendor.home.path().join("cache/maven"));
    let available = vendor.provisioner.available(Product::MySql).unwrap();
    let own: Vec<_> = available.iter().filter(|it| it.source == "loopback").collect();
    let versions: Vec<_> = own.iter().map(|it| it.version.as_str()).collect();
    assert_eq!(versions, ["5.7.23", "5.8.1", "5.8.2", "5.8.3"]);
    assert!(own.iter().all(|it| it.channel == "tarball" && !it.verified));
    assert!(available.iter().any(|it| it.source == "percona.com" && it.version == "8.0.36-28"));
    assert!(available.iter().any(|it| it.source == "mysql.com" && it.version == "8.4.3"));
    // Maven's 5.7 is older and has a checksum.
    assert_eq!(vendor.get("5.7").unwrap().build.source, "maven");
    assert_eq!(vendor.paths(), [""; 0]);
}

#[test]
fn an_invalid_catalog_is_named_with_the_position() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("own.toml");
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        let provisioner = Provisioner::new(home.path(), ProvisionOptions::default()).unwrap();
        provisioner.with_catalog(&path).unwrap_err().to_string()
    };
    let error = refused("[[package]]\nproduct = 'oracle'\n");
    assert!(error.starts_with(&format!("catalog `{}`: ", path.display())), "{error}");
    assert!(error.contains("line 2"), "{error}");
    let row = "[[package]]\nproduct = 'mysql'\nsource = 'tarball'\nname = 'x'\n";
    assert!(refused(row).contains("`tarballs` go with"));
    let range = "[package.tarballs]\nseries = []\nknown = ['8.0.9..1']\nat = []\nfiles = []\n";
    assert!(refused(&format!("{row}{range}")).contains("`8.0.9..1` is neither"));
}
