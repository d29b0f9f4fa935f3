//! Wall clock.

use jiff::Timestamp;

pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}
