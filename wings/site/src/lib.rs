//! `assay site`: a folder of static pages with the map, the posts, and the studies of ledgers with their trends.

mod folder;
mod home;
mod map_pages;
mod post_pages;
mod study_pages;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use assay_command::exit::Exit;
use assay_command::report::write_stdout;
use assay_command::verb::{Arguments, CommandGroup};
use assay_map::VARIABLE;
use assay_model::counted;
use assay_run::advice::HintedError;
use assay_run::paths;
use clap::Args;

use folder::SiteFolder;
use home::HomePage;

/// `assay site`.
#[derive(Debug, Args)]
pub struct SiteArgs {
    /// The folder to write: a new or empty one, or one that `assay site` wrote, which it replaces
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// A ledger or a pack whose studies get pages; may be given several times [default: `ledger.db` in the user's data
    /// directory, if it is there]
    #[arg(long = "ledger", value_name = "FILE", env = "ASSAY_LEDGER")]
    pub ledgers: Vec<PathBuf>,

    /// A folder with a newer map than the one in the program
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub map: Option<PathBuf>,

    /// Address of the documentation, relative to the folder, to which all pages link
    #[arg(long, value_name = "PATH")]
    pub book: Option<String>,
}

impl Arguments for SiteArgs {
    const NAME: &'static str = "site";
    const ABOUT: &'static str =
        "Write a folder of static pages: the map, the posts, and studies with their trends";
    const GROUP: CommandGroup = CommandGroup::Share;

    fn run(&self, _: Option<&Path>) -> Result<Exit> {
        let ledgers = self.ledger_files()?;
        let map = assay_map::read(self.map.as_deref())?;
        let mut folder = SiteFolder::new(&self.folder, self.book_path()?)?;
        let products = map_pages::write(&mut folder, &map, self.map.as_deref())?;
        let posts = assay_posts::shown_posts()?;
        let studies = study_pages::write(&mut folder, &ledgers, &posts)?;
        let posts = post_pages::write(&mut folder, &ledgers, &posts, &studies)?;
        let home = HomePage { products, posts, studies };
        home.write(&mut folder)?;
        let pages = counted(folder.pages() as u64, "page");
        let first = folder.publish()?;
        write_stdout(&format!("{pages}: {}\n", first.display()))?;
        Ok(Exit::Done)
    }
}

impl SiteArgs {
    /// Without a name, the user's ledger, unless there is none yet.
    fn ledger_files(&self) -> Result<Vec<PathBuf>> {
        if self.ledgers.is_empty() {
            let file = paths::ledger_file(None)?;
            return Ok(if file.exists() { vec![file] } else { Vec::new() });
        }
        self.ledgers.iter().map(|file| paths::ledger_file(Some(file))).collect()
    }

    /// Only an address below the folder: pages lead to nothing outside.
    fn book_path(&self) -> Result<Option<String>> {
        let is_outside = |path: &str| {
            path.contains(':')
                || path.starts_with(['/', '\\'])
                || path.split('/').any(|part| part == "..")
        };
        match &self.book {
            Some(path) if is_outside(path) => bail!(HintedError::new(
                format!("`{path}` is not an address below the folder"),
                "name one such as `book/index.html`"
            )),
            book => Ok(book.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
