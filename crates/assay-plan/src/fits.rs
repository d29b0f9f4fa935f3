//! Checks that the machine is large enough, before anything is loaded.

use std::collections::{BTreeSet, HashSet};

use assay_model::{
    Counting, DataSet, Dialect, Experiment, Origin, RealtimeAccess, Setup, Study, SystemSpec,
    thousands,
};

use crate::config_file::asked;
use crate::error::{DISK, MEMORY, PlanError, PlanResult};
use crate::size::{Footprint, bytes, loaded_mb};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineFacts {
    pub cpus: u32,
    /// Free or reclaimable memory, MB.
    pub memory_mb: u64,
    /// Free space for the data directories, MB.
    pub disk_mb: u64,
    /// Whether servers and clients may run at real-time priority; `None` if unknown.
    pub realtime: Option<RealtimeAccess>,
}

/// Checks that a study planned earlier, perhaps elsewhere, fits into this machine's memory. Ignores the disk, where the
/// data may already be.
pub fn check_memory(
    study: &Study,
    counting: Counting,
    systems: &[&SystemSpec],
    machine: MachineFacts,
) -> PlanResult<()> {
    let machine = MachineFacts { disk_mb: u64::MAX, ..machine };
    let footprint = Footprint::of_study(study).counting(counting);
    let checked = check_machine(&footprint, systems, study.experiment, machine);
    // The rows of a planned study are fixed.
    checked.map_err(PlanError::whatever_rows)
}

/// Checks that an audit fits: an empty template of each system, and one server at a time with a small table.
pub fn check_audit(
    study: &Study,
    systems: &[&SystemSpec],
    data: DataSet,
    machine: MachineFacts,
) -> PlanResult<()> {
    let footprint = Footprint::of_study(study);
    let largest = footprint.largest();
    let started = systems.iter().filter(|spec| !matches!(spec.origin, Origin::Url(_)));
    let caches = started.clone().map(|it| cache_mb(it).unwrap_or(footprint.cache_mb(largest)));
    let table = loaded_mb(Setup { clients: 1, tables: data.tables, rows: data.rows });
    let needs = |what, need_mb, have_mb| {
        let (rows_that_fit, asked) = (0, Vec::new());
        let lacks = PlanError::TooLittle { what, need_mb, have_mb, rows_that_fit, asked };
        if need_mb > have_mb { Err(lacks) } else { Ok(()) }
    };
    let Some(cache) = caches.max() else { return Ok(()) };
    let memory_have = usable_mb(machine.memory_mb, Experiment::Interleaved);
    needs(MEMORY, cache + footprint.server_mb, memory_have)?;
    let templates = started.clone().collect::<HashSet<_>>().len() as u64;
    let log_mb = |spec: &&SystemSpec| logs_mb(spec).unwrap_or(footprint.log_mb(largest));
    // Templates hold no logs.
    let logs_mb = started.map(log_mb).max().unwrap_or(0);
    let logs_mb = logs_mb.saturating_add(footprint.terms.binary_log_mb);
    let disk = ((templates + 1) * EMPTY_DATA_MB + table).saturating_add(logs_mb);
    needs(DISK, disk, machine.disk_mb)
}

/// Memory that servers may use: 70%, or 80% if they run one at a time, as in the posts. The author's servers have 23 of
/// 32 GB.
pub(crate) fn usable_mb(memory_mb: u64, experiment: Experiment) -> u64 {
    let tenths = if experiment.runs_one_system() { 8 } else { 7 };
    memory_mb.saturating_mul(tenths) / 10
}

/// Checks that the buffer pools of the servers that run at the same time fit into the usable memory, and the templates
/// and copies of all systems onto the disk.
pub(crate) fn check_machine(
    footprint: &Footprint,
    systems: &[&SystemSpec],
    experiment: Experiment,
    machine: MachineFacts,
) -> PlanResult<()> {
    let largest = footprint.largest();
    let memory_have = usable_mb(machine.memory_mb, experiment);
    let runs_one = experiment.runs_one_system();
    // A running server already has its memory, and its data is elsewhere.
    let started = systems.iter().filter(|spec| !matches!(spec.origin, Origin::Url(_)));
    let caches_mb = |setup| {
        let each = started.clone().map(|it| cache_mb(it).unwrap_or(footprint.cache_mb(setup)));
        if runs_one {
            each.max().unwrap_or(0)
        } else {
            each.sum::<u64>().saturating_mul(footprint.instances)
        }
    };
    let resident = if runs_one { 1 } else { started.clone().count() as u64 * footprint.instances };
    // The same system twice, such as a twin, shares its templates.
    let distinct: HashSet<&&SystemSpec> = started.clone().collect();
    let memory_need = |setup| caches_mb(setup) + resident * footprint.server_mb;
    let data: BTreeSet<DataSet> = footprint.setups.iter().map(|setup| setup.data()).collect();
    let templates = if footprint.has_templates { 2 } else { 0 };
    // Each data set has two templates besides the empty one, in which used and empty parts of logs are holes. The
    // measured one also has a full copy, whose data may grow.
    let disk_need = |rows: Option<u32>| -> u64 {
        // The log of every server is sized for the largest setup, unless options size it.
        let setups = footprint.setups.iter();
        let setups = setups.map(|it| Setup { rows: rows.unwrap_or(it.rows), ..*it });
        let log_mb = setups.map(|setup| footprint.log_mb(setup)).max().unwrap_or(0);
        let logs_mb = |spec: &SystemSpec| logs_mb(spec).unwrap_or(log_mb);
        let setup = |data: &DataSet| {
            let rows = rows.unwrap_or(data.rows);
            loaded_mb(Setup { clients: 1, tables: data.tables, rows }) + EMPTY_DATA_MB
        };
        let sizes: Vec<u64> = data.iter().map(setup).collect();
        let (all, most) = (sizes.iter().sum::<u64>(), sizes.iter().max().copied().unwrap_or(0));
        let of_each = (templates * all).saturating_add(EMPTY_DATA_MB);
        let kept = of_each.saturating_mul(distinct.len() as u64);
        let copy = |spec: &SystemSpec| most * 3 / 2 + logs_mb(spec) + footprint.terms.binary_log_mb;
        let copies = started.clone().map(|spec| copy(spec).saturating_mul(footprint.instances));
        if runs_one {
            kept.saturating_add(copies.max().unwrap_or(0))
        } else {
            copies.fold(kept, u64::saturating_add)
        }
    };
    let (what, need_mb, have_mb) = if memory_need(largest) > memory_have {
        (MEMORY, memory_need(largest), memory_have)
    } else if disk_need(None) > machine.disk_mb {
        (DISK, disk_need(None), machine.disk_mb)
    } else {
        return Ok(());
    };
    // With as many rows in every setup.
    let fits = |rows: u32| {
        let mut setups = footprint.setups.iter().map(|setup| Setup { rows, ..*setup });
        setups.all(|setup| memory_need(setup) <= memory_have)
            && disk_need(Some(rows)) <= machine.disk_mb
    };
    let (mut low, mut high) = (0, largest.rows / 1000);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle * 1000) { low = middle } else { high = middle - 1 }
    }
    let rows_that_fit = if fits(low * 1000) { u64::from(low) * 1000 } else { 0 };
    let asked = match what {
        MEMORY => {
            let each_mb = (memory_have / resident.max(1)).saturating_sub(footprint.server_mb);
            let each_mb = each_mb / CACHE_STEP_MB * CACHE_STEP_MB;
            let asks = |spec: &&&SystemSpec| cache_mb(spec).is_some_and(|asked| asked > each_mb);
            started.clone().filter(asks).map(|it| smaller_cache(it, each_mb)).collect()
        }
        _ => distinct.iter().filter_map(|spec| logs_note(spec)).collect(),
    };
    Err(PlanError::TooLittle { what, need_mb, have_mb, rows_that_fit, asked })
}

const CACHE_STEP_MB: u64 = 128;

fn smaller_cache(spec: &SystemSpec, each_mb: u64) -> String {
    let (option, _) = spec.engine.cache_option();
    let unit = if spec.product.dialect() == Dialect::Postgres { "MB" } else { "M" };
    let name = spec.without_options();
    let asked = asked(spec, option).unwrap_or_default();
    let fits = if each_mb == 0 { CACHE_STEP_MB } else { each_mb };
    format!(
        "`{name}` asks for `{option} = {asked}`: to keep its config file and shrink the cache, write \
         `options = {{ {option} = \"{fits}{unit}\" }}` in its table of the study file, or `+{option}={fits}M` in its \
         name"
    )
}

fn logs_note(spec: &SystemSpec) -> Option<String> {
    let name = spec.without_options();
    let mb = thousands(logs_mb(spec)?);
    Some(format!(
        "options of `{name}` make each of its servers write {mb} MB of logs; they go when the server stops"
    ))
}

pub fn notes_on_logs(systems: &[&SystemSpec]) -> Vec<String> {
    const MUCH_MB: u64 = 1024;
    let much = |spec: &&&SystemSpec| logs_mb(spec).is_some_and(|mb| mb > MUCH_MB);
    systems.iter().filter(much).filter_map(|spec| logs_note(spec)).collect()
}

/// Fixed-size logs and files from a system's options, MB; `None` without any.
fn logs_mb(spec: &SystemSpec) -> Option<u64> {
    let mb = |option: &str, unit: u64| bytes(asked(spec, option)?, unit).map(|bytes| bytes >> 20);
    match spec.product.dialect() {
        Dialect::Postgres => {
            // Numbers without a unit are MB.
            let sizes = ["min_wal_size", "wal_keep_size"].map(|option| mb(option, 1 << 20));
            sizes.into_iter().flatten().reduce(u64::saturating_add)
        }
        Dialect::MySql => {
            // MariaDB has had one file since 10.5.
            let usual = spec.product.facts().log_files;
            let files = asked(spec, "innodb_log_files_in_group").and_then(|it| it.parse().ok());
            let files: u64 = files.filter(|_| usual.is_some()).or(usual).unwrap_or(1);
            let logs = mb("innodb_log_file_size", 1).map(|mb| mb.saturating_mul(files));
            let logs = mb("innodb_redo_log_capacity", 1).or(logs);
            let spaces = ["innodb_data_file_path", "innodb_temp_data_file_path"]
                .map(|option| asked(spec, option).map(files_mb));
            logs.into_iter().chain(spaces.into_iter().flatten()).reduce(u64::saturating_add)
        }
    }
}

/// Size of files such as `ibdata1:1G;ibdata2:50M:autoextend`, MB.
fn files_mb(path: &str) -> u64 {
    let sizes = path.split(';').filter_map(|file| bytes(file.split(':').nth(1)?, 1));
    sizes.map(|bytes| bytes >> 20).fold(0, u64::saturating_add)
}

/// Data cache size from a system's options, MB; `None` if the plan decides it.
fn cache_mb(spec: &SystemSpec) -> Option<u64> {
    let (option, unit) = spec.engine.cache_option();
    bytes(asked(spec, option)?, unit).map(|bytes| bytes >> 20)
}

const EMPTY_DATA_MB: u64 = 100;

#[cfg(test)]
mod tests {
    use assay_model::{Counting, Hint as _, ScaledSizes};

    use super::*;
    use crate::plan::plan;
    use crate::request::{Request, SetupRequest};

    const SMALL: MachineFacts =
        MachineFacts { cpus: 2, memory_mb: 16_000, disk_mb: 3274, realtime: None };

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
    fn counts_need_memory_for_two_servers_of_each_system_under_valgrind() {
        let need = |count| {
            let request = Request { count, ..request() };
            let small = MachineFacts { memory_mb: 100, ..SMALL };
            let Err(PlanError::TooLittle { need_mb, .. }) = plan(&request, small) else { panic!() };
            need_mb
        };
        let [none, after, only] = [Counting::None, Counting::After, Counting::Only].map(need);
        assert!(after == only && after > 2 * none + 1000, "{none} {after} {only}");
    }

    #[test]
    fn what_options_make_servers_write_is_part_of_the_plan() {
        let words =
            |option: &str| ["mysql@5.7.22".to_owned() + option, "mysql@8.0.33".to_owned() + option];
        let large = "+innodb_log_file_size=4G";
        let have = MachineFacts { disk_mb: 16_000, ..SMALL };
        assert!(plan(&Request::of_systems(&words("+innodb_log_file_size=400M")), have).is_ok());
        let error = plan(&Request::of_systems(&words(large)), have).unwrap_err();
        let PlanError::TooLittle { need_mb, rows_that_fit: 0, .. } = error else {
            panic!("{error}")
        };
        // 2 files on 2 systems, and the data.
        assert!((16_384..18_000).contains(&need_mb), "{need_mb}");
        let hints = error.hints().join("\n");
        assert!(
            hints.contains("`mysql@5.7.22` make each of its servers write 8,192 MB of logs"),
            "{hints}"
        );
        let spec = |words: &str| crate::parse_system(words).unwrap();
        for (words, mb) in [
            ("mysql@8.0", None),
            ("mysql@8.4+innodb_redo_log_capacity=6G", Some(6144)),
            ("mysql@5.7+innodb_log_file_size=1G+innodb_log_files_in_group=4", Some(4096)),
            ("mariadb@10.11+innodb_log_file_size=3G", Some(3072)),
            ("mysql@8.0+innodb_data_file_path=ibdata1:2G;ibdata2:10M:autoextend", Some(2058)),
            ("postgres@17+min_wal_size=2GB+wal_keep_size=512", Some(2560)),
        ] {
            assert_eq!(logs_mb(&spec(words)), mb, "{words}");
        }
    }

    #[test]
    fn a_cache_larger_than_the_machine_comes_with_one_that_fits() {
        let words =
            ["mysql@5.7", "mysql@8.0"].map(|it| format!("{it}+innodb_buffer_pool_size=64G"));
        let have = MachineFacts { disk_mb: 500_000, ..SMALL };
        let error = plan(&Request::of_systems(&words), have).unwrap_err();
        let hints = error.hints().join("\n");
        assert!(hints.contains("keep its config file and shrink the cache"), "{hints}");
        assert!(hints.contains("`options = { innodb_buffer_pool_size = \"5"), "{hints}");
    }

    #[test]
    fn a_config_file_of_a_larger_machine_comes_with_the_option_that_scales_it() {
        let have = MachineFacts { disk_mb: 500_000, ..SMALL };
        let hints = |request: &Request| plan(request, have).unwrap_err().hints().join("\n");
        let large = vec!["mariadb: innodb_buffer_pool_size=64G".to_owned()];
        let common = Request { config_options: large, ..request() };
        assert!(hints(&common).starts_with("`--scale-memory` divides"), "{}", hints(&common));
        let size = ("innodb_buffer_pool_size".to_owned(), "64G".to_owned());
        let mut own = request();
        own.systems[1].of_file = vec![size.0.clone()];
        own.systems[1].options = vec![size];
        assert!(hints(&own).starts_with("`--scale-memory` divides"), "{}", hints(&own));
        // Neither sizes in a system's name nor already scaled ones can be scaled.
        own.systems[1].of_file.clear();
        let done = Request { scaled: Some(ScaledSizes::default()), ..common };
        let of_tables = Request { setups: vec![large_tables()], ..request() };
        for request in [&own, &done, &of_tables] {
            assert!(!hints(request).contains("`--scale-memory`"), "{}", hints(request));
        }
    }

    fn large_tables() -> SetupRequest {
        SetupRequest { rows: Some(200_000_000), ..SetupRequest::default() }
    }

    #[test]
    fn an_audit_needs_less_than_a_study() {
        const SMALL: MachineFacts = MachineFacts { disk_mb: 1200, ..super::tests::SMALL };
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
