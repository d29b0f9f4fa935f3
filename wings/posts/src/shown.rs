//! Posts as pages of a folder: as studies have measured them, else what they ask, print and say.

use anyhow::Result;
use assay_model::{Experiment, StudyRecord};
use assay_plan::{Request, request_of};
use assay_report::Page;
use assay_verdict::Judgement;

use crate::page::{self, DescribedSet, PostPart};
use crate::posts::{POSTS, Post};
use crate::printed::PrintedPost;
use crate::{described, part};

/// A post with its printed numbers.
#[derive(Debug)]
pub struct ShownPost {
    post: &'static Post,
    printed: PrintedPost,
    questions: Vec<(PostMeasurement, Request)>,
}

/// What a study measured of a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostMeasurement {
    /// Position of the measurement in the post, which may have two.
    pub set: usize,
    /// Whether it is the post as it was.
    is_full: bool,
}

/// All posts, the oldest first.
pub fn shown_posts() -> Result<Vec<ShownPost>> {
    POSTS.iter().map(shown).collect()
}

fn shown(post: &'static Post) -> Result<ShownPost> {
    let mut questions = Vec::new();
    for (set, files) in post.sets.iter().enumerate() {
        for is_full in [false, true] {
            let request = files.file(is_full).request()?;
            questions.push((PostMeasurement { set, is_full }, request));
        }
    }
    Ok(ShownPost { post, printed: PrintedPost::read(post.printed.text)?, questions })
}

/// The position of the post that a study measured; `None` if the study is of something else.
pub fn measured_post(
    posts: &[ShownPost],
    record: &StudyRecord,
) -> Option<(usize, PostMeasurement)> {
    if record.study.experiment == Experiment::Counted {
        return None;
    }
    // Published results have no request.
    let asked = request_of(&record.study).ok()?;
    posts.iter().enumerate().find_map(|(at, post)| {
        let mut questions = post.questions.iter();
        let (measurement, _) = questions.find(|(_, one)| is_same_question(&asked, one))?;
        Some((at, *measurement))
    })
}

impl ShownPost {
    pub fn name(&self) -> &'static str {
        self.post.name
    }

    /// Author, title and date.
    pub fn source(&self) -> &str {
        &self.printed.source
    }

    /// Passes the page of the post to `then`. `measured` has at most one study of each measurement.
    pub fn with_page(
        &self,
        measured: &[(PostMeasurement, StudyRecord, Judgement)],
        then: &mut dyn FnMut(&Page<'_>),
    ) -> Result<()> {
        let Self { post, printed, .. } = self;
        let parts = measured.iter().map(|(measurement, record, judgement)| {
            let set = &post.sets[measurement.set];
            part(set, set.file(measurement.is_full), printed, (record, judgement))
        });
        let parts = parts.collect::<Result<Vec<PostPart<'_>>>>()?;
        if !parts.is_empty() {
            then(&page::post(post.name, printed, &parts));
            return Ok(());
        }
        let sets = post.sets.iter().map(described).collect::<Result<Vec<DescribedSet>>>()?;
        then(&page::described(post.name, printed, &sets));
        Ok(())
    }
}

/// Whether two requests have the same systems and tests. Sizes, times and options may differ: the page names them.
fn is_same_question(one: &Request, other: &Request) -> bool {
    let names = |request: &Request| -> Vec<(String, Option<String>)> {
        let systems = request.systems.iter();
        systems.map(|system| (system.words.clone(), system.name.clone())).collect()
    };
    let work = |request: &Request| {
        let Request { suite, set, tests, workload, insert_bench, .. } = request;
        (*suite, *set, tests.clone(), workload.clone(), insert_bench.is_some())
    };
    names(one) == names(other) && work(one) == work(other)
}
