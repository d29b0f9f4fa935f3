//! Memory and disk space needed by a plan.

use assay_model::{Counting, IbenchStep, PlannedCell, Schema, Setup, Study};
use assay_terms::Terms;

/// Loaded size of a row with primary key, secondary index and page overhead, bytes. 1 M rows took 260 MB in InnoDB
/// after load; the writes that age the data add page splits.
const ROW_BYTES: u64 = 300;

/// Cache size relative to the data in a cached study, which keeps all of it in memory.
const BUFFER_POOL_FACTOR: f64 = 1.5;

/// Smallest buffer pool: the server's own tables and undo need room too.
const BUFFER_POOL_MIN_MB: u64 = 256;

/// Loaded size of a row of the Insert Benchmark, with its three secondary indexes.
const IBENCH_ROW_BYTES: u64 = 230;

/// Ratio of tables to cache where tables should exceed it, and the smallest cache, MB.
const EXCEEDED_PART: u64 = 4;
const EXCEEDED_MIN_MB: u64 = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) setups: Vec<Setup>,
    exceeds_cache: bool,
    pub(crate) has_templates: bool,
    pub(crate) terms: &'static Terms,
    pub(crate) instances: u64,
    pub(crate) server_mb: u64,
}

/// Servers of each system that are counted concurrently.
pub const COUNTED_INSTANCES: usize = 2;

/// Memory added by valgrind per server: 250 to 500 MB were measured with MySQL, MariaDB and Postgres.
const VALGRIND_MB: u64 = 400;

impl Footprint {
    pub(crate) fn new(setups: &[Setup], schema: &Schema, terms: &'static Terms) -> Self {
        let setups = match schema.facts().own_bytes() {
            Some(bytes) => alike(setups, bytes),
            None => setups.to_vec(),
        };
        let server_mb = terms.server_mb;
        Self { setups, exceeds_cache: false, has_templates: true, terms, instances: 1, server_mb }
    }

    /// For a study that also or only counts instructions, when it needs most.
    pub(crate) fn counting(self, counting: Counting) -> Self {
        if counting == Counting::None {
            return self;
        }
        let server_mb = self.server_mb + VALGRIND_MB;
        Self { instances: COUNTED_INSTANCES as u64, server_mb, ..self }
    }

    /// For the tables of the Insert Benchmark, given at least one of its steps. Tables keep the rows of the first step,
    /// or grow where nothing is deleted.
    pub(crate) fn of_steps(cells: &[PlannedCell], terms: &'static Terms) -> Option<Self> {
        let setup = cells.first()?.id.setup;
        let steps: Vec<&IbenchStep> = cells.iter().filter_map(|it| it.id.test.ibench()).collect();
        let tables = steps.first()?.tables;
        let of_client: u64 = match tables.is_shared {
            true => steps.iter().map(|step| step.rows).sum(),
            false => setup.rows.into(),
        };
        let bytes = u64::from(setup.clients).saturating_mul(of_client) * IBENCH_ROW_BYTES;
        let usual = Self::new(&alike(&[setup], bytes), &Schema::default(), terms);
        Some(Self { exceeds_cache: tables.exceed_cache, has_templates: false, ..usual })
    }

    pub(crate) fn of_study(study: &Study) -> Self {
        let terms = Terms::or_default(study.terms.as_deref());
        Self::of_steps(&study.cells, terms)
            .unwrap_or_else(|| Self::new(&study.setups, study.schema(), terms))
    }

    pub(crate) fn largest(&self) -> Setup {
        let none = Setup { clients: 1, tables: 1, rows: 1 };
        self.setups.iter().copied().max_by_key(|&setup| loaded_mb(setup)).unwrap_or(none)
    }

    pub(crate) fn cache_mb(&self, setup: Setup) -> u64 {
        match self.exceeds_cache {
            true => (loaded_mb(setup) / EXCEEDED_PART).max(EXCEEDED_MIN_MB).next_multiple_of(8),
            false => buffer_pool_mb(setup, self.terms),
        }
    }

    /// Redo log of servers, MB: large enough that no forced checkpoint stalls slices of writes. Its unused part is a
    /// hole in the file, so a large log costs no copying.
    pub(crate) fn log_mb(&self, setup: Setup) -> u64 {
        let wanted = (2 * loaded_mb(setup)).max(REDO_LOG_MIN_MB);
        let wanted = wanted.next_multiple_of(self.terms.log_step_mb);
        self.terms.log_most_mb.map_or(wanted, |most| wanted.min(most))
    }
}

fn alike(setups: &[Setup], bytes: u64) -> Vec<Setup> {
    let rows = bytes.div_ceil(ROW_BYTES);
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
    setups.iter().map(|setup| Setup { tables: 1, rows, ..*setup }).collect()
}

/// The setup with the most data, for which servers are configured. For other tables, a sysbench setup of the same size.
pub fn largest(study: &Study) -> Setup {
    Footprint::of_study(study).largest()
}

pub fn cache_mb(study: &Study) -> u64 {
    let footprint = Footprint::of_study(study);
    footprint.cache_mb(footprint.largest())
}

pub fn log_mb(study: &Study) -> u64 {
    let footprint = Footprint::of_study(study);
    footprint.log_mb(footprint.largest())
}

/// Expected size of a user's tables, bytes. Rows made by scripts are unknown and count as 0.
pub(crate) fn loaded_mb(setup: Setup) -> u64 {
    (u64::from(setup.tables) * u64::from(setup.rows) * ROW_BYTES).div_ceil(1 << 20)
}

/// Cache size above which the terms determine its step size, and the step size below it, MB.
const LARGE_POOL_MB: u64 = 1024;
const POOL_STEP_MB: u64 = 128;

fn buffer_pool_mb(setup: Setup, terms: &Terms) -> u64 {
    let wanted = (loaded_mb(setup) as f64 * BUFFER_POOL_FACTOR).ceil() as u64;
    let step = if wanted < LARGE_POOL_MB { POOL_STEP_MB } else { terms.pool_step_mb };
    wanted.max(BUFFER_POOL_MIN_MB).next_multiple_of(step)
}

const REDO_LOG_MIN_MB: u64 = 512;

/// Bytes of a size in server notation; `unit` is that of a bare number.
pub(crate) fn bytes(value: &str, unit: u64) -> Option<u64> {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, suffix) = value.split_at(end);
    let unit = match suffix.trim().to_ascii_uppercase().as_str() {
        "" => unit,
        "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        "T" | "TB" => 1 << 40,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()?.saturating_mul(unit))
}
