//! Collections of tests, and the options of sysbench's scripts.

use serde::{Deserialize, Serialize};

use crate::{Distribution, PgsqlVariant, TableForm};

/// A collection of tests that assay ships.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// The published microbenchmarks.
    #[default]
    Micro,
    /// sysbench's scripts, usually over many client counts.
    Oltp,
}

impl Suite {
    /// Its name on the command line and in study files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Oltp => "oltp",
        }
    }
}

/// The options of sysbench's scripts, with sysbench's names and defaults. A script ignores options that do not
/// apply to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OltpOptions {
    /// Values in a range.
    pub range_size: u32,
    /// Point selects in a transaction.
    pub point_selects: u32,
    /// Range selects in a transaction; off means that it has none of the four kinds.
    pub range_selects: bool,
    /// Plain range selects in a transaction.
    pub simple_ranges: u32,
    /// `SUM` range selects in a transaction.
    pub sum_ranges: u32,
    /// `ORDER BY` range selects in a transaction.
    pub order_ranges: u32,
    /// `DISTINCT` range selects in a transaction.
    pub distinct_ranges: u32,
    /// Updates of the indexed column in an event.
    pub index_updates: u32,
    /// Updates of a column without index in an event.
    pub non_index_updates: u32,
    /// Rows deleted and inserted again in an event.
    pub delete_inserts: u32,
    /// Whether the server numbers the rows.
    pub auto_inc: bool,
    /// Whether the tables have an index on `k`.
    pub create_secondary: bool,
    /// What follows the columns in `CREATE TABLE`.
    pub create_table_options: String,
    /// The variant of Postgres.
    pub pgsql_variant: PgsqlVariant,
    /// Whether events leave out `BEGIN` and `COMMIT`.
    pub skip_trx: bool,
    /// Values in the list of `select_random_points`.
    pub random_points: u32,
    /// Ranges in a statement of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Distance of the ends of such a range.
    pub delta: u32,
    /// The random distribution of rows.
    pub rand_type: RandType,
    /// The shape of `pareto`, strictly between 0 and 1.
    pub rand_pareto_h: f64,
    /// The exponent of `zipfian`, 0 or more.
    pub rand_zipfian_exp: f64,
}

/// sysbench's names of random distributions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RandType {
    /// All values are equally likely.
    #[default]
    Uniform,
    /// Bell curve around the middle.
    Gaussian,
    /// Three quarters in the central hundredth, the rest in a bell: the default of sysbench 1.0.
    Special,
    /// Low values are more likely (Pareto).
    Pareto,
    /// Low values are more likely: the probability falls as a power of the value.
    Zipfian,
}

impl Default for OltpOptions {
    fn default() -> Self {
        Self {
            range_size: 100,
            point_selects: 10,
            range_selects: true,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            auto_inc: true,
            create_secondary: true,
            create_table_options: String::new(),
            pgsql_variant: PgsqlVariant::None,
            skip_trx: false,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            rand_type: RandType::Uniform,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
        }
    }
}

impl OltpOptions {
    /// How the tables are created.
    #[must_use]
    pub fn table_form(&self) -> TableForm {
        TableForm {
            auto_inc: self.auto_inc,
            create_secondary: self.create_secondary && self.pgsql_variant == PgsqlVariant::None,
            create_table_options: self.create_table_options.clone(),
            pgsql_variant: self.pgsql_variant,
        }
    }

    /// Rows that an event deletes and inserts again: none on Redshift, as in sysbench.
    #[must_use]
    pub fn rows_replaced(&self) -> u32 {
        match self.pgsql_variant {
            PgsqlVariant::None => self.delete_inserts,
            PgsqlVariant::Redshift => 0,
        }
    }

    /// The random distribution of rows.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        match self.rand_type {
            RandType::Uniform => Distribution::Uniform,
            RandType::Gaussian => Distribution::Gaussian,
            RandType::Special => Distribution::Special,
            RandType::Pareto => Distribution::Pareto { h: self.rand_pareto_h },
            RandType::Zipfian => Distribution::Zipfian { s: self.rand_zipfian_exp },
        }
    }
}
