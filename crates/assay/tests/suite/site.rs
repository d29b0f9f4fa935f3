//! A site of imported results, and folders that it must not replace.

use crate::common::Place;

#[test]
fn a_site_has_the_studies_of_a_ledger_and_replaces_only_its_own_folder() {
    let place = Place::new();
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table");
    let rows = "col-1 : my5651\ncol-2 : my8036\ncol-3 : my5744\n1000\t900\t950\tpoint-query\n";
    fs_err::write(&table, rows).unwrap();
    assert!(place.run_to_end(&["import", "mytools", table.to_str().unwrap()]).status.success());
    let site = folder.path().join("site");
    let write = || {
        let output = place.run_to_end(&["site", site.to_str().unwrap()]);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    for _ in 0..2 {
        let (code, text) = write();
        assert!(code == Some(0) && text.contains("site/index.html"), "{code:?} {text}");
    }
    let index = fs_err::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("href=\"studies/imported-") && index.contains("1 study"), "{index}");
    let trend = fs_err::read_to_string(site.join("trends/point-query.html")).unwrap();
    assert!(trend.contains("5.7.44") && trend.contains("8.0.36"), "{trend}");
    fs_err::write(site.join("CNAME"), "mine").unwrap();
    let (code, text) = write();
    assert!(code == Some(2) && text.contains("`CNAME`"), "{code:?} {text}");
    assert!(text.contains("hint: name a new or empty folder"), "{text}");
}
