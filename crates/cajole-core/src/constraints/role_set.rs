//! A subset of the roles of a tag set.

use super::{Role, TagSet};

/// A set of roles.
///
/// ```
/// use cajole_core::constraints::{RoleSet, TagSet};
///
/// let tags = TagSet::new(["O", "B-ARG0", "B-V"])?;
/// let free = RoleSet::named(&tags, &["V"]);
/// assert!(free.contains(tags.role("V").expect("it has a tag")));
/// # Ok::<(), cajole_core::constraints::TagSetError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RoleSet {
    /// By role index; roles past the end are not in the set.
    is_in: Vec<bool>,
}

impl RoleSet {
    /// The roles of `tags` with one of these names. Unknown names are ignored.
    pub fn named(tags: &TagSet, names: &[&str]) -> RoleSet {
        names.iter().filter_map(|name| tags.role(name)).collect()
    }

    /// Whether `role` is in the set.
    pub fn contains(&self, role: Role) -> bool {
        self.is_in.get(role.index()).is_some_and(|&is_in| is_in)
    }

    /// Adds `role`.
    pub fn insert(&mut self, role: Role) {
        if self.is_in.len() <= role.index() {
            self.is_in.resize(role.index() + 1, false);
        }
        self.is_in[role.index()] = true;
    }

    /// Removes every role, keeping the allocation.
    pub fn clear(&mut self) {
        self.is_in.clear();
    }
}

impl FromIterator<Role> for RoleSet {
    fn from_iter<I: IntoIterator<Item = Role>>(roles: I) -> RoleSet {
        let mut set = RoleSet::default();
        roles.into_iter().for_each(|role| set.insert(role));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_in_the_set_until_it_is_cleared() {
        let tags = TagSet::new(["O", "B-A", "B-B", "B-C"]).unwrap();
        let names = |set: &RoleSet| -> Vec<&str> {
            tags.roles().filter(|&r| set.contains(r)).map(|r| tags.role_name(r)).collect()
        };
        let mut set = RoleSet::named(&tags, &["C", "unheard of", "A"]);
        assert_eq!(names(&set), ["A", "C"]);
        set.insert(tags.role("B").unwrap());
        assert_eq!(names(&set), ["A", "B", "C"]);
        set.clear();
        assert!(names(&set).is_empty());
    }
}
