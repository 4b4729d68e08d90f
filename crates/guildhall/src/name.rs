//! Session ids that people can say and type.

use guildhall_local::SessionId;

const FIRST: [&str; 32] = [
    "able", "amber", "bold", "brave", "brisk", "calm", "clear", "cosy", "crisp", "eager", "fair", "fine", "fond",
    "frank", "free", "glad", "golden", "grand", "keen", "kind", "lively", "lucky", "merry", "neat", "noble", "proud",
    "quick", "quiet", "sharp", "sound", "swift", "warm",
];

const SECOND: [&str; 32] = [
    "anvil", "arch", "badger", "beacon", "bell", "bridge", "cooper", "crane", "fletcher", "forge", "gate", "heron",
    "joiner", "kiln", "ladder", "lantern", "lever", "loom", "mason", "mill", "otter", "pulley", "quill", "rafter",
    "robin", "smith", "spire", "tiler", "tower", "turner", "weaver", "wheel",
];

/// The number of ids with the same two words.
const NUMBERS: u32 = 10_000;

/// Returns a random id.
pub(crate) fn fresh_id() -> SessionId {
    let word = |words: &[&'static str]| fastrand::choice(words.to_vec()).unwrap_or("session");
    let id = format!("{}-{}-{}", word(&FIRST), word(&SECOND), fastrand::u32(0..NUMBERS));
    id.parse().expect("two words and a number are an id")
}
