//! The rows that clients insert.

use std::sync::Arc;

use super::schema::IbenchTable;
use super::{CASH_REGISTERS, CUSTOMERS, PRICES, PRODUCTS};
use crate::literal::push_decimal;
use crate::random::{RandomStream, mix, mix_word};

const DATA_LENGTH: (u64, u64) = (10, 20);

const RANDOM_BYTES: usize = 4 << 20;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Random characters, from which all clients take the ends of their values.
#[derive(Debug)]
pub struct RandomText(Vec<u8>);

impl RandomText {
    pub fn new(seed: u64) -> Arc<Self> {
        let mut stream = RandomStream::new(mix_word(seed, "queue text"));
        let mut text = Vec::with_capacity(RANDOM_BYTES);
        while text.len() < RANDOM_BYTES {
            // Six random bits make one character.
            let bits = stream.below(1 << 60);
            text.extend((0..10).map(|place| ALPHABET[(bits >> (6 * place)) as usize & 63]));
        }
        text.truncate(RANDOM_BYTES);
        Arc::new(Self(text))
    }
}

/// The rows that a client inserts in a step: a pure function of seed, step, client and statement number.
#[derive(Debug)]
pub struct IbenchRows {
    head: String,
    key: u64,
    text: Arc<RandomText>,
}

impl IbenchRows {
    pub fn new(
        table: &IbenchTable,
        seed: u64,
        step: &str,
        client: u32,
        text: Arc<RandomText>,
    ) -> Self {
        let head = format!(
            "INSERT INTO {} (dateandtime,cashregisterid,customerid,productid,price,data) VALUES ",
            table.name()
        );
        let key = mix(mix_word(mix_word(seed, "queue rows"), step), client.into());
        Self { head, key, text }
    }

    /// Replaces `text` with statement number `number`, which inserts `rows` rows, all with the same date and time
    /// (`2026-05-01 12:00:00`).
    pub fn write(&self, number: u64, rows: u32, date_and_time: &str, text: &mut Vec<u8>) {
        let mut stream = RandomStream::new(mix(self.key, number));
        text.clear();
        text.extend_from_slice(self.head.as_bytes());
        for row in 0..rows {
            text.extend_from_slice(if row == 0 { b"('" } else { b",('" });
            text.extend_from_slice(date_and_time.as_bytes());
            text.extend_from_slice(b"',");
            push_decimal(text, stream.below(CASH_REGISTERS));
            text.push(b',');
            push_decimal(text, stream.below(CUSTOMERS));
            text.push(b',');
            push_decimal(text, stream.below(PRODUCTS));
            text.push(b',');
            push_decimal(text, stream.below(PRICES));
            // The column is an integer, but the published client writes decimals, which the server converts.
            text.extend_from_slice(b".00,'");
            self.push_data(&mut stream, text);
            text.extend_from_slice(b"')");
        }
    }

    /// Appends a value of `data`: the letter a, then random characters, three eighths of the length.
    fn push_data(&self, stream: &mut RandomStream, text: &mut Vec<u8>) {
        let (least, most) = DATA_LENGTH;
        let length = least + stream.below(most - least + 1);
        let random = length * 3 / 8;
        text.resize(text.len() + (length - random) as usize, b'a');
        let at = stream.below((RANDOM_BYTES as u64) - random) as usize;
        text.extend_from_slice(&self.text.0[at..at + random as usize]);
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Dialect;

    use super::*;

    fn rows() -> IbenchRows {
        let table = IbenchTable::new(Dialect::MySql, 1);
        IbenchRows::new(&table, 1, "l.i0", 0, RandomText::new(1))
    }

    fn statement(rows: &IbenchRows, number: u64, count: u32) -> String {
        let mut text = Vec::new();
        rows.write(number, count, "2026-05-01 12:00:00", &mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn statements_depend_on_their_number_alone() {
        let rows = rows();
        let first = statement(&rows, 0, 2);
        assert_ne!(first, statement(&rows, 1, 2));
        assert_eq!(first, statement(&rows, 0, 2));
        let head = "INSERT INTO pi1 (dateandtime,cashregisterid,customerid,productid,price,data) VALUES ('2026-05-01 \
                    12:00:00',";
        assert!(first.starts_with(head), "{first}");
        assert_eq!(first.matches("('2026").count(), 2);
    }

    #[test]
    fn columns_have_the_published_ranges() {
        let rows = rows();
        let (mut customers, mut lengths) = (Vec::new(), [0u32; 21]);
        for number in 0..200 {
            let text = statement(&rows, number, 100);
            let (_, values) = text.split_once("VALUES (").unwrap();
            for row in values.trim_end_matches(')').split("),(") {
                let fields: Vec<&str> = row.split(',').collect();
                let [_, register, customer, dialect, price, data] = fields[..] else {
                    panic!("{row}")
                };
                assert!(register.parse::<u64>().unwrap() < CASH_REGISTERS);
                assert!(dialect.parse::<u64>().unwrap() < PRODUCTS);
                assert!(price.strip_suffix(".00").unwrap().parse::<u64>().unwrap() < PRICES);
                customers.push(customer.parse::<f64>().unwrap());
                let data = data.trim_matches('\'');
                lengths[data.len()] += 1;
                let random = data.len() * 3 / 8;
                let (same, random) = data.split_at(data.len() - random);
                assert!(same.bytes().all(|byte| byte == b'a'), "{data}");
                assert!(random.bytes().all(|byte| ALPHABET.contains(&byte)), "{data}");
            }
        }
        let count = customers.len() as f64;
        let mean = customers.iter().sum::<f64>() / count;
        let variance = customers.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        assert!((mean - 49_999.5).abs() < 4.0 * 28_867.5 / count.sqrt(), "{mean}");
        assert!((variance.sqrt() - 28_867.5).abs() < 300.0, "{variance}");
        assert_eq!(lengths[..10], [0; 10]);
        assert!(lengths[10..].iter().all(|it| (1600..2050).contains(it)), "{lengths:?}");
    }
}
