//! Instruction sets used by server code under valgrind. Servers and libraries choose code by CPU features, and valgrind
//! presents another CPU than the machine's.

use std::collections::BTreeSet;

use assay_model::{CellCount, CountSource};

/// Words in names of functions specific to an instruction set, and the set. A word ends before a character that is no
/// letter or digit. Most are functions of the C library, such as `__memmove_avx_unaligned_erms`.
const WORDS: [(&str, &str); 28] = [
    ("sse2", "SSE2"),
    ("sse3", "SSE3"),
    ("ssse3", "SSSE3"),
    ("sse41", "SSE4.1"),
    ("sse4_1", "SSE4.1"),
    ("sse42", "SSE4.2"),
    ("sse4_2", "SSE4.2"),
    ("avx", "AVX"),
    ("avx2", "AVX2"),
    ("evex", "AVX-512"),
    ("avx512", "AVX-512"),
    ("avx512f", "AVX-512"),
    ("avx512bw", "AVX-512"),
    ("avx512vl", "AVX-512"),
    ("fma", "FMA"),
    ("fma4", "FMA4"),
    ("bmi2", "BMI2"),
    ("movbe", "MOVBE"),
    ("popcnt", "POPCNT"),
    ("erms", "ERMS"),
    ("aesni", "AES"),
    ("vaes", "VAES"),
    ("clmul", "PCLMUL"),
    ("pclmul", "PCLMUL"),
    ("pclmulqdq", "PCLMUL"),
    ("vpclmulqdq", "VPCLMULQDQ"),
    ("shaext", "SHA"),
    ("xsavec", "XSAVEC"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionSets<'a> {
    /// Features of the machine's CPU hidden by valgrind, by their names in `/proc/cpuinfo`.
    pub hidden: BTreeSet<&'a str>,
    pub used: Vec<(usize, BTreeSet<&'static str>)>,
}

/// `None` unless valgrind counted.
pub fn instruction_sets(counts: &[CellCount]) -> Option<InstructionSets<'_>> {
    let counts = || counts.iter().filter(|counted| counted.count.by == CountSource::Callgrind);
    counts().next()?;
    let systems: BTreeSet<usize> = counts().map(|counted| counted.system).collect();
    let used = |system: usize| -> (usize, BTreeSet<&'static str>) {
        let functions = counts()
            .filter(|counted| counted.system == system)
            .flat_map(|counted| &counted.count.functions);
        let counted = functions.filter(|function| function.own > 0);
        (system, counted.flat_map(|function| named(&function.frame.function)).collect())
    };
    Some(InstructionSets {
        hidden: counts().flat_map(|counted| &counted.count.hidden).map(String::as_str).collect(),
        used: systems.into_iter().map(used).collect(),
    })
}

/// Instruction sets in a function's name. Types of arguments follow a parenthesis.
fn named(function: &str) -> BTreeSet<&'static str> {
    let name = function.replace("(anonymous namespace)", "").to_ascii_lowercase();
    let name = name.split('(').next().unwrap_or_default();
    let has = |word: &str| {
        name.match_indices(word).any(|(at, _)| {
            let before = name.get(..at).and_then(|it| it.chars().next_back());
            let after = name.get(at + word.len()..).and_then(|it| it.chars().next());
            [before, after].into_iter().flatten().all(|it| !it.is_alphanumeric())
        })
    };
    // Functions of the C library such as `fma` are no variants for a CPU.
    let is_whole = |word: &str| word == name;
    WORDS.iter().filter(|(word, _)| has(word) && !is_whole(word)).map(|(_, set)| *set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_instruction_sets_as_whole_words() {
        let sets = |name: &str| named(name).into_iter().collect::<Vec<_>>();
        assert_eq!(sets("__memmove_avx_unaligned_erms"), ["AVX", "ERMS"]);
        assert_eq!(sets("__memcmp_avx2_movbe"), ["AVX2", "MOVBE"]);
        assert_eq!(sets("__strlen_evex"), ["AVX-512"]);
        assert_eq!(sets("pg_comp_crc32c_sse42"), ["SSE4.2"]);
        assert_eq!(sets("crc32_iscsi_sse4_2::run"), ["SSE4.2"]);
        assert_eq!(sets("(anonymous namespace)::crc_sse42(int)"), ["SSE4.2"]);
        assert_eq!(sets("aesni_cbc_encrypt"), ["AES"]);
        for none in
            ["parse", "classes2", "row_search_mvcc(sse2*, avx)", "pfma_x", "fma", "__memcpy_avx3"]
        {
            assert!(named(none).is_empty(), "{none}");
        }
    }
}
