//! Python wheels, by pip: only downloaded, never installed; none of their code runs.

use std::path::PathBuf;

use fs_err as fs;
use serde_json::Value;

use super::kind::Registry;
use super::registry::client::{ClientProgram, RegistryClient, read_some};
use super::registry::verify::{FetchedPackage, PublishedSum};
use crate::catalog::PackageVersion;
use crate::error::{ProvisionError, Result};

const PIP: ClientProgram = ClientProgram { name: "pip3", package: "python3-pip" };

/// Wheels for these run on the C library that comes with the server, whatever the machine's is.
const PLATFORM: [&str; 8] = [
    "--no-deps",
    "--only-binary=:all:",
    "--no-cache-dir",
    "--platform=manylinux_2_34_x86_64",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--disable-pip-version-check",
    "--quiet",
];

pub(super) struct Pip;

impl Registry for Pip {
    fn fetch(
        &self,
        packaged: PackageVersion<'_>,
        client: &mut RegistryClient<'_>,
    ) -> Result<FetchedPackage> {
        let wanted = format!("{}=={}", packaged.package.name, packaged.package_version());
        let report = client.directories.state.join("report.json");
        let (report_text, target) = (
            report.display().to_string(),
            client.directories.state.join("nowhere").display().to_string(),
        );
        // Reports what would be installed, with checksums, and installs nothing.
        let plan = ["install", "--dry-run", "--ignore-installed", "--target", &target, "--report"];
        let planned =
            client.run(&PIP, &[&plan[..], &[&report_text, &wanted], &PLATFORM[..]].concat());
        let sum = match planned {
            Ok(_) => sha256(&read_some(&report)?, client.name)?,
            // Wrappers take this for an installation: pyenv's updates its directory after pip, and fails if another
            // user owns it. If there is a report, pip itself succeeded.
            Err(error @ ProvisionError::Client { .. }) => {
                let report = read_some(&report).map_err(ProvisionError::from);
                report.and_then(|report| sha256(&report, client.name)).or(Err(error))?
            }
            Err(error) => return Err(error),
        };
        let into = client.directories.into.to_owned();
        let destination = into.display().to_string();
        let download = ["download", "--dest", &destination, &wanted];
        client.run(&PIP, &[&download[..], &PLATFORM[..]].concat())?;
        let files = fs::read_dir(&into)?.map(|entry| Ok(entry?.path()));
        let files = files.collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
        let is_wheel = |path: &PathBuf| path.extension().is_some_and(|end| end == "whl");
        let wheel = files.into_iter().find(is_wheel);
        let missing =
            || ProvisionError::malformed(format!("package `{}`", client.name), "no wheel");
        Ok(FetchedPackage {
            path: wheel.ok_or_else(missing)?,
            published: PublishedSum::Sha256(sum),
        })
    }
}

/// The checksum in the index, from pip's report on the one package.
fn sha256(report: &[u8], name: &str) -> Result<String> {
    let broken =
        |detail: String| ProvisionError::malformed(format!("pip's report on `{name}`"), detail);
    let report: Value =
        serde_json::from_slice(report).map_err(|error| broken(error.to_string()))?;
    match report["install"].as_array().map_or(&[][..], Vec::as_slice) {
        [only] => only["download_info"]["archive_info"]["hashes"]["sha256"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| broken("no SHA-256".to_owned())),
        other => Err(broken(format!("{} packages", other.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_read_from_the_report() {
        let report = br#"{"version": "1", "install": [{"download_info": {"url": "u",
            "archive_info": {"hash": "sha256=ab", "hashes": {"sha256": "ab"}}}}]}"#;
        assert_eq!(sha256(report, "n").unwrap(), "ab");
        let error = sha256(br#"{"install": []}"#, "n").unwrap_err();
        assert_eq!(error.to_string(), "malformed pip's report on `n`: 0 packages");
        assert!(sha256(b"{", "n").is_err());
    }
}
