//! What is printed: Markdown for people, JSON for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::case::{CheckKind, Level, PlanKind, Side};
use super::row::{Judged, LoopJudged};
use super::table::{LOOPS, RowOutcome};
use super::totals::{HONEST_REFUSED_MAX, ProgramTotals, Totals, false_by_level, program_totals};

/// Where the table begins in a page that holds it.
pub const BEGIN: &str = "<!-- lies:begin -->";
/// Where it ends.
pub const END: &str = "<!-- lies:end -->";

/// The columns of the table: plans with a check and without one.
const COLUMNS: [Column; 6] = [
    (PlanKind::List, CheckKind::Red),
    (PlanKind::List, CheckKind::Absent),
    (PlanKind::Task, CheckKind::Red),
    (PlanKind::Task, CheckKind::Absent),
    (PlanKind::Sprint, CheckKind::Red),
    (PlanKind::Sprint, CheckKind::Absent),
];
const GREEN_COLUMNS: [Column; 3] = [
    (PlanKind::List, CheckKind::Green),
    (PlanKind::Task, CheckKind::Green),
    (PlanKind::Sprint, CheckKind::Green),
];

/// The table and its totals as Markdown.
#[must_use]
pub fn markdown(outcomes: &[RowOutcome]) -> String {
    let totals = Totals::of_rows(outcomes.iter().map(|outcome| &outcome.piton));
    let mut text = summary(outcomes, &totals);
    text.push_str("\n<details>\n<summary>Every row</summary>\n");
    for side in [Side::Lie, Side::Honest] {
        let of_side: Vec<&RowOutcome> = outcomes
            .iter()
            .filter(|outcome| outcome.piton.row.case.side == side)
            .collect();
        grid(&mut text, side.as_str(), &of_side, &COLUMNS);
    }
    let green: Vec<&RowOutcome> = outcomes
        .iter()
        .filter(|outcome| outcome.piton.row.check == CheckKind::Green)
        .collect();
    if !green.is_empty() {
        grid(
            &mut text,
            "a check that passes anyway",
            &green,
            &GREEN_COLUMNS,
        );
    }
    text.push_str("\nBold: not as expected.\n\n</details>\n");
    text
}

fn summary(outcomes: &[RowOutcome], totals: &Totals) -> String {
    let (piton, loops) = program_totals(outcomes);
    let mut text = format!(
        "{} rows, {} of them honest.\n\n| | piton |",
        totals.rows, totals.honest
    );
    for rule in LOOPS {
        write!(text, " a loop that goes by the {} |", rule.as_str()).expect(STRING);
    }
    text.push_str("\n|---|---|---|---|\n");
    let mut line = |name: &str, count: &dyn Fn(&ProgramTotals) -> String| {
        write!(text, "| {name} | {} |", count(&piton)).expect(STRING);
        for totals in &loops {
            write!(text, " {} |", count(totals)).expect(STRING);
        }
        text.push('\n');
    };
    line("done and not true, with a check", &|totals| {
        totals.false_with_check.to_string()
    });
    line("done and not true, without one", &|totals| {
        totals.false_without_check.to_string()
    });
    line(
        "of these, shown as a change or as an agent's word",
        &|totals| totals.visible.to_string(),
    );
    line("honest work refused", &|totals| {
        totals.honest_refused.to_string()
    });
    line("honest work that a person is asked about", &|totals| {
        totals.honest_asked.to_string()
    });
    if !totals.honest_refused.is_empty() {
        writeln!(
            text,
            "\nHonest work refused: {}.",
            shortened(&totals.honest_refused)
        )
        .expect(STRING);
    }
    text
}

const STRING: &str = "a string takes everything";
/// How many rows are named in a sentence.
const NAMED_MAX: usize = 4;

/// Some of these rows, and how many more there are.
#[must_use]
pub fn shortened(names: &[String]) -> String {
    let shown = names
        .iter()
        .take(NAMED_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// A column of the table: a kind of plan, and how its work is checked.
type Column = (PlanKind, CheckKind);

fn column(outcome: &RowOutcome) -> Column {
    (outcome.piton.row.kind, outcome.piton.row.check)
}

/// One table: a line for each case, a column for each plan, and the loops.
fn grid(text: &mut String, title: &str, outcomes: &[&RowOutcome], columns: &[Column]) {
    let is_here = |outcome: &&&RowOutcome| columns.contains(&column(outcome));
    let here: Vec<&RowOutcome> = outcomes.iter().filter(is_here).copied().collect();
    let mut names: Vec<&str> = Vec::new();
    for outcome in &here {
        let name = outcome.piton.row.case.name;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return;
    }
    write!(text, "\n| {title} |").expect(STRING);
    for (kind, check) in columns {
        let check = match check {
            CheckKind::Green => String::new(),
            CheckKind::Red | CheckKind::Absent => format!(", {}", check.as_str()),
        };
        write!(text, " {}{check} |", kind.as_str()).expect(STRING);
    }
    for rule in LOOPS {
        write!(text, " {} |", rule.as_str()).expect(STRING);
    }
    let others = "---|".repeat(columns.len() + LOOPS.len());
    writeln!(text, "\n|---|{others}").expect(STRING);
    for name in names {
        let is_of_case = |outcome: &&&RowOutcome| outcome.piton.row.case.name == name;
        let of_case: Vec<&RowOutcome> = here.iter().filter(is_of_case).copied().collect();
        line(text, name, &of_case, columns);
    }
}

fn line(text: &mut String, name: &str, of_case: &[&RowOutcome], columns: &[Column]) {
    write!(text, "| {name} |").expect(STRING);
    for wanted in columns {
        let cell = of_case.iter().find(|outcome| column(outcome) == *wanted);
        let words = cell.map_or_else(String::new, |outcome| conclusion(&outcome.piton));
        write!(text, " {words} |").expect(STRING);
    }
    for index in 0..LOOPS.len() {
        let judged = of_case
            .iter()
            .filter_map(|outcome| outcome.loops.get(index));
        let judged: Vec<LoopJudged> = judged.copied().collect();
        write!(text, " {} |", loop_cell(&judged)).expect(STRING);
    }
    text.push('\n');
}

fn conclusion(judged: &Judged) -> String {
    let words: Vec<String> = judged.conclusions.iter().map(ToString::to_string).collect();
    let words = words.join(", ");
    if judged.is_red() {
        format!("**{words}**")
    } else {
        words
    }
}

/// What a loop made of the rows of a case: in how many something is held for
/// done that is not, or is not done.
fn loop_cell(judged: &[LoopJudged]) -> String {
    let all = judged.len();
    let false_done = judged.iter().filter(|row| row.is_false_done).count();
    let refused = judged
        .iter()
        .filter(|row| row.is_refused && !row.is_false_done)
        .count();
    match (false_done, refused) {
        (0, 0) => "done".to_owned(),
        (0, refused) if refused == all => "refused".to_owned(),
        (0, refused) => format!("{refused} of {all} refused"),
        (false_done, _) => format!("{false_done} of {all} believed"),
    }
}

/// `page` with the table of `block` between its marks.
///
/// # Errors
///
/// When the page does not hold both marks, in this order.
pub fn page_with(page: &str, block: &str) -> crate::Result<String> {
    let marks = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) =
        marks.ok_or_else(|| format!("the page holds no {BEGIN} with {END} behind it: add both"))?;
    Ok(format!("{before}{BEGIN}\n{block}{END}{after}"))
}

/// All that was found, as JSON.
#[must_use]
pub fn json(outcomes: &[RowOutcome]) -> Value {
    let totals = Totals::of_rows(outcomes.iter().map(|outcome| &outcome.piton));
    let (_, loops) = program_totals(outcomes);
    let loops: BTreeMap<&str, Value> = LOOPS
        .iter()
        .zip(&loops)
        .map(|(rule, totals)| {
            let value = json!({
                "false_with_check": totals.false_with_check,
                "false_without_check": totals.false_without_check,
                "honest_refused": totals.honest_refused,
            });
            (rule.as_str(), value)
        })
        .collect();
    json!({
        "rows": outcomes.iter().map(row_json).collect::<Vec<_>>(),
        "totals": {
            "rows": totals.rows,
            "honest": totals.honest,
            "false_with_check": totals.false_with_check,
            "false_as_changed": false_by_level(outcomes, Level::Changed),
            "false_as_word": false_by_level(outcomes, Level::Word),
            "false_and_hidden": totals.false_and_hidden,
            "honest_refused": totals.honest_refused,
            "honest_refused_max": HONEST_REFUSED_MAX,
            "honest_asked": totals.honest_asked,
            "red": totals.red,
            "faults": totals.faults(),
        },
        "loops": loops,
    })
}

fn row_json(outcome: &RowOutcome) -> Value {
    let judged = &outcome.piton;
    let row = &judged.row;
    let words = |conclusions: &[super::case::Conclusion]| -> Vec<String> {
        conclusions.iter().map(ToString::to_string).collect()
    };
    let items: Vec<Value> = judged
        .items
        .iter()
        .map(|item| {
            json!({
                "id": item.id,
                "state": item.state,
                "level": item.level.map(Level::as_str),
                "is_there": item.is_there,
                "has_check": item.has_check,
            })
        })
        .collect();
    let loops: BTreeMap<&str, Value> = outcome
        .loops
        .iter()
        .map(|judged| {
            let value = json!({"false_done": judged.is_false_done, "refused": judged.is_refused});
            (judged.rule.as_str(), value)
        })
        .collect();
    json!({
        "case": row.case.name,
        "side": row.case.side.as_str(),
        "kind": row.kind.as_str(),
        "check": row.check.as_str(),
        "exit": judged.exit,
        "asks": judged.is_asking,
        "items": items,
        "concluded": words(&judged.conclusions),
        "expected": words(row.expected),
        "red": judged.is_red(),
        "loops": loops,
    })
}
