//! A run at work: a line for what happens. What goes on: see [`super::live`].

use jiff::Timestamp;
use piton_engine::model::attempt::RecoveryAction;
use piton_engine::model::event::{AttemptEvent, DecisionEvent, ItemEvent, RunEvent, UnitEvent};
use piton_engine::model::merge::MergeReturn;
use piton_engine::model::pull_request::PullRequestNews;
use piton_engine::model::quote::truncate_chars;
use piton_engine::model::recover::FollowedRecovery;
use piton_engine::model::review::ReviewVerdict;
use piton_engine::model::run::Pause;
use piton_engine::model::terminal::{clean_line, clean_text};
use piton_engine::model::{
    Actor, DecisionId, DecisionKind, DecodedRecord, Event, ItemRow, ItemState, Node, Outcome, Role,
    RunState, Stage, Tables, Verb,
};
use piton_engine::verbs::item_view::{CheckView, title_of_item};

use super::item::title_suffix;
use crate::output::{BOLD, CYAN, DIM, GREEN, MarkSet, OutputStyle, RED, YELLOW};

/// What a line about an event is about; it stands as a mark before the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventMark {
    Started,
    /// A step on the way of an item that is at work.
    Step,
    /// More about what happened.
    Detail,
    Done,
    Failed,
    NeedsPerson,
    LeftOut,
    Waits,
    /// It goes on, after something that a person may want to know.
    Trouble,
    Interrupted,
    Paused,
    Split,
}

impl EventMark {
    fn line(self, text: String) -> EventLine {
        EventLine { mark: self, text }
    }

    /// Its style, how it is written where there are letters and little more (a word where
    /// the line does not say it itself), and where all characters are there.
    fn look(self) -> (OutputStyle, &'static str, &'static str) {
        match self {
            Self::Started => (CYAN, ">", ">"),
            Self::Step | Self::Detail => (DIM, " ", " "),
            Self::Done => (GREEN, "done", "\u{2713}"),
            Self::Failed => (RED, "!", "\u{2717}"),
            Self::NeedsPerson => (YELLOW, "?", "?"),
            Self::LeftOut => (DIM, "~", "\u{2013}"),
            Self::Waits => (YELLOW, "~", "~"),
            Self::Trouble => (YELLOW, "!", "!"),
            Self::Interrupted => (YELLOW, "-", "-"),
            Self::Paused => (YELLOW, "=", "="),
            Self::Split => (YELLOW, "/", "/"),
        }
    }
}

/// A line about an event.
pub(crate) struct EventLine {
    mark: EventMark,
    text: String,
}

impl EventLine {
    /// The line with its mark.
    pub(crate) fn render(&self, marks: MarkSet) -> String {
        let (style, word, symbol) = self.mark.look();
        let mark = match marks {
            MarkSet::Symbols => symbol,
            MarkSet::Words => word,
        };
        let text = &self.text;
        match self.mark {
            EventMark::LeftOut => format!("{style}{mark} {text}{style:#}"),
            EventMark::Step | EventMark::Detail => format!("  {text}"),
            EventMark::Started
            | EventMark::Done
            | EventMark::Failed
            | EventMark::NeedsPerson
            | EventMark::Waits
            | EventMark::Trouble
            | EventMark::Interrupted
            | EventMark::Paused
            | EventMark::Split => format!("{style}{mark}{style:#} {text}"),
        }
    }

    /// Whether it tells what a live region shows already: that an item is at work, and
    /// what it went through until now.
    pub(crate) fn is_shown_live(&self) -> bool {
        matches!(self.mark, EventMark::Started | EventMark::Step)
    }
}

/// The line for an event, if people want to see it.
pub(crate) fn render_event_line(recorded: &DecodedRecord, tables: &Tables) -> Option<EventLine> {
    match &recorded.event {
        Event::Run(event) => render_run_event(event),
        Event::Item(event) => render_item_event(event, recorded, tables),
        Event::Unit(event) => render_unit_event(event, recorded, tables),
        Event::Attempt(event) => render_attempt_event(event, recorded, tables),
        Event::Decision(event) => render_decision_event(event, recorded, tables),
        Event::Memory(_) | Event::Session(_) | Event::File(_) | Event::Notification(_) => None,
    }
}

fn render_run_event(event: &RunEvent) -> Option<EventLine> {
    match event {
        RunEvent::Moved {
            to, pause, reason, ..
        } => run_line(*to, pause.as_ref(), reason.as_deref()),
        RunEvent::Planned(_)
        | RunEvent::LeaseTaken { .. }
        | RunEvent::LeaseLost { .. }
        | RunEvent::LeaseReleased { .. }
        | RunEvent::Started { .. }
        | RunEvent::Targeted { .. }
        | RunEvent::LanesEntered { .. }
        | RunEvent::LandStarted { .. }
        | RunEvent::Landed { .. }
        | RunEvent::Asked { .. }
        | RunEvent::Changed(_) => None,
    }
}

fn render_item_event(
    event: &ItemEvent,
    recorded: &DecodedRecord,
    tables: &Tables,
) -> Option<EventLine> {
    let time = recorded.record.stamp.time;
    match event {
        ItemEvent::GateEnded {
            node,
            report,
            evidence: None,
            ..
        } if !report.interrupted && is_before_first_attempt(tables, recorded) => {
            let what = if report.passed { "passes" } else { "fails" };
            Some(EventMark::Step.line(format!(
                "{DIM}check of {node} {what} before the first attempt{DIM:#}"
            )))
        }
        ItemEvent::GateEnded { node, report, .. } if report.passed => {
            Some(EventMark::Step.line(format!("{DIM}check of {node} passed{DIM:#}")))
        }
        ItemEvent::GateEnded { node, report, .. } if !report.interrupted => {
            let check = recorded_item(tables, recorded).and_then(CheckView::of_item);
            let printed = check.map_or_else(String::new, |check| render_check_output(&check));
            Some(EventMark::Trouble.line(format!(
                "check of {node} failed{}{printed}",
                colon_suffix(report.error.as_deref())
            )))
        }
        ItemEvent::CommitEnded {
            node,
            commit: Some(commit),
            ..
        } => {
            let short: String = commit.chars().take(10).collect();
            Some(EventMark::Step.line(format!("{DIM}{node} committed as {short}{DIM:#}")))
        }
        // What a person says of it is told where that is said.
        ItemEvent::Reviewed { attempt: None, .. } => None,
        ItemEvent::Reviewed {
            node,
            by,
            verdict,
            why,
            ..
        } => {
            let why = colon_suffix(why.as_deref());
            Some(match verdict {
                Some(ReviewVerdict::Approve) => {
                    EventMark::Detail.line(format!("{DIM}{by} approves {node}{DIM:#}"))
                }
                Some(ReviewVerdict::RequestChanges) => {
                    EventMark::Trouble.line(format!("{by} wants changes of {node}{why}"))
                }
                None => EventMark::Trouble.line(format!("{node}, reviewing it{why}")),
            })
        }
        ItemEvent::Moved(moved) => {
            let item = tables.item(moved.run, &moved.node);
            let leaf = item.is_none_or(piton_engine::model::ItemRow::is_leaf);
            moved_line(
                moved,
                leaf,
                time,
                item.and_then(|item| item.summary.as_deref()),
                tables,
            )
        }
        ItemEvent::Planned(_)
        | ItemEvent::Claimed { .. }
        | ItemEvent::GateStarted { .. }
        | ItemEvent::GateEnded { .. }
        | ItemEvent::CommitStarted { .. }
        | ItemEvent::CommitEnded { .. }
        | ItemEvent::Staged { .. }
        | ItemEvent::SkipAsked { .. }
        | ItemEvent::Changed(_)
        | ItemEvent::Placed(_) => None,
    }
}

fn render_unit_event(
    event: &UnitEvent,
    recorded: &DecodedRecord,
    tables: &Tables,
) -> Option<EventLine> {
    match event {
        UnitEvent::LaneLeft {
            saved: Some(saved), ..
        } => unmerged_work_line(tables, recorded, saved),
        UnitEvent::MergeEnded {
            made: None,
            at: None,
            ..
        } => {
            let work = recorded_item(tables, recorded)?
                .work
                .unit
                .as_ref()?
                .work
                .clone();
            unmerged_work_line(tables, recorded, &work?)
        }
        UnitEvent::MergeReturned {
            why: MergeReturn::Unchecked { .. },
            ..
        } => None,
        UnitEvent::MergeReturned { node, why, .. } => Some(EventMark::Trouble.line(format!(
            "{node} goes back to an agent: {}",
            why.describe_reason()
        ))),
        UnitEvent::MergeEnded {
            node,
            made: Some(made),
            ..
        } => {
            let short: String = made.commit.chars().take(10).collect();
            Some(EventMark::Step.line(format!("{DIM}{node} merged as {short}{DIM:#}")))
        }
        UnitEvent::PullRequestOpened {
            node, number, url, ..
        } => Some(EventMark::Detail.line(format!(
            "{DIM}{node} is in pull request #{number}:{DIM:#} {url}"
        ))),
        UnitEvent::PullRequestTaken {
            node, number, url, ..
        } => Some(EventMark::Detail.line(format!(
            "{DIM}{node} goes on with pull request #{number}:{DIM:#} {url}"
        ))),
        UnitEvent::PullRequestSeen { node, news, .. } => pull_request_line(node, news),
        UnitEvent::LaneTaken { .. }
        | UnitEvent::LaneLeft { .. }
        | UnitEvent::MergeQueued { .. }
        | UnitEvent::MergeStarted { .. }
        | UnitEvent::MergePassed { .. }
        | UnitEvent::MergeEnded { .. }
        | UnitEvent::PullRequestAsked { .. } => None,
    }
}

fn render_attempt_event(
    event: &AttemptEvent,
    recorded: &DecodedRecord,
    tables: &Tables,
) -> Option<EventLine> {
    let time = recorded.record.stamp.time;
    match event {
        AttemptEvent::Started {
            node,
            number,
            role,
            agent,
            model,
            hook,
            ..
        } => {
            let by = takes_turn(agent, recorded_item(tables, recorded), tables);
            let by = by.then(|| format!(", by {}", first_line(agent)));
            let by = by.unwrap_or_default();
            let what = match role {
                Role::Worker if *number > 1 => format!(", attempt {number}"),
                Role::Worker => String::new(),
                Role::GateFix => ", mending what its check found".to_owned(),
                Role::Repair => ", putting the workspace in order first".to_owned(),
                Role::Verdict => ", asked once more what came of it".to_owned(),
                Role::Resolve => {
                    let item = recorded_item(tables, recorded);
                    let merge = item.and_then(ItemRow::merge);
                    match merge.and_then(|merge| merge.why.as_ref()) {
                        Some(MergeReturn::Rejected { by, .. }) => {
                            format!(", changing what {by} wants otherwise")
                        }
                        _ => ", bringing it together with what was merged".to_owned(),
                    }
                }
                Role::Reviewer => ", reviewing it".to_owned(),
                Role::Split => ", finding pieces to split it into".to_owned(),
                Role::IterationHook => {
                    format!(", hook `{}`", hook.as_deref().unwrap_or_default())
                }
            };
            let model = model
                .as_ref()
                .map(|model| format!(" {DIM}({model}){DIM:#}"))
                .unwrap_or_default();
            let title = recorded_item(tables, recorded).and_then(title_of_item);
            let title = title_suffix(title.as_deref());
            Some(EventMark::Started.line(format!("{BOLD}{node}{BOLD:#}{what}{by}{model}{title}")))
        }
        AttemptEvent::Ended { report, node, .. } if report.outcome == Outcome::Interrupted => {
            Some(EventMark::Interrupted.line(format!(
                "{node} interrupted{}",
                colon_suffix(report.error.as_deref())
            )))
        }
        AttemptEvent::Ended { report, node, .. } if report.outcome != Outcome::Completed => {
            let item = recorded_item(tables, recorded)?;
            let mut hooks = item.work.hook_runs.iter();
            let hook = hooks.find(|run| run.end.as_ref().is_some_and(|end| end.at == time))?;
            Some(EventMark::Trouble.line(format!(
                "{node}, hook `{}` failed{}",
                hook.id,
                colon_suffix(report.error.as_deref())
            )))
        }
        AttemptEvent::Ended { .. }
        | AttemptEvent::Judged { .. }
        | AttemptEvent::Answered { .. }
        | AttemptEvent::Reported(_)
        | AttemptEvent::Revised(_) => None,
    }
}

fn render_decision_event(
    event: &DecisionEvent,
    recorded: &DecodedRecord,
    tables: &Tables,
) -> Option<EventLine> {
    match event {
        DecisionEvent::Made {
            decision,
            verb: Verb::Settled,
            why,
            ..
        } => settled_decision_line(recorded, tables, *decision, why.as_deref()),
        DecisionEvent::Opened { .. }
        | DecisionEvent::Revised { .. }
        | DecisionEvent::Made { .. }
        | DecisionEvent::Deferred { .. } => None,
    }
}

/// What a look at a pull request brought.
fn pull_request_line(node: &Node, news: &PullRequestNews) -> Option<EventLine> {
    Some(match news {
        PullRequestNews::Merged { commit } => {
            let short: String = commit.chars().take(10).collect();
            EventMark::Detail.line(format!("{DIM}{node} was merged as {short}{DIM:#}"))
        }
        PullRequestNews::MergedBefore { .. } => EventMark::Trouble.line(format!(
            "{node} was merged without its last work, which gets a pull request of its own"
        )),
        PullRequestNews::Closed { .. } => EventMark::Trouble.line(format!(
            "the pull request of {node} was closed without a merge"
        )),
        PullRequestNews::Open => EventMark::Detail.line(format!(
            "{DIM}the pull request of {node} waits again{DIM:#}"
        )),
        PullRequestNews::Lost { why } => EventMark::Trouble.line(format!(
            "the pull request of {node} is no use{}",
            colon_suffix(Some(why))
        )),
        PullRequestNews::Held { why } | PullRequestNews::Trouble { why } => EventMark::Trouble
            .line(format!(
                "the pull request of {node}{}",
                colon_suffix(Some(why))
            )),
        // It goes back to an agent, with what they wrote.
        PullRequestNews::Words { .. } => return None,
    })
}

/// What is asked no more about edits that may be an agent's; what a file settles is
/// told with what becomes of that file.
fn settled_decision_line(
    recorded: &DecodedRecord,
    tables: &Tables,
    decision: DecisionId,
    why: Option<&str>,
) -> Option<EventLine> {
    let row = tables.decision(decision)?;
    let is_of_file = matches!(recorded.record.stamp.actor, Actor::File(_));
    let is_told = row.kind == DecisionKind::AgentEdit && !is_of_file;
    let details = row.details.as_deref().unwrap_or(&row.question);
    let (number, why) = (row.number, why.unwrap_or("it fits"));
    let details = details.replace('\n', "; ");
    is_told.then(|| {
        EventMark::Detail.line(format!(
            "{DIM}d{number} is settled, {why}: {details}{DIM:#}"
        ))
    })
}

/// Whether another agent of the chain gave way to this one.
fn takes_turn(agent: &str, item: Option<&ItemRow>, tables: &Tables) -> bool {
    let Some(item) = item else { return false };
    let limits = tables.run(item.run).map(|run| &run.spent.limited_agents);
    let limited = limits.into_iter().flat_map(|limits| limits.keys());
    limited
        .chain(&item.tries.refused_by)
        .any(|other| other != agent)
}

/// The item of an event about work at it.
fn recorded_item<'t>(tables: &'t Tables, recorded: &DecodedRecord) -> Option<&'t ItemRow> {
    let (Event::Attempt(
        AttemptEvent::Started { run, node, .. } | AttemptEvent::Ended { run, node, .. },
    )
    | Event::Unit(
        UnitEvent::LaneLeft { run, node, .. } | UnitEvent::MergeEnded { run, node, .. },
    )
    | Event::Item(ItemEvent::GateEnded { run, node, .. })) = &recorded.event
    else {
        return None;
    };
    tables.item(*run, node)
}

/// Where the work on a unit is kept that a person marked or left out before it was
/// merged.
fn unmerged_work_line(
    tables: &Tables,
    recorded: &DecodedRecord,
    commit: &str,
) -> Option<EventLine> {
    let item = recorded_item(tables, recorded).filter(|item| item.state.is_finished())?;
    let target = tables.run(item.run)?.branches.target.as_ref()?;
    let (node, branch) = (&item.node, &target.branch);
    let short: String = commit.chars().take(12).collect();
    Some(EventMark::LeftOut.line(format!(
        "the work on {node} that is not merged is kept: see it with `git log {branch}..{short}` and `git diff {branch}...{short}`"
    )))
}

/// The command of a check that failed and what it printed, each in lines of
/// their own below the line of the event.
fn render_check_output(check: &CheckView) -> String {
    let mut text = format!("\n  {DIM}{}{DIM:#}", first_line(&check.command));
    for line in check.output.shown_lines() {
        text.push_str(&format!("\n  {DIM}|{DIM:#} {line}"));
    }
    text
}

/// Whether a check ran before the first attempt at its item.
fn is_before_first_attempt(tables: &Tables, recorded: &DecodedRecord) -> bool {
    let Event::Item(ItemEvent::GateEnded { run, node, .. }) = &recorded.event else {
        return false;
    };
    let item = tables.item(*run, node);
    item.is_some_and(|item| {
        // The news of another runner come when the attempt may have begun.
        let began_since =
            item.attempts == 1 && item.attempt.is_some() && item.proof.gate_runs.is_none();
        item.stage == Stage::Baseline || began_since
    })
}

fn moved_line(
    moved: &piton_engine::model::event::ItemMoved,
    leaf: bool,
    now: Timestamp,
    summary: Option<&str>,
    tables: &Tables,
) -> Option<EventLine> {
    let node = &moved.node;
    let calls = tables
        .item(moved.run, node)
        .map_or(0, |item| item.tries.denied);
    let calls = describe_denied_calls(calls)
        .map_or_else(String::new, |calls| format!(" {DIM}({calls}){DIM:#}"));
    match moved.to {
        ItemState::Done => {
            let item = tables.item(moved.run, node);
            let took = item
                .filter(|item| item.started_at.is_some())
                .map(|item| tables.total_work_ms(item, None) / 1_000)
                .map(|took| {
                    format!(
                        " {DIM}{}{DIM:#}",
                        piton_engine::model::amount::format_duration(took)
                    )
                })
                .unwrap_or_default();
            let said = if leaf {
                colon_suffix(summary)
            } else {
                String::new()
            };
            let proof = item
                .and_then(ItemRow::describe_evidence)
                .map(|proof| format!(" {DIM}({proof}){DIM:#}"))
                .unwrap_or_default();
            Some(EventMark::Done.line(format!("{node}{took}{proof}{calls}{said}")))
        }
        ItemState::Failed if leaf => Some(EventMark::Failed.line(format!(
            "{node} failed{calls}{}",
            colon_suffix(moved.error.as_deref())
        ))),
        ItemState::Blocked if leaf => Some(EventMark::Failed.line(format!(
            "{node} is blocked{calls}{}",
            colon_suffix(moved.error.as_deref())
        ))),
        ItemState::Dropped => Some(
            EventMark::LeftOut.line(format!("{node} is dropped: it is not in the file any more")),
        ),
        ItemState::Skipped => Some(EventMark::LeftOut.line(format!(
            "{node} is left out{}",
            colon_suffix(moved.summary.as_deref())
        ))),
        ItemState::Ready if moved.recovery.is_some() => {
            let error = colon_suffix(moved.error.as_deref());
            let next = moved.recovery.as_ref().map(|next| describe_recovery(next));
            Some(EventMark::Trouble.line(format!(
                "{node} failed{calls}{error}; {}",
                next.unwrap_or_default()
            )))
        }
        ItemState::Ready if moved.from == ItemState::Working && moved.error.is_some() => {
            let error = colon_suffix(moved.error.as_deref());
            Some(EventMark::Trouble.line(format!("{node} failed{calls}{error}; tried again")))
        }
        ItemState::Pending if moved.from == ItemState::Working => {
            let pieces = count_open_pieces(tables, moved);
            Some(EventMark::Split.line(format!("{node} is split into {pieces}; they come first")))
        }
        ItemState::Waiting if moved.human.is_none() && planned_wait(tables, moved).is_some() => {
            let wait = planned_wait(tables, moved);
            let wait = wait.map_or_else(String::new, ToString::to_string);
            Some(EventMark::Waits.line(format!("{node} waits {wait}")))
        }
        ItemState::Waiting => Some(match (&moved.human, moved.until) {
            (Some(human), _) => {
                EventMark::NeedsPerson.line(format!("{node} needs a person: {}", human.reason))
            }
            (None, Some(until)) if is_put_off(tables, moved) => EventMark::Waits.line(format!(
                "{node} waits for the service{}; tried again in {}",
                colon_suffix(moved.error.as_deref()),
                format_wait(now, until)
            )),
            (None, Some(until)) => EventMark::Trouble.line(format!(
                "{node} failed{}; tried again in {}",
                colon_suffix(moved.error.as_deref()),
                format_wait(now, until)
            )),
            (None, None) => EventMark::Trouble.line(format!("{node} waits")),
        }),
        ItemState::Failed
        | ItemState::Blocked
        | ItemState::Pending
        | ItemState::Ready
        | ItemState::Working => None,
    }
}

/// Calls that were not permitted, in words; none where there were none.
pub(crate) fn describe_denied_calls(calls: u32) -> Option<String> {
    match calls {
        0 => None,
        1 => Some("1 call denied".to_owned()),
        more => Some(format!("{more} calls denied")),
    }
}

/// What an item waits for before it begins, as its plan says.
fn planned_wait<'t>(
    tables: &'t Tables,
    moved: &piton_engine::model::event::ItemMoved,
) -> Option<&'t piton_engine::model::wait::Wait> {
    tables.item(moved.run, &moved.node)?.current_wait()
}

/// Whether an item waits because a service had enough.
fn is_put_off(tables: &Tables, moved: &piton_engine::model::event::ItemMoved) -> bool {
    let item = tables.item(moved.run, &moved.node);
    item.is_some_and(|item| item.tries.put_off > 0)
}

/// How many pieces of an item there are that it waits for.
fn count_open_pieces(tables: &Tables, moved: &piton_engine::model::event::ItemMoved) -> usize {
    let open = tables.tree(moved.run).filter(|item| {
        item.plan.piece_of.as_ref() == Some(&moved.node) && !item.state.is_finished()
    });
    open.count()
}

/// What is done now about a failure, in a line.
pub(crate) fn describe_recovery(next: &FollowedRecovery) -> String {
    let evidence = first_line(&next.evidence.join("; "));
    match next.action {
        RecoveryAction::FixState => format!("a repair first: {evidence}"),
        RecoveryAction::BreakChunks => format!("a split first: {evidence}"),
        RecoveryAction::Retry => format!("tried again with {evidence}"),
        RecoveryAction::Skip | RecoveryAction::Manual => next.action.to_string(),
    }
}

fn run_line(to: RunState, pause: Option<&Pause>, reason: Option<&str>) -> Option<EventLine> {
    match to {
        RunState::Paused => Some(
            EventMark::Paused
                .line(pause.map_or_else(|| "paused".to_owned(), Pause::describe_reason)),
        ),
        RunState::Waiting if pause.is_some() => Some(
            EventMark::Paused
                .line(pause.map_or_else(|| "paused".to_owned(), Pause::describe_reason)),
        ),
        RunState::Interrupted => {
            reason.map(|reason| EventMark::Paused.line(format!("interrupted: {reason}")))
        }
        RunState::New
        | RunState::Running
        | RunState::Waiting
        | RunState::Blocked
        | RunState::Done => None,
    }
}

fn colon_suffix(text: Option<&str>) -> String {
    text.map(|text| format!(": {}", first_line(text)))
        .unwrap_or_default()
}

/// The first line of a text, cut where it is too long for a line.
pub(crate) fn first_line(text: &str) -> String {
    let text = clean_text(text);
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    truncate_chars(&clean_line(line), 120)
}

/// The time between two instants, for people.
pub(crate) fn format_time_between(from: Timestamp, to: Timestamp) -> String {
    let span = to.duration_since(from);
    piton_engine::model::amount::format_duration(u64::try_from(span.as_secs()).unwrap_or(0))
}

/// A time that is waited for, for people.
pub(crate) fn format_wait(from: Timestamp, to: Timestamp) -> String {
    if to.duration_since(from).as_millis() < 1_000 {
        "less than a second".to_owned()
    } else {
        format_time_between(from, to)
    }
}
