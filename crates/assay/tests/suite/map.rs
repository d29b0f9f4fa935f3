//! The map of instructions: answers from a small one without a server, and a release counted into it.

use std::path::Path;

use serde_json::Value;

use crate::common::{Place, printed};

const CELLS: &str = "product,version,source,program,test,digest,terms,instructions,half_width,background,times,\
    counter,shown\n";

/// A folder with a map of four releases and one gap.
fn small_map() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = CELLS.to_owned();
    for (version, level) in
        [("5.7.44", 40_000), ("8.0.11", 40_040), ("8.0.12", 50_050), ("8.0.33", 50_000)]
    {
        text += &format!(
            "mysql,{version},maven,0a,scan,d1,lean,{level}.0,4.0,,2,valgrind 3.19.0,avx2\n"
        );
    }
    fs_err::write(folder.path().join("mysql.csv"), text).unwrap();
    let gaps =
        "product,version,source,test,digest,reason\nmysql,5.5.62,maven,,,it ends under valgrind\n";
    fs_err::write(folder.path().join("gaps.csv"), gaps).unwrap();
    folder
}

fn answered(place: &Place, folder: &Path, args: &[&str], code: i32) -> String {
    let folder = folder.to_str().unwrap();
    let output = place.run_to_end(&[&["map"][..], args, &["--dir", folder]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    if code == 2 { stderr } else { String::from_utf8(output.stdout).unwrap() }
}

#[test]
fn a_map_answers_without_a_server() {
    let (place, map) = (Place::new(), small_map());
    let text = answered(&place, map.path(), &["mysql@5.7.44", "mysql@8.0"], 0);
    assert!(
        text.contains("mysql@8.0.33 executes more") && text.contains("8.0.12 +25.0%"),
        "{text}"
    );
    let json = answered(&place, map.path(), &["mysql@8.0.33", "mysql@5.7", "--format", "json"], 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tests"][0]["verdict"], "fewer", "{json:#}");
    assert_eq!(json["tests"][0]["steps"][0]["to"], "8.0.11", "{json:#}");
    let history = answered(&place, map.path(), &["mysql@8.0"], 0);
    assert!(history.contains("mysql@5.7.44 to mysql@8.0.33, 4 releases"), "{history}");
}

#[test]
fn what_a_map_lacks_is_named_with_advice() {
    let (place, map) = (Place::new(), small_map());
    let lacking = answered(&place, map.path(), &["mysql@8.0.20", "mysql@8.0.33"], 2);
    assert!(lacking.contains("its neighbours in the map are 8.0.12 and 8.0.33"), "{lacking}");
    assert!(lacking.contains("assay map fill --product mysql --versions 8.0.20"), "{lacking}");
    let gap = answered(&place, map.path(), &["mysql@5.5", "mysql@8.0.33"], 2);
    assert!(gap.contains("it ends under valgrind"), "{gap}");
    let tests = ["mysql@5.7.44", "mysql@8.0.33", "--tests", "hot*"];
    let none = answered(&place, map.path(), &tests, 2);
    assert!(none.contains("no comparable counts of these tests"), "{none}");
    let empty = tempfile::tempdir().unwrap();
    let no_map = answered(&place, empty.path(), &["mysql@8.0"], 2);
    assert!(no_map.contains("no files of the map"), "{no_map}");
    let output = place.run_to_end(&["map", "fill", "--product", "oracle"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("the products are"), "{stderr}");
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn a_release_is_counted_into_a_map_and_checked_against_it() {
    let place = Place::with("postgres@16");
    let map = tempfile::tempdir().unwrap();
    let header = "product,version,source,test,digest,reason\n";
    fs_err::write(map.path().join("gaps.csv"), header).unwrap();
    fs_err::write(map.path().join("postgres.csv"), CELLS).unwrap();
    let few = ["--versions", "16", "--tests", "point-query,hot-points*", "--offline"];
    let fill = [&["fill", "--product", "postgres"][..], &few].concat();
    answered(&place, map.path(), &fill, 0);
    let cells = fs_err::read_to_string(map.path().join("postgres.csv")).unwrap();
    assert!(cells.lines().count() > 2 && cells.contains(",point-query,"), "{cells}");
    let gaps = fs_err::read_to_string(map.path().join("gaps.csv")).unwrap();
    assert_eq!(gaps, header);
    assert!(fs_err::metadata(map.path().join("postgres.functions.gz")).unwrap().len() > 100);
    // Nothing is lacking any more.
    answered(&place, map.path(), &fill, 0);
    assert_eq!(fs_err::read_to_string(map.path().join("postgres.csv")).unwrap(), cells);
    let folder = map.path().to_str().unwrap();
    let check = ["map", "check", "postgres@16", "--random", "1", "--tests", "point-query"];
    let rest = ["--offline", "--dir", folder, "--format", "json"];
    let checked = printed(&place.run_to_end(&[&check[..], &rest].concat()), 0);
    assert_eq!(checked["tests"][0]["agrees"], true, "{checked:#}");
    place.assert_nothing_left();
}
