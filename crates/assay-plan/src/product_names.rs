//! Alternative names of products, and hints at the intended system name.

use assay_model::{Product, ProductFacts};

use crate::nearest::nearest;

const PERCONA: [&str; 3] = ["percona", "percona-server", "ps"];

/// Hint for an invalid system name; `is_system_name` validates the suggestion.
pub(crate) fn system_hint(name: &str, is_system_name: fn(&str) -> bool) -> Option<String> {
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
    let known = Product::named(&lower);
    // A path in place of the version. A `/` with only an engine after it is not a path.
    let path = rest.strip_prefix('@').filter(|it| it.starts_with(['/', '.']));
    let is_engine = |it: &str| ["/innodb", "/rocksdb", "/heap"].contains(&it);
    if let (Some(product), Some(path)) = (known, path.filter(|it| !is_engine(it))) {
        return Some(format!("a directory is written `{product}@dir:{path}`"));
    }
    let elsewhere = Product::ALL.into_iter().find(|product| {
        let ProductFacts { aliases, other_names, .. } = product.facts();
        aliases.iter().chain(*other_names).any(|name| *name == lower)
    });
    let near = || nearest(lower.as_str(), Product::ALL.map(Product::word)).and_then(Product::named);
    let product = known.or(elsewhere).or_else(near)?;
    // `10.11.x` means the series.
    let any = [".x", ".X", ".*"].into_iter().find_map(|any| version.strip_suffix(any));
    let meant = format!("{product}@{}", any.unwrap_or(version));
    if meant != name && is_system_name(&meant) {
        return Some(format!("did you mean `{meant}`"));
    }
    let is_versioned = version.starts_with(|c: char| c.is_ascii_digit());
    (!is_versioned && !rest.contains("git:") && !rest.contains("dir:")).then(|| {
        let example = product.facts().example;
        format!(
            "a system is written `product@version`, for example `{product}@{example}`; \
             `assay server list --available {product}` lists the versions"
        )
    })
}

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use crate::system_name::parse_system;

    #[test]
    fn names_in_the_form_of_other_tools_get_a_suggestion() {
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
    fn ambiguous_names_get_no_suggestion() {
        for typed in ["oracle@19c", "mariadb@10.11+x", "", "@", "é@1"] {
            let hints = parse_system(typed).unwrap_err().hints();
            assert!(!hints[0].contains("did you mean"), "{typed}: {hints:?}");
        }
    }
}
