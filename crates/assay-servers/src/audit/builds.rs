//! Findings about builds and data: who built the servers, with what, with which libraries they run, and whether they
//! hold the same rows.

use std::collections::BTreeSet;

use assay_model::AuditClass::{self, Expected, Harmless, Suspicious};
use assay_model::{AuditFinding, BuildFlag, Origin, SystemSpec, may_equal};

use self::Meaning::{Nothing, OfBuilder, OfRelease, Wrong};
use crate::audit::facts::{AuditedSystem, JIT, differ, differ_within_series, finding};

const SOURCE: &str = "build.source";

/// The commit of the source, which cannot be compared between sources.
const CHANNEL: &str = "build.channel";

const COMPILER: &str = "build.compiler";

/// What a system asks of the compilers by the flags of its build.
pub(crate) const FLAGS: &str = "build.flags";

const ASKED: &str = "requested by the flags of the builds, which are of one source";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Wrong in any comparison.
    Wrong,
    /// A property of the builder. Between versions, it is part of the comparison if no builder has built all of them.
    OfBuilder,
    /// A property of the release, if one distribution or vendor built all; otherwise a property of the builder.
    OfRelease,
    Nothing,
}

const RULES: &[(&str, Meaning, &str)] = &[
    (
        SOURCE,
        OfBuilder,
        "different builders use different compilers and flags, so this does not compare versions alone",
    ),
    (CHANNEL, Nothing, "the same builder, but another release with its own compiler and libraries"),
    (COMPILER, OfRelease, "a different compiler generates different code"),
    ("build.linker", OfRelease, "code is laid out differently"),
    ("build.pie", OfBuilder, "position-independent code costs some CPU in every function"),
    ("build.lto", OfBuilder, "link-time optimisation saves calls across files"),
    (FLAGS, OfBuilder, "other flags make compilers generate other code"),
    ("build.hardening", OfBuilder, "stack, pointer and buffer checks cost CPU"),
    (
        "build.allocator",
        OfBuilder,
        "memory allocators differ in cost, especially with many threads",
    ),
    ("version_malloc_library", OfBuilder, "memory allocators differ in cost"),
    ("build.assertions", Wrong, "a debug build runs assertions all the time"),
    ("build.c-library", OfRelease, "the C library provides memory, string and lock functions"),
    ("build.c++-library", Nothing, "each server runs with the library of its release"),
    (JIT, Nothing, "only a build with LLVM compiles statements, where `jit` is on"),
    ("build.relro", Nothing, "symbols are bound at startup or on first use"),
    ("build.stripped", Nothing, "only debuggers and profilers use symbols; they cost nothing"),
    (
        "build.foreign-libraries",
        Wrong,
        "libraries that did not come with the server belong to another build",
    ),
];

pub(super) fn knows(name: &str) -> bool {
    name.starts_with("build.") || RULES.iter().any(|(known, ..)| *known == name)
}

/// In the order of the rules.
pub(super) fn compare(systems: &[AuditedSystem]) -> Vec<AuditFinding> {
    let values = |name: &str| -> Vec<Option<String>> {
        systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect()
    };
    let is_one_source = !differ(values(SOURCE).iter());
    let finding = |(name, meaning, why): &(&str, Meaning, &str)| {
        let found = values(name);
        if *name == CHANNEL && !is_one_source {
            return None;
        }
        // A missing fact does not mean another build.
        if !differ(found.iter().flatten()) {
            return None;
        }
        if *meaning != Nothing && is_asked(systems, name, &found) {
            let asked = finding(name, found, Expected, ASKED);
            return Some(AuditFinding { is_asked: true, ..asked });
        }
        let class = match meaning {
            Meaning::Nothing => Harmless,
            Meaning::OfRelease if is_one_source && !systems.iter().any(is_own) => Harmless,
            Meaning::Wrong => Suspicious,
            Meaning::OfBuilder | Meaning::OfRelease => class(systems, &found),
        };
        Some(finding(name, found, class, why))
    };
    RULES.iter().filter_map(finding).collect()
}

/// Whether the flags of the builds explain all differences between values.
fn is_asked(systems: &[AuditedSystem], name: &str, values: &[Option<String>]) -> bool {
    let known = || systems.iter().zip(values).filter(|(_, value)| value.is_some());
    known().all(|(one, value)| {
        known().all(|(other, it)| value == it || explains(name, one.spec, other.spec))
    })
}

/// Whether two systems are builds of one source with different flags. A compiler that neither of them names is that of
/// a fix.
fn explains(name: &str, one: &SystemSpec, other: &SystemSpec) -> bool {
    let is_same = |flag: &BuildFlag| one.build.get(flag) == other.build.get(flag);
    (&one.origin, one.product) == (&other.origin, other.product)
        && one.build != other.build
        && !(name == COMPILER && [BuildFlag::Cc, BuildFlag::Cxx].iter().all(is_same))
}

/// Suspicious where the user has a choice: another package of the same release series, or the same build options for
/// builds from source.
fn class(systems: &[AuditedSystem], values: &[Option<String>]) -> AuditClass {
    if systems.iter().any(is_own) || differ_within_series(systems, values) {
        Suspicious
    } else {
        Expected
    }
}

fn is_own(system: &AuditedSystem) -> bool {
    matches!(system.spec.origin, Origin::Dir(_) | Origin::Git(_))
}

const DATA: &str = "data.";

pub(super) fn compare_data(systems: &[AuditedSystem]) -> Vec<AuditFinding> {
    let names: BTreeSet<&String> = systems
        .iter()
        .flat_map(|it| it.facts.settings.keys())
        .filter(|it| it.starts_with(DATA))
        .collect();
    let mut findings = Vec::new();
    for name in names {
        let values: Vec<_> =
            systems.iter().map(|it| it.facts.settings.get(name).cloned()).collect();
        // A system that has not loaded its data yet has no different data.
        let known: Vec<&String> = values.iter().flatten().collect();
        if known.iter().any(|one| known.iter().any(|other| !may_hold_the_same(one, other))) {
            let why = "the tables do not hold the same rows, so the work differs";
            findings.push(finding(name, values, AuditClass::Suspicious, why));
        }
    }
    findings
}

/// Compares two facts, each with a number of rows and a checksum at its end. Returns whether they may describe the same
/// rows.
fn may_hold_the_same(one: &str, other: &str) -> bool {
    match (one.rsplit_once(' '), other.rsplit_once(' ')) {
        (Some((rows, checksum)), Some((other_rows, other_checksum))) => {
            rows == other_rows && may_equal(checksum, other_checksum)
        }
        _ => one == other,
    }
}
