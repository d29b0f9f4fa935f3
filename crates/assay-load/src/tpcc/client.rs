//! A client: draws the input of each event, and runs it as separate statements or stored procedures.

use std::ops::ControlFlow;
use std::time::Duration;

use assay_model::{StatementMode, Tpcc, TpccKind};
use assay_wire::{Connection, Param, WireError};
use assay_workloads::{CustomerKey, Payment, TpccClient, TpccInput, tpcc_calls, tpcc_statements};

use super::transactions::{TpccStatements, TpccTransaction};
use crate::actor::{Actor, ClientWork, EventError, EventNumber, EventWire};
use crate::error::{Result, sqlstate};
use crate::policy::USUAL_OWN;

/// SQLSTATE with which the new-order function reports a nonexistent item.
const NO_ITEM: u32 = sqlstate("TP001");

pub(crate) struct TpccActor {
    tpcc: Tpcc,
    client: TpccClient,
    statements: TpccStatements,
}

impl TpccActor {
    pub(crate) fn new(tpcc: Tpcc, work: &ClientWork, number: u32) -> Self {
        let ClientWork { dialect, statements, seed, .. } = *work;
        let all = if tpcc.procedures { tpcc_calls(dialect) } else { tpcc_statements(dialect) };
        let as_text = statements == StatementMode::Text;
        Self {
            tpcc,
            client: TpccClient::new(seed, tpcc.warehouses, number),
            statements: TpccStatements::new(dialect, all, as_text),
        }
    }

    fn carry_out(&mut self, input: &TpccInput, line: &mut EventWire<'_>) -> Result<(), EventError> {
        if self.tpcc.procedures {
            return self.call(input, line);
        }
        let mut transaction = TpccTransaction { line, statements: &mut self.statements };
        match input {
            TpccInput::NewOrder(order) => transaction.new_order(order),
            TpccInput::Payment(payment) => transaction.payment(payment),
            TpccInput::OrderStatus { warehouse, district, customer } => {
                transaction.order_status(*warehouse, *district, customer)
            }
            TpccInput::Delivery { warehouse, carrier } => {
                transaction.delivery(*warehouse, *carrier)
            }
            TpccInput::StockLevel { warehouse, district, threshold } => {
                transaction.stock_level(*warehouse, *district, *threshold)
            }
        }
    }

    fn call(&mut self, input: &TpccInput, line: &mut EventWire<'_>) -> Result<(), EventError> {
        let int = |value: u32| Param::Int(value.into());
        match input {
            TpccInput::NewOrder(order) => {
                let (count, is_local) = (order.lines.len() as u32, u32::from(order.is_local()));
                let lines = order.packed();
                let params = [
                    int(order.warehouse),
                    int(order.district),
                    int(order.customer),
                    int(count),
                    int(is_local),
                    Param::Text(lines.as_bytes()),
                ];
                match self.statements.execute(line, 0, &params) {
                    Err(refused)
                        if order.rolls_back() && refused.server_code() == Some(NO_ITEM) =>
                    {
                        line.count_refusal();
                        Ok(())
                    }
                    done => done.map(drop),
                }
            }
            TpccInput::Payment(payment) => {
                let Payment { warehouse, district, customer_warehouse, customer_district, .. } =
                    *payment;
                let (id, name) = key(&payment.customer);
                let params = [
                    int(warehouse),
                    int(district),
                    int(customer_warehouse),
                    int(customer_district),
                    int(id),
                    Param::Text(name),
                    int(payment.cents),
                ];
                self.statements.execute(line, 1, &params).map(drop)
            }
            TpccInput::OrderStatus { warehouse, district, customer } => {
                let (id, name) = key(customer);
                let params = [int(*warehouse), int(*district), int(id), Param::Text(name)];
                self.statements.execute(line, 2, &params).map(drop)
            }
            TpccInput::Delivery { warehouse, carrier } => {
                self.statements.execute(line, 3, &[int(*warehouse), int(*carrier)]).map(drop)
            }
            TpccInput::StockLevel { warehouse, district, threshold } => {
                let params = [int(*warehouse), int(*district), int(*threshold)];
                self.statements.execute(line, 4, &params).map(drop)
            }
        }
    }
}

/// Procedure arguments of a customer: number 0 means by name.
fn key(customer: &CustomerKey) -> (u32, &[u8]) {
    match customer {
        CustomerKey::Id(id) => (*id, b""),
        CustomerKey::Name(name) => (0, name),
    }
}

fn kind_of(input: &TpccInput) -> TpccKind {
    match input {
        TpccInput::NewOrder(order) if order.rolls_back() => TpccKind::RolledBack,
        TpccInput::NewOrder(_) => TpccKind::NewOrder,
        TpccInput::Payment(_) => TpccKind::Payment,
        TpccInput::OrderStatus { .. } => TpccKind::OrderStatus,
        TpccInput::Delivery { .. } => TpccKind::Delivery,
        TpccInput::StockLevel { .. } => TpccKind::StockLevel,
    }
}

impl Actor for TpccActor {
    fn prepare(&mut self, wire: &mut Connection) -> Result<()> {
        self.statements.prepare(wire)
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError> {
        let EventNumber { sequence, attempt } = number;
        let input = self.client.input(sequence);
        line.is_of_kind(kind_of(&input).counter());
        if !self.tpcc.thinks {
            self.carry_out(&input, line)?;
            return Ok(ControlFlow::Continue(()));
        }
        let (keying, thinking) = self.client.pauses(sequence, &input);
        if attempt == 0 {
            line.rest(Duration::from_secs_f64(keying));
        }
        self.carry_out(&input, line)?;
        line.rest(Duration::from_secs_f64(thinking));
        Ok(ControlFlow::Continue(()))
    }

    /// MySQL and MariaDB may have rolled back only a part of the transaction.
    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        wire.execute_text(b"ROLLBACK").map(drop)
    }

    fn retried(&self) -> &'static [u32] {
        &USUAL_OWN
    }
}
