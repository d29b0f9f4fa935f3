//! Creates data directories, and runs servers on copies of them.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_model::{CpuPlacement, Prefix};
use assay_wire::{ConnectOptions, Connection, PING, Stop};
use fs_err as fs;
use rustix::process::{Pid, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::callgrind::{CallgrindCounting, ValgrindTool};
use crate::copy::copy_whole;
use crate::error::{Result, ServersError};
use crate::keep::{self, KeptServer};
use crate::products::kind::{Listen, Servers};
use crate::site::{SOCKET_DIR, ServerPaths, Site, log_tail};
use crate::sparse::{check_room, free_spent_logs, free_zeros};
use crate::supervise::{
    Ending, RunAs, Sandbox, ServerJob, below, create_user_data, is_called_for, is_own, unique_name,
};
use crate::{callgrind, connections, option_check, products};

/// Time limit for the first query; a large buffer pool takes seconds.
const START_LIMIT: Duration = Duration::from_secs(120);

/// The same under valgrind, where a server takes 12 s of CPU time to start, and limit of its logins and answers. On a
/// busy machine, many servers may start at the same time.
const COUNTED_LIMIT: Duration = Duration::from_secs(600);

/// Time limit of a clean shutdown, in which a server writes all dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(600);

const ATTEMPT_EVERY: Duration = Duration::from_millis(5);

/// A server process under its supervisor. Dropping it kills the process and removes its data.
#[derive(Debug)]
pub struct ServerInstance {
    sandbox: Sandbox,
    servers: &'static dyn Servers,
    pid: i32,
    socket: PathBuf,
    instance_dir: PathBuf,
    /// CPUs that it may use, as of its start.
    cpus: CpuSet,
    /// Password of the user `root`, if others can reach the server.
    password: Option<String>,
    is_counted: bool,
    stop: Stop,
}

impl ServerInstance {
    /// Starts a server on a copy of the data directory `template`. Returns once it answers a query. `options` are added
    /// to those for paths; see [`assay_terms::Terms::render`].
    pub fn start(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
    ) -> Result<Self> {
        Self::start_with(site, prefix, options, template, (Listen::Socket, None))
    }

    /// Like [`ServerInstance::start`], but under valgrind, which counts instructions.
    pub fn start_counted(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        valgrind: &ValgrindTool,
    ) -> Result<Self> {
        Self::start_with(site, prefix, options, template, (Listen::Socket, Some(valgrind)))
    }

    pub fn counting<'a>(&'a self, valgrind: &'a ValgrindTool) -> CallgrindCounting<'a> {
        CallgrindCounting::new(self.pid, valgrind, self.sandbox.run_dir().to_owned())
    }

    /// Like [`ServerInstance::start`], but the server may listen on a port too. Then `root` has a
    /// [`ServerInstance::password`], which is set in a first run in which only this user can reach it. A server started
    /// by root listens as an unprivileged user.
    pub fn start_listening(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        listen: Listen,
    ) -> Result<Self> {
        Self::start_with(site, prefix, options, template, (listen, None))
    }

    fn start_with(
        site: &Site,
        prefix: &Prefix,
        options: &[String],
        template: &Path,
        (listen, valgrind): (Listen, Option<&ValgrindTool>),
    ) -> Result<Self> {
        if !socket_fits(&site.run_root) {
            return Err(ServersError::SocketPath(site.run_root.clone()));
        }
        let servers = products::servers_of(prefix.product)?;
        listen.check()?;
        let is_nobody = listen != Listen::Socket && is_called_for()?;
        let name = unique_name();
        let instance_dir = site.data_root.join(&name);
        let mut sandbox = Sandbox::new(site, &name, vec![instance_dir.clone()])?;
        let run_dir = sandbox.run_dir().to_owned();
        let places = ServerPaths::new(&instance_dir, &run_dir);
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
            is_counted: valgrind.is_some(),
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
            .map_err(|error| option_check::explained(&mut server.sandbox, prefix, error))?;
        if listen != Listen::Socket {
            server.protect()?;
            server.shut_down()?;
            server.socket = servers.socket_in(&places.socket_dir, listen);
            if is_nobody {
                places.hand_over().map_err(ServersError::LeaveRoot)?;
            }
            let run_as = is_nobody.then_some(RunAs::Unprivileged);
            server
                .launch(servers.run(prefix, &places, listen, options, run_as))
                .map_err(|error| listen.explain_end(error))?;
        }
        Ok(server)
    }

    /// Shuts the server down cleanly, lets `change` edit its data directory, and starts it again.
    pub fn change_data(
        &mut self,
        prefix: &Prefix,
        options: &[String],
        change: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<()> {
        self.shut_down()?;
        change(&self.data_dir())?;
        let places = ServerPaths::new(&self.instance_dir, self.sandbox.run_dir());
        self.launch(self.servers.run(prefix, &places, Listen::Socket, options, None))
    }

    fn launch(&mut self, job: ServerJob) -> Result<()> {
        self.pid = self.sandbox.run(job)?;
        // If it has already ended, the log will explain it.
        let cpus = sched_getaffinity(Pid::from_raw(self.pid)).or_else(|_| sched_getaffinity(None));
        self.cpus = cpus.map_err(std::io::Error::from)?;
        self.wait_until_it_answers()
    }

    /// Requires a password for every login from now on.
    fn protect(&mut self) -> Result<()> {
        let password = new_password()?;
        let mut control = Connection::control(&self.connect_options())?;
        self.servers.protect(&mut control, &password)?;
        self.password = Some(password);
        Ok(())
    }

    /// Password of `root`; `None` if only this user can reach the server.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Keeps the server running when this program ends. [`crate::kept_servers`] finds it again.
    pub fn keep(mut self, kept: &KeptServer) -> Result<()> {
        keep::record(self.sandbox.run_dir(), kept)?;
        self.sandbox.stay()
    }

    fn wait_until_it_answers(&mut self) -> Result<()> {
        let limit = if self.is_counted { COUNTED_LIMIT } else { START_LIMIT };
        let deadline = Instant::now() + limit;
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
                return Err(ServersError::NoAnswer { socket, limit, log });
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Gives all threads of the server the lowest priority, permanently: only root can raise it again.
    pub fn give_way(&self) {
        for thread in self.threads().unwrap_or_default().into_iter().filter_map(Pid::from_raw) {
            let _ = setpriority_process(Some(thread), 19);
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Also identifies the device whose counters are read.
    pub fn data_dir(&self) -> PathBuf {
        self.instance_dir.join("data")
    }

    pub fn connect_options(&self) -> ConnectOptions {
        let options = self.servers.connect_options(self.socket());
        let timeout = if self.is_counted { COUNTED_LIMIT } else { options.timeout };
        ConnectOptions { password: self.password.clone(), timeout, ..options }
    }

    pub fn connect(&self) -> Result<Connection> {
        Ok(Connection::connect(&self.connect_options())?)
    }

    /// With valgrind's own messages, if it runs the server.
    pub fn log_tail(&self) -> String {
        let run_dir = self.sandbox.run_dir();
        let tails = [log_tail(&run_dir.join("log")), callgrind::messages(run_dir)];
        let tails = tails.into_iter().filter(|tail| !tail.is_empty());
        tails.collect::<Vec<_>>().join("\n")
    }

    pub fn log(&self) -> String {
        let log = fs::read(self.sandbox.run_dir().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Stops every thread of the server. Returns when none runs any more.
    pub fn freeze(&mut self) -> Result<()> {
        let frozen = self.sandbox.freeze();
        self.or_ended(frozen)
    }

    pub fn thaw(&mut self) -> Result<()> {
        let thawed = self.sandbox.thaw();
        self.or_ended(thawed)
    }

    /// Shuts the server down cleanly and removes its data. If that fails or takes too long, the server is killed.
    pub fn stop(mut self) -> Result<()> {
        self.shut_down()
    }

    /// Shuts the server down cleanly and makes its data the template `target`, which must not exist. Blocks of zeros
    /// become holes. After an error nothing is at `target`.
    pub fn stop_and_keep(mut self, target: &Path) -> Result<()> {
        self.shut_down()?;
        free_spent_logs(&self.data_dir())?;
        free_zeros(&self.data_dir(), &self.stop)?;
        self.sandbox.shelter()?;
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::rename(self.data_dir(), target)?)
    }

    fn shut_down(&mut self) -> Result<()> {
        let asked = self.sandbox.terminate();
        self.or_ended(asked)?;
        match self.sandbox.ended_within(STOP_LIMIT)? {
            Some(Ending::Code(0)) => Ok(()),
            Some(ending) => Err(self.ended(ending)),
            None => Err(ServersError::NoStop { limit: STOP_LIMIT, log: self.log_tail() }),
        }
    }

    /// Replaces a failure of the supervisor by [`ServersError::Ended`] if the server has ended.
    fn or_ended(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(ServersError::Supervisor(why)) => {
                match self.sandbox.ended_within(Duration::ZERO)? {
                    Some(ending) => Err(self.ended(ending)),
                    None => Err(ServersError::Supervisor(why)),
                }
            }
            other => other,
        }
    }

    fn ended(&self, ending: Ending) -> ServersError {
        ServersError::Ended { ending, log: self.log_tail() }
    }

    /// The threads that serve `connections` (connection ids), in the same order. If the server does not report them,
    /// its threads are observed: `round_trips` makes a connection, given by its index, answer that many empty requests.
    /// `None` if connections share a thread pool.
    pub fn connection_tids<E: From<ServersError>>(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<(), E>,
    ) -> Result<Option<Vec<i32>>, E> {
        let options = self.connect_options();
        connections::threads_of(self.servers, self.pid, &options, connections, round_trips)
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
    ) -> Result<()> {
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
            match sched_setaffinity(Pid::from_raw(tid), &cpu.map_or(self.cpus, only)) {
                // The thread has ended meanwhile.
                Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(errno) => Err(errno.into()),
            }
        })
    }

    /// Calls `act` with each thread of the server, including those that start meanwhile.
    pub fn each_thread(&self, mut act: impl FnMut(i32) -> std::io::Result<()>) -> Result<()> {
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

    pub fn supervisor(&self) -> Option<i32> {
        self.sandbox.supervisor()
    }

    pub fn threads(&self) -> Result<Vec<i32>> {
        let mut tids = Vec::new();
        let server = Pid::from_raw(self.pid);
        // Child processes, such as one for each connection of Postgres.
        let children = server.map(below).transpose()?.unwrap_or_default();
        for pid in server.into_iter().chain(children) {
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

/// 32 random hexadecimal digits.
fn new_password() -> Result<String> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex::encode(bytes))
}

pub const UNFINISHED: &str = ".new-";

/// Time limit of the server program, which usually takes seconds.
const INITIALIZE_LIMIT: Duration = Duration::from_secs(180);

/// Creates an empty data directory at `target`, with the user `root` and no password, usable as a template. `options`
/// are those of the servers that will run on it. Nothing is left after a failure.
pub fn initialize(site: &Site, prefix: &Prefix, options: &[String], target: &Path) -> Result<()> {
    let servers = products::servers_of(prefix.product)?;
    let name = unique_name();
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    // Next to the target, so that one rename puts it there complete.
    let unfinished = parent.join(format!("{UNFINISHED}{name}"));
    let mut sandbox = Sandbox::new(site, &name, vec![unfinished.clone()])?;
    let run_dir = sandbox.run_dir();
    let job = servers.initialize(prefix, &unfinished, run_dir, options)?;
    let log = job.log.clone();
    sandbox.run(job)?;
    match sandbox.ended_within(INITIALIZE_LIMIT)? {
        Some(Ending::Code(0)) => {
            free_zeros(&unfinished, &site.stop)?;
            sandbox.shelter()?;
            Ok(fs::rename(&unfinished, target)?)
        }
        Some(ending) => {
            let error = ServersError::Initialize { ending, log: log_tail(&log) };
            Err(option_check::explained(&mut sandbox, prefix, error))
        }
        None => Err(ServersError::NoStop { limit: INITIALIZE_LIMIT, log: log_tail(&log) }),
    }
}

/// Longest path of a unix socket, bytes, without its terminating zero.
const SOCKET_PATH_MAX: usize = 107;

/// Number of places tried below `/tmp`: another user may have created the first ones.
const PLACES: u32 = 9;

/// Below `runtime_dir` (the value of `XDG_RUNTIME_DIR`) if it exists and the paths of sockets in it are short enough,
/// otherwise below `/tmp`.
pub fn run_root(runtime_dir: Option<&Path>) -> PathBuf {
    let usual = runtime_dir.filter(|path| path.is_absolute()).map(|path| path.join("assay"));
    let own = format!("assay-{}", rustix::process::geteuid().as_raw());
    usual.filter(|path| socket_fits(path)).unwrap_or_else(|| own_place(Path::new("/tmp"), &own))
}

/// The first place with that name, or with a number after it, that is free or this user's.
fn own_place(parent: &Path, name: &str) -> PathBuf {
    let places = (1..=PLACES).map(|number| match number {
        1 => parent.join(name),
        _ => parent.join(format!("{name}-{number}")),
    });
    let mut places = places.filter(|place| match fs_err::symlink_metadata(place) {
        Ok(_) => is_own(place),
        Err(_) => true,
    });
    // The error about the first one has the remedy.
    places.next().unwrap_or_else(|| parent.join(name))
}

pub(crate) fn socket_fits(run_root: &Path) -> bool {
    let socket_dir = run_root.join(unique_name()).join(SOCKET_DIR);
    let listen = Listen::Loopback(u16::MAX);
    let mut sockets = products::all_servers().map(|servers| servers.socket_in(&socket_dir, listen));
    sockets.all(|socket| socket.as_os_str().len() <= SOCKET_PATH_MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_directory_that_another_user_made_first_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        assert_eq!(own_place(dir.path(), "a"), place("a"));
        // Like another user's, as far as this user can create one: writable by others, or a link.
        fs_err::create_dir(place("a")).unwrap();
        fs_err::set_permissions(place("a"), std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink("/", place("a-2")).unwrap();
        assert_eq!(own_place(dir.path(), "a"), place("a-3"));
        fs_err::set_permissions(place("a"), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(own_place(dir.path(), "a"), place("a"));
    }
}
