//! The tables `sbtest1`, `sbtest2`, ...

use assay_model::{Engine, IdKey, Product};

/// Statements that create table number `table` (from 1), empty, ready to be loaded.
#[must_use]
pub fn create_table(product: Product, engine: Engine, key: IdKey, table: u32) -> Vec<String> {
    let postgres = product == Product::Postgres;
    let id = if postgres { "SERIAL" } else { "INTEGER NOT NULL AUTO_INCREMENT" };
    let inline_key = match key {
        IdKey::Primary => ", PRIMARY KEY (id)",
        IdKey::Secondary if postgres => "",
        IdKey::Secondary => ", KEY (id)",
    };
    let tail = if postgres { String::new() } else { format!(" /*! ENGINE = {} */", engine.word()) };
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

/// The statement that creates the secondary index of a loaded table.
#[must_use]
pub fn create_index(table: u32) -> String {
    format!("CREATE INDEX k_{table} ON sbtest{table}(k)")
}

/// The statement that removes a table, if it is there.
#[must_use]
pub fn drop_table(table: u32) -> String {
    format!("DROP TABLE IF EXISTS sbtest{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddl_follows_product_engine_and_key() {
        let mysql = create_table(Product::MySql, Engine::RocksDb, IdKey::Primary, 3);
        assert_eq!(
            mysql,
            ["CREATE TABLE sbtest3 (id INTEGER NOT NULL AUTO_INCREMENT, \
              k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
              pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = rocksdb */"]
        );
        let postgres = create_table(Product::Postgres, Engine::Heap, IdKey::Secondary, 1);
        assert_eq!(postgres.len(), 2);
        assert!(postgres[0].starts_with("CREATE TABLE sbtest1 (id SERIAL, "));
        assert!(postgres[0].ends_with("pad CHAR(60) DEFAULT '' NOT NULL)"));
        let maria = create_table(Product::MariaDb, Engine::InnoDb, IdKey::Secondary, 1);
        assert!(maria[0].ends_with(", KEY (id)) /*! ENGINE = innodb */"));
    }
}
