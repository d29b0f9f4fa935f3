//! Names of servers in published results, such as `x.my5651_rel_o2nofp.z12a_c8r32.pk1`.

use assay_model::{Engine, Product};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dbms {
    pub product: Product,
    pub engine: Engine,
    /// Such as `5.6.51`.
    pub version: String,
    /// `None` if not in the name.
    pub has_primary_key: Option<bool>,
}

/// `None` if the name does not have the published form.
pub fn dbms(name: &str) -> Option<Dbms> {
    if let Some(found) = plain(name) {
        return Some(found);
    }
    let mut parts = name.split('.').peekable();
    parts.next_if_eq(&"x");
    let first = parts.next()?;
    // Words of the build, such as `rel_o2nofp`, follow the version.
    let (product, engine, version) = version(first.split('_').next()?)?;
    let (mut has_primary_key, mut has_config) = (None, false);
    for part in parts {
        match part {
            "pk0" => has_primary_key = Some(false),
            "pk1" => has_primary_key = Some(true),
            "" if !has_config => {}
            // A configuration, such as `z12a_c8r32`.
            _ if !has_config => has_config = true,
            _ => return None,
        }
    }
    Some(Dbms { product, engine, version, has_primary_key })
}

/// assay's names of released versions: `mariadb@11.4.2`.
fn plain(name: &str) -> Option<Dbms> {
    let (word, version) = name.split_once('@')?;
    let product = Product::named(word)?;
    let mut numbers = version.split('.');
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    numbers.all(is_number).then(|| Dbms {
        product,
        engine: product.default_engine(),
        version: version.to_owned(),
        has_primary_key: None,
    })
}

/// `my5651` is MySQL 5.6.51, `ma100244` MariaDB 10.2.44, `pg1411` Postgres 14.11, `rx56` MyRocks 5.6.
fn version(word: &str) -> Option<(Product, Engine, String)> {
    let (family, digits) = word.split_at_checked(2)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |range: std::ops::Range<usize>| digits.get(range)?.parse::<u32>().ok();
    let end = digits.len();
    let version = match (family, end) {
        ("my", 4) => format!("{}.{}.{}", number(0..1)?, number(1..2)?, number(2..4)?),
        ("ma", 6) => format!("{}.{}.{}", number(0..2)?, number(2..4)?, number(4..6)?),
        ("pg", 3..=4) if digits.starts_with('9') => {
            format!("9.{}.{}", number(1..2)?, number(2..end)?)
        }
        ("pg", 3..=4) => format!("{}.{}", number(0..2)?, number(2..end)?),
        ("rx", 2) => format!("{}.{}", number(0..1)?, number(1..2)?),
        _ => return None,
    };
    Product::ALL.into_iter().find_map(|product| {
        let (_, engine) = product.facts().published_as.iter().find(|(word, _)| *word == family)?;
        Some((product, *engine, version.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_version_and_key() {
        let found = dbms("x.my5651_rel_o2nofp.z12a_c8r32.pk1").unwrap();
        assert_eq!((found.product, found.version.as_str()), (Product::MySql, "5.6.51"));
        assert_eq!(found.has_primary_key, Some(true));
        let short = dbms("my8022.cx6d").unwrap();
        assert_eq!(short.has_primary_key, None);
    }

    #[test]
    fn digits_are_split_as_each_product_counts() {
        for (name, product, version) in [
            ("my8407", Product::MySql, "8.4.7"),
            ("my9500", Product::MySql, "9.5.0"),
            ("ma100244", Product::MariaDb, "10.2.44"),
            ("ma130000", Product::MariaDb, "13.0.0"),
            ("pg162", Product::Postgres, "16.2"),
            ("pg1023", Product::Postgres, "10.23"),
            ("pg9624", Product::Postgres, "9.6.24"),
            ("rx80", Product::MySql, "8.0"),
        ] {
            let found = dbms(name).unwrap();
            assert_eq!((found.product, found.version.as_str()), (product, version), "{name}");
        }
        let plain = dbms("postgres@17.2").unwrap();
        assert_eq!((plain.product, plain.version.as_str()), (Product::Postgres, "17.2"));
        for other in [
            "mysql@",
            "mysql@8.0.x",
            "db2@1",
            "",
            "x.",
            "my",
            "my56",
            "mé56",
            "db2",
            "my5651.a.b",
            "pg12345",
        ] {
            assert_eq!(dbms(other), None, "{other}");
        }
    }
}
