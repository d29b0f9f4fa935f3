//! URLs of running servers: `mysql://user:password@host:port/db`, `mysql://user@/db?socket=PATH`, and the form of
//! Postgres' own programs, `postgres://user@/db?host=DIRECTORY&port=PORT`.

use std::fmt;
use std::path::{Path, PathBuf};

use assay_model::{Dialect, Secret};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::error::{NO_SCHEME, PlanError, PlanResult};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub dialect: Dialect,
    pub place: ServerPlace,
    pub user: String,
    /// The user's password, when the URL has one.
    pub password: Option<Secret>,
    /// The database that has the tables.
    pub database: String,
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
        match &self.place {
            ServerPlace::Socket(path) => {
                let path = path.to_string_lossy();
                write!(
                    f,
                    "{scheme}://{user}@/{database}?socket={}",
                    utf8_percent_encode(&path, PATH)
                )
            }
            ServerPlace::Tcp { host, port } if host.contains(':') => {
                write!(f, "{scheme}://{user}@[{host}]:{port}/{database}")
            }
            ServerPlace::Tcp { host, port } => {
                write!(f, "{scheme}://{user}@{host}:{port}/{database}")
            }
        }
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
    let place = match socket(query, dialect)? {
        Some(path) if host.is_empty() => ServerPlace::Socket(path),
        Some(_) => return Err("both a host and a socket".to_owned()),
        None if host.is_empty() => return Err("neither a host nor `?socket=PATH`".to_owned()),
        None => tcp(host, dialect.port())?,
    };
    Ok(ServerUrl { dialect, place, user: decoded(user)?, password, database: decoded(database)? })
}

/// Name of a query part. Its value may be a password, as may a part without a name.
fn named(part: &str) -> &str {
    part.split_once('=').map_or("...", |(name, _)| name)
}

/// The socket named by a query: by its path, or, for Postgres, by its directory and number.
fn socket(query: &str, dialect: Dialect) -> Result<Option<PathBuf>, String> {
    let (mut socket, mut directory, mut number) = (None, None, None);
    let of_postgres = dialect == Dialect::Postgres;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("socket", path)) if !path.is_empty() => {
                socket = Some(PathBuf::from(decoded(path)?));
            }
            Some(("host", path)) if of_postgres => directory = Some(PathBuf::from(decoded(path)?)),
            Some(("port", port)) if of_postgres => number = Some(port_number(port)?),
            _ if of_postgres => {
                let known = "neither `socket=PATH` nor a part of `host=DIRECTORY&port=PORT`";
                return Err(format!("`{}` is {known}", named(part)));
            }
            _ => return Err(format!("`{}` is not `socket=PATH`", named(part))),
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
            let url = ServerUrl { dialect: Dialect::MySql, place, user, password: None, database };
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
