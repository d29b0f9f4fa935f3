//! Random distributions over a range of integers, as sysbench defines them.

use assay_model::Distribution;

use crate::random::RandomStream;

const BELL_DRAWS: u32 = 12;
/// Share of the range in the central band of `Special`.
const SPECIAL_BAND: f64 = 0.01;
/// Share of the draws in that band.
const SPECIAL_SHARE: f64 = 0.75;

#[derive(Debug, Clone)]
pub(crate) struct RandomSampler {
    low: u32,
    size: u64,
    shape: SamplerShape,
}

#[derive(Debug, Clone)]
enum SamplerShape {
    Uniform,
    Gaussian,
    Special,
    Pareto { power: f64 },
    Zipfian(Zipf),
}

impl RandomSampler {
    /// Draws from [low, high]; a `high` below `low` counts as `low`.
    pub(crate) fn new(distribution: Distribution, low: u32, high: u32) -> Self {
        Self { low, ..Self::of_size(distribution, u64::from(high.max(low) - low) + 1) }
    }

    /// Draws offsets below `size`; 0 counts as 1.
    pub(crate) fn of_size(distribution: Distribution, size: u64) -> Self {
        let size = size.max(1);
        let shape = match distribution {
            Distribution::Uniform => SamplerShape::Uniform,
            Distribution::Gaussian => SamplerShape::Gaussian,
            Distribution::Special => SamplerShape::Special,
            Distribution::Pareto { h } => SamplerShape::Pareto { power: h.ln() / (1.0 - h).ln() },
            Distribution::Zipfian { s } => SamplerShape::Zipfian(Zipf::new(size, s)),
        };
        Self { low: 0, size, shape }
    }

    #[inline]
    pub(crate) fn draw(&self, stream: &mut RandomStream) -> u32 {
        self.low + self.offset(stream) as u32
    }

    /// A draw minus the lowest value.
    #[inline]
    pub(crate) fn offset(&self, stream: &mut RandomStream) -> u64 {
        let n = self.size as f64;
        let offset = match &self.shape {
            SamplerShape::Uniform => stream.below(self.size),
            SamplerShape::Gaussian => (bell(stream) * n) as u64,
            SamplerShape::Special => special(stream, n - 1.0),
            SamplerShape::Pareto { power } => (n * stream.unit().powf(*power)) as u64,
            SamplerShape::Zipfian(zipf) => zipf.draw(stream) - 1,
        };
        offset.min(self.size - 1)
    }
}

fn bell(stream: &mut RandomStream) -> f64 {
    (0..BELL_DRAWS).map(|_| stream.unit()).sum::<f64>() / f64::from(BELL_DRAWS)
}

/// `t` is the range minus one. One uniform number decides between bell and band, and is reused within the band.
fn special(stream: &mut RandomStream, t: f64) -> u64 {
    let u = stream.unit();
    let in_band = u * t / (1.0 - SPECIAL_SHARE) >= t;
    let value = if in_band {
        u * (SPECIAL_BAND * t + 1.0) + t / 2.0 - SPECIAL_BAND / 2.0 * t
    } else {
        bell(stream) * t
    };
    value as u64
}

/// Zipf by rejection-inversion (Hörmann and Derflinger 1996): exact for every exponent from 0, constant time per draw.
#[derive(Debug, Clone)]
struct Zipf {
    n: f64,
    s: f64,
    /// H(1.5) - 1 and H(n + 0.5): the bounds of y.
    y_first: f64,
    y_last: f64,
    /// A candidate within this distance above x is accepted without computing y.
    shortcut: f64,
}

impl Zipf {
    /// Ranks 1 to `n`; `n` of 0 counts as 1.
    pub(crate) fn new(n: u64, s: f64) -> Self {
        let n = n.max(1) as f64;
        let mut zipf = Self { n, s, y_first: 0.0, y_last: 0.0, shortcut: 0.0 };
        zipf.y_first = zipf.integral(1.5) - 1.0;
        zipf.y_last = zipf.integral(n + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.height(2.0));
        zipf
    }

    pub(crate) fn draw(&self, stream: &mut RandomStream) -> u64 {
        loop {
            let y = self.y_last + stream.unit() * (self.y_first - self.y_last);
            let x = self.inverse(y);
            let rank = (x + 0.5).floor().clamp(1.0, self.n);
            let accepted =
                rank - x <= self.shortcut || y >= self.integral(rank + 0.5) - self.height(rank);
            if accepted {
                return rank as u64;
            }
        }
    }

    /// h(x) = x^-s.
    fn height(&self, x: f64) -> f64 {
        (-self.s * x.ln()).exp()
    }

    /// H(x) = (x^(1-s) - 1) / (1 - s), continuous in s: ln x at s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.s) * log;
        let slope = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
        log * slope
    }

    fn inverse(&self, y: f64) -> f64 {
        // Rounding may push t below -1, where the logarithm is undefined.
        let t = ((1.0 - self.s) * y).max(-1.0);
        let slope = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (y * slope).exp()
    }
}

#[cfg(test)]
mod tests {
    //! Acceptance values from the published definition of sysbench's distributions (exact sums and integrals).

    use proptest::prelude::*;

    use super::*;

    const DRAWS: u32 = 400_000;

    struct Sample {
        draws: Vec<u32>,
        n: u32,
    }

    fn sample(distribution: Distribution, n: u32) -> Sample {
        let sampler = RandomSampler::new(distribution, 1, n);
        let mut stream = RandomStream::new(20_240_601);
        Sample { draws: (0..DRAWS).map(|_| sampler.draw(&mut stream)).collect(), n }
    }

    impl Sample {
        fn share(&self, wanted: impl Fn(u32) -> bool) -> f64 {
            self.draws.iter().filter(|value| wanted(**value)).count() as f64 / f64::from(DRAWS)
        }

        fn mean(&self) -> f64 {
            self.draws.iter().map(|value| f64::from(value - 1)).sum::<f64>() / f64::from(DRAWS)
        }

        fn sd(&self) -> f64 {
            let mean = self.mean();
            let squares = |value: &u32| (f64::from(value - 1) - mean).powi(2);
            (self.draws.iter().map(squares).sum::<f64>() / f64::from(DRAWS)).sqrt()
        }

        /// Five standard errors of a share, and half a unit of the last published digit.
        fn assert_deciles(&self, expected: [f64; 10]) {
            for (tenth, p) in expected.into_iter().enumerate() {
                let in_tenth =
                    |value| (u64::from(value - 1) * 10 / u64::from(self.n)) as usize == tenth;
                assert_share(self.share(in_tenth), p, &format!("decile {}", tenth + 1));
            }
        }
    }

    fn assert_share(share: f64, p: f64, what: &str) {
        let error = 5.0 * (p * (1.0 - p) / f64::from(DRAWS)).sqrt() + 1e-5;
        assert!((share - p).abs() <= error, "{what}: {share} instead of {p} +- {error}");
    }

    #[test]
    fn uniform() {
        sample(Distribution::Uniform, 1_000_000).assert_deciles([0.1; 10]);
    }

    #[test]
    fn gaussian() {
        let sample = sample(Distribution::Gaussian, 1_000_000);
        let half = [0.0, 0.00007, 0.00747, 0.1091, 0.38336];
        let [a, b, c, d, e] = half;
        sample.assert_deciles([a, b, c, d, e, e, d, c, b, a]);
        assert!((sample.mean() / 1e6 - 0.5).abs() < 0.001);
        assert!((sample.sd() / 1e6 - 0.08333).abs() < 0.0005);
    }

    #[test]
    fn special() {
        let sample = sample(Distribution::Special, 1_000_000);
        sample.assert_deciles([
            0.0, 0.00002, 0.0019, 0.0273, 0.3458, 0.5958, 0.0273, 0.0019, 0.00002, 0.0,
        ]);
        let t = 999_999.0;
        let band = |value: u32| (0.4975 * t..=0.505 * t).contains(&f64::from(value - 1));
        let share = sample.share(band);
        assert!((share - 0.759).abs() < 0.004, "{share}");
    }

    #[test]
    fn pareto() {
        let sample = sample(Distribution::Pareto { h: 0.2 }, 10_000_000);
        sample.assert_deciles([
            0.7267, 0.0733, 0.04626, 0.03444, 0.02767, 0.02325, 0.02013, 0.01778, 0.01596, 0.0145,
        ]);
        assert_share(sample.share(|value| value == 1), 0.10702, "lowest");
        assert!((sample.mean() / 1e7 - 0.121_765).abs() < 0.002);
        assert!((sample.sd() / 1e7 - 0.223_613).abs() < 0.002);
    }

    #[test]
    fn zipfian_small() {
        let sample = sample(Distribution::Zipfian { s: 0.8 }, 1_000);
        sample.assert_deciles([
            0.52583, 0.12038, 0.07865, 0.05983, 0.04885, 0.04157, 0.03635, 0.03241, 0.02932,
            0.02682,
        ]);
        assert_share(sample.share(|value| value == 1), 0.064_642, "P(1)");
        assert_share(sample.share(|value| value <= 10), 0.230_456, "P(<=10)");
        assert_share(sample.share(|value| value <= 200), 0.64621, "top 20%");
        assert!((sample.mean() / 1e3 - 0.21456).abs() < 0.003);
    }

    #[test]
    fn zipfian_large() {
        let sample = sample(Distribution::Zipfian { s: 0.8 }, 10_000_000);
        sample.assert_deciles([
            0.61744, 0.09726, 0.06347, 0.04826, 0.03939, 0.03351, 0.0293, 0.02613, 0.02363, 0.02162,
        ]);
        assert_share(sample.share(|value| value == 1), 0.008_254, "P(1)");
        assert_share(sample.share(|value| value <= 10), 0.029_426, "P(<=10)");
        assert_share(sample.share(|value| value <= 100), 0.06714, "P(<=100)");
        assert_share(sample.share(|value| value <= 100_000), 0.37606, "top 1%");
    }

    /// Against the plain sum of the definition, also at and around the exponent where the formula changes.
    #[test]
    fn zipfian_is_exact_for_other_exponents() {
        for s in [0.0, 0.5, 1.0 - 1e-10, 1.0, 1.2, 3.0] {
            let sum: f64 = (1..=100).map(|j| f64::from(j).powf(-s)).sum();
            let sample = sample(Distribution::Zipfian { s }, 100);
            for rank in [1, 2, 7, 100] {
                let p = f64::from(rank).powf(-s) / sum;
                assert_share(
                    sample.share(|value| value == rank),
                    p,
                    &format!("s {s}, rank {rank}"),
                );
            }
        }
    }

    proptest! {
        #[test]
        fn every_draw_lies_in_its_range(low: u32, size in 0..=u32::MAX, key: u64) {
            let high = low.saturating_add(size);
            for distribution in [
                Distribution::Uniform,
                Distribution::Gaussian,
                Distribution::Special,
                Distribution::Pareto { h: 0.2 },
                Distribution::Zipfian { s: 0.8 },
            ] {
                let sampler = RandomSampler::new(distribution, low, high);
                let value = sampler.draw(&mut RandomStream::new(key));
                prop_assert!((low..=high).contains(&value));
            }
        }
    }
}
