//! Finds options that servers do not accept, before anything waits or is started.

use anyhow::Result;
use assay_model::{Dialect, Hint, Prefix, Product, System, SystemSpec};
use assay_servers::{RefusedOption, Site};

use super::environment::{Environment, LocalSite};
use super::participant::Participant;

#[derive(Debug, thiserror::Error)]
#[error("{}", message(.0))]
pub struct RefusedOptions(Vec<SystemRefusal>);

#[derive(Debug)]
struct SystemRefusal {
    system: String,
    server: String,
    product: Product,
    options: Vec<RefusedOption>,
}

fn message(refusals: &[SystemRefusal]) -> String {
    let of_option = |option: &RefusedOption| match (&option.said, &option.nearest) {
        (Some(said), _) => format!("\n    `{}`: {said}", option.name),
        (None, Some(nearest)) => {
            format!("\n    `{}` is unknown; `{nearest}` is the nearest", option.name)
        }
        (None, None) => format!("\n    `{}` is unknown", option.name),
    };
    let of_system = |it: &SystemRefusal| {
        let SystemRefusal { system, server, options, .. } = it;
        let count = assay_model::counted(options.len() as u64, "option");
        let list: String = options.iter().map(of_option).collect();
        format!("`{system}` does not take {count} ({server}):{list}")
    };
    refusals.iter().map(of_system).collect::<Vec<_>>().join("\n")
}

impl Hint for RefusedOptions {
    /// Misspelt options come first. Only the others can be left out.
    fn hints(&self) -> Vec<String> {
        let all = || self.0.iter().flat_map(|it| &it.options);
        let mut hints: Vec<String> = Vec::new();
        for meant in all().filter_map(RefusedOption::meant) {
            let meant = format!("did you mean `{meant}`");
            if !hints.contains(&meant) {
                hints.push(meant);
            }
        }
        // A system with another name is one of a study file.
        let is_named = |it: &&SystemRefusal| !it.system.contains('@');
        let quoted = |it: &SystemRefusal, quote: char| {
            let left_out = it.options.iter().filter(|option| option.meant().is_none());
            left_out.map(|option| format!("{quote}{}{quote}", option.name)).collect::<Vec<_>>()
        };
        let without = |it: &SystemRefusal| {
            let names = quoted(it, '"');
            (!names.is_empty()).then(|| {
                format!(
                    "options of a config file are left out for one system with a line in its table of the study \
                     file; for `{}`: `without = [{}]`",
                    it.system,
                    names.join(", ")
                )
            })
        };
        hints.extend(self.0.iter().filter(is_named).filter_map(without));
        let in_words = self.0.iter().filter(|it| !is_named(it));
        let mut names: Vec<String> = in_words.flat_map(|it| quoted(it, '`')).collect();
        names.dedup();
        if !names.is_empty() {
            hints.push(format!("leave {} out of the system's name", names.join(", ")));
        }
        let is_unknown = |it: &SystemRefusal| {
            let mut options = it.options.iter();
            it.product.dialect() == Dialect::MySql
                && options.any(|option| option.said.is_none() && option.meant().is_none())
        };
        if self.0.iter().any(is_unknown) {
            hints.push(
                "with the prefix `loose_`, as in `loose_query_cache_size`, a version that does not know an option \
                 ignores it"
                    .to_owned(),
            );
        }
        hints
    }
}

/// Refuses unknown options and values that a server does not accept: all of them, of all systems.
pub fn check_options(participants: &[Participant], env: &Environment) -> Result<()> {
    let started = participants.iter().filter(|it| it.attached.is_none());
    let asked = started.map(|participant| {
        let System { name, spec, options, .. } = &participant.system;
        Ok(SystemOptions { name, spec, prefix: participant.prefix()?, options })
    });
    let site = LocalSite::new(env)?.site;
    refuse_options(&asked.collect::<Result<Vec<_>>>()?, &site, env)
}

pub struct SystemOptions<'a> {
    pub name: &'a str,
    pub spec: &'a SystemSpec,
    pub prefix: &'a Prefix,
    pub options: &'a [String],
}

pub fn refuse_options(all: &[SystemOptions], site: &Site, env: &Environment) -> Result<()> {
    let mut refusals: Vec<SystemRefusal> = Vec::new();
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
            refusals.push(SystemRefusal {
                system: asked.name.to_owned(),
                server: format!("{} {}", prefix.product, prefix.version),
                product: prefix.product,
                options,
            });
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(RefusedOptions(refusals).into()) }
}

impl SystemOptions<'_> {
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
        let error = RefusedOptions(vec![SystemRefusal {
            system: "new".to_owned(),
            server: "mysql 8.0.33".to_owned(),
            product: Product::MySql,
            options: vec![
                option("query_cache_type", None, None),
                option("query_cache_size", None, Some("query_prealloc_size")),
                option("sql_mod", None, Some("sql_mode")),
                option("sql_mode", Some("Error while setting value 'x' to 'sql_mode'"), None),
            ],
        }]);
        assert_eq!(
            error.to_string(),
            "`new` does not take 4 options (mysql 8.0.33):\n    \
             `query_cache_type` is unknown\n    \
             `query_cache_size` is unknown; `query_prealloc_size` is the nearest\n    \
             `sql_mod` is unknown; `sql_mode` is the nearest\n    \
             `sql_mode`: Error while setting value 'x' to 'sql_mode'"
        );
        let hints = error.hints().join("\n");
        let line =
            "for `new`: `without = [\"query_cache_type\", \"query_cache_size\", \"sql_mode\"]`";
        assert!(hints.contains(line) && hints.contains("`loose_`"), "{hints}");
        assert!(hints.starts_with("did you mean `sql_mode`\n"), "{hints}");
        assert_eq!(hints.matches("did you mean").count(), 1, "{hints}");
    }

    #[test]
    fn a_misspelt_option_is_not_told_to_be_left_out() {
        let refused = |options: &[(&str, Option<&str>)]| {
            let options = options.iter().map(|(name, nearest)| RefusedOption {
                name: (*name).to_owned(),
                said: None,
                nearest: nearest.map(str::to_owned),
            });
            RefusedOptions(vec![SystemRefusal {
                system: "mariadb@10.11+sort_bufer_size=1M".to_owned(),
                server: "mariadb 10.11.19".to_owned(),
                product: Product::MariaDb,
                options: options.collect(),
            }])
            .hints()
        };
        let misspelt = ("sort_bufer_size", Some("sort_buffer_size"));
        assert_eq!(refused(&[misspelt]), ["did you mean `sort_buffer_size`"]);
        let hints = refused(&[misspelt, ("xyz", None)]);
        assert_eq!(hints[1], "leave `xyz` out of the system's name");
    }
}
