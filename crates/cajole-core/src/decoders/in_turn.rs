//! Several searches in sequence, each only for inputs where the previous ones found nothing.

use crate::backend_error::BackendError;
use crate::decoder::{ConstrainedDecoder, Found, Session, Sought};
use crate::model::Model;

/// Runs one search after another.
pub struct InTurn<'a, M: Model> {
    /// The searches, in order.
    pub searches: Vec<Box<dyn ConstrainedDecoder<M> + 'a>>,
}

impl<M: Model> ConstrainedDecoder<M> for InTurn<'_, M> {
    fn search(
        &self,
        at: &mut Session<'_, M>,
        set: &[Sought<'_, '_, M>],
        found: &mut [Found],
    ) -> Result<(), BackendError> {
        found.iter_mut().for_each(Found::clear);
        for search in &self.searches {
            let open: Vec<usize> = (0..set.len()).filter(|&i| found[i].best().is_none()).collect();
            if open.is_empty() {
                break;
            }
            let sought: Vec<Sought<'_, '_, M>> = open.iter().map(|&i| set[i]).collect();
            let mut own = vec![Found::default(); open.len()];
            search.search(at, &sought, &mut own)?;
            for (&i, mut own) in open.iter().zip(own) {
                own.passes += found[i].passes;
                found[i] = own;
            }
        }
        Ok(())
    }
}
