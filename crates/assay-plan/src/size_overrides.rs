//! Sizes that replace those of a study file, or scale them.

use assay_model::limits::user::SCALE;
use assay_model::thousands;
use assay_options::{client_counts, count};
use clap::Args;

use crate::effort::usual_rows;
use crate::error::{PlanError, PlanResult};
use crate::insert_bench::rows_of_steps;
use crate::limits::{ROWS, TABLES};
use crate::request::{InsertBenchRequest, Request, SetupRequest, parse_share};
use crate::suites::suite_facts;

/// Options that change the sizes of a study file.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct SizeOverrides {
    /// Numbers of clients, such as `1,4,16`, instead of those of every `[[setup]]`; one number for `[insert-bench]`
    #[arg(long, visible_alias = "threads", value_name = "N,N-N,...", value_parser = client_counts)]
    #[arg(allow_negative_numbers = true)]
    clients: Option<std::vec::Vec<u32>>,

    /// Number of tables, instead of that of every `[[setup]]`
    #[arg(long, value_name = "N", value_parser = count(TABLES), allow_negative_numbers = true)]
    tables: Option<u32>,

    /// Rows in each table, such as `1M`, instead of those of every `[[setup]]`; `X,Y,Z` for `[insert-bench]`
    #[arg(long, visible_alias = "table-size", value_name = "N", value_parser = count(ROWS))]
    #[arg(value_delimiter = ',', allow_negative_numbers = true)]
    rows: Vec<u32>,

    /// Share of the file's sizes to use, such as `1%`: rows, warehouses, pgbench's scale, rows of `[insert-bench]`
    ///
    /// A size never falls below the smallest one that its option takes. Clients, tables and times stay as they are.
    #[arg(long, value_name = "PERCENT", value_parser = parse_share, conflicts_with = "rows")]
    #[arg(allow_hyphen_values = true)]
    scale: Option<f64>,
}

impl SizeOverrides {
    /// The request with these sizes, and a note on each scaled one.
    pub fn in_request(&self, mut request: Request) -> PlanResult<(Request, Vec<String>)> {
        let mut notes = Vec::new();
        if *self == Self::default() {
            return Ok((request, notes));
        }
        match &mut request.insert_bench {
            Some(bench) => self.in_steps(bench)?,
            None => self.in_setups(&mut request.setups)?,
        }
        if let Some(share) = self.scale {
            scale(&mut request, share, &mut notes)?;
        }
        request.setups = without_repeats(request.setups);
        Ok((request, notes))
    }

    fn in_setups(&self, setups: &mut [SetupRequest]) -> PlanResult<()> {
        let rows = match self.rows.as_slice() {
            [] => None,
            [rows] => Some(*rows),
            several => {
                let why = "only the Insert Benchmark has several numbers of rows";
                return Err(PlanError::out_of_range("--rows", listed(several), why));
            }
        };
        for setup in setups {
            setup.clients = self.clients.clone().or(setup.clients.take());
            setup.tables = self.tables.or(setup.tables);
            setup.rows = rows.or(setup.rows);
        }
        Ok(())
    }

    fn in_steps(&self, bench: &mut InsertBenchRequest) -> PlanResult<()> {
        if self.tables.is_some() {
            return Err(PlanError::Conflict(
                "the Insert Benchmark has a table for each client: `--clients` decides how many, not `--tables`",
            ));
        }
        match self.clients.as_deref() {
            None => {}
            Some([clients]) => bench.clients = Some(*clients),
            Some(several) => {
                let why = "the Insert Benchmark has one number of clients";
                return Err(PlanError::out_of_range("--clients", listed(several), why));
            }
        }
        if !self.rows.is_empty() {
            bench.rows.clone_from(&self.rows);
        }
        Ok(())
    }
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn scale(request: &mut Request, share: f64, notes: &mut Vec<String>) -> PlanResult<()> {
    let mut scaled = |what: &str, size: u32, least: u32| {
        let to = ((f64::from(size) * share).round() as u32).max(least);
        let note = format!("{what}: {} → {}", thousands(size), thousands(to));
        if !notes.contains(&note) {
            notes.push(note);
        }
        to
    };
    if let Some(bench) = &mut request.insert_bench {
        let [first, second, third] = rows_of_steps(request.preset, bench)?;
        let least = *ROWS.start();
        bench.rows = vec![
            scaled("rows of l.i0", first, least),
            scaled("rows of l.i1", second, least),
            scaled("rows of l.i2", third, least),
        ];
    } else if !request.workload.is_empty() {
        let Some(factor) = &mut request.scale else {
            return Err(PlanError::Conflict(
                "`--scale` scales sizes of the study file, and the sizes of a workload are in its own files",
            ));
        };
        *factor = scaled("scale factor of the pgbench tables", *factor, *SCALE.start());
    } else if let Some((what, size)) = suite_facts(request.suite).own_size {
        let size = size(request);
        *size = scaled(what, *size, 1);
    } else {
        let usual = usual_rows(request.preset);
        for setup in &mut request.setups {
            setup.rows = Some(scaled("rows", setup.rows.unwrap_or(usual), *ROWS.start()));
        }
    }
    Ok(())
}

/// Merges setups that have become alike: a study file refuses repeated ones.
fn without_repeats(setups: Vec<SetupRequest>) -> Vec<SetupRequest> {
    let mut kept: Vec<SetupRequest> = Vec::with_capacity(setups.len());
    for setup in setups {
        let data = |it: &SetupRequest| (it.tables, it.rows, it.clients.is_some());
        let known = kept.iter_mut().find(|it| data(it) == data(&setup));
        match known.map(|known| &mut known.clients) {
            None => kept.push(setup),
            Some(None) => {}
            Some(Some(known)) => {
                let new = setup.clients.into_iter().flatten();
                let new: Vec<u32> = new.filter(|count| !known.contains(count)).collect();
                known.extend(new);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use assay_model::{Preset, Suite};

    use super::*;

    fn request(setups: &[(&[u32], u32, u32)]) -> Request {
        let setups = setups.iter().map(|(clients, tables, rows)| SetupRequest {
            clients: Some(clients.to_vec()),
            tables: Some(*tables),
            rows: Some(*rows),
        });
        let systems = ["mysql@8.0", "mysql@9.7"].map(str::to_owned);
        Request { setups: setups.collect(), ..Request::of_systems(&systems) }
    }

    fn setups(request: &Request) -> Vec<(Vec<u32>, u32, u32)> {
        let setups = request.setups.iter();
        let sizes =
            |it: &SetupRequest| (it.clients.clone().unwrap(), it.tables.unwrap(), it.rows.unwrap());
        setups.map(sizes).collect()
    }

    fn scaled_to(share: f64) -> SizeOverrides {
        SizeOverrides { scale: Some(share), ..SizeOverrides::default() }
    }

    #[test]
    fn sizes_replace_those_of_every_setup() {
        let file = request(&[(&[1, 4], 1, 20_000_000), (&[4], 4, 5_000_000)]);
        let sizes = SizeOverrides { rows: vec![50_000], ..SizeOverrides::default() };
        let (changed, notes) = sizes.in_request(file.clone()).unwrap();
        assert_eq!(setups(&changed), [(vec![1, 4], 1, 50_000), (vec![4], 4, 50_000)]);
        assert!(notes.is_empty());
        // Those that become alike are one.
        let sizes = SizeOverrides { tables: Some(2), ..sizes };
        let (changed, _) = sizes.in_request(file.clone()).unwrap();
        assert_eq!(setups(&changed), [(vec![1, 4], 2, 50_000)]);
        assert_eq!(crate::read_study("", &crate::write_study(&changed)), Ok(changed));
        assert_eq!(SizeOverrides::default().in_request(file.clone()), Ok((file, Vec::new())));
    }

    #[test]
    fn a_share_of_the_rows_is_rounded_and_never_too_small() {
        let file = request(&[(&[1], 8, 10_000_000), (&[1], 1, 20_000)]);
        let (changed, notes) = scaled_to(0.01).in_request(file).unwrap();
        assert_eq!(setups(&changed), [(vec![1], 8, 100_000), (vec![1], 1, 1000)]);
        assert_eq!(notes, ["rows: 10,000,000 → 100,000", "rows: 20,000 → 1,000"]);
        let mut published = Request::of_systems(&["mysql@8.0", "mysql@9.7"].map(str::to_owned));
        published.preset = Preset::Published;
        let (changed, _) = scaled_to(0.01).in_request(published.clone()).unwrap();
        assert_eq!(changed.setups[0].rows, Some(500_000));
        published.suite = Suite::Tpcc;
        published.tpcc.warehouses = 250;
        let (changed, notes) = scaled_to(0.01).in_request(published).unwrap();
        assert_eq!((changed.tpcc.warehouses, changed.setups[0].rows), (3, None));
        assert_eq!(notes, ["warehouses: 250 → 3"]);
    }

    #[test]
    fn steps_of_the_insert_benchmark_are_scaled_too() {
        let bench = InsertBenchRequest { io_bound: true, ..InsertBenchRequest::default() };
        let preset = Preset::Published;
        let file = Request { insert_bench: Some(bench), preset, ..request(&[(&[1], 1, 1000)]) };
        let rows = |sizes: SizeOverrides| {
            let (changed, _) = sizes.in_request(file.clone())?;
            Ok::<_, PlanError>(changed.insert_bench.unwrap().rows)
        };
        assert_eq!(rows(scaled_to(0.001)), Ok(vec![800_000, 4000, 1000]));
        let named = SizeOverrides { rows: vec![3000, 2000, 1000], ..SizeOverrides::default() };
        assert_eq!(rows(named), Ok(vec![3000, 2000, 1000]));
        let refused = [
            SizeOverrides { tables: Some(4), ..SizeOverrides::default() },
            SizeOverrides { clients: Some(vec![1, 4]), ..SizeOverrides::default() },
        ];
        assert!(refused.into_iter().all(|sizes| rows(sizes).is_err()));
    }

    #[test]
    fn sizes_that_a_file_does_not_have_are_refused() {
        let file = request(&[(&[1], 1, 1000)]);
        let several = SizeOverrides { rows: vec![3000, 2000, 1000], ..SizeOverrides::default() };
        assert!(several.in_request(file.clone()).is_err());
        let own = Request { workload: vec!["a.toml".to_owned()], ..file };
        assert!(scaled_to(0.5).in_request(own.clone()).is_err());
        let (changed, _) = scaled_to(0.5).in_request(Request { scale: Some(10), ..own }).unwrap();
        assert_eq!(changed.scale, Some(5));
    }
}
