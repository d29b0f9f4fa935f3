//! Maven artifacts, by `mvn` and its dependency plugin, with a private local repository.

use std::path::{Path, PathBuf};

use fs_err as fs;

use super::kind::Registry;
use super::registry::client::{ClientProgram, RegistryClient, read_some};
use super::registry::verify::{FetchedPackage, PublishedSum};
use crate::catalog::PackageVersion;
use crate::error::{ProvisionError, Result};

const MVN: ClientProgram = ClientProgram { name: "mvn", package: "maven" };

pub(super) struct Maven;

impl Registry for Maven {
    /// Fetches `GROUP:ARTIFACT` and moves it out of the local repository: it is not needed twice.
    fn fetch(
        &self,
        packaged: PackageVersion<'_>,
        client: &mut RegistryClient<'_>,
    ) -> Result<FetchedPackage> {
        let version = packaged.package_version();
        let file = packaged.package.file.as_deref().unwrap_or("jar");
        let state = client.directories.state.to_owned();
        let stored = stored(&state, &packaged.package.name, version, file).ok_or_else(|| {
            ProvisionError::Catalog(format!("`{}` is not an artifact", packaged.coordinate()))
        })?;
        let artifact = format!("-Dartifact={}:{version}:{file}", packaged.package.name);
        let repository = format!("-Dmaven.repo.local={}", state.display());
        // `-U` asks again for files that were missing before; `-C` makes a wrong checksum an error.
        let arguments =
            ["-B", "-U", "-C", &repository, "dependency:get", "-Dtransitive=false", &artifact];
        client.run(&MVN, &arguments)?;
        let sidecar = PathBuf::from(format!("{}.sha1", stored.display()));
        let text = read_some(&sidecar).map_err(|error| {
            ProvisionError::malformed(format!("checksum of `{}`", client.name), error)
        })?;
        let sum = String::from_utf8_lossy(&text);
        let sum = sum.split_whitespace().next().unwrap_or_default().to_owned();
        let path = client.directories.into.join(stored.file_name().unwrap_or_default());
        fs::rename(&stored, &path)?;
        if let Some(directory) = stored.parent() {
            fs::remove_dir_all(directory)?;
        }
        Ok(FetchedPackage { path, published: PublishedSum::Sha1(sum) })
    }
}

/// Path of the file `EXTENSION[:CLASSIFIER]` of an artifact in a local repository.
fn stored(repository: &Path, name: &str, version: &str, file: &str) -> Option<PathBuf> {
    let (group, artifact) = name.split_once(':')?;
    let (extension, classifier) = match file.split_once(':') {
        Some((extension, classifier)) => (extension, format!("-{classifier}")),
        None => (file, String::new()),
    };
    let directory = repository.join(group.replace('.', "/")).join(artifact).join(version);
    Some(directory.join(format!("{artifact}-{version}{classifier}.{extension}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_found_in_the_local_repository() {
        let found = |name, file| stored(Path::new("r"), name, "1.0", file);
        assert_eq!(found("org.x:a-b", "jar"), Some("r/org/x/a-b/1.0/a-b-1.0.jar".into()));
        let classified = "r/org/x/a-b/1.0/a-b-1.0-linux-amd64.zip";
        assert_eq!(found("org.x:a-b", "zip:linux-amd64"), Some(classified.into()));
        assert_eq!(found("a-b", "jar"), None);
    }
}
