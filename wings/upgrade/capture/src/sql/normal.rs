//! The normal form of a statement: literals become parameters, white space and keyword case are normalized, comments
//! are removed.

use std::ops::Range;

use assay_model::Dialect;

use super::token::{CharsetPrefix, SqlToken, TokenKind, TokenView, prefix};
use super::value::Literal;
use super::words::{is_before_value, is_name_too, is_sized_type, is_unit, keyword};

/// Marker of a value.
pub(crate) const SCALAR: u8 = 1;

/// Marker of the values of a list, as in `IN (...)`.
pub(crate) const LIST: u8 = 2;

/// Begins the one row that represents all rows of `VALUES`.
pub(crate) const ROWS: u8 = 3;

pub(crate) const ROWS_END: u8 = 4;

/// A literal: the index of its token, and whether a minus precedes it.
#[derive(Debug, Clone, Copy)]
struct Piece {
    token: usize,
    is_negative: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Normalizer {
    text: Vec<u8>,
    pieces: Vec<Piece>,
    params: Vec<(Range<usize>, bool)>,
    rows: usize,
}

pub(crate) struct NormalParam<'n> {
    pieces: &'n [Piece],
    /// It is a list, which may have one value.
    pub(crate) is_list: bool,
}

impl NormalParam<'_> {
    pub(crate) fn literals<'t>(
        &self,
        tokens: &'t [SqlToken],
        text: &'t [u8],
    ) -> impl Iterator<Item = Literal<'t>> {
        self.pieces.iter().filter_map(move |piece| {
            Some(Literal::new(tokens.get(piece.token)?, text, piece.is_negative))
        })
    }
}

impl Normalizer {
    pub(crate) fn normalize(&mut self, text: &[u8], tokens: &[SqlToken], dialect: Dialect) {
        self.text.clear();
        self.pieces.clear();
        self.params.clear();
        self.rows = 0;
        let mut pass = Pass {
            out: self,
            view: TokenView { text, tokens },
            dialect,
            grouped: grouped(text, tokens),
            stack: vec![ClauseContext::default()],
            previous: None,
            is_plain: false,
        };
        pass.span(0..tokens.len());
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Number of rows that `ROWS` represents; 0 without them.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn longest_list(&self) -> usize {
        self.params.iter().map(|(place, _)| place.len()).max().unwrap_or_default()
    }

    /// The parameters in order, including those of all rows.
    pub(crate) fn params(&self) -> impl Iterator<Item = NormalParam<'_>> {
        self.params.iter().map(|(place, is_list)| NormalParam {
            pieces: self.pieces.get(place.clone()).unwrap_or_default(),
            is_list: *is_list,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Clause {
    Select,
    /// `ORDER BY` or `GROUP BY`.
    By,
    Store,
    #[default]
    Other,
}

#[derive(Debug, Clone, Copy, Default)]
struct ClauseContext {
    clause: Clause,
    /// Literals are kept because of an enclosing bracket.
    stays: bool,
    is_cast: bool,
    /// The tokens form a type.
    is_type: bool,
    /// The query groups rows: its selected, grouping and ordering expressions must then be equal to the letter.
    is_grouped: bool,
}

/// Indexes of each `SELECT` whose query has `GROUP BY` or `DISTINCT`, sorted.
fn grouped(text: &[u8], tokens: &[SqlToken]) -> Vec<usize> {
    let mut queries: Vec<Option<usize>> = vec![None];
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token.kind, token.bytes(text)) {
            (TokenKind::Symbol, b"(" | b"[") => queries.push(None),
            (TokenKind::Symbol, b")" | b"]") if queries.len() > 1 => drop(queries.pop()),
            (TokenKind::Word, word) => match keyword(word) {
                Some("SELECT") => queries.last_mut().into_iter().for_each(|it| *it = Some(at)),
                Some("GROUP" | "DISTINCT") => found.extend(queries.last().copied().flatten()),
                _ => {}
            },
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

struct Pass<'p> {
    out: &'p mut Normalizer,
    view: TokenView<'p>,
    dialect: Dialect,
    grouped: Vec<usize>,
    stack: Vec<ClauseContext>,
    /// Index of the last written token, and its keyword.
    previous: Option<(usize, Option<&'static str>)>,
    /// Do not look for rows: inside a row, or its rows differ.
    is_plain: bool,
}

impl Pass<'_> {
    fn span(&mut self, span: Range<usize>) {
        let mut at = span.start;
        while at < span.end {
            at = self.token(at).max(at + 1);
        }
    }

    fn context(&self) -> ClauseContext {
        self.stack.last().copied().unwrap_or_default()
    }

    fn set(&mut self, change: impl FnOnce(&mut ClauseContext)) {
        if let Some(last) = self.stack.last_mut() {
            change(last);
        }
    }

    /// Writes the token at this index. Returns the next index.
    fn token(&mut self, at: usize) -> usize {
        let Some(kind) = self.view.kind(at) else { return at + 1 };
        match kind {
            TokenKind::Word => self.word(at),
            TokenKind::Symbol => self.symbol(at),
            TokenKind::Name | TokenKind::Hint | TokenKind::Fixed => {
                self.write(at, None);
                at + 1
            }
            _ => self.literal(at, None),
        }
    }

    fn word(&mut self, at: usize) -> usize {
        let is_part = self.previous.is_some_and(|(before, _)| self.view.is_symbol(before, b"."));
        let key = if is_part { None } else { keyword(self.view.bytes(at)) };
        if let Some(next) = self.typed(at, key) {
            return next;
        }
        let Some(key) = key else {
            self.write(at, None);
            return at + 1;
        };
        let is_value = match key {
            "TRUE" | "FALSE" => true,
            "NULL" => self.context().clause == Clause::Store,
            _ => false,
        };
        if is_value && !self.context().is_type {
            return self.literal(at, None);
        }
        match key {
            "SELECT" => {
                let stays = self.grouped.binary_search(&at).is_ok();
                self.set(|it| {
                    (it.clause, it.stays, it.is_grouped) = (Clause::Select, stays, stays);
                });
            }
            "BY" => {
                self.set(|it| (it.clause, it.stays) = (Clause::By, it.is_grouped));
            }
            "SET" | "VALUES" | "VALUE" => {
                self.set(|it| (it.clause, it.stays) = (Clause::Store, false));
            }
            "FROM" | "WHERE" | "HAVING" | "LIMIT" | "OFFSET" | "UNION" | "EXCEPT" | "INTERSECT"
            | "ON" | "FOR" | "ROWS" | "USING" | "INTO" | "SEPARATOR" | "FETCH" | "RETURNING" => {
                self.set(|it| (it.clause, it.stays) = (Clause::Other, false));
            }
            _ => {}
        }
        let is_cast = self.context().is_cast;
        self.set(|it| it.is_type = key == "AS" || (it.is_type && is_cast));
        self.write(at, Some(key));
        at + 1
    }

    /// Writes a literal with its type, such as `DATE '2026-01-31'`, so that its text can be a parameter.
    fn typed(&mut self, at: usize, key: Option<&str>) -> Option<usize> {
        let is_part = self.previous.is_some_and(|(before, _)| self.view.is_symbol(before, b"."));
        if is_part || self.context().stays || key.is_some_and(|it| it != "INTERVAL") {
            return None;
        }
        let TypedLiteral { literal, before, after } = typed(self.view, at, self.dialect)?;
        // A prefix belongs to the literal: both are kept together.
        if self.dialect == Dialect::MySql
            && self.view.bytes(at).starts_with(b"_")
            && self.stays(literal, at)
        {
            return None;
        }
        self.space(at, None);
        self.out.text.extend_from_slice(before.as_bytes());
        self.push_param(literal..literal + 1, false, false);
        self.out.text.extend_from_slice(after.as_bytes());
        self.previous = Some((literal, None));
        Some(literal + 1)
    }

    fn symbol(&mut self, at: usize) -> usize {
        match self.view.bytes(at) {
            b"(" | b"[" => return self.open(at),
            b")" | b"]" => {
                if self.stack.len() > 1 {
                    self.stack.pop();
                }
            }
            b"::" => self.set(|it| it.is_type = true),
            b"," => {
                let is_cast = self.context().is_cast;
                self.set(|it| it.is_type = is_cast);
            }
            b"." => {}
            b"-" | b"+" if self.is_sign(at) => return self.literal(at + 1, Some(at)),
            _ => self.set(|it| it.is_type = false),
        }
        self.write(at, None);
        at + 1
    }

    /// Whether a minus or plus belongs to the number after it.
    fn is_sign(&self, at: usize) -> bool {
        let follows = self.view.kind(at + 1) == Some(TokenKind::Number);
        follows
            && match self.previous {
                None => true,
                Some((_, Some(key))) => is_before_value(key),
                Some((before, None)) => {
                    let is_end =
                        self.view.is_symbol(before, b")") || self.view.is_symbol(before, b"]");
                    self.view.kind(before) == Some(TokenKind::Symbol) && !is_end
                }
            }
    }

    fn open(&mut self, at: usize) -> usize {
        let before = self.previous;
        let key = before.and_then(|(_, key)| key);
        let follows_name = before.is_some_and(|(it, key)| {
            key.is_none() && matches!(self.view.kind(it), Some(TokenKind::Word | TokenKind::Name))
        });
        let outer = self.context();
        let is_subscript = self.view.is_symbol(at, b"[");
        if matches!(key, Some("VALUES" | "VALUE"))
            && !is_subscript
            && let Some(next) = self.rows(at)
        {
            return next;
        }
        let is_sized = outer.is_type
            && before.is_some_and(|(it, _)| is_sized_type(self.view.bytes(it)))
            && self.view.kind(at + 1) == Some(TokenKind::Number);
        let inner = ClauseContext {
            clause: if outer.clause == Clause::Store { Clause::Store } else { Clause::Other },
            stays: outer.stays || is_sized || (is_subscript && key != Some("ARRAY")),
            is_cast: matches!(key, Some("CAST" | "CONVERT")),
            is_type: false,
            is_grouped: outer.is_grouped,
        };
        self.set(|it| it.is_type &= is_sized);
        self.write(at, None);
        self.stack.push(inner);
        let is_list = key == Some("IN") || (key == Some("ARRAY") && is_subscript);
        if is_list
            && !follows_name
            && !inner.stays
            && let Some(end) = self.list(at + 1)
        {
            self.push_param(at + 1..end, true, false);
            self.previous = Some((end.saturating_sub(1), None));
            return end;
        }
        if key == Some("IN")
            && self.view.is_symbol(at + 1, b"(")
            && let Some(next) = self.rows(at + 1)
        {
            return next;
        }
        at + 1
    }

    /// The end of a list of literals that begins here: the index of the closing bracket.
    fn list(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            if (self.view.is_symbol(at, b"-") || self.view.is_symbol(at, b"+"))
                && self.view.kind(at + 1) == Some(TokenKind::Number)
            {
                at += 1;
            }
            let token = self.view.tokens.get(at)?;
            let is_word = token.kind == TokenKind::Word
                && matches!(keyword(token.bytes(self.view.text)), Some("NULL" | "TRUE" | "FALSE"));
            if !token.is_value() && !is_word {
                return None;
            }
            at += 1;
            match self.view.bytes(at) {
                b"," => at += 1,
                b")" | b"]" => return Some(at),
                _ => return None,
            }
        }
    }

    /// Writes rows in brackets as one, if all have the same normal form. Returns the next index.
    fn rows(&mut self, from: usize) -> Option<usize> {
        if self.is_plain || self.out.rows > 0 {
            return None;
        }
        self.is_plain = true;
        let (text, pieces, params) =
            (self.out.text.len(), self.out.pieces.len(), self.out.params.len());
        let (depth, before) = (self.stack.len(), self.previous);
        self.space(from, None);
        self.out.text.push(ROWS);
        let start = self.out.text.len();
        let (mut at, mut count, mut first_end) = (from, 0, start);
        while let Some(end) = self.closing(at) {
            let begin = self.out.text.len();
            self.previous = None;
            self.stack.push(ClauseContext { clause: Clause::Store, ..ClauseContext::default() });
            // The brackets themselves need no context.
            self.out.text.push(b'(');
            self.span(at + 1..end);
            self.out.text.push(b')');
            self.stack.truncate(depth);
            count += 1;
            if count == 1 {
                first_end = self.out.text.len();
            } else {
                let (first, this) =
                    (self.out.text.get(start..first_end), self.out.text.get(begin..));
                if first != this {
                    break;
                }
                self.out.text.truncate(begin);
            }
            if !self.view.is_symbol(end + 1, b",") || !self.view.is_symbol(end + 2, b"(") {
                self.out.text.push(ROWS_END);
                self.out.rows = count;
                self.previous = Some((end, None));
                self.is_plain = false;
                return Some(end + 1);
            }
            at = end + 2;
        }
        // The rows differ: write each of them.
        self.out.text.truncate(text);
        self.out.pieces.truncate(pieces);
        self.out.params.truncate(params);
        self.stack.truncate(depth);
        self.previous = before;
        None
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.view.tokens.len() {
            if self.view.is_symbol(at, b"(") {
                depth += 1;
            } else if self.view.is_symbol(at, b")") {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    fn literal(&mut self, at: usize, sign: Option<usize>) -> usize {
        let is_negative = sign.is_some_and(|it| self.view.is_symbol(it, b"-"));
        if self.stays(at, sign.unwrap_or(at)) {
            if let Some(sign) = sign {
                self.write(sign, None);
                let digits = self.view.bytes(at);
                self.out.text.extend_from_slice(digits);
                self.previous = Some((at, None));
            } else {
                self.write(at, None);
            }
        } else {
            self.space(sign.unwrap_or(at), None);
            self.push_param(at..at + 1, false, is_negative);
            self.previous = Some((at, None));
        }
        at + 1
    }

    /// Whether a literal is part of the statement: `begin` is the index of its sign, if it has one.
    fn stays(&self, at: usize, begin: usize) -> bool {
        let Some(kind) = self.view.kind(at) else { return true };
        if kind == TokenKind::Mark {
            return false;
        }
        let context = self.context();
        if context.stays || (context.is_type && kind != TokenKind::Word) {
            return true;
        }
        let is_text = matches!(
            kind,
            TokenKind::Text
                | TokenKind::Escaped
                | TokenKind::Prefixed
                | TokenKind::Bytes
                | TokenKind::Dollar
        );
        if is_text && self.dialect == Dialect::MySql && is_path(self.view.bytes(at)) {
            return true;
        }
        if self.dialect == Dialect::Postgres && self.is_arithmetic(at, begin) {
            return true;
        }
        let Some((before, key)) = self.previous else { return false };
        if let Some(key) = key {
            let is_position =
                context.clause == Clause::By && key == "BY" && kind == TokenKind::Number;
            let is_interval = key == "INTERVAL" && self.dialect == Dialect::Postgres;
            return is_position || is_interval || !is_before_value(key);
        }
        match self.view.kind(before) {
            Some(TokenKind::Symbol) => match self.view.bytes(before) {
                b"," => {
                    context.clause == Clause::By && kind == TokenKind::Number && self.is_item(at)
                }
                b")" | b"]" | b"->" | b"->>" | b"#>" | b"#>>" | b"." => true,
                _ => false,
            },
            Some(TokenKind::Hint) => false,
            // An alias in quotes, a text that continues.
            _ => true,
        }
    }

    /// Whether a number is a whole item of a list, such as the position of a column.
    fn is_item(&self, at: usize) -> bool {
        let next = self.view.tokens.get(at + 1);
        next.is_none_or(|it| {
            it.kind != TokenKind::Symbol || matches!(it.bytes(self.view.text), b"," | b")")
        })
    }

    /// Whether both sides of an operator are literals, whose types could not be inferred if they were parameters.
    fn is_arithmetic(&self, at: usize, begin: usize) -> bool {
        let is_operator =
            |at| [b"+", b"-", b"*", b"/"].iter().any(|it| self.view.is_symbol(at, *it));
        let is_value = |at| self.view.tokens.get(at).is_some_and(SqlToken::is_value);
        let after = is_operator(at + 1) && is_value(at + 2);
        let before = begin.checked_sub(2).is_some_and(|it| is_operator(it + 1) && is_value(it));
        after || before
    }

    fn push_param(&mut self, place: Range<usize>, is_list: bool, is_negative: bool) {
        let start = self.out.pieces.len();
        let mut is_negative = is_negative;
        for token in place {
            match self.view.kind(token) {
                Some(TokenKind::Symbol) => is_negative = self.view.is_symbol(token, b"-"),
                Some(_) => {
                    self.out.pieces.push(Piece { token, is_negative });
                    is_negative = false;
                }
                None => {}
            }
        }
        self.out.params.push((start..self.out.pieces.len(), is_list));
        self.out.text.push(if is_list { LIST } else { SCALAR });
    }

    fn write(&mut self, at: usize, key: Option<&'static str>) {
        self.space(at, key);
        match key.filter(|it| !is_name_too(it)) {
            Some(key) => self.out.text.extend_from_slice(key.as_bytes()),
            None => {
                let Some(token) = self.view.tokens.get(at) else { return };
                let bytes = token.bytes(self.view.text).iter();
                // Markers must not occur anywhere else.
                let is_marker = |byte: u8| (SCALAR..=ROWS_END).contains(&byte);
                self.out.text.extend(bytes.map(|it| if is_marker(*it) { b' ' } else { *it }));
            }
        }
        self.previous = Some((at, key));
    }

    /// Writes a blank between two tokens that need one.
    fn space(&mut self, at: usize, key: Option<&'static str>) {
        let Some((before, before_key)) = self.previous else { return };
        let Some(token) = self.view.tokens.get(at) else { return };
        let is_symbol = token.kind == TokenKind::Symbol;
        let bytes = token.bytes(self.view.text);
        let before_symbol =
            (self.view.kind(before) == Some(TokenKind::Symbol)).then(|| self.view.bytes(before));
        let is_tight = match before_symbol {
            Some(b"(" | b"[" | b"." | b"::") => true,
            // Multi-character operators, such as `@@`.
            Some(sign) if is_symbol && !token.is_spaced => {
                !matches!(sign, b")" | b"]" | b",") && !matches!(bytes, b"(" | b"[")
            }
            _ => false,
        };
        let is_tight = is_tight
            || (is_symbol
                && match bytes {
                    b"," | b")" | b"]" | b";" | b"." | b"::" | b"[" => true,
                    b"(" => self.is_call(before, before_key, token.is_spaced),
                    _ => false,
                });
        if !is_tight || (key.is_some() && before_symbol.is_none()) {
            self.out.text.push(b' ');
        }
    }

    /// Whether a bracket belongs to the name before it. The server may distinguish `COUNT(` from `COUNT (`.
    fn is_call(&self, before: usize, key: Option<&str>, is_spaced: bool) -> bool {
        const FUNCTIONS: [&str; 9] =
            ["ANY", "CAST", "CONVERT", "INSERT", "LEFT", "MOD", "REPLACE", "RIGHT", "SOME"];
        match (self.view.kind(before), key) {
            (_, Some(key)) => FUNCTIONS.contains(&key),
            (Some(TokenKind::Word | TokenKind::Name), None) => !is_spaced,
            _ => false,
        }
    }
}

/// Whether a text is a JSON path, which MySQL and MariaDB need as a literal.
fn is_path(literal: &[u8]) -> bool {
    let open = literal.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or_default();
    matches!(literal.get(open + 1..), Some([b'$', b'.' | b'[' | b'\'' | b'"', ..]))
}

/// One-word Postgres types. An alias or a function may have another name.
const TYPES: [&str; 56] = [
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
    "MACADDR8",
    "MONEY",
    "NUMERIC",
    "NUMRANGE",
    "OID",
    "PATH",
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
    "TSQUERY",
    "TSRANGE",
    "TSTZRANGE",
    "TSVECTOR",
    "UUID",
    "VARCHAR",
    "XML",
];

/// Types that may have a precision and a zone.
const TIMES: [&str; 2] = ["TIME", "TIMESTAMP"];

/// Longest type name in words and signs: `timestamp ( 3 ) with time zone`.
const LONGEST: usize = 7;

/// A literal with its type: its index, and the text around its parameter.
struct TypedLiteral {
    literal: usize,
    before: &'static str,
    after: String,
}

fn typed(view: TokenView<'_>, at: usize, dialect: Dialect) -> Option<TypedLiteral> {
    match dialect {
        Dialect::MySql => mysql_typed(view, at),
        Dialect::Postgres => postgres_typed(view, at),
    }
}

fn mysql_typed(view: TokenView<'_>, at: usize) -> Option<TypedLiteral> {
    let (word, kind) = (view.bytes(at), view.kind(at + 1)?);
    let cast =
        |to: &str| TypedLiteral { literal: at + 1, before: "CAST(", after: format!(" AS {to})") };
    if matches!(kind, TokenKind::Text | TokenKind::Mark) {
        let types = [("DATE", "DATE"), ("TIME", "TIME"), ("TIMESTAMP", "DATETIME")];
        let named = types.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        if let Some((_, to)) = named {
            return Some(cast(to));
        }
    }
    if !matches!(kind, TokenKind::Text | TokenKind::Hex) {
        return None;
    }
    match prefix(word, view.bytes(at + 1))? {
        CharsetPrefix::Bytes => {
            Some(TypedLiteral { literal: at + 1, before: "", after: String::new() })
        }
        // The server interprets the bytes according to the prefix.
        CharsetPrefix::Set | CharsetPrefix::Nothing => {
            let set = String::from_utf8_lossy(word.get(1..)?).to_ascii_lowercase();
            let after = format!(" AS BINARY) USING {set})");
            Some(TypedLiteral { literal: at + 1, before: "CONVERT(CAST(", after })
        }
    }
}

fn postgres_typed(view: TokenView<'_>, at: usize) -> Option<TypedLiteral> {
    use TokenKind::{Dollar, Escaped, Mark, Text, Word};
    let is = |at: usize, word: &str| view.is(at, word);
    let first = view.upper(at);
    let mut end = at + 1;
    if TIMES.contains(&first.as_str()) {
        let is_number = view.kind(end + 1) == Some(TokenKind::Number);
        let is_sized = is_number && view.bytes(end) == b"(" && view.bytes(end + 2) == b")";
        end += if is_sized { 3 } else { 0 };
        let is_zone = is(end, "WITH") || is(end, "WITHOUT");
        end += if is_zone && is(end + 1, "TIME") && is(end + 2, "ZONE") { 3 } else { 0 };
    } else if (first == "DOUBLE" && is(end, "PRECISION"))
        || (first == "CHARACTER" && is(end, "VARYING"))
    {
        end += 1;
    } else if TYPES.binary_search(&first.as_str()).is_err() {
        return None;
    }
    let (Text | Escaped | Dollar | Mark) = view.kind(end)? else { return None };
    // `INTERVAL '5' day` takes no parameter.
    let is_unit = view.kind(end + 1) == Some(Word) && is_unit(view.bytes(end + 1));
    if first == "INTERVAL" && is_unit {
        return None;
    }
    // The original words, except for those normalized elsewhere.
    let mut name = String::new();
    for token in view.tokens[at..end].iter().take(LONGEST) {
        let part = String::from_utf8_lossy(token.bytes(view.text)).into_owned();
        let is_tight = token.kind == TokenKind::Symbol || name.ends_with('(');
        name.push_str(if name.is_empty() || is_tight { "" } else { " " });
        let is_word = ["DATE", "TIME", "TIMESTAMP", "INTERVAL"].contains(&first.as_str());
        name.push_str(&if is_word { part.to_ascii_uppercase() } else { part });
    }
    Some(TypedLiteral { literal: end, before: "CAST(", after: format!(" AS {name})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted() {
        assert!(TYPES.windows(2).all(|pair| pair[0] < pair[1]), "{TYPES:?}");
    }
}
