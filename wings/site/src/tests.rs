//! The site of a small map, the posts, and a recorded study.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use assay_ledger::Ledger;
use assay_map_data::{CellFunctions, MapCell, MapFunction, functions_text, read_rows};
use assay_report::FOLDER_PAGE_BYTES;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::*;

const HEADER: &str = "product,version,source,program,test,digest,terms,instructions,half_width,background,times,\
    counter,shown\n";

const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/assay-ledger/tests/recorded/study.db.gz");

/// Three tests over three releases. `scan` changes with the second, another one with the third.
fn map(folder: &Path) {
    let mut text = HEADER.to_owned();
    for (version, scan, update) in [
        ("8.0.11", 40_000.0, 20_000.0),
        ("8.0.12", 50_000.0, 20_000.0),
        ("8.0.33", 50_000.0, 18_000.0),
    ] {
        for (test, level) in [("scan", scan), ("\"up<i>date\"\"\"", update), ("point-query", 9e3)] {
            text += &format!(
                "mysql,{version},maven,0a,{test},d1,lean,{level:.1},1.0,,2,valgrind 3,avx2\n"
            );
        }
    }
    fs_err::write(folder.join("mysql.csv"), &text).unwrap();
    let function = |instructions| {
        let [module, name] = ["mysqld", "row_search<mvcc>"].map(str::to_owned);
        vec![MapFunction { instructions, module, name }]
    };
    let cells: Vec<MapCell> = read_rows("mysql.csv", &text).unwrap();
    let functions: CellFunctions =
        cells.iter().map(|cell| (cell.key(), function(cell.instructions / 2.0))).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(functions_text(&functions).as_bytes()).unwrap();
    fs_err::write(folder.join("mysql.functions.gz"), encoder.finish().unwrap()).unwrap();
}

/// A ledger with one study, and the id of the study.
fn ledger(folder: &Path) -> (PathBuf, String) {
    let mut bytes = Vec::new();
    GzDecoder::new(fs_err::File::open(RECORDED).unwrap()).read_to_end(&mut bytes).unwrap();
    let path = folder.join("ledger.db");
    fs_err::write(&path, bytes).unwrap();
    let studies = Ledger::open_read_only(&path).unwrap().studies().unwrap();
    (path, studies[0].id.clone())
}

/// All files below a folder, by their paths.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs_err::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            found.insert(name, fs_err::read_to_string(path).unwrap());
        }
    }
    found
}

fn files_of(folder: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn site(folder: &Path, ledger: &Path, map: &Path) -> SiteArgs {
    SiteArgs {
        folder: folder.to_owned(),
        ledgers: vec![ledger.to_owned()],
        map: Some(map.to_owned()),
        book: Some("book/index.html".to_owned()),
    }
}

/// Pieces of text, one a line, without markup, style and scripts.
fn words(page: &str) -> String {
    let main = page.split_once("<main>").unwrap().1.split_once("</main>").unwrap().0;
    let pieces = main.split('<').filter_map(|piece| piece.split_once('>'));
    let pieces = pieces.map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
    pieces.collect::<Vec<_>>().join("\n")
}

/// Every address leads to a file of the site, or to its book.
fn check_links(name: &str, page: &str, files: &BTreeMap<String, String>) {
    for address in page.split("href=\"").skip(1) {
        let address = address.split('"').next().unwrap();
        let path = address.split('#').next().unwrap();
        if path.is_empty() {
            continue;
        }
        let mut at: Vec<&str> = name.split('/').collect();
        at.pop();
        for part in path.split('/') {
            match part {
                ".." => assert!(at.pop().is_some(), "{name}: {address}"),
                part => at.push(part),
            }
        }
        let target = at.join("/");
        assert!(target == "book/index.html" || files.contains_key(&target), "{name}: {address}");
    }
}

#[test]
fn a_site_is_whole_small_and_always_the_same() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs_err::create_dir(at("map")).unwrap();
    map(&at("map"));
    let (ledger, id) = ledger(place.path());
    site(&at("one"), &ledger, &at("map")).run(None).unwrap();
    site(&at("two/three"), &ledger, &at("map")).run(None).unwrap();
    // It replaces its own.
    site(&at("one"), &ledger, &at("map")).run(None).unwrap();
    let files = files(&at("one"));
    assert_eq!(files, self::files(&at("two/three")));
    let left = files_of(place.path()).into_iter().find(|name| name.starts_with(".assay-"));
    assert_eq!(left, None, "nothing is left behind");

    let is_own = |name: &&String| !name.starts_with("posts/") && !name.starts_with("trends/");
    let names: Vec<String> =
        files.keys().filter(is_own).map(|name| name.replace(&id, "STUDY")).collect();
    assert_eq!(
        names,
        [
            ".assay-site",
            "index.html",
            "map/mariadb.html",
            "map/mysql.html",
            "map/mysql/8.0.11..8.0.12.html",
            "map/mysql/8.0.12..8.0.33.html",
            "map/mysql/point-query.html",
            "map/mysql/scan.html",
            "map/mysql/up-i-date-.html",
            "map/postgres.html",
            "posts.html",
            "studies.html",
            "studies/STUDY.html",
            "trends.html",
        ]
    );
    for (name, page) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        assert!(page.len() <= FOLDER_PAGE_BYTES, "{name}: {}", page.len());
        for outside in ["href=\"http", "href=\"/", "src=", "url(", "@import"] {
            assert!(!page.contains(outside), "{name}: {outside}");
        }
        assert!(!page.contains("<i>date") && !page.contains("<mvcc>"), "{name}");
        assert_eq!(page.matches("<script").count(), page.matches("</script>").count(), "{name}");
        check_links(name, page, &files);
    }
    insta::assert_snapshot!(words(&files["map/mysql.html"]));
    let pair = words(&files["map/mysql/8.0.11..8.0.12.html"]);
    for part in ["in 1 of 3 tests", "scan", "+25.0%", "row_search&#60;mvcc&#62;", "+5,000"] {
        assert!(pair.contains(part), "{part}\n{pair}");
    }
    let scan = &files["map/mysql/scan.html"];
    assert!(scan.contains("href=\"../../map/mysql/8.0.11..8.0.12.html\">8.0.12</a>"), "{scan}");
    assert!(files["index.html"].contains("\nmap/mysql/scan\tmysql scan\n"), "the search");
}

#[test]
fn a_site_without_counts_says_so() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs_err::create_dir(at("map")).unwrap();
    fs_err::write(at("map/mysql.csv"), HEADER).unwrap();
    let (ledger, _) = ledger(place.path());
    site(&at("site"), &ledger, &at("map")).run(None).unwrap();
    let files = files(&at("site"));
    assert!(files["index.html"].contains("the map has no counts yet"));
    assert!(files["map/postgres.html"].contains("assay map fill --product postgres"));
    let post = &files["posts/2026-04-mariadb-latin1.html"];
    for part in ["not measured here yet", "Point queries", "mariadb@10.2.11", "0.91"] {
        assert!(post.contains(part), "{part}");
    }
}

#[test]
fn only_a_folder_of_its_own_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs_err::create_dir_all(at("full/map")).unwrap();
    fs_err::write(at("full/index.html"), "mine").unwrap();
    fs_err::write(at("file"), "mine").unwrap();
    let refused = |name: &str| SiteFolder::new(&at(name), None).unwrap_err().to_string();
    assert!(refused("full").contains("is not empty"));
    assert!(refused("file").contains("is not a folder"));
    fs_err::create_dir(at("empty")).unwrap();
    SiteFolder::new(&at("empty"), None).unwrap().publish().unwrap();
    SiteFolder::new(&at("empty"), None).unwrap();
    fs_err::write(at("empty/CNAME"), "mine").unwrap();
    assert!(refused("empty").contains("`CNAME`, which `assay site` did not write"));
    fs_err::remove_file(at("empty/CNAME")).unwrap();
    fs_err::create_dir(at("empty/map")).unwrap();
    fs_err::write(at("empty/map/mine.html"), "mine").unwrap();
    assert!(refused("empty").contains("`map/mine.html`"));
    assert_eq!(fs_err::read_to_string(at("full/index.html")).unwrap(), "mine");
}

#[test]
fn pages_lead_only_below_the_folder() {
    let path = |book: &str| {
        let book = Some(book.to_owned());
        let args = SiteArgs { folder: PathBuf::new(), ledgers: Vec::new(), map: None, book };
        args.book_path().is_ok()
    };
    assert!(path("book/index.html"));
    for outside in
        ["https://example.org", "javascript:x", "//example.org", "/x", "../x", "a/../../x"]
    {
        assert!(!path(outside), "{outside}");
    }
}

#[test]
fn names_of_files_are_plain_and_unique() {
    let mut taken = std::collections::BTreeSet::new();
    let mut name = |text: &str| folder::file_name(text, &mut taken);
    let names = ["read-only_range=10", "a/b", "a:b", "A:B", "..", ""].map(&mut name);
    assert_eq!(names, ["read-only_range=10", "a-b", "a-b-2", "A-B-3", "..", "-2"]);
}
