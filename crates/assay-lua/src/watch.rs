//! Ends calls of a script that neither end nor send anything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{HookTriggers, Lua, VmState};

use crate::error::Error;
use crate::leash::Leash;
use crate::stack::place;

/// How long a call may go on without sending a statement.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How long the pauses of a call may be in all without a statement between them.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Instructions between two looks at the clock. A single one may take long: it joins texts, or calls a function of Lua.
const LOOK_EVERY: u32 = 1 << 13;

/// Looks between two of which the place is noted.
const NOTE_EVERY: u32 = 8;

/// Watches the calls of a script. A short call reads no clock.
pub(crate) struct Watch {
    pub(crate) limit: Cell<Duration>,
    is_calling: Cell<bool>,
    /// Rises with each call that begins and each answer of a server.
    steps: Cell<u64>,
    /// The step that a look has seen first, and when.
    seen: Cell<Option<(u64, Instant)>>,
    /// How long the script has waited since the last step.
    waited: Cell<Duration>,
    place: RefCell<Option<String>>,
    is_over: Cell<bool>,
    leash: Arc<Leash>,
    /// Looks so far.
    looks: Cell<u32>,
    /// Where the last error was raised.
    failed_at: RefCell<Option<String>>,
}

impl Watch {
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

    /// Something was done: a call has begun, or a server has answered.
    pub(crate) fn step(&self) {
        self.steps.set(self.steps.get().wrapping_add(1));
        self.waited.set(Duration::ZERO);
    }

    /// The script is about to wait. Pauses are not held against it, unless it does nothing else: then this is false.
    pub(crate) fn may_wait(&self, time: Duration) -> bool {
        let waited = self.waited.get() + time;
        self.waited.set(waited);
        if waited > WAIT_MAX || self.leash.must_end() {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    /// The call must end, because a pause of it was cut short.
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

    /// Lets the client work for the script.
    pub(crate) fn lent<R>(&self, work: impl FnOnce() -> R) -> R {
        self.leash.turn();
        let done = work();
        self.leash.turn();
        done
    }

    /// The script is at this place, and about to do something that may take long. False if it must not go on.
    pub(crate) fn may_go_on_at(&self, place: Option<String>) -> bool {
        if let Some(place) = place {
            self.leash.seen_at(place);
        }
        self.looks();
        !self.is_over.get()
    }

    /// Looks at the call in progress, which may have gone on for too long.
    fn looks(&self) {
        self.leash.look();
        if self.leash.must_end() || self.looks_over(Instant::now()) {
            self.is_over.set(true);
        }
    }

    /// Notes where an error was raised.
    pub(crate) fn note_failure(&self, place: String) {
        self.leash.seen_at(place.clone());
        *self.failed_at.borrow_mut() = Some(place);
    }

    /// Where the last error of the call in progress, or of the last one, was raised.
    pub(crate) fn failed_at(&self) -> Option<String> {
        self.failed_at.borrow().clone()
    }

    /// Where the script was seen last.
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

    /// The error of a call that was ended.
    pub(crate) fn error(&self) -> Error {
        let place = self.place.borrow().clone().or_else(|| self.leash.place());
        match self.leash.must_end() {
            true => Error::Ended { place },
            false => Error::Endless { seconds: SILENCE_MAX.as_secs(), place },
        }
    }

    /// Whether the call has gone on for too long, seen at this time.
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

/// Why a call fails that was ended.
pub(crate) const NO_END: &str = "the script does not end";

/// Lets a watch look at the calls of a script.
pub(crate) fn set(lua: &Lua, watch: &Rc<Watch>) -> mlua::Result<()> {
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
        // The instruction may be one of the interface, which no user knows.
        let place = place(lua);
        if !is_over {
            place.into_iter().for_each(|it| watch.leash.seen_at(it));
            return Ok(VmState::Continue);
        }
        place.into_iter().for_each(|it| watch.note_end(it));
        Err(mlua::Error::runtime(NO_END))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_ends_a_call() {
        let watch = Watch::new(Arc::default());
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
