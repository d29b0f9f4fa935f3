//! The sysbench options of commands that need only the tables.

use assay_model::TableForm;
use assay_workloads::OltpOptions;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Those of [`OltpOptions`] that describe tables.
#[derive(Debug, Clone)]
pub struct TableFormArgs(OltpOptions);

impl TableFormArgs {
    /// Their fields.
    pub const FIELDS: [&str; 3] = ["auto_inc", "create_secondary", "create_table_options"];

    pub fn form(&self) -> TableForm {
        self.0.table_form()
    }
}

impl Args for TableFormArgs {
    fn augment_args(command: Command) -> Command {
        let all = OltpOptions::augment_args(Command::new("scripts"));
        command.args(all.get_arguments().filter(|it| Self::FIELDS.contains(&it.get_id().as_str())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TableFormArgs {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, Error> {
        let mut form = Self(OltpOptions::default());
        form.update_from_arg_matches(found)?;
        Ok(form)
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), Error> {
        fn given<T: Clone + Send + Sync + 'static>(found: &ArgMatches, id: &str, to: &mut T) {
            if let Some(value) = found.get_one::<T>(id) {
                *to = value.clone();
            }
        }
        let options = &mut self.0;
        given(found, "auto_inc", &mut options.auto_inc);
        given(found, "create_secondary", &mut options.create_secondary);
        given(found, "create_table_options", &mut options.create_table_options);
        Ok(())
    }
}
