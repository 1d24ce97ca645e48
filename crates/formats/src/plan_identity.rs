//! Which plan a file holds: whether what stands in it now is an edit of the
//! plan that stood there, or another plan in its place.

use std::collections::HashMap;

/// What a plan is known by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanIdentity {
    /// The name that the format keeps for this one plan and gives to no other; none in
    /// a format without such names.
    pub id: Option<String>,
    /// What the file says of the whole: its project, its branch, its title.
    /// Two files of one format name these in the same order.
    pub names: Vec<Option<String>>,
    /// What each item is, in its own words: its title or its text, not its id.
    pub items: Vec<String>,
}

impl PlanIdentity {
    /// The identity of a file that says this of its whole and of its items. How
    /// words are spaced, and whether they are capitals, tells no plans apart.
    pub(crate) fn new<'a>(
        names: impl IntoIterator<Item = Option<&'a str>>,
        items: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let named = |name: Option<&str>| name.map(normalize_words).filter(|name| !name.is_empty());
        Self {
            id: None,
            names: names.into_iter().map(named).collect(),
            items: items.into_iter().map(normalize_words).collect(),
        }
    }

    /// The same of a plan whose name is no other's.
    pub(crate) fn with_id(self, id: Option<&str>) -> Self {
        let id = id.map(normalize_words).filter(|id| !id.is_empty());
        Self { id, ..self }
    }

    /// How many of these items stand in another version as well, each as often
    /// as it stands there.
    fn count_recurring(&self, now: &Self) -> usize {
        let mut there: HashMap<&str, usize> = HashMap::new();
        for item in &now.items {
            *there.entry(item).or_default() += 1;
        }
        let items = self.items.iter();
        let again = items.filter(|item| match there.get_mut(item.as_str()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        });
        again.count()
    }

    /// Whether `now` is another plan: it is called otherwise, and fewer than half
    /// of the items come again. Where neither version says what it is called, the
    /// items decide alone. A file that held or holds no item tells nothing, unless
    /// a name says so that is given to one plan alone.
    #[must_use]
    pub fn is_replaced_by(&self, now: &Self) -> bool {
        let has_other_id = self.id.is_some() && now.id.is_some() && self.id != now.id;
        if self.items.is_empty() || (now.items.is_empty() && !has_other_id) {
            return false;
        }
        let has_names = self.names.iter().chain(&now.names).any(Option::is_some);
        let is_renamed = has_other_id || !has_names || self.names != now.names;
        is_renamed && self.count_recurring(now) * 2 < self.items.len()
    }
}

fn normalize_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: Option<&str>, items: &[&str]) -> PlanIdentity {
        PlanIdentity::new([name], items.iter().copied())
    }

    #[track_caller]
    fn check(before: &PlanIdentity, now: &PlanIdentity, expected: bool) {
        assert_eq!(before.is_replaced_by(now), expected, "{before:?} {now:?}");
    }

    #[test]
    fn another_name_and_fewer_than_half_of_the_items_are_another_plan() {
        let tide = plan(Some("Tide"), &["read", "compute", "print", "ship"]);
        check(&tide, &tide, false);
        // A changed title alone is an edit, and so are changed items alone.
        let renamed = plan(Some("Tides"), &["read", "compute", "print", "ship"]);
        check(&tide, &renamed, false);
        let rewritten = plan(Some("tide "), &["a", "b", "c", "d"]);
        check(&tide, &rewritten, false);
        let half = plan(Some("Moon"), &["read", "compute", "c", "d", "e"]);
        check(&tide, &half, false);
        let next = plan(Some("Moon"), &["read", "b", "c", "d"]);
        check(&tide, &next, true);
        check(&tide, &plan(None, &["read", "b"]), true);
    }

    #[test]
    fn without_names_the_items_decide() {
        let before = plan(None, &["read", "compute"]);
        check(&before, &plan(None, &["Read", "b", "c"]), false);
        check(&before, &plan(None, &["b", "c"]), true);
    }

    #[test]
    fn what_is_emptied_or_was_empty_is_no_other_plan() {
        let before = plan(Some("Tide"), &["read"]);
        check(&before, &plan(Some("Moon"), &[]), false);
        check(&plan(Some("Moon"), &[]), &before, false);
    }

    #[test]
    fn a_name_of_one_plan_alone_tells_of_another_one_that_has_no_items_yet() {
        let run = |id, items: &[&str]| plan(Some("Tide"), items).with_id(Some(id));
        let before = run("2026-01-15-tide", &["read", "print"]);
        check(&before, &run("2026-02-01-moon", &[]), true);
        check(&before, &run("2026-01-15-tide", &[]), false);
        check(&before, &run("2026-02-01-moon", &["read"]), false);
        check(&before, &plan(Some("Tide"), &[]), false);
        // What is only begun may still be called otherwise.
        let begun = run("2026-01-15-tide", &[]);
        check(&begun, &run("2026-01-15-tides", &[]), false);
    }

    #[test]
    fn an_item_that_stood_there_twice_comes_again_once() {
        let before = plan(Some("Tide"), &["test", "test", "test"]);
        check(&before, &plan(Some("Moon"), &["test", "b"]), true);
        check(&before, &plan(Some("Moon"), &["test", "test"]), false);
    }
}
