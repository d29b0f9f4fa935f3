//! Studies of a ledger are shown, named and removed.

use serde_json::Value;

use crate::common::Place;

#[test]
fn a_study_is_shown_named_and_removed() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let said = |args: &[&str], code: i32| -> String {
        let output = place.run_to_end(args);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        text
    };
    let missing = said(&["studies", "rm", "x"], 2);
    assert!(missing.contains("there is no such file") && !place.ledger().exists(), "{missing}");
    for (file, rate) in [("a", 1000), ("b", 2000)] {
        let path = folder.path().join(file);
        let table = format!("col-1 : my5651\ncol-2 : my8036\n{rate}\t900\tpoint-query_range=100\n");
        fs_err::write(&path, table).unwrap();
        said(&["import", "mytools", path.to_str().unwrap()], 0);
    }
    let ids = || -> Vec<String> {
        let list: Value = serde_json::from_str(&said(&["studies", "--format", "json"], 0)).unwrap();
        let studies = list["studies"].as_array().unwrap();
        studies.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let [second, first] = ids().try_into().unwrap();
    let table = said(&["report", &first, "latest", &second, "--format", "csv"], 0);
    let count = |id: &str| table.lines().filter(|line| line.starts_with(id)).count();
    assert_eq!((table.lines().count(), count(&first), count(&second)), (5, 2, 2), "{table}");
    assert!(said(&["report", &first, &second], 2).contains("only CSV has several studies"));
    said(&["studies", "name", &first, "before"], 0);
    assert!(said(&["studies", "name", &second, "before"], 2).contains("a study `before`"));
    let list = said(&["studies"], 0);
    assert!(list.contains(&format!("{first} (before)")) && list.contains("imported 20"), "{list}");
    let page = folder.path().join("x.html");
    said(&["studies", "-o", page.to_str().unwrap()], 0);
    assert!(fs_err::read_to_string(&page).unwrap().contains(&format!("{first} (before)")));
    let shown: Value =
        serde_json::from_str(&said(&["studies", "show", "befo", "--format", "json"], 0)).unwrap();
    assert_eq!((&shown["name"], &shown["state"]), (&"before".into(), &"finished".into()));
    assert_eq!((&shown["tests"][0], &shown["slices"]), (&"point-query".into(), &2.into()));
    assert!(shown["started"].is_null() && shown["elapsed_s"].is_null(), "{shown}");
    assert!(shown["bytes"].as_u64().unwrap() > 100 && shown["systems"][1]["verdicts"].is_null());
    assert!(said(&["studies", "show", "before"], 0).contains("mysql@8.0.36"));
    assert!(said(&["studies", "rm", "before", "none"], 2).contains("it has no study `none`"));
    assert_eq!(ids().len(), 2);
    let removed = said(&["studies", "rm", "before", &first], 0);
    assert_eq!(removed.lines().count(), 1, "{removed}");
    assert!(removed.contains("2 slices"), "{removed}");
    assert_eq!(ids(), [second]);
}
