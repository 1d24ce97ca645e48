//! What an agent noticed, from all that it printed: see `docs/formats/ralph-json.md`.

use piton_core::attempt::{Outcome, Report};
use piton_core::observation::{Observation, ObservationKind};

use super::observation_markup::parse_observations;
use super::shortening::shorten_text;

/// So many observations of one attempt are kept; more are a listing of some.
const OBSERVATIONS_MAX: usize = 50;
/// Longest title, and longest name of a file, in characters.
const TITLE_CHARS_MAX: usize = 200;
/// Longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 2_000;

/// What it says that it noticed, bounded.
pub(super) fn collect_observations(output: &str) -> Vec<Observation> {
    bound_observations(parse_observations(output))
}

/// No more than are kept, each bounded.
pub(super) fn bound_observations(found: Vec<Observation>) -> Vec<Observation> {
    let found = found.into_iter().take(OBSERVATIONS_MAX);
    found.map(bound_observation).collect()
}

fn bound_observation(seen: Observation) -> Observation {
    let description = match seen.description {
        // What does not fit into a title is kept below it.
        None if seen.title.chars().count() > TITLE_CHARS_MAX => Some(seen.title.clone()),
        other => other,
    };
    Observation {
        title: shorten_text(&seen.title, TITLE_CHARS_MAX),
        description: description.map(|text| shorten_text(&text, DESCRIPTION_CHARS_MAX)),
        file: seen.file.map(|text| shorten_text(&text, TITLE_CHARS_MAX)),
        ..seen
    }
}

/// Adds a blocker in the words of the report where a blocked agent noted none.
pub(super) fn add_missing_blocker(mut report: Report) -> Report {
    let is_blocker = |seen: &Observation| seen.kind == ObservationKind::Blocker;
    if report.outcome != Outcome::Blocked || report.observations.iter().any(is_blocker) {
        return report;
    }
    let said = report.error.as_ref().or(report.summary.as_ref());
    let said = said.map(|text| text.trim()).unwrap_or_default();
    let (title, more) = said.split_once('\n').unwrap_or((said, ""));
    if title.is_empty() {
        return report;
    }
    let more = more.trim();
    let blocker = Observation {
        description: (!more.is_empty()).then(|| more.to_owned()),
        ..Observation::bare(ObservationKind::Blocker, title.trim())
    };
    report.observations.push(bound_observation(blocker));
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::answer::{ProgramEnd, report_of_output};
    use crate::agents::settings::VerdictSource;

    /// The kinds and titles of what is noticed in an output.
    #[track_caller]
    fn check(output: &str, code: i32, outcome: Outcome, expect: &[(ObservationKind, &str)]) {
        let ended = ProgramEnd {
            code: Some(code),
            ..ProgramEnd::default()
        };
        let report = report_of_output(output, &ended, VerdictSource::Form);
        let seen: Vec<(ObservationKind, &str)> = report
            .observations
            .iter()
            .map(|seen| (seen.kind, seen.title.as_str()))
            .collect();
        assert_eq!((report.outcome, seen.as_slice()), (outcome, expect));
    }

    #[test]
    fn what_an_agent_notices_is_kept_whatever_comes_of_it() {
        use ObservationKind::{Completion, Finding};
        let seen = "<observation type=\"finding\"><title>Two forms</title></observation>\n";
        check(seen, 0, Outcome::Failed, &[(Finding, "Two forms")]);
        let failed = format!("{seen}{{\"status\":\"failed\",\"error\":\"e\"}}");
        check(&failed, 0, Outcome::Failed, &[(Finding, "Two forms")]);
        let coloured = format!("\u{1b}[1m{}\u{1b}[0m", seen.trim());
        check(&coloured, 3, Outcome::Failed, &[(Finding, "Two forms")]);
        let before = "<observation type=\"completion\"><title>It was done before</title></observation>\n\
            {\"status\":\"failed\",\"error\":\"nothing to do\"}";
        let done = [(Completion, "It was done before")];
        check(before, 0, Outcome::Failed, &done);
    }

    #[test]
    fn a_blocked_agent_has_noticed_a_blocker() {
        use ObservationKind::Blocker;
        check(
            "###BLOCKED:no key###",
            0,
            Outcome::Blocked,
            &[(Blocker, "no key")],
        );
        check(
            "{\"status\":\"blocked\",\"summary\":\"no access\\nnone at all\"}",
            0,
            Outcome::Blocked,
            &[(Blocker, "no access")],
        );
        let told = "<observation type=\"blocker\"><title>No key</title></observation>\n\
            <ralph>BLOCKED</ralph>";
        check(told, 0, Outcome::Blocked, &[(Blocker, "No key")]);
    }

    #[test]
    fn a_listing_of_observations_is_cut() {
        let one = format!(
            "<observation><title>{}</title><description>{}</description></observation>",
            "t".repeat(10_000),
            "d".repeat(10_000)
        );
        let ended = ProgramEnd {
            code: Some(0),
            ..ProgramEnd::default()
        };
        let report = report_of_output(&one.repeat(80), &ended, VerdictSource::Form);
        assert_eq!(report.observations.len(), OBSERVATIONS_MAX);
        let seen = &report.observations[0];
        assert_eq!(seen.title.chars().count(), TITLE_CHARS_MAX + 2);
        let description = seen.description.as_deref().unwrap_or_default();
        assert_eq!(description.chars().count(), DESCRIPTION_CHARS_MAX + 2);
    }
}
