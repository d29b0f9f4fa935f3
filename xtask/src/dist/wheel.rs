//! The wheel: the program as a script of a Python package, for `pip install`, `pipx run` and `uvx`.

use std::io::{Cursor, Write as _};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{ABOUT, Contents};

pub(super) fn write(contents: &Contents) -> Result<(String, Vec<u8>)> {
    let Contents { version, arch, libc: (major, minor), .. } = contents;
    let tag = format!("py3-none-manylinux_{major}_{minor}_{}", arch.name);
    let info = format!("assay-{version}.dist-info");
    let mut files: Vec<(String, u32, Vec<u8>)> = Vec::new();
    for item in &contents.items {
        let path =
            match (item.path.strip_prefix("bin/"), item.path.strip_prefix("share/doc/assay/")) {
                (Some(program), _) => format!("assay-{version}.data/scripts/{program}"),
                (_, Some(licence)) => format!("{info}/licenses/{licence}"),
                _ => format!("assay-{version}.data/data/{}", item.path),
            };
        files.push((path, item.mode, item.bytes.clone()));
    }
    let metadata = format!(
        "Metadata-Version: 2.1\nName: assay\nVersion: {version}\nSummary: {ABOUT}\n\
         License: MIT OR Apache-2.0\nRequires-Python: >=3.7\n"
    );
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\nTag: {tag}\n");
    files.push((format!("{info}/METADATA"), 0o644, metadata.into_bytes()));
    files.push((format!("{info}/WHEEL"), 0o644, wheel.into_bytes()));
    let mut record = String::new();
    for (path, _, bytes) in &files {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        record += &format!("{path},sha256={digest},{}\n", bytes.len());
    }
    record += &format!("{info}/RECORD,,\n");
    files.push((format!("{info}/RECORD"), 0o644, record.into_bytes()));
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // A zip file has no time before 1980, and none with a zone: all files get the same day.
    let day = DateTime::from_date_and_time(1980, 1, 1, 0, 0, 0).ok().context("no such day")?;
    for (path, mode, bytes) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(day)
            .unix_permissions(mode);
        archive.start_file(path, options)?;
        archive.write_all(&bytes)?;
    }
    Ok((format!("assay-{version}-{tag}.whl"), archive.finish()?.into_inner()))
}
