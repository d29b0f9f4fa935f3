//! Made-up files in the shape of those that a vendor published with a benchmark of ten servers.

use assay_model::{AuditClass, AuditFinding};

use super::*;
use crate::files::from_text;

/// What differs between the files of the example, by name of server.
const SERVERS: [(&str, &[(&str, &str)]); 10] = [
    ("ma106", &[("version", "10.6.25-MariaDB-log"), ("collation_server", "latin1_swedish_ci")]),
    ("ma1011", &[("version", "10.11.16-MariaDB-log"), ("collation_server", "latin1_swedish_ci")]),
    ("ma114", &[("version", "11.4.10-MariaDB-log"), ("collation_server", "latin1_swedish_ci")]),
    ("ma118", &[("version", "11.8.6-MariaDB-log"), ("collation_server", "utf8mb4_uca1400_ai_ci")]),
    ("ma122", &[("version", "12.2.2-MariaDB-log"), ("collation_server", "utf8mb4_uca1400_ai_ci")]),
    (
        "my57",
        &[("version", "5.7.44-log"), ("collation_server", "latin1_swedish_ci"), AHI, TWO_FILES],
    ),
    (
        "my80",
        &[
            ("version", "8.0.45"),
            UNICODE,
            AHI,
            TWO_FILES,
            ("innodb_redo_log_capacity", "104857600"),
        ],
    ),
    ("my84", &[("version", "8.4.8"), UNICODE, CAPACITY, SMALL_FILES, READERS]),
    ("my94", &[("version", "9.4.0"), UNICODE, CAPACITY, SMALL_FILES, READERS]),
    ("my96", &[("version", "9.6.0"), UNICODE, CAPACITY, SMALL_FILES, READERS, ("gtid_mode", "ON")]),
];

const AHI: (&str, &str) = ("innodb_adaptive_hash_index", "ON");
const UNICODE: (&str, &str) = ("collation_server", "utf8mb4_0900_ai_ci");
const TWO_FILES: (&str, &str) = ("innodb_log_files_in_group", "2");
const CAPACITY: (&str, &str) = ("innodb_redo_log_capacity", "4294967296");
const SMALL_FILES: (&str, &str) = ("innodb_log_file_size", "50331648");
const READERS: (&str, &str) = ("innodb_read_io_threads", "16");

fn settings(name: &str, own: &[(&'static str, &'static str)]) -> BTreeMap<String, String> {
    let is_maria = name.starts_with("ma");
    let mut all = BTreeMap::from([
        ("innodb_adaptive_hash_index", "OFF"),
        ("innodb_log_file_size", "2147483648"),
        ("innodb_read_io_threads", "4"),
        ("performance_schema", if is_maria { "OFF" } else { "ON" }),
        ("port", name),
    ]);
    if !is_maria {
        all.extend([("gtid_executed", name), ("gtid_mode", "OFF"), TWO_FILES]);
    }
    all.extend(own.iter().copied());
    let all = all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    // A whole dump has hundreds of variables.
    all.chain((0..300).map(|at| (format!("other_{at}"), "1".to_owned()))).collect()
}

fn file(at: usize) -> AuditedFile {
    let (name, own) = SERVERS[at];
    let settings = settings(name, own);
    let lines = settings.iter().map(|(name, value)| match at % 3 {
        0 => format!("| {name:<40} | {value:<30} |\n"),
        1 => format!("{name}\t{value}\n"),
        _ => format!("*** {at}. row ***\nVariable_name: {name}\n        Value: {value}\n"),
    });
    let heading = ["| Variable_name | Value |\n", "Variable_name\tValue\n", "****\n"][at % 3];
    let text = format!("{heading}{}", lines.collect::<String>());
    from_text(name.to_owned(), None, Path::new(name), &text).unwrap()
}

#[test]
fn ten_published_servers_were_not_equal() {
    let all = AuditedSystems::new((0..SERVERS.len()).map(|at| Some(file(at))).collect(), []);
    let audited = all.systems.iter().zip(&all.facts);
    let audited: Vec<AuditedSystem> =
        audited.map(|(system, facts)| AuditedSystem { spec: &system.spec, facts }).collect();
    let findings = assay_servers::audit::compare(&audited, Terms::or_default(None));
    let values = |setting: &str, class: AuditClass| -> Vec<String> {
        let is_it = |it: &&AuditFinding| it.setting == setting;
        let found =
            findings.iter().find(is_it).unwrap_or_else(|| panic!("{setting}: {findings:#?}"));
        assert_eq!(found.class, class, "{setting}");
        found.values.iter().map(|it| it.clone().unwrap_or_default()).collect()
    };
    let repeated = |parts: &[(&str, usize)]| -> Vec<String> {
        parts.iter().flat_map(|(value, n)| std::iter::repeat_n((*value).to_owned(), *n)).collect()
    };
    let suspicious = AuditClass::Suspicious;
    let schema = values("performance_schema", suspicious);
    assert_eq!(schema, repeated(&[("OFF", 5), ("ON", 5)]));
    assert_eq!(
        values("log_size", suspicious),
        repeated(&[("2147483648", 5), ("2147483648 (4294967296)", 1), ("4294967296", 4)])
    );
    let gtids = values("gtid_mode", suspicious);
    assert_eq!(gtids, repeated(&[("", 5), ("OFF", 4), ("ON", 1)]));
    let hash = values("innodb_adaptive_hash_index", suspicious);
    assert_eq!(hash, repeated(&[("OFF", 5), ("ON", 2), ("OFF", 3)]));
    let collation = values("collation_server", suspicious);
    assert_eq!(
        collation,
        repeated(&[
            ("latin1_swedish_ci", 3),
            ("utf8mb4_uca1400_ai_ci", 2),
            ("latin1_swedish_ci", 1),
            ("utf8mb4_0900_ai_ci", 4),
        ])
    );
    let readers = values("innodb_read_io_threads", AuditClass::Harmless);
    assert_eq!(readers, repeated(&[("4", 7), ("16", 3)]));
    let number_of_suspicious = findings.iter().filter(|it| it.class == suspicious).count();
    assert_eq!((number_of_suspicious, findings.len()), (5, 6), "{findings:#?}");

    let text = shown(&all, Terms::or_default(None), ShapeWord::Text);
    assert!(text.contains("\nmy57: SHOW VARIABLES of mysql 5.7.44: 310 settings\n"), "{text}");
    assert!(text.contains("performance_schema = OFF → OFF → OFF → OFF → OFF → ON"), "{text}");
    assert!(text.contains("remedy: give the servers the same values"), "{text}");
}

#[test]
fn files_stand_where_the_command_line_names_them() {
    let server = file(1);
    let all = AuditedSystems::new(
        vec![Some(file(0)), None, None, Some(file(0))],
        [None, Some((server.system, server.facts))],
    );
    let names: Vec<&str> = all.systems.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["ma106", "ma1011", "ma106 #2"]);
    assert_eq!(all.files.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert!(all.systems[0].is_base && all.systems.iter().filter(|it| it.is_base).count() == 1);
}
