//! The only source of random choices. Every choice of a schedule is a small number drawn here; 0 is the simplest
//! choice. So a schedule is a list of numbers, which can be replayed and made shorter.

use std::cell::RefCell;
use std::rc::Rc;

/// Draws the choices of one schedule.
#[derive(Clone, Debug)]
pub struct Chance {
    source: Source,
    /// Shared, so that the choices are still known after a panic.
    drawn: Option<Drawn>,
}

/// The choices that were drawn.
pub type Drawn = Rc<RefCell<Vec<u32>>>;

#[derive(Clone, Debug)]
enum Source {
    Seed(u64),
    Choices { choices: Vec<u32>, at: usize },
}

impl Chance {
    /// Draws from a seed.
    pub fn seeded(seed: u64) -> Chance {
        Chance { source: Source::Seed(seed), drawn: None }
    }

    /// Draws from a seed and records the choices.
    pub fn recording(seed: u64) -> (Chance, Drawn) {
        let drawn = Drawn::default();
        (Chance { drawn: Some(Rc::clone(&drawn)), ..Chance::seeded(seed) }, drawn)
    }

    /// Repeats the given choices, and makes the simplest choice after their end.
    pub fn replaying(choices: Vec<u32>) -> Chance {
        Chance { source: Source::Choices { choices, at: 0 }, drawn: None }
    }

    /// Draws a number below `n`; `n` must not be 0.
    pub fn below(&mut self, n: u32) -> u32 {
        let drawn = match &mut self.source {
            Source::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let wide = (z ^ (z >> 31)) >> 32;
                u32::try_from((wide * u64::from(n)) >> 32).expect("below n")
            }
            Source::Choices { choices, at } => {
                let choice = choices.get(*at).copied().unwrap_or(0).min(n - 1);
                *at += 1;
                choice
            }
        };
        if let Some(kept) = &self.drawn {
            kept.borrow_mut().push(drawn);
        }
        drawn
    }

    /// Returns `true` once in `n` times; the simplest choice is `false`.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) + 1 == n
    }

    /// Picks one of several values; the first is the simplest.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let count = u32::try_from(from.len()).expect("a short list");
        from[self.below(count) as usize]
    }

    /// Picks an index by weight; the first is the simplest.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut at = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|weight| {
                let here = at < *weight;
                at = at.saturating_sub(*weight);
                here
            })
            .expect("the weights cover every draw")
    }

    /// Takes one element out of a list, in any order.
    pub fn take<T>(&mut self, list: &mut Vec<T>) -> Option<T> {
        if list.is_empty() {
            return None;
        }
        let at = self.below(u32::try_from(list.len()).expect("a short list"));
        Some(list.swap_remove(at as usize))
    }
}
