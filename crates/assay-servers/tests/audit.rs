//! The audit of real servers of three versions with the options of one intent.

use assay_model::AuditClass;
use assay_servers::{audit, effective_settings};
use assay_testkit::{mariadb_version, prefix};

assay_testkit::supervisor_entry!();

#[test]
fn one_intent_leaves_nothing_suspicious_between_versions_and_an_override_is_expected() {
    let versions = ["10.5", "10.11", "11.8"];
    let builds = versions.map(prefix);
    let settings: Vec<_> = (versions.iter())
        .map(|version| {
            let server = mariadb_version(version, &[]);
            let mut control = server.connect();
            control.query("CREATE TABLE t (id INT PRIMARY KEY) ENGINE = InnoDB").unwrap();
            effective_settings(&mut control).unwrap()
        })
        .collect();
    for settings in &settings {
        assert_eq!(settings["table.collation"], "latin1_swedish_ci");
        assert_eq!(settings["session.character_set_client"], "latin1");
        assert_eq!(settings["session.ssl_cipher"], "");
        assert_eq!(settings["performance_schema"], "OFF");
        assert_eq!(settings["log_bin"], "OFF");
        assert_eq!(settings["innodb_doublewrite"], "ON");
    }
    let findings = audit::compare(&settings, &builds.each_ref(), &[&[], &[], &[]]);
    for finding in &findings {
        println!("{:?} {} {:?}: {}", finding.class, finding.setting, finding.values, finding.why);
    }
    let suspicious: Vec<_> =
        findings.iter().filter(|it| it.class == AuditClass::Suspicious).collect();
    assert!(suspicious.is_empty(), "{suspicious:#?}");
}
