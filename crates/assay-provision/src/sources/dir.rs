//! Servers already unpacked or built on this machine. They are inspected, never changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_model::{Build, Dialect, Layout, Origin, Prefix, Product, SystemSpec};
use fs_err as fs;

use super::kind::NamedSource;
use crate::catalog::Catalog;
use crate::error::{ProvisionError, Result};
use crate::layout::{self, Libraries};
use crate::programs;
use crate::provisioner::{OnProgress, Provisioner};
use crate::sources::registry::verify::sha256_of_file;

pub(super) struct DirectorySource;

impl NamedSource for DirectorySource {
    fn prefix(
        &self,
        provisioner: &Provisioner,
        spec: &SystemSpec,
        _progress: OnProgress<'_>,
    ) -> Option<Result<Prefix>> {
        let Origin::Dir(path) = &spec.origin else { return None };
        Some(prefix(&provisioner.catalog, spec.product, path))
    }
}

fn prefix(catalog: &Catalog, product: Product, path: &Path) -> Result<Prefix> {
    let wrong = |detail: String| ProvisionError::NotAServer { path: path.to_owned(), detail };
    let path = fs::canonicalize(path)?;
    let candidates = catalog.layout(product)?;
    let source = source_of(&path)?;
    let built = source.as_ref().map(|_| path.join(BUILT));
    let mut programs = candidates.server.iter().map(|server| path.join(server)).chain(built);
    let program = programs.find(|it| it.is_file());
    let program = program.ok_or_else(|| match source {
        Some(_) => wrong(NOT_INSTALLED.to_owned()),
        None => wrong(format!("has no server program of {product}")),
    })?;
    let said = said_version(&program)?;
    let (family, version) = parse(&said)
        .ok_or_else(|| wrong(format!("has a server with an unknown version: `{said}`")))?;
    if family != product {
        return Err(wrong(format!("has a server of {family}, not of {product}")));
    }
    let layout = match source {
        Some(source) => {
            build_tree(&path, &source).ok_or_else(|| wrong(NOT_INSTALLED.to_owned()))?
        }
        None => {
            let found = layout::find(&path, candidates, &version, Libraries::Installed);
            layout::under(&path, &found.map_err(|error| wrong(error.to_string()))?)
        }
    };
    let sha256 = sha256_of_file(&program)?;
    Ok(Prefix {
        sha256,
        product,
        build: Build {
            source: "dir".to_owned(),
            channel: path.display().to_string(),
            package_version: said,
            released: true,
            notes: vec!["uses the libraries of this machine".to_owned()],
        },
        version,
        packages: Vec::new(),
        layout,
        path,
    })
}

const BUILT: &str = "runtime_output_directory/mysqld";

const NOT_INSTALLED: &str = "is a build directory that lacks parts of a server: install it \
     (`cmake --install DIRECTORY --prefix PREFIX`) and name the prefix";

/// The source tree of a build directory; `None` for other directories.
fn source_of(path: &Path) -> Result<Option<PathBuf>> {
    let cache = path.join("CMakeCache.txt");
    if !cache.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(cache)?;
    let text = String::from_utf8_lossy(&bytes);
    let source = text.lines().find_map(|line| line.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL="));
    Ok(source.map(PathBuf::from))
}

/// Layout of a build directory of MySQL 8.0 and later, whose character sets are in the source tree.
fn build_tree(path: &Path, source: &Path) -> Option<Layout> {
    let layout = Layout {
        loader: None,
        library_path: Vec::new(),
        server: path.join(BUILT),
        basedir: path.to_owned(),
        share_dir: path.join("share"),
        charsets_dir: source.join("share/charsets"),
        plugin_dir: path.join("plugin_output_directory"),
    };
    let Layout { server, share_dir, charsets_dir, plugin_dir, .. } = &layout;
    let complete = [server, share_dir, charsets_dir, plugin_dir].into_iter().all(|it| it.exists());
    complete.then_some(layout)
}

fn said_version(program: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.arg("--version").env("LC_ALL", "C").stdin(Stdio::null());
    let output = programs::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let detail = format!("cannot report its version ({}): {complaint}", output.status);
        return Err(ProvisionError::NotAServer { path: program.to_owned(), detail });
    }
    // MySQL and MariaDB begin with the path of their program.
    Ok(match line.split_once("  Ver ") {
        Some((_, rest)) => format!("Ver {rest}"),
        None => line,
    })
}

/// Family and version from a server's version line: `postgres (PostgreSQL) 15.20 (Debian ...)`, `mysqld  Ver 8.0.33 for
/// Linux on x86_64 (...)`, `mariadbd  Ver 10.11.19-MariaDB-...`.
fn parse(said: &str) -> Option<(Product, String)> {
    let (dialect, (_, rest)) = match said.split_once("(PostgreSQL) ") {
        Some(parts) => (Dialect::Postgres, parts),
        None => (Dialect::MySql, said.split_once("Ver ")?),
    };
    let version = rest.split([' ', '-']).next()?;
    let numbered = version.starts_with(|c: char| c.is_ascii_digit());
    numbered.then(|| (Product::of_server(dialect, rest), version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_and_version_are_recognised() {
        let version = |said: &str| parse(said).unwrap();
        assert_eq!(
            version("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)"),
            (Product::Postgres, "15.20".into())
        );
        assert_eq!(version("postgres (PostgreSQL) 19rc1"), (Product::Postgres, "19rc1".into()));
        let mysql = "Ver 8.0.33 for Linux on x86_64 (MySQL Community Server - GPL)";
        assert_eq!(version(mysql), (Product::MySql, "8.0.33".into()));
        let mariadb = "Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(version(mariadb), (Product::MariaDb, "10.11.19".into()));
        assert_eq!(version("Ver 5.6.14-log for linux"), (Product::MySql, "5.6.14".into()));
        assert_eq!(parse("ls (GNU coreutils) 9.1"), None);
        assert_eq!(parse("Ver x"), None);
    }

    fn filled(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\necho \"$0  Ver 8.0.44 for Linux on x86_64\"\n").unwrap();
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, executable).unwrap();
        }
        root
    }

    #[test]
    fn a_build_directory_is_a_server_where_all_of_it_is_there() {
        let source = filled(&["share/charsets/Index.xml"]);
        let build = filled(&[BUILT, "share/english/errmsg.sys", "plugin_output_directory/x.so"]);
        let home = format!("//x\nCMAKE_HOME_DIRECTORY:INTERNAL={}\n", source.path().display());
        fs::write(build.path().join("CMakeCache.txt"), home).unwrap();
        let catalog = Catalog::built_in().unwrap();
        let found = prefix(&catalog, Product::MySql, build.path()).unwrap();
        assert!(found.layout.server.ends_with(BUILT));
        assert_eq!(found.layout.charsets_dir, source.path().join("share/charsets"));
        assert!(found.layout.share_dir.join("english").is_dir());
        fs::remove_dir_all(source.path().join("share")).unwrap();
        let error = prefix(&catalog, Product::MySql, build.path()).unwrap_err();
        assert!(error.to_string().contains("cmake --install"), "{error}");
        let error = prefix(&catalog, Product::Postgres, build.path()).unwrap_err();
        assert!(error.to_string().ends_with("has a server of mysql, not of postgres"), "{error}");
    }

    #[test]
    fn a_prefix_may_be_links_and_have_debians_layout() {
        let debian = tempfile::tempdir().unwrap();
        let root = debian.path().join("lib/postgresql/17");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::create_dir_all(root.join("lib")).unwrap();
        fs::create_dir_all(debian.path().join("share/postgresql/17")).unwrap();
        let script = "#!/bin/sh\necho 'postgres (PostgreSQL) 17.2'\n";
        fs::write(root.join("bin/postgres"), script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(root.join("bin/postgres"), executable).unwrap();
        let catalog = Catalog::built_in().unwrap();
        let found = prefix(&catalog, Product::Postgres, &root).unwrap();
        assert!(found.layout.share_dir.ends_with("share/postgresql/17"), "{found:?}");

        let server = filled(&["bin/mysqld", "share/charsets/Index.xml", "lib/plugin/x.so"]);
        let links = tempfile::tempdir().unwrap();
        for name in ["bin", "share", "lib"] {
            std::os::unix::fs::symlink(server.path().join(name), links.path().join(name)).unwrap();
        }
        let found = prefix(&catalog, Product::MySql, links.path()).unwrap();
        assert_eq!(found.layout.share_dir, fs::canonicalize(links.path()).unwrap().join("share"));
    }

    #[test]
    fn a_directory_is_inspected_but_not_changed() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("bin/mysqld");
        fs::create_dir_all(root.path().join("share/charsets")).unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        let script = "#!/bin/sh\necho \"$0  Ver 8.0.44-debug for Linux on x86_64 (Source)\"\n";
        fs::write(&program, script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, executable).unwrap();
        let catalog = Catalog::built_in().unwrap();
        let found = prefix(&catalog, Product::MySql, root.path()).unwrap();
        assert_eq!(found.version, "8.0.44");
        assert_eq!(found.build.package_version, "Ver 8.0.44-debug for Linux on x86_64 (Source)");
        assert_eq!(found.layout.server, fs::canonicalize(&program).unwrap());
        assert_eq!(found.layout.loader, None);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
        let error = prefix(&catalog, Product::MariaDb, root.path()).unwrap_err();
        assert!(error.to_string().ends_with("has a server of mysql, not of mariadb"), "{error}");
        fs::write(&program, "#!/bin/sh\necho broken >&2; exit 1\n").unwrap();
        let error = prefix(&catalog, Product::MySql, root.path()).unwrap_err();
        assert!(error.to_string().contains("cannot report its version"), "{error}");
        let error = prefix(&catalog, Product::Postgres, root.path()).unwrap_err();
        assert!(error.to_string().ends_with("has no server program of postgres"), "{error}");
    }
}
