//! Finds the place in a user's workload file that a server's error is about.

use assay_plan::{NamedFile, Request};

use crate::workload;

/// Characters within which the pieces of a statement between its variables must follow each other.
const VARIABLE_MAX: usize = 80;

pub struct StatementLocator {
    files: Vec<(String, String)>,
}

impl StatementLocator {
    /// The files of a request; `None` if it has none, or if they are gone.
    pub fn new(request: &Request) -> Option<Self> {
        let named = request.workload.iter().map(|it| NamedFile::parse(it).path);
        let files: Vec<(String, String)> =
            named.filter_map(|path| Some((path.to_owned(), workload::text(path).ok()?))).collect();
        (!files.is_empty()).then_some(Self { files })
    }

    pub fn place(&self, error: &anyhow::Error) -> Option<String> {
        let (sql, said) = error.chain().find_map(|cause| match cause.downcast_ref()? {
            assay_load::LoadError::Prepare { sql, source } => Some((sql, source.to_string())),
            assay_load::LoadError::Query { sql, cause } => Some((sql, cause.to_string())),
            _ => None,
        })?;
        let line = |text: &str| line_of_column(text, sql, &said).or_else(|| line_of(text, sql));
        let found = |(path, text): &(String, String)| Some((path.clone(), line(text)?));
        let (path, line) = self.files.iter().find_map(found)?;
        Some(format!("`{path}`, line {line}"))
    }
}

fn line_of(text: &str, sql: &str) -> Option<usize> {
    let (text, lines) = collapsed(text);
    let (sql, _) = collapsed(sql.trim_end().trim_end_matches("..."));
    let pieces: Vec<&str> = sql.split(['?', '$']).map(after_number).collect();
    let (first, rest) = pieces.split_first()?;
    if first.trim().is_empty() {
        return None;
    }
    // The beginning may occur elsewhere too: variables are short, so the nearest pieces belong together.
    let found = text.match_indices(first.trim_end()).filter_map(|(begin, found)| {
        let (mut at, mut gaps) = (begin + found.len(), 0);
        for piece in rest {
            let piece = piece.trim();
            let near = text.get(at..)?.find(piece).filter(|gap| *gap <= VARIABLE_MAX)?;
            at += near + piece.len();
            gaps += near;
        }
        Some((gaps, begin))
    });
    let (_, begins) = found.min()?;
    lines.get(begins).copied()
}

fn after_number(piece: &str) -> &str {
    piece.trim_start_matches(|c: char| c.is_ascii_digit())
}

/// The text with single spaces and without escapes, and the line of each byte.
fn collapsed(text: &str) -> (String, Vec<usize>) {
    let (mut out, mut lines) = (String::new(), Vec::new());
    let mut line = 1;
    for c in text.chars() {
        let number = line;
        line += usize::from(c == '\n');
        let is_escape = c == '\\';
        let is_repeated = c.is_whitespace() && (out.is_empty() || out.ends_with(' '));
        if is_escape || is_repeated {
            continue;
        }
        out.push(if c.is_whitespace() { ' ' } else { c });
        lines.resize(out.len(), number);
    }
    out.truncate(out.trim_end().len());
    (out, lines)
}

fn line_of_column(text: &str, sql: &str, said: &str) -> Option<usize> {
    let rest = sql.strip_prefix("INSERT INTO ")?;
    let table = rest.get(..rest.find(" (")?)?.trim_matches(['`', '"']);
    let quoted = said.split(['\'', '"']).skip(1).step_by(2);
    let lines = || text.lines().map(str::trim).zip(1..);
    let headers = ["", "\"", "'"].map(|quote| format!("[table.{quote}{table}{quote}]"));
    let (_, header) = lines().find(|(line, _)| headers.iter().any(|it| line.starts_with(it)))?;
    let of_table = || {
        let after = lines().skip(header);
        after.take_while(|(line, _)| !line.starts_with("[table") && !line.starts_with("[test"))
    };
    let is_key = |line: &str, column: &str| {
        line.match_indices(column).any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            let after = line.get(at + column.len()..).unwrap_or_default();
            let starts = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            starts && after.trim_start_matches(['"', '\'']).trim_start().starts_with('=')
        })
    };
    let column = quoted.into_iter().find_map(|column| {
        of_table().find(|(line, _)| is_key(line, column)).map(|(_, number)| number)
    });
    column.or(Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[table.n]\nrows = 100\ncreate = \"CREATE TABLE n (id INT, v INT)\"\n\
                        columns = { id = { sequence = 1 },\n  w = { uniform = [1, 9] } }\n\
                        [test.a]\nsteps = [\"SELECT v FROM n WHERE id = :id\"]\n\
                        [test.b]\nsteps = [\"\"\"\nSELECT v\n  FROM n WHERE id = :id AND \\\"w\\\" = 1\"\"\"]\n";

    #[test]
    fn a_statement_is_found_by_what_stands_between_its_variables() {
        assert_eq!(line_of(TEXT, "SELECT v FROM n WHERE id = ?"), Some(7));
        assert_eq!(line_of(TEXT, "SELECT v FROM n WHERE id = $1 AND \"w\" = 1"), Some(10));
        assert_eq!(line_of(TEXT, "CREATE TABLE n (id ..."), Some(3));
        assert_eq!(line_of(TEXT, "SELECT x"), None);
        assert_eq!(line_of(TEXT, "?"), None);
    }

    #[test]
    fn a_column_is_found_in_its_table() {
        let sql = "INSERT INTO `n` (`id`, `w`) VALUES (1,6) ...";
        assert_eq!(line_of_column(TEXT, sql, "Unknown column 'w' in 'INSERT INTO'"), Some(5));
        let said = "column \"w\" of relation \"n\" does not exist";
        assert_eq!(line_of_column(TEXT, "INSERT INTO \"n\" (\"id\") VALUES", said), Some(5));
        assert_eq!(line_of_column(TEXT, sql, "Duplicate entry '1' for key 'PRIMARY'"), Some(1));
        assert_eq!(line_of_column(TEXT, "SELECT 1", "x"), None);
    }
}
