//! Table of the catalog's versions for the documentation.

use std::collections::BTreeMap;

use assay_model::Product;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::version::compare;

#[derive(Debug, Default)]
struct Row {
    releases: Vec<String>,
    verified: Vec<String>,
    unverified: BTreeMap<String, Vec<String>>,
}

/// The series of a product in the built-in catalog, newest first, as a Markdown table.
pub fn version_table(product: Product) -> Result<String, Error> {
    let catalog = Catalog::built_in()?;
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for offer in catalog.offers(product) {
        let Some(series) = &offer.server.series else { continue };
        let suite = if offer.release.released { offer.release.name.clone() } else { continue };
        rows.entry(series.clone()).or_default().releases.push(suite);
    }
    for packaged in catalog.packaged(product) {
        let version = packaged.version.version.clone();
        let row = rows.entry(product.series(&version).to_owned()).or_default();
        let source = &packaged.package.source;
        match &packaged.version.sha256 {
            Some(_) => row.verified.push(format!("{version} ({source})")),
            None if packaged.package.is_vendors() => {
                row.unverified.entry(packaged.package.name.clone()).or_default().push(version);
            }
            None => {
                row.unverified.entry(source.clone()).or_default().push(version);
            }
        }
    }
    let mut rows: Vec<(String, Row)> = rows.into_iter().collect();
    rows.sort_by(|(one, _), (other, _)| compare(other, one));
    let lines = rows.into_iter().map(|(series, row)| {
        let unverified =
            row.unverified.into_iter().map(|(source, versions)| range(&source, versions));
        let unverified: Vec<String> = unverified.collect();
        format!(
            "| {series} | {} | {} | {} |\n",
            row.releases.join(", "),
            row.verified.join(", "),
            unverified.join("; ")
        )
    });
    let head = "| series | Debian, Ubuntu | packages with a known checksum | not verified |\n|---|---|---|---|\n";
    Ok(head.to_owned() + &lines.collect::<String>())
}

fn range(source: &str, mut versions: Vec<String>) -> String {
    versions.sort_by(|one, other| compare(one, other));
    versions.dedup();
    match versions.as_slice() {
        [only] => format!("{only} ({source})"),
        [first, .., last] => format!("{} versions, {first} to {last} ({source})", versions.len()),
        [] => String::new(),
    }
}
