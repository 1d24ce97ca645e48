//! `piton doctor`: whether everything that piton needs is here, and what to type where it
//! is not. What the memory holds is looked at by [`super::doctor`].
//!
//! Each check reads and reports: nothing is written, and nothing of the project is
//! executed. A check that cannot look reports that as its finding and stops no other.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use piton_core::journal::CLOCK_JUMP;
use piton_core::{Need, RunState};
use piton_formats::agent_hooks::{find_piton_commands, program_of_piton_command};
use serde::Serialize;

use super::agents::{AgentNamedBy, used_agents};
use super::run::{RunRequest, agents_on_path};
use super::trust;
use crate::agents::hook::settings::{HookProgram, SettingsScope};
use crate::agents::program_table::KNOWN_PROGRAMS;
use crate::config::Config;
use crate::config::trust::TrustCheck;
use crate::failure::Failure;
use crate::git;
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::project::own_store::refuse_tracked_store;
use crate::runner::run_standing::RunStanding;
use crate::session::{Session, open_runs};
use crate::world::{World, input};

/// With less free space than this a run fails soon, in bytes.
const FREE_BYTES_MIN: u64 = 64 << 20;
/// With less than this it may fail in a night: output and lanes take space, in bytes.
const FREE_BYTES_FEW: u64 = 1 << 30;
/// A clock that shows an earlier year was never set.
const YEAR_MIN: i16 = 2025;
/// A clock that shows a later one is wrong.
const YEAR_MAX: i16 = 2100;

/// What was looked at, and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// The findings, by what they are about.
    pub checks: Vec<SetupFinding>,
    /// How many of them are problems.
    pub problems: usize,
}

crate::name_schema!(SetupReport, "piton.doctor/1");

/// What was found by a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupFinding {
    /// What it is about: `store`.
    pub check: &'static str,
    /// How bad it is.
    pub grade: SetupGrade,
    /// What was found, in one line.
    pub found: String,
    /// What to do about it; commands stand in backticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupGrade {
    /// As it should be.
    Ok,
    /// Something a person should know.
    Warning,
    /// Something does not work.
    Problem,
}

impl SetupGrade {
    /// Its name, as shown and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// What a check looks at.
struct Surroundings<'w> {
    world: &'w World,
    project: Project,
    config: Result<Config, Failure>,
    /// None where nothing was recorded yet.
    session: Result<Option<Session<'w>>, Failure>,
}

/// A finding without the name of its check.
struct Finding {
    grade: SetupGrade,
    found: String,
    hint: Option<String>,
}

/// A check: its name, and what it finds.
type SetupCheck = (&'static str, fn(&Surroundings<'_>) -> Vec<Finding>);

/// All of them, in the order in which they are shown.
const CHECKS: &[SetupCheck] = &[
    ("store", check_store),
    ("config", check_config),
    ("trust", check_trust),
    ("agents", check_agents),
    ("hooks", check_hooks),
    ("git", check_git),
    ("disk", check_disk),
    ("clock", check_clock),
    ("runs", check_runs),
];

/// Looks at everything. Writes nothing, and executes nothing of the project.
#[must_use]
pub fn check_setup(world: &World) -> SetupReport {
    let project = Project::find(world, &world.cwd);
    let around = Surroundings {
        world,
        config: Config::load(&project),
        session: Session::open_read_only(world, &world.cwd),
        project,
    };
    let redactor = world.redactor();
    let findings = CHECKS.iter().flat_map(|(check, look)| {
        let named = |finding: Finding| SetupFinding {
            check,
            grade: finding.grade,
            found: redactor.redact(&finding.found).into_owned(),
            hint: finding.hint,
        };
        look(&around).into_iter().map(named)
    });
    let checks: Vec<SetupFinding> = findings.collect();
    let is_problem = |finding: &&SetupFinding| finding.grade == SetupGrade::Problem;
    SetupReport {
        problems: checks.iter().filter(is_problem).count(),
        checks,
    }
}

impl Finding {
    fn ok(found: impl Into<String>) -> Self {
        Self {
            grade: SetupGrade::Ok,
            found: found.into(),
            hint: None,
        }
    }

    fn warning(found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            grade: SetupGrade::Warning,
            hint: Some(hint.into()),
            ..Self::ok(found)
        }
    }

    fn problem(found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            grade: SetupGrade::Problem,
            ..Self::warning(found, hint)
        }
    }

    fn from_failure(failure: &Failure) -> Self {
        Self {
            grade: SetupGrade::Problem,
            found: failure.to_line(),
            hint: failure.hint.clone(),
        }
    }
}

impl<'w> Surroundings<'w> {
    /// The store; none where there is none, or where it cannot be read, which is reported
    /// once.
    fn open_session(&self) -> Option<&Session<'w>> {
        self.session.as_ref().ok()?.as_ref()
    }
}

fn check_store(around: &Surroundings<'_>) -> Vec<Finding> {
    let project = &around.project;
    let home = project.home.display();
    let session = match &around.session {
        Err(failure) => return vec![Finding::from_failure(failure)],
        Ok(None) => {
            let what = format!("nothing is recorded yet; the journal will be in {home}");
            return vec![Finding::ok(what)];
        }
        Ok(Some(session)) => session,
    };
    // Rows carry checksums: those of runs are looked at, which every command needs.
    let info = session.load(&[Need::Runs]);
    let info = info.and_then(|_| Ok(session.store.info()?));
    let mut found = vec![match info {
        Err(failure) => Finding::from_failure(&failure),
        Ok(info) => {
            let size = format_bytes(info.bytes + info.wal_bytes);
            let events = info.events;
            Finding {
                hint: Some("`piton journal verify` reads all of it".to_owned()),
                ..Finding::ok(format!("{events} events in {home}, {size}"))
            }
        }
    }];
    if let Some(loss) = session.store.loss_at_open() {
        found.push(Finding::problem(
            loss.to_string(),
            "see `piton journal verify`, and what the native files and git still say",
        ));
    }
    let tracked = refuse_tracked_store(project);
    found.extend(tracked.err().as_ref().map(Finding::from_failure));
    if !project.is_kept_by_git() && project.home_in_git().is_some() {
        found.push(Finding::warning(
            "the journal lies in the work tree, where `git clean` reaches it",
            "move it into git's folder with `piton store move`",
        ));
    }
    found
}

fn check_config(around: &Surroundings<'_>) -> Vec<Finding> {
    let config = match &around.config {
        Err(failure) => return vec![Finding::from_failure(failure)],
        Ok(config) => config,
    };
    let former = config.claims.deprecated_names().into_iter();
    let former: Vec<Finding> = former
        .map(|what| Finding::warning(what, "write the new form into the file"))
        .collect();
    if !former.is_empty() {
        return former;
    }
    let file = Config::path(&around.project);
    vec![Finding::ok(match file.is_file() {
        true => "each key of .piton/config.toml is known",
        false => "there is no .piton/config.toml: all settings are defaults",
    })]
}

fn check_trust(around: &Surroundings<'_>) -> Vec<Finding> {
    if around.config.is_err() {
        return Vec::new();
    }
    let check = TrustCheck::open(around.world, &around.project);
    if let Some(failure) = check.find_fault() {
        return vec![Finding::from_failure(&failure)];
    }
    match trust::survey(around.world, &RunRequest::default()) {
        // A store that cannot be read is reported once.
        Err(_) if around.session.is_err() => Vec::new(),
        Err(failure) => vec![Finding::from_failure(&failure)],
        Ok(report) => vec![match report.parts.len() {
            0 => Finding::ok("no command of the project waits for your trust"),
            count => {
                let commands = count_of(count, "command");
                Finding::warning(
                    format!("{commands} of the project would be asked about before a run"),
                    "see what would run with `piton trust --show`, then trust it with `piton trust`",
                )
            }
        }],
    }
}

fn check_agents(around: &Surroundings<'_>) -> Vec<Finding> {
    // Settings that cannot be read are reported once.
    let Ok(config) = &around.config else {
        return Vec::new();
    };
    let session = around.open_session();
    let used = match used_agents(around.world, &around.project, config, session) {
        Ok(used) => used,
        Err(failure) => return vec![Finding::from_failure(&failure)],
    };
    let mut found: Vec<Finding> = used
        .iter()
        .map(|one| {
            let agent = &one.agent;
            let place = match &one.named_by {
                AgentNamedBy::Config => "new runs use it".to_owned(),
                AgentNamedBy::Run { run } => format!("run `{run}` uses it"),
            };
            match &one.problem {
                None => Finding::ok(format!("`{agent}`: {place}")),
                Some(why) => Finding::problem(
                    format!("`{agent}`: {place}; {why}"),
                    "see which programs are installed, and how they are, with `piton agents`",
                ),
            }
        })
        .collect();
    if !used.iter().any(|one| one.named_by == AgentNamedBy::Config) {
        let installed = agents_on_path(around.world);
        found.push(match installed.first() {
            Some(first) => Finding::warning(
                format!(
                    "no agent is set for new runs; installed: {}",
                    installed.join(", ")
                ),
                format!(
                    "set one with `piton config set agent.use {first}`, or name one to each run"
                ),
            ),
            None => Finding::warning(
                "no agent is set for new runs, and no program that piton knows is on PATH",
                format!(
                    "install one, such as `{}`; a command that reads a prompt does as well",
                    KNOWN_PROGRAMS[0].install
                ),
            ),
        });
    }
    found
}

fn check_hooks(around: &Surroundings<'_>) -> Vec<Finding> {
    let scopes = [SettingsScope::Project, SettingsScope::User];
    let pairs = HookProgram::all().flat_map(|program| scopes.map(|scope| (program, scope)));
    let found: Vec<Finding> = pairs
        .filter_map(|(program, scope)| check_hooks_of_program(around, program, scope))
        .collect();
    if found.is_empty() {
        return vec![Finding::ok("no agent program has hooks of piton")];
    }
    found
}

/// None where the settings have no hook of piton.
fn check_hooks_of_program(
    around: &Surroundings<'_>,
    program: HookProgram,
    scope: SettingsScope,
) -> Option<Finding> {
    let file = program.settings_file(around.world, scope).ok()?;
    let text = match scope {
        SettingsScope::Project => around.project.read_text(&file),
        SettingsScope::User => input::read_text(&file),
    };
    // Settings that its program cannot read either hold no hooks.
    let commands = find_piton_commands(&text.ok()?).ok()?;
    let (name, place) = (program.program.name, file.display());
    let missing = commands.iter().find_map(|command| {
        let started = program_of_piton_command(command)?;
        (!is_program(around.world, &started)).then_some(started)
    });
    if commands.is_empty() {
        return None;
    }
    Some(match missing {
        None => Finding::ok(format!("{name}: hooks in {place}")),
        Some(missing) => {
            let flag = match scope {
                SettingsScope::Project => "",
                SettingsScope::User => " --user",
            };
            Finding::problem(
                format!("{name}: the hooks in {place} start `{missing}`, which is not there"),
                format!("write the path of this piton: `piton hook install --agent {name}{flag}`"),
            )
        }
    })
}

/// Whether a shell would find a program.
fn is_program(world: &World, program: &str) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => world.is_on_path(program),
    }
}

fn check_git(around: &Surroundings<'_>) -> Vec<Finding> {
    let tree = &around.project.work_tree;
    if !around.project.in_git {
        return vec![Finding::ok(format!(
            "{} lies in no repository: nothing is committed, and no lanes are made",
            tree.display()
        ))];
    }
    let version = match git::git_version(tree) {
        Err(failure) => return vec![Finding::from_failure(&failure)],
        Ok(version) => version.map_or_else(String::new, |(major, minor)| {
            format!("git {major}.{minor}, ")
        }),
    };
    if let Err(failure) = git::refuse_without_identity(tree, false) {
        return vec![Finding::from_failure(&failure)];
    }
    let here = format!("{version}work tree {}", tree.display());
    vec![match git::head_commit(tree) {
        Ok(Some(_)) => Finding::ok(here),
        Ok(None) => Finding::warning(
            format!("{here}: it has no commit yet, which lanes begin at"),
            "make a first commit",
        ),
        Err(failure) => Finding::from_failure(&failure),
    }]
}

fn check_disk(around: &Surroundings<'_>) -> Vec<Finding> {
    let home = &around.project.home;
    // The home may have to be made yet.
    let folder = home.ancestors().find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(&around.project.root);
    vec![match rustix::fs::statvfs(folder) {
        Ok(disk) => grade_free_space(disk.f_bavail.saturating_mul(disk.f_frsize), folder),
        Err(error) => Finding::problem(
            format!("the disk of {} cannot be asked: {error}", folder.display()),
            "see that the folder can be read",
        ),
    }]
}

fn grade_free_space(bytes: u64, folder: &Path) -> Finding {
    let (size, folder) = (format_bytes(bytes), folder.display());
    let found = format!("{size} free where the journal lies");
    let typed = quote_word(&folder.to_string()).into_owned();
    let hint = format!("make room on that disk: `df -h {typed}` names it");
    match bytes {
        ..FREE_BYTES_MIN => Finding::problem(found, hint),
        FREE_BYTES_MIN..FREE_BYTES_FEW => Finding::warning(found, hint),
        FREE_BYTES_FEW.. => Finding::ok(found),
    }
}

fn check_clock(around: &Surroundings<'_>) -> Vec<Finding> {
    let heads = around.open_session().map(|open| open.store.stream_heads());
    // A store that cannot be read is reported once.
    let heads = heads.and_then(Result::ok).unwrap_or_default();
    let newest = heads.into_iter().map(|head| head.time).max();
    vec![grade_clock(around.world, around.world.now(), newest)]
}

fn grade_clock(world: &World, now: Timestamp, newest: Option<Timestamp>) -> Finding {
    let shown = world.local_time(now);
    let hint = "see that `date` is right";
    let year = now.to_zoned(TimeZone::UTC).year();
    if !(YEAR_MIN..=YEAR_MAX).contains(&year) {
        return Finding::problem(format!("the clock shows {shown}"), hint);
    }
    match newest.filter(|newest| newest.duration_since(now) > CLOCK_JUMP) {
        // Not a problem: it stays so where the clock was ahead once and is right by now.
        Some(newest) => Finding::warning(
            format!(
                "the clock shows {shown}, and the newest event of the journal is from {}",
                world.local_time(newest)
            ),
            hint,
        ),
        None => Finding::ok(shown),
    }
}

fn check_runs(around: &Surroundings<'_>) -> Vec<Finding> {
    let Some(session) = around.open_session() else {
        return Vec::new();
    };
    // What cannot be read is reported by the check of the store.
    let runs = session.runs().unwrap_or_default();
    let interrupted = open_runs(&runs)
        .filter(|row| RunStanding::of_run(&around.project, row).state == RunState::Interrupted);
    let found: Vec<Finding> = interrupted
        .map(|row| {
            Finding::warning(
                format!("run `{}` is interrupted: no runner works on it", row.name),
                format!("go on with `piton run {}`", quote_word(&row.name)),
            )
        })
        .collect();
    if found.is_empty() {
        let open = count_of(open_runs(&runs).count(), "open run");
        return vec![Finding::ok(format!("{open}, none interrupted"))];
    }
    found
}

fn count_of(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// An amount of bytes for people, in units of 1,000.
fn format_bytes(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_problem_before_it_is_full() {
        let grade = |bytes| grade_free_space(bytes, Path::new("/a b")).grade;
        assert_eq!(grade(0), SetupGrade::Problem);
        assert_eq!(grade(FREE_BYTES_MIN - 1), SetupGrade::Problem);
        assert_eq!(grade(FREE_BYTES_MIN), SetupGrade::Warning);
        assert_eq!(grade(FREE_BYTES_FEW), SetupGrade::Ok);
        let found = grade_free_space(900_500_000, Path::new("/a b"));
        assert_eq!(found.found, "900.5 MB free where the journal lies");
        let hint = "make room on that disk: `df -h '/a b'` names it";
        assert_eq!(found.hint.as_deref(), Some(hint));
    }

    #[test]
    fn a_clock_that_cannot_be_right_is_named() {
        let world = World::from_environment().expect("there is a folder");
        let grade = |now: &str, newest: Option<&str>| {
            let time = |text: &str| text.parse::<Timestamp>().expect("a time");
            grade_clock(&world, time(now), newest.map(time)).grade
        };
        let now = "2026-01-15T09:00:00Z";
        assert_eq!(grade(now, None), SetupGrade::Ok);
        assert_eq!(grade(now, Some("2026-01-15T10:00:00Z")), SetupGrade::Ok);
        assert_eq!(
            grade(now, Some("2026-01-15T10:00:01Z")),
            SetupGrade::Warning
        );
        assert_eq!(grade("1970-01-01T00:00:09Z", None), SetupGrade::Problem);
        assert_eq!(grade("2200-01-01T00:00:00Z", None), SetupGrade::Problem);
    }
}
