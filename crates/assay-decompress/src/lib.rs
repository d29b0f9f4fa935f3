//! Decompression of packages, with bounded memory.
//!
//! Decompressors are generic, so they are compiled in the crate that calls them. This crate is small and has full
//! optimisation, so that the crate that unpacks packages needs none.

use std::io::{self, Read};

/// Memory limit, KiB: packages are made with dictionaries of up to 64 MiB.
const MEMORY_KB: u32 = 256 << 10;

/// Memory limit for zstd, bytes.
const WINDOW: u64 = 128 << 20;

/// The content of a stream whose name ends in `end`, such as `.gz`; the stream itself if `end` is empty, `None` if the
/// compression is unknown.
pub fn decompressed<'a>(
    end: &str,
    stream: Box<dyn Read + 'a>,
) -> io::Result<Option<Box<dyn Read + 'a>>> {
    Ok(Some(match end {
        "" => stream,
        ".gz" => Box::new(flate2::read::GzDecoder::new(stream)),
        ".xz" => Box::new(lzma_rust2::XzReader::new_mem_limit(stream, true, MEMORY_KB)),
        ".zst" => {
            let decoder =
                ruzstd::decoding::StreamingDecoder::new_with_max_window_size(stream, WINDOW);
            Box::new(decoder.map_err(io::Error::other)?)
        }
        _ => return Ok(None),
    }))
}

/// Accepts several gzip members in a row.
pub fn gunzipped<'a>(stream: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
    Box::new(flate2::read::MultiGzDecoder::new(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_a_gigabyte_is_refused() {
        // Magic number, no content size, window of 2^30 bytes, and an empty last block.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa0, 0x01, 0x00, 0x00];
        let opened = decompressed(".zst", Box::new(frame.as_slice()));
        assert!(opened.is_err_and(|error| error.to_string().contains("too big")));
        assert!(decompressed(".lz9", Box::new(frame.as_slice())).unwrap().is_none());
    }
}
