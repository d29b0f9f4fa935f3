//! Guesses the word meant by a mistyped one.

/// The candidate most similar to `word`; `None` if all are quite different.
pub fn nearest<T: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    // Long texts are not typos, and comparing them is slow.
    let is_short = |text: &str| text.len() <= LENGTH_MAX;
    candidates
        .into_iter()
        .filter(|candidate| is_short(word) && is_short(candidate.as_ref()))
        .map(|candidate| (strsim::jaro_winkler(candidate.as_ref(), word), candidate))
        .filter(|(likeness, candidate)| {
            // Short words are never very similar, even one typo apart.
            *likeness > ALIKE || strsim::osa_distance(candidate.as_ref(), word) <= 1
        })
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

const LENGTH_MAX: usize = 200;

/// Jaro-Winkler similarity above which two words may mean the same.
const ALIKE: f64 = 0.7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_word() {
        let words = ["preset", "placement", "rows", "one-cpu"];
        assert_eq!(nearest("prset", words), Some("preset"));
        assert_eq!(nearest("placment", words), Some("placement"));
        assert_eq!(nearest("one_cpu", words), Some("one-cpu"));
        assert_eq!(nearest("nwe", ["old", "new"]), Some("new"));
        assert_eq!(nearest("xyz", words), None);
        assert_eq!(nearest("", words), None);
    }
}
