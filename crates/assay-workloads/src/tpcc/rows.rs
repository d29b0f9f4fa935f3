//! The rows of the tables after the load (clause 4.3.3.1), as `INSERT` statements or as data to copy.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use super::draw::{
    CUSTOMERS, Constants, DISTRICTS, FIRST_NEW, ITEMS, ORDERS, between, happens, push_data,
    push_digits, push_fixed, push_last_name, push_text,
};
use super::schema::TPCC_TABLES;
use crate::literal::push_decimal;
use crate::random::{RandomStream, mix, mix_word};

/// A statement gets no more rows once it is this long, bytes, or has this many rows.
const STATEMENT_BYTES: usize = 256 * 1024;
const STATEMENT_ROWS: u32 = 5000;

/// Timestamp of all loaded rows: the same for all systems.
const LOADED: &str = "2026-01-01 00:00:00";

/// The items, and the stock of a warehouse, are divided into parts for parallel loading.
const PARTS: u32 = 4;

/// Parts of a warehouse: itself with its districts, its stock, and the customers and orders of each district.
const OF_WAREHOUSE: u32 = 1 + PARTS + DISTRICTS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccBatch {
    /// Index into [`super::TPCC_TABLES`].
    pub table: usize,
    pub rows: u32,
}

#[derive(Debug, Clone)]
struct RowSegment {
    rows: RowKind,
    warehouse: u32,
    district: u32,
    /// Range of the first running column: items, customers or orders.
    ids: RangeInclusive<u32>,
}

/// A kind of rows, in the order of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Items,
    Warehouse,
    Districts,
    Stock,
    Customers,
    History,
    Orders,
    OrderLines,
    NewOrders,
}

impl RowKind {
    const ALL: [Self; 9] = [
        Self::Items,
        Self::Warehouse,
        Self::Districts,
        Self::Stock,
        Self::Customers,
        Self::History,
        Self::Orders,
        Self::OrderLines,
        Self::NewOrders,
    ];
}

/// The statements that load a part of the tables, in order: a pure function of seed, number of warehouses and part.
#[derive(Debug)]
pub struct TpccBatches {
    form: TpccForm,
    key: u64,
    constants: Constants,
    segments: VecDeque<RowSegment>,
    /// Customers of the current district's orders, in the order of the orders.
    customers: Vec<u32>,
}

impl TpccBatches {
    pub fn parts(warehouses: u32) -> u32 {
        PARTS + warehouses.saturating_mul(OF_WAREHOUSE)
    }

    pub fn new(form: TpccForm, seed: u64, part: u32) -> Self {
        let all = |rows, warehouse, district, ids| RowSegment { rows, warehouse, district, ids };
        let quarter = |number: u32| {
            let length = ITEMS / PARTS;
            number * length + 1..=(number + 1) * length
        };
        let mut segments = VecDeque::new();
        match part.checked_sub(PARTS) {
            None => segments.push_back(all(RowKind::Items, 0, 0, quarter(part))),
            Some(part) => {
                let (warehouse, part) = (part / OF_WAREHOUSE + 1, part % OF_WAREHOUSE);
                if part == 0 {
                    segments.push_back(all(RowKind::Warehouse, warehouse, 0, 1..=1));
                    segments.push_back(all(RowKind::Districts, warehouse, 0, 1..=DISTRICTS));
                } else if part <= PARTS {
                    segments.push_back(all(RowKind::Stock, warehouse, 0, quarter(part - 1)));
                } else {
                    let district = part - PARTS;
                    for (rows, ids) in [
                        (RowKind::Customers, 1..=CUSTOMERS),
                        (RowKind::History, 1..=CUSTOMERS),
                        (RowKind::Orders, 1..=ORDERS),
                        (RowKind::OrderLines, 1..=ORDERS),
                        (RowKind::NewOrders, FIRST_NEW..=ORDERS),
                    ] {
                        segments.push_back(all(rows, warehouse, district, ids));
                    }
                }
            }
        }
        let key = mix_word(seed, "tpcc rows");
        Self { form, key, constants: Constants::new(seed), segments, customers: Vec::new() }
    }

    pub(crate) fn examples(count: u32) -> Vec<u8> {
        let mut batches = Self::new(TpccForm::Insert, 1, 0);
        batches.customers = batches.shuffled(1, 1);
        let mut text = Vec::new();
        for rows in RowKind::ALL {
            for id in 1..=count {
                batches.push(rows, (1, 1, id), &mut text);
            }
        }
        text
    }

    /// Replaces `statement` with the next one, or with the next lines to copy; `None` at the end.
    pub fn next_into(&mut self, statement: &mut Vec<u8>) -> Option<TpccBatch> {
        statement.clear();
        let segment = self.segments.pop_front()?;
        let RowSegment { rows: kind, warehouse, district, ref ids } = segment;
        if kind == RowKind::Orders && *ids.start() == 1 {
            self.customers = self.shuffled(warehouse, district);
        }
        if self.form == TpccForm::Insert {
            let table = TPCC_TABLES[kind as usize].name;
            statement.extend_from_slice(format!("INSERT INTO {table} VALUES ").as_bytes());
        }
        let mut rows = 0;
        let mut next = *ids.start();
        while next <= *ids.end() && statement.len() < STATEMENT_BYTES && rows < STATEMENT_ROWS {
            rows += self.push(kind, (warehouse, district, next), statement);
            next += 1;
        }
        if self.form == TpccForm::Insert {
            statement.pop();
        }
        if next <= *ids.end() {
            self.segments.push_front(RowSegment { ids: next..=*ids.end(), ..segment });
        }
        Some(TpccBatch { table: kind as usize, rows })
    }

    /// The customers of a district in random order: each has one order (clause 4.3.3.1).
    fn shuffled(&self, warehouse: u32, district: u32) -> Vec<u32> {
        let mut stream = self.stream("customers of orders", (warehouse, district, 0));
        let mut all: Vec<u32> = (1..=CUSTOMERS).collect();
        for last in (1..all.len()).rev() {
            all.swap(last, stream.below(last as u64 + 1) as usize);
        }
        all
    }

    fn stream(&self, word: &str, (warehouse, district, id): (u32, u32, u32)) -> RandomStream {
        let key = mix_word(self.key, word);
        RandomStream::new(mix(mix(mix(key, warehouse.into()), district.into()), id.into()))
    }

    fn lines(&self, place: (u32, u32, u32)) -> u64 {
        between(&mut self.stream("lines", place), 5, 15)
    }

    /// Appends the rows with an id, each followed by its separator, and returns their number.
    fn push(&self, kind: RowKind, place: (u32, u32, u32), out: &mut Vec<u8>) -> u32 {
        let (warehouse, district, id) = place;
        let mut row = RowText::new(self.form, out);
        match kind {
            RowKind::Items => self.item(id, &mut row),
            RowKind::Warehouse => self.warehouse(warehouse, &mut row),
            RowKind::Districts => self.district(warehouse, id, &mut row),
            RowKind::Stock => self.stock(warehouse, id, &mut row),
            RowKind::Customers => self.customer(place, &mut row),
            RowKind::History => self.history(place, &mut row),
            RowKind::Orders => self.order(place, &mut row),
            RowKind::OrderLines => return self.order_lines(place, &mut row),
            RowKind::NewOrders => {
                row.begin();
                row.numbers(&[id, district, warehouse]);
                row.end();
            }
        }
        1
    }

    fn item(&self, id: u32, row: &mut RowText<'_>) {
        let mut stream = self.stream("item", (0, 0, id));
        row.begin();
        row.numbers(&[id, between(&mut stream, 1, 10_000) as u32]);
        row.text(|out| push_text(&mut stream, 14, 24, out));
        row.fixed(between(&mut stream, 100, 10_000), 2);
        row.text(|out| push_data(&mut stream, 26, 50, out));
        row.end();
    }

    fn warehouse(&self, id: u32, row: &mut RowText<'_>) {
        let mut stream = self.stream("warehouse", (id, 0, 0));
        row.begin();
        row.numbers(&[id]);
        row.text(|out| push_text(&mut stream, 6, 10, out));
        row.address(&mut stream);
        row.fixed(between(&mut stream, 0, 2000), 4);
        row.fixed(30_000_000, 2);
        row.end();
    }

    fn district(&self, warehouse: u32, id: u32, row: &mut RowText<'_>) {
        let mut stream = self.stream("district", (warehouse, id, 0));
        row.begin();
        row.numbers(&[id, warehouse]);
        row.text(|out| push_text(&mut stream, 6, 10, out));
        row.address(&mut stream);
        row.fixed(between(&mut stream, 0, 2000), 4);
        row.fixed(3_000_000, 2);
        row.numbers(&[ORDERS + 1]);
        row.end();
    }

    fn stock(&self, warehouse: u32, id: u32, row: &mut RowText<'_>) {
        let mut stream = self.stream("stock", (warehouse, 0, id));
        row.begin();
        row.numbers(&[id, warehouse, between(&mut stream, 10, 100) as u32]);
        for _ in 0..DISTRICTS {
            row.text(|out| push_text(&mut stream, 24, 24, out));
        }
        row.numbers(&[0, 0, 0]);
        row.text(|out| push_data(&mut stream, 26, 50, out));
        row.end();
    }

    fn customer(&self, place: (u32, u32, u32), row: &mut RowText<'_>) {
        let (warehouse, district, id) = place;
        let mut stream = self.stream("customer", place);
        let name = match id {
            1..=1000 => id - 1,
            _ => Constants::last_name(&mut stream, self.constants.loaded_name),
        };
        row.begin();
        row.numbers(&[id, district, warehouse]);
        row.text(|out| push_text(&mut stream, 8, 16, out));
        row.word("OE");
        row.text(|out| push_last_name(name, out));
        row.address(&mut stream);
        row.text(|out| push_digits(&mut stream, 16, out));
        row.word(LOADED);
        let is_bad = happens(&mut stream, 10);
        row.word(if is_bad { "BC" } else { "GC" });
        row.plain("50000.00");
        row.fixed(between(&mut stream, 0, 5000), 4);
        row.plain("-10.00");
        row.plain("10.00");
        row.numbers(&[1, 0]);
        row.text(|out| push_text(&mut stream, 300, 500, out));
        row.end();
    }

    fn history(&self, place: (u32, u32, u32), row: &mut RowText<'_>) {
        let (warehouse, district, id) = place;
        let mut stream = self.stream("history", place);
        row.begin();
        row.numbers(&[id, district, warehouse, district, warehouse]);
        row.word(LOADED);
        row.plain("10.00");
        row.text(|out| push_text(&mut stream, 12, 24, out));
        row.end();
    }

    fn order(&self, place: (u32, u32, u32), row: &mut RowText<'_>) {
        let (warehouse, district, id) = place;
        let mut stream = self.stream("order", place);
        let customer = self.customers[id as usize - 1];
        row.begin();
        row.numbers(&[id, district, warehouse, customer]);
        row.word(LOADED);
        match id {
            FIRST_NEW.. => row.null(),
            _ => row.numbers(&[between(&mut stream, 1, 10) as u32]),
        }
        row.numbers(&[self.lines(place) as u32, 1]);
        row.end();
    }

    fn order_lines(&self, place: (u32, u32, u32), row: &mut RowText<'_>) -> u32 {
        let (warehouse, district, id) = place;
        let mut stream = self.stream("order lines", place);
        let lines = self.lines(place) as u32;
        for number in 1..=lines {
            let item = between(&mut stream, 1, ITEMS.into()) as u32;
            row.begin();
            row.numbers(&[id, district, warehouse, number, item, warehouse]);
            match id {
                FIRST_NEW.. => row.null(),
                _ => row.word(LOADED),
            }
            row.numbers(&[5]);
            match id {
                FIRST_NEW.. => row.fixed(between(&mut stream, 1, 999_999), 2),
                _ => row.plain("0.00"),
            }
            row.text(|out| push_text(&mut stream, 24, 24, out));
            row.end();
        }
        lines
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpccForm {
    Insert,
    /// As lines for Postgres's `COPY ... FROM STDIN`, with tabs between the values.
    Copy,
}

/// The text of a row: `(value,value),`, or a line with tabs between the values. No value needs escaping.
struct RowText<'a> {
    form: TpccForm,
    out: &'a mut Vec<u8>,
}

impl<'a> RowText<'a> {
    fn new(form: TpccForm, out: &'a mut Vec<u8>) -> Self {
        Self { form, out }
    }

    fn begin(&mut self) {
        if self.form == TpccForm::Insert {
            self.out.push(b'(');
        }
    }

    fn end(&mut self) {
        // Each value is followed by a separator.
        self.out.pop();
        self.out.extend_from_slice(match self.form {
            TpccForm::Insert => b"),",
            TpccForm::Copy => b"\n",
        });
    }

    fn separate(&mut self) {
        self.out.push(match self.form {
            TpccForm::Insert => b',',
            TpccForm::Copy => b'\t',
        });
    }

    fn null(&mut self) {
        self.plain(match self.form {
            TpccForm::Insert => "NULL",
            TpccForm::Copy => "\\N",
        });
    }

    fn plain(&mut self, value: &str) {
        self.out.extend_from_slice(value.as_bytes());
        self.separate();
    }

    fn numbers(&mut self, values: &[u32]) {
        for value in values {
            push_decimal(self.out, u64::from(*value));
            self.separate();
        }
    }

    fn fixed(&mut self, value: u64, decimals: u32) {
        push_fixed(value, decimals, self.out);
        self.separate();
    }

    fn word(&mut self, word: &str) {
        self.text(|out| out.extend_from_slice(word.as_bytes()));
    }

    fn text(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        let is_quoted = self.form == TpccForm::Insert;
        if is_quoted {
            self.out.push(b'\'');
        }
        push(self.out);
        if is_quoted {
            self.out.push(b'\'');
        }
        self.separate();
    }

    /// Streets, city, state and zip code (clause 4.3.2.7).
    fn address(&mut self, stream: &mut RandomStream) {
        for _ in 0..3 {
            self.text(|out| push_text(stream, 10, 20, out));
        }
        self.text(|out| push_text(stream, 2, 2, out));
        self.text(|out| {
            push_digits(stream, 4, out);
            out.extend_from_slice(b"11111");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(warehouses: u32) -> (Vec<u64>, Vec<String>) {
        let mut rows = vec![0; TPCC_TABLES.len()];
        let mut firsts = vec![String::new(); TPCC_TABLES.len()];
        for part in 0..TpccBatches::parts(warehouses) {
            let mut batches = TpccBatches::new(TpccForm::Insert, 3, part);
            let mut statement = Vec::new();
            while let Some(batch) = batches.next_into(&mut statement) {
                let text = std::str::from_utf8(&statement).unwrap();
                assert!(text.starts_with(&format!(
                    "INSERT INTO {} VALUES (",
                    TPCC_TABLES[batch.table].name
                )));
                assert!(text.ends_with(')') && statement.len() < 2 * STATEMENT_BYTES);
                assert_eq!(text.matches("),(").count() as u32 + 1, batch.rows);
                rows[batch.table] += u64::from(batch.rows);
                if firsts[batch.table].is_empty() {
                    firsts[batch.table] = text.split_inclusive(')').next().unwrap().to_owned();
                }
            }
        }
        (rows, firsts)
    }

    #[test]
    fn every_table_has_its_number_of_rows() {
        let (rows, firsts) = loaded(2);
        let lines = rows[7];
        assert_eq!(rows[..7], [100_000, 2, 20, 200_000, 60_000, 60_000, 60_000]);
        assert_eq!(rows[8], 18_000);
        assert!((590_000..610_000).contains(&lines), "{lines}");
        let values = |table: usize| firsts[table].matches(',').count() + 1;
        // Columns per table.
        let columns = [5, 9, 11, 17, 21, 8, 8, 10, 3];
        assert_eq!((0..9).map(values).collect::<Vec<_>>(), columns);
        assert_eq!(loaded(2).1, firsts);
    }

    fn values(form: TpccForm) -> Vec<(usize, Vec<String>)> {
        let mut all = Vec::new();
        let (row_end, value_end) = match form {
            TpccForm::Insert => ("),(", ','),
            TpccForm::Copy => ("\n", '\t'),
        };
        for part in [0, PARTS, PARTS + 1, PARTS + 1 + PARTS] {
            let mut batches = TpccBatches::new(form, 3, part);
            let mut text = Vec::new();
            while let Some(batch) = batches.next_into(&mut text) {
                let text = std::str::from_utf8(&text).unwrap();
                let text = match form {
                    TpccForm::Insert => text.split_once(" VALUES (").unwrap().1.strip_suffix(')'),
                    TpccForm::Copy => text.strip_suffix('\n'),
                };
                let rows: Vec<&str> = text.unwrap().split(row_end).collect();
                assert_eq!(rows.len() as u32, batch.rows);
                all.extend(rows.iter().map(|row| {
                    let values = row.split(value_end).map(|it| it.trim_matches('\''));
                    let values = values.map(|it| if it == "\\N" { "NULL" } else { it }.to_owned());
                    (batch.table, values.collect())
                }));
            }
        }
        all
    }

    /// Statements and copied lines are split at different rows, but have the same ones.
    #[test]
    fn both_forms_have_the_same_rows() {
        let rows = values(TpccForm::Copy);
        assert!(rows == values(TpccForm::Insert) && rows.len() > 80_000);
        assert!(rows.iter().flat_map(|row| &row.1).all(|it| !it.contains(['\\', '\'', '\n'])));
    }

    #[test]
    fn each_customer_has_one_order() {
        let batches = TpccBatches::new(TpccForm::Insert, 5, 0);
        let mut all = batches.shuffled(1, 2);
        assert_ne!(all, batches.shuffled(1, 3));
        all.sort_unstable();
        assert_eq!(all, (1..=3000).collect::<Vec<_>>());
    }
}
