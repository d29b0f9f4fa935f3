//! Options that servers do not take, found before anything waits or is started.

use anyhow::Result;
use assay_model::{Hint, Prefix, Product, System, SystemSpec};
use assay_servers::{RefusedOption, Site};

use super::environment::Environment;
use super::participant::Participant;
use super::site::LocalSite;

/// What the servers of a study do not take of what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{}", told(.0))]
pub(crate) struct RefusedOptions(Vec<Refusal>);

/// The options that one system does not take.
#[derive(Debug)]
struct Refusal {
    /// Its name in the study.
    system: String,
    /// Product and version.
    server: String,
    product: Product,
    options: Vec<RefusedOption>,
}

fn told(refusals: &[Refusal]) -> String {
    let of_option = |option: &RefusedOption| match (&option.said, &option.nearest) {
        (Some(said), _) => format!("\n    `{}`: {said}", option.name),
        (None, Some(nearest)) => {
            format!("\n    `{}` is unknown; `{nearest}` is the nearest", option.name)
        }
        (None, None) => format!("\n    `{}` is unknown", option.name),
    };
    let of_system = |it: &Refusal| {
        let Refusal { system, server, options, .. } = it;
        let count = assay_model::counted(options.len() as u64, "option");
        let list: String = options.iter().map(of_option).collect();
        format!("`{system}` does not take {count} ({server}):{list}")
    };
    refusals.iter().map(of_system).collect::<Vec<_>>().join("\n")
}

impl Hint for RefusedOptions {
    fn hints(&self) -> Vec<String> {
        // A system that is not called by its words is one of a study file.
        let is_named = |it: &&Refusal| !it.system.contains('@');
        let without = |it: &Refusal| {
            let names: Vec<String> =
                it.options.iter().map(|option| format!("\"{}\"", option.name)).collect();
            format!(
                "options of a config file are left out for one system with a line in its table of the study file; \
                 for `{}`: `without = [{}]`",
                it.system,
                names.join(", ")
            )
        };
        let prefix = "with the prefix `loose_`, as in `loose_query_cache_size`, a version that does not know an \
                      option ignores it";
        let is_unknown = |it: &Refusal| {
            it.product != Product::Postgres && it.options.iter().any(|option| option.said.is_none())
        };
        let prefix = self.0.iter().any(is_unknown).then(|| prefix.to_owned());
        let in_words = self.0.iter().any(|it| !is_named(&it));
        let in_words = in_words.then(|| "leave them out of the system's name".to_owned());
        self.0.iter().filter(is_named).map(without).chain(in_words).chain(prefix).collect()
    }
}

/// Refuses options that a server does not know, or whose values it does not take: all of them, of all systems.
pub(crate) fn check_options(participants: &[Participant], env: &Environment) -> Result<()> {
    let started = participants.iter().filter(|it| it.attached.is_none());
    let asked = started.map(|participant| {
        let System { name, spec, options, .. } = &participant.system;
        Ok(Asked { name, spec, prefix: participant.prefix()?, options })
    });
    let site = LocalSite::new(env)?.site;
    refuse_options(&asked.collect::<Result<Vec<_>>>()?, &site, env)
}

/// A server that is to be started with these options.
pub(crate) struct Asked<'a> {
    pub(crate) name: &'a str,
    pub(crate) spec: &'a SystemSpec,
    pub(crate) prefix: &'a Prefix,
    pub(crate) options: &'a [String],
}

/// Refuses options as [`check_options`] does.
pub(crate) fn refuse_options(all: &[Asked], site: &Site, env: &Environment) -> Result<()> {
    let mut refusals: Vec<Refusal> = Vec::new();
    let mut seen = Vec::new();
    for asked in all {
        if seen.contains(&asked.spec) {
            continue;
        }
        seen.push(asked.spec);
        env.interrupt.check()?;
        let prefix = asked.prefix;
        let options = assay_servers::refused_options(site, prefix, &asked.by_user())?;
        if !options.is_empty() {
            refusals.push(Refusal {
                system: asked.name.to_owned(),
                server: format!("{} {}", prefix.product, prefix.version),
                product: prefix.product,
                options,
            });
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(RefusedOptions(refusals).into()) }
}

impl Asked<'_> {
    /// The options that the user asked for, as the server gets them.
    fn by_user(&self) -> Vec<String> {
        let same = |name: &str| name.replace('-', "_").to_ascii_lowercase();
        let asked: Vec<String> = self.spec.overrides.iter().map(|(name, _)| same(name)).collect();
        let is_asked = |option: &&String| {
            let name = option.trim_start_matches('-');
            asked.contains(&same(name.split('=').next().unwrap_or(name)))
        };
        self.options.iter().filter(is_asked).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_options_are_told_with_the_line_that_leaves_them_out() {
        let option = |name: &str, said: Option<&str>, nearest: Option<&str>| RefusedOption {
            name: name.to_owned(),
            said: said.map(str::to_owned),
            nearest: nearest.map(str::to_owned),
        };
        let error = RefusedOptions(vec![Refusal {
            system: "new".to_owned(),
            server: "mysql 8.0.33".to_owned(),
            product: Product::MySql,
            options: vec![
                option("query_cache_type", None, None),
                option("sql_mod", None, Some("sql_mode")),
                option("sql_mode", Some("Error while setting value 'x' to 'sql_mode'"), None),
            ],
        }]);
        assert_eq!(
            error.to_string(),
            "`new` does not take 3 options (mysql 8.0.33):\n    \
             `query_cache_type` is unknown\n    \
             `sql_mod` is unknown; `sql_mode` is the nearest\n    \
             `sql_mode`: Error while setting value 'x' to 'sql_mode'"
        );
        let hints = error.hints().join("\n");
        let line = "for `new`: `without = [\"query_cache_type\", \"sql_mod\", \"sql_mode\"]`";
        assert!(hints.contains(line) && hints.contains("`loose_`"), "{hints}");
    }
}
