//! Flags of a build from source. They belong to a system, as in `mysql@git:PATH#REF+build.cxx=clang+build.lto=on`.

use std::collections::BTreeMap;

use crate::words;

/// The names of flags begin with this among the options of a system.
pub const BUILD_PREFIX: &str = "build.";

/// Longest name of a compiler, bytes.
const PROGRAM_BYTES: usize = 40;

words! {
    pub enum BuildFlag {
        /// the C compiler
        Cc = "cc",
        /// the C++ compiler
        Cxx = "cxx",
        /// how far the compilers optimise
        Opt = "opt",
        /// link-time optimisation
        Lto = "lto",
        /// assertions in the server, compiled with optimisation
        Asserts = "asserts",
        /// the C++ standard
        Std = "std",
    }
}

/// The flags of a system with their values. A flag that is not there has the value that the catalog gives it.
pub type BuildFlags = BTreeMap<BuildFlag, String>;

impl BuildFlag {
    /// The flag that an option names without its prefix.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.word() == word)
    }

    /// The name as an option of a system: `build.cxx`.
    pub fn option(self) -> String {
        format!("{BUILD_PREFIX}{}", self.word())
    }

    /// Reason for refusing a value. The name of a compiler is that of a program in the `PATH`, without a directory.
    pub fn refusal(self, value: &str) -> Option<String> {
        let values: &[&str] = match self {
            Self::Cc | Self::Cxx => {
                let why =
                    "a compiler is named by its program in the `PATH`, such as `clang` or `gcc-12`";
                return (!is_program(value)).then(|| why.to_owned());
            }
            Self::Opt => &["O0", "O1", "O2", "O3", "Og", "Os", "Oz"],
            Self::Lto | Self::Asserts => &["on", "off"],
            Self::Std => &["98", "11", "14", "17", "20", "23"],
        };
        (!values.contains(&value))
            .then(|| format!("`{}` is one of {}", self.option(), values.join(", ")))
    }
}

/// Parts of the names of compilers. A study file cannot name another program to be run.
const COMPILERS: [&str; 3] = ["cc", "clang", "icx"];

fn is_program(name: &str) -> bool {
    name.len() <= PROGRAM_BYTES
        && COMPILERS.iter().any(|it| name.contains(it))
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// What flags ask of the compilers, as in `-O3, LTO`; empty if that is nothing beyond the defaults. Compilers are
/// omitted: builds name those that they used.
pub fn flags_in_words(flags: &BuildFlags) -> String {
    let words = flags.iter().filter_map(|(flag, value)| match flag {
        BuildFlag::Opt => Some(format!("-{value}")),
        BuildFlag::Lto => (value == "on").then(|| "LTO".to_owned()),
        BuildFlag::Asserts => (value == "on").then(|| "assertions".to_owned()),
        BuildFlag::Std => Some(format!("C++{value}")),
        BuildFlag::Cc | BuildFlag::Cxx => None,
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_a_plain_name() {
        for name in ["clang", "gcc-12", "x86_64-linux-gnu-gcc-12", "icx"] {
            assert_eq!(BuildFlag::Cxx.refusal(name), None, "{name}");
        }
        let long = "c".repeat(PROGRAM_BYTES + 1);
        let names = ["", "-cc", "/bin/cc", "../cc", "a cc", "cc;rm", "$(cc)", "clang++", "éccé"];
        for name in names.into_iter().chain(["sh", "reboot", "python3", &long]) {
            assert!(BuildFlag::Cc.refusal(name).is_some(), "{name}");
        }
    }

    #[test]
    fn other_flags_have_lists_of_values() {
        assert_eq!(BuildFlag::Opt.refusal("O3"), None);
        let why = BuildFlag::Lto.refusal("thin").unwrap();
        assert_eq!(why, "`build.lto` is one of on, off");
        assert!(BuildFlag::Std.refusal("c++17").is_some());
    }

    #[test]
    fn flags_are_told_in_words() {
        let flags = |all: &[(BuildFlag, &str)]| -> BuildFlags {
            all.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect()
        };
        let all = flags(&[
            (BuildFlag::Asserts, "on"),
            (BuildFlag::Cxx, "clang"),
            (BuildFlag::Lto, "on"),
            (BuildFlag::Opt, "O3"),
            (BuildFlag::Std, "17"),
        ]);
        assert_eq!(flags_in_words(&all), "-O3, LTO, assertions, C++17");
        assert_eq!(flags_in_words(&flags(&[(BuildFlag::Lto, "off")])), "");
    }
}
