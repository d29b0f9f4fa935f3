//! Servers built from source: trees so small that the real tools build them in a moment.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::{BuildFlag, Hint as _, Origin, Prefix, Product, SystemSpec};
use assay_provision::{Cleaning, ProvisionError, ProvisionOptions, ProvisionProgress, Provisioner};
use assay_testkit::eventually;
use fs_err as fs;
use tempfile::TempDir;

use crate::web::{Web, reply};

/// A Postgres with only the parts that a prefix needs. It reports its configuration.
const CONFIGURE: &str = r#"#!/bin/sh
PACKAGE_VERSION='16.9'
source=$(dirname "$0")
for word; do case "$word" in --prefix=*) prefix=${word#*=} ;; esac; done
echo "$*" > flags
case $source in "$CCACHE_BASEDIR"/*) echo "its paths are the same for every commit" >> flags ;; esac
cat > Makefile <<END
all:
	sh $source/compile $source > postgres
install:
	mkdir -p \$(DESTDIR)$prefix/bin \$(DESTDIR)$prefix/share
	cp postgres \$(DESTDIR)$prefix/bin
	chmod +x \$(DESTDIR)$prefix/bin/postgres
	cp flags \$(DESTDIR)$prefix/share
END
"#;

const COMPILE: &str = "echo '#!/bin/sh'\necho 'echo \"postgres (PostgreSQL) 16.9\"'\n";

const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)
project(server NONE)
install(PROGRAMS mysqld DESTINATION bin)
install(DIRECTORY charsets DESTINATION share)
";

const MYSQL_VERSION: &str = "MYSQL_VERSION_MAJOR=8
MYSQL_VERSION_MINOR=0
MYSQL_VERSION_PATCH=41
MYSQL_VERSION_EXTRA=-x
";

struct Home {
    directory: TempDir,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        git(home.directory.path(), &["init", "-q", "tree"]);
        home.commit("v1", files);
        home
    }

    fn postgres() -> Self {
        Self::new(&[("configure", CONFIGURE), ("compile", COMPILE)])
    }

    fn tree(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    fn commit(&self, tag: &str, files: &[(&str, &str)]) {
        write(&self.tree(), files);
        git(&self.tree(), &["add", "."]);
        git(&self.tree(), &["commit", "-q", "-m", tag]);
        git(&self.tree(), &["tag", tag]);
    }

    fn catalog(&self, text: &str) {
        fs::write(self.directory.path().join("catalog.toml"), text).unwrap();
    }

    fn provisioner(&self, options: ProvisionOptions) -> Provisioner {
        let provisioner = Provisioner::new(self.directory.path().join("cache"), options).unwrap();
        let catalog = self.directory.path().join("catalog.toml");
        if catalog.exists() { provisioner.with_catalog(&catalog).unwrap() } else { provisioner }
    }

    fn build(
        &self,
        product: Product,
        place: &str,
    ) -> (Result<Prefix, ProvisionError>, Vec<String>) {
        let mut message = Vec::new();
        let mut progress = |step| match step {
            ProvisionProgress::Building { what } => message.push(what),
            ProvisionProgress::Cached => message.push("cached".to_owned()),
            _ => {}
        };
        let provisioner = self.provisioner(ProvisionOptions::default());
        let prefix = provisioner.get(&system(product, place), &mut progress);
        (prefix, message)
    }

    fn get(&self, name: &str) -> Result<Prefix, ProvisionError> {
        self.build(Product::Postgres, &format!("{}{name}", self.tree().display())).0
    }

    /// The newest commit, built with flags.
    fn with_flags(
        &self,
        product: Product,
        flags: &[(BuildFlag, &str)],
    ) -> Result<Prefix, ProvisionError> {
        let build = flags.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect();
        let spec = SystemSpec { build, ..system(product, &self.tree().display().to_string()) };
        self.provisioner(ProvisionOptions::default()).get(&spec, &mut |_| {})
    }

    fn builds(&self) -> usize {
        fs::read_dir(self.directory.path().join("cache/builds")).unwrap().count()
    }
}

fn system(product: Product, place: &str) -> SystemSpec {
    SystemSpec::new(product, Origin::Git(place.to_owned()))
}

fn write(directory: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let who = ["user.name=test", "user.email=test@localhost", "protocol.file.allow=always"];
    who.iter().for_each(|it| {
        command.args(["-c", it]);
    });
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn flags(prefix: &Prefix) -> String {
    fs::read_to_string(prefix.layout.share_dir.join("flags")).unwrap()
}

#[test]
fn a_commit_is_built_once_and_the_repository_left_as_it_is() {
    let home = Home::postgres();
    fs::write(home.tree().join("compile"), "exit 1\n").unwrap();
    let before = git(&home.tree(), &["status", "--porcelain"]);
    let place = format!("{}#v1", home.tree().display());
    let (prefix, message) = home.build(Product::Postgres, &place);
    let prefix = prefix.unwrap();
    assert_eq!(message.first().unwrap(), &format!("checking out {place}"));
    assert_eq!((prefix.version.as_str(), prefix.layout.loader.as_ref()), ("16.9", None));
    let build = &prefix.build;
    assert_eq!((build.source.as_str(), build.channel.as_str()), ("git", place.as_str()));
    assert_eq!(build.package_version, "v1");
    let with = "built here by configure with `--without-icu ";
    assert!(build.notes[0].starts_with(with) && build.notes[0].ends_with(" CFLAGS=-O2 -g`"));
    assert!(build.notes[1].starts_with("compiled by cc"), "{:?}", build.notes);
    let output = Command::new(&prefix.layout.server).output().unwrap();
    assert_eq!(output.stdout, b"postgres (PostgreSQL) 16.9\n");
    let given = flags(&prefix);
    assert!(given.contains(&format!("--prefix={}", prefix.path.display())), "{given}");
    assert!(given.contains("its paths are the same for every commit"), "{given}");
    assert_eq!(git(&home.tree(), &["status", "--porcelain"]), before);
    assert_eq!(git(&home.tree(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(home.builds(), 0, "what was built in is gone");
    let (again, message) = home.build(Product::Postgres, &place);
    assert_eq!((again.unwrap(), message), (prefix.clone(), vec!["cached".to_owned()]));
    home.commit("v2", &[("compile", COMPILE), ("NEWS", "")]);
    assert_ne!(home.get("#v2").unwrap().path, prefix.path);
    assert_eq!(home.get("").unwrap().build.package_version, "v2");
}

#[test]
fn a_failed_build_shows_why_and_can_continue() {
    let home = Home::new(&[
        ("configure", CONFIGURE),
        (
            "compile",
            "[ -e \"$1/../fixed\" ] && exec sh \"$1/good\"\necho 'x.c:1: error: no uint8_t' >&2\nexit 1\n",
        ),
        ("good", COMPILE),
    ]);
    let place = home.tree().display().to_string();
    let error = home.get("#v1").unwrap_err();
    let ProvisionError::Build { step, lines, log, .. } = &error else { panic!("{error}") };
    assert_eq!(*step, "compiling");
    assert_eq!(lines[0], "x.c:1: error: no uint8_t");
    let said = fs::read_to_string(log).unwrap();
    assert!(said.contains("/configure --prefix=") && said.contains("$ make -j"), "{said}");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("compiling `{place}#v1` failed (exit status: 2); ")),
        "{text}"
    );
    assert!(text.contains("\n    x.c:1: error: no uint8_t\n"), "{text}");
    assert!(error.hints()[0].contains("[[build]]"));
    // Fixes the cause of the failure outside of the tree.
    fs::write(log.with_file_name("fixed"), "").unwrap();
    let (prefix, message) = home.build(Product::Postgres, &format!("{place}#v1"));
    assert!(
        prefix.is_ok() && !message.iter().any(|it| it.starts_with("checking out")),
        "{message:?}"
    );
}

#[test]
fn options_compilers_and_patches_come_from_a_catalog_and_make_another_server() {
    let home =
        Home::new(&[("configure", CONFIGURE), ("compile", "echo 'error: bad' >&2; exit 1\n")]);
    home.get("").unwrap_err();
    fs::write(home.tree().join("compile"), COMPILE).unwrap();
    let patch = git(&home.tree(), &["diff"]);
    fs::write(home.directory.path().join("mend.patch"), patch).unwrap();
    git(&home.tree(), &["checkout", "-q", "."]);
    let row = "[[build]]\nproduct = 'postgres'\ntool = 'configure'\nfrom = '16'\n";
    home.catalog(&format!("{row}patches = ['mend.patch']\n"));
    let mended = home.get("").unwrap();
    assert_eq!(mended.build.notes.last().unwrap(), "patched by `mend.patch`");
    home.catalog(&format!(
        "{row}patches = ['mend.patch']\noptions = ['--enable-x']\nc_flags = ['-O3']\ncc = 'gcc'\n"
    ));
    let other = home.get("").unwrap();
    assert_ne!(other.path, mended.path);
    let given = flags(&other);
    assert!(given.contains("--enable-x") && given.contains("CFLAGS=-O2 -g -O3"), "{given}");
    assert!(given.contains("CC=gcc") || given.contains("CC=ccache gcc"), "{given}");
    home.commit("v2", &[("compile", "something else\n")]);
    let error = home.get("").unwrap_err();
    let ProvisionError::Build { step, lines, .. } = &error else { panic!("{error}") };
    assert_eq!(*step, "patching");
    assert!(lines.iter().any(|line| line.contains("patch does not apply")), "{lines:?}");
    home.catalog(&format!("{row}cc = 'no-such-compiler'\n"));
    let error = home.get("").unwrap_err();
    assert_eq!(error.to_string(), "`no-such-compiler` is not installed");
}

#[test]
fn cmake_builds_mysql() {
    let home = Home::new(&[
        ("CMakeLists.txt", CMAKE),
        ("MYSQL_VERSION", MYSQL_VERSION),
        ("mysqld", "#!/bin/sh\n"),
        ("charsets/Index.xml", ""),
    ]);
    let place = home.tree().display().to_string();
    let prefix = home.build(Product::MySql, &place).0.unwrap();
    assert_eq!(prefix.version, "8.0.41");
    assert!(prefix.build.notes[0].contains("-DCMAKE_BUILD_TYPE=RelWithDebInfo"));
    assert!(prefix.layout.charsets_dir.join("Index.xml").exists());
    assert!(prefix.layout.plugin_dir.is_dir());
    home.commit("broken", &[("CMakeLists.txt", "message(FATAL_ERROR \"Boost is missing\")\n")]);
    let error = home.build(Product::MySql, &place).0.unwrap_err();
    let ProvisionError::Build { step, lines, .. } = &error else { panic!("{error}") };
    assert_eq!(*step, "configuring");
    assert!(lines.iter().any(|line| line.trim() == "Boost is missing"), "{lines:?}");
}

#[test]
fn flags_of_a_system_reach_its_build_and_make_another_server() {
    let home = Home::postgres();
    let with = |flags: &[(BuildFlag, &str)]| home.with_flags(Product::Postgres, flags);
    let plain = with(&[]).unwrap();
    let asked = [(BuildFlag::Opt, "O3"), (BuildFlag::Asserts, "on"), (BuildFlag::Cxx, "gcc")];
    let built = with(&asked).unwrap();
    assert_ne!(built.path, plain.path);
    let given = flags(&built);
    assert!(given.contains("CFLAGS=-O2 -g -O3") && given.contains("--enable-cassert"), "{given}");
    let is_compiler = |name: &str, program: &str| {
        [format!("{name}={program} "), format!("{name}=ccache {program} ")]
            .iter()
            .any(|it| given.contains(it))
    };
    assert!(is_compiler("CC", "gcc") && is_compiler("CXX", "g++"), "{given}");
    assert!(assay_provision::compiled(&built.build).starts_with("gcc "), "{built:?}");
    // The default by another name.
    assert_eq!(with(&[(BuildFlag::Lto, "off")]).unwrap().path, plain.path);
    // The plain one may get another compiler from a fix.
    assert_ne!(with(&[(BuildFlag::Cc, "cc")]).unwrap().path, plain.path);
    assert_eq!(with(&asked).unwrap(), built);
    let error = with(&[(BuildFlag::Std, "17")]).unwrap_err();
    let message = "`build.std` has no effect on postgres 16.9, which configure builds";
    assert_eq!(error.to_string(), message);
    let error = with(&[(BuildFlag::Cxx, "no-such-compiler")]).unwrap_err();
    assert_eq!(error.to_string(), "`no-such-compiler` is not installed");
}

#[test]
fn a_flag_that_the_source_overrides_is_refused() {
    let cmake = |more: &str| {
        format!(
            "cmake_minimum_required(VERSION 3.10)
project(server C CXX)
{more}
add_executable(mysqld main.cc)
install(TARGETS mysqld DESTINATION bin)
install(DIRECTORY charsets DESTINATION share)
"
        )
    };
    let obedient = cmake("");
    let home = Home::new(&[
        ("CMakeLists.txt", obedient.as_str()),
        ("MYSQL_VERSION", MYSQL_VERSION),
        ("charsets/Index.xml", ""),
        ("main.cc", "int main() { return 0; }\n"),
    ]);
    let with = |flags: &[(BuildFlag, &str)]| home.with_flags(Product::MySql, flags);
    let prefix = with(&[(BuildFlag::Opt, "O3"), (BuildFlag::Std, "17")]).unwrap();
    let notes = &prefix.build.notes;
    assert!(notes[0].contains("-O3 ") && notes[0].contains("-std=gnu++17"), "{notes:?}");
    let stubborn = cmake("set(CMAKE_CXX_FLAGS_RELWITHDEBINFO \"-O1 -g\")");
    home.commit("v2", &[("CMakeLists.txt", stubborn.as_str())]);
    let error = with(&[(BuildFlag::Opt, "O3")]).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("`build.opt=O3` does not reach the compilers: "), "{message}");
    assert!(message.ends_with(" gives them `-O1`"), "{message}");
    assert!(error.hints()[0].contains("leave the flag out"));
    let silent = cmake("set(CMAKE_EXPORT_COMPILE_COMMANDS OFF)");
    home.commit("v3", &[("CMakeLists.txt", silent.as_str())]);
    let message = with(&[(BuildFlag::Opt, "O3")]).unwrap_err().to_string();
    assert!(message.starts_with("cmake lists no commands of compilers in `"), "{message}");
}

#[test]
fn what_only_a_user_can_provide_is_the_hint() {
    let boost = "message(FATAL_ERROR \"You can download it with -DDOWNLOAD_BOOST=1 -DWITH_BOOST=<directory>\")
";
    let home = Home::new(&[("CMakeLists.txt", boost), ("MYSQL_VERSION", MYSQL_VERSION)]);
    let error = home.with_flags(Product::MySql, &[]).unwrap_err();
    let hints = error.hints();
    assert!(hints.len() == 1 && hints[0].contains("-DWITH_BOOST=DIRECTORY"), "{hints:?}");
}

/// Each file fails for a reason for which old sources do not build today.
#[test]
fn old_sources_are_built_with_what_they_need_and_it_is_said() {
    let cmake = "cmake_minimum_required(VERSION 3.10)
project(server C CXX)
add_compile_options(-Wall -Werror)
add_executable(mysqld main.cc types.cc thrown.cc unused.c)
install(TARGETS mysqld DESTINATION bin)
install(DIRECTORY charsets DESTINATION share)
";
    let home = Home::new(&[
        ("CMakeLists.txt", cmake),
        ("MYSQL_VERSION", MYSQL_VERSION),
        ("charsets/Index.xml", ""),
        ("main.cc", "int main() { return 0; }\n"),
        ("types.cc", "uint64_t wide(uint64_t it) { return it; }\n"),
        ("thrown.cc", "void thrown() throw(int);\nvoid thrown() throw(int) {}\n"),
        ("unused.c", "int one(void) { int unused; return 1; }\n"),
    ]);
    let place = home.tree().display().to_string();
    let (prefix, message) = home.build(Product::MySql, &place);
    let notes = prefix.unwrap().build.notes;
    for fix in ["<cstdint> included everywhere", "warnings are no errors", "C++14 as the language"]
    {
        let note = format!("did not build as it is: {fix}");
        assert!(notes.contains(&note), "{fix}: {notes:?}");
        assert!(message.iter().any(|it| it.ends_with(&format!("now {fix}"))), "{fix}: {message:?}");
    }
    assert!(!notes.iter().any(|it| it.contains("as it is: Clang")), "{notes:?}");
    let (_, message) = home.build(Product::MySql, &place);
    assert_eq!(message, ["cached"]);
}

#[test]
fn a_submodule_that_is_needed_is_named_and_others_are_noted() {
    let home = Home::postgres();
    let other = Home::new(&[("file", "")]);
    let from = other.tree().display().to_string();
    git(&home.tree(), &["submodule", "--quiet", "add", &from, "part"]);
    home.commit("with", &[]);
    let clone = home.directory.path().join("clone");
    let (tree, clone_text) = (home.tree().display().to_string(), clone.display().to_string());
    git(home.directory.path(), &["clone", "-q", &tree, &clone_text]);
    let built = |place: &str| home.build(Product::Postgres, place).0;
    let prefix = built(&clone_text).unwrap();
    assert_eq!(prefix.build.notes.last().unwrap(), "built without the submodule `part`");
    home.catalog(
        "[[build]]\nproduct = 'postgres'\ntool = 'configure'\noptions = ['x']\nsubmodules = ['part']\n",
    );
    let error = built(&clone_text).unwrap_err();
    let start = format!("repository `{clone_text}` lacks commit ");
    assert!(error.to_string().starts_with(&start), "{error}");
    assert!(error.to_string().ends_with("of its submodule `part`"), "{error}");
    assert!(error.hints()[0].contains("git submodule update --init"));
    git(&clone, &["submodule", "--quiet", "update", "--init"]);
    let prefix = built(&clone_text).unwrap();
    assert!(!prefix.build.notes.iter().any(|note| note.contains("submodule")));
}

#[test]
fn a_repository_elsewhere_is_fetched_without_its_history() {
    let home = Home::postgres();
    home.commit("v2", &[("NEWS", "")]);
    let place = format!("file://{}#v1", home.tree().display());
    let prefix = home.build(Product::Postgres, &place).0.unwrap();
    assert_eq!((prefix.version.as_str(), prefix.build.channel.as_str()), ("16.9", place.as_str()));
    fs::rename(home.tree(), home.directory.path().join("gone")).unwrap();
    let error = home.build(Product::Postgres, &place).0.unwrap_err();
    assert!(matches!(error, ProvisionError::Git { .. }), "{error}");
    let offline = home.provisioner(ProvisionOptions { offline: true, accept_expired_index: false });
    let spec = system(Product::Postgres, &place);
    assert_eq!(offline.get(&spec, &mut |_| {}).unwrap(), prefix);
}

#[test]
fn unbuildable_trees_report_the_reason() {
    let home = Home::postgres();
    let place = home.tree().display().to_string();
    let says = |product, place: &str| home.build(product, place).0.unwrap_err().to_string();
    let error = says(Product::Postgres, &format!("{place}#v9"));
    assert_eq!(error, format!("repository `{place}`: has no commit `v9`"));
    let error = says(Product::Postgres, &format!("{place}#--help"));
    assert_eq!(error, format!("repository `{place}`: has no commit `--help`"));
    let error = says(Product::MySql, &place);
    assert_eq!(error, format!("repository `{place}`: has no source of mysql: it names no version"));
    let empty = Home::new(&[("README", "")]);
    let there = empty.tree().display().to_string();
    let error = says(Product::MySql, &there);
    assert!(error.ends_with("has neither CMakeLists.txt nor configure nor meson.build"), "{error}");
    let plain = tempfile::tempdir().unwrap();
    let error = says(Product::MySql, plain.path().to_str().unwrap());
    assert!(error.contains("not a git repository"), "{error}");
    assert!(says(Product::MySql, "/no/such/tree").contains("`/no/such/tree`"));
}

/// Waits until no more than this many trees are in use: a process that another test starts holds copies of this test's
/// locks until it calls exec.
fn until_unlocked(provisioner: &Provisioner, held: usize) {
    let in_use = || provisioner.entries().unwrap().iter().filter(|it| it.in_use).count();
    eventually("locks are free", || in_use() <= held);
}

#[test]
fn failed_builds_are_listed_and_cleaned() {
    let home = Home::new(&[("configure", CONFIGURE), ("compile", "exit 1\n")]);
    home.get("").unwrap_err();
    let provisioner = home.provisioner(ProvisionOptions::default());
    until_unlocked(&provisioner, 0);
    let unfinished = provisioner.entries().unwrap();
    assert_eq!(unfinished.len(), 1);
    assert!(unfinished[0].path.starts_with(home.directory.path().join("cache/builds")));
    let day = std::time::Duration::from_secs(86400);
    assert_eq!(provisioner.clean(Cleaning::Unused(day), || {}).unwrap().removed.len(), 1);
    assert_eq!(home.builds(), 0);
}

/// A search builds many commits, and the cache is bounded.
#[test]
fn builds_of_commits_go_if_the_cache_is_full() {
    let home = Home::postgres();
    home.commit(
        "v2",
        &[("compile", "echo '#!/bin/sh'\necho 'echo \"postgres (PostgreSQL) 16.9\"' # 2\n")],
    );
    home.commit("broken", &[("compile", "exit 1\n")]);
    let (first, second) = (home.get("#v1").unwrap(), home.get("#v2").unwrap());
    home.get("#broken").unwrap_err();
    let provisioner = home.provisioner(ProvisionOptions::default());
    let _hold = provisioner.hold(&first).unwrap();
    until_unlocked(&provisioner, 1);
    assert_eq!(provisioner.remove_builds(0).unwrap(), []);
    // Failed builds go first.
    let removed = provisioner.remove_builds(1).unwrap();
    assert_eq!((removed.len(), home.builds()), (1, 0), "{removed:?}");
    let removed = provisioner.remove_builds(u64::MAX).unwrap();
    let paths: Vec<&Path> = removed.iter().map(|it| it.path.as_path()).collect();
    assert_eq!(paths, [second.path.as_path()]);
    assert!(first.path.exists() && !second.path.exists());
}

fn holding(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if has(&fs::read(&path).unwrap(), text) {
            found.push(path);
        }
    }
    found
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn command_lines(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    let message = lines.filter(|line| has(line, text));
    message.map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
}

#[test]
fn a_login_is_sent_only_to_its_host() {
    let token = format!("canary{}", std::process::id());
    let seen = token.clone();
    let web = Web::new(move |request, _| {
        assert_eq!(command_lines(&seen), [""; 0]);
        match request.authorization {
            None => reply("401 Unauthorized", &["WWW-Authenticate: Basic realm=\"x\""], b""),
            Some(_) => reply("404 Not Found", &[], b""),
        }
    });
    let home = Home { directory: tempfile::tempdir().unwrap() };
    let address = web.url("/x.git");
    let typed = address.replace("://", &format!("://me:{token}%2F@"));
    let login = assay_model::login(&typed).unwrap();
    let provisioner = home.provisioner(ProvisionOptions::default()).with_logins(vec![login]);
    let spec = system(Product::Postgres, &format!("{address}#v1"));
    let error = provisioner.get(&spec, &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with(&format!("repository `{address}`")), "{error}");
    assert!(!format!("{error} {error:?}").contains(&token), "{error}");
    // `me:TOKEN/` in base 64.
    use base64::Engine as _;
    let sent = base64::prelude::BASE64_STANDARD.encode(format!("me:{token}/"));
    let requests = web.requests();
    let last = requests.last().unwrap().authorization.clone();
    assert_eq!(last, Some(format!("Basic {sent}")), "{requests:?}");
    assert_eq!(holding(home.directory.path(), &token), Vec::<PathBuf>::new());
}
