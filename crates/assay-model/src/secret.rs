//! Secrets, which are neither stored nor shown.

use std::fmt;
use std::ops::Range;

/// Settings that hold no secret although their names suggest one.
const HARMLESS: [&str; 19] = [
    "native_password",
    "validate_password",
    "password_check",
    "password_validation",
    "password_lifetime",
    "password_history",
    "password_reuse",
    "password_require_current",
    "password_encryption",
    "password_proxy_users",
    "password_length",
    "password_auto_generate_rsa_keys",
    "password_digest_rounds",
    "password_errors",
    "expired_password",
    "old_passwords",
    "log_replication_commands",
    "token_size",
    "bypass",
];

/// Whether a setting may hold a password or key. assay also reads, stores and shows settings of servers run by others.
pub fn may_be_secret(name: &str) -> bool {
    let words = [
        "conninfo",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "command",
        "credential",
        "filekey",
        "keyring",
        "private_key",
        "encryption_key",
        "api_key",
        "apikey",
        "access_key",
        "sst_auth",
    ];
    let name = name.to_ascii_lowercase().replace('-', "_");
    let holds_one = name.ends_with("pass") || words.iter().any(|word| name.contains(word));
    holds_one && !HARMLESS.iter().any(|word| name.contains(word))
}

/// A password or token. It has no form that is shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the program that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// Shown instead of a secret.
const HIDDEN: &str = "***";

/// A login that was part of an address, separated from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub address: String,
    /// The user as written in the address, where some characters are percent-encoded. It may be a token.
    pub user: Secret,
    /// The password as written in the address. It is empty if the user is a token that needs none.
    pub password: Secret,
}

/// Extracts the login from an address such as `https://user:password@host/path`. `None` without a login, or for one
/// without a secret, such as `ssh://git@host/path`.
pub fn login(address: &str) -> Option<Login> {
    let (scheme, rest) = address.split_once("://")?;
    let login = login_in(scheme, rest, |_| false)?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (user, password) = (Secret::new(user), Secret::new(password));
    Some(Login { address: address_without_login(address), user, password })
}

/// A word that is an address, or a system name with one, without the passwords and tokens before its host.
pub fn address_without_login(word: &str) -> String {
    replaced(word, logins(word, |_| false), "")
}

/// A text without the passwords and tokens before the hosts of its addresses.
pub fn without_logins(text: &str) -> String {
    replaced(text, logins(text, ends_word), "")
}

/// A message without the passwords and tokens before the hosts of its addresses, and without the values of options that
/// may be secret.
pub fn without_secrets(text: &str) -> String {
    let text = without_logins(text);
    let values = values(&text, |c| c.is_control() || QUOTES.contains(&c));
    replaced(&text, values, HIDDEN)
}

/// A file, or a part of one, with `*` for each byte of its secrets: all positions stay the same. A value that may be
/// secret is hidden to the end of its line.
pub fn masked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in logins(text, ends_word).into_iter().chain(values(text, |c| c == '\n')) {
        bytes[span].fill(b'*');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

const QUOTES: [char; 3] = ['`', '"', '\''];

/// Whether an address in a text ends before this character.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || QUOTES.contains(&c)
}

/// Replaces the secrets of a text. If secrets overlap, the first one counts.
fn replaced(text: &str, secrets: Vec<Range<usize>>, instead: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for span in secrets.into_iter().filter(|span| !span.is_empty()) {
        if span.start >= done {
            clean.push_str(&text[done..span.start]);
            clean.push_str(instead);
            done = span.end;
        }
    }
    clean + &text[done..]
}

/// The places of the logins in the addresses of a text.
fn logins(text: &str, ends: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let of_address = |(at, mark): (usize, &str)| {
        let (before, start) = (&text[..at], at + mark.len());
        let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(before);
        let login = login_in(scheme, &text[start..], &ends)?;
        // With schemes other than those of the web, the user is only a name. Without the password it gives no access.
        Some(match login.find(':') {
            Some(colon) if !is_web(scheme) => start + colon..start + login.len(),
            _ => start..start + login.len() + 1,
        })
    };
    text.match_indices("://").filter_map(of_address).collect()
}

/// The part before the `@` of an address, if it contains a secret.
fn login_in<'a>(scheme: &str, address: &'a str, ends: impl Fn(char) -> bool) -> Option<&'a str> {
    let is_end = |c| matches!(c, '/' | '?' | '#') || ends(c);
    let (login, _) = address.split(is_end).next().unwrap_or(address).rsplit_once('@')?;
    (is_web(scheme) || login.contains(':')).then_some(login)
}

fn is_web(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    scheme.ends_with("http") || scheme.ends_with("https")
}

/// The places of the values of all `name=value` in a text whose names suggest a secret.
fn values(text: &str, ends: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let value = |(at, _): (usize, &str)| {
        let before = text[..at].trim_end().trim_end_matches(['"', '\'']);
        let name = before.rsplit(|c| !is_of_name(c)).next().unwrap_or(before);
        // Few names are those of secrets, and a value may be as long as the text.
        if !may_be_secret(name) {
            return None;
        }
        let value = text[at + 1..].trim_start_matches([' ', '"', '\'']);
        let length = value.find(&ends).unwrap_or(value.len());
        let start = text.len() - value.len();
        Some(start..start + length)
    };
    text.match_indices('=').filter_map(value).collect()
}

#[cfg(test)]
mod tests;
