//! Proofs that a client knows a password, without sending it.

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

pub(super) const NONCE: usize = 20;

/// For `mysql_native_password`: SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
pub(super) fn native(nonce: &[u8; NONCE], password: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    xor(&once, &Sha1::new().chain_update(nonce).chain_update(twice).finalize())
}

/// For `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce).
pub(super) fn caching_sha2(nonce: &[u8; NONCE], password: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    xor(&once, &Sha256::new().chain_update(twice).chain_update(nonce).finalize())
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's `hashlib`.
    #[test]
    fn agrees_with_another_implementation() {
        let nonce = b"abcdefghijklmnopqrst";
        let sha1 = native(nonce, b"secret");
        assert_eq!(hex::encode(sha1), "8817c50fa779daef010ee7577825b0847df9842e");
        let sha2 = caching_sha2(nonce, b"secret");
        let expected = "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809";
        assert_eq!(hex::encode(sha2), expected);
    }
}
