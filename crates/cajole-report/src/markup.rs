//! Checks rendered markup in tests.

/// Panics unless all tags are balanced and no number is NaN or infinite.
pub(super) fn assert_balanced(markup: &str) {
    const VOID: [&str; 2] = ["!doctype", "meta"];
    let mut open = Vec::new();
    let mut rest = markup;
    while let Some((before, after)) = rest.split_once('<') {
        assert!(!before.contains('>'), "a stray `>` in {before:?}");
        let (tag, after) = after.split_once('>').expect("an open `<`");
        rest = after;
        assert!(!tag.contains('<'), "a stray `<` in {tag:?}");
        assert_eq!(tag.matches('"').count() % 2, 0, "an open quote in {tag:?}");
        let name = tag.trim_end_matches('/').split_whitespace().next().expect("a tag's name");
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "in {markup}");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(!rest.contains('>'), "a stray `>` in {rest:?}");
    assert!(open.is_empty(), "never closed: {open:?}");
    for bad in ["NaN", "inf\"", "inf ", "inf,"] {
        assert!(!markup.contains(bad), "{bad:?} in {markup}");
    }
}
