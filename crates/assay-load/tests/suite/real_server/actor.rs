//! A custom kind of work: clients whose next statement depends on the last reply.

use std::ops::ControlFlow;
use std::time::Duration;

use assay_load::{
    Actor, ActorMaker, ClientPolicy, ClientSession, EventError, EventNumber, EventWire, RunBound,
};
use assay_model::Product;
use assay_wire::{ConnectOptions, Connection, WireError};

use super::bed::Bed;

const NO_TABLE: u32 = 1146;

/// Follows a chain of rows from row 1 to the end; each row names the next one. If `fails`, the first attempt of an
/// event queries a nonexistent table.
struct Follower {
    fails: bool,
}

impl Actor for Follower {
    fn prepare(&mut self, wire: &mut Connection) -> assay_load::Result<()> {
        wire.execute_text(b"SET @prepared = 1").map(drop).unwrap();
        Ok(())
    }

    fn event(
        &mut self,
        number: EventNumber,
        line: &mut EventWire<'_>,
    ) -> Result<ControlFlow<()>, EventError> {
        if self.fails && number.attempt == 0 {
            let missing = "SELECT 1 FROM missing";
            line.query(missing).map_err(EventError::by(missing))?;
        }
        let mut next = Some("1".to_owned());
        while let Some(id) = next {
            let sql = format!("SELECT next FROM chain WHERE id = {id} AND @prepared = 1");
            next = line.query(&sql).map_err(EventError::by(sql))?.first_string();
        }
        line.pause(Duration::from_micros(1));
        line.execute_text(b"COMMIT").map_err(EventError::by("COMMIT"))?;
        Ok(ControlFlow::Continue(()))
    }

    fn give_up(&mut self, wire: &mut Connection) -> Result<(), WireError> {
        wire.execute_text(b"ROLLBACK").map(drop)
    }

    fn retried(&self) -> &'static [u32] {
        &[NO_TABLE]
    }
}

fn chain(length: u32) -> (Bed, ConnectOptions) {
    let mut bed = Bed::shared(Product::MariaDb, "10.11");
    bed.control.query("CREATE TABLE chain (id INT PRIMARY KEY, next INT)").unwrap();
    for id in 1..=length {
        let next = if id == length { "NULL".to_owned() } else { (id + 1).to_string() };
        bed.control.query(&format!("INSERT INTO chain VALUES ({id}, {next})")).unwrap();
    }
    let options = bed.options.clone();
    (bed, options)
}

fn open(options: &ConnectOptions, clients: usize, fails: bool) -> ClientSession {
    let follower = |_| -> ActorMaker { Box::new(move |_| Box::new(Follower { fails })) };
    let actors = (0..clients).map(follower).collect();
    ClientSession::of_actors(options, actors, &[], &ClientPolicy::default()).unwrap()
}

#[test]
fn an_event_decides_after_each_reply_what_to_send_next() {
    for length in [1, 7] {
        let (_bed, options) = chain(length);
        let mut session = open(&options, 3, false);
        let work = session.run(0, RunBound::Events(30)).unwrap();
        assert_eq!((work.events, work.read, work.other), (30, 30 * u64::from(length), 30));
        assert_eq!(work.rows, work.read);
        assert!(work.errors.is_empty());
    }
}

#[test]
fn an_event_that_an_error_ended_is_started_again_if_its_kind_says_so() {
    let (_bed, options) = chain(2);
    let work = open(&options, 1, true).run(0, RunBound::Events(5)).unwrap();
    assert_eq!((work.events, work.read), (5, 10));
    assert_eq!(work.errors, [(NO_TABLE, 5)]);
}
