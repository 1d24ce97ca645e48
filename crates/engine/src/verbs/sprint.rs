//! `piton plan new`, `inject`, `add-step` and `import`: a sprint is begun, and
//! more is added to it, also while it is worked on.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::plan::{Order, PlannedItem};
use piton_core::request::{Injection, InsertPosition, RequestKind};
use piton_core::{Command, Need, Node as NodePath, RunId, RunRow, RunState, Tables};
use piton_formats::sprint::{Children, PhaseNode, SprintProgress, plan_of_progress};
use piton_formats::tree::ValueNode;
use piton_formats::yaml;
use serde::Serialize;

use super::NoticeSink;
use super::compile::{SprintPath, check_text, read_definition, replace_definition, sprint_path};
use super::control::{ControlOutcome, apply_command, outcome_of_run};
use super::run::secrets::refuse_secrets_in_items;
use crate::failure::{Failure, Findings, unwritable_file};
use crate::process::shell::quote_word;
use crate::project::Project;
use crate::session::{Session, no_runs_failure};
use crate::world::World;

/// What is added to a run.
#[derive(Clone, Debug, Default)]
pub struct InjectRequest {
    /// The run; the one that is meant when absent.
    pub run: Option<String>,
    /// What to tell its agent; with a workflow, what the step is about.
    pub prompt: Option<String>,
    /// The workflow whose phases are added.
    pub workflow: Option<String>,
    /// The folder of the workflows.
    pub workflows: Option<PathBuf>,
    /// What more is said.
    pub injection: Injection,
}

/// Adds phases to a sprint that is under way.
///
/// # Errors
///
/// When there is no such run, it is no sprint, the workflow has mistakes, or the
/// place is not there.
pub fn inject(
    world: &World,
    addition: InjectRequest,
    told: &mut NoticeSink<'_>,
) -> Result<ControlOutcome, Failure> {
    let session = open_session(world)?;
    let row = session.resolve_run_or_default(addition.run.as_deref())?;
    refuse_non_sprint(&row)?;
    let mut injection = addition.injection;
    match &addition.workflow {
        Some(name) => {
            let prompt = addition.prompt.as_deref();
            let folder = addition.workflows.as_deref();
            let progress = compile_workflow(world, name, folder, prompt)?;
            let prefix = injection.id_prefix.clone();
            let prefix = prefix.unwrap_or_else(|| format!("injected-{name}"));
            injection.items = items_by_root(&progress);
            for items in &mut injection.items {
                set_id(items, |id| format!("{prefix}-{id}"));
                set_model(items, injection.model.as_deref());
            }
        }
        None => injection.prompt = addition.prompt,
    }
    apply_injections(
        &session,
        row.id,
        RequestKind::Discovery,
        vec![injection],
        told,
    )
}

fn open_session(world: &World) -> Result<Session<'_>, Failure> {
    Session::open_writable(world, &world.cwd)?.ok_or_else(no_runs_failure)
}

fn load_outcome(session: &Session<'_>, run: RunId) -> Result<ControlOutcome, Failure> {
    let rows = session.load(&[Need::Run(run)])?;
    outcome_of_run(session, rows.tables.run(run).ok_or_else(no_runs_failure)?)
}

fn apply_injections(
    session: &Session<'_>,
    run: RunId,
    kind: RequestKind,
    injections: Vec<Injection>,
    told: &mut NoticeSink<'_>,
) -> Result<ControlOutcome, Failure> {
    let redactor = session.world.redactor();
    for items in injections.iter().flat_map(|injection| &injection.items) {
        refuse_secrets_in_items(items, &redactor, told)?;
    }
    let places = injections.iter().filter_map(|one| one.position.as_ref());
    let place = places
        .filter_map(InsertPosition::reference_item)
        .next()
        .map(str::to_owned);
    let command = Command::Inject {
        run,
        kind,
        injections,
    };
    let added = match apply_command(session, &command, told) {
        Ok(added) => added,
        Err(failure) if failure.code == "item.unknown" => {
            return Err(unknown_place_failure(
                session,
                run,
                &place.unwrap_or_default(),
            )?);
        }
        Err(failure) => return Err(failure),
    };
    let mut outcome = load_outcome(session, run)?;
    outcome.added = added;
    Ok(outcome)
}

/// That there is no phase and no step of this name, with those that there are.
fn unknown_place_failure(
    session: &Session<'_>,
    run: RunId,
    name: &str,
) -> Result<Failure, Failure> {
    let rows = session.load(&[Need::Tree(run)])?;
    let mut known: Vec<&str> = rows
        .tables
        .tree(run)
        .map(|row| row.plan.id.as_str())
        .collect();
    known.sort_by_key(|known| edit_distance(known, name));
    known.dedup();
    known.truncate(3);
    let known: Vec<String> = known.iter().map(|id| format!("`{id}`")).collect();
    Ok(Failure::new(
        "item.unknown",
        format!("there is no phase or step `{name}` in the plan"),
    )
    .with_hint(format!(
        "the nearest are {}; see all with `piton status`",
        known.join(", ")
    )))
}

/// By how many letters one name differs from another.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for at in 0..other.len() {
            let replaced = corner + usize::from(letter != other[at]);
            corner = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(corner + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn refuse_non_sprint(row: &RunRow) -> Result<(), Failure> {
    if row.plan.order == Order::InTurn {
        return Ok(());
    }
    let name = &row.name;
    Err(Failure::new("usage", format!("run `{name}` is no sprint"))
        .with_hint(format!("add it to {} by hand", row.plan.source)))
}

/// The phases of a workflow, compiled as those of a sprint of its own.
fn compile_workflow(
    world: &World,
    name: &str,
    folder: Option<&Path>,
    prompt: Option<&str>,
) -> Result<SprintProgress, Failure> {
    let step = ValueNode::map([(
        "prompt",
        ValueNode::string(prompt.unwrap_or("do what the phases say")),
    )]);
    let steps = ValueNode::map([("step", ValueNode::seq(vec![step]))]);
    let text = yaml::render(&ValueNode::map([
        ("workflow", ValueNode::string(name)),
        ("collections", steps),
    ]));
    let sprint = SprintPath {
        folder: world.cwd.clone(),
        file: world.cwd.join(format!("workflow {name}")),
        shown: PathBuf::new(),
    };
    let compiled = check_text(world, &sprint, Ok(text), folder, false);
    compiled
        .progress
        .ok_or_else(|| problems_failure(compiled.findings))
}

fn problems_failure(findings: Findings) -> Failure {
    let count = match findings.error_count() {
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    };
    Failure::new("plan.problems", format!("{count}; nothing was changed")).with_findings(findings)
}

/// The items of a compiled sprint, one root with what lies below it at a time.
fn items_by_root(progress: &SprintProgress) -> Vec<Vec<PlannedItem>> {
    let plan = plan_of_progress(progress, RunId::PROJECT, "", "");
    let mut roots: Vec<Vec<PlannedItem>> = Vec::new();
    for item in plan.items {
        match roots.last_mut() {
            Some(last) if item.place.depth() > 1 => last.push(item),
            Some(_) | None => roots.push(vec![item]),
        }
    }
    roots
}

fn set_id(items: &mut [PlannedItem], id: impl Fn(&str) -> String) {
    if let Some(top) = items.first_mut() {
        top.id = id(&top.id);
    }
}

fn set_model(items: &mut [PlannedItem], model: Option<&str>) {
    if let Some(model) = model {
        for item in items {
            item.model = Some(model.to_owned());
        }
    }
}

/// A step to be added to the definition of a sprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewStep {
    /// What is to be done.
    pub prompt: String,
    /// Its id.
    pub id: Option<String>,
    /// Its workflow.
    pub workflow: Option<String>,
    /// Its model.
    pub model: Option<String>,
}

/// Where steps are added.
#[derive(Clone, Debug, Default)]
pub struct StepTarget {
    /// The folder of the sprint; the newest one when absent.
    pub sprint: Option<PathBuf>,
    /// The collection that they go into.
    pub collection: Option<String>,
    /// The folder of the workflows.
    pub workflows: Option<PathBuf>,
}

/// What was added to a sprint.
#[derive(Clone, Debug, Serialize)]
pub struct AddedSteps {
    /// The definition that was changed.
    pub file: String,
    /// How many steps it has more.
    pub steps: usize,
    /// How many it had already.
    pub known: usize,
    /// The run that has them as well, where the sprint is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<ControlOutcome>,
    /// What to type next.
    pub next: String,
}

crate::name_schema!(AddedSteps, "piton.plan.steps/1");

/// Adds steps to the definition of a sprint, and to its run where it is under way.
///
/// # Errors
///
/// When there is no such sprint, it has another step of that id, the steps make
/// a mistake of it, or the run does not take them. Nothing is written then.
pub fn add_steps(
    world: &World,
    target: &StepTarget,
    steps: &[NewStep],
    told: &mut NoticeSink<'_>,
) -> Result<AddedSteps, Failure> {
    let sprint = match &target.sprint {
        Some(path) => sprint_path(world, path)?,
        None => newest_sprint(world)?,
    };
    if steps.is_empty() {
        return Err(Failure::new("usage", "there is no step to add"));
    }
    let read = || {
        read_definition(&sprint.file)
            .map_err(|why| Failure::new("plan.none", format!("{} {why}", sprint.file.display())))
    };
    let grown = |text: &str| insert_steps(text, target.collection.as_deref(), steps);
    let mut before = read()?;
    let (mut after, mut new) = grown(&before)?;
    let compile = |text: &str| {
        let text = Ok(text.to_owned());
        check_text(world, &sprint, text, target.workflows.as_deref(), false)
    };
    let compiled = compile(&after);
    let Some(progress) = compiled.progress else {
        return Err(problems_failure(compiled.findings));
    };
    let known = compile(&before).progress;
    let run = match run_of_sprint(world, &sprint)? {
        Some((session, row)) if row.state != RunState::Done => Some(add_to_run(
            &session,
            row.id,
            known.as_ref(),
            &progress,
            told,
        )?),
        Some(_) | None => None,
    };
    // What came into the file in the meantime stays in it.
    loop {
        let now = read()?;
        if now == before {
            break;
        }
        before = now;
        (after, new) = grown(&before)?;
    }
    if after != before {
        replace_definition(&sprint.file, after.as_bytes())?;
    }
    let folder = quote_word(&sprint.shown.to_string_lossy()).into_owned();
    Ok(AddedSteps {
        file: sprint.shown.join("SPRINT.yaml").display().to_string(),
        steps: new,
        known: steps.len() - new,
        run,
        next: format!("piton run {folder}"),
    })
}

/// Adds to a run the steps that its compiled sprint has more than it had.
fn add_to_run(
    session: &Session<'_>,
    run: RunId,
    known: Option<&SprintProgress>,
    progress: &SprintProgress,
    told: &mut NoticeSink<'_>,
) -> Result<ControlOutcome, Failure> {
    let rows = session.load(&[Need::Tree(run)])?;
    let mut injections = Vec::new();
    for (phase, mut items) in new_steps(known, progress) {
        // The run has them already where the file was not written before.
        items.retain(|step| !has_step(&rows.tables, run, &phase, step));
        if !items.is_empty() {
            injections.push(Injection {
                position: Some(InsertPosition::EndOfPhase(Some(phase))),
                items,
                ..Injection::default()
            });
        }
    }
    match injections.is_empty() {
        true => load_outcome(session, run),
        false => apply_injections(session, run, RequestKind::Step, injections, told),
    }
}

/// Whether the phase of a run has this step, as one that was added.
fn has_step(tables: &Tables, run: RunId, phase: &str, step: &[PlannedItem]) -> bool {
    let Some(top) = step.first() else {
        return false;
    };
    let phase = NodePath::child(None, phase, 1);
    let mut known = tables.tree(run).filter(|row| {
        row.plan.injected.is_some()
            && row.plan.id == top.id
            && row.node.parent().as_ref() == Some(&phase)
    });
    known.any(|row| {
        let prompts = tables
            .subtree(run, &row.plan.place)
            .map(|row| &row.plan.prompt);
        prompts.eq(step.iter().map(|item| &item.prompt))
    })
}

/// The sprint in `.claude/sprints` whose name is the last: they begin with a date.
fn newest_sprint(world: &World) -> Result<SprintPath, Failure> {
    if super::compile::has_definition(&world.cwd) {
        return sprint_path(world, Path::new("."));
    }
    let folder = sprints_folder(world);
    let found = fs::read_dir(&folder).into_iter().flatten().flatten();
    let found = found.map(|entry| entry.path());
    let newest = found
        .filter(|path| super::compile::has_definition(path))
        .max();
    let newest = newest.ok_or_else(|| {
        Failure::new(
            "plan.none",
            format!("there is no sprint in {}", folder.display()),
        )
        .with_hint(
            "begin one with `piton plan new --sprint NAME`, or name a folder with `--sprint`",
        )
    })?;
    let shown = newest
        .strip_prefix(&world.cwd)
        .unwrap_or(&newest)
        .to_owned();
    sprint_path(world, &shown)
}

fn sprints_folder(world: &World) -> PathBuf {
    let work_tree = Project::find(world, &world.cwd).work_tree;
    work_tree.join(".claude").join("sprints")
}

/// The run of a sprint, where there is one.
fn run_of_sprint<'w>(
    world: &'w World,
    sprint: &SprintPath,
) -> Result<Option<(Session<'w>, RunRow)>, Failure> {
    let Some(session) = Session::open_writable(world, &sprint.folder)? else {
        return Ok(None);
    };
    let path = sprint.folder.to_string_lossy().into_owned();
    let row = match session.resolve_run(&path) {
        Ok(row) => row,
        Err(failure) if failure.code == "run.unknown" => return Ok(None),
        Err(failure) => return Err(failure),
    };
    Ok(Some((session, row)))
}

/// The steps that a compiled sprint has more than it had, by their phase.
fn new_steps(
    known: Option<&SprintProgress>,
    progress: &SprintProgress,
) -> Vec<(String, Vec<Vec<PlannedItem>>)> {
    let steps = |phase: &PhaseNode| match &phase.children {
        Children::Steps(steps) => steps.len(),
        Children::None | Children::Phases(_) => 0,
    };
    let all = items_by_root(progress);
    let grown = progress.phases.iter().zip(all).map(|(phase, items)| {
        let known = known.and_then(|known| known.phases.iter().find(|one| one.id == phase.id));
        let known = known.map_or(0, steps);
        let is_new = |item: &PlannedItem| {
            let index = item.place.0.get(1).copied().unwrap_or_default();
            item.place.depth() > 1 && index as usize >= known
        };
        let mut added: Vec<Vec<PlannedItem>> = Vec::new();
        for item in items.into_iter().filter(is_new) {
            match added.last_mut() {
                Some(last) if item.place.depth() > 2 => last.push(item),
                Some(_) | None => added.push(vec![item]),
            }
        }
        (phase.id.clone(), added)
    });
    grown.filter(|(_, added)| !added.is_empty()).collect()
}

/// The collection that steps go into; `names` are those that there are.
fn name_of_collection(collection: Option<&str>, names: &[&str]) -> Result<String, Failure> {
    Ok(match (collection, names) {
        (Some(name), _) => name.to_owned(),
        (None, [] | ["step"]) => "step".to_owned(),
        (None, [one]) => (*one).to_owned(),
        (None, several) if several.contains(&"step") => "step".to_owned(),
        (None, several) => {
            let several = several.join(", ");
            let why = format!("the sprint has several collections: {several}");
            return Err(Failure::new("usage", why).with_hint("say which with `--collection NAME`"));
        }
    })
}

/// The steps that a collection does not have yet, each once.
fn unknown_steps<'s>(
    there: &[ValueNode],
    steps: &'s [NewStep],
) -> Result<Vec<&'s NewStep>, Failure> {
    let of =
        |node: &ValueNode, key: &str| node.get(key).and_then(ValueNode::text).map(str::to_owned);
    let mut seen: Vec<(Option<String>, Option<String>)> = there
        .iter()
        .map(|node| (of(node, "id"), of(node, "prompt")))
        .collect();
    let mut fresh = Vec::new();
    for step in steps {
        let named = seen
            .iter()
            .find(|(id, _)| step.id.is_some() && *id == step.id);
        let is_known = match (&step.id, named) {
            (Some(id), Some((_, prompt))) if prompt.as_ref() != Some(&step.prompt) => {
                let why = format!("the sprint has a step `{id}` already");
                return Err(
                    Failure::new("usage", why).with_hint("give this one another id, or none")
                );
            }
            (Some(_), named) => named.is_some(),
            (None, _) => seen
                .iter()
                .any(|(_, prompt)| prompt.as_ref() == Some(&step.prompt)),
        };
        if !is_known {
            seen.push((step.id.clone(), Some(step.prompt.clone())));
            fresh.push(step);
        }
    }
    Ok(fresh)
}

/// A step as a definition has it.
fn render_step(step: &NewStep) -> ValueNode {
    let text = |text: &Option<String>| text.as_deref().map(ValueNode::string);
    ValueNode::map(
        [
            ("id", text(&step.id)),
            ("prompt", Some(ValueNode::string(&step.prompt))),
            ("workflow", text(&step.workflow)),
            ("model", text(&step.model)),
        ]
        .into_iter()
        .filter_map(|(key, node)| Some((key, node?))),
    )
}

/// The text of a definition with more steps in a collection, and how many of
/// them it did not have.
fn insert_steps(
    text: &str,
    collection: Option<&str>,
    steps: &[NewStep],
) -> Result<(String, usize), Failure> {
    let unfit = |why: String| Failure::new("usage", why);
    let parsed = yaml::parse(text);
    let root = parsed.root.filter(|_| parsed.faults.is_empty());
    let root = root.and_then(|root| root.as_map().cloned());
    let root = root.ok_or_else(|| {
        unfit("SPRINT.yaml cannot be read".to_owned())
            .with_hint("see what is wrong with `piton plan check`")
    })?;
    let collections = root.get("collections").and_then(ValueNode::as_map);
    let mut all: Vec<(String, ValueNode)> = collections
        .into_iter()
        .flat_map(|map| map.iter())
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let name = name_of_collection(collection, &names)?;
    let there = all.iter().find(|(key, _)| *key == name);
    let there = there
        .and_then(|(_, node)| node.as_seq())
        .unwrap_or_default();
    let fresh = unknown_steps(there, steps)?;
    if fresh.is_empty() {
        return Ok((text.to_owned(), 0));
    }
    let count = fresh.len();
    let new = fresh.into_iter().map(render_step);
    match all.iter_mut().find(|(key, _)| *key == name) {
        Some((_, node)) => {
            let before = match node.as_seq() {
                Some(before) => before.to_vec(),
                None if node.is_null() => Vec::new(),
                None => return Err(unfit(format!("the collection `{name}` is no list"))),
            };
            *node = ValueNode::seq(before.into_iter().chain(new).collect());
        }
        None => all.push((name, ValueNode::seq(new.collect()))),
    }
    let keys = root
        .iter()
        .map(|(key, node)| (key.text.clone(), node.clone()));
    let mut keys: Vec<(String, ValueNode)> = keys.filter(|(key, _)| key != "collections").collect();
    keys.push(("collections".to_owned(), ValueNode::map(all)));
    let wanted = ValueNode::map(keys);
    yaml::patch(text, &wanted)
        .map(|text| (text, count))
        .map_err(|_| unfit("the sprint cannot be changed in place".to_owned()))
}

/// The steps of a file: `steps: [{prompt}]`, a list of those or of texts, or
/// issues as `gh issue list --json number,title,body` prints them.
///
/// # Errors
///
/// When it holds no list, or something that is no step.
pub fn parse_steps(name: &str, text: &str) -> Result<Vec<NewStep>, Failure> {
    let unfit = |why: &str| {
        Failure::new("usage", format!("{name} {why}")).with_hint(
            "write `steps:` with a list of `- prompt: TEXT`, or give what `gh issue list --json number,title,body` prints",
        )
    };
    let parsed = yaml::parse(text);
    if !parsed.faults.is_empty() {
        return Err(unfit("is no YAML"));
    }
    let root = parsed.root.ok_or_else(|| unfit("is empty"))?;
    let list = root.get("steps").unwrap_or(&root);
    let list = list
        .as_seq()
        .ok_or_else(|| unfit("holds no list of steps"))?;
    let steps = list.iter().map(|node| {
        let text = |key: &str| {
            let node = node.get(key).filter(|node| !node.is_null());
            node.and_then(ValueNode::text).map(str::to_owned)
        };
        let issue = || {
            let (number, title) = (text("number")?, text("title")?);
            let body = text("body").unwrap_or_default();
            let words = format!("Implement GitHub issue #{number}\nTitle: {title}\n\n{body}");
            Some(words.trim_end().to_owned())
        };
        let bare = || node.as_str().map(str::to_owned);
        let prompt = text("prompt").or_else(issue).or_else(bare);
        let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
        Some(NewStep {
            prompt: prompt?,
            id: text("id").filter(|_| node.get("number").is_none()),
            workflow: text("workflow"),
            model: text("model"),
        })
    });
    let steps: Option<Vec<NewStep>> = steps.collect();
    let steps = steps.ok_or_else(|| unfit("holds a step without a prompt"))?;
    if steps.is_empty() {
        return Err(unfit("holds no steps"));
    }
    Ok(steps)
}

/// A sprint that was begun.
#[derive(Clone, Debug, Serialize)]
pub struct CreatedSprint {
    /// Its definition.
    pub file: String,
    /// The file of its workflow, where there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What to do next.
    pub next: String,
}

crate::name_schema!(CreatedSprint, "piton.plan.sprint/1");

fn check_sprint_name(name: &str) -> Result<(), Failure> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(is_name) {
        return Err(
            Failure::new("usage", format!("`{name}` is no name of a sprint"))
                .with_hint("write it in letters, digits and dashes: `feature-auth`"),
        );
    }
    Ok(())
}

/// Makes the folder of a new sprint, as `/init-sprint` of the original does.
///
/// # Errors
///
/// When the name is no name of a folder, or there is such a sprint.
pub fn new_sprint(
    world: &World,
    name: &str,
    workflow: Option<&str>,
    owner: Option<&str>,
) -> Result<CreatedSprint, Failure> {
    check_sprint_name(name)?;
    let now = world.now();
    let id = format!("{}_{name}", now.strftime("%Y-%m-%d"));
    let all = sprints_folder(world);
    let is_it = |entry: &fs::DirEntry| {
        let known = entry.file_name().to_string_lossy().into_owned();
        known
            .split_once('_')
            .is_some_and(|(_, known)| known == name)
    };
    let known = fs::read_dir(&all)
        .into_iter()
        .flatten()
        .flatten()
        .find(is_it);
    if let Some(known) = known {
        let known = known.path().display().to_string();
        return Err(Failure::new(
            "usage",
            format!("there is a sprint `{name}` already: {known}"),
        )
        .with_hint("choose another name, or add to it with `piton plan add-step`"));
    }
    let folder = all.join(&id);
    let fault = |error| unwritable_file(&folder, error);
    let project = Project::find(world, &world.cwd);
    project.resolve_inside(&folder).map_err(fault)?;
    for part in ["context", "artifacts"] {
        fs::create_dir_all(folder.join(part)).map_err(fault)?;
    }
    let workflow = workflow.unwrap_or("sprint-default");
    let owner = owner.map(|owner| ("owner", ValueNode::string(owner)));
    let pairs = [
        ("sprint-id", ValueNode::string(&id)),
        ("name", ValueNode::string(name)),
        ("created", ValueNode::string(format!("{now:.3}"))),
    ];
    let about = yaml::render(&ValueNode::map(pairs.into_iter().chain(owner)));
    let head = yaml::render(&ValueNode::map([("workflow", ValueNode::string(workflow))]));
    let text = format!(
        "{head}\n# A phase of the workflow with `for-each: step` does each of these.\ncollections:\n  step: []\n\n{about}"
    );
    let file = folder.join("SPRINT.yaml");
    fs::write(&file, text).map_err(fault)?;
    let shown = |path: &Path| {
        let path = path.strip_prefix(&world.cwd).unwrap_or(path);
        path.display().to_string()
    };
    let workflows = all.with_file_name("workflows");
    let named = |ending: &str| workflows.join(format!("{workflow}.{ending}"));
    let is_missing = !named("yaml").exists() && !named("yml").exists();
    Ok(CreatedSprint {
        file: shown(&file),
        missing: is_missing.then(|| shown(&named("yaml"))),
        next: "piton plan add-step 'WHAT IS TO BE DONE'".to_owned(),
    })
}
