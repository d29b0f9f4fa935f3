//! Several pieces of work at the same time.

use std::thread;

use anyhow::{Context as _, Result, anyhow};

/// Runs all in parallel, one thread each. Results keep the order.
pub fn together<T: Send>(
    acts: impl Iterator<Item = impl FnOnce() -> Result<T> + Send>,
) -> Vec<Result<T>> {
    thread::scope(|scope| {
        let threads: Vec<_> =
            acts.map(|act| thread::Builder::new().spawn_scoped(scope, act)).collect();
        let join = |thread: std::io::Result<thread::ScopedJoinHandle<'_, Result<T>>>| {
            let done = thread.context("cannot start a thread")?.join();
            done.unwrap_or_else(|_| Err(anyhow!("internal error: a thread panicked")))
        };
        threads.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_acts_happen_at_the_same_time() {
        let barrier = Barrier::new(3);
        let act = |number: usize| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                anyhow::ensure!(number != 2, "no");
                Ok(10 * number)
            }
        };
        let done: Vec<Option<usize>> =
            together([1, 2, 3].map(act).into_iter()).into_iter().map(Result::ok).collect();
        assert_eq!(done, [Some(10), None, Some(30)]);
    }

    #[test]
    fn an_act_that_panics_is_an_error() {
        let done = together(std::iter::once(|| -> Result<()> { panic!("in a test") }));
        assert!(done[0].as_ref().unwrap_err().to_string().contains("a thread panicked"));
    }
}
