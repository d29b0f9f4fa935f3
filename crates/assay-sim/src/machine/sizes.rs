//! Sizes of slices and turns on the simulated machine.

use assay_model::{Class, SliceOutcome};
use assay_study::{Outcome, TurnLength, TurnTrace};

use super::{Machine, RATE, Strike};
use crate::closed::failed;

const TRACE_S: f64 = 0.14;

impl Machine {
    pub(super) fn calibrate(&mut self, cell: usize, events: u64) -> Result<(), Strike> {
        let planned = self.cell(cell)?;
        self.ensure(planned.id.test.class == Class::Write, "sizes a read")?;
        self.ensure(events > 0, "sizes an empty slice")?;
        let is_measured = self.record().slices.iter().any(|slice| {
            slice.cell == planned.id
                && !matches!(slice.outcome, SliceOutcome::Failed(_) | SliceOutcome::Unanswered(_))
        });
        self.ensure(!is_measured, "sizes a slice after others of the cell")?;
        self.commit()?;
        if let Some(planned) = self.scenario.record.study.cells.get_mut(cell) {
            planned.events = Some(events);
        }
        Ok(())
    }

    pub(super) fn size(&mut self, cell: usize, events: u64) -> Result<Outcome, Strike> {
        let planned = self.cell(cell)?;
        self.ensure(self.connected == Some(cell), "sizes a cell that is not connected")?;
        self.ensure(planned.events.is_none(), "sizes a slice twice")?;
        for system in 0..self.record().systems.len() {
            self.works(system, (cell, u64::MAX));
            self.used_s += events as f64 / RATE;
            if self.noise.strikes(self.scenario.faults.slice) {
                return Ok(failed(&[system]));
            }
        }
        Ok(Outcome::Sized { rate: RATE / 4.0 })
    }

    pub(super) fn trace(&mut self, cell: usize) -> Result<Outcome, Strike> {
        let planned = self.cell(cell)?;
        self.ensure(self.connected == Some(cell), "traces a cell that is not connected")?;
        self.ensure(planned.warm_us.is_none(), "traces a cell twice")?;
        let began_s = self.used_s;
        for system in 0..self.record().systems.len() {
            self.works(system, (cell, u64::MAX - 1));
            self.used_s += TRACE_S;
            if self.noise.strikes(self.scenario.faults.slice) {
                return Ok(failed(&[system]));
            }
        }
        let event_us = (1e6 / RATE) as u32;
        let ends: TurnTrace =
            (1..=20_000 / event_us.max(1)).map(|event| event * event_us).collect();
        let systems = vec![vec![ends; 4]; self.record().systems.len()];
        Ok(Outcome::Traced { systems, seconds: self.used_s - began_s })
    }

    pub(super) fn set_turn(&mut self, cell: usize, length: TurnLength) -> Result<(), Strike> {
        let planned = self.cell(cell)?;
        self.ensure(planned.warm_us.is_none(), "sets the length of turns twice")?;
        self.commit()?;
        if let Some(planned) = self.scenario.record.study.cells.get_mut(cell) {
            (planned.turn_ms, planned.warm_us) = (length.turn_ms, Some(length.warm_us));
        }
        Ok(())
    }
}
