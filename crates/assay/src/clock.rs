//! The clock of this machine.

use jiff::Timestamp;

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
