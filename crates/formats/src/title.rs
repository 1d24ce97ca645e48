//! What an item is called, a story's title, a criterion's text, a phase's name,
//! and what must be true when it is done.
//!
//! Both are derived from what a row keeps already, so that nothing is stored
//! twice and an edit of the file changes them at once.

use piton_core::ItemRow;
use piton_core::native::Native;
use piton_core::plan::PlannedItem;
use piton_core::terminal::clean_line;

use crate::registry::{plan_format, plan_formats};

/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 100;

/// The title of an item; none where nothing says more than its id.
#[must_use]
pub fn title_of_item(item: &ItemRow) -> Option<String> {
    derive_title(
        &item.plan.id,
        item.plan.prompt.as_deref(),
        item.plan.native.as_ref(),
    )
}

/// The title of an item of a plan that is not stored yet.
#[must_use]
pub fn title_of_planned(item: &PlannedItem) -> Option<String> {
    derive_title(&item.id, item.prompt.as_deref(), item.native.as_ref())
}

/// What must be true when an item is done, as its plan says: the criteria of a
/// story, the words of a criterion.
#[must_use]
pub fn criteria_of_item(item: &ItemRow) -> Vec<String> {
    match (
        words_of_native(item.plan.native.as_ref()),
        &item.plan.prompt,
    ) {
        (Some(words), _) => vec![words.trim().to_owned()],
        (None, Some(prompt)) => {
            let formats = plan_formats().iter();
            let mut criteria = formats.map(|format| (format.words.criteria_in_prompt)(prompt));
            criteria.find(|found| !found.is_empty()).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}

/// What the file calls an item of a plan that is not stored yet, whole.
pub(crate) fn name_of_planned(item: &PlannedItem) -> Option<String> {
    let native = item.native.as_ref()?;
    let name = (plan_format(&native.face)?.words.title_of_native)(native);
    name.filter(|name| !name.trim().is_empty())
}

/// The words of an item of a plan that is not stored yet, where they say in one
/// line what is to be true.
pub(crate) fn words_of_planned(item: &PlannedItem) -> Option<String> {
    words_of_native(item.native.as_ref())
}

fn words_of_native(native: Option<&Native>) -> Option<String> {
    let native = native?;
    (plan_format(&native.face)?.words.words_of_native)(native)
}

fn derive_title(id: &str, prompt: Option<&str>, native: Option<&Native>) -> Option<String> {
    let named = native.and_then(|native| {
        let format = plan_format(&native.face)?;
        (format.words.title_of_native)(native)
    });
    let named = named.filter(|name| !name.trim().is_empty());
    let text = named.or_else(|| prompt.map(|prompt| without_prompt_id(prompt, id).to_owned()))?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches('#').trim();
    let clean = clean_line(line);
    let clean = without_id_prefix(&clean, id);
    let says_more = !clean.is_empty() && clean != id;
    says_more.then(|| shorten_title(clean))
}

/// A prompt without the id that stands before it in the prompt of a story:
/// `**a-1**: Add the login`.
fn without_prompt_id<'p>(prompt: &'p str, id: &str) -> &'p str {
    let rest = prompt
        .strip_prefix("**")
        .and_then(|rest| rest.strip_prefix(id))
        .and_then(|rest| rest.strip_prefix("**"));
    match rest {
        Some(rest) => rest.strip_prefix(':').unwrap_or(rest),
        None => prompt,
    }
}

/// A title without the id that people write before it: `A-1: The login works`.
fn without_id_prefix<'t>(title: &'t str, id: &str) -> &'t str {
    let begin = title.get(..id.len());
    let named = begin.is_some_and(|begin| begin.eq_ignore_ascii_case(id));
    let rest = title.get(id.len()..).filter(|_| named);
    let rest = rest.and_then(|rest| rest.strip_prefix(':')).map(str::trim);
    rest.filter(|rest| !rest.is_empty()).unwrap_or(title)
}

fn shorten_title(title: &str) -> String {
    match title.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", title[..end].trim_end()),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use piton_core::RunId;

    use super::*;
    use crate::problem::SourceText;
    use crate::{prd, sdlc, sprint, task};

    #[track_caller]
    fn check(items: &[PlannedItem], expected: &[Option<&str>]) {
        let titles: Vec<Option<String>> = items.iter().map(title_of_planned).collect();
        let titles: Vec<Option<&str>> = titles.iter().map(Option::as_deref).collect();
        assert_eq!(titles, expected);
    }

    fn source(text: &str) -> SourceText<'_> {
        SourceText { name: "test", text }
    }

    #[test]
    fn a_story_is_called_by_its_title_or_its_description() {
        let text = r#"{"userStories": [
          {"id": "a", "title": "Add the login", "description": "As a user", "passes": false},
          {"id": "b", "description": "Write it down\nand more", "passes": false},
          {"id": "c", "passes": false}]}"#;
        let (list, problems) = prd::parse_prd(source(text));
        let list = list.unwrap_or_else(|| panic!("{problems:?}"));
        let plan = prd::plan_of_prd(&list, RunId::PROJECT, "prd", "prd.json");
        check(
            &plan.items,
            &[Some("Add the login"), Some("Write it down"), None],
        );
    }

    #[test]
    fn the_criteria_of_a_story_are_read_from_its_prompt() {
        let prompt = "**a**: Add it\n\nWhat must be true in the end:\n\n- it works\n- it is \
             tested\n\nSteps:\n\n1. begin";
        assert_eq!(
            prd::criteria_in_prompt(prompt),
            ["it works", "it is tested"]
        );
        assert!(prd::criteria_in_prompt("do it").is_empty());
    }

    #[test]
    fn a_criterion_is_called_by_its_words() {
        let text =
            "# Shop\n\n## Success Criteria\n\n1. [ ] All tests pass\n2. [x] The docs build\n";
        let (task, problems) = task::parse_task(source(text));
        assert!(problems.is_empty(), "{problems:?}");
        let plan = task::plan_of_task(&task, RunId::PROJECT, "task", "RALPH_TASK.md");
        check(
            &plan.items,
            &[Some("All tests pass"), Some("The docs build")],
        );
        let text = "# Shop\n\n- [ ] done!\n- [ ] ship :)\n- [ ] T012 [P] build\n";
        let (task, _) = task::parse_task(source(text));
        let plan = task::plan_of_task(&task, RunId::PROJECT, "task", "RALPH_TASK.md");
        check(
            &plan.items,
            &[Some("done!"), Some("ship :)"), Some("T012 [P] build")],
        );
        // What the text itself gives as its id is not said twice.
        let text = "# Shop\n\n- [ ] a-7: lay it\n";
        let (task, _) = task::parse_task(source(text));
        let plan = task::plan_of_task(&task, RunId::PROJECT, "task", "RALPH_TASK.md");
        check(&plan.items, &[Some("lay it")]);
    }

    #[test]
    fn an_issue_is_called_by_its_title() {
        let text = r#"{"run_id": "r", "phase": "implementation", "issues": {
          "X-1": {"repo": "shop", "title": "Lay it", "status": "ready", "pr": null, "blocked_by": []}}}"#;
        let (state, problems) = sdlc::parse_state(source(text));
        let state = state.unwrap_or_else(|| panic!("{problems:?}"));
        let plan = sdlc::plan_of_state(&state, RunId::PROJECT, "shop", "state.json");
        check(&plan.items, &[Some("Lay it")]);
    }

    #[test]
    fn a_phase_is_called_by_its_name_or_its_prompt() {
        let text = "sprint-id: demo\nstatus: not-started\nphases:\n\
             - id: build\n  name: Build it\n  status: pending\n  prompt: make all\n\
             - id: ship\n  status: pending\n  prompt: |\n    # Ship it\n    to all\n\
             - id: rest\n  status: pending\n  prompt: rest\n";
        let (progress, problems) = sprint::parse_progress(source(text));
        let progress = progress.unwrap_or_else(|| panic!("{problems:?}"));
        let plan = sprint::plan_of_progress(&progress, RunId::PROJECT, "demo", "demo");
        check(&plan.items, &[Some("Build it"), Some("Ship it"), None]);
    }

    #[test]
    fn an_id_before_a_title_is_not_said_twice() {
        let of = |text| derive_title("a-1", Some(text), None);
        assert_eq!(of("A-1: The login").as_deref(), Some("The login"));
        assert_eq!(of("A-10: The login").as_deref(), Some("A-10: The login"));
        assert_eq!(of("a-1"), None);
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        let long = derive_title("a", Some(&"é".repeat(300)), None).expect("a title");
        assert_eq!(long.chars().count(), TITLE_CHARS_MAX + 1);
    }
}
