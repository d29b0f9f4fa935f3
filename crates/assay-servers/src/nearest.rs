//! Guesses the intended name for a misspelt one.

/// Jaro-Winkler similarity above which one name may be a misspelling of the other.
const ALIKE: f64 = 0.85;

/// The name most similar to `option`; `None` if no name is similar.
pub(crate) fn nearest(option: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    let option = option.to_ascii_lowercase();
    let likeness = known.into_iter().map(|name| (strsim::jaro_winkler(&name, &option), name));
    let best = likeness.filter(|(likeness, _)| *likeness > ALIKE);
    best.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}
