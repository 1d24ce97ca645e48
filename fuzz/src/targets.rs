//! What holds of any text, a function for each fuzz target: see `README.md`.
//!
//! Nothing may panic; beyond that, each function asserts what its format
//! promises of every text, not only of good ones.

use std::sync::LazyLock;

use piton_core::actor::Actor;
use piton_core::command::ImportedRecord;
use piton_core::id::{CommandId, EventId, StreamId};
use piton_core::journal::{EventStamp, GENESIS, HashForm, Record, RecordBody, redact_and_encode};
use piton_core::redact::Redactor;
use piton_core::{RunId, Tables};
use piton_formats::format::{self, Grade};
use piton_formats::native_file::{Detection, FileContents, FileContext};
use piton_formats::problem::SourceText;
use piton_formats::project_format::ProjectFile;
use piton_formats::ralph_dir::guardrails::NewSign;
use piton_formats::ralph_dir::{guardrails as signs, progress_txt};
use piton_formats::sprint::{CompileOptions, ShownRun, WorkflowLookup, WorkflowSource};
use piton_formats::{
    agent_os as agent, json as js, prd as prds, registry, sdlc as sdlcs, sprint as sprints,
    task as tasks, yaml as yml,
};
use uuid::Uuid;

use crate::logs::{self, Row};

const FILE: &str = "file";

macro_rules! corpus {
    ($path:literal) => {
        include_str!(concat!("../../crates/formats/tests/corpus/", $path))
    };
}

fn about() -> FileContext<'static> {
    logs::about(FILE)
}

fn source(text: &str) -> SourceText<'_> {
    SourceText { name: FILE, text }
}

/// Judges a text by a format, in both grades.
fn judge(name: &str, text: &str) {
    let format = format::all_formats().find(|format| format.name == name);
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
    static WANTED: LazyLock<Vec<js::ValueNode>> = LazyLock::new(|| {
        let texts = [corpus!("json/features.json"), corpus!("json/odd.json")];
        texts
            .iter()
            .filter_map(|text| js::parse(text).root)
            .collect()
    });
    let parsed = js::parse(text);
    assert!(parsed.root.is_some() || !parsed.faults.is_empty());
    for fault in &parsed.faults {
        assert!(text.get(fault.span.start..fault.span.end).is_some());
    }
    js::parse_stream(text);
    if let Some(root) = &parsed.root {
        let again = js::parse(&js::render(root));
        assert!(
            again
                .root
                .is_some_and(|again| js::is_same_json(&again, root))
        );
        if let Ok(patched) = js::patch(text, root) {
            assert_eq!(patched, text);
        }
    }
    for wanted in &*WANTED {
        if let Ok(patched) = js::patch(text, wanted) {
            let again = js::parse(&patched).root;
            assert!(again.is_some_and(|again| js::is_same_json(&again, wanted)));
        }
    }
}

/// YAML: what is read is read back from what is written of it.
pub fn yaml(text: &str) {
    static WANTED: LazyLock<Vec<yml::ValueNode>> = LazyLock::new(|| {
        let texts = [corpus!("yaml/plain.yaml"), corpus!("yaml/odd.yaml")];
        texts
            .iter()
            .filter_map(|text| yml::parse(text).root)
            .collect()
    });
    let parsed = yml::parse(text);
    if let Some(root) = &parsed.root
        && parsed.faults.is_empty()
    {
        let again = yml::parse(&yml::render(root)).root;
        assert!(again.is_some_and(|again| js::is_same_json(&again, root)));
        drop(yml::patch(text, root));
    }
    for wanted in &*WANTED {
        drop(yml::patch(text, wanted));
    }
}

struct OneWorkflow;

impl WorkflowSource for OneWorkflow {
    fn read_workflow(&self, name: &str) -> WorkflowLookup {
        let text = "name: w\nphases:\n  - id: a\n    prompt: do {{step.prompt}}\n";
        if name == "w" {
            return WorkflowLookup::Found {
                name: "w.yaml".to_owned(),
                text: text.to_owned(),
            };
        }
        WorkflowLookup::Missing {
            looked_for: Vec::new(),
        }
    }
}

/// `SPRINT.yaml`: compiled or refused.
pub fn sprint(text: &str) {
    for strict in [false, true] {
        let options = CompileOptions {
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
    sprints::update_progress(text, progress.clone());
    let run = RunId(Uuid::from_u128(1));
    let plan = sprints::plan_of_progress(&progress, run, "x", "x");
    assert_eq!(plan.run, run);
    let tables = Tables::default();
    let shown = ShownRun {
        file: FILE,
        tables: &tables,
        run,
    };
    let known = sprints::parse_progress(source(corpus!("yaml/plain.yaml"))).0;
    if let Some(known) = known {
        drop(sprints::collect_edits(&known, &progress, shown));
        drop(sprints::collect_edits_without_base(
            &progress, &known, shown,
        ));
    }
}

/// `prd.json`.
pub fn prd(text: &str) {
    prds::detect_layout(text);
    judge("prd-features", text);
    judge("prd-user-stories", text);
}

/// `state.json` and its neighbours: what is read is written as it was.
pub fn sdlc(text: &str) {
    sdlcs::detect_layout(text);
    judge("sdlc", text);
    judge("sdlc-manifest", text);
    judge("sdlc-metrics", text);
    let state = sdlcs::parse_state(source(text)).0;
    if let (Some(state), Some(root)) = (state, js::parse(text).root) {
        sdlcs::derived_totals(&state);
        assert!(js::is_same_json(
            &root,
            &sdlcs::to_tree(&state, Some(&root))
        ));
    }
}

/// A task file: every box can be ticked and unticked, which changes it alone.
pub fn task(text: &str) {
    judge("task-file", text);
    let (task, _) = tasks::parse_task(source(text));
    assert_eq!(
        tasks::match_criteria(&task, &task).len(),
        task.criteria.len()
    );
    for criterion in &task.criteria {
        let mut ticked = text.to_owned();
        ticked.replace_range(criterion.tick.clone(), "x");
        let again = tasks::parse_task(source(&ticked)).0;
        assert_eq!(again.criteria.len(), task.criteria.len());
    }
}

/// The file of a project at that path.
fn project_file(path: &str) -> &'static ProjectFile {
    registry::project_file_at(path).expect("a file that piton knows")
}

/// What holds of every file of a project: what is written into it is found again,
/// and writing the same twice changes nothing.
fn native_file(path: &str, text: &str, rows: &[Row]) {
    let file = project_file(path);
    (file.detect)(text);
    (file.lines)(text);
    (file.whole)(text);
    drop(file.unread.map(|unread| unread(text)));
    drop(file.ends.map(|ends| ends(text)));
    drop(file.derived.map(|derived| (derived.render)(text)));
    let took = (file.take)(text, None, &about());
    (file.take)(text, Some(""), &about());
    let own = if took.is_readable() {
        known_rows(&took)
    } else {
        Vec::new()
    };
    for rows in [rows, &own] {
        let mut shown = logs::shown(rows);
        shown.retain(|row| (file.shows)(row));
        let Ok(once) = (file.show)(Some(text), &shown, &about()) else {
            continue;
        };
        assert!((file.take)(&once, None, &about()).is_readable() || !took.is_readable());
        let twice = (file.show)(Some(&once), &shown, &about());
        assert_eq!(twice.as_deref(), Ok(once.as_str()));
    }
}

/// Rows as the file at that path brings them.
fn rows_of(path: &str, text: &str) -> Vec<Row> {
    known_rows(&(project_file(path).take)(text, None, &about()))
}

/// What the journal makes of what was found: it gives ids to what has none.
fn known_rows(took: &FileContents) -> Vec<Row> {
    let mut took = took.clone();
    for (at, found) in (1..).zip(&mut took.found) {
        if let ImportedRecord::Memory(memory) | ImportedRecord::Retired(memory) = found {
            let kind = memory.kind;
            memory.id.get_or_insert_with(|| kind.format_id(at));
        }
    }
    logs::rows(&took)
}

const AGENT_OS: &str = ".agent-os/progress/progress.json";
const RALPH_JSON: &str = ".ralph/progress.json";
const GUARDRAILS: &str = ".ralph/guardrails.md";

fn agent_rows() -> &'static [Row] {
    static ROWS: LazyLock<Vec<Row>> =
        LazyLock::new(|| rows_of(AGENT_OS, corpus!("logs/agent-full.json")));
    &ROWS
}

/// `.ralph/progress.md`.
pub fn ralph_progress(text: &str) {
    judge("ralph-progress", text);
    progress_txt::parse_progress_txt(text);
    native_file(".ralph/progress.md", text, agent_rows());
}

/// `.ralph/guardrails.md`.
pub fn guardrails(text: &str) {
    static ROWS: LazyLock<Vec<Row>> =
        LazyLock::new(|| rows_of(GUARDRAILS, corpus!("markdown/guardrails_loop.md")));
    judge("ralph-guardrails", text);
    let read = signs::parse_guardrails(source(text)).0;
    for sign in read.signs.iter().take(4) {
        drop(signs::resolve_sign(text, &sign.name, "why", "2026-01-01"));
    }
    let sign = NewSign {
        name: "a sign".to_owned(),
        trigger: "always".to_owned(),
        instruction: "look".to_owned(),
        evidence: None,
        added_after: "one".to_owned(),
    };
    if let Ok(added) = signs::add_signs(text, &[sign]) {
        let again = signs::parse_guardrails(source(&added)).0;
        assert!(again.find_sign("a sign").is_some());
    }
    native_file(GUARDRAILS, text, &ROWS);
}

/// `.ralph/activity.log`, `errors.log` and `.iteration`.
pub fn ralph_logs(text: &str) {
    judge("ralph-activity", text);
    judge("ralph-errors", text);
    judge("ralph-iteration", text);
    for path in [
        ".ralph/activity.log",
        ".ralph/errors.log",
        ".ralph/.iteration",
    ] {
        native_file(path, text, agent_rows());
    }
}

/// `.ralph/progress.json`.
pub fn ralph_json(text: &str) {
    static ROWS: LazyLock<Vec<Row>> =
        LazyLock::new(|| rows_of(RALPH_JSON, corpus!("logs/ralph-full.json")));
    judge("ralph-json", text);
    found_in_ours_alone(RALPH_JSON, text);
    native_file(RALPH_JSON, text, &ROWS);
}

/// In a text of another format nothing is found.
fn found_in_ours_alone(path: &str, text: &str) {
    let file = project_file(path);
    let took = (file.take)(text, None, &about());
    assert!((file.detect)(text) == Detection::Ours || took.found.is_empty());
}

/// `.agent-os/progress/progress.json`, what is made of it, and its archive.
pub fn agent_os(text: &str) {
    judge("agent-os", text);
    found_in_ours_alone(AGENT_OS, text);
    agent::import_archive(text, &about());
    if let Some(parted) = agent::archive_old_entries(text, logs::now(), 2, 1) {
        for entries in parted.months.values() {
            let month = agent::merge_archive(None, entries).expect("a new archive");
            let again = agent::merge_archive(Some(&month), entries);
            assert_eq!(again.as_deref(), Ok(month.as_str()));
            drop(agent::merge_archive(Some(text), entries));
        }
    }
    native_file(AGENT_OS, text, agent_rows());
}

/// Redacting twice changes nothing more, also inside a string of JSON.
pub fn redact(text: &str) {
    let redactor = Redactor::rules_only();
    let once = redactor.redact(text).into_owned();
    assert_eq!(redactor.redact(&once), once.as_str());
    let quoted = serde_json::Value::from(text).to_string();
    let quoted = redactor.redact(&quoted);
    assert!(serde_json::from_str::<String>(&quoted).is_ok(), "{quoted}");
}

/// An event of the journal: the kind in the first line, the body in the others.
/// What is read is kept with the same meaning.
pub fn event(text: &str) {
    let (kind, body) = text.split_once('\n').unwrap_or((text, "{}"));
    let record = |kind: &str, version: u32, body: String| Record {
        stream: StreamId::sessions(),
        stamp: EventStamp {
            id: EventId(Uuid::from_u128(7)),
            position: 1,
            time: logs::now(),
            actor: Actor::Person("ada".to_owned()),
            checkout: None,
        },
        kind: kind.to_owned(),
        version,
        body: RecordBody::Text(body),
        command: CommandId(Uuid::from_u128(8)),
        form: HashForm::One,
        hash: GENESIS,
    };
    let Ok(event) = record(kind, 1, body.to_owned()).decode_event() else {
        return;
    };
    let mut tables = Tables::default();
    tables.fold(&event, &record(kind, 1, String::new()).stamp);
    let (body, event) = redact_and_encode(event, None, &Redactor::rules_only());
    let again = record(event.kind(), event.body_version(), body).decode_event();
    assert_eq!(again.ok(), Some(event));
}
