//! Which repair to show: the paper's own example if the network fails on it, or else the nearest
//! failure that is repaired for the better.

use cajole_report::CaseStudy;

/// How many of the nearest failures are tried.
pub(crate) const NEAREST: usize = 40;

/// Chooses a case to show. `own` is the repair of the paper's example called `name`, if the network
/// fails on it; `others` are repairs of other failures with their distances from it. A case that
/// got worse is never shown.
pub(crate) fn choose(
    name: &str,
    own: Option<CaseStudy>,
    others: impl Iterator<Item = (usize, CaseStudy)>,
) -> Option<CaseStudy> {
    let why = match own {
        Some(case) if is_better(&case) => {
            let note = format!("This is the paper's own example. {}", case.note);
            return Some(CaseStudy { note, ..case });
        }
        Some(_) => "is not repaired for the better here",
        None => "violates nothing here",
    };
    let mut others: Vec<(usize, CaseStudy)> = others.filter(|(_, case)| is_better(case)).collect();
    others.sort_by_key(|(distance, case)| (!is_right(case), *distance));
    let (distance, case) = others.into_iter().next()?;
    let how = if is_right(&case) { "put right" } else { "repaired for the better" };
    let note = format!(
        "The paper's example, “{name}”, {why}. Of the failures that are {how}, this one is nearest \
         to it: {distance} edits apart. {}",
        case.note
    );
    Some(CaseStudy { note, ..case })
}

fn is_better(case: &CaseStudy) -> bool {
    let accuracies = (case.steps.first(), case.steps.last());
    matches!(accuracies, (Some(first), Some(last)) if first.accuracy < last.accuracy)
}

fn is_right(case: &CaseStudy) -> bool {
    case.steps.last().is_some_and(|step| step.accuracy == 100.0)
}

#[cfg(test)]
mod tests {
    use cajole_report::CaseStep;

    use super::*;

    fn case(title: &str, before: f64, after: f64) -> CaseStudy {
        let step = |accuracy| CaseStep { accuracy, ..CaseStep::default() };
        let steps = vec![step(before), step(after)];
        CaseStudy { title: title.to_owned(), steps, ..CaseStudy::default() }
    }

    #[test]
    fn the_papers_example_goes_first_unless_it_got_worse() {
        let title = |own, others: Vec<(usize, CaseStudy)>| {
            choose("x y", own, others.into_iter()).map(|case| (case.title, case.note))
        };
        let others = || {
            let (worse, right) = (case("worse", 60.0, 50.0), case("right", 60.0, 100.0));
            let (near, far) = (case("near", 50.0, 60.0), case("far", 50.0, 100.0));
            vec![(1, worse), (2, near), (9, far), (5, right)]
        };
        let (shown, note) = title(Some(case("own", 10.0, 20.0)), others()).unwrap();
        assert!(shown == "own" && note.contains("own example"), "{note}");
        let (shown, note) = title(Some(case("own", 20.0, 10.0)), others()).unwrap();
        assert!(shown == "right" && note.contains("not repaired"), "{note}");
        assert!(note.contains("“x y”") && note.contains("5 edits"), "{note}");
        let (shown, note) = title(None, others()[..2].to_vec()).unwrap();
        assert!(shown == "near" && note.contains("violates nothing"), "{note}");
        assert_eq!(title(None, others()[..1].to_vec()), None, "never one that got worse");
    }
}
