//! Running servers, by URL or by the name of a sandbox.

use anyhow::Result;
use assay_plan::ServerUrl;
use assay_run::systems::sandbox_site;

use crate::args::TlsArgs;

/// URL of a running server, given itself or by the name of a sandbox, with the words of `--tls`.
pub fn url_with_tls(text: &str, args: &TlsArgs) -> Result<ServerUrl> {
    let url = url_of(text)?;
    Ok(match &args.tls {
        Some(words) => url.with_tls(words)?,
        None => url,
    })
}

/// URL of a running server: the text itself, or that of the sandbox with this name.
fn url_of(text: &str) -> Result<ServerUrl> {
    if is_name(text) {
        let mut servers = assay_servers::kept_servers(&sandbox_site()?.run_root)?.into_iter();
        if let Some(server) = servers.find(|server| server.kept.name == text) {
            return Ok(assay_plan::parse_url(&server.kept.url)?);
        }
    }
    Ok(assay_plan::parse_url(text)?)
}

pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}
