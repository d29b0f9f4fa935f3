//! Files of published claims: their meaning, and mistakes in them.

use assay_model::Hint as _;

use super::*;

fn read(text: &str) -> ClaimFile {
    read_claims("claims.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_part_takes_what_it_leaves_out_from_its_claim_and_from_the_top() {
    let file = read(
        "source = \"post\"\nthan = \"5.6\"\n[[claim]]\ntext = \"x\"\ntests = \"point\"\nfaster = true\n\
         [[claim.part]]\nclients = 1\n[[claim.part]]\nclients = \"20+\"\nslower = \"5%\"\nthan = \"5.7\"\n\
         summary = \"median\"\n[[claim]]\ntext = \"y\"\nsource = \"other\"\nquantity = \"qps\"\nat-most = 9\n",
    );
    let [first, second] = file.claims.as_slice() else { panic!("{file:?}") };
    assert_eq!((first.source.as_str(), second.source.as_str()), ("post", "other"));
    let [one, other] = first.parts.as_slice() else { panic!("{first:?}") };
    assert_eq!(one.scope(), "others / 5.6, point, 1 client");
    assert_eq!(other.scope(), "others / 5.7, point, 20+ clients");
    let region = |low, high, is_open| Relation::In(Region { low, high, is_open });
    assert_eq!(one.statement.relation, region(1.0, f64::INFINITY, true));
    assert_eq!(other.statement.relation, region(f64::NEG_INFINITY, 0.95, true));
    assert_eq!((one.statement.summary, other.statement.summary), (None, Some(Summary::Median)));
    let [rate] = second.parts.as_slice() else { panic!("{second:?}") };
    assert_eq!(rate.statement.quantity, Quantity::Qps);
    assert_eq!((rate.statement.share, rate.statement.counted), (Share::Every, ShareUnit::Tests));
}

#[test]
fn relations_are_ranges() {
    for (line, low, high) in [
        ("about = \"-20%\"\nwithin = \"5%\"", 0.75, 0.85),
        ("about = 200\nwithin = \"5%\"\nquantity = \"qps\"", 190.0, 210.0),
        ("between = [\"-30%\", 1.5]", 0.7, 1.5),
        ("same = \"3%\"", 0.97, 1.03),
    ] {
        let file = read(&format!("[[claim]]\nsource = \"s\"\ntext = \"x\"\n{line}\n"));
        let Relation::In(found) = file.claims[0].parts[0].statement.relation else {
            panic!("{line}")
        };
        assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let with = |lines: &str| format!("[[claim]]\nsource = \"s\"\ntext = \"x\"\n{lines}\n");
    let cases = [
        String::new(),
        "claims = 1".to_owned(),
        "claim = []".to_owned(),
        "[[claim]]\ntext = \"x\"\nfaster = true".to_owned(),
        "[[claim]]\nsource = \"x\"\nfaster = true".to_owned(),
        with(""),
        with("faster = true\nslower = true"),
        with("fastr = true"),
        with("text2 = 1\nfaster = true"),
        with("faster = false"),
        with("faster = \"5\""),
        with("about = 1"),
        with("faster = true\nwithin = \"5%\""),
        with("between = [2, 1]"),
        with("between = [1]"),
        with("at-least = \"20%\""),
        with("at-least = nan"),
        with("quantity = \"qps\"\nat-least = \"-20%\""),
        with("quantity = \"rqsp\"\nat-least = 1"),
        with("quantity = \"qps\"\nfaster = true"),
        with("quantity = \"qps\"\nthan = \"5.6\"\nat-least = 1"),
        with("faster = true\nin = \"10 of 9\""),
        with("faster = true\nin = 1.5"),
        with("faster = true\ntests = \"[a\""),
        with("faster = true\nclients = \"8-4\""),
        with("faster = true\nsystems = []"),
        with("[[claim.part]]\ntext = \"x\""),
    ];
    let shown = cases.iter().map(|text| {
        let error = read_claims("claims.toml", text).map(|_| ()).unwrap_err();
        let hints: Vec<String> = error.hints().iter().map(|hint| format!("hint: {hint}")).collect();
        format!("{error}\n{}\n", hints.join("\n"))
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}
