//! Dumps, which may be compressed and larger than memory: they are read as streams.

use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result};
use assay_model::UserRowsFile;
use assay_plan::UserFile;
use sha2::{Digest as _, Sha256};

/// Bytes from which the kind of a dump is detected.
const HEAD: u64 = 64 << 10;

/// Bytes.
const FILE_MAX: u64 = 1 << 40;

const GZIP: [u8; 2] = [0x1f, 0x8b];

pub fn dump_file(path: &Path) -> Result<UserFile, String> {
    let read = || -> Result<UserFile> {
        let path = path.canonicalize()?;
        // A device or a pipe may have no end.
        anyhow::ensure!(path.metadata()?.is_file(), "it is not a regular file");
        let mut file = fs_err::File::open(&path)?;
        let length = file.metadata()?.len();
        anyhow::ensure!(length <= FILE_MAX, "it has more than {FILE_MAX} bytes");
        let sha256 = checksum(&mut file)?;
        let is_compressed = is_compressed(&mut file)?;
        let bytes = if is_compressed { uncompressed(&mut file, length)? } else { length };
        file.seek(SeekFrom::Start(0))?;
        let mut content = Vec::new();
        decompressed(Box::new(file), is_compressed).take(HEAD).read_to_end(&mut content)?;
        let path = path.to_str().context("its path is not UTF-8")?.to_owned();
        Ok(UserFile { path, sha256, content, bytes })
    };
    read().map_err(|error| format!("{error:#}"))
}

/// Opens a dump, which must be the one that the workload was planned with.
pub fn open_dump(file: &UserRowsFile) -> Result<Box<dyn Read>, String> {
    let open = || -> Result<Box<dyn Read>> {
        let mut source = fs_err::File::open(&file.path)?;
        let found = checksum(&mut source)?;
        anyhow::ensure!(found == file.sha256, "it has changed since the study was planned");
        let is_compressed = is_compressed(&mut source)?;
        Ok(decompressed(Box::new(source), is_compressed))
    };
    open().map_err(|error| format!("{error:#}"))
}

fn checksum(file: &mut fs_err::File) -> Result<String> {
    let mut digest = Sha256::new();
    let mut source = BufReader::with_capacity(1 << 20, file.by_ref());
    loop {
        let read = source.fill_buf()?;
        if read.is_empty() {
            break;
        }
        digest.update(read);
        let length = read.len();
        source.consume(length);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(hex::encode(digest.finalize()))
}

fn is_compressed(file: &mut fs_err::File) -> Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(head == GZIP)
}

/// Uncompressed size according to gzip, which stores it modulo 4 GiB.
fn uncompressed(file: &mut fs_err::File, length: u64) -> Result<u64> {
    let mut last = [0; 4];
    file.seek(SeekFrom::Start(length.saturating_sub(4)))?;
    file.read_exact(&mut last)?;
    let mut bytes = u64::from(u32::from_le_bytes(last));
    while bytes < length {
        bytes += 1 << 32;
    }
    Ok(bytes)
}

fn decompressed(source: Box<dyn Read>, is_compressed: bool) -> Box<dyn Read> {
    if is_compressed { assay_decompress::gunzipped(source) } else { source }
}
