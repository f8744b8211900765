//! Where descents of a role tagger take satisfying tags from.

use cajole_core::constraints::RoleSet;
use cajole_core::decoders::tags::{self, Exact, Tagged, UniqueExact};
use cajole_core::{Config, ConstrainedDecoder, Source};

use super::tagger::{Net, RoleTagger};

impl RoleTagger {
    /// The decoders behind all sources of a preset that apply. If the constraint is about spans
    /// alone, `free` are the roles that are exempt: then masked decoding has an exact search, which
    /// needs no automaton, and repeated roles can be charged.
    pub fn sources<'a>(
        &'a self,
        config: &Config,
        free: Option<&'a RoleSet>,
    ) -> Vec<Box<dyn ConstrainedDecoder<Net> + 'a>> {
        config.sources.iter().filter_map(|source| self.source(source, free)).collect()
    }

    fn source<'a>(
        &'a self,
        source: &Source,
        free: Option<&'a RoleSet>,
    ) -> Option<Box<dyn ConstrainedDecoder<Net> + 'a>> {
        let tags = &self.vocabulary.tags;
        Some(match (*source, free) {
            (Source::Spans { repeated }, Some(free)) => {
                Box::new(Tagged { tags, search: UniqueExact::new(tags, free, repeated) })
            }
            (Source::Masked { .. }, Some(free)) => {
                Box::new(Tagged { tags, search: Exact { free } })
            }
            _ => return tags::source(tags, source),
        })
    }
}
