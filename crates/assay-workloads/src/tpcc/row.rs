//! Formats a row: as part of an `INSERT`, or as a line to copy.

use super::draw::{push_digits, push_fixed, push_text};
use crate::decimal::push_decimal;
use crate::random::Stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TpccForm {
    Insert,
    /// As lines for Postgres's `COPY ... FROM STDIN`, with tabs between the values.
    Copy,
}

/// The text of a row: `(value,value),`, or a line with tabs between the values. No value needs escaping.
pub(super) struct Row<'a> {
    form: TpccForm,
    out: &'a mut Vec<u8>,
}

impl<'a> Row<'a> {
    pub(super) fn new(form: TpccForm, out: &'a mut Vec<u8>) -> Self {
        Self { form, out }
    }

    pub(super) fn begin(&mut self) {
        if self.form == TpccForm::Insert {
            self.out.push(b'(');
        }
    }

    pub(super) fn end(&mut self) {
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

    pub(super) fn null(&mut self) {
        self.plain(match self.form {
            TpccForm::Insert => "NULL",
            TpccForm::Copy => "\\N",
        });
    }

    pub(super) fn plain(&mut self, value: &str) {
        self.out.extend_from_slice(value.as_bytes());
        self.separate();
    }

    pub(super) fn numbers(&mut self, values: &[u32]) {
        for value in values {
            push_decimal(self.out, u64::from(*value));
            self.separate();
        }
    }

    pub(super) fn fixed(&mut self, value: u64, decimals: u32) {
        push_fixed(value, decimals, self.out);
        self.separate();
    }

    pub(super) fn word(&mut self, word: &str) {
        self.text(|out| out.extend_from_slice(word.as_bytes()));
    }

    /// A text of letters, digits and blanks.
    pub(super) fn text(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
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
    pub(super) fn address(&mut self, stream: &mut Stream) {
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
