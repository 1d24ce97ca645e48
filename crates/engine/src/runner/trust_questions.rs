//! What a person is asked about trust in the inbox: once for each list of commands, and
//! one question for each plan.

use std::collections::BTreeSet;

use piton_core::trust::{ExecutablePart, hash_of_parts};
use piton_core::{Command, DecisionKind, DecisionRow, Need, RunId, Verb};

use crate::config::trust::{describe_kind, typed_trust};
use crate::failure::Failure;
use crate::session::Session;

/// How a question about trust begins: by this it is found again.
const QUESTION: &str = "this project would run what is not trusted here yet: ";
/// So much of a hash tells two questions apart.
const SHORT_HASH: usize = 12;

/// The names by which a plan may be asked about; none, which no question is asked under
/// where the plan has one, stands for the plan that a command without one means.
pub(crate) type PlanNames<'a> = [Option<&'a str>];

/// What a question about a plan ends with, under this name.
fn way_on(plan: Option<&str>) -> String {
    let (show, trust) = (typed_trust(plan, " --show"), typed_trust(plan, ""));
    format!("look at it with {show}, trust it with {trust}, then run again")
}

/// What is typed in the place of an answer to a question about trust; none for another
/// question.
pub(crate) fn trust_way_on(row: &DecisionRow) -> Option<&str> {
    let is_asked = row.run == RunId::PROJECT
        && row.kind == DecisionKind::Question
        && row.question.starts_with(QUESTION);
    row.details.as_deref().filter(|_| is_asked)?.lines().last()
}

/// Asks a person in the inbox, once, about a plan, under the first of its names; a
/// question about another list of the same plan is settled.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn ask_in_inbox(
    session: &Session<'_>,
    names: &PlanNames<'_>,
    parts: &[ExecutablePart],
) -> Result<(), Failure> {
    let hash = hash_of_parts(parts);
    let short = &hash[..SHORT_HASH];
    let count = match parts.len() {
        1 => "1 command".to_owned(),
        count => format!("{count} commands"),
    };
    let question = format!("{QUESTION}{count} ({short})");
    let kinds: BTreeSet<String> = parts
        .iter()
        .map(|part| format!("{} of {}", describe_kind(part.kind), part.source))
        .collect();
    let mut details: Vec<String> = kinds.into_iter().take(10).collect();
    details.push(way_on(names.iter().copied().flatten().next()));
    settle_questions(session, names, Some(&question))?;
    session.execute_command(&Command::AskPerson {
        run: RunId::PROJECT,
        node: None,
        question,
        details: Some(details.join("\n")),
    })?;
    Ok(())
}

/// Settles what is asked about the trust of a plan, but for the question that is still
/// asked.
///
/// # Errors
///
/// When the store fails.
pub(crate) fn settle_questions(
    session: &Session<'_>,
    names: &PlanNames<'_>,
    but: Option<&str>,
) -> Result<(), Failure> {
    let ways_on: BTreeSet<String> = names.iter().map(|name| way_on(*name)).collect();
    let rows = session.load(&[Need::OpenDecisions(Some(RunId::PROJECT))])?;
    let is_answered = |row: &&DecisionRow| {
        trust_way_on(row).is_some_and(|way| ways_on.contains(way))
            && but != Some(row.question.as_str())
    };
    let open = rows.tables.open_decisions(RunId::PROJECT);
    let answered: Vec<DecisionRow> = open.filter(is_answered).cloned().collect();
    for row in answered {
        session.execute_command(&Command::Decide {
            decision: row.id,
            run: row.run,
            verb: Verb::Skip,
            why: Some("it was answered with `piton trust`".to_owned()),
        })?;
    }
    Ok(())
}
