//! The C library that programs are linked with: that of Debian 11, unpacked from packages of the machine's configured
//! archive, verified by apt. Nothing is installed, and nothing needs root.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;

use super::{Arch, output};

/// The release of Debian with the oldest supported C library.
const RELEASE: &str = "bullseye";

const PACKAGES: [&str; 6] =
    ["libc6", "libc6-dev", "linux-libc-dev", "libcrypt1", "libcrypt-dev", "libgcc-s1"];

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The directory with the library, created if missing.
pub(super) fn ready(root: &Path, arch: Arch) -> Result<PathBuf> {
    let place = root.join("target/sysroot").join(arch.target());
    if place.exists() {
        return Ok(place);
    }
    let mirror = mirror()?;
    let parent = root.join("target/sysroot");
    fs::create_dir_all(&parent)?;
    let work = tempfile::tempdir_in(&parent)?;
    let apt = private_apt(work.path(), arch, &mirror)?;
    output(Command::new("apt-get").args(&apt).arg("update"))?;
    let downloads = work.path().join("downloads");
    fs::create_dir_all(&downloads)?;
    let mut download = Command::new("apt-get");
    output(download.args(&apt).arg("download").args(PACKAGES).current_dir(&downloads))?;
    let unpacked = work.path().join("root");
    for package in fs::read_dir(&downloads)? {
        output(Command::new("dpkg-deb").arg("-x").arg(package?.path()).arg(&unpacked))?;
    }
    relate_links(&unpacked, &unpacked)?;
    fs::rename(&unpacked, &place)?;
    Ok(place)
}

pub(super) fn mirror() -> Result<String> {
    let format = "$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)";
    let said = output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
    ]))?;
    let mut archives = said.lines().filter_map(|line| line.strip_prefix("Debian Debian main "));
    let missing = "apt has no archive of Debian; use Debian, or a container with it, and run \
                   `apt-get update` first";
    archives.next().map(str::to_owned).context(missing)
}

/// Options that give apt a private state and one archive.
fn private_apt(place: &Path, arch: Arch, mirror: &str) -> Result<Vec<String>> {
    for directory in ["state/lists/partial", "cache/archives/partial", "parts"] {
        fs::create_dir_all(place.join(directory))?;
    }
    fs::write(place.join("status"), "")?;
    let source = format!("deb [signed-by={KEYRING}] {mirror} {RELEASE} main\n");
    fs::write(place.join("sources.list"), source)?;
    let at = |name: &str, path: &str| format!("{name}={}", place.join(path).display());
    let options = [
        at("Dir::Etc::sourcelist", "sources.list"),
        at("Dir::Etc::sourceparts", "parts"),
        at("Dir::State", "state"),
        at("Dir::State::status", "status"),
        at("Dir::Cache", "cache"),
        format!("APT::Architecture={}", arch.debian),
        format!("APT::Architectures={}", arch.debian),
        "APT::Sandbox::User=root".to_owned(),
    ];
    Ok(options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect())
}

/// Makes absolute links relative, so that they stay in the directory.
fn relate_links(top: &Path, directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            relate_links(top, &path)?;
        } else if kind.is_symlink()
            && let Ok(target) = fs::read_link(&path)?.strip_prefix("/")
        {
            let below = directory.strip_prefix(top)?.components().count();
            let up: PathBuf = std::iter::repeat_n("..", below).collect();
            fs::remove_file(&path)?;
            symlink(up.join(target), &path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_link_stays_in_the_directory() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("usr/lib")).unwrap();
        fs::write(top.path().join("usr/lib/libm.so.6"), "x").unwrap();
        symlink("/usr/lib/libm.so.6", top.path().join("usr/lib/libm.so")).unwrap();
        symlink("libm.so.6", top.path().join("usr/lib/libm.so.5")).unwrap();
        relate_links(top.path(), top.path()).unwrap();
        for link in ["usr/lib/libm.so", "usr/lib/libm.so.5"] {
            assert_eq!(fs::read_to_string(top.path().join(link)).unwrap(), "x");
        }
    }
}
