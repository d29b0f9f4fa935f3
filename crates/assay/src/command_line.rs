//! This process's command line, which all users of the machine can read.

use std::io::{self, Seek as _, SeekFrom, Write as _};

use fs_err as fs;
use procfs::process::Process;

/// Overwrites passwords in the command line. They have been parsed by then.
pub(crate) fn hide_passwords() {
    // If /proc is hidden, the command line is hidden too.
    let _ = overwrite();
}

fn overwrite() -> io::Result<()> {
    let words = fs::read("/proc/self/cmdline")?;
    let hidden = masked(&words);
    if hidden == words {
        return Ok(());
    }
    let stat = Process::myself().and_then(|me| me.stat()).map_err(io::Error::other)?;
    let (Some(start), Some(end)) = (stat.arg_start, stat.arg_end) else { return Ok(()) };
    if end.checked_sub(start) != Some(hidden.len() as u64) {
        return Ok(());
    }
    let mut memory = fs::OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.seek(SeekFrom::Start(start))?;
    memory.write_all(&hidden)
}

/// The words, each ending in a zero byte, with `x` for every byte of a password. A password is between the first `:`
/// and the last `@` of a word, not counting slashes, or after `password=`.
fn masked(words: &[u8]) -> Vec<u8> {
    let mut masked = words.to_vec();
    for word in masked.split_mut(|byte| *byte == 0) {
        let colon = word.iter().position(|byte| *byte == b':');
        let at = word.iter().rposition(|byte| *byte == b'@');
        if let (Some(colon), Some(at)) = (colon, at)
            && let Some(login) = word.get_mut(colon + 1..at)
        {
            login.iter_mut().filter(|byte| **byte != b'/').for_each(|byte| *byte = b'x');
        }
        let name = b"password=";
        let named = word.windows(name.len()).position(|it| it.eq_ignore_ascii_case(name));
        if let Some(value) = named.and_then(|at| word.get_mut(at + name.len()..)) {
            value.fill(b'x');
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passwords_are_masked() {
        for (words, expected) in [
            ("assay\0bench\0mysql://u:p@w@h/db\0", "assay\0bench\0mysql://xxxxx@h/db\0"),
            (
                "assay\0load\0postgres://h/db?password=p&x=1\0",
                "assay\0load\0postgres://h/db?password=xxxxx\0",
            ),
            (
                "assay\0compare\0mariadb@10.11\0--tests\0a:b\0",
                "assay\0compare\0mariadb@10.11\0--tests\0a:b\0",
            ),
        ] {
            assert_eq!(String::from_utf8_lossy(&masked(words.as_bytes())), expected);
        }
    }
}
