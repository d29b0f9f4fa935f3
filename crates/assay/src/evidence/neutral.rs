//! Takes out of the texts of a study what tells where and by whom it was measured: directories, the user, the machine's
//! name, addresses of servers. The same place gets the same neutral name everywhere, so systems remain distinct.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names that are common to many machines, or that assay itself uses. They tell nothing, and stay.
const COMMON: [&str; 14] = [
    "localhost",
    "root",
    "nobody",
    "user",
    "mysql",
    "mariadb",
    "postgres",
    "sbtest",
    "server",
    "debian",
    "ubuntu",
    "innodb",
    "rocksdb",
    "heap",
];

/// Directories whose content is the same on many machines.
const SYSTEM: [&str; 9] =
    ["/usr/", "/etc/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/proc/", "/sys/", "/dev/"];

/// Shorter words are likely to be part of something else.
const WORD_MIN: usize = 2;

/// The personal parts of a study, and the neutral names that they get.
#[derive(Debug, Default)]
pub(super) struct Neutral {
    /// Texts that are replaced where they are not part of longer words; the longest come first.
    literals: Vec<(String, String)>,
    /// Neutral names of directories whose content is not personal.
    kept: Vec<String>,
    /// Neutral names of paths, by path.
    paths: BTreeMap<String, String>,
    /// Neutral names of servers, by address.
    servers: BTreeMap<String, String>,
}

impl Neutral {
    /// Replaces this word, such as the name of a user or machine, unless it is a common one.
    pub(super) fn word(&mut self, word: &str, instead: &str) {
        if word.len() >= WORD_MIN && !COMMON.contains(&word.to_ascii_lowercase().as_str()) {
            self.literal(word, instead.to_owned());
        }
    }

    /// Replaces this path, relative or absolute.
    pub(super) fn path(&mut self, path: &str) {
        if !path.trim_matches(['/', '.', '~']).is_empty() {
            let instead = self.named(path);
            self.literal(path, instead);
        }
    }

    /// Replaces this directory, but keeps what is below it.
    pub(super) fn root(&mut self, directory: &str) {
        let directory = directory.trim_end_matches('/');
        if !directory.is_empty() {
            let instead = self.named(directory);
            self.kept.push(format!("{instead}/"));
            self.literal(directory, instead);
        }
    }

    /// Replaces a directory of the user. The paths below it get names of their own.
    pub(super) fn home(&mut self, directory: &str) {
        self.literal(directory, "/home".to_owned());
    }

    fn literal(&mut self, text: &str, instead: String) {
        if !self.literals.iter().any(|(known, _)| known == text) {
            self.literals.push((text.to_owned(), instead));
            self.literals.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        }
    }

    /// The neutral name of a path.
    fn named(&mut self, path: &str) -> String {
        let next = self.paths.len() + 1;
        self.paths.entry(path.to_owned()).or_insert_with(|| format!("/path{next}")).clone()
    }

    /// A text without the personal parts.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = assay_model::without_secrets(text);
        let text = self.without_servers(&text);
        let text = self.without_literals(&text);
        self.without_paths(&text)
    }

    /// JSON whose texts have no personal parts; `None` if it is no JSON.
    pub(super) fn json(&mut self, json: &str) -> Option<String> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        self.value(&mut value);
        serde_json::to_string(&value).ok()
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|it| self.value(it)),
            // Keys are the names of fields, or of settings.
            Value::Object(fields) => fields.values_mut().for_each(|it| self.value(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces user, host and port in the addresses of database servers.
    fn without_servers(&mut self, text: &str) -> String {
        let mut clean = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("://") {
            let (before, address) = rest.split_at(at + 3);
            clean.push_str(before);
            let end = address.find(|c: char| !is_of_authority(c)).unwrap_or(address.len());
            let (authority, after) = address.split_at(end);
            if ["mysql", "mariadb", "postgres", "postgresql"].iter().any(|it| ends_with(before, it))
            {
                let next = self.servers.len() + 1;
                let name = self.servers.entry(authority.to_owned());
                clean.push_str(name.or_insert_with(|| format!("user@server{next}")));
            } else {
                clean.push_str(authority);
            }
            rest = after;
        }
        clean + rest
    }

    /// Replaces absolute paths outside of the system's directories.
    fn without_paths(&mut self, text: &str) -> String {
        let mut clean = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('/') {
            let (before, from) = rest.split_at(at);
            let (before, home) = match before.strip_suffix('~') {
                Some(before) => (before, "~"),
                None => (before, ""),
            };
            clean.push_str(before);
            // A value that is a path may have blanks in it.
            let is_value = clean.is_empty() && !from.contains(['\n', '"', '`']);
            let end = from.find(|c| !is_of_path(c)).filter(|_| !is_value).unwrap_or(from.len());
            let (path, after) = from.split_at(end);
            let (path, dot) = match path.strip_suffix('.') {
                Some(path) if !is_value => (path, "."),
                _ => (path, ""),
            };
            let path = format!("{home}{path}");
            let is_start = !clean.ends_with(is_of_path);
            clean.push_str(&if is_start && self.is_personal(&path) {
                self.named(&path)
            } else {
                path
            });
            clean.push_str(dot);
            rest = after;
        }
        clean + rest
    }

    fn is_personal(&self, path: &str) -> bool {
        let directories = path.trim_end_matches('/').matches('/').count();
        let is_kept = self.kept.iter().any(|kept| path.starts_with(kept));
        // Two slashes follow the scheme of an address, three that of a file's.
        let is_address = path.starts_with("//") && !path.starts_with("///");
        !is_kept
            && !is_address
            && !SYSTEM.iter().any(|it| path.starts_with(it))
            && (directories > 1 || path.starts_with('~'))
    }

    fn without_literals(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for (literal, instead) in &self.literals {
            if clean.contains(literal.as_str()) {
                clean = replaced(&clean, literal, instead);
            }
        }
        clean
    }
}

/// Replaces a text where it is not part of a longer word.
fn replaced(text: &str, literal: &str, instead: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(literal) {
        let (before, from) = rest.split_at(at);
        let after = from.get(literal.len()..).unwrap_or_default();
        let last = before.chars().next_back().or_else(|| clean.chars().next_back());
        let is_whole = !last.is_some_and(is_of_word) && !after.starts_with(is_of_word);
        clean.push_str(before);
        clean.push_str(if is_whole { instead } else { literal });
        rest = after;
    }
    clean + rest
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a character belongs to an unquoted path.
fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@%~$".contains(c)
}

fn is_of_authority(c: char) -> bool {
    c.is_alphanumeric() || ".-_:@%[]*+~!$".contains(c)
}

/// Whether a text up to the `://` of an address ends with this scheme.
fn ends_with(before: &str, scheme: &str) -> bool {
    let of_scheme = before.trim_end_matches("://").strip_suffix(scheme);
    of_scheme.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neutral() -> Neutral {
        let mut neutral = Neutral::default();
        neutral.root("/home/alice/cache/prefixes/abc");
        neutral.path("../alices/build");
        neutral.path("/opt/my build");
        neutral.word("alice", "user");
        neutral.word("vega", "host");
        neutral.word("root", "user");
        neutral
    }

    #[test]
    fn personal_parts_get_neutral_names() {
        let mut neutral = neutral();
        for (text, clean) in [
            ("/home/alice/cache/prefixes/abc/lib/plugin", "/path1/lib/plugin"),
            ("--plugin-dir=/home/alice/cache/prefixes/abc", "--plugin-dir=/path1"),
            ("cannot read `/home/alice/x.cnf`: gone", "cannot read `/path4`: gone"),
            ("again /home/alice/x.cnf, and /srv/a/b.", "again /path4, and /path5."),
            ("/home/alice/with blanks/x", "/path6"),
            ("~/notes/x", "/path7"),
            ("mysql@dir:/opt/my build", "mysql@dir:/path3"),
            ("mysql@git:../alices/build#main", "mysql@git:/path2#main"),
            ("mysql@dir:/srv/vega/8.0", "mysql@dir:/path8"),
            ("alice@vega: alices malice alice", "user@host: alices malice user"),
            ("root", "root"),
            ("vega-slow.log", "host-slow.log"),
            (
                "mysql://me@db.example:3306/test?socket=/run/alice/s",
                "mysql://user@server1/test?socket=/path9",
            ),
            (
                "postgres://me@10.0.0.1/db and mysql://me@db.example:3306/x",
                "postgres://user@server2/db and mysql://user@server1/x",
            ),
            ("https://example.com/a/b/c", "https://example.com/a/b/c"),
            ("cpu/o, 3 KB/s, 1/2/3, a/b/c", "cpu/o, 3 KB/s, 1/2/3, a/b/c"),
            ("/usr/share/mysql/", "/usr/share/mysql/"),
            ("/tmp", "/tmp"),
        ] {
            assert_eq!(neutral.text(text), clean, "{text}");
        }
        let json = r#"{"kind":"not-measured","error":"no `/home/alice/x.cnf`","n":[1,"/a/b"]}"#;
        let clean = r#"{"error":"no `/path4`","kind":"not-measured","n":[1,"/path10"]}"#;
        assert_eq!(neutral.json(json).unwrap(), clean);
        assert_eq!(neutral.json("{"), None);
    }
}
