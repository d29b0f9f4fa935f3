//! Function names as people and other versions know them.

use cpp_demangle::{BorrowedSymbol, DemangleNodeType, DemangleOptions, DemangleWrite};

/// Removes parameters, versions, and suffixes of clones, which differ from build to build.
pub(crate) fn plain(symbol: &str) -> String {
    let without_version = symbol.split('@').next().unwrap_or(symbol);
    let base = without_clone(without_version);
    demangled(base).unwrap_or_else(|| cut(base).to_owned())
}

const CLONES: [&str; 7] =
    [".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias"];

pub(crate) fn without_clone(symbol: &str) -> &str {
    let found = CLONES.iter().filter_map(|mark| symbol.find(mark)).filter(|at| *at > 0);
    found.min().and_then(|at| symbol.get(..at)).unwrap_or(symbol)
}

/// Longer names are truncated; templates of templates have names of kilobytes.
const NAME_MAX: usize = 200;

pub(crate) fn cut(name: &str) -> &str {
    let end = (0..=NAME_MAX.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    end.and_then(|end| name.get(..end)).unwrap_or_default()
}

fn demangled(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let (parsed, _) = BorrowedSymbol::with_tail(symbol.as_bytes()).ok()?;
    let mut name = Bounded(String::new());
    // A name that is too long ends where it is truncated.
    let done = parsed.structured_demangle(&mut name, &options);
    (done.is_ok() || name.0.len() >= NAME_MAX).then_some(name.0)
}

struct Bounded(String);

impl DemangleWrite for Bounded {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let plain = |symbol: &str| super::plain(symbol);
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
}
