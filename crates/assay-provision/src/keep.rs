//! Keeps an unpacked tree as a prefix, after a check of the host libraries that it needs.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use assay_model::{Prefix, SystemSpec};
use tempfile::TempDir;

use crate::error::{ProvisionError, Result};
use crate::layout::{self, Libraries};
use crate::programs;
use crate::provisioner::Provisioner;
use crate::unpack::{UnpackLimits, UnpackTree};

pub(crate) fn prefix_name(spec: &SystemSpec, version: &str, sha256: &str) -> String {
    format!("{}-{version}-{}", spec.product, &sha256[..16])
}

impl Provisioner {
    /// Completes `prefix`, whose path and layout are not known yet.
    pub(crate) fn keep(
        &self,
        tree: TempDir,
        name: &str,
        prefix: Prefix,
        libraries: Libraries,
    ) -> Result<Prefix> {
        let candidates = self.catalog.layout(prefix.product)?;
        let mut layout = layout::find(tree.path(), candidates, &prefix.version, libraries)?;
        layout::complete(tree.path(), &mut layout, &candidates.programs)?;
        if libraries == Libraries::Host {
            check_libraries(&tree.path().join(&layout.server))?;
        }
        UnpackTree::new(tree.path(), UnpackLimits::SERVER).seal()?;
        self.store.keep(tree, name, &Prefix { layout, ..prefix })
    }
}

/// Loader named in such servers.
const LOADER: &str = if cfg!(target_arch = "aarch64") {
    "/lib/ld-linux-aarch64.so.1"
} else {
    "/lib64/ld-linux-x86-64.so.2"
};

/// Asks the machine's loader for the libraries of a server, as `ldd` does. The server does not run.
pub(crate) fn check_libraries(server: &Path) -> Result<()> {
    check_with(LOADER, server)
}

fn check_with(loader: &'static str, server: &Path) -> Result<()> {
    if !Path::new(loader).exists() {
        return Err(ProvisionError::NoLoader(loader));
    }
    let mut command = Command::new(loader);
    command.arg(server).env("LD_TRACE_LOADED_OBJECTS", "1").env("LC_ALL", "C.UTF-8");
    let output = programs::output(&mut command)?;
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let missing = missing(&stdout, &stderr);
    if missing.is_empty() {
        // A loader that loads no programs, such as that of NixOS, only prints a message and fails.
        let loads = output.status.success() || !is_program(server)?;
        return if loads { Ok(()) } else { Err(ProvisionError::NoLoader(loader)) };
    }
    let server = server.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(ProvisionError::HostLibraries { server, missing })
}

/// Recognizes a program by its first bytes. Users also build scripts and other files that the loader does not load.
fn is_program(file: &Path) -> Result<bool> {
    let mut start = Vec::new();
    fs_err::File::open(file)?.take(4).read_to_end(&mut start)?;
    Ok(start == *b"\x7fELF")
}

fn missing(stdout: &str, stderr: &str) -> Vec<String> {
    let absent = |line: &str| Some(line.trim().strip_suffix(" => not found")?.to_owned());
    let mut missing: Vec<_> = stdout.lines().filter_map(absent).collect();
    // `mysqld: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by mysqld)`
    missing.extend(stderr.lines().chain(stdout.lines()).filter_map(|line| {
        let (before, rest) = line.split_once(": version `")?;
        let (version, _) = rest.split_once("' not found")?;
        Some(format!("{} with {version}", before.rsplit('/').next()?))
    }));
    missing.sort();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_the_machine_lacks_are_named() {
        let place = tempfile::tempdir().unwrap();
        let cc = |arguments: &[&str]| {
            let mut command = Command::new("cc");
            assert!(command.args(arguments).current_dir(place.path()).status().unwrap().success());
        };
        fs_err::write(place.path().join("a.c"), "int a(void) { return 1; }").unwrap();
        fs_err::write(place.path().join("b.c"), "int a(void); int main(void) { return a(); }")
            .unwrap();
        let library = place.path().join("libassay_gone.so.1");
        cc(&[
            "-shared",
            "-fPIC",
            "-Wl,-soname,libassay_gone.so.1",
            "-o",
            "libassay_gone.so.1",
            "a.c",
        ]);
        cc(&["-Wl,-rpath,$ORIGIN", "-o", "server", "b.c", "libassay_gone.so.1"]);
        check_libraries(&place.path().join("server")).unwrap();
        fs_err::remove_file(library).unwrap();
        let error = check_libraries(&place.path().join("server")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this machine lacks libraries that `server` needs: libassay_gone.so.1"
        );
        let hints = assay_model::Hint::hints(&error).concat();
        assert!(hints.contains("dnf install 'libassay_gone.so.1()(64bit)'"), "{hints}");
        assert!(hints.contains("pacman -Fy libassay_gone.so.1"), "{hints}");
    }

    #[test]
    fn a_library_that_is_too_old_is_named_with_its_version() {
        let said =
            "mysqld: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by mysqld)\n";
        assert_eq!(missing("", said), ["libc.so.6 with GLIBC_2.34"]);
        assert_eq!(
            missing("\tlibaio.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6\n", ""),
            ["libaio.so.1"]
        );
    }

    /// Like the file of that name on NixOS, which says that it starts no foreign programs.
    #[test]
    fn a_loader_that_loads_nothing_is_none() {
        let place = tempfile::tempdir().unwrap();
        let stub = place.path().join("ld.so");
        // Static, like that of NixOS: otherwise this machine's loader would load it and list its libraries.
        let source = place.path().join("stub.c");
        fs_err::write(&source, "int main(void) { return 127; }").unwrap();
        let mut cc = Command::new("cc");
        let compiled = cc.args(["-static", "-o"]).args([&stub, &source]).status().unwrap();
        assert!(compiled.success());
        let stub: &'static str = stub.display().to_string().leak();
        let program = std::env::current_exe().unwrap();
        let error = check_with(stub, &program).unwrap_err();
        assert!(matches!(error, ProvisionError::NoLoader(path) if path == stub), "{error}");
        assert!(assay_model::Hint::hints(&error).concat().contains("programs.nix-ld"));
        let script = place.path().join("script");
        fs_err::write(&script, "#!/bin/sh\n").unwrap();
        check_with(stub, &script).unwrap();
        check_libraries(&program).unwrap();
    }

    #[test]
    fn what_is_no_program_lacks_nothing() {
        let place = tempfile::NamedTempFile::new().unwrap();
        check_libraries(place.path()).unwrap();
    }
}
