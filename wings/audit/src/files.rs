//! Files that take part in an audit as systems.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Result, bail};
use assay_model::{Artifact, Origin, Product, ReportedServer, System, SystemSpec};
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_servers::audit::{AuditFacts, FactsExtent};
use assay_setting_files::{NamedServer, SettingsFile, read_settings};
use fs_err as fs;

use crate::page::FileSummary;

/// Bytes of a file. A dump of variables has some 30 KB, `pg_settings` with its descriptions 100 KB.
const SIZE_MAX: u64 = 4 << 20;

const HINT: &str = "name a system, such as `mariadb@11.8`, or a file with the settings of a server, such as the output \
                    of `SHOW GLOBAL VARIABLES`";

/// A file as a system.
pub(crate) struct AuditedFile {
    pub(crate) system: System,
    pub(crate) facts: AuditFacts,
    pub(crate) summary: FileSummary,
}

/// The file that a word names, by `FILE` or `NAME=FILE`. `None` if the word is a system.
pub(crate) fn audited_file(word: &str) -> Result<Option<AuditedFile>> {
    if is_file(word) {
        return read(word.to_owned(), None, Path::new(word)).map(Some);
    }
    let named = word.split_once('=').filter(|(name, _)| is_name(name));
    let named = named.map(|(name, path)| (name, named_server(name), path));
    match named {
        Some((name, server, path)) if is_file(path) => {
            // Several files may be of one product.
            let name = if server.is_some() { word } else { name };
            return read(name.to_owned(), server, Path::new(path)).map(Some);
        }
        // Only a file may follow `PRODUCT@VERSION=`.
        Some((_, Some(NamedServer { version: Some(_), .. }), path)) => {
            paths::check_file(Path::new(path), HINT)?;
        }
        // A mistyped URL, which has a `:` or `@`, may hold a password.
        _ if is_path(word) && !word.contains(['@', ':']) => {
            paths::check_file(Path::new(word), HINT)?;
        }
        _ => {}
    }
    Ok(None)
}

fn is_file(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_dir())
}

/// Whether a text has a directory or the extension of a file. Versions have dots too.
fn is_path(text: &str) -> bool {
    let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
    text.contains('/') || extension.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Whether a text may be the name of a file. An option of a system has a `=` too, but follows a `+`.
fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    !text.is_empty() && text.chars().all(is_part)
}

/// The server of `PRODUCT` or `PRODUCT@VERSION`; `None` for any other name.
fn named_server(name: &str) -> Option<NamedServer> {
    let (word, version) = name.split_once('@').map_or((name, None), |(a, b)| (a, Some(b)));
    let mut products = Product::ALL.into_iter();
    let product = products.find(|it| it.word() == word || it.facts().aliases.contains(&word))?;
    Some(NamedServer { product, version: version.map(str::to_owned) })
}

fn read(name: String, server: Option<NamedServer>, path: &Path) -> Result<AuditedFile> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        bail!(HintedError::new(
            format!("`{}` has more than {} MiB", path.display(), SIZE_MAX >> 20),
            HINT
        ));
    }
    from_text(name, server.as_ref(), path, &String::from_utf8_lossy(&bytes))
}

pub(crate) fn from_text(
    name: String,
    server: Option<&NamedServer>,
    path: &Path,
    text: &str,
) -> Result<AuditedFile> {
    let file = read_settings(text, server).map_err(|fault| {
        let what = format!("cannot read `{}`: {fault}", path.display());
        HintedError::new(what, fault.hints().join("; "))
    })?;
    let SettingsFile { product, version, form, settings, is_whole, notes } = file;
    let count = settings.len();
    let summary = FileSummary { form, version: version.clone(), settings: count, is_whole, notes };
    let version = version.unwrap_or_else(|| "unknown".to_owned());
    let reported = ReportedServer {
        reported_in: path.display().to_string(),
        product: Some(product),
        version: version.clone(),
        notes: Vec::new(),
    };
    let system = System {
        name,
        spec: SystemSpec::new(product, Origin::Version(version)),
        artifact: Artifact::Reported(reported),
        is_base: false,
        is_twin: false,
        options: Vec::new(),
    };
    let extent = if is_whole { FactsExtent::Variables } else { FactsExtent::Part };
    let facts = AuditFacts { settings, extent, ..AuditFacts::default() };
    Ok(AuditedFile { system, facts, summary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_files_and_servers() {
        assert!(audited_file("mariadb@10.11").unwrap().is_none());
        assert!(audited_file("mysql@8.0+sync_binlog=1").unwrap().is_none());
        assert!(audited_file("mysql://user@host/db").unwrap().is_none());
        let missing = audited_file("no-such/file.txt").err().unwrap();
        assert!(missing.to_string().contains("does not exist"), "{missing}");
        let missing = audited_file("mysql@8.4=no-such.cnf").err().unwrap();
        assert_eq!(missing.to_string(), "`no-such.cnf` does not exist");
        // The parser of systems has better hints, and shows no password.
        for word in ["mysql:8.0", "mysql 8.0", "mysql:/host/db?password=x", "new=mysql@8.0"] {
            assert!(audited_file(word).unwrap().is_none(), "{word}");
        }
        let directory = audited_file("/proc").err().unwrap();
        assert!(directory.to_string().contains("is a directory"), "{directory}");
        let mysql = named_server("mysql@8.4").unwrap();
        assert_eq!((mysql.product, mysql.version.as_deref()), (Product::MySql, Some("8.4")));
        assert_eq!(named_server("postgresql").unwrap().product, Product::Postgres);
        assert_eq!(named_server("old"), None);
        assert!(is_name("mysql@8.4") && !is_name("mysql@8.0+x") && !is_name(""));
    }
}
