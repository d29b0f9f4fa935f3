//! `assay map add`: adds the counts of other folders, such as those of the shards of a fill, to a map.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_command::exit::Exit;
use assay_command::report::write_stdout;
use assay_map_data::{MapCell, agrees, instructions, merged};
use assay_model::{Product, counted, thousands};
use clap::Args;

use crate::fill::{folder, locked};
use crate::shipped::{
    VARIABLE, check_map, read_cells, read_functions_of, read_gaps, write_cells, write_gaps,
};

#[derive(Debug, Args)]
pub struct MapAdd {
    /// Folders with files of a map, such as those of the shards of `assay map fill`
    #[arg(required = true, value_name = "FOLDER")]
    pub from: Vec<PathBuf>,

    /// The folder to which they are added [default: `map`, if it is there]
    #[arg(long, value_name = "DIR", env = VARIABLE)]
    pub dir: Option<PathBuf>,
}

/// Numbers of cells of other folders.
#[derive(Debug, Default, PartialEq, Eq)]
struct MapAdditions {
    added: usize,
    /// Cells that the map has with another count.
    recounted: usize,
    /// Those of them whose counts agree.
    agreeing: usize,
}

pub(crate) fn add(args: &MapAdd) -> Result<Exit> {
    args.from.iter().try_for_each(|from| check_map(from))?;
    let folder = folder(args.dir.as_deref())?;
    let _lock = locked(&folder)?;
    let mut additions = MapAdditions::default();
    for from in &args.from {
        for product in Product::ALL {
            add_cells(&folder, from, product, &mut additions)?;
        }
        let own = read_gaps(Some(&folder))?;
        let gaps = merged(read_gaps(Some(from))?, own.clone());
        if gaps != own {
            write_gaps(&folder, &gaps)?;
        }
    }
    write_stdout(&additions.words())?;
    let is_in_doubt = additions.agreeing < additions.recounted;
    Ok(if is_in_doubt { Exit::LimitExceeded } else { Exit::Done })
}

/// What the map has stays.
fn add_cells(
    folder: &Path,
    from: &Path,
    product: Product,
    additions: &mut MapAdditions,
) -> Result<()> {
    let (own, others) = (read_cells(Some(folder), product)?, read_cells(Some(from), product)?);
    let known: BTreeMap<String, &MapCell> = own.iter().map(|cell| (cell.key(), cell)).collect();
    let mut added = BTreeSet::new();
    for other in &others {
        match known.get(&other.key()) {
            None => {
                added.insert(other.key());
            }
            Some(cell) if *cell == other => {}
            Some(cell) => {
                additions.recounted += 1;
                additions.agreeing += usize::from(agrees(cell, instructions(other)));
            }
        }
    }
    if added.is_empty() {
        return Ok(());
    }
    additions.added += added.len();
    let mut functions = read_functions_of(Some(folder), product, None)?;
    functions.extend(read_functions_of(Some(from), product, Some(&added))?);
    write_cells(folder, product, &merged(others, own), &functions)
}

impl MapAdditions {
    fn words(&self) -> String {
        let Self { added, recounted, agreeing } = *self;
        let mut words = format!("{} added\n", counted(added as u64, "count"));
        if recounted > 0 {
            let (all, agreeing) = (counted(recounted as u64, "count"), thousands(agreeing as u64));
            words += &format!("already in the map: {all}, of which {agreeing} agreed\n");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use assay_map_data::read_rows;

    use super::*;

    const HEADINGS: &str = "product,version,source,program,test,digest,terms,instructions,\
         half_width,background,times,counter,shown\n";

    #[test]
    fn a_shard_is_added_and_counts_stay() {
        let (map, shard) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &Path, rows: &[(&str, u32)]| {
            let row = |(version, level): &(&str, u32)| {
                format!(
                    "mysql,{version},maven,0a,scan,d1,lean,{level}.0,4.0,,2,valgrind 3.19.0,avx2\n"
                )
            };
            let rows: String = rows.iter().map(row).collect();
            fs_err::write(folder.join("mysql.csv"), HEADINGS.to_owned() + &rows).unwrap();
        };
        write(map.path(), &[("8.0.11", 40_000), ("8.0.12", 50_000), ("8.0.13", 50_000)]);
        let shard_rows =
            [("8.0.11", 40_000), ("8.0.12", 50_010), ("8.0.13", 60_000), ("8.0.14", 1)];
        write(shard.path(), &shard_rows);
        let mut additions = MapAdditions::default();
        add_cells(map.path(), shard.path(), Product::MySql, &mut additions).unwrap();
        assert_eq!(additions, MapAdditions { added: 1, recounted: 2, agreeing: 1 });
        let text = fs_err::read_to_string(map.path().join("mysql.csv")).unwrap();
        let cells: Vec<MapCell> = read_rows("mysql.csv", &text).unwrap();
        let levels: Vec<f64> = cells.iter().map(|cell| cell.instructions).collect();
        assert_eq!(levels, [40_000.0, 50_000.0, 50_000.0, 1.0]);
        // Nothing changes the second time.
        let mut again = MapAdditions::default();
        add_cells(map.path(), shard.path(), Product::MySql, &mut again).unwrap();
        assert_eq!(again, MapAdditions { added: 0, recounted: 2, agreeing: 1 });
    }
}
