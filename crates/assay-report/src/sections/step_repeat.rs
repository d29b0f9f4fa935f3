//! The first measured repeat of a step: one slice and its series, joined from those of its segments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_model::{CellId, Series, Slice, SliceId, SliceOutcome, StudyRecord};

pub(super) struct StepRepeat<'a> {
    pub(super) slice: Cow<'a, Slice>,
    /// Seconds by which inserted rows are divided, see [`Slice::rate_s`].
    pub(super) rate_s: f64,
    pub(super) series: Vec<Cow<'a, Series>>,
}

impl<'a> StepRepeat<'a> {
    /// `None` if the step was not measured.
    pub(super) fn new(record: &'a StudyRecord, cell: CellId, system: usize) -> Option<Self> {
        let measured = record.slices.iter().filter(|slice| {
            (slice.system, slice.cell) == (system, cell)
                && !matches!(slice.outcome, SliceOutcome::Failed(_))
        });
        let mut slices: Vec<&Slice> = measured.collect();
        slices.sort_by_key(|slice| (slice.block, slice.round));
        let first = *slices.first()?;
        // A whole step that was measured twice counts once.
        let is_whole = first.segment().is_none();
        slices.retain(|slice| slice.block == first.block);
        slices.truncate(if is_whole { 1 } else { slices.len() });
        let place = |id: &SliceId| (id.system, id.cell, id.block);
        let of_repeat = record.series.iter().filter(|(id, _)| place(id) == place(&first.id()));
        let mut series: BTreeMap<u32, Vec<&Series>> = BTreeMap::new();
        of_repeat.for_each(|(id, one)| series.entry(id.round).or_default().push(one));
        let segment = |slice: &&Slice| {
            RepeatSegment::new(slice, series.remove(&slice.round).unwrap_or_default())
        };
        let segments: Vec<RepeatSegment<'_>> = slices.iter().map(segment).collect();
        let series: Vec<Cow<'a, Series>> = match segments.as_slice() {
            [only] => only.series.iter().copied().map(Cow::Borrowed).collect(),
            several => joined_series(several).into_iter().map(Cow::Owned).collect(),
        };
        let slice = if let [only] = slices[..] {
            Cow::Borrowed(only)
        } else {
            Cow::Owned(joined(&slices)?)
        };
        Some(Self { slice, rate_s: slices.iter().map(|slice| slice.rate_s()).sum(), series })
    }
}

struct RepeatSegment<'a> {
    series: Vec<&'a Series>,
    /// Its length, no longer than its series.
    seconds: f64,
}

impl<'a> RepeatSegment<'a> {
    fn new(slice: &Slice, series: Vec<&'a Series>) -> Self {
        let longest = series.iter().map(|series| series.counts.len()).max().unwrap_or(0);
        let seconds = (slice.work.elapsed_ns as f64 / 1e9).min(longest as f64);
        Self { series, seconds }
    }
}

/// A slice with the sums that metrics of a step use.
fn joined(segments: &[&Slice]) -> Option<Slice> {
    let (first, rest) = segments.split_first()?;
    let mut all = (*first).clone();
    for slice in rest {
        all.work.elapsed_ns = all.work.elapsed_ns.saturating_add(slice.work.elapsed_ns);
        all.counters.add(&slice.counters);
        if let (Some(step), Some(more)) = (&mut all.step, &slice.step) {
            step.insert.add(&more.insert);
            step.delete.add(&more.delete);
            step.query.add(&more.query);
        }
    }
    Some(all)
}

fn joined_series(segments: &[RepeatSegment]) -> Vec<Series> {
    let mut names: Vec<&str> = Vec::new();
    for series in segments.iter().flat_map(|segment| &segment.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let named = |name: &str| Series {
        name: name.to_owned(),
        step_ms: 1000,
        counts: joined_counts(segments, name),
    };
    names.into_iter().map(named).collect()
}

/// Of the device: one sum. Of sizes: the last one. Others have a count for each second.
fn joined_counts(segments: &[RepeatSegment], name: &str) -> Vec<u64> {
    let counts = |segment: &RepeatSegment| {
        let found = segment.series.iter().find(|series| series.name == name)?;
        Some(found.counts.clone())
    };
    let all = || segments.iter().filter_map(counts);
    if name.starts_with("device-") {
        return vec![
            all().filter_map(|counts| counts.first().copied()).fold(0, u64::saturating_add),
        ];
    }
    if name.ends_with("-bytes") {
        return all().next_back().unwrap_or_default();
    }
    let in_time =
        segments.iter().map(|segment| (segment.seconds, counts(segment).unwrap_or_default()));
    let in_time: Vec<(f64, Vec<u64>)> = in_time.collect();
    if name.contains("-longest-us") { longest_in_time(&in_time) } else { sums_in_time(&in_time) }
}

/// The seconds of the step that each count of the segments overlaps: its number, the count, and the share of the count
/// in this second. Segments may begin in the middle of a second.
fn overlaps(segments: &[(f64, Vec<u64>)]) -> impl Iterator<Item = (usize, u64, f64)> {
    let begins = segments.iter().scan(0.0_f64, |end, (seconds, _)| {
        let begin = *end;
        *end += seconds;
        Some(begin)
    });
    segments.iter().zip(begins).flat_map(|((seconds, counts), begin)| {
        counts.iter().enumerate().flat_map(move |(second, count)| {
            let from = begin + second as f64;
            // Answers may come a moment after the end.
            let length = (seconds - second as f64).clamp(1e-3, 1.0);
            let first = from.floor();
            let in_first = ((first + 1.0 - from) / length).min(1.0);
            let at = first as usize;
            [(at, *count, in_first), (at + 1, *count, 1.0 - in_first)]
        })
    })
}

fn sums_in_time(segments: &[(f64, Vec<u64>)]) -> Vec<u64> {
    let mut sums: Vec<f64> = Vec::new();
    for (second, count, share) in overlaps(segments).filter(|(.., share)| *share > 0.0) {
        sums.resize(sums.len().max(second + 1), 0.0);
        sums[second] += share * count as f64;
    }
    // Rounding must not change the sum of all.
    let (mut exact, mut rounded) = (0.0, 0);
    let whole = |sum: f64| {
        exact += sum;
        let before = std::mem::replace(&mut rounded, exact.round() as u64);
        rounded - before
    };
    sums.into_iter().map(whole).collect()
}

fn longest_in_time(segments: &[(f64, Vec<u64>)]) -> Vec<u64> {
    let mut longest: Vec<u64> = Vec::new();
    for (second, count, _) in overlaps(segments).filter(|(.., share)| *share > 0.0) {
        longest.resize(longest.len().max(second + 1), 0);
        longest[second] = longest[second].max(count);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_follow_each_other_on_one_axis() {
        let whole = [(2.0, vec![10, 20]), (1.0, vec![30])];
        assert_eq!(sums_in_time(&whole), [10, 20, 30]);
        // The second half of the second second is the first half of the next segment.
        let halves = [(1.5, vec![10, 6]), (1.5, vec![8, 5])];
        assert_eq!(sums_in_time(&halves), [10, 10, 9]);
        assert_eq!(longest_in_time(&halves), [10, 8, 8]);
        let odd: Vec<(f64, Vec<u64>)> = (0..30).map(|_| (1.07, vec![50, 50])).collect();
        assert_eq!(sums_in_time(&odd).iter().sum::<u64>(), 3000);
    }

    #[test]
    fn device_counts_are_added_and_sizes_are_those_of_the_end() {
        let series = |name: &str, count| Series {
            name: name.to_owned(),
            step_ms: 1000,
            counts: vec![count],
        };
        let all = [
            series("device-busy-ms", 3),
            series("device-busy-ms", 4),
            series("database-bytes", 100),
        ];
        let segments = [
            RepeatSegment { series: vec![&all[0]], seconds: 1.0 },
            RepeatSegment { series: vec![&all[1], &all[2]], seconds: 1.0 },
        ];
        let found = joined_series(&segments);
        let counts: Vec<(&str, &[u64])> =
            found.iter().map(|series| (series.name.as_str(), series.counts.as_slice())).collect();
        assert_eq!(counts, [("device-busy-ms", &[7][..]), ("database-bytes", &[100][..])]);
    }
}
