//! The counters of a slice as columns. A column has the name of a field of a counter struct, after the prefix of the
//! group. If a group was not measured, its columns are NULL.

use assay_model::{
    DeviceCounters, HostCounters, ServerCounters, Slice, TaskCounters, WorkCounters,
};

/// A struct whose numbers are columns of the same names.
trait Counters {
    /// Calls `visit` with the name and the value of every counter that is known.
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64));
}

macro_rules! counters {
    ($type:ident: $($field:ident),+ $(; if known $($optional:ident),+)?) => {
        impl Counters for $type {
            fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64)) {
                $(visit(stringify!($field), &mut self.$field);)+
                $($(if let Some(number) = &mut self.$optional {
                    visit(stringify!($optional), number);
                })+)?
            }
        }
    };
}

counters!(WorkCounters: events, read, write, other, bytes_sent, bytes_received, elapsed_ns,
    event_ns_sum);
counters!(TaskCounters: cpu_ns, user_ns, sys_ns, runq_ns, context_switches; if known disk_wait_ns);
counters!(ServerCounters: read_calls, read_bytes, write_calls, write_bytes);
counters!(HostCounters: busy_ns, steal_ns, context_switches; if known other_ns);
counters!(DeviceCounters: reads, read_kb, writes, write_kb);

/// Adds zeroed groups and counters to a slice for the columns that are not NULL in its row, according to `has`.
pub(crate) fn make_room<E>(
    slice: &mut Slice,
    mut has: impl FnMut(&str) -> Result<bool, E>,
) -> Result<(), E> {
    let mut tasks = |prefix: &str| -> Result<TaskCounters, E> {
        let disk_wait_ns = has(&format!("{prefix}disk_wait_ns"))?.then_some(0);
        Ok(TaskCounters { disk_wait_ns, ..TaskCounters::default() })
    };
    let [client, connections, background] =
        [tasks("client_")?, tasks("connection_")?, tasks("background_")?];
    slice.client = has("client_cpu_ns")?.then_some(assay_model::ClientCounters { tasks: client });
    slice.server = has("connection_cpu_ns")?.then_some(ServerCounters {
        connections,
        background,
        ..ServerCounters::default()
    });
    let other_ns = has("host_other_ns")?.then_some(0);
    let device = has("host_device_reads")?.then(DeviceCounters::default);
    slice.host = has("host_busy_ns")?.then_some(HostCounters {
        other_ns,
        device,
        ..HostCounters::default()
    });
    Ok(())
}

/// Calls `visit` with the column name and the value of every counter of a slice.
///
/// Writing and reading share this list, so that they cannot confuse columns.
pub(crate) fn visit_counters(slice: &mut Slice, mut visit: impl FnMut(&str, &mut u64)) {
    // The column `rows` holds the size of the tables.
    visit("rows_received", &mut slice.work.rows);
    let mut group = |prefix: &str, counters: &mut dyn Counters| {
        counters.visit(&mut |name, number| visit(&format!("{prefix}{name}"), number));
    };
    group("", &mut slice.work);
    if let Some(client) = &mut slice.client {
        group("client_", &mut client.tasks);
    }
    if let Some(server) = &mut slice.server {
        group("connection_", &mut server.connections);
        group("background_", &mut server.background);
        group("server_", server);
    }
    if let Some(host) = &mut slice.host {
        group("host_", host);
        if let Some(device) = &mut host.device {
            group("host_device_", device);
        }
    }
}
