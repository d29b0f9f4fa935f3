//! `assay server`: binaries and sandboxes of any version, without root.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use assay_command::args::{ConfigArg, GetArgs, SYSTEMS, ShapeArg, ShapeWord, SourceArg, TermsArg};
use assay_command::exit::Exit;
use assay_command::number::{parse_megabytes, parse_port};
use assay_command::server_url::is_name;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, config_file, report};
use assay_model::{
    AUTOCOMMIT_OFF, Dialect, Prefix, Preset, Product, SystemSpec, address_without_login,
    short_names,
};
use assay_plan::{
    CommonOption, Request, ServerPlace, ServerUrl, TlsWords, common_options, places_of,
    repository_login, shell_quoted,
};
use assay_run::advice::HintedError;
use assay_run::open_files::{self, Demand};
use assay_run::progress::{Progress, print};
use assay_run::systems::{
    AcceptedConfig, DATABASE, Environment, SystemOptions, environment, fetch_all, fetch_one,
    machine_facts, provisioner, refuse_options, sandbox_site, start_on_empty, taken,
};
use assay_servers::{FoundServer, KeptServer, Listen, ServerInstance, Site, audit};
use assay_terms::{ServerSizes, Terms};
use assay_wire::Connection;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

#[derive(Debug, Args)]
pub struct ServerVerb {
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Debug, Subcommand)]
enum ServerCommand {
    /// Get servers into the cache, and print their paths
    Get(ServerGet),
    /// List the servers that `start` left running, or, with `--available`, the versions that assay can get
    List(ServerList),
    /// Start a server with an empty database, and leave it running; `stop` removes its data
    Start(ServerStart),
    /// Stop servers that `start` left running, and remove their data
    Stop(ServerStop),
}

#[derive(Debug, Args)]
#[command(after_help = SYSTEMS)]
pub(crate) struct ServerGet {
    /// The systems, such as `mariadb@11.8`
    #[arg(required = true, value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub(crate) systems: Vec<String>,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) getting: GetArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServerList {
    /// List the versions of a product, or of all products, that assay can get, with their sources
    #[arg(long, value_name = "PRODUCT", num_args = 0..=1)]
    pub(crate) available: Option<Option<String>>,

    #[command(flatten)]
    pub(crate) shape: ShapeArg,
}

#[derive(Debug, Args)]
#[command(after_help = SYSTEMS)]
pub(crate) struct ServerStart {
    /// The system, such as `mariadb@11.8` or `mariadb@11.8+innodb_doublewrite=OFF`
    #[arg(value_name = "SYSTEM")]
    #[arg(add = ArgValueCompleter::new(candidates::systems))]
    pub(crate) system: String,

    /// Name of the server [default: derived from the system's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Also listen on this port of 127.0.0.1; 0 chooses a free port
    #[arg(long, value_name = "PORT", value_parser = parse_port, allow_negative_numbers = true)]
    pub(crate) port: Option<u16>,

    /// Start on a copy of these data, which `server stop --keep` left of the same system
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) from: SourceArg,

    #[command(flatten)]
    pub(crate) terms: TermsArg,

    #[command(flatten)]
    pub(crate) config: ConfigArg,

    /// Buffer pool, such as `512M` or `1G`; a number without unit is MB
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = parse_megabytes)]
    pub(crate) buffer_pool: u64,

    #[command(flatten)]
    pub(crate) getting: GetArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServerStop {
    /// Names, as `assay server list` shows them
    #[arg(required = true, value_name = "NAME")]
    #[arg(add = ArgValueCompleter::new(candidates::servers))]
    pub(crate) names: Vec<String>,

    /// Keep the data, and say where they are: `server start SYSTEM --data DIR` starts on them again
    #[arg(long)]
    pub(crate) keep: bool,

    /// Print no progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Arguments for ServerVerb {
    const NAME: &'static str = "server";
    const ABOUT: &'static str = "Get, run and stop servers of any version, without root";
    const GROUP: CommandGroup = CommandGroup::Servers;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        match &self.command {
            ServerCommand::Get(args) => get(args, cache_dir),
            ServerCommand::List(args) => match &args.available {
                Some(product) => available(product.as_deref(), &args.shape, cache_dir),
                None => list(&args.shape),
            },
            ServerCommand::Start(args) => start(args, cache_dir),
            ServerCommand::Stop(args) => stop(args),
        }
    }
}

/// MB.
const LOG_MB: u64 = 512;

#[derive(Serialize)]
struct FetchedServer<'a> {
    system: String,
    version: &'a str,
    source: String,
    build: &'a str,
    sha256: &'a str,
    basedir: &'a Path,
    server: &'a Path,
}

fn got<'a>(spec: &SystemSpec, prefix: &'a Prefix) -> FetchedServer<'a> {
    let build = &prefix.build;
    FetchedServer {
        system: spec.to_string(),
        version: &prefix.version,
        source: format!("{} {}", build.source, build.channel).trim().to_owned(),
        build: &build.package_version,
        sha256: &prefix.sha256,
        basedir: &prefix.layout.basedir,
        server: &prefix.layout.server,
    }
}

fn get(args: &ServerGet, cache_dir: Option<&Path>) -> Result<Exit> {
    let GetArgs { offline, accept_expired_index, quiet, .. } = args.getting;
    let progress = Progress::new(quiet);
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let logins = args.systems.iter().filter_map(|words| repository_login(words));
    let provisioner = provisioner(&env)?.with_logins(logins.collect());
    let provisioner = provisioner.with_source(args.from.source.clone())?;
    let specs = args.systems.iter().map(|words| assay_plan::parse_system(words));
    let specs = specs.collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = args.systems.iter().map(|it| address_without_login(it)).collect();
    let named: Vec<_> = names.iter().map(String::as_str).zip(&specs).collect();
    let fetched = fetch_all(&provisioner, &named, false, &env).map_err(|it| it.error)?;
    let prefixes = fetched.prefixes;
    progress.finish();
    let found: Vec<FetchedServer> =
        specs.iter().zip(&prefixes).map(|(spec, prefix)| got(spec, prefix)).collect();
    let line =
        |it: &FetchedServer| format!("{}  {}  {}", it.system, it.version, it.server.display());
    report::put_rows(&args.getting.shape, &found, line)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct AvailableVersion {
    system: String,
    source: String,
    released: bool,
    verified: bool,
}

fn available(product: Option<&str>, shape: &ShapeArg, cache_dir: Option<&Path>) -> Result<Exit> {
    let progress = Progress::new(false);
    let env = environment(cache_dir, false, true, &progress)?;
    let products: Vec<Product> = match product {
        Some(word) => Product::named(word).into_iter().collect(),
        None => Product::ALL.into(),
    };
    if let (Some(word), []) = (product, products.as_slice()) {
        let known = Product::ALL.map(|known| format!("`{known}`")).join(", ");
        anyhow::bail!("`{word}` is not a product; the products are {known}");
    }
    progress.update("searching the sources");
    let provisioner = provisioner(&env)?;
    let mut rows: Vec<AvailableVersion> = Vec::new();
    for product in products {
        let found = env.interrupt.may_end_in(|| provisioner.available(product))?;
        rows.extend(found.into_iter().map(|it| AvailableVersion {
            system: format!("{product}@{}", it.version),
            source: format!("{} {}", it.source, it.channel).trim().to_owned(),
            released: it.released,
            verified: it.verified,
        }));
    }
    progress.finish();
    let line = |it: &AvailableVersion| {
        let mut notes = Vec::new();
        notes.extend((!it.released).then_some("not released"));
        notes.extend((!it.verified).then_some("not verified"));
        format!("{:<22} {:<48} {}", it.system, it.source, notes.join(", "))
    };
    report::put_rows(shape, &rows, line)?;
    Ok(Exit::Done)
}

fn start(args: &ServerStart, cache_dir: Option<&Path>) -> Result<Exit> {
    let GetArgs { offline, accept_expired_index, quiet, .. } = args.getting;
    let progress = Progress::new(quiet);
    let env = environment(cache_dir, offline, accept_expired_index, &progress)?;
    let spec = assay_plan::parse_system(&args.system)?;
    let site = Site { stop: env.interrupt.stop(), ..sandbox_site()? };
    let facts = spec.product.facts();
    let connections = open_files::connections_of_a_server(facts.connections);
    Demand::of_server(connections).raise()?;
    check_places(args)?;
    assay_servers::collect_garbage(&site.run_root)?;
    assay_servers::collect_kept_data(&site)?;
    let name = free_name(args, &spec, &site)?;
    let login = repository_login(&args.system);
    let provisioner = provisioner(&env)?.with_logins(login.into_iter().collect());
    let provisioner = provisioner.with_source(args.from.source.clone())?;
    let words = short_names(&[&address_without_login(&args.system)]).concat();
    let prefix = fetch_one(&provisioner, &words, &spec, None, &env)?;
    let _hold = provisioner.hold(&prefix)?;
    if facts.refuses_root {
        assay_servers::leave_root_where_needed()
            .with_context(|| format!("cannot run `{words}` as a user other than root"))?;
    }
    let purge_threads = ServerSizes::purge_threads_of(assay_probe::host(&env.cache_dir)?.cpus);
    let pool_mb = args.buffer_pool;
    let sizes = ServerSizes { pool_mb, log_mb: LOG_MB, connections, purge_threads };
    let terms = Terms::or_default(Some(&args.terms.or_usual(Preset::default())));
    let (spec, of_file) = with_config(args, spec, quiet, &env)?;
    let made = taken(&spec, &of_file, (terms, &sizes), &prefix, &site)?;
    tell_left_out(&words, &made);
    let (spec, options) = (made.spec, made.rendered.options);
    let asked = SystemOptions { name: &words, spec: &spec, prefix: &prefix, options: &options };
    refuse_options(&[asked], &site, &env)?;
    let port = if args.port == Some(0) { Some(free_port()?) } else { args.port };
    let listen = port.map_or(Listen::Socket, Listen::Loopback);
    let start_on = |data: &Path| {
        progress.update(&format!("{words}: starting"));
        ServerInstance::start_listening(&site, &prefix, &options, data, listen)
    };
    let server = match &args.data {
        Some(data) => start_on(data).map_err(anyhow::Error::from),
        None => start_on_empty(&env, &prefix, &options, &words, start_on),
    };
    let server = server.with_context(|| format!("cannot start `{words}`"))?;
    let mut control = assay_wire::Connection::control(&server.connect_options())?;
    if args.data.is_none() {
        control.query(&format!("CREATE DATABASE {DATABASE}"))?;
    }
    let without_effect = options_without_effect(&mut control, &spec, &server)?;
    drop(control);
    let url = url(spec.product, &server);
    let password = server.password().map(str::to_owned);
    let kept = KeptServer {
        name,
        system: spec.to_string(),
        version: prefix.version.clone(),
        url,
        socket: server.socket(),
        port,
        pid: server.pid(),
        datadir: server.data_dir(),
    };
    env.interrupt.check()?;
    server.keep(&kept)?;
    progress.finish();
    without_effect.iter().for_each(|message| print(&format!("warning: {words}: {message}")));
    let commands = commands(spec.product, &kept, password.as_deref());
    report::put_one(&args.getting.shape, &kept, |it| in_words(it, &commands))?;
    Ok(Exit::Done)
}

fn tell_left_out(words: &str, made: &AcceptedConfig) {
    if made.spec.switches_autocommit_off() {
        print(&format!("note: the options of `{words}` {AUTOCOMMIT_OFF}"));
    }
    made.events.iter().for_each(|what| print(&format!("note: `{words}` {what}")));
    for (name, meant) in &made.meant {
        print(&format!("warning: `{name}` of the config file is unknown; did you mean `{meant}`?"));
    }
}

fn with_config(
    args: &ServerStart,
    spec: SystemSpec,
    quiet: bool,
    env: &Environment<'_>,
) -> Result<(SystemSpec, BTreeMap<String, Option<String>>)> {
    let terms = args.terms.or_usual(Preset::default());
    let request = Request { terms, ..Request::of_systems(std::slice::from_ref(&args.system)) };
    let machine = machine_facts(&env.cache_dir)?;
    let request = config_file::ready(args.config.in_request(request), machine, quiet)?;
    let common = request.config_options.iter().map(|it| CommonOption::read(it));
    let common = common.collect::<Result<Vec<_>, _>>()?;
    let (options, of_file) = (common_options(&common, &spec), places_of(&common, &spec));
    let overrides = options.into_iter().chain(spec.overrides.iter().cloned()).collect();
    Ok((SystemSpec { overrides, ..spec }, of_file))
}

/// Fails before anything is fetched if the port is taken or the data are missing.
fn check_places(args: &ServerStart) -> Result<()> {
    if let Some(port) = args.port.filter(|&port| port != 0) {
        Listen::Loopback(port).check()?;
    }
    if let Some(data) = &args.data {
        anyhow::ensure!(data.is_dir(), "`{}` is not a directory", data.display());
    }
    Ok(())
}

fn options_without_effect(
    control: &mut Connection,
    spec: &SystemSpec,
    server: &ServerInstance,
) -> Result<Vec<String>> {
    if spec.overrides.is_empty() {
        return Ok(Vec::new());
    }
    let mut settings = assay_servers::effective_settings(control)?;
    settings.extend(assay_servers::answers(control, spec, Some(&server.log()))?);
    Ok(audit::warnings(&audit::ineffective(spec, &settings)))
}

fn in_words(it: &KeptServer, commands: &[String]) -> String {
    let port = it.port.map_or_else(String::new, |port| format!("\nlistening on 127.0.0.1:{port}"));
    format!(
        "{} is {} {}\n{}{port}\nconnect with: {}\nstop it with: assay server stop {} (this \
         removes its data; `--keep` keeps them)",
        it.name,
        short_names(&[&it.system]).concat(),
        it.version,
        shell_quoted(&it.url),
        commands.join("\n          or: "),
        it.name
    )
}

/// URL of a sandbox, for assay and for the product's own programs. It has the password, which only the user who starts
/// the sandbox sees.
fn url(product: Product, server: &ServerInstance) -> String {
    let url = ServerUrl {
        dialect: product.dialect(),
        place: ServerPlace::Socket(server.socket()),
        user: "root".to_owned(),
        password: None,
        database: DATABASE.to_owned(),
        tls: TlsWords::default(),
    };
    match server.password() {
        Some(password) => url.for_programs().replacen("root@", &format!("root:{password}@"), 1),
        None => url.for_programs(),
    }
}

/// Commands of the product's own client: by socket, then by port. They pass a password in the environment, because all
/// users of the machine can read command lines.
fn commands(product: Product, kept: &KeptServer, password: Option<&str>) -> Vec<String> {
    let login = |variable| match password {
        Some(password) => format!("{variable}={} ", shell_quoted(password)),
        None => String::new(),
    };
    let socket = shell_quoted(&kept.socket.to_string_lossy());
    let client = product.facts().client;
    match product.dialect() {
        Dialect::MySql => {
            let program = format!("{}{client}", login("MYSQL_PWD"));
            let by_socket = format!("{program} -S {socket} -u root {DATABASE}");
            let by_port = |port| format!("{program} -h 127.0.0.1 -P {port} -u root {DATABASE}");
            std::iter::once(by_socket).chain(kept.port.map(by_port)).collect()
        }
        Dialect::Postgres => {
            let by_port = |port| format!("postgres://root@127.0.0.1:{port}/{DATABASE}");
            let urls =
                std::iter::once(address_without_login(&kept.url)).chain(kept.port.map(by_port));
            urls.map(|url| format!("{}{client} {}", login("PGPASSWORD"), shell_quoted(&url)))
                .collect()
        }
    }
}

fn free_name(args: &ServerStart, spec: &SystemSpec, site: &Site) -> Result<String> {
    let taken: Vec<String> =
        assay_servers::kept_servers(&site.run_root)?.into_iter().map(|it| it.kept.name).collect();
    if let Some(name) = &args.name {
        anyhow::ensure!(!taken.contains(name), "a server called `{name}` already exists");
        anyhow::ensure!(
            is_name(name),
            "`{name}` is not a valid name: use letters, digits, `.`, `_` and `-`"
        );
        return Ok(name.clone());
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let stem: String = spec.to_string().chars().map(plain).take(STEM_MAX).collect();
    let numbered = |number: u32| match number {
        1 => stem.clone(),
        _ => format!("{stem}-{number}"),
    };
    let free = (1..).map(numbered).find(|name| !taken.contains(name));
    free.context("no name is free")
}

/// Letters before the number, for names derived from a system.
const STEM_MAX: usize = 48;

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr())?.port())
}

#[derive(Serialize)]
struct ListedServer<'a> {
    #[serde(flatten)]
    kept: &'a KeptServer,
    short: String,
    state: String,
}

fn list(shape: &ShapeArg) -> Result<Exit> {
    let found = assay_servers::kept_servers(&sandbox_site()?.run_root)?;
    let systems: Vec<&str> = found.iter().map(|it| it.kept.system.as_str()).collect();
    let listed = found.iter().zip(short_names(&systems)).map(|(server, short)| {
        let ended = server.ended.map(|ending| format!("ended with {ending}"));
        let state = ended.unwrap_or_else(|| "running".to_owned());
        ListedServer { kept: &server.kept, short, state }
    });
    let listed: Vec<ListedServer> = listed.collect();
    if listed.is_empty() && shape.format == ShapeWord::Text {
        print("no servers are running; `assay server start SYSTEM` starts one");
    }
    let line = |it: &ListedServer| {
        let port = it.kept.port.map_or_else(String::new, |port| format!("  port {port}"));
        format!("{}  {}  {}  {}{port}", it.kept.name, it.short, it.state, it.kept.url)
    };
    report::put_rows(shape, &listed, line)?;
    Ok(Exit::Done)
}

fn stop(args: &ServerStop) -> Result<Exit> {
    let site = sandbox_site()?;
    let progress = Progress::new(args.quiet);
    let servers = named(assay_servers::kept_servers(&site.run_root)?, &args.names)?;
    // Nothing is stopped unless all data can be kept.
    let places = servers.iter().map(|it| kept_data(args, &site, &it.kept));
    let places: Vec<Option<PathBuf>> = places.collect::<Result<_>>()?;
    let mut stopped = Ok(());
    for (server, place) in servers.into_iter().zip(places) {
        let name = server.kept.name.clone();
        progress.update(&format!("stopping {name}"));
        match server.stop(place.as_deref()).with_context(|| format!("cannot stop `{name}`")) {
            Ok(()) => progress.done(&name, &fate(place.as_deref())),
            // The other servers are stopped nevertheless.
            Err(error) if stopped.is_ok() => stopped = Err(error),
            Err(error) => progress.failed(&name, &format!("{error:#}")),
        }
    }
    progress.finish();
    assay_servers::collect_garbage(&site.run_root)?;
    assay_servers::collect_kept_data(&site)?;
    stopped.map(|()| Exit::Done)
}

fn fate(place: Option<&Path>) -> String {
    match place {
        Some(place) => {
            let place = shell_quoted(&place.to_string_lossy());
            format!(
                "is stopped; its data are in {place}: `server start SYSTEM --data` starts on a copy of them"
            )
        }
        None => "is stopped, and its data is removed".to_owned(),
    }
}

fn kept_data(args: &ServerStop, site: &Site, server: &KeptServer) -> Result<Option<PathBuf>> {
    if !args.keep {
        return Ok(None);
    }
    let name = &server.name;
    if server.port.is_some() {
        let hint = "save them with the product's own program (`mariadb-dump`, `mysqldump`, `pg_dump`), then stop \
                    without `--keep`";
        let what =
            format!("`{name}` listens on a port: its data have a password that is gone with it");
        anyhow::bail!(HintedError::new(what, hint.to_owned()));
    }
    let place = site.data_root.with_file_name("kept").join(name);
    if place.exists() {
        let hint = "move or remove that directory first".to_owned();
        let what = format!("data of a server `{name}` are in `{}` already", place.display());
        anyhow::bail!(HintedError::new(what, hint));
    }
    Ok(Some(place))
}

/// Servers with these names, each once. If a name is wrong, nothing is stopped.
fn named(mut found: Vec<FoundServer>, names: &[String]) -> Result<Vec<FoundServer>> {
    let missing: Vec<String> = (names.iter())
        .filter(|name| !found.iter().any(|it| it.kept.name == **name))
        // A text that is not a name may be a URL with a password.
        .map(|name| if is_name(name) { format!("`{name}`") } else { "that".to_owned() })
        .collect();
    anyhow::ensure!(
        missing.is_empty(),
        "no server is called {}; `assay server list` shows the running servers",
        missing.join(" or ")
    );
    found.retain(|it| names.contains(&it.kept.name));
    Ok(found)
}
