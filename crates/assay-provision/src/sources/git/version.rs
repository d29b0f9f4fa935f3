//! The version of a server, from its source tree.

use assay_model::Product;

/// Files that have the version, in the order in which they are looked for.
pub(crate) fn files(product: Product) -> &'static [&'static str] {
    match product {
        Product::MariaDb | Product::MySql => &["MYSQL_VERSION", "VERSION"],
        Product::Postgres => &["configure", "meson.build"],
    }
}

/// The version in one of these files; `None` if it has none.
pub(crate) fn of(product: Product, text: &str) -> Option<String> {
    let version = match product {
        Product::MariaDb | Product::MySql => {
            let number = |part: &str| -> Option<u32> {
                let mut lines = text.lines().filter_map(|line| line.split_once('='));
                let (_, value) = lines.find(|(name, _)| name.trim() == part)?;
                value.trim().trim_matches('"').parse().ok()
            };
            let [major, minor, patch] =
                ["MYSQL_VERSION_MAJOR", "MYSQL_VERSION_MINOR", "MYSQL_VERSION_PATCH"].map(number);
            format!("{}.{}.{}", major?, minor?, patch?)
        }
        Product::Postgres => {
            let mut lines = text.lines().map(str::trim);
            let is_there = |line: &&str| {
                line.starts_with("PACKAGE_VERSION='") || line.starts_with("version: '")
            };
            lines.find(is_there)?.split('\'').nth(1)?.to_owned()
        }
    };
    let is_version = version.starts_with(|c: char| c.is_ascii_digit())
        && version.len() < 40
        && version.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    is_version.then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_where_each_product_has_them() {
        let text = "MYSQL_VERSION_MAJOR=8\nMYSQL_VERSION_MINOR=0\nMYSQL_VERSION_PATCH=40\n\
                    MYSQL_VERSION_EXTRA=\nMYSQL_VERSION_STABILITY=\"LTS\"\n";
        assert_eq!(of(Product::MySql, text).unwrap(), "8.0.40");
        let configure = "# x\nPACKAGE_NAME='PostgreSQL'\nPACKAGE_VERSION='15.18'\n";
        assert_eq!(of(Product::Postgres, configure).unwrap(), "15.18");
        let meson = "project('postgresql',\n  ['c'],\n  version: '19beta1',\n";
        assert_eq!(of(Product::Postgres, meson).unwrap(), "19beta1");
        for wrong in ["", "MYSQL_VERSION_MAJOR=8\n", "version: '../..'", "PACKAGE_VERSION='"] {
            assert_eq!(of(Product::MariaDb, wrong), None);
            assert_eq!(of(Product::Postgres, wrong), None);
        }
    }
}
