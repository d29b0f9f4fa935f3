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
        (
            Product::MySql,
            &["5.5.9", "5.5.34", "5.6.14", "5.7.22", "8.0.12", "8.0.15", "8.0.33", "9.7.4"][..],
        ),
        (
            Product::MariaDb,
            &["10.1.23", "10.2.11", "10.5.23", "10.11.5", "10.11.19", "11.4.5", "11.8.6", "11.8.9"]
                [..],
        ),
    ] {
        for version in versions {
            if !format!("{product}@{version}").contains(&only) {
                continue;
            }
            let done = std::panic::catch_unwind(|| {
                let began = std::time::Instant::now();
                let mut test = start(product, version, &[]);
                println!("=== {product} {version} {:.2}", began.elapsed().as_secs_f64());

                let mut c = test.connect();
                c.query("CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k), c CHAR(200)) ENGINE=InnoDB").unwrap();
                for at in 0..5 {
                    let rows: Vec<String> =
                        (0..2000).map(|r| format!("({},{},'c')", at * 2000 + r, r)).collect();
                    c.query(&format!("INSERT INTO t VALUES {}", rows.join(","))).unwrap();
                }
                for _ in 0..3 {
                    c.query("UPDATE t SET k = k + 1").unwrap();
                }
                for id in 0..100 {
                    c.query(&format!("UPDATE t SET k = k + 1 WHERE id = {id}")).unwrap();
                }
                c.query("DELETE FROM t WHERE id % 2 = 0").unwrap();
                let began = std::time::Instant::now();
                let d = assay_servers::maintain(
                    &mut c,
                    &["t".to_owned()],
                    std::time::Duration::from_secs(10),
                )
                .unwrap();
                println!("{d:?}");
                let mut old = String::new();
                while began.elapsed().as_secs() < 12 {
                    let r = c.query("SHOW ENGINE INNODB STATUS").unwrap();
                    let now = r
                        .text(0, 2)
                        .unwrap()
                        .lines()
                        .filter(|l| {
                            l.contains("istory") || l.contains("n:o") || l.contains("Trx id")
                        })
                        .collect::<Vec<_>>()
                        .join("; ");
                    if now != old {
                        println!("{:.2} {now}", began.elapsed().as_secs_f64());
                        old = now;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(100));
                }
            });
            if done.is_err() {
                println!("=== {product} {version} FAILED");
            }
        }
    }
}
