//! Enums whose variants only a few files may name: the rest of the code asks for facts.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::wings::shipped_code;

/// An enum, and the most files whose code may name one of its variants. For kinds of work these are their definition
/// and the lists in `assay-workloads` and `assay-load`; for suites, their table in `assay-plan`.
const ENUMS: &[(&str, usize)] = &[("Schema", 3), ("Suite", 1)];

pub(super) fn offences(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let (shipped, mut offences) = (shipped_code(root, files)?, Vec::new());
    for (name, most) in ENUMS {
        let named = shipped.iter().filter(|(_, code)| code.lines().any(|line| names(name, line)));
        let found: Vec<String> = named.map(|(path, _)| path.display().to_string()).collect();
        if found.len() > *most {
            let places = found.join(", ");
            offences.push(format!("{places}: name a variant of `{name}`, at most {most} may"));
        }
    }
    Ok(offences)
}

/// Whether a line names a variant of an enum, as in `Product::MySql`; `Product::ALL` and functions do not count.
pub(super) fn names(name: &str, line: &str) -> bool {
    let is_variant = |at: usize| {
        let mut letters = line[at + name.len()..].trim_start_matches(':').chars();
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase)
    };
    line.match_indices(&format!("{name}::")).any(|(at, _)| is_variant(at))
}

#[cfg(test)]
mod tests {
    #[test]
    fn variants_are_found() {
        assert!(super::names("Product", "if product == Product::Postgres {"));
        assert!(!super::names("Product", "Product::ALL.into_iter().find_map(Product::named)"));
        assert!(!super::names("Suite", "(TestSuite::Micro, Suite::default())"));
    }
}
