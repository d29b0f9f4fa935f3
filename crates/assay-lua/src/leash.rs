//! Lets other threads observe and end a running script.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a script may stay in one built-in function of Lua: longer than a call that can be ended from within.
const STUCK_AFTER: Duration = Duration::from_secs(35);

/// Maximum output kept of all threads of a script, bytes.
const SAID_MAX: usize = 4 << 20;

/// Minimum output kept of each thread, bytes.
const SAID_LEAST: usize = 64 << 10;

const MORE_SAID: &str = "\n... the script has printed more, which is not kept\n";

/// How long a script may take to return after a request to end.
const END_WITHIN: Duration = Duration::from_secs(3);

/// The state of a running script for other threads. The script's own thread writes it.
///
/// A Lua function written in C, such as `string.gsub`, cannot be interrupted. Threads that wait for a script therefore
/// watch this, and abandon its thread.
#[derive(Debug, Default)]
pub struct Leash {
    /// Incremented by every action of the script. Odd while the script itself runs, even while its client works for it.
    moves: AtomicU64,
    must_end: AtomicBool,
    thread: AtomicI32,
    place: Mutex<Option<String>>,
    said: Mutex<String>,
}

impl Leash {
    pub fn end(&self) {
        self.must_end.store(true, Ordering::Relaxed);
    }

    pub fn must_end(&self) -> bool {
        self.must_end.load(Ordering::Relaxed)
    }

    pub fn has_script(&self) -> bool {
        self.moves.load(Ordering::Relaxed) > 0
    }

    pub fn place(&self) -> Option<String> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Id of the script's thread; 0 if unknown.
    pub fn thread(&self) -> i32 {
        self.thread.load(Ordering::Relaxed)
    }

    pub fn runs_in(&self, thread: i32) {
        self.thread.store(thread, Ordering::Relaxed);
    }

    pub fn take_said(&self) -> String {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends output of a thread. Beyond the limit, the rest is dropped.
    pub(crate) fn say(&self, text: &str, threads: u32) {
        let most = (SAID_MAX / threads.max(1) as usize).max(SAID_LEAST);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() < most {
            said.push_str(text);
            if said.len() >= most {
                said.push_str(MORE_SAID);
            }
        }
    }

    pub(crate) fn seen_at(&self, place: String) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    }

    /// The script begins to run, or begins to wait.
    pub(crate) fn turn(&self) {
        self.rise(1);
    }

    pub(crate) fn look(&self) {
        self.rise(2);
    }

    fn rise(&self, by: u64) {
        // Only the script's own thread writes.
        self.moves.store(self.moves.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
pub struct Patience {
    seen: Option<(u64, Instant)>,
    asked_at: Option<Instant>,
}

impl Patience {
    /// Whether to stop waiting for the script. `must_end`: it has to end now.
    pub fn is_over(&mut self, leash: &Leash, must_end: bool, now: Instant) -> bool {
        if !leash.has_script() {
            return false;
        }
        if must_end {
            leash.end();
        }
        if leash.must_end() && self.asked_at.is_none() {
            self.asked_at = Some(now);
        }
        let moves = leash.moves.load(Ordering::Relaxed);
        let since = match self.seen {
            Some((seen, since)) if seen == moves => since,
            _ => {
                self.seen = Some((moves, now));
                now
            }
        };
        let passed = |since: Instant| now.saturating_duration_since(since);
        let is_stuck = moves % 2 == 1 && passed(since) >= STUCK_AFTER;
        is_stuck || self.asked_at.is_some_and(|asked_at| passed(asked_at) >= END_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_given_up_that_stays_in_one_function_or_does_not_end_when_told() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (leash, mut patience) = (Leash::default(), Patience::default());
        assert!(!patience.is_over(&leash, true, at(0)) && !patience.is_over(&leash, true, at(99)));
        let leash = Leash::default();
        leash.turn();
        assert!(!patience.is_over(&leash, false, at(100)));
        leash.look();
        assert!(
            !patience.is_over(&leash, false, at(134)) && !patience.is_over(&leash, false, at(168))
        );
        // It waits for its client now.
        leash.turn();
        assert!(
            !patience.is_over(&leash, false, at(169)) && !patience.is_over(&leash, false, at(300))
        );
        leash.turn();
        assert!(
            !patience.is_over(&leash, false, at(301)) && patience.is_over(&leash, false, at(336))
        );
        leash.look();
        assert!(!patience.is_over(&leash, true, at(337)) && leash.must_end());
        assert!(
            !patience.is_over(&leash, false, at(339)) && patience.is_over(&leash, false, at(340))
        );
    }

    #[test]
    fn the_beginning_of_very_much_text_is_kept() {
        let kept = |threads| {
            let (leash, line) = (Leash::default(), "0123456789abcde\n");
            (0..(8 << 20) / line.len()).for_each(|_| leash.say(line, threads));
            leash.take_said().trim_end_matches(MORE_SAID).len()
        };
        assert_eq!([kept(1), kept(4), kept(1000)], [4 << 20, 1 << 20, 64 << 10]);
    }
}
