//! The tables `sbtest1`, `sbtest2`, ...

use assay_model::{Dialect, Engine, TableForm};

/// The statement that creates table number `table` (from 1), empty, ready to be loaded.
#[must_use]
pub fn create_table(dialect: Dialect, engine: Engine, form: &TableForm, table: u32) -> String {
    let id = match (form.auto_inc, dialect) {
        (false, _) => "INTEGER NOT NULL",
        (true, Dialect::Postgres) => "SERIAL",
        (true, Dialect::MySql) => "INTEGER NOT NULL AUTO_INCREMENT",
    };
    let mut tail = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::MySql => format!(" /*! ENGINE = {} */", engine.word()),
    };
    if !form.create_table_options.is_empty() {
        tail.extend([" ", &form.create_table_options]);
    }
    format!(
        "CREATE TABLE sbtest{table} (id {id}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)){tail}"
    )
}

/// Run after the load; `None` if the form has no secondary index.
#[must_use]
pub fn create_index(form: &TableForm, table: u32) -> Option<String> {
    form.create_secondary.then(|| format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))
}

/// Statements that read every page of a table and of its indexes into the server's cache.
#[must_use]
pub fn cache_queries(dialect: Dialect, form: &TableForm, table: u32) -> Vec<String> {
    match dialect {
        Dialect::MySql => {
            // The primary key is the table itself.
            let whole = format!("SELECT SUM(LENGTH(c)) FROM sbtest{table}");
            let of_k = form.create_secondary.then(|| {
                format!("SELECT SUM(k) FROM sbtest{table} FORCE INDEX (k_{table}) WHERE k > 0")
            });
            [Some(whole), of_k].into_iter().flatten().collect()
        }
        // A sequential scan of a large table goes through a small ring of buffers and leaves nothing in the cache; so
        // does a bitmap scan. The key of `id` is an index beside the table.
        Dialect::Postgres => {
            let of_k = form
                .create_secondary
                .then(|| format!("SELECT SUM(k) FROM sbtest{table} WHERE k > 0"));
            let mut all = vec![
                "SET enable_seqscan = off".to_owned(),
                "SET enable_bitmapscan = off".to_owned(),
                format!("SELECT SUM(LENGTH(c)) FROM sbtest{table} WHERE id > 0"),
            ];
            all.extend(of_k);
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddl_follows_product_and_engine() {
        let form = TableForm::default();
        let mysql = create_table(Dialect::MySql, Engine::RocksDb, &form, 3);
        assert_eq!(
            mysql,
            "CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, \
             k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = rocksdb */"
        );
        let postgres = create_table(Dialect::Postgres, Engine::Heap, &form, 1);
        assert!(postgres.starts_with("CREATE TABLE sbtest1 (id SERIAL, "));
        assert!(postgres.ends_with("pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"));
    }

    /// Statements of sysbench with its options `auto_inc`, `create_secondary` and `create_table_options`.
    #[test]
    fn ddl_follows_the_form() {
        let form = TableForm {
            auto_inc: false,
            create_secondary: false,
            create_table_options: "ROW_FORMAT=COMPRESSED".to_owned(),
        };
        let mysql = create_table(Dialect::MySql, Engine::InnoDb, &form, 1);
        assert!(mysql.starts_with("CREATE TABLE sbtest1 (id INTEGER NOT NULL, k "), "{mysql}");
        let tail = "PRIMARY KEY (id)) /*! ENGINE = innodb */ ROW_FORMAT=COMPRESSED";
        assert!(mysql.ends_with(tail), "{mysql}");
        assert_eq!(create_index(&form, 1), None);
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            let queries = cache_queries(dialect, &form, 1);
            assert!(queries.iter().all(|sql| !sql.contains("(k")), "{queries:?}");
        }
    }
}
