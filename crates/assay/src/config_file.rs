//! The config files that systems of a study start from, and the files that they include.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_model::SystemSpec;
use assay_plan::{ConfigLine, Request, config_lines, parse_system, repeated_options};
use fs_err as fs;

use crate::advice::Advised;
use crate::paths;

/// Maximum number of bytes read for one system. The files of a packaged Postgres have 30 KB.
const SIZE_MAX: u64 = 1 << 20;

/// Maximum depth of includes. A deeper one is a circle.
const DEPTH_MAX: usize = 10;

/// A request whose systems have the options of their config files.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) request: Request,
    /// Notes on each file, for the user.
    pub(crate) notes: Vec<String>,
}

/// Reads the config files of the systems. Paths are relative to `directory`, that of the study file.
pub(crate) fn resolve(mut request: Request, directory: &Path) -> Result<Resolved> {
    let mut notes = BTreeSet::new();
    for system in &mut request.systems {
        let Some(config) = system.config.clone() else { continue };
        let path = directory.join(&config);
        let spec = parse_system(&system.words)?;
        let mut left = SIZE_MAX;
        let found = paths::check_file(&path, "`config` is relative to the study file");
        let mut missing = BTreeSet::new();
        let lines = found
            .map_err(Into::into)
            .and_then(|()| lines(&spec, &path, DEPTH_MAX, &mut left, &mut missing));
        let lines = lines.with_context(|| {
            let name = system.name.as_ref().unwrap_or(&system.words);
            format!("cannot read the config of system `{name}`")
        })?;
        notes.extend(missing.into_iter().map(|path| {
            let path = path.display();
            format!("`{config}` includes `{path}`, which is not on this machine: left out")
        }));
        let left_out = lines.iter().filter_map(|line| match line {
            ConfigLine::LeftOut(name) => Some(format!("`{name}`")),
            _ => None,
        });
        let left_out: Vec<_> = left_out.collect();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            notes.insert(format!(
                "`{config}`: {names} left out, because assay controls the servers' locations and does not store secrets"
            ));
        }
        if !lines.iter().any(|line| matches!(line, ConfigLine::Option(..))) {
            notes.insert(format!("`{config}` has no option for {spec}"));
        }
        notes.extend(repeated_options(&lines).iter().map(|it| format!("`{config}`: {it}")));
        for name in system.left_out_in_vain(&lines) {
            notes.insert(format!("`{config}` has no option `{name}`, which `without` leaves out"));
        }
        *system = system.clone().started_from(&lines);
    }
    Ok(Resolved { request, notes: notes.into_iter().collect() })
}

/// The lines of a file, with included lines in place of the includes. `left` is the number of bytes that may still be
/// read. The file may come from another machine: what it includes and is not here is added to `missing`.
fn lines(
    spec: &SystemSpec,
    file: &Path,
    depth: usize,
    left: &mut u64,
    missing: &mut BTreeSet<PathBuf>,
) -> Result<Vec<ConfigLine>> {
    if depth == 0 {
        bail!(Advised::new(
            format!("`{}` is included {DEPTH_MAX} levels deep", file.display()),
            "do its includes lead back to it? A file cannot include itself",
        ));
    }
    if !fs::metadata(file)?.is_file() {
        bail!("`{}` is not a regular file", file.display());
    }
    let mut text = String::new();
    let read = fs::File::open(file)?.take(*left + 1).read_to_string(&mut text)? as u64;
    *left = left.checked_sub(read).with_context(|| {
        format!(
            "`{}` and the files that include it have more than {SIZE_MAX} bytes",
            file.display()
        )
    })?;
    let read = config_lines(spec, &text).with_context(|| file.display().to_string())?;
    let beside = |written: &Path| file.parent().unwrap_or(Path::new("")).join(written);
    let mut all = Vec::new();
    for line in read {
        match line {
            ConfigLine::Include { path, optional } => {
                let path = beside(&path);
                if fs::exists(&path)? {
                    all.extend(lines(spec, &path, depth - 1, left, missing)?);
                } else if !optional {
                    missing.insert(path);
                }
            }
            ConfigLine::IncludeDir { path, extension } => {
                let directory = beside(&path);
                if !fs::exists(&directory)? {
                    missing.insert(directory);
                    continue;
                }
                for path in files(&directory, extension)? {
                    all.extend(lines(spec, &path, depth - 1, left, missing)?);
                }
            }
            line => all.push(line),
        }
    }
    Ok(all)
}

/// The visible files of a directory with an extension, in order of their names.
fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.extension().is_some_and(|it| it == extension) && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study(config: &str) -> Request {
        let text = format!(
            "compare = [\"a\", \"b\"]\n[system.a]\nis = \"mysql@8.0\"\n\
             [system.b]\nis = \"mysql@8.0\"\nconfig = \"{config}\"\n"
        );
        assay_plan::read_study("study.toml", &text).unwrap()
    }

    #[test]
    fn included_files_apply_where_they_are_included() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        fs::create_dir(directory.path().join("conf.d")).unwrap();
        write("my.cnf", "[mysqld]\nsync_binlog=1\nport=1\n!include more.cnf\n!includedir conf.d\n");
        write("more.cnf", "[mysqld]\nsync_binlog=2\nsocket=/tmp/s\n");
        write("conf.d/b.cnf", "[mysqld]\nmax_heap_table_size=2\n");
        write("conf.d/a.cnf", "[mysqld]\nmax_heap_table_size=1\ntmp_table_size=1\n");
        write("conf.d/c.txt", "[mysqld]\nmax_heap_table_size=3\n");
        let resolved = resolve(study("my.cnf"), directory.path()).unwrap();
        let options = &resolved.request.systems[1].options;
        let options: Vec<_> =
            options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["sync_binlog=2", "tmp_table_size=1", "max_heap_table_size=2"]);
        assert_eq!(resolved.request.systems[1].config, None);
        let notes = resolved.notes.join("\n");
        assert_eq!(resolved.notes.len(), 3, "{notes}");
        assert!(notes.contains("`port`, `socket`"), "{notes}");
        let last = "`max_heap_table_size` is given 2 times; the last one counts: `2`";
        assert!(notes.contains(last), "{notes}");
    }

    /// Every `my.cnf` of Debian and of the Docker images includes directories of its machine.
    #[test]
    fn what_is_not_on_this_machine_is_noted() {
        let directory = tempfile::tempdir().unwrap();
        let text = "[mysqld]\nsync_binlog=1\n!includedir /etc/no-such.d/\n!include no-such.cnf\n";
        fs::write(directory.path().join("my.cnf"), text).unwrap();
        let resolved = resolve(study("my.cnf"), directory.path()).unwrap();
        assert_eq!(resolved.request.systems[1].options.len(), 1);
        let [first, second] = resolved.notes.as_slice() else { panic!("{:?}", resolved.notes) };
        assert!(first.contains("`/etc/no-such.d/`, which is not on this machine"), "{first}");
        assert!(second.contains("no-such.cnf`, which is not on this machine"), "{second}");
    }

    #[test]
    fn an_unreadable_file_is_reported_with_its_system() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write("circle.cnf", "!include circle.cnf\n");
        write("wrong.cnf", "[mysqld]\n-=1\n");
        write("large.cnf", &"!include comments.cnf\n".repeat(3));
        write("comments.cnf", &"#\n".repeat(250_000));
        for (config, expected) in [
            ("missing.cnf", "missing.cnf` does not exist"),
            ("circle.cnf", "10 levels"),
            ("wrong.cnf", "line 2"),
        ] {
            let error = format!("{:#}", resolve(study(config), directory.path()).unwrap_err());
            assert!(error.contains("system `b`") && error.contains(expected), "{error}");
        }
        let circle = resolve(study("circle.cnf"), directory.path()).unwrap_err();
        assert!(crate::errors::hints(&circle)[0].contains("lead back to it"));
    }
}
