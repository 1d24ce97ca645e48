//! What lies in a sprint's folder already: a `PROGRESS.yaml` of the original
//! tool or of an earlier piton, its checksum, its backup. Taken over where it
//! can be understood, named where it cannot, never replaced unasked.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_formats::problem::Problem;
use piton_formats::sprint::{
    SourceText, SprintLayout, SprintProgress, detect_layout, parse_progress, render_progress,
};

use super::super::compile::SprintPath;
use crate::failpoint;
use crate::failure::notice::Notice;
use crate::failure::{Failure, Findings, unwritable_file};
use crate::process::shell::quote_word;
use crate::world::input;
use crate::world::input::sha256;

/// The progress that is there to be gone on with; none where there is no file.
///
/// # Errors
///
/// When there is one that cannot be gone on with: its reason, and the way out.
pub(super) fn read_progress(
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<(SprintProgress, String)>, Failure> {
    let path = sprint.progress_file();
    let text = match input::read_file(&path) {
        Ok(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|error| damaged_failure(sprint, "is not UTF-8 text").with_source(error))?,
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(damaged_failure(sprint, "cannot be read").with_source(error)),
    };
    match text {
        Some(text) if !text.trim().is_empty() => {
            let progress = match detect_layout(&text) {
                SprintLayout::Current => {
                    import_progress(&path, &text).map_err(|failure| match failure.findings {
                        Some(findings) if has_readable_backup(sprint) => {
                            damaged_failure(sprint, "cannot be understood").with_findings(*findings)
                        }
                        findings => Failure {
                            findings,
                            ..failure
                        },
                    })?
                }
                layout @ (SprintLayout::TaskQueue | SprintLayout::GoalDriven) => {
                    return Err(legacy_failure(sprint, &layout));
                }
                layout @ SprintLayout::Foreign(_) => return Err(foreign_failure(sprint, &layout)),
                SprintLayout::Empty | SprintLayout::Unreadable => {
                    let findings = parse_clean_progress(&path, &text).err().unwrap_or_default();
                    return Err(
                        damaged_failure(sprint, "is not readable YAML").with_findings(findings)
                    );
                }
            };
            warn_stale_checksum(&path, &text, tell);
            Ok(Some((progress, text)))
        }
        // What a crash in the middle of a write leaves.
        Some(_) => Err(damaged_failure(sprint, "is empty")),
        None if backup_path(sprint).is_file() => Err(damaged_failure(sprint, "is missing")),
        None => Ok(None),
    }
}

/// What the text of a `PROGRESS.yaml` says.
///
/// # Errors
///
/// When something in it cannot be understood: it may not be written over then.
pub(super) fn import_progress(path: &Path, text: &str) -> Result<SprintProgress, Failure> {
    parse_clean_progress(path, text).map_err(|findings| {
        Failure::new(
            "plan.unreadable",
            format!(
                "{} cannot be understood; nothing was changed",
                path.display()
            ),
        )
        .with_hint(repair_hint(&path.with_file_name("SPRINT.yaml")))
        .with_findings(findings)
    })
}

fn parse_clean_progress(path: &Path, text: &str) -> Result<SprintProgress, Findings> {
    let name = path.to_string_lossy().into_owned();
    let (progress, problems) = parse_progress(SourceText { name: &name, text });
    match progress {
        Some(progress) if !problems.iter().any(Problem::is_error) => Ok(progress),
        Some(_) | None => Err(Findings {
            problems,
            sources: [(name, text.to_owned())].into(),
        }),
    }
}

fn has_readable_backup(sprint: &SprintPath) -> bool {
    input::read_file_text(backup_path(sprint))
        .is_ok_and(|text| matches!(detect_layout(&text), SprintLayout::Current))
}

fn damaged_failure(sprint: &SprintPath, what: &str) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    let failure = Failure::new(
        "plan.unreadable",
        format!("{} {what}; nothing was changed", path.display()),
    );
    if has_readable_backup(sprint) {
        let shown = with_suffix(&path, "backup");
        return Failure::new(
            "plan.unreadable",
            format!(
                "{} {what}, and {} is readable; nothing was changed",
                path.display(),
                shown.display()
            ),
        )
        .with_hint(format!(
            "go on from the backup with `--from {}`",
            quote_word(&shown.to_string_lossy())
        ));
    }
    failure.with_hint(repair_hint(&sprint.file))
}

/// What to do about a file that cannot be gone on with.
fn repair_hint(definition: &Path) -> &'static str {
    if definition.is_file() {
        "mend the file, or begin anew with `--recompile`, which keeps the old file beside"
    } else {
        "mend the file; without a SPRINT.yaml it cannot be made anew"
    }
}

fn legacy_failure(sprint: &SprintPath, layout: &SprintLayout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.legacy",
        format!("{} is {}", path.display(), layout.describe()),
    )
    .with_hint(if sprint.file.is_file() {
        "run the definition anew with `--recompile`, which keeps the old file beside"
    } else {
        "write a SPRINT.yaml beside it, or name another plan"
    })
}

fn foreign_failure(sprint: &SprintPath, layout: &SprintLayout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.foreign",
        format!(
            "{} is {}; it was left alone",
            path.display(),
            layout.describe()
        ),
    )
    .with_hint("keep the sprint in a folder of its own")
}

/// The original keeps a hash of its file beside it; when it is stale, people
/// are told what that means.
fn warn_stale_checksum(path: &Path, text: &str, tell: &mut dyn FnMut(Notice<'_>)) {
    let Ok(expected) = input::read_file_text(with_suffix(path, "checksum")) else {
        return;
    };
    let expected = expected
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    if !expected.is_empty() && expected != sha256(text.as_bytes()) {
        tell(Notice::Warning(&format!(
            "{}.checksum does not fit its file: the file was edited, or a crash came between the two writes. The file itself is readable and is taken over as it stands",
            path.display()
        )));
    }
}

/// What the original left beside its file is kept under another name.
pub(super) fn rename_leftovers(
    progress: &Path,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    for ending in ["checksum", "backup", "checksum.backup"] {
        rename_aside(progress, ending, tell)?;
    }
    Ok(())
}

/// Whether writing the file anew loses nothing of it: no comment, no order.
pub(super) fn is_canonical_text(text: &str) -> bool {
    let (progress, _) = parse_progress(SourceText { name: "", text });
    progress.is_some_and(|progress| render_progress(&progress) == text)
}

fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

pub(super) fn backup_path(sprint: &SprintPath) -> PathBuf {
    with_suffix(&sprint.progress_file(), "backup")
}

fn rename_aside(
    progress: &Path,
    ending: &str,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let old = with_suffix(progress, ending);
    if !old.is_file() {
        return Ok(());
    }
    // What an earlier takeover put aside is as precious as this.
    let numbered = (2_u32..).map(|nth| format!("before-piton.{nth}"));
    let mut names = std::iter::once("before-piton".to_owned()).chain(numbered);
    let unused = names.find_map(|name| {
        let new = with_suffix(&old, &name);
        fs::symlink_metadata(&new).is_err().then_some(new)
    });
    let new = unused.expect("there are more numbers than files");
    fs::rename(&old, &new).map_err(|error| unwritable_file(&old, error))?;
    failpoint::point("run.set-aside");
    tell(Notice::Said(&format!(
        "{} is now {}: piton needs neither",
        old.display(),
        new.display()
    )));
    Ok(())
}
