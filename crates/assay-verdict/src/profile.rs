//! Changes of CPU time and waiting between profiles of two systems, by function.

use std::collections::{BTreeMap, BTreeSet};

use assay_model::limits::DISPERSION_MAX;
use assay_model::{CallTree, Estimate, KERNEL, Profile, StackFrame};

use crate::change::{QuantityChange, TimeChange, TimeTerm};
use crate::looks::ALPHA;
use crate::processor::{self, ProcessorChange};
use crate::special::Z;
use crate::student::upper_quantile;
use crate::waits::{Wait, waits};

/// Cost of a function per operation, without callees.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionChange {
    /// `None` for all unnamed functions of the module.
    pub function: Option<String>,
    pub module: String,
    /// Microseconds per operation. The interval includes the sampling error, but not variation between instances.
    pub changed: QuantityChange,
    pub is_certain: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProfileChange {
    /// CPU time of the threads that serve connections, by function: the largest change first. The changes add up to
    /// that of their whole CPU time.
    pub serving: Vec<FunctionChange>,
    pub background: Vec<FunctionChange>,
    /// Whether the times add up to measured CPU time; otherwise they are sampled times.
    pub adds_up: bool,
    pub processor: Option<ProcessorChange>,
    /// Waits of serving threads, microseconds per operation, without intervals: the longest first. `None` if the kernel
    /// did not report them.
    pub waits: Option<Vec<(Wait, QuantityChange)>>,
}

/// Functions with a smaller share of the change are no cause: differences between instances, which intervals do not
/// include, change some functions by more than their error.
const CAUSE_SHARE: f64 = 0.1;

impl ProfileChange {
    /// Functions of serving threads with a significant and substantial change in the direction of the whole, the
    /// largest first.
    pub fn causes(&self) -> impl Iterator<Item = &FunctionChange> {
        let whole: f64 = self.serving.iter().map(|it| it.changed.by.value).sum();
        let share = move |it: &FunctionChange| it.changed.by.value / whole;
        let is_cause = move |it: &&FunctionChange| it.is_certain && share(it) >= CAUSE_SHARE;
        self.serving.iter().filter(is_cause).filter(move |_| whole != 0.0)
    }
}

/// Whether the times of two profiles are comparable: the kernel was sampled in both or in neither, and at least one
/// operation ended in each.
pub fn are_comparable(base: &Profile, other: &Profile) -> bool {
    base.limits.no_kernel == other.limits.no_kernel && base.ops >= 1.0 && other.ops >= 1.0
}

/// Compares the profiles of the base and of a system; `None` if not comparable. CPU times are those of `time`, measured
/// without sampling, if available.
pub(crate) fn compare(
    base: &Profile,
    other: &Profile,
    time: Option<&TimeChange>,
) -> Option<ProfileChange> {
    if !are_comparable(base, other) {
        return None;
    }
    let both = |changed: QuantityChange| [changed.before, changed.after];
    let serving = time.and_then(|time| {
        let found = time.terms.iter().find(|(term, _)| *term == TimeTerm::ServerCpu);
        found.map(|(_, changed)| both(*changed))
    });
    let background = time.and_then(|time| time.background_cpu).map(both);
    let hidden = base.limits.no_kernel;
    let in_kernel = time.and_then(|time| time.kernel_cpu).map(both);
    let adds_up = serving.is_some() && (!hidden || in_kernel.is_some());
    let modules = Modules::from_profiles(base, other);
    let changes = |side: fn(&Profile) -> &CallTree, cpu_us: Option<[f64; 2]>, user: User| {
        let trees = [side(base), side(other)];
        let sampled =
            [(base, trees[0]), (other, trees[1])].map(|(profile, tree)| profile.sampled_us(tree));
        // Both kinds of threads were sampled in the same parts.
        let dispersion = [base.dispersion, other.dispersion];
        let Some(cpu_us) = cpu_us.filter(|_| adds_up) else {
            return functions(trees, &modules, sampled, dispersion);
        };
        if !hidden {
            return functions(trees, &modules, cpu_us, dispersion);
        }
        let user_us = match user {
            User::Told => in_kernel.map(|it| [cpu_us[0] - it[0], cpu_us[1] - it[1]]),
            User::Sampled => Some([cpu_us[0].min(sampled[0]), cpu_us[1].min(sampled[1])]),
        };
        let user_us = user_us.unwrap_or(sampled);
        let mut changes = functions(trees, &modules, user_us, dispersion);
        if !changes.is_empty() {
            changes.push(unseen_kernel(cpu_us, user_us));
            sort(&mut changes);
        }
        changes
    };
    let waited = |profile: &Profile| {
        let sampled = profile.waits.as_ref().filter(|it| it.ops >= 1.0)?;
        let per_op = 1e-3 / sampled.ops;
        Some(
            waits(&sampled.calls)
                .into_iter()
                .map(|(wait, ns)| (wait, ns as f64 * per_op))
                .collect(),
        )
    };
    let pair: Option<[BTreeMap<Wait, f64>; 2]> =
        waited(base).zip(waited(other)).map(|(before, after)| [before, after]);
    Some(ProfileChange {
        adds_up,
        processor: processor::change(&base.processor, &other.processor),
        serving: changes(|profile| &profile.serving, serving, User::Told),
        background: changes(|profile| &profile.background, background, User::Sampled),
        waits: pair.map(|[before, after]| wait_changes(&before, &after)),
    })
}

/// Source of the user-space share of CPU time if the kernel hides its functions from samples. The number of samples is
/// a poor one: a sample due in the kernel is taken on return from it.
#[derive(Clone, Copy)]
enum User {
    /// The kernel's clock, which distinguishes the modes of serving threads.
    Told,
    /// The samples, as a last resort; never more than the whole time.
    Sampled,
}

fn unseen_kernel(cpu_us: [f64; 2], user_us: [f64; 2]) -> FunctionChange {
    let [before, after] = [cpu_us[0] - user_us[0], cpu_us[1] - user_us[1]];
    FunctionChange {
        function: None,
        module: KERNEL.to_owned(),
        changed: QuantityChange { before, after, by: Estimate::without_interval(after - before) },
        is_certain: false,
    }
}

fn wait_changes(
    before: &BTreeMap<Wait, f64>,
    after: &BTreeMap<Wait, f64>,
) -> Vec<(Wait, QuantityChange)> {
    let kinds: BTreeSet<Wait> = before.keys().chain(after.keys()).copied().collect();
    let changed = |wait: Wait| {
        let [before, after] = [before, after].map(|waits| waits.get(&wait).copied().unwrap_or(0.0));
        (wait, QuantityChange { before, after, by: Estimate::without_interval(after - before) })
    };
    let mut all: Vec<(Wait, QuantityChange)> = kinds.into_iter().map(changed).collect();
    all.sort_by(|(_, one), (_, other)| {
        other.after.max(other.before).total_cmp(&one.after.max(one.before))
    });
    all
}

/// A function in both versions: its name, and the kernel or library that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionKey<'a> {
    /// `None` for all unnamed functions of the module.
    pub function: Option<&'a str>,
    /// Empty for the server itself, whose program name may differ between versions.
    pub(crate) module: &'a str,
    /// The named function that called unnamed ones, if they are kept apart by it.
    pub(crate) caller: Option<&'a str>,
}

#[derive(Debug)]
pub struct Modules<'a> {
    server: &'a str,
    /// Modules whose functions are all named in only one of the profiles. Their functions are merged, except those of
    /// `common`.
    unequal: BTreeSet<&'a str>,
    /// Modules and functions that both sides name.
    common: BTreeSet<(&'a str, &'a str)>,
    /// Whether both sides run the same build, so that start addresses identify functions.
    is_same_build: bool,
}

impl<'a> Modules<'a> {
    pub fn from_profiles(base: &'a Profile, other: &'a Profile) -> [Self; 2] {
        Self::between([base, other].map(|it| {
            let stripped = it.limits.stripped.iter().map(String::as_str);
            (it.server.as_str(), stripped.collect())
        }))
    }

    /// Each side is the module of the server's own code, and the modules with unnamed functions.
    pub fn between(sides: [(&'a str, Vec<&'a str>); 2]) -> [Self; 2] {
        let stripped = |(server, stripped): &(&'a str, Vec<&'a str>)| -> BTreeSet<&'a str> {
            stripped.iter().map(|module| plain(module, server)).collect()
        };
        let [of_base, of_other] = sides.each_ref().map(stripped);
        let unequal: BTreeSet<&str> = of_base.symmetric_difference(&of_other).copied().collect();
        sides.map(|(server, _)| Self {
            server,
            unequal: unequal.clone(),
            common: BTreeSet::new(),
            is_same_build: false,
        })
    }

    pub(crate) fn with_common(self, common: BTreeSet<(&'a str, &'a str)>) -> Self {
        Self { common, ..self }
    }

    pub(crate) fn of_same_build(self, is_same_build: bool) -> Self {
        Self { is_same_build, ..self }
    }

    /// Function of a frame of this profile; equal functions of both profiles have equal keys.
    pub fn key(&self, frame: &'a StackFrame) -> FunctionKey<'a> {
        let module = plain(&frame.module, self.server);
        let is_common = || self.common.contains(&(module, frame.function.as_str()));
        let is_known = frame.is_named() && (!self.unequal.contains(module) || is_common());
        let is_told = self.is_same_build || is_known;
        let function = is_told.then_some(frame.function.as_str());
        FunctionKey { function, module, caller: None }
    }
}

/// Version-independent name of a module: without the version of a library, as in `libc-2.31.so`.
pub(crate) fn plain<'a>(module: &'a str, server: &str) -> &'a str {
    if module == server {
        return "";
    }
    let Some(name) = module.find(".so").and_then(|at| module.get(..at)) else { return module };
    let is_version =
        |it: &str| it.contains('.') && it.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    match name.rsplit_once('-') {
        Some((name, version)) if is_version(version) => name,
        _ => name,
    }
}

/// Samples of a function in each of two trees, and the module of the last one that has it.
type FoundFunctions<'a> = BTreeMap<FunctionKey<'a>, ([u64; 2], &'a str)>;

fn functions<'a>(
    trees: [&'a CallTree; 2],
    modules: &[Modules<'a>; 2],
    cpu_us: [f64; 2],
    dispersion: [f64; 2],
) -> Vec<FunctionChange> {
    let mut found = FoundFunctions::new();
    for (side, (tree, modules)) in trees.into_iter().zip(modules).enumerate() {
        for node in tree.nodes.iter().filter(|node| node.own > 0) {
            let Some(frame) = tree.frames.get(node.frame as usize) else { continue };
            let (samples, module) = found.entry(modules.key(frame)).or_default();
            *module = &frame.module;
            if let Some(samples) = samples.get_mut(side) {
                *samples += node.own;
            }
        }
    }
    let totals = trees.map(CallTree::total);
    let [base, other] = totals.map(|total| total as f64);
    // Without any sample of one side, every function of the other would be new.
    if base <= 0.0 || other <= 0.0 {
        return Vec::new();
    }
    // Bonferroni.
    let z = upper_quantile(0.5 * ALPHA / found.len().max(1) as f64, f64::INFINITY);
    let mut changes: Vec<FunctionChange> = found
        .into_iter()
        .map(|(key, (samples, module))| {
            let sides = [(samples[0], base, cpu_us[0]), (samples[1], other, cpu_us[1])];
            let [before, after] =
                sides.map(
                    |(samples, all, cpu_us)| {
                        if all > 0.0 { samples as f64 / all * cpu_us } else { 0.0 }
                    },
                );
            let variances = sides.iter().zip(dispersion);
            let variance: f64 =
                variances.map(|(side, dispersion)| share_variance(*side) * dispersion).sum();
            let (by, half) = (after - before, variance.sqrt());
            FunctionChange {
                function: key.function.map(str::to_owned),
                module: module.to_owned(),
                is_certain: by.abs() > z * half && samples.iter().sum::<u64>() >= SAMPLES_MIN,
                changed: QuantityChange {
                    before,
                    after,
                    by: Estimate { value: by, low: by - Z * half, high: by + Z * half },
                },
            }
        })
        .collect();
    sort(&mut changes);
    changes
}

fn sort(changes: &mut [FunctionChange]) {
    changes.sort_by(|one, next| next.changed.by.value.abs().total_cmp(&one.changed.by.value.abs()));
}

/// Fewer samples are no evidence.
const SAMPLES_MIN: u64 = 10;

/// Variance of a function's time, as a share of independent samples; never zero.
fn share_variance((samples, all, cpu_us): (u64, f64, f64)) -> f64 {
    if all <= 0.0 {
        return 0.0;
    }
    let share = (samples as f64 + 1.0) / (all + 2.0);
    share * (1.0 - share) / all * cpu_us * cpu_us
}

/// Functions with fewer samples per part, on average, do not reveal their variation.
const IN_PART_MIN: f64 = 5.0;

/// Variation of a sampling's functions between parts, divided by that expected from the number of samples: Pearson's χ²
/// of functions by parts, divided by its degrees of freedom (McCullagh and Nelder 1989, section 4.5), over functions
/// with enough samples. At least 1.
pub fn dispersion(parts: &[CallTree]) -> f64 {
    let mut by_function: BTreeMap<&StackFrame, Vec<u64>> = BTreeMap::new();
    for (number, tree) in parts.iter().enumerate() {
        for node in &tree.nodes {
            let Some(frame) = tree.frames.get(node.frame as usize) else { continue };
            let counts = by_function.entry(frame).or_insert_with(|| vec![0; parts.len()]);
            if let Some(count) = counts.get_mut(number) {
                *count = count.saturating_add(node.own);
            }
        }
    }
    let totals: Vec<f64> = parts.iter().map(|tree| tree.total() as f64).collect();
    let all: f64 = totals.iter().sum();
    let (mut chi_squared, mut freedom) = (0.0, 0.0);
    for counts in by_function.values() {
        let share = counts.iter().sum::<u64>() as f64 / all;
        if share * all < IN_PART_MIN * parts.len() as f64 || share >= 1.0 {
            continue;
        }
        for (count, total) in counts.iter().zip(&totals).filter(|(_, total)| **total > 0.0) {
            let expected = share * total;
            chi_squared += (*count as f64 - expected).powi(2) / (expected * (1.0 - share));
        }
        freedom += totals.iter().filter(|total| **total > 0.0).count() as f64 - 1.0;
    }
    if freedom > 0.0 { (chi_squared / freedom).clamp(1.0, DISPERSION_MAX) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use assay_model::{CallNode, ProfileLimits};

    use super::*;

    fn tree(functions: &[(&str, u64)]) -> CallTree {
        let frame = |(function, _): &(&str, u64)| StackFrame {
            function: (*function).to_owned(),
            module: "server".to_owned(),
        };
        let node = |(at, (_, own)): (usize, &(&str, u64))| CallNode {
            caller: None,
            frame: at as u32,
            own: *own,
        };
        CallTree {
            frames: functions.iter().map(frame).collect(),
            nodes: functions.iter().enumerate().map(node).collect(),
        }
    }

    fn profile(functions: &[(&str, u64)], ops: f64) -> Profile {
        Profile {
            frequency: 1000,
            server: "server".to_owned(),
            ops,
            serving: tree(functions),
            dispersion: 1.0,
            background: CallTree::default(),
            waits: None,
            processor: Vec::new(),
            limits: ProfileLimits::default(),
        }
    }

    #[test]
    fn functions_that_vary_from_part_to_part_are_less_certain() {
        // As many samples as expected in each part: no variation beyond chance.
        let steady: Vec<CallTree> =
            (0..8).map(|_| tree(&[("parse", 400), ("read", 600)])).collect();
        assert_eq!(dispersion(&steady), 1.0);
        // Alternating shares of 0.3 and 0.5: (400 − 300)² / (400 · 0.6) in each part, of both functions, with 7 degrees
        // of freedom each.
        let unsteady = |part| if part % 2 == 0 { 300 } else { 500 };
        let parts: Vec<CallTree> = (0..8)
            .map(|part| tree(&[("parse", unsteady(part)), ("read", 1000 - unsteady(part))]))
            .collect();
        let found = dispersion(&parts);
        assert!((found - 10_000.0 / 240.0 * 8.0 / 7.0).abs() < 1e-9, "{found}");
        assert_eq!(dispersion(&[]), 1.0);
        assert_eq!(dispersion(&[CallTree::default(), CallTree::default()]), 1.0);

        let base = profile(&[("parse", 5000), ("read", 5000)], 1e6);
        let other = profile(&[("parse", 6000), ("read", 4000)], 1e6);
        let certain = |dispersion| {
            let other = Profile { dispersion, ..other.clone() };
            let found = compare(&base, &other, None).unwrap();
            found.serving.iter().filter(|it| it.is_certain).count()
        };
        assert_eq!([1.0, 4.0, 100.0].map(certain), [2, 2, 0]);
    }

    #[test]
    fn functions_add_up_to_the_cpu_time() {
        // The system samples as often while it does fewer operations.
        let base = profile(&[("parse", 5000), ("read", 5000)], 1e6);
        let other = profile(&[("parse", 4000), ("read", 4000), ("check", 2000)], 8e5);
        let found = compare(&base, &other, None).unwrap();
        let whole: f64 = found.serving.iter().map(|it| it.changed.by.value).sum();
        assert!((whole - 2.5).abs() < 1e-9, "{whole}");
        let [check, rest @ ..] = found.serving.as_slice() else { panic!("nothing was found") };
        assert_eq!(check.function.as_deref(), Some("check"));
        assert!(check.is_certain && (check.changed.by.value - 2.5).abs() < 1e-9, "{check:?}");
        assert!(rest.iter().all(|it| !it.is_certain), "{rest:?}");
        let causes: Vec<_> = found.causes().map(|it| it.function.as_deref()).collect();
        assert_eq!(causes, [Some("check")]);
    }

    fn account([before, after]: [f64; 2], [kernel_before, kernel_after]: [f64; 2]) -> TimeChange {
        let changed = |before: f64, after: f64| QuantityChange {
            before,
            after,
            by: Estimate::without_interval(after - before),
        };
        TimeChange {
            time: changed(before, after),
            terms: vec![(TimeTerm::ServerCpu, changed(before, after))],
            background_cpu: Some(changed(3.0, 6.0)),
            kernel_cpu: Some(changed(kernel_before, kernel_after)),
            instructions: None,
        }
    }

    #[test]
    fn functions_add_up_to_the_cpu_time_where_the_kernel_hides_its_part() {
        // More samples than measured CPU time: 25 and 27 µs per operation of 20 and 22.
        let hidden = |parse: u64, ops: f64| {
            let mut profile = profile(&[("parse", parse), ("read", 5000)], ops);
            profile.background = tree(&[("purge", 1000)]);
            profile.limits.no_kernel = true;
            profile
        };
        let (base, other) = (hidden(5000, 4e5), hidden(5800, 4e5));
        let found = compare(&base, &other, Some(&account([20.0, 22.0], [8.0, 7.5]))).unwrap();
        assert!(found.adds_up);
        let sums = |all: &[FunctionChange]| {
            let sum = |part: fn(&QuantityChange) -> f64| {
                all.iter().map(|it| part(&it.changed)).sum::<f64>()
            };
            [sum(|it| it.before), sum(|it| it.after)].map(|it| (it * 1e6).round() / 1e6)
        };
        assert_eq!(sums(&found.serving), [20.0, 22.0]);
        let kernel = found.serving.iter().find(|it| it.module == KERNEL).unwrap();
        assert_eq!((kernel.changed.before, kernel.changed.after), (8.0, 7.5));
        assert!(!kernel.is_certain && kernel.function.is_none());
        // The modes of other threads are unknown: 2.5 µs were sampled, and the rest was not.
        assert_eq!(sums(&found.background), [3.0, 6.0]);
        let kernel = found.background.iter().find(|it| it.module == KERNEL).unwrap();
        assert_eq!((kernel.changed.before, kernel.changed.after), (0.5, 3.5));
        // Without the kernel's clock, the times are those of the samples.
        let untold = TimeChange { kernel_cpu: None, ..account([20.0, 22.0], [0.0, 0.0]) };
        let found = compare(&base, &other, Some(&untold)).unwrap();
        assert!(!found.adds_up);
        assert_eq!(sums(&found.serving), [25.0, 27.0]);
    }

    #[test]
    fn a_library_that_names_its_functions_in_one_version_only_is_told_together() {
        let in_library = |mut profile: Profile, library: &str| {
            profile.serving.frames[0].module = library.to_owned();
            profile
        };
        let base = in_library(profile(&[("memcpy", 100), ("read", 900)], 1e6), "libc.so.6");
        let mut other = in_library(profile(&[("0x10", 100), ("read", 900)], 1e6), "libc-2.so.6");
        other.limits.stripped.push("libc-2.so.6".to_owned());
        let names = |base: &Profile, other: &Profile| -> Vec<Option<String>> {
            compare(base, other, None).unwrap().serving.into_iter().map(|it| it.function).collect()
        };
        assert!(names(&base, &other).contains(&Some("memcpy".to_owned())));
        let other = in_library(other, "libc.so.6");
        let other = Profile {
            limits: ProfileLimits { stripped: vec!["libc.so.6".to_owned()], ..other.limits },
            ..other
        };
        let mut found = names(&base, &other);
        found.sort();
        assert_eq!(found, [None, Some("read".to_owned())]);
    }

    #[test]
    fn a_library_is_the_same_in_all_its_versions() {
        let names = ["libc-2.31.so", "libc.so.6", "libaio-x.so.1.0", "mysqld", "server"];
        let plain = names.map(|module| plain(module, "server"));
        assert_eq!(plain, ["libc", "libc", "libaio-x", "mysqld", ""]);
    }

    #[test]
    fn profiles_that_saw_different_things_are_not_compared() {
        let base = profile(&[("read", 1000)], 1e6);
        let mut other = profile(&[("read", 1200)], 1e6);
        other.limits.no_kernel = true;
        assert_eq!(compare(&base, &other, None), None);
        let nothing = profile(&[], 1e6);
        assert_eq!(compare(&nothing, &base, None).unwrap().serving, []);
        // A time per operation needs an operation.
        assert_eq!(compare(&profile(&[("read", 1000)], 0.5), &base, None), None);
    }

    #[test]
    fn functions_without_a_name_are_told_together() {
        let base = profile(&[("0x10", 500), ("0x20", 400), ("read", 100)], 1e6);
        let other = profile(&[("0x30", 900), ("read", 100)], 1e6);
        let found = compare(&base, &other, None).unwrap().serving;
        let unnamed: Vec<_> = found.iter().filter(|it| it.function.is_none()).collect();
        assert_eq!(unnamed.len(), 1);
        assert!(unnamed[0].changed.by.value.abs() < 1e-9 && !unnamed[0].is_certain);
    }
}
