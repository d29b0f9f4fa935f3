//! The counters of a slice as columns: each field of a counter struct under a prefix.

use assay_model::{HostCounters, ServerCounters, Slice, TaskCounters, WorkCounters};

/// A struct whose numbers are columns of the same names.
trait Counters {
    /// Calls `visit` with every name and number.
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64));
}

macro_rules! counters {
    ($type:ident: $($field:ident),+) => {
        impl Counters for $type {
            fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut u64)) {
                $(visit(stringify!($field), &mut self.$field);)+
            }
        }
    };
}

counters!(WorkCounters: events, read, write, other, bytes_sent, bytes_received, elapsed_ns,
    event_ns_sum);
counters!(TaskCounters: cpu_ns, user_ns, sys_ns, runq_ns, disk_wait_ns, context_switches);
counters!(ServerCounters: read_calls, read_bytes, write_calls, write_bytes);
counters!(HostCounters: busy_ns, steal_ns, other_ns, context_switches, device_reads,
    device_read_kb, device_writes, device_write_kb);

/// Calls `visit` with the column name and the place of every counter of a slice.
///
/// Writing and reading share this one list, so that no column can be taken for another.
pub(crate) fn visit_counters(slice: &mut Slice, mut visit: impl FnMut(&str, &mut u64)) {
    // `rows` is taken by the size of the tables.
    visit("rows_received", &mut slice.work.rows);
    let mut group = |prefix: &str, counters: &mut dyn Counters| {
        counters.visit(&mut |name, number| visit(&format!("{prefix}{name}"), number));
    };
    group("", &mut slice.work);
    group("client_", &mut slice.client.tasks);
    group("connection_", &mut slice.server.connections);
    group("background_", &mut slice.server.background);
    group("server_", &mut slice.server);
    group("host_", &mut slice.host);
}
