//! Which file belongs to which system: by the user's words, by folders, or by the names of files. Pure.

use std::collections::BTreeSet;
use std::path::Path;

use assay_model::{Origin, Product};
use assay_plan::parse_system;

/// Words of file names that say what a file has, not whose it is.
const CONTENT_WORDS: &str = "cnf conf config csv delete err gz hammerdb hdb index ini insert like log my mycnf mytools \
    non nonindex o oltp only out output pgbench point qps read res result results ro rw sb select settings show \
    sysbench tpcb tpcc tproc tsv txt update variables vars vm vmstat wo write";

/// Words beside a number of clients, or of a repeat.
const NUMBERED_WORDS: &str = "t th thr thds thread threads c cl client clients dop conn u vu users r run rep repeat \
    iter try pass round sample";

/// A release of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedRelease {
    pub(crate) product: Product,
    pub(crate) version: String,
}

impl NamedRelease {
    pub(crate) fn words(&self) -> String {
        format!("{}@{}", self.product, self.version)
    }
}

/// The system of each file without a name from the user.
pub(crate) fn systems_of(paths: &[&Path]) -> Vec<String> {
    let folders: Vec<Option<&Path>> = paths.iter().map(|path| path.parent()).collect();
    let different: BTreeSet<&Option<&Path>> = folders.iter().collect();
    let names: Vec<String> =
        folders.iter().map(|folder| folder.map_or_else(String::new, name)).collect();
    let are_named = names.iter().collect::<BTreeSet<_>>().len() == different.len();
    if different.len() > 1 && are_named {
        return names;
    }
    let own: Vec<String> = paths.iter().map(|path| name(path)).collect();
    let without = |is_dropped: fn(&str) -> bool| -> Vec<String> {
        own.iter().map(|name| stem(name, is_dropped)).collect()
    };
    // A bare number may be that of a repeat or that of a system.
    let mut choices = [without(is_number), without(|_| false)].into_iter();
    let tells_apart = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() > 1;
    choices.find(tells_apart).unwrap_or(own)
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// The parts of a name that say whose file it is; the whole name if none does.
fn stem(name: &str, is_dropped: fn(&str) -> bool) -> String {
    let is_in = |words: &str, part: &str| words.split(' ').any(|word| word == part);
    let all = parts(name);
    let mut kept: Vec<&str> = Vec::new();
    for (at, part) in all.iter().enumerate() {
        let lower = part.to_ascii_lowercase();
        let previous = at.checked_sub(1).map(|earlier| all[earlier].to_ascii_lowercase());
        let follows = |is: &dyn Fn(&str) -> bool| previous.as_deref().is_some_and(is);
        let is_counted = is_number(part) && follows(&|word| is_in(NUMBERED_WORDS, word));
        // `pg-17` is a release.
        let is_release = follows(&|word| product_of(word).is_some());
        let is_content = is_in(CONTENT_WORDS, &lower)
            || is_in(NUMBERED_WORDS, &lower)
            || is_numbered(&lower)
            || is_counted;
        if !is_content && (is_release || !is_dropped(part)) {
            kept.push(part);
        }
    }
    if kept.is_empty() { name.to_owned() } else { kept.join("-") }
}

/// `t8`, `8threads`, `run1`.
fn is_numbered(part: &str) -> bool {
    NUMBERED_WORDS.split(' ').any(|word| {
        let rest = part.strip_prefix(word).or_else(|| part.strip_suffix(word));
        rest.is_some_and(is_number)
    })
}

/// Splits a name at punctuation, but not the numbers of a version.
fn parts(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_end = |at: usize, c: char| match c {
        '.' => !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))),
        c => matches!(c, '-' | '_' | ' '),
    };
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in name.char_indices().filter(|(at, c)| is_end(*at, *c)) {
        parts.push(&name[start..at]);
        start = at + 1;
    }
    parts.push(&name[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The product that a word of a file name means: its name, or that of published results.
fn product_of(word: &str) -> Option<Product> {
    Product::ALL.into_iter().find(|product| {
        let facts = product.facts();
        let mut published = facts.published_as.iter().map(|(word, _)| *word);
        // `my` alone is the name of a config file.
        facts.word == word
            || facts.aliases.contains(&word)
            || published.any(|known| known == word && word != "my")
    })
}

/// The release in the name of a system: `mysql@8.0.36`, `mysql-8.0.36`, `pg17.2`, `my8036_rel`.
pub(crate) fn release_in(name: &str) -> Option<NamedRelease> {
    if let Ok(spec) = parse_system(name)
        && spec.engine == spec.product.default_engine()
        && spec.overrides.is_empty()
        && let Origin::Version(version) = spec.origin
    {
        return Some(NamedRelease { product: spec.product, version });
    }
    if let Some(found) = assay_import::dbms(name) {
        let is_usual = found.engine == found.product.default_engine();
        let release = NamedRelease { product: found.product, version: found.version };
        return is_usual.then_some(release);
    }
    let lower = name.to_ascii_lowercase();
    let parts = parts(&lower);
    parts.iter().enumerate().find_map(|(at, part)| {
        let end = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let (word, digits) = part.split_at(end);
        let product = product_of(word)?;
        let version = if digits.is_empty() { parts.get(at + 1).copied()? } else { digits };
        is_version(product, version).then(|| NamedRelease { product, version: version.to_owned() })
    })
}

/// A number without a dot is a version only where series have one number: `17`, not `80`.
fn is_version(product: Product, text: &str) -> bool {
    let numbers: Option<Vec<u32>> = text.split('.').map(|number| number.parse().ok()).collect();
    let since = product.facts().one_number_since;
    numbers.is_some_and(|numbers| match numbers.as_slice() {
        [only] => since.is_some_and(|since| (since..100).contains(only)),
        numbers => numbers.len() <= 3,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str]) -> Vec<String> {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        systems_of(&paths)
    }

    #[test]
    fn folders_and_names_tell_systems_apart() {
        assert_eq!(found(&["a/run.txt", "a/my.cnf", "b/run.txt"]), ["a", "a", "b"]);
        assert_eq!(
            found(&["old-run1.txt", "old-run2.txt", "old.cnf", "new.vmstat", "new-run1.txt"]),
            ["old", "old", "old", "new", "new"]
        );
        assert_eq!(
            found(&[
                "mysql-8.0.36_oltp_read_only_t8.txt",
                "mysql-8.0.36-vars.txt",
                "mysql-9.1.0.txt"
            ]),
            ["mysql-8.0.36", "mysql-8.0.36", "mysql-9.1.0"]
        );
        assert_eq!(
            found(&["pg-15-1.txt", "pg-15-2.txt", "pg-16-1.txt"]),
            ["pg-15", "pg-15", "pg-16"]
        );
        assert_eq!(found(&["postgresql-17.txt", "old.txt"]), ["postgresql-17", "old"]);
        assert_eq!(found(&["server-1.txt", "server-2.txt"]), ["server-1", "server-2"]);
        assert_eq!(found(&["sysbench.txt"]), ["sysbench.txt"]);
    }

    #[test]
    fn releases_are_found_in_names() {
        let words = |name: &str| release_in(name).map(|release| release.words());
        for (name, expected) in [
            ("mysql@8.0.36", "mysql@8.0.36"),
            ("mysql-8.0.36", "mysql@8.0.36"),
            ("MariaDB11.4.2-tuned", "mariadb@11.4.2"),
            ("postgresql-17", "postgres@17"),
            ("pg17.2", "postgres@17.2"),
            ("my8036_rel", "mysql@8.0.36"),
        ] {
            assert_eq!(words(name).as_deref(), Some(expected), "{name}");
        }
        for name in ["old", "mysql-80", "my.cnf", "", "mysql@dir:/x", "mysql@5.6/rocksdb", "é-8"] {
            assert_eq!(words(name), None, "{name}");
        }
    }
}
