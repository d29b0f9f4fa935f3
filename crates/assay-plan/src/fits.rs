//! Checks that the machine is large enough, before anything is loaded.

use std::collections::{BTreeSet, HashSet};

use assay_model::{DataSet, Engine, Experiment, Origin, Setup, Study, SystemSpec};

use crate::config_file::asked;
use crate::error::{DISK, Error, MEMORY};
use crate::size::{Footprint, loaded_mb};

/// The facts about the machine that the plan depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineFacts {
    /// CPUs assay may use.
    pub cpus: u32,
    /// Memory that is free or can be freed, MB.
    pub memory_mb: u64,
    /// Free space where the data directories go, MB.
    pub disk_mb: u64,
}

/// Checks that a study that was planned earlier, perhaps elsewhere, fits into the memory of this machine. It does not
/// check the disk, where the data may be already.
///
/// # Errors
/// [`Error::TooLittle`].
pub fn check_memory(
    study: &Study,
    systems: &[&SystemSpec],
    machine: MachineFacts,
) -> Result<(), Error> {
    let machine = MachineFacts { disk_mb: u64::MAX, ..machine };
    let footprint = Footprint::of_study(study);
    let checked = check_machine(&footprint, systems, study.experiment, machine);
    // The rows of a planned study cannot change.
    checked.map_err(Error::whatever_rows)
}

/// Checks that an audit fits: an empty template of each system, and one server at a time with a small table.
///
/// # Errors
/// [`Error::TooLittle`].
pub fn check_audit(
    study: &Study,
    systems: &[&SystemSpec],
    data: DataSet,
    machine: MachineFacts,
) -> Result<(), Error> {
    let footprint = Footprint::of_study(study);
    let largest = footprint.largest();
    let started = systems.iter().filter(|spec| !matches!(spec.origin, Origin::Url(_)));
    let caches = started.clone().map(|it| cache_mb(it).unwrap_or(footprint.cache_mb(largest)));
    let table = loaded_mb(Setup { clients: 1, tables: data.tables, rows: data.rows });
    let needs = |what, need_mb, have_mb| match need_mb > have_mb {
        true => Err(Error::TooLittle { what, need_mb, have_mb, rows_that_fit: 0 }),
        false => Ok(()),
    };
    let Some(cache) = caches.max() else { return Ok(()) };
    needs(MEMORY, cache + footprint.terms.server_mb, machine.memory_mb * 7 / 10)?;
    let templates = started.collect::<HashSet<_>>().len() as u64;
    // The unused part of a log is a hole in its file, except in the server that runs.
    let logs = footprint.log_mb(largest) + footprint.terms.binary_log_mb;
    let disk = (templates + 1) * EMPTY_DATA_MB + logs + table;
    needs(DISK, disk, machine.disk_mb)
}

/// Checks that the buffer pools of all running servers fit into 70 % of the memory, and the templates and copies of all
/// systems onto the disk.
pub(crate) fn check_machine(
    footprint: &Footprint,
    systems: &[&SystemSpec],
    experiment: Experiment,
    machine: MachineFacts,
) -> Result<(), Error> {
    let largest = footprint.largest();
    let memory_have = machine.memory_mb * 7 / 10;
    // A server that runs already has its memory, and its data is elsewhere.
    let started = systems.iter().filter(|spec| !matches!(spec.origin, Origin::Url(_)));
    let caches_mb = |setup| {
        let each = started.clone().map(|it| cache_mb(it).unwrap_or(footprint.cache_mb(setup)));
        match experiment {
            Experiment::Sequential => each.max().unwrap_or(0),
            Experiment::Interleaved | Experiment::Stepwise => each.sum(),
        }
    };
    let resident = match experiment {
        Experiment::Sequential => 1,
        Experiment::Interleaved | Experiment::Stepwise => started.clone().count() as u64,
    };
    // The same system twice, such as a twin, shares its templates.
    let distinct = started.clone().collect::<HashSet<_>>().len() as u64;
    let memory_need = |setup| caches_mb(setup) + resident * footprint.terms.server_mb;
    let data: BTreeSet<DataSet> = footprint.setups.iter().map(|setup| setup.data()).collect();
    let templates = if footprint.has_templates { 2 * distinct } else { 0 };
    // Each data set has two templates; the one that is measured also has a copy that may grow.
    let disk_need = |rows: Option<u32>| -> u64 {
        // The log of every server is sized for the largest setup.
        let log_mb = footprint.log_mb(Setup { rows: rows.unwrap_or(largest.rows), ..largest });
        let template_mb = |setup: Setup| loaded_mb(setup) + log_mb + EMPTY_DATA_MB;
        let sizes: Vec<u64> = data
            .iter()
            .map(|data| Setup { clients: 1, tables: data.tables, rows: rows.unwrap_or(data.rows) })
            .map(template_mb)
            .collect();
        let copy = sizes.iter().max().copied().unwrap_or(0) * 3 / 2 + footprint.terms.binary_log_mb;
        templates * sizes.iter().sum::<u64>() + resident * copy
    };
    let (what, need_mb, have_mb) = if memory_need(largest) > memory_have {
        (MEMORY, memory_need(largest), memory_have)
    } else if disk_need(None) > machine.disk_mb {
        (DISK, disk_need(None), machine.disk_mb)
    } else {
        return Ok(());
    };
    let fits = |rows: u32| {
        let setup = Setup { rows, ..largest };
        memory_need(setup) <= memory_have && disk_need(Some(rows)) <= machine.disk_mb
    };
    let (mut low, mut high) = (0, largest.rows / 1000);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle * 1000) { low = middle } else { high = middle - 1 }
    }
    let rows_that_fit = if fits(low * 1000) { u64::from(low) * 1000 } else { 0 };
    Err(Error::TooLittle { what, need_mb, have_mb, rows_that_fit })
}

/// The size of the data cache that a system asks for, MB; `None` if the plan decides it.
fn cache_mb(spec: &SystemSpec) -> Option<u64> {
    let (option, unit) = match spec.engine {
        Engine::InnoDb => ("innodb_buffer_pool_size", 1),
        Engine::RocksDb => ("rocksdb_block_cache_size", 1),
        // A number without a unit counts pages.
        Engine::Heap => ("shared_buffers", 8192),
    };
    let value = asked(spec, option)?;
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
    number.parse::<u64>().ok().map(|number| number.saturating_mul(unit) >> 20)
}

/// An empty data directory with its system tables, MB.
const EMPTY_DATA_MB: u64 = 100;

#[cfg(test)]
mod tests {
    use assay_model::Hint as _;

    use super::*;
    use crate::plan::plan;
    use crate::request::Request;

    const SMALL: MachineFacts = MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 3274 };

    fn request() -> Request {
        Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()])
    }

    #[test]
    fn missing_space_comes_with_advice() {
        let disk = plan(&request(), MachineFacts { disk_mb: 500, ..SMALL }).unwrap_err();
        assert!(
            disk.is_of_disk() && disk.hints().concat().contains("`assay cache clean --unused 1h`")
        );
        let memory = plan(&request(), MachineFacts { memory_mb: 100, ..SMALL }).unwrap_err();
        assert!(!memory.is_of_disk() && memory.hints().concat().contains("fewer systems"));
    }

    #[test]
    fn an_audit_needs_less_than_a_study() {
        assert!(plan(&request(), SMALL).unwrap_err().is_of_disk());
        let large = MachineFacts { disk_mb: 500_000, ..SMALL };
        let plan = plan(&request(), large).unwrap();
        let specs: Vec<_> = plan.systems.iter().map(|it| &it.spec).collect();
        let data = DataSet { tables: 1, rows: 100_000 };
        assert_eq!(check_audit(&plan.study, &specs, data, SMALL), Ok(()));
        let tiny = MachineFacts { disk_mb: 500, ..SMALL };
        assert!(check_audit(&plan.study, &specs, data, tiny).unwrap_err().is_of_disk());
        let tiny = MachineFacts { memory_mb: 100, ..SMALL };
        assert!(!check_audit(&plan.study, &specs, data, tiny).unwrap_err().is_of_disk());
    }
}
