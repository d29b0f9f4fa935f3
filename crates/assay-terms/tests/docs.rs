//! The documentation of the published terms has their values.

use assay_model::Product;
use assay_terms::{Terms, option_table};

#[test]
fn documented_options_are_those_of_the_program() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/equal-terms.md");
    let docs = fs_err::read_to_string(docs).unwrap();
    let published = Terms::named("published").unwrap();
    for product in Product::ALL {
        let (_, rest) = docs.split_once(&format!("<!-- published {product} -->\n")).unwrap();
        let (table, _) = rest.split_once("\n\n").unwrap();
        let options = option_table(published, product);
        assert!(table == options.trim_end(), "`docs/equal-terms.md` shall have:\n{options}");
    }
}
