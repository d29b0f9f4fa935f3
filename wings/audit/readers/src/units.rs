//! Sizes and times in the spelling of servers.

/// Units of Postgres with their bytes.
const MEMORY: &[(&str, u64)] =
    &[("B", 1), ("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("TB", 1 << 40)];

/// Units of Postgres with their microseconds.
const TIME: &[(&str, u64)] = &[
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// Units of settings of Postgres whose values are often written without one. Source: `guc_tables.c`.
const UNITS: &[(&str, &str)] = &[
    ("autovacuum_naptime", "s"),
    ("autovacuum_vacuum_cost_delay", "ms"),
    ("backend_flush_after", "8kB"),
    ("bgwriter_delay", "ms"),
    ("bgwriter_flush_after", "8kB"),
    ("checkpoint_flush_after", "8kB"),
    ("checkpoint_timeout", "s"),
    ("deadlock_timeout", "ms"),
    ("effective_cache_size", "8kB"),
    ("io_combine_limit", "8kB"),
    ("io_max_combine_limit", "8kB"),
    ("lock_timeout", "ms"),
    ("log_min_duration_statement", "ms"),
    ("logical_decoding_work_mem", "kB"),
    ("maintenance_work_mem", "kB"),
    ("max_wal_size", "MB"),
    ("min_wal_size", "MB"),
    ("shared_buffers", "8kB"),
    ("temp_buffers", "8kB"),
    ("wal_buffers", "8kB"),
    ("wal_segment_size", "B"),
    ("wal_writer_delay", "ms"),
    ("work_mem", "kB"),
];

/// Converts a whole number with a unit to the largest unit that needs no fraction, as Postgres does. A number without a
/// unit has the given one, or that of the setting. Other values stay as they are.
pub(crate) fn postgres_value(name: &str, value: &str, unit: Option<&str>) -> String {
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (digits, own) = value.split_at(end);
    let known = || UNITS.iter().find(|(setting, _)| *setting == name).map(|(_, unit)| *unit);
    let unit = match own.trim() {
        "" => unit.filter(|unit| !unit.is_empty()).or_else(known),
        own => Some(own),
    };
    let found = unit.and_then(|unit| in_units(digits, unit));
    found.unwrap_or_else(|| value.to_owned())
}

/// `None` for zero, which has no unit, and for other values than whole numbers.
fn in_units(digits: &str, unit: &str) -> Option<String> {
    let end = unit.find(|c: char| !c.is_ascii_digit())?;
    let (multiple, unit) = unit.split_at(end);
    let multiple: u64 = if multiple.is_empty() { 1 } else { multiple.parse().ok()? };
    let units = [MEMORY, TIME].into_iter().find(|it| it.iter().any(|(word, _)| *word == unit))?;
    let (_, size) = units.iter().find(|(word, _)| *word == unit)?;
    let all = digits.parse::<u64>().ok()?.checked_mul(multiple)?.checked_mul(*size)?;
    let (word, size) = units.iter().rev().find(|(_, size)| all > 0 && all.is_multiple_of(*size))?;
    Some(format!("{}{word}", all / size))
}

/// Converts a number with a suffix such as `G` to the number that MySQL and MariaDB show. Other values stay.
pub(crate) fn mysql_value(value: &str) -> String {
    let shift = match value.bytes().next_back().map(|it| it.to_ascii_lowercase()) {
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        Some(b'p') => 50,
        Some(b'e') => 60,
        _ => return value.to_owned(),
    };
    let digits = value.get(..value.len() - 1).unwrap_or_default();
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    number.map_or_else(|| value.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_postgres_have_their_largest_unit() {
        for (name, value, unit, shown) in [
            ("shared_buffers", "16384", Some("8kB"), "128MB"),
            ("shared_buffers", "16384", None, "128MB"),
            ("shared_buffers", "1024MB", None, "1GB"),
            ("work_mem", "65536kB", Some("kB"), "64MB"),
            ("work_mem", "1536 MB", None, "1536MB"),
            ("checkpoint_timeout", "3600", Some("s"), "1h"),
            ("checkpoint_timeout", "90s", None, "90s"),
            ("wal_buffers", "-1", Some("8kB"), "-1"),
            ("log_temp_files", "0", Some("kB"), "0"),
            ("random_page_cost", "1.1", None, "1.1"),
            ("search_path", "\"$user\", public", None, "\"$user\", public"),
            ("max_wal_size", "99999999999999999999", Some("MB"), "99999999999999999999"),
            ("max_wal_size", "18446744073709551615", Some("MB"), "18446744073709551615"),
            ("jit", "on", Some(""), "on"),
        ] {
            assert_eq!(postgres_value(name, value, unit), shown, "{name}");
        }
    }

    #[test]
    fn suffixes_of_mysql_are_factors() {
        for (value, shown) in [
            ("1G", "1073741824"),
            ("16m", "16777216"),
            ("99999999999999E", "99999999999999E"),
            ("ON", "ON"),
            ("G", "G"),
            ("1é", "1é"),
            ("ibdata1:12M:autoextend", "ibdata1:12M:autoextend"),
        ] {
            assert_eq!(mysql_value(value), shown);
        }
    }
}
