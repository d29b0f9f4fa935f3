//! The statements of transactions that clients run themselves. They are the same for all products.
//!
//! Amounts are sent in hundredths: `? * 0.01` is exact everywhere. Dates are returned as text.

use assay_model::{Dialect, StatementMode};

use crate::program::number_marks;
use crate::statement::{ArgumentType, ProgramStatement};

macro_rules! statements {
    ($($name:ident: $params:literal, $sql:expr;)*) => {
        /// A statement of a transaction.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum TpccStatement { $($name,)* }

        /// The text of each statement with `?` for parameters, and the parameter types: `i` (integer) or `t` (text).
        const TEXTS: &[(&str, &str)] = &[$(($sql, $params),)*];
    };
}

macro_rules! stock {
    ($district:literal) => {
        concat!(
            "SELECT s_quantity, s_data, s_dist_",
            $district,
            " FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE"
        )
    };
}

statements! {
    OrderCustomer: "iiii", "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
        WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?";
    OrderDistrict: "ii", "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE";
    NextOrder: "iii", "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?";
    InsertOrder: "iiiiii", "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
        VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)";
    InsertNewOrder: "iii", "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)";
    Item: "i", "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
    Stock01: "ii", stock!("01");
    Stock02: "ii", stock!("02");
    Stock03: "ii", stock!("03");
    Stock04: "ii", stock!("04");
    Stock05: "ii", stock!("05");
    Stock06: "ii", stock!("06");
    Stock07: "ii", stock!("07");
    Stock08: "ii", stock!("08");
    Stock09: "ii", stock!("09");
    Stock10: "ii", stock!("10");
    UpdateStock: "iiiii", "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
        s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?";
    InsertLine: "iiiiiiiit", "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
        ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ? * 0.01, ?)";
    PayWarehouse: "ii", "UPDATE warehouse SET w_ytd = w_ytd + ? * 0.01 WHERE w_id = ?";
    ReadWarehouse: "i", "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?";
    PayDistrict: "iii", "UPDATE district SET d_ytd = d_ytd + ? * 0.01 WHERE d_w_id = ? AND d_id = ?";
    ReadDistrict: "ii", "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
        WHERE d_w_id = ? AND d_id = ?";
    CustomersByName: "iit", "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
    PayingCustomer: "iii", "SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, \
        c_state, c_zip, c_phone, CONCAT(c_since, ''), c_credit_lim, c_discount FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";
    ReadCustomerData: "iii", "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? \
        FOR UPDATE";
    PayGood: "iiiii", "UPDATE customer SET c_balance = c_balance - ? * 0.01, c_ytd_payment = c_ytd_payment + ? * 0.01, \
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    PayBad: "iitiii", "UPDATE customer SET c_balance = c_balance - ? * 0.01, c_ytd_payment = c_ytd_payment + ? * 0.01, \
        c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    InsertHistory: "iiiiiit", "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
        h_data) VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ? * 0.01, ?)";
    StatusCustomer: "iii", "SELECT c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    LastOrder: "iii", "SELECT o_id, CONCAT(o_entry_d, ''), o_carrier_id FROM orders \
        WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";
    OrderLines: "iii", "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    OldestNewOrder: "ii", "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
        ORDER BY no_o_id LIMIT 1 FOR UPDATE";
    DeleteNewOrder: "iii", "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
    CustomerOfOrder: "iii", "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
    CarryOrder: "iiii", "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
    DeliverLines: "iii", "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    AmountOfOrder: "iii", "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    DeliverTo: "iiii", "UPDATE customer SET c_balance = c_balance + ? * 0.01, c_delivery_cnt = c_delivery_cnt + 1 \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    NextOrderOf: "ii", "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
    CountLow: "iiiiii", "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? \
        AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?";
}

impl TpccStatement {
    pub fn stock(district: u32) -> Self {
        match district {
            2 => Self::Stock02,
            3 => Self::Stock03,
            4 => Self::Stock04,
            5 => Self::Stock05,
            6 => Self::Stock06,
            7 => Self::Stock07,
            8 => Self::Stock08,
            9 => Self::Stock09,
            10 => Self::Stock10,
            _ => Self::Stock01,
        }
    }
}

pub fn tpcc_statements(dialect: Dialect) -> Vec<ProgramStatement> {
    TEXTS.iter().map(|(sql, params)| statement(dialect, sql, params)).collect()
}

/// `sql` has `?` for its parameters, and `params` has `i` or `t` for each.
pub(super) fn statement(dialect: Dialect, sql: &str, params: &str) -> ProgramStatement {
    let param = |kind| if kind == 't' { ArgumentType::Text } else { ArgumentType::Int };
    let marked = match dialect {
        Dialect::MySql => sql.to_owned(),
        Dialect::Postgres => number_marks(sql),
    };
    let params = params.chars().map(param).collect();
    let pieces = sql.split('?').map(str::to_owned).collect();
    ProgramStatement { pieces, ..ProgramStatement::new(marked, params, StatementMode::Prepared) }
}

/// Statements with values for `EXPLAIN`. The reads of stock are alike.
pub fn tpcc_example() -> Vec<(String, String)> {
    let example = |(sql, params): &(&str, &str)| {
        let mut text = String::new();
        let mut kinds = params.chars();
        for (number, piece) in sql.split('?').enumerate() {
            if number > 0 {
                text += if kinds.next() == Some('t') { "'BARBARBAR'" } else { "1" };
            }
            text += piece;
        }
        ((*sql).to_owned(), text)
    };
    let is_repeated = |sql: &str| sql.contains("s_dist_") && !sql.contains("s_dist_01");
    TEXTS.iter().filter(|(sql, _)| !is_repeated(sql)).map(example).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_a_type() {
        for (sql, params) in TEXTS {
            assert_eq!(sql.matches('?').count(), params.len(), "{sql}");
            assert!(!sql.contains("  "), "{sql}");
        }
        let all = tpcc_statements(Dialect::Postgres);
        assert_eq!(all.len(), TpccStatement::CountLow as usize + 1);
        let stock = &all[TpccStatement::stock(7) as usize];
        assert_eq!(
            stock.sql,
            "SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_i_id = $1 AND s_w_id = $2 FOR UPDATE"
        );
    }

    #[test]
    fn examples_have_values() {
        let examples = tpcc_example();
        assert_eq!(examples.len(), TEXTS.len() - 9);
        assert!(examples.iter().all(|(_, sql)| !sql.contains('?')));
        let (_, named) = examples.iter().find(|(sql, _)| sql.contains("c_last = ?")).unwrap();
        assert!(named.contains("c_w_id = 1 AND c_d_id = 1 AND c_last = 'BARBARBAR'"), "{named}");
    }
}
