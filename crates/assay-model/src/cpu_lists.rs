//! The CPUs of servers and clients, if the user names them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::limits::{CPUS, within};

/// Ascending numbers of CPUs. An empty list stands for all CPUs that assay may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuLists {
    pub servers: Vec<u32>,
    pub clients: Vec<u32>,
}

impl CpuLists {
    pub fn is_any(&self) -> bool {
        !self.servers.is_empty() || !self.clients.is_empty()
    }

    /// CPUs of servers and clients together; `None` if one of them may use all.
    pub fn used(&self) -> Option<BTreeSet<u32>> {
        let is_bounded = !self.servers.is_empty() && !self.clients.is_empty();
        is_bounded.then(|| self.servers.iter().chain(&self.clients).copied().collect())
    }

    /// CPUs that both lists name.
    pub fn shared(&self) -> Vec<u32> {
        self.servers.iter().copied().filter(|cpu| self.clients.contains(cpu)).collect()
    }

    /// `servers on CPUs 0-11, clients on CPUs 12-15`; `None` without any list.
    pub fn in_words(&self) -> Option<String> {
        let on = |cpus: &[u32]| match cpus {
            [] => "all CPUs".to_owned(),
            cpus => cpus_in_words(cpus),
        };
        let both = match self.shared().as_slice() {
            [] => String::new(),
            shared => format!(", both on {}", cpus_in_words(shared)),
        };
        let (servers, clients) = (on(&self.servers), on(&self.clients));
        self.is_any().then(|| format!("servers on {servers}, clients on {clients}{both}"))
    }

    pub fn check_bounds(&self) -> Result<(), String> {
        [&self.servers, &self.clients].into_iter().try_for_each(|cpus| check_ascending("cpu", cpus))
    }
}

/// Refuses numbers of CPUs or NUMA nodes that are too large or not ascending, and so too many.
pub fn check_ascending(name: &str, numbers: &[u32]) -> Result<(), String> {
    numbers.iter().try_for_each(|number| within(name, *number, &CPUS))?;
    let is_ascending = numbers.is_sorted_by(|one, next| one < next);
    if is_ascending { Ok(()) } else { Err(format!("a list of `{name}` is not ascending")) }
}

/// Reads a list as `taskset` does: `0-3,8`, or `0-14:2` for every second one. `None` if it is no list.
pub fn read_cpus(text: &str) -> Option<Vec<u32>> {
    let number =
        |text: &str| text.trim().parse::<u32>().ok().filter(|number| CPUS.contains(number));
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last, stride) = (number(first)?, number(last)?, number(stride)?);
        if first > last || stride == 0 {
            return None;
        }
        cpus.extend((first..=last).step_by(stride as usize));
    }
    Some(cpus.into_iter().collect())
}

/// The shortest list of ascending numbers that [`read_cpus`] reads, without strides.
pub fn cpus_text(cpus: &[u32]) -> String {
    let ranges = cpus.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let range = |range: &[u32]| match range {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(u32::to_string).collect(),
    };
    ranges.map(range).collect::<Vec<_>>().join(",")
}

/// `CPU 3` or `CPUs 0-3,8`.
pub fn cpus_in_words(cpus: &[u32]) -> String {
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, cpus_text(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_taskset() {
        for (text, shortest) in [
            ("0-11", "0-11"),
            ("12,13,15,14", "12-15"),
            ("0-2,8,10-11", "0-2,8,10-11"),
            ("0-6:2", "0,2,4,6"),
            ("3,3", "3"),
            (" 1 - 2 ", "1-2"),
        ] {
            let cpus = read_cpus(text).unwrap();
            assert_eq!(cpus_text(&cpus), shortest, "{text}");
            assert_eq!(read_cpus(shortest), Some(cpus));
        }
        for wrong in ["", ",", "3-1", "a", "0-", "1024", "0-4:0", "-1", "0-99999999999"] {
            assert_eq!(read_cpus(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shared_cpus_are_said() {
        let lists = |servers: &[u32], clients: &[u32]| CpuLists {
            servers: servers.to_vec(),
            clients: clients.to_vec(),
        };
        let said = |servers: &[u32], clients: &[u32]| lists(servers, clients).in_words();
        assert_eq!(said(&[], &[]), None);
        let apart = "servers on CPUs 0-1, clients on CPU 2";
        assert_eq!(said(&[0, 1], &[2]).as_deref(), Some(apart));
        let shared = "servers on CPUs 0-1, clients on CPUs 1-2, both on CPU 1";
        assert_eq!(said(&[0, 1], &[1, 2]).as_deref(), Some(shared));
        assert_eq!(said(&[0], &[]).as_deref(), Some("servers on CPU 0, clients on all CPUs"));
        assert_eq!(lists(&[0, 1], &[1, 2]).used(), Some(BTreeSet::from([0, 1, 2])));
        assert_eq!(lists(&[0, 1], &[]).used(), None);
        assert!(lists(&[1, 0], &[]).check_bounds().is_err());
        assert!(lists(&[], &[0, 1024]).check_bounds().is_err());
        assert!(lists(&[0, 1], &[7]).check_bounds().is_ok());
        assert!(check_ascending("node", &[0, 0]).is_err());
    }
}
