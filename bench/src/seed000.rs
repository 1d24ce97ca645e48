//! Today's practice, faithfully: `progress.json` of seed 000.
//!
//! To append an entry the whole file is loaded, checked, and written again: to
//! a temporary file of a fixed name that is renamed, and nothing is flushed.
//! The design is the seed's (`LoadProgressJSON`, `Validate`,
//! `AppendProgressEntry`, `SaveProgressJSON`), with its types, required fields
//! and refusal of unknown ones, in Rust instead of Go, which is three to four
//! times as fast at it.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::event;

/// The whole file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The version of the schema.
    pub version: String,
    /// When the file was made.
    pub created_at: Timestamp,
    /// The name of the project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project_name: String,
    /// What happened.
    pub entries: Vec<Entry>,
    /// What was learnt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learnings: Vec<Learning>,
    /// What the code base does again and again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
}

/// One iteration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// `prd_id-iteration`.
    pub id: String,
    /// When.
    pub timestamp: Timestamp,
    /// The feature.
    pub prd_id: String,
    /// Which iteration of it, from 1.
    pub iteration: i64,
    /// What came of it.
    pub status: Status,
    /// How long it took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_seconds: i64,
    /// In one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What was noticed.
    pub observations: Vec<Observation>,
    /// The files that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// The commits that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git_commits: Vec<String>,
    /// What the analyzer wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $style:literal: $($word:ident),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = $style)]
        #[expect(missing_docs, reason = "the words are the seed's")]
        pub enum $name { $($word),+ }
    };
}

words! {
    /// What came of an iteration.
    Status, "lowercase": Completed, Failed, Blocked, Partial
}
words! {
    /// What kind of observation it is.
    ObservationType, "lowercase": Blocker, Finding, Completion
}
words! {
    /// What an observation is about.
    Category, "kebab-case": Bug, Stub, Dependency, ScopeCreep, ApiIssue, TestFailure, ToolingFriction,
    Architecture, Documentation, Performance, Security
}
words! {
    /// How bad it is.
    Severity, "lowercase": Critical, High, Medium, Low, Info
}
words! {
    /// What was done about it.
    Action, "lowercase": Fixed, Deferred, Escalated, Documented, None
}
words! {
    /// What kind of learning it is.
    LearningType, "kebab-case": CodebasePattern, BuildCommand, TestPattern, ApiConvention,
    ErrorWorkaround, ToolUsage, ArchitectureConstraint, DependencyQuirk
}
words! {
    /// What kind of pattern it is.
    PatternType, "kebab-case": FileStructure, NamingConvention, ApiPattern, TestPattern,
    ErrorHandling, StateManagement, BuildPattern, DeploymentPattern
}
words! {
    /// How sure somebody is.
    Confidence, "lowercase": High, Medium, Low
}
words! {
    /// How one got here after a failure.
    Recovery, "kebab-case": Retry, FixState, BreakChunks, Skip, Manual
}

/// Something that was noticed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the seed's")]
pub struct Observation {
    #[serde(rename = "type")]
    pub kind: ObservationType,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_taken: Option<Action>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub related_learning_id: String,
}

/// What the analyzer wants to know of an iteration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the seed's")]
pub struct Context {
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_count: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub previous_failure_reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_action: Option<Recovery>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recovery_guidance: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies_completed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocker_valid: Option<bool>,
}

/// Something that was learnt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the seed's")]
pub struct Learning {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: LearningType,
    pub content: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    pub source_prd_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source_entry_id: String,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub times_referenced: i64,
    pub still_valid: bool,
}

/// A pattern of the code base.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the seed's")]
pub struct Pattern {
    pub id: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: PatternType,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    pub discovered_at: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source_prd_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

fn required(what: &str, present: bool) -> Result<()> {
    if present {
        Ok(())
    } else {
        Err(format!("{what}: field is required").into())
    }
}

// The words are checked as they are read: what is left are the empty fields.

impl Progress {
    /// Checks every entry, learning and pattern, as the seed does at each load
    /// and at each save.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<()> {
        required("progress.version", !self.version.is_empty())?;
        for entry in &self.entries {
            entry.validate()?;
        }
        for learning in &self.learnings {
            required("learning.id", !learning.id.is_empty())?;
            required("learning.content", !learning.content.is_empty())?;
            required("learning.source_prd_id", !learning.source_prd_id.is_empty())?;
        }
        for pattern in &self.patterns {
            required("pattern.id", !pattern.id.is_empty())?;
            required("pattern.name", !pattern.name.is_empty())?;
        }
        Ok(())
    }
}

impl Entry {
    fn validate(&self) -> Result<()> {
        required("entry.id", !self.id.is_empty())?;
        required("entry.timestamp", self.timestamp != Timestamp::UNIX_EPOCH)?;
        required("entry.prd_id", !self.prd_id.is_empty())?;
        if self.iteration < 1 {
            return Err("entry.iteration: must be >= 1".into());
        }
        self.observations
            .iter()
            .try_for_each(|seen| required("observation.title", !seen.title.is_empty()))
    }
}

/// The whole file; an empty one where there is none.
///
/// # Errors
///
/// When it cannot be read, or does not hold what the schema says.
pub fn load(folder: &Path) -> Result<Progress> {
    let bytes = match fs::read(folder.join("progress.json")) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(empty()),
        Err(error) => return Err(error.into()),
    };
    let progress: Progress = serde_json::from_slice(&bytes)?;
    progress.validate()?;
    Ok(progress)
}

/// Writes the whole file: beside it under a fixed name, then renamed.
///
/// # Errors
///
/// When it cannot be written, or what is to be written does not hold.
pub fn save(folder: &Path, progress: &Progress) -> Result<()> {
    write(folder, progress, Durable::No)
}

fn write(folder: &Path, progress: &Progress, durable: Durable) -> Result<()> {
    progress.validate()?;
    let path = folder.join("progress.json");
    let data = serde_json::to_vec_pretty(progress)?;
    let temp = folder.join("progress.json.tmp");
    let mut file = fs::File::create(&temp)?;
    file.write_all(&data)?;
    if durable == Durable::Yes {
        file.sync_all()?;
    }
    Ok(fs::rename(&temp, &path)?)
}

/// Whether what was written is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// As the seed does: a power cut may take it.
    No,
    /// Flushed before it is renamed.
    Yes,
}

/// Appends an entry, as the seed does.
///
/// # Errors
///
/// Those of [`load`] and of [`save`].
pub fn append_entry(folder: &Path, entry: Entry, durable: Durable) -> Result<()> {
    let mut progress = load(folder)?;
    entry.validate()?;
    progress.entries.push(entry);
    write(folder, &progress, durable)
}

fn empty() -> Progress {
    Progress {
        version: "1.0".to_owned(),
        created_at: Timestamp::now(),
        project_name: String::new(),
        entries: Vec::new(),
        learnings: Vec::new(),
        patterns: Vec::new(),
    }
}

/// A file of so many entries.
#[must_use]
pub fn filled(entries: usize) -> Progress {
    Progress {
        entries: (1..=entries).map(entry).collect(),
        ..empty()
    }
}

/// The entry of a number: what [`crate::event`] says, as the seed keeps it.
#[must_use]
pub fn entry(number: usize) -> Entry {
    Entry {
        id: format!("{}-{number}", event::SPEC),
        timestamp: Timestamp::now(),
        prd_id: event::SPEC.to_owned(),
        iteration: i64::try_from(number).unwrap_or(i64::MAX).max(1),
        status: Status::Completed,
        duration_seconds: 1847,
        summary: event::SUMMARY.to_owned(),
        observations: vec![Observation {
            kind: ObservationType::Finding,
            title: event::NOTICED.to_owned(),
            description: event::NOTES.to_owned(),
            file: String::new(),
            category: Some(Category::Architecture),
            severity: Some(Severity::Medium),
            action_taken: Some(Action::Documented),
            related_learning_id: String::new(),
        }],
        files_modified: event::FILES.map(str::to_owned).to_vec(),
        git_commits: Vec::new(),
        context: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_seed_reads_and_reads_back_the_same() {
        let text = r#"{
          "version": "1.0", "created_at": "2025-01-15T10:00:00Z", "project_name": "my-awesome-app",
          "entries": [{
            "id": "auth-login-1", "timestamp": "2025-01-15T10:30:00Z", "prd_id": "auth-login",
            "iteration": 1, "status": "completed", "duration_seconds": 1847, "summary": "Implemented login",
            "observations": [{
              "type": "finding", "title": "Existing auth middleware pattern", "category": "scope-creep",
              "severity": "medium", "action_taken": "documented", "related_learning_id": "learning-0001"
            }],
            "files_modified": ["internal/handlers/auth.go"], "git_commits": ["a1b2c3d"],
            "context": { "retry_count": 1, "recovery_action": "fix-state", "dependencies_completed": ["user-model"] }
          }],
          "learnings": [{
            "id": "learning-0001", "type": "architecture-constraint", "content": "Use RS256",
            "source_prd_id": "auth-login", "created_at": "2025-01-15T10:30:00Z", "times_referenced": 2, "still_valid": true
          }]
        }"#;
        let progress: Progress = serde_json::from_str(text).expect("the schema fits");
        progress.validate().expect("nothing is missing");
        let written = serde_json::to_value(&progress).expect("JSON");
        let expected: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(written, expected);
    }

    #[test]
    fn unknown_fields_and_words_are_refused() {
        let with = |from: &str, to: &str| {
            let text = serde_json::to_string(&filled(1))
                .expect("JSON")
                .replace(from, to);
            serde_json::from_str::<Progress>(&text).is_ok()
        };
        assert!(with("", ""));
        assert!(!with("\"summary\"", "\"sumary\""));
        assert!(!with("\"completed\"", "\"done\""));
    }

    #[test]
    fn an_appended_entry_is_the_last_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path(), &filled(3)).expect("saved");
        append_entry(folder.path(), entry(4), Durable::No).expect("appended");
        let entries = load(folder.path()).expect("loaded").entries;
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[3].id, "auth-login-4");
    }
}
