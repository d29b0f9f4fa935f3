//! The CPU that valgrind shows to the programs that it runs.

/// Features that valgrind hides, by their names in `/proc/cpuinfo` or the prefixes of these. Only those by which
/// programs choose code are listed.
///
/// Source: the answers to CPUID (leaves 1, 7, 7.1, 0xd.1 and 0x80000001) that valgrind 3.19.0 gives a program on a CPU
/// with AVX2. They are those of an Intel Core of the fourth generation with RDSEED, whatever else the machine's CPU
/// has.
const HIDDEN: [&str; 26] = [
    "adx",
    "cldemote",
    "clflushopt",
    "clwb",
    "fma4",
    "fsrm",
    "fsrs",
    "fzrm",
    "gfni",
    "hle",
    "movdir64b",
    "movdiri",
    "rtm",
    "sha512",
    "sha_ni",
    "sm3",
    "sm4",
    "sse4a",
    "tbm",
    "vaes",
    "vpclmulqdq",
    "waitpkg",
    "xop",
    "xsavec",
    "xsaveopt",
    "xsaves",
];
const HIDDEN_FAMILIES: [&str; 3] = ["amx_", "avx512", "avx_"];

/// The features of a CPU that valgrind hides, in their order, given the text of `/proc/cpuinfo`. Empty on processors
/// other than x86-64, for which they are unknown.
pub fn hidden_features(cpuinfo: &str) -> Vec<String> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let flags = fields.filter(|(name, _)| name.trim() == "flags").map(|(_, flags)| flags).next();
    let is_hidden = |flag: &&str| {
        HIDDEN.contains(flag) || HIDDEN_FAMILIES.iter().any(|family| flag.starts_with(family))
    };
    let flags = flags.unwrap_or_default().split_whitespace();
    flags.filter(is_hidden).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_features_are_those_of_the_first_cpu() {
        let cpuinfo = "processor\t: 0\nmodel name\t: a: b\nflags\t\t: fpu avx avx2 aes sha_ni avx512f erms fsrm \
                       avx512_vp2intersect avx_vnni gfni rdseed\nbugs\t: none\n\nprocessor\t: 1\nflags\t\t: fma4\n";
        let expected = ["sha_ni", "avx512f", "fsrm", "avx512_vp2intersect", "avx_vnni", "gfni"];
        assert_eq!(hidden_features(cpuinfo), expected);
        assert!(hidden_features("processor : 0\nFeatures : fp asimd sve\n").is_empty());
    }
}
