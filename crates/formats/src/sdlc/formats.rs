//! The format in the registry.

use piton_core::{ItemRow, ItemState, Stage, Tables};

use super::face::put_repository;
use super::phases::{PHASES, path_from, phase_of};
use super::plan::{issue_of, status_of};
use super::state::IssueStatus;
use super::{
    FACE, Layout, SHAPE, begin, convert, detect, edits, import, metrics, own_work, read,
    read_manifest, review,
};
use super::{moves, read_metrics, show, title_of_native};
use crate::face::Detected;
use crate::format::{Format, Role, Strict, UNNAMED, has_key};
use crate::plan_file::About;
use crate::plan_format::{
    Claim, IN_ONE_FILE, IssueWords, Issues, ItemRole, ItemUnit, ListBeside, Phases, PlanFormat,
    PlanKind, PlanRefusal, PlanText, Stateless, Templates, sound,
};
use crate::problem::{Problem, Source};
use crate::ralph_dir::face::detect_words;
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
            role: Role::Adopted,
            detect: detected,
            read: |source| read(source).1,
            strict: Strict::Json(&SHAPE, "state"),
            ..UNNAMED
        },
        Format {
            name: "sdlc-manifest",
            face: FACE,
            about: "the manifest of an Agentic SDLC run",
            paths: &["manifest.yaml"],
            folders: FOLDERS,
            detect: |text| has_key(text, "repos"),
            read: |source| read_manifest(source).1,
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
    example: Some("a state.json"),
    candidates: &["state.json", ".sdlc/state.json", "orchestrator/state.json"],
    claim,
    read: |source, of| {
        let (state, problems) = read(source);
        let plan = state.map(|state| {
            let own = state.run_id.as_deref().filter(|id| !id.is_empty());
            import(&state, of.run, &of.name.or_own(own), of.source)
        });
        sound((plan, problems))
    },
    identity: |source| Some(read(source).0?.identity()),
    document: |_, run| Box::new(Stateless { run, show, edits }),
    without_items: (
        "has no issues, and no phase that comes before them",
        "set `phase` to `PLANNING`, where the work is cut into tasks, or write an issue",
    ),
    about: |source, _| about(source),
    templates: |_, source| Templates {
        header: Some("# Run {{sprint-id}}: {{node}}".to_owned()),
        position: Some("Attempt {{attempt}}.".to_owned()),
        files: Some(format!(
            "Leave `.piton/` alone, and {source} as it stands: piton writes it."
        )),
        ..Templates::default()
    },
    phases: Some(Phases {
        role,
        role_names,
        fill_prompt: super::phases::fill_prompt,
        own_work: own_work::own_work,
        check_artifact: own_work::check_artifact,
        artifact: super::phases::artifact,
        made_of: super::phases::made_of,
        over_in: super::phases::over_in,
        manifest: own_work::MANIFEST,
        repository_of: |item| match phase_of(item) {
            Some(_) => None,
            None => issue_of(item).repo,
        },
        repositories: own_work::repositories,
        begin: begin::begin,
        requirements_of: begin::requirements_of,
        read_review: review::read_review,
        review_form: review::FORM,
    }),
    conversions: convert::CONVERSIONS,
    title_of_native,
    time_of_text: |text| {
        let written = read(Source { name: "", text }).0?.updated_at?;
        written.parse().ok()
    },
    list_beside: Some(ListBeside {
        name: metrics::NAME,
        count: metrics::records,
        with_new: metrics::with_new,
    }),
    shows_attempts: true,
    issues: Some(Issues {
        states: IssueStatus::WORDS,
        words,
        moves: moves::moves,
        add: moves::add,
    }),
    ..IN_ONE_FILE
};

fn detected(text: &str) -> Detected {
    match detect(text) {
        Layout::Current => Detected::Ours,
        Layout::Empty => Detected::Empty,
        Layout::Unreadable => Detected::Unreadable,
        layout @ (Layout::LowerCase | Layout::IssueList | Layout::Foreign(_)) => {
            Detected::Foreign(layout.describe())
        }
    }
}

fn claim(text: &PlanText<'_>) -> Claim {
    match detect(text.source.text) {
        Layout::Current => Claim::Plan,
        layout @ (Layout::LowerCase | Layout::IssueList) => {
            Claim::Refused(PlanRefusal::foreign(&layout.describe()))
        }
        Layout::Unreadable if text.is_json() => Claim::Refused(PlanRefusal {
            problems: Some(read(text.source).1),
            ..PlanRefusal::new(
                "plan.unreadable",
                "is not readable JSON; nothing was changed",
                "mend the file, then run again",
            )
        }),
        Layout::Foreign(_) | Layout::Empty | Layout::Unreadable => Claim::NotOurs,
    }
}

fn check_metrics(source: Source<'_>) -> Vec<Problem> {
    let skipped = read_metrics(source.text).skipped;
    if skipped == 0 {
        return Vec::new();
    }
    let records = if skipped == 1 {
        "1 record"
    } else {
        &format!("{skipped} records")
    };
    vec![
        Problem::warning("RECORDS_SKIPPED", source.name, "", Span::TOP).saying(
            format!("{records} cannot be read"),
            "look at the file with a reader of JSON",
        ),
    ]
}

/// Who works on an item: each issue is implemented, and reviewed.
pub(super) fn role(item: &ItemRow) -> Option<ItemRole> {
    let role = match item.stage == Stage::Review {
        true => piton_core::Role::Reviewer,
        false => piton_core::Role::Worker,
    };
    role_of(item, role)
}

/// What the roles are called.
fn role_names() -> Vec<&'static str> {
    let of_phases = PHASES.iter().filter_map(|phase| phase.role.as_ref());
    let all = of_phases.chain([&CODER, &REVIEWER]);
    all.map(|role| role.name).collect()
}

/// Who works on an item where an agent is started for that.
pub(super) fn role_of(item: &ItemRow, role: piton_core::Role) -> Option<ItemRole> {
    match phase_of(item) {
        Some(phase) => phase.role,
        None if role == piton_core::Role::Reviewer => Some(REVIEWER),
        None => Some(CODER),
    }
}

const REVIEWER: ItemRole = ItemRole {
    name: "quality-reviewer",
    model: Some("opus"),
    artifact: None,
    brief: Some(
        "See whether it does what the issue asks for and nothing beyond it, whether it is right in the cases that nobody thinks of at first, whether tests show that it works, and whether it is written in the way of the code around it. Run the tests where that changes no file. What is a matter of taste alone is no reason to want changes.",
    ),
};

const CODER: ItemRole = ItemRole {
    name: "coder",
    model: Some("sonnet"),
    artifact: None,
    brief: Some(
        "You implement one issue of several: do what it asks for and nothing beyond it, in the way of the code that is here. Write the tests that show that it works, and run them.",
    ),
};

/// Where the requirements and the scoping document are, seen from where the path of the
/// file begins.
fn about(source: Source<'_>) -> About {
    let state = read(source).0.unwrap_or_default();
    let languages = state.languages.iter();
    let languages: Vec<String> = languages
        .map(|(repo, language)| format!("`{repo}` ({language})"))
        .collect();
    let languages = (!languages.is_empty()).then(|| languages.join(", "));
    let place = |text: Option<String>| text.map(|text| path_from(source.name, &text));
    let texts = [
        ("The requirements", place(state.prd_url)),
        ("The scoping document", place(state.scoping_doc)),
        ("The repository", languages),
    ];
    let texts = texts.map(|(what, text)| text.map(|text| format!("{what}: {text}")));
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    About {
        whole: (!texts.is_empty()).then(|| texts.join("\n")),
        details: None,
    }
}

fn words(tables: &Tables, item: &ItemRow) -> Option<IssueWords> {
    if phase_of(item).is_some() || item.native.as_ref()?.face != FACE {
        return None;
    }
    let mut issue = issue_of(item);
    if let Some(run) = tables.run(item.run) {
        put_repository(&mut issue, item, &run.policy);
    }
    let status = match item.state {
        ItemState::Skipped | ItemState::Dropped | ItemState::Blocked => None,
        ItemState::Pending
        | ItemState::Ready
        | ItemState::Working
        | ItemState::Waiting
        | ItemState::Done
        | ItemState::Failed => status_of(item, tables, issue.status),
    };
    Some(IssueWords {
        state: status.map(IssueStatus::as_str),
        title: issue.title,
        repo: issue.repo,
        pr: issue.pr,
        blocked_by: issue.blocked_by,
    })
}
