//! Parses the table definitions of a dump.

use std::collections::BTreeMap;

use assay_model::Dialect;

use crate::sql::token::{SqlToken, TokenKind, tokenize};

/// A larger dump has rows, or too many tables to generate rows for.
pub const SCHEMA_BYTES: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct DumpSchema {
    pub(super) dialect: Dialect,
    pub(super) tables: Vec<SchemaTable>,
    /// Indexes of the tables by name. Ties go to the first.
    pub(super) numbers: BTreeMap<String, usize>,
    /// Indexes by names that a column may use for a row: `customer` for `Customers`.
    pub(super) singulars: BTreeMap<String, usize>,
    /// Values of enumerated types.
    pub(super) types: BTreeMap<String, Vec<String>>,
}

/// `None` if the dump has rows or no tables.
pub fn schema(dump: &[u8], dialect: Dialect) -> Option<DumpSchema> {
    let mut tokens = Vec::new();
    tokenize(dump, dialect, &mut tokens);
    let mut schema = DumpSchema {
        dialect,
        tables: Vec::new(),
        numbers: BTreeMap::new(),
        singulars: BTreeMap::new(),
        types: BTreeMap::new(),
    };
    let is_end = |token: &SqlToken| token.bytes(dump).starts_with(b";");
    for part in tokens.split(is_end) {
        let mut cursor = DumpCursor { dump, tokens: part, at: 0 };
        if !statement(&mut cursor, &mut schema) {
            return None;
        }
    }
    (!schema.tables.is_empty()).then_some(schema)
}

/// Returns false if the statement has rows.
fn statement(cursor: &mut DumpCursor<'_>, schema: &mut DumpSchema) -> bool {
    cursor.skip_commands();
    match cursor.word().as_deref() {
        Some("INSERT" | "REPLACE" | "COPY") => return false,
        Some("CREATE") => create(cursor, schema),
        Some("ALTER") if cursor.takes("TABLE") => alter(cursor, schema),
        Some("SELECT") => statistics(cursor, schema),
        _ => {}
    }
    true
}

fn create(cursor: &mut DumpCursor<'_>, schema: &mut DumpSchema) {
    let is_unique = cursor.takes("UNIQUE");
    let _ = cursor.takes("UNLOGGED");
    match cursor.word().as_deref() {
        Some("TABLE") => create_table(cursor, schema),
        Some("TYPE") => {
            let Some(name) = cursor.name() else { return };
            if cursor.takes("AS") && cursor.takes("ENUM") {
                schema.types.insert(name, cursor.arguments());
            }
        }
        Some("INDEX") if is_unique => {
            while !cursor.takes("ON") {
                if cursor.next().is_none() {
                    return;
                }
            }
            let _ = cursor.takes("ONLY");
            let table = cursor.name();
            if cursor.takes("USING") {
                let _ = cursor.word();
            }
            let columns = cursor.names();
            // A partial key covers only some rows, for which a key of all rows is right too.
            if let Some(table) = table.and_then(|name| schema.table(&name)) {
                table.keys.push(columns);
            }
        }
        _ => {}
    }
}

fn create_table(cursor: &mut DumpCursor<'_>, schema: &mut DumpSchema) {
    if cursor.takes("IF") {
        let _ = (cursor.takes("NOT"), cursor.takes("EXISTS"));
    }
    let Some(name) = cursor.name() else { return };
    let mut table = SchemaTable { name, ..SchemaTable::default() };
    for part in cursor.parts() {
        let mut part = DumpCursor { tokens: part, at: 0, ..*cursor };
        define(&mut part, &mut table);
    }
    while let Some(token) = cursor.next() {
        match cursor.upper(token).as_str() {
            "AUTO_INCREMENT" => {
                let _ = cursor.takes_symbol(b"=");
                // It is that of the next row.
                table.rows = cursor.number().map(|next| next.saturating_sub(1));
            }
            "PARTITION" if cursor.is_postgres_partition() => table.is_partitioned = true,
            "INHERITS" => table.is_partitioned = true,
            _ => {}
        }
    }
    if !table.columns.is_empty() {
        schema.add(table);
    }
}

/// Parses an item of a table definition: a column, or a key.
fn define(part: &mut DumpCursor<'_>, table: &mut SchemaTable) {
    let begin = part.at;
    if part.peek().is_some_and(|token| token.kind == TokenKind::Word) {
        if part.takes("CONSTRAINT") && !part.is_key() {
            let _ = part.name();
        }
        if constraint(part, table) {
            return;
        }
        part.at = begin;
    }
    if let Some(column) = column(part, table) {
        table.columns.push(column);
    }
}

/// Parses a key or another constraint. Returns whether it was one.
fn constraint(part: &mut DumpCursor<'_>, table: &mut SchemaTable) -> bool {
    let Some(word) = part.word() else { return false };
    match word.as_str() {
        "PRIMARY" | "UNIQUE" => {
            if !part.takes("KEY") {
                let _ = part.takes("INDEX");
            }
            let columns = part.names_after_name();
            if word == "PRIMARY" {
                for name in &columns {
                    table.column(name).into_iter().for_each(|it| it.is_required = true);
                }
            }
            table.keys.push(columns);
            true
        }
        "FOREIGN" => {
            let _ = part.takes("KEY");
            let columns = part.names_after_name();
            if part.takes("REFERENCES")
                && let Some(target) = part.name()
                && let [column] = columns.as_slice()
                && let Some(column) = table.column(column)
            {
                column.refers_to = Some(target);
            }
            true
        }
        "KEY" | "INDEX" | "FULLTEXT" | "SPATIAL" | "CHECK" | "PERIOD" | "EXCLUDE" | "LIKE"
        | "VECTOR" => true,
        _ => false,
    }
}

fn column(part: &mut DumpCursor<'_>, table: &mut SchemaTable) -> Option<SchemaColumn> {
    let mut column = SchemaColumn { name: part.name()?, ..SchemaColumn::default() };
    // A type may have its own schema.
    column.kind = part.name()?.to_ascii_lowercase();
    if column.kind == "character" && part.takes("VARYING") {
        "varchar".clone_into(&mut column.kind);
    }
    column.arguments = part.arguments();
    while let Some(token) = part.next() {
        match part.upper(token).as_str() {
            "[" | "[]" => column.is_array = true,
            "NOT" => column.is_required |= part.takes("NULL"),
            "AUTO_INCREMENT" => column.is_numbered = true,
            "GENERATED" => {
                column.is_filled = !part.takes("BY");
                column.is_numbered = part.rest_has("IDENTITY");
            }
            "AS" => column.is_filled = true,
            "PRIMARY" | "UNIQUE" => table.keys.push(vec![column.name.clone()]),
            "REFERENCES" => column.refers_to = part.name(),
            "NEXTVAL" => column.is_numbered = true,
            // MariaDB's JSON is a text with this check.
            "JSON_VALID" => "json".clone_into(&mut column.kind),
            _ => {}
        }
    }
    if ["serial", "bigserial", "smallserial"].contains(&column.kind.as_str()) {
        column.is_numbered = true;
    }
    Some(column)
}

fn alter(cursor: &mut DumpCursor<'_>, schema: &mut DumpSchema) {
    let _ = (cursor.takes("ONLY"), cursor.takes("IF") && cursor.takes("EXISTS"));
    let name = cursor.name();
    let Some(table) = name.and_then(|name| schema.table(&name)) else { return };
    match cursor.word().as_deref() {
        Some("ADD") => {
            if cursor.takes("CONSTRAINT") {
                let _ = cursor.name();
            }
            let _ = constraint(cursor, table);
        }
        Some("ALTER") => {
            let _ = cursor.takes("COLUMN");
            let column = cursor.name();
            let Some(column) = column.and_then(|name| table.column(&name)) else { return };
            let is_filled = cursor.rest_has("GENERATED") && cursor.rest_has("ALWAYS");
            column.is_filled |= is_filled;
            column.is_numbered |= cursor.rest_has("IDENTITY") || cursor.rest_has("NEXTVAL");
        }
        Some("ATTACH") => {
            let _ = cursor.takes("PARTITION");
            let partition = cursor.name();
            if let Some(partition) = partition.and_then(|name| schema.table(&name)) {
                partition.is_partitioned = true;
            }
        }
        _ => {}
    }
}

/// Parses the statistics that `pg_dump` writes from Postgres 18 on.
fn statistics(cursor: &mut DumpCursor<'_>, schema: &mut DumpSchema) {
    let (is_relation, is_attribute) = (
        cursor.rest_has("PG_RESTORE_RELATION_STATS"),
        cursor.rest_has("PG_RESTORE_ATTRIBUTE_STATS"),
    );
    if !is_relation && !is_attribute {
        return;
    }
    let mut texts = Vec::new();
    while let Some(token) = cursor.next() {
        if token.kind == TokenKind::Text {
            texts.push(cursor.text(token));
        }
    }
    let argument = |key: &str| {
        let at = texts.iter().step_by(2).position(|it| it == key)?;
        texts.get(2 * at + 1)
    };
    let Some(table) = argument("relname").and_then(|name| schema.table(name)) else { return };
    if is_relation {
        let rows = argument("reltuples").and_then(|it| it.parse::<f64>().ok());
        table.rows = rows.filter(|rows| *rows >= 0.0).map(|rows| rows as u64);
    } else if let Some(column) = argument("attname").and_then(|name| table.column(name)) {
        column.nulls = argument("null_frac").and_then(|it| it.parse().ok());
    }
}

impl DumpSchema {
    fn add(&mut self, table: SchemaTable) {
        let number = self.tables.len();
        let name = table.name.to_ascii_lowercase();
        for ending in ["", "s", "es"] {
            if let Some(singular) = name.strip_suffix(ending) {
                self.singulars.entry(singular.to_owned()).or_insert(number);
            }
        }
        self.numbers.entry(table.name.clone()).or_insert(number);
        self.tables.push(table);
    }

    fn table(&mut self, name: &str) -> Option<&mut SchemaTable> {
        self.tables.get_mut(*self.numbers.get(name)?)
    }
}

#[derive(Clone, Copy)]
struct DumpCursor<'d> {
    dump: &'d [u8],
    tokens: &'d [SqlToken],
    at: usize,
}

impl<'d> DumpCursor<'d> {
    fn peek(&self) -> Option<SqlToken> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<SqlToken> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    /// A token in capitals; empty if it is quoted.
    fn upper(&self, token: SqlToken) -> String {
        match token.kind {
            TokenKind::Word | TokenKind::Symbol => {
                String::from_utf8_lossy(token.bytes(self.dump)).to_ascii_uppercase()
            }
            _ => String::new(),
        }
    }

    fn word(&mut self) -> Option<String> {
        let token = self.peek().filter(|it| it.kind == TokenKind::Word)?;
        self.at += 1;
        Some(self.upper(token))
    }

    /// Consumes a word if it comes next. Returns whether it did.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_some_and(|token| self.upper(token) == word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Skips client commands, such as `\connect shop`, which end without a semicolon.
    fn skip_commands(&mut self) {
        while self.takes_symbol(b"\\") {
            let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.start);
            let rest = self.dump.get(line..).unwrap_or_default();
            let end = line + rest.iter().position(|it| *it == b'\n').unwrap_or(rest.len());
            while self.peek().is_some_and(|token| token.start < end) {
                self.at += 1;
            }
        }
    }

    fn takes_symbol(&mut self, symbol: &[u8]) -> bool {
        let is_next = self.peek().is_some_and(|token| token.bytes(self.dump) == symbol);
        self.at += usize::from(is_next);
        is_next
    }

    fn is_key(&self) -> bool {
        let next = self.peek().map(|token| self.upper(token)).unwrap_or_default();
        ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].contains(&next.as_str())
    }

    fn rest_has(&self, word: &str) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        rest.iter().any(|token| self.upper(*token) == word)
    }

    /// Whether `BY` follows and partitions are separate tables.
    fn is_postgres_partition(&self) -> bool {
        // MySQL and MariaDB have partitions in the same statement, in an executed comment.
        self.peek().is_some_and(|token| self.upper(token) == "BY") && !self.rest_has("PARTITIONS")
    }

    /// A name without its schema.
    fn name(&mut self) -> Option<String> {
        let token =
            self.next().filter(|it| matches!(it.kind, TokenKind::Word | TokenKind::Name))?;
        let mut name = self.text(token);
        while self.takes_symbol(b".") {
            let token = self.next()?;
            name = self.text(token);
        }
        Some(name)
    }

    /// The token without quotes.
    fn text(&self, token: SqlToken) -> String {
        let bytes = token.bytes(self.dump);
        let inside = match (token.kind, bytes) {
            (TokenKind::Name | TokenKind::Text, [quote, inside @ .., _]) => {
                let inside = String::from_utf8_lossy(inside);
                let quote = char::from(*quote);
                return inside.replace(&format!("{quote}{quote}"), &quote.to_string());
            }
            (_, bytes) => bytes,
        };
        String::from_utf8_lossy(inside).into_owned()
    }

    fn number(&mut self) -> Option<u64> {
        let token = self.next().filter(|it| it.kind == TokenKind::Number)?;
        self.text(token).parse().ok()
    }

    /// The comma-separated parts in the parentheses that begin here.
    fn parts(&mut self) -> Vec<&'d [SqlToken]> {
        if !self.takes_symbol(b"(") {
            return Vec::new();
        }
        let (mut parts, mut depth, mut begin) = (Vec::new(), 1, self.at);
        while let Some(token) = self.next() {
            let (text, end) = (token.bytes(self.dump), self.at - 1);
            match text {
                b"(" => depth += 1,
                b")" => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && text == b",") {
                parts.push(self.tokens.get(begin..end).unwrap_or_default());
                begin = self.at;
            }
            if depth == 0 {
                break;
            }
        }
        parts
    }

    fn arguments(&mut self) -> Vec<String> {
        let parts = self.parts();
        parts.iter().filter_map(|part| part.first()).map(|token| self.text(*token)).collect()
    }

    fn names(&mut self) -> Vec<String> {
        self.arguments()
    }

    /// Like `names`, optionally after a key's name and index type.
    fn names_after_name(&mut self) -> Vec<String> {
        while self.peek().is_some_and(|it| matches!(it.kind, TokenKind::Word | TokenKind::Name)) {
            self.at += 1;
        }
        self.names()
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SchemaTable {
    /// Without schema.
    pub(super) name: String,
    pub(super) columns: Vec<SchemaColumn>,
    /// The columns of its primary key, and of each unique key.
    pub(super) keys: Vec<Vec<String>>,
    /// Number of rows, if the dump states it.
    pub(super) rows: Option<u64>,
    /// Rows go to one of several tables, by their values.
    pub(super) is_partitioned: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SchemaColumn {
    pub(super) name: String,
    /// First word of its type, in lower case.
    pub(super) kind: String,
    /// Arguments of the type: lengths, or the values of an `ENUM`.
    pub(super) arguments: Vec<String>,
    pub(super) is_array: bool,
    pub(super) is_required: bool,
    /// The server always computes its values.
    pub(super) is_filled: bool,
    /// The server numbers its values unless they are given.
    pub(super) is_numbered: bool,
    /// Table referenced by its foreign key.
    pub(super) refers_to: Option<String>,
    /// Share of NULL, if the dump states it.
    pub(super) nulls: Option<f64>,
}

impl SchemaTable {
    pub(super) fn column(&mut self, name: &str) -> Option<&mut SchemaColumn> {
        self.columns.iter_mut().find(|it| it.name == name)
    }
}
