//! The five transactions as statements of the client (clauses 2.4 to 2.8 of the specification), prepared or as text.

use assay_model::Dialect;
use assay_wire::{Connection, Param, Reply, ResultSet, StatementId, WireError};
use assay_workloads::{
    CustomerKey, NewOrder, Payment, ProgramStatement, TpccStatement, push_quoted,
};

use crate::actor::{EventError, EventWire};
use crate::error::{LoadError, Result};
use crate::prepared_program::{param_types, utf8};

const BEGIN: &[u8] = b"BEGIN";
const COMMIT: &[u8] = b"COMMIT";
const ROLLBACK: &[u8] = b"ROLLBACK";

const DISTRICTS: u32 = 10;

/// Maximum length of a customer's data, characters.
const DATA: usize = 500;

const RECENT: i64 = 20;

pub(super) struct TpccStatements {
    all: Vec<ProgramStatement>,
    /// Of the current connection; empty if statements are sent as text.
    prepared: Vec<StatementId>,
    as_text: bool,
    has_escapes: bool,
    /// A statement with its values; kept to reuse its memory.
    text: Vec<u8>,
}

impl TpccStatements {
    pub(super) fn new(dialect: Dialect, all: Vec<ProgramStatement>, as_text: bool) -> Self {
        let has_escapes = dialect.has_escapes();
        Self { all, prepared: Vec::new(), as_text, has_escapes, text: Vec::new() }
    }

    pub(super) fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.prepared.clear();
        if self.as_text {
            return Ok(());
        }
        for statement in &self.all {
            let prepared = wire.prepare(&statement.sql, &param_types(statement));
            let fail = |source| LoadError::Prepare { sql: statement.sql.clone(), source };
            self.prepared.push(prepared.map_err(fail)?);
        }
        Ok(())
    }

    pub(super) fn execute(
        &mut self,
        line: &mut EventWire<'_>,
        number: usize,
        params: &[Param<'_>],
    ) -> Result<Reply, EventError> {
        let done = match self.prepared.get(number) {
            Some(id) => line.execute(*id, params),
            None => {
                self.render(number, params);
                line.execute_text(&self.text)
            }
        };
        done.map_err(EventError::by(self.sql(number)))
    }

    /// Like `execute`, but keeps the rows of the result.
    pub(super) fn query(
        &mut self,
        line: &mut EventWire<'_>,
        number: usize,
        params: &[Param<'_>],
    ) -> Result<ResultSet, EventError> {
        let found = match self.prepared.get(number) {
            Some(id) => line.query_prepared(*id, params),
            None => {
                self.render(number, params);
                utf8(&self.text).and_then(|sql| line.query(sql))
            }
        };
        found.map_err(EventError::by(self.sql(number)))
    }

    pub(super) fn sql(&self, number: usize) -> &str {
        &self.all[number].sql
    }

    fn render(&mut self, number: usize, params: &[Param<'_>]) {
        self.text.clear();
        let mut params = params.iter();
        for (place, piece) in self.all[number].pieces.iter().enumerate() {
            if place > 0 {
                match params.next() {
                    Some(Param::Int(value)) => {
                        self.text.extend_from_slice(value.to_string().as_bytes());
                    }
                    Some(Param::Text(value)) => {
                        push_quoted(&mut self.text, self.has_escapes, value)
                    }
                    Some(Param::Null) | None => self.text.extend_from_slice(b"NULL"),
                }
            }
            self.text.extend_from_slice(piece.as_bytes());
        }
    }
}

pub(super) struct TpccTransaction<'t, 'l> {
    pub(super) line: &'t mut EventWire<'l>,
    pub(super) statements: &'t mut TpccStatements,
}

fn int(value: u32) -> Param<'static> {
    Param::Int(value.into())
}

impl TpccTransaction<'_, '_> {
    pub(super) fn new_order(&mut self, order: &NewOrder) -> Result<(), EventError> {
        use TpccStatement::{
            InsertLine, InsertNewOrder, InsertOrder, Item, NextOrder, OrderCustomer, OrderDistrict,
            UpdateStock,
        };
        let &NewOrder { warehouse, district, customer, ref lines } = order;
        let [w, d] = [int(warehouse), int(district)];
        self.send(BEGIN)?;
        self.query(OrderCustomer, &[w, w, d, int(customer)])?;
        let number = self.query_integer(OrderDistrict, &[w, d])?;
        self.execute(NextOrder, &[Param::Int(number + 1), w, d])?;
        let (count, is_local) = (int(lines.len() as u32), int(order.is_local().into()));
        let o = Param::Int(number);
        self.execute(InsertOrder, &[o, d, w, int(customer), count, is_local])?;
        self.execute(InsertNewOrder, &[o, d, w])?;
        for (n, line) in (1..).zip(lines) {
            let (i, supply, quantity) =
                (int(line.item), int(line.supply), i64::from(line.quantity));
            let item = self.query(Item, &[i])?;
            if item.rows.is_empty() && order.rolls_back() {
                return self.send(ROLLBACK);
            }
            let price = self.cents(Item, &item)?;
            let read = TpccStatement::stock(district);
            let stock = self.query(read, &[i, supply])?;
            let left = self.integer(read, &stock, 0)? - quantity;
            let left = if left >= 10 { left } else { left + 91 };
            let is_remote = int((line.supply != warehouse).into());
            let quantity_ordered = Param::Int(quantity);
            self.execute(UpdateStock, &[Param::Int(left), quantity_ordered, is_remote, i, supply])?;
            let info = stock.text(0, 2).unwrap_or_default();
            let (amount, info) = (Param::Int(quantity * price), Param::Text(info.as_bytes()));
            let values = [o, d, w, int(n), i, supply, quantity_ordered, amount, info];
            self.execute(InsertLine, &values)?;
        }
        self.send(COMMIT)
    }

    pub(super) fn payment(&mut self, payment: &Payment) -> Result<(), EventError> {
        use TpccStatement::{
            InsertHistory, PayBad, PayDistrict, PayGood, PayWarehouse, PayingCustomer,
            ReadCustomerData, ReadDistrict, ReadWarehouse,
        };
        let [w, d] = [int(payment.warehouse), int(payment.district)];
        let [c_w, c_d] = [int(payment.customer_warehouse), int(payment.customer_district)];
        let cents = int(payment.cents);
        self.send(BEGIN)?;
        self.execute(PayWarehouse, &[cents, w])?;
        let of_warehouse = self.query(ReadWarehouse, &[w])?;
        self.execute(PayDistrict, &[cents, w, d])?;
        let of_district = self.query(ReadDistrict, &[w, d])?;
        let id = self.customer((c_w, c_d), &payment.customer)?;
        let c = Param::Int(id);
        let customer = self.query(PayingCustomer, &[c_w, c_d, c])?;
        if customer.text(0, 0) == Some("BC") {
            let before = self.query(ReadCustomerData, &[c_w, c_d, c])?;
            let &Payment { warehouse, district, customer_warehouse, customer_district, .. } =
                payment;
            let amount = format!("{}.{:02}", payment.cents / 100, payment.cents % 100);
            let mut data = format!(
                "{id} {customer_district} {customer_warehouse} {district} {warehouse} {amount} {}",
                before.text(0, 0).unwrap_or_default()
            );
            data.truncate(DATA);
            let values = [cents, cents, Param::Text(data.as_bytes()), c_w, c_d, c];
            self.execute(PayBad, &values)?;
        } else {
            self.execute(PayGood, &[cents, cents, c_w, c_d, c])?;
        }
        let names =
            [of_warehouse.text(0, 0), of_district.text(0, 0)].map(Option::unwrap_or_default);
        let note = names.join("    ");
        let values = [c, c_d, c_w, d, w, cents, Param::Text(note.as_bytes())];
        self.execute(InsertHistory, &values)?;
        self.send(COMMIT)
    }

    pub(super) fn order_status(
        &mut self,
        warehouse: u32,
        district: u32,
        customer: &CustomerKey,
    ) -> Result<(), EventError> {
        use TpccStatement::{LastOrder, OrderLines, StatusCustomer};
        let (w, d) = (int(warehouse), int(district));
        self.send(BEGIN)?;
        let c = Param::Int(self.customer((w, d), customer)?);
        self.query(StatusCustomer, &[w, d, c])?;
        let order = self.query_integer(LastOrder, &[w, d, c])?;
        self.execute(OrderLines, &[w, d, Param::Int(order)])?;
        self.send(COMMIT)
    }

    pub(super) fn delivery(&mut self, warehouse: u32, carrier: u32) -> Result<(), EventError> {
        use TpccStatement::{
            AmountOfOrder, CarryOrder, CustomerOfOrder, DeleteNewOrder, DeliverLines, DeliverTo,
        };
        let w = int(warehouse);
        self.send(BEGIN)?;
        for district in 1..=DISTRICTS {
            let d = int(district);
            let Some(order) = self.oldest(w, d)? else { continue };
            let o = Param::Int(order);
            self.execute(DeleteNewOrder, &[w, d, o])?;
            let customer = self.query_integer(CustomerOfOrder, &[w, d, o])?;
            self.execute(CarryOrder, &[int(carrier), w, d, o])?;
            self.execute(DeliverLines, &[w, d, o])?;
            let found = self.query(AmountOfOrder, &[w, d, o])?;
            let cents = self.cents(AmountOfOrder, &found)?;
            self.execute(DeliverTo, &[Param::Int(cents), w, d, Param::Int(customer)])?;
        }
        self.send(COMMIT)
    }

    pub(super) fn stock_level(
        &mut self,
        warehouse: u32,
        district: u32,
        threshold: u32,
    ) -> Result<(), EventError> {
        use TpccStatement::{CountLow, NextOrderOf};
        let (w, d) = (int(warehouse), int(district));
        self.send(BEGIN)?;
        let next = self.query_integer(NextOrderOf, &[w, d])?;
        let (before, from) = (Param::Int(next), Param::Int(next - RECENT));
        self.query(CountLow, &[w, d, before, from, w, int(threshold)])?;
        self.send(COMMIT)
    }

    /// The oldest new order of a district. If another delivery has just taken it, Postgres returns none, so the query
    /// is repeated once.
    fn oldest(&mut self, w: Param<'_>, d: Param<'_>) -> Result<Option<i64>, EventError> {
        let oldest = TpccStatement::OldestNewOrder;
        for _ in 0..2 {
            let found = self.query(oldest, &[w, d])?;
            if !found.rows.is_empty() {
                return self.integer(oldest, &found, 0).map(Some);
            }
        }
        Ok(None)
    }

    /// The customer's number. Of several with the same last name, the middle one.
    fn customer(
        &mut self,
        (w, d): (Param<'_>, Param<'_>),
        customer: &CustomerKey,
    ) -> Result<i64, EventError> {
        let by_name = TpccStatement::CustomersByName;
        match customer {
            CustomerKey::Id(id) => Ok(i64::from(*id)),
            CustomerKey::Name(name) => {
                let found = self.query(by_name, &[w, d, Param::Text(name)])?;
                let middle = found.rows.len().saturating_sub(1) / 2;
                self.integer(by_name, &found, middle)
            }
        }
    }

    fn send(&mut self, sql: &[u8]) -> Result<(), EventError> {
        self.line.execute_text(sql).map(drop).map_err(EventError::by(sql))
    }

    fn execute(
        &mut self,
        statement: TpccStatement,
        params: &[Param<'_>],
    ) -> Result<(), EventError> {
        self.statements.execute(self.line, statement as usize, params).map(drop)
    }

    fn query(
        &mut self,
        statement: TpccStatement,
        params: &[Param<'_>],
    ) -> Result<ResultSet, EventError> {
        self.statements.query(self.line, statement as usize, params)
    }

    fn query_integer(
        &mut self,
        read: TpccStatement,
        params: &[Param<'_>],
    ) -> Result<i64, EventError> {
        let found = self.query(read, params)?;
        self.integer(read, &found, 0)
    }

    fn integer(
        &self,
        read: TpccStatement,
        found: &ResultSet,
        row: usize,
    ) -> Result<i64, EventError> {
        let value = found.text(row, 0).and_then(|text| text.parse().ok());
        value.ok_or_else(|| self.lacks(read))
    }

    /// The amount in the first column, in hundredths.
    fn cents(&self, read: TpccStatement, found: &ResultSet) -> Result<i64, EventError> {
        found.text(0, 0).and_then(hundredths).ok_or_else(|| self.lacks(read))
    }

    fn lacks(&self, statement: TpccStatement) -> EventError {
        let source =
            WireError::Protocol("an answer without the row or number that the tables must have");
        EventError::by(self.statements.sql(statement as usize))(source)
    }
}

/// Parses an amount such as `12.34` to hundredths.
fn hundredths(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = format!("{part:0<2}");
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = part.get(..2)?.parse().ok()?;
    Some(whole * 100 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        let read = ["12.34", "0.05", "7", "99.9", "1234.5600"].map(hundredths);
        assert_eq!(read, [Some(1234), Some(5), Some(700), Some(9990), Some(123_456)]);
        assert_eq!(["", "a", "1.x"].map(hundredths), [None; 3]);
    }
}
