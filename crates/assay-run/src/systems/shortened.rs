//! Short forms of statements, for people.

use assay_model::thousands;

const LISTED: usize = 3;

const SHOWN: [usize; 2] = [300, 100];

/// A statement with one mark for each list of parameters, in MySQL's form for every product, with the first values of
/// each long list of values, and without its middle where it is still long.
pub fn shortened(sql: &str) -> String {
    let sql = without_numbers(sql);
    let mut short = String::with_capacity(sql.len().min(1024));
    for piece in sql.split_inclusive(['(', ')']) {
        let list = piece.strip_suffix(')').unwrap_or_default();
        let count = list.split(',').count();
        let marks = list.split(',').filter(|mark| mark.trim() == "?");
        if list.len() > "?, ?".len() && marks.count() == count {
            short.push_str("?, ...)");
        } else if count > 3 * LISTED && list.split(',').all(is_value) {
            let first: Vec<&str> = list.split(',').map(str::trim).take(LISTED).collect();
            let rest = thousands((count - LISTED) as u64);
            short.push_str(&format!("{}, ... {rest} more)", first.join(", ")));
        } else {
            short.push_str(piece);
        }
    }
    without_middle(short)
}

/// Whether it is a number or a text, judging by its first character.
fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || ['\'', '-', '?'].contains(&c))
        && text.len() <= 64
}

fn without_middle(text: String) -> String {
    let [begin, end] = SHOWN;
    let count = text.chars().count();
    if count <= begin + end + 20 {
        return text;
    }
    let first: String = text.chars().take(begin).collect();
    let last: String = text.chars().skip(count - end).collect();
    format!("{first} ... ({} characters) ... {last}", thousands((count - begin - end) as u64))
}

fn without_numbers(sql: &str) -> String {
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push('?');
        text.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn only_lists_of_parameters_are_shortened() {
        let sql = "SELECT SUM(k) FROM sbtest1 WHERE id IN (?,?, ?,?) AND k = ?";
        assert_eq!(shortened(sql), "SELECT SUM(k) FROM sbtest1 WHERE id IN (?, ...) AND k = ?");
        assert_eq!(shortened("id > $12 AND k IN ($1,$2,$3)"), "id > ? AND k IN (?, ...)");
        assert_eq!(shortened("SELECT LENGTH(c) FROM t"), "SELECT LENGTH(c) FROM t");
    }

    #[test]
    fn long_statements_are_told_in_short() {
        let list: Vec<String> = (1..=40_000).map(|it| it.to_string()).collect();
        let sql = format!("SELECT SUM(v) FROM item WHERE owner IN ({})", list.join(","));
        assert_eq!(
            shortened(&sql),
            "SELECT SUM(v) FROM item WHERE owner IN (1, 2, 3, ... 39,997 more)"
        );
        let unions = "SELECT 1 UNION ALL ".repeat(1000) + "SELECT 2";
        let short = shortened(&unions);
        assert!(short.chars().count() < 450 && short.ends_with("SELECT 2"), "{short}");
    }
}
