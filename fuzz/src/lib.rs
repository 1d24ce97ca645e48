//! What holds of any text, a function for each fuzz target: see `README.md`.
//!
//! Nothing may panic; beyond that, each function asserts what its format
//! promises of every text, not only of good ones.

#[expect(dead_code, reason = "the tests of the crate use all of it")]
#[path = "../../crates/formats/tests/it/logs.rs"]
mod logs;

use std::sync::LazyLock;

use piton_core::actor::Actor;
use piton_core::command::Found;
use piton_core::id::{CommandId, EventId, StreamId};
use piton_core::journal::{GENESIS, Record, Stamp, seal};
use piton_core::redact::Redactor;
use piton_core::{RunId, Tables};
use piton_formats::face::{About, CannotShow, Detected, Shown, Took};
use piton_formats::format::{self, Grade};
use piton_formats::problem::Source;
use piton_formats::ralph_dir::face::{
    activity_log, errors_log, guardrails_md, iteration, progress_md,
};
use piton_formats::ralph_dir::guardrails::NewSign;
use piton_formats::ralph_dir::{guardrails, progress_txt, signals};
use piton_formats::sprint::{Lookup, Options, Workflows};
use piton_formats::{agent_os as agent, json as js, ralph_json as ralph, yaml as yml};
use piton_formats::{prd as prds, ralph_dir, sdlc as sdlcs, sprint as sprints, task as tasks};
use uuid::Uuid;

use self::logs::Row;

const FILE: &str = "file";

macro_rules! corpus {
    ($path:literal) => {
        include_str!(concat!("../../crates/formats/tests/corpus/", $path))
    };
}

fn about() -> About<'static> {
    logs::about(FILE)
}

fn source(text: &str) -> Source<'_> {
    Source { name: FILE, text }
}

/// Judges a text by a format, in both grades.
fn judge(name: &str, text: &str) {
    let format = format::all().find(|format| format.name == name);
    let format = format.expect("a format of that name");
    for grade in [Grade::Tolerant, Grade::Strict] {
        for problem in format.check(source(text), grade) {
            assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
        }
    }
}

/// JSON: what is read has places that are in the text; a patch says what it was
/// to say, or is refused.
pub fn json(text: &str) {
    static WANTED: LazyLock<Vec<js::Node>> = LazyLock::new(|| {
        let texts = [corpus!("json/features.json"), corpus!("json/odd.json")];
        texts.iter().filter_map(|text| js::parse(text).root).collect()
    });
    let parsed = js::parse(text);
    assert!(parsed.root.is_some() || !parsed.faults.is_empty());
    for fault in &parsed.faults {
        assert!(text.get(fault.span.start..fault.span.end).is_some());
    }
    js::parse_stream(text);
    if let Some(root) = &parsed.root {
        let again = js::parse(&js::render(root));
        assert!(again.root.is_some_and(|again| js::same(&again, root)));
        if let Ok(patched) = js::patch(text, root) {
            assert_eq!(patched, text);
        }
    }
    for wanted in &*WANTED {
        if let Ok(patched) = js::patch(text, wanted) {
            let again = js::parse(&patched).root;
            assert!(again.is_some_and(|again| js::same(&again, wanted)));
        }
    }
    if let Some(point) = js::append_point(text, &["features"]) {
        let element = js::render_element(&WANTED[0], &point);
        let (before, after) = text.split_at(point.offset);
        let spliced = js::parse(&format!("{before}{element}{after}"));
        assert_eq!(parsed.faults.is_empty(), spliced.faults.is_empty());
    }
}

/// YAML: what is read is read back from what is written of it.
pub fn yaml(text: &str) {
    static WANTED: LazyLock<Vec<yml::Node>> = LazyLock::new(|| {
        let texts = [corpus!("yaml/plain.yaml"), corpus!("yaml/odd.yaml")];
        texts.iter().filter_map(|text| yml::parse(text).root).collect()
    });
    let parsed = yml::parse(text);
    if let Some(root) = &parsed.root
        && parsed.faults.is_empty()
    {
        let again = yml::parse(&yml::emit(root)).root;
        assert!(again.is_some_and(|again| js::same(&again, root)));
        drop(yml::patch(text, root));
    }
    for wanted in &*WANTED {
        drop(yml::patch(text, wanted));
    }
}

struct OneWorkflow;

impl Workflows for OneWorkflow {
    fn read(&self, name: &str) -> Lookup {
        let text = "name: w\nphases:\n  - id: a\n    prompt: do {{step.prompt}}\n";
        if name == "w" {
            return Lookup::Found {
                name: "w.yaml".to_owned(),
                text: text.to_owned(),
            };
        }
        Lookup::Missing {
            looked_for: Vec::new(),
        }
    }
}

/// `SPRINT.yaml`: compiled or refused.
pub fn sprint(text: &str) {
    for strict in [false, true] {
        let options = Options {
            strict,
            date: "2026-03-04",
        };
        let compiled = sprints::compile(source(text), "2026-02-03_x", &OneWorkflow, options);
        if let Some(progress) = &compiled.progress {
            let written = sprints::render_progress(progress);
            assert!(sprints::parse_progress(source(&written)).0.is_some());
        }
    }
    judge("sprint", text);
    judge("workflow", text);
}

/// `PROGRESS.yaml`: what is read and written is read again, and edits are found
/// between any two versions.
pub fn progress(text: &str) {
    sprints::detect_layout(text);
    judge("sprint-progress", text);
    let (progress, problems) = sprints::parse_progress(source(text));
    let Some(progress) = progress else {
        assert!(!problems.is_empty() || text.trim().is_empty());
        return;
    };
    let written = sprints::render_progress(&progress);
    assert!(sprints::parse_progress(source(&written)).0.is_some());
    sprints::update_progress(text, &progress);
    let run = RunId(Uuid::from_u128(1));
    let plan = sprints::import(&progress, run, "x", "x");
    assert_eq!(plan.run, run);
    let tables = Tables::default();
    let shown = sprints::Shown {
        file: FILE,
        tables: &tables,
        run,
    };
    let known = sprints::parse_progress(source(corpus!("yaml/plain.yaml"))).0;
    if let Some(known) = known {
        sprints::edits(&known, &progress, shown);
        sprints::edits_without_base(&progress, &known, shown);
    }
}

/// `prd.json`.
pub fn prd(text: &str) {
    prds::detect(text);
    judge("prd-features", text);
    judge("prd-user-stories", text);
}

/// `state.json` and its neighbours: what is read is written as it was.
pub fn sdlc(text: &str) {
    sdlcs::detect(text);
    judge("sdlc", text);
    judge("sdlc-manifest", text);
    judge("sdlc-metrics", text);
    let state = sdlcs::read(source(text)).0;
    if let (Some(state), Some(root)) = (state, js::parse(text).root) {
        sdlcs::derived_totals(&state);
        assert!(js::same(&root, &sdlcs::to_tree(&state, Some(&root))));
    }
}

/// A task file: every box can be ticked and unticked, which changes it alone.
pub fn task(text: &str) {
    judge("task-file", text);
    let (task, _) = tasks::read(source(text));
    assert_eq!(tasks::match_criteria(&task, &task).len(), task.criteria.len());
    for criterion in &task.criteria {
        let mut ticked = text.to_owned();
        ticked.replace_range(criterion.tick.clone(), "x");
        let again = tasks::read(source(&ticked)).0;
        assert_eq!(again.criteria.len(), task.criteria.len());
    }
}

type Take = fn(&str, Option<&str>, &About<'_>) -> Took;
type Show = fn(Option<&str>, &[Shown<'_>], &About<'_>) -> Result<String, CannotShow>;

/// What holds of every face: what it shows it finds again, and showing it twice
/// changes nothing.
fn face(text: &str, rows: &[Row], (take, show): (Take, Show)) {
    let took = take(text, None, &about());
    take(text, Some(""), &about());
    let own = if took.is_readable() {
        known(&took)
    } else {
        Vec::new()
    };
    for rows in [rows, &own] {
        let Ok(once) = show(Some(text), &logs::shown(rows), &about()) else {
            continue;
        };
        assert!(take(&once, None, &about()).is_readable() || !took.is_readable());
        let twice = show(Some(&once), &logs::shown(rows), &about());
        assert_eq!(twice.as_deref(), Ok(once.as_str()));
    }
}

/// Rows as a file of that format brings them.
fn rows_of(text: &str, take: Take) -> Vec<Row> {
    known(&take(text, None, &about()))
}

/// What the journal makes of what was found: it gives ids to what has none.
fn known(took: &Took) -> Vec<Row> {
    let mut took = took.clone();
    for (at, found) in (1..).zip(&mut took.found) {
        if let Found::Memory(memory) | Found::Retired(memory) = found {
            let kind = memory.kind;
            memory.id.get_or_insert_with(|| kind.id(at));
        }
    }
    logs::rows(&took)
}

fn agent_rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> =
        LazyLock::new(|| rows_of(corpus!("logs/agent-full.json"), take_agent));
    &ROWS
}

fn take_agent(text: &str, _: Option<&str>, about: &About<'_>) -> Took {
    agent::take(text, about)
}

fn take_ralph(text: &str, _: Option<&str>, about: &About<'_>) -> Took {
    ralph::take(text, about)
}

/// `.ralph/progress.md`.
pub fn ralph_progress(text: &str) {
    judge("ralph-progress", text);
    progress_md::detect(text);
    progress_txt::read(text);
    signals::signals(text);
    face(text, agent_rows(), (progress_md::take, progress_md::show));
}

/// `.ralph/guardrails.md`.
pub fn guardrails(text: &str) {
    judge("ralph-guardrails", text);
    guardrails_md::detect(text);
    let signs = guardrails::read(source(text)).0;
    for sign in signs.signs.iter().take(4) {
        drop(guardrails::resolve_sign(text, &sign.name, "why", "2026-01-01"));
    }
    let sign = NewSign {
        name: "a sign".to_owned(),
        trigger: "always".to_owned(),
        instruction: "look".to_owned(),
        evidence: None,
        added_after: "one".to_owned(),
    };
    if let Ok(added) = guardrails::add_signs(text, &[sign]) {
        let again = guardrails::read(source(&added)).0;
        assert!(again.sign("a sign").is_some());
    }
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        rows_of(corpus!("markdown/guardrails_loop.md"), guardrails_md::take)
    });
    face(text, &ROWS, (guardrails_md::take, guardrails_md::show));
}

/// `.ralph/activity.log`, `errors.log` and `.iteration`.
pub fn ralph_logs(text: &str) {
    judge("ralph-activity", text);
    judge("ralph-errors", text);
    judge("ralph-iteration", text);
    ralph_dir::logs::read(text);
    for (take, show) in [
        (activity_log::take as Take, activity_log::show as Show),
        (errors_log::take, errors_log::show),
        (iteration::take, iteration::show),
    ] {
        face(text, agent_rows(), (take, show));
    }
}

/// `.ralph/progress.json`.
pub fn ralph_json(text: &str) {
    static ROWS: LazyLock<Vec<Row>> =
        LazyLock::new(|| rows_of(corpus!("logs/ralph-full.json"), take_ralph));
    judge("ralph-json", text);
    let took = ralph::take(text, &about());
    assert!(ralph::detect(text) == Detected::Ours || took.found.is_empty());
    face(text, &ROWS, (take_ralph, ralph::show));
}

/// `.agent-os/progress/progress.json`, what is made of it, and its archive.
pub fn agent_os(text: &str) {
    judge("agent-os", text);
    let took = agent::take(text, &about());
    assert!(agent::detect(text) == Detected::Ours || took.found.is_empty());
    drop(agent::markdown(text));
    agent::take_archive(text, &about());
    if let Some(parted) = agent::archive(text, logs::now(), 2, 1) {
        for entries in parted.months.values() {
            let month = agent::merge_archive(None, entries).expect("a new archive");
            let again = agent::merge_archive(Some(&month), entries);
            assert_eq!(again.as_deref(), Ok(month.as_str()));
            drop(agent::merge_archive(Some(text), entries));
        }
    }
    face(text, agent_rows(), (take_agent, agent::show));
}

/// An event of the journal: the kind in the first line, the body in the others.
/// What is read is kept with the same meaning.
pub fn event(text: &str) {
    let (kind, body) = text.split_once('\n').unwrap_or((text, "{}"));
    let record = |kind: &str, body: String| Record {
        stream: StreamId::sessions(),
        stamp: Stamp {
            id: EventId(Uuid::from_u128(7)),
            position: 1,
            time: logs::now(),
            actor: Actor::Person("ada".to_owned()),
            checkout: None,
        },
        kind: kind.to_owned(),
        version: 1,
        body,
        command: CommandId(Uuid::from_u128(8)),
        hash: GENESIS,
    };
    let Ok(event) = record(kind, body.to_owned()).event() else {
        return;
    };
    let mut tables = Tables::default();
    let stamp = record(kind, String::new()).stamp;
    tables.fold(&event, &stamp);
    let (body, event) = seal(event, &Redactor::rules_only());
    let again = record(event.kind(), body).event();
    assert_eq!(again.ok(), Some(event));
}
