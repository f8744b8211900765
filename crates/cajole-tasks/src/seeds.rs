//! Networks that differ only in the seed they are trained from.

/// What separates the name of a family from the seed.
const MARK: &str = "-seed";

/// The name and the seed of every network of a family; the first keeps the family's name.
pub(crate) fn networks(
    family: &str,
    seeds: &[u64],
    default: u64,
) -> impl Iterator<Item = (String, u64)> {
    let seeds = if seeds.is_empty() { vec![default] } else { seeds.to_vec() };
    seeds.into_iter().enumerate().map(move |(i, seed)| match i {
        0 => (family.to_owned(), seed),
        _ => (format!("{family}{MARK}{seed}"), seed),
    })
}

/// The family of a network.
fn family(name: &str) -> &str {
    name.rsplit_once(MARK).map_or(name, |(family, _)| family)
}

/// Networks by family, in order of first occurrence; only families of several networks.
pub fn families<'a, T>(networks: impl IntoIterator<Item = (&'a str, T)>) -> Vec<(&'a str, Vec<T>)> {
    let mut families: Vec<(&str, Vec<T>)> = Vec::new();
    for (name, network) in networks {
        let name = family(name);
        match families.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(network),
            None => families.push((name, vec![network])),
        }
    }
    families.retain(|(_, members)| 1 < members.len());
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_keeps_the_name() {
        let names = |seeds: &[u64]| networks("net", seeds, 1).collect::<Vec<_>>();
        assert_eq!(names(&[]), [("net".to_owned(), 1)]);
        let all = names(&[4, 2, 3]);
        assert_eq!(all[0], ("net".to_owned(), 4));
        assert_eq!(all[2], ("net-seed3".to_owned(), 3));
        assert!(all.iter().all(|(name, _)| family(name) == "net"));
        let some = [("net", 1), ("other", 2), ("net-seed2", 3)];
        assert_eq!(families(some), [("net", vec![1, 3])]);
    }
}
