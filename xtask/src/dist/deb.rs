//! The Debian package.

use anyhow::Result;

use super::{ABOUT, Contents, Item, tarball};

/// The name and the bytes of the package.
pub(super) fn write(contents: &Contents) -> Result<(String, Vec<u8>)> {
    let control =
        Item { path: "control".to_owned(), mode: 0o644, bytes: control(contents).into_bytes() };
    let mut items = contents.items.clone();
    let copyright = items.iter().find(|it| it.path.ends_with("/LICENSE-MIT")).cloned();
    items.extend(copyright.map(|it| Item { path: "share/doc/assay/copyright".to_owned(), ..it }));
    // The policy of Debian wants pages of the manual compressed.
    for page in items.iter_mut().filter(|it| it.path.starts_with("share/man/")) {
        page.path += ".gz";
        page.bytes = tarball::compressed(&page.bytes)?;
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tarball::packed(&[control], "./", contents.time)?),
        ("data.tar.gz", tarball::packed(&items, "./usr/", contents.time)?),
    ];
    let mut archive = ar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = ar::Header::new(name.as_bytes().to_vec(), bytes.len() as u64);
        header.set_mode(0o100_644);
        header.set_mtime(contents.time);
        archive.append(&header, bytes.as_slice())?;
    }
    let name = format!("assay_{}_{}.deb", contents.version, contents.arch.debian);
    Ok((name, archive.into_inner()?))
}

fn control(contents: &Contents) -> String {
    let Contents { version, arch, libc: (major, minor), items, .. } = contents;
    let kilobytes = items.iter().map(|it| it.bytes.len()).sum::<usize>().div_ceil(1024);
    format!(
        "Package: assay\nVersion: {version}\nArchitecture: {}\nMaintainer: The authors of assay <assay@localhost>\n\
         Installed-Size: {kilobytes}\nDepends: libc6 (>= {major}.{minor}), libgcc-s1\n\
         Recommends: apt, ca-certificates, debian-archive-keyring\nSuggests: maven, npm, python3-pip\n\
         Section: database\nPriority: optional\nDescription: {ABOUT}\n \
         assay gets several database servers, puts them on equal terms, sends the same\n \
         work to each of them in turn, and says which is slower, by how much, and why.\n",
        arch.debian
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::tests::contents;

    #[test]
    fn pages_of_the_manual_are_compressed_in_the_package() {
        let (_, bytes) = write(&contents()).unwrap();
        let mut archive = ar::Archive::new(bytes.as_slice());
        let mut names = Vec::new();
        while let Some(member) = archive.next_entry() {
            let member = member.unwrap();
            if member.header().identifier() == b"data.tar.gz" {
                let mut files = tar::Archive::new(flate2::read::GzDecoder::new(member));
                for file in files.entries().unwrap() {
                    names.push(file.unwrap().path().unwrap().display().to_string());
                }
            }
        }
        assert!(
            names.iter().any(|name| name.ends_with("usr/share/man/man1/assay.1.gz")),
            "{names:?}"
        );
        assert!(
            names.iter().any(|name| name.ends_with("usr/share/doc/assay/copyright")),
            "{names:?}"
        );
    }
}
