//! npm packages, by `npm pack`, which downloads and checks and runs nothing of the package.

use fs_err as fs;

use super::client::{Client, Program};
use super::verify::{Fetched, Published};
use crate::catalog::Packaged;
use crate::error::Error;

const NPM: Program = Program { name: "npm", package: "npm" };

pub(super) fn fetch(packaged: Packaged<'_>, client: &mut Client<'_>) -> Result<Fetched, Error> {
    let wanted = format!("{}@{}", packaged.package.name, packaged.package_version());
    let cache = client.directories.state.join("cache").display().to_string();
    let into = client.directories.into.to_owned();
    let common = ["--cache", &cache, "--loglevel=error", "--no-update-notifier"];
    let integrity =
        client.run(&NPM, &[&["view", &wanted, "dist.integrity"], &common[..]].concat())?;
    let destination = into.display().to_string();
    let pack = ["pack", &wanted, "--ignore-scripts", "--pack-destination", &destination];
    let said = client.run(&NPM, &[&pack, &common[..]].concat())?;
    // The name of the file is the last thing npm says.
    let file = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let path = into.join(file);
    if file.is_empty() || file.contains('/') || !path.is_file() {
        return Err(Error::malformed(format!("answer of npm for `{}`", client.name), said));
    }
    // It contains the package a second time.
    fs::remove_dir_all(&cache)?;
    Ok(Fetched { path, published: sha512(&integrity, client.name)? })
}

/// The SHA-512 among the checksums of a package, which are `KIND-BASE64` with blanks between.
fn sha512(integrity: &str, name: &str) -> Result<Published, Error> {
    let sum = integrity.split_whitespace().find_map(|sum| sum.strip_prefix("sha512-"));
    let sum = sum.map(|sum| sum.split('?').next().unwrap_or(sum).to_owned());
    let missing = || Error::malformed(format!("checksum of `{name}`"), "no SHA-512");
    sum.map(Published::Sha512).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_checksum_is_used() {
        let sum = sha512("sha1-abc sha512-xyz==?option\n", "n").unwrap();
        assert_eq!(sum, Published::Sha512("xyz==".to_owned()));
        assert!(sha512("sha1-abc\n", "n").is_err());
        assert!(sha512("", "n").is_err());
    }
}
