//! Settings of Postgres that belong to the data directory: options that `initdb` gets and the server refuses.

use assay_terms::{Version, variable};

pub(crate) const OF_DATA: [&str; 5] =
    ["data_checksums", "lc_collate", "lc_ctype", "server_encoding", "wal_segment_size"];

/// The first version with page checksums by default, and the first in which they can be disabled.
const CHECKSUMS_SINCE: Version = (18, 0, 0);

/// Arguments of `initdb`. Strings are in byte order and pages have checksums, unless options request something else.
pub(super) fn arguments(version: Version, options: &[String]) -> Vec<String> {
    let asked = |name: &str| {
        let mut all = options.iter().rev().filter_map(|option| split(option));
        all.find(|(other, _)| *other == name).map(|(_, value)| value)
    };
    let mut words = vec![
        format!("--encoding={}", asked("server_encoding").unwrap_or("SQL_ASCII")),
        "--locale=C".to_owned(),
    ];
    let of_locale = [("lc_collate", "--lc-collate"), ("lc_ctype", "--lc-ctype")];
    words.extend(
        of_locale.iter().filter_map(|(name, word)| Some(format!("{word}={}", asked(name)?))),
    );
    let is_off =
        |value: &str| ["off", "false", "no", "0"].contains(&value.to_ascii_lowercase().as_str());
    match asked("data_checksums").is_some_and(is_off) {
        false => words.push("--data-checksums".to_owned()),
        true if version >= CHECKSUMS_SINCE => words.push("--no-data-checksums".to_owned()),
        true => {}
    }
    words.extend(
        asked("wal_segment_size").and_then(megabytes).map(|mb| format!("--wal-segsize={mb}")),
    );
    words
}

pub(super) fn for_servers(options: &[String]) -> impl Iterator<Item = &String> {
    options.iter().filter(|option| split(option).is_none())
}

/// `None` for options that do not belong to the data directory.
fn split(option: &str) -> Option<(&'static str, &str)> {
    let (name, value) = option.trim_start_matches("--").split_once('=')?;
    let name = variable(name);
    OF_DATA.into_iter().find(|of_data| *of_data == name).map(|name| (name, value))
}

/// Parses a size such as `64MB`, in MB. A bare number is bytes, as servers count them.
fn megabytes(value: &str) -> Option<u64> {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: u64 = number.parse().ok()?;
    match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => Some(number >> 20),
        "MB" | "M" => Some(number),
        "GB" | "G" => number.checked_mul(1024),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_data_goes_to_initdb() {
        let options = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let message = |version, all: &[&str]| arguments(version, &options(all)).join(" ");
        assert_eq!(message((16, 1, 0), &[]), "--encoding=SQL_ASCII --locale=C --data-checksums");
        let all = ["--data_checksums=off", "--server_encoding=UTF8", "--work_mem=1MB"];
        assert_eq!(message((16, 1, 0), &all), "--encoding=UTF8 --locale=C");
        assert_eq!(message((18, 1, 0), &all), "--encoding=UTF8 --locale=C --no-data-checksums");
        let all = ["--wal_segment_size=64MB", "--lc_collate=de_DE.UTF-8", "--data-checksums=on"];
        assert_eq!(
            message((17, 0, 0), &all),
            "--encoding=SQL_ASCII --locale=C --lc-collate=de_DE.UTF-8 --data-checksums --wal-segsize=64"
        );
        let all = options(&["--work_mem=1MB", "--wal_segment_size=64MB"]);
        assert_eq!(for_servers(&all).collect::<Vec<_>>(), ["--work_mem=1MB"]);
    }
}
