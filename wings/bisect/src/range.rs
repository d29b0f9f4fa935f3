//! Search ranges and their versions: releases from the sources, commits from a repository.

use anyhow::{Result, bail};
use assay_model::{NamedVersion, Origin, Product, SystemSpec, limits};
use assay_plan::parse_system;
use assay_provision::Releases;

use assay_run::advice::HintedError;
use assay_run::systems::{Environment, fetch_one, provisioner};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRange {
    pub product: Product,
    pub ends: [String; 2],
    /// The repository, if the ends are commits.
    pub place: Option<String>,
    /// Engine and options of every version, as typed after it.
    rest: String,
}

impl SearchRange {
    /// Parses `mariadb@10.6..11.8/rocksdb+a=b`, or `postgres@git:../postgres` and `one..other`.
    pub fn read(words: &str, commits: Option<&str>) -> Result<Self> {
        let no_range = |what: String, such: &str| {
            HintedError::new(what, format!("a range has two ends, such as `{such}`"))
        };
        let ends = |text: &str| {
            let (first, last) = text.split_once("..")?;
            let is_end = |end: &str| !end.is_empty() && !end.starts_with('.');
            (is_end(first) && is_end(last)).then(|| [first.to_owned(), last.to_owned()])
        };
        if let Some((product, reference)) = words.split_once("@git:") {
            let spec = parse_system(words)?;
            if reference.contains('#') {
                bail!(HintedError::new(
                    format!("`{words}` names a commit"),
                    format!("the commits follow the repository: `{product}@git:REPO GOOD..BAD`")
                ));
            }
            let commits = commits.and_then(ends).ok_or_else(|| {
                no_range(format!("`{words}` needs the commits to search"), "REL_17_0..master")
            })?;
            let Origin::Git(place) = &spec.origin else { bail!("`{words}` is no repository") };
            return Ok(Self { place: Some(place.clone()), ..Self::between(&spec, commits) });
        }
        if let Some(commits) = commits {
            bail!(HintedError::new(
                format!("`{commits}` are commits, but `{words}` is no repository"),
                "name the repository: `postgres@git:../postgres GOOD..BAD`"
            ));
        }
        let such = "mariadb@10.6..11.8";
        let at_end = |tail: &str| tail.find(['/', '+']).unwrap_or(tail.len());
        let split = words.split_once('@').and_then(|(product, versions)| {
            let (versions, rest) = versions.split_at_checked(at_end(versions))?;
            Some((product, ends(versions)?, rest))
        });
        let Some((product, ends, rest)) = split else {
            bail!(no_range(format!("`{words}` is not a range of releases"), such));
        };
        let [spec, _] = [
            parse_system(&format!("{product}@{}{rest}", ends[0]))?,
            parse_system(&format!("{product}@{}{rest}", ends[1]))?,
        ];
        if !matches!(spec.origin, Origin::Version(_)) {
            bail!(no_range(format!("`{words}` is not a range of releases"), such));
        }
        Ok(Self::between(&spec, ends))
    }

    /// The range between two systems of a study; `None` if there is none.
    pub fn of_systems(first: &SystemSpec, last: &SystemSpec, versions: [&str; 2]) -> Option<Self> {
        let are_alike = first.product == last.product
            && first.engine == last.engine
            && first.overrides == last.overrides
            && first.build == last.build;
        match (&first.origin, &last.origin) {
            (Origin::Version(_), Origin::Version(_)) if are_alike => {
                Some(Self::between(first, versions.map(str::to_owned)))
            }
            (Origin::Git(one), Origin::Git(other)) if are_alike => {
                let ((place, one), (same, other)) =
                    (one.rsplit_once('#')?, other.rsplit_once('#')?);
                let range = Self::between(first, [one.to_owned(), other.to_owned()]);
                (place == same).then(|| Self { place: Some(place.to_owned()), ..range })
            }
            _ => None,
        }
    }

    fn between(spec: &SystemSpec, ends: [String; 2]) -> Self {
        let engine = if spec.engine == spec.product.default_engine() {
            String::new()
        } else {
            format!("/{}", spec.engine.word())
        };
        let rest = engine + &spec.options_in_words();
        Self { product: spec.product, ends, place: None, rest }
    }

    pub fn with_ends(&self, ends: [String; 2]) -> Self {
        Self { ends, ..self.clone() }
    }

    pub fn words(&self) -> String {
        let Self { product, ends: [first, last], place, rest } = self;
        match place {
            Some(place) => format!("{product}@git:{place}{rest} {first}..{last}"),
            None => format!("{product}@{first}..{last}{rest}"),
        }
    }

    pub fn is_of_commits(&self) -> bool {
        self.place.is_some()
    }

    pub fn version(&self, name: &str) -> NamedVersion {
        match self.place {
            Some(_) => self.commit(name, ""),
            None => self.release(name),
        }
    }

    pub fn release(&self, version: &str) -> NamedVersion {
        NamedVersion {
            words: format!("{}@{version}{}", self.product, self.rest),
            name: version.to_owned(),
            title: None,
        }
    }

    pub fn commit(&self, id: &str, title: &str) -> NamedVersion {
        let place = self.place.as_deref().unwrap_or_default();
        let id: String = id.chars().take(12).collect();
        NamedVersion {
            words: format!("{}@git:{place}#{id}{}", self.product, self.rest),
            name: id,
            title: Some(title.to_owned()),
        }
    }
}

/// Versions to search first: the ends, and the newest one of each series between them. Within one series, all.
pub(crate) fn one_a_series(product: Product, versions: &[String]) -> Vec<String> {
    let series = |version: &String| product.series(version).to_owned();
    let is_one = versions.first().map(series) == versions.last().map(series);
    let is_end = |at: usize| at == 0 || at + 1 == versions.len();
    let is_newest = |at: usize| versions.get(at + 1).map(series) != versions.get(at).map(series);
    let kept =
        versions.iter().enumerate().filter(|(at, _)| is_one || is_end(*at) || is_newest(*at));
    kept.map(|(_, version)| version.clone()).collect()
}

/// Versions to search after a step between two of them: the releases in between that belong to the series of either.
/// `None` if there are none.
pub(crate) fn within_step(
    product: Product,
    versions: &[String],
    [after, at]: [&str; 2],
) -> Option<Vec<String>> {
    let place = |wanted: &str| versions.iter().position(|version| version == wanted);
    let between = versions.get(place(after)?..=place(at)?)?;
    let is_of = |version: &String| product.series(version) == product.series(at);
    let kept: Vec<String> =
        between.iter().filter(|it| *it == after || is_of(it)).cloned().collect();
    (kept.len() > 2).then_some(kept)
}

pub struct SearchVersions {
    pub range: SearchRange,
    pub versions: Vec<NamedVersion>,
    /// Empty for commits.
    pub releases: Vec<String>,
    /// The source of all releases, if they share one.
    pub source: Option<String>,
    /// The baseline, and all releases or the commits that change a path, in order.
    pub all: Vec<NamedVersion>,
}

impl SearchVersions {
    pub(super) fn check(&self) -> Result<()> {
        if self.versions.len() > limits::search::VERSIONS {
            bail!(HintedError::new(
                format!("{} has {} commits", self.range.words(), self.versions.len()),
                format!(
                    "a search takes at most {}: name a shorter range, or narrow it with `--paths`",
                    limits::search::VERSIONS
                )
            ));
        }
        Ok(())
    }

    pub(super) fn message(&self) -> String {
        if self.range.is_of_commits() {
            return format!("{} commits, the ends included", self.versions.len());
        }
        let from = match &self.source {
            Some(source) => format!("all from {source}"),
            None => {
                "from several sources, so a small difference may be one of their builds".to_owned()
            }
        };
        let all = self.releases.len();
        let kinds = if self.versions.len() == all { "" } else { ", one of each series first" };
        let names: Vec<&str> = self.versions.iter().map(|it| it.name.as_str()).collect();
        format!("{all} releases, {from}{kinds}: {}", names.join(", "))
    }
}

/// Versions of the first range whose ends are in order.
pub fn first(
    ranges: &[SearchRange],
    paths: &[String],
    source: Option<&str>,
    env: &Environment<'_>,
) -> Result<SearchVersions> {
    let mut refused = None;
    for range in ranges {
        let found = match &range.place {
            Some(place) => commits(range, place, paths, env),
            None => releases(range, source, env),
        };
        match found {
            Ok(found) => return Ok(found),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| anyhow::anyhow!("there is nothing to search")))
}

fn commits(
    range: &SearchRange,
    place: &str,
    paths: &[String],
    env: &Environment<'_>,
) -> Result<SearchVersions> {
    let [first, last] = &range.ends;
    let commits = provisioner(env)?.commits(place, [first, last], paths)?;
    let mut all = Vec::new();
    let mut versions = Vec::new();
    for commit in commits {
        let version = range.commit(&commit.id, &commit.title);
        if versions.is_empty() || !commit.is_aside {
            all.push(version.clone());
        }
        versions.push(version);
    }
    let (releases, source) = (Vec::new(), None);
    Ok(SearchVersions { range: range.clone(), versions, releases, source, all })
}

fn releases(
    range: &SearchRange,
    source: Option<&str>,
    env: &Environment<'_>,
) -> Result<SearchVersions> {
    let Releases { versions: releases, source } = found(range, source, env)?;
    let version = |name: &String| range.release(name);
    let versions = one_a_series(range.product, &releases).iter().map(version).collect();
    let all = releases.iter().map(version).collect();
    Ok(SearchVersions { range: range.clone(), versions, releases, source, all })
}

fn found(range: &SearchRange, source: Option<&str>, env: &Environment<'_>) -> Result<Releases> {
    let [first, last] = &range.ends;
    let all = provisioner(env)?.with_source(source.map(str::to_owned))?;
    let mut refused = None;
    for releases in all.releases(range.product, [first, last])? {
        let Some(end) = releases.versions.first() else { continue };
        let words = range.release(end).words;
        let spec = assay_plan::parse_system(&words)?;
        match fetch_one(&all, &words, &spec, releases.source.as_deref(), env) {
            Ok(_) => return Ok(releases),
            Err(error) => refused = refused.or(Some(error)),
        }
        env.interrupt.check()?;
    }
    Err(refused.unwrap_or_else(|| {
        HintedError::new(
            format!("no source has both ends of `{}` in this order", range.words()),
            format!("`assay server list --available {}` lists the releases", range.product),
        )
        .into()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_with_engine_and_options() {
        let range = SearchRange::read("mariadb@10.6..11.8/rocksdb+innodb_x=1", None).unwrap();
        assert_eq!((range.product, range.ends.join(" ").as_str()), (Product::MariaDb, "10.6 11.8"));
        assert_eq!(range.words(), "mariadb@10.6..11.8/rocksdb+innodb_x=1");
        assert_eq!(range.release("10.11.9").words, "mariadb@10.11.9/rocksdb+innodb_x=1");
        let built = SearchRange::read("postgres@git:../pg+build.lto=on", Some("a..b")).unwrap();
        assert_eq!(built.commit("b", "").words, "postgres@git:../pg#b+build.lto=on");
        let range = SearchRange::read("postgres@git:../pg", Some("REL_17_0..master")).unwrap();
        assert_eq!(range.words(), "postgres@git:../pg REL_17_0..master");
        let commit = range.commit("0123456789abcdef", "2026-11-27 Faster");
        assert_eq!(commit.words, "postgres@git:../pg#0123456789ab");
        assert_eq!(commit.name, "0123456789ab");
    }

    #[test]
    fn what_is_no_range_is_refused_with_an_example() {
        for (words, commits) in [
            ("mariadb@11.8", None),
            ("mariadb@10.6..", None),
            ("mariadb@..11.8", None),
            ("mariadb@10.6...11.8", None),
            ("mariadb", None),
            ("mariadb@dir:../x", None),
            ("mariadb@10.6..11.8", Some("a..b")),
            ("postgres@git:../pg", None),
            ("postgres@git:../pg", Some("a")),
            ("postgres@git:../pg#x", Some("a..b")),
        ] {
            let error = SearchRange::read(words, commits).unwrap_err();
            assert!(!assay_command::errors::hints(&error).is_empty(), "{words}: {error}");
        }
    }

    #[test]
    fn a_study_gives_the_range_between_two_of_its_systems() {
        let spec = |words: &str| parse_system(words).unwrap();
        let range = |one: &str, other: &str| {
            SearchRange::of_systems(&spec(one), &spec(other), ["10.6.1", "11.8.9"])
                .map(|it| it.words())
        };
        assert_eq!(
            range("mariadb@10.6", "mariadb@11.8").as_deref(),
            Some("mariadb@10.6.1..11.8.9")
        );
        assert_eq!(range("mysql@git:/a#x", "mysql@git:/a#y").as_deref(), Some("mysql@git:/a x..y"));
        for (one, other) in [
            ("mariadb@10.6", "mysql@8.0"),
            ("mariadb@10.6", "mariadb@11.8/rocksdb"),
            ("mariadb@10.6", "mariadb@11.8+a=b"),
            ("mysql@git:/a#x", "mysql@git:/b#y"),
            ("mysql@git:/a#x", "mysql@8.0"),
        ] {
            assert_eq!(range(one, other), None, "{one} {other}");
        }
    }

    #[test]
    fn series_come_first_and_patches_after_them() {
        let versions = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let all = versions("10.11.5 10.11.18 10.11.19 11.4.4 11.4.5 11.8.2 11.8.8 11.8.9");
        let first = one_a_series(Product::MariaDb, &all);
        assert_eq!(first, versions("10.11.5 10.11.19 11.4.5 11.8.9"));
        let within = |after, at| within_step(Product::MariaDb, &all, [after, at]);
        assert_eq!(within("10.11.19", "11.4.5"), Some(versions("10.11.19 11.4.4 11.4.5")));
        assert_eq!(within("10.11.5", "10.11.19"), Some(versions("10.11.5 10.11.18 10.11.19")));
        assert_eq!(within("11.8.8", "11.8.9"), None);
        let patches = versions("10.11.5 10.11.18 10.11.19");
        assert_eq!(one_a_series(Product::MariaDb, &patches), patches);
        assert_eq!(
            one_a_series(Product::Postgres, &versions("16.1 16.3 17.1 17.5")),
            versions("16.1 16.3 17.5")
        );
    }
}
