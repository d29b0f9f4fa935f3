//! The tables that a study works on: sysbench's, those of a user's workload, or those of the Insert Benchmark.

use anyhow::Result;
use assay_load::{Content, LoadProgress, LoadReport, Tables, UserTables};
use assay_model::{
    DataSet, Dialect, Engine, IdKey, Study, SystemSpec, TableForm, UserData, counted, thousands,
};
use assay_wire::ConnectOptions;

use crate::advice::Advised;
use crate::workload;

/// With the text of `--create-table-options`, tables on a running server are not like those of a load.
const UNKNOWN_FORM: &str =
    "with these `--create-table-options`, assay could not replace the tables in the next block";
const DROP: &str = "leave that part of the text out, or compare servers that assay starts; drop the tables by hand";

/// The tables of a study on a server of a system.
#[derive(Clone, Copy)]
pub(crate) struct StudyTables<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) engine: Engine,
    pub(crate) id_key: IdKey,
    pub(crate) form: &'a TableForm,
    pub(crate) data: DataSet,
    pub(crate) seed: u64,
    kind: Kind,
}

/// Whose tables they are.
#[derive(Clone, Copy)]
enum Kind {
    Sbtest,
    User(&'static UserData),
    /// Those of the Insert Benchmark, whose first step creates them.
    Ibench,
}

/// A server has read all tables once. Plans depend on what is cached, so who asks for them has to show that the caches
/// are as they are when it is measured; only [`StudyTables::fill_cache`] makes one.
#[derive(Debug)]
pub(crate) struct Warm(());

impl<'a> StudyTables<'a> {
    pub(crate) fn of(study: &'a Study, spec: &SystemSpec, data: DataSet) -> Self {
        Self {
            dialect: spec.product.dialect(),
            engine: spec.engine,
            id_key: study.id_key,
            form: &study.table_form,
            data,
            seed: study.seed,
            kind: match study.user_data() {
                Some(own) => Kind::User(own),
                None if study.is_insert_benchmark() => Kind::Ibench,
                None => Kind::Sbtest,
            },
        }
    }

    /// Whether instances for later tests start from data that writes have aged.
    pub(crate) fn age(&self) -> bool {
        matches!(self.kind, Kind::Sbtest)
    }

    /// What decides what they hold besides their number and size; `None` if only the aging tests do.
    pub(crate) fn content_key(&self) -> Result<Option<String>> {
        Ok(match self.kind {
            Kind::Sbtest => None,
            Kind::User(own) => Some(serde_json::to_string(own)?),
            Kind::Ibench => Some("no tables".to_owned()),
        })
    }

    /// What they are, for those who look at the cache.
    pub(crate) fn in_words(&self) -> String {
        match self.kind {
            Kind::Sbtest => format!("{} rows", self.data),
            Kind::User(own) => format!("the tables of {}", own.name),
            Kind::Ibench => "an empty database".to_owned(),
        }
    }

    /// Their names, as SQL takes them.
    pub(crate) fn names(&self) -> Vec<String> {
        let numbered = |name| (1..=self.data.tables).map(move |number| format!("{name}{number}"));
        match self.kind {
            Kind::User(own) => assay_load::user_names(self.dialect, own),
            Kind::Sbtest => numbered("sbtest").collect(),
            Kind::Ibench => numbered("pi").collect(),
        }
    }

    /// Rows of all tables, as far as they are known.
    pub(crate) fn rows(&self) -> u64 {
        match self.kind {
            Kind::User(own) => own.rows(),
            Kind::Sbtest => u64::from(self.data.tables) * u64::from(self.data.rows),
            Kind::Ibench => 0,
        }
    }

    /// Creates and loads the tables in a server that is called `name`, and makes sure that they hold what was sent.
    /// Tables that no load has made are replaced only if the server `is_ours`.
    pub(crate) fn fill(
        &self,
        name: &str,
        options: &ConnectOptions,
        is_ours: bool,
        progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadReport> {
        let Self { dialect, engine, id_key, form, data, seed, kind } = *self;
        match kind {
            Kind::Sbtest => {}
            Kind::User(data) => {
                let tables = UserTables { dialect, data, seed, files: &workload::read_again };
                return Ok(assay_load::fill_user_data(options, tables, is_ours, progress)?);
            }
            Kind::Ibench => return Ok(LoadReport::default()),
        }
        let tables = Tables { dialect, engine, id_key, form: form.clone(), data, seed };
        let report = assay_load::fill(options, &tables, progress)?;
        if !is_ours && !form.create_table_options.is_empty() {
            // The next block replaces them.
            let there = assay_load::survey(options, dialect, data.tables, id_key)?;
            there
                .refuse_foreign()
                .map_err(|error| Advised::new(UNKNOWN_FORM, DROP).caused_by(error))?;
        }
        check_content(&format!("`{name}`"), &self.content(options)?, &report)?;
        Ok(report)
    }

    /// What the tables hold.
    pub(crate) fn content(&self, options: &ConnectOptions) -> Result<Content> {
        Ok(match self.kind {
            Kind::User(own) => assay_load::user_content(options, self.dialect, own)?,
            Kind::Sbtest => assay_load::content(options, self.dialect, self.data)?,
            Kind::Ibench => Content::default(),
        })
    }

    /// Makes the server read all of them once, so that they are in its cache.
    pub(crate) fn fill_cache(&self, options: &ConnectOptions) -> Result<Warm> {
        match self.kind {
            Kind::User(own) => assay_load::fill_user_data_cache(options, self.dialect, own)?,
            Kind::Sbtest => {
                let Self { dialect, id_key, form, data, .. } = *self;
                assay_load::fill_cache(options, dialect, id_key, form, data)?;
            }
            Kind::Ibench => {}
        }
        Ok(Warm(()))
    }
}

/// Checks that the tables of a server hold what was sent.
pub(crate) fn check_content(server: &str, found: &Content, report: &LoadReport) -> Result<()> {
    let sent = &report.content;
    anyhow::ensure!(
        found == sent,
        "{server} does not hold the data that was sent: it has {} with checksum {}, not {} with {}",
        counted(found.rows, "row"),
        found.checksum,
        thousands(sent.rows),
        sent.checksum
    );
    Ok(())
}
