//! Every version of the MySQL family.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use assay_model::Product;
use assay_testkit::start;

assay_testkit::supervisor_entry!();

#[test]
#[ignore = "all versions"]
fn dev_all() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for (product, versions) in [
        (Product::MySql, &["5.5.9", "5.5.34", "5.6.14", "5.7.22", "8.0.12", "8.0.15", "8.0.33", "9.7.4"][..]),
        (Product::MariaDb, &["10.1.23", "10.2.11", "10.5.23", "10.11.5", "10.11.19", "11.4.5", "11.8.6", "11.8.9"][..]),
    ] {
        for version in versions {
            if !format!("{product}@{version}").contains(&only) { continue; }
            let done = std::panic::catch_unwind(|| {
                let began = std::time::Instant::now();
                let mut test = start(product, version, &[]);
                println!("=== {product} {version} {:.2}", began.elapsed().as_secs_f64());
                println!("{}", test.server().log_tail());
                let mut c = test.connect();
                for sql in ["SELECT VERSION(), @@tmpdir, @@innodb_doublewrite", "SHOW ENGINE INNODB STATUS", "SELECT user, host FROM mysql.user"] {
                    let r = c.query(sql).unwrap();
                    for row in 0..r.rows.len() {
                        println!("   {}", (0..3).filter_map(|c| r.text(row, c)).collect::<Vec<_>>().join(" | ").lines()
                          .filter(|l| !sql.contains("STATUS") || l.contains("istory") || l.contains("n:o") || l.contains("Trx id")).collect::<Vec<_>>().join("; "));
                    }
                }
            });
            if done.is_err() { println!("=== {product} {version} FAILED"); }
        }
    }
}
