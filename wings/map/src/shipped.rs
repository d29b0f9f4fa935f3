//! The files of the map: those in the program, or those of a folder. Two for each product, its cells and, compressed,
//! their functions; and one with the gaps of all.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use assay_map_data::{
    CellFunctions, CountMap, MapCell, MapGap, MapRow, functions_text, read_functions, read_rows,
    rows_text,
};
use assay_model::Product;
use assay_run::{paths, whole_file};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Names a folder with the files of a newer map than that of the program.
pub const VARIABLE: &str = "ASSAY_MAP";

macro_rules! shipped {
    ($($file:literal),+) => {
        &[$(($file, include_bytes!(concat!("../../../map/", $file)))),+]
    };
}

/// Names and contents of the files in the program.
const SHIPPED: &[(&str, &[u8])] = shipped!(
    "gaps.csv",
    "mariadb.csv",
    "mariadb.functions.gz",
    "mysql.csv",
    "mysql.functions.gz",
    "postgres.csv",
    "postgres.functions.gz"
);

const GAPS_FILE: &str = "gaps.csv";

const FOLDER: &str =
    "name a folder with files such as `mysql.csv`, like `map` in the repository of assay";

/// Most bytes of a file, decompressed.
const BYTES_MAX: u64 = 1 << 28;

/// The folder that the environment names.
pub(crate) fn folder_of_environment() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

fn cells_file(product: Product) -> String {
    format!("{product}.csv")
}

fn functions_file(product: Product) -> String {
    format!("{product}.functions.gz")
}

/// Whether a folder has a file of the map.
pub(crate) fn is_map(folder: &Path) -> bool {
    Product::ALL.into_iter().any(|product| folder.join(cells_file(product)).is_file())
}

pub(crate) fn check_map(folder: &Path) -> Result<()> {
    paths::check_there(folder, FOLDER)?;
    ensure!(is_map(folder), "`{}` has no files of the map; {FOLDER}", folder.display());
    Ok(())
}

/// The map of a folder, or that of the program.
pub fn read(folder: Option<&Path>) -> Result<CountMap> {
    folder.map_or(Ok(()), check_map)?;
    let mut cells = Vec::new();
    for product in Product::ALL {
        cells.extend(read_cells(folder, product)?);
    }
    Ok(CountMap::new(cells, read_gaps(folder)?))
}

/// The cells of a product; none without a file.
pub(crate) fn read_cells(folder: Option<&Path>, product: Product) -> Result<Vec<MapCell>> {
    let file = cells_file(product);
    let cells: Vec<MapCell> = read_file(folder, &file)?;
    if let Some(other) = cells.iter().find(|cell| cell.product != product) {
        let path = folder.unwrap_or(Path::new("map")).join(&file);
        bail!("`{}` has a row of {}, another product", path.display(), other.product);
    }
    Ok(cells)
}

pub(crate) fn read_gaps(folder: Option<&Path>) -> Result<Vec<MapGap>> {
    read_file(folder, GAPS_FILE)
}

fn read_file<R: MapRow>(folder: Option<&Path>, file: &str) -> Result<Vec<R>> {
    let Some((name, bytes)) = content(folder, file)? else { return Ok(Vec::new()) };
    Ok(read_rows(&name, &text(&name, &*bytes)?)?)
}

/// The functions of the cells with these keys, or of all.
pub fn read_functions_of(
    folder: Option<&Path>,
    product: Product,
    wanted: Option<&BTreeSet<String>>,
) -> Result<CellFunctions> {
    let Some((name, bytes)) = content(folder, &functions_file(product))? else {
        return Ok(CellFunctions::new());
    };
    let text = text(&name, MultiGzDecoder::new(&*bytes))?;
    Ok(read_functions(&name, &text, |key| wanted.is_none_or(|wanted| wanted.contains(key)))?)
}

/// The path of a file and its bytes, as far as they may be text; `None` without a regular file.
fn content(folder: Option<&Path>, file: &str) -> Result<Option<(String, Cow<'static, [u8]>)>> {
    let Some(folder) = folder else {
        let shipped = SHIPPED.iter().find(|(name, _)| *name == file);
        return Ok(shipped.map(|(name, bytes)| (format!("map/{name}"), Cow::Borrowed(*bytes))));
    };
    let path = folder.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    fs_err::File::open(&path)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some((path.display().to_string(), Cow::Owned(bytes))))
}

fn text(name: &str, from: impl Read) -> Result<String> {
    let mut text = String::new();
    let read = from.take(BYTES_MAX).read_to_string(&mut text);
    read.with_context(|| format!("cannot read `{name}`"))?;
    check_size(name, &text)?;
    Ok(text)
}

/// A larger file could not be read again.
fn check_size(name: &str, text: &str) -> Result<()> {
    ensure!((text.len() as u64) < BYTES_MAX, "`{name}` has {BYTES_MAX} bytes or more");
    Ok(())
}

/// Replaces the files of a product. Each is whole at any time, and a cell without functions is no fault, so the
/// functions come first.
pub(crate) fn write_cells(
    folder: &Path,
    product: Product,
    cells: &[MapCell],
    functions: &CellFunctions,
) -> Result<()> {
    let (cells, functions) = (rows_text(cells), functions_text(functions));
    check_size(&functions_file(product), &functions)?;
    check_size(&cells_file(product), &cells)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(functions.as_bytes())?;
    put(&folder.join(functions_file(product)), &encoder.finish()?)?;
    put(&folder.join(cells_file(product)), cells.as_bytes())
}

pub(crate) fn write_gaps(folder: &Path, gaps: &[MapGap]) -> Result<()> {
    let gaps = rows_text(gaps);
    check_size(GAPS_FILE, &gaps)?;
    put(&folder.join(GAPS_FILE), gaps.as_bytes())
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    whole_file::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use assay_map_data::MapFunction;

    use super::*;

    #[test]
    fn every_product_has_files_and_these_can_be_read() {
        let map = read(None).unwrap();
        for product in Product::ALL {
            for file in [cells_file(product), functions_file(product)] {
                assert!(content(None, &file).unwrap().is_some(), "{file}");
            }
            let functions = read_functions_of(None, product, None).unwrap();
            let keys: BTreeSet<String> = map.cells().iter().map(MapCell::key).collect();
            assert!(functions.keys().all(|key| keys.contains(key)), "{product}");
        }
    }

    #[test]
    fn files_are_written_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(read(Some(folder)).unwrap_err().to_string().contains("no files of the map"));
        let text = "product,version,source,program,test,digest,terms,instructions,half_width,\
                    background,times,counter,shown\n\
                    mysql,8.0.9,maven,0a,scan,d1,lean,40000.0,4.0,,2,valgrind 3.19.0,avx2\n";
        let cells: Vec<MapCell> = read_rows("x", text).unwrap();
        let function =
            MapFunction { instructions: 7.5, module: "mysqld".into(), name: "main".into() };
        let functions = CellFunctions::from([(cells[0].key(), vec![function])]);
        let product = cells[0].product;
        write_cells(folder, product, &cells, &functions).unwrap();
        assert_eq!(read(Some(folder)).unwrap().cells(), cells);
        assert_eq!(read_functions_of(Some(folder), product, None).unwrap(), functions);
        let none = read_functions_of(Some(folder), product, Some(&BTreeSet::new())).unwrap();
        assert!(none.is_empty());
        assert_eq!(fs_err::read_to_string(folder.join("mysql.csv")).unwrap(), text);
        fs_err::write(folder.join("postgres.csv"), text).unwrap();
        let error = read(Some(folder)).unwrap_err().to_string();
        assert!(error.contains("has a row of mysql, another product"), "{error}");
    }
}
