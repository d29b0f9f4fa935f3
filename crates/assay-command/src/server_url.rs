//! Running servers, by URL or by the name of a sandbox.

use anyhow::Result;
use assay_plan::ServerUrl;
use assay_run::systems::sandbox_site;

/// URL of a running server: the text itself, or that of the sandbox with this name.
pub fn url_of(text: &str) -> Result<ServerUrl> {
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
