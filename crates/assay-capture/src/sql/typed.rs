//! Typed literals, such as `DATE '2026-01-31'`.

use assay_model::Dialect;

use super::prefix::{Prefix, prefix};
use super::token::{Kind, Token};
use super::words::is_unit;

/// One-word Postgres types. An alias or a function may have another name.
const TYPES: [&str; 50] = [
    "BIGINT",
    "BOOL",
    "BOOLEAN",
    "BOX",
    "BPCHAR",
    "BYTEA",
    "CHAR",
    "CIDR",
    "CIRCLE",
    "CITEXT",
    "DATE",
    "DATERANGE",
    "DECIMAL",
    "FLOAT",
    "FLOAT4",
    "FLOAT8",
    "HSTORE",
    "INET",
    "INT",
    "INT2",
    "INT4",
    "INT4RANGE",
    "INT8",
    "INT8RANGE",
    "INTEGER",
    "INTERVAL",
    "JSON",
    "JSONB",
    "JSONPATH",
    "LSEG",
    "LTREE",
    "MACADDR",
    "MONEY",
    "NUMERIC",
    "NUMRANGE",
    "OID",
    "PG_LSN",
    "POINT",
    "POLYGON",
    "REAL",
    "REGCLASS",
    "SMALLINT",
    "TEXT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TIMETZ",
    "TSRANGE",
    "UUID",
    "VARCHAR",
];

/// More of them, in a separate list only for layout.
const MORE: [&str; 6] = ["MACADDR8", "PATH", "TSQUERY", "TSTZRANGE", "TSVECTOR", "XML"];

/// Types that may have a precision and a zone.
const TIMES: [&str; 2] = ["TIME", "TIMESTAMP"];

/// Longest type name in words and signs: `timestamp ( 3 ) with time zone`.
const LONGEST: usize = 7;

pub(crate) struct Typed {
    pub(crate) literal: usize,
    pub(crate) before: &'static str,
    pub(crate) after: String,
}

pub(crate) fn typed(text: &[u8], tokens: &[Token], at: usize, dialect: Dialect) -> Option<Typed> {
    match dialect {
        Dialect::MySql => of_mysql(text, tokens, at),
        Dialect::Postgres => of_postgres(text, tokens, at),
    }
}

fn of_mysql(text: &[u8], tokens: &[Token], at: usize) -> Option<Typed> {
    let (word, next) = (tokens.get(at)?.of(text), tokens.get(at + 1)?);
    let cast = |to: &str| Typed { literal: at + 1, before: "CAST(", after: format!(" AS {to})") };
    if matches!(next.kind, Kind::Text | Kind::Mark) {
        let types = [("DATE", "DATE"), ("TIME", "TIME"), ("TIMESTAMP", "DATETIME")];
        let named = types.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        if let Some((_, to)) = named {
            return Some(cast(to));
        }
    }
    if !matches!(next.kind, Kind::Text | Kind::Hex) {
        return None;
    }
    match prefix(word, next.of(text))? {
        Prefix::Bytes => Some(Typed { literal: at + 1, before: "", after: String::new() }),
        // The server interprets the bytes according to the prefix.
        Prefix::Set | Prefix::Nothing => {
            let set = String::from_utf8_lossy(word.get(1..)?).to_ascii_lowercase();
            let after = format!(" AS BINARY) USING {set})");
            Some(Typed { literal: at + 1, before: "CONVERT(CAST(", after })
        }
    }
}

fn of_postgres(text: &[u8], tokens: &[Token], at: usize) -> Option<Typed> {
    let upper = |at: usize| {
        let token = tokens.get(at).filter(|it| it.kind == Kind::Word)?;
        Some(String::from_utf8_lossy(token.of(text)).to_ascii_uppercase())
    };
    let is = |at: usize, word: &str| upper(at).is_some_and(|it| it == word);
    let is_sign = |at: usize, sign: &[u8]| tokens.get(at).is_some_and(|it| it.of(text) == sign);
    let first = upper(at)?;
    let mut end = at + 1;
    if TIMES.contains(&first.as_str()) {
        let is_sized = is_sign(end, b"(") && is_sign(end + 2, b")");
        end += if is_sized { 3 } else { 0 };
        let is_zone = is(end, "WITH") || is(end, "WITHOUT");
        end += if is_zone && is(end + 1, "TIME") && is(end + 2, "ZONE") { 3 } else { 0 };
    } else if (first == "DOUBLE" && is(end, "PRECISION"))
        || (first == "CHARACTER" && is(end, "VARYING"))
    {
        end += 1;
    } else if TYPES.binary_search(&first.as_str()).is_err() && !MORE.contains(&first.as_str()) {
        return None;
    }
    let is_literal =
        |it: &Token| matches!(it.kind, Kind::Text | Kind::Escaped | Kind::Dollar | Kind::Mark);
    tokens.get(end).filter(|it| is_literal(it))?;
    // `INTERVAL '5' day` takes no parameter.
    let follows = tokens.get(end + 1).filter(|it| it.kind == Kind::Word);
    if first == "INTERVAL" && follows.is_some_and(|it| is_unit(it.of(text))) {
        return None;
    }
    // The original words, except for those normalized elsewhere.
    let mut name = String::new();
    for token in tokens.get(at..end)?.iter().take(LONGEST) {
        let part = String::from_utf8_lossy(token.of(text)).into_owned();
        let is_tight = token.kind == Kind::Symbol || name.ends_with('(');
        name.push_str(if name.is_empty() || is_tight { "" } else { " " });
        let is_word = ["DATE", "TIME", "TIMESTAMP", "INTERVAL"].contains(&first.as_str());
        name.push_str(&if is_word { part.to_ascii_uppercase() } else { part });
    }
    Some(Typed { literal: end, before: "CAST(", after: format!(" AS {name})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted() {
        assert!(TYPES.windows(2).all(|pair| pair[0] < pair[1]), "{TYPES:?}");
    }
}
