//! Proofs that a client knows its password, for each login method.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use num_bigint::BigUint;
use ring::pbkdf2;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::Ed25519KeyPair;
use sha1::{Digest as _, Sha1};
use sha2::{Sha256, Sha512};

use crate::der::Der;

/// Random bytes of the server for a proof that the client knows the password.
pub(super) const NONCE: usize = 20;
/// The same for the methods of MariaDB with Ed25519.
const LONG_NONCE: usize = 32;

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

/// For `client_ed25519`: a signature of the nonce as in RFC 8032, but the secret key is the password, however long.
pub(super) fn ed25519(nonce: &[u8; LONG_NONCE], password: &[u8]) -> [u8; 64] {
    let expanded: [u8; 64] = Sha512::digest(password).into();
    let (low, prefix) = expanded.split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(low);
    let key = Scalar::from_bytes_mod_order(clamp_integer(key));
    let public = EdwardsPoint::mul_base(&key).compress().to_bytes();
    let number = |parts: [&[u8]; 3]| {
        Scalar::from_bytes_mod_order_wide(&Sha512::digest(parts.concat()).into())
    };
    let secret = number([prefix, nonce, &[]]);
    let point = EdwardsPoint::mul_base(&secret).compress().to_bytes();
    let proof = number([&point, &public, nonce]) * key + secret;
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&point);
    signature[32..].copy_from_slice(&proof.to_bytes());
    signature
}

/// For `parsec`: a nonce of the client, and a signature of both nonces by a key derived from the password. `salt` has
/// the number of rounds, as a power of two from 1024 on, and 18 bytes. `None` if the server asks for anything else.
pub(super) fn parsec(nonce: &[u8; LONG_NONCE], salt: &[u8], password: &[u8]) -> Option<Vec<u8>> {
    const SALT: usize = 18;
    /// About a second of work.
    const MAX_DOUBLINGS: u8 = 10;
    let (&doublings, salt) = salt.split_first()?;
    if doublings > MAX_DOUBLINGS || salt.len() != SALT {
        return None;
    }
    let rounds = std::num::NonZeroU32::new(1024 << doublings)?;
    let mut seed = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, password, &mut seed);
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
    let own = random::<LONG_NONCE>()?;
    let signature = pair.sign(&[&nonce[..], &own].concat());
    Some([&own[..], signature.as_ref()].concat())
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// The password, masked with the nonce, encrypted for the holder of a public key. `None` if that is no RSA key or a key
/// too short for the password.
pub(super) fn sealed_password(
    spki: &[u8],
    nonce: &[u8; NONCE],
    password: &[u8],
) -> Option<Vec<u8>> {
    let (modulus, exponent) = rsa_key(spki)?;
    let masked = password.iter().chain(&[0]).zip(nonce.iter().cycle()).map(|(a, b)| a ^ b);
    let length = usize::try_from(modulus.bits().div_ceil(8)).ok()?;
    let padded = oaep(&masked.collect::<Vec<_>>(), length)?;
    let sealed = BigUint::from_bytes_be(&padded).modpow(&exponent, &modulus).to_bytes_be();
    Some([vec![0; length - sealed.len()], sealed].concat())
}

fn rsa_key(spki: &[u8]) -> Option<(BigUint, BigUint)> {
    const INTEGER: u8 = 2;
    const BIT_STRING: u8 = 3;
    /// 1.2.840.113549.1.1.1
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    let mut parts = Der(spki).sequence()?;
    if parts.sequence()?.object()? != RSA {
        return None;
    }
    let (unused_bits, key) = parts.value(BIT_STRING)?.split_first()?;
    let mut numbers = Der(key).sequence().filter(|_| *unused_bits == 0)?;
    let mut number = || numbers.value(INTEGER).map(BigUint::from_bytes_be);
    let key = (number()?, number()?);
    // Only a modulus of this size is worth the name, and a larger one would keep the client busy.
    (1024..=16_384).contains(&key.0.bits()).then_some(key).filter(|(_, e)| e.bits() <= 64)
}

/// Pads for RSA-OAEP with SHA-1 (RFC 8017, section 7.1.1).
fn oaep(message: &[u8], length: usize) -> Option<Vec<u8>> {
    const HASH: usize = 20;
    let zeros = length.checked_sub(2 * HASH + 2)?.checked_sub(message.len())?;
    let data = [&Sha1::digest(b"")[..], &vec![0; zeros], &[1], message].concat();
    let seed = random::<HASH>()?;
    let data = xor(&data, &mask(&seed, data.len()));
    let seed = xor(&seed, &mask(&data, HASH));
    Some([&[0][..], &seed, &data].concat())
}

/// MGF1 with SHA-1 (RFC 8017, section B.2.1).
fn mask(seed: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0_u32.. {
        if bytes.len() >= length {
            break;
        }
        let block = Sha1::new().chain_update(seed).chain_update(number.to_be_bytes()).finalize();
        bytes.extend_from_slice(&block);
    }
    bytes.truncate(length);
    bytes
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

    const LONG: &[u8; LONG_NONCE] = b"abcdefghijklmnopqrstuvwxyz012345";

    /// Computed with Python's `hashlib` and the formulas of RFC 8032.
    #[test]
    fn signatures_of_passwords_agree_with_another_implementation() {
        let signature = hex::encode(ed25519(LONG, b"secret"));
        let first = "d0f66f7853ca6f44f7d6e3d4fe913f935f54818a7e3fe80462a2c39d199d0cdc";
        let second = "05fa15934074edcaa964b4553938840317d0db36735d50d22e820fd05e3b0306";
        assert_eq!(signature, [first, second].concat());
        let signed = parsec(LONG, b"\x010123456789abcdefgh", b"secret").unwrap();
        let (own, signature) = signed.split_at(LONG_NONCE);
        let key = "03ac1dc5bbef182e47e69e8ffaa1b696284ec163e07f252707aab4f50ca4dcf6";
        let key = hex::decode(key).unwrap();
        let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, key);
        key.verify(&[&LONG[..], own].concat(), signature).unwrap();
        for salt in [&b"\x0b0123456789abcdefgh"[..], b"\x010123", b""] {
            assert_eq!(parsec(LONG, salt, b"secret"), None);
        }
    }

    #[test]
    fn only_the_holder_of_the_key_reads_a_sealed_password() {
        use rustls::pki_types::pem::PemObject as _;
        use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
        const INTEGER: u8 = 2;
        const OCTETS: u8 = 4;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates/");
        let public = SubjectPublicKeyInfoDer::from_pem_file(format!("{folder}server.pub")).unwrap();
        let private = PrivatePkcs8KeyDer::from_pem_file(format!("{folder}server.key")).unwrap();
        let nonce = b"abcdefghijklmnopqrst";
        let sealed = sealed_password(&public, nonce, b"secret").unwrap();
        assert_eq!(sealed.len(), 256);
        let mut parts = Der(private.secret_pkcs8_der()).sequence().unwrap();
        parts.value(INTEGER).unwrap();
        parts.sequence().unwrap();
        let mut key = Der(parts.value(OCTETS).unwrap()).sequence().unwrap();
        let mut number = || BigUint::from_bytes_be(key.value(INTEGER).unwrap());
        let (_version, modulus, _public, exponent) = (number(), number(), number(), number());
        let padded = BigUint::from_bytes_be(&sealed).modpow(&exponent, &modulus).to_bytes_be();
        // The leading zero is lost, and those that follow from the seed.
        let padded = [vec![0; 255 - padded.len()], padded].concat();
        let (seed, data) = padded.split_at(20);
        let seed = xor(seed, &mask(data, 20));
        let data = xor(data, &mask(&seed, data.len()));
        assert_eq!(xor(&data[data.len() - 7..], nonce), b"secret\0");
        assert_eq!(sealed_password(&public, nonce, &[b'x'; 215]), None);
        assert_eq!(sealed_password(b"no key", nonce, b"secret"), None);
    }
}
