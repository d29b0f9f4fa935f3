//! npm packages, by `npm pack`, which downloads and checks, and runs nothing of the package.

use std::io;
use std::path::Path;

use fs_err as fs;

use super::kind::Registry;
use super::registry::client::{ClientProgram, RegistryClient};
use super::registry::verify::{FetchedPackage, PublishedSum};
use crate::catalog::PackageVersion;
use crate::entry::{ArchiveEntry, ArchiveEntryKind};
use crate::error::{ProvisionError, Result};
use crate::unpack::{EntrySelection, UnpackTree};

const NPM: ClientProgram = ClientProgram { name: "npm", package: "npm" };

pub(super) struct Npm;

impl Registry for Npm {
    fn fetch(
        &self,
        packaged: PackageVersion<'_>,
        client: &mut RegistryClient<'_>,
    ) -> Result<FetchedPackage> {
        let wanted = format!("{}@{}", packaged.package.name, packaged.package_version());
        let cache = client.directories.state.join("cache").display().to_string();
        let into = client.directories.into.to_owned();
        let common = ["--cache", &cache, "--loglevel=error", "--no-update-notifier"];
        let integrity =
            client.run(&NPM, &[&["view", &wanted, "dist.integrity"], &common[..]].concat())?;
        let destination = into.display().to_string();
        let pack = ["pack", &wanted, "--ignore-scripts", "--pack-destination", &destination];
        let said = client.run(&NPM, &[&pack, &common[..]].concat())?;
        // npm prints the file name last.
        let file = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let path = into.join(file);
        if file.is_empty() || file.contains('/') || !path.is_file() {
            return Err(ProvisionError::malformed(
                format!("answer of npm for `{}`", client.name),
                said,
            ));
        }
        // It contains the package a second time.
        fs::remove_dir_all(&cache)?;
        Ok(FetchedPackage { path, published: sha512(&integrity, client.name)? })
    }

    fn complete(&self, name: &str, tree: &mut UnpackTree) -> Result<()> {
        link_libraries(name, Path::new("lib"), tree)
    }
}

/// The SHA-512 among the checksums of a package, which are `KIND-BASE64`, separated by blanks.
fn sha512(integrity: &str, name: &str) -> Result<PublishedSum> {
    let sum = integrity.split_whitespace().find_map(|sum| sum.strip_prefix("sha512-"));
    let sum = sum.map(|sum| sum.split('?').next().unwrap_or(sum).to_owned());
    let missing = || ProvisionError::malformed(format!("checksum of `{name}`"), "no SHA-512");
    sum.map(PublishedSum::Sha512).ok_or_else(missing)
}

/// npm packages hold no links: `libx.so.60.2` also gets the name `libx.so.60`, which programs look for.
fn link_libraries(archive: &str, directory: &Path, tree: &mut UnpackTree) -> Result<()> {
    let Ok(entries) = fs::read_dir(tree.root().join(directory)) else { return Ok(()) };
    let names: Vec<_> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    for name in &names {
        let Some((library, version)) = name.split_once(".so.") else { continue };
        let Some((major, _)) = version.split_once('.') else { continue };
        let link = format!("{library}.so.{major}");
        if !names.contains(&link) {
            let (path, kind) = (directory.join(link), ArchiveEntryKind::Symlink(name.into()));
            let entry = ArchiveEntry { path, kind, mode: 0o777 };
            tree.add(archive, &EntrySelection::default(), &entry, &mut io::empty())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::UnpackLimits;

    #[test]
    fn the_strongest_checksum_is_used() {
        let sum = sha512("sha1-abc sha512-xyz==?option\n", "n").unwrap();
        assert_eq!(sum, PublishedSum::Sha512("xyz==".to_owned()));
        assert!(sha512("sha1-abc\n", "n").is_err());
        assert!(sha512("", "n").is_err());
    }

    #[test]
    fn libraries_of_npm_get_the_names_they_are_asked_for_by() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("lib")).unwrap();
        for (file, content) in [("liba.so.60.2", "a"), ("libb.so.1", "b"), ("libc.so", "c")] {
            fs::write(root.path().join("lib").join(file), content).unwrap();
        }
        let mut tree = UnpackTree::new(root.path(), UnpackLimits::SERVER);
        link_libraries("a.tgz", Path::new("lib"), &mut tree).unwrap();
        assert_eq!(fs::read_to_string(root.path().join("lib/liba.so.60")).unwrap(), "a");
        assert_eq!(fs::read_dir(root.path().join("lib")).unwrap().count(), 4);
    }
}
