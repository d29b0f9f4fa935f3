//! The request and the command that count what another request times.

use assay_model::{Counting, JudgedFigures, Preset};

use crate::request::Request;
use crate::study_file::write_study;

/// The request that counts the tests of another one instead of timing them; `None` where they cannot be counted. A
/// count has one client.
fn counted_request(request: &Request) -> Option<Request> {
    let is_countable = request.insert_bench.is_none()
        && request.preset != Preset::Published
        && !request.has_running_servers();
    let untimed = request.clone().untimed();
    let mut counted = Request { count: Counting::Only, threshold: None, ..untimed };
    counted.setups.iter_mut().for_each(|setup| setup.clients = None);
    counted.setups.dedup();
    is_countable.then_some(counted)
}

impl Request {
    /// Without the options that have a meaning only where time is measured.
    pub(crate) fn untimed(self) -> Self {
        Self {
            judge: JudgedFigures::default(),
            budget_s: None,
            twin: None,
            slice_s: None,
            write_slice_s: None,
            turn_s: None,
            blocks: None,
            rounds: None,
            placement: None,
            server_cpus: None,
            client_cpus: None,
            priority: None,
            ..self.without_looks()
        }
    }
}

/// The command that counts what a request times; `None` where it cannot be counted or is counted anyway, and where one
/// line cannot say it.
pub fn count_command(request: &Request) -> Option<String> {
    if request.count != Counting::None {
        return None;
    }
    let text = write_study(&counted_request(request)?);
    let command = text.lines().next()?.strip_prefix("# ")?;
    command.starts_with("assay count ").then(|| command.to_owned())
}

#[cfg(test)]
mod tests {
    use assay_model::{Experiment, Study};

    use super::*;
    use crate::{MachineFacts, plan, request_of};

    fn planned(request: &Request) -> Study {
        let machine =
            MachineFacts { cpus: 2, memory_mb: 256_000, disk_mb: 500_000, realtime: None };
        plan(request, machine).unwrap().study
    }

    fn request() -> Request {
        Request::of_systems(&["mariadb@10.11".to_owned(), "mariadb@11.8".to_owned()])
    }

    #[test]
    fn a_count_asks_for_nothing_that_needs_time() {
        let timed = Request { budget_s: Some(60.0), twin: Some(true), ..request() };
        let study = planned(&timed);
        let command = study.count_command.as_deref();
        assert_eq!(command, Some("assay count mariadb@10.11 mariadb@11.8"));
        let counted = counted_request(&request_of(&study).unwrap()).unwrap();
        assert_eq!(planned(&counted).experiment, Experiment::Counted);
        // Two reads on one data set, with two client counts.
        let mut several = request();
        several.tests = vec!["scan".to_owned(), "point-query".to_owned()];
        several.setups[0].clients = Some(vec![1, 2]);
        let several = planned(&several);
        assert_eq!((several.cells.len(), several.counting_s(2)), (4, 80.0));
        let running = "mysql://root@127.0.0.1:3306/sbtest".to_owned();
        assert_eq!(counted_request(&Request::of_systems(&[running])), None);
    }
}
