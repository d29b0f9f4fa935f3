//! One test over many studies.

use serde_json::Value;

use crate::common::Place;

#[test]
fn values_of_different_studies_are_apart_unless_they_are_comparable() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    for (file, rate) in [("a", 1000), ("b", 2000)] {
        let path = folder.path().join(file);
        let table = format!(
            "col-1 : my5651\ncol-2 : my8036\ncol-3 : my5744\n{rate}\t900\t950\tpoint-query\n"
        );
        fs_err::write(&path, table).unwrap();
        assert!(place.run_to_end(&["import", "mytools", path.to_str().unwrap()]).status.success());
    }
    let trend = |args: &[&str]| {
        let output = place.run_to_end(&[&["trend"][..], args].concat());
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let (code, text) = trend(&["point-query", "--format", "json"]);
    assert_eq!(code, Some(0), "{text}");
    let json: Value = serde_json::from_str(&text).unwrap();
    // The machines of two posts are unknown, so they may differ.
    assert_eq!(json["lines"].as_array().unwrap().len(), 2, "{json:#}");
    let line = &json["lines"][0];
    let versions: Vec<&Value> =
        line["points"].as_array().unwrap().iter().map(|it| &it["version"]).collect();
    assert_eq!(versions, ["5.7.44", "8.0.36"]);
    // Without an interval, nothing is called a change.
    assert!(line["changes"].is_null() && line["points"][0]["rqps"]["low"].is_null(), "{line:#}");
    let (_, one) = trend(&["point-query", "--system", "*8.0*", "--clients", "1"]);
    assert!(one.contains("8.0.36") && !one.contains("5.7.44"), "{one}");
    let (code, none) = trend(&["point-qery"]);
    assert_eq!(code, Some(2));
    assert!(none.contains("no study of the ledger has a test"));
    assert!(none.contains("did you mean `point-query`?"), "{none}");
    // A pattern with a single match is that test.
    assert_eq!(trend(&["point-q*", "--format", "json"]).1, text);
    let (code, csv) = trend(&["point-query", "--format", "csv"]);
    let values = json["lines"].as_array().unwrap().iter();
    let values: usize = values.map(|line| line["points"].as_array().unwrap().len()).sum();
    assert_eq!((code, csv.lines().count()), (Some(0), 1 + values), "{csv}");
}
