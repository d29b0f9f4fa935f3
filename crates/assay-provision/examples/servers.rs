//! Fetches servers and prints a Markdown table: those named `PRODUCT@VERSION`, or one of each family
//! and source, or with `--all` every version whose bytes are known beforehand, with `--unverified` the
//! others too. `--accept-expired-index` as in the program itself.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use assay_model::{Engine, Layout, Origin, Prefix, Product, SystemSpec};
use assay_provision::{Options, Provisioner};

/// A server of each family and one through each client, the smallest there are.
const SHORT: [(Product, &str); 5] = [
    (Product::MariaDb, "10.11"),
    (Product::MySql, "5.7"),
    (Product::Postgres, "15"),
    (Product::Postgres, "17.10"),
    (Product::Postgres, "18.4"),
];

#[expect(clippy::print_stdout, reason = "a command-line example")]
fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| words.iter().any(|word| word == name);
    let options = Options { offline: false, accept_expired_index: flag("--accept-expired-index") };
    let cache = std::env::var_os("ASSAY_CACHE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/assay"));
    let provisioner =
        Provisioner::new(cache.or(home).ok_or("neither ASSAY_CACHE nor HOME")?, options)?;
    let mut wanted = Vec::new();
    for word in words.iter().filter(|word| !word.starts_with("--")) {
        let (product, version) = word.split_once('@').ok_or("a server is PRODUCT@VERSION")?;
        let product = Product::ALL.into_iter().find(|it| it.word() == product);
        wanted.push((product.ok_or("no such product")?, version.to_owned()));
    }
    if wanted.is_empty() && !flag("--all") {
        let short = SHORT.map(|(product, version)| (product, version.to_owned()));
        wanted.extend(short);
    } else if wanted.is_empty() {
        for product in Product::ALL {
            let available = provisioner.available(product)?;
            let known = available.into_iter().filter(|it| it.verified || flag("--unverified"));
            wanted.extend(known.map(|it| (product, it.version)));
        }
        wanted.dedup();
    }
    println!("| system | source | build | size, MB | s | `--version` |");
    println!("|---|---|---|---:|---:|---|");
    let mut failed = 0;
    for (product, version) in wanted {
        let began = Instant::now();
        let engine = SystemSpec::default_engine(product);
        let row = get(&provisioner, product, engine, &version).unwrap_or_else(|error| {
            failed += 1;
            format!("| | | {error} |")
        });
        let seconds = began.elapsed().as_secs_f64();
        println!("| {product}@{version} {}", row.replacen("{s}", &format!("{seconds:.1}"), 1));
    }
    if failed > 0 { Err(format!("{failed} servers could not be had").into()) } else { Ok(()) }
}

/// The rest of a row, with `{s}` for the seconds.
fn get(
    provisioner: &Provisioner,
    product: Product,
    engine: Engine,
    version: &str,
) -> Result<String, Box<dyn Error>> {
    let origin = Origin::Version(version.to_owned());
    let spec = SystemSpec { product, origin, engine, overrides: Vec::new() };
    let prefix = provisioner.get(&spec, &mut |_| {})?;
    let Prefix { build, path, layout, .. } = prefix;
    let megabytes = bytes(&path)? >> 20;
    let said = said(&layout)?;
    let place = format!("{} `{}`", build.source, build.channel);
    Ok(format!("| {place} | `{}` | {megabytes} | {{s}} | {said} |", build.package_version))
}

/// What the server says of itself when its own loader starts it.
fn said(layout: &Layout) -> Result<String, Box<dyn Error>> {
    let mut command = match &layout.loader {
        Some(loader) => {
            let mut command = Command::new(loader);
            command.arg("--library-path").arg(std::env::join_paths(&layout.library_path)?);
            command.arg(&layout.server);
            command
        }
        None => Command::new(&layout.server),
    };
    let output = command.arg("--version").output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.split_once("  Ver ").map_or(said.as_ref(), |(_, rest)| rest);
    Ok(said.trim().replace('|', " "))
}

fn bytes(directory: &Path) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for entry in fs_err::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sum += bytes(&entry.path())?;
        } else if kind.is_file() {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}
