//! `piton trust` and `piton untrust`: what of a project may be executed here.

use piton_core::Need;
use piton_core::redact::Redactor;
use piton_core::trust::{ExecutablePart, PartKind, hash_of_parts, parts_of_run};
use serde::Serialize;

use super::run::{RunRequest, UntrustedParts, untrusted_parts};
use crate::config::Config;
pub use crate::config::trust::typed_trust;
use crate::config::trust::{self, TrustCheck};
use crate::failure::Failure;
use crate::project::Project;
use crate::runner::closing::closing_part;
use crate::runner::trust_questions::settle_questions;
use crate::session::{Session, open_runs};
use crate::world::World;

/// Something that would be executed.
#[derive(Clone, Debug, Serialize)]
pub struct PartView {
    /// What it does.
    pub kind: PartKind,
    /// The setting, or the kind.
    pub name: String,
    /// Where it stands first.
    pub source: String,
    /// What would be executed.
    pub text: String,
    /// By what it is known.
    pub hash: String,
}

impl PartView {
    /// A part as people are shown it: as it is executed, for what looks like a secret may
    /// hide a command. The value of a variable is none, and may be one.
    pub(crate) fn of_part(part: &ExecutablePart, redactor: &Redactor) -> Self {
        let text = if part.kind == PartKind::AgentEnvironment {
            redactor.redact(&part.text).into_owned()
        } else {
            part.text.clone()
        };
        Self {
            kind: part.kind,
            name: part.name.clone(),
            source: part.source.clone(),
            text,
            hash: part.hash(),
        }
    }
}

/// What is not trusted yet of a project, or was not before.
#[derive(Clone, Debug, Serialize)]
pub struct TrustReport {
    /// The root of the project.
    pub project: String,
    /// The parts.
    pub parts: Vec<PartView>,
    /// What `PITON_TRUST` has to be for all of them; none where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether they are trusted from now on.
    pub done: bool,
}

crate::name_schema!(TrustReport, "piton.trust/1");

/// What is trusted no longer.
#[derive(Clone, Debug, Serialize)]
pub struct UntrustReport {
    /// The root of the project.
    pub project: String,
    /// How many parts were trusted.
    pub forgotten: usize,
}

crate::name_schema!(UntrustReport, "piton.untrust/1");

/// What would be executed and is not trusted: of a run that is asked for like this, or,
/// where no plan is meant, of the configuration and of the runs that are not over.
/// Writes nothing.
///
/// # Errors
///
/// When the plan that is named, the configuration or the store cannot be read.
pub fn survey(world: &World, request: &RunRequest) -> Result<TrustReport, Failure> {
    let found = collect_parts(world, request)?;
    Ok(report(world, &found.project, &found.parts))
}

/// Trusts what [`survey`] shows.
///
/// # Errors
///
/// As [`survey`]; `trust.register` when it cannot be kept.
pub fn trust(world: &World, request: &RunRequest) -> Result<TrustReport, Failure> {
    let UntrustedParts {
        project,
        parts,
        plans,
    } = collect_parts(world, request)?;
    TrustCheck::open(world, &project).store(world, &parts)?;
    if let Some(session) = Session::open_writable(world, &project.root)? {
        let plans: Vec<Option<&str>> = plans.iter().map(Option::as_deref).collect();
        settle_questions(&session, &plans, None)?;
    }
    Ok(TrustReport {
        done: true,
        ..report(world, &project, &parts)
    })
}

/// Trusts what was shown to a person, who said yes: the list of this hash, and no other.
///
/// # Errors
///
/// `trust.needed` where it has become another list since; as [`trust`].
pub fn trust_shown(
    world: &World,
    request: &RunRequest,
    shown: Option<&str>,
) -> Result<(), Failure> {
    let UntrustedParts { project, parts, .. } = collect_parts(world, request)?;
    if shown != Some(hash_of_parts(&parts).as_str()) {
        let what = "the commands of this project changed while you looked at them";
        return Err(Failure::new("trust.needed", what)
            .with_hint("look at what would run now with `piton trust --show`"));
    }
    TrustCheck::open(world, &project).store(world, &parts)
}

/// Trusts nothing of the project any more.
///
/// # Errors
///
/// `trust.register` when the register cannot be read or written.
pub fn untrust(world: &World) -> Result<UntrustReport, Failure> {
    let project = Project::find(world, &world.cwd);
    let forgotten = TrustCheck::open(world, &project).forget(world)?;
    Ok(UntrustReport {
        project: project.root.display().to_string(),
        forgotten,
    })
}

/// Trusts what [`survey`] shows, for as long as this process works, where a script gave
/// the hash of that.
pub(crate) fn allow_given_parts(world: &World, trust: &TrustCheck, plan: Option<&str>) {
    if !trust.has_given_hash() {
        return;
    }
    let request = RunRequest {
        plan: plan.map(str::to_owned),
        ..RunRequest::default()
    };
    // What cannot be read is not trusted.
    if let Ok(found) = collect_parts(world, &request) {
        trust.allow_given(found.parts);
    }
}

fn report(world: &World, project: &Project, parts: &[ExecutablePart]) -> TrustReport {
    let redactor = world.redactor();
    TrustReport {
        project: project.root.display().to_string(),
        parts: parts
            .iter()
            .map(|part| PartView::of_part(part, &redactor))
            .collect(),
        hash: (!parts.is_empty()).then(|| hash_of_parts(parts)),
        done: false,
    }
}

fn collect_parts(world: &World, request: &RunRequest) -> Result<UntrustedParts, Failure> {
    match untrusted_parts(world, request) {
        Ok(found) => Ok(found),
        // No plan is meant: what the project executes whatever it runs.
        Err(_) if request.plan.is_none() => parts_of_project(world),
        Err(failure) => Err(failure),
    }
}

fn parts_of_project(world: &World) -> Result<UntrustedParts, Failure> {
    let project = Project::find(world, &world.cwd);
    let config = Config::load(&project)?;
    let mut parts = trust::all_config_parts(&config);
    let mut plans = vec![None];
    if let Some(session) = Session::open_read_only(world, &project.root)? {
        let runs = session.runs()?;
        for row in open_runs(&runs) {
            let needs = [Need::Run(row.id), Need::Tree(row.id)];
            parts.extend(parts_of_run(&session.load(&needs)?.tables, row.id));
            parts.extend(closing_part(world, &row.plan.face, &row.plan.source));
            plans.extend([Some(row.name.clone()), Some(row.plan.source.clone())]);
        }
    }
    let parts = TrustCheck::open(world, &project).untrusted(parts);
    Ok(UntrustedParts {
        project,
        parts,
        plans,
    })
}
