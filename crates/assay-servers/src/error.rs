//! Errors of servers, with hints where a remedy is known.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{Hint, Product};

use crate::supervise::protocol::{Ending, NO_NAMESPACE};

pub(crate) type Result<T, E = ServersError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum ServersError {
    #[error("cannot initialise a data directory: the server ended with {ending}{}", tail(.log))]
    Initialize { ending: Ending, log: String },
    #[error("assay cannot run servers of {0}")]
    NoServers(Product),
    #[error("not enough disk space for a server's data in `{}`", dir.display())]
    NoRoom { dir: PathBuf, source: io::Error },
    #[error(
        "a server's data take {needed_mb} MB in `{}`, where {free_mb} MB are free: {missing_mb} MB are missing",
        dir.display()
    )]
    NoRoomForCopy { dir: PathBuf, needed_mb: u64, free_mb: u64, missing_mb: u64 },
    #[error("the server ended with {ending}{}", tail(.log))]
    Ended { ending: Ending, log: String },
    #[error("{server} has no option `{option}`")]
    UnknownOption { server: String, option: String, nearest: Option<String> },
    #[error("{server} refuses an option: {said}")]
    OptionRefused { server: String, said: String },
    #[error("no answer from the server at `{}` within {limit:?}{}", socket.display(), tail(.log))]
    NoAnswer { socket: PathBuf, limit: Duration, log: String },
    #[error("the server did not stop within {limit:?}{}", tail(.log))]
    NoStop { limit: Duration, log: String },
    #[error("no server thread is known for connection {0}")]
    NoThread(u64),
    #[error("`{}` is too long for a unix socket", .0.display())]
    SocketPath(PathBuf),
    #[error("`{}` is not a private directory of this user", .0.display())]
    NotPrivate(PathBuf),
    #[error("a server cannot listen on port {port} of 127.0.0.1")]
    Port { port: u16, source: io::Error },
    /// Names the capabilities that root lacks for becoming another user.
    #[error(
        "a server on a port must not run as root, and this root user lacks {0}, which switching users needs"
    )]
    CapabilitiesMissing(String),
    #[error(
        "a server on a port must not run as root, and this root user cannot give its files to another user"
    )]
    LeaveRoot(#[source] io::Error),
    #[error("cannot start the supervisor `{}`", program.display())]
    SpawnSupervisor { program: PathBuf, source: io::Error },
    #[error("the supervisor process of a server {}", match .0.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "does not answer",
        _ => "has ended",
    })]
    SupervisorGone(#[source] io::Error),
    #[error("the supervisor of a server failed: {0}")]
    Supervisor(String),
    #[error("valgrind cannot be asked for the counts of process {pid}: {said}")]
    Valgrind { pid: i32, said: String },
    #[error("interrupted before it was finished")]
    Stopped,
    #[error(transparent)]
    Wire(#[from] assay_wire::WireError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Log lines to append to the message; empty without any.
fn tail(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; its log says\n{log}") }
}

/// Servers left running are in the user's state directory, all others in the cache.
const NO_ROOM: &str = "free some space on that disk (`assay cache clean`), or use another one: `--cache-dir` names the \
                       directory of servers and their data, and `XDG_STATE_HOME` that of servers from `assay server \
                       start`";

impl ServersError {
    /// Adds the directory, if the error is a full disk.
    pub(crate) fn in_dir(self, dir: &Path) -> Self {
        match self {
            Self::Io(source) if source.kind() == io::ErrorKind::StorageFull => {
                Self::NoRoom { dir: dir.to_owned(), source }
            }
            other => other,
        }
    }
}

impl Hint for ServersError {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::UnknownOption { nearest: Some(nearest), .. } => {
                return vec![format!("did you mean `{nearest}`")];
            }
            Self::UnknownOption { .. } => {
                "leave it out; in MySQL and MariaDB, the prefix `loose_` lets a version without the option ignore it"
            }
            Self::OptionRefused { .. } => {
                "change the option where it was given: in the system's name, the study file or the config file"
            }
            Self::Ended { log, .. } | Self::NoAnswer { log, .. }
                if log.contains("Cannot allocate memory") =>
            {
                "choose a smaller data set or fewer systems, so that the buffer pools fit into memory"
            }
            Self::Supervisor(why) if why.contains(NO_NAMESPACE) => {
                "run assay as a plain user with an entry in `/etc/passwd`, or allow user namespaces"
            }
            // Access denied: MySQL's number, Postgres' state.
            Self::Wire(error)
                if error.server_code() == Some(1045)
                    || error.server_code() == assay_wire::code_of_state("28P01") =>
            {
                "the password is taken from the URL, or from the environment variable `ASSAY_PASSWORD`"
            }
            Self::Port { .. } => "choose another port; `--port 0` chooses a free one",
            Self::CapabilitiesMissing(_) | Self::LeaveRoot(_) => {
                "run assay as a plain user, or leave out `--port` and use the socket; a container gets capabilities \
                 with `--cap-add`"
            }
            Self::SocketPath(_) => {
                "set `XDG_RUNTIME_DIR` to a directory with a shorter path, or unset it"
            }
            Self::NotPrivate(_) => {
                "remove the directory, or set `XDG_RUNTIME_DIR` to one of your own; what another user has made in \
                 `/tmp`, only that user or root can remove"
            }
            Self::Io(error) if error.kind() == io::ErrorKind::StorageFull => NO_ROOM,
            Self::NoRoom { .. } | Self::NoRoomForCopy { .. } => NO_ROOM,
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_its_directory_and_a_remedy() {
        let full = ServersError::from(io::Error::from(io::ErrorKind::StorageFull));
        let message = full.in_dir(Path::new("/state/assay"));
        assert!(message.to_string().contains("`/state/assay`"), "{message}");
        assert!(message.hints()[0].contains("`XDG_STATE_HOME`"));
        let other =
            ServersError::from(io::Error::from(io::ErrorKind::NotFound)).in_dir(Path::new("/x"));
        assert!(matches!(other, ServersError::Io(_)), "{other}");
    }
}
