//! Servers that run already: somebody else's, reached by how one connects.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use assay_model::{Build, Layout, Prefix, Product};
use assay_wire::{Address, ConnectOptions, Control, Protocol};
use procfs::process::{FDTarget, Process, all_processes};
use rustix::net::sockopt::socket_peercred;

use crate::{Error, threads};

/// What its part in a comparison lacks, for reports.
const LIMITS: [&str; 2] = [
    "runs already: neither started afresh for each block nor frozen while others are measured, and not confined to a CPU",
    "its tables are dropped and loaded again for each block",
];

/// A server that runs already.
#[derive(Debug, Clone)]
pub struct Attached {
    options: ConnectOptions,
    product: Product,
    version: String,
    /// Its process, where that is on this machine and may be watched.
    pid: Option<i32>,
}

impl Attached {
    /// Connects to a server and finds out what it is, and where its process is.
    ///
    /// # Errors
    /// When it does not let the client in.
    pub fn connect(options: ConnectOptions) -> Result<Self, Error> {
        let control = Control::connect(&options)?;
        let version = control.server_version();
        let product = match options.protocol {
            Protocol::Postgres => Product::Postgres,
            Protocol::MySql if version.contains("MariaDB") => Product::MariaDb,
            Protocol::MySql => Product::MySql,
        };
        let version = number(version).to_owned();
        let pid = process(&options.address).filter(|pid| may_be_watched(*pid));
        Ok(Self { options, product, version, pid })
    }

    /// The family, as the server says.
    #[must_use]
    pub fn product(&self) -> Product {
        self.product
    }

    /// Its process id, where it runs on this machine and may be watched.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// How to connect.
    #[must_use]
    pub fn connect_options(&self) -> &ConnectOptions {
        &self.options
    }

    /// The directory that it works in, which is that of its data; none without a process.
    #[must_use]
    pub fn data_dir(&self) -> Option<PathBuf> {
        self.pid.map(|pid| PathBuf::from(format!("/proc/{pid}/cwd")))
    }

    /// Threads that serve connections; see [`crate::Server::connection_tids`]. None without a process.
    ///
    /// # Errors
    /// As there.
    pub fn connection_tids<E: From<Error>>(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<(), E>,
    ) -> Result<Option<Vec<i32>>, E> {
        let Some(pid) = self.pid else { return Ok(None) };
        threads::of_connections(self.product, pid, &self.options, connections, round_trips)
            .map(Some)
    }

    /// What stands for its binaries; `shown` is how to reach it, without password.
    #[must_use]
    pub fn prefix(&self, shown: &str) -> Prefix {
        let program = self.pid.map(|pid| PathBuf::from(format!("/proc/{pid}/exe")));
        let program = program.and_then(|exe| fs_err::read_link(exe).ok()).unwrap_or_default();
        let nowhere = PathBuf::new();
        Prefix {
            path: nowhere.clone(),
            sha256: String::new(),
            product: self.product,
            version: self.version.clone(),
            build: Build {
                source: "running".to_owned(),
                channel: shown.to_owned(),
                package_version: self.version.clone(),
                released: true,
                notes: self.notes(),
            },
            packages: Vec::new(),
            layout: Layout {
                loader: None,
                library_path: Vec::new(),
                server: program,
                basedir: nowhere.clone(),
                share_dir: nowhere.clone(),
                charsets_dir: nowhere.clone(),
                plugin_dir: nowhere,
            },
        }
    }

    fn notes(&self) -> Vec<String> {
        let unseen = self.pid.is_none().then_some(
            "its process is not on this machine or may not be watched: nothing is known of its CPU time and its disk",
        );
        LIMITS.into_iter().chain(unseen).map(str::to_owned).collect()
    }
}

/// The number in `10.11.19-MariaDB-log` and in `18.6 (Debian 18.6-1)`.
fn number(version: &str) -> &str {
    // An old MariaDB puts this before its own, for clients that know no ten.
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    version.split([' ', '-']).next().unwrap_or(version)
}

/// The process that listens at an address of this machine.
fn process(address: &Address) -> Option<i32> {
    match address {
        Address::Unix(path) => process_behind(path).ok(),
        Address::Tcp { host, port } => {
            let addresses = (host.as_str(), *port).to_socket_addrs().ok()?;
            let is_here = addresses.map(|it| it.ip()).any(|ip: IpAddr| ip.is_loopback());
            is_here.then(|| listener(*port)).flatten()
        }
    }
}

/// Who made the socket that this one is connected with.
fn process_behind(path: &Path) -> io::Result<i32> {
    let credentials = socket_peercred(UnixStream::connect(path)?)?;
    Ok(credentials.pid.as_raw_nonzero().get())
}

/// The process that has a TCP port, if its files may be listed.
fn listener(port: u16) -> Option<i32> {
    let sockets = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
    let is_it = |socket: &procfs::net::TcpNetEntry| {
        socket.state == procfs::net::TcpState::Listen && socket.local_address.port() == port
    };
    let inodes: Vec<u64> = sockets.filter(is_it).map(|socket| socket.inode).collect();
    let has_it = |process: &Process| {
        let files = process.fd().into_iter().flatten().flatten();
        files
            .into_iter()
            .any(|file| matches!(file.target, FDTarget::Socket(inode) if inodes.contains(&inode)))
    };
    // Children have their parent's sockets: the first one is the oldest.
    let mut holders: Vec<_> =
        all_processes().ok()?.flatten().filter(has_it).filter_map(|it| it.stat().ok()).collect();
    holders.sort_by_key(|stat| (stat.starttime, stat.pid));
    holders.first().map(|stat| stat.pid)
}

/// Whether this user may read a process's counters.
fn may_be_watched(pid: i32) -> bool {
    fs_err::read(format!("/proc/{pid}/io")).is_ok()
        && fs_err::read_link(format!("/proc/{pid}/cwd")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn versions_are_numbers_without_what_surrounds_them() {
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
