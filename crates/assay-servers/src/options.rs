//! What the intent is in options, by product and version. Data: a new version is a new bound in one of the tables.

use assay_model::{Engine, Product};

use crate::intent::Intent;
use crate::mysql::options::{MARIADB, MYSQL};
use crate::postgres::options::POSTGRES;

/// An option of some versions.
pub(crate) struct Setting {
    /// Its name; `loose-` in front where builds of one version differ in having it.
    pub(crate) option: &'static str,
    /// Its value for an intent.
    pub(crate) value: fn(&Intent) -> String,
    /// The only engine it is for.
    pub(crate) engine: Option<Engine>,
    pub(crate) missing: &'static [Missing],
}

/// Versions that do not have an option, from the first up to but not including the second, and what they do instead;
/// nothing where another line of the table says the same to them.
pub(crate) type Missing = (Version, Version, Option<Instead>);

/// What a version that lacks an option does: a verb and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Just what the option asks of the others.
    AsAsked(&'static str),
    /// Something else.
    Otherwise(&'static str),
}

/// Major, minor, patch.
pub(crate) type Version = (u32, u32, u32);

pub(crate) const FIRST: Version = (0, 0, 0);
pub(crate) const NEVER: Version = (u32::MAX, 0, 0);

/// Whether a version has an option.
pub(crate) enum Standing {
    /// It has.
    Known,
    /// Another line of the table says the same to this version.
    SaidElsewhere,
    /// It has not, and does this instead.
    Missing(Instead),
}

/// The options of a product, in the order in which they are given.
pub(crate) fn table(product: Product) -> &'static [Setting] {
    match product {
        Product::MariaDb => MARIADB,
        Product::MySql => MYSQL,
        Product::Postgres => POSTGRES,
    }
}

impl Setting {
    /// Whether a version has the option.
    pub(crate) fn standing(&self, version: Version) -> Standing {
        let mut ranges = self.missing.iter();
        match ranges.find(|(from, until, _)| (*from..*until).contains(&version)) {
            None => Standing::Known,
            Some((.., None)) => Standing::SaidElsewhere,
            Some((.., Some(instead))) => Standing::Missing(*instead),
        }
    }

    pub(crate) const fn of(option: &'static str, value: fn(&Intent) -> String) -> Self {
        Self { option, value, engine: None, missing: &[] }
    }

    pub(crate) const fn only(self, engine: Engine) -> Self {
        Self { engine: Some(engine), ..self }
    }

    pub(crate) const fn missing(self, missing: &'static [Missing]) -> Self {
        Self { missing, ..self }
    }
}
