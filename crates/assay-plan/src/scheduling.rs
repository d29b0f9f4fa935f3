//! CPUs and priority of clients and servers in each cell.

use assay_model::{
    Class, CpuLists, CpuPlacement, Experiment, Priority, RealtimeAccess, Setup, Study, Test,
    counted,
};

use crate::error::{PlanError, PlanResult};
use crate::fits::MachineFacts;
use crate::participants::PlannedSystem;
use crate::request::Request;

pub(crate) struct CellScheduling {
    placement: Option<CpuPlacement>,
    /// Whether the user names the CPUs of clients or servers.
    has_lists: bool,
    experiment: Experiment,
    /// Whether a system's connections share threads, which then cannot be pinned per connection.
    is_pooled: bool,
    /// Whether cells that leave a CPU to other processes run at real-time priority.
    is_realtime: bool,
    cpus: u32,
}

impl CellScheduling {
    /// Fails if the user requested real-time priority, but this user or a system cannot have it, or a placement beside
    /// lists of CPUs.
    pub(crate) fn new(
        request: &Request,
        experiment: Experiment,
        systems: &[PlannedSystem],
        is_pooled: bool,
        machine: MachineFacts,
    ) -> PlanResult<Self> {
        let lists = request.cpu_lists();
        let is_pinned = request.placement.is_some_and(|placement| placement != CpuPlacement::Free);
        if is_pinned && lists.is_any() {
            return Err(PlanError::Conflict(
                "`--placement` puts a client on the CPU of the thread that serves it, which lists of CPUs do not: \
                 leave it out, or say `free`",
            ));
        }
        let is_permitted = machine.realtime == Some(RealtimeAccess::Permitted);
        let attached = systems.iter().find(|system| system.url.is_some());
        if request.priority == Some(Priority::Realtime) {
            if let Some(system) = attached {
                let why = "the priority of a running server is not assay's to change";
                return Err(PlanError::cannot_take_part(&system.name, why));
            }
            if !is_permitted {
                return Err(PlanError::Realtime(machine.realtime));
            }
        }
        // The posts measured at normal priority.
        let usual = match experiment {
            Experiment::Interleaved | Experiment::Stepwise => Priority::Realtime,
            Experiment::Sequential | Experiment::Consecutive | Experiment::Counted => {
                Priority::Normal
            }
        };
        let wanted = request.priority.unwrap_or(usual);
        let is_possible =
            is_permitted && attached.is_none() && lists_leave_a_cpu(&lists, machine.cpus);
        Ok(Self {
            placement: request.placement,
            has_lists: lists.is_any(),
            experiment,
            is_pooled,
            is_realtime: is_possible && wanted == Priority::Realtime,
            cpus: machine.cpus,
        })
    }

    pub(crate) fn of_cell(&self, test: Test, setup: Setup) -> (CpuPlacement, Priority) {
        let placement = self.placement.unwrap_or_else(|| self.default_placement(test, setup));
        if self.is_realtime && leaves_a_cpu(placement, setup.clients, self.cpus) {
            return (placement, Priority::Realtime);
        }
        (placement, Priority::Normal)
    }

    fn default_placement(&self, test: Test, setup: Setup) -> CpuPlacement {
        // The posts pinned nothing.
        if self.has_lists || self.experiment != Experiment::Interleaved {
            return CpuPlacement::Free;
        }
        let usual = default_placement(test, setup, self.cpus);
        let needs_more = !leaves_a_cpu(usual, setup.clients, self.cpus);
        if self.is_realtime && needs_more && leaves_a_cpu(CpuPlacement::OneCpu, 1, self.cpus) {
            // The background threads of a single client's server can share its CPU.
            if setup.clients == 1 {
                return CpuPlacement::OneCpu;
            }
        }
        if self.is_pooled && pins_connections(usual) { CpuPlacement::Free } else { usual }
    }
}

/// Note on tests at normal priority although this machine permits the higher one; `None` without such tests, or if
/// requested.
pub fn without_realtime(request: &Request, study: &Study, machine: MachineFacts) -> Option<String> {
    let is_usual = matches!(study.experiment, Experiment::Interleaved | Experiment::Stepwise);
    let asked = request.priority.or(is_usual.then_some(Priority::Realtime))?;
    if machine.realtime != Some(RealtimeAccess::Permitted)
        || asked == Priority::Normal
        || request.has_running_servers()
    {
        return None;
    }
    let normal = study.cells.iter().filter(|cell| cell.priority == Priority::Normal).count();
    let which = match normal {
        0 => return None,
        all if all == study.cells.len() => "the tests run".to_owned(),
        some => format!("{some} of {} tests run", study.cells.len()),
    };
    let lists = request.cpu_lists();
    let why = if !lists_leave_a_cpu(&lists, machine.cpus) {
        "`--server-cpus` and `--client-cpus` leave no CPU to other programs, which real-time priority needs".to_owned()
    } else if lists.is_any() {
        "at real-time priority, clients and servers would take the listed CPUs from each other"
            .to_owned()
    } else {
        let cpus = counted(u64::from(machine.cpus), "CPU");
        format!("of the {cpus}, real-time priority would leave none to other programs")
    };
    Some(format!("{which} at normal priority: {why}"))
}

/// Lists of which one is left out take all CPUs.
fn lists_leave_a_cpu(lists: &CpuLists, cpus: u32) -> bool {
    lists.used().map_or(!lists.is_any(), |used| used.len() < cpus as usize)
}

/// Whether clients and servers of this placement can be kept off one CPU, which is then left to other processes.
fn leaves_a_cpu(placement: CpuPlacement, clients: u32, cpus: u32) -> bool {
    match placement {
        CpuPlacement::OneCpu => cpus > 1,
        // One CPU for each client, at least one for background threads, and one for other processes.
        CpuPlacement::ConnectionsOnOneCpu => cpus > 2,
        CpuPlacement::Pairs | CpuPlacement::Free => cpus > 2 && clients < cpus,
    }
}

/// A connection across two CPUs would measure the wake-up of an idle CPU, so a client shares a CPU with the thread that
/// serves it, and a single reading client with its whole server. If every client has a CPU, kernel placement of clients
/// and threads would determine the result. More clients than CPUs leave no CPU idle.
fn default_placement(test: Test, setup: Setup, cpus: u32) -> CpuPlacement {
    match (setup.clients, test.class) {
        (1, Class::Read) => CpuPlacement::OneCpu,
        (1, Class::Write) => CpuPlacement::ConnectionsOnOneCpu,
        (clients, _) if clients <= cpus => CpuPlacement::Pairs,
        _ => CpuPlacement::Free,
    }
}

pub(crate) fn pins_connections(placement: CpuPlacement) -> bool {
    matches!(placement, CpuPlacement::ConnectionsOnOneCpu | CpuPlacement::Pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemRequest, plan};

    fn machine(cpus: u32, realtime: RealtimeAccess) -> MachineFacts {
        let (memory_mb, disk_mb) = (16_000, 50_000);
        MachineFacts { cpus, memory_mb, disk_mb, realtime: Some(realtime) }
    }

    fn request(clients: &[u32]) -> Request {
        let words = ["mariadb@10.11", "mariadb@11.8"].map(str::to_owned);
        let mut request = Request::of_systems(&words);
        request.setups[0].clients = Some(clients.to_vec());
        request.tests = vec!["point-query".to_owned(), "insert".to_owned()];
        request
    }

    fn cells(request: &Request, machine: MachineFacts) -> Vec<(CpuPlacement, Priority)> {
        let cells = plan(request, machine).unwrap().study.cells;
        cells.iter().map(|cell| (cell.placement, cell.priority)).collect()
    }

    use CpuPlacement::{ConnectionsOnOneCpu, Free, OneCpu, Pairs};
    use Priority::{Normal, Realtime};
    use RealtimeAccess::{Limit, Permitted};

    #[test]
    fn one_cpu_stays_free() {
        let asked = request(&[1, 2, 4, 5]);
        let read_and_write = |read, others: [(CpuPlacement, Priority); 3], write| {
            let mut cells = vec![read];
            cells.extend(others);
            cells.push(write);
            cells.extend(others);
            cells
        };
        let several = |pairs, free| [pairs, free, free];
        assert_eq!(
            cells(&asked, machine(1, Permitted)),
            read_and_write(
                (OneCpu, Normal),
                several((Free, Normal), (Free, Normal)),
                (ConnectionsOnOneCpu, Normal)
            )
        );
        assert_eq!(
            cells(&asked, machine(2, Permitted)),
            read_and_write(
                (OneCpu, Realtime),
                several((Pairs, Normal), (Free, Normal)),
                (OneCpu, Realtime)
            )
        );
        assert_eq!(
            cells(&asked, machine(4, Permitted)),
            read_and_write(
                (OneCpu, Realtime),
                [(Pairs, Realtime), (Pairs, Normal), (Free, Normal)],
                (ConnectionsOnOneCpu, Realtime)
            )
        );
        let forbidden = cells(&asked, machine(4, Limit));
        assert!(forbidden.iter().all(|(_, priority)| *priority == Normal), "{forbidden:?}");
    }

    #[test]
    fn a_placement_that_takes_every_cpu_is_measured_at_normal_priority() {
        let asked = |placement| Request { placement: Some(placement), ..request(&[1]) };
        for (placement, cpus, priority) in [
            (OneCpu, 2, Realtime),
            (ConnectionsOnOneCpu, 2, Normal),
            (Free, 2, Normal),
            (Pairs, 2, Normal),
            (ConnectionsOnOneCpu, 3, Realtime),
            (Free, 3, Realtime),
        ] {
            let (asked, machine) = (asked(placement), machine(cpus, Permitted));
            let cells = cells(&asked, machine);
            assert_eq!(cells, [(placement, priority); 2], "{placement:?} on {cpus}");
            let study = plan(&asked, machine).unwrap().study;
            let message = without_realtime(&asked, &study, machine);
            assert_eq!(
                message.is_some(),
                priority == Normal,
                "{placement:?} on {cpus}: {message:?}"
            );
            let content = Request { priority: Some(Normal), ..asked };
            assert_eq!(without_realtime(&content, &study, machine), None);
        }
    }

    #[test]
    fn normal_priority_is_kept_where_it_is_asked_for_or_belongs_to_the_experiment() {
        let normal = Request { priority: Some(Normal), ..request(&[1]) };
        let published = Request { preset: assay_model::Preset::Published, ..request(&[1]) };
        for request in [normal, published] {
            let large =
                MachineFacts { memory_mb: 64_000, disk_mb: 2_000_000, ..machine(4, Permitted) };
            assert!(cells(&request, large).iter().all(|(_, priority)| *priority == Normal));
        }
        let attached = Request {
            systems: vec![
                SystemRequest::parse("mysql://a@h/db"),
                SystemRequest::parse("mariadb@11.8"),
            ],
            ..request(&[1])
        };
        assert_eq!(cells(&attached, machine(4, Permitted)), [(Free, Normal); 2]);
    }

    #[test]
    fn what_cannot_be_had_is_refused_where_it_is_asked_for() {
        let asked = Request { priority: Some(Realtime), ..request(&[1]) };
        assert!(cells(&asked, machine(2, Permitted)).iter().all(|it| it.1 == Realtime));
        let refused = plan(&asked, machine(2, Limit)).unwrap_err();
        assert_eq!(refused, PlanError::Realtime(Some(Limit)));
        use assay_model::Hint as _;
        assert!(
            refused.hints().iter().any(|hint| hint.contains("prlimit")),
            "{:?}",
            refused.hints()
        );
        let mut attached = asked;
        attached.systems[1] = SystemRequest::parse("mysql://a@h/db");
        assert!(matches!(
            plan(&attached, machine(4, Permitted)),
            Err(PlanError::CannotTakePart { .. })
        ));
    }

    #[test]
    fn nothing_is_pinned_where_cpus_are_named_and_one_must_stay_free_for_real_time_priority() {
        let asked = |servers: &str, clients: Option<&str>| Request {
            server_cpus: Some(servers.to_owned()),
            client_cpus: clients.map(str::to_owned),
            ..request(&[1])
        };
        for (servers, clients, priority) in [
            ("0-1", Some("2"), Realtime),
            ("0-1", Some("1-2"), Realtime),
            ("0-1", Some("2-3"), Normal),
            ("0-1", None, Normal),
        ] {
            let cells = cells(&asked(servers, clients), machine(4, Permitted));
            assert_eq!(cells, [(Free, priority); 2], "{servers} {clients:?}");
        }
        let four = machine(4, Permitted);
        let note = |clients: &[u32], server_cpus: Option<&str>| {
            let server_cpus = server_cpus.map(str::to_owned);
            let client_cpus = server_cpus.is_some().then(|| "2".to_owned());
            let asked = Request { server_cpus, client_cpus, ..request(clients) };
            without_realtime(&asked, &plan(&asked, four).unwrap().study, four).unwrap_or_default()
        };
        assert_eq!(note(&[1], Some("0-1")), "");
        assert!(note(&[1], Some("0-1,3")).contains("`--client-cpus` leave no CPU"));
        assert!(note(&[4], Some("0-1")).contains("take the listed CPUs"));
        assert!(note(&[4], None).contains("of the 4 CPUs"));
        let pinned = Request { placement: Some(Pairs), ..asked("0", Some("1")) };
        assert!(matches!(plan(&pinned, machine(4, Permitted)), Err(PlanError::Conflict(_))));
        let insert_bench = Some(crate::InsertBenchRequest::default());
        let steps = Request { insert_bench, tests: Vec::new(), ..pinned };
        assert!(matches!(plan(&steps, machine(4, Permitted)), Err(PlanError::Conflict(_))));
        let mut attached = asked("0", None);
        attached.systems[1] = SystemRequest::parse("mysql://a@h/db");
        let refused = plan(&attached, machine(4, Permitted));
        assert!(matches!(refused, Err(PlanError::CannotTakePart { .. })), "{refused:?}");
    }

    #[test]
    fn the_insert_benchmark_needs_a_third_cpu() {
        let insert_bench = Some(crate::InsertBenchRequest::default());
        let bench = Request { insert_bench, tests: Vec::new(), ..request(&[1]) };
        let has = |cpus| {
            let large =
                MachineFacts { memory_mb: 1 << 20, disk_mb: 1 << 24, ..machine(cpus, Permitted) };
            plan(&bench, large).unwrap().study.cells[0].priority
        };
        assert_eq!([has(2), has(3)], [Normal, Realtime]);
    }
}
