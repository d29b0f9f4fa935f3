//! A client's thread: it connects, then runs commands until it is dropped.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_lua::Leash;
use assay_model::WorkCounters;
use assay_wire::Stop;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};

use crate::error::{LoadError, Result};
use crate::patience::{answer_of, give_up, runs_here, stuck};
use crate::run::RunState;
use crate::tally::Tallies;
use crate::worker::{ConnectionBreaker, Ends, Worker};

/// Dropping it ends the thread and closes the connection. A thread stuck in a script is abandoned: it ends with the
/// process.
pub(crate) struct ClientThread {
    commands: Option<Sender<ClientCommand>>,
    results: Receiver<RunResult>,
    thread: Option<JoinHandle<()>>,
    farewells: Receiver<Farewell>,
    leash: Arc<Leash>,
    stop: Stop,
    is_given_up: Cell<bool>,
    pub(crate) info: ClientInfo,
}

pub(crate) type RunResult = (Tallies, Result<Ends>);

pub(crate) type Farewell = (WorkCounters, Result<()>);

#[expect(clippy::large_enum_variant, reason = "a run does not allocate, and the others are rare")]
pub(crate) enum ClientCommand {
    Run(Arc<RunState>, Tallies),
    /// Send this many empty requests on a connection, one at a time, and report when done.
    RoundTrips(usize, u32, Sender<Result<()>>),
    Execute(&'static str, Sender<Result<()>>),
}

pub(crate) struct ClientInfo {
    pub(crate) connection_ids: Vec<u64>,
    pub(crate) tid: i32,
    pub(crate) unprepared: Vec<String>,
    pub(crate) breaker: ConnectionBreaker,
}

impl ClientThread {
    /// Starts the thread, pins it to `cpu` and connects. Returns once that is done.
    pub(crate) fn open(
        number: u32,
        cpu: Option<usize>,
        (leash, stop): (Arc<Leash>, Stop),
        connect: impl FnOnce() -> Result<Worker> + Send + 'static,
    ) -> Result<Self> {
        let (commands, inbox) = channel();
        let (answers, results) = channel();
        let (greetings, greeting) = channel();
        let (farewell, farewells) = channel();
        let thread_leash = Arc::clone(&leash);
        let body = move || {
            runs_here(&thread_leash);
            let mut worker = match confine(cpu).and_then(|()| connect()) {
                Ok(worker) => worker,
                Err(error) => return drop(greetings.send(Err(error))),
            };
            let tid = gettid().as_raw_nonzero().get();
            let info = ClientInfo {
                connection_ids: worker.connection_ids(),
                tid,
                unprepared: worker.unprepared(),
                breaker: worker.breaker(),
            };
            if greetings.send(Ok(info)).is_err() {
                return;
            }
            for command in inbox {
                let is_heard = match command {
                    ClientCommand::Run(run, mut tallies) => {
                        let end = worker.run(&run, &mut tallies);
                        if end.is_err() {
                            run.stop();
                        }
                        answers.send((tallies, end)).is_ok()
                    }
                    ClientCommand::RoundTrips(connection, count, done) => {
                        done.send(worker.round_trips(connection, count)).is_ok()
                    }
                    ClientCommand::Execute(sql, done) => {
                        done.send(worker.execute(sql.as_bytes())).is_ok()
                    }
                };
                if !is_heard {
                    return;
                }
            }
            drop(farewell.send(worker.end()));
        };
        let thread = std::thread::Builder::new()
            .name(format!("assay-client-{number}"))
            .spawn(body)
            .map_err(LoadError::Thread)?;
        let info = answer_of(&greeting, &leash, &stop)??;
        let (commands, thread, is_given_up) = (Some(commands), Some(thread), Cell::new(false));
        Ok(Self { commands, results, thread, farewells, leash, stop, is_given_up, info })
    }

    pub(crate) fn command(&self, command: ClientCommand) -> Result<()> {
        let commands = self.commands.as_ref().ok_or(LoadError::ClientLost)?;
        commands.send(command).map_err(|_| LoadError::ClientLost)
    }

    pub(crate) fn result_within(&self, limit: Duration) -> Result<Option<RunResult>> {
        match self.results.recv_timeout(limit) {
            Ok(result) => Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(LoadError::ClientLost),
        }
    }

    pub(crate) fn leash(&self) -> &Leash {
        &self.leash
    }

    pub(crate) fn give_up(&self) -> LoadError {
        self.is_given_up.set(true);
        self.info.breaker.end();
        give_up(&self.leash);
        stuck(&self.leash)
    }

    pub(crate) fn dismiss(&mut self) {
        drop(self.commands.take());
    }

    pub(crate) fn ended(&mut self) -> Farewell {
        self.dismiss();
        let silent = WorkCounters::default();
        let Some(thread) = self.thread.take().filter(|_| !self.is_given_up.get()) else {
            return (silent, Ok(()));
        };
        // The thread drops its sender of results last.
        loop {
            match answer_of(&self.results, &self.leash, &self.stop) {
                Ok(_) => {}
                Err(LoadError::ClientLost) => break,
                Err(_) => return (silent, Err(self.give_up())),
            }
        }
        drop(thread.join());
        self.farewells.try_recv().unwrap_or((silent, Ok(())))
    }
}

impl Drop for ClientThread {
    fn drop(&mut self) {
        drop(self.ended());
    }
}

fn confine(cpu: Option<usize>) -> Result<()> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(LoadError::Pin { cpu, source: rustix::io::Errno::INVAL });
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|source| LoadError::Pin { cpu, source })
}
