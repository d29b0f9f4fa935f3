//! What is not to be kept or shown.

/// Whether a setting may hold a password or a key: those of others' servers are read too, and are kept and shown.
#[must_use]
pub fn may_be_secret(name: &str) -> bool {
    let words = [
        "conninfo",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "command",
        "credential",
        "filekey",
        "keyring",
        "private_key",
        "encryption_key",
        "sst_auth",
    ];
    words.iter().any(|word| name.contains(word))
}
