//! The list of posts as a page. Pure: no I/O, no clock.

use assay_report::Page;
use assay_report::blocks::{
    Block, Column, Heading, JsonValue, NONE, PageContent, PageDocument, Row, Table, Wish, duration,
    versioned,
};

use crate::posts::Post;
use crate::printed::PrintedPost;

#[derive(Debug)]
pub(crate) struct ListedPost {
    pub(crate) post: &'static Post,
    pub(crate) printed: PrintedPost,
    pub(crate) sets: Vec<ListedSet>,
}

/// A study of a post.
#[derive(Debug)]
pub(crate) struct ListedSet {
    pub(crate) file: &'static str,
    pub(crate) here: Vec<ListedSystem>,
    /// Those of the post as it was.
    pub(crate) study: Vec<ListedSystem>,
    /// Planned time here, or why there is none.
    pub(crate) seconds: Result<f64, String>,
}

#[derive(Debug)]
pub(crate) struct ListedSystem {
    pub(crate) words: String,
    pub(crate) is_available: bool,
}

pub(crate) fn posts(list: &[ListedPost]) -> Page<'_> {
    Page::new(PostsPage(list))
}

struct PostsPage<'a>(&'a [ListedPost]);

impl PageContent for PostsPage<'_> {
    fn document(&self, wish: &Wish<'_>, then: &mut dyn FnMut(&PageDocument<'_>)) {
        let mut columns = vec![Column::words("post"), Column::numbers("takes here")];
        columns.extend(["systems here", "of the post"].map(Column::words));
        // A terminal has no room for it.
        columns.extend((!wish.is_terminal()).then(|| Column::words("author and title")));
        let rows = self.0.iter().map(|listed| row(listed, wish));
        let mut blocks = vec![Block::Table(Table::new(columns, rows).flush())];
        blocks.push(Block::Lines(vec![
            "`assay post NAME` measures one, for the time here; `--full` as the post did"
                .to_owned(),
        ]));
        let lacking = self.0.iter().flat_map(lacking);
        blocks.extend(Block::notes(lacking));
        let heading = Heading { before: "Posts".to_owned(), ..Heading::default() };
        then(&PageDocument { title: heading.line(), heading, blocks, ..PageDocument::default() });
    }

    fn json(&self) -> Option<String> {
        let posts = self.0.iter().map(json).collect();
        Some(versioned(JsonValue::object([("posts", posts)])))
    }
}

fn row(listed: &ListedPost, wish: &Wish<'_>) -> Row {
    let ListedPost { post, printed, sets } = listed;
    let seconds: Option<f64> = sets.iter().map(|set| set.seconds.as_ref().ok()).sum();
    let takes = seconds.map_or_else(|| NONE.to_owned(), duration);
    let systems = |list: fn(&ListedSet) -> &[ListedSystem]| {
        let all = || sets.iter().flat_map(list);
        format!("{} of {}", all().filter(|it| it.is_available).count(), all().count())
    };
    let mut cells = vec![post.name.to_owned(), takes];
    cells.extend([systems(|set| &set.here), systems(|set| &set.study)]);
    if wish.is_terminal() {
        return Row::new(cells).below(Some(format!("    {}", printed.source)));
    }
    cells.push(printed.source.clone());
    Row::new(cells)
}

/// What a study lacks here.
fn lacking(listed: &ListedPost) -> impl Iterator<Item = String> {
    listed.sets.iter().flat_map(|set| {
        let systems = set.here.iter().filter(|it| !it.is_available);
        let systems = systems.map(move |it| format!("{}: no source of {}", set.file, it.words));
        let refused = set.seconds.as_ref().err();
        systems.chain(refused.map(|why| format!("{}: {why}", set.file)))
    })
}

fn json(listed: &ListedPost) -> JsonValue {
    let (month, subject) = listed.post.month_and_subject();
    let systems = |all: &[ListedSystem]| -> JsonValue {
        let system = |it: &ListedSystem| {
            let words = ("system", it.words.as_str().into());
            JsonValue::object([words, ("available", it.is_available.into())])
        };
        all.iter().map(system).collect()
    };
    let set = |set: &ListedSet| {
        JsonValue::object([
            ("file", set.file.into()),
            ("seconds", set.seconds.as_ref().ok().copied().into()),
            ("systems", systems(&set.here)),
            ("published_systems", systems(&set.study)),
        ])
    };
    JsonValue::object([
        ("name", listed.post.name.into()),
        ("month", month.into()),
        ("subject", subject.into()),
        ("source", listed.printed.source.as_str().into()),
        ("url", listed.printed.url.as_deref().into()),
        ("studies", listed.sets.iter().map(set).collect()),
    ])
}
