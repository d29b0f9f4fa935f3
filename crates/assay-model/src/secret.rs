//! Secrets that must not be stored or shown.

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
#[must_use]
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

#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub address: String,
    /// User as written, where some characters are percent-encoded.
    pub user: String,
    /// Password as written; empty if the user is a token without one.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.address)
    }
}

/// Extracts the login from an address such as `https://user:password@host/path`. `None` without a login, or for one
/// without a secret, such as `ssh://git@host/path`.
#[must_use]
pub fn login(address: &str) -> Option<Login> {
    let (scheme, rest) = address.split_once("://")?;
    let secret = login_in(scheme, rest)?;
    let (user, password) = secret.split_once(':').unwrap_or((secret, ""));
    let (user, password) = (user.to_owned(), password.to_owned());
    Some(Login { address: address_without_login(address), user, password })
}

/// The text without passwords and tokens of its URLs. The ends of URLs are guessed.
#[must_use]
pub fn without_logins(text: &str) -> String {
    replaced(text, &in_addresses(text, end_in_prose))
}

/// A single word, an address or a system name with one, without passwords and tokens. The address extends to the end of
/// the word, whatever its characters.
#[must_use]
pub fn address_without_login(word: &str) -> String {
    replaced(word, &in_addresses(word, |word, _| word.len()))
}

/// A message without passwords and tokens of URLs and values of potentially secret options.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let text = without_logins(text);
    let values = (values_of(&text, may_be_secret).into_iter())
        .map(|at| Secret { span: at..end_in_prose(&text, at), instead: "..." });
    replaced(&text, &values.collect::<Vec<_>>())
}

fn is_secret_of_url(name: &str) -> bool {
    let last = name.rsplit(['-', '_']).next().unwrap_or(name).to_ascii_lowercase();
    may_be_secret(name) || ["auth", "key", "sig", "signature", "jwt"].contains(&last.as_str())
}

struct Secret {
    span: Range<usize>,
    instead: &'static str,
}

/// Replaces secrets. The first of overlapping secrets wins.
fn replaced(text: &str, secrets: &[Secret]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for Secret { span, instead } in secrets {
        if let Some(before) = text.get(done..span.start) {
            clean.push_str(before);
            clean.push_str(instead);
            done = span.end;
        }
    }
    clean + text.get(done..).unwrap_or_default()
}

/// Finds logins and secret parameters of all addresses in a text. `end` returns where the address that begins at a
/// position ends.
fn in_addresses(text: &str, end: impl Fn(&str, usize) -> usize) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = Vec::new();
    for Start { scheme, at } in starts(text) {
        // An address within the login of another one is already hidden.
        if secrets.last().is_some_and(|last| at < last.span.end) {
            continue;
        }
        let Some(address) = text.get(at..end(text, at)) else { continue };
        let mut rest = 0;
        if let Some(login) = login_in(scheme, address) {
            rest = login.len() + 1;
            // For schemes outside the web, the user is only a name: useless without the password.
            let (from, to) = match login.find(':') {
                Some(colon) if !is_web(scheme) => (colon, login.len()),
                _ => (0, rest),
            };
            secrets.push(Secret { span: at + from..at + to, instead: "" });
        }
        secrets.extend(
            parameters(address, rest, is_secret_of_url)
                .map(|span| Secret { span: at + span.start..at + span.end, instead: "..." }),
        );
    }
    secrets
}

/// Values of the parameters selected by `hides` in the query of an address, after `from` (the end of its login).
fn parameters(
    address: &str,
    from: usize,
    hides: impl Fn(&str) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let place = address.get(from..).unwrap_or_default();
    let place = place.split('#').next().unwrap_or(place);
    let mut at = place.find('?').map_or(address.len(), |mark| from + mark + 1);
    let query = address.get(at..from + place.len()).unwrap_or_default();
    let mut spans = Vec::new();
    for part in query.split('&') {
        // A value without a name may be anything.
        let name = part.split_once('=').map_or("", |(name, _)| name);
        let value = if part.contains('=') { name.len() + 1 } else { 0 };
        if hides(name) && value < part.len() {
            spans.push(at + value..at + part.len());
        }
        at += part.len() + 1;
    }
    spans.into_iter()
}

/// Position where an address begins, after its scheme.
struct Start<'a> {
    scheme: &'a str,
    at: usize,
}

/// Schemes recognised even if the following characters are misspelt.
const SCHEMES: [&str; 8] =
    ["http", "https", "ftp", "ssh", "mysql", "mariadb", "postgres", "postgresql"];

/// All addresses of a text: after `://` and its likely misspellings.
fn starts(text: &str) -> Vec<Start<'_>> {
    let mut starts = Vec::new();
    let mut next = 0;
    for (index, _) in text.match_indices([':', ';', '/']) {
        let Some((before, after)) = text.split_at_checked(index) else { continue };
        if index < next {
            continue;
        }
        let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(before);
        let is_known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
        let length = after.len() - after.trim_start_matches([':', ';', '/']).len();
        let is_path = before.strip_suffix(scheme).is_some_and(|it| it.ends_with(['/', '.', '-']));
        let is_misspelt =
            is_known && !is_path && after.get(..length).is_some_and(|it| it.contains('/'));
        let length = match after.starts_with("://") {
            true if is_known => length,
            true => 3,
            false if is_misspelt => length,
            false => continue,
        };
        next = index + length;
        starts.push(Start { scheme, at: next });
    }
    starts
}

/// End of a word in running text: its closing quote, else the next blank.
fn end_in_prose(text: &str, at: usize) -> usize {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let line = after.split(char::is_control).next().unwrap_or(after);
    let closes = |quote: char| {
        let ends = |rest: &str| {
            rest.is_empty()
                || rest.starts_with(|c: char| c.is_whitespace() || ",.:;)]}".contains(c))
        };
        line.match_indices(quote).map(|(end, _)| end).find(|end| ends(&line[end + 1..]))
    };
    let quoted = word.rfind(['`', '"', '\'']).and_then(|open| word[open..].chars().next());
    let blank = || line.find(|c: char| c.is_whitespace() || "\"`<>".contains(c));
    at + quoted.and_then(closes).or_else(blank).unwrap_or(line.len())
}

fn is_web(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    scheme.ends_with("http") || scheme.ends_with("https")
}

/// The part of an address before `@`, if it contains a secret.
fn login_in<'a>(scheme: &str, address: &'a str) -> Option<&'a str> {
    let authority = address.split(['/', '?', '#']).next().unwrap_or(address);
    let login = match authority.rsplit_once('@') {
        Some((login, _)) => login,
        None => login_with_slash(address, authority)?,
    };
    (is_web(scheme) || login.contains(':')).then_some(login)
}

/// Login of an address whose password contains an unescaped slash.
fn login_with_slash<'a>(address: &'a str, authority: &str) -> Option<&'a str> {
    let (name, port) = authority.split_once(':').filter(|_| !authority.starts_with('['))?;
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return address.rsplit_once('@').map(|(login, _)| login);
    }
    // A number after a plausible host is more likely a port.
    let is_host = name.contains('.') || name.eq_ignore_ascii_case("localhost");
    let place = address.split('#').next().unwrap_or(address);
    place.rsplit_once('@').map(|(login, _)| login).filter(|_| !is_host && !port.is_empty())
}

/// A file or part of one, with `*` for each byte that may belong to a password or token. Positions are unchanged. Errs
/// on the side of hiding too much.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut spans = Vec::new();
    for Start { scheme, at } in starts(text) {
        let end = end_in_file(text, at);
        let word = text.get(at..end).unwrap_or_default();
        let inside = |span: Range<usize>| at + span.start..at + span.end;
        spans.extend(login_in_file(scheme, word).map(inside));
        let is_place = |name: &str| ["socket", "host", "port"].contains(&name);
        spans.extend(parameters(word, 0, |name| !is_place(name)).map(inside));
    }
    spans.extend(values_of(text, may_be_secret).into_iter().map(|at| value_in_file(text, at)));
    spans.extend(logins_without_scheme(text));
    let mut bytes = text.as_bytes().to_vec();
    for span in spans.into_iter().filter(|span| text.get(span.clone()).is_some()) {
        let hidden = bytes.get_mut(span).unwrap_or_default();
        hidden.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b'*');
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The part of a possibly malformed address that may be a password.
fn login_in_file(scheme: &str, word: &str) -> Option<Range<usize>> {
    if let Some((login, _)) = word.rsplit_once('@') {
        let from = if is_web(scheme) { 0 } else { login.find(':')? };
        return Some(from..login.len());
    }
    let authority = word.split(['/', '?', '#']).next().unwrap_or(word);
    let (name, port) = authority.split_once(':').filter(|_| !authority.starts_with('['))?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then_some(name.len() + 1..word.len())
}

/// The part between a colon and the last `@` of a word, as in `mysql@root:password@host`.
fn logins_without_scheme(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for (colon, _) in text.match_indices(':') {
        let before = text.get(..colon).unwrap_or_default();
        let word = text.get(colon + 1..end_in_file(text, colon + 1)).unwrap_or_default();
        let is_origin = before.ends_with("@git") || before.ends_with("@dir");
        let is_other = is_origin || word.starts_with(|c: char| c == '/' || c.is_whitespace());
        if let Some((login, _)) = word.rsplit_once('@').filter(|_| !is_other) {
            spans.push(colon + 1..colon + 1 + login.len());
        }
    }
    spans
}

fn open_quote(text: &str, at: usize) -> Option<char> {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or(before);
    let (mut open, mut is_escaped) = (None, false);
    for c in line.chars() {
        match (c, open) {
            _ if is_escaped => is_escaped = false,
            ('\\', Some('"')) => is_escaped = true,
            ('"' | '\'' | '`', None) => open = Some(c),
            (_, Some(quote)) if c == quote => open = None,
            _ => {}
        }
    }
    open
}

/// End of a value in a file: its closing quote, else the end of the line.
fn end_in_file(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or(rest);
    at + open_quote(text, at).and_then(|quote| closing(line, quote)).unwrap_or(line.len())
}

fn closing(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let is_it = c == quote && !is_escaped;
        is_escaped = quote == '"' && c == '\\' && !is_escaped;
        is_it.then_some(at)
    })
}

/// Start positions of values in `name=value` pairs whose names `hides` selects.
fn values_of(text: &str, hides: impl Fn(&str) -> bool) -> Vec<usize> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut places = Vec::new();
    for (index, _) in text.match_indices('=') {
        let before = text.get(..index).unwrap_or_default().trim_end();
        let before = before.strip_suffix(['"', '\'']).unwrap_or(before);
        let name = before.rsplit(|c| !is_of_name(c)).next().unwrap_or(before);
        if hides(name) {
            places.push(index + 1);
        }
    }
    places
}

/// A value in a file, without quotes. Triple-quoted values may span lines.
fn value_in_file(text: &str, at: usize) -> Range<usize> {
    let rest = text.get(at..).unwrap_or_default();
    let at = at + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let rest = text.get(at..).unwrap_or_default();
    for quotes in ["\"\"\"", "'''"] {
        if let Some(value) = rest.strip_prefix(quotes) {
            let length = value.find(quotes).unwrap_or(value.len());
            return at + 3..at + 3 + length;
        }
    }
    match rest.chars().next() {
        Some('"' | '\'') if open_quote(text, at).is_none() => at + 1..end_in_file(text, at + 1),
        _ => at..end_in_file(text, at),
    }
}

#[cfg(test)]
mod tests;
