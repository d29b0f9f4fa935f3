//! Systems that are the same despite different options, for scripts.

use assay_model::{SameBecause, SameOption, SameSystems, System};
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct SameRow<'a> {
    systems: [&'a str; 2],
    options: Vec<SameOptionRow<'a>>,
}

#[derive(Serialize)]
struct SameOptionRow<'a> {
    setting: &'a str,
    value: &'a str,
    /// `terms`, `default`, `spelling` or `no-effect`.
    because: &'static str,
    why: Option<&'a str>,
}

pub(crate) fn rows<'a>(
    systems: &'a [System],
    same: impl Iterator<Item = (usize, &'a SameSystems)>,
) -> Vec<SameRow<'a>> {
    let name = |at: usize| systems.get(at).map_or("?", |system| system.name.as_str());
    same.map(|(system, same)| SameRow {
        systems: [same.other, system].map(name),
        options: same.options.iter().map(option).collect(),
    })
    .collect()
}

fn option(option: &SameOption) -> SameOptionRow<'_> {
    let (because, why) = match &option.because {
        SameBecause::Terms => ("terms", None),
        SameBecause::Default => ("default", None),
        SameBecause::Spelling => ("spelling", None),
        SameBecause::NoEffect(why) => ("no-effect", Some(why.as_str())),
    };
    SameOptionRow { setting: &option.setting, value: &option.value, because, why }
}
