//! Creates empty data directories.

use std::path::Path;
use std::time::Duration;

use assay_model::Prefix;
use fs_err as fs;

use crate::error::Error;
use crate::server_log::log_tail;
use crate::site::Site;
use crate::sparse::free_zeros;
use crate::supervise::{Ending, Sandbox, unique_name};
use crate::{products, refused};

pub const UNFINISHED: &str = ".new-";

/// Time limit of the server program, which usually takes seconds.
const LIMIT: Duration = Duration::from_secs(180);

/// Creates an empty data directory at `target`, with the user `root` and no password, usable as a template. `options`
/// are those of the servers that will run on it. Nothing is left after a failure.
pub fn initialize(
    site: &Site,
    prefix: &Prefix,
    options: &[String],
    target: &Path,
) -> Result<(), Error> {
    let servers = products::of(prefix.product)?;
    let name = unique_name();
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent)?;
    // Next to the target, so that one rename puts it there complete.
    let unfinished = parent.join(format!("{UNFINISHED}{name}"));
    let mut sandbox = Sandbox::new(site, &name, vec![unfinished.clone()])?;
    let run_dir = sandbox.run_dir();
    let job = servers.initialize(prefix, &unfinished, run_dir, options)?;
    let log = job.log.clone();
    sandbox.run(job)?;
    match sandbox.ended_within(LIMIT)? {
        Some(Ending::Code(0)) => {
            free_zeros(&unfinished, &site.stop)?;
            sandbox.shelter()?;
            Ok(fs::rename(&unfinished, target)?)
        }
        Some(ending) => {
            let error = Error::Initialize { ending, log: log_tail(&log) };
            Err(refused::explained(&mut sandbox, prefix, error))
        }
        None => Err(Error::NoStop { limit: LIMIT, log: log_tail(&log) }),
    }
}
