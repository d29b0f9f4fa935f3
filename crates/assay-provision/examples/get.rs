//! Gets a server and prints its prefix: `get mariadb 10.11 [--offline] [--accept-expired-index]`.

use std::error::Error;
use std::path::PathBuf;

use assay_model::{Hint as _, Origin, Product, SystemSpec};
use assay_provision::{ProvisionOptions, ProvisionProgress, Provisioner};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line example")]
fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [product, version, flags @ ..] = words.as_slice() else {
        return Err("usage: get PRODUCT VERSION [--offline] [--accept-expired-index]".into());
    };
    let product =
        Product::ALL.into_iter().find(|it| it.word() == product).ok_or("no such product")?;
    let flag = |name: &str| flags.iter().any(|word| word == name);
    let options = ProvisionOptions {
        offline: flag("--offline"),
        accept_expired_index: flag("--accept-expired-index"),
    };
    let cache = std::env::var_os("ASSAY_CACHE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/assay"));
    let provisioner =
        Provisioner::new(cache.or(home).ok_or("neither ASSAY_CACHE nor HOME")?, options)?;
    let spec = SystemSpec::new(product, Origin::Version(version.clone()));
    let mut last = None;
    let prefix = provisioner.get(&spec, &mut |progress| {
        let is_download = matches!(progress, ProvisionProgress::Downloading { .. });
        if last.as_ref() != Some(&progress) && !is_download {
            eprintln!("{progress:?}");
        }
        last = Some(progress);
    });
    let prefix = prefix.inspect_err(|error| {
        eprintln!("error: {error}");
        error.hints().iter().for_each(|hint| eprintln!("hint: {hint}"));
    })?;
    println!("{}", serde_json::to_string_pretty(&prefix)?);
    Ok(())
}
