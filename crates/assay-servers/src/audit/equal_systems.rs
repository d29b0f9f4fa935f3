//! Systems that were requested as different ones, but are the same.

use std::collections::BTreeMap;

use assay_model::{SameOption, SameReason, SameSystems, may_be_secret};
use assay_terms::{Terms, adds_up, variable};

use super::effect::is_void;
use super::facts::{AuditedPlan, AuditedSystem, ServerSettings};
use super::{ANSWER, ineffective, is_ignored};

/// Indices of systems that have the same build, settings and plans as an earlier one although other options or another
/// version were requested. `builds` are the checksums of their binaries, if known. Deliberate duplicates are not
/// included.
pub fn same_systems(
    systems: &[AuditedSystem],
    builds: &[Option<&str>],
    terms: &Terms,
) -> Vec<(usize, SameSystems)> {
    assert_eq!(systems.len(), builds.len(), "each system has a checksum or none");
    let one = |(at, system): (usize, &AuditedSystem)| {
        let before = systems.iter().enumerate().take(at);
        let mut alike =
            before.filter(|(other, _)| builds[at].is_some() && builds[*other] == builds[at]);
        let (other, options) = alike
            .find_map(|(other, it)| Some((other, same([(other, it), (at, system)], terms)?)))?;
        Some((at, SameSystems { other, terms: terms.name.to_owned(), options }))
    };
    systems.iter().enumerate().filter_map(one).collect()
}

/// The options that make no difference between two systems of one build; `None` if anything makes one, or might.
fn same(pair: [(usize, &AuditedSystem); 2], terms: &Terms) -> Option<Vec<SameOption>> {
    let [one, other] = pair.map(|(_, system)| system);
    if one.spec == other.spec
        || one.spec.engine != other.spec.engine
        || one.is_attached()
        || other.is_attached()
    {
        return None;
    }
    let mut options: Vec<SameOption> = Vec::new();
    // Options that do nothing, whatever their values are.
    let mut void: Vec<String> = Vec::new();
    let [first, second] = pair;
    for ((_, system), (without, rest)) in [(first, second), (second, first)] {
        for (name, value) in system.spec.options_unlike(rest.spec, variable) {
            if is_void(system.spec.product, (name, value), &system.facts.settings) {
                void.push(variable(name));
            }
            let name = variable(name);
            let is_in_both = rest.spec.overrides.iter().any(|(option, _)| variable(option) == name);
            if is_in_both && options.iter().any(|it| it.setting == name) {
                continue;
            }
            let found = option(system, (&name, value), is_in_both, terms)?;
            options.push(SameOption { without: (!is_in_both).then_some(without), ..found });
        }
    }
    let asked: Vec<&str> = options.iter().map(|it| it.setting.as_str()).collect();
    let [mut of_one, mut of_other] = [one, other].map(|it| compared(&it.facts.settings, &asked));
    for settings in [&mut of_one, &mut of_other] {
        settings.retain(|name, _| !void.iter().any(|it| name.trim_start_matches("session.") == it));
    }
    let is_same = of_one == of_other && plans(&one.facts.plans) == plans(&other.facts.plans);
    is_same.then_some(options)
}

/// Why an option of a system makes no difference; `None` if the server does not report it.
fn option(
    system: &AuditedSystem,
    (name, asked): (&str, &str),
    is_in_both: bool,
    terms: &Terms,
) -> Option<SameOption> {
    let settings = &system.facts.settings;
    let no_effect =
        ineffective(system.spec, settings).into_iter().find(|it| variable(&it.option) == name);
    let value = settings.get(name).or_else(|| settings.get(&format!("skip_{name}"))).cloned();
    let because = match no_effect {
        Some(found) => SameReason::NoEffect(found.why),
        None if value.is_none() => return None,
        None if is_in_both => SameReason::Spelling,
        None if terms.value(system.build(), name).is_some() => SameReason::Terms,
        None => SameReason::Default,
    };
    let value = match value {
        _ if may_be_secret(name) => "the same".to_owned(),
        // A variable with many flags says little.
        Some(value) if !adds_up(name) => value,
        _ => asked.to_owned(),
    };
    Some(SameOption { setting: name.to_owned(), value, without: None, because })
}

/// The settings that two servers of one build share unless something differs between them: without places, names and
/// requests of one of them alone. `asked` are options, whose variables always count.
fn compared<'a>(settings: &'a ServerSettings, asked: &[&str]) -> BTreeMap<&'a str, &'a str> {
    let counts = |(name, value): &(&String, &String)| {
        let is_place = is_ignored(name) || value.starts_with('/');
        !name.starts_with(ANSWER) && (!is_place || asked.contains(&name.as_str()))
    };
    settings.iter().filter(counts).map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn plans(plans: &[AuditedPlan]) -> BTreeMap<(&str, &str, u64), &str> {
    let plans = plans.iter().map(|plan| {
        let AuditedPlan { test, statement, event, plan, .. } = plan;
        ((test.as_str(), statement.as_str(), *event), plan.as_str())
    });
    plans.collect()
}

#[cfg(test)]
mod tests {
    use assay_model::{Origin, Product, SystemSpec};

    use super::*;
    use crate::audit::AuditFacts;

    fn spec(options: &[(&str, &str)]) -> SystemSpec {
        let overrides = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let origin = Origin::Version("15".to_owned());
        SystemSpec { overrides: overrides.collect(), ..SystemSpec::new(Product::Postgres, origin) }
    }

    fn facts(settings: &[(&str, &str)]) -> AuditFacts {
        let usual = [("server_version", "15.8"), ("port", "1"), ("build.source", "apt")];
        let all = usual.iter().chain(settings);
        let settings = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        AuditFacts { settings: settings.collect(), ..AuditFacts::default() }
    }

    fn found(specs: [&SystemSpec; 2], facts: [&AuditFacts; 2]) -> Vec<(usize, SameSystems)> {
        let audited = [0, 1].map(|at| AuditedSystem { spec: specs[at], facts: facts[at] });
        same_systems(&audited, &[Some("b"), Some("b")], Terms::or_default(None))
    }

    fn because(found: &[(usize, SameSystems)]) -> Vec<(&str, Option<usize>, &SameReason)> {
        let options = found.iter().flat_map(|(_, same)| &same.options);
        options.map(|it| (it.setting.as_str(), it.without, &it.because)).collect()
    }

    #[test]
    fn what_the_terms_set_for_all_makes_no_difference() {
        let (plain, asked) = (spec(&[]), spec(&[("synchronous_commit", "off")]));
        let off = facts(&[("synchronous_commit", "off")]);
        // Places and names differ between any two servers.
        let other =
            facts(&[("synchronous_commit", "off"), ("port", "2"), ("data_directory", "/b")]);
        let same = found([&plain, &asked], [&off, &other]);
        assert_eq!(because(&same), [("synchronous_commit", Some(0), &SameReason::Terms)]);
        assert_eq!((same[0].0, same[0].1.other), (1, 0));
        // The base may have the option.
        let same = found([&asked, &plain], [&off, &other]);
        assert_eq!(because(&same), [("synchronous_commit", Some(1), &SameReason::Terms)]);
        let on = facts(&[("synchronous_commit", "on")]);
        assert_eq!(found([&plain, &asked], [&on, &off]), []);
    }

    #[test]
    fn defaults_and_spellings_and_names_of_one_build_make_none() {
        let files = facts(&[("temp_file_limit", "-1")]);
        let one = spec(&[("temp_file_limit", "-1")]);
        let same = found([&spec(&[]), &one], [&files, &files]);
        assert_eq!(because(&same), [("temp_file_limit", Some(0), &SameReason::Default)]);
        let memory = facts(&[("work_mem", "64MB"), ("asked.source.work_mem", "command line")]);
        let [one, other] = ["64MB", "65536kB"].map(|value| spec(&[("work_mem", value)]));
        let same = found([&one, &other], [&memory, &memory]);
        assert_eq!(because(&same), [("work_mem", None, &SameReason::Spelling)]);
        let exact = SystemSpec { origin: Origin::Version("15.8".to_owned()), ..spec(&[]) };
        let same = found([&spec(&[]), &exact], [&files, &files]);
        assert_eq!(same.len(), 1);
        assert_eq!(same[0].1.options, []);
    }

    #[test]
    fn an_option_without_effect_makes_none_and_its_reason_is_told() {
        let (plain, asked) = (spec(&[]), spec(&[("jit", "on")]));
        let jit_facts = |jit| facts(&[("jit", jit), (crate::audit::JIT, crate::audit::NO_JIT)]);
        let same = found([&plain, &asked], [&jit_facts("off"), &jit_facts("on")]);
        let [("jit", Some(0), SameReason::NoEffect(why))] = because(&same)[..] else {
            panic!("{same:?}")
        };
        assert!(why.contains("pg_jit_available"), "{why}");
    }

    #[test]
    fn what_is_asked_for_or_unknown_is_never_called_the_same() {
        let same = facts(&[("work_mem", "4MB")]);
        let plain = spec(&[]);
        assert_eq!(found([&plain, &plain], [&same, &same]), []);
        // No variable shows whether the option does anything.
        let unknown = spec(&[("shared_preload_libraries", "x")]);
        assert_eq!(found([&plain, &unknown], [&same, &same]), []);
        // Another plan, or another build.
        let asked = spec(&[("work_mem", "4MB")]);
        let plan = |plan: &str| AuditedPlan {
            test: "t".to_owned(),
            statement: "s".to_owned(),
            place: None,
            event: 0,
            plan: plan.to_owned(),
            notes: Vec::new(),
        };
        let [hash, sort] =
            ["Hash", "Sort"].map(|it| AuditFacts { plans: vec![plan(it)], ..same.clone() });
        assert_eq!(found([&plain, &asked], [&hash, &sort]), []);
        assert_eq!(found([&plain, &asked], [&hash, &hash]).len(), 1);
        let audited = [&plain, &asked].map(|spec| AuditedSystem { spec, facts: &same });
        let builds = [[Some("a"), Some("b")], [None, None]];
        for builds in builds {
            assert_eq!(same_systems(&audited, &builds, Terms::or_default(None)), []);
        }
    }
}
