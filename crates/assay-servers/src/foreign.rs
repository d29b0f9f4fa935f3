//! Servers that already run, which assay connects to but does not control.

use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};

use assay_model::{Product, RunningServer};
use assay_wire::{Address, ConnectOptions, Connection};
use fs_err as fs;
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};

use crate::error::{Result, ServersError};
use crate::{connections, products};

const LIMITS: [&str; 2] = [
    "was already running with its own settings: not restarted, not frozen while others are measured, not pinned",
    "its tables are loaded again for each block, into a database or schema `assay_...` that is dropped at the end",
];

#[derive(Debug, Clone)]
pub struct AttachedServer {
    options: ConnectOptions,
    product: Product,
    version: String,
    pid: Option<i32>,
}

impl AttachedServer {
    pub fn connect(options: ConnectOptions) -> Result<Self> {
        let control = Connection::connect(&options)?;
        let version = control.server_version();
        let product = products::product_of(&control);
        let version = number(version).to_owned();
        let pid = process(&options.address).filter(|pid| may_be_watched(*pid));
        Ok(Self { options, product, version, pid })
    }

    pub fn product(&self) -> Product {
        self.product
    }

    /// `None` unless it runs on this machine and its counters are readable.
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    pub fn connect_options(&self) -> &ConnectOptions {
        &self.options
    }

    /// A text that is equal for every way to connect to the same database of the same server, and different otherwise.
    pub fn identity(&self) -> Result<String> {
        let mut control = Connection::connect(&self.options)?;
        let found = control.query_catalog(products::servers_of(self.product)?.identity())?;
        Ok(found.first_string().unwrap_or_default())
    }

    /// The working directory of its process, which is its data directory.
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.pid.map(|pid| PathBuf::from(format!("/proc/{pid}/cwd")))
    }

    /// Threads that serve connections; see [`crate::ServerInstance::connection_tids`]. Also `None` without a process.
    pub fn connection_tids<E: From<ServersError>>(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<(), E>,
    ) -> Result<Option<Vec<i32>>, E> {
        let Some(pid) = self.pid else { return Ok(None) };
        let servers = products::servers_of(self.product)?;
        connections::threads_of(servers, pid, &self.options, connections, round_trips)
    }

    /// `url` is the connection URL without the password.
    pub fn describe(&self, url: &str) -> RunningServer {
        let unseen = self.pid.is_none().then_some(
            "its process is not on this machine or cannot be watched: its CPU time and disk use are unknown",
        );
        let notes = LIMITS.into_iter().chain(unseen).map(str::to_owned).collect();
        RunningServer {
            url: url.to_owned(),
            product: self.product,
            version: self.version.clone(),
            program: self.pid.and_then(program),
            notes,
        }
    }
}

/// The number in `10.11.19-MariaDB-log` and in `18.6 (Debian 18.6-1)`.
fn number(version: &str) -> &str {
    // Old versions of MariaDB put this before their own number, for clients that cannot read a 10.
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    version.split([' ', '-']).next().unwrap_or(version)
}

fn process(address: &Address) -> Option<i32> {
    let inodes: Vec<u64> = match address {
        Address::Unix(path) => {
            let path = fs::canonicalize(path).ok()?;
            let sockets = procfs::net::unix().ok()?.into_iter();
            sockets.filter(|it| it.path.as_ref() == Some(&path)).map(|it| it.inode).collect()
        }
        Address::Tcp { host, port } => {
            let mut addresses = (host.as_str(), *port).to_socket_addrs().ok()?;
            if !addresses.any(|it| it.ip().is_loopback()) {
                return None;
            }
            let sockets = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
            let listens =
                |it: &TcpNetEntry| it.state == TcpState::Listen && it.local_address.port() == *port;
            sockets.filter(listens).map(|it| it.inode).collect()
        }
    };
    let has_it = |process: &Process| {
        let mut files = process.fd().into_iter().flatten().flatten();
        files.any(|file| matches!(file.target, FDTarget::Socket(inode) if inodes.contains(&inode)))
    };
    let mut holders: Vec<_> = all_processes()
        .ok()?
        .flatten()
        .filter(|it| is_server(it) && has_it(it))
        .filter_map(|it| it.stat().ok())
        .collect();
    holders.sort_by_key(|stat| (stat.starttime, stat.pid));
    holders.first().map(|stat| stat.pid)
}

/// The program that the process executes, or the one passed to its loader.
fn program(pid: i32) -> Option<PathBuf> {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    if !exe.file_name()?.to_string_lossy().starts_with("ld-") {
        return Some(exe);
    }
    let words = Process::new(pid).and_then(|it| it.cmdline()).ok()?;
    words.into_iter().skip(1).map(PathBuf::from).find(|word| word.is_absolute() && word.is_file())
}

/// Returns whether a process is a database server whose process ids are valid here. The port may belong to a proxy, a
/// tunnel or a container's gateway.
fn is_server(process: &Process) -> bool {
    let words = process.cmdline().unwrap_or_default();
    // A loader and its options may come first.
    let names = words.iter().take(5).filter_map(|word| Path::new(word).file_name()?.to_str());
    let is_server = |name: &str, product: Product| {
        product.facts().servers.iter().any(|it| name.starts_with(it))
    };
    let is_named = names
        .into_iter()
        .any(|name| Product::ALL.into_iter().any(|product| is_server(name, product)));
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    is_named && namespace(&process.pid.to_string()) == namespace("self")
}

fn may_be_watched(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/io")).is_ok() && fs::read_link(format!("/proc/{pid}/cwd")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_are_extracted_from_server_strings() {
        for (said, version) in [
            ("10.11.19-MariaDB-log", "10.11.19"),
            ("5.5.5-10.1.23-MariaDB", "10.1.23"),
            ("8.0.33", "8.0.33"),
            ("5.5.62-log", "5.5.62"),
            ("18.6 (Debian 18.6-1)", "18.6"),
            ("19rc1", "19rc1"),
        ] {
            assert_eq!(number(said), version);
        }
    }
}
