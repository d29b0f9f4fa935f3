//! Pages that are made: one at a time, once for all who wait for the same, and for nobody who has gone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::request::Request;

/// Time between two looks at whether a client still waits.
const LOOK: Duration = Duration::from_millis(100);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// A page of HTML.
    Html {
        /// The page.
        html: String,
        /// Its content security policy.
        policy: String,
    },
    /// There is no such page; the text says why.
    Missing(String),
    /// The page cannot be made; the text says why.
    Failed(String),
}

/// The pages that are made now and that clients wait for.
#[derive(Default)]
pub(crate) struct Pages {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_making: bool,
    /// Pages that were made so far.
    made: u64,
    /// Clients that wait for a page.
    waiting: usize,
    /// The page that was made last, while clients wait.
    last: Option<(Request, Arc<Page>)>,
}

impl Pages {
    /// The page of a request: the one that another client waited for at the same time, or a new one. `None` if the
    /// client has gone before it was made.
    pub(crate) fn get(
        &self,
        request: &Request,
        is_gone: &dyn Fn() -> bool,
        make: &dyn Fn() -> Page,
    ) -> Option<Arc<Page>> {
        // Nothing panics while it is locked.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let came = state.made;
        state.waiting += 1;
        let shared = loop {
            let made = state.last.as_ref().filter(|(of, _)| state.made > came && of == request);
            if let Some((_, page)) = made {
                break Some(Arc::clone(page));
            }
            if is_gone() || !state.is_making {
                break None;
            }
            let woken = self.changed.wait_timeout(state, LOOK);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting -= 1;
        if state.waiting == 0 {
            state.last = None;
        }
        if shared.is_some() || is_gone() {
            return shared;
        }
        state.is_making = true;
        drop(state);
        let made = catch_unwind(AssertUnwindSafe(make));
        let page = Arc::new(made.unwrap_or_else(|_| Page::Failed("assay has failed".to_owned())));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_making = false;
        state.made += 1;
        state.last = (state.waiting > 0).then(|| (request.clone(), Arc::clone(&page)));
        self.changed.notify_all();
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn request(name: &str) -> Request {
        Request { path: vec![name.to_owned()], query: Vec::new(), is_head: false }
    }

    /// Waits until so many clients wait.
    fn until(pages: &Pages, waiting: usize) {
        while pages.state.lock().unwrap().waiting != waiting {
            thread::yield_now();
        }
    }

    #[test]
    fn pages_are_made_one_at_a_time_once_and_for_nobody_who_has_gone() {
        let (pages, made, at_once) = (Pages::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let (go, stays) = (AtomicBool::new(false), || false);
        let make = || {
            assert_eq!(at_once.fetch_add(1, Ordering::SeqCst), 0);
            while !go.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            at_once.fetch_sub(1, Ordering::SeqCst);
            made.fetch_add(1, Ordering::SeqCst);
            Page::Missing(String::new())
        };
        thread::scope(|scope| {
            let first = scope.spawn(|| pages.get(&request("a"), &stays, &make));
            while at_once.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            // The one that has gone is not made, and those of one request share theirs.
            let gone = pages.get(&request("c"), &|| true, &make);
            let same: Vec<_> =
                (0..8).map(|_| scope.spawn(|| pages.get(&request("b"), &stays, &make))).collect();
            until(&pages, 8);
            go.store(true, Ordering::SeqCst);
            assert!(gone.is_none() && first.join().unwrap().is_some());
            assert!(same.into_iter().all(|it| it.join().unwrap().is_some()));
        });
        // Some clients may ask after the page was made and not have seen it.
        assert_eq!(made.load(Ordering::SeqCst), 2);
        assert!(pages.state.lock().unwrap().last.is_none());
        let failed = pages.get(&request("a"), &stays, &|| panic!("it fails"));
        assert!(matches!(failed.as_deref(), Some(Page::Failed(_))));
        assert!(pages.get(&request("a"), &stays, &make).is_some());
    }
}
