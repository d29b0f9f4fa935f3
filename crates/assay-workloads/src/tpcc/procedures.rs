//! The transactions as stored procedures (MySQL, MariaDB) and functions (Postgres). They do the same as the statements
//! of clients, in the same order; each call is one transaction.
//!
//! Order lines are packed ([`super::NewOrder::packed`]). On Postgres, an order with a nonexistent item raises SQLSTATE
//! `TP001`, which rolls it back.

use assay_model::Dialect;

use super::statements::statement;
use crate::statement::ProgramStatement;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TpccProcedure {
    pub drop: String,
    pub create: String,
    /// Has `?` for each parameter.
    pub call: String,
    /// `i` or `t` for each parameter of a call.
    pub params: &'static str,
}

pub fn tpcc_calls(dialect: Dialect) -> Vec<ProgramStatement> {
    let statement = |it: TpccProcedure| statement(dialect, &it.call, it.params);
    tpcc_procedures(dialect).into_iter().map(statement).collect()
}

/// A routine: its name, the names and kinds of its parameters, and its body for each dialect.
struct Routine {
    name: &'static str,
    params: &'static str,
    names: &'static [&'static str],
    mysql: String,
    postgres: String,
}

/// In the order of the transaction kinds: new order, payment, order status, delivery, stock level.
pub fn tpcc_procedures(dialect: Dialect) -> Vec<TpccProcedure> {
    let routines = [new_order(), payment(), order_status(), delivery(), stock_level()];
    routines.into_iter().map(|routine| routine.procedure(dialect)).collect()
}

impl Routine {
    fn procedure(self, dialect: Dialect) -> TpccProcedure {
        let Self { name, params, names, mysql, postgres } = self;
        let of_kind = |integer: &str, text: &str, before: &str| {
            let one = |(name, kind): (&&str, char)| {
                format!("{before}{name} {}", if kind == 't' { text } else { integer })
            };
            names.iter().zip(params.chars()).map(one).collect::<Vec<_>>().join(", ")
        };
        let marks = vec!["?"; names.len()].join(", ");
        match dialect {
            Dialect::MySql => TpccProcedure {
                drop: format!("DROP PROCEDURE IF EXISTS {name}"),
                create: format!(
                    "CREATE PROCEDURE {name}({})\n{mysql}",
                    of_kind("INTEGER", "VARCHAR(255)", "IN ")
                ),
                call: format!("CALL {name}({marks})"),
                params,
            },
            Dialect::Postgres => {
                let types =
                    params.chars().map(|kind| if kind == 't' { "VARCHAR" } else { "BIGINT" });
                let types: Vec<&str> = types.collect();
                TpccProcedure {
                    drop: format!("DROP FUNCTION IF EXISTS {name}({})", types.join(", ")),
                    create: format!(
                        "CREATE FUNCTION {name}({}) RETURNS NUMERIC AS $tpcc$\n{postgres}\n$tpcc$ LANGUAGE plpgsql",
                        of_kind("BIGINT", "VARCHAR", "")
                    ),
                    call: format!("SELECT {name}({marks})"),
                    params,
                }
            }
        }
    }
}

fn dist() -> String {
    let case = |number: u32| format!(" WHEN {number} THEN s_dist_{number:02}");
    format!("CASE p_d{} END", (1..=super::draw::DISTRICTS).map(case).collect::<String>())
}

fn new_order() -> Routine {
    Routine {
        name: "assay_new_order",
        params: "iiiiit",
        names: &["p_w", "p_d", "p_c", "p_count", "p_local", "p_lines"],
        mysql: new_order_mysql(),
        postgres: new_order_postgres(),
    }
}

fn new_order_mysql() -> String {
    let dist = dist();
    format!(
            "BEGIN
  DECLARE v_n INTEGER DEFAULT 1;
  DECLARE v_o, v_item, v_supply, v_quantity, v_stock INTEGER;
  DECLARE v_price DECIMAL(5,2);
  DECLARE v_total DECIMAL(12,2) DEFAULT 0;
  DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
  DECLARE v_last VARCHAR(16);
  DECLARE v_credit CHAR(2);
  DECLARE v_name, v_dist VARCHAR(24);
  DECLARE v_i_data, v_s_data VARCHAR(50);
  START TRANSACTION;
  SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax FROM customer, warehouse
    WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  SELECT d_next_o_id, d_tax INTO v_o, v_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = v_o + 1 WHERE d_w_id = p_w AND d_id = p_d;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (v_o, p_d, p_w, p_c, CURRENT_TIMESTAMP, p_count, p_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  order_loop: WHILE v_n <= p_count DO
    SET v_item = CAST(SUBSTRING(p_lines, 14 * v_n - 13, 6) AS SIGNED);
    SET v_supply = CAST(SUBSTRING(p_lines, 14 * v_n - 7, 6) AS SIGNED);
    SET v_quantity = CAST(SUBSTRING(p_lines, 14 * v_n - 1, 2) AS SIGNED);
    SET v_price = NULL;
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_i_data FROM item WHERE i_id = v_item;
    IF v_price IS NULL THEN LEAVE order_loop; END IF;
    SELECT s_quantity, s_data, {dist} INTO v_stock, v_s_data, v_dist FROM stock
      WHERE s_i_id = v_item AND s_w_id = v_supply FOR UPDATE;
    SET v_stock = v_stock - v_quantity + IF(v_stock >= v_quantity + 10, 0, 91);
    UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + IF(v_supply = p_w, 0, 1) WHERE s_i_id = v_item AND s_w_id = v_supply;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
      ol_dist_info) VALUES (v_o, p_d, p_w, v_n, v_item, v_supply, v_quantity, v_quantity * v_price, v_dist);
    SET v_total = v_total + v_quantity * v_price;
    SET v_n = v_n + 1;
  END WHILE order_loop;
  IF v_n <= p_count THEN ROLLBACK; ELSE COMMIT; END IF;
  SELECT v_o, v_last, v_credit, v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
END"
        )
}

fn new_order_postgres() -> String {
    let dist = dist();
    format!(
            "DECLARE
  v_o INTEGER; v_item INTEGER; v_supply INTEGER; v_quantity INTEGER; v_stock INTEGER;
  v_price NUMERIC; v_total NUMERIC := 0; v_discount NUMERIC; v_w_tax NUMERIC; v_d_tax NUMERIC;
  v_last VARCHAR; v_credit VARCHAR; v_name VARCHAR; v_dist VARCHAR; v_i_data VARCHAR; v_s_data VARCHAR;
BEGIN
  SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax FROM customer, warehouse
    WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  SELECT d_next_o_id, d_tax INTO v_o, v_d_tax FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = v_o + 1 WHERE d_w_id = p_w AND d_id = p_d;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (v_o, p_d, p_w, p_c, CURRENT_TIMESTAMP, p_count, p_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  FOR v_n IN 1..p_count LOOP
    v_item := SUBSTR(p_lines, (14 * v_n - 13)::INTEGER, 6)::INTEGER;
    v_supply := SUBSTR(p_lines, (14 * v_n - 7)::INTEGER, 6)::INTEGER;
    v_quantity := SUBSTR(p_lines, (14 * v_n - 1)::INTEGER, 2)::INTEGER;
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_i_data FROM item WHERE i_id = v_item;
    IF NOT FOUND THEN RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'TP001'; END IF;
    SELECT s_quantity, s_data, {dist} INTO v_stock, v_s_data, v_dist FROM stock
      WHERE s_i_id = v_item AND s_w_id = v_supply FOR UPDATE;
    v_stock := v_stock - v_quantity + CASE WHEN v_stock >= v_quantity + 10 THEN 0 ELSE 91 END;
    UPDATE stock SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = p_w THEN 0 ELSE 1 END
      WHERE s_i_id = v_item AND s_w_id = v_supply;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount,
      ol_dist_info) VALUES (v_o, p_d, p_w, v_n, v_item, v_supply, v_quantity, v_quantity * v_price, v_dist);
    v_total := v_total + v_quantity * v_price;
  END LOOP;
  RETURN v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
END"
        )
}

fn payment() -> Routine {
    Routine {
        name: "assay_payment",
        params: "iiiiiti",
        names: &["p_w", "p_d", "p_c_w", "p_c_d", "p_c", "p_last", "p_cents"],
        mysql: PAYMENT_MYSQL.to_owned(),
        postgres: PAYMENT_POSTGRES.to_owned(),
    }
}

const PAYMENT_MYSQL: &str = "BEGIN
  DECLARE v_c, v_skip INTEGER;
  DECLARE v_amount DECIMAL(6,2) DEFAULT p_cents * 0.01;
  DECLARE v_w_name, v_d_name VARCHAR(10);
  DECLARE v_first, v_last VARCHAR(16);
  DECLARE v_street_1, v_street_2, v_city VARCHAR(20);
  DECLARE v_middle, v_state, v_credit CHAR(2);
  DECLARE v_zip CHAR(9);
  DECLARE v_phone CHAR(16);
  DECLARE v_since DATETIME;
  DECLARE v_limit, v_balance DECIMAL(12,2);
  DECLARE v_discount DECIMAL(4,4);
  DECLARE v_data VARCHAR(500);
  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w;
  SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO v_w_name, v_street_1, v_street_2, v_city, v_state, v_zip FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO v_d_name, v_street_1, v_street_2, v_city, v_state, v_zip FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SET v_c = p_c;
  IF p_c = 0 THEN
    SELECT (COUNT(*) - 1) DIV 2 INTO v_skip FROM customer
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
      ORDER BY c_first LIMIT v_skip, 1;
  END IF;
  SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
    c_since, c_credit_lim, c_discount INTO v_credit, v_balance, v_first, v_middle, v_last, v_street_1, v_street_2,
    v_city, v_state, v_zip, v_phone, v_since, v_limit, v_discount FROM customer
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
  IF v_credit = 'BC' THEN
    SELECT c_data INTO v_data FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c
      FOR UPDATE;
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
      c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(v_c, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', p_w, ' ',
      v_amount, ' ', v_data), 500) WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  ELSE
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
      c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  END IF;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_c, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP, v_amount, CONCAT(v_w_name, '    ', v_d_name));
  COMMIT;
  SELECT v_c, v_first, v_last, v_credit, v_balance - v_amount;
END";

const PAYMENT_POSTGRES: &str = "DECLARE
  v_c BIGINT := p_c; v_skip BIGINT; v_amount NUMERIC := p_cents * 0.01;
  v_w RECORD; v_d RECORD; v_customer RECORD; v_data VARCHAR;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w;
  SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO v_w FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO v_d FROM district
    WHERE d_w_id = p_w AND d_id = p_d;
  IF p_c = 0 THEN
    SELECT (COUNT(*) - 1) / 2 INTO v_skip FROM customer
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_last
      ORDER BY c_first LIMIT 1 OFFSET v_skip;
  END IF;
  SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
    c_since, c_credit_lim, c_discount INTO v_customer FROM customer
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
  IF v_customer.c_credit = 'BC' THEN
    SELECT c_data INTO v_data FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c
      FOR UPDATE;
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
      c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(v_c, ' ', p_c_d, ' ', p_c_w, ' ', p_d, ' ', p_w, ' ',
      v_amount, ' ', v_data), 500) WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  ELSE
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
      c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  END IF;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_c, p_c_d, p_c_w, p_d, p_w, CURRENT_TIMESTAMP, v_amount, CONCAT(v_w.w_name, '    ', v_d.d_name));
  RETURN v_customer.c_balance - v_amount;
END";

fn order_status() -> Routine {
    Routine {
        name: "assay_order_status",
        params: "iiit",
        names: &["p_w", "p_d", "p_c", "p_last"],
        mysql: "BEGIN
  DECLARE v_c, v_o, v_carrier, v_skip INTEGER;
  DECLARE v_balance DECIMAL(12,2);
  DECLARE v_first, v_last VARCHAR(16);
  DECLARE v_middle CHAR(2);
  DECLARE v_entry DATETIME;
  START TRANSACTION;
  SET v_c = p_c;
  IF p_c = 0 THEN
    SELECT (COUNT(*) - 1) DIV 2 INTO v_skip FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
      ORDER BY c_first LIMIT v_skip, 1;
  END IF;
  SELECT c_balance, c_first, c_middle, c_last INTO v_balance, v_first, v_middle, v_last FROM customer
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
  SELECT o_id, o_entry_d, o_carrier_id INTO v_o, v_entry, v_carrier FROM orders
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
  COMMIT;
END"
        .to_owned(),
        postgres: "DECLARE
  v_c BIGINT := p_c; v_skip BIGINT; v_customer RECORD; v_order RECORD; v_line RECORD; v_lines INTEGER := 0;
BEGIN
  IF p_c = 0 THEN
    SELECT (COUNT(*) - 1) / 2 INTO v_skip FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
      ORDER BY c_first LIMIT 1 OFFSET v_skip;
  END IF;
  SELECT c_balance, c_first, c_middle, c_last INTO v_customer FROM customer
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
  SELECT o_id, o_entry_d, o_carrier_id INTO v_order FROM orders
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
  FOR v_line IN SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order.o_id LOOP
    v_lines := v_lines + 1;
  END LOOP;
  RETURN v_lines;
END"
        .to_owned(),
    }
}

fn delivery() -> Routine {
    Routine {
        name: "assay_delivery",
        params: "ii",
        names: &["p_w", "p_carrier"],
        mysql: "BEGIN
  DECLARE v_d INTEGER DEFAULT 1;
  DECLARE v_o, v_c INTEGER;
  DECLARE v_delivered INTEGER DEFAULT 0;
  DECLARE v_amount DECIMAL(12,2);
  START TRANSACTION;
  WHILE v_d <= 10 DO
    SET v_o = NULL;
    SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF v_o IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
      SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
        WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      SELECT SUM(ol_amount) INTO v_amount FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
      SET v_delivered = v_delivered + 1;
    END IF;
    SET v_d = v_d + 1;
  END WHILE;
  COMMIT;
  SELECT v_delivered;
END"
        .to_owned(),
        postgres: "DECLARE
  v_o INTEGER; v_c INTEGER; v_delivered INTEGER := 0; v_amount NUMERIC;
BEGIN
  FOR v_d IN 1..10 LOOP
    SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF NOT FOUND THEN
      SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d
        ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    END IF;
    IF v_o IS NOT NULL THEN
      DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
      SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
        WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      SELECT SUM(ol_amount) INTO v_amount FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
      v_delivered := v_delivered + 1;
    END IF;
  END LOOP;
  RETURN v_delivered;
END"
        .to_owned(),
    }
}

fn stock_level() -> Routine {
    Routine {
        name: "assay_stock_level",
        params: "iii",
        names: &["p_w", "p_d", "p_threshold"],
        mysql: "BEGIN
  DECLARE v_o, v_low INTEGER;
  START TRANSACTION;
  SELECT d_next_o_id INTO v_o FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT COUNT(DISTINCT s_i_id) INTO v_low FROM order_line, stock WHERE ol_w_id = p_w AND ol_d_id = p_d
    AND ol_o_id < v_o AND ol_o_id >= v_o - 20 AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
  COMMIT;
  SELECT v_low;
END"
        .to_owned(),
        postgres: "DECLARE
  v_o INTEGER; v_low BIGINT;
BEGIN
  SELECT d_next_o_id INTO v_o FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT COUNT(DISTINCT s_i_id) INTO v_low FROM order_line, stock WHERE ol_w_id = p_w AND ol_d_id = p_d
    AND ol_o_id < v_o AND ol_o_id >= v_o - 20 AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
  RETURN v_low;
END"
        .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_a_mark_for_each_parameter() {
        for dialect in Dialect::ALL {
            let all = tpcc_procedures(dialect);
            assert_eq!(all.len(), 5);
            for routine in all {
                assert_eq!(
                    routine.call.matches('?').count(),
                    routine.params.len(),
                    "{}",
                    routine.call
                );
            }
        }
        let [mysql, postgres] = Dialect::ALL.map(|dialect| tpcc_procedures(dialect).remove(3));
        assert!(mysql.create.starts_with(
            "CREATE PROCEDURE assay_delivery(IN p_w INTEGER, IN p_carrier INTEGER)\nBEGIN"
        ));
        assert_eq!(mysql.call, "CALL assay_delivery(?, ?)");
        assert!(
            postgres.create.starts_with(
                "CREATE FUNCTION assay_delivery(p_w BIGINT, p_carrier BIGINT) RETURNS"
            )
        );
        let calls = tpcc_calls(Dialect::Postgres);
        assert_eq!(calls[3].sql, "SELECT assay_delivery($1, $2)");
        assert_eq!(calls[3].pieces, ["SELECT assay_delivery(", ", ", ")"]);
        assert_eq!(postgres.call, "SELECT assay_delivery(?, ?)");
    }
}
