//! Choice of a source for a request.

use assay_model::{Engine, Origin, SystemSpec};

use crate::available::{Available, offered, survey};
use crate::catalog::{Offer, Package, Packaged, is_from};
use crate::error::Error;
use crate::provisioner::{Progress, Provisioner};
use crate::reach::{Opened, Sources};
use crate::sources;
use crate::sources::kind::Record;
use crate::version::{answers, compare, in_series, upstream};

pub(crate) enum Chosen<'a> {
    Indexed(Box<(Opened<'a>, Record)>),
    /// Packages of other sources with one version of the server, in order of preference.
    Packages(Vec<Packaged<'a>>),
    /// Tarballs that a vendor may have, in order of preference, and the error if it has none.
    Tarballs(Vec<Packaged<'a>>, Error),
}

impl Provisioner {
    /// The newest fitting version of the released rows, else of the registries, else of the unreleased rows, else of
    /// the vendors: sources without known checksums come last. `guessed` are packages for versions that are not in the
    /// catalog.
    pub(crate) fn choose<'a>(
        &'a self,
        sources: &Sources<'_>,
        spec: &SystemSpec,
        from: Option<&str>,
        guessed: &'a [Package],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Chosen<'a>, Error> {
        let Origin::Version(wanted) = &spec.origin else {
            return Err(Error::Unsupported(spec.to_string()));
        };
        let product = spec.product;
        let (fitting, rest): (Vec<_>, Vec<_>) = (self.offers(product, from).into_iter())
            .partition(|offer| offer.may_have(wanted) && offer.server.has_engine(spec.engine));
        let (released, others): (Vec<_>, Vec<_>) =
            fitting.into_iter().partition(|offer| offer.release.released);
        let mut all = Vec::new();
        let (mut unread, failures): (Vec<_>, Vec<_>) =
            self.look(sources, released, &mut all, progress).into_iter().partition(is_expired);
        if let Some(error) = failures.into_iter().next() {
            return Err(error);
        }
        pass_over(&unread, progress);
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(Chosen::Indexed(Box::new(found)));
        }
        let is_wanted = |it: &Packaged<'_>| {
            let (source, channel) = it.origin();
            is_from(from, &source, &channel)
        };
        let known = || self.catalog.packaged(product).filter(&is_wanted);
        let (tarballs, packages): (Vec<_>, Vec<_>) =
            known().partition(|it| it.is_unverified_tarball());
        if let Some(found) = best(packages, wanted, spec.engine) {
            return Ok(Chosen::Packages(found));
        }
        // These sources matter only because no released one has it, so a failure of one does not affect the others.
        let passed_over = self.look(sources, others, &mut all, progress);
        if let Some(found) = newest(&mut all, wanted) {
            return Ok(Chosen::Indexed(Box::new(found)));
        }
        let tarballs = tarballs
            .into_iter()
            .chain(guessed.iter().flat_map(Package::packaged).filter(is_wanted));
        let found = best(tarballs, wanted, spec.engine);
        if found.is_some() {
            pass_over(&passed_over, progress);
        }
        unread.extend(passed_over);
        let is_listed = known().any(|it| it.version.version == *wanted);
        let found = match found {
            Some(found) if is_listed => return Ok(Chosen::Packages(found)),
            None => {
                unread.extend(self.look(sources, rest, &mut all, progress));
                None
            }
            found => found,
        };
        let with_engine = known().filter(|it| it.package.has_engine(spec.engine));
        all.retain(|it| it.offer.server.has_engine(spec.engine));
        let mut available = survey(product, &all);
        available.extend(with_engine.map(|it| offered(product, it)));
        let available = message(available);
        unread.extend(self.on_other_systems(spec, wanted, from));
        let (wanted, engine) = (wanted.to_owned(), unusual(spec));
        let from = from.map(str::to_owned);
        let error = Error::NoVersion { product, wanted, engine, from, available, unread };
        match found {
            Some(found) => Ok(Chosen::Tarballs(found, error)),
            None => Err(error),
        }
    }

    fn on_other_systems(
        &self,
        spec: &SystemSpec,
        wanted: &str,
        from: Option<&str>,
    ) -> Option<Error> {
        let offers = self.catalog.offers(spec.product).into_iter().filter(|offer| {
            let is_of_series = offer.series().is_some() && offer.may_have(wanted);
            is_of_series
                && offer.release.released
                && offer.server.has_engine(spec.engine)
                && is_from(from, &offer.release.source, "")
                && !self.reaches(offer.release)
        });
        let (mut releases, mut absence) = (Vec::new(), None);
        for Offer { release, .. } in offers {
            let Some(distribution) = sources::distribution(&release.source) else { continue };
            releases.push(distribution.title(release));
            absence = absence.or_else(|| Some(distribution.absence()));
        }
        let system = format!("{}@{wanted}", spec.product.word());
        Some(Error::OtherSystem { system, releases, absence: absence? })
    }

    fn look<'a>(
        &'a self,
        sources: &Sources<'_>,
        offers: Vec<Offer<'a>>,
        all: &mut Vec<Opened<'a>>,
        progress: &mut dyn FnMut(Progress),
    ) -> Vec<Error> {
        let mut unread = Vec::new();
        for offer in offers {
            let Some(archives) = sources.archives(offer.release) else { continue };
            match self.open(archives, offer.release, progress) {
                Ok(read) => all.push(read.of(offer)),
                Err(error) => unread.push(error),
            }
        }
        unread
    }
}

fn is_expired(error: &Error) -> bool {
    matches!(error, Error::ExpiredIndex { .. })
}

/// Reports the sources with expired indexes. Other errors are reported at the end, if no source has the version.
fn pass_over(unread: &[Error], progress: &mut dyn FnMut(Progress)) {
    for error in unread.iter().filter(|it| is_expired(it)) {
        progress(Progress::PassedOver { why: error.to_string() });
    }
}

/// The storage engine, if it is not the usual one of the product.
fn unusual(spec: &SystemSpec) -> Option<Engine> {
    (spec.engine != spec.product.default_engine()).then_some(spec.engine)
}

/// The verified versions in order; the others are too many to list.
fn message(available: Vec<Available>) -> Vec<String> {
    let verified = available.into_iter().filter(|it| it.verified);
    let mut versions: Vec<String> = verified.map(|it| it.version).collect();
    versions.sort_by(|a, b| compare(a, b));
    versions.dedup();
    versions
}

fn best<'a>(
    packages: impl IntoIterator<Item = Packaged<'a>>,
    wanted: &str,
    engine: Engine,
) -> Option<Vec<Packaged<'a>>> {
    let mut fitting: Vec<_> = (packages.into_iter())
        .filter(|it| answers(&it.version.version, wanted) && it.package.has_engine(engine))
        .collect();
    fitting.sort_by(|a, b| {
        let known = |it: &Packaged<'_>| it.is_verified();
        compare(&b.version.version, &a.version.version).then_with(|| known(b).cmp(&known(a)))
    });
    let first = fitting.first().copied()?;
    fitting.retain(|it| it.version.version == first.version.version);
    Some(fitting)
}

fn newest<'a>(all: &mut Vec<Opened<'a>>, series: &str) -> Option<(Opened<'a>, Record)> {
    let numbered = all.iter().enumerate();
    let versions =
        numbered.flat_map(|(row, opened)| opened.versions().into_iter().map(move |it| (row, it)));
    let fitting = versions.filter(|(_, it)| in_series(&upstream(&it.version), series));
    let (row, root) = fitting.max_by(|(_, a), (_, b)| compare(&a.version, &b.version))?;
    let root = root.clone();
    Some((all.swap_remove(row), root))
}
