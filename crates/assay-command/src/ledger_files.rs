//! Opens ledgers and packs for reading.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_ledger::Ledger;
use assay_pack::{LEDGER, Pack, SIZE_MAX};
use assay_run::advice::HintedError;

pub fn open_ledger(file: &Path) -> Result<Ledger> {
    if !is_pack(file) {
        return Ok(Ledger::open_read_only(file)?);
    }
    let pack = read(file)?;
    if let Some(altered) = pack.altered().first() {
        bail!(HintedError::new(
            format!("`{}` was altered: its `{altered}` differs from its manifest", file.display()),
            format!("`assay verify {}` says what differs", file.display()),
        ));
    }
    Ok(Ledger::of_bytes(pack.member(LEDGER), file)?)
}

pub fn is_pack(file: &Path) -> bool {
    let begin = || -> std::io::Result<[u8; 4]> {
        // Reading a pipe would consume its first bytes.
        if !fs_err::metadata(file)?.is_file() {
            return Ok([0; 4]);
        }
        let mut begin = [0; 4];
        fs_err::File::open(file)?.read_exact(&mut begin)?;
        Ok(begin)
    };
    begin().is_ok_and(|begin| assay_pack::is_pack(&begin))
}

pub fn read(file: &Path) -> Result<Pack> {
    let cannot = || format!("cannot read `{}`", file.display());
    let mut bytes = Vec::new();
    let opened = fs_err::File::open(file)?;
    opened.take(SIZE_MAX + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(assay_pack::PackError::TooLarge).with_context(cannot);
    }
    Pack::read(&bytes).with_context(cannot)
}
