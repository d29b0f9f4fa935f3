//! Versions offered by the sources.

use assay_model::{Build, Prefix, Product};

use crate::catalog::{Catalog, Packaged};
use crate::error::Error;
use crate::provisioner::Provisioner;
use crate::reach::Opened;
use crate::version::{compare, upstream};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
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

impl Provisioner {
    /// Every available version, oldest first; offline, those in the cache. Unreleased channels without a usable index
    /// are left out.
    pub fn available(&self, product: Product) -> Result<Vec<Available>, Error> {
        let mut available: Vec<_> = if self.offline() {
            let cached = self.cached()?.into_iter().filter(|prefix| prefix.product == product);
            cached.map(as_available).collect()
        } else {
            let sources = self.sources(self.store.lock(|| {})?)?;
            let mut all = Vec::new();
            for offer in self.offers(product, None) {
                let Some(archives) = sources.archives(offer.release) else { continue };
                match self.open(archives, offer.release, &mut |_| {}) {
                    Err(error) if !offer.release.released => log::info!("{error}"),
                    opened => all.push(opened.map(|it| it.of(offer))?),
                }
            }
            let packages = self.catalog.packaged(product).map(|it| offered(product, it));
            survey(product, &all).into_iter().chain(packages).collect()
        };
        available.sort_by(|a, b| compare(&a.version, &b.version));
        Ok(available)
    }
}

pub fn catalog_names() -> Result<Vec<String>, Error> {
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

pub(crate) fn survey(product: Product, all: &[Opened<'_>]) -> Vec<Available> {
    let rows =
        all.iter().flat_map(|opened| opened.versions().into_iter().map(move |it| (opened, it)));
    let available = rows.map(|(opened, record)| Available {
        product,
        version: upstream(&record.version),
        source: opened.offer.release.source.clone(),
        channel: record.channel.clone(),
        released: opened.offer.release.released,
        verified: true,
    });
    available.collect()
}

pub(crate) fn offered(product: Product, packaged: Packaged<'_>) -> Available {
    let (source, channel) = packaged.origin();
    let version = packaged.version.version.clone();
    let verified = packaged.is_verified();
    Available { product, version, source, channel, released: true, verified }
}

fn as_available(prefix: Prefix) -> Available {
    let Prefix { product, version, build, .. } = prefix;
    let Build { source, channel, released, .. } = build;
    Available { product, version, source, channel, released, verified: true }
}
