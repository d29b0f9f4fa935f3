//! Samples a server in a separate thread while its clients work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use assay_model::{CallTree, ProfileLimits};
use procfs::process::{MMapPath, Process};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Error;
use crate::kernel::{KernelNames, is_kernel};
use crate::names::cut;
use crate::rings::{Kind, Of, RingRecord, Samples, ShowsKernel};
use crate::space::Space;
use crate::stacks::{Stacks, tree};
use crate::symbols::Symbols;
use crate::threads::{Thread, online_cpus, threads};

/// Samples per second of CPU time, unless the kernel permits only fewer. Not a multiple of the frequencies at which
/// servers and kernels work.
const FREQUENCY: u32 = 1999;

/// One of this many switches is sampled: a client that waits for each answer switches tens of thousands of times per
/// second. A prime number, so that no pattern of waits is missed.
const SWITCH_PERIOD: u32 = 29;

const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct Sampled {
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
pub struct Sampler {
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Sampled>>,
}

impl Sampler {
    /// Samples the CPU time of all threads of the process `root` and its descendants. `serving` are the threads that
    /// serve connections; `None` means all.
    pub fn cpu(root: i32, serving: Option<&[i32]>, symbols: &mut Symbols) -> Result<Self, Error> {
        let found = threads(root)?;
        let most = fs_err::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate");
        let frequency = permitted(&most.unwrap_or_default());
        let kind = Kind::Cpu { frequency };
        let threads: Vec<Of> = found.iter().copied().map(Of::Thread).collect();
        let cpus: Vec<Of> = online_cpus().into_iter().map(Of::Cpu).collect();
        let (shown, hidden) = (ShowsKernel(true), ShowsKernel(false));
        // From the cheapest to the most widely permitted: all CPUs, the server's threads, these without the kernel's
        // part.
        let (kernel, rings) = match Samples::open_all(&cpus, kind, shown) {
            Ok(rings) if !rings.is_empty() => (shown, rings),
            _ => match Samples::open_all(&threads, kind, shown) {
                Err(Error::NotPermitted(_)) => (hidden, Samples::open_all(&threads, kind, hidden)?),
                opened => (shown, opened?),
            },
        };
        let reader = Reader { frequency, ..Reader::new(root, &found, serving, kernel, symbols) };
        Self::start(reader, rings)
    }

    /// Samples the waits of the threads `serving` of the process `root` and its descendants. Recording each switch from
    /// thread to thread costs CPU time, so this is not done while CPU time is sampled.
    pub fn waits(root: i32, serving: &[i32], symbols: &mut Symbols) -> Result<Self, Error> {
        let kernel = ShowsKernel(true);
        let kind = Kind::Switches { period: SWITCH_PERIOD };
        let mut found = threads(root)?;
        found.retain(|thread| serving.contains(&thread.tid));
        let threads: Vec<Of> = found.iter().copied().map(Of::Thread).collect();
        let rings = Samples::open_all(&threads, kind, kernel)?;
        let reader = Reader::new(root, &found, Some(serving), kernel, symbols);
        Self::start(reader, rings)
    }

    /// Reads the binaries of a server, which may have to fetch their names, so that sampling can begin at once.
    pub fn prepare(root: i32, symbols: &mut Symbols) {
        let _ = Space::of(root, symbols);
    }

    fn start(mut reader: Reader, mut rings: Vec<Samples>) -> Result<Self, Error> {
        if rings.is_empty() || reader.spaces.is_empty() {
            return Err(Error::NoThread);
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
        let reader = reader.map_err(|_| Error::Thread("cannot be started"))?;
        Ok(Self { stop, reader: Some(reader) })
    }

    pub fn stop(mut self) -> Result<Sampled, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let reader = self.reader.take().ok_or(Error::Thread("has ended"))?;
        reader.join().map_err(|_| Error::Thread("panicked"))
    }
}

impl Drop for Sampler {
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

struct Reader {
    frequency: u32,
    server: String,
    kernel: ShowsKernel,
    kernel_names: Arc<KernelNames>,
    serving: BTreeSet<i32>,
    spaces: BTreeMap<i32, Space>,
    cpu: [Stacks; 2],
    waits: Stacks,
    waiting: BTreeMap<i32, Waiting>,
    waited_ns: u64,
    limits: ProfileLimits,
}

/// A thread between two of its turns on a CPU.
#[derive(Default)]
struct Waiting {
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
    let mut named = arguments.iter().skip(1).filter_map(|it| name(Path::new(it)));
    named.find(|it| mapped.contains(it)).or(Some(started))
}

impl Reader {
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
            spaces.entry(pid).or_insert_with(|| Space::of(pid, symbols));
        }
        let tids = found.iter().map(|thread| thread.tid);
        Self {
            frequency: FREQUENCY,
            server: program(root).map(|it| cut(&it).to_owned()).unwrap_or_default(),
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

    fn read(&mut self, rings: &mut [Samples], stop: &AtomicBool) {
        let every = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.as_nanos() as _ };
        let mut have_ended = vec![false; rings.len()];
        while !stop.load(Ordering::Relaxed) {
            let of_rings = rings.iter().zip(&mut have_ended);
            let (mut fds, ended): (Vec<PollFd<'_>>, Vec<&mut bool>) = of_rings
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

    fn drain(&mut self, rings: &mut [Samples]) {
        for ring in rings {
            let of = match ring.of {
                Of::Thread(thread) => Some(thread.tid),
                Of::Cpu(_) => None,
            };
            let kind = ring.kind;
            ring.drain(|message| match message {
                RingRecord::Lost(count) => {
                    let lost = match kind {
                        Kind::Cpu { .. } => &mut self.limits.lost,
                        Kind::Switches { .. } => &mut self.limits.lost_waits,
                    };
                    *lost = lost.saturating_add(count);
                    // A lost record may be the end of a wait.
                    if let Some(tid) = of {
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
                    if let Some(tid) = of {
                        self.waiting.entry(tid).or_default().since_ns = Some(time_ns);
                    }
                }
                RingRecord::Resumed { time_ns } => self.resumed(of, time_ns),
            });
        }
    }

    fn count(&mut self, thread: Thread, kind: Kind, time_ns: u64, stack: Box<[u64]>) {
        match kind {
            Kind::Cpu { .. } => {
                let is_other = !self.serving.contains(&thread.tid);
                let [serving, background] = &mut self.cpu;
                let stacks = if is_other { background } else { serving };
                *stacks.entry((thread.pid, stack)).or_default() += 1;
            }
            Kind::Switches { .. } => {
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
        let in_kernel = kernel.iter().copied().filter(|it| is_kernel(*it) && *it < MARKS);
        let mut addresses: Vec<u64> = in_kernel.collect();
        let is_whole = match (user, self.spaces.get_mut(&pid)) {
            (Some((registers, stack)), Some(space)) => {
                space.unwind(registers, stack, &mut addresses)
            }
            _ => false,
        };
        self.limits.broken += u64::from(!is_whole);
        addresses.into_boxed_slice()
    }

    fn finish(mut self) -> Sampled {
        let names = Arc::clone(&self.kernel_names);
        // The sampled waits represent all waits.
        let sampled: u64 = self.waits.values().sum();
        for spent in self.waits.values_mut() {
            let part = *spent as f64 / sampled.max(1) as f64;
            *spent = (part * self.waited_ns as f64) as u64;
        }
        let spaces = &self.spaces;
        let frame = |pid: i32, address: u64| {
            let unknown = || assay_model::Frame {
                function: "[unknown]".to_owned(),
                module: "[unknown]".to_owned(),
            };
            spaces.get(&pid).map_or_else(unknown, |space| space.frame(address, &names))
        };
        let [serving, background] = &self.cpu;
        let [serving, background] = [serving, background].map(|stacks| tree(stacks, frame));
        let waits = tree(&self.waits, frame);
        let of_serving: BTreeSet<&str> = [&serving, &background]
            .into_iter()
            .flat_map(|tree| tree.frames.iter().map(|frame| frame.module.as_str()))
            .collect();
        let stripped: BTreeSet<&str> = self.spaces.values().flat_map(Space::stripped).collect();
        self.limits.stripped =
            stripped.intersection(&of_serving).map(|name| (*name).to_owned()).collect();
        self.limits.unnamed_kernel = self.kernel.0 && names.is_empty();
        // Only the kernel's functions show the reason of a wait.
        let is_told = !waits.nodes.is_empty() && !names.is_empty();
        let waits = is_told.then_some(waits);
        Sampled {
            frequency: self.frequency,
            server: self.server,
            serving,
            background,
            waits,
            limits: self.limits,
        }
    }
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
}
