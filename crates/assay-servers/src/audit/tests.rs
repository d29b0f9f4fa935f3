//! Findings about made-up systems.

use assay_model::{BuildFlag, BuildFlags, Engine, Origin, Product, StatementPlans, SystemSpec};

use super::*;

fn spec(product: Product, overrides: &[(&str, &str)]) -> SystemSpec {
    SystemSpec {
        product,
        origin: Origin::Version("1".to_owned()),
        engine: Engine::InnoDb,
        overrides: overrides
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        build: BuildFlags::new(),
    }
}

fn facts(settings: &[(&str, &str)]) -> AuditFacts {
    let owned = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    AuditFacts { settings: owned.collect(), ..AuditFacts::default() }
}

fn audit_of(specs: [&SystemSpec; 2], facts: [&AuditFacts; 2]) -> Vec<AuditFinding> {
    let audited = |at: usize| AuditedSystem { spec: specs[at], facts: facts[at] };
    compare(&[audited(0), audited(1)], Terms::or_default(None))
}

fn audit(a: &[(&str, &str)], b: &[(&str, &str)], asked: &[(&str, &str)]) -> Vec<AuditFinding> {
    let (plain, asked) = (spec(Product::MariaDb, &[]), spec(Product::MariaDb, asked));
    audit_of([&plain, &asked], [&facts(a), &facts(b)])
}

fn classes(findings: &[AuditFinding]) -> Vec<(&str, AuditClass)> {
    findings.iter().map(|it| (it.setting.as_str(), it.class)).collect()
}

const SUSPICIOUS: AuditClass = AuditClass::Suspicious;

#[test]
fn equal_settings_give_no_finding() {
    let same = [("innodb_doublewrite", "ON"), ("table.collation", "latin1_swedish_ci")];
    assert_eq!(audit(&same, &same, &[]), []);
}

#[test]
fn known_traps_are_suspicious_and_come_first() {
    let found = audit(
        &[("binlog_row_image", "FULL"), ("session.ssl_cipher", ""), ("sql_mode", "A")],
        &[("binlog_row_image", "NOBLOB"), ("session.ssl_cipher", "AES"), ("sql_mode", "B")],
        &[],
    );
    assert_eq!(
        classes(&found),
        [
            ("session.ssl_cipher", SUSPICIOUS),
            ("sql_mode", SUSPICIOUS),
            ("binlog_row_image", AuditClass::Harmless),
        ]
    );
}

#[test]
fn requested_settings_are_expected_in_any_spelling() {
    let off = [("innodb_doublewrite", "OFF"), ("log_bin", "OFF"), ("optimizer_switch", "mrr=off")];
    let on = [("innodb_doublewrite", "ON"), ("log_bin", "ON"), ("optimizer_switch", "mrr=on")];
    let asked =
        [("innodb-doublewrite", "1"), ("skip-log-bin", "0"), ("optimizer-switch", "mrr=on")];
    let mut found = audit(&off, &on, &asked);
    found.sort_by(|a, b| a.setting.cmp(&b.setting));
    let names: Vec<&str> = found.iter().map(|it| it.setting.as_str()).collect();
    assert_eq!(names, ["innodb_doublewrite", "log_bin", "optimizer_switch.mrr"]);
    assert!(found.iter().all(|it| it.class == AuditClass::Expected), "{found:?}");
}

#[test]
fn a_switch_that_differs_from_the_request_is_suspicious() {
    let on = [("innodb_doublewrite", "ON"), ("log_bin", "ON")];
    for (asked, is_taken) in [("OF", false), ("off", false), ("TRUE", true)] {
        let found = audit(&on, &on, &[("loose-innodb_doublewrite", asked), ("log_bin", "x")]);
        assert_eq!(found.is_empty(), is_taken, "{asked}: {found:?}");
        assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
    }
}

#[test]
fn what_no_system_does_of_a_file_for_all_makes_them_no_less_equal() {
    let file = [("sync_binlog", "1"), ("innodb_large_prefix", "1"), ("sort_buffer_size", "2M")];
    let asked = spec(Product::MariaDb, &file);
    let off = [("log_bin", "OFF"), ("sync_binlog", "1"), ("sort_buffer_size", "2097152")];
    let removed = ("asked.log.innodb_large_prefix", "'innodb-large-prefix' was removed");
    let with = |more: &[(&str, &str)]| facts(&[&off[..], more].concat());
    let none = with(&[removed]);
    let found = audit_of([&asked, &asked], [&none, &none]);
    let harmless = |setting| (setting, AuditClass::Harmless);
    assert_eq!(classes(&found), [harmless("sync_binlog"), harmless("innodb_large_prefix")]);
    // Only one version has the option.
    let found = audit_of([&asked, &asked], [&with(&[("innodb_large_prefix", "ON")]), &none]);
    let expected = ("innodb_large_prefix", AuditClass::Expected);
    assert_eq!(classes(&found), [expected, harmless("sync_binlog")]);
    let large = facts(&[("log_bin", "OFF"), ("sync_binlog", "1"), ("sort_buffer_size", "1024")]);
    let found = audit_of([&asked, &asked], [&none, &large]);
    assert_eq!(classes(&found)[0], ("sort_buffer_size", SUSPICIOUS));
    // The requests differ, the systems do not.
    let other = spec(Product::MariaDb, &[("sync_binlog", "0")]);
    let asked = spec(Product::MariaDb, &[("sync_binlog", "1")]);
    let found = audit_of([&asked, &other], [&facts(&off), &facts(&off)]);
    assert_eq!(classes(&found), [("sync_binlog", SUSPICIOUS)]);
}

#[test]
fn a_missing_setting_counts_as_the_versions_fixed_behaviour() {
    let none = audit(&[("innodb_change_buffering", "none")], &[], &[]);
    assert_eq!(none, []);
    // The other version lacks the setting, so the remedy is its equivalent on this one.
    let all = audit(&[("innodb_change_buffering", "all")], &[], &[]);
    assert_eq!(classes(&all), [("innodb_change_buffering", AuditClass::Harmless)]);
    let why = &all[0].why;
    assert!(why.starts_with("only some of the versions have it: "), "{why}");
    assert!(why.contains("; `innodb_change_buffering=none` on the versions that have it"), "{why}");
    // Versions that have it could have the same value.
    let plain = spec(Product::MariaDb, &[]);
    let buffering = |value| facts(&[("innodb_change_buffering", value)]);
    let all = [buffering("all"), buffering("inserts"), facts(&[])];
    let audited: Vec<AuditedSystem> =
        all.iter().map(|facts| AuditedSystem { spec: &plain, facts }).collect();
    let found = compare(&audited, Terms::or_default(None));
    assert_eq!(classes(&found), [("innodb_change_buffering", SUSPICIOUS)]);
    let postgres = spec(Product::Postgres, &[]);
    let one = facts(&[("server_version", "12.22")]);
    let other = [("server_version", "17.2"), ("autovacuum_vacuum_insert_threshold", "1000")];
    let found = audit_of([&postgres, &postgres], [&one, &facts(&other)]);
    assert_eq!(classes(&found), [("autovacuum_vacuum_insert_threshold", AuditClass::Harmless)]);
    assert!(found[0].why.contains("`autovacuum_vacuum_insert_threshold=-1` on"), "{found:?}");
}

#[test]
fn what_follows_from_a_requested_option_is_expected() {
    let postgres_facts = |version, shared, wal| {
        facts(&[("server_version", version), ("shared_buffers", shared), ("wal_buffers", wal)])
    };
    let plain = spec(Product::Postgres, &[]);
    let large = spec(Product::Postgres, &[("shared_buffers", "1GB")]);
    let class = |specs: [&SystemSpec; 2], facts: [&AuditFacts; 2]| {
        let found = audit_of(specs, facts);
        let found = found.iter().find(|it| it.setting == "wal_buffers").cloned();
        found.map(|it| (it.class, it.is_asked)).unwrap()
    };
    let (small, big) =
        (postgres_facts("17.2", "128MB", "4MB"), postgres_facts("17.2", "1GB", "16MB"));
    assert_eq!(class([&plain, &large], [&small, &big]), (AuditClass::Expected, true));
    assert_eq!(class([&plain, &plain], [&small, &big]), (SUSPICIOUS, false));
    // The same from one version to the next, because the manual says so.
    let newer = postgres_facts("18.0", "1GB", "16MB");
    assert_eq!(class([&plain, &large], [&small, &newer]), (AuditClass::Expected, true));
    // One build differs only in the requested options and their effects.
    let other = spec(Product::Postgres, &[("work_mem", "1GB")]);
    assert_eq!(class([&plain, &other], [&small, &big]), (AuditClass::Expected, true));
    assert_eq!(class([&plain, &other], [&small, &newer]), (SUSPICIOUS, false));
}

#[test]
fn a_requested_option_explains_the_plans_that_it_changes() {
    let mut one = with_plans(&[("join", "S1", "Hash Join")]);
    let mut other = with_plans(&[("join", "S1", "Merge Join")]);
    for facts in [&mut one, &mut other] {
        facts.settings.insert("server_version".to_owned(), "17.2".to_owned());
    }
    let plain = spec(Product::Postgres, &[]);
    let found = |option: &str| {
        let asked = spec(Product::Postgres, &[(option, "off")]);
        audit_of([&plain, &asked], [&one, &other])[0].clone()
    };
    let hash = found("enable_hashjoin");
    assert_eq!((hash.class, hash.is_asked), (AuditClass::Expected, true), "{hash:?}");
    assert!(hash.why.ends_with("as requested by `enable_hashjoin=off`"), "{hash:?}");
    // Logging and counting change no plan, so something else did.
    assert_eq!(found("track_activities").class, SUSPICIOUS);
    assert_eq!(found("synchronous_commit").class, SUSPICIOUS);
    // A system without requested options has no such reason.
    let asked = spec(Product::Postgres, &[("enable_hashjoin", "off")]);
    let all = [(&plain, &one), (&asked, &other), (&plain, &other)];
    let audited = all.map(|(spec, facts)| AuditedSystem { spec, facts });
    assert_eq!(compare(&audited, Terms::or_default(None))[0].class, SUSPICIOUS);
}

#[test]
fn a_missing_setting_with_unknown_behaviour_is_harmless() {
    let found = audit(&[("innodb_flush_neighbors", "0")], &[], &[]);
    assert_eq!(classes(&found), [("innodb_flush_neighbors", AuditClass::Harmless)]);
    assert!(found[0].why.contains("only some"), "{found:?}");
}

#[test]
fn spelling_does_not_matter() {
    let one =
        [("performance_schema", "OFF"), ("character_set_server", "utf8"), ("knob", "0.000000")];
    let other = [("performance_schema", "0"), ("character_set_server", "utf8mb3"), ("knob", "0")];
    assert_eq!(audit(&one, &other, &[]), []);
}

#[test]
fn paths_identities_and_settings_of_a_single_version_are_ignored() {
    let one =
        [("socket", "/a"), ("version", "10.5"), ("ssl_ca", "/a"), ("new_knob", "1"), ("x", "/a")];
    let other = [("socket", "/b"), ("version", "11.8"), ("ssl_ca", "/b"), ("x", "/b")];
    assert_eq!(audit(&one, &other, &[]), []);
}

#[test]
fn aliases_of_one_setting_give_one_finding() {
    let old = [("innodb_log_file_size", "50331648"), ("innodb_log_files_in_group", "2")];
    let new = [("innodb_redo_log_capacity", "100663296")];
    assert_eq!(audit(&old, &new, &[]), []);
    let found = audit(&old, &[("innodb_redo_log_capacity", "1")], &[]);
    assert_eq!(classes(&found), [("log_size", SUSPICIOUS)]);
    let isolation = audit(&[("tx_isolation", "X")], &[("transaction_isolation", "X")], &[]);
    assert_eq!(isolation, []);
    let asked =
        audit(&old, &[("innodb_redo_log_capacity", "1")], &[("innodb-redo-log-capacity", "1")]);
    assert_eq!(classes(&asked), [("log_size", AuditClass::Expected)]);
}

#[test]
fn products_are_compared_in_what_both_have() {
    let mariadb = facts(&[
        ("innodb_flush_log_at_trx_commit", "2"),
        ("innodb_buffer_pool_size", "134217728"),
        ("innodb_doublewrite", "ON"),
        ("innodb_page_size", "16384"),
        ("transaction_isolation", "REPEATABLE-READ"),
    ]);
    let postgres = facts(&[
        ("synchronous_commit", "off"),
        ("shared_buffers", "128MB"),
        ("full_page_writes", "on"),
        ("jit", "off"),
        ("transaction_isolation", "read committed"),
    ]);
    let specs = [&spec(Product::MariaDb, &[]), &spec(Product::Postgres, &[])];
    let found = audit_of(specs, [&mariadb, &postgres]);
    assert_eq!(classes(&found), [("transaction_isolation", AuditClass::Expected)]);
    // A value that is not the default of its product.
    let mut serializable = postgres.clone();
    serializable.settings.insert("transaction_isolation".to_owned(), "serializable".to_owned());
    let found = audit_of(specs, [&mariadb, &serializable]);
    assert_eq!(classes(&found), [("transaction_isolation", SUSPICIOUS)]);
}

#[test]
fn a_cache_of_threads_for_new_connections_does_not_matter() {
    let found = audit(&[("thread_cache_size", "9")], &[("thread_cache_size", "100")], &[]);
    assert_eq!(classes(&found), [("thread_cache_size", AuditClass::Harmless)]);
}

#[test]
fn differences_without_an_option_are_expected() {
    let (old, new) = ([("version", "5.6.14-log")], [("version", "5.7.22")]);
    let with = |all: &[(&str, &str)], value: Option<(&str, &str)>| {
        facts(&all.iter().copied().chain(value).collect::<Vec<_>>())
    };
    let block = Some(("innodb_log_write_ahead_size", "4096"));
    let mysql = spec(Product::MySql, &[]);
    let found = audit_of([&mysql, &mysql], [&with(&old, None), &with(&new, block)]);
    assert_eq!(classes(&found), [("innodb_log_write_ahead_size", AuditClass::Expected)]);
    assert!(found[0].why.contains("blocks of 512 bytes"), "{found:?}");
    // A version may have the option, but refuse the value.
    let ahead = |version: &str, share: &str| {
        facts(&[("version", version), ("innodb_max_dirty_pages_pct_lwm", share)])
    };
    let maria = spec(Product::MariaDb, &[]);
    let both = [&ahead("10.1.23", "0.001000"), &ahead("10.2.11", "0.000000")];
    let found = audit_of([&maria, &maria], both);
    assert_eq!(classes(&found), [("innodb_max_dirty_pages_pct_lwm", AuditClass::Expected)]);
    // A server that already runs has a setting of its own, which its user can change.
    let running = SystemSpec { origin: Origin::Url("mysql://u@h/d".to_owned()), ..mysql.clone() };
    let found = audit_of([&mysql, &running], [&with(&old, None), &with(&new, block)]);
    assert_eq!(classes(&found), [("innodb_log_write_ahead_size", SUSPICIOUS)]);
}

#[test]
fn synonymous_values_are_equal() {
    let page = |row, checksum| {
        let version = ("version", "10.11.5");
        [version, ("table.row_format", row), ("innodb_checksum_algorithm", checksum)]
    };
    assert_eq!(audit(&page("Compact", "crc32"), &page("Dynamic", "full_crc32"), &[]), []);
    assert_eq!(audit(&page("Compact", "CRC32"), &page("Compact", "strict_full_crc32"), &[]), []);
    let found = audit(&page("Redundant", "innodb"), &page("Dynamic", "full_crc32"), &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
}

#[test]
fn builds_of_different_versions_and_builders_are_expected() {
    let build_facts =
        |version, source, pie| [("version", version), ("build.source", source), ("build.pie", pie)];
    let (old, new) = (build_facts("10.11.5", "maven", "no"), build_facts("11.8.6", "apt", "yes"));
    let found = audit(&old, &new, &[]);
    assert!(found.iter().all(|it| it.class == AuditClass::Expected), "{found:?}");
    assert_eq!(found.len(), 2);
    // Within one series the user could take another package, or build with the same options.
    let found = audit(&old, &build_facts("10.11.19", "apt", "yes"), &[]);
    assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
    let plain = spec(Product::MariaDb, &[]);
    let built = SystemSpec { origin: Origin::Dir("/opt/mariadb".into()), ..plain.clone() };
    let found = audit_of([&built, &plain], [&facts(&old), &facts(&new)]);
    assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
    let debug = [("version", "11.8.6"), ("build.assertions", "yes")];
    let found = audit(&[("version", "10.11.5"), ("build.assertions", "no")], &debug, &[]);
    assert_eq!(classes(&found), [("build.assertions", SUSPICIOUS)]);
}

#[test]
fn builds_of_one_version_from_different_sources_are_suspicious() {
    let debian = [
        ("build.source", "apt"),
        ("build.compiler", "GCC 12"),
        ("build.pie", "yes"),
        ("build.stripped", "yes"),
    ];
    let newer = [("build.source", "apt"), ("build.compiler", "GCC 14"), ("build.pie", "yes")];
    let found = audit(&debian, &newer, &[]);
    assert_eq!(classes(&found), [("build.compiler", AuditClass::Harmless)]);
    let vendor = [
        ("build.source", "maven"),
        ("build.compiler", "GCC 4"),
        ("build.pie", "no"),
        ("build.stripped", "no"),
        ("build.lto", "no"),
    ];
    let found = audit(&debian, &vendor, &[]);
    assert_eq!(
        classes(&found),
        [
            ("build.source", SUSPICIOUS),
            ("build.compiler", SUSPICIOUS),
            ("build.pie", SUSPICIOUS),
            ("build.stripped", AuditClass::Harmless),
        ]
    );
}

#[test]
fn flags_of_a_build_explain_what_differs_between_builds_of_one_source() {
    let built = |origin: &str, cxx: Option<&str>| SystemSpec {
        origin: Origin::Git(origin.to_owned()),
        build: cxx.map(|it| (BuildFlag::Cxx, it.to_owned())).into_iter().collect(),
        ..spec(Product::MariaDb, &[])
    };
    let facts = |compiler| {
        facts(&[("version", "10.6.1"), ("build.compiler", compiler), ("build.source", "git")])
    };
    let (gcc, clang) = (facts("GCC 12.2.0"), facts("clang 14.0.6"));
    let (plain, asked) = (built("/x#v1", None), built("/x#v1", Some("clang")));
    let found = audit_of([&plain, &asked], [&gcc, &clang]);
    assert_eq!(classes(&found), [("build.compiler", AuditClass::Expected)]);
    assert!(found[0].is_asked);
    // The sources differ too, so it does not compare compilers alone, nor versions alone.
    let found = audit_of([&built("/x#v2", None), &asked], [&gcc, &clang]);
    assert_eq!(classes(&found), [("build.compiler", SUSPICIOUS)]);
    // Nobody asked for the other compiler: a fix of the build needed it.
    let found = audit_of([&plain, &plain], [&gcc, &clang]);
    assert_eq!(classes(&found), [("build.compiler", SUSPICIOUS)]);
    let build = BuildFlags::from([(BuildFlag::Opt, "O3".to_owned())]);
    let found = audit_of([&plain, &SystemSpec { build, ..plain.clone() }], [&gcc, &clang]);
    assert_eq!(classes(&found), [("build.compiler", SUSPICIOUS)]);
}

fn with_plans(plans: &[(&str, &str, &str)]) -> AuditFacts {
    let plan = |(test, statement, plan): &(&str, &str, &str)| AuditedPlan {
        test: (*test).to_owned(),
        statement: (*statement).to_owned(),
        place: None,
        event: 0,
        plan: (*plan).to_owned(),
        notes: Vec::new(),
    };
    AuditFacts { plans: plans.iter().map(plan).collect(), ..AuditFacts::default() }
}

#[test]
fn a_different_plan_is_reported_with_its_test_and_statement() {
    let one = with_plans(&[("a", "S1", "range k"), ("a", "S2", "range k"), ("b", "S1", "range k")]);
    let other = with_plans(&[("a", "S1", "range k"), ("a", "S2", "whole table"), ("b", "S3", "x")]);
    let plain = spec(Product::MariaDb, &[]);
    let found = audit_of([&plain, &plain], [&one, &other]);
    assert_eq!(classes(&found), [("plan.a", SUSPICIOUS)]);
    assert_eq!(found[0].values, [Some("range k".to_owned()), Some("whole table".to_owned())]);
    assert!(found[0].why.starts_with("`S2`"), "{found:?}");
    let postgres = spec(Product::Postgres, &[]);
    assert_eq!(audit_of([&plain, &postgres], [&one, &other]), []);
}

#[test]
fn plans_are_compared_for_each_of_several_values() {
    let plan_facts = |plans: &[(&str, u64, &str)]| {
        let mut facts = with_plans(&[]);
        for (statement, event, plan) in plans {
            let one = with_plans(&[("a", statement, plan)]).plans.remove(0);
            facts.plans.push(AuditedPlan { event: *event, ..one });
        }
        facts
    };
    let one = plan_facts(&[
        ("S1", 0, "range k"),
        ("S1", 3, "range k"),
        ("S1", 4, "range k"),
        ("S2", 0, "x"),
    ]);
    let other =
        plan_facts(&[("S1", 0, "range k"), ("S1", 3, "whole"), ("S2", 0, "x"), ("S2", 1, "y")]);
    let plain = spec(Product::MariaDb, &[]);
    let found = audit_of([&plain, &plain], [&one, &other]);
    assert_eq!(classes(&found), [("plan.a", SUSPICIOUS)]);
    assert_eq!(found[0].values, [Some("range k".to_owned()), Some("whole".to_owned())]);
    assert!(found[0].why.starts_with("`S1` (for 1 of 2 values): "), "{found:?}");
    assert_eq!(audit_of([&plain, &plain], [&one, &one]), []);
}

#[test]
fn a_different_plan_comes_with_the_place_of_its_statement() {
    let placed_plans = |plans: [&str; 3], places: [Option<(u32, u32)>; 3]| {
        let statements = ["S1", "S2", "S3"];
        let mut facts = with_plans(&[0, 1, 2].map(|at| ("a", statements[at], plans[at])));
        facts.plans.iter_mut().zip(places).for_each(|(plan, place)| plan.place = place);
        facts
    };
    let plain = spec(Product::MariaDb, &[]);
    let statements = |places| {
        let facts = [placed_plans(["x", "x", "y"], places), placed_plans(["x", "z", "y"], places)];
        audit_of([&plain, &plain], [&facts[0], &facts[1]]).remove(0).statements
    };
    let second = StatementPlans { kind: 0, step: 2, plans: vec![Some(0), Some(1)] };
    assert_eq!(statements([Some((0, 0)), Some((0, 2)), Some((1, 0))]), [second]);
    assert_eq!(statements([None; 3]), []);
}

#[test]
fn different_plans_of_different_versions_are_expected() {
    let version_facts = |version: &str, plan| {
        let mut facts = with_plans(&[("a", "S1", plan)]);
        facts.settings.insert("version".to_owned(), version.to_owned());
        facts
    };
    let plain = spec(Product::MariaDb, &[]);
    let class = |a: &AuditFacts, b: &AuditFacts| audit_of([&plain, &plain], [a, b])[0].class;
    let old = version_facts("10.11.19", "range k");
    assert_eq!(class(&old, &version_facts("11.8.6", "whole table")), AuditClass::Expected);
    assert_eq!(class(&old, &version_facts("10.11.5", "whole table")), SUSPICIOUS);
}

#[test]
fn a_requested_engine_explains_its_plans() {
    let mut one = with_plans(&[("a", "S1", "range k")]);
    let mut other = with_plans(&[("a", "S1", "ref k")]);
    let pool = |size: &str| ("innodb_buffer_pool_size".to_owned(), size.to_owned());
    one.settings.extend([pool("1073741824")]);
    other.settings.extend([pool("67108864")]);
    one.settings.insert("table.engine".to_owned(), "InnoDB".to_owned());
    other.settings.insert("table.engine".to_owned(), "ROCKSDB".to_owned());
    let innodb = spec(Product::MariaDb, &[]);
    let rocksdb = SystemSpec { engine: Engine::RocksDb, ..innodb.clone() };
    let found = audit_of([&innodb, &rocksdb], [&one, &other]);
    assert!(found.iter().all(|it| it.class == AuditClass::Expected), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn different_data_are_suspicious_unless_not_yet_loaded() {
    let loaded = [("data.1 × 10 as loaded", "10 rows, checksum a")];
    let other = [("data.1 × 10 as loaded", "9 rows, checksum b"), ("data.1 × 10 aged", "9 rows")];
    assert_eq!(classes(&audit(&loaded, &other, &[])), [("data.1 × 10 as loaded", SUSPICIOUS)]);
    // Checksums computed in different ways prove nothing; row counts do.
    let computed = [("data.1 × 10 as loaded", "10 rows, checksum mysql:a")];
    for (checksum, class) in [
        ("10 rows, checksum postgres:b", &[][..]),
        ("10 rows, checksum mysql:b", &[("data.1 × 10 as loaded", SUSPICIOUS)][..]),
        ("9 rows, checksum postgres:b", &[("data.1 × 10 as loaded", SUSPICIOUS)][..]),
    ] {
        let other = [("data.1 × 10 as loaded", checksum)];
        assert_eq!(classes(&audit(&computed, &other, &[])), class, "{checksum}");
    }
    assert_eq!(audit(&[], &other, &[]), []);
}

#[test]
fn possible_passwords_are_hidden() {
    let found = audit(
        &[("primary_conninfo", "host=1.2.3.4 password=TOPSECRET"), ("archive_command", "a")],
        &[("primary_conninfo", ""), ("archive_command", "b")],
        &[],
    );
    assert_eq!(found.len(), 2);
    assert!(found.iter().flat_map(|it| &it.values).all(|it| it.as_deref() == Some("(not shown)")));
}

/// New objects have the defaults of the server.
#[test]
fn on_shipped_terms_the_character_sets_of_versions_are_expected_to_differ() {
    let charset_facts = |version, charset| {
        facts(&[
            ("version", version),
            ("character_set_server", charset),
            ("table.charset", charset),
            ("data.rows", version),
        ])
    };
    let (old, new) = (charset_facts("5.7.44", "latin1"), charset_facts("8.0.40", "utf8mb4"));
    let spec = spec(Product::MySql, &[]);
    let class = |terms: &str, setting: &str| {
        let audited = [&old, &new].map(|facts| AuditedSystem { spec: &spec, facts });
        let found = compare(&audited, Terms::named(terms).unwrap());
        found.iter().find(|it| it.setting == setting).map(|it| it.class)
    };
    for setting in ["character_set_server", "table.charset"] {
        assert_eq!(class("shipped", setting), Some(AuditClass::Expected), "{setting}");
    }
    assert_eq!(class("lean", "table.charset"), Some(SUSPICIOUS));
}

#[test]
fn differences_that_the_terms_make_between_versions_are_expected() {
    let mysql = |version, buffering, sort| {
        facts(&[
            ("version", version),
            ("innodb_change_buffering", buffering),
            ("sort_buffer_size", sort),
            ("eq_range_index_dive_limit", "10"),
        ])
    };
    let maria = facts(&[
        ("version", "10.11.10-MariaDB"),
        ("innodb_change_buffering", "none"),
        ("sort_buffer_size", "2097152"),
        ("eq_range_index_dive_limit", "200"),
    ]);
    let [of_mysql, of_maria] = [Product::MySql, Product::MariaDb].map(|it| spec(it, &[]));
    let published = Terms::named("published").unwrap();
    let audited = |(spec, facts)| AuditedSystem { spec, facts };
    let one = mysql("8.0.40", "all", "262144");
    let found = compare(&[(&of_mysql, &one), (&of_maria, &maria)].map(audited), published);
    let expected = AuditClass::Expected;
    assert_eq!(
        classes(&found),
        [
            // Both were given 10.
            ("eq_range_index_dive_limit", SUSPICIOUS),
            // A default of each.
            ("sort_buffer_size", expected),
            // All of MySQL, none of MariaDB.
            ("innodb_change_buffering", expected),
        ]
    );
    // One version, and servers that assay has not started, have no such excuse.
    let other = mysql("8.0.40", "none", "1");
    let found = compare(&[(&of_mysql, &one), (&of_mysql, &other)].map(audited), published);
    assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
    let url = SystemSpec { origin: Origin::Url("mysql://u@h/d".to_owned()), ..of_maria.clone() };
    let found = compare(&[(&of_mysql, &one), (&url, &maria)].map(audited), published);
    assert!(found.iter().all(|it| it.class == SUSPICIOUS), "{found:?}");
}

fn from_file(extent: FactsExtent, settings: &[(&str, &str)]) -> AuditFacts {
    AuditFacts { extent, ..facts(settings) }
}

fn audit_of_files(all: &[AuditFacts]) -> Vec<AuditFinding> {
    let plain = spec(Product::MySql, &[]);
    let audited: Vec<AuditedSystem> =
        all.iter().map(|facts| AuditedSystem { spec: &plain, facts }).collect();
    compare(&audited, Terms::or_default(None))
}

fn values<'a>(findings: &'a [AuditFinding], setting: &str) -> Vec<Option<&'a str>> {
    let found = findings.iter().find(|it| it.setting == setting);
    found.map_or_else(Vec::new, |it| it.values.iter().map(Option::as_deref).collect())
}

#[test]
fn a_dump_of_variables_does_not_show_sessions_and_tables() {
    let dump = from_file(FactsExtent::Variables, &[("sort_buffer_size", "1")]);
    let server = facts(&[
        ("version", "1.0"),
        ("sort_buffer_size", "2"),
        ("performance_schema", "ON"),
        ("session.ssl_cipher", "AES"),
        ("table.engine", "InnoDB"),
    ]);
    let found = audit_of_files(&[dump, server]);
    // A variable that a dump lacks is one that its server lacks.
    let names = [("performance_schema", SUSPICIOUS), ("sort_buffer_size", SUSPICIOUS)];
    let mut classes = classes(&found);
    classes.sort_unstable_by_key(|(name, _)| *name);
    assert_eq!(classes, names);
    assert_eq!(values(&found, "performance_schema"), [None, Some("ON")]);
}

#[test]
fn a_config_file_is_compared_in_what_it_sets() {
    let part = |settings: &[(&str, &str)]| from_file(FactsExtent::Part, settings);
    let dump = |size: &str| {
        let settings =
            [("sort_buffer_size", size), ("performance_schema", "ON"), ("thread_cache_size", "5")];
        from_file(FactsExtent::Variables, &settings)
    };
    let one = part(&[("sort_buffer_size", "1"), ("thread_cache_size", "5")]);
    assert_eq!(audit_of_files(&[one.clone(), dump("1")]), []);
    // The third one may be equal to the first one.
    let found = audit_of_files(&[one.clone(), dump("2"), part(&[])]);
    assert_eq!(classes(&found), [("sort_buffer_size", SUSPICIOUS)]);
    assert_eq!(values(&found, "sort_buffer_size"), [Some("1"), Some("2"), Some("(not in file)")]);
    // The other one has a default, which no file shows.
    let found = audit_of_files(&[one, part(&[])]);
    assert_eq!(classes(&found), [("sort_buffer_size", SUSPICIOUS)]);
    assert!(found[0].why.starts_with("only some of the files set it"), "{found:?}");
    assert_eq!(values(&found, "sort_buffer_size"), [Some("1"), Some("(not in file)")]);
}

#[test]
fn the_redo_log_has_the_size_that_is_in_effect() {
    let log = |capacity: &str, size: &str, files: &str| {
        facts(&[
            ("version", "8.0.40"),
            ("innodb_redo_log_capacity", capacity),
            ("innodb_log_file_size", size),
            ("innodb_log_files_in_group", files),
        ])
    };
    let usual = log("104857600", "50331648", "2");
    let by_files = log("104857600", "2147483648", "2");
    let by_capacity = log("4294967296", "50331648", "2");
    assert_eq!(audit_of_files(&[by_files.clone(), by_capacity]), []);
    let found = audit_of_files(&[usual, by_files]);
    let sizes = [Some("104857600"), Some("4294967296")];
    assert_eq!(values(&found, "innodb_redo_log_capacity"), sizes);
    // The same size of a file, but another number of them.
    let files = |number: &'static str| {
        let settings = [("innodb_log_file_size", "1000"), ("innodb_log_files_in_group", number)];
        facts(&settings)
    };
    let found = audit_of_files(&[files("2"), files("3")]);
    let sizes = [Some("1000 (2000)"), Some("1000 (3000)")];
    assert_eq!(values(&found, "innodb_log_file_size"), sizes);
}

#[test]
fn identifiers_of_transactions_are_compared() {
    let maria = facts(&[("version", "11.8.6-MariaDB"), ("gtid_binlog_pos", "0-1-5")]);
    let [off, on] = ["OFF", "ON"]
        .map(|it| facts(&[("version", "9.6.0"), ("gtid_mode", it), ("gtid_executed", "a:1-5")]));
    let found = audit_of_files(&[maria.clone(), off.clone(), on]);
    assert_eq!(classes(&found), [("gtid_mode", SUSPICIOUS)]);
    assert_eq!(audit_of_files(&[maria, off]), []);
}

#[test]
fn words_and_decimals_may_be_written_in_several_ways() {
    let one = [("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"), ("x", "0.5")];
    let other = [("sql_mode", "no_engine_substitution, strict_trans_tables"), ("x", "0.500000")];
    assert_eq!(audit(&one, &other, &[]), []);
}
