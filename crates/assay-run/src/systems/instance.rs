//! A server that takes part: started by assay, or already running.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::CpuPlacement;
use assay_probe::ProbedServer;
use assay_servers::{AttachedServer, ServerInstance, ServersError};
use assay_wire::{ConnectOptions, Connection};

pub const DATABASE: &str = "sbtest";

pub enum Instance {
    /// Started by assay, on its own copy of the data.
    Started(ServerInstance),
    /// Somebody else's server. It is not frozen while others are measured, and stays on its CPUs.
    Attached(AttachedServer),
}

impl Instance {
    pub fn connect_options(&self) -> ConnectOptions {
        match self {
            Self::Started(server) => {
                ConnectOptions { database: Some(DATABASE.to_owned()), ..server.connect_options() }
            }
            Self::Attached(attached) => attached.connect_options().clone(),
        }
    }

    /// The server, if assay has started it.
    fn ours(&self) -> Option<&ServerInstance> {
        match self {
            Self::Started(server) => Some(server),
            Self::Attached(_) => None,
        }
    }

    pub fn is_ours(&self) -> bool {
        self.ours().is_some()
    }

    pub fn pid(&self) -> Option<i32> {
        match self {
            Self::Started(server) => Some(server.pid()),
            Self::Attached(attached) => attached.pid(),
        }
    }

    /// Only of servers that assay started.
    pub fn log(&self) -> Option<String> {
        self.ours().map(ServerInstance::log)
    }

    /// Server and threads for the probe. `connections` are the server's ids of the measured connections, and
    /// `round_trips` makes one of them, given by its index, answer that many empty requests.
    pub fn probed(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<()>,
    ) -> Result<Option<ProbedServer>> {
        let probed = |pid, connection_tids, data_dir: PathBuf| {
            Some(ProbedServer { pid, connection_tids, data_dir })
        };
        Ok(match self {
            Self::Started(server) => {
                let tids = server.connection_tids(connections, round_trips)?;
                probed(server.pid(), tids, server.data_dir())
            }
            Self::Attached(attached) => {
                // If the threads of a server that somebody else configured cannot be identified, they are unknown.
                let tids = attached.connection_tids(connections, round_trips).ok();
                let parts = attached.pid().zip(tids).zip(attached.data_dir());
                parts.and_then(|((pid, tids), data_dir)| probed(pid, tids, data_dir))
            }
        })
    }

    /// Confines the threads of a server that assay started; see [`ServerInstance::place`].
    pub fn place(
        &self,
        placement: CpuPlacement,
        cpus: &[usize],
        tids: &[i32],
    ) -> Result<(), ServersError> {
        self.ours().map_or(Ok(()), |server| server.place(placement, cpus, tids))
    }

    pub fn each_thread(&self, act: impl FnMut(i32) -> io::Result<()>) -> Result<(), ServersError> {
        self.ours().map_or(Ok(()), |server| server.each_thread(act))
    }

    pub fn supervisor(&self) -> Option<i32> {
        self.ours().and_then(ServerInstance::supervisor)
    }

    /// Gives a server that assay started, and this thread with the clients that it connects later, the lowest priority.
    pub fn give_way(&self) {
        self.ours().into_iter().for_each(ServerInstance::give_way);
        let lowest = rustix::process::setpriority_process(None, 19);
        lowest.unwrap_or_else(|error| log::debug!("{error}"));
    }

    /// Only servers that assay started are frozen.
    pub fn freeze(&mut self) -> Result<(), ServersError> {
        match self {
            Self::Started(server) => server.freeze(),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Adds to an error of its clients that the server has ended. If it has not, it is frozen.
    pub fn explained(&mut self, why: anyhow::Error) -> anyhow::Error {
        let Err(ending) = self.freeze() else { return why };
        let (message, ending) = (format!("{why:#}"), ending.to_string());
        if message.contains(&ending) { why } else { anyhow::anyhow!("{message}; {ending}") }
    }

    pub fn thaw(&mut self) -> Result<(), ServersError> {
        match self {
            Self::Started(server) => server.thaw(),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Shuts the server down cleanly and makes its data the template `target`, if assay has started it.
    pub fn stop_and_keep(self, target: &Path) -> Result<(), ServersError> {
        match self {
            Self::Started(server) => server.stop_and_keep(target),
            Self::Attached(_) => Ok(()),
        }
    }

    pub fn stop(self) -> Result<(), ServersError> {
        match self {
            Self::Started(server) => server.stop(),
            Self::Attached(_) => Ok(()),
        }
    }

    pub fn create_database(&self) -> Result<(), ServersError> {
        if let Self::Started(server) = self {
            let mut control = Connection::control(&server.connect_options())?;
            control.query(&format!("CREATE DATABASE {DATABASE}"))?;
        }
        Ok(())
    }
}
