//! The format in the registry.

use piton_core::{ItemRow, ItemState, Tables};

use super::native::issue_of_item;
use super::native_file::write_repository;
use super::phase_item::phase_of_item;
use super::phases::path_from_file;
use super::plan::status_of_item;
use super::roles::{role_names, role_of_item};
use super::state::IssueStatus;
use super::{
    FACE, SHAPE, StateLayout, begin, collect_edits, convert, detect_layout, metrics, own_work,
    parse_manifest, parse_state, plan_of_state, review,
};
use super::{moves, parse_metrics, render_run, title_of_native};
use crate::format::{DocumentRole, Format, StrictCheck, UNNAMED, detect_yaml_key};
use crate::native_file::Detection;
use crate::plan_file::PlanFileNotes;
use crate::plan_format::{
    CompanionList, IN_ONE_FILE, IssueFormat, IssueSummary, ItemUnit, Phases, PlanClaim,
    PlanFinding, PlanFormat, PlanKind, PlanRefusal, PlanText, PlanWords, PromptTemplates,
    StatelessPlanDocument, reject_broken_plan,
};
use crate::problem::{Problem, SourceText};
use crate::ralph_dir::native_files::detect_words;
use crate::tree::Span;

/// Where the state of a run lies, seen from the project.
const FOLDERS: Option<&[&str]> = Some(&["/", "/.sdlc", "/orchestrator"]);

/// Graphs of issues.
pub static PLAN: PlanFormat = PlanFormat {
    name: FACE,
    kind: PlanKind::Issues,
    unit: ItemUnit {
        one: "issue",
        many: "issues",
    },
    formats: &[
        Format {
            name: "sdlc",
            face: FACE,
            about: "the state of an Agentic SDLC run",
            paths: &["state.json"],
            folders: FOLDERS,
            role: DocumentRole::Adopted,
            detect: detect_state,
            read: |source| parse_state(source).1,
            strict: StrictCheck::Json(&SHAPE, "state"),
            ..UNNAMED
        },
        Format {
            name: "sdlc-manifest",
            face: FACE,
            about: "the manifest of an Agentic SDLC run",
            paths: &["manifest.yaml"],
            folders: FOLDERS,
            detect: |text| detect_yaml_key(text, "repos"),
            read: |source| parse_manifest(source).1,
            ..UNNAMED
        },
        Format {
            name: "sdlc-metrics",
            face: FACE,
            about: "the metrics of an Agentic SDLC run",
            paths: &["metrics.jsonl"],
            detect: detect_words,
            read: check_metrics,
            ..UNNAMED
        },
    ],
    read: |source, of| {
        let (state, problems) = parse_state(source);
        let plan = state.map(|state| {
            let own = state.run_id.as_deref().filter(|id| !id.is_empty());
            plan_of_state(&state, of.run, &of.name.resolve(own), of.source)
        });
        reject_broken_plan(source.name, plan, problems)
    },
    document: |_, run| {
        Box::new(StatelessPlanDocument {
            run,
            show: render_run,
            edits: collect_edits,
        })
    },
    about: |source, _| plan_notes(source),
    phases: Some(Phases {
        role: role_of_item,
        role_names,
        fill_prompt: super::phases::fill_prompt,
        own_work: own_work::own_work,
        check_artifact: own_work::check_artifact,
        artifact: super::phases::artifact_of_item,
        made_of: super::phases::finished_later_phases,
        over_in: super::phases::finished_phases_in,
        manifest: own_work::MANIFEST,
        repository_of: |item| match phase_of_item(item) {
            Some(_) => None,
            None => issue_of_item(item).repo,
        },
        repositories: own_work::repositories_of_run,
        begin: begin::begin_run,
        requirements_of: begin::requirements_of_manifest,
        read_review: review::parse_review,
        review_form: review::FORM,
    }),
    conversions: convert::CONVERSIONS,
    list_beside: Some(CompanionList {
        name: metrics::NAME,
        count: metrics::record_count,
        with_new: metrics::append_new_records,
    }),
    shows_attempts: true,
    issues: Some(IssueFormat {
        states: IssueStatus::WORDS,
        words: issue_summary,
        moves: moves::edits_of_move,
        add: moves::edits_to_add,
    }),
    finding: PlanFinding {
        example: Some("a state.json"),
        shared_names: &["state.json", ".sdlc/state.json", "orchestrator/state.json"],
        claim: claim_plan,
        identity: |source| Some(parse_state(source).0?.identity()),
        without_items: (
            "has no issues, and no phase that comes before them",
            "set `phase` to `PLANNING`, where the work is cut into tasks, or write an issue",
        ),
        time_of_text: |text| {
            let written = parse_state(SourceText { name: "", text }).0?.updated_at?;
            written.parse().ok()
        },
        ..IN_ONE_FILE.finding
    },
    words: PlanWords {
        templates: |_, source| PromptTemplates {
            header: Some("# Run {{sprint-id}}: {{node}}".to_owned()),
            position: Some("Attempt {{attempt}}.".to_owned()),
            files: Some(format!(
                "Leave `.piton/` alone, and {source} as it stands: piton writes it."
            )),
            ..PromptTemplates::default()
        },
        title_of_native,
        ..IN_ONE_FILE.words
    },
    ..IN_ONE_FILE
};

fn detect_state(text: &str) -> Detection {
    match detect_layout(text) {
        StateLayout::Current => Detection::Ours,
        StateLayout::Empty => Detection::Empty,
        StateLayout::Unreadable => Detection::Unreadable,
        layout @ (StateLayout::LowerCase | StateLayout::IssueList | StateLayout::Foreign(_)) => {
            Detection::Foreign(layout.describe())
        }
    }
}

fn claim_plan(text: &PlanText<'_>) -> PlanClaim {
    match detect_layout(text.source.text) {
        StateLayout::Current => PlanClaim::Plan,
        layout @ (StateLayout::LowerCase | StateLayout::IssueList) => {
            PlanClaim::Refused(PlanRefusal::foreign(&layout.describe()))
        }
        StateLayout::Unreadable if text.is_json() => {
            PlanClaim::Refused(PlanRefusal::unreadable("JSON", parse_state(text.source).1))
        }
        StateLayout::Foreign(_) | StateLayout::Empty | StateLayout::Unreadable => {
            PlanClaim::NotOurs
        }
    }
}

fn check_metrics(source: SourceText<'_>) -> Vec<Problem> {
    let skipped = parse_metrics(source.text).skipped;
    if skipped == 0 {
        return Vec::new();
    }
    let records = if skipped == 1 {
        "1 record"
    } else {
        &format!("{skipped} records")
    };
    vec![
        Problem::warning("RECORDS_SKIPPED", source.name, "", Span::TOP).with_message(
            format!("{records} cannot be read"),
            "look at the file with a reader of JSON",
        ),
    ]
}

/// Where the requirements and the scoping document are, seen from where the path of the
/// file begins.
fn plan_notes(source: SourceText<'_>) -> PlanFileNotes {
    let state = parse_state(source).0.unwrap_or_default();
    let languages = state.languages.iter();
    let languages: Vec<String> = languages
        .map(|(repo, language)| format!("`{repo}` ({language})"))
        .collect();
    let languages = (!languages.is_empty()).then(|| languages.join(", "));
    let place = |text: Option<String>| text.map(|text| path_from_file(source.name, &text));
    let texts = [
        ("The requirements", place(state.prd_url)),
        ("The scoping document", place(state.scoping_doc)),
        ("The repository", languages),
    ];
    let texts = texts.map(|(what, text)| text.map(|text| format!("{what}: {text}")));
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    PlanFileNotes {
        whole: (!texts.is_empty()).then(|| texts.join("\n")),
        ..PlanFileNotes::default()
    }
}

fn issue_summary(tables: &Tables, item: &ItemRow) -> Option<IssueSummary> {
    if phase_of_item(item).is_some() || item.plan.native.as_ref()?.face != FACE {
        return None;
    }
    let mut issue = issue_of_item(item);
    if let Some(run) = tables.run(item.run) {
        write_repository(&mut issue, item, &run.plan.policy);
    }
    let status = match item.state {
        ItemState::Skipped | ItemState::Dropped | ItemState::Blocked => None,
        ItemState::Pending
        | ItemState::Ready
        | ItemState::Working
        | ItemState::Waiting
        | ItemState::Done
        | ItemState::Failed => status_of_item(item, tables, issue.status),
    };
    Some(IssueSummary {
        state: status.map(IssueStatus::as_str),
        title: issue.title,
        repo: issue.repo,
        pr: issue.pr,
        blocked_by: issue.blocked_by,
    })
}
