//! The segment of System V shared memory that a killed Postgres leaves behind.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use fs_err as fs;

/// Marks the data directory of a running server.
const PID_FILE: &str = "postmaster.pid";

/// Index of the line with the key and the id of the segment, from 0.
const LINE: usize = 6;

/// Time for a server's processes to notice that the first one was killed.
const LIMIT: Duration = Duration::from_secs(3);

const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    key: i32,
    id: i32,
    attached: u32,
    owner: u32,
}

/// Removes the segment of a server whose data directory is in `instance`, once nobody uses it any more.
pub(super) fn release(instance: &Path) -> io::Result<()> {
    for file in [instance.join(PID_FILE), instance.join("data").join(PID_FILE)] {
        // Only a killed Postgres leaves one.
        let (Ok(text), Ok(file)) = (fs::read_to_string(&file), fs::symlink_metadata(&file)) else {
            continue;
        };
        let Some((key, id)) = named_in(&text) else { continue };
        let deadline = Instant::now() + LIMIT;
        // Only a segment of the file's owner is removed: the file must not cause the removal of somebody else's.
        let is_it = |it: &Segment| (it.key, it.id, it.owner) == (key, id, file.uid());
        while let Some(segment) = segments()?.into_iter().find(is_it) {
            if segment.attached == 0 {
                remove(id)?;
            } else if Instant::now() > deadline {
                break;
            } else {
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }
    Ok(())
}

fn named_in(pid_file: &str) -> Option<(i32, i32)> {
    let mut words = pid_file.lines().nth(LINE)?.split_whitespace();
    // The file has the key without a sign, the list with one.
    let key: u32 = words.next()?.parse().ok()?;
    Some((key.cast_signed(), words.next()?.parse().ok()?))
}

fn segments() -> io::Result<Vec<Segment>> {
    let table = match fs::read_to_string("/proc/sysvipc/shm") {
        // The kernel has no System V shared memory.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        table => table?,
    };
    Ok(table.lines().skip(1).filter_map(segment).collect())
}

/// Parses a line `key shmid perms size cpid lpid nattch uid ...` without `procfs`, which reads no table with a user
/// above 65535.
fn segment(line: &str) -> Option<Segment> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(Segment {
        key: words.first()?.parse().ok()?,
        id: words.get(1)?.parse().ok()?,
        attached: words.get(6)?.parse().ok()?,
        owner: words.get(7)?.parse().ok()?,
    })
}

#[expect(unsafe_code, reason = "nobody wraps this system call")]
fn remove(id: i32) -> io::Result<()> {
    // SAFETY: this operation takes no buffer.
    match unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) } {
        -1 => match io::Error::last_os_error() {
            // Somebody else has already removed it.
            gone if matches!(gone.raw_os_error(), Some(libc::EINVAL | libc::EIDRM)) => Ok(()),
            error => Err(error),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_segment_of_a_server_is_found() {
        let file = "123\n/d\n1700000000\n5432\n/r\n\n  4294967295    65539\nready   \n";
        assert_eq!(named_in(file), Some((-1, 65539)));
        assert_eq!(named_in("123\n/d\n1700000000\n5432\n"), None);
        let line = "        -1      65539   600                    56    11    11      2  1000  1000  1000  1000 \
                    1700000000 0 1700000000 4096 0";
        assert_eq!(segment(line), Some(Segment { key: -1, id: 65539, attached: 2, owner: 1000 }));
    }
}
