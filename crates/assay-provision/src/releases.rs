//! Releases between two ends, for a search among them.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::Product;

use crate::agree::maker_of;
use crate::available::Available;
use crate::catalog::is_from;
use crate::error::Error;
use crate::provisioner::Provisioner;
use crate::version::{answers, compare};

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
    pub fn releases(&self, product: Product, ends: [&str; 2]) -> Result<Vec<Releases>, Error> {
        let mut available = self.available(product)?;
        available.retain(|it| is_from(self.source.as_deref(), &it.source, &it.channel));
        Ok(found(product, &available, ends))
    }
}

fn found(product: Product, available: &[Available], [first, last]: [&str; 2]) -> Vec<Releases> {
    let is_within = |version: &str| {
        (answers(version, first) || compare(version, first).is_ge())
            && (answers(version, last) || compare(version, last).is_le())
            // Build numbers of a vendor count only if the user names them.
            && (!version.contains('-') || first.contains('-') || last.contains('-'))
    };
    let within: Vec<&Available> = available.iter().filter(|it| is_within(&it.version)).collect();
    let mut by_maker: BTreeMap<&str, Vec<&Available>> = BTreeMap::new();
    for it in &within {
        by_maker.entry(maker_of(&it.source, &it.channel)).or_default().push(it);
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
    available: impl Iterator<Item = &'a Available>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn available(version: &str, source: &str, channel: &str, verified: bool) -> Available {
        Available {
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
            let found = found(Product::MariaDb, &all, ends).into_iter();
            let message = found.map(|it| (it.source.unwrap_or_default(), it.versions.join(" ")));
            message.collect::<Vec<_>>()
        };
        let of = |source: &str, versions: &str| (source.to_owned(), versions.to_owned());
        assert_eq!(
            message(["10.5", "11.8"]),
            [
                of("mariadb.org", "10.5.28 10.6.9 10.6.26 10.11.19 11.4.5 11.8.9"),
                of("", "10.5.29 10.11.19 11.4.5 11.8.9")
            ]
        );
        assert_eq!(
            message(["10.5.29", "11.8.9"]),
            [of("", "10.5.29 10.11.19 11.4.5 11.8.9"), of("apt", "10.5.29 10.11.19 11.8.9")]
        );
        assert_eq!(message(["10.5.23", "10.5.29"]), [of("apt", "10.5.23 10.5.29")]);
        assert!(message(["11.8", "10.5"]).is_empty() && message(["10.5", "10.5"]).is_empty());
        assert!(message(["10.5", "99"]).is_empty());
    }
}
