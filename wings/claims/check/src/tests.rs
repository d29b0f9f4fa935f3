//! Files of published claims: their meaning, and mistakes in them.

use std::collections::BTreeMap;

use assay_import::{ImportFacts, metrics, qps_table, study_of};
use assay_model::{Hint as _, Setup, StudyRecord};

use super::*;

fn read(text: &str) -> ClaimFile {
    read_claims("claims.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_part_takes_what_it_leaves_out_from_its_claim_and_from_the_top() {
    let file = read(
        "source = \"post\"\nthan = \"5.6\"\n[[claim]]\ntext = \"x\"\ntests = \"point\"\nfaster = true\n\
         [[claim.part]]\nclients = 1\n[[claim.part]]\nclients = \"20+\"\nslower = \"5%\"\nthan = \"5.7\"\n\
         summary = \"median\"\n[[claim]]\ntext = \"y\"\nsource = \"other\"\nquantity = \"qps\"\nat-most = 9\n",
    );
    let [first, second] = file.claims.as_slice() else { panic!("{file:?}") };
    assert_eq!((first.source.as_str(), second.source.as_str()), ("post", "other"));
    let [one, other] = first.parts.as_slice() else { panic!("{first:?}") };
    assert_eq!(one.scope(), "others / 5.6, point, 1 client");
    assert_eq!(other.scope(), "others / 5.7, point, 20+ clients");
    let region = |low, high, is_open| Relation::In(Region { low, high, is_open });
    assert_eq!(one.statement.relation, region(1.0, f64::INFINITY, true));
    assert_eq!(other.statement.relation, region(f64::NEG_INFINITY, 0.95, true));
    assert_eq!((one.statement.summary, other.statement.summary), (None, Some(Summary::Median)));
    let [rate] = second.parts.as_slice() else { panic!("{second:?}") };
    assert_eq!(rate.statement.quantity, Quantity::Qps);
    assert_eq!((rate.statement.share, rate.statement.counted), (Share::Every, ShareUnit::Tests));
}

#[test]
fn relations_are_ranges() {
    for (line, low, high) in [
        ("about = \"-20%\"\nwithin = \"5%\"", 0.75, 0.85),
        ("about = 200\nwithin = \"5%\"\nquantity = \"qps\"", 190.0, 210.0),
        ("between = [\"-30%\", 1.5]", 0.7, 1.5),
        ("same = \"3%\"", 0.97, 1.03),
    ] {
        let file = read(&format!("[[claim]]\nsource = \"s\"\ntext = \"x\"\n{line}\n"));
        let Relation::In(found) = file.claims[0].parts[0].statement.relation else {
            panic!("{line}")
        };
        assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    }
}

/// Published results of 5.6.14 and 8.0.33 in a test.
fn record() -> StudyRecord {
    let table = "col-1 : x.my5614_rel.z1.pk1\ncol-2 : x.my8033_rel.z1.pk1\n\
        1000\t800\thot-points_range=100\n";
    let of_runs = "sb.met.hot-points.range100.pk1.dop1\n--- absolute\ncpu/o\tcs/o\to/s\tdbms\n\
        0.1\t8\t1000\tx.my5614_rel.z1.pk1\n0.2\t10\t800\tx.my8033_rel.z1.pk1\n";
    let (table, _) = qps_table("table", table.as_bytes()).unwrap();
    let (of_runs, _) = metrics("metrics", of_runs.as_bytes()).unwrap();
    let about = ImportFacts {
        reported_in: "table".to_owned(),
        id: "study".to_owned(),
        imported_ms: 0,
        setup: Setup { clients: 1, tables: 1, rows: 1 },
        assay_version: String::new(),
    };
    study_of(&table, Some(&of_runs), &about).unwrap()
}

fn status(lines: &str) -> ClaimStatus {
    let file = read(&format!("source = \"s\"\n[[claim]]\ntext = \"x\"\n{lines}\n"));
    let checked = check_claims(&file.claims, &[record()], &BTreeMap::new());
    ClaimStatus::of_all(checked.iter().map(CheckedClaim::status))
}

#[test]
fn published_metrics_their_ratios_and_statistics_are_figures() {
    for (lines, expected) in [
        ("quantity = \"relative cs/o\"\nabout = 1.25\nwithin = \"1%\"", ClaimStatus::Holds),
        ("quantity = \"cpu_ratio\"\nat-least = \"+100%\"", ClaimStatus::Holds),
        ("quantity = \"cs/o\"\nsystems = \"8.0\"\nat-most = 9", ClaimStatus::Fails),
        ("quantity = \"relative cs/o\"\nsummary = \"average\"\nat-most = 1.2", ClaimStatus::Fails),
        // A single test has no deviation, and the server's switches are not published.
        ("summary = \"stddev\"\nat-most = 0.1", ClaimStatus::Unknown),
        ("quantity = \"relative cs\"\nat-most = 9", ClaimStatus::Unknown),
    ] {
        assert_eq!(status(lines), expected, "{lines}");
    }
    let spread = read_claims(
        "x",
        "[[claim]]\nsource = \"s\"\ntext = \"x\"\nsummary = \"stddev\"\nfaster = true\n",
    );
    let message = spread.unwrap_err().to_string();
    assert!(message.contains("`faster` is not said of `stddev`"), "{message}");
}

#[test]
fn a_claim_about_a_system_is_about_its_counterpart() {
    let file = read(
        "source = \"s\"\nthan = \"5.6.51\"\n[[claim]]\ntext = \"x\"\nsystems = \"8.0\"\nslower = \"10%\"\n\
         [[claim]]\ntext = \"x\"\nsystems = \"mysql@8.4\"\nslower = true\n\
         [[claim]]\ntext = \"x\"\nsystems = \"*\"\nlowest = \"8.0.44\"\nquantity = \"qps\"\n\
         [[claim]]\ntext = \"x\"\nslower = true\n",
    );
    let own = |name: &str, here: &str| (name.to_owned(), here.to_owned());
    let counterparts = BTreeMap::from([
        own("mysql@5.6.51", "mysql@5.6.14"),
        own("mysql@8.0.44", "mysql@8.0.33"),
        own("mysql@9.5.0", "mysql@9.7"),
    ]);
    let checked = check_claims(&file.claims, &[record()], &counterparts);
    let found: Vec<ClaimStatus> = checked.iter().map(CheckedClaim::status).collect();
    let [holds, unknown] = [ClaimStatus::Holds, ClaimStatus::Unknown];
    assert_eq!(found, [holds, unknown, holds, holds]);
    let missing = ["`mysql@8.4` is not among the systems: mysql@5.6.14, mysql@8.0.33"];
    assert_eq!(checked[1].parts[0].missing, missing);
    let figures = &checked[0].parts[0].checked.figures;
    assert_eq!(figures[0].0.than.as_deref(), Some("mysql@5.6.14"));
    // Without counterparts, 5.6.51 is none of the systems.
    let checked = check_claims(&file.claims[..1], &[record()], &BTreeMap::new());
    assert_eq!(checked[0].status(), unknown);
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let with = |lines: &str| format!("[[claim]]\nsource = \"s\"\ntext = \"x\"\n{lines}\n");
    let cases = [
        String::new(),
        "claims = 1".to_owned(),
        "claim = []".to_owned(),
        "[[claim]]\ntext = \"x\"\nfaster = true".to_owned(),
        "[[claim]]\nsource = \"x\"\nfaster = true".to_owned(),
        with(""),
        with("faster = true\nslower = true"),
        with("fastr = true"),
        with("text2 = 1\nfaster = true"),
        with("faster = false"),
        with("faster = \"5\""),
        with("about = 1"),
        with("faster = true\nwithin = \"5%\""),
        with("between = [2, 1]"),
        with("between = [1]"),
        with("at-least = \"20%\""),
        with("at-least = nan"),
        with("quantity = \"qps\"\nat-least = \"-20%\""),
        with("quantity = \"rqsp\"\nat-least = 1"),
        with("quantity = \"qps\"\nfaster = true"),
        with("quantity = \"qps\"\nthan = \"5.6\"\nat-least = 1"),
        with("faster = true\nin = \"10 of 9\""),
        with("faster = true\nin = 1.5"),
        with("faster = true\ntests = \"[a\""),
        with("faster = true\nclients = \"8-4\""),
        with("faster = true\nsystems = []"),
        with("[[claim.part]]\ntext = \"x\""),
    ];
    let shown = cases.iter().map(|text| {
        let error = read_claims("claims.toml", text).map(|_| ()).unwrap_err();
        let hints: Vec<String> = error.hints().iter().map(|hint| format!("hint: {hint}")).collect();
        format!("{error}\n{}\n", hints.join("\n"))
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}
