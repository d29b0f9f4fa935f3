//! Search for the parts of a server in an unpacked tree.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use assay_model::Layout;
use fs_err as fs;

use crate::catalog::Candidates;
use crate::error::{ProvisionError, Result};

/// The loader, never by way of `lib64`: there it may be a link that means the host's loader.
const LOADERS: [&str; 2] = if cfg!(target_arch = "aarch64") {
    [
        "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
        "lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
    ]
} else {
    ["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"]
};

/// Library directories of Debian and Ubuntu. The last one is that of an allocator that some servers are linked with.
const LIBRARIES: [&str; 3] = if cfg!(target_arch = "aarch64") {
    ["usr/lib/aarch64-linux-gnu", "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu/gperftools"]
} else {
    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/gperftools"]
};

const OWN_LIBRARIES: [&str; 3] = ["lib/private", "lib", "libs"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Libraries {
    /// Libraries in the same tree, from the same packages.
    Own,
    /// Libraries in a directory of the tree, after the server's own.
    Beside(&'static str),
    Host,
    /// The host's, for an installation of the user: links and `..` may lead out of its directory, as the share
    /// directory of Debian's Postgres does.
    Installed,
}

/// All paths are relative to the root of the tree.
pub(crate) fn find(
    root: &Path,
    candidates: &Candidates,
    version: &str,
    libraries: Libraries,
) -> Result<Layout> {
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    let named = |paths: &[String]| -> Vec<String> {
        paths.iter().map(|path| path.replace("{major}", &major)).collect()
    };
    let found = |paths: &[String], what: &str, is_right: fn(&Path) -> bool| {
        let is_allowed = |full: &Path| libraries == Libraries::Installed || is_inside(root, full);
        first(root, &named(paths), what, |full| is_right(full) && is_allowed(full))
    };
    let share_dir = found(&candidates.share, "share directory", Path::is_dir)?;
    let charsets_dir = share_dir.join(candidates.charsets.as_deref().unwrap_or(Path::new("")));
    if !root.join(&charsets_dir).is_dir() {
        return Err(ProvisionError::Incomplete(format!("directory `{}`", charsets_dir.display())));
    }
    // A server without plugins names the place where they would be.
    let plugin_dir = found(&candidates.plugins, "plugin directory", Path::is_dir)
        .or_else(|missing| named(&candidates.plugins).first().map(PathBuf::from).ok_or(missing))?;
    let (loader, library_path) = loading(root, libraries)?;
    Ok(Layout {
        loader,
        library_path,
        server: found(&candidates.server, "server program", Path::is_file)?,
        basedir: found(&candidates.base, "base directory", Path::is_dir)?,
        share_dir,
        charsets_dir,
        plugin_dir,
    })
}

fn loading(root: &Path, libraries: Libraries) -> Result<(Option<PathBuf>, Vec<PathBuf>)> {
    let (own, below): (&[&str], _) = match libraries {
        Libraries::Own => (&[], ""),
        Libraries::Beside(below) => (&OWN_LIBRARIES, below),
        Libraries::Host | Libraries::Installed => return Ok((None, Vec::new())),
    };
    let under = |path: &str| Path::new(below).join(path);
    let loaders = LOADERS.map(|path| under(path).display().to_string());
    let loader =
        first(root, &loaders, "dynamic loader", |full| full.is_file() && is_inside(root, full))?;
    let paths = own.iter().map(PathBuf::from).chain(LIBRARIES.iter().map(|path| under(path)));
    Ok((Some(loader), paths.filter(|directory| root.join(directory).is_dir()).collect()))
}

/// Creates the plugin directory, which the server insists on, and for each of `programs` a script that starts it by the
/// tree's loader, since these programs run each other. The program itself gets the suffix `.real`.
pub(crate) fn complete(root: &Path, layout: &mut Layout, programs: &[String]) -> Result<()> {
    fs::create_dir_all(root.join(&layout.plugin_dir))?;
    let Some(loader) = &layout.loader else { return Ok(()) };
    for name in programs {
        let program = layout.server.with_file_name(name);
        if !root.join(&program).is_file() {
            return Err(ProvisionError::Incomplete(format!("program `{}`", program.display())));
        }
        let mut real = name.clone();
        real.push_str(".real");
        let up = program.components().skip(1).map(|_| Component::ParentDir).collect::<PathBuf>();
        let up = up.display();
        let libraries: Vec<_> = (layout.library_path.iter())
            .map(|path| format!("$here/{up}/{}", path.display()))
            .collect();
        let script = format!(
            "#!/bin/sh\n# Starts the program beside this on the libraries that came with it.\n\
             here=${{0%/*}}\n\
             exec \"$here/{up}/{}\" --library-path \"{}\" \"$here/{real}\" \"$@\"\n",
            loader.display(),
            libraries.join(":")
        );
        fs::rename(root.join(&program), root.join(program.with_file_name(&real)))?;
        fs::write(root.join(&program), script)?;
        fs::set_permissions(root.join(&program), Permissions::from_mode(0o555))?;
        if program == layout.server {
            layout.server.set_file_name(real);
        }
    }
    Ok(())
}

/// Whether a path without links lies inside the tree.
fn is_inside(root: &Path, full: &Path) -> bool {
    root.canonicalize().is_ok_and(|root| full.starts_with(root))
}

/// The first candidate that, with links resolved, is right.
fn first(
    root: &Path,
    candidates: &[impl AsRef<str>],
    what: &str,
    is_right: impl Fn(&Path) -> bool,
) -> Result<PathBuf> {
    let mut candidates = candidates.iter().map(|candidate| Path::new(candidate.as_ref()));
    let found = candidates
        .find(|candidate| root.join(candidate).canonicalize().is_ok_and(|full| is_right(&full)));
    found.map(Path::to_owned).ok_or_else(|| ProvisionError::Incomplete(what.to_owned()))
}

pub(crate) fn under(root: &Path, layout: &Layout) -> Layout {
    // By components: drops `.` and trailing separators.
    let put = |path: &PathBuf| root.join(path).components().collect::<PathBuf>();
    Layout {
        loader: layout.loader.as_ref().map(put),
        library_path: layout.library_path.iter().map(put).collect(),
        server: put(&layout.server),
        basedir: put(&layout.basedir),
        share_dir: put(&layout.share_dir),
        charsets_dir: put(&layout.charsets_dir),
        plugin_dir: put(&layout.plugin_dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Candidates {
        let strings = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Candidates {
            base: strings(&["usr"]),
            server: strings(&["usr/sbin/mariadbd", "usr/sbin/mysqld"]),
            share: strings(&["usr/share/mysql", "usr/share/mariadb"]),
            charsets: Some("charsets".into()),
            plugins: strings(&["usr/lib/mysql/plugin"]),
            programs: Vec::new(),
        }
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        root
    }

    #[test]
    fn parts_are_found_where_a_release_has_them() {
        let loader = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
        let root = tree(&[loader, "usr/sbin/mysqld", "usr/share/mariadb/charsets/Index.xml"]);
        let mut layout = find(root.path(), &candidates(), "11.8.9", Libraries::Own).unwrap();
        assert_eq!(layout.loader, Some(PathBuf::from(loader)));
        assert_eq!(layout.library_path, [Path::new("lib/x86_64-linux-gnu")]);
        assert_eq!(layout.server, Path::new("usr/sbin/mysqld"));
        assert_eq!(layout.charsets_dir, Path::new("usr/share/mariadb/charsets"));
        complete(root.path(), &mut layout, &[]).unwrap();
        assert!(root.path().join(&layout.plugin_dir).is_dir());
        assert_eq!(under(Path::new("/p"), &layout).server, Path::new("/p/usr/sbin/mysqld"));
    }

    #[test]
    fn the_hosts_loader_is_never_used() {
        let root = tree(&["usr/sbin/mysqld", "usr/share/mysql/charsets/Index.xml"]);
        for directory in ["lib64", "lib/x86_64-linux-gnu"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
            let link = root.path().join(directory).join("ld-linux-x86-64.so.2");
            std::os::unix::fs::symlink("/bin/true", link).unwrap();
        }
        let error = find(root.path(), &candidates(), "11.8.9", Libraries::Own).unwrap_err();
        assert_eq!(error.to_string(), "the unpacked tree has no dynamic loader");
    }

    #[test]
    fn programs_that_run_each_other_start_on_the_libraries_beside_them() {
        let loader = "run/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
        let root =
            tree(&[loader, "opt/17/bin/postgres", "opt/17/bin/initdb", "share/17/x", "lib/x"]);
        let candidates: Candidates = toml::from_str(
            "base = ['opt/{major}']\nserver = ['opt/{major}/bin/postgres']\n\
             share = ['share/{major}']\nplugins = ['lib']\nprograms = ['initdb', 'postgres']",
        )
        .unwrap();
        // A loader that prints its arguments.
        fs::write(root.path().join(loader), "#!/bin/sh\necho \"$@\"\n").unwrap();
        let executable = Permissions::from_mode(0o755);
        fs::set_permissions(root.path().join(loader), executable).unwrap();
        let beside = Libraries::Beside("run");
        let mut layout = find(root.path(), &candidates, "17.12", beside).unwrap();
        complete(root.path(), &mut layout, &candidates.programs).unwrap();
        assert_eq!(layout.server, Path::new("opt/17/bin/postgres.real"));
        assert_eq!(layout.charsets_dir, Path::new("share/17"));
        let initdb = root.path().join("opt/17/bin/initdb");
        let output = std::process::Command::new(&initdb).args(["-D", "a b"]).output().unwrap();
        let here = format!("{}/opt/17/bin", root.path().display());
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            format!(
                "--library-path {here}/../../../lib:{here}/../../../run/lib/x86_64-linux-gnu \
                 {here}/initdb.real -D a b\n"
            )
        );
    }
}
