//! Config files of systems, and the files they include.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use assay_model::{Dialect, Origin, Product, ScaledSizes, SystemSpec};
use assay_plan::{
    CommonOption, ConfigLine, MachineFacts, Request, ScopedLine, common_file, config_place,
    lines_for, parse_system, repeated_options, scoped_lines,
};
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::progress::print;
use assay_terms::{adds_up, variable};
use fs_err as fs;

/// Bytes read for one system. The files of a packaged Postgres have 30 KB.
const SIZE_MAX: u64 = 1 << 20;

/// A deeper include is a cycle.
const DEPTH_MAX: usize = 10;

/// Reads the config files of a request and prints notes, unless `quiet`. Paths are relative to `directory`, that of the
/// study file. `searched` are the products whose systems are not known yet.
pub fn with_configs(
    request: Request,
    directory: &Path,
    searched: &[Product],
    quiet: bool,
) -> Result<Request> {
    let (request, notes) = resolve(request, directory, searched)?;
    if !quiet {
        notes.iter().for_each(|note| print(&format!("note: {note}")));
    }
    Ok(request)
}

fn resolve(
    mut request: Request,
    directory: &Path,
    searched: &[Product],
) -> Result<(Request, Vec<String>)> {
    let mut notes = BTreeSet::new();
    read_common(&mut request, directory, searched, &mut notes)?;
    for system in &mut request.systems {
        let Some(config) = system.config.clone() else { continue };
        let path = directory.join(&config);
        let spec = parse_system(&system.words)?;
        let found = paths::check_file(&path, "`config` is relative to the study file");
        let read =
            found.map_err(Into::into).and_then(|()| read(spec.product, &path, &config, &mut notes));
        let lines = read.with_context(|| {
            let name = system.name.as_ref().unwrap_or(&system.words);
            format!("cannot read the config of system `{name}`")
        })?;
        let scoped: Vec<ScopedLine> = lines.into_iter().map(|it| it.scoped).collect();
        let lines = lines_for(&spec, &scoped);
        if !lines.iter().any(|line| matches!(line, ConfigLine::Option(..))) {
            notes.insert(format!("`{config}` has no option for {spec}"));
        }
        notes.extend(repeated_options(&lines).iter().map(|it| format!("`{config}`: {it}")));
        for name in system.left_out_in_vain(&lines) {
            notes.insert(format!("`{config}` has no option `{name}`, which `without` leaves out"));
        }
        *system = system.clone().started_from(&lines);
    }
    Ok((request, notes.into_iter().collect()))
}

struct ConfigFileLine {
    file: PathBuf,
    scoped: ScopedLine,
}

/// Lines of a file and its includes. Notes list what is left out.
fn read(
    product: Product,
    path: &Path,
    name: &str,
    notes: &mut BTreeSet<String>,
) -> Result<Vec<ConfigFileLine>> {
    let (mut left, mut missing) = (SIZE_MAX, BTreeSet::new());
    let lines = lines(product, path, DEPTH_MAX, &mut left, &mut missing)?;
    notes.extend(missing.into_iter().map(|path| {
        let path = path.display();
        format!("`{name}` includes `{path}`, which is not on this machine: left out")
    }));
    let left_out = lines.iter().filter_map(|it| match &it.scoped.line {
        ConfigLine::LeftOut(name) => Some(format!("`{name}`")),
        _ => None,
    });
    let mut left_out: Vec<_> = left_out.collect();
    let mut seen = BTreeSet::new();
    left_out.retain(|name| seen.insert(name.clone()));
    if !left_out.is_empty() {
        notes.insert(format!(
            "`{name}`: {} left out, because they belong to the machine of the file or may be secrets",
            left_out.join(", ")
        ));
    }
    Ok(lines)
}

fn read_common(
    request: &mut Request,
    directory: &Path,
    searched: &[Product],
    notes: &mut BTreeSet<String>,
) -> Result<()> {
    let files = std::mem::take(&mut request.config);
    if files.is_empty() {
        return Ok(());
    }
    let specs = request.systems.iter().map(|system| parse_system(&system.words));
    let specs = specs.collect::<Result<Vec<SystemSpec>, _>>()?;
    let started = specs.iter().filter(|spec| !matches!(spec.origin, Origin::Url(_)));
    let mut products: Vec<Product> = searched.to_vec();
    for product in started.map(|spec| spec.product) {
        if !products.contains(&product) {
            products.push(product);
        }
    }
    for file in &files {
        let (product, name) = common_file(file)?;
        let path = directory.join(name);
        paths::check_file(
            &path,
            "name a `my.cnf` or `postgresql.conf`: `--config FILE`, or `--config mysql=FILE`",
        )?;
        for product in products_of(product, name, &products)? {
            let lines = read(product, &path, name, notes)
                .with_context(|| format!("cannot read `{name}` for {product}"))?;
            let options = options_of(product, &lines);
            if options.is_empty() {
                let what = match product.dialect() {
                    Dialect::MySql => {
                        "a `my.cnf` has a group `[mysqld]` with lines `option = value`"
                    }
                    Dialect::Postgres => "a `postgresql.conf` has lines `option = value`",
                };
                bail!(HintedError::new(
                    format!("`{name}` has no option for servers of {product}"),
                    what
                ));
            }
            let plain: Vec<ConfigLine> = lines.into_iter().map(|it| it.scoped.line).collect();
            notes.extend(repeated_options(&plain).iter().map(|it| format!("`{name}`: {it}")));
            request.config_options.extend(options.iter().map(ToString::to_string));
        }
    }
    Ok(())
}

fn products_of(named: Option<Product>, file: &str, products: &[Product]) -> Result<Vec<Product>> {
    let message = || products.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(" and ");
    if let Some(product) = named {
        if products.contains(&product) {
            return Ok(vec![product]);
        }
        let what = format!("`{file}` is for {product}, but no server of it is started");
        let advice = match products {
            [] => "servers that run already have a configuration of their own".to_owned(),
            _ => format!(
                "the systems are of {}; leave the file out, or name another product",
                message()
            ),
        };
        bail!(HintedError::new(what, advice));
    }
    let Some(first) = products.first() else {
        bail!(HintedError::new(
            format!("no server is started with `{file}`"),
            "servers that run already have a configuration of their own"
        ));
    };
    if products.iter().any(|product| product.dialect() != first.dialect()) {
        let each: Vec<String> = products.iter().map(|it| format!("{it}=FILE")).collect();
        bail!(HintedError::new(
            format!("`{file}` cannot be for all systems: they are of {}", message()),
            format!("give each product its file: `--config {}`", each.join(","))
        ));
    }
    Ok(products.to_vec())
}

/// Options of lines. The last one of a name counts, unless they add up.
fn options_of(product: Product, lines: &[ConfigFileLine]) -> Vec<CommonOption> {
    let mut options: Vec<CommonOption> = Vec::new();
    for ConfigFileLine { file, scoped: ScopedLine { series, line, number } } in lines {
        let ConfigLine::Option(name, value) = line else { continue };
        let place = Some(config_place(&file.to_string_lossy(), *number));
        let is_again =
            |it: &CommonOption| it.series == *series && variable(&it.name) == variable(name);
        options.retain(|it| adds_up(name) || !is_again(it));
        let (name, value) = (name.clone(), value.clone());
        options.push(CommonOption { product, series: series.clone(), place, name, value });
    }
    options
}

pub fn ready(request: Request, machine: MachineFacts, quiet: bool) -> Result<Request> {
    scale(with_configs(request, Path::new(""), &[], quiet)?, machine, quiet)
}

/// Fits sizes to this machine if the request asks for it. Prints changes, unless `quiet`.
pub fn scale(request: Request, machine: MachineFacts, quiet: bool) -> Result<Request> {
    let scaled = assay_plan::scaled_to(&request, machine)?;
    let Some(ScaledSizes { divisor, sizes }) = scaled.scaled.as_ref().filter(|_| !quiet) else {
        return Ok(scaled);
    };
    if *divisor == 1 && sizes.is_empty() {
        print("note: the sizes of the config file fit into the memory of this machine as they are");
    } else {
        print(&format!(
            "note: the sizes of the config file are divided by {divisor} on all systems:"
        ));
        sizes.iter().for_each(|size| print(&format!("  {size}")));
    }
    Ok(scaled)
}

/// Lines of a file, with includes expanded. `left` is the number of bytes that may still be read. The file may come
/// from another machine: includes that do not exist here are added to `missing`.
fn lines(
    product: Product,
    file: &Path,
    depth: usize,
    left: &mut u64,
    missing: &mut BTreeSet<PathBuf>,
) -> Result<Vec<ConfigFileLine>> {
    if depth == 0 {
        bail!(HintedError::new(
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
    let read = scoped_lines(product, &text).with_context(|| file.display().to_string())?;
    let beside = |written: &Path| file.parent().unwrap_or(Path::new("")).join(written);
    let mut all = Vec::new();
    for scoped in read {
        match &scoped.line {
            ConfigLine::Include { path, optional } => {
                let path = beside(path);
                if fs::exists(&path)? {
                    all.extend(lines(product, &path, depth - 1, left, missing)?);
                } else if !*optional {
                    missing.insert(path);
                }
            }
            ConfigLine::IncludeDir { path, extension } => {
                let directory = beside(path);
                if !fs::exists(&directory)? {
                    missing.insert(directory);
                    continue;
                }
                for path in files(&directory, extension)? {
                    all.extend(lines(product, &path, depth - 1, left, missing)?);
                }
            }
            ConfigLine::Option(..) | ConfigLine::LeftOut(_) => {
                all.push(ConfigFileLine { file: file.to_owned(), scoped });
            }
        }
    }
    Ok(all)
}

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
        let (request, notes) = resolve(study("my.cnf"), directory.path(), &[]).unwrap();
        let options = &request.systems[1].options;
        let options: Vec<_> =
            options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["sync_binlog=2", "tmp_table_size=1", "max_heap_table_size=2"]);
        assert_eq!(request.systems[1].config, None);
        assert_eq!(notes.len(), 3, "{notes:?}");
        let notes = notes.join("\n");
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
        let (request, notes) = resolve(study("my.cnf"), directory.path(), &[]).unwrap();
        assert_eq!(request.systems[1].options.len(), 1);
        let [first, second] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(first.contains("`/etc/no-such.d/`, which is not on this machine"), "{first}");
        assert!(second.contains("no-such.cnf`, which is not on this machine"), "{second}");
    }

    fn compared(systems: &[&str], config: &[&str]) -> Request {
        let systems: Vec<String> = systems.iter().map(|it| (*it).to_owned()).collect();
        let config = config.iter().map(|it| (*it).to_owned()).collect();
        Request { config, ..Request::of_systems(&systems) }
    }

    #[test]
    fn a_file_for_all_systems_becomes_options_of_their_products() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        write(
            "my.cnf",
            "[mysqld]\nsync_binlog=1\nsync_binlog=2\nbinlog_ignore_db=a\nbinlog_ignore_db=b\nread_only=1\n\
             [mysqld-5.7]\nquery_cache_size=1M\n[mariadb]\nsync_binlog=3\n",
        );
        write(
            "pg.conf",
            "work_mem = 8MB\nlc_messages = 'de_DE'\nsynchronous_standby_names = '*'\n",
        );
        let resolved = |systems: &[&str], config: &[&str]| {
            resolve(compared(systems, config), directory.path(), &[])
        };
        let both = resolved(&["mysql@8.0", "postgres@16"], &["mysql=my.cnf", "postgres=pg.conf"]);
        let (request, notes) = both.unwrap();
        assert_eq!(
            request.config_options,
            [
                "mysql (my.cnf:3): sync_binlog=2",
                "mysql (my.cnf:4): binlog_ignore_db=a",
                "mysql (my.cnf:5): binlog_ignore_db=b",
                "mysql@5.7 (my.cnf:8): query_cache_size=1M",
                "postgres (pg.conf:1): work_mem=8MB",
            ]
        );
        assert!(request.config.is_empty());
        let notes = notes.join("\n");
        for note in ["`read_only`", "`lc_messages`, `synchronous_standby_names`", "given 2 times"] {
            assert!(notes.contains(note), "{notes}");
        }
        let family = resolved(&["mysql@8.0", "mariadb@10.11"], &["my.cnf"]).unwrap().0;
        assert!(family.config_options.contains(&"mariadb (my.cnf:10): sync_binlog=3".to_owned()));
        for (systems, config, message) in [
            (["mysql@8.0", "postgres@16"], "my.cnf", "cannot be for all systems"),
            (["mysql@8.0", "mysql@8.4"], "postgres=pg.conf", "no server of it is started"),
            (["mysql@8.0", "mysql@8.4"], "pg.conf", "no option for servers of mysql"),
            (["mysql@8.0", "mysql@8.4"], "none.cnf", "does not exist"),
            (["mysql@8.0", "mysql@8.4"], "sql=my.cnf", "no product"),
        ] {
            let error = resolved(&systems, &[config]).unwrap_err();
            assert!(format!("{error:#}").contains(message), "{error:#}");
        }
        let searched = resolve(compared(&[], &["my.cnf"]), directory.path(), &[Product::MySql]);
        assert_eq!(searched.unwrap().0.config_options.len(), 4);
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
            let error = format!("{:#}", resolve(study(config), directory.path(), &[]).unwrap_err());
            assert!(error.contains("system `b`") && error.contains(expected), "{error}");
        }
        let circle = resolve(study("circle.cnf"), directory.path(), &[]).unwrap_err();
        assert!(crate::errors::hints(&circle)[0].contains("lead back to it"));
    }
}
