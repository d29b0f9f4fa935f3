//! The normal form of a statement: literals become parameters, white space and keyword case are normalized, comments
//! are removed.

use std::ops::Range;

use assay_model::Dialect;

use super::token::{Kind, Token};
use super::typed::{Typed, typed};
use super::value::Literal;
use super::words::{is_before_value, is_name_too, is_sized_type, keyword};

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

pub(crate) struct Param<'n> {
    pieces: &'n [Piece],
    /// It is a list, which may have one value.
    pub(crate) is_list: bool,
}

impl Param<'_> {
    pub(crate) fn literals<'t>(
        &self,
        tokens: &'t [Token],
        text: &'t [u8],
    ) -> impl Iterator<Item = Literal<'t>> {
        self.pieces.iter().filter_map(move |piece| {
            Some(Literal::of(tokens.get(piece.token)?, text, piece.is_negative))
        })
    }
}

impl Normalizer {
    pub(crate) fn normalize(&mut self, text: &[u8], tokens: &[Token], dialect: Dialect) {
        self.text.clear();
        self.pieces.clear();
        self.params.clear();
        self.rows = 0;
        let mut pass = Pass {
            out: self,
            text,
            tokens,
            dialect,
            grouped: grouped(text, tokens),
            stack: vec![Context::default()],
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
    pub(crate) fn params(&self) -> impl Iterator<Item = Param<'_>> {
        self.params.iter().map(|(place, is_list)| Param {
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
struct Context {
    clause: Clause,
    /// Literals are kept because of an enclosing bracket.
    stays: bool,
    is_cast: bool,
    /// The tokens form a type.
    is_type: bool,
    /// The query groups rows: what it selects, groups and orders by must then be equal to the letter.
    is_grouped: bool,
}

/// Indexes of each `SELECT` whose query has `GROUP BY` or `DISTINCT`, sorted.
fn grouped(text: &[u8], tokens: &[Token]) -> Vec<usize> {
    let mut queries: Vec<Option<usize>> = vec![None];
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match (token.kind, token.of(text)) {
            (Kind::Symbol, b"(" | b"[") => queries.push(None),
            (Kind::Symbol, b")" | b"]") if queries.len() > 1 => drop(queries.pop()),
            (Kind::Word, word) => match keyword(word) {
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
    text: &'p [u8],
    tokens: &'p [Token],
    dialect: Dialect,
    grouped: Vec<usize>,
    stack: Vec<Context>,
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

    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|it| it.kind)
    }

    fn bytes(&self, at: usize) -> &[u8] {
        self.tokens.get(at).map_or(b"", |it| it.of(self.text))
    }

    fn is_symbol(&self, at: usize, symbol: &[u8]) -> bool {
        self.kind(at) == Some(Kind::Symbol) && self.bytes(at) == symbol
    }

    fn context(&self) -> Context {
        self.stack.last().copied().unwrap_or_default()
    }

    fn set(&mut self, change: impl FnOnce(&mut Context)) {
        if let Some(last) = self.stack.last_mut() {
            change(last);
        }
    }

    /// Writes the token at this index. Returns the next index.
    fn token(&mut self, at: usize) -> usize {
        let Some(kind) = self.kind(at) else { return at + 1 };
        match kind {
            Kind::Word => self.word(at),
            Kind::Symbol => self.symbol(at),
            Kind::Name | Kind::Hint | Kind::Fixed => {
                self.write(at, None);
                at + 1
            }
            _ => self.literal(at, None),
        }
    }

    fn word(&mut self, at: usize) -> usize {
        let is_part = self.previous.is_some_and(|(before, _)| self.is_symbol(before, b"."));
        let key = if is_part { None } else { keyword(self.bytes(at)) };
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
        let is_part = self.previous.is_some_and(|(before, _)| self.is_symbol(before, b"."));
        if is_part || self.context().stays || key.is_some_and(|it| it != "INTERVAL") {
            return None;
        }
        let Typed { literal, before, after } = typed(self.text, self.tokens, at, self.dialect)?;
        // A prefix belongs to the literal: both are kept together.
        if self.dialect == Dialect::MySql
            && self.bytes(at).starts_with(b"_")
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
        match self.bytes(at) {
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
        let follows = self.kind(at + 1) == Some(Kind::Number);
        follows
            && match self.previous {
                None => true,
                Some((_, Some(key))) => is_before_value(key),
                Some((before, None)) => {
                    let is_end = self.is_symbol(before, b")") || self.is_symbol(before, b"]");
                    self.kind(before) == Some(Kind::Symbol) && !is_end
                }
            }
    }

    fn open(&mut self, at: usize) -> usize {
        let before = self.previous;
        let key = before.and_then(|(_, key)| key);
        let follows_name = before.is_some_and(|(it, key)| {
            key.is_none() && matches!(self.kind(it), Some(Kind::Word | Kind::Name))
        });
        let outer = self.context();
        let is_subscript = self.is_symbol(at, b"[");
        if matches!(key, Some("VALUES" | "VALUE"))
            && !is_subscript
            && let Some(next) = self.rows(at)
        {
            return next;
        }
        let is_sized = outer.is_type
            && before.is_some_and(|(it, _)| is_sized_type(self.bytes(it)))
            && self.kind(at + 1) == Some(Kind::Number);
        let inner = Context {
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
            && self.is_symbol(at + 1, b"(")
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
            if (self.is_symbol(at, b"-") || self.is_symbol(at, b"+"))
                && self.kind(at + 1) == Some(Kind::Number)
            {
                at += 1;
            }
            let token = self.tokens.get(at)?;
            let is_word = token.kind == Kind::Word
                && matches!(keyword(token.of(self.text)), Some("NULL" | "TRUE" | "FALSE"));
            if !token.is_value() && !is_word {
                return None;
            }
            at += 1;
            match self.bytes(at) {
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
            self.stack.push(Context { clause: Clause::Store, ..Context::default() });
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
            if !self.is_symbol(end + 1, b",") || !self.is_symbol(end + 2, b"(") {
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
        for at in open..self.tokens.len() {
            if self.is_symbol(at, b"(") {
                depth += 1;
            } else if self.is_symbol(at, b")") {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    fn literal(&mut self, at: usize, sign: Option<usize>) -> usize {
        let is_negative = sign.is_some_and(|it| self.is_symbol(it, b"-"));
        if self.stays(at, sign.unwrap_or(at)) {
            if let Some(sign) = sign {
                self.write(sign, None);
                let digits = self.tokens.get(at).map_or(b"".as_slice(), |it| it.of(self.text));
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
        let Some(kind) = self.kind(at) else { return true };
        if kind == Kind::Mark {
            return false;
        }
        let context = self.context();
        if context.stays || (context.is_type && kind != Kind::Word) {
            return true;
        }
        let is_text = matches!(
            kind,
            Kind::Text | Kind::Escaped | Kind::Prefixed | Kind::Bytes | Kind::Dollar
        );
        if is_text && self.dialect == Dialect::MySql && is_path(self.bytes(at)) {
            return true;
        }
        if self.dialect == Dialect::Postgres && self.is_arithmetic(at, begin) {
            return true;
        }
        let Some((before, key)) = self.previous else { return false };
        if let Some(key) = key {
            let is_position = context.clause == Clause::By && key == "BY" && kind == Kind::Number;
            let is_interval = key == "INTERVAL" && self.dialect == Dialect::Postgres;
            return is_position || is_interval || !is_before_value(key);
        }
        match self.kind(before) {
            Some(Kind::Symbol) => match self.bytes(before) {
                b"," => context.clause == Clause::By && kind == Kind::Number && self.is_item(at),
                b")" | b"]" | b"->" | b"->>" | b"#>" | b"#>>" | b"." => true,
                _ => false,
            },
            Some(Kind::Hint) => false,
            // An alias in quotes, a text that continues.
            _ => true,
        }
    }

    /// Whether a number is a whole item of a list, such as the position of a column.
    fn is_item(&self, at: usize) -> bool {
        let next = self.tokens.get(at + 1);
        next.is_none_or(|it| it.kind != Kind::Symbol || matches!(it.of(self.text), b"," | b")"))
    }

    /// Whether both sides of an operator are literals, whose types could not be inferred if they were parameters.
    fn is_arithmetic(&self, at: usize, begin: usize) -> bool {
        let is_operator = |at| [b"+", b"-", b"*", b"/"].iter().any(|it| self.is_symbol(at, *it));
        let is_value = |at| self.tokens.get(at).is_some_and(Token::is_value);
        let after = is_operator(at + 1) && is_value(at + 2);
        let before = begin.checked_sub(2).is_some_and(|it| is_operator(it + 1) && is_value(it));
        after || before
    }

    fn push_param(&mut self, place: Range<usize>, is_list: bool, is_negative: bool) {
        let start = self.out.pieces.len();
        let mut is_negative = is_negative;
        for token in place {
            match self.kind(token) {
                Some(Kind::Symbol) => is_negative = self.is_symbol(token, b"-"),
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
                let Some(token) = self.tokens.get(at) else { return };
                let bytes = token.of(self.text).iter();
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
        let Some(token) = self.tokens.get(at) else { return };
        let is_symbol = token.kind == Kind::Symbol;
        let bytes = token.of(self.text);
        let before_symbol = (self.kind(before) == Some(Kind::Symbol)).then(|| self.bytes(before));
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
        match (self.kind(before), key) {
            (_, Some(key)) => FUNCTIONS.contains(&key),
            (Some(Kind::Word | Kind::Name), None) => !is_spaced,
            _ => false,
        }
    }
}

/// Whether a text is a JSON path, which MySQL and MariaDB need as a literal.
fn is_path(literal: &[u8]) -> bool {
    let open = literal.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or_default();
    matches!(literal.get(open + 1..), Some([b'$', b'.' | b'[' | b'\'' | b'"', ..]))
}
