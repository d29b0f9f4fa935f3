//! Ends calls of a script that neither end nor send anything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{HookTriggers, Lua, VmState};

use crate::error::Error;

/// How long a call may go on without sending a statement.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How long the pauses of a call may be in all without a statement between them.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// Instructions between two looks at the clock.
const LOOK_EVERY: u32 = 1 << 20;

/// Watches the calls of a script. A call that makes progress reads no clock.
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
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self {
            limit: Cell::new(SILENCE_MAX),
            is_calling: Cell::new(false),
            steps: Cell::new(0),
            seen: Cell::new(None),
            waited: Cell::new(Duration::ZERO),
            place: RefCell::new(None),
            is_over: Cell::new(false),
        }
    }

    pub(crate) fn begin(&self) {
        self.is_calling.set(true);
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
        if waited > WAIT_MAX {
            self.is_over.set(true);
        }
        !self.is_over.get()
    }

    pub(crate) fn end(&self) {
        self.is_calling.set(false);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// The error of a call that was ended.
    pub(crate) fn error(&self) -> Error {
        Error::Endless { seconds: SILENCE_MAX.as_secs(), place: self.place.borrow().clone() }
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

/// Lets a watch look at the calls of a script.
pub(crate) fn set(lua: &Lua, watch: &Rc<Watch>) -> mlua::Result<()> {
    let watch = Rc::clone(watch);
    let triggers = HookTriggers::new().every_nth_instruction(LOOK_EVERY);
    lua.set_global_hook(triggers, move |_, debug| {
        if !watch.is_calling.get() || (!watch.is_over.get() && !watch.looks_over(Instant::now())) {
            return Ok(VmState::Continue);
        }
        if !watch.is_over.replace(true) {
            let source = debug.source().short_src.map(|it| it.into_owned()).unwrap_or_default();
            let line = debug.current_line().unwrap_or_default();
            *watch.place.borrow_mut() = Some(format!("{source}:{line}"));
        }
        Err(mlua::Error::runtime("the script does not end"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_ends_a_call() {
        let watch = Watch::new();
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
