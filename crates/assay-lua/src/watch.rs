//! Ends calls of a script that neither end nor send anything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{HookTriggers, Lua, Table, VmState};

use crate::error::LuaError;
use crate::interface::{add_function, place};
use crate::leash::Leash;

/// How long a call may go on without sending a statement.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Maximum total pauses of a call without a statement between them.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Instructions between two checks of the clock. A single one may take long: it concatenates texts, or calls a built-in
/// function.
const LOOK_EVERY: u32 = 1 << 13;

const NOTE_EVERY: u32 = 8;

/// Watches the calls of a script. A short call does not read the clock.
pub(crate) struct ScriptWatch {
    pub(crate) limit: Cell<Duration>,
    is_calling: Cell<bool>,
    /// Incremented by each call that begins and each answer of a server.
    steps: Cell<u64>,
    /// The step of the last check, and when a check first saw it.
    seen: Cell<Option<(u64, Instant)>>,
    /// How long the script has waited since the last step.
    waited: Cell<Duration>,
    place: RefCell<Option<String>>,
    is_over: Cell<bool>,
    leash: Arc<Leash>,
    looks: Cell<u32>,
    failed_at: RefCell<Option<String>>,
}

impl ScriptWatch {
    pub(crate) fn new(leash: Arc<Leash>) -> Self {
        Self {
            limit: Cell::new(SILENCE_MAX),
            is_calling: Cell::new(false),
            steps: Cell::new(0),
            seen: Cell::new(None),
            waited: Cell::new(Duration::ZERO),
            place: RefCell::new(None),
            is_over: Cell::new(false),
            leash,
            looks: Cell::new(0),
            failed_at: RefCell::new(None),
        }
    }

    pub(crate) fn begin(&self) {
        self.is_calling.set(true);
        self.failed_at.take();
        self.leash.turn();
        self.step();
    }

    /// Progress: a call has begun, or a server has answered.
    pub(crate) fn step(&self) {
        self.steps.set(self.steps.get().wrapping_add(1));
        self.waited.set(Duration::ZERO);
    }

    /// The script is about to wait. False if it does nothing but wait for too long.
    pub(crate) fn may_wait(&self, time: Duration) -> bool {
        let waited = self.waited.get() + time;
        self.waited.set(waited);
        if waited > WAIT_MAX || self.leash.must_end() {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    /// The call must end, because its pause was cut short.
    pub(crate) fn cut_short(&self) {
        self.leash.end();
        self.is_over.set(true);
    }

    pub(crate) fn end(&self) {
        self.is_calling.set(false);
        self.leash.turn();
    }

    pub(crate) fn leash(&self) -> &Arc<Leash> {
        &self.leash
    }

    /// Runs the client's work for the script.
    pub(crate) fn lent<R>(&self, work: impl FnOnce() -> R) -> R {
        self.leash.turn();
        let done = work();
        self.leash.turn();
        done
    }

    /// The script is at this place, before a possibly long operation. False if it must not go on.
    pub(crate) fn may_go_on_at(&self, place: Option<String>) -> bool {
        if let Some(place) = place {
            self.leash.seen_at(place);
        }
        self.looks();
        !self.is_over.get()
    }

    fn looks(&self) {
        self.leash.look();
        if self.leash.must_end() || self.looks_over(Instant::now()) {
            self.is_over.set(true);
        }
    }

    pub(crate) fn note_failure(&self, place: String) {
        self.leash.seen_at(place.clone());
        *self.failed_at.borrow_mut() = Some(place);
    }

    /// Where the last error of the current or last call was raised.
    pub(crate) fn failed_at(&self) -> Option<String> {
        self.failed_at.borrow().clone()
    }

    pub(crate) fn last_place(&self) -> Option<String> {
        self.leash.place()
    }

    fn note_end(&self, place: String) {
        self.leash.seen_at(place.clone());
        self.place.borrow_mut().get_or_insert(place);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    pub(crate) fn error(&self) -> LuaError {
        let place = self.place.borrow().clone().or_else(|| self.leash.place());
        match self.leash.must_end() {
            true => LuaError::Ended { place },
            false => LuaError::Endless { seconds: SILENCE_MAX.as_secs(), place },
        }
    }

    fn looks_over(&self, now: Instant) -> bool {
        let steps = self.steps.get();
        match self.seen.get() {
            Some((seen, since)) if seen == steps => {
                now.saturating_duration_since(since) >= self.limit.get() + self.waited.get()
            }
            _ => {
                self.seen.set(Some((steps, now)));
                false
            }
        }
    }
}

pub(crate) const NO_END: &str = "the script does not end";

pub(crate) fn set(lua: &Lua, watch: &Rc<ScriptWatch>) -> mlua::Result<()> {
    let watch = Rc::clone(watch);
    let triggers = HookTriggers::new().every_nth_instruction(LOOK_EVERY);
    lua.set_global_hook(triggers, move |lua, _| {
        if !watch.is_calling.get() {
            return Ok(VmState::Continue);
        }
        watch.looks();
        let looks = watch.looks.get().wrapping_add(1);
        watch.looks.set(looks);
        let is_over = watch.is_over.get();
        if !is_over && !looks.is_multiple_of(NOTE_EVERY) {
            return Ok(VmState::Continue);
        }
        // The instruction may be in the interface, which users do not know.
        let place = place(lua);
        if !is_over {
            if let Some(place) = place {
                watch.leash.seen_at(place);
            }
            return Ok(VmState::Continue);
        }
        if let Some(place) = place {
            watch.note_end(place);
        }
        Err(mlua::Error::runtime(NO_END))
    })
}

/// Adds functions by which the interface reports the script's position, before long calls and on errors.
pub(crate) fn add_places(lua: &Lua, table: &Table, watch: &Rc<ScriptWatch>) -> mlua::Result<()> {
    add_function(lua, table, "is_over", watch, |watch, _, ()| Ok(watch.is_over()))?;
    add_function(lua, table, "look", watch, |watch, lua, ()| {
        let may = watch.may_go_on_at(place(lua));
        may.then_some(()).ok_or_else(|| mlua::Error::runtime(NO_END))
    })?;
    add_function(lua, table, "note_failure", watch, |watch, lua, ()| {
        if let Some(place) = place(lua) {
            watch.note_failure(place);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_ends_a_call() {
        let watch = ScriptWatch::new(Arc::default());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        watch.begin();
        assert!(!watch.looks_over(at(0)) && !watch.looks_over(at(29)) && watch.looks_over(at(30)));
        watch.step();
        assert!(!watch.looks_over(at(40)) && !watch.looks_over(at(69)));
        assert!(watch.may_wait(Duration::from_secs(60)) && !watch.looks_over(at(129)));
        assert!(watch.looks_over(at(130)));
        assert!(
            watch.may_wait(Duration::from_secs(240)) && !watch.may_wait(Duration::from_secs(1))
        );
        assert!(watch.is_over());
    }
}
