//! Guesses the intended version for a mistyped one.

/// The available version or series that is one typing error away from `wanted`; the newest of several.
pub(crate) fn meant(wanted: &str, available: &[String]) -> Option<String> {
    let parts = wanted.split('.').count();
    let cut = |version: &String| version.split('.').take(parts).collect::<Vec<_>>().join(".");
    let is_near = |it: &String| it != wanted && strsim::osa_distance(it, wanted) <= 1;
    // A single digit is one error away from any other one.
    let candidates = available.iter().map(cut).filter(|_| wanted.len() > 1).filter(is_near);
    candidates.max_by_key(|version| numbers(version))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_error_apart() {
        let known = ["10.11.5", "10.11.19", "11.4.5", "11.8.9", "16.15", "8.0.33"];
        let known = known.map(str::to_owned);
        let of = |wanted| meant(wanted, &known);
        assert_eq!(of("11.88").as_deref(), Some("11.8"));
        assert_eq!(of("10.12").as_deref(), Some("10.11"));
        assert_eq!(of("61").as_deref(), Some("16"));
        assert_eq!(of("8.0.34").as_deref(), Some("8.0.33"));
        assert_eq!(of("8.99"), None);
        assert_eq!(of("9"), None);
    }
}
