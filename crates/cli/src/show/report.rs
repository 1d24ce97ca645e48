//! A report as people read it: its blocks, and the two forms that they are written in.

mod document;
mod html;
mod markdown;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_engine::model::amount::format_duration;
use piton_engine::model::evidence::Basis;
use piton_engine::model::gate::excerpt_output;
use piton_engine::model::usage::Spend;
use piton_engine::model::{Node, RunState};
use piton_engine::process::shell::quote_word;
use piton_engine::verbs::account::AccountItem;
use piton_engine::verbs::inbox::OpenQuestion;
use piton_engine::verbs::item_view::{ItemView, ItemWaitKind, label_of_node};
use piton_engine::verbs::learn::RememberedRow;
use piton_engine::verbs::report::{ReportedCosts, ReportedRun, WorkReport};

use self::document::{Block, Line, Span, Tone, code, strong, text};
use super::account::describe_cause;
use super::progress::first_line;

/// So many items of a list are shown.
const ITEMS_MAX: usize = 400;
/// So many of those that are left, of which there is little to say.
const LEFT_MAX: usize = 30;
/// So many hours have a bar.
const HOURS_MAX: usize = 48;

/// The report as Markdown; times are shown by the clock of `zone`.
pub(crate) fn render_markdown(report: &WorkReport, zone: &TimeZone) -> String {
    markdown::render(&blocks_of_report(report, zone))
}

/// The same as one HTML file.
pub(crate) fn render_html(report: &WorkReport, zone: &TimeZone) -> String {
    let title = format!("piton report: {}", report.project);
    html::render(&title, &blocks_of_report(report, zone))
}

fn show_time(time: Timestamp, zone: &TimeZone) -> String {
    let local = time.to_zoned(zone.clone());
    local.strftime("%F %H:%M %Z").to_string()
}

fn blocks_of_report(report: &WorkReport, zone: &TimeZone) -> Vec<Block> {
    let mut made = format!("Made {}", show_time(report.made_at, zone));
    if let Some(since) = report.since {
        made.push_str(&format!(
            ", of what was done since {}",
            show_time(since, zone)
        ));
    }
    let mut blocks = vec![
        Block::Heading(1, vec![text("Report of "), text(&report.project)]),
        Block::Paragraph(vec![text(format!("{made}."))]),
    ];
    if report.runs.is_empty() {
        let nothing = match report.since {
            Some(_) => "Nothing was done in that time. Start a plan with ",
            None => "No run is recorded here. Start a plan with ",
        };
        blocks.push(Block::Paragraph(vec![
            text(nothing),
            code("piton run"),
            text("."),
        ]));
    }
    for run in &report.runs {
        blocks.extend(summary_of_run(run));
    }
    if !report.next.is_empty() {
        blocks.push(heading("What to type next"));
        let next = report.next.iter().map(|next| vec![code(next)]);
        blocks.push(Block::List(next.collect()));
    }
    blocks.extend(blocks_of_questions(&report.questions, zone));
    for run in &report.runs {
        blocks.extend(blocks_of_run(run, zone));
    }
    if !report.learned.is_empty() {
        blocks.push(heading("Learned"));
        let learned = report.learned.iter().take(ITEMS_MAX);
        blocks.push(Block::List(learned.map(line_of_memory).collect()));
    }
    blocks
}

fn heading(title: &str) -> Block {
    Block::Heading(2, vec![text(title)])
}

/// How many items of a run stand how, in a line and as a bar.
fn summary_of_run(run: &ReportedRun) -> [Block; 2] {
    let counters = &run.counters;
    let parts = [
        (Tone::Good, counters.nodes_done, "done"),
        (Tone::Bad, counters.nodes_failed, "failed"),
        (Tone::Bad, counters.nodes_blocked, "blocked"),
        (Tone::Waiting, counters.nodes_waiting, "waiting"),
        (Tone::Plain, counters.nodes_skipped, "skipped"),
        (Tone::Plain, counters.nodes_dropped, "dropped"),
    ];
    let known: usize = parts.iter().map(|(_, count, _)| count).sum();
    let left = counters.nodes.saturating_sub(known);
    let parts = parts.into_iter().chain([(Tone::Plain, left, "left")]);
    let parts: Vec<_> = parts.filter(|(_, count, _)| *count > 0).collect();
    let mut line = vec![
        strong(&run.line.run),
        text(" "),
        state_of_run(run),
        text(format!(
            ": {} {}",
            counters.nodes,
            counters.unit.noun(counters.nodes)
        )),
    ];
    for (tone, count, words) in &parts {
        line.extend([text(", "), Span::State(*tone, format!("{count} {words}"))]);
    }
    line.push(text(format!(
        "; {} of work; {}; {}",
        format_duration(run.account.work_s),
        cost_in_words(&run.costs.spend),
        tokens_in_words(&run.costs.spend)
    )));
    let shares = parts.iter().map(|(tone, count, _)| (*tone, *count));
    [Block::Shares(shares.collect()), Block::Paragraph(line)]
}

fn state_of_run(run: &ReportedRun) -> Span {
    let (tone, words) = match (run.line.state, run.line.live) {
        (_, true) => (Tone::Good, "is at work, so this is how it stands now"),
        (RunState::New, _) => (Tone::Plain, "was not started"),
        (RunState::Running, _) => (Tone::Waiting, "is running"),
        (RunState::Done, _) => (Tone::Good, "is done"),
        (RunState::Waiting, _) => (Tone::Waiting, "waits"),
        (RunState::Paused, _) => (Tone::Waiting, "is paused"),
        (RunState::Blocked, _) => (Tone::Bad, "is blocked"),
        (RunState::Interrupted, _) => (Tone::Bad, "was interrupted"),
    };
    Span::State(tone, words.to_owned())
}

/// What it cost; an unknown cost is never shown as nothing.
fn cost_in_words(spend: &Spend) -> String {
    spend
        .describe_cost()
        .unwrap_or_else(|| "cost unknown".to_owned())
}

fn tokens_in_words(spend: &Spend) -> String {
    match spend.describe_tokens() {
        Some(tokens) => format!("tokens: {tokens}"),
        None => "tokens unknown".to_owned(),
    }
}

fn blocks_of_questions(questions: &[OpenQuestion], zone: &TimeZone) -> Vec<Block> {
    if questions.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![heading("Waits for you")];
    for question in questions.iter().take(ITEMS_MAX) {
        let mut about = vec![Span::State(Tone::Waiting, question.id.clone()), text(" ")];
        if let Some(node) = &question.node {
            let label = label_of_node(&Node::shown(node), question.title.as_deref());
            about.push(text(format!("{}: {label}", question.run)));
        }
        blocks.push(Block::Heading(3, about));
        let put_off = question.deferred;
        let put_off = put_off.map(|until| format!(", put off until {until}"));
        let since = show_time(question.since, zone);
        blocks.push(Block::Paragraph(vec![
            text(&question.question),
            text(format!(" (since {since}{})", put_off.unwrap_or_default())),
        ]));
        if let Some(details) = &question.details {
            blocks.push(Block::Output(excerpt_output(details).shown_lines()));
        }
        let verbs = question.verbs.iter();
        let typed = verbs.map(|verb| vec![code(question.decide_command(*verb))]);
        blocks.push(Block::List(typed.collect()));
    }
    blocks.extend(more_than(questions.len(), ITEMS_MAX, "piton inbox"));
    blocks
}

/// That a list is longer than it is shown, and what shows all of it.
fn more_than(count: usize, shown: usize, command: &str) -> Option<Block> {
    let more = count.checked_sub(shown).filter(|more| *more > 0)?;
    Some(Block::Paragraph(vec![
        text(format!("… and {more} more: ")),
        code(command),
    ]))
}

fn blocks_of_run(run: &ReportedRun, zone: &TimeZone) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(2, vec![text("Run "), text(&run.line.run)])];
    let mut about = vec![text("Plan "), code(&run.line.source)];
    for (word, time) in [("started", run.started_at), ("finished", run.completed_at)] {
        about.extend(time.map(|time| text(format!(", {word} {}", show_time(time, zone)))));
    }
    about.push(text("."));
    blocks.push(Block::Paragraph(about));
    if let Some(reason) = &run.reason {
        blocks.push(Block::Paragraph(vec![text(reason)]));
    }
    let account = &run.account;
    blocks.extend(blocks_of_failed("Failed", &account.failed, run));
    blocks.extend(blocks_of_failed("Blocked", &account.blocked, run));
    blocks.extend(blocks_of_waiting(&account.waiting, zone));
    blocks.extend(blocks_of_done(run));
    blocks.extend(blocks_of_left(&account.left));
    for (title, items) in [("Skipped", &account.skipped), ("Dropped", &account.dropped)] {
        blocks.extend(list_of_items(title, items));
    }
    if let Some(place) = &account.place {
        blocks.push(heading_of_list("Where the work is"));
        let mut lines = vec![vec![text("Branch "), code(&place.branch)]];
        let typed = [Some(&place.log), Some(&place.diff), place.merge.as_ref()];
        lines.extend(typed.into_iter().flatten().map(|typed| vec![code(typed)]));
        blocks.push(Block::List(lines));
    }
    blocks.extend(blocks_of_costs(&run.costs, zone));
    blocks
}

fn heading_of_list(title: &str) -> Block {
    Block::Heading(3, vec![text(title)])
}

/// An item by its name and its title.
fn label_of_item(item: &ItemView) -> Line {
    let mut label = vec![strong(Node::shown(&item.node))];
    label.extend(item.title.iter().map(|title| text(format!(" {title}"))));
    label
}

fn blocks_of_failed(title: &str, items: &[AccountItem], run: &ReportedRun) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![heading_of_list(&format!("{title}: {}", items.len()))];
    for AccountItem { item, next, .. } in items.iter().take(ITEMS_MAX) {
        let why = item.life.error.as_deref().unwrap_or("no reason was given");
        let mut line = vec![Span::State(Tone::Bad, item.state.to_string()), text(" ")];
        line.extend(label_of_item(item));
        line.push(text(format!(": {}", first_line(why))));
        blocks.push(Block::Paragraph(line));
        let check = item.check.as_ref();
        let printed = check.map(|check| check.output.shown_lines());
        // What the agent said, where no check failed and it said more than a line.
        let said = || {
            why.contains('\n')
                .then(|| excerpt_output(why).shown_lines())
        };
        let failed = check.filter(|check| check.passed == Some(false));
        blocks.extend(failed.map(|check| {
            Block::Paragraph(vec![
                text("Check "),
                code(&check.command),
                text(format!(" {}", check.describe_result())),
            ])
        }));
        let shown = printed.filter(|lines| !lines.is_empty()).or_else(said);
        blocks.extend(shown.map(Block::Output));
        let name = format!("{}:{}", run.line.run, item.node);
        let name = quote_word(&name);
        let go_on = next
            .clone()
            .unwrap_or_else(|| format!("piton reopen {name}"));
        let typed = [go_on, format!("piton transcript {name}")];
        blocks.push(Block::List(typed.map(|typed| vec![code(typed)]).into()));
    }
    blocks.extend(more_than(items.len(), ITEMS_MAX, "piton status"));
    blocks
}

fn blocks_of_waiting(items: &[AccountItem], zone: &TimeZone) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let rows = items.iter().take(ITEMS_MAX).map(|one| {
        let item = &one.item;
        let waits = item.next.waits.as_ref();
        let who = match waits.map(|waits| waits.what) {
            Some(ItemWaitKind::Person | ItemWaitKind::Breakpoint | ItemWaitKind::Taken) => {
                "a person"
            }
            Some(ItemWaitKind::Command) => "a command",
            Some(ItemWaitKind::Dependency) => "other items",
            Some(ItemWaitKind::Files) => "files that another item changes",
            Some(ItemWaitKind::Time) | None => "a time",
        };
        let until = item.next.until.map(|until| show_time(until, zone));
        let why = waits.and_then(|waits| waits.why.clone()).or(until);
        vec![
            label_of_item(item),
            vec![Span::State(Tone::Waiting, who.to_owned())],
            why.map(text).into_iter().collect(),
            one.next.iter().map(code).collect(),
        ]
    });
    let mut blocks = vec![
        heading_of_list(&format!("Waiting: {}", items.len())),
        Block::Table {
            head: vec!["Item", "Waits for", "Why", "What to type"],
            rows: rows.collect(),
        },
    ];
    blocks.extend(more_than(items.len(), ITEMS_MAX, "piton next"));
    blocks
}

fn blocks_of_done(run: &ReportedRun) -> Vec<Block> {
    let mut blocks = Vec::new();
    if run.done.is_empty() && run.done_before == 0 {
        return blocks;
    }
    blocks.push(heading_of_list(&format!("Done: {}", run.done.len())));
    let cost = |item: &ItemView| match item.spend.is_empty() {
        true => "–".to_owned(),
        false => cost_in_words(&item.spend),
    };
    let rows = run.done.iter().take(ITEMS_MAX).map(|item| {
        let mut shown = vec![proof_of_item(item)];
        if let Some(check) = &item.check {
            shown.extend([text(" "), code(first_line(&check.command))]);
        }
        shown.extend(
            item.done_on
                .iter()
                .map(|branch| text(format!(" on {branch}"))),
        );
        vec![
            label_of_item(item),
            shown,
            vec![text(item.life.attempts.to_string())],
            vec![text(format_duration(item.life.work_s))],
            vec![text(cost(item))],
        ]
    });
    if !run.done.is_empty() {
        blocks.push(Block::Table {
            head: vec!["Item", "Proof", "Attempts", "Work", "Cost"],
            rows: rows.collect(),
        });
    }
    blocks.extend(more_than(run.done.len(), ITEMS_MAX, "piton status --all"));
    if run.done_before > 0 {
        let before = format!("{} more were done before.", run.done_before);
        blocks.push(Block::Paragraph(vec![text(before)]));
    }
    blocks
}

/// What shows that an item is done.
fn proof_of_item(item: &ItemView) -> Span {
    let Some(proof) = &item.evidence else {
        return Span::State(Tone::Waiting, "nothing shows it".to_owned());
    };
    let tone = match proof.level {
        Basis::Check | Basis::Person => Tone::Good,
        Basis::Changed | Basis::Word | Basis::TakenOver => Tone::Waiting,
    };
    Span::State(tone, proof.summary.clone())
}

fn blocks_of_left(items: &[AccountItem]) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let rows = items.iter().take(LEFT_MAX);
    let rows = rows.map(|one| vec![label_of_item(&one.item), vec![text(describe_cause(one))]]);
    let mut blocks = vec![
        heading_of_list(&format!("Left: {}", items.len())),
        Block::Table {
            head: vec!["Item", "Why"],
            rows: rows.collect(),
        },
    ];
    blocks.extend(more_than(items.len(), LEFT_MAX, "piton list --open"));
    blocks
}

fn list_of_items(title: &str, items: &[AccountItem]) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    let lines = items.iter().take(LEFT_MAX).map(|one| {
        let mut line = label_of_item(&one.item);
        let why = one.item.life.summary.as_deref();
        line.extend(why.map(|why| text(format!(": {}", first_line(why)))));
        line
    });
    let mut blocks = vec![
        heading_of_list(&format!("{title}: {}", items.len())),
        Block::List(lines.collect()),
    ];
    blocks.extend(more_than(items.len(), LEFT_MAX, "piton list"));
    blocks
}

fn blocks_of_costs(costs: &ReportedCosts, zone: &TimeZone) -> Vec<Block> {
    if costs.spend.is_empty() {
        return Vec::new();
    }
    let row = |name: Span, spend: &Spend| {
        let attempts = text(spend.attempts.to_string());
        let words = [cost_in_words(spend), tokens_in_words(spend)].map(text);
        let cells = [name, attempts].into_iter().chain(words);
        cells.map(|cell| vec![cell]).collect::<Vec<Line>>()
    };
    let mut blocks = vec![heading_of_list("Cost and tokens, by hour")];
    let has_cost = costs.spend.total_dollars().is_some();
    let value = |spend: &Spend| match spend.total_dollars() {
        cost if has_cost => cost.map(|cost| cost.as_f64()),
        // A bar needs no last digit.
        _ => spend
            .budget_tokens()
            .map(|tokens| f64::from(u32::try_from(tokens).unwrap_or(u32::MAX))),
    };
    let shown = &costs.hours[costs.hours.len().saturating_sub(HOURS_MAX)..];
    let hours = shown.iter().map(|one| {
        let hour = text(show_time(one.hour, zone));
        (value(&one.spend), row(hour, &one.spend))
    });
    let head = |first| vec![first, "Attempts", "Cost", "Tokens"];
    blocks.push(Block::Bars {
        head: head("Hour"),
        rows: hours.collect(),
    });
    blocks.push(heading_of_list("By model"));
    let models = costs.models.iter();
    let mut models: Vec<Vec<Line>> = models
        .map(|(model, spend)| row(code(model), spend))
        .collect();
    if !costs.model_unknown.is_empty() {
        models.push(row(text("model unknown"), &costs.model_unknown));
    }
    blocks.push(Block::Table {
        head: head("Model"),
        rows: models,
    });
    if !costs.agents.is_empty() {
        let agents = costs.agents.iter();
        blocks.push(heading_of_list("By agent"));
        blocks.push(Block::Table {
            head: head("Agent"),
            rows: agents
                .map(|(agent, spend)| row(code(first_line(agent)), spend))
                .collect(),
        });
    }
    blocks.push(heading_of_list("By item"));
    let items = costs.items.iter().take(ITEMS_MAX);
    let items = items.map(|one| row(text(Node::shown(&one.node)), &one.spend));
    blocks.push(Block::Table {
        head: head("Item"),
        rows: items.collect(),
    });
    blocks.extend(more_than(
        costs.items.len(),
        ITEMS_MAX,
        "piton status --costs",
    ));
    blocks
}

fn line_of_memory(one: &RememberedRow) -> Line {
    let memory = &one.row.memory;
    let mut line = vec![code(&one.row.id), text(" ")];
    line.extend(
        memory
            .title
            .iter()
            .flat_map(|title| [strong(title), text(" ")]),
    );
    line.push(text(first_line(&memory.content)));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report with one block of each kind.
    fn small() -> Vec<Block> {
        let cells = |cells: [&str; 2]| cells.map(|cell| vec![text(cell)]).to_vec();
        vec![
            Block::Heading(1, vec![text("Report of "), text("a & b")]),
            Block::Shares(vec![(Tone::Good, 1), (Tone::Bad, 3)]),
            Block::Paragraph(vec![
                strong("x"),
                text(": <1> "),
                Span::State(Tone::Bad, "failed".to_owned()),
            ]),
            Block::Output(vec!["```".to_owned(), "\u{1b}[31m</pre>".to_owned()]),
            Block::List(vec![vec![code("piton inbox")]]),
            Block::Table {
                head: vec!["Item", "Why"],
                rows: vec![cells(["a|b", ""])],
            },
            Block::Bars {
                head: vec!["Hour", "Cost"],
                rows: vec![
                    (Some(1.0), cells(["20:00", "$1"])),
                    (Some(4.0), cells(["21:00", "$4"])),
                    (None, cells(["22:00", "unknown"])),
                ],
            },
        ]
    }

    #[test]
    fn a_small_report_in_markdown() {
        insta::assert_snapshot!(markdown::render(&small()), @r"
        # Report of a \& b

        **x**: \<1\> **failed**

        ````text
        ```
        </pre>
        ````

        - `piton inbox`

        | Item | Why |
        | --- | --- |
        | a\|b |  |

        | Hour | Cost |
        | --- | --- |
        | 20:00 | $1 |
        | 21:00 | $4 |
        | 22:00 | unknown |
        ");
    }

    #[test]
    fn a_small_report_in_html() {
        let html = html::render("<title>", &small());
        let (head, body) = html.split_once("<body>").expect("it has a body");
        assert!(
            head.ends_with("<title>&lt;title&gt;</title>\n</head>\n"),
            "{head}"
        );
        insta::assert_snapshot!(body, @r#"
        <main>
        <h1>Report of a &amp; b</h1>
        <svg class="shares" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect height="10" class="good" x="0.0" width="250.0"/><rect height="10" class="bad" x="250.0" width="750.0"/></svg>
        <p><strong>x</strong>: &lt;1&gt; <strong class="bad">failed</strong></p>
        <pre>```
        &lt;/pre&gt;
        </pre>
        <ul><li><code>piton inbox</code></li></ul>
        <div class="wide"><table><thead><tr><th>Item</th><th>Why</th></tr></thead>
        <tbody>
        <tr><td>a|b</td><td></td></tr>
        </tbody></table></div>
        <div class="wide"><table><thead><tr><th>Hour</th><td></td><th>Cost</th></tr></thead>
        <tbody>
        <tr><td>20:00</td><td class="bar"><svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect height="10" width="250.0"/></svg></td><td>$1</td></tr>
        <tr><td>21:00</td><td class="bar"><svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect height="10" width="1000.0"/></svg></td><td>$4</td></tr>
        <tr><td>22:00</td><td class="bar"></td><td>unknown</td></tr>
        </tbody></table></div>
        </main>
        </body>
        </html>
        "#);
    }
}
