//! The end of a server's log, for messages.

use std::path::Path;

use fs_err as fs;

/// The relevant lines of a log, indented: its last errors, or its last lines if it has no errors. After its errors, a
/// failing server logs much that does not matter.
pub(crate) fn log_tail(log: &Path) -> String {
    tail_of(&String::from_utf8_lossy(&fs::read(log).unwrap_or_default()))
}

fn tail_of(text: &str) -> String {
    const ERRORS: usize = 4;
    const LINES: usize = 12;
    let is_error = |line: &&str| ["[ERROR]", "FATAL:", "PANIC:"].iter().any(|it| line.contains(it));
    let last = |lines: Vec<&str>, most: usize| {
        let from = lines.len().saturating_sub(most);
        let message = lines.into_iter().skip(from).map(|line| format!("  {line}"));
        message.collect::<Vec<_>>().join("\n")
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let errors: Vec<_> = lines.clone().filter(is_error).collect();
    if errors.is_empty() { last(lines.collect(), LINES) } else { last(errors, ERRORS) }
}

#[cfg(test)]
mod tests {
    use super::tail_of;

    #[test]
    fn a_log_is_summarised_by_its_errors() {
        let noise = "[Note] tidying up\n".repeat(20);
        let text = format!("[ERROR] no memory\n{noise}[ERROR] aborting\n");
        assert_eq!(tail_of(&text), "  [ERROR] no memory\n  [ERROR] aborting");
        assert_eq!(tail_of(&noise).lines().count(), 12);
        let crash = format!("[ERROR] error 28\n[ERROR] mysqld got signal 6\n{noise}");
        assert_eq!(tail_of(&crash), "  [ERROR] error 28\n  [ERROR] mysqld got signal 6");
        assert_eq!(tail_of(""), "");
    }
}
