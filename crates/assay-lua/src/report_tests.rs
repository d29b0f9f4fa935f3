//! Tests of scripts' reports.

use super::*;

#[test]
fn a_script_makes_reports_and_histograms() {
    let text = "function event()
          local h = sysbench.histogram.new(1000, 1, 10)
          for _, v in ipairs({ 1, 2, 0, 10, 100, 5.001 }) do h:update(v) end
          h:print()
        end
        sysbench.hooks.report_intermediate = sysbench.report_default
        sysbench.hooks.report_cumulative = sysbench.report_csv";
    let engine = read(text, &[]).unwrap();
    let mut client = RecordingClient::default();
    engine.event(&mut client, 0, 0).unwrap();
    let bar = |n: usize| format!("{:<40}", "*".repeat(n));
    assert_eq!(
        engine.take_said(),
        format!(
            "       value  ------------- distribution ------------- count\n       1.000 |{} 2\n       \
             2.001 |{} 1\n       4.997 |{} 1\n      10.000 |{} 2\n",
            bar(40),
            bar(20),
            bar(20),
            bar(40)
        )
    );
    let stat = [
        ("time_total", 4.0),
        ("time_interval", 2.0),
        ("threads_running", 3.0),
        ("events", 10.0),
        ("reads", 20.0),
        ("writes", 5.0),
        ("other", 4.0),
        ("errors", 1.0),
        ("reconnects", 0.0),
        ("latency_pct", 0.0125),
    ];
    assert!(engine.has_hook("report_cumulative").unwrap());
    engine.report(&mut client, "report_intermediate", &stat).unwrap();
    engine.report(&mut client, "report_cumulative", &stat).unwrap();
    assert_eq!(
        engine.take_said(),
        "[ 4s ] thds: 3 tps: 5.00 qps: 14.50 (r/w/o: 10.00/2.50/2.00) lat (ms,95%): 12.50 err/s 0.50 \
         reconn/s: 0.00\n4,3,5.00,14.50,10.00,2.50,2.00,12.50,0.50,0.00\n"
    );
}

#[test]
fn reports_in_json_are_documents_of_their_own() {
    let text = "function event() end
        sysbench.hooks.report_intermediate = sysbench.report_json
        sysbench.hooks.report_cumulative = sysbench.report_json";
    let engine = read(text, &[]).unwrap();
    let mut client = RecordingClient::default();
    let names = ["events", "reads", "writes", "other", "errors", "reconnects", "latency_pct"];
    let mut stat: Vec<_> = names.iter().map(|name| (*name, 1.0)).collect();
    stat.extend([("time_total", 4.0), ("time_interval", 2.0), ("threads_running", 3.0)]);
    let mut message = |hook| {
        engine.report(&mut client, hook, &stat).unwrap();
        let said = engine.take_said();
        assert!(said.ends_with('\n'), "{said}");
        said
    };
    let all = message("report_intermediate")
        + &message("report_intermediate")
        + &message("report_cumulative");
    let (intervals, whole) = all.split_once("\n]\n").unwrap();
    assert!(intervals.starts_with("[\n  {\n    \"time\":    4,\n"), "{all}");
    assert_eq!(intervals.matches("\n  },\n  {\n").count(), 1, "{all}");
    assert!(intervals.ends_with("\n  }") && whole.starts_with("[\n  {\n"), "{all}");
    assert!(whole.ends_with("\n  }\n]\n") && !whole.contains("\n  },\n"), "{all}");
}
