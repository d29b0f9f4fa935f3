//! A running instance of a server on its own copy of the data.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::{CpuPlacement, Prefix};
use assay_wire::{ConnectOptions, Connection, PING, Stop};
use fs_err as fs;
use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::callgrind::{Counting, Valgrind};
use crate::copy::copy_whole;
use crate::error::Error;
use crate::kept::{self, KeptServer};
use crate::listen::{Listen, new_password};
use crate::products::{self, kind::Servers};
use crate::server_log::log_tail;
use crate::server_paths::{SOCKET_DIR, ServerPaths};
use crate::site::Site;
use crate::sparse::{check_room, free_zeros};
use crate::spent_log::free_spent_logs;
use crate::supervise::{
    Ending, Job, RunAs, Sandbox, below, create_user_data, is_called_for, unique_name,
};
use crate::{refused, run_root, threads};

/// Time limit for the first query; a large buffer pool takes seconds.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time limit of a clean shutdown, in which a server writes all dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(600);

const ATTEMPT_EVERY: Duration = Duration::from_millis(5);

/// A server process under its supervisor. Dropping it kills the process and removes its data.
#[derive(Debug)]
pub struct Server {
    sandbox: Sandbox,
    servers: &'static dyn Servers,
    pid: i32,
    socket: PathBuf,
    instance_dir: PathBuf,
    /// CPUs that it may use, as of its start.
    cpus: CpuSet,
    /// Password of the user `root`, if others can reach the server.
    password: Option<String>,
    stop: Stop,
}

impl Server {
    /// Starts a server on a copy of the data directory `template`. Returns once it answers a query. `options` are added
    /// to those for paths; see [`assay_terms::Terms::render`].
    pub fn start(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
    ) -> Result<Self, Error> {
        Self::start_with(site, prefix, options, template, (Listen::Socket, None))
    }

    /// Like [`Server::start`], but under valgrind, which counts instructions.
    pub fn start_counted(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        valgrind: &Valgrind,
    ) -> Result<Self, Error> {
        Self::start_with(site, prefix, options, template, (Listen::Socket, Some(valgrind)))
    }

    #[must_use]
    pub fn counting<'a>(&'a self, valgrind: &'a Valgrind) -> Counting<'a> {
        Counting::of(self.pid, valgrind, self.sandbox.run_dir().to_owned())
    }

    /// Like [`Server::start`], but the server may listen on a port too. Then `root` has a [`Server::password`], which
    /// is set in a first run in which only this user can reach it. A server started by root listens as an unprivileged
    /// user.
    pub fn start_listening(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        listen: Listen,
    ) -> Result<Self, Error> {
        Self::start_with(site, prefix, options, template, (listen, None))
    }

    fn start_with(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        (listen, valgrind): (Listen, Option<&Valgrind>),
    ) -> Result<Self, Error> {
        if !run_root::socket_fits(&site.run_root) {
            return Err(Error::SocketPath(site.run_root.clone()));
        }
        let servers = products::of(prefix.product)?;
        listen.check()?;
        let is_nobody = listen != Listen::Socket && is_called_for()?;
        let name = unique_name();
        let instance_dir = site.data_root.join(&name);
        let mut sandbox = Sandbox::new(site, &name, vec![instance_dir.clone()])?;
        let run_dir = sandbox.run_dir().to_owned();
        let places = ServerPaths {
            data_dir: instance_dir.join("data"),
            tmp_dir: instance_dir.join("tmp"),
            socket_dir: run_dir.join(SOCKET_DIR),
            log: run_dir.join("log"),
        };
        fs::create_dir(&places.socket_dir)?;
        let mut copy = || {
            fs::create_dir_all(&site.data_root)?;
            check_room(template, &site.data_root)?;
            // Only this user can reach data and temporary files, whatever their own permissions are.
            create_user_data(&instance_dir)?;
            fs::create_dir(&places.tmp_dir)?;
            sandbox.hold()?;
            copy_whole(template, &places.data_dir, &site.stop)
        };
        copy().map_err(|error| error.in_dir(&site.data_root))?;
        let mut server = Self {
            sandbox,
            servers,
            pid: 0,
            socket: servers.socket_in(&places.socket_dir, Listen::Socket),
            instance_dir,
            cpus: CpuSet::new(),
            password: None,
            stop: site.stop.clone(),
        };
        let mut options = options.to_vec();
        if valgrind.is_some() {
            let counted = servers.counted_options(&options);
            options.extend(counted);
        }
        let options = options.as_slice();
        let job = servers.run(prefix, &places, Listen::Socket, options, None);
        let job = match valgrind {
            Some(valgrind) => valgrind.around(job, &run_dir, &places.tmp_dir)?,
            None => job,
        };
        server
            .launch(job)
            .map_err(|error| refused::explained(&mut server.sandbox, prefix, error))?;
        if listen != Listen::Socket {
            server.protect()?;
            server.shut_down()?;
            server.socket = servers.socket_in(&places.socket_dir, listen);
            if is_nobody {
                places.hand_over().map_err(Error::LeaveRoot)?;
            }
            let run_as = is_nobody.then_some(RunAs::Unprivileged);
            server
                .launch(servers.run(prefix, &places, listen, options, run_as))
                .map_err(|error| listen.explained(error))?;
        }
        Ok(server)
    }

    fn launch(&mut self, job: Job) -> Result<(), Error> {
        self.pid = self.sandbox.run(job)?;
        // If it has already ended, the log will explain it.
        let cpus = sched_getaffinity(raw_pid(self.pid)).or_else(|_| sched_getaffinity(None));
        self.cpus = cpus.map_err(std::io::Error::from)?;
        self.wait_until_it_answers()
    }

    /// Requires a password for every login from now on.
    fn protect(&mut self) -> Result<(), Error> {
        let password = new_password()?;
        let mut control = Connection::control(&self.connect_options())?;
        self.servers.protect(&mut control, &password)?;
        self.password = Some(password);
        Ok(())
    }

    /// Password of `root`; `None` if only this user can reach the server.
    #[must_use]
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Keeps the server running when this program ends. [`crate::kept`] finds it again.
    pub fn keep(mut self, kept: &KeptServer) -> Result<(), Error> {
        kept::record(self.sandbox.run_dir(), kept)?;
        self.sandbox.stay()
    }

    fn wait_until_it_answers(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + START_LIMIT;
        let options = self.connect_options();
        loop {
            let answer = Connection::connect(&options).and_then(|mut it| it.query(PING));
            if answer.is_ok() {
                return Ok(());
            }
            if let Some(ending) = self.sandbox.ended_within(ATTEMPT_EVERY)? {
                return Err(self.ended(ending));
            }
            if Instant::now() > deadline {
                let (socket, log) = (self.socket(), self.log_tail());
                return Err(Error::NoAnswer { socket, limit: START_LIMIT, log });
            }
        }
    }

    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Gives all threads of the server the lowest priority, permanently: only root can raise it again.
    pub fn give_way(&self) {
        for thread in self.threads().unwrap_or_default().into_iter().filter_map(raw_pid) {
            let _ = setpriority_process(Some(thread), 19);
        }
    }

    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Also identifies the device whose counters are read.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.instance_dir.join("data")
    }

    #[must_use]
    pub fn connect_options(&self) -> ConnectOptions {
        let options = self.servers.connect_options(self.socket());
        ConnectOptions { password: self.password.clone(), ..options }
    }

    pub fn connect(&self) -> Result<Connection, Error> {
        Ok(Connection::connect(&self.connect_options())?)
    }

    #[must_use]
    pub fn log_tail(&self) -> String {
        log_tail(&self.sandbox.run_dir().join("log"))
    }

    #[must_use]
    pub fn log(&self) -> String {
        let log = fs::read(self.sandbox.run_dir().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Stops every thread of the server. Returns when none runs any more.
    pub fn freeze(&mut self) -> Result<(), Error> {
        let frozen = self.sandbox.freeze();
        self.or_ended(frozen)
    }

    pub fn thaw(&mut self) -> Result<(), Error> {
        let thawed = self.sandbox.thaw();
        self.or_ended(thawed)
    }

    /// Shuts the server down cleanly and removes its data. If that fails or takes too long, the server is killed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.shut_down()
    }

    /// Shuts the server down cleanly and makes its data the template `target`, which must not exist. Blocks of zeros
    /// become holes. After an error nothing is at `target`.
    pub fn stop_and_keep(mut self, target: &Path) -> Result<(), Error> {
        self.shut_down()?;
        free_spent_logs(&self.data_dir())?;
        free_zeros(&self.data_dir(), &self.stop)?;
        self.sandbox.shelter()?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::rename(self.data_dir(), target)?)
    }

    fn shut_down(&mut self) -> Result<(), Error> {
        let asked = self.sandbox.terminate();
        self.or_ended(asked)?;
        match self.sandbox.ended_within(STOP_LIMIT)? {
            Some(Ending::Code(0)) => Ok(()),
            Some(ending) => Err(self.ended(ending)),
            None => Err(Error::NoStop { limit: STOP_LIMIT, log: self.log_tail() }),
        }
    }

    /// Replaces a failure of the supervisor by [`Error::Ended`] if the server has ended.
    fn or_ended(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(Error::Supervisor(why)) => match self.sandbox.ended_within(Duration::ZERO)? {
                Some(ending) => Err(self.ended(ending)),
                None => Err(Error::Supervisor(why)),
            },
            other => other,
        }
    }

    fn ended(&self, ending: Ending) -> Error {
        Error::Ended { ending, log: self.log_tail() }
    }

    /// The threads that serve `connections` (connection ids), in the same order. If the server does not report them,
    /// its threads are observed: `round_trips` makes a connection, given by its index, answer that many empty requests.
    /// `None` if connections share a thread pool.
    pub fn connection_tids<E: From<Error>>(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<(), E>,
    ) -> Result<Option<Vec<i32>>, E> {
        let options = self.connect_options();
        threads::of_connections(self.servers, self.pid, &options, connections, round_trips)
    }

    /// Confines the server's threads: all of them to the first of `cpus`, or those of `connection_tids` in turn to each
    /// of them. The others run anywhere.
    ///
    /// A thread that starts later runs where its parent does. If threads are confined to a single CPU, so is the
    /// server's supervisor.
    pub fn place(
        &self,
        placement: CpuPlacement,
        cpus: &[usize],
        connection_tids: &[i32],
    ) -> Result<(), Error> {
        let only = |cpu: &usize| {
            let mut one = CpuSet::new();
            one.set(*cpu);
            one
        };
        self.sandbox.place(&match cpus {
            [cpu] if placement != CpuPlacement::Free => only(cpu),
            _ => self.cpus,
        });
        self.each_thread(|tid| {
            let cpu = match placement {
                CpuPlacement::OneCpu => cpus.first(),
                CpuPlacement::ConnectionsOnOneCpu | CpuPlacement::Pairs => {
                    let place = connection_tids.iter().position(|it| *it == tid);
                    place.and_then(|place| cpus.iter().cycle().nth(place))
                }
                CpuPlacement::Free => None,
            };
            match sched_setaffinity(raw_pid(tid), &cpu.map_or(self.cpus, only)) {
                // The thread has ended meanwhile.
                Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        })
    }

    /// Calls `act` with each thread of the server, including those that start meanwhile.
    pub fn each_thread(
        &self,
        mut act: impl FnMut(i32) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let mut done = BTreeSet::new();
        loop {
            let new: Vec<i32> =
                self.threads()?.into_iter().filter(|tid| done.insert(*tid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            new.into_iter().try_for_each(&mut act)?;
        }
    }

    #[must_use]
    pub fn supervisor(&self) -> Option<i32> {
        self.sandbox.supervisor()
    }

    /// Child processes, such as one for each connection of Postgres.
    fn processes(&self) -> Result<Vec<Pid>, Error> {
        Ok(raw_pid(self.pid).map(below).transpose()?.unwrap_or_default())
    }

    pub fn threads(&self) -> Result<Vec<i32>, Error> {
        let mut tids = Vec::new();
        for pid in raw_pid(self.pid).into_iter().chain(self.processes()?) {
            let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
                // The process has ended meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                tasks => tasks?,
            };
            for entry in tasks {
                tids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
            }
        }
        Ok(tids)
    }
}

fn raw_pid(id: i32) -> Option<Pid> {
    Pid::from_raw(id)
}
