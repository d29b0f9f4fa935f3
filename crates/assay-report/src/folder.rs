//! The place of a page among the pages of a folder.

/// Links from a page to the others of its folder.
#[derive(Debug, Default)]
pub struct PageFrame {
    /// Address of the first page, relative to this one.
    pub home: String,
    /// The parts of the folder.
    pub parts: Vec<FolderLink>,
    /// The pages above, in front of and behind this one.
    pub neighbours: Vec<FolderLink>,
    /// On the page with the search: a line for each page, which is its address without the ending, a tab, and further
    /// words.
    pub search: Option<String>,
    /// A sentence on how to see the parts that a large page leaves out, in lower case without a full stop.
    pub whole: String,
}

#[derive(Debug)]
pub struct FolderLink {
    pub text: String,
    /// Relative to the page.
    pub to: String,
    /// Its relation to the page, by which keys find it: `up`, `prev`, `next`, `search`; may be empty.
    pub rel: &'static str,
    /// Whether the page belongs to this part.
    pub is_here: bool,
}

/// Most bytes of a page of a folder. A larger one leaves out its largest sections, and says so.
pub const FOLDER_PAGE_BYTES: usize = 150_000;
