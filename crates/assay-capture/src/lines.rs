//! Splits a log into lines of limited length.

use std::io::{self, BufRead};

use crate::reader::without_mark;

/// Maximum length of a line. A statement may be as long as a packet of the server.
pub(crate) const LINE_MAX: usize = 32 << 20;

/// Passes each line to `take`, without its end and without a leading byte order mark; a longer one is truncated to
/// [`LINE_MAX`].
pub(crate) fn each(source: &mut dyn BufRead, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_cut = false;
    let mut is_first = true;
    let mut take = |line: &[u8]| {
        let line = if std::mem::take(&mut is_first) { without_mark(line) } else { line };
        take(without_return(line));
    };
    loop {
        let available = match source.fill_buf() {
            Ok(it) => it,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            break;
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let used = part.len() + usize::from(end.is_some());
        // Most lines are complete in the buffer and are not copied.
        if end.is_some() && line.is_empty() && !is_cut {
            take(part);
        } else {
            let room = LINE_MAX.saturating_sub(line.len());
            is_cut |= part.len() > room;
            line.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            if end.is_some() {
                take(&line);
                line.clear();
                is_cut = false;
            }
        }
        source.consume(used);
    }
    if !line.is_empty() {
        take(&line);
    }
    Ok(())
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_whatever_the_buffer() {
        for size in [1, 2, 3, 64] {
            let text = "\u{feff}a\r\n\nbcd\ne";
            let mut source = io::BufReader::with_capacity(size, text.as_bytes());
            let mut found = Vec::new();
            each(&mut source, |line| found.push(line.to_vec())).unwrap();
            let texts: Vec<&[u8]> = found.iter().map(Vec::as_slice).collect();
            assert_eq!(texts, [b"a".as_slice(), b"", b"bcd", b"e"]);
        }
    }
}
