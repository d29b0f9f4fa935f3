//! Takes out of the texts of a study what tells where and by whom it was measured: directories, the user, the machine's
//! name, addresses of servers. The same place gets the same neutral name everywhere, so systems remain distinct.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names that are common to many machines, or that assay itself uses. They tell nothing, and stay.
const COMMON: [&str; 15] = [
    // How the names of a server's own counters begin.
    "status",
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
        let text = self.without_paths(&text);
        let text = self.without_profiles(&text);
        self.without_hosts(&text)
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
                clean.push_str(&self.server("user@", authority));
            } else {
                clean.push_str(authority);
            }
            rest = after;
        }
        clean + rest
    }

    /// The neutral name of a server.
    fn server(&mut self, user: &str, address: &str) -> String {
        let next = self.servers.len() + 1;
        let name = self.servers.entry(address.to_owned());
        name.or_insert_with(|| format!("{user}server{next}")).clone()
    }

    /// Replaces `user@host.domain` and IPv4 addresses.
    fn without_hosts(&mut self, text: &str) -> String {
        let mut clean = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(is_of_host) {
            let (before, from) = rest.split_at(at);
            let end = from.find(|c| !is_of_host(c)).unwrap_or(from.len());
            let (found, after) = from.split_at(end);
            let found_host = found.trim_end_matches('.');
            let dots = found.get(found_host.len()..).unwrap_or_default();
            clean.push_str(before);
            clean.push_str(&match found_host.split_once('@') {
                None if is_address(found_host) => self.server("", found_host),
                Some((user, host)) if is_someone(user, host) => self.server("user@", found_host),
                _ => found_host.to_owned(),
            });
            clean.push_str(dots);
            rest = after;
        }
        clean + rest
    }

    /// Replaces the directories of users of Windows.
    fn without_profiles(&mut self, text: &str) -> String {
        let mut clean = String::new();
        let mut rest = text;
        while let Some(at) = profile(rest) {
            let (before, from) = rest.split_at(at);
            clean.push_str(before);
            let is_of_profile = |c| is_of_path(c) || c == '\\' || c == ':';
            let end = quoted(before, from).or_else(|| from.find(|c| !is_of_profile(c)));
            let (path, after) = from.split_at(end.unwrap_or(from.len()));
            clean.push_str(&self.named(path));
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
            let is_start = !clean.ends_with(is_of_path) || clean.ends_with('@') || is_flag(&clean);
            // A path that is quoted or the whole value may have blanks in it.
            let is_value = clean.is_empty() && !from.contains(['\n', '"', '`']);
            let long = is_value.then_some(from.len()).or_else(|| quoted(&clean, from));
            let end = from.find(|c| !is_of_path(c)).unwrap_or(from.len());
            let short = end - usize::from(from.get(..end).is_some_and(|it| it.ends_with('.')));
            let mut ends = long.into_iter().chain([short]);
            let is_whole = |end: &usize| {
                is_start
                    && self.is_personal(&format!("{home}{}", from.get(..*end).unwrap_or_default()))
            };
            let (begin, end) = match ends.find(is_whole) {
                Some(end) => (0, end),
                None => (in_home(from.get(..short).unwrap_or_default()).unwrap_or(short), short),
            };
            let (path, after) = from.split_at(end);
            let (public, personal) = path.split_at(begin);
            if begin > 0 {
                clean.push_str(home);
                clean.push_str(public);
            }
            if !personal.is_empty() {
                let tilde = if begin == 0 { home } else { "" };
                clean.push_str(&self.named(&format!("{tilde}{personal}")));
            }
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

/// Where a path ends that begins after a quotation mark.
fn quoted(before: &str, path: &str) -> Option<usize> {
    let quote = before.chars().next_back().filter(|c| "\"'`".contains(*c))?;
    let end = path.find([quote, '\n'])?;
    // The mark may itself be quoted.
    let inner = path.get(..end)?.trim_end_matches('\\').len();
    path.get(end..)?.starts_with(quote).then_some(inner)
}

/// Whether a text ends with the name of an option that its value follows directly, such as `-I`.
fn is_flag(text: &str) -> bool {
    let mut last = text.chars().rev();
    let is_letter = last.next().is_some_and(|c| c.is_ascii_alphabetic());
    is_letter && last.next() == Some('-') && !last.next().is_some_and(is_of_path)
}

/// Where the directory of a user begins in a path.
fn in_home(path: &str) -> Option<usize> {
    let found = |home: &&str| path.find(*home).filter(|at| path.len() > at + home.len());
    ["/home/", "/Users/", "/root/"].iter().filter_map(found).min()
}

/// Where the directory of a user of Windows begins, with its drive. Separators may be doubled.
fn profile(text: &str) -> Option<usize> {
    let is_users = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default();
        let name = rest.strip_prefix(r"\\").or_else(|| rest.strip_prefix('\\'));
        let name = name.and_then(|it| it.get(..6));
        name.is_some_and(|it| it.eq_ignore_ascii_case(r"users\"))
    };
    let at = text.match_indices('\\').map(|(at, _)| at).find(is_users)?;
    let drive = text.get(..at)?.strip_suffix(':');
    let drive = drive.filter(|it| it.ends_with(|c: char| c.is_ascii_alphabetic()));
    Some(drive.map_or(at, |it| it.len() - 1))
}

fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-+@".contains(c)
}

/// Whether this is an IPv4 address that tells where something is.
fn is_address(text: &str) -> bool {
    let address = text.parse::<std::net::Ipv4Addr>();
    address.is_ok_and(|it| !it.is_loopback() && !it.is_unspecified() && !it.is_broadcast())
}

/// Whether this is a person or an account on a machine, rather than a product with its version.
fn is_someone(user: &str, host: &str) -> bool {
    let is_product = COMMON.contains(&user.to_ascii_lowercase().as_str());
    let last = host.rsplit_once('.').map_or("", |(_, last)| last);
    let is_domain = last.len() > 1
        && last.chars().all(|c| c.is_ascii_alphabetic())
        && host.starts_with(|c: char| c.is_ascii_alphabetic());
    !user.is_empty() && user != "git" && (is_domain || (is_address(host) && !is_product))
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
            ("cc -I/srv/a/b -L/srv/a/b -fno-x/y/z", "cc -I/path5 -L/path5 -fno-x/y/z"),
            ("x@/srv/a/b and lib/home/bob/x", "x@/path5 and lib/path10"),
            ("/usr/bin/x --y /srv/a/b", "/usr/bin/x --y /path5"),
            ("see \"/srv/c/my dir/deep/x\" and '/usr/a b/c'", "see \"/path11\" and '/usr/a b/c'"),
            (r"at C:\Users\bob\x, 'd:\\users\\bob smith\\x'", "at /path12, '/path13'"),
            ("bob@laptop.lan 192.168.7.9:80.", "user@server3 server4:80."),
            (
                "mysql@8.0.36 git@forge.example 127.0.0.1",
                "mysql@8.0.36 git@forge.example 127.0.0.1",
            ),
        ] {
            assert_eq!(neutral.text(text), clean, "{text}");
        }
        let json = r#"{"kind":"not-measured","error":"no `/home/alice/x.cnf`","n":[1,"/a/b"]}"#;
        let clean = r#"{"error":"no `/path4`","kind":"not-measured","n":[1,"/path14"]}"#;
        assert_eq!(neutral.json(json).unwrap(), clean);
        assert_eq!(neutral.json("{"), None);
    }
}
