//! Scales sizes of a production config file to the memory of the measuring machine.
//!
//! Caches, logs and related sizes are all divided by the same number, the smallest of 1, 2, 3, 4, 6, 8, 12, ... for
//! which the caches of each server fit into its share of memory, so ratios of sizes stay as in production. Memory per
//! connection is kept, unless the study's connections could then exceed their share of what production connections may
//! use.

use std::collections::BTreeMap;

use assay_model::{Counting, Dialect, Product, ScaledSize, ScaledSizes};
use assay_terms::{Terms, variable};

use crate::common_option::CommonOption;
use crate::effort::effort;
use crate::error::{MEMORY, PlanError, PlanResult};
use crate::fits::{MachineFacts, usable_mb};
use crate::request::Request;
use crate::size::{COUNTED_INSTANCES, bytes};
use crate::system_name::parse_system;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeKind {
    Cache,
    /// Proportional to caches: logs, and memory that is only expected or limited.
    Beside,
    Connection,
}

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

/// Sizes of MySQL and MariaDB in bytes, with the smallest sensible value. Sources: the manuals' pages of server
/// variables.
const MYSQL: &[(&str, SizeKind, u64)] = &[
    ("aria_pagecache_buffer_size", SizeKind::Cache, 8 * MB),
    ("innodb_buffer_pool_size", SizeKind::Cache, 128 * MB),
    ("innodb_log_buffer_size", SizeKind::Cache, MB),
    ("key_buffer_size", SizeKind::Cache, 8 * MB),
    ("query_cache_size", SizeKind::Cache, MB),
    ("rocksdb_block_cache_size", SizeKind::Cache, 64 * MB),
    ("innodb_log_file_size", SizeKind::Beside, 64 * MB),
    ("innodb_redo_log_capacity", SizeKind::Beside, 128 * MB),
    ("rocksdb_max_total_wal_size", SizeKind::Beside, 64 * MB),
    ("temptable_max_mmap", SizeKind::Beside, 16 * MB),
    ("temptable_max_ram", SizeKind::Beside, 16 * MB),
    ("binlog_cache_size", SizeKind::Connection, 32 * KB),
    ("bulk_insert_buffer_size", SizeKind::Connection, 64 * KB),
    ("join_buffer_size", SizeKind::Connection, 64 * KB),
    ("max_heap_table_size", SizeKind::Connection, 64 * KB),
    ("read_buffer_size", SizeKind::Connection, 64 * KB),
    ("read_rnd_buffer_size", SizeKind::Connection, 64 * KB),
    ("sort_buffer_size", SizeKind::Connection, 64 * KB),
    ("tmp_table_size", SizeKind::Connection, 64 * KB),
];

/// Sizes of Postgres, with the unit of a bare number. Source: the manual's chapter on server configuration.
const POSTGRES: &[(&str, SizeKind, u64, u64)] = &[
    ("shared_buffers", SizeKind::Cache, 128 * MB, 8 * KB),
    ("wal_buffers", SizeKind::Cache, MB, 8 * KB),
    ("autovacuum_work_mem", SizeKind::Beside, MB, KB),
    ("effective_cache_size", SizeKind::Beside, 128 * MB, 8 * KB),
    ("logical_decoding_work_mem", SizeKind::Beside, 64 * KB, KB),
    ("maintenance_work_mem", SizeKind::Beside, MB, KB),
    ("max_wal_size", SizeKind::Beside, 128 * MB, MB),
    ("min_wal_size", SizeKind::Beside, 80 * MB, MB),
    ("wal_keep_size", SizeKind::Beside, 16 * MB, MB),
    ("temp_buffers", SizeKind::Connection, 800 * KB, 8 * KB),
    ("work_mem", SizeKind::Connection, 64 * KB, KB),
];

#[derive(Debug, Clone, Copy)]
struct Size {
    of: SizeKind,
    least: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct ServerRoom {
    each: u64,
    clients: u64,
}

pub fn scaled_to(request: &Request, machine: MachineFacts) -> PlanResult<Request> {
    let Some(share) = request.scale_memory else { return Ok(request.clone()) };
    let effort = effort(request, machine.cpus)?;
    let twins = u64::from(request.twin.unwrap_or(effort.twin));
    // A search compares two at a time.
    let servers = (request.systems.len() as u64 + twins).max(2);
    let servers = match request.count {
        _ if effort.experiment.runs_one_system() => 1,
        Counting::None => servers,
        Counting::After | Counting::Only => servers * COUNTED_INSTANCES as u64,
    };
    let server_mb = Terms::or_default(Some(&request.terms)).server_mb;
    let all_mb = (usable_mb(machine.memory_mb, effort.experiment) as f64 * share) as u64;
    let counts =
        request.setups.iter().flat_map(|it| it.clients.as_ref().unwrap_or(&effort.clients));
    let place = ServerRoom {
        each: (all_mb / servers).saturating_sub(server_mb).max(1) * MB,
        clients: counts.copied().max().unwrap_or(1).max(1).into(),
    };
    scaled(request.clone(), place)
}

fn scaled(mut request: Request, place: ServerRoom) -> PlanResult<Request> {
    request.scale_memory = None;
    let mut common: Vec<CommonOption> =
        request.config_options.iter().map(|it| CommonOption::read(it)).collect::<Result<_, _>>()?;
    let products: Vec<Product> = request
        .systems
        .iter()
        .map(|it| Ok(parse_system(&it.words)?.product))
        .collect::<PlanResult<_>>()?;
    let mut all: Vec<Vec<(Product, &str, &str)>> = Vec::new();
    for product in Product::ALL {
        let options = common.iter().filter(|it| it.product == product);
        all.push(options.map(|it| (product, it.name.as_str(), it.value.as_str())).collect());
    }
    for (system, &product) in request.systems.iter().zip(&products) {
        let of_file = system.options.iter().filter(|(name, _)| system.of_file.contains(name));
        all.push(of_file.map(|(name, value)| (product, name.as_str(), value.as_str())).collect());
    }
    let need = all.iter().map(|options| caches(options)).max().unwrap_or(0);
    let divisor = divisor(need, place.each);
    let of_all = Product::ALL.iter().chain(&products);
    let rules: Vec<ScaleRule> = of_all
        .zip(&all)
        .map(|(product, options)| ScaleRule {
            divisor,
            part: part(*product, number(options, "max_connections"), divisor, place.clients),
            pool: pool_unit(options),
        })
        .collect();
    let mut sizes = Vec::new();
    for option in &mut common {
        let at = Product::ALL.iter().position(|product| *product == option.product);
        let rule = rules[at.expect("every product is listed")];
        rule.apply((option.product, &option.name), &mut option.value, &mut sizes);
    }
    request.config_options = common.iter().map(ToString::to_string).collect();
    let of_systems = &rules[Product::ALL.len()..];
    for ((system, &product), rule) in request.systems.iter_mut().zip(&products).zip(of_systems) {
        let of_file = system.of_file.clone();
        for (name, value) in system.options.iter_mut().filter(|(name, _)| of_file.contains(name)) {
            rule.apply((product, name), value, &mut sizes);
        }
    }
    request.scaled = Some(ScaledSizes { divisor, sizes });
    Ok(request)
}

/// The error with advice on `--scale-memory`, if config files set caches that were not scaled.
pub fn advised(mut error: PlanError, request: &Request) -> PlanError {
    if let PlanError::TooLittle { what: MEMORY, asked, .. } = &mut error
        && request.scaled.is_none()
        && asks_for_caches(request)
    {
        asked.insert(0, SCALE.to_owned());
    }
    error
}

const SCALE: &str = "`--scale-memory` divides the sizes of the config file by one number on all systems, so that \
                     they fit into this machine; in a study file, it is `scale-memory = \"100%\"`";

fn asks_for_caches(request: &Request) -> bool {
    let is_cache = |product: Product, name: &str, value: &str| {
        size(product, name, value).is_some_and(|size| size.of == SizeKind::Cache)
    };
    let mut common = request.config_options.iter().filter_map(|it| CommonOption::read(it).ok());
    let mut systems = request.systems.iter();
    common.any(|it| is_cache(it.product, &it.name, &it.value))
        || systems.any(|system| {
            let product = parse_system(&system.words).map(|it| it.product);
            let mut of_file = system.options.iter().filter(|it| system.of_file.contains(&it.0));
            product.is_ok_and(|product| of_file.any(|(name, value)| is_cache(product, name, value)))
        })
}

fn caches(options: &[(Product, &str, &str)]) -> u64 {
    let of_one = |(product, name, value): &(Product, &str, &str)| {
        let size = size(*product, name, value).filter(|size| size.of == SizeKind::Cache)?;
        Some((variable(name), size.bytes))
    };
    let last: BTreeMap<String, u64> = options.iter().filter_map(of_one).collect();
    last.values().fold(0, |all, bytes| all.saturating_add(*bytes))
}

fn number(options: &[(Product, &str, &str)], name: &str) -> Option<u64> {
    let (_, _, value) = options.iter().rev().find(|(_, it, _)| variable(it) == name)?;
    value.trim().parse().ok()
}

/// Buffer pool sizes of InnoDB are multiples of the chunk size times the instances; servers round others up. A pool of
/// less than 1 GiB has one instance, a larger one at most 8 unless the file sets more. Sources: the manuals' pages of
/// `innodb_buffer_pool_chunk_size` and `innodb_buffer_pool_instances`.
#[derive(Debug, Clone, Copy)]
struct PoolUnit {
    chunk: u64,
    instances: u64,
}

fn pool_unit(options: &[(Product, &str, &str)]) -> PoolUnit {
    let chunk = options
        .iter()
        .rev()
        .find(|(_, name, _)| variable(name) == "innodb_buffer_pool_chunk_size")
        .and_then(|(_, _, value)| bytes(value, 1));
    PoolUnit {
        chunk: chunk.filter(|bytes| *bytes > 0).unwrap_or(128 * MB),
        instances: number(options, "innodb_buffer_pool_instances").unwrap_or(8).clamp(1, 64),
    }
}

impl PoolUnit {
    /// Largest size up to `bytes` that no server rounds.
    fn round_down(self, bytes: u64) -> u64 {
        let of_all = self.chunk.saturating_mul(self.instances);
        let unit = if bytes >= of_all.max(1 << 30) { of_all } else { self.chunk };
        bytes / unit * unit
    }
}

fn part(product: Product, connections: Option<u64>, divisor: u64, clients: u64) -> f64 {
    let usual = match product.dialect() {
        Dialect::MySql => 151,
        Dialect::Postgres => 100,
    };
    let theirs = connections.unwrap_or(usual) as f64;
    (theirs / (divisor as f64 * clients as f64)).min(1.0)
}

const MOST: u64 = 1536;

/// The smallest of 1, 2, 3, 4, 6, 8, 12, ... by which `need` must be divided to fit.
fn divisor(need: u64, have: u64) -> u64 {
    let mut steps = (0..=10).flat_map(|power| [1_u64 << power, (3 << power) >> 1]);
    steps.find(|by| need / by <= have).unwrap_or(MOST)
}

#[derive(Debug, Clone, Copy)]
struct ScaleRule {
    divisor: u64,
    /// Share of its size that each connection keeps.
    part: f64,
    pool: PoolUnit,
}

impl ScaleRule {
    fn apply(
        self,
        (product, name): (Product, &str),
        value: &mut String,
        sizes: &mut Vec<ScaledSize>,
    ) {
        let Some(size) = size(product, name, value) else { return };
        let wanted = match size.of {
            SizeKind::Cache | SizeKind::Beside => size.bytes / self.divisor,
            SizeKind::Connection => (size.bytes as f64 * self.part) as u64,
        };
        if wanted == size.bytes {
            return;
        }
        // Whole units are easier to read, and no server rounds them.
        let unit = if wanted >= MB { MB } else { KB };
        let whole = match variable(name).as_str() {
            "innodb_buffer_pool_size" => self.pool.round_down(wanted),
            _ => wanted / unit * unit,
        };
        let scaled = whole.max(size.least).min(size.bytes);
        if scaled == size.bytes {
            return;
        }
        let to = written(product, scaled);
        let found = ScaledSize { option: name.to_owned(), from: value.clone(), to: to.clone() };
        if !sizes.contains(&found) {
            sizes.push(found);
        }
        *value = to;
    }
}

/// The size that an option sets; `None` if it sets no size, or lets the server choose.
fn size(product: Product, name: &str, value: &str) -> Option<Size> {
    let name = variable(name);
    let (of, least, unit) = match product.dialect() {
        Dialect::MySql => MYSQL.iter().find(|it| it.0 == name).map(|it| (it.1, it.2, 1))?,
        Dialect::Postgres => {
            POSTGRES.iter().find(|it| it.0 == name).map(|it| (it.1, it.2, it.3))?
        }
    };
    let bytes = bytes(value, unit)?;
    (bytes > 0).then_some(Size { of, least, bytes })
}

fn written(product: Product, bytes: u64) -> String {
    let units = match product.dialect() {
        Dialect::MySql => ["G", "M", "K"],
        Dialect::Postgres => ["GB", "MB", "kB"],
    };
    let sizes = [1 << 30, MB, KB];
    let whole = sizes.into_iter().zip(units).find(|(size, _)| bytes.is_multiple_of(*size));
    whole.map_or_else(|| bytes.to_string(), |(size, unit)| format!("{}{unit}", bytes / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(options: &[&str]) -> Request {
        let systems = ["mysql@5.7", "mysql@8.0"].map(str::to_owned);
        Request {
            config_options: options.iter().map(|it| (*it).to_owned()).collect(),
            scale_memory: Some(1.0),
            ..Request::of_systems(&systems)
        }
    }

    fn message(request: &Request) -> Vec<String> {
        let sizes = request.scaled.iter().flat_map(|it| &it.sizes);
        sizes.map(|it| format!("{} {} {}", it.option, it.from, it.to)).collect()
    }

    const GB: u64 = 1 << 30;

    #[test]
    fn all_sizes_are_divided_by_the_same_number() {
        let file = [
            "mysql: innodb_buffer_pool_size=48G",
            "mysql: innodb_log_file_size=2G",
            "mysql: key_buffer_size=16M",
            "mysql: innodb_io_capacity=2000",
            "mysql: sort_buffer_size=2M",
            "mysql: max_connections=500",
        ];
        let done =
            scaled(request(&file), ServerRoom { each: 6 * GB + 100 * MB, clients: 4 }).unwrap();
        assert_eq!(
            message(&done),
            [
                "innodb_buffer_pool_size 48G 6G",
                "innodb_log_file_size 2G 256M",
                "key_buffer_size 16M 8M"
            ]
        );
        assert_eq!(done.config_options[0], "mysql: innodb_buffer_pool_size=6G");
        assert_eq!((done.scale_memory, done.scaled.unwrap().divisor), (None, 8));
    }

    #[test]
    fn connections_keep_their_sizes_unless_together_they_take_more_than_their_part() {
        let file = [
            "postgres: shared_buffers=16GB",
            "postgres: work_mem=64MB",
            "postgres: max_connections=100",
        ];
        let settings = |clients| {
            let request = Request { systems: Vec::new(), ..request(&file) };
            message(&scaled(request, ServerRoom { each: 2 * GB, clients }).unwrap())
        };
        assert_eq!(settings(4), ["shared_buffers 16GB 2GB"]);
        // 100 connections of 64 MB are 800 MB here, of which 32 clients get 25 MB each.
        assert_eq!(settings(32), ["shared_buffers 16GB 2GB", "work_mem 64MB 25MB"]);
    }

    #[test]
    fn a_bare_number_has_the_unit_of_its_setting() {
        let bytes = |name, value| size(Product::Postgres, name, value).map(|size| size.bytes);
        assert_eq!(bytes("shared_buffers", "16384"), Some(128 * MB));
        assert_eq!(bytes("work_mem", "4096"), Some(4 * MB));
        assert_eq!(bytes("max_wal_size", "2048"), Some(2 * GB));
        assert_eq!(bytes("wal_buffers", "-1"), None);
        let bytes = |name, value| size(Product::MySql, name, value).map(|size| size.bytes);
        assert_eq!(bytes("loose-innodb-buffer-pool-size", "1073741824"), Some(GB));
    }

    #[test]
    fn a_scaled_buffer_pool_has_a_size_that_no_server_rounds() {
        let pool = |more: &[&str], each| {
            let file = [&["mysql: innodb_buffer_pool_size=480G"], more].concat();
            message(&scaled(request(&file), ServerRoom { each, clients: 1 }).unwrap())
        };
        // 7.5 GiB would become 8 GiB in eight instances of 128 MiB chunks.
        assert_eq!(pool(&[], 7 * GB + 700 * MB), ["innodb_buffer_pool_size 480G 7G"]);
        let wide = ["mysql: innodb_buffer_pool_instances=16"];
        assert_eq!(pool(&wide, 7 * GB + 700 * MB), ["innodb_buffer_pool_size 480G 6G"]);
        // A pool below 1 GiB has one instance.
        assert_eq!(pool(&[], 970 * MB), ["innodb_buffer_pool_size 480G 896M"]);
        let small = ["mysql: innodb_buffer_pool_chunk_size=64M"];
        assert_eq!(pool(&small, 970 * MB), ["innodb_buffer_pool_size 480G 960M"]);
    }

    #[test]
    fn a_file_that_fits_stays_as_it_is() {
        let file = ["mysql: innodb_buffer_pool_size=1G", "mysql: sort_buffer_size=2M"];
        let done = scaled(request(&file), ServerRoom { each: GB, clients: 1 }).unwrap();
        assert!(message(&done).is_empty());
        assert_eq!(done.config_options, file);
    }

    #[test]
    fn the_number_grows_in_small_steps() {
        let by: Vec<u64> =
            [1, 2, 3, 4, 5, 7, 9, 13, 17].map(|need| divisor(need * GB, GB)).to_vec();
        assert_eq!(by, [1, 2, 3, 4, 6, 8, 12, 16, 24]);
        assert_eq!(divisor(u64::MAX, 1), MOST);
    }

    #[test]
    fn the_memory_is_shared_by_the_servers_that_run_together() {
        let file = ["mysql: innodb_buffer_pool_size=48G"];
        // 70% of it for two servers: 5.6 GB each, less than 200 MB besides the caches.
        let machine = MachineFacts { cpus: 4, memory_mb: 16_384, disk_mb: 1 << 20, realtime: None };
        let divisor = |share, twin| {
            let request = Request { scale_memory: Some(share), twin, ..request(&file) };
            scaled_to(&request, machine).unwrap().scaled.unwrap().divisor
        };
        assert_eq!(
            [divisor(1.0, None), divisor(0.5, None), divisor(1.0, Some(true))],
            [12, 24, 16]
        );
        let unasked = Request { scale_memory: None, ..request(&file) };
        assert_eq!(scaled_to(&unasked, machine).unwrap(), unasked);
    }
}
