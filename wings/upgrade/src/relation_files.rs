//! Lengths of a stopped server's files. The planner of Postgres takes the size of a relation from the file system, and
//! the height of a B-tree from its first page. Files are sparse: they take no disk space.

use std::io;
use std::path::Path;

use fs_err::os::unix::fs::FileExt as _;
use fs_err::{File, OpenOptions};

/// Bytes. Servers with pages of another size are refused.
pub(crate) const PAGE: usize = 8192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelationFile {
    /// Relative to the data directory.
    pub(crate) path: String,
    pub(crate) pages: u32,
    /// Width of a key of a B-tree, bytes; `None` for everything else.
    pub(crate) key_bytes: Option<u32>,
}

/// Extends the files. A relation is a series of files, each with up to `segment` pages.
pub(crate) fn extend(data_dir: &Path, files: &[RelationFile], segment: u32) -> io::Result<()> {
    for file in files {
        let (mut number, mut left) = (0, file.pages);
        while left > 0 || number == 0 {
            let name = match number {
                0 => file.path.clone(),
                number => format!("{}.{number}", file.path),
            };
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create(number > 0)
                .truncate(false)
                .open(data_dir.join(name))?;
            let pages = left.min(segment);
            let bytes = u64::from(pages) * PAGE as u64;
            if opened.metadata()?.len() < bytes {
                opened.set_len(bytes)?;
            }
            if let Some(key_bytes) = file.key_bytes.filter(|_| number == 0) {
                let height = tree_height(file.pages, key_bytes);
                if height > 0 {
                    grow_tree(&opened, height)?;
                }
            }
            (number, left) = (number + 1, left - pages);
        }
    }
    Ok(())
}

/// Bytes of a page's header, of the space for an access method at its end, and of a pointer to an entry.
const HEADER: usize = 24;
const SPECIAL: usize = 16;
const POINTER: usize = 4;

/// Bytes of an entry without its key.
const ENTRY: usize = 8;

/// Part of an inner page that is filled when an index is built.
const FILLED: f64 = 0.7;

/// Estimated levels above the leaves. The first page of an index is none of the tree.
fn tree_height(pages: u32, key_bytes: u32) -> u32 {
    let entry = ENTRY + (key_bytes as usize).next_multiple_of(8) + POINTER;
    let entries = ((PAGE - HEADER - SPECIAL) as f64 * FILLED / entry as f64).max(2.0) as u32;
    let (mut level, mut height) = (pages.saturating_sub(1), 0);
    while level > 1 {
        (level, height) = (level.div_ceil(entries), height + 1);
    }
    height
}

/// `BTREE_MAGIC`.
const MAGIC: u32 = 0x0005_3162;

/// Places of the tag and of the root in the first page of an index.
const MAGIC_AT: usize = 24;
const ROOT_AT: u64 = 32;

/// Numbers of the pages that become the root and the only leaf.
const ROOT: u32 = 1;
const LEAF: u32 = 2;

/// Makes an empty tree of this height: a root, and an empty leaf below it. While it plans, the server looks for the
/// smallest and largest entries, finds none, and uses the histogram.
fn grow_tree(file: &File, height: u32) -> io::Result<()> {
    let mut first = [0; MAGIC_AT + 4];
    file.read_exact_at(&mut first, 0)?;
    if first[MAGIC_AT..] != MAGIC.to_ne_bytes() {
        return Err(io::Error::other("the first page of an index has no B-tree"));
    }
    let root: Vec<u8> =
        [ROOT, height, ROOT, height].into_iter().flat_map(u32::to_ne_bytes).collect();
    file.write_all_at(&root, ROOT_AT)?;
    file.write_all_at(&tree_page(height, Some(LEAF)), u64::from(ROOT) * PAGE as u64)?;
    file.write_all_at(&tree_page(0, None), u64::from(LEAF) * PAGE as u64)
}

/// A page of a B-tree without neighbours. It has an entry without a key if there is a page below it.
fn tree_page(level: u32, below: Option<u32>) -> Vec<u8> {
    const IS_LEAF: u16 = 1;
    const IS_ROOT: u16 = 2;
    /// The entry has fewer keys than the index.
    const IS_SHORT: u16 = 0x2000;
    /// Version of the layout of pages.
    const LAYOUT: u16 = 4;
    /// The entry is in use.
    const IS_NORMAL: u32 = 1 << 15;
    let special = PAGE - SPECIAL;
    let count = usize::from(below.is_some());
    let (lower, upper) = (HEADER + count * POINTER, special - count * ENTRY);
    let mut page = vec![0; PAGE];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    for (at, value) in [(12, lower), (14, upper), (16, special), (18, PAGE | usize::from(LAYOUT))] {
        put(at, &(value as u16).to_ne_bytes());
    }
    if let Some(below) = below {
        let pointer = upper as u32 | IS_NORMAL | (ENTRY as u32) << 17;
        put(HEADER, &pointer.to_ne_bytes());
        // The number of a page has its upper half first.
        put(upper, &((below >> 16) as u16).to_ne_bytes());
        put(upper + 2, &(below as u16).to_ne_bytes());
        put(upper + 6, &(ENTRY as u16 | IS_SHORT).to_ne_bytes());
    }
    put(special + 8, &level.to_ne_bytes());
    put(special + 12, &(if level == 0 { IS_LEAF } else { IS_ROOT }).to_ne_bytes());
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_as_high_as_those_of_a_server() {
        // Indexes of an integer with 20,000, 400,000 and 50,000,000 rows.
        assert_eq!([57, 1099, 137_091].map(|pages| tree_height(pages, 4)), [1, 2, 3]);
        assert_eq!([0, 1, 2].map(|pages| tree_height(pages, 4)), [0; 3]);
    }

    #[test]
    fn files_are_sparse_and_end_where_the_relation_ends() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut first = vec![0_u8; PAGE];
        first[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(&MAGIC.to_ne_bytes());
        fs_err::write(at("1"), "").unwrap();
        fs_err::write(at("2"), &first).unwrap();
        let file = |path: &str, pages, key_bytes| {
            let path = path.to_owned();
            RelationFile { path, pages, key_bytes }
        };
        let files = [file("1", 2500, None), file("2", 900, Some(4))];
        extend(dir.path(), &files, 1000).unwrap();
        let pages = |name: &str| fs_err::metadata(at(name)).unwrap().len() / PAGE as u64;
        let all = ["1", "1.1", "1.2", "2"].map(pages);
        assert_eq!((all, at("1.3").exists()), ([1000, 1000, 500, 900], false));
        let tree = fs_err::read(at("2")).unwrap();
        let word = |at: usize| u32::from_ne_bytes(tree[at..at + 4].try_into().unwrap());
        assert_eq!([32, 36, 40, 44].map(word), [ROOT, 2, ROOT, 2]);
        // Lower, upper and special places of the root; its entry; the levels of root and leaf.
        assert_eq!([PAGE + 12, PAGE + 16].map(word), [28 | 8168 << 16, 8176 | 0x2004 << 16]);
        assert_eq!(word(PAGE + 24), 8168 | 1 << 15 | 8 << 17);
        assert_eq!([PAGE + 8168, PAGE + 8172].map(word), [LEAF << 16, 0x2008 << 16]);
        assert_eq!([2 * PAGE - 8, 3 * PAGE - 8].map(word), [2, 0]);
        extend(dir.path(), &[file("1", 0, None)], 1000).unwrap();
        assert_eq!(pages("1"), 1000, "rows are never cut off");
    }
}
