//! Instruments that count instructions: the processor, else valgrind.

use anyhow::{Context, Result};
use assay_callgrind::{Costs, hidden_features};
use assay_model::{CALLS_PART, Count, CountSource};
use assay_probe::{InstructionCounter, counts_instructions};
use assay_servers::{CallgrindCounting, ServerInstance, ValgrindTool};

use crate::counts::CellCounts;
use assay_run::systems::{Environment, HeldValgrind, fetch_valgrind};

pub(crate) enum Instrument {
    /// The processor's own counter. Servers run at full speed.
    Processor,
    Callgrind(Box<HeldValgrind>, String),
}

impl Instrument {
    /// The best instrument of this machine. Fails if the processor does not count, and valgrind cannot be fetched.
    pub(crate) fn find(env: &Environment) -> Result<Self> {
        if counts_instructions() {
            return Ok(Self::Processor);
        }
        let (held, version) = fetch_valgrind(env)?;
        Ok(Self::Callgrind(Box::new(held), version))
    }

    pub(crate) fn valgrind(&self) -> Option<&ValgrindTool> {
        match self {
            Self::Processor => None,
            Self::Callgrind(held, _) => Some(&held.valgrind),
        }
    }

    /// Events in a batch, if each takes this many instructions: with fewer, background threads weigh more; with more,
    /// counting takes longer.
    pub(crate) fn events(&self, each: u64) -> u64 {
        let (instructions, most) = match self {
            // A tenth of a second.
            Self::Processor => (400_000_000, 10_000),
            Self::Callgrind(..) => (20_000_000, 3000),
        };
        (instructions / each.max(1)).clamp(1, most)
    }

    /// Makes a server count from now on. It then stays so, because valgrind would translate the server's code again
    /// each time, which takes longer than the batches of most tests.
    pub(crate) fn switch_on(&self, server: &ServerInstance) -> Result<()> {
        if let Self::Callgrind(held, _) = self {
            server.counting(&held.valgrind).count(true)?;
        }
        Ok(())
    }

    /// A meter of the server's threads, of which `tid` serves the client.
    pub(crate) fn meter<'a>(&'a self, server: &'a ServerInstance, tid: i32) -> Result<Meter<'a>> {
        let Self::Callgrind(held, _) = self else {
            let mut others = server.threads()?;
            others.retain(|thread| *thread != tid);
            return Ok(Meter::Processor(ProcessorMeter {
                serving: InstructionCounter::user(&[tid])?,
                background: InstructionCounter::user(&others)?,
                kernel: InstructionCounter::kernel(&[tid]).ok(),
            }));
        };
        let counting = server.counting(&held.valgrind);
        let serving = counting.place(tid)?.context("valgrind does not know the thread")?;
        Ok(Meter::Callgrind { counting, serving })
    }

    /// `server` is the module of the server's own code.
    pub(crate) fn document(
        &self,
        server: &str,
        CellCounts { instances, costs }: CellCounts,
    ) -> Count {
        let (by, version, hidden) = match self {
            Self::Processor => (CountSource::Hardware, None, Vec::new()),
            Self::Callgrind(_, version) => {
                let cpuinfo = fs_err::read_to_string("/proc/cpuinfo").unwrap_or_default();
                (CountSource::Callgrind, Some(version.clone()), hidden_features(&cpuinfo))
            }
        };
        let ops: f64 = instances.iter().flatten().map(|batch| batch.ops).sum();
        Count {
            by,
            version,
            hidden,
            functions: costs.functions(),
            calls: costs.tree().without_small(CALLS_PART),
            ops: ops.round() as u64,
            server: server.to_owned(),
            stripped: costs.stripped(),
            matched: costs.matched(),
            instances,
        }
    }
}

pub(crate) enum Meter<'a> {
    Processor(ProcessorMeter),
    Callgrind { counting: CallgrindCounting<'a>, serving: (i32, u32) },
}

pub(crate) struct ProcessorMeter {
    serving: InstructionCounter,
    background: InstructionCounter,
    /// Kernel instructions of the serving thread, if this user may count them.
    kernel: Option<InstructionCounter>,
}

pub(crate) struct CountReading {
    pub(crate) serving: u64,
    pub(crate) background: u64,
    pub(crate) kernel: Option<u64>,
    pub(crate) costs: Costs,
}

impl Meter<'_> {
    /// Counts since the last call.
    pub(crate) fn take(&mut self) -> Result<CountReading> {
        let (counting, serving) = match self {
            Self::Callgrind { counting, serving } => (counting, *serving),
            Self::Processor(counters) => return counters.take(),
        };
        let mut taken =
            CountReading { serving: 0, background: 0, kernel: None, costs: Costs::default() };
        for counts in &counting.take(None)? {
            let instructions = counts.instructions().context("valgrind tells no total")?;
            if (counts.pid, counts.thread) != serving {
                taken.background += instructions;
                continue;
            }
            taken.serving += instructions;
            let parts = assay_callgrind::read(&counts.report)?;
            taken.costs.add(parts.iter().map(|part| &part.costs));
        }
        Ok(taken)
    }
}

impl ProcessorMeter {
    fn take(&mut self) -> Result<CountReading> {
        Ok(CountReading {
            serving: self.serving.take()?,
            background: self.background.take()?,
            kernel: self.kernel.as_mut().map(InstructionCounter::take).transpose()?,
            costs: Costs::default(),
        })
    }
}
