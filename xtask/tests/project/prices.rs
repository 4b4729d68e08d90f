//! Checks that the price table is made from the version of `genai-prices` in `Cargo.lock`.

#[path = "../../src/prices.rs"]
mod generator;

use std::fs;

use crate::dependencies::METADATA;
use crate::root;

#[test]
fn the_price_table_has_todays_data() {
    let stored = fs::read_to_string(root().join(generator::TABLE)).unwrap();
    let made = generator::table(&METADATA).unwrap();
    assert!(stored == made, "{} is not what genai-prices has: run `cargo xtask prices`", generator::TABLE);
}
