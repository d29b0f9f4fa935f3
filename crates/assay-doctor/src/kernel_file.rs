//! The kernel's small text files, which a container or another kernel may lack or fill with anything.

use std::io::Read as _;
use std::path::Path;

/// Bytes that are read at most.
const BYTES_MAX: u64 = 64 << 10;

/// The text of a file; `None` if it is missing or no text.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut text = String::new();
    let file = fs_err::File::open(path.as_ref()).ok()?;
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The first line of a file; `None` if it is missing or empty.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = text(path)?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// The number that a file holds.
pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    line(path)?.parse().ok()
}

/// Number of items in a list of ranges such as `0-3,8`.
pub(crate) fn count_listed(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_of_ranges_are_counted() {
        assert_eq!(count_listed("0-3,8,10-11"), Some(7));
        assert_eq!(count_listed("3-1"), None);
        assert_eq!(count_listed("0-4294967295"), None);
        assert_eq!(count_listed("0-4294967294,7"), None);
    }

    proptest! {
        #[test]
        fn any_list_is_read_or_refused(list in "[0-9,\\-x]{0,30}") {
            let _ = count_listed(&list);
        }
    }
}
