//! Names of the kernel's functions.

use crate::names::without_clone;

/// Start of the kernel's half of the addresses, on every supported architecture.
const KERNEL: u64 = 1 << 63;

pub(crate) fn is_kernel(address: u64) -> bool {
    address >= KERNEL
}

/// In order of address; empty if the kernel hides their addresses.
#[derive(Debug, Default)]
pub(crate) struct KernelNames(Vec<(u64, String)>);

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

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn find(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(begin, _)| *begin <= address);
        self.0.get(after.checked_sub(1)?).map(|(_, name)| without_clone(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
