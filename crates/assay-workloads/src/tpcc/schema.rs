//! The nine tables (clause 1.3), with the indexes that their transactions need, and consistency conditions 1 to 4
//! (clause 3.3.2).
//!
//! No foreign keys are declared: the specification does not require enforcement, and with them, a result would measure
//! their checks as much as the transactions.

use assay_model::{Dialect, Engine, Tpcc, UserData, UserRows, UserTable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccTable {
    pub name: &'static str,
    columns: &'static str,
    key: &'static str,
    /// Name and columns of the index that is created after the load.
    index: Option<(&'static str, &'static str)>,
    /// Approximate rows per warehouse, and further rows.
    rows: (u32, u32),
}

macro_rules! address {
    ($prefix:literal) => {
        concat!(
            $prefix,
            "street_1 VARCHAR(20) NOT NULL, ",
            $prefix,
            "street_2 VARCHAR(20) NOT NULL, ",
            $prefix,
            "city VARCHAR(20) NOT NULL, ",
            $prefix,
            "state CHAR(2) NOT NULL, ",
            $prefix,
            "zip CHAR(9) NOT NULL"
        )
    };
}

pub const TPCC_TABLES: [TpccTable; 9] = [
    TpccTable {
        name: "item",
        columns: "i_id INTEGER NOT NULL, i_im_id INTEGER NOT NULL, i_name VARCHAR(24) NOT NULL, \
                  i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL",
        key: "i_id",
        index: None,
        rows: (0, 100_000),
    },
    TpccTable {
        name: "warehouse",
        columns: concat!(
            "w_id INTEGER NOT NULL, w_name VARCHAR(10) NOT NULL, ",
            address!("w_"),
            ", w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL"
        ),
        key: "w_id",
        index: None,
        rows: (1, 0),
    },
    TpccTable {
        name: "district",
        columns: concat!(
            "d_id INTEGER NOT NULL, d_w_id INTEGER NOT NULL, d_name VARCHAR(10) NOT NULL, ",
            address!("d_"),
            ", d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INTEGER NOT NULL"
        ),
        key: "d_w_id, d_id",
        index: None,
        rows: (10, 0),
    },
    TpccTable {
        name: "stock",
        columns: "s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, s_quantity INTEGER NOT NULL, \
                  s_dist_01 CHAR(24) NOT NULL, s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL, \
                  s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL, \
                  s_dist_07 CHAR(24) NOT NULL, s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL, \
                  s_dist_10 CHAR(24) NOT NULL, s_ytd DECIMAL(8,0) NOT NULL, s_order_cnt INTEGER NOT NULL, \
                  s_remote_cnt INTEGER NOT NULL, s_data VARCHAR(50) NOT NULL",
        key: "s_w_id, s_i_id",
        index: None,
        rows: (100_000, 0),
    },
    TpccTable {
        name: "customer",
        columns: concat!(
            "c_id INTEGER NOT NULL, c_d_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL, \
             c_first VARCHAR(16) NOT NULL, c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, ",
            address!("c_"),
            ", c_phone CHAR(16) NOT NULL, c_since DATETIME NOT NULL, c_credit CHAR(2) NOT NULL, \
             c_credit_lim DECIMAL(12,2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL, \
             c_balance DECIMAL(12,2) NOT NULL, c_ytd_payment DECIMAL(12,2) NOT NULL, \
             c_payment_cnt INTEGER NOT NULL, c_delivery_cnt INTEGER NOT NULL, c_data VARCHAR(500) NOT NULL"
        ),
        key: "c_w_id, c_d_id, c_id",
        index: Some(("customer_name", "c_w_id, c_d_id, c_last, c_first")),
        rows: (30_000, 0),
    },
    TpccTable {
        name: "history",
        columns: "h_c_id INTEGER NOT NULL, h_c_d_id INTEGER NOT NULL, h_c_w_id INTEGER NOT NULL, \
                  h_d_id INTEGER NOT NULL, h_w_id INTEGER NOT NULL, h_date DATETIME NOT NULL, \
                  h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL",
        key: "",
        index: None,
        rows: (30_000, 0),
    },
    TpccTable {
        name: "orders",
        columns: "o_id INTEGER NOT NULL, o_d_id INTEGER NOT NULL, o_w_id INTEGER NOT NULL, \
                  o_c_id INTEGER NOT NULL, o_entry_d DATETIME NOT NULL, o_carrier_id INTEGER, \
                  o_ol_cnt INTEGER NOT NULL, o_all_local INTEGER NOT NULL",
        key: "o_w_id, o_d_id, o_id",
        index: Some(("orders_customer", "o_w_id, o_d_id, o_c_id, o_id")),
        rows: (30_000, 0),
    },
    TpccTable {
        name: "order_line",
        columns: "ol_o_id INTEGER NOT NULL, ol_d_id INTEGER NOT NULL, ol_w_id INTEGER NOT NULL, \
                  ol_number INTEGER NOT NULL, ol_i_id INTEGER NOT NULL, ol_supply_w_id INTEGER NOT NULL, \
                  ol_delivery_d DATETIME, ol_quantity INTEGER NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, \
                  ol_dist_info CHAR(24) NOT NULL",
        key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
        index: None,
        rows: (300_000, 0),
    },
    TpccTable {
        name: "new_order",
        columns: "no_o_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_w_id INTEGER NOT NULL",
        key: "no_w_id, no_d_id, no_o_id",
        index: None,
        rows: (9000, 0),
    },
];

impl TpccTable {
    pub fn create(&self, dialect: Dialect, engine: Engine) -> String {
        let key = match self.key {
            "" => String::new(),
            columns => format!(", PRIMARY KEY ({columns})"),
        };
        let (name, columns) = (self.name, self.columns);
        match dialect {
            Dialect::MySql => {
                format!("CREATE TABLE {name} ({columns}{key}) ENGINE = {}", engine.word())
            }
            Dialect::Postgres => {
                format!("CREATE TABLE {name} ({}{key})", columns.replace("DATETIME", "TIMESTAMP"))
            }
        }
    }

    pub fn create_index(&self) -> Option<String> {
        let (index, columns) = self.index?;
        Some(format!("CREATE INDEX {index} ON {} ({columns})", self.name))
    }
}

/// As tables of a workload, with approximate row counts.
pub fn tpcc_data(tpcc: &Tpcc) -> UserData {
    let table = |table: &TpccTable| {
        let (of_warehouse, besides) = table.rows;
        let count = of_warehouse.saturating_mul(tpcc.warehouses).saturating_add(besides);
        UserTable {
            name: table.name.to_owned(),
            create: Vec::new(),
            after: Vec::new(),
            rows: UserRows::Generated { count, columns: Vec::new() },
        }
    };
    UserData {
        name: "suite tpcc".to_owned(),
        tables: TPCC_TABLES.iter().map(table).collect(),
        dump: None,
    }
}

/// A condition that holds whenever no transaction is in progress, as a query for violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccCondition {
    pub number: u32,
    pub demands: &'static str,
    pub violation: &'static str,
    pub columns: &'static [&'static str],
}

pub const TPCC_CONDITIONS: [TpccCondition; 4] = [
    TpccCondition {
        number: 1,
        demands: "W_YTD is the sum of D_YTD",
        violation: "SELECT w_id, w_ytd, SUM(d_ytd) FROM warehouse LEFT JOIN district ON d_w_id = w_id \
                    GROUP BY w_id, w_ytd HAVING w_ytd <> COALESCE(SUM(d_ytd), 0) ORDER BY w_id LIMIT 1",
        columns: &["warehouse", "W_YTD", "sum of D_YTD"],
    },
    TpccCondition {
        number: 2,
        demands: "D_NEXT_O_ID - 1 is the highest O_ID and the highest NO_O_ID",
        violation: "SELECT d_w_id, d_id, d_next_o_id - 1, o_last, no_last FROM district \
                    LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS o_last FROM orders GROUP BY o_w_id, o_d_id) AS o \
                    ON o_w_id = d_w_id AND o_d_id = d_id \
                    LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS no_last FROM new_order \
                    GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
                    WHERE d_next_o_id - 1 <> COALESCE(o_last, 0) OR d_next_o_id - 1 <> no_last \
                    ORDER BY d_w_id, d_id LIMIT 1",
        columns: &["warehouse", "district", "D_NEXT_O_ID - 1", "highest O_ID", "highest NO_O_ID"],
    },
    TpccCondition {
        number: 3,
        demands: "the numbers of new orders have no gaps",
        violation: "SELECT no_w_id, no_d_id, MAX(no_o_id) - MIN(no_o_id) + 1, COUNT(*) FROM new_order \
                    GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) \
                    ORDER BY no_w_id, no_d_id LIMIT 1",
        columns: &["warehouse", "district", "highest NO_O_ID - lowest + 1", "new orders"],
    },
    TpccCondition {
        number: 4,
        demands: "the sum of O_OL_CNT is the number of lines of orders",
        violation: "SELECT o_w_id, o_d_id, wanted, present FROM \
                    (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS wanted FROM orders GROUP BY o_w_id, o_d_id) AS o \
                    LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS present FROM order_line \
                    GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id \
                    WHERE wanted <> COALESCE(present, 0) ORDER BY o_w_id, o_d_id LIMIT 1",
        columns: &["warehouse", "district", "sum of O_OL_CNT", "lines"],
    },
];

impl TpccCondition {
    pub fn violation_words<'v>(&self, values: impl Iterator<Item = Option<&'v str>>) -> String {
        let pair = |(column, value): (&&str, Option<&str>)| {
            format!("{column} {}", value.unwrap_or("none"))
        };
        self.columns.iter().zip(values).map(pair).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dialect_has_its_types() {
        let history = TPCC_TABLES.iter().find(|table| table.name == "history").unwrap();
        let mysql = history.create(Dialect::MySql, Engine::InnoDb);
        assert!(mysql.contains("h_date DATETIME") && mysql.ends_with(") ENGINE = innodb"));
        assert!(!mysql.contains("PRIMARY KEY"));
        let postgres = history.create(Dialect::Postgres, Engine::Heap);
        assert!(
            postgres.contains("h_date TIMESTAMP")
                && postgres.ends_with("h_data VARCHAR(24) NOT NULL)")
        );
        let indexes: Vec<String> = TPCC_TABLES.iter().filter_map(TpccTable::create_index).collect();
        assert_eq!(indexes.len(), 2);
    }

    #[test]
    fn rows_are_those_of_the_definition() {
        for warehouses in [1, 7] {
            let tpcc = Tpcc { warehouses, procedures: false, thinks: false };
            assert_eq!(tpcc_data(&tpcc).rows(), tpcc.rows());
        }
    }

    #[test]
    fn a_violation_names_its_values() {
        let values = [Some("1"), Some("4"), Some("3005"), None, Some("3004")];
        assert_eq!(
            TPCC_CONDITIONS[1].violation_words(values.into_iter()),
            "warehouse 1, district 4, D_NEXT_O_ID - 1 3005, highest O_ID none, highest NO_O_ID 3004"
        );
    }
}
