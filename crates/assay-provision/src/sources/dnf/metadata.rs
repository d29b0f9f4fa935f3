//! Metadata of a repository of rpm packages: the list of its mirrors; `repomd.xml`, with the other files and their
//! checksums; and `primary.xml`, with the packages.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Longest element or text, bytes. Descriptions of packages take some kilobytes.
const EVENT: usize = 1 << 20;

/// More packages than any repository has.
const PACKAGES: usize = 500_000;

/// More entries of lists than the packages of any repository have together: three times Fedora's.
const ENTRIES: usize = 12_000_000;

/// More mirrors than are tried.
const MIRRORS: usize = 20;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Primary {
    pub(super) href: String,
    pub(super) sha256: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mirrors {
    pub(super) places: Vec<String>,
    /// Acceptable SHA-256 of `repomd.xml`; empty if the list has none.
    pub(super) sha256: Vec<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) arch: String,
    /// `EPOCH:VERSION-RELEASE`, without an epoch of 0.
    pub(super) version: String,
    pub(super) sha256: String,
    pub(super) href: String,
    pub(super) size: u64,
    pub(super) installed: u64,
    pub(super) source: String,
    pub(super) provides: Vec<String>,
    pub(super) requires: Vec<String>,
}

/// Fails if one element is too long.
struct Bounded<R> {
    inner: R,
    left: Rc<Cell<usize>>,
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left.get() == 0 {
            return Err(io::Error::other("an element is too long"));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.left.set(self.left.get().saturating_sub(amount));
        self.inner.consume(amount);
    }
}

enum Element<'a> {
    Start(&'a BytesStart<'a>),
    End(&'a str, &'a str),
}

impl Element<'_> {
    fn attribute(&self, name: &str) -> io::Result<String> {
        let Self::Start(start) = self else { return Ok(String::new()) };
        let found = start.try_get_attribute(name).map_err(io::Error::other)?;
        let value = found
            .map(|it| it.normalized_value(XmlVersion::Implicit1_0))
            .transpose()
            .map_err(io::Error::other)?;
        Ok(value.unwrap_or_default().into_owned())
    }

    /// The name of a start element without its namespace.
    fn starts(&self) -> &str {
        match self {
            Self::Start(start) => local(start.name().into_inner()),
            Self::End(..) => "",
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn walk(
    stream: impl BufRead,
    each: &mut dyn FnMut(Element<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let left = Rc::new(Cell::new(EVENT));
    let mut reader = Reader::from_reader(Bounded { inner: stream, left: left.clone() });
    let (mut buffer, mut text) = (Vec::new(), String::new());
    let mut depth = 0_u64;
    loop {
        buffer.clear();
        left.set(EVENT);
        match reader.read_event_into(&mut buffer).map_err(io::Error::other)? {
            Event::Start(start) => {
                text.clear();
                depth += 1;
                each(Element::Start(&start))?;
            }
            Event::Empty(start) => {
                text.clear();
                each(Element::Start(&start))?;
                each(Element::End(local(start.name().into_inner()), ""))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                each(Element::End(local(end.name().into_inner()), text.trim()))?;
                text.clear();
            }
            Event::Text(piece) if text.len() < EVENT => text.push_str(&piece),
            Event::GeneralRef(name) if text.len() < EVENT => {
                let named = quick_xml::escape::resolve_predefined_entity(&name);
                text.push_str(named.unwrap_or_default());
            }
            Event::Eof if depth > 0 => return Err(io::Error::other("it ends within an element")),
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

pub(super) fn repomd(text: &[u8]) -> io::Result<Primary> {
    let (mut found, mut is_primary, mut is_sha256) = (Primary::default(), false, false);
    walk(text, &mut |element| {
        match element.starts() {
            "data" => is_primary = element.attribute("type")? == "primary",
            "checksum" => is_sha256 = element.attribute("type")? == "sha256",
            "location" if is_primary => found.href = element.attribute("href")?,
            _ => {}
        }
        match element {
            Element::End("checksum", text) if is_primary && is_sha256 => {
                found.sha256 = text.to_ascii_lowercase();
            }
            _ => {}
        }
        Ok(())
    })?;
    match is_below(&found.href) && is_sum(&found.sha256) {
        true => Ok(found),
        false => Err(io::Error::other("it names no list of packages with a SHA-256")),
    }
}

/// Parses a metalink, or a list with one address per line.
pub(super) fn mirrors(text: &[u8]) -> io::Result<Mirrors> {
    let mut found = Mirrors::default();
    let is_metalink = text.trim_ascii_start().starts_with(b"<");
    if is_metalink {
        let mut is_sha256 = false;
        walk(text, &mut |element| {
            if element.starts() == "hash" {
                is_sha256 = element.attribute("type")? == "sha256";
            }
            match element {
                Element::End("hash", text) if is_sha256 && found.sha256.len() < PACKAGES => {
                    found.sha256.push(text.to_ascii_lowercase());
                }
                Element::End("url", text) => {
                    found
                        .places
                        .extend(text.strip_suffix("repodata/repomd.xml").map(str::to_owned));
                }
                _ => {}
            }
            Ok(())
        })?;
    } else {
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii());
        let places = lines.filter_map(|line| std::str::from_utf8(line).ok());
        found.places.extend(places.filter(|it| !it.starts_with('#')).map(str::to_owned));
    }
    found.places.retain(|it| it.starts_with("https://") || it.starts_with("http://"));
    found.places.truncate(MIRRORS);
    match found.places.is_empty() {
        true => Err(io::Error::other("it names no mirror")),
        false => Ok(found),
    }
}

/// The packages of a `primary.xml` that run on an architecture.
pub(super) fn packages(stream: impl BufRead, architecture: &str) -> io::Result<Vec<Package>> {
    let mut all = Vec::new();
    let mut package = Package::default();
    let (mut of, mut is_sha256) = (Relation::None, false);
    let mut entries = 0;
    walk(stream, &mut |element| {
        match element.starts() {
            "package" => package = Package::default(),
            "version" => package.version = version(&element)?,
            "checksum" => is_sha256 = element.attribute("type")? == "sha256",
            "size" => {
                package.size = element.attribute("package")?.parse().unwrap_or(0);
                package.installed = element.attribute("installed")?.parse().unwrap_or(0);
            }
            "location" => package.href = element.attribute("href")?,
            "provides" => of = Relation::Provides,
            "requires" => of = Relation::Requires,
            "entry" => {
                let names = match of {
                    Relation::Provides => &mut package.provides,
                    Relation::Requires => &mut package.requires,
                    Relation::None => return Ok(()),
                };
                entries += 1;
                if entries > ENTRIES {
                    return Err(io::Error::other("its packages name too much"));
                }
                names.push(element.attribute("name")?);
            }
            _ => {}
        }
        let Element::End(name, text) = element else { return Ok(()) };
        match name {
            "provides" | "requires" => of = Relation::None,
            "name" => text.clone_into(&mut package.name),
            "arch" => text.clone_into(&mut package.arch),
            "sourcerpm" => text.clone_into(&mut package.source),
            "checksum" if is_sha256 => package.sha256 = text.to_ascii_lowercase(),
            "package" => {
                let package = std::mem::take(&mut package);
                if package.arch != architecture && package.arch != "noarch" {
                    return Ok(());
                }
                check(&package)?;
                if all.len() == PACKAGES {
                    return Err(io::Error::other("too many packages"));
                }
                all.push(package);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(all)
}

enum Relation {
    None,
    Provides,
    Requires,
}

fn version(element: &Element<'_>) -> io::Result<String> {
    let [epoch, version, release] = ["epoch", "ver", "rel"].map(|name| element.attribute(name));
    let (epoch, version, release) = (epoch?, version?, release?);
    Ok(match epoch.as_str() {
        "" | "0" => format!("{version}-{release}"),
        epoch => format!("{epoch}:{version}-{release}"),
    })
}

fn check(package: &Package) -> io::Result<()> {
    let is_whole = !package.name.is_empty()
        && is_sum(&package.sha256)
        && is_below(&package.href)
        && package.version.starts_with(|c: char| c.is_ascii_alphanumeric());
    match is_whole {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "package `{}` without version, SHA-256 or place",
            package.name
        ))),
    }
}

fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a location is relative to its repository, not a separate address.
fn is_below(href: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    !href.contains([':', '?', '#', '\\', '%']) && href.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SUM: &str = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

    #[test]
    fn a_list_of_packages_is_found_with_its_checksum() {
        let text = format!(
            "<?xml version=\"1.0\"?><repomd xmlns=\"u\" xmlns:rpm=\"v\"><data type=\"filelists\">\
             <checksum type=\"sha256\">1</checksum><location href=\"repodata/f.xml.gz\"/></data>\
             <data type=\"primary\"><checksum type=\"sha256\">{SUM}</checksum>\
             <open-checksum type=\"sha256\">2</open-checksum>\
             <location href=\"repodata/p.xml.zst\"/></data></repomd>"
        );
        let found = repomd(text.as_bytes()).unwrap();
        assert_eq!(found.href, "repodata/p.xml.zst");
        assert_eq!(found.sha256, SUM.to_ascii_lowercase());
        for wrong in [
            text.replace("primary", "other"),
            text.replace(SUM, "abc"),
            text.replace("repodata/p", "../p"),
            text.replace("repodata/p", "http://elsewhere/p"),
            text.replace("</data></repomd>", "</date>"),
        ] {
            assert!(repomd(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mirrors_are_read_from_both_kinds_of_lists() {
        let metalink = format!(
            "<metalink><files><file name=\"repomd.xml\"><verification><hash type=\"md5\">1</hash>\
             <hash type=\"sha256\">{SUM}</hash></verification><resources>\
             <url protocol=\"rsync\">rsync://a/repodata/repomd.xml</url>\
             <url protocol=\"https\">https://b/x?a=1&amp;b=/repodata/repomd.xml</url>\
             </resources></file></files></metalink>"
        );
        let found = mirrors(metalink.as_bytes()).unwrap();
        assert_eq!(found.places, ["https://b/x?a=1&b=/"]);
        assert_eq!(found.sha256, [SUM.to_ascii_lowercase()]);
        let list = "# one\nhttp://a/os/\n\nftp://b/os/\nhttps://c/os/\n";
        let found = mirrors(list.as_bytes()).unwrap();
        assert_eq!(found.places, ["http://a/os/", "https://c/os/"]);
        assert!(mirrors(b"no mirror").is_err());
    }

    fn package(more: &str) -> String {
        format!(
            "<metadata><package type=\"rpm\"><name>mariadb-server</name><arch>x86_64</arch>\
             <version epoch=\"3\" ver=\"10.11.6\" rel=\"1.el9\"/>\
             <checksum type=\"sha256\" pkgid=\"YES\">{SUM}</checksum>\
             <size package=\"10\" installed=\"2000\" archive=\"3\"/>\
             <location href=\"Packages/m/m.rpm\"/><format><rpm:sourcerpm>m.src.rpm</rpm:sourcerpm>\
             <rpm:provides><rpm:entry name=\"mariadb-server\" flags=\"EQ\"/></rpm:provides>\
             <rpm:requires><rpm:entry name=\"libaio.so.1()(64bit)\"/></rpm:requires>\
             <rpm:recommends><rpm:entry name=\"other\"/></rpm:recommends>{more}</format></package>\
             <package type=\"rpm\"><name>x</name><arch>i686</arch></package></metadata>"
        )
    }

    #[test]
    fn packages_of_the_architecture_are_read() {
        let found = packages(package("").as_bytes(), "x86_64").unwrap();
        let [it] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((it.name.as_str(), it.version.as_str()), ("mariadb-server", "3:10.11.6-1.el9"));
        assert_eq!((it.size, it.installed, it.source.as_str()), (10, 2000, "m.src.rpm"));
        assert_eq!(it.provides, ["mariadb-server"]);
        assert_eq!(it.requires, ["libaio.so.1()(64bit)"]);
        assert_eq!(packages(package("").as_bytes(), "aarch64").unwrap(), []);
        let wrong = package("").replace("Packages/m", "../m");
        assert!(packages(wrong.as_bytes(), "x86_64").is_err());
    }

    #[test]
    fn an_element_of_gigabytes_is_refused_before_it_is_read() {
        for start in ["<metadata><package name=\"", "<metadata>", "<!--", "<![CDATA["] {
            let endless = start.as_bytes().chain(io::repeat(b'a').take(1 << 32));
            let error = packages(io::BufReader::new(endless), "x86_64").unwrap_err();
            assert!(error.to_string().contains("too long"), "{start}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(<|>|/|\"|&|;|package|entry| name=|\\PC)*") {
            let _ = (repomd(text.as_bytes()), mirrors(text.as_bytes()));
            let _ = packages(package(&text).as_bytes(), "x86_64");
        }
    }
}
