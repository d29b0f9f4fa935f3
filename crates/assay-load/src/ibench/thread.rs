//! A thread of a client. It connects, executes orders, and keeps its connections until the session ends.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use assay_wire::Breaker;
use rustix::thread::gettid;

use super::roles::{Done, Role};
use crate::error::{Error, Result};

/// A connected thread. Dropping it ends the thread.
pub(super) struct RoleThread {
    pub(super) tid: i32,
    pub(super) connection_ids: Vec<u64>,
    pub(super) breakers: Vec<Breaker>,
    pub(super) done: Receiver<Result<Done>>,
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    RoundTrips {
        connection: usize,
        count: u32,
        done: Sender<Result<()>>,
    },
    /// Start working. The time of the step counts from this instant.
    Start(Instant),
}

/// The thread's id, and the server's id and the breaker of each connection.
type Greeting = Result<(i32, Vec<(u64, Breaker)>)>;

impl RoleThread {
    pub(super) fn start(
        name: String,
        connect: impl FnOnce() -> Result<Role> + Send + 'static,
    ) -> Result<Self> {
        let (greet, greeting) = channel();
        let (report, done) = channel();
        let (orders, inbox) = channel();
        let body = move || run(connect, &greet, &report, &inbox);
        let thread = std::thread::Builder::new().name(name).spawn(body).map_err(Error::Thread)?;
        let (tid, wires) = greeting.recv().unwrap_or(Err(Error::ClientLost))?;
        let (connection_ids, breakers) = wires.into_iter().unzip();
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Self { tid, connection_ids, breakers, done, orders, thread })
    }

    pub(super) fn work(&self, start: Instant) -> Result<()> {
        self.order(Order::Start(start))
    }

    pub(super) fn round_trips(&self, connection: usize, count: u32, limit: Duration) -> Result<()> {
        let (done, is_done) = channel();
        self.order(Order::RoundTrips { connection, count, done })?;
        is_done.recv_timeout(limit).unwrap_or_else(|_| {
            self.breakers.iter().for_each(Breaker::end);
            Err(Error::CutOff { clients: 1 })
        })
    }

    fn order(&self, order: Order) -> Result<()> {
        let orders = self.orders.as_ref().ok_or(Error::ClientLost)?;
        orders.send(order).map_err(|_| Error::ClientLost)
    }
}

fn run(
    connect: impl FnOnce() -> Result<Role>,
    greet: &Sender<Greeting>,
    report: &Sender<Result<Done>>,
    orders: &Receiver<Order>,
) {
    let mut role = match connect() {
        Ok(role) => role,
        Err(error) => return drop(greet.send(Err(error))),
    };
    let wires =
        role.wires().map(|wire| (u64::from(wire.connection_id()), wire.breaker())).collect();
    if greet.send(Ok((gettid().as_raw_nonzero().get(), wires))).is_err() {
        return;
    }
    while let Ok(order) = orders.recv() {
        match order {
            Order::RoundTrips { connection, count, done } => {
                // If this fails, nobody waits for it any more.
                drop(done.send(role.round_trips(connection, count)));
            }
            Order::Start(start) => {
                let done = role.work(start);
                // The thread's channel ends are dropped now, so the others do not wait for it.
                let wires = role.into_wires();
                drop(report.send(done));
                // The counters of the thread and its connections are read before both end.
                drop(orders.recv());
                return drop(wires);
            }
        }
    }
}

impl Drop for RoleThread {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
