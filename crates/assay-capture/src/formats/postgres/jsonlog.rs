//! `log_destination = jsonlog` of Postgres.

use assay_model::Dialect;
use serde::Deserialize;

use super::messages::{Message, Messages};
use crate::entry::{Sink, Skip};
use crate::lines::LINE_MAX;
use crate::reader::{Format, Given, Reader, lines, number_of};
use crate::time;

pub(crate) const FORMAT: Format = Format {
    name: "jsonlog",
    about: "jsonlog of Postgres",
    dialect: Some(Dialect::Postgres),
    looks,
    open: |_, _| Box::new(JsonLog::default()),
};

/// The keys that matter.
#[derive(Debug, Deserialize)]
struct Record {
    timestamp: String,
    #[serde(default)]
    dbname: Option<String>,
    #[serde(default)]
    session_id: String,
    error_severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    application_name: String,
}

fn looks(head: &[u8], _: &Given) -> bool {
    let is_record =
        |line: &[u8]| line.starts_with(b"{") && serde_json::from_slice::<Record>(line).is_ok();
    lines(head).take(20).any(is_record)
}

#[derive(Debug, Default)]
struct JsonLog {
    messages: Messages,
}

impl Reader for JsonLog {
    fn line(&mut self, line: &[u8], out: &mut dyn Sink) {
        if line.is_empty() {
            return;
        }
        if line.len() >= LINE_MAX {
            return out.skip(Skip::TooLong);
        }
        // Texts of databases without an encoding may be in any.
        let text = String::from_utf8_lossy(line);
        let Ok(record) = serde_json::from_str::<Record>(&text) else {
            return out.unreadable(line);
        };
        let message = Message {
            at_us: time::leading(record.timestamp.as_bytes()).map(|(at, _)| at),
            session: number_of(record.session_id.as_bytes()),
            database: record.dbname.as_deref(),
            application: record.application_name.as_bytes(),
            severity: record.error_severity.as_bytes(),
            text: record.message.as_bytes(),
            detail: record.detail.as_bytes(),
        };
        self.messages.take(&message, out);
    }

    fn end(&mut self, out: &mut dyn Sink) {
        self.messages.end(out);
    }
}
