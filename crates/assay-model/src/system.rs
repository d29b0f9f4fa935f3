//! Compared systems: a DBMS version with its engine and configuration.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{BuildFlags, Dialect, Engine, Product};

/// Sentence ending after the owner of options that switch `autocommit` off.
pub const AUTOCOMMIT_OFF: &str =
    "switch `autocommit` off; assay's connections, including those that measure, switch it on";

/// Origin of a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A version or series as typed, such as `10.11` or `8.0.33`.
    Version(String),
    /// An unpacked basedir on this machine.
    Dir(PathBuf),
    /// A source tree and, after `#`, the ref to build.
    Git(String),
    /// A running server, by its URL without password.
    Url(String),
}

/// A system as the user named it: `mariadb@10.11/rocksdb+innodb_log_write_ahead_size=4096`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SystemSpec {
    pub product: Product,
    pub origin: Origin,
    /// The product's default unless named.
    pub engine: Engine,
    /// Server options beyond the common intent, in the order given.
    pub overrides: Vec<(String, String)>,
    /// Flags of a build from source; empty for other origins.
    #[serde(default, skip_serializing_if = "BuildFlags::is_empty")]
    pub build: BuildFlags,
}

impl SystemSpec {
    /// A system with its product's default engine and no options.
    pub fn new(product: Product, origin: Origin) -> Self {
        let (engine, overrides) = (product.default_engine(), Vec::new());
        Self { product, origin, engine, overrides, build: BuildFlags::new() }
    }

    /// Options that the other system lacks or has with another value: the last of each name, as mapped to a variable by
    /// the function.
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

    /// Whether an option switches `autocommit` off. assay's connections switch it on again.
    pub fn switches_autocommit_off(&self) -> bool {
        if self.product.dialect() == Dialect::Postgres {
            return false;
        }
        let found = self.overrides.iter().rev().find_map(|(name, value)| {
            let name = name.replace('-', "_").to_ascii_lowercase();
            let name = name.strip_prefix("loose_").unwrap_or(&name);
            let is_off = ["off", "0", "false", "no"].contains(&value.to_ascii_lowercase().as_str());
            match name {
                "autocommit" => Some(is_off),
                "skip_autocommit" | "disable_autocommit" => Some(!is_off),
                _ => None,
            }
        });
        found.unwrap_or(false)
    }

    /// Flags of its build and server options, as in a name: `+build.lto=on+innodb_doublewrite=OFF`.
    pub fn options_in_words(&self) -> String {
        let build = self.build.iter().map(|(flag, value)| format!("+{}={value}", flag.option()));
        let options = self.overrides.iter().map(|(option, value)| format!("+{option}={value}"));
        build.chain(options).collect()
    }

    /// The system without server options, which determines its binaries.
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
        f.write_str(&self.options_in_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_decides_whether_autocommit_is_off() {
        let is_autocommit_off = |product: Product, options: &[(&str, &str)]| {
            let overrides = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let spec = SystemSpec::new(product, Origin::Version("1".to_owned()));
            SystemSpec { overrides: overrides.collect(), ..spec }.switches_autocommit_off()
        };
        for (options, expected) in [
            (&[][..], false),
            (&[("autocommit", "OFF")], true),
            (&[("loose-autocommit", "0")], true),
            (&[("skip-autocommit", "")], true),
            (&[("skip-autocommit", "0")], false),
            (&[("autocommit", "OFF"), ("autocommit", "ON")], false),
            (&[("autocommit", "1")], false),
        ] {
            assert_eq!(is_autocommit_off(Product::MySql, options), expected, "{options:?}");
        }
        assert!(!is_autocommit_off(Product::Postgres, &[("autocommit", "off")]));
    }
}
