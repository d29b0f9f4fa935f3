//! Small text files of the kernel, which a container or another kernel may lack or fill with anything.

use std::io::Read as _;
use std::path::Path;

const BYTES_MAX: u64 = 64 << 10;

/// `None` if it is missing or not UTF-8.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut text = String::new();
    let file = fs_err::File::open(path.as_ref()).ok()?;
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// `None` if the file is missing or empty.
pub(crate) fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = text(path)?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

pub(crate) fn number(path: impl AsRef<Path>) -> Option<u64> {
    line(path)?.parse().ok()
}
