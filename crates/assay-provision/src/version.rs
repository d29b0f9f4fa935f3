//! Debian versions: their order, and the upstream version inside them.

use std::cmp::Ordering;

/// Returns the upstream version in a package version: `1:10.11.19-0+deb12u1` → `10.11.19`, `1:11.8.9+ds-2` → `11.8.9`,
/// `19~rc1-1` → `19rc1`.
pub(crate) fn upstream(package_version: &str) -> String {
    let (_, rest) = split_epoch(package_version);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (numbers, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let early = rest.strip_prefix('~').map(|rest| {
        rest.split_once(|c: char| !c.is_ascii_alphanumeric()).map_or(rest, |(early, _)| early)
    });
    let is_early = |it: &&str| ["alpha", "beta", "rc"].iter().any(|stage| it.starts_with(stage));
    format!("{}{}", numbers.trim_end_matches('.'), early.filter(is_early).unwrap_or_default())
}

/// Returns whether `version` is `series` or begins with it, component by component: `10.11.4` is in `10.11`, not in
/// `10.1`; `19rc1` is in `19`.
pub(crate) fn in_series(version: &str, series: &str) -> bool {
    let goes_on = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    version.strip_prefix(series).is_some_and(goes_on)
}

/// Returns whether a server's version matches `wanted`, a version or a series. One with a vendor's build number
/// (`8.0.36-28`) matches nothing without it.
pub(crate) fn answers(version: &str, wanted: &str) -> bool {
    in_series(version, wanted) && (wanted.contains('-') || !version.contains('-'))
}

/// Debian's order of package versions (epoch, then upstream version, then revision; `~` before the end).
///
/// Crates cost more: `debversion` needs `chrono`, `num-bigint` and `regex`, and `deb-version` panics on versions that
/// are not ASCII, which an index may have.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let ((epoch_a, rest_a), (epoch_b, rest_b)) = (split_epoch(a), split_epoch(b));
    let ((upstream_a, revision_a), (upstream_b, revision_b)) =
        (split_revision(rest_a), split_revision(rest_b));
    compare_part(epoch_a, epoch_b)
        .then_with(|| compare_part(upstream_a, upstream_b))
        .then_with(|| compare_part(revision_a, revision_b))
}

fn split_epoch(version: &str) -> (&str, &str) {
    version.split_once(':').unwrap_or(("0", version))
}

fn split_revision(version: &str) -> (&str, &str) {
    version.rsplit_once('-').unwrap_or((version, ""))
}

/// Alternating runs of other characters, ordered by [`rank`], and of digits, ordered as numbers.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let text_a = take_while(&mut a, |byte| !byte.is_ascii_digit());
        let text_b = take_while(&mut b, |byte| !byte.is_ascii_digit());
        let digits_a = take_while(&mut a, |byte| byte.is_ascii_digit()).trim_start_matches('0');
        let digits_b = take_while(&mut b, |byte| byte.is_ascii_digit()).trim_start_matches('0');
        let ranks = |text: &str| text.bytes().map(rank).chain([0]).collect::<Vec<_>>();
        let order = ranks(text_a)
            .cmp(&ranks(text_b))
            .then_with(|| digits_a.len().cmp(&digits_b.len()))
            .then_with(|| digits_a.cmp(digits_b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// `~` before the end of the text (0), letters after it, everything else after letters.
fn rank(byte: u8) -> i32 {
    match byte {
        b'~' => -1,
        letter if letter.is_ascii_alphabetic() => i32::from(letter),
        other => i32::from(other) + 256,
    }
}

fn take_while<'a>(text: &mut &'a str, keep: impl Fn(u8) -> bool) -> &'a str {
    let end = text.bytes().position(|byte| !keep(byte)).unwrap_or(text.len());
    // Always a boundary: a byte of a longer character is never a digit, so no run ends inside one.
    let (taken, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    *text = rest;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_version_is_found_in_package_versions() {
        assert_eq!(upstream("1:10.11.19-0+deb12u1"), "10.11.19");
        assert_eq!(upstream("1:11.8.9+ds-2"), "11.8.9");
        assert_eq!(upstream("9.7.4-1"), "9.7.4");
        assert_eq!(upstream("19~rc1-1"), "19rc1");
        assert_eq!(upstream("15.20~bpo-1"), "15.20");
        assert_eq!(upstream(""), "");
    }

    #[test]
    fn series_match_whole_components() {
        assert!(in_series("10.11.19", "10.11"));
        assert!(in_series("10.11", "10.11"));
        assert!(in_series("10.11.19", "10"));
        assert!(!in_series("10.11.19", "10.1"));
        assert!(!in_series("10.11", "10.11.19"));
    }

    #[test]
    fn a_vendors_own_build_needs_its_full_version() {
        assert!(answers("8.0.36", "8.0") && answers("8.0.36-28", "8.0.36-28"));
        assert!(!answers("8.0.36-28", "8.0.36") && !answers("8.0.36-28", "8"));
        assert!(!answers("8.0.36", "8.0.36-28") && !answers("8.0.36-28", "8.0.36-2"));
    }

    #[test]
    fn versions_are_ordered_as_in_debian() {
        let ascending = [
            "1.0~~",
            "1.0~~a",
            "1.0~",
            "1.0",
            "1.0-1",
            "1.0-1.1",
            "1.0a",
            "1.0+b",
            "1.2",
            "1.10",
            "1:0.1",
            "1:10.11.9-1",
            "1:10.11.18-0+deb12u1",
            "1:10.11.19-0+deb12u1",
            "2:0",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} against {b}");
            }
        }
        assert_eq!(compare("1.0", "0:1.00"), Ordering::Equal);
        assert_eq!(compare("1.0-0", "1.0"), Ordering::Equal);
        assert_eq!(compare("ü1", "1"), Ordering::Greater);
    }
}
