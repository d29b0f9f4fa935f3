//! Installs the files as a user would, in bare userlands of Debian without a compiler and without Rust, and compares
//! two servers there. Needs root, because of `debootstrap` and `chroot`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use serde_json::Value;

use super::{ARCHES, output, sysroot};
use crate::command::root;

const RELEASES: [&str; 3] = ["bullseye", "bookworm", "trixie"];

/// From the file to the first verdict, seconds.
const SECONDS_MAX: f64 = 120.0;

const COMPARE: &str = "assay compare mariadb@10.11 mariadb@11.8 --preset smoke";

const VERDICTS: [&str; 4] = ["faster", "slower", "same", "undecided"];

/// Lines with their expected completions in every shell: systems, tests, options, and a study.
const COMPLETED: [(&str, &str); 4] = [
    ("assay compare mariadb@10.1", "mariadb@10.11"),
    ("assay compare --tests scan,point-q", "scan,point-query"),
    ("assay compare --bud", "--budget"),
    ("assay report ", "STUDY"),
];

/// Completes the line `$1` in each shell, as the package set it up. Bash gets the variables of a completion function;
/// zsh gets the keys in a terminal.
const SHELLS: [(&str, &str); 3] = [
    (
        "bash",
        r#"bash --norc -c '. /usr/share/bash-completion/completions/assay
           COMP_LINE=$1 COMP_POINT=${#1}; _assay assay "${1##* }" x; printf "%s\n" "${COMPREPLY[@]}"' - "$1""#,
    ),
    (
        "zsh",
        r#"zsh -f -c 'zmodload zsh/zpty; zpty -b shell "TERM=dumb COLUMNS=200 zsh -f -i"
           zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; LISTMAX=9999"; sleep 2
           zpty -n -w shell "$1"$'"'"'\t\t'"'"'; sleep 4
           while zpty -r -t shell line; do print -r -- "$line"; done; zpty -d shell' - "$1""#,
    ),
    ("fish", r#"LINE=$1 fish -c 'complete "-C$LINE"'"#),
];

/// Installs the package and the wheel in the given releases, by default in all, and measures with them.
#[expect(clippy::print_stdout, reason = "a task reports on stdout")]
pub fn run(words: &[String]) -> Result<()> {
    let releases = releases(words)?;
    let root = fs::canonicalize(root())?;
    let package = made(&root, "deb")?;
    let wheel = made(&root, "whl")?;
    let mirror = sysroot::mirror()?;
    let mut slow = Vec::new();
    println!("| release | file | installed, s | first verdict, s |");
    println!("|---|---|---:|---:|");
    for release in releases {
        for (file, install) in [
            (&package, "dpkg -i /root/FILE"),
            (
                &wheel,
                "python3 -m venv /root/venv && /root/venv/bin/pip install --no-index /root/FILE",
            ),
        ] {
            let with = if file == &wheel { "python3-venv" } else { "libgcc-s1,zsh,fish" };
            let userland = Userland::new(release, &mirror, with)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            fs::copy(file, userland.place().join("root").join(&name))?;
            let begun = Instant::now();
            userland.run(&install.replace("FILE", &name))?;
            let installed = begun.elapsed().as_secs_f64();
            let said = userland.run(COMPARE)?;
            let verdict = begun.elapsed().as_secs_f64();
            ensure!(said.contains("mariadb@11.8"), "{release}, {name}: {said}");
            let place = || format!("{release}, {name}");
            let report = userland.run("assay report latest --format json")?;
            let study = judged(&report).with_context(place)?;
            if file == &package {
                completed(&userland, &study).with_context(place)?;
            }
            println!("| {release} | {name} | {installed:.1} | {verdict:.1} |");
            if verdict > SECONDS_MAX {
                slow.push(format!("{release}, {name}: {verdict:.0} s"));
            }
        }
    }
    ensure!(
        slow.is_empty(),
        "more than {SECONDS_MAX} s until the first verdict: {}",
        slow.join("; ")
    );
    Ok(())
}

/// The study of a report in which every cell has a verdict.
fn judged(report: &str) -> Result<String> {
    let report: Value = serde_json::from_str(report).context("the report is no JSON")?;
    let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let others = list("systems").iter().filter(|it| it["is_base"] != true).count();
    let cells = list("cells");
    let tests: BTreeSet<_> = cells.iter().map(|it| it["test"].to_string()).collect();
    let is_judged = |it: &&Value| it["verdict"].as_str().is_some_and(|it| VERDICTS.contains(&it));
    let of_others = cells.iter().filter(|it| !it["rqps"].is_null());
    let judged = of_others.filter(is_judged).count();
    ensure!(
        judged > 0 && judged == tests.len() * others,
        "{judged} verdicts on {} tests of {others} systems",
        tests.len()
    );
    let id = report["study"]["id"].as_str().context("the report has no study")?;
    Ok(id.to_owned())
}

fn completed(userland: &Userland, study: &str) -> Result<()> {
    for (shell, script) in SHELLS {
        for (line, wanted) in COMPLETED {
            let wanted = wanted.replace("STUDY", study);
            let mut said = userland.run(&format!("set -- '{line}'; {script}"))?;
            // zsh rings a bell within a word.
            said.retain(|it| !it.is_control() || it == '\n');
            // Bash replaces only what follows the product.
            let is_there = said.contains(&wanted)
                || (shell == "bash"
                    && wanted.split_once('@').is_some_and(|(_, it)| said.contains(it)));
            ensure!(is_there, "{shell} does not complete `{line}` with `{wanted}`: {said}");
        }
    }
    Ok(())
}

fn releases(words: &[String]) -> Result<Vec<&str>> {
    if let Some(word) = words.iter().find(|word| !RELEASES.contains(&word.as_str())) {
        bail!("`{word}` is not a release to test in: {}", RELEASES.join(", "));
    }
    Ok(if words.is_empty() {
        RELEASES.to_vec()
    } else {
        words.iter().map(String::as_str).collect()
    })
}

fn made(root: &Path, end: &str) -> Result<PathBuf> {
    let arch = ARCHES.into_iter().find(|arch| arch.name == std::env::consts::ARCH);
    let arch = arch.context("no packages are made for this architecture")?;
    let names = [arch.name, arch.debian];
    let files = fs::read_dir(root.join("target/dist")).context("run `cargo xtask dist` first")?;
    let mut paths = files.filter_map(|it| it.ok().map(|it| it.path()));
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(&format!(".{end}")) && names.iter().any(|arch| name.contains(arch))
    };
    paths.find(is_it).with_context(|| format!("no .{end} for this machine: run `cargo xtask dist`"))
}

struct Userland {
    place: tempfile::TempDir,
}

impl Userland {
    fn new(release: &str, mirror: &str, with: &str) -> Result<Self> {
        let place = tempfile::Builder::new().prefix("assay-userland-").tempdir()?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", &format!("--include=ca-certificates,{with}")]);
        output(debootstrap.arg(release).arg(place.path()).arg(mirror))?;
        // For the network of this machine.
        for file in ["/etc/resolv.conf", "/etc/hosts"] {
            let _ = fs::copy(file, place.path().join(&file[1..]));
        }
        // Proxies, and settings for a mirror frozen at a date.
        let settings = output(Command::new("apt-config").arg("dump"))?;
        let kept = ["Acquire::http", "Acquire::Check-"];
        let kept: Vec<_> = settings
            .lines()
            .filter(|line| kept.iter().any(|begin| line.starts_with(begin)))
            .collect();
        fs::write(place.path().join("etc/apt/apt.conf.d/90network"), kept.join("\n") + "\n")?;
        Ok(Self { place })
    }

    fn place(&self) -> &Path {
        self.place.path()
    }

    /// Runs a line of the shell in the userland, with nothing of this machine's environment but proxies.
    fn run(&self, line: &str) -> Result<String> {
        let script = "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && \
                      mount --rbind /sys \"$0/sys\" && exec chroot \"$0\" /bin/sh -c \"$1\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script]);
        command.arg(self.place()).arg(line).env_clear();
        command.env("PATH", "/root/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        for (name, value) in std::env::vars_os() {
            let is_proxy = name.to_string_lossy().to_lowercase().ends_with("_proxy");
            if is_proxy {
                command.env(name, value);
            }
        }
        output(&mut command).with_context(|| format!("in the userland: {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_needs_a_verdict() {
        let result_with = |verdict: &str| {
            format!(
                r#"{{"study": {{"id": "s1"}}, "systems": [{{"is_base": true}}, {{"is_base": false}}], "cells": [
                {{"test": "a", "rqps": null, "verdict": "same"}},
                {{"test": "a", "rqps": {{"value": 1}}, "verdict": "{verdict}"}}]}}"#
            )
        };
        assert_eq!(judged(&result_with("undecided")).unwrap(), "s1");
        assert!(judged(&result_with("failed")).is_err());
        assert!(judged(r#"{"study": {"id": "s1"}, "systems": [], "cells": []}"#).is_err());
        assert!(judged("assay").is_err());
    }

    #[test]
    fn releases_are_those_that_are_named_or_all() {
        assert_eq!(releases(&[]).unwrap(), RELEASES);
        assert_eq!(releases(&["trixie".to_owned()]).unwrap(), ["trixie"]);
        let error = releases(&["jammy".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("bullseye, bookworm, trixie"), "{error}");
    }
}
