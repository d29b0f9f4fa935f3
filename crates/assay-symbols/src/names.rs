//! Function names as people and other versions know them, and those of the kernel.

use cpp_demangle::{BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite};

/// Removes parameters, versions, and suffixes of clones, which differ from build to build.
pub fn plain(symbol: &str) -> String {
    let without_version = symbol.split('@').next().unwrap_or(symbol);
    let base = without_clone(without_version);
    demangled(base).unwrap_or_else(|| cut(base).to_owned())
}

const CLONES: [&str; 7] =
    [".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias"];

fn without_clone(symbol: &str) -> &str {
    let ends = CLONES.iter().filter_map(|mark| symbol.find(mark)).filter(|at| *at > 0);
    &symbol[..ends.min().unwrap_or(symbol.len())]
}

/// Longer names are truncated; templates of templates have names of kilobytes.
const NAME_MAX: usize = 200;

pub fn cut(name: &str) -> &str {
    let mut end = NAME_MAX.min(name.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let (parsed, _) = BorrowedSymbol::with_tail(symbol.as_bytes()).ok()?;
    let mut name = BoundedText(String::new());
    // A name that is too long ends where it is truncated.
    let done = parsed.structured_demangle(&mut name, &options);
    (done.is_ok() || name.0.len() >= NAME_MAX).then_some(name.0)
}

struct BoundedText(String);

impl DemangleWrite for BoundedText {
    fn push_demangle_node(&mut self, _: DemangleNodeType) {}

    fn write_string(&mut self, text: &str) -> std::fmt::Result {
        self.0.push_str(text);
        if self.0.len() < NAME_MAX {
            return Ok(());
        }
        self.0.truncate(cut(&self.0).len());
        Err(std::fmt::Error)
    }

    fn pop_demangle_node(&mut self) {}
}

/// Start of the kernel's half of the addresses, on every supported architecture.
const KERNEL: u64 = 1 << 63;

pub fn is_kernel(address: u64) -> bool {
    address >= KERNEL
}

/// In order of address; empty if the kernel hides their addresses.
#[derive(Debug, Default)]
pub struct KernelNames(Vec<(u64, String)>);

impl KernelNames {
    pub(crate) fn read() -> Self {
        Self::parse(&fs_err::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let symbol = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let kind = words.next()?;
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            (is_code && is_kernel(address)).then(|| Some((address, words.next()?.to_owned())))?
        };
        let mut all: Vec<(u64, String)> = text.lines().filter_map(symbol).collect();
        all.sort_unstable();
        Self(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn find(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(begin, _)| *begin <= address);
        self.0[..after].last().map(|(_, name)| without_clone(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(plain("ExecScan"), "ExecScan");
        assert_eq!(plain("heap_getnext.isra.0"), "heap_getnext");
        assert_eq!(plain("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(plain("_ZN3THD7cleanupEv"), "THD::cleanup");
        assert_eq!(plain("_ZN3THD7cleanupEv.cold"), "THD::cleanup");
        assert_eq!(plain("_Z16dispatch_command19enum_server_commandP3THDPcjb"), "dispatch_command");
        assert_eq!(plain("_Znonsense"), "_Znonsense");
        assert_eq!(plain(".cold"), ".cold");
    }

    #[test]
    fn no_name_is_longer_than_the_limit() {
        let deep = format!("_ZN{}E", "9abcdefghi".repeat(200));
        assert!(plain(&deep).len() <= NAME_MAX, "{}", plain(&deep).len());
    }

    #[test]
    fn a_function_reaches_to_the_next_one() {
        let text =
            "ffffffff81000200 T second\nffffffff81000100 T first\nffffffff81000300 D data\nbad\n";
        let names = KernelNames::parse(text);
        assert_eq!(names.find(0xffff_ffff_8100_0100), Some("first"));
        assert_eq!(names.find(0xffff_ffff_8100_01ff), Some("first"));
        assert_eq!(names.find(0xffff_ffff_8100_0350), Some("second"));
        assert_eq!(names.find(0xffff_ffff_8100_0050), None);
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_has_no_names() {
        assert_eq!(KernelNames::parse("0000000000000000 T first\n").find(u64::MAX), None);
    }
}
