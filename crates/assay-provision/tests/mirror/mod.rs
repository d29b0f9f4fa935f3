//! A signed Debian repository of one small server on loopback that can be made to fail.

pub(crate) mod ubuntu;

use std::io::{Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use fs_err as fs;
use jiff::{Span, Timestamp};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Accepts connections and never sends anything.
    Silent,
    /// Closes the connection after half of a package.
    CutOff,
    /// One byte of every package is changed.
    Altered,
    /// The index of packages is not the signed one.
    AlteredIndex,
    Unsigned,
    /// The signed file is an HTML page, as from a hotel's gateway.
    Garbage,
    Gone,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Content {
    /// Validity of the index from now, hours.
    pub(crate) valid_hours: i64,
    /// Zeros in the package, MiB. The index does not mention them.
    pub(crate) zeros_mb: usize,
    /// Whether the mirror has an expired index of the unreleased suite, `sid`.
    pub(crate) has_expired_sid: bool,
    /// The distribution that the index claims.
    pub(crate) origin: &'static str,
}

pub(crate) const CONTENT: Content =
    Content { valid_hours: 24, zeros_mb: 0, has_expired_sid: false, origin: "Debian" };

/// A running mirror, and a machine whose apt is configured for it.
pub(crate) struct Mirror {
    home: TempDir,
    port: u16,
    fault: Arc<Mutex<Fault>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Mirror {
    pub(crate) fn new(content: Content) -> Self {
        let fill = |root: &Path| {
            let mut suites = vec![fill(root, "bookworm", content)];
            if content.has_expired_sid {
                suites.push(fill(root, "sid", Content { valid_hours: -24, ..content }));
            }
            suites
        };
        Self::start(fill, |home, port, keyring| configure(home, "", port, keyring))
    }

    /// `fill` writes the suites, `configure` the machine's files.
    fn start(fill: impl Fn(&Path) -> Vec<PathBuf>, configure: impl Fn(&Path, u16, &Path)) -> Self {
        let home = TempDir::with_prefix("assay-mirror-").unwrap();
        let root = home.path().join("root");
        let suites = fill(&root);
        let keyring = sign(home.path(), &suites);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        configure(home.path(), port, &keyring);
        let fault = Arc::new(Mutex::new(Fault::None));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (faults, seen) = (fault.clone(), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, fault, seen) = (root.clone(), faults.clone(), seen.clone());
                thread::spawn(move || drop(answer(stream, &root, &fault, &seen)));
            }
        });
        Self { home, port, fault, requests }
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// Points the machine's apt at an address where nothing listens.
    pub(crate) fn unreachable(&self) {
        // Nothing listens on port 9 of loopback, so connections are refused at once.
        configure(self.home.path(), "", 9, &self.home.path().join("key.gpg"));
    }

    /// The address contains a login, such as `me:secret@`.
    pub(crate) fn unreachable_with(&self, login: &str) {
        configure(self.home.path(), login, 9, &self.home.path().join("key.gpg"));
    }

    /// Gives the machine's apt a login for the mirror, and a proxy with one that it does not use.
    pub(crate) fn log_in(&self, login: &str) {
        configure(self.home.path(), login, self.port, &self.home.path().join("key.gpg"));
        let path = self.home.path().join("apt.conf");
        let text = fs::read_to_string(&path).unwrap();
        let proxy = format!("Acquire::https::Proxy \"http://{login}127.0.0.1:9\";\n");
        fs::write(&path, text + &proxy).unwrap();
    }

    /// Number of packages requested.
    pub(crate) fn downloads(&self) -> usize {
        self.requests.lock().unwrap().iter().filter(|path| path.ends_with(".deb")).count()
    }

    /// A command with the machine's apt configuration.
    pub(crate) fn machine(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.home.path().join("apt.conf"));
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"] {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        let home = self.home.path().join("gpg");
        let _ = Command::new("gpgconf").arg("--homedir").arg(home).args(["--kill", "all"]).output();
    }
}

fn record(name: &str, version: &str, file: &str, package: &[u8]) -> String {
    format!(
        "Package: {name}\nVersion: {version}\nArchitecture: amd64\n\
         Maintainer: nobody <nobody@localhost>\nFilename: pool/{file}\nSize: {}\n\
         SHA256: {}\nDescription: a server for tests\n\n",
        package.len(),
        hex(package)
    )
}

/// The packages without which assay does not ask for a vendor's tarball.
fn libraries() -> Vec<String> {
    let catalog: toml::Table = toml::from_str(include_str!("../../src/catalog.toml")).unwrap();
    let roots = catalog["runtime"]["roots"].as_array().unwrap().iter();
    roots.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Writes the package, its index, and the unsigned release file of a suite. Returns the directory of the release file.
fn fill(root: &Path, suite: &str, content: Content) -> PathBuf {
    let package = package("usr/sbin/mariadbd", "data.tar.gz", content);
    let pool = root.join("pool");
    fs::create_dir_all(&pool).unwrap();
    fs::write(pool.join("server.deb"), &package).unwrap();
    let roots = ["mariadb-server-core", "valgrind"].map(str::to_owned);
    let names = roots.into_iter().chain(libraries());
    let index: String =
        names.map(|name| record(&name, "1:10.11.99-1", "server.deb", &package)).collect();
    let suite = Suite { origin: content.origin, name: suite, valid_hours: content.valid_hours };
    suite.write(root, &[("main", index)])
}

/// A suite and its signed fields besides the indexes.
struct Suite<'a> {
    origin: &'a str,
    name: &'a str,
    valid_hours: i64,
}

impl Suite<'_> {
    /// Writes the indexes of components and the release file, and returns its directory.
    fn write(&self, root: &Path, components: &[(&str, String)]) -> PathBuf {
        let Self { origin, name, valid_hours } = self;
        let dists = root.join("dists").join(name);
        let format = "%a, %d %b %Y %H:%M:%S UTC";
        let now = Timestamp::now();
        let date = |hours: i64| (now + Span::new().hours(hours)).strftime(format).to_string();
        let names: Vec<_> = components.iter().map(|(component, _)| *component).collect();
        let mut release = format!(
            "Origin: {origin}\nLabel: {origin}\nSuite: {name}\nCodename: {name}\nDate: {}\n\
             Valid-Until: {}\nArchitectures: amd64\nComponents: {}\nSHA256:\n",
            date(-48),
            date(*valid_hours),
            names.join(" "),
        );
        for (component, index) in components {
            let path = format!("{component}/binary-amd64/Packages");
            fs::create_dir_all(dists.join(&path).parent().unwrap()).unwrap();
            fs::write(dists.join(&path), index).unwrap();
            release += &format!(" {} {} {path}\n", hex(index.as_bytes()), index.len());
        }
        fs::write(dists.join("Release"), release).unwrap();
        dists
    }
}

/// A package with a server, a loader and valgrind; the name of its member tells the compression.
fn package(server: &str, member: &str, content: Content) -> Vec<u8> {
    let mut noise = vec![0; 300 << 10];
    let mut state = 1_u64;
    for byte in &mut noise {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *byte = (state >> 56) as u8;
    }
    let zeros = (content.zeros_mb as u64) << 20;
    let write = |to: &mut dyn Write| {
        let mut builder = tar::Builder::new(to);
        let mut add = |path: &str, content: &mut dyn std::io::Read, size: u64| {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o755);
            header.set_size(size);
            builder.append_data(&mut header, path, content).unwrap();
        };
        add(&format!("./{server}"), &mut noise.as_slice(), noise.len() as u64);
        add("./usr/share/mysql/charsets/Index.xml", &mut b"<x/>".as_slice(), 4);
        add("./usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", &mut b"ld".as_slice(), 2);
        for name in ["bin/valgrind", "bin/vgdb", "libexec/valgrind/callgrind-amd64-linux"] {
            add(&format!("./usr/{name}"), &mut b"#!/bin/sh".as_slice(), 9);
        }
        add("./usr/share/mysql/zeros", &mut std::io::repeat(0).take(zeros), zeros);
        builder.finish().unwrap();
    };
    let data = if member.ends_with(".zst") {
        let mut plain = Vec::new();
        write(&mut plain);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(plain.as_slice(), level)
    } else {
        let fast = flate2::Compression::fast();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), fast);
        write(&mut gzip);
        gzip.finish().unwrap()
    };
    let mut archive = ar::Builder::new(Vec::new());
    for (name, content) in [("debian-binary", b"2.0\n".as_slice()), (member, &data)] {
        archive.append(&ar::Header::new(name.into(), content.len() as u64), content).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Signs the release files with a new key, and returns the keyring.
fn sign(home: &Path, suites: &[PathBuf]) -> PathBuf {
    let gpg_home = home.join("gpg");
    fs::create_dir(&gpg_home).unwrap();
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&gpg_home, owner_only).unwrap();
    let keyring = home.join("key.gpg");
    let gpg = |arguments: &[&str]| {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(&gpg_home).args(["--batch", "--quiet", "--yes"]);
        let done = command.args(arguments).output();
        checked(done.expect("these tests sign an index: install gpg"));
    };
    gpg(&["--passphrase", "", "--quick-gen-key", "tests", "ed25519", "sign", "never"]);
    gpg(&["--output", keyring.to_str().unwrap(), "--export"]);
    for suite in suites {
        let [signed, plain] = ["InRelease", "Release"].map(|name| suite.join(name));
        let paths = [signed.to_str().unwrap(), plain.to_str().unwrap()];
        gpg(&["--output", paths[0], "--clearsign", paths[1]]);
    }
    keyring
}

pub(crate) fn checked(output: Output) -> Output {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn configure(home: &Path, login: &str, port: u16, keyring: &Path) {
    let keyring = keyring.display();
    let source =
        format!("deb [signed-by={keyring}] http://{login}127.0.0.1:{port}/ bookworm main\n");
    configure_with(home, "sources.list", &source);
}

/// A machine whose apt has one file of sources, and its settings.
fn configure_with(home: &Path, file: &str, source: &str) {
    let etc = home.join("etc");
    fs::create_dir_all(etc.join("sources.list.d")).unwrap();
    fs::write(etc.join(file), source).unwrap();
    let settings = format!("Dir::Etc \"{}\";\nAPT::Sandbox::User \"root\";\n", etc.display());
    fs::write(home.join("apt.conf"), settings).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers one request and closes.
fn answer(
    mut stream: TcpStream,
    root: &Path,
    fault: &Mutex<Fault>,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        request.extend_from_slice(&piece[..length]);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    seen.lock().unwrap().push(path.clone());
    let fault = *fault.lock().unwrap();
    let is_package = path.ends_with(".deb");
    let content = match fault {
        Fault::Silent => {
            // Until the client gives up.
            while stream.read(&mut [0; 64])? > 0 {}
            return Ok(());
        }
        Fault::Unsigned if path.ends_with("InRelease") => None,
        Fault::Gone if is_package => None,
        Fault::Garbage if path.ends_with("InRelease") => Some(b"<html>log in</html>".to_vec()),
        _ => fs::read(root.join(&path)).ok(),
    };
    let Some(mut content) = content else {
        let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return stream.write_all(head.as_bytes());
    };
    let altered = (fault == Fault::Altered && is_package)
        || (fault == Fault::AlteredIndex && path.ends_with("Packages"));
    if altered && let Some(byte) = content.last_mut() {
        *byte ^= 0x20;
    }
    let length = content.len();
    if fault == Fault::CutOff && is_package {
        content.truncate(length / 2);
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&content)
}
