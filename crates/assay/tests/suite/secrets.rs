//! Passwords and tokens wherever a user may have them: none is stored or shown.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Place;
use crate::web::{self, Web, broken_off, reply};

const CANARY: &str = "canary7f3a";

fn has_it(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

fn holding(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(holding(&path));
        } else if kind.is_file() && has_it(&fs_err::read(&path).unwrap()) {
            found.push(path);
        }
    }
    found
}

/// The environment of a server left running, and of its supervisor, stays readable while they run.
#[test]
fn a_server_that_stays_keeps_nothing_of_the_users_environment() {
    let place = Place::bare();
    let start = ["server", "start", "mariadb@11.8", "--offline", "--format", "json", "--name", "s"];
    let mut command = place.command(&start);
    let output = command.env("AWS_SECRET_ACCESS_KEY", CANARY).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let started: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let server = started["pid"].as_i64().unwrap();
    let status = fs_err::read_to_string(format!("/proc/{server}/status")).unwrap();
    let supervisor = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim();
    let line = fs_err::read(format!("/proc/{supervisor}/cmdline")).unwrap();
    assert!(line.windows(9).any(|it| it == b"supervise"), "{}", String::from_utf8_lossy(&line));
    let supervisors = fs_err::read(format!("/proc/{supervisor}/environ")).unwrap();
    assert_eq!(String::from_utf8_lossy(&supervisors), "");
    assert!(!has_it(&fs_err::read(format!("/proc/{server}/environ")).unwrap()));
    assert_eq!(place.run_to_end(&["server", "stop", "s"]).status.code(), Some(0));
    place.assert_nothing_left();
}

#[test]
fn logins_are_neither_stored_nor_shown() {
    let web = Web::new(|request, _| match request.path.as_str() {
        // An interrupted download is recorded, so that it can continue.
        path if path.ends_with(".tar.gz") => {
            let content = vec![0; 1 << 16];
            broken_off(web::file(request, "\"a\"", &content), 1 << 10)
        }
        _ => reply("404 Not Found", &[], b""),
    });
    let with_login = web.url("").replace("://", &format!("://me:{CANARY}@"));
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let catalog = folder.path().join("catalog.toml");
    let row = format!(
        "[[package]]\nproduct = 'mysql'\nsource = 'tarball'\nname = 'loopback'\n\
         [package.tarballs]\nseries = ['5.7']\nknown = ['5.7.97']\nat = ['{with_login}/']\n\
         files = ['mysql-{{version}}-linux-glibc2.12-x86_64.tar.gz']\n"
    );
    fs_err::write(&catalog, row).unwrap();
    let git = format!("mysql@git:{with_login}/x.git#v1");
    let misspelt = format!("mysql@git:{with_login}/x.git#v1+oops");
    let url = format!("mysql://me:{CANARY}@127.0.0.1:1/sbtest");
    let other = format!("postgres://me:{CANARY}@127.0.0.1:1/sbtest");
    let unreadable = format!("mysql://me:{CANARY}@127.0.0.1:one/sbtest");
    let commands: [&[&str]; 7] = [
        &["server", "get", "mysql@5.7.97", "--accept-expired-index"],
        &["server", "get", &git],
        &["compare", &git, &misspelt],
        &["compare", &git, "mariadb@10.11", "--tests", "point-query"],
        &["compare", &url, &other],
        &["load", &url],
        &["bench", &unreadable, "--test", "point-query"],
    ];
    for words in commands {
        let mut command = place.command(words);
        command.env("ASSAY_CATALOG", &catalog).env("RUST_LOG", "trace");
        let output = command.env("ASSAY_PASSWORD", CANARY).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(!has_it(&output.stderr) && !has_it(&output.stdout), "{words:?}: {text}");
    }
    let home = place.ledger().parent().unwrap().to_owned();
    assert_eq!(holding(&home), Vec::<PathBuf>::new());
    assert!(place.cache().join("tarball").is_dir(), "the download was begun");
    let requests = web.requests();
    let asked = |end: &str| requests.iter().any(|request| request.path.contains(end));
    assert!(asked(".tar.gz") && asked("x.git"), "{requests:?}");
}

#[test]
fn a_password_on_the_command_line_is_hidden_from_other_users() {
    // The server does not answer, so the program still runs when its command line is read.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("mysql://me:{CANARY}@127.0.0.1:{port}/sbtest");
    let place = Place::bare();
    let mut bench = place.command(&["bench", &url, "--test", "scan"]).spawn().unwrap();
    // By the time it connects, it has parsed the command line.
    let connected = silent.accept().unwrap();
    let line = fs_err::read(format!("/proc/{}/cmdline", bench.id())).unwrap();
    bench.kill().unwrap();
    bench.wait().unwrap();
    drop(connected);
    let line = String::from_utf8_lossy(&line);
    assert!(line.contains("bench") && line.contains("127.0.0.1"), "{line}");
    assert!(!line.contains(CANARY), "{line}");
}

/// Typical mistakes of users: each is an error, and none shows a possible password.
#[test]
fn errors_show_no_secrets() {
    let place = Place::bare();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs_err::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let study = file("a.toml", format!("compare = ['mysql://root:{CANARY}@127.0.0.1:1/db', 3]\n"));
    let source = file(
        "b.toml",
        format!("compare = ['mysql@8.0', 'mysql@5.7']\nsource = 'https://u:{CANARY}@h'\n"),
    );
    let option = format!("mysql@8.0+x_pwd={CANARY}+oops");
    let catalog = file("catalog.toml", format!("at = ['https://u:{CANARY}@h/', 3\n"));
    let url = |password: &str| format!("mysql://root:{password}{CANARY}@127.0.0.1:1/db");
    let git = |login: &str| format!("mysql@git:https://{login}{CANARY}@127.0.0.1:1/x.git#v1");
    let commands: Vec<Vec<String>> = [
        vec!["run", &study],
        vec!["run", &source, "--offline"],
        vec!["server", "get", "mysql@8.0", "--source", &url("")],
        vec!["compare", "mysql@8.0", "mysql@5.7", "--tests", &url("")],
        vec!["server", "stop", &url("")],
        vec!["server", "get", &option],
        vec!["server", "get", &git("u:a(")],
        vec!["server", "get", &git("u:a\"")],
        vec!["server", "get", &git("u:a ")],
        vec!["server", "get", &git("u:1/")],
        vec!["server", "get", &git("").replace("https", "HTTPS")],
        vec!["server", "get", &format!("mysql@git:https://h/x?access_token={CANARY}#v1")],
        vec!["load", &format!("mysql://root:{CANARY}?x@127.0.0.1:1/db")],
        vec!["load", &format!("mysql://root:{CANARY}/db")],
        vec!["load", &format!("mysql://u@/db?{CANARY}")],
        vec!["load", &format!("jdbc:mysql://h/db?user=root&password={CANARY}")],
        vec!["load", &format!("host=h password={CANARY}")],
        vec!["compare", &format!("mysql@root:{CANARY}@h/db"), "mysql@8.0"],
    ]
    .map(|words| words.into_iter().map(str::to_owned).collect())
    .into();
    let refused = |words: &[&str], own_catalog: Option<&str>| {
        let mut command = place.command(words);
        command.env("RUST_LOG", "trace").envs(own_catalog.map(|it| ("ASSAY_CATALOG", it)));
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(!has_it(&output.stderr) && !has_it(&output.stdout), "{words:?}: {text}");
    };
    for words in commands {
        refused(&words.iter().map(String::as_str).collect::<Vec<_>>(), None);
    }
    refused(&["server", "get", "mysql@8.0"], Some(&catalog));
    let home = place.ledger().parent().unwrap().to_owned();
    assert_eq!(holding(&home), Vec::<PathBuf>::new());
}

/// Whatever the umask, other users must not be able to change programs that assay runs, or read the data of servers.
#[test]
fn created_files_are_private() {
    let place = Place::bare();
    let start = ["server", "start", "mariadb@11.8", "--offline", "--name", "open"];
    let words = ["-c", "umask 000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_assay")];
    let plain = place.command(&start);
    let mut command = Command::new("sh");
    command.args(words).args(start).stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let home = place.ledger().parent().unwrap().to_owned();
    let open = open_to_others(&home);
    assert!(place.run_to_end(&["server", "stop", "open"]).status.success());
    assert_eq!(open, Vec::<PathBuf>::new());

    fs_err::set_permissions(place.cache(), Permissions::from_mode(0o777)).unwrap();
    let output = place.run_to_end(&start);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("every user") && text.contains("hint: "), "{text}");
    assert_eq!(output.status.code(), Some(2));
}

/// Files that others may write to and can reach. Files below directories that they may not enter do not count.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        let mode = metadata.permissions().mode();
        if !metadata.is_symlink() && mode & 0o022 != 0 {
            found.push(path.clone());
        }
        if metadata.is_dir() && mode & 0o077 != 0 {
            found.extend(open_to_others(&path));
        }
    }
    found
}
