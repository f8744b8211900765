//! The searches of a role tagger.

use cajole_core::constraints::RoleSet;
use cajole_core::decoders::tags::{self, AStar, Exact, Tagged, UniqueExact};
use cajole_core::{ConstrainedDecoder, DoesNotFit, Search};

use super::tagger::{Net, RoleTagger};

impl RoleTagger {
    /// A search as a decoder. If the constraint is about spans alone, `free` are the roles that are
    /// exempt: then masked decoding is an exact search, which needs no automaton, A* has a heuristic,
    /// and repeated roles can be charged.
    ///
    /// # Errors
    /// If the search does not fit the constraint.
    pub fn search<'a>(
        &'a self,
        search: &Search,
        free: Option<&'a RoleSet>,
    ) -> Result<Box<dyn ConstrainedDecoder<Net> + 'a>, DoesNotFit> {
        const ONLY_SPANS: &str = "the rules are not about spans of a tree alone";
        let tags = &self.vocabulary.tags;
        Ok(match (search, free) {
            (&Search::Spans { repeated }, Some(free)) => {
                Box::new(Tagged { tags, search: UniqueExact::new(tags, free, repeated) })
            }
            (Search::Masked { .. } | Search::Exact { .. }, Some(free)) => {
                Box::new(Tagged { tags, search: Exact { free } })
            }
            (&Search::Astar { limit, penalties, heuristic }, Some(_)) => {
                let mut search = AStar::new(tags, penalties);
                (search.agenda_limit, search.heuristic) = (limit, heuristic);
                Box::new(Tagged { tags, search })
            }
            (Search::Spans { .. } | Search::Astar { .. }, None) => {
                return Err(search.does_not_fit(ONLY_SPANS));
            }
            _ => return tags::search(tags, search),
        })
    }
}
