//! Samples threads of this process with known behaviour.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]
#![expect(clippy::print_stderr, reason = "a test that the machine does not permit says so")]

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::CallTree;
use assay_profiles::{ProfileError, ServerProfile, StackSampler};
use assay_symbols::Symbols;

#[inline(never)]
fn burn_cpu(stop: &AtomicBool) {
    let mut sum = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        for number in 0..1000_u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
}

#[inline(never)]
fn wait_for_messages(messages: &Receiver<()>) -> usize {
    messages.iter().count()
}

fn part(tree: &CallTree, function: &str) -> f64 {
    let below: Vec<bool> = (0..tree.nodes.len()).fold(Vec::new(), |mut below, at| {
        let node = tree.nodes[at];
        let is_here = tree.frames[node.frame as usize].function.contains(function);
        let is_below = is_here || node.caller.is_some_and(|caller| below[caller as usize]);
        below.push(is_below);
        below
    });
    let spent: u64 = tree.nodes.iter().zip(below).filter(|it| it.1).map(|it| it.0.own).sum();
    spent as f64 / tree.total().max(1) as f64
}

/// CPU time of the sampled thread. On a busy machine, this takes longer.
const BURNED: Duration = Duration::from_millis(800);

fn cpu_time(tid: i32) -> Duration {
    let message = fs_err::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap();
    Duration::from_nanos(message.split(' ').next().unwrap().parse().unwrap())
}

/// Samples this process while one thread waits and another uses CPU time. Returns the result, that CPU time, and the
/// elapsed time. `None` if the kernel refuses.
fn sampled(
    start: fn(i32, &[i32], &mut Symbols) -> Result<StackSampler, ProfileError>,
) -> Option<(ServerProfile, Duration, Duration)> {
    // Threads of other tests are threads of this process too.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let stop = AtomicBool::new(false);
    let (sender, receiver) = channel();
    let (tids, tids_of) = channel();
    thread::scope(|scope| {
        let message = tids.clone();
        scope.spawn(move || {
            message.send(rustix::thread::gettid()).unwrap();
            wait_for_messages(&receiver)
        });
        let waiter = tids_of.recv().unwrap();
        scope.spawn(|| {
            tids.send(rustix::thread::gettid()).unwrap();
            burn_cpu(&stop);
        });
        let burner = tids_of.recv().unwrap();
        let serving = [waiter, burner].map(|tid| tid.as_raw_nonzero().get());
        let mut symbols = Symbols::new(false, || false);
        let sampler = match start(std::process::id() as i32, &serving, &mut symbols) {
            Err(ProfileError::NotPermitted(level)) => {
                eprintln!("not tested: kernel.perf_event_paranoid is {level}");
                stop.store(true, Ordering::Relaxed);
                drop(sender);
                return None;
            }
            other => other.unwrap(),
        };
        // Reading the binaries and naming the samples take time too.
        let (begun, used) = (Instant::now(), cpu_time(serving[1]));
        while cpu_time(serving[1]) - used < BURNED {
            sender.send(()).unwrap();
            thread::park_timeout(Duration::from_millis(1));
        }
        let (elapsed, used) = (begun.elapsed(), cpu_time(serving[1]) - used);
        let found = sampler.stop().unwrap();
        stop.store(true, Ordering::Relaxed);
        drop(sender);
        Some((found, used, elapsed))
    })
}

#[test]
fn functions_are_found_by_name_with_their_share() {
    let start = |root, serving: &[i32], symbols: &mut Symbols| {
        StackSampler::cpu(root, Some(serving), symbols)
    };
    let Some((found, used, _)) = sampled(start) else { return };
    let samples = found.serving.total() as f64;
    let expected = used.as_secs_f64() * f64::from(found.frequency);
    assert!(samples > 0.5 * expected && samples < 1.3 * expected, "{samples} of {expected}");
    assert!(part(&found.serving, "burn_cpu") > 0.8, "{:#?}", found.serving.frames);
    assert!(part(&found.background, "burn_cpu") < 0.01, "{:#?}", found.background.frames);
    // The stack was followed to the beginning of the thread.
    assert!((found.limits.broken as f64) < 0.05 * samples, "{:?}", found.limits);
    let begins = found.serving.nodes.iter().filter(|node| node.caller.is_none()).count();
    assert!(begins < 5, "{begins} beginnings");
}

#[test]
fn waits_are_found_by_stack_with_their_time() {
    let Some((found, _, elapsed)) = sampled(StackSampler::waits) else { return };
    let waits = found.waits.unwrap();
    let waited = waits.total() as f64 * 1e-9;
    // One thread waits almost always, the other one only for a CPU; on a busy machine, almost always too.
    assert!(part(&waits, "wait_for_messages") > 0.4, "{:#?}", waits.frames);
    assert!(part(&waits, "futex") > 0.4, "{:#?}", waits.frames);
    let elapsed = elapsed.as_secs_f64();
    assert!(waited > 0.5 * elapsed && waited < 2.0 * elapsed, "{waited} of {elapsed} s");
}

#[test]
fn a_process_that_does_not_exist_is_no_server() {
    let error = StackSampler::cpu(i32::MAX, None, &mut Symbols::new(false, || false)).unwrap_err();
    assert!(matches!(error, ProfileError::NoThread), "{error}");
}
