//! The phases of a workflow as nodes of a [`SprintProgress`](super::SprintProgress).
//!
//! A `for-each` phase gets a step for each item, a phase with a `workflow`
//! gives way to the phases of that workflow, any other becomes a node.
//!
//! Where the original drops something, it is kept: gates, breaks, `parallel`
//! and `for-each` within a workflow that is put in place of a phase. What the
//! phase itself asks for goes to the phases that stand in for it: its
//! `wait-for-parallel` and its `wait` to the first, its `break` and `gate` to the last,
//! its `parallel` to each.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use piton_core::evidence::ClaimOverrides;

use super::SourceText;
use super::check::{self, WorkflowLevel, as_whole_number, collection_of_phase};
use super::checker::NodeChecker;
use super::dependencies;
use super::field::{ProblemReport, ValuePath, is_truthy, non_empty_text, span_of_key, to_text};
use super::progress::{Children, PhaseNode, SprintGate};
use super::shape::MODELS;
use super::template::{ItemScope, Scope, substitute, unresolved_variables};
use super::wait::wait_of_node;
use super::workflow::{
    DEPTH_MAX, LoadedWorkflow, Referrer, Workflow, WorkflowLibrary, describe_missing_workflow,
    describe_nesting_too_deep, workflow_of_phase,
};
use crate::field_reader;
use crate::problem::{Problem, Severity};
use crate::report::MapPosition;
use crate::yaml::{Span, ValueNode};

/// How many nodes, and how much text, a sprint may compile to. A few short
/// files that refer to each other could otherwise fill any memory.
const NODES_MAX: usize = 1_000_000;
const BYTES_MAX: usize = 512 << 20;

pub(super) struct Expander<'e, 'w> {
    sprint: SourceText<'e>,
    root: &'e ValueNode,
    strict: bool,
    pub(super) sprint_id: &'e str,
    pub(super) sprint_name: Option<&'e str>,
    /// Workflows whose form has been checked.
    pub(super) checked: HashSet<String>,
    /// The workflow for items of a collection when their phase names none: the
    /// first that a phase of the main workflow names for that collection.
    defaults: HashMap<String, String>,
    /// The model for what has none of its own.
    model: Option<String>,
    library: &'e mut WorkflowLibrary<'w>,
    problems: &'e mut Vec<Problem>,
    /// Where a variable was left over, so that each place is told once.
    told: HashSet<(String, usize)>,
    nodes: usize,
    bytes: usize,
    full: bool,
}

/// A phase of a workflow, with what is needed to tell a problem of it.
#[derive(Clone, Copy)]
struct WorkflowPhase<'p> {
    workflow: &'p Workflow,
    phase: &'p ValueNode,
    index: usize,
}

/// Where phases stand in a workflow.
const PHASES: ValuePath<'static> = ValuePath::ROOT.key("phases");

/// Where collections stand in a sprint.
const COLLECTIONS: ValuePath<'static> = ValuePath::ROOT.key("collections");

impl WorkflowPhase<'_> {
    fn path(&self) -> ValuePath<'static> {
        PHASES.index(self.index)
    }

    fn text_of_key(&self, key: &str) -> Option<&str> {
        self.phase.get(key).and_then(ValueNode::as_str)
    }

    fn flag_of_key(&self, key: &str) -> Option<bool> {
        self.phase.get(key).and_then(ValueNode::as_bool)
    }

    fn id(&self) -> &str {
        self.phase
            .get("id")
            .and_then(ValueNode::text)
            .unwrap_or_default()
    }

    /// The model that the phase names; none where there is no such model, which
    /// has been told where it matters.
    fn model(&self) -> Option<String> {
        let model = self
            .text_of_key("model")
            .filter(|name| MODELS.contains(name));
        model.map(str::to_owned)
    }
}

/// An item of a collection on its way to a step.
struct CollectionItem<'i> {
    node: &'i ValueNode,
    id: String,
    index: usize,
    kind: &'i str,
    collection: &'i str,
}

impl<'e, 'w> Expander<'e, 'w> {
    pub(super) fn new(
        sprint: SourceText<'e>,
        root: &'e ValueNode,
        main: &Workflow,
        strict: bool,
        library: &'e mut WorkflowLibrary<'w>,
        problems: &'e mut Vec<Problem>,
    ) -> Self {
        let mut defaults = HashMap::new();
        for phase in main.phases() {
            if let (Some(collection), Some(workflow)) =
                (collection_of_phase(phase), workflow_of_phase(phase))
            {
                defaults.entry(collection.to_owned()).or_insert(workflow);
            }
        }
        let model_of = |node: Option<&ValueNode>| {
            node.and_then(|node| node.get("model"))
                .and_then(ValueNode::as_str)
                .map(str::to_owned)
        };
        Self {
            sprint,
            root,
            strict,
            sprint_id: "",
            sprint_name: None,
            checked: HashSet::new(),
            defaults,
            model: model_of(Some(root)).or_else(|| model_of(main.root.as_ref())),
            library,
            problems,
            told: HashSet::new(),
            nodes: 0,
            bytes: 0,
            full: false,
        }
    }

    /// All nodes of the sprint; `None` when there was an error.
    pub(super) fn expand(&mut self, name: &str, main: &Rc<Workflow>) -> Option<Vec<PhaseNode>> {
        let before = self.problems.len();
        let mut out = Vec::new();
        let mut trail = vec![name.to_owned()];
        for (index, phase) in main.phases().iter().enumerate() {
            let place = WorkflowPhase {
                workflow: main,
                phase,
                index,
            };
            if phase.get("for-each").is_some_and(is_truthy) {
                self.expand_for_each(place, place.id(), &mut out);
            } else if let Some(reference) = workflow_of_phase(phase) {
                out.extend(self.inline_workflow(place, place.id(), &reference, &mut trail));
            } else {
                // A phase of the main workflow counts alone.
                let node = self.expand_prompt_phase(place, place.id(), 0);
                out.push(node);
            }
        }
        let found = self.problems[before..].iter().any(Problem::is_error);
        (!found).then_some(out)
    }

    fn report_for_file<'s>(&'s mut self, file: &'s str) -> ProblemReport<'s> {
        ProblemReport {
            file,
            problems: self.problems,
        }
    }

    /// A phase with a prompt.
    fn expand_prompt_phase(
        &mut self,
        place: WorkflowPhase<'_>,
        id: &str,
        index: usize,
    ) -> PhaseNode {
        let scope = Scope {
            item: None,
            phase: Some((id, index)),
            sprint_id: self.sprint_id,
            sprint_name: self.sprint_name,
        };
        let mut node = self.build_node(place, id, &scope);
        node.model = place.model().or_else(|| self.model.clone());
        node
    }

    /// What phases and sub-phases have in common.
    fn build_node(&mut self, place: WorkflowPhase<'_>, id: &str, scope: &Scope<'_>) -> PhaseNode {
        let prompt = match place.text_of_key("prompt") {
            Some(template) if !template.is_empty() => {
                let prompt = substitute(template, scope);
                self.check_variables(&prompt, place, scope);
                prompt
            }
            Some(_) | None => format!("Execute phase: {id}"),
        };
        self.nodes += 1;
        self.bytes += prompt.len();
        PhaseNode {
            id: id.to_owned(),
            prompt: Some(prompt),
            parallel: place.flag_of_key("parallel"),
            wait_for_parallel: place.flag_of_key("wait-for-parallel"),
            break_after: place.flag_of_key("break"),
            gate: place.phase.get("gate").and_then(parse_gate),
            claims: claims_of_phase(place.phase),
            wait: wait_of_node(place.phase),
            ..PhaseNode::default()
        }
    }

    /// A phase that goes through a collection, put behind `out`.
    fn expand_for_each(&mut self, place: WorkflowPhase<'_>, id: &str, out: &mut Vec<PhaseNode>) {
        let kind = non_empty_text(place.phase, "for-each").unwrap_or_default();
        let collection = collection_of_phase(place.phase).unwrap_or(kind);
        self.warn_ignored_model(
            place,
            "each item has its own, or that of its workflow's phase",
        );
        let root = self.root;
        let entries = root
            .get("collections")
            .map(check::entries_of_node)
            .unwrap_or_default();
        let Some((_, span, list)) = entries.iter().find(|(name, ..)| name == collection) else {
            // The main workflow has been checked; this is one inside it.
            let span = span_of_key(root, "collections");
            let file = self.sprint.name;
            let mut report = self.report_for_file(file);
            check::report_unknown_collection(collection, place.phase, span, &entries, &mut report);
            return;
        };
        let items = list.as_seq().unwrap_or_default();
        if items.is_empty() {
            let message = format!(
                "the collection `{collection}` is empty, so that the phase `{id}` has nothing to do"
            );
            let words = (message, "add items, or take the phase out of the workflow");
            let mut report = self.report_for_file(self.sprint.name);
            report.warning(
                "EMPTY_COLLECTION",
                COLLECTIONS.key(collection),
                *span,
                words,
            );
        }
        let default =
            workflow_of_phase(place.phase).or_else(|| self.defaults.get(collection).cloned());
        let ids: Vec<String> = items
            .iter()
            .enumerate()
            .map(|(index, item)| step_id(item, kind, index))
            .collect();
        let position = dependencies::dependency_resolver(items, collection);
        let mut steps = Vec::with_capacity(items.len());
        for (index, node) in items.iter().enumerate() {
            let item = CollectionItem {
                node,
                id: ids[index].clone(),
                index,
                kind,
                collection,
            };
            let mut step = self.expand_item(place, &item, default.as_deref());
            step.depends_on = node
                .get("depends-on")
                .and_then(ValueNode::as_seq)
                .unwrap_or_default()
                .iter()
                .filter_map(|element| position(element).map(|at| ids[at].clone()))
                .collect();
            step.files = node
                .get("files")
                .map(field_reader::texts_of_node)
                .unwrap_or_default();
            steps.push(step);
            if self.is_too_large(place) {
                return;
            }
        }
        propagate_claims(claims_of_phase(place.phase), &mut steps);
        self.nodes += 1;
        out.push(PhaseNode {
            id: id.to_owned(),
            children: Children::Steps(steps),
            parallel: place.flag_of_key("parallel"),
            wait_for_parallel: place.flag_of_key("wait-for-parallel"),
            break_after: place.flag_of_key("break"),
            gate: place.phase.get("gate").and_then(parse_gate),
            wait: wait_of_node(place.phase),
            ..PhaseNode::default()
        });
    }

    /// An item as a step.
    fn expand_item(
        &mut self,
        place: WorkflowPhase<'_>,
        item: &CollectionItem<'_>,
        default: Option<&str>,
    ) -> PhaseNode {
        let own = non_empty_text(item.node, "workflow");
        let workflow = match (own, default) {
            (Some(name), _) => self.workflow_of_item(name, item),
            // Names in phases were all resolved before.
            (None, Some(name)) => self.find_workflow(name, place),
            (None, None) => None,
        };
        let prompt = item
            .node
            .get("prompt")
            .and_then(ValueNode::as_str)
            .unwrap_or_default();
        let model = item
            .node
            .get("model")
            .and_then(ValueNode::as_str)
            .map(str::to_owned);
        self.nodes += 1;
        self.bytes += prompt.len();
        let phases = match &workflow {
            None => vec![self.default_sub_phase(item, model.as_ref())],
            Some(workflow) => (0..workflow.phases().len())
                .map(|index| self.expand_sub_phase(workflow, index, item, model.as_ref()))
                .collect(),
        };
        PhaseNode {
            id: item.id.clone(),
            prompt: Some(prompt.to_owned()),
            children: Children::Phases(phases),
            model,
            wait: wait_of_node(item.node),
            ..PhaseNode::default()
        }
    }

    /// The one sub-phase of a step without a workflow.
    fn default_sub_phase(
        &mut self,
        item: &CollectionItem<'_>,
        model: Option<&String>,
    ) -> PhaseNode {
        const ID: &str = "execute";
        let scope = Scope {
            item: None,
            phase: Some((ID, 0)),
            sprint_id: self.sprint_id,
            sprint_name: self.sprint_name,
        };
        let scope = self.scope_with_item(scope, item);
        // As in the original, whose own workflow for such an item has this prompt:
        // what the item says of itself has had its turn.
        let filled_in = substitute("{{item.prompt}}", &scope);
        self.report_item_variables(&unresolved_variables(&filled_in), &scope);
        self.nodes += 1;
        self.bytes += filled_in.len();
        PhaseNode {
            id: ID.to_owned(),
            prompt: Some(filled_in),
            model: model.or(self.model.as_ref()).cloned(),
            ..PhaseNode::default()
        }
    }

    fn scope_with_item<'s>(&self, scope: Scope<'s>, item: &'s CollectionItem<'_>) -> Scope<'s> {
        Scope {
            item: Some(ItemScope {
                node: item.node,
                id: &item.id,
                index: item.index,
                kind: item.kind,
                collection: item.collection,
            }),
            ..scope
        }
    }

    fn expand_sub_phase(
        &mut self,
        workflow: &Workflow,
        index: usize,
        item: &CollectionItem<'_>,
        model: Option<&String>,
    ) -> PhaseNode {
        let place = WorkflowPhase {
            workflow,
            phase: &workflow.phases()[index],
            index,
        };
        let id = place.id().to_owned();
        if item.index == 0 {
            self.warn_not_expanded(place);
        }
        let scope = Scope {
            item: None,
            phase: Some((&id, index)),
            sprint_id: self.sprint_id,
            sprint_name: self.sprint_name,
        };
        let scope = self.scope_with_item(scope, item);
        let mut node = self.build_node(place, &id, &scope);
        node.model = model
            .cloned()
            .or_else(|| place.model())
            .or_else(|| self.model.clone());
        node
    }

    /// A workflow that an item names. Nothing has looked at it so far.
    fn workflow_of_item(&mut self, name: &str, item: &CollectionItem<'_>) -> Option<Rc<Workflow>> {
        let collection = COLLECTIONS.key(item.collection);
        let path = collection.index(item.index);
        let referrer = Referrer {
            file: self.sprint.name,
            path: path.key("workflow"),
            span: span_of_key(item.node, "workflow"),
        };
        match self.library.get(name, &referrer, self.problems) {
            LoadedWorkflow::Workflow(workflow) => {
                if self.checked.insert(name.to_owned()) {
                    self.check_item_workflow(&workflow);
                }
                Some(workflow)
            }
            LoadedWorkflow::Broken => None,
            LoadedWorkflow::Missing(looked_for) => {
                let words = describe_missing_workflow(name, &looked_for);
                let mut report = ProblemReport {
                    file: referrer.file,
                    problems: self.problems,
                };
                let path = referrer.path;
                report.error("ITEM_WORKFLOW_NOT_FOUND", path, referrer.span, words);
                None
            }
        }
    }

    /// Checks a workflow that the original does not check. What the original
    /// compiles all the same is a warning; what makes it fall over, or would
    /// leave the item without any work, is an error.
    fn check_item_workflow(&mut self, workflow: &Workflow) {
        let before = self.problems.len();
        let report = &mut self.report_for_file(&workflow.file);
        check::check_workflow(workflow.root.as_ref(), WorkflowLevel::Inner, report);
        for problem in &mut self.problems[before..] {
            let harmless = matches!(
                &*problem.code,
                "MISSING_WORKFLOW_NAME"
                    | "DUPLICATE_PHASE_ID"
                    | "PHASE_MISSING_ACTION"
                    | "PROMPT_WORKFLOW_MUTUAL_EXCLUSIVE"
                    | "PARALLEL_FOREACH_WARNING"
            ) || problem.code.starts_with("WORKFLOW_WORKTREE_")
                || problem.code == "INVALID_WORKFLOW_WORKTREE";
            if harmless {
                problem.severity = Severity::Warning;
            }
        }
    }

    /// A workflow that a phase names.
    fn find_workflow(&mut self, name: &str, place: WorkflowPhase<'_>) -> Option<Rc<Workflow>> {
        let path = place.path();
        let referrer = Referrer {
            file: &place.workflow.file,
            path: path.key("workflow"),
            span: span_of_key(place.phase, "workflow"),
        };
        match self.library.get(name, &referrer, self.problems) {
            LoadedWorkflow::Workflow(workflow) => Some(workflow),
            LoadedWorkflow::Missing(_) | LoadedWorkflow::Broken => None,
        }
    }

    /// The phases that stand in for one with a `workflow`.
    fn inline_workflow(
        &mut self,
        place: WorkflowPhase<'_>,
        prefix: &str,
        name: &str,
        trail: &mut Vec<String>,
    ) -> Vec<PhaseNode> {
        if self.is_invalid_nesting(place, name, trail) || self.is_too_large(place) {
            return Vec::new();
        }
        let Some(workflow) = self.find_workflow(name, place) else {
            return Vec::new();
        };
        self.warn_ignored_model(place, "the phases that stand in for it have theirs");
        trail.push(name.to_owned());
        let mut out = Vec::new();
        for (index, phase) in workflow.phases().iter().enumerate() {
            let inner = WorkflowPhase {
                workflow: &workflow,
                phase,
                index,
            };
            let id = format!("{prefix}-{}", inner.id());
            if phase.get("for-each").is_some_and(is_truthy) {
                self.expand_for_each(inner, &id, &mut out);
            } else if let Some(reference) = workflow_of_phase(phase) {
                let nested = self.inline_workflow(inner, &id, &reference, trail);
                out.extend(nested);
            } else {
                let node = self.expand_prompt_phase(inner, &id, out.len());
                out.push(node);
            }
        }
        trail.pop();
        propagate_settings(place, &mut out);
        self.propagate_wait(place, &mut out);
        out
    }

    /// Lets the phases that stand in for one wait for what that waits for: the first,
    /// and those that begin beside it.
    fn propagate_wait(&mut self, place: WorkflowPhase<'_>, phases: &mut [PhaseNode]) {
        let Some(wait) = wait_of_node(place.phase) else {
            return;
        };
        let beside = phases
            .iter()
            .take_while(|phase| phase.parallel == Some(true));
        let first = beside.count() + 1;
        let mut is_taken = false;
        for phase in phases.iter_mut().take(first) {
            is_taken |= phase.wait.is_some();
            phase.wait = Some(wait.clone());
        }
        if is_taken {
            let message = format!(
                "the phase `{}` waits, and the first phase of its workflow as well",
                place.id()
            );
            let mut report = self.report_for_file(&place.workflow.file);
            let mut at = NodeChecker::new(place.phase, place.path(), &mut report);
            let hint = "leave one `wait` out, or make a phase of its own of it";
            at.error("INVALID_WAIT", "wait", message, hint);
        }
    }

    fn is_invalid_nesting(
        &mut self,
        place: WorkflowPhase<'_>,
        name: &str,
        trail: &[String],
    ) -> bool {
        if trail.iter().any(|have| have == name) {
            // Told when the references were resolved; never reached after it.
            return true;
        }
        if trail.len() < DEPTH_MAX {
            return false;
        }
        let mut report = self.report_for_file(&place.workflow.file);
        let (message, hint) = describe_nesting_too_deep(name);
        let mut at = NodeChecker::new(place.phase, place.path(), &mut report);
        at.error("MAX_DEPTH_EXCEEDED", "workflow", message, hint);
        true
    }

    /// Whether the sprint has outgrown what one document can hold.
    fn is_too_large(&mut self, place: WorkflowPhase<'_>) -> bool {
        if self.nodes <= NODES_MAX && self.bytes <= BYTES_MAX {
            return false;
        }
        if !self.full {
            self.full = true;
            let span = super::field::first_key_span(place.phase);
            let message = format!(
                "the sprint compiles to more than {NODES_MAX} phases or {BYTES_MAX} bytes of prompts"
            );
            let words = (message, "split it into several sprints");
            let mut report = self.report_for_file(&place.workflow.file);
            report.error("TOO_LARGE", place.path(), span, words);
        }
        true
    }

    fn warn_ignored_model(&mut self, place: WorkflowPhase<'_>, instead: &str) {
        if place.model().is_none() {
            return;
        }
        let mut report = self.report_for_file(&place.workflow.file);
        NodeChecker::new(place.phase, place.path(), &mut report).warning(
            "MODEL_IGNORED",
            "model",
            format!("the model of the phase `{}` has no effect: {instead}", place.id()),
            "set the model at the items, at the phases of the workflow that is used, or for the sprint",
        );
    }

    /// Warns of a phase whose `workflow` or `for-each` nothing follows,
    /// because it is itself part of a step.
    fn warn_not_expanded(&mut self, place: WorkflowPhase<'_>) {
        if non_empty_text(place.phase, "prompt").is_some() {
            return;
        }
        let Some(key) = ["for-each", "workflow"]
            .into_iter()
            .find(|key| place.phase.get(key).is_some_and(is_truthy))
        else {
            return;
        };
        let message = format!(
            "`{key}` is not followed within the workflow of an item; the agent is only told to \
            execute the phase `{}`",
            place.id()
        );
        let mut report = self.report_for_file(&place.workflow.file);
        let mut at = NodeChecker::new(place.phase, place.path(), &mut report);
        at.warning(
            "NESTED_TOO_DEEP",
            key,
            message,
            "write the work of the phase as a prompt",
        );
    }

    fn check_variables(&mut self, prompt: &str, place: WorkflowPhase<'_>, scope: &Scope<'_>) {
        if !prompt.contains("{{") {
            return;
        }
        let template = place.phase.get("prompt");
        let text = template.map_or("", |node| text_of_span(&place.workflow.text, node.span));
        // What the template does not name came with the item.
        let (own, of_item): (Vec<&str>, Vec<&str>) = unresolved_variables(prompt)
            .into_iter()
            .partition(|variable| scope.item.is_none() || text.contains(variable));
        self.report_item_variables(&of_item, scope);
        let path = place.path();
        let source = SourceText {
            name: &place.workflow.file,
            text: &place.workflow.text,
        };
        self.report_unresolved_variables(&own, source, template, path.key("prompt"));
    }

    /// Tells of variables that came with the prompt of an item.
    fn report_item_variables(&mut self, left: &[&str], scope: &Scope<'_>) {
        let Some(item) = &scope.item else { return };
        let collection = COLLECTIONS.key(item.collection);
        let path = collection.index(item.index);
        let written = item.node.get("prompt");
        self.report_unresolved_variables(left, self.sprint, written, path.key("prompt"));
    }

    /// Tells of variables that nothing fills in, once for each place.
    fn report_unresolved_variables(
        &mut self,
        left: &[&str],
        source: SourceText<'_>,
        written: Option<&ValueNode>,
        path: ValuePath<'_>,
    ) {
        let (Some(first), Some(written)) = (left.first(), written) else {
            return;
        };
        let span = locate_word(source.text, written.span, first);
        if !self.told.insert((source.name.to_owned(), span.start)) {
            return;
        }
        let mut problem = Problem::warning("UNRESOLVED_VARIABLES", source.name, path.to_string(), span).with_message(
            format!("nothing fills in {}", left.join(", ")),
            "use item.…, the type of the item, phase.id, phase.index, sprint.id or sprint.name, without blanks inside the braces",
        );
        if self.strict {
            problem.severity = Severity::Error;
        }
        self.problems.push(problem);
    }
}

/// The id of the step for an item.
fn step_id(item: &ValueNode, kind: &str, index: usize) -> String {
    match item.get("id").filter(|id| is_truthy(id)) {
        Some(id) => to_text(id),
        None => format!("{kind}-{index}"),
    }
}

/// A gate with what it leaves out.
fn parse_gate(node: &ValueNode) -> Option<SprintGate> {
    let on_fail = node.get("on-fail")?;
    let retries = on_fail.get("max-retries").and_then(as_whole_number);
    Some(SprintGate {
        script: node.get("script").and_then(ValueNode::as_str)?.to_owned(),
        on_fail_prompt: on_fail
            .get("prompt")
            .and_then(ValueNode::as_str)?
            .to_owned(),
        max_retries: retries
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(3),
        timeout_s: node
            .get("timeout")
            .and_then(ValueNode::as_f64)
            .unwrap_or(60.0),
        extra: Vec::new(),
    })
}

/// What little proof is worth for a phase. What is wrong with it the check of
/// its file tells.
fn claims_of_phase(phase: &ValueNode) -> ClaimOverrides {
    let Some(map) = phase.as_map() else {
        return ClaimOverrides::default();
    };
    let mut report = ProblemReport {
        file: "",
        problems: &mut Vec::new(),
    };
    let path = ValuePath::ROOT;
    report.field_reader().read_claims(MapPosition { map, path })
}

/// Gives what a phase says of proof to all nodes in it that are worked on and
/// say nothing themselves.
fn propagate_claims(claims: ClaimOverrides, nodes: &mut [PhaseNode]) {
    for node in nodes {
        match node.children.as_mut() {
            Some(below) => propagate_claims(claims, below),
            None if node.claims.is_empty() => node.claims = claims,
            None => {}
        }
    }
}

/// Gives what a phase asks for to the phases that stand in for it.
fn propagate_settings(place: WorkflowPhase<'_>, phases: &mut [PhaseNode]) {
    propagate_claims(claims_of_phase(place.phase), phases);
    if let (Some(first), Some(wait)) = (phases.first_mut(), place.flag_of_key("wait-for-parallel"))
    {
        first.wait_for_parallel = Some(wait || first.wait_for_parallel == Some(true));
    }
    if let Some(parallel) = place.flag_of_key("parallel") {
        for phase in phases.iter_mut() {
            phase.parallel.get_or_insert(parallel);
        }
    }
    let Some(last) = phases.last_mut() else {
        return;
    };
    if let Some(stop) = place.flag_of_key("break") {
        last.break_after = Some(stop || last.break_after == Some(true));
    }
    if let Some(outer) = place.phase.get("gate").and_then(parse_gate) {
        last.gate = Some(match last.gate.take() {
            None => outer,
            Some(inner) => combine_gates(&inner, &outer),
        });
    }
}

/// One gate that passes when both would.
fn combine_gates(inner: &SprintGate, outer: &SprintGate) -> SprintGate {
    // Line breaks keep here-documents and comments of the scripts whole.
    let script = format!("(\n{}\n) && (\n{}\n)", inner.script, outer.script);
    SprintGate {
        script,
        on_fail_prompt: format!("{}\n\n{}", inner.on_fail_prompt, outer.on_fail_prompt),
        max_retries: inner.max_retries.max(outer.max_retries),
        timeout_s: inner.timeout_s + outer.timeout_s,
        extra: Vec::new(),
    }
}

fn text_of_span(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

/// The place of `word` within the text of a span, or the span.
fn locate_word(text: &str, span: Span, word: &str) -> Span {
    let within: Cow<'_, str> = Cow::Borrowed(text_of_span(text, span));
    let Some(at) = within.find(word) else {
        return span;
    };
    let before = &within[..at];
    let start = span.start + at;
    let lines = u32::try_from(before.matches('\n').count()).unwrap_or_default();
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let column = text[line_start..start].chars().count() + 1;
    Span {
        start,
        end: start + word.len(),
        line: span.line + lines,
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}
