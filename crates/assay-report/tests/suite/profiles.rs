//! Profiles on a page: the same functions in drawings and tables, and their limits.

use assay_model::{
    CallNode, CallTree, CellProfile, ProcessorPart, Profile, ProfileLimits, StackFrame,
    StudyRecord, Waits,
};
use assay_report::{Format, TextOptions, render};
use assay_verdict::judge;

use crate::common::record;

/// `run` calls each of these functions, with its number of samples.
fn tree(server: &str, functions: &[(&str, u64)]) -> CallTree {
    let frame =
        |function: &str| StackFrame { function: function.to_owned(), module: server.to_owned() };
    let begin = CallNode { caller: None, frame: 0, own: 0 };
    let call = |(at, (_, own)): (usize, &(&str, u64))| CallNode {
        caller: Some(0),
        frame: at as u32 + 1,
        own: *own,
    };
    CallTree {
        frames: [("run", 0)].iter().chain(functions).map(|(name, _)| frame(name)).collect(),
        nodes: [begin].into_iter().chain(functions.iter().enumerate().map(call)).collect(),
    }
}

fn profile(server: &str, functions: &[(&str, u64)]) -> Profile {
    Profile {
        frequency: 1000,
        ops: 50_000.0,
        server: server.to_owned(),
        serving: tree(server, functions),
        dispersion: 1.0,
        background: CallTree::default(),
        waits: Some(Waits { ops: 20_000.0, calls: CallTree::default() }),
        processor: vec![ProcessorPart { ops: 100.0, instructions: 1_000_000, cycles: 900_000 }],
        limits: ProfileLimits::default(),
    }
}

/// Profiles of the base and the other system in the first test.
fn with_profiles(base: Profile, other: Profile) -> StudyRecord {
    let mut record = record(&["11.8"]);
    let cell = record.study.cells[0].id;
    let cell_profile = |(system, profile)| CellProfile { system, cell, profile };
    record.profiles = [base, other].into_iter().enumerate().map(cell_profile).collect();
    record
}

/// The part of the page about the first test.
fn page(record: &StudyRecord) -> String {
    let options = TextOptions { width: 80, color: false, verbose: true };
    let page = render(record, &judge(record), Format::HTML, &options);
    assert!(page.contains("<a href=\"#profiles\">Profiles</a>"), "{page}");
    let (_, rest) = page.split_once("<section id=\"profiles\">").unwrap();
    rest.split_once("</section>").unwrap().0.to_owned()
}

#[test]
fn a_program_of_another_name_has_the_same_functions_in_tables_and_drawings() {
    let base = profile("mysqld", &[("0x10", 500), ("read", 500)]);
    let other = profile("mariadbd", &[("0x30", 500), ("read", 500)]);
    let page = page(&with_profiles(base, other));
    assert!(page.contains("amber boxes take longer than in mariadb@10.11"), "{page}");
    let unnamed = "functions of mariadbd without a name";
    assert!(page.contains(unnamed) && page.contains("<td>15.00 → 18.75</td>"), "{page}");
    assert!(page.contains("mariadbd: 15.00 → 18.75 µs per operation"), "{page}");
    // A single part of the time does not show its variance.
    assert!(page.contains("+0 (no interval)") && !page.contains("NaN"), "{page}");
}

#[test]
fn profiles_that_saw_different_things_are_drawn_without_a_comparison() {
    let base = profile("mysqld", &[("parse", 500), ("read", 500)]);
    let mut other = base.clone();
    other.limits.no_kernel = true;
    let page = page(&with_profiles(base, other));
    assert!(!page.contains("coloured by their change"), "{page}");
    assert!(page.contains("the kernel showed its own functions in one of them only"), "{page}");
    // Half of the user time of the account; the kernel was not sampled.
    assert!(page.contains("parse: 12.50 µs per operation"), "{page}");
}

#[test]
fn what_was_lost_is_told_and_never_more_than_there_was() {
    let base = profile("mysqld", &[("parse", 500), ("read", 500)]);
    let mut other = base.clone();
    let limits = &mut other.limits;
    (limits.lost, limits.broken, limits.lost_waits) = (250, 4000, 5000);
    let page = page(&with_profiles(base.clone(), other.clone()));
    assert!(page.contains("20% of the samples were lost"), "{page}");
    assert!(page.contains("100% of the stacks are not complete"), "{page}");
    assert!(page.contains("records of waits were lost"), "{page}");
    (other.limits, other.ops) = (ProfileLimits::default(), 0.0);
    let page = self::page(&with_profiles(base, other));
    assert!(page.contains("no operation ended while one of them was sampled"), "{page}");
}

#[test]
fn functions_of_one_version_only_are_named() {
    let base = profile("mysqld", &[("parse", 300), ("old_read", 300), ("read", 400)]);
    let other = profile("mysqld", &[("parse", 300), ("new_read", 300), ("read", 400)]);
    let page = page(&with_profiles(base, other));
    let message = "only this system has samples of new_read and only the base has samples of old_read: such functions \
                are new, gone, renamed or inlined elsewhere";
    assert!(page.contains(message), "{page}");
}

#[test]
fn boxes_of_calls_have_colours_of_their_own() {
    let profile = profile("mysqld", &[("read", 500)]);
    let record = with_profiles(profile.clone(), profile);
    let options = TextOptions { width: 80, color: false, verbose: true };
    let page = render(&record, &judge(&record), Format::HTML, &options);
    assert!(page.contains("class=\"cell"), "{page}");
    for rule in [
        ".chart .cell { fill:",
        ".worse { --shade:",
        ".better { --shade:",
        ".calls .chart { max-width: none;",
    ] {
        assert!(page.contains(rule), "{rule}");
    }
}

#[test]
fn text_and_markdown_tell_how_to_see_profiles() {
    let profile = profile("mysqld", &[("read", 500)]);
    let profiled = with_profiles(profile.clone(), profile);
    let options = TextOptions { width: 80, color: false, verbose: true };
    let show = |record: &StudyRecord, format| render(record, &judge(record), format, &options);
    let shows = "of 1 test";
    for format in [Format::TEXT, Format::MARKDOWN] {
        let message = show(&profiled, format);
        assert!(message.contains("-o profiles.html") && message.contains(shows), "{message}");
        let message = show(&record(&["11.8"]), format);
        assert!(!message.contains("-o profiles.html"), "{message}");
    }
}
