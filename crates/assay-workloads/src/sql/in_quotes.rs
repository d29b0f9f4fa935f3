//! Variables in strings, quoted names and dollar quotes.

use std::ops::Range;

use assay_model::Dialect;

use super::{Use, leading_name, part};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// `'...'`, or another string in these quotes.
    Text,
    /// A string with backslash escapes, such as `E'...'`.
    Escaped,
    /// `"..."`, a Postgres name.
    Name,
    /// `$tag$...$tag$`, a Postgres text that is often code.
    Dollar,
}

impl Quotes {
    /// `None` if the part is unquoted or a comment.
    fn of(part: &str) -> Option<Self> {
        Some(match part.chars().next()? {
            '\'' => Self::Text,
            '"' | '`' => Self::Name,
            'e' | 'E' if part.get(1..)?.starts_with('\'') => Self::Escaped,
            '$' => Self::Dollar,
            _ => return None,
        })
    }
}

fn quoted_parts(text: &str, syntax: Dialect) -> Vec<(Range<usize>, Quotes)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some((length, _)) = part(rest, syntax) else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        let quotes = rest.get(..length).and_then(Quotes::of);
        found.extend(quotes.map(|quotes| (at..at + length, quotes)));
        at += length;
    }
    found
}

/// The `:name` in strings, quoted names and dollar quotes, in order. Most of them are no variables.
#[must_use]
pub fn quoted_uses(text: &str, syntax: Dialect) -> Vec<(Use<'_>, Quotes)> {
    let mut found = Vec::new();
    for (place, quotes) in quoted_parts(text, syntax) {
        let part = text.get(place.clone()).unwrap_or_default();
        for (colon, _) in part.match_indices(':') {
            let before = part.get(..colon).unwrap_or_default();
            let name = leading_name(part.get(colon + 1..).unwrap_or_default());
            if !name.is_empty() && !before.ends_with(':') {
                let start = place.start + colon;
                found.push((Use { name, span: start..start + 1 + name.len() }, quotes));
            }
        }
    }
    found
}

/// The quotes around each variable of a Postgres statement, given the text before, between and after its variables.
#[must_use]
pub fn surrounding_quotes(pieces: &[String]) -> Vec<Option<Quotes>> {
    let mut text = String::new();
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        text += piece;
        places.push(text.len());
        // A digit begins and ends neither a string nor a comment.
        text.push('0');
    }
    places.pop();
    let mut parts = quoted_parts(&text, Dialect::Postgres).into_iter().peekable();
    let quotes = |place: usize| {
        while parts.next_if(|(part, _)| part.end <= place).is_some() {}
        parts.peek().filter(|(part, _)| part.contains(&place)).map(|(_, quotes)| *quotes)
    };
    places.into_iter().map(quotes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::statement;

    #[test]
    fn variables_in_quotes_are_found_with_their_quotes() {
        let text =
            "SELECT ':a b', E'\\'x:c', \":d\", $f$ :e; $f$, 'x::g 12:30 :' -- :h\n/* ':i' */, :j";
        let found = quoted_uses(text, Dialect::Postgres);
        let names: Vec<_> = found.iter().map(|(it, quotes)| (it.name, *quotes)).collect();
        use Quotes::{Dollar, Escaped, Name, Text};
        assert_eq!(names, [("a", Text), ("c", Escaped), ("d", Name), ("e", Dollar)]);
        let spans: Vec<_> = found.iter().map(|(it, _)| (it.span.clone(), 0)).collect();
        let around = surrounding_quotes(&statement(text, &spans).pieces);
        assert_eq!(around, [Some(Text), Some(Escaped), Some(Name), Some(Dollar)]);
        let outside = ["SELECT ", "+", ", 'a', \"b\" || ", ""].map(str::to_owned);
        assert_eq!(surrounding_quotes(&outside), [None; 3]);
        assert_eq!(surrounding_quotes(&["COMMIT".to_owned()]), []);
    }
}
