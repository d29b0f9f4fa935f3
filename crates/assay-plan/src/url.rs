//! URLs of running servers: `mysql://user:password@host:port/db`, `mysql://user@/db?socket=PATH`, and the form of
//! Postgres' own programs, `postgres://user@/db?host=DIRECTORY&port=PORT`. Words about TLS may follow, such as
//! `?sslmode=require`.

use core::net::IpAddr;
use std::fmt;
use std::path::{Path, PathBuf};

use assay_model::{Dialect, Secret};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::error::{NO_SCHEME, PlanError, PlanResult};
use crate::tls_words::{TlsDemand, TlsWords};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub dialect: Dialect,
    pub place: ServerPlace,
    pub user: String,
    /// The user's password, when the URL has one.
    pub password: Option<Secret>,
    /// The database that has the tables.
    pub database: String,
    pub tls: TlsWords,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerPlace {
    Socket(PathBuf),
    Tcp { host: String, port: u16 },
}

/// The URL without its password, as [`parse_url`] reads it.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text| utf8_percent_encode(text, WORD);
        let scheme = self.dialect.scheme();
        let (user, database) = (encoded(&self.user), encoded(&self.database));
        let is_socket = match &self.place {
            ServerPlace::Socket(path) => {
                let path = path.to_string_lossy();
                let path = utf8_percent_encode(&path, PATH);
                write!(f, "{scheme}://{user}@/{database}?socket={path}")?;
                true
            }
            ServerPlace::Tcp { host, port } if host.contains(':') => {
                write!(f, "{scheme}://{user}@[{host}]:{port}/{database}")?;
                false
            }
            ServerPlace::Tcp { host, port } => {
                write!(f, "{scheme}://{user}@{host}:{port}/{database}")?;
                false
            }
        };
        for (number, (name, value)) in self.tls.iter().enumerate() {
            let mark = if number == 0 && !is_socket { '?' } else { '&' };
            write!(f, "{mark}{name}={}", utf8_percent_encode(value, PATH))?;
        }
        Ok(())
    }
}

impl ServerUrl {
    /// Without the password, in the form of the product's own programs. Those of Postgres need directory and number of
    /// a socket.
    pub fn for_programs(&self) -> String {
        let own = match (self.dialect, &self.place) {
            (Dialect::Postgres, ServerPlace::Socket(path)) => directory_and_port(path),
            _ => None,
        };
        let Some((directory, port)) = own else { return self.to_string() };
        let encoded = |text| utf8_percent_encode(text, WORD);
        let (user, database) = (encoded(&self.user), encoded(&self.database));
        let directory = utf8_percent_encode(directory, PATH);
        format!("postgres://{user}@/{database}?host={directory}&port={port}")
    }

    /// Adds the words of `--tls`: `NAME=VALUE,...`.
    pub fn with_tls(mut self, words: &str) -> PlanResult<Self> {
        let added = add_words(self.dialect, words, &mut self.tls);
        added.map_err(|why| PlanError::Url { why })?;
        Ok(self)
    }

    pub fn tls_demand(&self) -> TlsDemand {
        self.tls.demand(self.dialect, self.is_local())
    }

    /// Whether it is on this machine, as far as the URL shows.
    pub fn is_local(&self) -> bool {
        match &self.place {
            ServerPlace::Socket(_) => true,
            ServerPlace::Tcp { host, .. } => {
                let address = host.parse::<IpAddr>();
                address.map_or(host == "localhost", |address| address.is_loopback())
            }
        }
    }
}

fn add_words(dialect: Dialect, words: &str, tls: &mut TlsWords) -> Result<(), String> {
    for word in words.split(',').filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').ok_or("`--tls` takes `NAME=VALUE,...`")?;
        if !tls.add(dialect, name, value)? {
            return Err(format!("`{name}` is no word about TLS for such a server"));
        }
    }
    tls.check(dialect)
}

const POSTGRES_SOCKET: &str = ".s.PGSQL.";

fn directory_and_port(socket: &Path) -> Option<(&str, u16)> {
    let port = socket.file_name()?.to_str()?.strip_prefix(POSTGRES_SOCKET)?;
    Some((socket.parent()?.to_str()?, port.parse().ok()?))
}

/// Characters to escape in a word of a URL, and in a path.
const WORD: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const PATH: &AsciiSet = &WORD.remove(b'/');

/// Reads the URL of a running server. Errors do not show it: an unreadable address may have a password anywhere.
pub fn parse_url(text: &str) -> PlanResult<ServerUrl> {
    read(text).map_err(|why| PlanError::Url { why })
}

/// The crate `url` would bring tables of Unicode for host names.
fn read(text: &str) -> Result<ServerUrl, String> {
    let (scheme, rest) = text.split_once("://").ok_or(NO_SCHEME)?;
    let dialect = match scheme {
        "mysql" | "mariadb" => Dialect::MySql,
        "postgres" | "postgresql" => Dialect::Postgres,
        _ if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            return Err(format!("`{scheme}` is neither `mysql` nor `postgres`"));
        }
        _ => return Err("it does not begin with `mysql://` or `postgres://`".to_owned()),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    // A password may contain an `@`; a host cannot.
    let (login, host) = authority.rsplit_once('@').ok_or("no user: it has no `@`")?;
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(Secret::new(decoded(password)?))),
        None => (login, None),
    };
    if user.is_empty() {
        return Err("no user before the `@`".to_owned());
    }
    if database.is_empty() {
        return Err("no database after the host: `/sbtest` for example".to_owned());
    }
    // That `@` is more likely the one before the host, and the `/` part of the password.
    if database.contains('@') {
        let why = "an `@` after the host: write `/` in a password as `%2F`, and `@` in a database as `%40`";
        return Err(why.to_owned());
    }
    let mut tls = TlsWords::default();
    let place = match socket(query, dialect, &mut tls)? {
        Some(path) if host.is_empty() => ServerPlace::Socket(path),
        Some(_) => return Err("both a host and a socket".to_owned()),
        None if host.is_empty() => return Err("neither a host nor `?socket=PATH`".to_owned()),
        None => tcp(host, dialect.port())?,
    };
    tls.check(dialect)?;
    let (user, database) = (decoded(user)?, decoded(database)?);
    Ok(ServerUrl { dialect, place, user, password, database, tls })
}

/// Name of a query part. Its value may be a password, as may a part without a name.
fn named(part: &str) -> &str {
    part.split_once('=').map_or("...", |(name, _)| name)
}

/// The socket named by a query: by its path, or, for Postgres, by its directory and number. Words about TLS are added
/// to `tls`.
fn socket(query: &str, dialect: Dialect, tls: &mut TlsWords) -> Result<Option<PathBuf>, String> {
    let (mut socket, mut directory, mut number) = (None, None, None);
    let of_postgres = dialect == Dialect::Postgres;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("socket", path)) if !path.is_empty() => {
                socket = Some(PathBuf::from(decoded(path)?));
            }
            Some(("host", path)) if of_postgres => directory = Some(PathBuf::from(decoded(path)?)),
            Some(("port", port)) if of_postgres => number = Some(port_number(port)?),
            Some((name, value)) if tls.add(dialect, name, &decoded(value)?)? => {}
            _ if of_postgres => {
                let known = "neither `socket=PATH` nor a part of `host=DIRECTORY&port=PORT`, \
                             nor about TLS, such as `sslmode=require`";
                return Err(format!("`{}` is {known}", named(part)));
            }
            _ => {
                let known = "not `socket=PATH`, nor about TLS, such as `ssl-mode=required`";
                return Err(format!("`{}` is {known}", named(part)));
            }
        }
    }
    match (socket, directory) {
        (Some(_), Some(_)) => Err("both `socket=` and `host=`".to_owned()),
        (None, Some(path)) if !path.is_absolute() => {
            Err(format!("`host={}` is not the path of a directory", path.display()))
        }
        (None, Some(path)) => {
            let name = format!("{POSTGRES_SOCKET}{}", number.unwrap_or(dialect.port()));
            Ok(Some(path.join(name)))
        }
        (_, None) if number.is_some() => Err("`port=` without `host=DIRECTORY`".to_owned()),
        (socket, None) => Ok(socket),
    }
}

fn port_number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "its port is not a number up to 65535".to_owned())
}

fn tcp(host: &str, default_port: u16) -> Result<ServerPlace, String> {
    // In `[::1]:3306`, the last colon outside the brackets.
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let port = match port {
        Some(port) => port_number(port)?,
        None => default_port,
    };
    let host = name.trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() { Err("no host".to_owned()) } else { Ok(ServerPlace::Tcp { host, port }) }
}

fn decoded(text: &str) -> Result<String, String> {
    let bytes = percent_decode_str(text).decode_utf8();
    bytes.map(Into::into).map_err(|_| "its `%` escapes do not decode to UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_hosts_and_sockets() {
        let url = parse_url("mysql://root@/sbtest?socket=/run/my%20s").unwrap();
        assert_eq!(url.place, ServerPlace::Socket("/run/my s".into()));
        assert_eq!((url.user.as_str(), url.database.as_str()), ("root", "sbtest"));
        let url = parse_url("mysql://me:p@ss%2f:w@127.0.0.1:3307/db").unwrap();
        assert_eq!(url.place, ServerPlace::Tcp { host: "127.0.0.1".into(), port: 3307 });
        assert_eq!(url.password, Some(Secret::new("p@ss/:w")));
        assert_eq!(url.to_string(), "mysql://me@127.0.0.1:3307/db");
        let url = parse_url("postgres://me@[::1]/db").unwrap();
        assert_eq!(url.place, ServerPlace::Tcp { host: "::1".into(), port: 5432 });
        assert_eq!(url.dialect, Dialect::Postgres);
    }

    #[test]
    fn words_about_tls_are_those_of_the_clients() {
        let demand = |text: &str| parse_url(text).unwrap().tls_demand();
        for (text, expected) in [
            ("mysql://me@127.0.0.1/db", TlsDemand::Disabled),
            ("postgres://me@/db?socket=/s", TlsDemand::Disabled),
            ("mysql://me@db.example/db", TlsDemand::Preferred),
            (
                "postgres://me@[::1]/db?sslmode=verify-full&sslrootcert=/a%20b",
                TlsDemand::VerifyIdentity,
            ),
            ("postgres://me@h/db?sslmode=require&sslrootcert=/ca", TlsDemand::VerifyCa),
            ("postgres://me@h/db?sslrootcert=system", TlsDemand::VerifyIdentity),
            ("mysql://me@localhost/db?ssl-mode=VERIFY_CA&ssl-ca=system", TlsDemand::VerifyCa),
            ("mysql://me@h/db?ssl-ca=/ca", TlsDemand::VerifyCa),
            ("mysql://me@/db?socket=/s&ssl-mode=required", TlsDemand::Required),
        ] {
            assert_eq!(demand(text), expected, "{text}");
            let url = parse_url(text).unwrap();
            assert_eq!(parse_url(&url.to_string()), Ok(url));
        }
        for (text, why) in [
            ("mysql://me@h/db?sslmode=require", "ssl-mode"),
            ("mysql://me@h/db?ssl-mode=on", "verify-identity"),
            ("mysql://me@h/db?ssl-mode=verify-ca", "ssl-ca=FILE"),
            ("mysql://me@h/db?ssl-cert=/c", "together"),
            ("postgres://me@h/db?sslmode=allow", "prefer"),
            ("postgres://me@h/db?sslnegotiation=direct", "require"),
            ("postgres://me@h/db?sslmode=require&sslrootcert=system", "verify-full"),
            ("postgres://me@h/db?sslmode=disable&sslmode=require", "twice"),
        ] {
            let error = parse_url(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let url = parse_url("mysql://me@h/db").unwrap().with_tls("ssl-mode=required").unwrap();
        assert_eq!(url.to_string(), "mysql://me@h:3306/db?ssl-mode=required");
        assert!(parse_url("mysql://me@h/db").unwrap().with_tls("required").is_err());
    }

    #[test]
    fn sockets_of_postgres_are_named_as_its_own_programs_do() {
        let url = parse_url("postgres://root@/sbtest?host=/run/my%20dir&port=5433").unwrap();
        assert_eq!(url.place, ServerPlace::Socket("/run/my dir/.s.PGSQL.5433".into()));
        let shown = url.for_programs();
        assert_eq!(shown, "postgres://root@/sbtest?host=/run/my%20dir&port=5433");
        assert_eq!(parse_url(&url.to_string()), Ok(url));
        let url = parse_url("postgres://root@/sbtest?host=%2Frun").unwrap();
        assert_eq!(url.place, ServerPlace::Socket("/run/.s.PGSQL.5432".into()));
        for text in ["postgres://me@/db?socket=/s", "mysql://me@/db?socket=/d/.s.PGSQL.1"] {
            assert_eq!(parse_url(text).unwrap().for_programs(), text);
        }
    }

    proptest! {
        #[test]
        fn displayed_urls_parse_back(
            user in "\\PC{1,8}", database in "\\PC{1,8}", path in "(/\\PC{1,8}){1,3}", port: u16,
            is_socket: bool,
        ) {
            let place = if is_socket {
                ServerPlace::Socket(path.into())
            } else {
                ServerPlace::Tcp { host: "db.example".to_owned(), port }
            };
            let tls = TlsWords::default();
            let url =
                ServerUrl { dialect: Dialect::MySql, place, user, password: None, database, tls };
            prop_assert_eq!(parse_url(&url.to_string()), Ok(url));
        }
    }

    #[test]
    fn errors_name_the_mistake_but_no_password() {
        for (text, why) in [
            ("root@localhost/db", "mysql://"),
            ("oracle://me:secret@host/db", "neither"),
            ("mysql://host/db", "no user"),
            ("mysql://me:secret@host:port/db", "its port is not a number"),
            ("mysql://me:secret@host:99999/db", "its port is not a number"),
            ("mysql://me:secret@host", "no database"),
            ("mysql://me:secret@/db", "neither a host"),
            ("mysql://me:secret@host/db?socket=/s", "both"),
            ("mysql://me:secret@host/db?ssl=1", "socket=PATH"),
            ("mysql://me:secret@/db?host=/d", "socket=PATH"),
            ("mysql://me@h/db?password=secret", "`password` is not `socket=PATH`"),
            ("mysql://me@h/db?secret", "`...` is not `socket=PATH`"),
            ("mysql://me@h:secret/db", "its port is not a number"),
            ("postgres://me:secret@/db?ssl=1", "host=DIRECTORY"),
            ("postgres://me:secret@/db?host=h", "not the path"),
            ("postgres://me:secret@/db?port=1", "without"),
            ("postgres://me:secret@/db?host=/d&port=x", "its port is not a number"),
            ("postgres://me:secret@/db?host=/d&socket=/s", "both"),
            ("postgres://me:secret@h/db?host=/d", "both"),
            ("mysql://me:secret%ff@host/db", "UTF-8"),
            ("mysql://root:a/secret@h/db", "no user"),
            ("mysql:/me:secret@h/db", "mysql://"),
            ("host=h password=secret", "mysql://"),
            ("", "mysql://"),
        ] {
            let error = parse_url(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(!format!("{:?}", parse_url("mysql://me:secret@host/db")).contains("secret"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "(mysql|postgres)?(://)?[a-z:@/?=%\\[\\]é&.0-9]{0,40}") {
            let _ = parse_url(&text);
        }
    }
}
