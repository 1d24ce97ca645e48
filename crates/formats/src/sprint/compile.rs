//! From `SPRINT.yaml` and workflows to a [`SprintProgress`].

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::check::{self, WorkflowLevel};
use super::expand::Expander;
use super::field::{
    ProblemReport, ProblemWords, ValuePath, is_object, is_truthy, span_of_key, to_text,
};
use super::progress::{Children, NodePointer, PhaseNode, SprintProgress, SprintSettings, Stats};
use super::workflow::{
    DEPTH_MAX, LoadedWorkflow, Referrer, Workflow, WorkflowLibrary, WorkflowSource,
    describe_missing_workflow, describe_nesting_too_deep, report_syntax_problems,
    workflow_of_phase,
};
use super::worktree::{self, WorktreePlaceholders, leading_date};
use super::{SourceText, dependencies};
use crate::problem::Problem;
use crate::yaml::{self, Value, ValueNode};

/// How to compile.
#[derive(Clone, Copy, Debug)]
pub struct CompileOptions<'a> {
    /// Makes variables that nothing fills in an error.
    pub strict: bool,
    /// Today, as `YYYY-MM-DD`: put before the name of a folder that does not
    /// begin with a date, when the sprint has no id of its own.
    pub date: &'a str,
}

/// What came of compiling.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The compiled sprint; `None` when there is an error among the problems.
    pub progress: Option<SprintProgress>,
    /// What is wrong, errors and warnings.
    pub problems: Vec<Problem>,
}

/// Compiles a sprint.
///
/// `dir_name` is the name of the folder of the sprint: the id of a sprint that
/// has none. Each stage of checks tells everything that it finds; a later
/// stage, which builds on an earlier one, is left out when that found errors.
pub fn compile(
    sprint: SourceText<'_>,
    dir_name: &str,
    workflows: &dyn WorkflowSource,
    options: CompileOptions<'_>,
) -> Compilation {
    let mut compiler = Compiler {
        sprint,
        dir_name,
        options,
        library: WorkflowLibrary::new(workflows),
        problems: Vec::new(),
    };
    let progress = compiler.run();
    let failed = compiler.problems.iter().any(Problem::is_error);
    Compilation {
        progress: progress.filter(|_| !failed),
        problems: compiler.problems,
    }
}

struct Compiler<'c> {
    sprint: SourceText<'c>,
    dir_name: &'c str,
    options: CompileOptions<'c>,
    library: WorkflowLibrary<'c>,
    problems: Vec<Problem>,
}

impl<'c> Compiler<'c> {
    /// The stages; `None` as soon as one finds an error.
    fn run(&mut self) -> Option<SprintProgress> {
        let root = self.load_sprint()?;
        let (name, main) = self.load_main_workflow(&root)?;
        self.run_stage(|compiler| {
            let report = &mut compiler.report_for_file(&main.file);
            check::check_workflow(main.root.as_ref(), WorkflowLevel::Main, report);
        })?;
        let workflow = main.root.as_ref()?;
        // That there are none has been told when the sprint was checked.
        root.get("collections")?;
        self.run_stage(|compiler| {
            check::check_collections_exist(
                &root,
                workflow,
                &mut compiler.report_for_file(compiler.sprint.name),
            );
        })?;
        let mut referenced = ReferencedWorkflows::default();
        self.run_stage(|compiler| {
            compiler.collect_referenced(&main, &mut vec![name.clone()], &mut referenced)
        })?;
        self.run_stage(|compiler| compiler.check_referenced(&referenced))?;
        self.check_versions(&main, &referenced);

        let sprint_id = self.sprint_id(&root);
        let phases = self.expand_phases(&root, &name, &main, &sprint_id, &referenced)?;
        Some(self.build_progress(&root, workflow, &name, sprint_id, phases))
    }

    fn report_for_file<'s>(&'s mut self, file: &'s str) -> ProblemReport<'s> {
        ProblemReport {
            file,
            problems: &mut self.problems,
        }
    }

    /// Runs a stage; `None` when it found an error.
    fn run_stage(&mut self, run: impl FnOnce(&mut Self)) -> Option<()> {
        let before = self.problems.len();
        run(self);
        let found = self.problems[before..].iter().any(Problem::is_error);
        (!found).then_some(())
    }

    fn load_sprint(&mut self) -> Option<ValueNode> {
        let parsed = yaml::parse(self.sprint.text);
        if !parsed.faults.is_empty() {
            let file = self.sprint.name;
            report_syntax_problems("SPRINT_LOAD_ERROR", file, parsed.faults, &mut self.problems);
            return None;
        }
        let root = parsed.root.unwrap_or_else(|| ValueNode {
            span: yaml::Span::TOP,
            ..ValueNode::plain("null")
        });
        let sound = self.run_stage(|compiler| {
            check::check_sprint(&root, &mut compiler.report_for_file(compiler.sprint.name))
        });
        // The original asks for collections only once the main workflow is
        // sound. Told now, it saves a round; it does not end the stage, so
        // that what the original tells is told as well.
        if is_object(&root) && root.get("collections").is_none() {
            check::report_missing_collections(&root, &mut self.report_for_file(self.sprint.name));
        }
        sound.map(|()| root)
    }

    fn load_main_workflow(&mut self, root: &ValueNode) -> Option<(String, Rc<Workflow>)> {
        let name = root.get("workflow").and_then(ValueNode::as_str)?.to_owned();
        let referrer = Referrer {
            file: self.sprint.name,
            path: ValuePath::ROOT.key("workflow"),
            span: span_of_key(root, "workflow"),
        };
        match self.library.get(&name, &referrer, &mut self.problems) {
            LoadedWorkflow::Workflow(workflow) => Some((name, workflow)),
            LoadedWorkflow::Broken => None,
            LoadedWorkflow::Missing(looked_for) => {
                let words = describe_missing_workflow(&name, &looked_for);
                self.error_at_referrer("MAIN_WORKFLOW_NOT_FOUND", &referrer, words);
                None
            }
        }
    }

    /// Finds all workflows that phases refer to, directly and not.
    fn collect_referenced(
        &mut self,
        workflow: &Workflow,
        trail: &mut Vec<String>,
        referenced: &mut ReferencedWorkflows,
    ) {
        let depth = trail.len() - 1;
        let phases_path = ValuePath::ROOT.key("phases");
        for (index, phase) in workflow.phases().iter().enumerate() {
            let Some(name) = workflow_of_phase(phase) else {
                continue;
            };
            let phase_path = phases_path.index(index);
            let referrer = Referrer {
                file: &workflow.file,
                path: phase_path.key("workflow"),
                span: span_of_key(phase, "workflow"),
            };
            if trail.contains(&name) {
                self.report_cycle(trail, &name, &referrer);
            } else if depth >= DEPTH_MAX {
                self.error_at_referrer(
                    "MAX_DEPTH_EXCEEDED",
                    &referrer,
                    describe_nesting_too_deep(&name),
                );
            } else if referenced.should_follow(&name, depth) {
                match self.library.get(&name, &referrer, &mut self.problems) {
                    LoadedWorkflow::Broken => {}
                    LoadedWorkflow::Missing(looked_for) => {
                        let words = describe_missing_workflow(&name, &looked_for);
                        self.error_at_referrer("WORKFLOW_NOT_FOUND", &referrer, words);
                    }
                    LoadedWorkflow::Workflow(found) => {
                        referenced.add(&name, &found);
                        trail.push(name);
                        self.collect_referenced(&found, trail, referenced);
                        trail.pop();
                    }
                }
            }
        }
    }

    fn report_cycle(&mut self, trail: &[String], name: &str, referrer: &Referrer<'_>) {
        let mut names = trail.to_vec();
        names.push(name.to_owned());
        let message = format!("workflows that contain each other: {}", names.join(" → "));
        let hint = "let this phase use another workflow, or write its work as a prompt";
        self.error_at_referrer("CYCLE_DETECTED", referrer, (message, hint));
    }

    /// An error at what refers to a workflow.
    fn error_at_referrer(
        &mut self,
        code: &'static str,
        referrer: &Referrer<'_>,
        words: ProblemWords<'_>,
    ) {
        let mut report = self.report_for_file(referrer.file);
        report.error(code, referrer.path, referrer.span, words);
    }

    fn check_referenced(&mut self, referenced: &ReferencedWorkflows) {
        for (_, workflow) in &referenced.workflows {
            let report = &mut self.report_for_file(&workflow.file);
            check::check_workflow(workflow.root.as_ref(), WorkflowLevel::Inner, report);
        }
    }

    fn check_versions(&mut self, main: &Workflow, referenced: &ReferencedWorkflows) {
        let others = referenced.workflows.iter().map(|(_, workflow)| &**workflow);
        for workflow in std::iter::once(main).chain(others) {
            if let Some(root) = &workflow.root {
                check::check_schema_version(root, &mut self.report_for_file(&workflow.file));
            }
        }
    }

    fn sprint_id(&self, root: &ValueNode) -> String {
        let own = root.get("sprint-id").filter(|node| is_truthy(node));
        if let Some(id) = own.and_then(ValueNode::text) {
            return id.to_owned();
        }
        let dated = leading_date(self.dir_name)
            .is_some_and(|date| self.dir_name[date.len()..].starts_with('_'));
        if dated {
            self.dir_name.to_owned()
        } else {
            format!("{}_{}", self.options.date, self.dir_name)
        }
    }

    fn expand_phases(
        &mut self,
        root: &ValueNode,
        name: &str,
        main: &Rc<Workflow>,
        sprint_id: &str,
        referenced: &ReferencedWorkflows,
    ) -> Option<Vec<PhaseNode>> {
        let sprint_name = root.get("name").filter(|node| is_truthy(node)).map(to_text);
        let mut expander = Expander::new(
            self.sprint,
            root,
            main,
            self.options.strict,
            &mut self.library,
            &mut self.problems,
        );
        expander.sprint_id = sprint_id;
        expander.sprint_name = sprint_name.as_deref();
        expander.checked = referenced.names();
        expander.expand(name, main)
    }

    fn build_progress(
        &mut self,
        root: &ValueNode,
        workflow: &ValueNode,
        name: &str,
        sprint_id: String,
        phases: Vec<PhaseNode>,
    ) -> SprintProgress {
        let names = WorktreePlaceholders {
            sprint_id: &sprint_id,
            workflow: name,
            today: self.options.date,
        };
        let worktree = worktree::resolve_worktree(root, workflow, &names);
        let orchestration = orchestration_of_workflow(workflow);
        let proposes = orchestration
            .as_ref()
            .is_some_and(|node| node.get("enabled").and_then(ValueNode::as_bool) == Some(true));
        let hooks = self.apply_hook_switches(root, workflow);
        let given = |key: &str| root.get(key).filter(|node| !node.is_null()).cloned();
        let mut progress = SprintProgress {
            sprint_id,
            current: pointer_to_first_node(&phases),
            parallel_tasks: Some(ValueNode::seq(Vec::new())),
            step_queue: proposes.then(|| ValueNode::seq(Vec::new())),
            hook_tasks: hooks.is_some().then(|| ValueNode::seq(Vec::new())),
            settings: SprintSettings {
                dependency_graph: dependency_graph(&phases),
                orchestration,
                prompts: root.get("prompts").filter(|node| is_truthy(node)).cloned(),
                worktree,
                per_iteration_hooks: hooks,
                retry: given("retry"),
                config: given("config"),
                parallel_execution: given("parallel-execution"),
            },
            phases,
            ..SprintProgress::default()
        };
        progress.stats = Stats {
            ..progress.derived_stats()
        };
        progress
    }

    /// The hooks of the workflow, switched on and off as the sprint says.
    fn apply_hook_switches(&mut self, root: &ValueNode, workflow: &ValueNode) -> Option<ValueNode> {
        let mut hooks = workflow
            .get("per-iteration-hooks")
            .filter(|hooks| hooks.as_seq().is_some_and(|list| !list.is_empty()))?
            .clone();
        let switches = root.get("per-iteration-hooks").and_then(ValueNode::as_map);
        let mut used = HashSet::new();
        if let Value::Seq(list) = &mut hooks.value {
            for hook in list {
                let id = hook.get("id").and_then(ValueNode::text).unwrap_or_default();
                let switch = switches
                    .and_then(|map| map.get(id))
                    .and_then(|node| node.get("enabled"))
                    .cloned();
                used.insert(id.to_owned());
                if let Some(enabled) = switch {
                    set_key(hook, "enabled", enabled);
                }
            }
        }
        let file = self.sprint.name;
        for (key, _) in switches.into_iter().flat_map(yaml::Map::iter) {
            if !used.contains(&key.text) {
                let path = ValuePath::ROOT.key("per-iteration-hooks");
                let message = format!("the workflow has no hook `{}`", key.text);
                let words = (
                    message,
                    "name a hook of the workflow, or leave this one out",
                );
                self.report_for_file(file).warning(
                    "UNKNOWN_HOOK",
                    path.key(&key.text),
                    key.span,
                    words,
                );
            }
        }
        Some(hooks)
    }
}

/// Workflows that were found, in the order in which they were found.
#[derive(Default)]
struct ReferencedWorkflows {
    workflows: Vec<(String, Rc<Workflow>)>,
    names: HashSet<String>,
    /// The greatest depth at which each name was followed. Following it again
    /// from deeper down can find the depth exceeded, from higher up nothing.
    followed: HashMap<String, usize>,
}

impl ReferencedWorkflows {
    fn should_follow(&mut self, name: &str, depth: usize) -> bool {
        let known = self.followed.get(name).is_some_and(|have| *have >= depth);
        if !known {
            self.followed.insert(name.to_owned(), depth);
        }
        !known
    }

    fn add(&mut self, name: &str, workflow: &Rc<Workflow>) {
        if self.names.insert(name.to_owned()) {
            self.workflows.push((name.to_owned(), Rc::clone(workflow)));
        }
    }

    fn names(&self) -> HashSet<String> {
        self.names.clone()
    }
}

/// `orchestration` with what it leaves out.
fn orchestration_of_workflow(workflow: &ValueNode) -> Option<ValueNode> {
    let own = workflow
        .get("orchestration")
        .filter(|node| is_truthy(node))?;
    let given = |key| own.get(key).filter(|node| !node.is_null()).cloned();
    let given_or = |key, default| Some((key, given(key).unwrap_or(default)));
    let pairs = [
        given_or("enabled", ValueNode::bool(false)),
        given("prompt").map(|prompt| ("prompt", prompt)),
        given_or("insertStrategy", ValueNode::string("after-current")),
        given_or("autoApprove", ValueNode::bool(false)),
    ];
    Some(ValueNode::map(pairs.into_iter().flatten()))
}

fn set_key(node: &mut ValueNode, key: &str, value: ValueNode) {
    let Value::Map(map) = &mut node.value else {
        return;
    };
    match map.pairs.iter_mut().find(|(have, _)| have.text == key) {
        Some((_, have)) => *have = value,
        None => map.pairs.push((yaml::MapKey::new(key), value)),
    }
}

/// The pointer to the first node that has work in it.
fn pointer_to_first_node(phases: &[PhaseNode]) -> NodePointer {
    let has_steps = phases.first().is_some_and(
        |phase| matches!(&phase.children, Children::Steps(steps) if !steps.is_empty()),
    );
    NodePointer {
        phase: 0,
        step: has_steps.then_some(0),
        sub_phase: has_steps.then_some(0),
    }
}

fn dependency_graph(phases: &[PhaseNode]) -> Option<ValueNode> {
    let graphs: Vec<ValueNode> = phases
        .iter()
        .filter_map(|phase| dependencies::graph_of_phase(&phase.id, phase.children.as_slice()))
        .collect();
    (!graphs.is_empty()).then(|| ValueNode::seq(graphs))
}
