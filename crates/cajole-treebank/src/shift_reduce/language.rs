//! The commands that build one tree over `m` tokens, as an automaton that lists no states.
//!
//! All that matters of a stack is how many items it holds, so a state is three counts:
//!
//! ```text
//! k  tokens shifted      j  items on the stack, without those being reduced
//! p  whether items are being reduced, and a close must follow
//!
//! s  (k, j, 0) → (k + 1, j + 1, 0)    if k < m
//! r  (k, j, p) → (k, j − 1, 1)        if 0 < j
//! !  (k, j, 1) → (k, j + 1, 0)
//! ```
//!
//! and `(m, 1, 0)` accepts. The shortest way there shifts what is left, `l = m − k` tokens, and
//! reduces everything to one phrase:
//!
//! ```text
//! d(k, j, 0) = l + (j + l + 1)             or l, if j + l = 1
//! d(k, j, 1) = j + 1                       if l = 0: the phrase at hand takes everything
//!              1 + l + (j + 1 + l + 1)     otherwise: a close must come first
//! ```

use cajole_core::Symbol;
use cajole_core::constraints::{Automaton, State};

use super::commands::{Command, FIRST_CLOSE};

/// All command sequences that build one tree over `n_tokens` tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftReduceLanguage {
    /// `m`.
    pub n_tokens: usize,
    /// The number of labels.
    pub n_labels: usize,
}

/// `(k, j, p)`.
#[derive(Clone, Copy)]
struct Counts {
    shifted: usize,
    items: usize,
    is_open: bool,
}

impl Counts {
    /// Two counts in 32 and 31 bits, and a flag: enough for any sentence.
    fn pack(self) -> State {
        let Counts { shifted, items, is_open } = self;
        State::new((shifted as u64) << 32 | (items as u64) << 1 | u64::from(is_open))
    }

    fn unpack(state: State) -> Counts {
        let bits = state.bits();
        let items = (bits >> 1 & 0x7fff_ffff) as usize;
        Counts { shifted: (bits >> 32) as usize, items, is_open: bits & 1 == 1 }
    }
}

impl Automaton for ShiftReduceLanguage {
    /// Only the commands; the end symbol is not part of the language.
    fn n_symbols(&self) -> usize {
        FIRST_CLOSE as usize + self.n_labels
    }

    fn start(&self) -> State {
        Counts { shifted: 0, items: 0, is_open: false }.pack()
    }

    fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        let Counts { shifted, items, is_open } = Counts::unpack(state);
        let next = match Command::of(symbol, self.n_labels)? {
            Command::Shift if !is_open && shifted < self.n_tokens => {
                Counts { shifted: shifted + 1, items: items + 1, is_open }
            }
            // Without labels, a reduced item could never be closed.
            Command::Reduce if 0 < items && 0 < self.n_labels => {
                Counts { shifted, items: items - 1, is_open: true }
            }
            Command::Close(_) if is_open => Counts { shifted, items: items + 1, is_open: false },
            _ => return None,
        };
        Some(next.pack())
    }

    fn accepts(&self, state: State) -> bool {
        let Counts { shifted, items, is_open } = Counts::unpack(state);
        shifted == self.n_tokens && items == 1 && !is_open
    }

    fn distance_to_accept(&self, state: State) -> Option<usize> {
        let Counts { shifted, items, is_open } = Counts::unpack(state);
        let left = self.n_tokens - shifted;
        if self.n_tokens == 0 || self.n_labels == 0 && self.n_tokens != 1 {
            return None;
        }
        Some(match (is_open, left) {
            (false, _) if items + left == 1 => left,
            (false, _) => left + (items + left + 1),
            (true, 0) => items + 1,
            (true, _) => 1 + left + (items + 1 + left + 1),
        })
    }
}
