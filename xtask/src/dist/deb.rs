//! The Debian package.

use anyhow::Result;
use md5::Digest as _;

use super::{ABOUT, Contents, DistFile, hex, tarball};

/// The licence whose text every Debian system has.
const APACHE: &str = "/usr/share/common-licenses/Apache-2.0";

pub(super) fn write(contents: &Contents) -> Result<(String, Vec<u8>)> {
    let items = items(contents)?;
    let control = [("control", control(contents, &items)), ("md5sums", sums(&items))];
    let control = control.map(|(path, text)| item(path, text.into_bytes()));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tarball::packed(&control, "./", contents.time)?),
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

fn item(path: &str, bytes: Vec<u8>) -> DistFile {
    DistFile { path: path.to_owned(), mode: 0o644, bytes }
}

/// The files according to Debian's policy: manual pages and changes compressed, one file of licences.
fn items(contents: &Contents) -> Result<Vec<DistFile>> {
    let documents = |name: &str| format!("share/doc/assay/{name}");
    let mut items = Vec::new();
    let mut mit = String::new();
    for it in contents.items.iter().cloned() {
        match it.path.rsplit('/').next() {
            Some("LICENSE-MIT") => mit = String::from_utf8(it.bytes)?,
            Some("LICENSE-APACHE") => {}
            Some("THIRD-PARTY-LICENSES.txt") => {
                items.push(item(&documents("third-party.txt.gz"), tarball::compressed(&it.bytes)?));
            }
            _ if it.path.starts_with("share/man/") => {
                items.push(item(&format!("{}.gz", it.path), tarball::compressed(&it.bytes)?));
            }
            _ => items.push(it),
        }
    }
    items.push(item(&documents("copyright"), copyright(&mit).into_bytes()));
    let changes = tarball::compressed(changes(contents)?.as_bytes())?;
    items.push(item(&documents("changelog.gz"), changes));
    items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(items)
}

/// In the format of `md5sum`.
fn sums(items: &[DistFile]) -> String {
    let line = |it: &DistFile| format!("{}  usr/{}\n", hex(&md5::Md5::digest(&it.bytes)), it.path);
    items.iter().map(line).collect()
}

/// The file `copyright`. assay may be used under either licence.
fn copyright(mit: &str) -> String {
    let holder = mit.lines().find_map(|line| line.strip_prefix("Copyright (c) "));
    let body: String = (mit.lines().skip_while(|line| !line.starts_with("Permission")))
        .map(|line| if line.is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: assay\nComment: The libraries that the program contains, and their licences, are in\n \
         third-party.txt.gz beside this file.\n\nFiles: *\nCopyright: {}\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{body}\nLicense: Apache-2.0\n The text of this licence is in {APACHE}.\n",
        holder.unwrap_or("the assay developers")
    )
}

fn changes(contents: &Contents) -> Result<String> {
    let day = jiff::Timestamp::from_second(i64::try_from(contents.time)?)?;
    let mut text = format!("assay ({}) unstable; urgency=medium\n\n", contents.version);
    for change in &contents.changes {
        let mut line = "  *".to_owned();
        for word in change.split_whitespace() {
            if line.len() + word.len() >= 80 {
                text += &format!("{line}\n");
                line = "   ".to_owned();
            }
            line += &format!(" {word}");
        }
        text += &format!("{line}\n");
    }
    let day = day.strftime("%a, %d %b %Y %H:%M:%S +0000");
    Ok(format!("{text}\n -- {MAINTAINER}  {day}\n"))
}

const MAINTAINER: &str = "The authors of assay <assay@localhost>";

fn control(contents: &Contents, items: &[DistFile]) -> String {
    let Contents { version, arch, libc: (major, minor), .. } = contents;
    let kilobytes = items.iter().map(|it| it.bytes.len()).sum::<usize>().div_ceil(1024);
    format!(
        "Package: assay\nVersion: {version}\nArchitecture: {}\nMaintainer: {MAINTAINER}\n\
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
    use std::collections::BTreeMap;
    use std::io::Read as _;

    use super::*;
    use crate::dist::tests::contents;

    fn files(bytes: &[u8], member: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = ar::Archive::new(bytes);
        let mut found = BTreeMap::new();
        while let Some(it) = archive.next_entry() {
            let it = it.unwrap();
            if it.header().identifier() == member {
                let mut files = tar::Archive::new(flate2::read::GzDecoder::new(it));
                for file in files.entries().unwrap() {
                    let mut file = file.unwrap();
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes).unwrap();
                    found.insert(file.path().unwrap().display().to_string(), bytes);
                }
            }
        }
        found
    }

    fn unpacked(bytes: &[u8]) -> String {
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn documents_are_where_debian_wants_them() {
        let (_, bytes) = write(&contents()).unwrap();
        let files = files(&bytes, b"data.tar.gz");
        let find = |end: &str| {
            let found = files.iter().find(|(name, _)| name.ends_with(end));
            found.unwrap_or_else(|| panic!("no {end}: {:?}", files.keys())).1
        };
        assert_eq!(unpacked(find("usr/share/man/man1/assay.1.gz")), ".TH assay 1");
        let copyright = String::from_utf8(find("usr/share/doc/assay/copyright").clone()).unwrap();
        assert!(
            copyright.contains("Copyright: 2026 us\nLicense: Expat or Apache-2.0"),
            "{copyright}"
        );
        assert!(copyright.contains("\n Permission is granted.\n .\n As is.\n"), "{copyright}");
        let changes = unpacked(find("usr/share/doc/assay/changelog.gz"));
        assert!(
            changes.starts_with("assay (1.2.3) unstable; urgency=medium\n\n  * A word"),
            "{changes}"
        );
        assert!(
            changes.contains("assay@localhost>  Tue, 14 Nov 2023 22:13:20 +0000\n"),
            "{changes}"
        );
        assert!(changes.lines().all(|line| line.len() <= 80), "{changes}");
    }

    #[test]
    fn every_file_has_its_checksum() {
        let (_, bytes) = write(&contents()).unwrap();
        let control = files(&bytes, b"control.tar.gz");
        let sums = control.iter().find(|(name, _)| name.ends_with("md5sums")).unwrap().1;
        let sums = String::from_utf8(sums.clone()).unwrap();
        // From `md5sum` on the program of the test.
        assert!(sums.contains("3b7b83bea16c5e94704c6ecf5f6a9bba  usr/bin/assay\n"), "{sums}");
        assert_eq!(sums.lines().count(), 4, "{sums}");
    }
}
