//! Kernel events of a thread, and the ring into which the kernel writes their samples.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use perf_event::data::Record as Data;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler as Ring};
use rustix::io::Errno;

use crate::error::ProfileError;
use crate::space::Registers;
use crate::threads::Thread;

/// Bytes of the stack that are copied: enough for the deepest calls of servers, and copied in microseconds.
const STACK_BYTES: u32 = 16 << 10;

/// Sizes of a ring, bytes, largest first: users other than root may lock little memory.
const RING_BYTES: [usize; 4] = [1 << 20, 512 << 10, 128 << 10, 64 << 10];

/// The ring wakes its reader when it is filled to 1/8.
const WAKE_PART: usize = 8;

const SWITCH: u32 = 14;

/// Set in a record of a switch if the thread leaves its CPU (`PERF_RECORD_MISC_SWITCH_OUT`).
const LEFT: u16 = 1 << 13;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleKind {
    /// Samples per second of the thread's CPU time.
    Cpu { frequency: u32 },
    /// Samples one of `period` switches away from the CPU, and reports every switch.
    Switches { period: u32 },
}

pub(crate) enum RingRecord<'a> {
    /// A stack of a thread: first the addresses in the kernel, the innermost first; then the end of the stack in user
    /// mode.
    Stack {
        thread: Thread,
        time_ns: u64,
        kernel: &'a [u64],
        user: Option<(Registers, &'a [u8])>,
    },
    Resumed {
        time_ns: u64,
    },
    Left {
        time_ns: u64,
    },
    Lost(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleScope {
    /// A thread on any CPU. Each time that it gets or leaves a CPU, the kernel starts or stops a timer.
    Thread(Thread),
    /// Every thread that runs on a CPU. This costs nothing when threads switch, but only root may do it.
    Cpu(usize),
}

pub(crate) struct RingSamples {
    pub(crate) scope: SampleScope,
    pub(crate) kind: SampleKind,
    ring: Ring,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShowsKernel(pub(crate) bool);

impl RingSamples {
    /// Opens the events, not yet enabled. Threads that have ended are left out. All rings have the same size: the
    /// largest for which this user may lock memory.
    pub(crate) fn open_all(
        scopes: &[SampleScope],
        kind: SampleKind,
        kernel: ShowsKernel,
    ) -> Result<Vec<Self>, ProfileError> {
        for size in RING_BYTES {
            let opened = scopes.iter().map(|scope| Self::open(*scope, kind, kernel, size));
            match opened.collect::<Result<Vec<_>, _>>() {
                Err(ProfileError::LockedMemory) => {}
                opened => return Ok(opened?.into_iter().flatten().collect()),
            }
        }
        Err(ProfileError::LockedMemory)
    }

    fn open(
        scope: SampleScope,
        kind: SampleKind,
        kernel: ShowsKernel,
        size: usize,
    ) -> Result<Option<Self>, ProfileError> {
        let event = match kind {
            SampleKind::Cpu { .. } => Software::CPU_CLOCK,
            SampleKind::Switches { .. } => Software::CONTEXT_SWITCHES,
        };
        let mut builder = Builder::new(event);
        match scope {
            SampleScope::Thread(thread) => builder.observe_pid(thread.tid).any_cpu(),
            SampleScope::Cpu(cpu) => builder.any_pid().one_cpu(cpu).exclude_idle(true),
        };
        builder.exclude_hv(true).sample_id_all(true);
        let flags =
            SampleFlag::TID | SampleFlag::TIME | SampleFlag::REGS_USER | SampleFlag::STACK_USER;
        builder.sample(flags).sample_regs_user(REGISTERS).sample_stack_user(STACK_BYTES);
        builder.wakeup_watermark(size / WAKE_PART).exclude_kernel(!kernel.0);
        if kernel.0 {
            builder.sample(SampleFlag::CALLCHAIN).exclude_callchain_user(true);
        }
        match kind {
            SampleKind::Cpu { frequency } => builder.sample_frequency(u64::from(frequency)),
            SampleKind::Switches { period } => {
                builder.sample_period(u64::from(period)).context_switch(true)
            }
        };
        let counter = match builder.build() {
            Ok(counter) => counter,
            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        match counter.sampled(size) {
            Ok(ring) => Ok(Some(Self { scope, kind, ring })),
            // The event was permitted, so only the memory was not.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(ProfileError::LockedMemory)
            }
            Err(error) => Err(refused(error)),
        }
    }

    pub(crate) fn enable(&mut self) -> io::Result<()> {
        self.ring.enable()
    }

    /// The samples stay in the ring.
    pub(crate) fn disable(&mut self) -> io::Result<()> {
        self.ring.disable()
    }

    /// Becomes readable when the ring fills.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        #[expect(unsafe_code, reason = "the library does not implement AsFd")]
        // SAFETY: the descriptor belongs to `self.ring`, which lives as long as the result.
        unsafe {
            BorrowedFd::borrow_raw(self.ring.as_raw_fd())
        }
    }

    /// Passes everything in the ring to `take`. Malformed records are skipped.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(RingRecord<'_>)) {
        while let Some(record) = self.ring.next_record() {
            // The library does not parse it. The time is its last field.
            if record.ty() == SWITCH {
                let end = record.to_contiguous().last_chunk::<8>().copied();
                let Some(time_ns) = end.map(u64::from_ne_bytes) else { continue };
                let has_left = record.misc() & LEFT != 0;
                take(if has_left {
                    RingRecord::Left { time_ns }
                } else {
                    RingRecord::Resumed { time_ns }
                });
                continue;
            }
            match record.parse_record() {
                Ok(Data::Sample(sample)) => {
                    let chain = sample.callchain().unwrap_or_default();
                    let registers = sample.regs_user().and_then(|user| registers(&user.regs));
                    let Some((pid, tid)) = sample.pid().zip(sample.tid()) else { continue };
                    take(RingRecord::Stack {
                        thread: Thread { pid: pid as i32, tid: tid as i32 },
                        time_ns: sample.time().unwrap_or(0),
                        kernel: chain,
                        user: registers.zip(sample.stack_user()),
                    });
                }
                Ok(Data::Lost(lost)) => take(RingRecord::Lost(lost.lost)),
                Ok(Data::LostSamples(lost)) => take(RingRecord::Lost(lost.lost)),
                Ok(_) => {}
                Err(error) => log::debug!("a record of samples: {error}"),
            }
        }
    }
}

fn refused(error: io::Error) -> ProfileError {
    match Errno::from_io_error(&error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            let level = fs_err::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            ProfileError::NotPermitted(
                level.map_or_else(|_| "unknown".to_owned(), |level| level.trim().to_owned()),
            )
        }
        Some(Errno::NOSYS | Errno::NOENT | Errno::OPNOTSUPP) => ProfileError::NotProvided,
        _ => ProfileError::Io(error),
    }
}

/// Frame pointer, stack pointer and instruction pointer.
#[cfg(target_arch = "x86_64")]
const REGISTERS: u64 = (1 << 6) | (1 << 7) | (1 << 8);

/// Frame pointer, link register, stack pointer and program counter.
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = (1 << 29) | (1 << 30) | (1 << 31) | (1 << 32);

/// The registers selected by [`REGISTERS`], in the kernel's order.
#[cfg(target_arch = "x86_64")]
fn registers(values: &[u64]) -> Option<Registers> {
    let [bp, sp, ip] = *values else { return None };
    Some(Registers { ip, sp, bp, lr: 0 })
}

#[cfg(target_arch = "aarch64")]
fn registers(values: &[u64]) -> Option<Registers> {
    let [bp, lr, sp, ip] = *values else { return None };
    Some(Registers { ip, sp, bp, lr })
}
