//! Parsers of whole numbers and sizes, with messages for people.

use std::ops::RangeInclusive;

use assay_model::limits;
use assay_options::{count, parse_duration_s, whole};

pub fn parse_digest(text: &str) -> Result<String, String> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let lower = is_digest.then(|| text.to_ascii_lowercase());
    lower.ok_or_else(|| "a digest has 64 hexadecimal digits".to_owned())
}

pub fn parse_tables(text: &str) -> Result<u32, String> {
    whole(limits::TABLES)(text)
}

/// A number, not a range of counts.
pub fn parse_one_count(text: &str) -> Result<u32, String> {
    let is_range = assay_plan::parse_clients(text).is_ok_and(|counts| counts.len() > 1);
    if is_range || text.contains(',') {
        return Err(format!(
            "`{text}` is not a whole number; several client counts need `assay compare`"
        ));
    }
    whole(limits::CLIENTS)(text)
}

pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = parse_duration_s(text).map_err(|error| error.to_string())?;
    if seconds <= 1e6 { Ok(seconds) } else { Err("must be at most 1,000,000 seconds".to_owned()) }
}

pub fn parse_rows(text: &str) -> Result<u32, String> {
    count(1..=*limits::ROWS.end())(text)
}

pub fn parse_port(text: &str) -> Result<u16, String> {
    whole(0..=u16::MAX)(text)
}

const POOL_MB: RangeInclusive<u64> = 8..=1 << 22;

/// Parses `512M` or `1G` as MB; a number without unit is MB.
pub fn parse_megabytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let word = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let (digits, each) = match word.strip_suffix('g') {
        Some(digits) => (digits, 1024),
        None => (word.strip_suffix('m').unwrap_or(word), 1),
    };
    let number = whole(0..=u64::MAX)(digits.trim()).map_err(|_| {
        format!("`{text}` is not a size such as `512M` or `1G`; a number without unit is MB")
    })?;
    let size = number.checked_mul(each).filter(|size| POOL_MB.contains(size));
    size.ok_or_else(|| "must be between 8M and 4,096G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_numbers_have_readable_errors() {
        assert_eq!(parse_tables("x").unwrap_err(), "`x` is not a whole number");
        assert_eq!(parse_one_count("0").unwrap_err(), "must be between 1 and 4,096");
        assert_eq!(parse_one_count("-1").unwrap_err(), "must be between 1 and 4,096");
        assert_eq!(parse_port("70000").unwrap_err(), "must be between 0 and 65,535");
        assert_eq!(parse_tables("99999").unwrap_err(), "must be between 1 and 1,000");
        for several in ["1-8", "1,8"] {
            let message = parse_one_count(several).unwrap_err();
            assert!(
                message.contains("is not a whole number") && message.contains("compare"),
                "{message}"
            );
        }
        assert_eq!(parse_one_count("8"), Ok(8));
    }

    #[test]
    fn sizes_have_units() {
        for (text, size) in
            [("256", 256), ("512M", 512), ("1G", 1024), ("2 GiB", 2048), ("64mb", 64)]
        {
            assert_eq!(parse_megabytes(text), Ok(size), "{text}");
        }
        assert!(parse_megabytes("1T").unwrap_err().contains("`512M`"));
        for text in ["1", "9999999G", "99999999999999999G"] {
            assert_eq!(parse_megabytes(text).unwrap_err(), "must be between 8M and 4,096G");
        }
    }
}
