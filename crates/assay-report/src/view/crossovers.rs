//! The client counts at which a system is as fast as the base, in words.

use std::collections::BTreeSet;

use assay_model::{Estimate, Verdict, counted};
use assay_verdict::Crossover;

use super::study::JudgedStudy;

/// Below this many clients, a decimal is shown: there are few whole numbers.
const FEW_CLIENTS: f64 = 10.0;

pub(crate) fn lines(study: &JudgedStudy) -> Vec<String> {
    let crossovers = study.judgement.crossovers.iter();
    let compared = crossovers.filter(|it| study.compared.contains(&it.system));
    compared.map(|crossover| line(study, crossover)).collect()
}

/// `read-write: mariadb@11.8 is slower up to 4 clients, faster from 16; equal at about 7 [5, 11] clients`.
fn line(study: &JudgedStudy, crossover: &Crossover) -> String {
    let Crossover { few, many, .. } = crossover;
    let setups = study.record.study.setups.iter();
    let several_data = setups.map(|setup| setup.data()).collect::<BTreeSet<_>>().len() > 1;
    let data = if several_data { format!(" on {}", few.setup.data()) } else { String::new() };
    let opposite = match crossover.verdict {
        Verdict::Slower => Verdict::Faster,
        _ => Verdict::Slower,
    };
    format!(
        "{}{data}: {} is {} {} {}, {} {} {}; equal at about {} clients",
        few.test.definition().name,
        study.label(crossover.system),
        crossover.verdict.word(),
        if crossover.holds_below { "up to" } else { "at" },
        counted(few.setup.clients, "client"),
        opposite.word(),
        if crossover.holds_above { "from" } else { "at" },
        many.setup.clients,
        clients(crossover.clients),
    )
}

/// `7 [5, 11]`, `2.3 [1.6, 3.1]`.
fn clients(estimate: Estimate) -> String {
    let digits = usize::from(estimate.high < FEW_CLIENTS);
    let Estimate { value, low, high } = estimate;
    format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
}
