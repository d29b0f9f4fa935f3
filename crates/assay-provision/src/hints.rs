//! Remedies for errors.

use std::io;

use assay_model::{Hint, Product};

use crate::error::ProvisionError;
use crate::sources;

impl ProvisionError {
    fn hint_with_names(&self) -> Option<String> {
        match self {
            Self::OtherSystem { system, releases, absence } => {
                let (releases, product) =
                    (releases.join(", "), system.split('@').next().unwrap_or_default());
                let add = absence.add;
                Some(format!(
                    "`{system}` is in {releases}: {add}run assay there or in a container of it, or name the \
                     directory of a server that you have, `{product}@dir:PATH`"
                ))
            }
            Self::HostLibraries { missing, .. } => {
                let names = missing.iter().filter(|it| !it.contains(" with "));
                let capabilities: Vec<_> =
                    names.clone().map(|name| format!("'{name}()(64bit)'")).collect();
                if capabilities.is_empty() {
                    return Some(IN_A_CONTAINER.to_owned());
                }
                let files: Vec<&str> = names.map(String::as_str).collect();
                Some(format!(
                    "install the packages that have them: `dnf install {}` on Fedora and RHEL, `pacman -Fy {}` finds \
                     them on Arch; or {IN_A_CONTAINER}",
                    capabilities.join(" "),
                    files.join(" ")
                ))
            }
            Self::NoLoader(_) => {
                Some(format!("enable `programs.nix-ld` on NixOS; elsewhere, {IN_A_CONTAINER}"))
            }
            Self::NoSource { word, known } => sources::meant(word)
                .filter(|meant| known.iter().any(|it| it == meant))
                .map(|meant| format!("did you mean `{meant}`")),
            Self::ClientMissing { program, package } => {
                Some(format!("install the package `{package}`: `{program}` fetches this server"))
            }
            Self::PackageChecksum { pinned: Some(pins), .. } => Some(format!(
                "the file has changed since it was first downloaded, and is not used; if you trust the new one, \
                 remove the old checksum from `{}`, or all checksums with `assay cache clean --all`",
                pins.display()
            )),
            Self::Pins { path, .. } => Some(format!(
                "repair `{}`; if it is removed, the next download of each file is trusted as a first use",
                path.display()
            )),
            _ => None,
        }
    }
}

fn where_else(product: Product, unread: &[ProvisionError]) -> Vec<String> {
    let listed = vec![format!(
        "`assay server list --available {product}` lists all available versions and their sources"
    )];
    unread.iter().fold(listed, with_hints)
}

fn with_hints(mut hints: Vec<String>, error: &ProvisionError) -> Vec<String> {
    for hint in error.hints() {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

impl ProvisionError {
    fn hints_for_version(&self) -> Vec<String> {
        let Self::NoVersion { product, wanted, engine, available, unread, .. } = self else {
            return Vec::new();
        };
        // An unreachable source may have the version. An old index does not explain a typing error.
        let is_old = |it: &Self| matches!(it, Self::ExpiredIndex { .. });
        if let Some(meant) = meant_version(wanted, available).filter(|_| unread.iter().all(is_old))
        {
            let is_meant = format!("did you mean `{product}@{meant}`");
            return [vec![is_meant], where_else(*product, &[])].concat();
        }
        let elsewhere = product.facts().engine_elsewhere.filter(|_| engine.is_some());
        elsewhere.map(str::to_owned).into_iter().chain(where_else(*product, unread)).collect()
    }
}

const IN_A_CONTAINER: &str = "run assay in a container of Debian";

const NO_ROOM: &str = "free some disk space, or move the cache with `--cache-dir`";

impl Hint for ProvisionError {
    fn hints(&self) -> Vec<String> {
        if let Some(hint) = self.hint_with_names() {
            return vec![hint];
        }
        let hint = match self {
            Self::NotAServer { .. } => {
                "name the directory that contains the server's `bin` or `sbin` and `share`"
            }
            Self::PackageChecksum { .. } => {
                "a proxy, a mirror or the publisher changed the package, so assay does not use it"
            }
            Self::SubmoduleMissing { .. } => {
                "run `git submodule update --init --recursive` in the repository"
            }
            Self::ToolMissing(_) => {
                "install it, or name another compiler in a `[[build]]` row of your own catalog"
            }
            Self::Build { advice, .. } if !advice.is_empty() => return advice.clone(),
            Self::Build { .. } => {
                "a `[[build]]` row in your own catalog can add options and patches; \
                 the next attempt continues in the same build directory"
            }
            Self::Download { .. } => {
                "check the network and the proxy; an interrupted download continues where it stopped"
            }
            Self::NotPublished { .. } => {
                "`assay server list --available PRODUCT` lists the available versions; your own \
                 catalog can name another address"
            }
            Self::DistributionMissing { hint, .. }
            | Self::NoArchive { hint, .. }
            | Self::UnverifiedIndex { hint, .. } => hint,
            Self::NoVersion { .. } => return self.hints_for_version(),
            Self::NoValgrind { unread } => {
                let install = vec!["install the package `valgrind`".to_owned()];
                return unread.iter().fold(install, with_hints);
            }
            Self::NoSource { .. } => {
                "a package name works too; `assay server list --available PRODUCT` shows them"
            }
            Self::NotCached { .. } => "run once without `--offline` to fetch it",
            Self::ExpiredIndex { .. } => {
                "the mirror is out of date, or the clock is wrong; with \
                 `--accept-expired-index`, assay uses the index anyway, and the report says so"
            }
            Self::Network { .. } => {
                "check the network and the proxy; `--offline` uses only what is in the cache"
            }
            Self::Gone { .. } => {
                "the mirror is incomplete or being updated: try again later, or use another exact version"
            }
            Self::Client { .. } | Self::Malformed { .. } | Self::MissingPackage(..) => {
                "try again later, or use another version or source: `assay server list --available PRODUCT` shows them"
            }
            Self::DiskFull { .. } => NO_ROOM,
            Self::Io(error) if error.kind() == io::ErrorKind::StorageFull => NO_ROOM,
            Self::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                "choose a cache directory of your own with `--cache-dir` or `ASSAY_CACHE`"
            }
            Self::Plain { hint, .. } if !hint.is_empty() => hint,
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

/// The available version or series that is one typing error away from `wanted`; the newest of several.
fn meant_version(wanted: &str, available: &[String]) -> Option<String> {
    let parts = wanted.split('.').count();
    let cut = |version: &String| version.split('.').take(parts).collect::<Vec<_>>().join(".");
    let is_near = |it: &String| it != wanted && strsim::osa_distance(it, wanted) <= 1;
    // A single digit is one error away from any other one.
    let candidates = available.iter().map(cut).filter(|_| wanted.len() > 1).filter(is_near);
    candidates.max_by_key(|version| numbers(version))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_error_apart() {
        let known = ["10.11.5", "10.11.19", "11.4.5", "11.8.9", "16.15", "8.0.33"];
        let known = known.map(str::to_owned);
        let meant = |wanted| meant_version(wanted, &known);
        assert_eq!(meant("11.88").as_deref(), Some("11.8"));
        assert_eq!(meant("10.12").as_deref(), Some("10.11"));
        assert_eq!(meant("61").as_deref(), Some("16"));
        assert_eq!(meant("8.0.34").as_deref(), Some("8.0.33"));
        assert_eq!(meant("8.99"), None);
        assert_eq!(meant("9"), None);
    }
}
