//! The audit of real servers: one intent leaves nothing suspicious, and the audit finds each trap in which servers
//! differ.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use assay_model::{
    Artifact, AuditClass, AuditFinding, BuildFlags, Engine, Origin, Product, SystemSpec,
};
use assay_servers::audit::{AuditFacts, AuditedPlan, AuditedSystem, compare, ineffective};
use assay_servers::{answers, build_facts, effective_settings, explain, mapped_files};
use assay_terms::Terms;
use assay_testkit::{TestServer, database, mariadb_version, prefix, product_prefix, start};
use assay_wire::Connection;

/// Reads a range of a secondary index and rows that are not in it.
const RANGE: &str = "SELECT c FROM sbtest1 WHERE k BETWEEN 50 AND 60";

fn lean() -> &'static Terms {
    Terms::or_default(None)
}

fn spec(overrides: &[(&str, &str)]) -> SystemSpec {
    SystemSpec {
        product: Product::MariaDb,
        origin: Origin::Version("10.11".to_owned()),
        engine: Engine::InnoDb,
        overrides: overrides
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        build: BuildFlags::new(),
    }
}

fn fill(control: &mut Connection) {
    for sql in [
        "CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120)) ENGINE = InnoDB",
        "INSERT INTO sbtest1 SELECT seq, seq, seq FROM seq_1_to_2000",
        "CREATE INDEX k_1 ON sbtest1 (k)",
        "ANALYZE TABLE sbtest1",
    ] {
        control.query(sql).unwrap();
    }
}

fn facts_of(pid: i32, version: &str, control: &mut Connection) -> AuditFacts {
    let mut settings = effective_settings(control).unwrap();
    settings.extend(build_facts(pid, &Artifact::Prefix(prefix(version))).unwrap());
    let plan = explain(control, RANGE).unwrap().unwrap().plan;
    let (test, statement) = ("range-notcovered-si".to_owned(), RANGE.to_owned());
    let (place, event, notes) = (None, 0, Vec::new());
    let plans = vec![AuditedPlan { test, statement, place, event, plan, notes }];
    AuditFacts { settings, plans, ..AuditFacts::default() }
}

fn facts(version: &str, options: &[&str]) -> AuditFacts {
    let server = mariadb_version(version, options);
    let mut control = server.connect();
    fill(&mut control);
    facts_of(server.pid(), version, &mut control)
}

/// Of a server without options, read once for all tests.
fn usual(version: &str) -> AuditFacts {
    static KNOWN: Mutex<BTreeMap<String, AuditFacts>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let read = || {
        let database = database(Product::MariaDb, version);
        let mut control = database.connect();
        fill(&mut control);
        facts_of(database.pid(), version, &mut control)
    };
    known.entry(version.to_owned()).or_insert_with(read).clone()
}

fn compared(a: &AuditFacts, b: &AuditFacts, asked: &[(&str, &str)]) -> Vec<AuditFinding> {
    let (plain, asked) = (spec(&[]), spec(asked));
    compare(
        &[AuditedSystem { spec: &plain, facts: a }, AuditedSystem { spec: &asked, facts: b }],
        lean(),
    )
}

fn suspicious(findings: &[AuditFinding]) -> Vec<&str> {
    let of_class = findings.iter().filter(|it| it.class == AuditClass::Suspicious);
    of_class.map(|it| it.setting.as_str()).collect()
}

fn trap(version: &str, options: &[&str]) -> Vec<String> {
    let findings = compared(&usual(version), &facts(version, options), &[]);
    suspicious(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn one_intent_leaves_nothing_suspicious_between_versions() {
    let all = ["10.5", "10.11", "11.8"].map(usual);
    for AuditFacts { settings, .. } in &all {
        assert_eq!(settings["table.collation"], "latin1_swedish_ci");
        assert_eq!(settings["table.charset"], "latin1");
        assert_eq!(settings["schema.charset"], "latin1");
        assert_eq!(settings["session.character_set_client"], "latin1");
        assert_eq!(settings["session.ssl_cipher"], "");
        assert_eq!(settings["session.auth_plugin"], "mysql_native_password");
        assert_eq!(settings["performance_schema"], "OFF");
        assert_eq!(settings["log_bin"], "OFF");
        assert_eq!(settings["innodb_doublewrite"], "ON");
    }
    let spec = spec(&[]);
    let findings =
        compare(&all.each_ref().map(|facts| AuditedSystem { spec: &spec, facts }), lean());
    assert_eq!(suspicious(&findings), [""; 0], "{findings:#?}");
}

/// Of a product without `seq_` tables.
fn settings_of(product: Product, version: &str) -> AuditFacts {
    let server = start(product, version, &[]);
    let mut control = server.connect();
    control.query("CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120))").unwrap();
    let mut settings = effective_settings(&mut control).unwrap();
    settings.extend(
        build_facts(server.pid(), &Artifact::Prefix(product_prefix(product, version))).unwrap(),
    );
    AuditFacts { settings, ..AuditFacts::default() }
}

/// Each is compared with the next.
fn nothing_is_suspicious_along(systems: &[(Product, &str)]) {
    let facts: Vec<AuditFacts> =
        systems.iter().map(|(product, version)| settings_of(*product, version)).collect();
    for (pair, facts) in systems.windows(2).zip(facts.windows(2)) {
        let [one, other] = [pair[0], pair[1]];
        let plain_spec = |product| SystemSpec { product, ..spec(&[]) };
        let specs = [plain_spec(one.0), plain_spec(other.0)];
        let audited = [0, 1].map(|at| AuditedSystem { spec: &specs[at], facts: &facts[at] });
        let findings = compare(&audited, lean());
        assert_eq!(suspicious(&findings), [""; 0], "{one:?} {other:?}: {findings:#?}");
        for setting in ["sort_buffer_size", "innodb_log_buffer_size", "hash_mem_multiplier"] {
            assert!(findings.iter().all(|it| it.setting != setting), "{setting}: {findings:#?}");
        }
    }
}

#[test]
fn one_intent_leaves_nothing_suspicious_between_products_and_versions() {
    use Product::{MariaDb, MySql, Postgres};
    // The last versions with the defaults of their time.
    let family = [(MySql, "5.6.14"), (MySql, "5.7.22"), (MySql, "8.0.33"), (MariaDb, "11.8")];
    nothing_is_suspicious_along(&family);
    nothing_is_suspicious_along(&[(Postgres, "13"), (Postgres, "18.4")]);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn one_intent_leaves_nothing_suspicious_between_distant_versions() {
    nothing_is_suspicious_along(&[(Product::MariaDb, "10.2.11"), (Product::MariaDb, "10.11")]);
}

#[test]
fn a_different_default_charset_is_found_in_server_schema_and_table() {
    let found =
        trap("10.11", &["--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"]);
    for setting in [
        "character_set_server",
        "collation_server",
        "schema.charset",
        "schema.collation",
        "table.charset",
        "table.collation",
    ] {
        assert!(found.iter().any(|it| it == setting), "{setting} in {found:?}");
    }
}

#[test]
fn an_encrypting_server_is_found() {
    // Versions that create their own certificate offer encryption by default.
    assert_eq!(trap("11.8", &["--ssl=ON"]), ["have_ssl"]);
}

#[test]
fn a_different_block_size_of_the_log_is_found() {
    let found = trap("10.5", &["--innodb-log-write-ahead-size=8192"]);
    assert_eq!(found, ["innodb_log_write_ahead_size"]);
}

#[test]
fn a_disabled_doublewrite_is_found() {
    assert_eq!(trap("10.11", &["--innodb-doublewrite=OFF"]), ["innodb_doublewrite"]);
}

#[test]
fn a_binary_log_is_found() {
    assert_eq!(trap("10.11", &["--log-bin=b"]), ["log_bin"]);
}

#[test]
fn a_durable_commit_is_found() {
    let found = trap("10.11", &["--innodb-flush-log-at-trx-commit=1"]);
    assert_eq!(found, ["innodb_flush_log_at_trx_commit"]);
}

#[test]
fn a_plan_that_differs_is_found_with_the_switch_that_makes_it() {
    let found = trap("10.11", &["--optimizer-switch=index_condition_pushdown=off"]);
    assert_eq!(found, ["optimizer_switch.index_condition_pushdown", "plan.range-notcovered-si"]);
}

#[test]
fn a_lost_index_is_found_by_its_plan() {
    let whole = usual("10.11");
    let database = database(Product::MariaDb, "10.11");
    let mut control = database.connect();
    fill(&mut control);
    control.query("DROP INDEX k_1 ON sbtest1").unwrap();
    let findings = compared(&whole, &facts_of(database.pid(), "10.11", &mut control), &[]);
    assert_eq!(suspicious(&findings), ["plan.range-notcovered-si"]);
    assert_eq!(findings[0].values[1].as_deref(), Some("whole table"));
}

#[test]
fn consequences_of_requested_settings_are_suspicious() {
    let asked = [("character_set_server", "utf8mb4")];
    let other =
        facts("10.11", &["--character-set-server=utf8mb4", "--collation-server=utf8mb4_bin"]);
    let findings = compared(&usual("10.11"), &other, &asked);
    let class = |name: &str| findings.iter().find(|it| it.setting == name).map(|it| it.class);
    assert_eq!(class("character_set_server"), Some(AuditClass::Expected));
    assert_eq!(class("table.charset"), Some(AuditClass::Suspicious), "{findings:#?}");
}

#[test]
fn builds_of_different_builders_are_distinguished_by_their_files() {
    let (vendor, debian) = (usual("10.11.5"), usual("10.11"));
    let setting_value =
        |facts: &AuditFacts, name: &str| facts.settings.get(name).cloned().unwrap_or_default();
    assert_eq!(setting_value(&vendor, "build.compiler"), "GCC 4.8.5");
    assert_eq!(setting_value(&vendor, "build.stripped"), "no");
    assert_eq!(setting_value(&debian, "build.stripped"), "yes");
    let findings = compared(&vendor, &debian, &[]);
    let found = suspicious(&findings);
    for setting in ["build.source", "build.compiler"] {
        assert!(found.contains(&setting), "{setting} in {found:?}");
    }
}

#[test]
fn servers_run_with_the_libraries_that_came_with_them_and_no_others() {
    for version in ["10.5", "10.11", "11.8", "10.11.5"] {
        let (pid, prefix) = (database(Product::MariaDb, version).pid(), prefix(version));
        let files = mapped_files(pid).unwrap();
        assert!(files.len() > 5, "{files:?}");
        for file in &files {
            assert!(file.starts_with(&prefix.path), "{version} uses `{}`", file.display());
        }
        let settings = build_facts(pid, &Artifact::Prefix(prefix.clone())).unwrap();
        assert_eq!(settings["build.foreign-libraries"], "", "{version}");
        assert!(settings["build.c-library"].contains("GLIBC 2."), "{settings:?}");
        assert!(settings["build.c++-library"].starts_with("libstdc++.so.6.0."), "{settings:?}");
    }
}

fn postgres(version: &str, options: &[&str]) -> AuditFacts {
    let server = start(Product::Postgres, version, options);
    let mut control = server.connect();
    for sql in [
        "CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120))",
        "INSERT INTO sbtest1 SELECT seq, seq, seq FROM generate_series(1, 20000) AS seq",
        "CREATE INDEX k_1 ON sbtest1 (k)",
        "VACUUM ANALYZE sbtest1",
    ] {
        control.query(sql).unwrap();
    }
    let prefix = product_prefix(Product::Postgres, version);
    for file in mapped_files(server.pid()).unwrap() {
        assert!(file.starts_with(&prefix.path), "{version} uses `{}`", file.display());
    }
    let mut settings = effective_settings(&mut control).unwrap();
    settings.extend(build_facts(server.pid(), &Artifact::Prefix(prefix.clone())).unwrap());
    let covered = "SELECT k FROM sbtest1 WHERE k BETWEEN 50 AND 60";
    let plan = explain(&mut control, covered).unwrap().unwrap().plan;
    let (test, statement) = ("range-covered-si".to_owned(), covered.to_owned());
    let (place, event, notes) = (None, 0, Vec::new());
    let plans = vec![AuditedPlan { test, statement, place, event, plan, notes }];
    AuditFacts { settings, plans, ..AuditFacts::default() }
}

#[test]
fn traps_of_postgres_are_found() {
    let usual = postgres("16", &[]);
    assert_eq!(usual.settings["database.locale"], "C");
    assert_eq!(usual.settings["session.ssl_cipher"], "");
    let spec = SystemSpec { product: Product::Postgres, ..spec(&[]) };
    let trapped = postgres(
        "16",
        &[
            "--jit=on",
            "--max_parallel_workers_per_gather=2",
            "--synchronous_commit=on",
            "--full_page_writes=off",
            "--enable_indexonlyscan=off",
        ],
    );
    let findings =
        compare(&[&usual, &trapped].map(|facts| AuditedSystem { spec: &spec, facts }), lean());
    let mut found = suspicious(&findings);
    found.sort_unstable();
    let expected = [
        "enable_indexonlyscan",
        "full_page_writes",
        "jit",
        "max_parallel_workers_per_gather",
        "plan.range-covered-si",
        "synchronous_commit",
    ];
    assert_eq!(found, expected);
}

fn without_effect(spec: &SystemSpec, server: &mut TestServer) -> Vec<String> {
    let log = server.server().log();
    let mut control = server.connect();
    let mut settings = effective_settings(&mut control).unwrap();
    settings.extend(answers(&mut control, spec, Some(&log)).unwrap());
    ineffective(spec, &settings)
        .into_iter()
        .map(|it| format!("{}: {}", it.option, it.why))
        .collect()
}

#[test]
fn options_that_do_nothing_are_told() {
    let asked = [("sync_binlog", "1"), ("loose_nothing", "1"), ("sort_buffer_size", "1M")];
    let options = asked.map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut server = mariadb_version("10.11", &options);
    let found = without_effect(&spec(&asked), &mut server);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("sync_binlog: no effect, because no binary log"), "{found:?}");
    assert!(found[1].contains("unknown variable 'loose-nothing"), "{found:?}");
}

#[test]
fn jit_without_a_compiler_does_nothing() {
    let mut server = start(Product::Postgres, "16", &["--jit=on", "--work_mem=8MB"]);
    let asked =
        SystemSpec { product: Product::Postgres, ..spec(&[("jit", "on"), ("work_mem", "8MB")]) };
    let found = without_effect(&asked, &mut server);
    let mut control = server.connect();
    let is_available = control.query("SELECT pg_jit_available()").unwrap().text(0, 0) == Some("t");
    assert_eq!(found.is_empty(), is_available, "{found:?}");
    assert!(found.iter().all(|it| it.contains("this build has no LLVM")), "{found:?}");
}
