//! The folder of a site: what it may replace, the names of its files, and the links between its pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use assay_model::Product;
use assay_report::blocks::{Block, Heading, PageDocument};
use assay_report::{FolderLink, Page, PageFrame};
use assay_run::advice::HintedError;
use tempfile::TempDir;

/// Most pages of a site.
pub(crate) const PAGES_MAX: usize = 3000;

/// Says that `assay site` wrote a folder, and lists its pages.
const MARKER: &str = ".assay-site";

const HINT: &str =
    "name a new or empty folder, or one that `assay site` wrote and that has nothing else";

/// Bytes of the list of pages that are searched, of the page with the search.
const SEARCH_BYTES: usize = 80_000;

/// Most letters of a name of a file.
const NAME_MAX: usize = 80;

/// A page and its place among the others. Paths are relative to the folder and have no ending.
#[derive(Debug, Clone, Default)]
pub(crate) struct PagePlace {
    pub(crate) path: String,
    /// Words by which the search finds it, in addition to its path.
    pub(crate) words: String,
    /// The page of its part of the site.
    pub(crate) part: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    /// The command whose page has all that a large page leaves out.
    pub(crate) command: String,
}

/// Pages in a temporary folder beside their place.
#[derive(Debug)]
pub(crate) struct SiteFolder {
    temporary: TempDir,
    place: PathBuf,
    book: Option<String>,
    listed: Vec<PagePlace>,
}

/// What the search covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchedPages {
    pub(crate) searched: usize,
    pub(crate) all: usize,
}

impl SiteFolder {
    pub(crate) fn new(given: &Path, book: Option<String>) -> Result<Self> {
        let place = checked(given)?;
        let above =
            place.parent().with_context(|| format!("`{}` has no parent", place.display()))?;
        fs_err::create_dir_all(above)?;
        let temporary = tempfile::Builder::new().prefix(".assay-").tempdir_in(above);
        let temporary =
            temporary.with_context(|| format!("cannot write to `{}`", above.display()))?;
        fs_err::create_dir(temporary.path().join("new"))?;
        Ok(Self { temporary, place, book, listed: Vec::new() })
    }

    pub(crate) fn pages(&self) -> usize {
        self.listed.len()
    }

    pub(crate) fn put(
        &mut self,
        place: PagePlace,
        heading: Heading,
        blocks: Vec<Block<'_>>,
    ) -> Result<()> {
        self.write_blocks(&place, heading, blocks)?;
        self.list(place);
        Ok(())
    }

    /// Writes a page without listing it, which threads can do.
    pub(crate) fn write_blocks(
        &self,
        place: &PagePlace,
        heading: Heading,
        blocks: Vec<Block<'_>>,
    ) -> Result<()> {
        let page = PageDocument::new(heading, blocks).in_folder(&self.frame(place, None));
        self.write_text(&format!("{}.html", place.path), &page)
    }

    /// The same of a page that another part of assay makes.
    pub(crate) fn write(&self, place: &PagePlace, page: &Page<'_>) -> Result<()> {
        self.write_text(&format!("{}.html", place.path), &page.in_folder(&self.frame(place, None)))
    }

    /// Lists a page that was written: the search finds it.
    pub(crate) fn list(&mut self, place: PagePlace) {
        self.listed.push(place);
    }

    /// The first page of the site is written last: it searches the others.
    pub(crate) fn put_home(
        &mut self,
        heading: Heading,
        blocks: impl FnOnce(SearchedPages) -> Vec<Block<'static>>,
    ) -> Result<()> {
        let place = PagePlace { path: "index".to_owned(), ..PagePlace::default() };
        let (search, searched) = self.search();
        let blocks = blocks(SearchedPages { searched, all: self.listed.len() });
        let frame = self.frame(&place, Some(search));
        self.write_text("index.html", &PageDocument::new(heading, blocks).in_folder(&frame))?;
        self.list(place);
        Ok(())
    }

    /// Lines of the search and their number. Studies come last: there may be more of them than a page can search.
    fn search(&self) -> (String, usize) {
        let is_study = |place: &&PagePlace| place.path.starts_with("studies/");
        let (studies, others): (Vec<_>, Vec<_>) = self.listed.iter().partition(is_study);
        let (mut text, mut lines) = (String::new(), 0);
        for PagePlace { path, words, .. } in others.into_iter().chain(studies) {
            let words: Vec<&str> = words.split_whitespace().collect();
            let words = words.join(" ");
            if text.len() + path.len() + words.len() + 2 > SEARCH_BYTES {
                break;
            }
            let _ = writeln!(text, "{path}\t{words}");
            lines += 1;
        }
        (text, lines)
    }

    fn frame(&self, place: &PagePlace, search: Option<String>) -> PageFrame {
        let to = |path: &str| relative(&place.path, &format!("{path}.html"));
        let part = |path: &str, text: &str| FolderLink {
            text: text.to_owned(),
            to: to(path),
            rel: "",
            is_here: place.part == path,
        };
        let products = Product::ALL.map(|product| part(&product_path(product), product.word()));
        let mut parts: Vec<FolderLink> = products.into_iter().collect();
        parts.extend(["posts", "studies", "trends"].map(|path| part(path, path)));
        let book = self.book.iter().map(|book| (relative(&place.path, book), "", "manual"));
        let search_link = (relative(&place.path, "index.html#find"), "search", "search");
        let further = book.chain([search_link]).map(|(to, rel, text)| FolderLink {
            text: text.to_owned(),
            to,
            rel,
            is_here: false,
        });
        parts.extend(further);
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let beside = |path: &String, rel, text: String| FolderLink {
            text,
            to: to(path),
            rel,
            is_here: false,
        };
        let is_below = place.part != place.path && !place.part.is_empty();
        let up = is_below.then(|| beside(&place.part, "up", format!("↑ {}", name(&place.part))));
        let previous =
            place.previous.iter().map(|path| beside(path, "prev", format!("← {}", name(path))));
        let next = place.next.iter().map(|path| beside(path, "next", format!("{} →", name(path))));
        PageFrame {
            home: to("index"),
            parts,
            neighbours: up.into_iter().chain(previous).chain(next).collect(),
            search,
            whole: format!("`{}` has all of it", place.command),
        }
    }

    fn write_text(&self, file: &str, text: &str) -> Result<()> {
        let path = self.temporary.path().join("new").join(file);
        if let Some(above) = path.parent() {
            fs_err::create_dir_all(above)?;
        }
        Ok(fs_err::write(path, text)?)
    }

    /// Puts the folder in its place; returns the first page.
    pub(crate) fn publish(self) -> Result<PathBuf> {
        let page = |place: &PagePlace| format!("{}.html\n", place.path);
        let pages: BTreeSet<String> = self.listed.iter().map(page).collect();
        self.write_text(MARKER, &pages.into_iter().collect::<String>())?;
        // Another process may have written to it meanwhile.
        let place = checked(&self.place)?;
        let [new, old] = ["new", "old"].map(|name| self.temporary.path().join(name));
        let replaces = place.exists();
        if replaces {
            fs_err::rename(&place, &old)?;
        }
        if let Err(error) = fs_err::rename(&new, &place) {
            if replaces && fs_err::rename(&old, &place).is_err() {
                let kept = self.temporary.keep().join("old");
                return Err(error)
                    .with_context(|| format!("the old site is in `{}`", kept.display()));
            }
            return Err(error.into());
        }
        Ok(place.join("index.html"))
    }
}

/// The page of a product.
pub(crate) fn product_path(product: Product) -> String {
    format!("map/{product}")
}

/// An address relative to a page.
pub(crate) fn relative(page: &str, to: &str) -> String {
    "../".repeat(page.matches('/').count()) + to
}

/// A name for a file, from any text. Some file systems ignore the case of letters.
pub(crate) fn file_name(text: &str, taken: &mut BTreeSet<String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let plain = text.chars().map(|c| if is_plain(c) { c } else { '-' });
    let plain: String = plain.take(NAME_MAX).collect();
    let mut name = plain.clone();
    let mut number = 1;
    while name.is_empty() || !taken.insert(name.to_lowercase()) {
        number += 1;
        name = format!("{plain}-{number}");
    }
    name
}

/// The place of a folder that may be written or replaced.
fn checked(given: &Path) -> Result<PathBuf> {
    let place = std::path::absolute(given)?;
    let Ok(found) = fs_err::metadata(&place) else { return Ok(place) };
    let shown = given.display();
    if !found.is_dir() {
        bail!(HintedError::new(format!("`{shown}` is not a folder"), HINT));
    }
    // A link keeps leading to the folder.
    let place = fs_err::canonicalize(&place)?;
    if fs_err::read_dir(&place)?.next().is_none() {
        return Ok(place);
    }
    let Ok(listed) = fs_err::read_to_string(place.join(MARKER)) else {
        bail!(HintedError::new(
            format!("`{shown}` is not empty, and `assay site` did not write it"),
            HINT
        ));
    };
    match other_file(&place, &listed.lines().collect())? {
        None => Ok(place),
        Some(other) => bail!(HintedError::new(
            format!("`{shown}` has `{other}`, which `assay site` did not write"),
            HINT
        )),
    }
}

/// The path of a file in a folder that is not among the pages listed.
fn other_file(folder: &Path, listed: &BTreeSet<&str>) -> Result<Option<String>> {
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs_err::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            // A link counts as a file, wherever it leads.
            if entry.file_type()?.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            if name != MARKER && !listed.contains(name.as_str()) {
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}
