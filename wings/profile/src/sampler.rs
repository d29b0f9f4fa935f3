//! Samples a server in a separate thread while its clients work: where its threads spend CPU time, and what they wait
//! for.
//!
//! The kernel's performance events interrupt each thread at equal intervals of its CPU time, and at some of its context
//! switches. They copy the registers and the end of the stack. [`StackSampler`] follows the stack with the unwind
//! tables of the binaries, which need no frame pointers, and counts equal stacks. At the end, addresses become names
//! of functions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use assay_model::{CallTree, GrowingTree, ProfileLimits, StackFrame};
use assay_symbols::Symbols;
use assay_symbols::names::{KernelNames, cut, is_kernel};
use procfs::process::{MMapPath, Process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::ProfileError;
use crate::rings::{RingRecord, RingSamples, SampleKind, SampleScope, ShowsKernel};
use crate::space::Space;
use crate::threads::{Thread, online_cpus, threads};

/// Samples per second of CPU time, unless the kernel permits only fewer. Not a multiple of the frequencies at which
/// servers and kernels work.
const FREQUENCY: u32 = 1999;

/// One of this many switches is sampled: a client that waits for each answer switches tens of thousands of times per
/// second. A prime number, so that no pattern of waits is missed.
const SWITCH_PERIOD: u32 = 29;

const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct ServerProfile {
    pub frequency: u32,
    pub server: String,
    /// CPU time of the threads that serve connections, in samples.
    pub serving: CallTree,
    pub background: CallTree,
    /// Time of the serving threads without a CPU, nanoseconds; `None` if the kernel does not report it.
    pub waits: Option<CallTree>,
    /// Limits of the observation.
    pub limits: ProfileLimits,
}

#[derive(Debug)]
pub struct StackSampler {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<ServerProfile>>,
}

impl StackSampler {
    /// Samples the CPU time of all threads of the process `root` and its descendants. `serving` are the threads that
    /// serve connections; `None` means all.
    pub fn cpu(
        root: i32,
        serving: Option<&[i32]>,
        symbols: &mut Symbols,
    ) -> Result<Self, ProfileError> {
        let found = threads(root)?;
        let most = fs_err::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
        let frequency = permitted(&most.unwrap_or_default());
        let kind = SampleKind::Cpu { frequency };
        let threads: Vec<SampleScope> = found.iter().copied().map(SampleScope::Thread).collect();
        let cpus: Vec<SampleScope> = online_cpus().into_iter().map(SampleScope::Cpu).collect();
        let (shown, hidden) = (ShowsKernel(true), ShowsKernel(false));
        // From the cheapest to the most widely permitted: all CPUs, the server's threads, these without the kernel's
        // part.
        let (kernel, rings) = match RingSamples::open_all(&cpus, kind, shown) {
            Ok(rings) if !rings.is_empty() => (shown, rings),
            _ => match RingSamples::open_all(&threads, kind, shown) {
                Err(ProfileError::NotPermitted(_)) => {
                    (hidden, RingSamples::open_all(&threads, kind, hidden)?)
                }
                opened => (shown, opened?),
            },
        };
        let reader =
            RingReader { frequency, ..RingReader::new(root, &found, serving, kernel, symbols) };
        Self::start(reader, rings)
    }

    /// Samples the waits of the threads `serving` of the process `root` and its descendants. Recording each switch from
    /// thread to thread costs CPU time, so this is not done while CPU time is sampled.
    pub fn waits(root: i32, serving: &[i32], symbols: &mut Symbols) -> Result<Self, ProfileError> {
        let kernel = ShowsKernel(true);
        let kind = SampleKind::Switches { period: SWITCH_PERIOD };
        let mut found = threads(root)?;
        found.retain(|thread| serving.contains(&thread.tid));
        let threads: Vec<SampleScope> = found.iter().copied().map(SampleScope::Thread).collect();
        let rings = RingSamples::open_all(&threads, kind, kernel)?;
        let reader = RingReader::new(root, &found, Some(serving), kernel, symbols);
        Self::start(reader, rings)
    }

    /// Reads the binaries of a server, which may have to fetch their names, so that sampling can begin at once.
    pub fn prepare(root: i32, symbols: &mut Symbols) {
        let _ = Space::read(root, symbols);
    }

    fn start(mut reader: RingReader, mut rings: Vec<RingSamples>) -> Result<Self, ProfileError> {
        if rings.is_empty() || reader.spaces.is_empty() {
            return Err(ProfileError::NoThread);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        for ring in &mut rings {
            ring.enable()?;
        }
        let reader = Builder::new().name("sampler".to_owned()).spawn(move || {
            reader.read(&mut rings, &stopped);
            drop(rings);
            reader.finish()
        });
        let reader = reader.map_err(|_| ProfileError::Thread("cannot be started"))?;
        Ok(Self { stop, reader: Some(reader) })
    }

    pub fn stop(mut self) -> Result<ServerProfile, ProfileError> {
        self.stop.store(true, Ordering::Relaxed);
        let reader = self.reader.take().ok_or(ProfileError::Thread("has ended"))?;
        reader.join().map_err(|_| ProfileError::Thread("panicked"))
    }
}

impl Drop for StackSampler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// The sampling frequency, given the kernel's maximum as text. The kernel itself lowers that if samples take long.
fn permitted(most: &str) -> u32 {
    match most.trim().parse::<u32>() {
        // One less is not a multiple of the kernel's ticks.
        Ok(most) if most < FREQUENCY => most.saturating_sub(1).max(1),
        _ => FREQUENCY,
    }
}

struct RingReader {
    frequency: u32,
    server: String,
    kernel: ShowsKernel,
    kernel_names: Arc<KernelNames>,
    serving: BTreeSet<i32>,
    spaces: BTreeMap<i32, Space>,
    cpu: [Stacks; 2],
    waits: Stacks,
    waiting: BTreeMap<i32, ThreadWait>,
    waited_ns: u64,
    limits: ProfileLimits,
}

/// A thread between two of its turns on a CPU.
#[derive(Default)]
struct ThreadWait {
    since_ns: Option<u64>,
    /// Since when, the process, and the stack.
    sampled: Option<(u64, i32, Box<[u64]>)>,
}

/// File name of a process's program. A server with its own libraries is started by the dynamic loader, which is then
/// what the process executes; its arguments name the program, which is mapped.
fn program(pid: i32) -> Option<String> {
    let process = Process::new(pid).ok()?;
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let started = name(&process.exe().ok()?)?;
    if !started.starts_with("ld-") && !started.starts_with("ld.") {
        return Some(started);
    }
    let mapped: Vec<String> = process
        .maps()
        .ok()?
        .into_iter()
        .filter_map(|map| match map.pathname {
            MMapPath::Path(path) => name(&path),
            _ => None,
        })
        .collect();
    let arguments = process.cmdline().ok()?;
    let mut named = arguments.iter().skip(1).filter_map(|argument| name(Path::new(argument)));
    named.find(|name| mapped.contains(name)).or(Some(started))
}

impl RingReader {
    fn new(
        root: i32,
        found: &[Thread],
        serving: Option<&[i32]>,
        kernel: ShowsKernel,
        symbols: &mut Symbols,
    ) -> Self {
        let is_serving = |tid: i32| serving.is_none_or(|all| all.contains(&tid));
        let mut spaces = BTreeMap::new();
        for pid in found.iter().map(|thread| thread.pid) {
            spaces.entry(pid).or_insert_with(|| Space::read(pid, symbols));
        }
        let tids = found.iter().map(|thread| thread.tid);
        Self {
            frequency: FREQUENCY,
            server: program(root).map_or_else(String::new, |name| cut(&name).to_owned()),
            kernel,
            kernel_names: if kernel.0 { symbols.kernel() } else { Arc::default() },
            serving: tids.filter(|tid| is_serving(*tid)).collect(),
            spaces,
            cpu: [Stacks::new(), Stacks::new()],
            waits: Stacks::new(),
            waiting: BTreeMap::new(),
            waited_ns: 0,
            limits: ProfileLimits { no_kernel: !kernel.0, ..ProfileLimits::default() },
        }
    }

    fn read(&mut self, rings: &mut [RingSamples], stop: &AtomicBool) {
        let every = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as _ };
        let mut have_ended = vec![false; rings.len()];
        while !stop.load(Ordering::Relaxed) {
            let (mut fds, ended): (Vec<PollFd<'_>>, Vec<&mut bool>) = (rings.iter())
                .zip(&mut have_ended)
                .filter(|(_, has_ended)| !**has_ended)
                .map(|(ring, ended)| (PollFd::from_borrowed_fd(ring.fd(), PollFlags::IN), ended))
                .unzip();
            // An interrupted wait only reads the rings early.
            let _ = poll(&mut fds, Some(&every));
            for (fd, has_ended) in fds.iter().zip(ended) {
                // The descriptor of a thread that has ended would end every wait at once.
                *has_ended = fd.revents().intersects(PollFlags::HUP | PollFlags::ERR);
            }
            drop(fds);
            self.drain(rings);
        }
        for ring in rings.iter_mut() {
            if let Err(error) = ring.disable() {
                log::debug!("a thread that was sampled: {error}");
            }
        }
        self.drain(rings);
    }

    fn drain(&mut self, rings: &mut [RingSamples]) {
        for ring in rings {
            let tid = match ring.scope {
                SampleScope::Thread(thread) => Some(thread.tid),
                SampleScope::Cpu(_) => None,
            };
            let kind = ring.kind;
            ring.drain(|message| match message {
                RingRecord::Lost(count) => {
                    let lost = match kind {
                        SampleKind::Cpu { .. } => &mut self.limits.lost,
                        SampleKind::Switches { .. } => &mut self.limits.lost_waits,
                    };
                    *lost = lost.saturating_add(count);
                    // A lost record may be the end of a wait.
                    if let Some(tid) = tid {
                        self.waiting.remove(&tid);
                    }
                }
                RingRecord::Stack { thread, time_ns, kernel, user } => {
                    // Other programs run on the CPUs too.
                    if self.spaces.contains_key(&thread.pid) {
                        let stack = self.stack(thread.pid, kernel, user);
                        self.count(thread, kind, time_ns, stack);
                    }
                }
                RingRecord::Left { time_ns } => {
                    if let Some(tid) = tid {
                        self.waiting.entry(tid).or_default().since_ns = Some(time_ns);
                    }
                }
                RingRecord::Resumed { time_ns } => self.resumed(tid, time_ns),
            });
        }
    }

    fn count(&mut self, thread: Thread, kind: SampleKind, time_ns: u64, stack: Box<[u64]>) {
        match kind {
            SampleKind::Cpu { .. } => {
                let is_other = !self.serving.contains(&thread.tid);
                let [serving, background] = &mut self.cpu;
                let stacks = if is_other { background } else { serving };
                *stacks.entry((thread.pid, stack)).or_default() += 1;
            }
            SampleKind::Switches { .. } => {
                let waiting = self.waiting.entry(thread.tid).or_default();
                waiting.sampled = Some((time_ns, thread.pid, stack));
            }
        }
    }

    fn resumed(&mut self, tid: Option<i32>, time_ns: u64) {
        let Some(tid) = tid else { return };
        let waiting = self.waiting.entry(tid).or_default();
        let waited = |since: u64| time_ns.saturating_sub(since);
        self.waited_ns += waiting.since_ns.take().map_or(0, waited);
        if let Some((since, pid, stack)) = waiting.sampled.take() {
            *self.waits.entry((pid, stack)).or_default() += waited(since);
        }
    }

    /// The addresses of a stack, the innermost first.
    fn stack(
        &mut self,
        pid: i32,
        kernel: &[u64],
        user: Option<(crate::space::Registers, &[u8])>,
    ) -> Box<[u64]> {
        /// Larger values are markers in the chain, not addresses.
        const MARKS: u64 = u64::MAX - 4095;
        let is_code = |address: &u64| is_kernel(*address) && *address < MARKS;
        let mut addresses: Vec<u64> = kernel.iter().copied().filter(is_code).collect();
        let is_whole = match (user, self.spaces.get_mut(&pid)) {
            (Some((registers, stack)), Some(space)) => {
                space.unwind(registers, stack, &mut addresses)
            }
            _ => false,
        };
        self.limits.broken += u64::from(!is_whole);
        addresses.into_boxed_slice()
    }

    fn finish(mut self) -> ServerProfile {
        let names = Arc::clone(&self.kernel_names);
        // The sampled waits represent all waits.
        let sampled: u64 = self.waits.values().sum();
        for spent in self.waits.values_mut() {
            let part = *spent as f64 / sampled.max(1) as f64;
            *spent = (part * self.waited_ns as f64) as u64;
        }
        let spaces = &self.spaces;
        let frame = |pid: i32, address: u64| {
            let unknown =
                || StackFrame { function: "[unknown]".to_owned(), module: "[unknown]".to_owned() };
            spaces.get(&pid).map_or_else(unknown, |space| space.frame(address, &names))
        };
        let [serving, background] = &self.cpu;
        let [serving, background] = [serving, background].map(|stacks| tree(stacks, frame));
        let waits = tree(&self.waits, frame);
        let in_profiles: BTreeSet<&str> = [&serving, &background]
            .into_iter()
            .flat_map(|tree| tree.frames.iter().map(|frame| frame.module.as_str()))
            .collect();
        let stripped: BTreeSet<&str> = self.spaces.values().flat_map(Space::stripped).collect();
        self.limits.stripped =
            stripped.intersection(&in_profiles).map(|name| (*name).to_owned()).collect();
        self.limits.unnamed_kernel = self.kernel.0 && names.is_empty();
        // Only the kernel's functions show the reason of a wait.
        let explains_waits = !waits.nodes.is_empty() && !names.is_empty();
        ServerProfile {
            frequency: self.frequency,
            server: self.server,
            serving,
            background,
            waits: explains_waits.then_some(waits),
            limits: self.limits,
        }
    }
}

/// The process, and the addresses of a stack, the innermost first.
type Stack = (i32, Box<[u64]>);

type Stacks = HashMap<Stack, u64>;

/// Merges equal stacks into a call tree.
fn tree(stacks: &Stacks, mut frame: impl FnMut(i32, u64) -> StackFrame) -> CallTree {
    let mut frames: HashMap<(i32, u64), u32> = HashMap::new();
    let mut growing = GrowingTree::default();
    let mut ordered: Vec<(&Stack, u64)> =
        stacks.iter().map(|(stack, spent)| (stack, *spent)).collect();
    // The most frequent first, so that the rarest are cut. The order is deterministic.
    ordered.sort_unstable_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    for ((pid, addresses), spent) in ordered {
        let mut caller = None;
        for address in addresses.iter().rev() {
            let known = frames.entry((*pid, *address));
            let frame = *known.or_insert_with(|| growing.frame(frame(*pid, *address)));
            match growing.call(caller, frame) {
                Some(node) => caller = Some(node),
                None => break,
            }
        }
        // A busy server has some thousands of calls. Of the rarest stacks beyond the capacity of a tree, only the
        // beginning is kept.
        if let Some(node) = caller {
            growing.spend(node, spent);
        }
    }
    growing.into_tree()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frequency_is_at_most_what_the_kernel_permits() {
        assert_eq!(permitted("100000\n"), FREQUENCY);
        assert_eq!(permitted("1000\n"), 999);
        assert_eq!([permitted("1\n"), permitted("0\n")], [1, 1]);
        assert_eq!(permitted(""), FREQUENCY);
    }

    fn named(_: i32, address: u64) -> StackFrame {
        let function = ["main", "read", "parse"][address as usize % 3].to_owned();
        StackFrame { function, module: "server".to_owned() }
    }

    #[test]
    fn stacks_that_begin_alike_share_nodes() {
        // Two addresses of the same function are one frame.
        let stacks = [(vec![1, 0], 5), (vec![4, 0], 2), (vec![2, 1, 0], 3), (vec![0], 1)];
        let stacks = stacks.map(|(addresses, spent)| ((7, addresses.into_boxed_slice()), spent));
        let tree = tree(&stacks.into_iter().collect(), named);
        assert_eq!(tree.frames.len(), 3);
        let nodes: Vec<(u32, u32, u64)> = tree.nodes.iter().map(|node| (*node).into()).collect();
        assert_eq!(nodes, [(0, 0, 1), (1, 1, 7), (2, 2, 3)]);
        assert_eq!(tree.total(), 11);
        assert_eq!(tree.inclusive(), [11, 10, 3]);
    }
}
