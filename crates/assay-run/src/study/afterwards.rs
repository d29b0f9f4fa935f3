//! Work on the servers of a study after its end. Each kind is a wing; this module knows none of them.

use std::sync::OnceLock;

use anyhow::{Context, Result};
use assay_ledger::Problem;
use assay_model::{CellDocument, CellId, EventKind, PlannedCell, Study, StudyDocument, Test};
use assay_plan::{MachineFacts, Request, StudyPlan};
use assay_servers::Site;
use assay_study::Phase;
use assay_symbols::Symbols;

pub use super::checking::is_wrong_answer;
pub use super::executor::StudyExecutor;
use crate::advice::HintedError;
use crate::errors::hints;
pub use crate::parallel::together;
use crate::study_records::{self, DocumentCheck};
use crate::systems::{Clients, Environment, Participant, Templates};

/// Work after a study, which leaves documents of one name.
pub trait Afterwards: Sync {
    /// Name of its documents and events.
    fn name(&self) -> &'static str;

    /// Name of this work in messages to commands that wait for the machine, such as `longer looks`; may be empty.
    fn words(&self) -> &'static str;

    fn is_wanted(&self, request: &Request) -> bool;

    /// Refuses a request that wants this work and options with which it is impossible.
    fn check(&self, _request: &Request) -> Result<(), assay_plan::PlanError> {
        Ok(())
    }

    /// A refusal, if the work needs the results of a whole study, which no shard has.
    fn refusal_on_shards(&self) -> Option<HintedError> {
        None
    }

    /// Announcement before the study.
    fn outlook(&self, _request: &Request, _systems: usize) -> Option<String> {
        None
    }

    /// Words before the reason if the work was not done for a test: `no profile of scan`.
    fn not_done(&self, test: Test) -> String;

    /// Checks its documents in a ledger, which may come from anyone.
    fn check_of_documents(&self) -> DocumentCheck;

    /// Does what the study does not have yet. Failures are noted, and do not affect the study. Fails if the user asked
    /// to stop, the data cannot be loaded, or the ledger cannot be written.
    fn perform(&self, executor: &mut StudyExecutor<'_, '_>) -> Result<()>;
}

static ALL: OnceLock<Vec<&'static dyn Afterwards>> = OnceLock::new();

/// Sets all work after studies, in its order. Only the first call counts.
pub fn set_afterwards(all: Vec<&'static dyn Afterwards>) {
    study_records::set_checks(all.iter().map(|work| work.check_of_documents()).collect());
    ALL.get_or_init(|| all);
}

pub fn wanted(request: &Request) -> impl Iterator<Item = &'static dyn Afterwards> {
    ALL.get().into_iter().flatten().copied().filter(|work| work.is_wanted(request))
}

/// Plans a study and checks the work after it.
pub fn plan_of(
    request: &Request,
    machine: MachineFacts,
    suite: Vec<Test>,
) -> Result<StudyPlan, assay_plan::PlanError> {
    wanted(request).try_for_each(|work| work.check(request))?;
    assay_plan::plan_of(request, machine, suite)
}

/// Refuses work that shards cannot do.
pub fn check_shards(study: &Study) -> Result<()> {
    let request = assay_plan::request_of(study)?;
    match wanted(&request).find_map(Afterwards::refusal_on_shards) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(()),
    }
}

impl<'a> StudyExecutor<'a, '_> {
    pub(super) fn work_afterwards(&mut self) -> Result<()> {
        let wanted: Vec<&dyn Afterwards> = wanted(&self.request).collect();
        for work in wanted {
            // Failed work is tried again.
            self.recorder.forget_not_done(work.name())?;
            work.perform(self)?;
        }
        Ok(())
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    pub fn study(&self) -> &Study {
        self.recorder.study()
    }

    pub fn environment(&self) -> &'a Environment<'a> {
        self.env
    }

    pub fn participants(&self) -> &'a [Participant] {
        self.participants
    }

    pub fn site(&self) -> &'a Site {
        &self.local.site
    }

    pub fn templates(&self) -> &Templates {
        &self.templates
    }

    pub fn symbols(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    /// Loads the data, unless this run of the study did.
    pub fn load_once(&mut self) -> Result<()> {
        if self.templates.is_empty() {
            self.load()?;
        }
        Ok(())
    }

    /// The documents of a type that the study has.
    pub fn known<D: StudyDocument>(&self) -> Result<Vec<(usize, CellId, D)>> {
        Ok(self.recorder.documents(D::NAME)?.read_all()?)
    }

    /// Stores documents, and replaces earlier ones of the same systems and cells: all or none.
    pub fn keep<'d, D: StudyDocument + 'd>(
        &mut self,
        documents: impl IntoIterator<Item = (usize, CellId, &'d D)>,
    ) -> Result<()> {
        let document = |(system, cell, document)| CellDocument::new(system, cell, document);
        let documents: Vec<_> = documents.into_iter().map(document).collect::<Result<_, _>>()?;
        self.recorder.keep(&documents)
    }

    /// Notes why work was not done for a test.
    pub fn note_not_done(
        &mut self,
        work: &dyn Afterwards,
        cell: CellId,
        why: String,
    ) -> Result<()> {
        let what = EventKind::NotDone {
            afterward: work.name().to_owned(),
            what: work.not_done(cell.test),
            test: cell.test.name.clone(),
            data: cell.setup.data(),
            why,
        };
        self.note(None, what)
    }

    /// The reason of a failure, for users. Fails if the user asked to stop, or the ledger cannot be written.
    pub fn reason(&self, error: anyhow::Error) -> Result<String> {
        self.env.interrupt.check()?;
        if is_of_ledger(&error) { Err(error) } else { Ok(message(&error)) }
    }

    /// Acts on fresh instances of all systems, which end afterwards. The inner error is the reason of a failure, the
    /// outer one ends the study.
    pub fn on_fresh_servers<T>(
        &mut self,
        phase: Phase,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T, String>> {
        self.stop_servers();
        let done = self.start_apart(phase).and_then(|()| act(self));
        self.stop_servers();
        match done {
            Ok(done) => Ok(Ok(done)),
            Err(error) => self.reason(error).map(Err),
        }
    }

    pub fn stop_servers(&mut self) {
        self.clients.clear();
        self.servers.clear();
    }

    /// Starts an instance of every system that no slice of the study uses, unless it is running already, fills the
    /// caches, and freezes them.
    pub fn start_apart(&mut self, phase: Phase) -> Result<()> {
        for system in 0..self.participants.len() {
            if self.servers.contains_key(&system) {
                continue;
            }
            self.env.interrupt.check()?;
            self.env.progress.update(&format!("starting {}", self.name(system)));
            let mut server = self.instance(system, phase)?;
            self.tables(system, phase.data)?.warm(&server.connect_options())?;
            server.freeze()?;
            self.servers.insert(system, server);
        }
        Ok(())
    }

    /// Connects the clients of a cell with the server of a system.
    pub fn connect_apart(&mut self, system: usize, cell: &PlannedCell) -> Result<()> {
        let clients = self.thawed(system, |study| study.connect_one(system, cell));
        let clients = clients.with_context(|| format!("`{}`", self.name(system)))?;
        self.clients.insert(system, clients);
        Ok(())
    }

    pub fn clients(&mut self, system: usize) -> Result<&mut Clients> {
        self.clients.get_mut(&system).context("its clients are not connected")
    }
}

pub fn message(error: &anyhow::Error) -> String {
    let hints: String = hints(error, &[]).iter().map(|it| format!("; {it}")).collect();
    format!("{error:#}{hints}")
}

/// Whether the ledger cannot be written at all. If it only refuses a document, it accepts everything else.
fn is_of_ledger(error: &anyhow::Error) -> bool {
    let mut found = error.chain().filter_map(|it| it.downcast_ref::<assay_ledger::Error>());
    found.any(|it| !matches!(it.problem, Problem::Unstorable(_) | Problem::TooLong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_cannot_be_stored_does_not_end_the_study() {
        let ledger_error = |problem| {
            anyhow::Error::from(assay_ledger::Error { path: "ledger.db".into(), problem })
        };
        assert!(!is_of_ledger(&ledger_error(Problem::Unstorable("`frames` is 60001".to_owned()))));
        assert!(!is_of_ledger(&ledger_error(Problem::TooLong)));
        assert!(is_of_ledger(&ledger_error(Problem::Locked)));
        assert!(is_of_ledger(&ledger_error(Problem::Dangling).context("`mysql@8.0`")));
        assert!(!is_of_ledger(&anyhow::anyhow!("the server has ended")));
    }
}
