//! The posts that come with assay. Their files are in the program.

use assay_claim_check::{ClaimFile, read_claims};
use assay_plan::{FileError, Request, read_study};

/// A file of a post.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostFile {
    /// Its path in the repository.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

/// A measurement of a post. A post that measures twice has two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostSet {
    /// The post as it was.
    pub(crate) study: PostFile,
    /// The same question in half an hour.
    pub(crate) here: PostFile,
    pub(crate) claims: PostFile,
}

#[derive(Debug)]
pub(crate) struct Post {
    /// Name of its folder: month and subject.
    pub(crate) name: &'static str,
    pub(crate) printed: PostFile,
    pub(crate) sets: &'static [PostSet],
}

macro_rules! post_file {
    ($($part:literal),+) => {
        PostFile {
            path: concat!("posts/" $(, $part)+),
            text: include_str!(concat!("../../../posts/" $(, $part)+)),
        }
    };
}

macro_rules! post_set {
    ($post:literal, $suffix:literal) => {
        PostSet {
            study: post_file!($post, "/study", $suffix, ".toml"),
            here: post_file!($post, "/here", $suffix, ".toml"),
            claims: post_file!($post, "/claims", $suffix, ".toml"),
        }
    };
}

/// Its folder, and the endings of its further sets.
macro_rules! post {
    ($post:literal $(, $suffix:literal)*) => {
        Post {
            name: $post,
            printed: post_file!($post, "/printed.toml"),
            sets: &[post_set!($post, "") $(, post_set!($post, $suffix))*],
        }
    };
}

pub(crate) static POSTS: &[Post] = &[
    post!("2013-02-oltp-mysql-5.6-mariadb-10.0"),
    post!("2024-04-mariadb-mysql-small"),
    post!("2024-07-mariadb-mysql-medium"),
    post!("2025-03-mysql-by-clients"),
    post!("2025-05-doublewrite-pages"),
    post!("2025-08-insert-benchmark"),
    post!("2025-08-mysql-small"),
    post!("2025-11-old-cpp"),
    post!("2025-12-insert-benchmark", "-io"),
    post!("2025-12-mysql-two-sockets"),
    post!("2026-04-mariadb-latin1"),
];

impl Post {
    /// The posts whose names have this part; only one if it is the whole name.
    pub(crate) fn named(words: &str) -> Vec<&'static Self> {
        match POSTS.iter().find(|post| post.name == words) {
            Some(post) => vec![post],
            None => POSTS.iter().filter(|post| post.name.contains(words)).collect(),
        }
    }

    /// `2024-04` and `mariadb-mysql-small`.
    pub(crate) fn month_and_subject(&self) -> (&'static str, &'static str) {
        const MONTH: usize = "2024-04".len();
        let (month, subject) = self.name.split_at_checked(MONTH).unwrap_or((self.name, ""));
        (month, subject.trim_start_matches('-'))
    }
}

impl PostSet {
    pub(crate) fn file(&self, is_full: bool) -> PostFile {
        if is_full { self.study } else { self.here }
    }

    pub(crate) fn claims(&self) -> Result<ClaimFile, FileError> {
        read_claims(self.claims.path, self.claims.text)
    }
}

impl PostFile {
    /// Its name in the folder of the post.
    pub(crate) fn name(self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    pub(crate) fn request(self) -> Result<Request, FileError> {
        read_study(self.path, self.text)
    }

    /// Paragraphs of the comment at its top, without the title.
    pub(crate) fn head(self) -> Vec<String> {
        let comment: Vec<&str> =
            self.text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
        let paragraphs = comment.split(|line| line.is_empty()).skip(1);
        paragraphs.map(|lines| lines.join(" ")).filter(|it| !it.is_empty()).collect()
    }
}
