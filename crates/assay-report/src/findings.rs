//! What a page of findings of an audit is built of: their words by topic, and rows for scripts.

pub use crate::data::json::{audit_rows, system_rows};
pub use crate::data::sections::same_rows;
pub use crate::sections::findings::{by_topic, counts, same_sentence};
