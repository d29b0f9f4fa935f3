//! Recognizes files that are no statement logs, with advice on what to use instead.

use crate::reader::lines;
use crate::sql::token::find;
use crate::time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignFile {
    pub what: &'static str,
    pub hint: &'static str,
}

struct ForeignKind {
    what: &'static str,
    hint: &'static str,
    is_line: fn(&[u8]) -> bool,
}

const COMPRESSED: &str = "assay reads plain and gzipped files";

const ARCHIVE: &str = "unpack it, and name the files in it";

const BINARY: [(&[u8], ForeignFile); 13] = [
    (
        b"BZh",
        ForeignFile { what: "compressed with bzip2", hint: "unpack it: `bunzip2 --keep FILE`" },
    ),
    (
        b"\xfd7zXZ\0",
        ForeignFile { what: "compressed with xz", hint: "unpack it: `unxz --keep FILE`" },
    ),
    (
        b"\x28\xb5\x2f\xfd",
        ForeignFile { what: "compressed with zstd", hint: "unpack it: `unzstd FILE`" },
    ),
    (
        b"\x04\x22\x4d\x18",
        ForeignFile { what: "compressed with lz4", hint: "unpack it: `unlz4 FILE`" },
    ),
    (b"\x1f\x9d", ForeignFile { what: "compressed with compress", hint: COMPRESSED }),
    (b"\x1f\x8b", ForeignFile { what: "gzipped twice", hint: "unpack it once: `gunzip FILE`" }),
    (b"PK\x03\x04", ForeignFile { what: "a ZIP archive", hint: ARCHIVE }),
    (b"7z\xbc\xaf", ForeignFile { what: "a 7z archive", hint: ARCHIVE }),
    (b"\xfebin", ForeignFile { what: "a binary log", hint: BINARY_LOG }),
    (b"PGDMP", ForeignFile { what: "a dump of `pg_dump`", hint: "`--schema` names a dump" }),
    (b"\xd4\xc3\xb2\xa1", ForeignFile { what: "a capture of packets", hint: PACKETS }),
    (b"\xa1\xb2\xc3\xd4", ForeignFile { what: "a capture of packets", hint: PACKETS }),
    (b"\x0a\x0d\x0d\x0a", ForeignFile { what: "a capture of packets", hint: PACKETS }),
];

const BINARY_LOG: &str =
    "a binary log has changes only, many of them as rows; name a slow or a general query log";

const PACKETS: &str = "`pt-query-digest --type tcpdump --output slowlog` makes a slow query log of what \
                       `tcpdump -x -tttt` prints; name that";

/// Kinds of text that are never statement logs.
const TEXTS: [ForeignKind; 7] = [
    ForeignKind {
        what: "a report of pt-query-digest, which has one example of each statement",
        hint: "name the slow query log that the report was made of",
        is_line: is_digest_report,
    },
    ForeignKind {
        what: "a report of mysqldumpslow, which has no values",
        hint: "name the slow query log that the report was made of",
        is_line: |line| line.starts_with(b"Count: ") && has(line, b"Time=") && has(line, b"Lock="),
    },
    ForeignKind {
        what: "text of mysqlbinlog",
        hint: BINARY_LOG,
        is_line: |line| {
            line.starts_with(b"#") && has(line, b" server id ") && has(line, b"end_log_pos ")
        },
    },
    ForeignKind { what: "text of tcpdump", hint: PACKETS, is_line: is_packet },
    ForeignKind {
        what: "a page in HTML",
        hint: "reports have no log; name the log that the report was made of",
        is_line: |line| {
            let start = line.get(..14).unwrap_or(line).to_ascii_lowercase();
            start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
        },
    },
    ForeignKind {
        what: "a log of an audit plugin",
        hint: "name a slow or a general query log of the server",
        is_line: |line| {
            line.starts_with(b"<AUDIT_RECORD")
                || has(line, b"\"audit_record\"")
                || line.get(..8).is_some_and(|it| it.iter().all(u8::is_ascii_digit))
                    && has(line, b",QUERY,")
        },
    },
    ForeignKind {
        what: "a log of pgbouncer",
        hint: "it has no statements; name the log of Postgres",
        is_line: |line| has(line, b" LOG C-0x") || has(line, b" LOG S-0x"),
    },
];

/// Kinds of JSON lines that wrap a log, and kinds of text around the lines of a log. They are checked after the
/// formats: a statement may contain anything.
const PACKED: [ForeignKind; 9] = [
    ForeignKind {
        what: "a log of Google Cloud",
        hint: "take the lines of the server's log out of it: `jq -r '.textPayload // empty'`, or `jq -r \
               '.[].textPayload // empty'` if it is one list",
        is_line: |line| has(line, b"\"textPayload\"") || has(line, b"\"jsonPayload\""),
    },
    ForeignKind {
        what: "a log of Amazon CloudWatch",
        hint: "take the lines of the server's log out of it: `jq -r '.events[].message'`, or `.LogFileData` of \
               `aws rds download-db-log-file-portion`",
        is_line: |line| {
            has(line, b"\"logStreamName\"")
                || has(line, b"\"ingestionTime\"")
                || has(line, b"\"LogFileData\"")
        },
    },
    ForeignKind {
        what: "a log of Azure",
        hint: "take the lines of the server's log out of it: `jq -r .properties.message`",
        is_line: |line| has(line, b"\"errorLevel\"") || has(line, b"\"LogicalServerName\""),
    },
    ForeignKind {
        what: "a log of a container as JSON",
        hint: "take the lines of the server's log out of it: `jq -j .log`, or `docker logs`",
        is_line: |line| line.starts_with(b"{\"log\":") && has(line, b"\"stream\":"),
    },
    ForeignKind {
        what: "a log of a container, with time and stream before each line",
        hint: "take them away: `cut -d' ' -f4-`",
        is_line: |line| has(line, b"Z stderr F ") || has(line, b"Z stdout F "),
    },
    ForeignKind {
        what: "a log of the journal of systemd as JSON",
        hint: "take the lines of the server's log out of it: `jq -r .MESSAGE`, or `journalctl -o cat`",
        is_line: |line| has(line, b"\"__REALTIME_TIMESTAMP\""),
    },
    ForeignKind {
        what: "an error log of MySQL or MariaDB",
        hint: "it has no statements; name a slow or a general query log",
        is_line: |line| {
            let begins = line.first().is_some_and(u8::is_ascii_digit);
            let is_level = [b"[Note]".as_slice(), b"[System]", b"[Warning]", b"[ERROR]"];
            begins && is_level.iter().any(|level| has(line, level))
        },
    },
    ForeignKind {
        what: "syslog around another log",
        hint: "take away what syslog writes before each line, such as `sed -E 's/^.*[a-z]+(\\[[0-9]+\\])?: //'`; \
               assay reads syslog of Postgres, whose lines have `[1-1]` after the number of the process",
        is_line: is_syslog,
    },
    ForeignKind {
        what: "JSON with other keys than those of a log of Postgres",
        hint: "`jq -r` takes the lines of the server's log out of it",
        is_line: |line| line.starts_with(b"{\"") || line == b"[" || line.starts_with(b"[{"),
    },
];

pub(crate) fn binary(head: &[u8]) -> Option<ForeignFile> {
    if head.get(257..262) == Some(b"ustar") {
        return Some(ForeignFile { what: "a tar archive", hint: ARCHIVE });
    }
    BINARY.iter().find(|(begin, _)| head.starts_with(begin)).map(|(_, foreign)| *foreign)
}

/// Recognizes a text that is never a statement log.
pub(crate) fn foreign(head: &[u8]) -> Option<ForeignFile> {
    one_of(&TEXTS, head)
}

/// Recognizes a file in none of the log formats.
pub(crate) fn packed(head: &[u8]) -> Option<ForeignFile> {
    one_of(&PACKED, head)
}

fn one_of(kinds: &[ForeignKind], head: &[u8]) -> Option<ForeignFile> {
    let has_line =
        |kind: &&ForeignKind| lines(head).any(|line| (kind.is_line)(line.trim_ascii_start()));
    kinds.iter().find(has_line).map(|kind| ForeignFile { what: kind.what, hint: kind.hint })
}

fn has(line: &[u8], part: &[u8]) -> bool {
    find(line, part).is_some()
}

/// `# Overall: 10 total, 2 unique, ...`, `# Query 1: 0 QPS, ...`, and the JSON of the same program.
fn is_digest_report(line: &[u8]) -> bool {
    let is_query = || {
        let rest = line.strip_prefix(b"# Query ").or(line.strip_prefix(b"# Item "));
        rest.is_some_and(|it| it.first().is_some_and(u8::is_ascii_digit) && has(it, b" QPS"))
    };
    line.starts_with(b"# Overall: ") && has(line, b" unique")
        || is_query()
        || line.starts_with(b"{") && has(line, b"\"classes\"") && has(line, b"\"fingerprint\"")
}

/// `12:34:56.789012 IP 10.0.0.1.3306 > 10.0.0.2.5555: Flags [P.]`, optionally with a date, and the following bytes.
fn is_packet(line: &[u8]) -> bool {
    let is_address = |part: &[u8]| has(line, part) && has(line, b" > ");
    line.first().is_some_and(u8::is_ascii_digit)
        && (is_address(b" IP ") || is_address(b" IP6 "))
        && (has(line, b": Flags [") || has(line, b": tcp ") || has(line, b": P "))
}

/// `Nov 28 10:00:00 host mysqld[77]: ...`, or with a time such as `2026-11-28T10:00:00+00:00`.
fn is_syslog(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').skip(1).take(6);
    time::is_of_syslog(line) && words.any(|word| word.ends_with(b":") && word.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_logs_are_named() {
        for (head, expected) in [
            ("BZh91AY", "bzip2"),
            ("PK\u{3}\u{4}", "ZIP"),
            (
                "\n# 120ms user time\n# Overall: 10 total, 2 unique, 0 QPS, 0x concurrency ____\nSELECT 1\\G\n",
                "pt-query-digest",
            ),
            ("# Query 1: 0 QPS, 0x concurrency, ID 0xAAAA at byte 0 ____\n", "pt-query-digest"),
            (
                "Count: 1  Time=0.00s (0s)  Lock=0.00s (0s)  Rows=1.0 (1), a[a]@b\n  SELECT N\n",
                "mysqldumpslow",
            ),
            (
                "/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n#261127 10:00:00 server id 1  end_log_pos 126 CRC32\n",
                "mysqlbinlog",
            ),
            (
                "2026-11-28 10:00:00.123456 IP 10.0.0.1.3306 > 10.0.0.2.5555: tcp 77\n\t0x0000:  4508\n",
                "tcpdump",
            ),
            ("<!DOCTYPE html>\n<html>", "HTML"),
            ("20261128 10:00:00,db1,app,localhost,7,99,QUERY,shop,'SELECT 1',0\n", "audit"),
        ] {
            let found = binary(head.as_bytes()).or(foreign(head.as_bytes()));
            let found = found.unwrap_or_else(|| panic!("{head}"));
            assert!(found.what.contains(expected), "{found:?}");
        }
        for (head, expected) in [
            ("{\"textPayload\":\"LOG:  x\",\"insertId\":\"a\"}\n", "Google"),
            ("{\"log\":\"LOG:  x\\n\",\"stream\":\"stderr\",\"time\":\"x\"}\n", "container"),
            ("2026-11-28T10:00:00.1Z stderr F LOG:  x\n", "container"),
            ("Nov 28 10:00:00 db1 mysqld[77]: ready\n", "syslog"),
            ("<30>Nov  8 10:00:00 db1 app: SELECT 1\n", "syslog"),
            ("2026-11-28T10:00:00.123456+00:00 db1 app[7]: SELECT 1\n", "syslog"),
            ("2026-11-28T10:00:00.123456Z 0 [System] [MY-010116] ready\n", "error log"),
            ("{\"a\": 1}\n", "JSON"),
        ] {
            assert_eq!(foreign(head.as_bytes()), None, "{head}");
            let found = packed(head.as_bytes()).unwrap_or_else(|| panic!("{head}"));
            assert!(found.what.contains(expected), "{found:?}");
        }
        for head in ["SELECT 1;\n", "# Time: 261128 10:00:00\n", "Dear all,\n"] {
            assert_eq!(foreign(head.as_bytes()).or(packed(head.as_bytes())), None, "{head}");
        }
    }
}
