//! Finding the parts of a server in an unpacked tree.

use std::path::{Path, PathBuf};

use assay_model::Layout;

use crate::catalog::Candidates;
use crate::error::Error;

/// The loader, never by way of `lib64`: there it may be a link that means the host's loader.
const LOADERS: [&str; 2] =
    ["usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"];

/// Where Debian has libraries; the last is that of an allocator some servers are linked with.
const LIBRARIES: [&str; 3] =
    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/gperftools"];

/// The layout of a tree made of packages with their own C library, all paths relative to its root.
///
/// A server without plugins of its own gets an empty directory for them: it insists on one.
pub(crate) fn find(root: &Path, candidates: &Candidates) -> Result<Layout, Error> {
    let share_dir = first(root, &candidates.share, "share directory", Path::is_dir)?;
    let charsets_dir = share_dir.join("charsets");
    if !root.join(&charsets_dir).is_dir() {
        return Err(Error::Incomplete(format!("directory `{}`", charsets_dir.display())));
    }
    let plugin_dir =
        first(root, &candidates.plugins, "plugin directory", Path::is_dir).or_else(|missing| {
            let candidate = candidates.plugins.first().ok_or(missing)?;
            fs_err::create_dir_all(root.join(candidate))?;
            Ok::<_, Error>(PathBuf::from(candidate))
        })?;
    Ok(Layout {
        loader: Some(first(root, &LOADERS, "dynamic loader", Path::is_file)?),
        library_path: (LIBRARIES.iter().map(PathBuf::from))
            .filter(|directory| root.join(directory).is_dir())
            .collect(),
        server: first(root, &candidates.server, "server program", Path::is_file)?,
        basedir: first(root, &candidates.base, "base directory", Path::is_dir)?,
        share_dir,
        charsets_dir,
        plugin_dir,
    })
}

/// The first candidate that exists and, links followed, lies inside the tree.
fn first(
    root: &Path,
    candidates: &[impl AsRef<str>],
    what: &str,
    is_right: fn(&Path) -> bool,
) -> Result<PathBuf, Error> {
    let candidates = candidates.iter().map(|candidate| Path::new(candidate.as_ref()));
    let root = fs_err::canonicalize(root)?;
    let mut existing = candidates.filter(|candidate| {
        root.join(candidate)
            .canonicalize()
            .is_ok_and(|full| full.starts_with(&root) && is_right(&full))
    });
    existing.next().map(Path::to_owned).ok_or_else(|| Error::Incomplete(what.to_owned()))
}

/// The layout with every path put under `root`.
pub(crate) fn under(root: &Path, layout: &Layout) -> Layout {
    Layout {
        loader: layout.loader.as_ref().map(|path| root.join(path)),
        library_path: layout.library_path.iter().map(|path| root.join(path)).collect(),
        server: root.join(&layout.server),
        basedir: root.join(&layout.basedir),
        share_dir: root.join(&layout.share_dir),
        charsets_dir: root.join(&layout.charsets_dir),
        plugin_dir: root.join(&layout.plugin_dir),
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    fn candidates() -> Candidates {
        let strings = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Candidates {
            base: strings(&["usr"]),
            server: strings(&["usr/sbin/mariadbd", "usr/sbin/mysqld"]),
            share: strings(&["usr/share/mysql", "usr/share/mariadb"]),
            plugins: strings(&["usr/lib/mysql/plugin"]),
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
        let layout = find(root.path(), &candidates()).unwrap();
        assert_eq!(layout.loader, Some(PathBuf::from(loader)));
        assert_eq!(layout.library_path, [Path::new("lib/x86_64-linux-gnu")]);
        assert_eq!(layout.server, Path::new("usr/sbin/mysqld"));
        assert_eq!(layout.charsets_dir, Path::new("usr/share/mariadb/charsets"));
        assert!(root.path().join(&layout.plugin_dir).is_dir());
        assert_eq!(under(Path::new("/p"), &layout).server, Path::new("/p/usr/sbin/mysqld"));
    }

    #[test]
    fn the_hosts_loader_is_never_taken() {
        let root = tree(&["usr/sbin/mysqld", "usr/share/mysql/charsets/Index.xml"]);
        for directory in ["lib64", "lib/x86_64-linux-gnu"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
            let link = root.path().join(directory).join("ld-linux-x86-64.so.2");
            std::os::unix::fs::symlink("/bin/true", link).unwrap();
        }
        let error = find(root.path(), &candidates()).unwrap_err();
        assert_eq!(error.to_string(), "unpacked tree has no dynamic loader");
    }
}
