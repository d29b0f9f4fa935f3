//! State shared by the threads of a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use assay_model::IbenchStep;
use assay_wire::Connection;

use crate::error::{Error, Result};

/// Shared by the threads of all clients.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) is_stopped: AtomicBool,
    pub(super) inserted: AtomicU64,
    pub(super) deleted: AtomicU64,
    pub(super) queries: AtomicU64,
}

#[derive(Debug)]
pub(super) struct ClientShared {
    pub(super) common: Arc<Common>,
    /// Key at which the last delete began to look; 0 before the first.
    lowest: AtomicU64,
    /// Threads that still insert or delete. Queries end with the last one.
    writers: AtomicU32,
}

impl ClientShared {
    pub(super) fn new(common: &Arc<Common>, step: &IbenchStep) -> Arc<Self> {
        let writers = 1 + u32::from(step.deletes);
        let (lowest, writers) = (AtomicU64::new(0), AtomicU32::new(writers));
        Arc::new(Self { common: Arc::clone(common), lowest, writers })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.common.is_stopped.load(Ordering::Relaxed)
    }

    pub(super) fn set_lowest(&self, lowest: u64) {
        self.lowest.store(lowest, Ordering::Relaxed);
    }

    pub(super) fn lowest(&self) -> u64 {
        self.lowest.load(Ordering::Relaxed)
    }

    pub(super) fn writer_ended(&self) {
        self.writers.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.writers.load(Ordering::Relaxed) == 0 || self.is_stopped()
    }
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) step: IbenchStep,
    pub(super) shared: Arc<ClientShared>,
}

/// The only number of a query's result; 0 for NULL.
pub(super) fn number(wire: &mut Connection, sql: &str) -> Result<u64> {
    let set = wire.query(sql).map_err(|cause| Error::query(sql.as_bytes(), cause))?;
    Ok(set.first_string().and_then(|text| text.parse().ok()).unwrap_or(0))
}
