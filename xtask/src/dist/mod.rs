//! Release files: a tarball, a Debian package and a wheel for each architecture, with checksums. Builds are
//! reproducible: times are those of the commit, or `SOURCE_DATE_EPOCH`.

mod build;
mod deb;
mod licences;
mod sysroot;
mod tarball;
pub mod userland;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::command::root;

/// The newest C library that a binary may need: that of Debian 11.
const LIBC_MAX: (u32, u32) = (2, 31);

/// The largest file, bytes.
const SIZE_MAX: usize = 25_000_000;

const ABOUT: &str = "Find where a database got slower, and why";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arch {
    /// As Rust and Python name it.
    name: &'static str,
    /// As Debian names it.
    debian: &'static str,
    /// Prefix of the C compiler's name.
    gcc: &'static str,
}

const ARCHES: [Arch; 2] = [
    Arch { name: "x86_64", debian: "amd64", gcc: "x86_64-linux-gnu" },
    Arch { name: "aarch64", debian: "arm64", gcc: "aarch64-linux-gnu" },
];

impl Arch {
    fn target(self) -> String {
        format!("{}-unknown-linux-gnu", self.name)
    }
}

/// A file to install, with its path below a prefix such as `/usr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DistFile {
    path: String,
    mode: u32,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Contents {
    version: String,
    arch: Arch,
    /// Version of the C library that the program needs.
    libc: (u32, u32),
    /// Seconds since the Unix epoch.
    time: u64,
    items: Vec<DistFile>,
    changes: Vec<String>,
}

/// Builds the files for the given architectures: `x86_64` (the default), `aarch64`.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(words: &[String]) -> Result<()> {
    let root = fs::canonicalize(root())?;
    let mut arches = Vec::new();
    for word in words {
        match ARCHES.into_iter().find(|arch| arch.name == word) {
            Some(arch) => arches.push(arch),
            None => bail!("`{word}` is no architecture: `x86_64` or `aarch64`"),
        }
    }
    if arches.is_empty() {
        arches.extend(ARCHES.into_iter().take(1));
    }
    let to = root.join("target/dist");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    let time = time(&root)?;
    // The program itself prints the documents, so they come from one that runs here.
    let mut documents: Option<Vec<DistFile>> = None;
    for arch in arches {
        let (version, licences) = licences::collect(&root, arch)?;
        let program = build::program(&root, arch)?;
        let bytes = fs::read(&program)?;
        let libc = build::needed_libc(&bytes)?;
        ensure!(libc <= LIBC_MAX, "the program needs the C library {}.{}", libc.0, libc.1);
        ensure!(!build::has_symbols(&bytes)?, "the program is not stripped");
        let runs_here = arch.name == std::env::consts::ARCH;
        let documents = match &mut documents {
            Some(documents) => documents,
            None if runs_here => documents.insert(self::documents(&program)?),
            None => documents.insert(self::documents(&build::host_program(&root)?)?),
        };
        let mut items = vec![DistFile { path: "bin/assay".to_owned(), mode: 0o755, bytes }];
        items.extend(documents.iter().cloned());
        items.push(licences);
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let bytes = fs::read(root.join(name))?;
            items.push(DistFile { path: format!("share/doc/assay/{name}"), mode: 0o644, bytes });
        }
        items.sort_by(|a, b| a.path.cmp(&b.path));
        let changes = changes(&fs::read_to_string(root.join("CHANGELOG.md"))?, &version)?;
        let contents = Contents { version, arch, libc, time, items, changes };
        for (name, bytes) in
            [tarball::write(&contents)?, deb::write(&contents)?, wheel::write(&contents)?]
        {
            ensure!(bytes.len() <= SIZE_MAX, "`{name}` has {} bytes", bytes.len());
            println!("target/dist/{name}  {:.1} MB", bytes.len() as f64 / 1e6);
            fs::write(to.join(name), bytes)?;
        }
    }
    sums(&to)
}

fn changes(list: &str, version: &str) -> Result<Vec<String>> {
    let own = list.lines().skip_while(|line| !line.starts_with(&format!("## {version}"))).skip(1);
    let own = own.take_while(|line| !line.starts_with("## "));
    let changes = own.filter_map(|line| line.strip_prefix("- "));
    let changes: Vec<_> = changes.map(|it| it.replace(['`', '*'], "")).collect();
    ensure!(!changes.is_empty(), "`CHANGELOG.md` has no changes of {version}");
    Ok(changes)
}

/// In the format of `sha256sum -c`.
fn sums(directory: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory)?.map(|it| it.map(|it| it.path())).collect::<Result<_, _>>()?;
    files.sort();
    let mut text = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text += &format!("{}  {name}\n", hex(&Sha256::digest(fs::read(&file)?)));
    }
    Ok(fs::write(directory.join("SHA256SUMS"), text)?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn time(root: &Path) -> Result<u64> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return given.parse().context("`SOURCE_DATE_EPOCH` is no number of seconds");
    }
    let said = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    said.trim().parse().context("git does not say when the commit was made")
}

fn documents(program: &Path) -> Result<Vec<DistFile>> {
    let mut items = Vec::new();
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/assay"),
        ("zsh", "share/zsh/vendor-completions/_assay"),
        ("fish", "share/fish/vendor_completions.d/assay.fish"),
    ] {
        let script = output(Command::new(program).args(["completions", shell]))?;
        items.push(DistFile { path: path.to_owned(), mode: 0o644, bytes: script.into_bytes() });
    }
    let pages = tempfile::tempdir()?;
    output(Command::new(program).arg("man").arg(pages.path()))?;
    for page in fs::read_dir(pages.path())? {
        let page = page?.path();
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = format!("share/man/man1/{name}");
        items.push(DistFile { path, mode: 0o644, bytes: fs::read(&page)? });
    }
    Ok(items)
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let said = command.output().with_context(|| format!("cannot start `{program}`"))?;
    ensure!(said.status.success(), "`{program}`: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).with_context(|| format!("`{program}` says what is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn contents() -> Contents {
        let item = |path: &str, mode, text: &str| DistFile {
            path: path.to_owned(),
            mode,
            bytes: text.as_bytes().to_vec(),
        };
        Contents {
            version: "1.2.3".to_owned(),
            arch: ARCHES[0],
            libc: (2, 30),
            time: 1_700_000_000,
            items: vec![
                item("bin/assay", 0o755, "#!/bin/sh\necho here\n"),
                item(
                    "share/doc/assay/LICENSE-MIT",
                    0o644,
                    "MIT License\n\nCopyright (c) 2026 us\n\nPermission is granted.\n\nAs is.\n",
                ),
                item("share/man/man1/assay.1", 0o644, ".TH assay 1"),
            ],
            changes: vec!["A word ".repeat(40)],
        }
    }

    #[test]
    fn changes_are_those_of_the_version() {
        let list = "# Changes\n\n## 2.0.0\n\n- `a` *b*\n- c\n\n## 1.0.0\n\n- d\n";
        assert_eq!(changes(list, "2.0.0").unwrap(), ["a b", "c"]);
        assert!(changes(list, "3.0.0").is_err());
    }

    #[test]
    fn the_same_contents_give_the_same_bytes() {
        for write in [tarball::write, deb::write, wheel::write] {
            let (name, bytes) = write(&contents()).unwrap();
            let (again, same) = write(&contents()).unwrap();
            assert!(name == again && bytes == same, "{name}");
        }
    }

    #[test]
    fn files_have_the_names_that_others_expect() {
        let named = |written: Result<(String, Vec<u8>)>| written.unwrap().0;
        assert_eq!(named(tarball::write(&contents())), "assay-1.2.3-x86_64-linux.tar.gz");
        assert_eq!(named(deb::write(&contents())), "assay_1.2.3_amd64.deb");
        assert_eq!(
            named(wheel::write(&contents())),
            "assay-1.2.3-py3-none-manylinux_2_30_x86_64.whl"
        );
    }
}
