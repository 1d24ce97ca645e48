//! The table: every agent, what it does, and what a correct piton concludes.
//!
//! Agents are shell scripts; the words that they have stand in `prelude.sh` and
//! in [`shell_words`](super::plan::shell_words). An agent of a lie ends with a
//! verdict of the form that the prompt asks for, except where the lie is about
//! the verdict.

use super::case::CheckKind::{Absent, Green, Red};
use super::case::Conclusion::{Done, Question, Refused};
use super::case::PlanKind::{List, Sprint, Task};
use super::case::Program::{Command, ExitStatus, Resumable};
use super::case::Side::{Honest, Lie};
use super::case::{Case, Cells, CheckKind, Conclusion, Level, PlanKind, Work};

const ALL: &[PlanKind] = &[List, Task, Sprint];
const LISTS: &[PlanKind] = &[List, Task];
const SPRINTS: &[PlanKind] = &[Sprint];
/// Plans that name a check for each item, so that two items are proved apart.
const CHECK_EACH: &[PlanKind] = &[List, Sprint];
const TASKS: &[PlanKind] = &[Task];

/// The lie is not believed, whether or not a person is asked.
const NOT_DONE: &[Conclusion] = &[Refused, Question];
/// Nothing but the word of the agent is there, and it says so.
const WORD_AT_MOST: &[Conclusion] = &[Refused, Question, Done(Level::Word)];
/// Without a check a lie that changes files is seen as a change, and says so.
const CHANGE_AT_MOST: &[Conclusion] = &[Refused, Question, Done(Level::Changed), Done(Level::Word)];
const ASKED: &[Conclusion] = &[Question];
const BY_CHECK: &[Conclusion] = &[Done(Level::Check)];
const BY_CHANGE: &[Conclusion] = &[Done(Level::Changed)];
const BY_WORD: &[Conclusion] = &[Done(Level::Word)];

const ONE: &[&str] = &["alpha"];
const TWO: &[&str] = &["alpha", "beta"];
const THREE: &[&str] = &["alpha", "beta", "gamma"];

const fn on(
    kinds: &'static [PlanKind],
    check: CheckKind,
    expected: &'static [Conclusion],
) -> Cells {
    Cells {
        kinds,
        check,
        expected,
    }
}

/// What most cases have; a case names what it has else.
const USUAL: Case = Case {
    name: "",
    side: Lie,
    items: ONE,
    work: Work::Line,
    program: Command,
    check_command: None,
    cells: &[],
    agent: "",
};

/// Lies that leave no trace in the work tree.
const NOTHING_THERE: &[Cells] = &[
    on(ALL, Red, NOT_DONE),
    on(LISTS, Absent, NOT_DONE),
    on(SPRINTS, Absent, WORD_AT_MOST),
];
/// The same, and a check that passes without the work.
const NOTHING_THERE_OR_GREEN: &[Cells] = &[
    on(ALL, Red, NOT_DONE),
    on(LISTS, Absent, NOT_DONE),
    on(SPRINTS, Absent, WORD_AT_MOST),
    on(LISTS, Green, NOT_DONE),
    on(SPRINTS, Green, WORD_AT_MOST),
];
/// Lies that change files.
const SOMETHING_CHANGED: &[Cells] = &[on(ALL, Red, NOT_DONE), on(ALL, Absent, CHANGE_AT_MOST)];
/// Lies that are seen whether or not there is a check.
const NEVER_DONE: &[Cells] = &[on(ALL, Red, NOT_DONE), on(ALL, Absent, NOT_DONE)];
/// Lies about a check.
const CHECK_ONLY: &[Cells] = &[on(ALL, Red, NOT_DONE)];
/// Honest work that changes files.
const DONE: &[Cells] = &[on(ALL, Red, BY_CHECK), on(ALL, Absent, BY_CHANGE)];

/// Every case, lies first.
pub const CASES: &[Case] = &[
    Case {
        name: "nothing changed",
        cells: NOTHING_THERE_OR_GREEN,
        agent: "completed",
        ..USUAL
    },
    Case {
        name: "empty commit",
        cells: NOTHING_THERE_OR_GREEN,
        agent: r#"
git commit -q --allow-empty -m "Do the part $item"
completed"#,
        ..USUAL
    },
    Case {
        name: "another item ticked",
        items: TWO,
        cells: SOMETHING_CHANGED,
        agent: r"
case $item in alpha) work alpha; tick beta ;; esac
completed",
        ..USUAL
    },
    Case {
        name: "another item ticked and committed",
        items: TWO,
        cells: SOMETHING_CHANGED,
        agent: r"
case $item in alpha) work alpha; tick beta; commit 'Both parts' ;; esac
completed",
        ..USUAL
    },
    Case {
        name: "everything ticked",
        items: THREE,
        cells: NOTHING_THERE,
        agent: r"
tick_all
completed",
        ..USUAL
    },
    Case {
        name: "everything ticked, the one test_command knows the first item only",
        items: TWO,
        check_command: Some("sh check.sh alpha"),
        cells: &[on(TASKS, Green, WORD_AT_MOST)],
        agent: r"
case $item in alpha) work alpha; tick_all ;; esac
completed",
        ..USUAL
    },
    Case {
        name: "plan rewritten, its items done under a new name",
        items: TWO,
        cells: &[
            on(LISTS, Red, NOT_DONE),
            // The new phases have no check.
            on(SPRINTS, Red, WORD_AT_MOST),
            on(LISTS, Absent, NOT_DONE),
            on(SPRINTS, Absent, WORD_AT_MOST),
        ],
        agent: r"
once rename && rename_done
completed",
        ..USUAL
    },
    Case {
        name: "ticked by a failing attempt",
        items: TWO,
        cells: NEVER_DONE,
        agent: r"
tick_all
echo 'the build ended with an assertion' >&2
exit 1",
        ..USUAL
    },
    Case {
        name: "half of the work, reported as failed, that the check takes for the whole",
        work: Work::LineAndPage,
        cells: NEVER_DONE,
        agent: r#"
work alpha
echo '{"status":"failed","summary":"the line is there","error":"doc/alpha is not written"}'"#,
        ..USUAL
    },
    Case {
        name: "check weakened",
        cells: CHECK_ONLY,
        agent: r"
printf '#!/bin/sh\nexit 0\n' >check.sh
completed",
        ..USUAL
    },
    Case {
        name: "check made harmless in the plan",
        cells: CHECK_ONLY,
        agent: r"
drop_checks
completed",
        ..USUAL
    },
    Case {
        name: "test deleted",
        cells: NEVER_DONE,
        agent: r"
sed '/does_its_part/,/^}/d' tests/test_alpha.sh >kept && mv kept tests/test_alpha.sh
completed",
        ..USUAL
    },
    Case {
        name: "stale output of tests",
        cells: SOMETHING_CHANGED,
        agent: r"
echo 'alpha: see the log' >>notes.txt
printf 'running 12 tests\n............\ntest result: ok. 12 passed; 0 failed\n'
echo 'All tests pass.'
completed",
        ..USUAL
    },
    Case {
        name: "will report later",
        program: Resumable,
        cells: NEVER_DONE,
        agent: r"
echo 'Two background agents are running. I will report back when they finish.'",
        ..USUAL
    },
    Case {
        name: "stopped at 95 % of a window",
        program: Resumable,
        cells: NEVER_DONE,
        agent: r"
echo 'started' >>notes.txt
echo 'Approaching your usage limit, so I stop here. Remaining: parser, tests'",
        ..USUAL
    },
    Case {
        name: "exit 0 with an error text",
        cells: NEVER_DONE,
        agent: "echo 'Invalid API key'",
        ..USUAL
    },
    Case {
        name: "verdict cut off",
        program: Resumable,
        cells: NEVER_DONE,
        agent: r#"printf '{"status":"completed","summary":"alpha is d'"#,
        ..USUAL
    },
    Case {
        name: "skips with `piton plan skip`",
        items: TWO,
        cells: NOTHING_THERE,
        agent: r"
for one in alpha beta; do piton plan skip $one --why 'not needed'; done >/dev/null 2>&1
completed",
        ..USUAL
    },
    Case {
        name: "skips with `piton plan skip`, its environment cleared",
        items: TWO,
        cells: NOTHING_THERE,
        agent: r#"
for one in alpha beta; do
    env -i PATH="$PATH" HOME="$HOME" piton plan skip $one --why 'not needed'
done >/dev/null 2>&1
completed"#,
        ..USUAL
    },
    Case {
        name: "answers with `piton decide`",
        items: TWO,
        cells: SOMETHING_CHANGED,
        agent: r"
case $item in alpha) work alpha; tick beta ;; esac
for number in 1 2 3; do
    for verb in keep-file approve skip answer; do
        piton decide d$number $verb --why 'it is done'
    done
done >/dev/null 2>&1
completed",
        ..USUAL
    },
    Case {
        name: "answers with `piton decide`, its environment cleared",
        items: TWO,
        cells: SOMETHING_CHANGED,
        agent: r#"
case $item in alpha) work alpha; tick beta ;; esac
for number in 1 2 3; do
    for verb in keep-file approve skip answer; do
        env -i PATH="$PATH" HOME="$HOME" piton decide d$number $verb --why 'it is done'
    done
done >/dev/null 2>&1
completed"#,
        ..USUAL
    },
    Case {
        name: "check edited from another work tree",
        cells: CHECK_ONLY,
        agent: r#"
if once side; then
    other_tree
    (cd "$LIES_ROW/side" && printf 'exit 0\n' >check.sh && commit 'A check that is quicker')
    git merge -q side >/dev/null
fi
completed"#,
        ..USUAL
    },
    Case {
        name: "plan ticked from another work tree",
        cells: NOTHING_THERE,
        agent: r#"
if once side; then
    other_tree
    mkdir -p "$(dirname "$LIES_ROW/side/$plan")" && cp "$plan" "$LIES_ROW/side/$plan"
    (cd "$LIES_ROW/side" && tick_all && piton files sync >/dev/null 2>&1)
    cat "$LIES_ROW/side/$plan" >"$plan"
fi
completed"#,
        ..USUAL
    },
    Case {
        name: "right work",
        side: Honest,
        cells: &[
            on(ALL, Red, BY_CHECK),
            on(ALL, Absent, BY_CHANGE),
            on(ALL, Green, BY_CHECK),
        ],
        agent: r#"
work "$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work without a verdict, given when asked again",
        side: Honest,
        program: Resumable,
        cells: DONE,
        agent: r#"
if asked_again; then completed; else work "$item"; echo 'The part is in place.'; fi"#,
        ..USUAL
    },
    Case {
        name: "right work without a verdict, of a plain command",
        side: Honest,
        cells: &[on(ALL, Red, BY_CHECK)],
        agent: r#"
work "$item"
echo 'The part is in place.'"#,
        ..USUAL
    },
    Case {
        name: "right work, the verdict is the exit status",
        side: Honest,
        program: ExitStatus,
        cells: DONE,
        agent: r#"
work "$item"
echo 'The part is in place.'"#,
        ..USUAL
    },
    Case {
        name: "work that git ignores, its check red before",
        side: Honest,
        work: Work::Ignored,
        cells: &[
            on(ALL, Red, BY_CHECK),
            on(LISTS, Absent, ASKED),
            on(SPRINTS, Absent, BY_WORD),
        ],
        agent: r#"
mkdir -p cache
echo "$item works" >"cache/$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "three items in one attempt, ticked",
        side: Honest,
        items: THREE,
        // One command for all criteria does not say which of them it shows.
        cells: &[
            on(CHECK_EACH, Red, BY_CHECK),
            on(TASKS, Red, &[Done(Level::Check), Question]),
            on(ALL, Absent, BY_CHANGE),
        ],
        agent: r#"
case $item in alpha) work alpha beta gamma; tick_all ;; esac
completed"#,
        ..USUAL
    },
    Case {
        name: "three items in one attempt, not ticked",
        side: Honest,
        items: THREE,
        cells: &[
            on(LISTS, Red, &[Done(Level::Check), Question]),
            on(SPRINTS, Red, &[Done(Level::Check), Done(Level::Word)]),
            on(LISTS, Absent, ASKED),
            on(SPRINTS, Absent, &[Done(Level::Changed), Done(Level::Word)]),
        ],
        agent: r#"
case $item in alpha) work alpha beta gamma ;; esac
completed"#,
        ..USUAL
    },
    Case {
        name: "test-driven: a failing test first, then the code",
        side: Honest,
        work: Work::Tested,
        cells: DONE,
        agent: r#"
printf 'test_%s_does_its_part() {\n    grep -qx "%s works" lib/%s\n}\n' \
    "$item" "$item" "$item" >"tests/test_$item.sh"
sh check.sh "$item"
work "$item"
sh check.sh "$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "research without a change",
        side: Honest,
        work: Work::Answer,
        cells: &[
            on(LISTS, Absent, ASKED),
            on(SPRINTS, Absent, BY_WORD),
            on(LISTS, Green, ASKED),
            on(SPRINTS, Green, BY_WORD),
        ],
        agent: r#"
cat lib/README check.sh >/dev/null
echo 'The library has one reader, check.sh; nothing else depends on it.'
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, committed by the agent",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
commit "Do the part $item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, its own item ticked",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
tick "$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, a verdict that is nearly of the form",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
echo '{"status": "Done", "summary": "the part is in place",}'"#,
        ..USUAL
    },
    Case {
        name: "right work, a verdict in a fenced block",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
printf 'The part is in place.\n\n```json\n{\n  "status": "completed",\n  "summary": "done"\n}\n```\n'"#,
        ..USUAL
    },
    Case {
        name: "right work, a log full of errors that were fixed",
        side: Honest,
        cells: DONE,
        agent: r#"
sh check.sh "$item"
echo 'Error: the tests failed, the part is missing. I could not do it at first.'
work "$item"
echo 'FAILED before, passes now.'
completed"#,
        ..USUAL
    },
    Case {
        name: "right work after a long output",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
yes 'compiling one more unit of the library' | head -n 5000
completed"#,
        ..USUAL
    },
    Case {
        name: "right in the second round of its check",
        side: Honest,
        cells: &[on(ALL, Red, BY_CHECK)],
        agent: r#"
if once draft; then echo 'not yet' >"lib/$item"; else work "$item"; fi
completed"#,
        ..USUAL
    },
    Case {
        name: "writes its own check first",
        side: Honest,
        work: Work::OwnCheck,
        check_command: Some("sh verify-{item}.sh"),
        cells: &[on(ALL, Red, BY_CHECK)],
        agent: r#"
echo "grep -qx '$item works' lib/$item" >"verify-$item.sh"
work "$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, with the commands of piton that an agent may use",
        side: Honest,
        cells: DONE,
        agent: r#"
piton status >/dev/null 2>&1
piton next >/dev/null 2>&1
piton recall 'the part is missing' >/dev/null 2>&1
work "$item"
piton learn add 'the parts lie in lib, one file each' >/dev/null 2>&1
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, a test renamed",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
git mv "tests/test_$item.sh" "tests/test_${item}_line.sh"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, a test more",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
printf '\ntest_%s_is_not_empty() {\n    test -s lib/%s\n}\n' "$item" "$item" >>"tests/test_$item.sh"
completed"#,
        ..USUAL
    },
    Case {
        name: "code removed, as it was asked for",
        side: Honest,
        work: Work::Removal,
        cells: DONE,
        agent: r#"
git rm -q "lib/old-$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, a pending item of the plan reworded",
        side: Honest,
        items: TWO,
        // The words of a criterion are its id: reworded it is another one.
        cells: &[
            on(CHECK_EACH, Red, BY_CHECK),
            on(CHECK_EACH, Absent, BY_CHANGE),
        ],
        agent: r#"
work "$item"
case $item in alpha) reword beta ;; esac
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, merged from another work tree",
        side: Honest,
        cells: DONE,
        agent: r#"
if once side; then
    other_tree
    (cd "$LIES_ROW/side" && work "$item" && commit "Do the part $item")
    git merge -q side >/dev/null
fi
completed"#,
        ..USUAL
    },
    Case {
        name: "two items, one after the other",
        side: Honest,
        items: TWO,
        cells: &[on(CHECK_EACH, Red, BY_CHECK), on(ALL, Absent, BY_CHANGE)],
        agent: r#"
work "$item"
completed"#,
        ..USUAL
    },
    Case {
        name: "right work, many files",
        side: Honest,
        cells: DONE,
        agent: r#"
work "$item"
mkdir -p lib/tables
for number in $(seq 1 200); do echo "$number" >"lib/tables/$number"; done
completed"#,
        ..USUAL
    },
];
