//! Parsers of this crate as functions of bytes, for the fuzzer. Not part of the API.

use std::path::Path;

use assay_model::Product;

use crate::catalog::Catalog;
use crate::error::Result;
use crate::sources::apt::{AptIndex, count_entries, deb};
use crate::sources::{git, kind};
use crate::unpack::{UnpackLimits, UnpackTree};
use crate::version;

/// Small, so that decompression bombs stay cheap.
const LIMITS: UnpackLimits = UnpackLimits { bytes: 1 << 20, entries: 100 };

pub fn deb(bytes: &[u8], root: &Path) -> Result<()> {
    deb::unpack_from("fuzzed", bytes, &mut UnpackTree::new(root, LIMITS))
}

pub fn tar(bytes: &[u8], root: &Path) -> Result<()> {
    UnpackTree::new(root, LIMITS).unpack("fuzzed", bytes)
}

pub fn packages(text: &str, root: &str) -> Result<usize> {
    let mut index = AptIndex::default();
    index.add("fuzzed", text)?;
    let version =
        kind::PackageIndex::versions(&index, root).first().map(|record| record.version.clone());
    let Some(version) = version else { return Ok(0) };
    Ok(kind::PackageIndex::closure(&index, &[root.to_owned()], Some(&version), "fuzzed")?.len())
}

pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    version::upstream(a);
    version::in_series(a, b);
    version::compare(a, b)
}

pub fn catalog(text: &str) -> bool {
    toml::from_str::<Catalog>(text).is_ok()
}

pub fn source(text: &str) -> Option<String> {
    assert!(git::run::failing(text).len() <= 16);
    crate::http::rest_of(text, 0);
    crate::catalog::is_own(text);
    Product::ALL.into_iter().find_map(|product| product.version_in_source(text))
}

pub fn sources(text: &str) -> usize {
    count_entries(text)
}
