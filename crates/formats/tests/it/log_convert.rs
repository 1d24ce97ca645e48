//! A log in the form of another: what it says is there, or is told of.

use piton_formats::log_convert::{convert, log_format_names};
use piton_formats::native_file::FileContext;
use piton_formats::plan_convert::ConversionLoss;
use piton_formats::project_format::ProjectFile;
use piton_formats::registry::project_files;
use serde_json::Value;

static UTC: jiff::tz::TimeZone = jiff::tz::TimeZone::UTC;

const RALPH: &str = r##"{
  "version": "1.0", "created_at": "2026-01-15T08:00:00Z", "project_name": "tide-tables",
  "entries": [
    {"id": "auth-1", "timestamp": "2026-01-15T10:30:00Z", "prd_id": "auth", "iteration": 1, "status": "failed",
     "duration_seconds": 754, "summary": "No key", "observations": [
       {"type": "finding", "title": "The key is missing", "severity": "high"}],
     "files_modified": ["src/auth.rs"], "git_commits": ["c0ffee1", "c0ffee2"],
     "context": {"retry_count": 2, "previous_failure_reason": "No network"}},
    {"id": "auth-2", "timestamp": "2026-01-16T11:00:00Z", "prd_id": "auth", "iteration": 2, "status": "completed",
     "duration_seconds": 60, "summary": "It works", "observations": [], "cost": 3},
    {"id": "mail-1", "timestamp": "2026-01-16T12:00:00Z", "prd_id": "mail", "iteration": 1, "status": "partial",
     "observations": []},
    {"id": "mail-2", "timestamp": "2026-01-16T12:30:00Z", "prd_id": "mail", "iteration": 2, "status": "blocked",
     "summary": "No server", "observations": []}
  ],
  "learnings": [{"id": "learning-0001", "type": "gotcha", "content": "Ask first", "source_prd_id": "auth",
    "created_at": "2026-01-15T10:30:00Z"}],
  "patterns": [{"id": "pattern-0001", "name": "Ports", "type": "file_structure", "discovered_at": "2026-01-15T10:30:00Z"}]
}"##;

const AGENT_OS: &str = r##"{
  "version": "1.0", "project": "tide-tables",
  "entries": [
    {"id": "entry-20260115-100000-aaa", "timestamp": "2026-01-15T10:00:00.125Z", "type": "session_started",
     "data": {"focus_task": "the keel"}},
    {"id": "entry-20260115-101500-bbb", "timestamp": "2026-01-15T10:15:00Z", "type": "task_completed", "spec": "yard",
     "task_id": "1.1", "data": {"description": "Lay it", "duration_minutes": 12, "files_modified": ["keel.rs"],
     "commits": ["c0ffee1"], "notes": "Oak.", "next_steps": "Plank it"}, "weather": "fair"},
    {"id": "entry-init-001", "timestamp": "2026-01-15T10:30:00Z", "type": "task_blocked", "spec": "yard",
     "task_id": "1.2", "data": {"description": "No pine", "issue": "No pine", "suggested_resolution": "Buy some"}},
    {"id": "entry-20260115-104500-ddd", "timestamp": "2026-01-15T10:45:00Z", "type": "debug_resolved", "spec": "yard",
     "task_id": "1.2", "data": {"description": "No pine", "root_cause": "A storm", "resolution": "Bought some"}},
    {"id": "entry-20260116-090000-eee", "timestamp": "2026-01-16T09:00:00Z", "type": "milestone_reached",
     "data": {"description": "Afloat"}},
    {"id": "entry-20260116-093000-fff", "timestamp": "2026-01-16T09:30:00Z", "type": "session_ended",
     "data": {"notes": "night fell", "tasks_completed": 3}}
  ],
  "metadata": {"total_entries": 6, "oldest_entry": "2026-01-15T10:00:00.125Z",
    "last_updated": "2026-01-16T09:30:00Z", "archived_through": "2026-01-01"}
}"##;

const PROGRESS: &str = "# Progress Log\n\n## Session 1 (2025-03-01)\n\n### Completed\n- [x] Criterion 1 - Lay the keel\n  - Commit: 1a2b3c4\n  - Notes: Oak, not pine.\n    It swells.\n- [ ] Criterion 2 - Plank it\n\n### Browser Validations\n- The drawing opens\n\n### Blockers Encountered\n- No tar in the yard (resolved: bought some)\n- mast-1: no pine\n\n**Session 1 ended** - the yard closed\n\n## Notes of the smith\nThe anvil is warm.\n";

const SOURCES: [(&str, &str); 3] = [
    ("ralph-json", RALPH),
    ("agent-os", AGENT_OS),
    ("ralph-progress", PROGRESS),
];

fn about() -> FileContext<'static> {
    FileContext {
        file: "f",
        project: "a-folder",
        now: "2026-02-01T10:30:00Z".parse().unwrap(),
        zone: &UTC,
        iteration: None,
        is_part: false,
    }
}

fn file(name: &str) -> &'static ProjectFile {
    let mut files = project_files();
    files.find(|file| file.converts == Some(name)).unwrap()
}

fn converted(from: &str, to: &str, text: &str) -> (String, Vec<ConversionLoss>) {
    let from = file(from);
    let found = (from.take)(text, None, &about()).found;
    convert(from, text, found, file(to), &about()).unwrap()
}

fn lost(from: &str, to: &str, text: &str) -> String {
    let lost = converted(from, to, text).1;
    let lost = lost
        .iter()
        .map(|lost| format!("{} {}", lost.count, lost.what));
    lost.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_has_no_place_is_counted_for_each_pair_of_logs() {
    assert_eq!(log_format_names(), SOURCES.map(|(name, _)| name));
    let mut table = String::new();
    for (from, text) in SOURCES {
        for to in log_format_names() {
            table.push_str(&format!("{from} to {to}: {}\n", lost(from, to, text)));
        }
    }
    insta::assert_snapshot!(table, @r"
    ralph-json to ralph-json: 
    ralph-json to agent-os: 1 created_at, 1 learnings, 1 patterns
    ralph-json to ralph-progress: 1 context, 1 cost, 1 created_at, 2 duration_seconds, 1 files_modified, 1 git_commits, 4 iteration, 1 learnings, 1 observations, 1 patterns, 1 project, 2 status
    agent-os to ralph-json: 1 archived_through, 1 debug_resolved, 1 id, 1 milestone_reached, 1 next_steps, 1 notes, 1 session_ended, 1 session_started, 2 spec, 1 suggested_resolution, 1 weather
    agent-os to agent-os: 
    agent-os to ralph-progress: 1 archived_through, 1 duration_minutes, 1 files_modified, 1 next_steps, 1 project, 1 root_cause, 1 suggested_resolution, 1 tasks_completed, 1 weather
    ralph-progress to ralph-json: 1 debug_resolved, 7 lines, 1 notes, 1 session_ended, 1 session_started, 1 task_blocked
    ralph-progress to agent-os: 4 lines
    ralph-progress to ralph-progress:
    ");
}

#[test]
fn a_log_of_entries_says_all_of_an_attempt() {
    let (text, _) = converted("ralph-json", "agent-os", RALPH);
    insta::assert_snapshot!(text, @r#"
    {
      "version": "1.0",
      "project": "tide-tables",
      "entries": [
        {
          "id": "auth-1",
          "timestamp": "2026-01-15T10:30:00Z",
          "type": "task_blocked",
          "task_id": "auth",
          "data": {
            "description": "No key",
            "status": "failed",
            "duration_minutes": 13,
            "duration_seconds": 754,
            "files_modified": [
              "src/auth.rs"
            ],
            "commits": [
              "c0ffee1",
              "c0ffee2"
            ],
            "retry_count": 2,
            "previous_failure_reason": "No network",
            "iteration": 1,
            "observations": [
              {
                "type": "finding",
                "title": "The key is missing",
                "severity": "high"
              }
            ]
          }
        },
        {
          "id": "auth-2",
          "timestamp": "2026-01-16T11:00:00Z",
          "type": "task_completed",
          "task_id": "auth",
          "data": {
            "description": "It works",
            "duration_minutes": 1,
            "iteration": 2,
            "cost": 3
          }
        },
        {
          "id": "mail-1",
          "timestamp": "2026-01-16T12:00:00Z",
          "type": "task_blocked",
          "task_id": "mail",
          "data": {
            "description": "partial",
            "status": "partial",
            "iteration": 1
          }
        },
        {
          "id": "mail-2",
          "timestamp": "2026-01-16T12:30:00Z",
          "type": "task_blocked",
          "task_id": "mail",
          "data": {
            "description": "No server",
            "iteration": 2
          }
        }
      ],
      "metadata": {
        "total_entries": 4,
        "oldest_entry": "2026-01-15T10:30:00Z",
        "last_updated": "2026-01-16T12:30:00Z",
        "archived_through": null
      }
    }
    "#);
}

#[test]
fn an_attempt_is_the_same_when_it_comes_back() {
    let (there, _) = converted("ralph-json", "agent-os", RALPH);
    let (back, lost) = converted("agent-os", "ralph-json", &there);
    let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (was, is) = (of(RALPH), of(&back));
    let mut was = was["entries"].clone();
    was[1].as_object_mut().unwrap().remove("cost");
    assert_eq!(is["entries"], was);
    assert_eq!(is["project_name"], "tide-tables");
    let told: Vec<&str> = lost.iter().map(|lost| &*lost.what).collect();
    assert_eq!(told, ["cost"]);
}

#[test]
fn what_piton_wrote_into_a_log_of_words_is_converted() {
    let (text, _) = converted("agent-os", "ralph-progress", AGENT_OS);
    let (again, _) = converted("ralph-progress", "agent-os", &text);
    let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (was, is) = (of(AGENT_OS), of(&again));
    for (was, is) in was["entries"]
        .as_array()
        .unwrap()
        .iter()
        .zip(is["entries"].as_array().unwrap())
    {
        for key in ["id", "type", "spec", "task_id"] {
            assert_eq!(was[key], is[key], "{text}");
        }
    }
    assert_eq!(is["entries"].as_array().unwrap().len(), 6, "{text}");
}

#[test]
fn a_log_of_the_format_that_is_asked_for_stays_as_it_is() {
    for (name, text) in SOURCES {
        assert_eq!(converted(name, name, text), (text.to_owned(), Vec::new()));
    }
}

#[test]
fn two_things_of_one_name_are_two() {
    let twice = AGENT_OS.replace("entry-init-001", "entry-20260115-101500-bbb");
    let (text, _) = converted("agent-os", "ralph-json", &twice);
    let text: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text["entries"].as_array().unwrap().len(), 2, "{text}");
}
