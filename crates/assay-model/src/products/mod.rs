//! Database products. A product is a file here and its line in [`Product`]'s list. Starting and querying its servers is
//! up to `assay-servers`.

mod facts;
mod mariadb;
mod mysql;
mod postgres;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use facts::ProductFacts;

use crate::{Dialect, Engine};

/// Declares the variants of [`Product`], in the order in which users see them, with their facts.
macro_rules! products {
    ($($(#[$doc:meta])* $name:ident => $facts:path,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Product {
            $($(#[$doc])* $name,)*
        }

        impl Product {
            pub const ALL: [Self; [$(Self::$name,)*].len()] = [$(Self::$name,)*];

            pub fn facts(self) -> &'static ProductFacts {
                match self {
                    $(Self::$name => &$facts,)*
                }
            }
        }
    };
}

products! {
    /// MariaDB Server.
    MariaDb => mariadb::FACTS,
    /// MySQL Server.
    MySql => mysql::FACTS,
    /// PostgreSQL.
    Postgres => postgres::FACTS,
}

impl Product {
    pub fn word(self) -> &'static str {
        self.facts().word
    }

    pub fn dialect(self) -> Dialect {
        self.facts().dialect
    }

    pub fn default_engine(self) -> Engine {
        self.facts().engines[0]
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|product| product.word() == word)
    }

    /// Product of a server, from its dialect and version string: products that borrow a dialect name themselves in it.
    pub fn of_server(dialect: Dialect, said: &str) -> Self {
        let said = said.to_ascii_lowercase();
        let speaks = |product: &Self| product.dialect() == dialect;
        let is_said = |product: &Self| product.facts().says.is_some_and(|word| said.contains(word));
        let mut speaking = Self::ALL.into_iter().filter(speaks);
        speaking.find(is_said).unwrap_or(Self::of_dialect(dialect))
    }

    /// Product that defines a dialect: the placeholder for all that speak it until a server was asked.
    pub fn of_dialect(dialect: Dialect) -> Self {
        match dialect {
            Dialect::MySql => Self::MySql,
            Dialect::Postgres => Self::Postgres,
        }
    }

    pub fn version_in_source(self, text: &str) -> Option<String> {
        let version = (self.facts().version_in)(text)?;
        let is_version = version.starts_with(|c: char| c.is_ascii_digit())
            && version.len() < 40
            && version.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        is_version.then_some(version)
    }

    /// Release series of a version: `10.11` of `10.11.19`, `18` of `18.6`.
    pub fn series(self, version: &str) -> &str {
        let since = self.facts().one_number_since;
        let major = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
        let is_one = major.is_some_and(|major| since.is_some_and(|since| major >= since));
        let end = version.match_indices('.').map(|(at, _)| at).nth(usize::from(!is_one));
        end.and_then(|end| version.get(..end)).unwrap_or(version)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_name_is_that_of_one_product() {
        let names = Product::ALL.iter().flat_map(|product| {
            let ProductFacts { word, aliases, other_names, .. } = product.facts();
            [*word].into_iter().chain(aliases.iter().chain(*other_names).copied())
        });
        let names: Vec<&str> = names.collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for product in Product::ALL {
            assert_eq!(format!("{product:?}").to_lowercase(), product.word());
            assert!(product.facts().engines.contains(&product.default_engine()));
        }
    }

    #[test]
    fn a_server_is_known_by_what_it_says() {
        let product = Product::of_server;
        assert_eq!(product(Dialect::MySql, "10.11.19-MariaDB-log"), Product::MariaDb);
        assert_eq!(product(Dialect::MySql, "8.0.33"), Product::MySql);
        assert_eq!(product(Dialect::Postgres, "18.6 (Debian 18.6-1)"), Product::Postgres);
    }

    #[test]
    fn versions_are_found_where_each_product_has_them() {
        let version = Product::version_in_source;
        let text = "MYSQL_VERSION_MAJOR=8\nMYSQL_VERSION_MINOR=0\nMYSQL_VERSION_PATCH=40\n\
                    MYSQL_VERSION_EXTRA=\nMYSQL_VERSION_STABILITY=\"LTS\"\n";
        assert_eq!(version(Product::MySql, text).unwrap(), "8.0.40");
        let configure = "# x\nPACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='15.18'\n";
        assert_eq!(version(Product::Postgres, configure).unwrap(), "15.18");
        let meson = "project('postgresql',\n  ['c'],\n  version: '19beta1',\n";
        assert_eq!(version(Product::Postgres, meson).unwrap(), "19beta1");
        for wrong in ["", "MYSQL_VERSION_MAJOR=8\n", "version: '../..'", "PACKAGE_VERSION='"] {
            assert_eq!(version(Product::MariaDb, wrong), None);
            assert_eq!(version(Product::Postgres, wrong), None);
        }
    }

    #[test]
    fn series_have_one_number_or_two() {
        assert_eq!(Product::MariaDb.series("10.11.19"), "10.11");
        assert_eq!(Product::Postgres.series("9.6.24"), "9.6");
        assert_eq!(Product::Postgres.series("18.6"), "18");
        assert_eq!(Product::Postgres.series("19rc1"), "19rc1");
        assert_eq!(Product::MySql.series("8"), "8");
    }
}
