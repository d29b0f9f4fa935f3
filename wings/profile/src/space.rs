//! Address space of a process: mapped code.

use std::ops::Range;
use std::sync::Arc;

use assay_model::{KERNEL, StackFrame};
use assay_symbols::names::{KernelNames, cut, is_kernel};
use assay_symbols::{ElfBinary, SharedBytes, Symbols};
use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

const DEPTH_MAX: usize = 256;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Registers {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) bp: u64,
    /// Return address, on architectures that keep it in a register.
    #[cfg_attr(target_arch = "x86_64", expect(dead_code, reason = "x86-64 keeps it on the stack"))]
    pub(crate) lr: u64,
}

pub(crate) struct Space {
    unwinder: UnwinderNative<SharedBytes, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    mapped: Vec<MappedBinary>,
    /// The kernel's part of user mode, which reads clocks.
    vdso: Option<Range<u64>>,
}

struct MappedBinary {
    range: Range<u64>,
    /// Difference to the addresses stated in the file.
    bias: u64,
    binary: Arc<ElfBinary>,
}

impl Space {
    /// Empty if the process has ended.
    pub(crate) fn read(pid: i32, symbols: &mut Symbols) -> Self {
        let mut space = Self {
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            mapped: Vec::new(),
            vdso: None,
        };
        let maps = Process::new(pid).and_then(|process| process.maps());
        for map in maps.into_iter().flatten() {
            space.add(pid, &map, symbols);
        }
        space
    }

    fn add(&mut self, pid: i32, map: &MemoryMap, symbols: &mut Symbols) {
        if map.pathname == MMapPath::Vdso {
            self.vdso = Some(map.address.0..map.address.1);
        }
        let MMapPath::Path(path) = &map.pathname else { return };
        if !map.perms.contains(MMPermissions::EXECUTE) {
            return;
        }
        let Some(binary) = symbols.binary(pid, map, path) else { return };
        let (begin, end) = map.address;
        let Some(bias) = binary.bias(begin, map.offset) else { return };
        let module = Module::new(binary.name.clone(), begin..end, bias, binary.sections());
        self.unwinder.add_module(module);
        self.mapped.push(MappedBinary { range: begin..end, bias, binary });
    }

    /// The names of binaries without a table of all their functions.
    pub(crate) fn stripped(&self) -> impl Iterator<Item = &str> {
        let binaries = self.mapped.iter().map(|mapped| &mapped.binary);
        binaries.filter(|binary| binary.is_stripped).map(|binary| binary.name.as_str())
    }

    /// Appends the return addresses of a stack in user mode, the innermost first. `stack` begins at the stack pointer.
    /// Returns whether the stack was followed to its beginning.
    pub(crate) fn unwind(
        &mut self,
        registers: Registers,
        stack: &[u8],
        addresses: &mut Vec<u64>,
    ) -> bool {
        let mut read = |address: u64| {
            let at = address
                .checked_sub(registers.sp)
                .and_then(|at| usize::try_from(at).ok())
                .ok_or(())?;
            let bytes = stack.get(at..).and_then(|rest| rest.first_chunk::<8>()).ok_or(())?;
            Ok(u64::from_ne_bytes(*bytes))
        };
        let begin = native(registers);
        let mut frames = self.unwinder.iter_frames(registers.ip, begin, &mut self.cache, &mut read);
        for _ in 0..DEPTH_MAX {
            match frames.next() {
                Ok(Some(frame)) => addresses.push(frame.address_for_lookup()),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    pub(crate) fn frame(&self, address: u64, kernel: &KernelNames) -> StackFrame {
        if is_kernel(address) {
            let function = kernel.find(address).unwrap_or(KERNEL);
            return StackFrame { function: cut(function).to_owned(), module: KERNEL.to_owned() };
        }
        match self.mapped.iter().find(|mapped| mapped.range.contains(&address)) {
            Some(MappedBinary { bias, binary, .. }) => StackFrame {
                function: binary.function(address.wrapping_sub(*bias)),
                module: binary.name.clone(),
            },
            None => {
                let is_vdso = self.vdso.as_ref().is_some_and(|range| range.contains(&address));
                // Other code without a file was generated while the server runs.
                let name = if is_vdso { "[vdso]" } else { "[unknown]" };
                StackFrame { function: name.to_owned(), module: name.to_owned() }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.ip, registers.sp, registers.bp)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.lr, registers.sp, registers.bp)
}
