//! The tables `pi1`, `pi2`, ... and their secondary indexes.

use assay_model::{Dialect, Engine, IbenchTables, Partitions};

/// Suffixes of the names and columns of the secondary indexes, in the order of their use.
pub(super) const INDEXES: [(&str, &str); 3] = [
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
];

/// A table of the Insert Benchmark on a family of servers: the source of all nonrandom statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IbenchTable {
    dialect: Dialect,
    name: String,
}

impl IbenchTable {
    pub fn new(dialect: Dialect, number: u32) -> Self {
        Self { dialect, name: format!("pi{number}") }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.name)
    }

    pub fn create(&self, engine: Engine, tables: &IbenchTables) -> Vec<String> {
        let name = &self.name;
        let columns = "cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, \
                       price int NOT NULL, data varchar(4000)";
        if self.dialect != Dialect::Postgres {
            let partitions =
                tables.partitions.map_or(String::new(), |it| of_mysql(&it, "transactionid"));
            return vec![format!(
                "CREATE TABLE {name} (transactionid bigint NOT NULL AUTO_INCREMENT, dateandtime datetime, {columns}, \
                 PRIMARY KEY (transactionid)) ENGINE = {}{partitions}",
                engine.word()
            )];
        }
        let by_range =
            if tables.partitions.is_some() { " PARTITION BY RANGE (transactionid)" } else { "" };
        let create = format!(
            "CREATE TABLE {name} (transactionid bigserial PRIMARY KEY, dateandtime timestamp without time zone, \
             {columns}){by_range}"
        );
        let partitions = tables.partitions.into_iter().flat_map(|it| self.partitions(it));
        // Every session takes a thousand keys at a time, so keys have gaps between steps, as in the published harness.
        let cache = format!("ALTER SEQUENCE {name}_transactionid_seq CACHE 1000");
        [create].into_iter().chain(partitions).chain([cache]).collect()
    }

    fn partitions(&self, partitions: Partitions) -> impl Iterator<Item = String> {
        let Partitions { count, rows } = partitions;
        (0..count).map(move |number| {
            let bound = |at: u32| rows.saturating_mul(at.into()).to_string();
            let from = if number == 0 { "MINVALUE".to_owned() } else { bound(number) };
            let to = if number + 1 == count { "MAXVALUE".to_owned() } else { bound(number + 1) };
            let name = &self.name;
            format!("CREATE TABLE {name}_p{number} PARTITION OF {name} FOR VALUES FROM ({from}) TO ({to})")
        })
    }

    /// Statements that create its first `count` secondary indexes. InnoDB creates all of them in one pass.
    pub fn create_indexes(&self, engine: Engine, count: u32) -> Vec<String> {
        let name = &self.name;
        let indexes = INDEXES.iter().take(count as usize);
        if self.dialect == Dialect::Postgres {
            let create = |(end, columns): &(&str, &str)| {
                format!("CREATE INDEX {name}_{end} ON {name} ({columns})")
            };
            return indexes.map(create).collect();
        }
        let add = |(end, columns): &(&str, &str)| format!("ADD INDEX {name}_{end} ({columns})");
        let added: Vec<String> = indexes.map(add).collect();
        match engine {
            Engine::RocksDb => added.iter().map(|it| format!("ALTER TABLE {name} {it}")).collect(),
            _ if added.is_empty() => Vec::new(),
            _ => {
                vec![format!("ALTER TABLE {name} {}", added.join(", "))]
            }
        }
    }

    /// Query for the lowest key: the low end of the queue.
    pub fn lowest(&self) -> String {
        format!("SELECT min(transactionid) FROM {}", self.name)
    }

    pub fn highest(&self) -> String {
        format!("SELECT max(transactionid) FROM {}", self.name)
    }

    /// Replaces `statement` with one that deletes the oldest `rows` rows, none of which has a key below `lowest`.
    pub fn delete(&self, lowest: u64, rows: u32, statement: &mut Vec<u8>) {
        statement.clear();
        let is_postgres = self.dialect == Dialect::Postgres;
        let mut push = |text: &str| statement.extend_from_slice(text.as_bytes());
        push("DELETE FROM ");
        push(&self.name);
        if is_postgres {
            push(" WHERE transactionid IN (SELECT transactionid FROM ");
            push(&self.name);
        }
        push(" WHERE transactionid >= ");
        push(itoa::Buffer::new().format(lowest));
        push(" ORDER BY transactionid ASC LIMIT ");
        push(itoa::Buffer::new().format(rows));
        if is_postgres {
            push(")");
        }
    }

    /// Statements that read the whole table, and its first `count` secondary indexes.
    pub fn read_all(&self, count: u32) -> Vec<String> {
        let name = &self.name;
        let read_index = |(end, columns): &(&str, &str)| match self.dialect {
            Dialect::MySql => format!("SELECT count(price) FROM {name} FORCE INDEX ({name}_{end})"),
            Dialect::Postgres => {
                format!(
                    "SELECT count(*) FROM (SELECT {columns} FROM {name} ORDER BY {columns}) AS a"
                )
            }
        };
        // Otherwise, Postgres would sort the rows of the table.
        let settings: &[&str] = match self.dialect {
            Dialect::MySql => &[],
            Dialect::Postgres => &["SET enable_seqscan = off", "SET enable_sort = off"],
        };
        let settings = settings.iter().map(|sql| (*sql).to_owned());
        [format!("SELECT count(data) FROM {name}")]
            .into_iter()
            .chain(settings)
            .chain(INDEXES.iter().take(count as usize).map(read_index))
            .collect()
    }

    /// Begins a transaction that holds back purge and vacuum until it ends. By default, a Postgres snapshot lasts no
    /// longer than its statement.
    pub fn begin(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            Dialect::MySql => "BEGIN",
        }
    }

    pub fn read_one(&self) -> String {
        format!("SELECT * FROM {} LIMIT 1", self.name)
    }
}

fn of_mysql(partitions: &Partitions, key: &str) -> String {
    let Partitions { count, rows } = *partitions;
    let part = |number: u32| match number + 1 == count {
        true => format!("PARTITION p{number} VALUES LESS THAN MAXVALUE"),
        false => {
            let bound = rows.saturating_mul(u64::from(number) + 1);
            format!("PARTITION p{number} VALUES LESS THAN ({bound})")
        }
    };
    let parts: Vec<String> = (0..count).map(part).collect();
    format!(" PARTITION BY RANGE ({key}) ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: IbenchTables =
        IbenchTables { is_shared: false, indexes: 3, partitions: None, exceed_cache: false };

    #[test]
    fn every_product_and_engine_gets_the_published_schema() {
        let table = IbenchTable::new(Dialect::MySql, 2);
        assert_eq!(
            table.create(Engine::InnoDb, &PLAIN),
            [
                "CREATE TABLE pi2 (transactionid bigint NOT NULL AUTO_INCREMENT, dateandtime datetime, \
                 cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, \
                 data varchar(4000), PRIMARY KEY (transactionid)) ENGINE = innodb"
            ]
        );
        let indexes = table.create_indexes(Engine::InnoDb, 3);
        assert_eq!(indexes.len(), 1);
        assert!(indexes[0].ends_with(", ADD INDEX pi2_pdc (price, dateandtime, customerid)"));
        assert_eq!(table.create_indexes(Engine::RocksDb, 3).len(), 3);
        assert_eq!(table.create_indexes(Engine::InnoDb, 0), [] as [&str; 0]);
        let table = IbenchTable::new(Dialect::Postgres, 1);
        assert_eq!(table.create(Engine::Heap, &PLAIN).len(), 2);
        let indexes = table.create_indexes(Engine::Heap, 1);
        let expected = "CREATE INDEX pi1_marketsegment ON pi1 (productid, customerid, price)";
        assert_eq!(indexes, [expected]);
    }

    #[test]
    fn partitions_cover_all_keys() {
        let partitions = Some(Partitions { count: 3, rows: 100 });
        let tables = IbenchTables { partitions, ..PLAIN };
        let mysql = IbenchTable::new(Dialect::MySql, 1).create(Engine::InnoDb, &tables);
        assert!(mysql[0].ends_with(
            "PARTITION BY RANGE (transactionid) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN \
             (200), PARTITION p2 VALUES LESS THAN MAXVALUE)"
        ));
        let postgres = IbenchTable::new(Dialect::Postgres, 1).create(Engine::Heap, &tables);
        assert_eq!(postgres.len(), 5);
        assert!(postgres[1].ends_with("FOR VALUES FROM (MINVALUE) TO (100)"));
        assert!(postgres[3].ends_with("FOR VALUES FROM (200) TO (MAXVALUE)"));
    }

    #[test]
    fn deletes_take_the_oldest_rows() {
        let mut statement = Vec::new();
        IbenchTable::new(Dialect::MySql, 1).delete(7, 50, &mut statement);
        let expected =
            "DELETE FROM pi1 WHERE transactionid >= 7 ORDER BY transactionid ASC LIMIT 50";
        assert_eq!(String::from_utf8(statement.clone()).unwrap(), expected);
        IbenchTable::new(Dialect::Postgres, 2).delete(8, 5, &mut statement);
        let expected = "DELETE FROM pi2 WHERE transactionid IN (SELECT transactionid FROM pi2 WHERE transactionid >= 8 \
                        ORDER BY transactionid ASC LIMIT 5)";
        assert_eq!(String::from_utf8(statement).unwrap(), expected);
    }
}
