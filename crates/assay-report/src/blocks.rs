//! What a wing builds a page of: a document of blocks with its charts, and numbers for readers and for scripts.

pub use crate::charts::heat::{HeatMap, HeatRow, HeatRun};
pub use crate::charts::sequence::{SequenceChart, SequencePoint};
pub use crate::charts::stem;
pub use crate::data::csv::fields_csv;
pub use crate::data::json::versioned;
pub use crate::data::number::{Interval, Number};
pub use crate::data::value::JsonValue;
pub use crate::document::{Block, Column, Heading, Indent, PageDocument, Row, Table, Wish};
pub use crate::number::{NONE, Rate, confidence, duration, rounded, share, thousands};
pub use crate::page::{PageContent, with_pages};
pub use crate::ratio::{Quotient, Ratio, change_in_words};
pub use crate::sections::answers::{only_kind, sql_text};
pub use crate::text::{Text, linked};
pub use crate::words::{Separated, began, capital, rfc3339, source};
