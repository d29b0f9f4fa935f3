//! `log_destination = jsonlog` of Postgres.

use assay_model::Dialect;
use serde::Deserialize;

use super::messages::{Message, StatementMessages};
use crate::reader::{EntrySink, LINE_MAX, LogFormat, LogHints, LogReader, Skip, lines, number_of};
use crate::time;

pub(crate) const FORMAT: LogFormat = LogFormat {
    name: "jsonlog",
    about: "jsonlog of Postgres, or the log of CloudNativePG",
    dialect: Some(Dialect::Postgres),
    looks,
    open: |_, _| Box::new(JsonLog::default()),
};

/// The keys that matter. CloudNativePG names some of them as in csvlog.
#[derive(Debug, Deserialize)]
struct JsonRecord {
    #[serde(alias = "log_time")]
    timestamp: String,
    #[serde(default, alias = "database_name")]
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

/// A line of CloudNativePG: a Postgres record, or a message of another program.
#[derive(Debug, Deserialize)]
struct PackedRecord {
    logger: String,
    #[serde(default)]
    record: Option<JsonRecord>,
}

fn looks(head: &[u8], _: &LogHints) -> bool {
    lines(head).any(|line| {
        line.starts_with(b"{")
            && String::from_utf8(line.to_vec())
                .is_ok_and(|text| matches!(record(&text), Ok(Some(_))))
    })
}

/// `None` for a message of another program.
fn record(text: &str) -> Result<Option<JsonRecord>, serde_json::Error> {
    match serde_json::from_str::<JsonRecord>(text) {
        Ok(record) => Ok(Some(record)),
        Err(error) => match serde_json::from_str::<PackedRecord>(text) {
            // Its other logs of Postgres have records of other forms.
            Ok(packed) if packed.record.is_some() || packed.logger != "postgres" => {
                Ok(packed.record)
            }
            _ => Err(error),
        },
    }
}

#[derive(Debug, Default)]
struct JsonLog {
    messages: StatementMessages,
}

impl LogReader for JsonLog {
    fn line(&mut self, line: &[u8], out: &mut dyn EntrySink) {
        if line.is_empty() {
            return;
        }
        if line.len() >= LINE_MAX {
            return out.skip(Skip::TooLong);
        }
        // Databases without an encoding may have texts in any.
        let text = String::from_utf8_lossy(line);
        let record = match record(&text) {
            Ok(Some(record)) => record,
            Ok(None) => return,
            Err(_) => return out.unreadable(line),
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

    fn end(&mut self, out: &mut dyn EntrySink) {
        self.messages.end(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_cloudnativepg_are_read() {
        let text = [
            r#"{"level":"info","ts":"2026-11-28T10:00:00Z","logger":"postgres","msg":"record","record":{"#,
            r#""log_time":"2026-11-28 10:00:00.123 UTC","user_name":"app","database_name":"shop","#,
            r#""process_id":"77","session_id":"a.b","error_severity":"LOG","#,
            r#""message":"duration: 1.5 ms  statement: SELECT 1","application_name":"web"}}"#,
        ]
        .concat();
        let found = record(&text).unwrap().unwrap();
        assert_eq!((found.dbname.as_deref(), found.session_id.as_str()), (Some("shop"), "a.b"));
        assert!(looks(text.as_bytes(), &LogHints::default()));
        let other = r#"{"level":"info","logger":"instance-manager","msg":"ready"}"#;
        assert!(record(other).unwrap().is_none() && !looks(other.as_bytes(), &LogHints::default()));
        assert!(record(r#"{"textPayload":"LOG:  x"}"#).is_err());
    }
}
