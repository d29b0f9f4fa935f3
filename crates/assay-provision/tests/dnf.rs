//! Faults in a repository of rpm packages, or in the machine's keys, keep a server out of the cache.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![cfg(target_arch = "x86_64")]

mod rpms;
mod web;

use std::os::unix::fs::PermissionsExt as _;

use assay_model::{Hint as _, Origin, Prefix, Product, SystemSpec};
use assay_provision::{Error, Options, Provisioner};
use fs_err as fs;
use rpms::{Repository, Signed, VERSION};

fn get(repository: &Repository, cache: &std::path::Path) -> Result<Prefix, Error> {
    let catalog = repository.catalog();
    let provisioner = Provisioner::new(cache, Options::default())?.with_catalog(&catalog)?;
    let spec = SystemSpec::of(Product::MariaDb, Origin::Version(VERSION.to_owned()));
    provisioner.get_from(&spec, Some("dnf"), &mut |_| {})
}

/// The error of a fetch into an empty cache, which must stay empty.
#[track_caller]
fn refused(repository: &Repository) -> String {
    let cache = tempfile::tempdir().unwrap();
    let error = get(repository, cache.path()).unwrap_err();
    assert_eq!(fs::read_dir(cache.path().join("prefixes")).unwrap().count(), 0);
    assert!(!error.hints().is_empty() || matches!(error, Error::Malformed { .. }), "{error}");
    error.to_string()
}

#[test]
fn only_what_is_signed_with_a_trusted_key_becomes_a_server() {
    let mariadb = assay_testkit::prefix("10.11");
    let repository = Repository::new(&mariadb.layout);
    let cache = tempfile::tempdir().unwrap();
    let prefix = get(&repository, cache.path()).unwrap();
    assert_eq!((prefix.version.as_str(), prefix.build.channel.as_str()), (VERSION, "loopback"));
    let names: Vec<_> = prefix.packages.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["mariadb-errmsg", "mariadb-server", "tests-libs"]);
    let gone = prefix.build.notes.iter().find(|it| it.starts_with("without repository `gone`"));
    assert!(gone.is_some(), "{:?}", prefix.build.notes);
    assert!(prefix.layout.server.ends_with("usr/libexec/mariadbd"));
    let helper = prefix.path.join("usr/lib64/mariadb/plugin/auth_pam_tool");
    assert_eq!(fs::metadata(helper).unwrap().permissions().mode() & 0o7777, 0o555);
    // The second time, nothing is fetched.
    let before = repository.downloads();
    assert_eq!(get(&repository, cache.path()).unwrap(), prefix);
    assert_eq!(repository.downloads(), before);

    repository.alter(Some("libs-1-1.el9.x86_64.rpm"));
    let error = refused(&repository);
    assert!(error.starts_with("checksum of `tests-libs 1-1.el9` does not match"), "{error}");
    repository.alter(Some("primary.xml.gz"));
    let error = refused(&repository);
    assert!(error.contains("does not match its signed index: the list of packages"), "{error}");
    repository.alter(None);

    // Packages by another key, an index by another key, an index changed after signing.
    repository.configure(Signed::Packages, "gpg-other.asc");
    let error = refused(&repository);
    assert!(error.contains("has no valid signature"), "{error}");
    repository.configure(Signed::Index, "gpg.asc");
    let other = tempfile::tempdir().unwrap();
    assert_eq!(get(&repository, other.path()).unwrap().version, VERSION);
    repository.alter(Some("repomd.xml"));
    let unsigned =
        "package index of `loopback` cannot be verified: the index of repository `loopback`";
    assert!(refused(&repository).starts_with(unsigned));
    repository.alter(None);
    repository.configure(Signed::Index, "gpg-other.asc");
    assert!(refused(&repository).starts_with(unsigned));

    // Packages without a signature where the machine demands one; a machine that demands none.
    repository.configure(Signed::Packages, "gpg.asc");
    repository.strip();
    let error = refused(&repository);
    assert!(error.contains("has no valid signature"), "{error}");
    repository.configure(Signed::Nothing, "gpg.asc");
    let error = refused(&repository);
    assert!(error.contains("`loopback`: neither its index nor its packages"), "{error}");
}
