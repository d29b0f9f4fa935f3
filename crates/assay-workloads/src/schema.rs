//! The tables `sbtest1`, `sbtest2`, ...

use assay_model::{Dialect, Engine, IdKey, PgsqlVariant, TableForm};

#[must_use]
pub fn create_table(
    dialect: Dialect,
    engine: Engine,
    key: IdKey,
    form: &TableForm,
    table: u32,
) -> Vec<String> {
    let postgres = dialect == Dialect::Postgres;
    let id = match (form.auto_inc, dialect, form.pgsql_variant) {
        (false, _, _) => "INTEGER NOT NULL",
        (true, Dialect::Postgres, PgsqlVariant::None) => "SERIAL",
        (true, Dialect::Postgres, PgsqlVariant::Redshift) => "INTEGER IDENTITY(1,1)",
        (true, Dialect::MySql, _) => "INTEGER NOT NULL AUTO_INCREMENT",
    };
    let inline_key = match key {
        IdKey::Primary => ", PRIMARY KEY (id)",
        IdKey::Secondary if postgres => "",
        IdKey::Secondary => ", KEY (id)",
    };
    let mut tail =
        if postgres { String::new() } else { format!(" /*! ENGINE = {} */", engine.word()) };
    if !form.create_table_options.is_empty() {
        tail.extend([" ", &form.create_table_options]);
    }
    let create = format!(
        "CREATE TABLE sbtest{table} (id {id}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL{inline_key}){tail}"
    );
    let mut statements = vec![create];
    if postgres && key == IdKey::Secondary {
        statements.push(format!("CREATE INDEX xid{table} on sbtest{table}(id)"));
    }
    statements
}

/// Run after the load; `None` if the form has no secondary index.
#[must_use]
pub fn create_index(form: &TableForm, table: u32) -> Option<String> {
    form.create_secondary.then(|| format!("CREATE INDEX k_{table} ON sbtest{table}(k)"))
}

/// Statements that read every page of a table and of its indexes into the server's cache.
#[must_use]
pub fn cache_queries(dialect: Dialect, key: IdKey, form: &TableForm, table: u32) -> Vec<String> {
    match dialect {
        Dialect::MySql => {
            let whole = format!("SELECT SUM(LENGTH(c)) FROM sbtest{table}");
            // A primary key is the table itself.
            let of_id = (key == IdKey::Secondary).then(|| {
                format!("SELECT SUM(id) FROM sbtest{table} FORCE INDEX (id) WHERE id > 0")
            });
            let of_k = form.create_secondary.then(|| {
                format!("SELECT SUM(k) FROM sbtest{table} FORCE INDEX (k_{table}) WHERE k > 0")
            });
            [Some(whole), of_id, of_k].into_iter().flatten().collect()
        }
        // A sequential scan of a large table goes through a small ring of buffers and leaves nothing in the cache; so
        // does a bitmap scan. Both keys of `id` have an index beside the table.
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
    fn ddl_follows_product_engine_and_key() {
        let form = TableForm::default();
        let mysql = create_table(Dialect::MySql, Engine::RocksDb, IdKey::Primary, &form, 3);
        assert_eq!(
            mysql,
            ["CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, \
              k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
              pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = rocksdb */"]
        );
        let postgres = create_table(Dialect::Postgres, Engine::Heap, IdKey::Secondary, &form, 1);
        assert_eq!(postgres.len(), 2);
        assert!(postgres[0].starts_with("CREATE TABLE sbtest1 (id SERIAL, "));
        assert!(postgres[0].ends_with("pad CHAR(60) DEFAULT '' NOT NULL)"));
        let maria = create_table(Dialect::MySql, Engine::InnoDb, IdKey::Secondary, &form, 1);
        assert!(maria[0].ends_with(", KEY (id)) /*! ENGINE = innodb */"));
    }

    /// Statements of sysbench with its options `auto_inc`, `create_secondary`, `create_table_options` and
    /// `pgsql_variant`.
    #[test]
    fn ddl_follows_the_form() {
        let form = TableForm {
            auto_inc: false,
            create_secondary: false,
            create_table_options: "ROW_FORMAT=COMPRESSED".to_owned(),
            ..TableForm::default()
        };
        let mysql = create_table(Dialect::MySql, Engine::InnoDb, IdKey::Primary, &form, 1);
        assert!(mysql[0].starts_with("CREATE TABLE sbtest1 (id INTEGER NOT NULL, k "), "{mysql:?}");
        let tail = "PRIMARY KEY (id)) /*! ENGINE = innodb */ ROW_FORMAT=COMPRESSED";
        assert!(mysql[0].ends_with(tail), "{mysql:?}");
        assert_eq!(create_index(&form, 1), None);
        for dialect in [Dialect::MySql, Dialect::Postgres] {
            let queries = cache_queries(dialect, IdKey::Primary, &form, 1);
            assert!(queries.iter().all(|sql| !sql.contains("(k")), "{queries:?}");
        }
        let redshift = TableForm { pgsql_variant: PgsqlVariant::Redshift, ..TableForm::default() };
        let created = create_table(Dialect::Postgres, Engine::Heap, IdKey::Primary, &redshift, 1);
        assert!(created[0].contains("(id INTEGER IDENTITY(1,1), "), "{created:?}");
    }
}
