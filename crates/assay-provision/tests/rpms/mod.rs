//! A signed repository of rpm packages on loopback, with a real MariaDB in the layout of Fedora and Red Hat.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use assay_model::Layout;
use fs_err as fs;
use tempfile::TempDir;

use super::web::{Reply, Request, Web, reply};

/// A version that no other source has.
pub(crate) const VERSION: &str = "10.11.98";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signed {
    Packages,
    Index,
    Nothing,
}

/// A repository, and a machine that is configured for it.
pub(crate) struct Repository {
    home: TempDir,
    web: Web,
    /// The last byte of these paths is changed in transit.
    altered: Arc<Mutex<Option<&'static str>>>,
}

pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{:?}: {error}: these tests need rpm, createrepo-c and gpg", command.get_program())
    });
    assert!(
        output.status.success(),
        "{command:?}\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

impl Repository {
    /// Packages with the server of a prefix and its libraries.
    pub(crate) fn new(server: &Layout) -> Self {
        let home = TempDir::with_prefix("assay-rpms-").unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["repos", "vars", "root", "gpg", "gpg-other"] {
            fs::create_dir(at(name)).unwrap();
        }
        let packages = build(home.path(), server);
        for name in ["gpg", "gpg-other"] {
            make_key(&at(name), &at(&format!("{name}.asc")));
        }
        for (folder, is_signed) in [("signed", true), ("plain", false)] {
            let folder = at("root").join("9").join(folder);
            fs::create_dir_all(&folder).unwrap();
            for package in &packages {
                let to = folder.join(package.file_name().unwrap());
                fs::copy(package, &to).unwrap();
                if is_signed {
                    let define = ["--define", "_gpg_name tests", "--define", "__gpg /usr/bin/gpg"];
                    let mut command = Command::new("rpmsign");
                    let command = command.args(define).arg("--addsign");
                    run(command.arg(&to).env("GNUPGHOME", at("gpg")));
                }
            }
            run(Command::new("createrepo_c").arg("--quiet").arg(&folder));
            let index = folder.join("repodata/repomd.xml");
            run(gpg(&at("gpg")).args(["--armor", "--detach-sign"]).arg(&index));
        }
        fs::write(at("vars/stream"), "9\n").unwrap();
        let (root, altered) = (at("root"), Arc::new(Mutex::new(None)));
        let change: Arc<Mutex<Option<&'static str>>> = Arc::clone(&altered);
        let web = Web::new(move |request, _| answer(&root, *change.lock().unwrap(), request));
        let repository = Self { home, web, altered };
        repository.configure(Signed::Packages, "gpg.asc");
        repository
    }

    /// Writes the machine's files. `key` is the key that the machine trusts.
    pub(crate) fn configure(&self, signed: Signed, key: &str) {
        let (index, packages) = (signed == Signed::Index, signed == Signed::Packages);
        let folder = if packages { "signed" } else { "plain" };
        fs::write(self.home.path().join("root/list"), self.web.url(&format!("/9/{folder}/")))
            .unwrap();
        let text = format!(
            "[main]\ngpgcheck=1\n\n[loopback]\nname=Tests $stream\nmirrorlist={}\nenabled=1\n\
             gpgcheck={}\nrepo_gpgcheck={}\ngpgkey=file://{}\n\n\
             [gone]\nbaseurl=http://127.0.0.1:9/${{stream}}/$basearch\nskip_if_unavailable=1\ngpgcheck=1\n\n\
             [off]\nbaseurl=http://127.0.0.1:9/\nenabled=0\n",
            self.web.url("/list"),
            u8::from(packages),
            u8::from(index),
            self.home.path().join(key).display(),
        );
        fs::write(self.home.path().join("repos/tests.repo"), text).unwrap();
    }

    /// Changes the last byte of files whose path has this end.
    pub(crate) fn alter(&self, end: Option<&'static str>) {
        *self.altered.lock().unwrap() = end;
    }

    /// Removes the signatures of packages, in an otherwise unchanged index.
    pub(crate) fn strip(&self) {
        let root = self.home.path().join("root/9");
        fs::rename(root.join("signed"), root.join("was-signed")).unwrap();
        fs::rename(root.join("plain"), root.join("signed")).unwrap();
    }

    /// A catalog file with the machine's repositories.
    pub(crate) fn catalog(&self) -> PathBuf {
        let path = self.home.path().join("catalog.toml");
        let at = |name: &str| self.home.path().join(name).display().to_string();
        let text = format!(
            "[[release]]\nname = 'loopback'\nsource = 'dnf'\nreleased = true\nrepos = ['{}']\nvars = ['{}']\n\n\
             [[server]]\nproduct = 'mariadb'\nrelease = 'loopback'\nroots = ['mariadb-server']\n",
            at("repos"),
            at("vars")
        );
        fs::write(&path, text).unwrap();
        path
    }

    /// Number of packages requested.
    pub(crate) fn downloads(&self) -> usize {
        self.web.requests().iter().filter(|it| it.path.ends_with(".rpm")).count()
    }
}

fn answer(root: &Path, altered: Option<&str>, request: &Request) -> Reply {
    let path = request.path.trim_start_matches('/');
    let Ok(mut content) = fs::read(root.join(path)) else {
        return reply("404 Not Found", &[], b"");
    };
    if altered.is_some_and(|end| path.ends_with(end))
        && let Some(last) = content.last_mut()
    {
        *last ^= 0x20;
    }
    let length = format!("Content-Length: {}", content.len());
    reply("200 OK", &[&length], &content)
}

fn gpg(home: &Path) -> Command {
    let mut command = Command::new("gpg");
    command.arg("--homedir").arg(home).args(["--batch", "--quiet", "--yes"]);
    command
}

fn make_key(home: &Path, exported: &Path) {
    fs::set_permissions(home, Permissions::from_mode(0o700)).unwrap();
    let new = ["--passphrase", "", "--quick-gen-key", "tests", "rsa2048", "sign", "never"];
    run(gpg(home).args(new));
    run(gpg(home).args(["--armor", "--export", "--output"]).arg(exported));
}

impl Drop for Repository {
    fn drop(&mut self) {
        for name in ["gpg", "gpg-other"] {
            let home = self.home.path().join(name);
            let _ =
                Command::new("gpgconf").arg("--homedir").arg(home).args(["--kill", "all"]).output();
        }
    }
}

/// Builds the packages: a server, its messages, and the libraries of another source.
fn build(home: &Path, server: &Layout) -> Vec<PathBuf> {
    let stage = home.join("stage");
    let copy = |from: &Path, to: &str| {
        let to = stage.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        run(Command::new("cp").args(["-rL", "--no-preserve=mode"]).args([from, &to]));
    };
    copy(&server.server, "server/usr/libexec/mariadbd");
    copy(&server.share_dir, "server/usr/share/mariadb");
    copy(&server.plugin_dir, "server/usr/lib64/mariadb/plugin");
    fs::create_dir_all(stage.join("libs/usr/lib64")).unwrap();
    for directory in &server.library_path {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && name.contains(".so") {
                copy(&path, &format!("libs/usr/lib64/{name}"));
            }
        }
    }
    copy(server.loader.as_ref().unwrap(), "libs/lib64/ld-linux-x86-64.so.2");
    run(Command::new("chmod").args(["-R", "u=rwX,go=rX,a+x"]).arg(&stage));
    // A helper of a plugin, as in Fedora's package.
    let helper = stage.join("server/usr/lib64/mariadb/plugin/auth_pam_tool");
    fs::write(&helper, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&helper, Permissions::from_mode(0o4755)).unwrap();
    let of_server = "\
        Requires: mariadb-errmsg = 3:%{version}-%{release}\n\
        Requires: assay-tests-no-such-program\n\
        %description\nx\n\
        %package -n mariadb-errmsg\nSummary: messages\n%description -n mariadb-errmsg\nx\n";
    let files = "/usr/libexec/mariadbd\n/usr/lib64/mariadb\n/usr/share/mariadb\n\
        %exclude /usr/share/mariadb/charsets\n%exclude /usr/share/mariadb/english\n\
        %files -n mariadb-errmsg\n/usr/share/mariadb/charsets\n/usr/share/mariadb/english\n";
    let specs = [
        ("server", "mariadb-server", 3, VERSION, of_server, files, "w1.zstdio"),
        ("libs", "tests-libs", 0, "1", "%description\nx\n", "/usr/lib64/*\n/lib64/*\n", "w1.gzdio"),
    ];
    for (folder, name, epoch, version, more, files, payload) in specs {
        let spec = format!(
            "%global debug_package %{{nil}}\n%global __os_install_post %{{nil}}\n%global _build_id_links none\n\
             Name: {name}\nEpoch: {epoch}\nVersion: {version}\nRelease: 1.el9\nSummary: tests\nLicense: GPL\n\
             AutoReq: {}\n{more}\n%install\ncp -a {}/. %{{buildroot}}/\n%files\n{files}",
            if folder == "server" { "yes" } else { "no" },
            stage.join(folder).display()
        );
        let file = home.join(format!("{name}.spec"));
        fs::write(&file, spec).unwrap();
        let define = |text: String| ["--define".to_owned(), text];
        let mut command = Command::new("rpmbuild");
        command.arg("-bb").arg("--quiet").env("HOME", home);
        command.args(define(format!("_topdir {}", home.join("rpmbuild").display())));
        command.args(define(format!("_binary_payload {payload}")));
        command.args(define(format!("_tmppath {}", home.display())));
        run(command.arg(file));
    }
    let built = fs::read_dir(home.join("rpmbuild/RPMS/x86_64")).unwrap();
    built.map(|entry| entry.unwrap().path()).collect()
}
