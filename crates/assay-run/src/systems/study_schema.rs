//! The database or schema of a study on a server that assay did not start.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use assay_model::{Dialect, Study};
use assay_wire::{
    ConnectOptions, Connection, Protocol, Stop, WireError, WireResult, code_of_state,
};

use crate::advice::HintedError;
use crate::progress::print;

/// Longest silence of a server that drops the tables of a study.
const DROP_LIMIT: Duration = Duration::from_secs(600);

/// MySQL and Postgres codes for a missing right.
const DENIED: [Option<u32>; 2] = [Some(1044), code_of_state("42501")];

/// The same for a read-only server.
const READ_ONLY: [Option<u32>; 2] = [Some(1290), code_of_state("25006")];

/// A database on MySQL and MariaDB, a schema of the named database on Postgres. It is dropped, with its tables, at the
/// end of the study.
#[derive(Debug)]
pub struct StudySchema {
    /// Needs no quotes in SQL.
    name: String,
    system: String,
    /// Of connections to the database that the URL names.
    url_options: ConnectOptions,
}

/// A dump of Postgres names its schemas, so its tables would not go to that of the study.
pub(super) fn refuse_dump(study: &Study, system: &str, options: &ConnectOptions) -> Result<()> {
    let dump = study.user_data().and_then(|data| data.dump(Dialect::Postgres));
    if options.protocol == Protocol::MySql || dump.is_none() {
        return Ok(());
    }
    let what = format!(
        "cannot restore the dump on `{system}`: it names its schemas, which may hold other tables there"
    );
    Err(HintedError::new(what, "compare versions that assay starts, such as `postgres@16`").into())
}

fn kind(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::MySql => "database",
        Protocol::Postgres => "schema",
    }
}

impl StudySchema {
    /// Such as ``database `assay_1a2b` ``.
    pub(super) fn described(&self) -> String {
        format!("{} `{}`", kind(self.url_options.protocol), self.name)
    }

    pub(super) fn create(system: &str, options: &ConnectOptions) -> Result<Self> {
        let mut control = Connection::control(options)
            .with_context(|| format!("cannot connect to `{system}`"))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.context("the clock of this machine is before 1970")?.as_micros();
        let name = format!("assay_{micros:x}");
        // Fails if it exists, so only what this study has created is ever dropped.
        if let Err(cause) = control.query(&create_sql(options.protocol, &name)) {
            return Err(refusal(system, cause, &mut control));
        }
        Ok(Self { name, system: system.to_owned(), url_options: options.clone() })
    }

    /// For connections whose tables are in this schema.
    pub fn options(&self) -> ConnectOptions {
        let (options, name) = (self.url_options.clone(), Some(self.name.clone()));
        match options.protocol {
            Protocol::MySql => ConnectOptions { database: name, ..options },
            Protocol::Postgres => ConnectOptions { schema: name, ..options },
        }
    }

    /// Drops all its tables.
    pub fn empty(&self) -> Result<()> {
        let Self { name, system, url_options } = self;
        let protocol = url_options.protocol;
        let recreate = || -> WireResult<()> {
            let mut control = Connection::control(url_options)?;
            control.set_timeout(DROP_LIMIT)?;
            control.query(&self.drop_sql())?;
            control.query(&create_sql(protocol, name)).map(drop)
        };
        let kind = kind(protocol);
        recreate().with_context(|| format!("cannot empty the {kind} `{name}` of `{system}`"))?;
        if protocol == Protocol::Postgres {
            let found = Connection::connect(&self.options())?.schema()?;
            ensure!(
                found.is_some_and(|schema| schema.name == *name),
                "connections to `{system}` do not get the search path `{name}`: a pooler may be in between"
            );
        }
        Ok(())
    }

    fn drop_sql(&self) -> String {
        match self.url_options.protocol {
            Protocol::MySql => format!("DROP DATABASE IF EXISTS {}", self.name),
            Protocol::Postgres => format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name),
        }
    }
}

impl Drop for StudySchema {
    fn drop(&mut self) {
        // Ctrl-C ends the study, not this.
        let options = ConnectOptions { stop: Stop::default(), ..self.url_options.clone() };
        let sql = self.drop_sql();
        let dropped = Connection::control(&options).and_then(|mut control| {
            control.set_timeout(DROP_LIMIT)?;
            control.query(&sql)
        });
        if let Err(cause) = dropped {
            let (kind, Self { name, system, .. }) = (kind(options.protocol), self);
            print(&format!(
                "warning: the {kind} `{name}` stays on `{system}`: {cause}\n  drop it by hand: {sql}"
            ));
        }
    }
}

fn create_sql(protocol: Protocol, name: &str) -> String {
    match protocol {
        Protocol::MySql => format!("CREATE DATABASE {name}"),
        Protocol::Postgres => format!("CREATE SCHEMA {name}"),
    }
}

fn refusal(system: &str, cause: WireError, control: &mut Connection) -> anyhow::Error {
    let kind = kind(control.protocol());
    let what = format!("cannot create a {kind} for the study on `{system}`");
    let hint = match cause.server_code() {
        code if DENIED.contains(&code) => {
            grant(control).map(|sql| format!("an administrator of the server can run: {sql}"))
        }
        code if READ_ONLY.contains(&code) => {
            Some("name a server that accepts writes, such as the primary, in the URL".to_owned())
        }
        _ => None,
    };
    match hint {
        Some(hint) => HintedError::new(what, hint).caused_by(cause).into(),
        None => anyhow::Error::new(cause).context(what),
    }
}

/// The statement that gives this user the right.
fn grant(control: &mut Connection) -> Option<String> {
    if control.protocol() == Protocol::Postgres {
        let sql =
            "SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)";
        return control.query_catalog(sql).ok()?.first_string();
    }
    let account = control.query("SELECT CURRENT_USER()").ok()?.first_string()?;
    Some(mysql_grant(&account))
}

/// `account` is a user and a host, such as `bench@%`.
fn mysql_grant(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    let [user, host] = [user, host].map(|text| text.replace('\'', "''"));
    format!("GRANT ALL ON `assay\\_%`.* TO '{user}'@'{host}'")
}

#[cfg(test)]
mod tests {
    use super::mysql_grant;

    #[test]
    fn a_grant_names_the_account_that_the_server_knows() {
        assert_eq!(mysql_grant("me@ home's@%"), r"GRANT ALL ON `assay\_%`.* TO 'me@ home''s'@'%'");
    }
}
