//! Writes everything measured to the ledger at once, and keeps it for the stop rule.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result};
use assay_ledger::Ledger;
use assay_model::{
    Attachment, AuditFinding, BlockCell, CellDocument, CellId, DataContent, DataSet, EventKind,
    Host, InstanceRecord, PlannedBlock, Priority, Run, ScaledSizes, Series, ShardRun, Slice,
    SliceId, Study, StudyDocuments, StudyEvent, StudyRecord, may_be_secret,
};
use assay_servers::audit::{AuditFacts, AuditedPlan, AuditedSystem, same_systems};
use assay_study::TurnLength;
use jiff::Timestamp;

use super::claim::Claim;
use crate::clock::now_ms;
use crate::systems::{Participant, data_fact, shortened, terms_of};
use crate::{scheduler, study_records};

pub(crate) struct Recorder<'a> {
    ledger: &'a mut Ledger,
    record: StudyRecord,
    began: Instant,
    earlier_s: f64,
    is_resumed: bool,
    facts: BTreeMap<(DataSet, usize), AuditFacts>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn begin(
        ledger: &'a mut Ledger,
        mut study: Study,
        (host, shard): (Host, Option<ShardRun>),
        scaled: Option<ScaledSizes>,
        participants: &[Participant],
    ) -> Result<(Self, Option<Claim>)> {
        let now = Timestamp::now();
        study.started_ms = now.as_millisecond();
        study.id =
            format!("{}-{:03}", now.strftime("%Y%m%d-%H%M%S"), now.subsec_nanosecond() / 1_000_000);
        let systems: Vec<_> = participants.iter().map(|it| it.system.clone()).collect();
        let mut record = StudyRecord::new(study, host, systems);
        record.runs.iter_mut().for_each(|run| run.shard.clone_from(&shard));
        // The claim comes first: a study in the ledger without it could not be resumed.
        let claim = Claim::begin(&record);
        for run in &record.runs {
            if let Err(error) = ledger.create_study(&record.study, run, &record.systems) {
                claim.into_iter().for_each(Claim::withdraw);
                return Err(error.into());
            }
        }
        let mut recorder = Self::new(ledger, record);
        if let Some(scaled) = scaled {
            recorder.event(None, EventKind::Scaled(scaled))?;
        }
        for (index, participant) in participants.iter().enumerate() {
            for left_out in &participant.left_out {
                recorder.event(Some(index), left_out.clone())?;
            }
        }
        Ok((recorder, claim))
    }

    /// Continues an interrupted study on this machine, and records changes of the machine.
    pub(crate) fn resume(
        ledger: &'a mut Ledger,
        record: StudyRecord,
        here: Host,
        changes: Vec<EventKind>,
        more: Option<EventKind>,
    ) -> Result<Self> {
        let (now, assay_version) = (now_ms(), env!("CARGO_PKG_VERSION").to_owned());
        let shard = record.shard().cloned().map(scheduler::here);
        let run = Run { started_ms: now, updated_ms: now, host: here, assay_version, shard };
        let mut recorder = Self { is_resumed: true, ..Self::new(ledger, record) };
        recorder.ledger.add_run(&recorder.record.study.id, &run)?;
        recorder.record.runs.push(run);
        if recorder.record.finished {
            recorder.ledger.reopen(&recorder.record.study.id)?;
            recorder.record.finished = false;
        } else {
            recorder.event(None, EventKind::Resumed)?;
        }
        more.into_iter().try_for_each(|what| recorder.event(None, what))?;
        changes.into_iter().try_for_each(|what| recorder.event(None, what))?;
        Ok(recorder)
    }

    fn new(ledger: &'a mut Ledger, record: StudyRecord) -> Self {
        let earlier_s = record.elapsed_s();
        let (began, facts) = (Instant::now(), BTreeMap::new());
        Self { ledger, record, began, earlier_s, is_resumed: false, facts }
    }

    /// Seconds, including earlier runs.
    pub(crate) fn used_s(&self) -> f64 {
        self.earlier_s + self.began.elapsed().as_secs_f64()
    }

    pub(crate) fn id(&self) -> &str {
        &self.record.study.id
    }

    pub(crate) fn study(&self) -> &Study {
        &self.record.study
    }

    pub(crate) fn record(&self) -> &StudyRecord {
        &self.record
    }

    fn run(&self) -> usize {
        self.record.runs.len().saturating_sub(1)
    }

    pub(crate) fn slice(&mut self, slice: Slice) -> Result<()> {
        self.slices(vec![slice])
    }

    /// Records slices at once: to wait for the disk after each would take time from measuring.
    pub(crate) fn slices(&mut self, mut slices: Vec<Slice>) -> Result<()> {
        let run = self.run();
        slices.iter_mut().for_each(|slice| slice.run = run);
        self.ledger.add_slices(&self.record.study.id, &slices)?;
        self.record.slices.append(&mut slices);
        Ok(())
    }

    pub(crate) fn keep(&mut self, documents: &[CellDocument]) -> Result<()> {
        Ok(self.ledger.set_documents(&self.record.study.id, documents)?)
    }

    /// The documents of a name.
    pub(crate) fn documents(&self, name: &str) -> Result<StudyDocuments> {
        Ok(self.ledger.documents_named(&self.record.study.id, name)?)
    }

    /// Removes recorded failures of the work of a name, because it is tried again.
    pub(crate) fn forget_not_done(&mut self, name: &str) -> Result<()> {
        self.record.events.retain(|event| {
            !matches!(&event.what, EventKind::NotDone { afterward, .. } if afterward == name)
        });
        Ok(self.ledger.forget_not_done(&self.record.study.id, name)?)
    }

    /// Adds series and attachments to a recorded slice.
    pub(crate) fn parts(
        &mut self,
        slice: SliceId,
        series: &[Series],
        attachments: &[Attachment],
    ) -> Result<()> {
        let study = &self.record.study.id;
        for one in series {
            self.ledger.add_series(study, slice, one)?;
        }
        for one in attachments {
            self.ledger.add_attachment(study, slice, one)?;
        }
        Ok(())
    }

    /// Records a block before it is measured, as begun in the current run. The cells are indices.
    pub(crate) fn block(&mut self, number: u32, left: u32, cells: &[(usize, u32)]) -> Result<()> {
        let planned = cells.iter().filter_map(|&(cell, rounds)| {
            let id = self.record.study.cells.get(cell)?.id;
            Some(BlockCell { id, rounds })
        });
        let block = PlannedBlock { number, run: self.run(), left, cells: planned.collect() };
        self.ledger.add_block(&self.record.study.id, &block)?;
        self.record.blocks.push(block);
        Ok(())
    }

    pub(crate) fn content(&mut self, content: DataContent) -> Result<()> {
        self.ledger.set_content(&self.record.study.id, &content)?;
        let key = |it: &DataContent| (it.system, it.data, it.start_from);
        self.record.data.retain(|known| key(known) != key(&content));
        self.record.data.push(content);
        Ok(())
    }

    pub(crate) fn instance(&mut self, instance: InstanceRecord) -> Result<()> {
        let instance = InstanceRecord { run: self.run(), ..instance };
        self.ledger.add_instance(&self.record.study.id, &instance)?;
        self.record.instances.push(instance);
        Ok(())
    }

    pub(crate) fn event(&mut self, system: Option<usize>, what: EventKind) -> Result<()> {
        let event = StudyEvent { when_ms: now_ms(), system, what };
        self.ledger.add_event(&self.record.study.id, &event)?;
        self.record.events.push(event);
        Ok(())
    }

    pub(crate) fn is_audited(&self, system: usize, data: DataSet) -> bool {
        self.facts.contains_key(&(data, system))
    }

    /// Records a system's facts for the audit; once those of all are known, their differences are the audit. Returns
    /// the sentences on systems that turn out to be the same.
    pub(crate) fn facts(
        &mut self,
        system: usize,
        data: DataSet,
        mut facts: AuditFacts,
    ) -> Result<Vec<String>> {
        if self.record.study.setups.iter().any(|setup| setup.data() != data) {
            facts.plans.iter_mut().for_each(|plan| plan.test += &format!(" on {data}"));
        }
        for content in self.record.data.iter().filter(|content| content.system == system) {
            let DataContent { data, start_from, rows, ref checksum, .. } = *content;
            let content = (rows, checksum.as_str());
            facts.settings.extend([data_fact(&self.record.study, data, start_from, content)]);
        }
        self.facts.insert((data, system), facts);
        self.audit(system, data)?;
        self.same_systems(data)
    }

    /// Notes, once each, systems that are the same although other options were requested.
    fn same_systems(&mut self, data: DataSet) -> Result<Vec<String>> {
        let systems = &self.record.systems;
        if !(0..systems.len()).all(|system| self.is_audited(system, data)) {
            return Ok(Vec::new());
        }
        let facts: Vec<AuditFacts> =
            (0..systems.len()).map(|system| self.facts_of(system)).collect();
        let audited: Vec<_> = (systems.iter().zip(&facts))
            .map(|(system, facts)| AuditedSystem { spec: &system.spec, facts })
            .collect();
        let builds: Vec<_> = systems.iter().map(|system| system.artifact.sha256()).collect();
        let found = same_systems(&audited, &builds, terms_of(&self.record.study)?);
        let name = |at: usize| systems.get(at).map_or("", |it| it.name.as_str()).to_owned();
        let is_known = |system: usize, what: &EventKind| {
            self.record.events.iter().any(|it| it.system == Some(system) && it.what == *what)
        };
        let mut sentences = Vec::new();
        let mut events = Vec::new();
        for (system, same) in found {
            let sentence = same.sentence([&name(same.other), &name(system)], name);
            let what = EventKind::Same(same);
            if !is_known(system, &what) {
                sentences.push(sentence);
                events.push((system, what));
            }
        }
        events.into_iter().try_for_each(|(system, what)| self.event(Some(system), what))?;
        Ok(sentences)
    }

    pub(crate) fn has_plans(&self, system: usize, data: DataSet) -> bool {
        self.facts.get(&(data, system)).is_some_and(|facts| !facts.plans.is_empty())
    }

    pub(crate) fn plans(
        &mut self,
        system: usize,
        data: DataSet,
        plans: Vec<AuditedPlan>,
    ) -> Result<()> {
        let facts = self.facts.get_mut(&(data, system)).context("its settings are not known")?;
        facts.plans = plans;
        self.audit(system, data)
    }

    fn audit(&mut self, system: usize, data: DataSet) -> Result<()> {
        // Findings have only differences; equal settings are needed later, too.
        let mut settings = self.facts_of(system).settings;
        settings.retain(|name, _| !may_be_secret(name));
        self.ledger.set_settings(&self.record.study.id, system, &settings)?;
        let systems = &self.record.systems;
        if !(0..systems.len()).all(|system| self.is_audited(system, data)) {
            return Ok(());
        }
        let facts: Vec<AuditFacts> =
            (0..systems.len()).map(|system| self.facts_of(system)).collect();
        let audited: Vec<_> = (systems.iter().zip(&facts))
            .map(|(system, facts)| AuditedSystem { spec: &system.spec, facts })
            .collect();
        let mut findings = assay_servers::audit::compare(&audited, terms_of(&self.record.study)?);
        if facts.iter().any(|facts| facts.plans.is_empty()) {
            // After a resume, plans are known later than settings. Until then, the earlier findings stay.
            let is_new = |it: &&AuditFinding| findings.iter().all(|new| new.setting != it.setting);
            let of_plans = self.record.audit.iter().filter(|it| it.setting.starts_with("plan."));
            let kept: Vec<_> = of_plans.filter(is_new).cloned().collect();
            findings.extend(kept);
        }
        self.ledger.set_audit(&self.record.study.id, &findings)?;
        self.record.audit = findings;
        Ok(())
    }

    fn facts_of(&self, system: usize) -> AuditFacts {
        let mut all = AuditFacts::default();
        for (_, facts) in self.facts.iter().filter(|((_, of), _)| *of == system) {
            all.settings.extend(facts.settings.clone());
            all.plans.extend_from_slice(&facts.plans);
        }
        all
    }

    /// Notes, once each, statements that a system would not prepare, as a sign of unequal conditions.
    pub(crate) fn unprepared(&mut self, system: usize, statements: &[String]) -> Result<()> {
        for sql in statements {
            let what = EventKind::Unprepared { sql: shortened(sql) };
            let mut events = self.record.events.iter().filter(|it| it.system == Some(system));
            if !events.any(|event| event.what == what) {
                self.event(Some(system), what)?;
            }
        }
        Ok(())
    }

    pub(crate) fn calibrated(&mut self, cell: CellId, events: u64) -> Result<()> {
        self.ledger.set_calibrated_events(&self.record.study.id, cell, events)?;
        for planned in self.record.study.cells.iter_mut().filter(|planned| planned.id == cell) {
            planned.events = Some(events);
        }
        Ok(())
    }

    pub(crate) fn set_turn(&mut self, cell: CellId, length: TurnLength) -> Result<()> {
        let TurnLength { turn_ms, warm_us } = length;
        self.ledger.set_turn(&self.record.study.id, cell, turn_ms, warm_us)?;
        for planned in self.record.study.cells.iter_mut().filter(|planned| planned.id == cell) {
            (planned.turn_ms, planned.warm_us) = (turn_ms, Some(warm_us));
        }
        Ok(())
    }

    /// Sets the priority of an unmeasured cell.
    pub(crate) fn set_priority(&mut self, cell: CellId, priority: Priority) -> Result<()> {
        self.ledger.set_priority(&self.record.study.id, cell, priority)?;
        for planned in self.record.study.cells.iter_mut().filter(|planned| planned.id == cell) {
            planned.priority = priority;
        }
        Ok(())
    }

    /// Removes a new study from the ledger, unless something was measured. Returns whether it did.
    pub(crate) fn withdraw(&mut self) -> bool {
        if self.is_resumed {
            return false;
        }
        self.ledger.withdraw(&self.record.study.id).unwrap_or_else(|error| {
            log::info!("{error}");
            false
        })
    }

    /// Stores the end of the study together with its verdicts.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let id = &self.record.study.id;
        let kept =
            study_records::read(self.ledger, id).context("cannot read the measurements back")?;
        let concluded = study_records::conclusions(&StudyRecord { finished: true, ..kept });
        self.ledger.conclude(id, &concluded)?;
        self.record.finished = true;
        Ok(())
    }
}
