//! Running servers, by URL or by the name of a sandbox.

use anyhow::Result;
use assay_plan::ServerUrl;
use assay_run::systems::sandbox_site;

/// URL of a running server: the text itself, or that of the sandbox with this name.
pub fn url_of(text: &str) -> Result<ServerUrl> {
    let is_name = is_name(text) && !text.contains("://");
    let sandbox = match is_name {
        true => assay_servers::kept(&sandbox_site()?.run_root)?
            .into_iter()
            .find(|it| it.kept.name == text),
        false => None,
    };
    let url = sandbox.as_ref().map_or(text, |it| it.kept.url.as_str());
    Ok(assay_plan::parse_url(url)?)
}

pub fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !name.is_empty() && name.len() <= 64 && name.chars().all(fits)
}
