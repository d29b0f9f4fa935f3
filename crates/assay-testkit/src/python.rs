//! Python with packages from PyPI, for tests that read results back with other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that has these packages, each with a version, such as `pandas==2.3.3`. pip installs them once, into the
/// tests' directory of the user's cache. Panics if that fails.
pub fn python(packages: &[&str]) -> Command {
    let parent = tests_cache();
    let directory = parent.join(packages.join("+"));
    if !directory.exists() {
        // Another test may install the same packages. Each fills a separate directory, and the first one to finish
        // renames it.
        let part = parent.join(format!("part-{}-{}", std::process::id(), packages.join("+")));
        // Only what a test imports is compiled, when it is imported.
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let pip = [&pip[..], &["--no-compile", "--target"]].concat();
        let output = Command::new("python3").args(pip).arg(&part).args(packages).output();
        // The installed packages decide: a wrapper of pip may fail afterwards, such as pyenv's for a plain user.
        let is_installed = has(&part, packages);
        let said = match &output {
            Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
            Err(error) => error.to_string(),
        };
        assert!(
            is_installed,
            "this test needs {} from PyPI, and pip could not install them into `{}`: is there a network, and are \
             python3 and python3-pip installed?\n{said}",
            packages.join(", "),
            part.display()
        );
        let renamed = fs_err::rename(&part, &directory);
        assert!(renamed.is_ok() || directory.exists(), "{renamed:?}");
    }
    let mut python = Command::new("python3");
    python.env("PYTHONPYCACHEPREFIX", directory.join("compiled")).env("PYTHONPATH", directory);
    python
}

fn has(directory: &Path, packages: &[&str]) -> bool {
    let names = packages.iter().map(|package| package.split('=').next().unwrap_or(package));
    let script =
        "import importlib.metadata, sys\nfor it in sys.argv[1:]: importlib.metadata.version(it)";
    let mut python = Command::new("python3");
    let found = python.env("PYTHONPATH", directory).args(["-c", script]).args(names).output();
    directory.exists() && found.is_ok_and(|it| it.status.success())
}

fn tests_cache() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("assay-tests/python")
}
