//! CPU weight of cells that are measured at normal priority: a scope of the user's systemd, whose processes get most
//! of the CPU time for which other processes of this user compete.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The weight in turns. Both are the kernel's: the largest one, and the default.
const TURNS: u32 = 10_000;
const USUAL: u32 = 100;

/// How long systemd may take to move this process.
const LIMIT: Duration = Duration::from_secs(2);

/// Where version 2 of control groups is mounted.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// The control group of this process, with the servers that it starts later. The weight is the usual one again on
/// drop.
#[derive(Debug)]
pub(super) struct CpuWeight {
    file: PathBuf,
}

impl CpuWeight {
    /// Moves this process into its own scope. `None` if the user has no systemd, or if it does not control CPU
    /// weights.
    pub(super) fn acquire() -> Option<Self> {
        let groups = || fs_err::read_to_string("/proc/self/cgroup");
        Self::acquire_from(Path::new(CONTROL_GROUPS), groups, start_scope)
    }

    /// The same with another mount, another way to read the own groups, and another way to start the scope.
    fn acquire_from(
        mount: &Path,
        groups: impl Fn() -> io::Result<String>,
        start: impl FnOnce(&str) -> io::Result<()>,
    ) -> Option<Self> {
        if !mount.join("cgroup.controllers").exists() {
            return None;
        }
        let name = format!("assay-{}.scope", std::process::id());
        start(&name).map_err(|error| log::debug!("{error}")).ok()?;
        let began = Instant::now();
        let file = loop {
            let groups = groups().ok()?;
            if let Some(group) = scope_path(&groups, &name) {
                break mount.join(group.trim_start_matches('/')).join("cpu.weight");
            }
            if began.elapsed() > LIMIT {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let weight = Self { file };
        // Without the controller there is no such file.
        weight.write(USUAL).map_err(|error| log::debug!("{error}")).ok()?;
        Some(weight)
    }

    /// The weight in turns.
    pub(super) fn value(&self) -> u32 {
        TURNS
    }

    /// Sets the weight in turns, or the usual one. A failure leaves the weight as it is.
    pub(super) fn set(&self, is_in_turns: bool) {
        let weight = if is_in_turns { TURNS } else { USUAL };
        self.write(weight).unwrap_or_else(|error| log::warn!("{error}"));
    }

    fn write(&self, weight: u32) -> io::Result<()> {
        let mut options = fs_err::OpenOptions::new();
        let mut file = options.write(true).truncate(true).open(&self.file)?;
        file.write_all(weight.to_string().as_bytes())
    }
}

impl Drop for CpuWeight {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// The path of the own control group if it is the scope of this name.
fn scope_path<'g>(groups: &'g str, name: &str) -> Option<&'g str> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    (path.rsplit('/').next() == Some(name)).then_some(path)
}

/// Asks the user's systemd for a transient scope with this process in it.
fn start_scope(name: &str) -> io::Result<()> {
    let pid = std::process::id().to_string();
    let status = Command::new("busctl")
        .args(["--user", "--quiet", "--timeout=2", "call", "org.freedesktop.systemd1"])
        .args(["/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"])
        .args(["StartTransientUnit", "ssa(sv)a(sa(sv))", name, "fail", "2"])
        .args(["PIDs", "au", "1", &pid, "CPUWeight", "t", &USUAL.to_string(), "0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("busctl: {status}"))) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn mount() -> (tempfile::TempDir, String) {
        let mount = tempfile::tempdir().unwrap();
        let name = format!("assay-{}.scope", std::process::id());
        let group = mount.path().join("user.slice").join(&name);
        fs_err::create_dir_all(&group).unwrap();
        fs_err::write(mount.path().join("cgroup.controllers"), "cpu").unwrap();
        (mount, name)
    }

    #[test]
    fn the_weight_is_high_in_turns_alone() {
        let (mount, name) = mount();
        let file = mount.path().join("user.slice").join(&name).join("cpu.weight");
        fs_err::write(&file, "100").unwrap();
        let weight = || fs_err::read_to_string(&file).unwrap();
        // systemd moves the process some time after it has answered.
        let reads = Cell::new(0);
        let groups = || {
            reads.set(reads.get() + 1);
            let scope = if reads.get() > 2 { name.as_str() } else { "session-1.scope" };
            Ok(format!("1:name=systemd:/\n0::/user.slice/{scope}\n"))
        };
        let acquired = CpuWeight::acquire_from(mount.path(), groups, |asked| {
            assert_eq!(asked, name);
            Ok(())
        });
        let acquired = acquired.unwrap();
        acquired.set(true);
        assert_eq!(weight(), "10000");
        drop(acquired);
        assert_eq!(weight(), "100");
    }

    #[test]
    fn without_systemd_or_its_controller_there_is_no_weight() {
        let (mount, name) = mount();
        let groups = || Ok(format!("0::/user.slice/{name}\n"));
        let refused = |_: &str| Err(io::Error::other("no bus"));
        assert!(CpuWeight::acquire_from(mount.path(), groups, refused).is_none());
        assert!(CpuWeight::acquire_from(mount.path(), groups, |_| Ok(())).is_none());
        fs_err::remove_file(mount.path().join("cgroup.controllers")).unwrap();
        assert!(CpuWeight::acquire_from(mount.path(), groups, |_| Ok(())).is_none());
    }
}
