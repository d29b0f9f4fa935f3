//! Releases as users name them, found in the map; and what to do about those that it lacks.

use anyhow::{Result, bail};
use assay_map_data::{CountMap, is_in_series};
use assay_model::{Origin, Product, counted};
use assay_plan::parse_system;
use assay_run::advice::HintedError;

/// The product and the version of a release; an error for other systems.
pub(crate) fn release_named(words: &str) -> Result<(Product, String)> {
    let spec = parse_system(words)?;
    let is_plain = spec.engine == spec.product.default_engine() && spec.overrides.is_empty();
    match &spec.origin {
        Origin::Version(version) if is_plain => Ok((spec.product, version.clone())),
        _ => bail!(HintedError::new(
            format!("`{words}` is no release"),
            "the map has releases with their usual engine and without options, such as `mysql@8.0.33`; `assay count` \
             counts other systems"
        )),
    }
}

/// The release of the map that a user names.
pub(crate) fn found<'m>(map: &'m CountMap, words: &str) -> Result<(Product, &'m str)> {
    let (product, version) = release_named(words)?;
    match map.newest(product, &version) {
        Some(found) => Ok((product, found)),
        None => Err(not_in_map(map, product, &version).into()),
    }
}

/// Names the neighbours of a release that the map lacks, and says how to add it.
fn not_in_map(map: &CountMap, product: Product, version: &str) -> HintedError {
    let gap = map.gap(product, version).map(|gap| format!(": {}", gap.reason));
    let what = format!("the map does not have `{product}@{version}`{}", gap.unwrap_or_default());
    let near = match map.neighbours(product, version) {
        [Some(one), Some(other)] => format!("its neighbours in the map are {one} and {other}"),
        [Some(only), None] => format!("the newest release in the map is {only}"),
        [None, Some(only)] => format!("the oldest release in the map is {only}"),
        [None, None] => format!("it has no release of {product}"),
    };
    let add = format!(
        "in a checkout of assay's repository, `assay map fill --product {product} --versions {version}` adds it"
    );
    HintedError::new(what, near).or(add)
}

/// The releases of a history, in order: those of a series, with the last one in front of it; or all up to a release.
pub(crate) fn history_range<'m>(map: &'m CountMap, words: &str) -> Result<(Product, Vec<&'m str>)> {
    // The name of a product alone means all of its releases.
    let (product, version) = match Product::named(words) {
        Some(product) => (product, None),
        None => release_named(words).map(|(product, version)| (product, Some(version)))?,
    };
    let mut releases = map.versions(product);
    if let Some(version) = version {
        let last = map.newest(product, &version);
        let last = last.ok_or_else(|| not_in_map(map, product, &version))?;
        let end = releases.iter().position(|known| *known == last).unwrap_or_default();
        releases.truncate(end + 1);
        if last != version {
            let is_of = |known: &&str| is_in_series(known, &version);
            let begin = releases.iter().position(is_of).unwrap_or_default();
            releases.drain(..begin.saturating_sub(1));
        }
    }
    if releases.len() < 2 {
        let only = counted(releases.len() as u64, "release");
        bail!(HintedError::new(
            format!("a history has two releases at least; the map has {only} for `{words}`"),
            "`assay map BASE OTHER` compares two; `assay map PRODUCT` shows all of a product",
        ));
    }
    Ok((product, releases))
}

#[cfg(test)]
mod tests {
    use assay_map_data::read_rows;
    use assay_model::Hint as _;

    use super::*;

    fn map() -> CountMap {
        let header = "product,version,source,program,test,digest,terms,instructions,half_width,\
                      background,times,counter,shown\n";
        let versions = ["5.7.44", "8.0.11", "8.0.12", "8.0.33", "9.7.1"];
        let rows = versions.map(|version| {
            format!("mysql,{version},maven,0a,scan,d1,lean,40000.0,4.0,,2,valgrind 3.19.0,avx2\n")
        });
        let cells = read_rows("mysql.csv", &(header.to_owned() + &rows.concat())).unwrap();
        CountMap::new(cells, Vec::new())
    }

    #[test]
    fn a_series_is_its_newest_release() {
        let map = map();
        assert_eq!(found(&map, "mysql@8.0").unwrap(), (Product::MySql, "8.0.33"));
        assert_eq!(found(&map, "mysql@8.0.11").unwrap().1, "8.0.11");
        for wrong in ["mariadb@10.11/rocksdb", "mysql@8.0.33+a=b", "mysql@dir:/opt/mysql"] {
            let error = found(&map, wrong).unwrap_err().to_string();
            assert!(error.contains("no release"), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_the_map_lacks_has_neighbours_and_advice() {
        let map = map();
        let message = |words: &str| {
            let error = found(&map, words).unwrap_err();
            let hints = error.downcast_ref::<HintedError>().unwrap().hints();
            (error.to_string(), hints)
        };
        let (what, hints) = message("mysql@8.4.0");
        assert_eq!(what, "the map does not have `mysql@8.4.0`");
        assert_eq!(hints[0], "its neighbours in the map are 8.0.33 and 9.7.1");
        assert!(hints[1].contains("map fill --product mysql --versions 8.4.0"), "{hints:?}");
        assert!(message("mysql@10").1[0].contains("the newest release in the map is 9.7.1"));
        assert!(message("mysql@5.5").1[0].contains("the oldest release in the map is 5.7.44"));
        assert!(message("postgres@17").1[0].contains("no release of postgres"));
    }

    #[test]
    fn a_history_is_that_of_a_product_a_series_or_a_release() {
        let map = map();
        let range = |words: &str| history_range(&map, words).unwrap().1;
        assert_eq!(range("mysql"), ["5.7.44", "8.0.11", "8.0.12", "8.0.33", "9.7.1"]);
        assert_eq!(range("mysql@8.0"), ["5.7.44", "8.0.11", "8.0.12", "8.0.33"]);
        assert_eq!(range("mysql@9.7"), ["8.0.33", "9.7.1"]);
        assert_eq!(range("mysql@8.0.12"), ["5.7.44", "8.0.11", "8.0.12"]);
        let error = history_range(&map, "mysql@5.7").unwrap_err().to_string();
        assert!(error.contains("the map has 1 release for `mysql@5.7`"), "{error}");
    }
}
