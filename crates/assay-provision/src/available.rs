//! Versions offered by the sources: in a list, in the documentation, and between two ends of a search.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Build, Prefix, Product};

use crate::catalog::{Catalog, PackageVersion, is_from};
use crate::error::Result;
use crate::provisioner::Provisioner;
use crate::reach::OfferIndex;
use crate::sources::maker_of;
use crate::version::{answers, compare, upstream};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableServer {
    pub product: Product,
    pub version: String,
    /// Source class, such as `apt` or `maven`, or the vendor of a tarball, such as `mysql.com`.
    pub source: String,
    /// Part of the source, such as `bookworm-security` or a package's name; `tarball`.
    pub channel: String,
    pub released: bool,
    /// Whether its bytes are known in advance from a signed index or a checksum in the catalog. Otherwise they must
    /// match the registry's checksum, and later the one pinned on first use.
    pub verified: bool,
}

impl AvailableServer {
    pub(crate) fn maker(&self) -> &str {
        maker_of(&self.source, &self.channel)
    }
}

impl Provisioner {
    /// Every available version, oldest first; offline, those in the cache. Unreleased channels without a usable index
    /// are left out.
    pub fn available(&self, product: Product) -> Result<Vec<AvailableServer>> {
        let mut available: Vec<_> = if self.offline() {
            self.cached_of(product)?.into_iter().map(as_available).collect()
        } else {
            let sources = self.sources(self.store.lock(|| {})?)?;
            let mut all = Vec::new();
            for offer in self.offers(product, None) {
                match self.open_offer(&sources, offer, &mut |_| {}) {
                    None => {}
                    Some(Err(error)) if !offer.release.released => log::info!("{error}"),
                    Some(opened) => all.push(opened?),
                }
            }
            let packages = self.catalog.packaged(product).map(|it| offered(product, it));
            survey(product, &all).into_iter().chain(packages).collect()
        };
        available.sort_by(|a, b| compare(&a.version, &b.version));
        Ok(available)
    }
}

pub fn catalog_names() -> Result<Vec<String>> {
    let catalog = Catalog::built_in()?;
    let mut names = Vec::new();
    for product in Product::ALL {
        let series = catalog.offers(product).into_iter().filter_map(|it| it.series());
        let packaged = catalog.packaged(product).map(|it| it.version.version.as_str());
        let mut versions: Vec<&str> = series.chain(packaged).collect();
        versions.sort_by(|a, b| compare(a, b));
        versions.dedup();
        names.extend(versions.into_iter().map(|version| format!("{}@{version}", product.word())));
    }
    Ok(names)
}

pub(crate) fn survey(product: Product, all: &[OfferIndex<'_>]) -> Vec<AvailableServer> {
    let rows =
        all.iter().flat_map(|opened| opened.versions().into_iter().map(move |it| (opened, it)));
    let available = rows.map(|(opened, record)| AvailableServer {
        product,
        version: upstream(&record.version),
        source: opened.offer.release.source.clone(),
        channel: record.channel.clone(),
        released: opened.offer.release.released,
        verified: true,
    });
    available.collect()
}

pub(crate) fn offered(product: Product, packaged: PackageVersion<'_>) -> AvailableServer {
    let (source, channel) = packaged.origin();
    let version = packaged.version.version.clone();
    let verified = packaged.is_verified();
    AvailableServer { product, version, source, channel, released: true, verified }
}

fn as_available(prefix: Prefix) -> AvailableServer {
    let Prefix { product, version, build, .. } = prefix;
    let Build { source, channel, released, .. } = build;
    AvailableServer { product, version, source, channel, released, verified: true }
}

/// In order of version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Releases {
    /// The first and the last one are the ends.
    pub versions: Vec<String>,
    /// The source that has them all, with builds that are alike; `None` if they come from several.
    pub source: Option<String>,
}

impl Provisioner {
    /// The releases between two ends, each a version or a series: first those of the source with most of them, then
    /// those of all sources with known checksums; the other way round if the source lacks a series. Empty if the ends
    /// are not two versions in order.
    pub fn releases(&self, product: Product, ends: [&str; 2]) -> Result<Vec<Releases>> {
        let mut available = self.available(product)?;
        available.retain(|it| is_from(self.source.as_deref(), &it.source, &it.channel));
        Ok(releases_between(product, &available, ends))
    }
}

fn releases_between(
    product: Product,
    available: &[AvailableServer],
    [first, last]: [&str; 2],
) -> Vec<Releases> {
    let is_within = |version: &str| {
        (answers(version, first) || compare(version, first).is_ge())
            && (answers(version, last) || compare(version, last).is_le())
            // Build numbers of a vendor count only if the user names them.
            && (!version.contains('-') || first.contains('-') || last.contains('-'))
    };
    let within: Vec<&AvailableServer> =
        available.iter().filter(|it| is_within(&it.version)).collect();
    let mut by_maker: BTreeMap<&str, Vec<&AvailableServer>> = BTreeMap::new();
    for it in &within {
        by_maker.entry(it.maker()).or_default().push(it);
    }
    let of_makers = by_maker.into_iter().filter_map(|(maker, own)| {
        let versions = between(own.into_iter(), [first, last])?;
        Some(Releases { versions, source: Some(maker.to_owned()) })
    });
    let one = of_makers.max_by_key(|it| it.versions.len());
    let verified = within.iter().filter(|it| it.verified).copied();
    let all = between(verified, [first, last]).map(|versions| Releases { versions, source: None });
    let series = |it: &Releases| -> BTreeSet<String> {
        it.versions.iter().map(|version| product.series(version).to_owned()).collect()
    };
    // Builds of one source are alike, but a series that it lacks cannot be searched.
    let lacks_series = |one: &Releases, all: &Releases| !series(one).is_superset(&series(all));
    match (one, all) {
        (Some(one), Some(all)) if lacks_series(&one, &all) => vec![all, one],
        (Some(one), Some(all)) if one.versions == all.versions => vec![one],
        (one, all) => one.into_iter().chain(all).collect(),
    }
}

/// The versions between the ends, if both exist. An end that is a series is its newest version.
fn between<'a>(
    available: impl Iterator<Item = &'a AvailableServer>,
    ends: [&str; 2],
) -> Option<Vec<String>> {
    let mut versions: Vec<String> = available.map(|it| it.version.clone()).collect();
    versions.sort_by(|a, b| compare(a, b));
    versions.dedup();
    let newest = |end: &str| versions.iter().rposition(|version| answers(version, end));
    let [Some(first), Some(last)] = ends.map(newest) else { return None };
    versions.truncate(last + 1);
    (first < last).then(|| versions.split_off(first))
}

#[derive(Debug, Default)]
struct SeriesRow {
    releases: Vec<String>,
    verified: Vec<String>,
    unverified: BTreeMap<String, Vec<String>>,
}

/// The series of a product in the built-in catalog, newest first, as a Markdown table.
pub fn version_table(product: Product) -> Result<String> {
    let catalog = Catalog::built_in()?;
    let mut rows: BTreeMap<String, SeriesRow> = BTreeMap::new();
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
    let mut rows: Vec<(String, SeriesRow)> = rows.into_iter().collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn available(version: &str, source: &str, channel: &str, verified: bool) -> AvailableServer {
        AvailableServer {
            product: Product::MariaDb,
            version: version.to_owned(),
            source: source.to_owned(),
            channel: channel.to_owned(),
            released: true,
            verified,
        }
    }

    #[test]
    fn releases_come_from_one_source_if_it_has_the_ends() {
        let vendor = |version| available(version, "mariadb.org", "tarball", false);
        let apt = |version| available(version, "apt", "bookworm", true);
        let all = [
            vendor("10.4.34"),
            apt("10.5.23"),
            apt("10.5.29"),
            vendor("10.5.28"),
            vendor("10.6.9"),
            vendor("10.6.26"),
            vendor("10.11.19"),
            vendor("11.4.5"),
            apt("10.11.19"),
            available("11.4.5", "maven", "x", true),
            apt("11.8.9"),
            vendor("11.8.9"),
            vendor("12.0.2"),
        ];
        let message = |ends: [&str; 2]| {
            let found = releases_between(Product::MariaDb, &all, ends).into_iter();
            let message = found.map(|it| (it.source.unwrap_or_default(), it.versions.join(" ")));
            message.collect::<Vec<_>>()
        };
        let available = |source: &str, versions: &str| (source.to_owned(), versions.to_owned());
        assert_eq!(
            message(["10.5", "11.8"]),
            [
                available("mariadb.org", "10.5.28 10.6.9 10.6.26 10.11.19 11.4.5 11.8.9"),
                available("", "10.5.29 10.11.19 11.4.5 11.8.9")
            ]
        );
        assert_eq!(
            message(["10.5.29", "11.8.9"]),
            [
                available("", "10.5.29 10.11.19 11.4.5 11.8.9"),
                available("apt", "10.5.29 10.11.19 11.8.9")
            ]
        );
        assert_eq!(message(["10.5.23", "10.5.29"]), [available("apt", "10.5.23 10.5.29")]);
        assert!(message(["11.8", "10.5"]).is_empty() && message(["10.5", "10.5"]).is_empty());
        assert!(message(["10.5", "99"]).is_empty());
    }
}
