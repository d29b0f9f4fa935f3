//! The server that wrote a log or a dump, according to its first lines.

const LINES: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// Such as `mysql`.
    pub product: &'static str,
    /// Such as `8.0.33`.
    pub version: String,
}

#[must_use]
pub fn server_version(head: &[u8]) -> Option<ServerVersion> {
    let text = String::from_utf8_lossy(head);
    text.lines().take(LINES).find_map(of_line)
}

fn of_line(line: &str) -> Option<ServerVersion> {
    const MARKS: [&str; 3] =
        [", Version: ", "-- Server version\t", "-- Dumped from database version "];
    let (mark, rest) = MARKS.iter().find_map(|mark| Some((*mark, line.split_once(mark)?.1)))?;
    let is_part = |it: char| it.is_ascii_digit() || it == '.';
    let version = rest.split(|it| !is_part(it)).next().unwrap_or_default().trim_end_matches('.');
    let product = match mark {
        "-- Dumped from database version " => "postgres",
        _ if rest.contains("MariaDB") => "mariadb",
        _ => "mysql",
    };
    let is_known = version.starts_with(|it: char| it.is_ascii_digit()) && version.contains('.');
    is_known.then(|| ServerVersion { product, version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_in_first_lines() {
        for (line, expected) in [
            (
                "/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:",
                Some(("mysql", "8.0.33")),
            ),
            (
                "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB-0+deb12u1-log (Debian 12). started with:",
                Some(("mariadb", "10.11.6")),
            ),
            ("-- Server version\t8.0.36-28", Some(("mysql", "8.0.36"))),
            ("-- Server version\t10.11.6-MariaDB", Some(("mariadb", "10.11.6"))),
            ("-- Dumped from database version 15.4 (Debian 15.4-1)", Some(("postgres", "15.4"))),
            ("-- Dumped by pg_dump version 16.1", None),
            ("SELECT ', Version: x'", None),
        ] {
            let found = server_version(format!("\n{line}\n").as_bytes());
            let found = found.map(|it| (it.product, it.version));
            let expected = expected.map(|(product, version)| (product, version.to_owned()));
            assert_eq!(found, expected, "{line}");
        }
    }
}
