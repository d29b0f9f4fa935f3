//! What is not to be kept or shown.

use std::fmt;

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

/// How to log in to a place that an address names, without the login in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The address without the login.
    pub address: String,
    /// As it stands in the address: some characters are percent-encoded.
    pub user: String,
    /// The same; empty where the user is a token that needs none.
    pub password: String,
}

/// Nothing of it is shown.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.address)
    }
}

/// The login in an address such as `https://user:password@host/path`; none where there is none, or one without a
/// secret, such as `ssh://git@host/path`.
#[must_use]
pub fn login(address: &str) -> Option<Login> {
    let (scheme, rest) = address.split_once("://")?;
    let (secret, _) = secret_of(scheme, rest)?;
    let (user, password) = secret.split_once(':').unwrap_or((secret, ""));
    let (user, password) = (user.to_owned(), password.to_owned());
    Some(Login { address: without_logins(address), user, password })
}

/// A text without the passwords and tokens of the URLs in it.
#[must_use]
pub fn without_logins(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(before);
        rest = match secret_of(scheme, after) {
            Some((secret, after)) => {
                // Elsewhere the user is a name, without which there is no access.
                if !is_web(scheme) {
                    clean.push_str(secret.split(':').next().unwrap_or_default());
                    clean.push('@');
                }
                after
            }
            None => after,
        };
    }
    clean + rest
}

/// On the web, a user without a password may be a token.
fn is_web(scheme: &str) -> bool {
    scheme.ends_with("http") || scheme.ends_with("https")
}

/// What stands before the `@` of an address, if there is a secret in it, and what follows.
fn secret_of<'a>(scheme: &str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>()".contains(c);
    let address = rest.split(ends).next().unwrap_or(rest);
    let authority = address.split(['/', '?', '#']).next().unwrap_or(address);
    // A password may hold a slash, as it should not; after a host comes a number.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let odd = !authority.starts_with('[')
        && authority.split_once(':').is_some_and(|(_, port)| !is_number(port));
    let login = match authority.rsplit_once('@') {
        Some((login, _)) => login,
        None if odd => address.rsplit_once('@')?.0,
        None => return None,
    };
    let is_secret = is_web(scheme) || login.contains(':');
    is_secret.then(|| (login, rest.get(login.len() + 1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_taken_out_of_every_address() {
        for (text, clean) in [
            ("https://u:p@x.example/a@b", "https://x.example/a@b"),
            ("https://u:p@q@x.example", "https://x.example"),
            ("https://token@x.example/a", "https://x.example/a"),
            ("https://u:p/q@x.example/a", "https://x.example/a"),
            ("https://x.example:8080/a@b", "https://x.example:8080/a@b"),
            ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
            ("mysql://u:p@h:1/db, postgres://u@h/db", "mysql://u@h:1/db, postgres://u@h/db"),
            ("ssh://git@h/x", "ssh://git@h/x"),
            ("from (`http://a:b@c/d`) and a@b", "from (`http://c/d`) and a@b"),
            ("mysql@git:https://u:p@h/x.git#v1+a=b", "mysql@git:https://h/x.git#v1+a=b"),
            ("git@host:x/y.git", "git@host:x/y.git"),
            ("é://é:é@é", "é://é@é"),
            ("://@://", "://@://"),
            ("", ""),
        ] {
            assert_eq!(without_logins(text), clean);
            assert_eq!(without_logins(clean), clean);
        }
    }

    #[test]
    fn a_login_is_kept_apart_and_not_shown() {
        let found = login("https://me:secret@h/x.git").unwrap();
        assert_eq!((found.user.as_str(), found.password.as_str()), ("me", "secret"));
        assert_eq!(found.address, "https://h/x.git");
        assert!(!format!("{found:?}").contains("secret"));
        assert_eq!(login("https://token@h/x").unwrap().user, "token");
        assert_eq!(login("ssh://git@h/x"), None);
        assert_eq!(login("/a/b@c"), None);
    }
}
