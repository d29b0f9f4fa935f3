//! The first page: what the site has, and the search.

use anyhow::Result;
use assay_model::counted;
use assay_report::blocks::{Block, Column, Heading, NONE, Row, Table, Text, linked};

use crate::folder::{SearchedPages, SiteFolder, product_path};
use crate::map_pages::ProductOverview;
use crate::post_pages::{SitePost, post_table};
use crate::study_pages::{SiteStudies, study_count, study_table};

/// Newest studies on the first page.
const NEWEST: usize = 10;

const KEYS: &str = "keys: / searches, u leads up, p and n to the previous and the next page";

#[derive(Debug)]
pub(crate) struct HomePage {
    pub(crate) products: Vec<ProductOverview>,
    pub(crate) posts: Vec<SitePost>,
    pub(crate) studies: SiteStudies,
}

impl HomePage {
    pub(crate) fn write(&self, folder: &mut SiteFolder) -> Result<()> {
        let heading = Heading { before: "Slower since when?".to_owned(), ..Heading::default() };
        folder.put_home(heading, |listed| self.blocks(listed))
    }

    fn products(&self) -> Table {
        let columns = vec![
            Column::words("product"),
            Column::numbers("releases"),
            Column::words("first and last"),
            Column::numbers("tests"),
            Column::numbers("pairs with changes"),
            Column::words("largest change"),
        ];
        let rows = self.products.iter().map(|product| {
            let page = format!("{}.html", product_path(product.product));
            let ends = match product.releases.as_slice() {
                [] => NONE.to_owned(),
                [only] => only.clone(),
                [first, .., last] => format!("{first} to {last}"),
            };
            Row::new([
                linked(page, product.product.word()),
                Text::from(product.releases.len().to_string()),
                Text::from(ends),
                Text::from(product.tests.to_string()),
                Text::from(product.pairs.to_string()),
                Text::from(product.largest.as_deref().unwrap_or(NONE)),
            ])
        });
        Table::new(columns, rows).flush()
    }

    fn answer(&self) -> String {
        let releases: usize = self.products.iter().map(|product| product.releases.len()).sum();
        let pairs: usize = self.products.iter().map(|product| product.pairs).sum();
        match releases {
            0 => "the map has no counts yet; posts and studies are below".to_owned(),
            releases => format!(
                "which release changed which test: {}, {} of neighbours with changes",
                counted(releases as u64, "release"),
                counted(pairs as u64, "pair"),
            ),
        }
    }

    fn blocks(&self, listed: SearchedPages) -> Vec<Block<'static>> {
        let mut blocks = vec![Block::Answer(vec![self.answer()])];
        let map = vec![Block::Table(self.products())];
        blocks.extend(Block::section("Instructions by release", map));
        let Self { posts, studies, .. } = self;
        let table = vec![Block::Table(post_table(posts, studies, "index"))];
        blocks.extend(Block::section("Posts", table));
        let all = study_count(studies.studies.len(), studies.all);
        let mut newest = vec![Block::Lines(vec![all])];
        let first = &studies.studies[..studies.studies.len().min(NEWEST)];
        if !first.is_empty() {
            newest.push(Block::Table(study_table(first, "index")));
            let trends = counted(studies.trends as u64, "trend");
            newest.extend(Block::list([
                linked("studies.html", "all studies"),
                linked("trends.html", format!("{trends} of tests over versions and time")),
            ]));
        }
        blocks.extend(Block::section("Newest studies", newest));
        let SearchedPages { searched, all } = listed;
        let partly = (searched < all).then(|| {
            format!("the search knows {searched} of {all} pages: it lacks the oldest studies")
        });
        blocks.extend(Block::notes([KEYS.to_owned()].into_iter().chain(partly)));
        blocks
    }
}
