//! What lies in a sprint's folder already: a `PROGRESS.yaml` of the original
//! tool or of an earlier piton, its checksum, its backup. Taken over where it
//! can be understood, named where it cannot, never replaced unasked.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use piton_formats::problem::Problem;
use piton_formats::sprint::{
    Layout, Progress, Source, detect_layout, parse_progress, render_progress,
};

use super::super::compile::SprintPath;
use crate::fail;
use crate::failure::{Failure, Findings, unwritable};
use crate::native_files::exchange::sha256;
use crate::notice::Notice;
use crate::shell::quote;

/// The progress that is there to be gone on with; none where there is no file.
///
/// # Errors
///
/// When there is one that cannot be gone on with: its reason, and the way out.
pub(super) fn present(
    sprint: &SprintPath,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<Option<(Progress, String)>, Failure> {
    let path = sprint.progress();
    let text = match fs::read(&path) {
        Ok(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|error| damaged(sprint, "is not UTF-8 text").because(error))?,
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(damaged(sprint, "cannot be read").because(error)),
    };
    match text {
        Some(text) if !text.trim().is_empty() => {
            let progress = match detect_layout(&text) {
                Layout::Current => {
                    take_over(&path, &text).map_err(|failure| match failure.findings {
                        Some(findings) if has_readable_backup(sprint) => {
                            damaged(sprint, "cannot be understood").finding(*findings)
                        }
                        findings => Failure {
                            findings,
                            ..failure
                        },
                    })?
                }
                layout @ (Layout::TaskQueue | Layout::GoalDriven) => {
                    return Err(legacy(sprint, &layout));
                }
                layout @ Layout::Foreign(_) => return Err(foreign(sprint, &layout)),
                Layout::Empty | Layout::Unreadable => {
                    let findings = understand(&path, &text).err().unwrap_or_default();
                    return Err(damaged(sprint, "is not readable YAML").finding(findings));
                }
            };
            report_checksum(&path, &text, tell);
            Ok(Some((progress, text)))
        }
        // What a crash in the middle of somebody's write leaves.
        Some(_) => Err(damaged(sprint, "is empty")),
        None if backup(sprint).is_file() => Err(damaged(sprint, "is missing")),
        None => Ok(None),
    }
}

/// What the text of a `PROGRESS.yaml` says.
///
/// # Errors
///
/// When something in it cannot be understood: it may not be written over then.
pub(super) fn take_over(path: &Path, text: &str) -> Result<Progress, Failure> {
    understand(path, text).map_err(|findings| {
        Failure::new(
            "plan.unreadable",
            format!(
                "{} cannot be understood; nothing was changed",
                path.display()
            ),
        )
        .hint(mend(&path.with_file_name("SPRINT.yaml")))
        .finding(findings)
    })
}

fn understand(path: &Path, text: &str) -> Result<Progress, Findings> {
    let name = path.to_string_lossy().into_owned();
    let (progress, problems) = parse_progress(Source { name: &name, text });
    match progress {
        Some(progress) if !problems.iter().any(Problem::is_error) => Ok(progress),
        Some(_) | None => Err(Findings {
            problems,
            sources: [(name, text.to_owned())].into(),
        }),
    }
}

fn has_readable_backup(sprint: &SprintPath) -> bool {
    fs::read_to_string(backup(sprint))
        .is_ok_and(|text| matches!(detect_layout(&text), Layout::Current))
}

fn damaged(sprint: &SprintPath, what: &str) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    let failure = Failure::new(
        "plan.unreadable",
        format!("{} {what}; nothing was changed", path.display()),
    );
    if has_readable_backup(sprint) {
        let shown = with_ending(&path, "backup");
        return Failure::new(
            "plan.unreadable",
            format!(
                "{} {what}, and {} is readable; nothing was changed",
                path.display(),
                shown.display()
            ),
        )
        .hint(format!(
            "go on from the backup with `--from {}`",
            quote(&shown.to_string_lossy())
        ));
    }
    failure.hint(mend(&sprint.file))
}

/// What to do about a file that cannot be gone on with.
fn mend(definition: &Path) -> &'static str {
    if definition.is_file() {
        "mend the file, or begin anew with `--recompile`, which keeps the old file beside"
    } else {
        "mend the file; without a SPRINT.yaml it cannot be made anew"
    }
}

fn legacy(sprint: &SprintPath, layout: &Layout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.legacy",
        format!("{} is {}", path.display(), layout.describe()),
    )
    .hint(if sprint.file.is_file() {
        "run the definition anew with `--recompile`, which keeps the old file beside"
    } else {
        "write a SPRINT.yaml beside it, or name another plan"
    })
}

fn foreign(sprint: &SprintPath, layout: &Layout) -> Failure {
    let path = sprint.shown.join("PROGRESS.yaml");
    Failure::new(
        "plan.foreign",
        format!(
            "{} is {}; it was left alone",
            path.display(),
            layout.describe()
        ),
    )
    .hint("keep the sprint in a folder of its own")
}

/// The original keeps a hash of its file beside it; when it is stale, people
/// are told what that means.
fn report_checksum(path: &Path, text: &str, tell: &mut dyn FnMut(Notice<'_>)) {
    let Ok(expected) = fs::read_to_string(with_ending(path, "checksum")) else {
        return;
    };
    let expected = expected
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    if !expected.is_empty() && expected != sha256(text.as_bytes()) {
        tell(Notice::Warning(&format!(
            "{}.checksum does not fit its file: somebody edited the file, or a crash came between the two writes. The file itself is readable and is taken over as it stands",
            path.display()
        )));
    }
}

/// What the original left beside its file is kept under another name.
pub(super) fn set_aside(progress: &Path, tell: &mut dyn FnMut(Notice<'_>)) -> Result<(), Failure> {
    for ending in ["checksum", "backup", "checksum.backup"] {
        rename_aside(progress, ending, tell)?;
    }
    Ok(())
}

/// Whether writing the file anew loses nothing of it: no comment, no order.
pub(super) fn is_own_style(text: &str) -> bool {
    let (progress, _) = parse_progress(Source { name: "", text });
    progress.is_some_and(|progress| render_progress(&progress) == text)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

pub(super) fn backup(sprint: &SprintPath) -> PathBuf {
    with_ending(&sprint.progress(), "backup")
}

fn rename_aside(
    progress: &Path,
    ending: &str,
    tell: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Failure> {
    let old = with_ending(progress, ending);
    if !old.is_file() {
        return Ok(());
    }
    // What an earlier takeover put aside is as precious as this.
    let numbered = (2_u32..).map(|nth| format!("before-piton.{nth}"));
    let mut names = std::iter::once("before-piton".to_owned()).chain(numbered);
    let unused = names.find_map(|name| {
        let new = with_ending(&old, &name);
        fs::symlink_metadata(&new).is_err().then_some(new)
    });
    let new = unused.expect("there are more numbers than files");
    fs::rename(&old, &new).map_err(|error| unwritable(&old, error))?;
    fail::point("run.set-aside");
    tell(Notice::Said(&format!(
        "{} is now {}: piton needs neither",
        old.display(),
        new.display()
    )));
    Ok(())
}
