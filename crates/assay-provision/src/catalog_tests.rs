//! Tests of the catalog.

use assay_model::BuildFlag;

use super::*;

#[test]
fn catalog_is_well_formed_and_has_a_layout_for_every_product_in_it() {
    let catalog = Catalog::built_in().unwrap();
    for server in &catalog.servers {
        assert!(catalog.layout(server.product).is_ok());
        assert!(!server.roots.is_empty());
    }
    for product in Product::ALL {
        for packaged in catalog.packaged(product) {
            let coordinate = packaged.coordinate();
            assert!(catalog.layout(product).is_ok());
            let is_sum =
                |it: &String| it.len() == 64 && it.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(packaged.version.sha256.iter().all(is_sum), "{coordinate}");
            let maven = packaged.package.source == "maven";
            assert_eq!(packaged.package.name.contains(':'), maven, "{coordinate}");
        }
    }
    let (mut releases, roots) = catalog.runtimes();
    assert!(releases.next().is_some() && !roots.is_empty());
}

fn urls(catalog: &Catalog, product: Product, version: &str) -> Vec<String> {
    let guessed = catalog.guessed(product, version);
    let known = catalog.packaged(product).filter(|it| it.version.version == version);
    let all = known.chain(guessed.iter().flat_map(CatalogPackage::packaged));
    all.flat_map(PackageVersion::urls).collect()
}

#[test]
fn tarballs_have_the_addresses_that_vendors_give_them() {
    let catalog = Catalog::built_in().unwrap();
    for (product, version, url) in [
        (
            Product::MySql,
            "5.5.29",
            "cdn.mysql.com/archives/mysql-5.5/mysql-5.5.29-linux2.6-x86_64.tar.gz",
        ),
        (
            Product::MySql,
            "5.6.51",
            "cdn.mysql.com/archives/mysql-5.6/mysql-5.6.51-linux-glibc2.12-x86_64.tar.gz",
        ),
        (
            Product::MySql,
            "5.7.44",
            "cdn.mysql.com/Downloads/MySQL-5.7/mysql-5.7.44-linux-glibc2.12-x86_64.tar.gz",
        ),
        (
            Product::MySql,
            "8.0.40",
            "cdn.mysql.com/archives/mysql-8.0/mysql-8.0.40-linux-glibc2.17-x86_64-minimal.tar.xz",
        ),
        (
            Product::MySql,
            "9.7.2",
            "cdn.mysql.com/Downloads/MySQL-9.7/mysql-9.7.2-linux-glibc2.28-x86_64-minimal.tar.xz",
        ),
        (
            Product::MySql,
            "26.7.0",
            "cdn.mysql.com/Downloads/MySQL-26.7/mysql-26.7.0-linux-glibc2.28-x86_64-minimal.tar.xz",
        ),
        (
            Product::MySql,
            "8.4.7-7",
            "downloads.percona.com/downloads/Percona-Server-8.4/Percona-Server-8.4.7-7/binary/tarball/\
             Percona-Server-8.4.7-7-Linux.x86_64.glibc2.35-minimal.tar.gz",
        ),
        (
            Product::MariaDb,
            "10.0.1",
            "archive.mariadb.org/mariadb-10.0.1/kvm-bintar-hardy-amd64/\
             mariadb-10.0.1-linux-x86_64.tar.gz",
        ),
        (
            Product::MariaDb,
            "10.6.21",
            "archive.mariadb.org/mariadb-10.6.21/bintar-linux-systemd-x86_64/\
             mariadb-10.6.21-linux-systemd-x86_64.tar.gz",
        ),
        (
            Product::MariaDb,
            "13.1.1",
            "archive.mariadb.org/mariadb-13.1.1/bintar-linux-systemd-x86_64/\
             mariadb-13.1.1-linux-systemd-x86_64.tar.gz",
        ),
    ] {
        let urls = urls(&catalog, product, version);
        assert!(urls.contains(&format!("https://{url}")), "{version}: {urls:?}");
    }
    for (product, version) in
        [(Product::MySql, "8.0"), (Product::MySql, "5.1.73"), (Product::Postgres, "17.99.1")]
    {
        assert!(catalog.guessed(product, version).is_empty(), "{version}");
    }
    let builds = catalog.guessed(Product::MySql, "8.0.99-1");
    assert!(builds.iter().all(|it| it.name == "percona.com") && builds.len() == 1);
}

#[test]
fn ranges_are_versions() {
    assert_eq!(expanded("8.0.9..11").unwrap(), ["8.0.9", "8.0.10", "8.0.11"]);
    assert_eq!(expanded("8.0.36-28").unwrap(), ["8.0.36-28"]);
    for wrong in ["8.0.9..8", "8.0.x..9", "..9", "8.0.1..99999", "8.0.1.."] {
        assert_eq!(expanded(wrong), None, "{wrong}");
    }
}

#[test]
fn series_narrows_the_rows_and_released_ones_come_first() {
    let catalog = Catalog::built_in().unwrap();
    let rows = |wanted: &str| -> Vec<String> {
        (catalog.offers(Product::MariaDb).into_iter())
            .filter(|offer| offer.may_have(wanted))
            .map(|offer| offer.release.name.clone())
            .collect()
    };
    assert_eq!(rows("10.11"), ["bookworm", "noble", "forky", "sid"]);
    assert_eq!(rows("10.5.29"), ["bullseye", "forky", "sid"]);
    assert_eq!(rows("11"), ["trixie", "forky", "sid"]);
    assert_eq!(rows("10"), ["bullseye", "bookworm", "jammy", "noble", "forky", "sid"]);
}

#[test]
fn rows_for_flags_of_systems_have_values_that_flags_take() {
    let catalog = Catalog::built_in().unwrap();
    let rows = || catalog.builds.iter().map(|row| &row.when);
    for flag in BuildFlag::ALL {
        let is_compiler = matches!(flag, BuildFlag::Cc | BuildFlag::Cxx);
        assert!(is_compiler || rows().any(|when| when.contains_key(&flag)), "{}", flag.option());
    }
    for (flag, value) in rows().flatten() {
        assert!(value.ends_with('*') || flag.refusal(value).is_none(), "{flag:?} {value}");
    }
    for table in [crate::flag_table().unwrap(), crate::fix_table().unwrap()] {
        assert!(table.lines().count() > 10 && table.contains("| never |"), "{table}");
    }
}
