//! Detects which protocol a server speaks.

use std::time::Duration;

use super::codec::{HEADER, kind};
use crate::error::WireError;
use crate::options::ConnectOptions;
use crate::stream::ServerStream;

/// Whether the first bytes of a server are MySQL's, which speaks first: a length of three bytes, number 0, and the
/// protocol's version or an error. No first message of Postgres is 10 bytes long; an error may be 255 bytes long.
pub(super) fn is_mysql(header: [u8; HEADER]) -> bool {
    match header {
        [_, _, 0, 0, 10] => true,
        [kind, _, 0, 0, 0xff] => ![kind::ERROR, kind::AUTHENTICATION, kind::NOTICE].contains(&kind),
        _ => false,
    }
}

/// Asks whether TLS is available. Only Postgres answers with one of two letters.
pub(super) const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const PROBE_LIMIT: Duration = Duration::from_secs(1);

pub(crate) fn is_spoken_at(options: &ConnectOptions) -> bool {
    let options = ConnectOptions { timeout: options.timeout.min(PROBE_LIMIT), ..options.clone() };
    let answer = || {
        let mut stream = ServerStream::connect(&options)?;
        stream.send(&TLS_REQUEST)?;
        stream.wait()?;
        // The answer is one byte. A greeting of MySQL may begin with the same one.
        let mut answer = [0; 2];
        let count = stream.try_receive(&mut answer)?;
        Ok::<_, WireError>((count, answer))
    };
    matches!(answer(), Ok((Some(1), [b'S' | b'N', _])))
}
