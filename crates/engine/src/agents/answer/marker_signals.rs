//! What an agent says to the loop that started it, as the last program that ran
//! in the manner of seed 000 reads it: `###PLAN_COMPLETE###`.

/// A word to the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RalphMarkerSignal {
    /// It chose an item.
    Selected,
    /// It is done with this iteration.
    IterationComplete,
    /// Everything is done.
    AllComplete,
    /// The item is done.
    PlanComplete,
    /// It did not succeed.
    Failed(SignalFailure),
}

/// What did not succeed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SignalFailure {
    /// What.
    pub(super) what: FailureSubject,
    /// What it says of it.
    pub(super) detail: String,
}

/// What did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureSubject {
    /// A task of the item.
    Task,
    /// The item.
    Plan,
    /// Something stands in the way.
    Blocked,
    /// The agent gave up.
    Bailout,
    /// The build.
    Build,
    /// A test.
    Test,
}

/// The failures, by their words.
const FAILURES: &[(&str, FailureSubject)] = &[
    ("TASK_FAILED", FailureSubject::Task),
    ("PLAN_FAILED", FailureSubject::Plan),
    ("BLOCKED", FailureSubject::Blocked),
    ("BAILOUT", FailureSubject::Bailout),
    ("BUILD_FAILED", FailureSubject::Build),
    ("TEST_FAILED", FailureSubject::Test),
];

/// The words that need no more.
const BARE: &[(&str, RalphMarkerSignal)] = &[
    (
        "###ITERATION_COMPLETE###",
        RalphMarkerSignal::IterationComplete,
    ),
    ("###RALPH_COMPLETE###", RalphMarkerSignal::AllComplete),
    ("###PLAN_COMPLETE###", RalphMarkerSignal::PlanComplete),
];

/// What stands before the id of the item that was chosen.
const SELECTED: &str = "SELECTED_PRD:";

/// The signal that a line consists of. Talk of a signal within a sentence is
/// none, and what failed may hold a `#`: the line tells where it ends.
pub(super) fn signal_of_line(line: &str) -> Option<RalphMarkerSignal> {
    let line = line.trim();
    if let Some((_, signal)) = BARE.iter().find(|(word, _)| *word == line) {
        return Some(signal.clone());
    }
    if let Some(id) = line.strip_prefix(SELECTED) {
        let id = id.trim();
        return (!id.is_empty() && id.chars().all(is_id_char))
            .then_some(RalphMarkerSignal::Selected);
    }
    let inner = line.strip_prefix("###")?.strip_suffix("###")?;
    let (said, detail) = inner.split_once(':')?;
    let detail = detail.trim();
    let (_, what) = FAILURES.iter().find(|(word, _)| *word == said)?;
    (!detail.is_empty() && !detail.contains("###")).then(|| {
        RalphMarkerSignal::Failed(SignalFailure {
            what: *what,
            detail: detail.to_owned(),
        })
    })
}

/// Whether an id of an item may hold it.
fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(what: FailureSubject, detail: &str) -> RalphMarkerSignal {
        RalphMarkerSignal::Failed(SignalFailure {
            what,
            detail: detail.to_owned(),
        })
    }

    #[test]
    fn case_8_every_signal_is_read_from_a_line_of_its_own() {
        let cases = [
            ("###PLAN_COMPLETE###", RalphMarkerSignal::PlanComplete),
            (
                "###ITERATION_COMPLETE###",
                RalphMarkerSignal::IterationComplete,
            ),
            ("###RALPH_COMPLETE###", RalphMarkerSignal::AllComplete),
            ("SELECTED_PRD: auth_2-login", RalphMarkerSignal::Selected),
            (
                "###BAILOUT:the context is full###",
                failed(FailureSubject::Bailout, "the context is full"),
            ),
            (
                "###PLAN_FAILED:no schema###",
                failed(FailureSubject::Plan, "no schema"),
            ),
            (
                "###TASK_FAILED:task 2: no key###",
                failed(FailureSubject::Task, "task 2: no key"),
            ),
            (
                "###BLOCKED:needs a key###",
                failed(FailureSubject::Blocked, "needs a key"),
            ),
            (
                "###BUILD_FAILED:linker###",
                failed(FailureSubject::Build, "linker"),
            ),
            (
                "###TEST_FAILED:login:401###",
                failed(FailureSubject::Test, "login:401"),
            ),
            (
                "###TEST_FAILED:login###",
                failed(FailureSubject::Test, "login"),
            ),
        ];
        for (said, signal) in cases {
            assert_eq!(signal_of_line(said), Some(signal), "{said}");
        }
    }

    #[test]
    fn a_line_is_a_signal_or_none() {
        let some = [
            ("  ###PLAN_COMPLETE### ", RalphMarkerSignal::PlanComplete),
            ("SELECTED_PRD: p-1", RalphMarkerSignal::Selected),
            (
                "###BLOCKED: no key ###",
                failed(FailureSubject::Blocked, "no key"),
            ),
            (
                "###BLOCKED:issue #12 is open###",
                failed(FailureSubject::Blocked, "issue #12 is open"),
            ),
            ("###TEST_FAILED:a:b###", failed(FailureSubject::Test, "a:b")),
        ];
        for (line, signal) in some {
            assert_eq!(signal_of_line(line), Some(signal), "{line}");
        }
        for line in [
            "",
            "PLAN_COMPLETE",
            "###PLAN_COMPLETE##",
            "###PLAN_FAILED:###",
            "###PLAN_FAILED:never closed",
            "SELECTED_PRD:",
            "SELECTED_PRD: ##",
            "######",
            "###BLOCKED###",
            "###BLOCKED: ###",
            "###BLOCKED:a### ###BLOCKED:b###",
            "I would print ###PLAN_COMPLETE###",
            "###PLAN_COMPLETE### so",
            "SELECTED_PRD: p or q",
            "###WONDERFUL:day###",
        ] {
            assert_eq!(signal_of_line(line), None, "{line}");
        }
    }
}
