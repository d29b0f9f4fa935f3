//! A server that takes part: one that assay has started, or one that runs already.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_model::CpuPlacement;
use assay_probe::WatchedServer;
use assay_servers::{Attached, Error, Server};
use assay_wire::ConnectOptions;

/// Where the tables of servers are that assay starts.
pub(crate) const DATABASE: &str = "sbtest";

/// A server with the data of a study.
pub(crate) enum Instance {
    /// Started by assay on a copy of its own.
    Started(Server),
    /// Somebody else's. It is not frozen while others are measured, and runs where it runs.
    Attached(Attached),
}

impl Instance {
    /// How clients connect.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        match self {
            Self::Started(server) => {
                ConnectOptions { database: Some(DATABASE.to_owned()), ..server.connect_options() }
            }
            Self::Attached(attached) => attached.connect_options().clone(),
        }
    }

    /// Process id, where it is known.
    pub(crate) fn pid(&self) -> Option<i32> {
        match self {
            Self::Started(server) => Some(server.pid()),
            Self::Attached(attached) => attached.pid(),
        }
    }

    /// What the probe watches, given the server's ids of the measured connections and what makes one of them, by its
    /// place, answer so many empty requests.
    pub(crate) fn watched(
        &self,
        connections: &[u64],
        round_trips: impl FnMut(usize, u32) -> Result<()>,
    ) -> Result<Option<WatchedServer>> {
        let watched = |pid, connection_tids, data_dir: PathBuf| {
            Some(WatchedServer { pid, connection_tids, data_dir })
        };
        Ok(match self {
            Self::Started(server) => {
                let tids = server.connection_tids(connections, round_trips)?;
                watched(server.pid(), tids, server.data_dir())
            }
            Self::Attached(attached) => {
                // What cannot be told of a server that others use and somebody else configured is not known.
                let tids = attached.connection_tids(connections, round_trips).ok();
                let parts = attached.pid().zip(tids).zip(attached.data_dir());
                parts.and_then(|((pid, tids), data_dir)| watched(pid, tids, data_dir))
            }
        })
    }

    /// Confines its threads, if assay has started it; see [`Server::place`].
    pub(crate) fn place(
        &self,
        placement: CpuPlacement,
        cpu: usize,
        tids: &[i32],
    ) -> Result<(), Error> {
        match self {
            Self::Started(server) => server.place(placement, cpu, tids),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Stops every thread where it is, if assay has started it.
    pub(crate) fn freeze(&mut self) -> Result<(), Error> {
        match self {
            Self::Started(server) => server.freeze(),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Lets it go on.
    pub(crate) fn thaw(&mut self) -> Result<(), Error> {
        match self {
            Self::Started(server) => server.thaw(),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Ends it in good order and makes its data the template `target`, if assay has started it.
    pub(crate) fn stop_and_keep(self, target: &Path) -> Result<(), Error> {
        match self {
            Self::Started(server) => server.stop_and_keep(target),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Ends it in good order, if assay has started it.
    pub(crate) fn stop(self) -> Result<(), Error> {
        match self {
            Self::Started(server) => server.stop(),
            Self::Attached(_) => Ok(()),
        }
    }

    /// Creates the database that the tables go into, if assay has started it.
    pub(crate) fn create_database(&self) -> Result<(), Error> {
        if let Self::Started(server) = self {
            server.connect()?.query(&format!("CREATE DATABASE {DATABASE}"))?;
        }
        Ok(())
    }
}
