//! CPU quotas of control groups. A group that has used up its quota stands still until the next period.

use std::path::{Component, Path, PathBuf};

use crate::kernel_file;

const ROOT: &str = "/sys/fs/cgroup";

/// Directories below the root that have the CPU controller of version 1.
const FIRST_VERSION: [&str; 2] = ["cpu", "cpu,cpuacct"];

/// The smallest quota of this process's groups, in CPUs.
pub(crate) fn quota() -> Option<f64> {
    let groups = kernel_file::text("/proc/self/cgroup")?;
    let limits = directories(&groups).into_iter().filter_map(|directory| limit(&directory));
    limits.min_by(f64::total_cmp)
}

/// CPU time of real-time threads per period that this process's group grants; `None` without such a limit.
pub(crate) fn realtime_us() -> Option<u64> {
    let groups = kernel_file::text("/proc/self/cgroup")?;
    let mut directories = directories(&groups).into_iter();
    directories.find_map(|directory| kernel_file::number(directory.join("cpu.rt_runtime_us")))
}

/// The directories of this process's groups and their parents, from the content of `/proc/self/cgroup`.
fn directories(groups: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let roots: &[&str] = match controllers {
            "" => &[""],
            _ if controllers.split(',').any(|it| it == "cpu") => &FIRST_VERSION,
            _ => continue,
        };
        // Untrusted names, which must not lead out of the root.
        let names = Path::new(group).components().filter(|it| matches!(it, Component::Normal(_)));
        let group: PathBuf = names.collect();
        for root in roots {
            found.extend(group.ancestors().map(|group| Path::new(ROOT).join(root).join(group)));
        }
    }
    found
}

fn limit(directory: &Path) -> Option<f64> {
    let second = kernel_file::line(directory.join("cpu.max"));
    second.and_then(|line| parse_max(&line)).or_else(|| {
        let microseconds = |name| kernel_file::number(directory.join(name));
        ratio(microseconds("cpu.cfs_quota_us")?, microseconds("cpu.cfs_period_us")?)
    })
}

/// Quota and period of version 2: `50000 100000`, or `max 100000` without a limit.
fn parse_max(line: &str) -> Option<f64> {
    let (quota, period) = line.split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn ratio(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotas_are_in_cpus() {
        assert_eq!(parse_max("50000 100000"), Some(0.5));
        assert_eq!(parse_max("max 100000"), None);
        assert_eq!(parse_max("1 0"), None);
    }

    #[test]
    fn groups_above_count_too() {
        let paths = |text: &str| -> Vec<String> {
            directories(text).iter().map(|it| it.display().to_string()).collect()
        };
        assert_eq!(
            paths("0::/system.slice/docker-1.scope\n"),
            [
                "/sys/fs/cgroup/system.slice/docker-1.scope",
                "/sys/fs/cgroup/system.slice",
                "/sys/fs/cgroup/"
            ]
        );
        assert!(paths("5:cpuacct,cpu:/a\n3:memory:/b\n").contains(&format!("{ROOT}/cpu/a")));
        assert!(paths("0::/../../etc\n").iter().all(|path| !path.contains("..")));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}", line in "[0-9a-z ]{0,30}") {
            let _ = directories(&text);
            let _ = parse_max(&line);
        }
    }
}
