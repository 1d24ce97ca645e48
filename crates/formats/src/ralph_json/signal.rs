//! What an agent says to the loop that started it, as the last program that ran
//! in the manner of seed 000 reads it: `###PLAN_COMPLETE###`.

/// A word to the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It chose an item, by its id.
    Selected(String),
    /// It is done with this iteration.
    IterationComplete,
    /// Everything is done.
    AllComplete,
    /// The item is done.
    PlanComplete,
    /// It did not succeed.
    Failed(Failure),
}

/// What did not succeed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What.
    pub what: What,
    /// What it says of it.
    pub detail: String,
}

/// What did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
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

/// The failures, in the order in which they count.
const FAILURES: &[(&str, What)] = &[
    ("TASK_FAILED", What::Task),
    ("PLAN_FAILED", What::Plan),
    ("BLOCKED", What::Blocked),
    ("BAILOUT", What::Bailout),
    ("BUILD_FAILED", What::Build),
    ("TEST_FAILED", What::Test),
];

/// The words that need no more, in the order in which they count.
const BARE: &[(&str, Signal)] = &[
    ("###ITERATION_COMPLETE###", Signal::IterationComplete),
    ("###RALPH_COMPLETE###", Signal::AllComplete),
    ("###PLAN_COMPLETE###", Signal::PlanComplete),
];

/// What stands before the id of the item that was chosen.
const SELECTED: &str = "SELECTED_PRD:";

/// Every kind of signal in what an agent said, in the order in which they count:
/// the item that it chose, what is complete, what failed. Of several of one kind
/// it is the first.
#[must_use]
pub fn signals(text: &str) -> Vec<Signal> {
    let selected = after(text, SELECTED).find_map(|rest| {
        let rest = rest.trim_start();
        let end = rest.find(|c| !is_id(c)).unwrap_or(rest.len());
        (end > 0).then(|| Signal::Selected(rest[..end].to_owned()))
    });
    let bare = BARE.iter().filter(|(word, _)| text.contains(word));
    let failed = FAILURES.iter().filter_map(|(word, what)| {
        let detail = after(text, &format!("###{word}:")).find_map(|rest| {
            let (detail, _) = rest.split_once("###")?;
            (!detail.is_empty() && !detail.contains('#')).then_some(detail)
        })?;
        Some(Signal::Failed(Failure {
            what: *what,
            detail: detail.trim().to_owned(),
        }))
    });
    selected
        .into_iter()
        .chain(bare.map(|(_, signal)| signal.clone()))
        .chain(failed)
        .collect()
}

/// The signal that a line consists of. Talk of a signal within a sentence is
/// none, and what failed may hold a `#`: the line tells where it ends.
#[must_use]
pub fn signal_of_line(line: &str) -> Option<Signal> {
    let line = line.trim();
    if let Some((_, signal)) = BARE.iter().find(|(word, _)| *word == line) {
        return Some(signal.clone());
    }
    if let Some(id) = line.strip_prefix(SELECTED) {
        let id = id.trim();
        return (!id.is_empty() && id.chars().all(is_id)).then(|| Signal::Selected(id.to_owned()));
    }
    let inner = line.strip_prefix("###")?.strip_suffix("###")?;
    let (said, detail) = inner.split_once(':')?;
    let detail = detail.trim();
    let (_, what) = FAILURES.iter().find(|(word, _)| *word == said)?;
    (!detail.is_empty() && !detail.contains("###")).then(|| {
        Signal::Failed(Failure {
            what: *what,
            detail: detail.to_owned(),
        })
    })
}

/// Whether an id of an item may hold it.
fn is_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// What stands behind each place of a word.
fn after<'t>(text: &'t str, word: &str) -> impl Iterator<Item = &'t str> {
    let ends: Vec<usize> = text
        .match_indices(word)
        .map(|(at, found)| at + found.len())
        .collect();
    ends.into_iter().map(move |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(what: What, detail: &str) -> Signal {
        Signal::Failed(Failure {
            what,
            detail: detail.to_owned(),
        })
    }

    #[test]
    fn case_8_every_signal_is_read_wherever_it_stands() {
        let cases = [
            ("###PLAN_COMPLETE###", Signal::PlanComplete),
            ("###ITERATION_COMPLETE###", Signal::IterationComplete),
            ("###RALPH_COMPLETE###", Signal::AllComplete),
            (
                "SELECTED_PRD: auth_2-login.",
                Signal::Selected("auth_2-login".to_owned()),
            ),
            (
                "###BAILOUT:the context is full###",
                failed(What::Bailout, "the context is full"),
            ),
            (
                "###PLAN_FAILED:no schema###",
                failed(What::Plan, "no schema"),
            ),
            (
                "###TASK_FAILED:task 2: no key###",
                failed(What::Task, "task 2: no key"),
            ),
            (
                "###BLOCKED:needs a key###",
                failed(What::Blocked, "needs a key"),
            ),
            ("###BUILD_FAILED:linker###", failed(What::Build, "linker")),
            (
                "###TEST_FAILED:login:401###",
                failed(What::Test, "login:401"),
            ),
            ("###TEST_FAILED:login###", failed(What::Test, "login")),
        ];
        for (said, signal) in cases {
            assert_eq!(signals(said), std::slice::from_ref(&signal), "{said}");
            assert_eq!(
                signals(&format!("I think\n{said}\nso.")),
                [signal],
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_no_signal_is_none() {
        for said in [
            "",
            "PLAN_COMPLETE",
            "###PLAN_COMPLETE##",
            "###PLAN_FAILED###",
            "###PLAN_FAILED:###",
            "###PLAN_FAILED:a # b###",
            "###PLAN_FAILED:never closed",
            "SELECTED_PRD:",
            "SELECTED_PRD: ##",
        ] {
            assert_eq!(signals(said), [], "{said}");
        }
    }

    #[test]
    fn a_line_is_a_signal_or_none() {
        let some = [
            ("  ###PLAN_COMPLETE### ", Signal::PlanComplete),
            ("SELECTED_PRD: p-1", Signal::Selected("p-1".to_owned())),
            ("###BLOCKED: no key ###", failed(What::Blocked, "no key")),
            (
                "###BLOCKED:issue #12 is open###",
                failed(What::Blocked, "issue #12 is open"),
            ),
            ("###TEST_FAILED:a:b###", failed(What::Test, "a:b")),
        ];
        for (line, signal) in some {
            assert_eq!(signal_of_line(line), Some(signal), "{line}");
        }
        for line in [
            "",
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

    #[test]
    fn several_signals_come_in_the_order_in_which_they_count() {
        let said = "###TEST_FAILED:a###\n###BLOCKED:x # y###\n###BLOCKED:b###\n###BLOCKED:c###\n\
            ###PLAN_COMPLETE###\nSELECTED_PRD: p";
        assert_eq!(
            signals(said),
            [
                Signal::Selected("p".to_owned()),
                Signal::PlanComplete,
                failed(What::Blocked, "b"),
                failed(What::Test, "a"),
            ]
        );
    }
}
