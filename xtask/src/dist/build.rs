//! Builds the program against an old C library.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{Endianness, Object as _};

use super::{Arch, output, sysroot};
use crate::command::{self, cargo};

pub(super) fn program(root: &Path, arch: Arch) -> Result<PathBuf> {
    let gcc = if arch.name == std::env::consts::ARCH {
        "cc".to_owned()
    } else {
        format!("{}-gcc", arch.gcc)
    };
    let missing =
        || format!("no C compiler for {}: install `gcc-{}`", arch.name, arch.gcc.replace('_', "-"));
    output(Command::new(&gcc).arg("--version")).with_context(missing)?;
    let target = arch.target();
    let library =
        output(Command::new("rustc").args(["--print", "target-libdir", "--target", &target]))?;
    ensure!(
        Path::new(library.trim()).exists(),
        "Rust's library for {} is missing: `rustup target add {target}`",
        arch.name
    );
    let sysroot = sysroot::ready(root, arch)?;
    let mapped = mapped(root)?;
    let mut flags: Vec<String> =
        mapped.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    // In a profile, cargo ignores it for packages with separate settings, such as `assay`.
    flags.push("-Cstrip=symbols".to_owned());
    // By default the compiler searches for libraries beside itself before it looks in the sysroot.
    let (shown, gnu) = (sysroot.display(), arch.gcc);
    for flag in [
        format!("--sysroot={shown}"),
        format!("-B{shown}/usr/lib/{gnu}/"),
        format!("-L{shown}/usr/lib/{gnu}"),
        format!("-L{shown}/lib/{gnu}"),
    ] {
        flags.push(format!("-Clink-arg={flag}"));
    }
    let mut c_flags = format!("--sysroot={shown}");
    for (from, to) in &mapped {
        c_flags += &format!(" -ffile-prefix-map={from}={to}");
    }
    let underscored = target.replace('-', "_");
    let mut cargo = cargo();
    cargo.current_dir(root);
    cargo.args(["build", "--locked", "--release", "--package", "assay", "--target", &target]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env("CARGO_INCREMENTAL", "0");
    cargo.env(format!("CFLAGS_{underscored}"), c_flags);
    if gcc != "cc" {
        cargo.env(format!("CC_{underscored}"), &gcc);
        cargo.env(format!("CARGO_TARGET_{}_LINKER", underscored.to_uppercase()), &gcc);
    }
    command::run(&mut cargo)?;
    Ok(root.join("target").join(target).join("release/assay"))
}

pub(super) fn host_program(root: &Path) -> Result<PathBuf> {
    command::run(cargo().current_dir(root).args(["build", "--locked", "--package", "assay"]))?;
    Ok(root.join("target/debug/assay"))
}

/// Directories of this machine that must not be in the program, and their replacements.
fn mapped(root: &Path) -> Result<Vec<(String, String)>> {
    let home =
        std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|it| it + "/.cargo"));
    let home = home.context("neither `CARGO_HOME` nor `HOME` is set")?;
    Ok(vec![(home, "/cargo".to_owned()), (root.display().to_string(), "/assay".to_owned())])
}

/// Returns whether a program has a symbol table, which users would download for nothing.
pub(super) fn has_symbols(program: &[u8]) -> Result<bool> {
    let file = ElfFile64::<Endianness>::parse(program).context("the program is no ELF file")?;
    Ok(file.symbol_table().is_some())
}

/// The newest version of the C library whose symbols a program needs.
pub(super) fn needed_libc(program: &[u8]) -> Result<(u32, u32)> {
    let file = ElfFile64::<Endianness>::parse(program).context("the program is no ELF file")?;
    let endian = file.endian();
    let mut newest = (2, 0);
    for section in file.elf_section_table().iter() {
        let Some((mut needed, strings)) = section.gnu_verneed(endian, program)? else { continue };
        let strings = file.elf_section_table().strings(endian, program, strings)?;
        while let Some((_, mut versions)) = needed.next()? {
            while let Some(version) = versions.next()? {
                let name = version.name(endian, strings)?;
                let name = String::from_utf8_lossy(name);
                let Some(numbers) = name.strip_prefix("GLIBC_") else { continue };
                let mut numbers = numbers.split('.').map(|it| it.parse().unwrap_or(0));
                newest = newest.max((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)));
            }
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_stripped_is_recognised() {
        let own = fs_err::read(std::env::current_exe().unwrap()).unwrap();
        assert!(has_symbols(&own).unwrap());
        assert!(has_symbols(b"#!/bin/sh").is_err());
    }
}
