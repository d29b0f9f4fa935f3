//! `assay post`: lists published benchmarks, and redoes one of them.

mod beside;
mod differences;
mod list;
mod page;
mod posts;
mod printed;
mod shown;

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use assay_command::args::{FormatWord, MeasureArgs, SourceArg};
use assay_command::exit::Exit;
use assay_command::form::{ResultForm, form};
use assay_command::measurement::planned;
use assay_command::verb::{Arguments, CommandGroup};
use assay_command::{candidates, report};
use assay_model::{Counting, EventKind, Origin, Profiling, StudyEvent, StudyRecord};
use assay_plan::{MachineFacts, Request, SystemRequest, parse_system};
use assay_report::Format;
use assay_run::advice::HintedError;
use assay_run::paths;
use assay_run::progress::print;
use assay_run::systems::machine_facts;
use assay_verdict::Judgement;
use clap::Args;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use beside::MeasuredNumbers;
use differences::differences;
use list::{ListedPost, ListedSet, ListedSystem};
use page::{DescribedSet, PostPart};
use posts::{POSTS, Post, PostFile, PostSet};
use printed::PrintedPost;

pub use shown::{PostMeasurement, ShownPost, measured_post, shown_posts};

fn formats() -> impl Iterator<Item = FormatWord> {
    let all = FormatWord::without_stacks().into_iter();
    all.filter(|it| *it != FormatWord::Of(Format::CSV))
}

#[derive(Debug, Args)]
#[command(mut_arg("format", FormatWord::only(formats())))]
pub struct PostArgs {
    /// The post: the name of its folder in `posts/`, or a part of it [default: list all posts]
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(names))]
    pub name: Option<String>,

    /// Measure the post as it was, for hours or days, instead of its question in half an hour
    #[arg(long, requires = "name")]
    pub full: bool,

    /// Count instructions instead of measuring time, which works on a busy machine
    #[arg(long, requires = "name", conflicts_with_all = ["full", "studies"])]
    pub instructions: bool,

    /// Make the page from a study of the ledger and measure nothing; a post that measures twice has two, such as
    /// `CACHED,IO`
    #[arg(long = "study", value_name = "STUDY,...", value_delimiter = ',', requires = "name")]
    #[arg(add = ArgValueCompleter::new(candidates::studies))]
    pub studies: Vec<String>,

    #[command(flatten)]
    pub from: SourceArg,

    #[command(flatten)]
    pub measuring: MeasureArgs,
}

fn names(word: &OsStr) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let begin = POSTS.iter().filter(|post| post.name.starts_with(word.as_ref()));
    begin.map(|post| CompletionCandidate::new(post.name)).collect()
}

impl Arguments for PostArgs {
    const NAME: &'static str = "post";
    const ABOUT: &'static str =
        "Redo a published benchmark: measure it, compare with its numbers, check its claims";
    const GROUP: CommandGroup = CommandGroup::Measure;

    fn run(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        self.check_format()?;
        report::check(&self.measuring.output, None, &self.measuring.ledger)?;
        let Some(name) = &self.name else { return self.list(cache_dir) };
        let post = found(name)?;
        let printed = PrintedPost::read(post.printed.text)?;
        let (records, exit) = match self.studies.is_empty() {
            true => self.measure(post, cache_dir)?,
            false => self.of_ledger(post)?,
        };
        self.write(post, &printed, &records)?;
        Ok(exit)
    }
}

impl PostArgs {
    /// Refuses a format before anything is measured.
    fn check_format(&self) -> Result<()> {
        let output = &self.measuring.output;
        if self.name.is_some() && matches!(form(output)?, ResultForm::Charts(_)) {
            return Ok(());
        }
        if report::format(output)? == Format::CSV {
            bail!(HintedError::new(
                "a post has no CSV",
                "use `--format json`; `assay report STUDY --format csv` has the numbers of its study"
            ));
        }
        Ok(())
    }

    fn list(&self, cache_dir: Option<&Path>) -> Result<Exit> {
        let known = assay_provision::catalog_names()?;
        let machine = machine_facts(&paths::made_cache_dir(cache_dir)?)?;
        let listed = POSTS.iter().map(|post| listed(post, &known, machine));
        let listed = listed.collect::<Result<Vec<ListedPost>>>()?;
        report::put(&self.measuring.output, &list::posts(&listed))?;
        Ok(Exit::Done)
    }

    /// Measures the studies of a post, one after the other, until one does not end.
    fn measure(&self, post: &Post, cache_dir: Option<&Path>) -> Result<(Vec<StudyRecord>, Exit)> {
        let (mut records, mut exit) = (Vec::new(), Exit::Done);
        for set in post.sets {
            let request = self.request(set.file(self.full))?;
            let planned = planned(request, &self.measuring, None, |it, _| it, cache_dir)?;
            let of_set = planned.measure_for(|record, _| {
                records.push(record.clone());
                Ok(completeness(record))
            })?;
            exit = if of_set == Exit::Done { exit } else { of_set };
            if !matches!(of_set, Exit::Done | Exit::Incomplete) {
                if !records.is_empty() {
                    let again = self.page_again(post, &records);
                    print(&format!("note: after that, {again} writes the page of the post"));
                }
                break;
            }
        }
        Ok((records, exit))
    }

    fn request(&self, file: PostFile) -> Result<Request> {
        let mut request = file.request()?;
        request.source = self.from.source.clone().or(request.source);
        request.offline |= self.measuring.offline;
        request.accept_expired_index |= self.measuring.accept_expired_index;
        Ok(if self.instructions { only_counted(request) } else { request })
    }

    fn of_ledger(&self, post: &Post) -> Result<(Vec<StudyRecord>, Exit)> {
        if self.studies.len() > post.sets.len() {
            let files: Vec<&str> = post.sets.iter().map(|set| set.file(self.full).name()).collect();
            bail!(HintedError::new(
                format!("`{}` has fewer studies than `--study` names", post.name),
                format!("its studies are those of {}, in this order", files.join(" and ")),
            ));
        }
        let ledger = &self.measuring.ledger;
        let records = self.studies.iter().map(|name| report::found(ledger, Some(name)));
        let records = records.collect::<Result<Vec<StudyRecord>>>()?;
        let exits = records.iter().map(completeness);
        let exit = exits.fold(Exit::Done, |all, it| if it == Exit::Done { all } else { it });
        Ok((records, exit))
    }

    fn write(&self, post: &Post, printed: &PrintedPost, records: &[StudyRecord]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let judgements: Vec<Judgement> = records.iter().map(assay_verdict::judge).collect();
        let parts = records
            .iter()
            .zip(&judgements)
            .zip(post.sets)
            .map(|(judged, set)| part(set, set.file(self.full), printed, judged));
        let parts = parts.collect::<Result<Vec<PostPart<'_>>>>()?;
        let output = &self.measuring.output;
        report::put(output, &page::post(post.name, printed, &parts)).with_context(|| {
            format!("cannot write the page; {} writes it", self.page_again(post, records))
        })?;
        if let Some(place) = output.output.as_ref().filter(|_| !self.measuring.quiet) {
            print(&format!("the page is in `{}`", place.display()));
        }
        Ok(())
    }

    /// The command that writes the page from the ledger.
    fn page_again(&self, post: &Post, records: &[StudyRecord]) -> String {
        let ids: Vec<&str> = records.iter().map(|record| record.study.id.as_str()).collect();
        let full = if self.full { " --full" } else { "" };
        format!("`assay post {}{full} --study {}`", post.name, ids.join(","))
    }
}

fn found(words: &str) -> Result<&'static Post> {
    let all = || POSTS.iter().map(|post| post.name);
    let hint = match Post::named(words).as_slice() {
        [post] => return Ok(*post),
        [] => match assay_plan::nearest(words, all()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`assay post` lists the posts".to_owned(),
        },
        several => {
            let names: Vec<&str> = several.iter().map(|post| post.name).collect();
            format!("name one of {}", names.join(", "))
        }
    };
    Err(HintedError::new(format!("there is no single post `{words}`"), hint).into())
}

/// The same study, of which only instructions are counted: without all that is about time, and with one client.
fn only_counted(request: Request) -> Request {
    let mut request = Request {
        count: Counting::Only,
        profile: Profiling::None,
        threshold: None,
        budget_s: None,
        slice_s: None,
        write_slice_s: None,
        turn_s: None,
        blocks: None,
        rounds: None,
        twin: None,
        placement: None,
        priority: None,
        ..request
    };
    request.setups.iter_mut().for_each(|setup| setup.clients = None);
    request.setups.dedup();
    request
}

/// Whether all systems and cells were measured. That a claim does not hold is a result.
fn completeness(record: &StudyRecord) -> Exit {
    let is_missing = |event: &StudyEvent| matches!(event.what, EventKind::SystemMissing { .. });
    match record.events.iter().any(is_missing) {
        true => Exit::Incomplete,
        false => report::of_cells(&assay_verdict::judge(record)),
    }
}

fn part<'a>(
    set: &PostSet,
    file: PostFile,
    printed: &'a PrintedPost,
    (record, judgement): (&'a StudyRecord, &'a Judgement),
) -> Result<PostPart<'a>> {
    let counterparts = printed.counterparts(&record.systems);
    let study = set.study.name();
    let mut numbers = MeasuredNumbers::new(record);
    let tables = printed.tables.iter().filter(|table| table.study == study);
    Ok(PostPart {
        file,
        record,
        judgement,
        tables: tables.map(|table| numbers.beside(table, printed)).collect(),
        claims: assay_claims::checked(&set.claims()?, std::slice::from_ref(record), &counterparts),
        differences: differences(&set.study.request()?, printed, record),
        ids: vec![record.study.id.clone()],
    })
}

fn described(set: &PostSet) -> Result<DescribedSet> {
    let systems = set.study.request()?.systems;
    Ok(DescribedSet { file: set.study, systems, claims: set.claims()?.claims })
}

fn listed(post: &'static Post, known: &[String], machine: MachineFacts) -> Result<ListedPost> {
    let systems = |request: &Request| -> Vec<ListedSystem> {
        let system = |asked: &SystemRequest| ListedSystem {
            words: asked.words.clone(),
            is_available: is_available(asked, known),
        };
        request.systems.iter().map(system).collect()
    };
    let set = |set: &PostSet| -> Result<ListedSet> {
        let (here, study) = (set.here.request()?, set.study.request()?);
        let plan = assay_plan::plan(&here, machine);
        Ok(ListedSet {
            file: set.here.path,
            here: systems(&here),
            study: systems(&study),
            seconds: plan.map(|plan| plan.study.budget_s).map_err(|error| error.to_string()),
        })
    };
    let sets = post.sets.iter().map(set).collect::<Result<_>>()?;
    Ok(ListedPost { post, printed: PrintedPost::read(post.printed.text)?, sets })
}

/// Whether a system has a row in the catalog, or its sources or its server are on this machine.
fn is_available(asked: &SystemRequest, known: &[String]) -> bool {
    let Ok(spec) = parse_system(&asked.words) else { return false };
    match &spec.origin {
        Origin::Version(version) => {
            let name = format!("{}@{version}", spec.product);
            let patch = format!("{name}.");
            known.iter().any(|it| *it == name || it.starts_with(&patch))
        }
        Origin::Dir(path) => path.exists(),
        Origin::Git(reference) => {
            let repository = reference.split('#').next().unwrap_or_default();
            Path::new(repository).exists()
        }
        Origin::Url(_) => true,
    }
}

#[cfg(test)]
mod tests;
