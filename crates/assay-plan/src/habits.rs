//! What users of sysbench and of containers type by habit, and what it is called here.

use assay_model::Product;

use crate::nearest::nearest;
use crate::system_name::is_system_name;

/// sysbench's own scripts whose work is that of a microbenchmark, with sysbench's defaults.
const SCRIPTS: [(&str, &str); 8] = [
    ("oltp_point_select", "point-query"),
    ("oltp_read_only", "read-only_range=100"),
    ("oltp_read_write", "read-write_range=100"),
    ("oltp_write_only", "write-only"),
    ("oltp_update_index", "update-index"),
    ("oltp_update_non_index", "update-nonindex"),
    ("oltp_delete", "delete"),
    ("oltp_insert", "insert"),
];

/// Scripts whose work no microbenchmark does, and what comes near.
const OTHERS: [(&str, &str); 3] = [
    (
        "select_random_points",
        "no test reads random points by `k`; `random-points_range=10` reads them by `id`",
    ),
    (
        "select_random_ranges",
        "no test counts in several ranges; `read-only-count` counts in one, `range-covered-si` reads one by `k`",
    ),
    (
        "bulk_insert",
        "no test inserts in bulk; `assay load` reports how many rows per second it loaded",
    ),
];

/// The script as sysbench calls it: without `.lua`, and `-` as good as `_`.
fn script(word: &str) -> String {
    word.strip_suffix(".lua").unwrap_or(word).replace('-', "_").to_ascii_lowercase()
}

/// The test that does what a script of sysbench's does.
pub(crate) fn test_of_script(word: &str) -> Option<&'static str> {
    let script = script(word);
    SCRIPTS.into_iter().find(|(name, _)| *name == script).map(|(_, test)| test)
}

/// The names of the scripts that a test stands for, and those of assay's tests that they are.
pub(crate) fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCRIPTS.into_iter()
}

/// What to do for a script of sysbench's that no test stands for.
pub(crate) fn script_hint(word: &str) -> Option<String> {
    let script = script(word);
    OTHERS.into_iter().find(|(name, _)| *name == script).map(|(_, hint)| hint.to_owned())
}

/// What products are called elsewhere.
const PRODUCTS: [(&str, Product); 9] = [
    ("maria", Product::MariaDb),
    ("mariadb-server", Product::MariaDb),
    ("mysql-server", Product::MySql),
    ("mysql-community-server", Product::MySql),
    ("pg", Product::Postgres),
    ("pgsql", Product::Postgres),
    ("psql", Product::Postgres),
    ("postgre", Product::Postgres),
    ("postgresql", Product::Postgres),
];

const PERCONA: [&str; 3] = ["percona", "percona-server", "ps"];

/// What somebody meant whose words are no system name.
pub(crate) fn system_hint(name: &str) -> Option<String> {
    // The product ends where the version begins: `pg16`, `mariadb:10.11`, `mysql 8.0`.
    let at = name.find('@').or_else(|| name.find(|c: char| c.is_ascii_digit()));
    let (word, rest) = name.split_at(at.unwrap_or(name.len()));
    let is_separator =
        |c: char| matches!(c, '@' | ':' | '-' | '_' | '=' | '/') || c.is_whitespace();
    let (word, version) = (word.trim_matches(is_separator), rest.trim_matches(is_separator));
    let lower = word.to_ascii_lowercase();
    if PERCONA.contains(&lower.as_str()) {
        let example = if version.contains('-') { version } else { "8.0.36-28" };
        return Some(format!(
            "Percona Server is product `mysql`; name its full version: `mysql@{example}`"
        ));
    }
    let known = Product::ALL.into_iter().find(|product| product.word() == lower);
    // A path where the version belongs; an engine alone is none.
    let path = rest.strip_prefix('@').filter(|it| it.starts_with(['/', '.']));
    let is_engine = |it: &str| ["/innodb", "/rocksdb", "/heap"].contains(&it);
    if let (Some(product), Some(path)) = (known, path.filter(|it| !is_engine(it))) {
        return Some(format!("a directory is written `{product}@dir:{path}`"));
    }
    let elsewhere = PRODUCTS.into_iter().find(|(other, _)| *other == lower).map(|(_, it)| it);
    let near = || {
        let word = nearest(lower.as_str(), Product::ALL.map(Product::word))?;
        Product::ALL.into_iter().find(|product| product.word() == word)
    };
    let product = known.or(elsewhere).or_else(near)?;
    // All of a series is the series.
    let any = [".x", ".X", ".*"].into_iter().find_map(|any| version.strip_suffix(any));
    let meant = format!("{product}@{}", any.unwrap_or(version));
    if meant != name && is_system_name(&meant) {
        return Some(format!("did you mean `{meant}`"));
    }
    let is_versioned = version.starts_with(|c: char| c.is_ascii_digit());
    (!is_versioned && !rest.contains("git:") && !rest.contains("dir:")).then(|| {
        let example = match product {
            Product::MariaDb => "11.8",
            Product::MySql => "8.0",
            Product::Postgres => "17",
        };
        format!(
            "a system is written `product@version`, for example `{product}@{example}`; \
             `assay server list --available {product}` lists the versions"
        )
    })
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;
    use crate::parse_system;

    #[test]
    fn scripts_stand_for_tests_that_exist() {
        for (script, test) in SCRIPTS {
            assert!(assay_workloads::test_by_name(test).is_some(), "{test}");
            assert_eq!(test_of_script(&format!("{}.lua", script.replace('_', "-"))), Some(test));
        }
        assert_eq!(test_of_script("point-query"), None);
        assert!(script_hint("bulk_insert").is_some());
    }

    #[test]
    fn names_of_other_tools_are_answered_with_the_right_form() {
        for (typed, meant) in [
            ("mariadb:10.11", "`mariadb@10.11`"),
            ("mariadb-10.11", "`mariadb@10.11`"),
            ("mariadb 10.11", "`mariadb@10.11`"),
            ("MariaDB@10.11", "`mariadb@10.11`"),
            ("maria@10.11+innodb_doublewrite=OFF", "`mariadb@10.11+innodb_doublewrite=OFF`"),
            ("mariabd@10.11", "`mariadb@10.11`"),
            ("mariadb@10.11.x", "`mariadb@10.11`"),
            ("mysql@8.0.*", "`mysql@8.0`"),
            ("mysql8.0", "`mysql@8.0`"),
            ("mysql:8.0.33/rocksdb", "`mysql@8.0.33/rocksdb`"),
            ("pg@16", "`postgres@16`"),
            ("pg16", "`postgres@16`"),
            ("postgresql-16", "`postgres@16`"),
            ("percona@8.0", "`mysql@8.0.36-28`"),
            ("percona-server:8.4.7-7", "`mysql@8.4.7-7`"),
            ("mariadb", "--available mariadb`"),
            ("mysql@/usr", "`mysql@dir:/usr`"),
            ("postgres@../pg", "`postgres@dir:../pg`"),
            ("@10.11", "`product@version`"),
            ("postgres@latest", "--available postgres`"),
        ] {
            let hints = parse_system(typed).unwrap_err().hints();
            assert!(hints[0].contains(meant), "{typed}: {hints:?}");
        }
    }

    #[test]
    fn what_may_be_anything_is_not_guessed() {
        for typed in ["oracle@19c", "mariadb@10.11+x", "", "@", "é@1"] {
            let hints = parse_system(typed).unwrap_err().hints();
            assert!(!hints[0].contains("did you mean"), "{typed}: {hints:?}");
        }
    }
}
