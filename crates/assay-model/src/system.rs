//! The systems that are compared: a DBMS version with its engine and configuration.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Engine, Product};

/// The origin of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A version or series as typed, such as `10.11` or `8.0.33`.
    Version(String),
    /// An unpacked basedir on this machine.
    Dir(PathBuf),
    /// A source tree and, after `#`, the ref to build.
    Git(String),
    /// A server that is running already, by its URL without password.
    Url(String),
}

/// A system as the user named it: `mariadb@10.11/rocksdb+innodb_log_write_ahead_size=4096`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SystemSpec {
    /// The product.
    pub product: Product,
    /// The origin of the server.
    pub origin: Origin,
    /// The storage engine, the product's default unless named.
    pub engine: Engine,
    /// Server options set on top of the common intent, in the order given.
    pub overrides: Vec<(String, String)>,
}

impl SystemSpec {
    /// A system with its product's own engine and no options.
    #[must_use]
    pub fn of(product: Product, origin: Origin) -> Self {
        Self { product, origin, engine: product.default_engine(), overrides: Vec::new() }
    }

    /// The options that it has and the other one has not, or has with another value: the last of each name, whose
    /// variable the function tells.
    #[must_use]
    pub fn options_unlike<'a>(
        &'a self,
        other: &Self,
        variable: impl Fn(&str) -> String,
    ) -> Vec<(&'a str, &'a str)> {
        let values = |spec: &Self, name: &str| -> Vec<String> {
            let named = spec.overrides.iter().filter(|(option, _)| variable(option) == name);
            named.map(|(_, value)| value.clone()).collect()
        };
        let mut found: Vec<(String, (&str, &str))> = Vec::new();
        for (option, value) in &self.overrides {
            let name = variable(option);
            if values(self, &name) != values(other, &name) {
                found.retain(|(known, _)| *known != name);
                found.push((name, (option.as_str(), value.as_str())));
            }
        }
        found.into_iter().map(|(_, option)| option).collect()
    }

    /// The same without options: what its binaries are got by.
    #[must_use]
    pub fn without_options(&self) -> Self {
        Self { overrides: Vec::new(), ..self.clone() }
    }
}

impl fmt::Display for SystemSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Origin::Url(url) = &self.origin {
            return f.write_str(url);
        }
        write!(f, "{}@", self.product)?;
        match &self.origin {
            Origin::Url(_) => {}
            Origin::Version(version) => f.write_str(version)?,
            Origin::Dir(path) => write!(f, "dir:{}", path.display())?,
            Origin::Git(reference) => write!(f, "git:{reference}")?,
        }
        if self.engine != self.product.default_engine() {
            write!(f, "/{}", self.engine.word())?;
        }
        for (option, value) in &self.overrides {
            write!(f, "+{option}={value}")?;
        }
        Ok(())
    }
}
