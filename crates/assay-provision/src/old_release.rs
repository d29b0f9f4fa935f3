//! A series that resolves to an old release although a newer one is available.

use std::time::{SystemTime, UNIX_EPOCH};

use assay_model::{OldRelease, Origin, Prefix, Product, SystemSpec};

use crate::agree::{Elsewhere, newer};
use crate::provisioner::Provisioner;

/// A release is old if a newer one of its series came at least this many months later.
const OLD_MONTHS: i32 = 24;

impl Provisioner {
    /// Describes an old version that was chosen for a series. `agreed` is the common source of the product's versions,
    /// if the builds are to be equal. Needs no network.
    #[must_use]
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
    newer: Vec<Elsewhere>,
    (month, now): (Month<'_>, i32),
) -> Option<OldRelease> {
    let released = month(version)?;
    let began = months(&released)?;
    let months_later =
        |it: &Elsewhere| month(&it.version).and_then(|it| months(&it)).unwrap_or(now) - began;
    let newest = newer.into_iter().find(|it| months_later(it) >= OLD_MONTHS)?;
    Some(OldRelease {
        version: version.to_owned(),
        released,
        newest_released: month(&newest.version),
        ask_for: format!("{product}@{}", newest.version),
        newest: newest.version,
        place: newest.place,
        has_checksum: newest.has_checksum,
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

    fn elsewhere(version: &str, has_checksum: bool) -> Elsewhere {
        Elsewhere { version: version.to_owned(), place: "a source".to_owned(), has_checksum }
    }

    fn old(product: Product, version: &str, newer: Vec<Elsewhere>) -> Option<OldRelease> {
        let catalog = Catalog::built_in().unwrap();
        let month = |version: &str| catalog.released(product, version);
        of_versions(product, version, newer, (&month, 2026 * 12 + 1))
    }

    #[test]
    fn a_release_of_years_before_a_newer_one_is_old() {
        let newer = vec![elsewhere("8.0.33", true), elsewhere("8.0.46", false)];
        let found = old(Product::MySql, "8.0.12", newer.clone()).unwrap();
        assert_eq!((found.released.as_str(), found.newest.as_str()), ("2018-07", "8.0.33"));
        assert_eq!(found.newest_released.as_deref(), Some("2023-04"));
        assert_eq!(found.ask_for, "mysql@8.0.33");
        assert!(found.has_checksum);
        // The one with a known checksum is hardly newer.
        let found =
            old(Product::MySql, "8.0.12", vec![elsewhere("8.0.15", true), newer[1].clone()]);
        assert_eq!(found.unwrap().newest, "8.0.46");
    }

    #[test]
    fn the_newest_of_a_series_is_not_old_nor_is_one_of_unknown_age() {
        assert_eq!(old(Product::MySql, "5.5.34", Vec::new()), None);
        assert_eq!(old(Product::MariaDb, "11.4.5", vec![elsewhere("11.4.13", false)]), None);
        assert_eq!(old(Product::Postgres, "13.1", vec![elsewhere("13.23", false)]), None);
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
