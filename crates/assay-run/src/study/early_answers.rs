//! First comparison of the answers to a user's statements while another assay measures, which needs no quiet machine.
//! The study compares them again, and repeats statements that may leave their answer open.

use std::collections::BTreeSet;

use anyhow::Result;
use assay_load::{
    Openings, RepeatedAnswers, StatementAnswer, answer_differences, ask_statements, time_of_answers,
};
use assay_model::{EventKind, StartFrom, Study};
use assay_study::Phase;

use super::answering::{DIFFERENCES_SHOWN, base_of, tests_with_answers};
use crate::interrupt::Interrupt;
use crate::systems::{Environment, LocalSite, Participant, Templates, start_instance};

/// Asks all systems with cached data, and prints differences. Skipped for studies of other tables or with running
/// servers.
pub(super) fn ask(
    participants: &[Participant],
    study: &Study,
    local: &LocalSite,
    env: &Environment,
) -> Result<()> {
    let tests = tests_with_answers(study);
    let Some(data) = study.setups.first().map(|setup| setup.data()) else {
        return Ok(());
    };
    if tests.is_empty() || participants.iter().any(|it| it.attached.is_some()) {
        return Ok(());
    }
    env.progress.begin("comparing answers, for which the machine need not be quiet");
    let templates = Templates::prepare(participants, study, local, env, &mut |_| Ok(()))?;
    let phase = Phase { data, start_from: StartFrom::Fresh };
    let time = time_of_answers(study.budget_s, participants.len());
    let mut answers: Vec<Vec<StatementAnswer>> = Vec::new();
    for (index, participant) in participants.iter().enumerate() {
        env.interrupt.check()?;
        let template = templates.get(index, data)?;
        let server = start_instance(participant, template, phase, study, local, env)?;
        let dialect = participant.system.spec.product.dialect();
        let options = server.connect_options();
        answers.push(ask_statements(&options, dialect, &tests, study.seed, time)?);
        server.stop()?;
    }
    tell(participants, &answers, env);
    Ok(())
}

/// Postpones a failed comparison: beside the other study there may be no room for a server, and the study asks again.
/// Fails only when the user has asked to stop, which ends the study too.
pub(super) fn or_later(
    asked: Result<()>,
    interrupt: &Interrupt,
    note: impl FnOnce(&str),
) -> Result<()> {
    if let Err(error) = asked {
        interrupt.check()?;
        note(&format!("the answers are compared later: {error:#}"));
    }
    Ok(())
}

fn tell(participants: &[Participant], answers: &[Vec<StatementAnswer>], env: &Environment) {
    let base = base_of(participants);
    let dialect = |index: usize| participants[index].system.spec.product.dialect();
    let expected = &answers[base];
    let others = answers.iter().enumerate().filter(|(index, _)| *index != base);
    let nothing = RepeatedAnswers::default();
    let mut found = Vec::new();
    for (index, theirs) in others.filter(|(index, _)| dialect(*index) == dialect(base)) {
        let openings = Openings::new(expected, &nothing, &nothing);
        let mut differences =
            answer_differences(expected, theirs, &openings, &|_| None).differences;
        // A pair of connection collations is one difference of all statements.
        let mut known = BTreeSet::new();
        differences.retain(|it| !it.is_of_connection() || known.insert(it.why.clone()));
        found.extend(differences.into_iter().map(|it| (index, EventKind::AnswerDiffers(it))));
    }
    for (index, what) in found.iter().take(DIFFERENCES_SHOWN) {
        env.progress.failed(&participants[*index].system.name, &what.to_string());
    }
    let more = found.len().saturating_sub(DIFFERENCES_SHOWN);
    let end = match (found.len(), more) {
        (0, _) => "the answers do not differ".to_owned(),
        (_, 0) => "these answers may differ".to_owned(),
        (_, more) => format!("{more} more answers may differ"),
    };
    env.progress.note(&format!(
        "{end}; they are compared again and times are measured once the machine is free"
    ));
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_comparison_that_fails_early_is_a_note_and_no_end() {
        let interrupt = Interrupt::default();
        let failed = || Err(anyhow!("no room").context("cannot start a server"));
        let mut message = String::new();
        let mut note = |text: &str| message.push_str(text);
        assert!(or_later(failed(), &interrupt, &mut note).is_ok());
        assert!(or_later(Ok(()), &interrupt, &mut note).is_ok());
        assert_eq!(message, "the answers are compared later: cannot start a server: no room");
        interrupt.stop().ask();
        assert!(or_later(failed(), &interrupt, |message| panic!("{message}")).is_err());
    }
}
