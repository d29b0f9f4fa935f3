//! Wraps lines at spaces.

/// Continuation lines are indented further.
pub(crate) fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.trim_end().to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut length = indent;
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let word_length = word.chars().count();
        if length > indent && length + 1 + word_length > width {
            lines.push(std::mem::replace(&mut current, " ".repeat(indent + 2)));
            length = indent + 2;
        } else if length > indent {
            current.push(' ');
            length += 1;
        }
        current.push_str(word);
        length += word_length;
    }
    lines.push(current);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrap("  a bb cc 12%, dd", 10), ["  a bb cc", "    12%,", "    dd"]);
        assert_eq!(wrap("short", 10), ["short"]);
        assert_eq!(wrap("longer_than_all_of_it", 10), ["longer_than_all_of_it"]);
    }
}
