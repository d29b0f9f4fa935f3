//! Posts that are listed, and redone from a study of the ledger or on real servers.

use serde_json::Value;

use crate::common::Place;

/// Two versions of a post, with the ratios that it prints.
const TABLE: &str = "col-1 : x.ma100230_rel_withdbg.z12a_c8r32.pk1\n\
    col-2 : x.ma110410_rel_withdbg.z12b_c8r32.pk1\n\
    1000\t990\thot-points_range=100\n1000\t930\tpoint-query_range=100\n\
    100\t112\tscan_range=100\n1000\t960\tinsert_range=100\n";

#[track_caller]
fn said(place: &Place, args: &[&str], code: i32) -> String {
    let output = place.run_to_end(args);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    if code == 2 { stderr } else { String::from_utf8(output.stdout).unwrap() }
}

#[test]
fn posts_are_listed_and_found_by_a_part_of_their_names() {
    let place = Place::new();
    let list: Value =
        serde_json::from_str(&said(&place, &["post", "--format", "json"], 0)).unwrap();
    let posts = list["posts"].as_array().unwrap();
    assert!(posts.iter().any(|post| post["subject"] == "mariadb-latin1"), "{list:#}");
    let list = said(&place, &["post"], 0);
    assert!(list.contains("2026-04-mariadb-latin1") && list.contains("30 min"), "{list}");
    assert!(said(&place, &["post", "insert-benchmark"], 2).contains("name one of 2025-08-"));
    assert!(said(&place, &["post", "latin2"], 2).contains("no single post `latin2`"));
    assert!(said(&place, &["post", "latin1", "-o", "x.csv"], 2).contains("a post has no CSV"));
    let steps = said(&place, &["post", "2025-08-insert-benchmark", "--instructions"], 2);
    assert!(steps.contains("assay count --suite insert-bench"), "{steps}");
}

#[test]
fn a_post_is_redone_from_the_author_s_own_numbers() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("qps.abs.x.tsv");
    fs_err::write(&table, TABLE).unwrap();
    said(&place, &["import", "mytools", table.to_str().unwrap()], 0);
    let post = ["post", "latin1", "--study", "latest"];
    let page: Value =
        serde_json::from_str(&said(&place, &[&post[..], &["--format", "json"]].concat(), 0))
            .unwrap();
    let tables = page["parts"][0]["tables"].as_array().unwrap();
    let numbers = tables.iter().flat_map(|table| table["numbers"].as_array().unwrap());
    let known: Vec<&Value> = numbers.filter(|number| !number["here"].is_null()).collect();
    assert_eq!(known.len(), 4, "{page:#}");
    for number in known {
        assert_eq!(number["system"], "mariadb@11.4.10");
        assert!(number["difference"].as_f64().unwrap().abs() < 1e-9, "{number:#}");
        assert!(number["is_within"].is_null(), "a published value has no interval: {number:#}");
    }
    let text = said(&place, &post, 0);
    assert!(text.contains("claims") && text.contains("what differs from the post"), "{text}");
    let refused = said(&place, &["post", "latin1", "--study", "latest,latest"], 2);
    assert!(refused.contains("fewer studies"), "{refused}");
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn the_shortest_post_is_redone_on_real_servers() {
    let place = Place::new();
    let output = place.run_to_end(&["post", "2025-08-insert-benchmark", "--format", "json"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A step that lost its background rate is a result.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{stderr}");
    let page: Value = serde_json::from_slice(&output.stdout).unwrap();
    let table = &page["parts"][0]["tables"][0];
    assert!(table["correlation"]["value"].as_f64().unwrap() > 0.5, "{table:#}");
    let study = page["parts"][0]["claims"]["studies"][0].as_str().unwrap();
    let again = ["post", "2025-08-insert-benchmark", "--study", study, "--format", "json"];
    assert_eq!(place.run_to_end(&again).stdout, output.stdout);
}
