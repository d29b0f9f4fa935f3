//! The average rates of a step of the Insert Benchmark as bars, a bar for each system.

pub(crate) struct StepBars {
    pub(crate) title: String,
    pub(crate) bars: Vec<Bar>,
}

pub(crate) struct Bar {
    pub(crate) system: usize,
    pub(crate) name: String,
    pub(crate) text: String,
    /// Length relative to the longest.
    pub(crate) share: f64,
}

#[derive(Clone)]
pub(super) struct Rated {
    pub(super) system: usize,
    pub(super) name: String,
    pub(super) rate: f64,
    pub(super) misses: bool,
}

/// `None` without any rate above 0.
pub(super) fn bars(title: String, rates: Vec<Rated>) -> Option<StepBars> {
    let most = rates.iter().map(|it| it.rate).fold(0.0, f64::max);
    let bar = |Rated { system, name, rate, misses }: Rated| Bar {
        system,
        name,
        text: format!("{rate:.0}{}", if misses { " ✗ missed its SLA" } else { "" }),
        share: rate / most,
    };
    (most > 0.0 && most.is_finite())
        .then(|| StepBars { title, bars: rates.into_iter().map(bar).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_that_of_the_highest_rate() {
        let rated =
            |(system, rate, misses)| Rated { system, name: format!("s{system}"), rate, misses };
        let rates = [(0, 100.0, false), (2, 25.0, true)].map(rated).to_vec();
        let found = bars("qr100, queries/s".to_owned(), rates).unwrap();
        assert_eq!(found.bars[1].text, "25 ✗ missed its SLA");
        let message: Vec<_> = found.bars.iter().map(|it| (it.system, it.share)).collect();
        assert_eq!(message, [(0, 1.0), (2, 0.25)]);
        assert!(bars(String::new(), Vec::new()).is_none());
    }
}
