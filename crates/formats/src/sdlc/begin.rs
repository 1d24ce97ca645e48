//! A new run: the `state.json` with which it begins, made of a manifest.

use jiff::Timestamp;
use piton_core::name::{free_name, slug};

use super::manifest::parse_manifest;
use super::state::{Phase, PhaseStatus, SdlcState, derived_totals};
use super::to_tree;
use crate::json;
use crate::plan_format::{NewRun, NewRunRequest};
use crate::problem::{Problem, SourceText};

/// The file of a run that is not begun yet, and what is wrong with its manifest; no
/// file where the manifest cannot be used.
pub(super) fn begin_run(
    manifest: SourceText<'_>,
    wish: &NewRunRequest<'_>,
    now: Timestamp,
) -> (Option<NewRun>, Vec<Problem>) {
    let (manifest, mut problems) = parse_manifest(manifest);
    if manifest
        .as_ref()
        .is_some_and(|manifest| manifest.prd.is_none())
    {
        // The person who begins the run says where the requirements are.
        problems.retain(|problem| problem.code != "PRD_ADDRESS");
    }
    let Some(manifest) = manifest.filter(|_| !problems.iter().any(Problem::is_error)) else {
        return (None, problems);
    };
    let first = manifest.repos.first().map(|repo| repo.name.as_str());
    let topic = wish.topic.or(first).unwrap_or_default();
    let base = format!(
        "{}-{}",
        now.strftime("%Y-%m-%d"),
        shorten_slug(&slug(topic))
    );
    let run_id = free_name(&base, wish.is_taken);
    let began = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let mut state = SdlcState {
        run_id: Some(run_id.clone()),
        prd_url: Some(wish.requirements.to_owned()),
        phase: Some(Phase::Bootstrap),
        phase_status: Some(PhaseStatus::InProgress),
        updated_at: Some(began.to_string()),
        ..SdlcState::default()
    };
    state.metrics.started_at = Some(began.to_string());
    state.metrics.totals = derived_totals(&state);
    let new = NewRun {
        name: run_id,
        text: json::render(&to_tree(&state, None)),
        repos: manifest.repos.into_iter().map(|repo| repo.name).collect(),
    };
    (Some(new), problems)
}

/// A slug has at most so many characters.
const SLUG_MAX: usize = 48;

/// The words of a slug that fit.
fn shorten_slug(slug: &str) -> &str {
    let Some(head) = slug.get(..SLUG_MAX) else {
        return slug;
    };
    let is_whole = slug.as_bytes().get(SLUG_MAX) == Some(&b'-');
    match head.rsplit_once('-') {
        Some((words, _)) if !is_whole => words,
        _ => head,
    }
}

/// Where a manifest says that the requirements are.
pub(super) fn requirements_of_manifest(manifest: SourceText<'_>) -> Option<String> {
    parse_manifest(manifest).0?.prd
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Grade, format_named};

    const MANIFEST: &str = "prd: https://example.org/Orders\nrepos:\n  - {name: shop, path: ., team: Core, language: go}\n";

    fn new(manifest: &str, topic: Option<&str>, taken: &[&str]) -> (Option<NewRun>, Vec<Problem>) {
        let source = SourceText {
            name: "manifest.yaml",
            text: manifest,
        };
        let wish = NewRunRequest {
            requirements: "https://example.org/Orders",
            topic,
            is_taken: &|name| taken.contains(&name),
        };
        let now = "2026-01-15T10:30:00.5Z".parse().expect("a time");
        begin_run(source, &wish, now)
    }

    #[track_caller]
    fn check_name(topic: Option<&str>, taken: &[&str], expected: &str) {
        let new = new(MANIFEST, topic, taken).0.expect("a run");
        assert_eq!(new.name, expected);
    }

    #[test]
    fn a_run_is_called_by_its_day_and_topic_and_like_no_other() {
        check_name(None, &[], "2026-01-15-shop");
        check_name(
            Some("Orders: list & filter"),
            &[],
            "2026-01-15-orders-list-filter",
        );
        let taken = ["2026-01-15-shop", "2026-01-15-shop-2"];
        check_name(None, &taken, "2026-01-15-shop-3");
        let long = "a title of many words that goes on and on for the length of a line";
        check_name(
            Some(long),
            &[],
            "2026-01-15-a-title-of-many-words-that-goes-on-and-on-for",
        );
    }

    #[test]
    fn a_new_run_is_strictly_valid_and_begins_at_the_first_phase() {
        let new = new(MANIFEST, None, &[]).0.expect("a run");
        let name = "state.json";
        let format = format_named("sdlc").expect("it is known");
        let text = &new.text;
        let problems = format.check(SourceText { name, text }, Grade::Strict);
        assert_eq!(problems, Vec::new(), "{text}");
        assert!(text.contains("\"BOOTSTRAP\""), "{text}");
        assert_eq!(new.repos, ["shop"]);
    }

    #[test]
    fn a_manifest_with_errors_begins_nothing() {
        let (made, problems) = new("repos:\n  - {name: shop, path: .}\n", None, &[]);
        assert_eq!(made, None);
        let errors: Vec<&str> = problems
            .iter()
            .filter(|problem| problem.is_error())
            .map(|problem| &*problem.code)
            .collect();
        assert_eq!(errors, ["MISSING_KEY"]);
    }
}
