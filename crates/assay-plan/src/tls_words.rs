//! The words about TLS in the URL of a server, and in `--tls`: those of the product's own clients.

use assay_model::Dialect;

/// Names and values as the user gave them, checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsWords(Vec<(&'static str, String)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsDemand {
    Disabled,
    /// TLS if the server has it.
    Preferred,
    Required,
    /// The certificate must be of a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and it must be for the host of the URL.
    VerifyIdentity,
}

const DEMANDS: [TlsDemand; 5] = [
    TlsDemand::Disabled,
    TlsDemand::Preferred,
    TlsDemand::Required,
    TlsDemand::VerifyCa,
    TlsDemand::VerifyIdentity,
];

/// Words for [`DEMANDS`].
const MYSQL_MODES: [&str; 5] =
    ["disabled", "preferred", "required", "verify-ca", "verify-identity"];
const POSTGRES_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Each word with its values. Without any, the value is a path.
type KnownWords = [(&'static str, &'static [&'static str])];

const MYSQL: &KnownWords = &[
    ("ssl-mode", &MYSQL_MODES),
    ("ssl-ca", &[]),
    ("ssl-cert", &[]),
    ("ssl-key", &[]),
    ("get-server-public-key", &["true", "false"]),
    ("server-public-key-path", &[]),
];
const POSTGRES: &KnownWords = &[
    ("sslmode", &POSTGRES_MODES),
    ("sslrootcert", &[]),
    ("sslcert", &[]),
    ("sslkey", &[]),
    ("sslsni", &["1", "0"]),
    ("sslnegotiation", &["postgres", "direct"]),
    ("channel_binding", &["disable", "prefer", "require"]),
];

/// In place of a path: the authorities that the machine trusts.
const SYSTEM: &str = "system";

fn words(dialect: Dialect) -> &'static KnownWords {
    match dialect {
        Dialect::MySql => MYSQL,
        Dialect::Postgres => POSTGRES,
    }
}

/// Names of the words for the mode, the authorities, the certificate and the key.
fn names(dialect: Dialect) -> [&'static str; 4] {
    match dialect {
        Dialect::MySql => ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"],
        Dialect::Postgres => ["sslmode", "sslrootcert", "sslcert", "sslkey"],
    }
}

impl TlsWords {
    /// Adds a word. False if the dialect's clients do not have it.
    pub(crate) fn add(
        &mut self,
        dialect: Dialect,
        name: &str,
        value: &str,
    ) -> Result<bool, String> {
        let mut known = words(dialect).iter();
        let Some((name, values)) = known.find(|(known, _)| *known == name) else {
            return Ok(false);
        };
        if self.get(name).is_some() {
            return Err(format!("`{name}` twice"));
        }
        // `mysql` takes its modes in capitals with underscores too.
        let is_mode = *name == "ssl-mode";
        let value = if is_mode { value.to_lowercase().replace('_', "-") } else { value.to_owned() };
        if value.is_empty() || !(values.is_empty() || values.contains(&value.as_str())) {
            let expected =
                if values.is_empty() { "the path of a file".into() } else { values.join(", ") };
            return Err(format!("`{name}` is not one of: {expected}"));
        }
        self.0.push((*name, value));
        Ok(true)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// File of trusted authorities, or `None` for those of the machine.
    pub fn roots(&self, dialect: Dialect) -> Option<Option<&str>> {
        let [_, roots, ..] = names(dialect);
        self.get(roots).map(|path| Some(path).filter(|path| *path != SYSTEM))
    }

    /// Files of the client's certificate and its key.
    pub fn identity(&self, dialect: Dialect) -> Option<(&str, &str)> {
        let [_, _, certificate, key] = names(dialect);
        self.get(certificate).zip(self.get(key))
    }

    /// The defaults are those of the clients, except that a server on this machine is not encrypted unless a word asks
    /// for it. Files of authorities demand more, as they do there.
    pub fn demand(&self, dialect: Dialect, is_local: bool) -> TlsDemand {
        let [mode, ..] = names(dialect);
        let modes = if dialect == Dialect::MySql { MYSQL_MODES } else { POSTGRES_MODES };
        let given = self.get(mode).and_then(|word| modes.iter().position(|known| *known == word));
        match (given.map(|at| DEMANDS[at]), self.roots(dialect)) {
            (Some(TlsDemand::Required), Some(_)) if dialect == Dialect::Postgres => {
                TlsDemand::VerifyCa
            }
            (Some(demand), _) => demand,
            (None, Some(_)) if dialect == Dialect::MySql => TlsDemand::VerifyCa,
            (None, Some(None)) => TlsDemand::VerifyIdentity,
            (None, _) if is_local && self.0.is_empty() => TlsDemand::Disabled,
            (None, _) => TlsDemand::Preferred,
        }
    }

    /// Refuses words that contradict each other.
    pub(crate) fn check(&self, dialect: Dialect) -> Result<(), String> {
        let [mode, roots, certificate, key] = names(dialect);
        let demand = self.demand(dialect, false);
        if self.get(certificate).is_some() != self.get(key).is_some() {
            return Err(format!("`{certificate}` and `{key}` only work together"));
        }
        if demand >= TlsDemand::VerifyCa && self.roots(dialect).is_none() {
            let why =
                format!("needs `{roots}=FILE`, or `{roots}=system` for those of this machine");
            return Err(format!("a check of the certificate {why}"));
        }
        if self.get("sslnegotiation") == Some("direct") && demand < TlsDemand::Required {
            return Err(format!("`sslnegotiation=direct` needs `{mode}=require` or more"));
        }
        if dialect == Dialect::Postgres
            && self.roots(dialect) == Some(None)
            && demand < TlsDemand::VerifyIdentity
        {
            return Err(format!("`{roots}=system` needs `{mode}=verify-full`"));
        }
        Ok(())
    }
}
