//! A request: what an agent asks for beside its work.
//!
//! An agent discovers something that its own item does not cover, or proposes a
//! step. Nothing waits for it: it becomes a decision of the kind
//! [`DecisionKind::Request`](crate::DecisionKind::Request), which people decide,
//! or rules do. See `docs/design/0030-requests.md`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decision::kind::Verb;
use crate::id::{DecisionId, Node};
use crate::plan::planned_item::PlannedItem;
use crate::word::words;

words! {
    /// What an agent asks for.
    RequestKind {
        /// That something be done which it discovered: `operatorRequests`.
        Discovery = "discovery",
        /// That a step be added to the plan: `proposedSteps`.
        Step = "step",
    }
}

words! {
    /// How much a request matters.
    Priority {
        /// It cannot wait.
        Critical = "critical",
        /// Soon.
        High = "high",
        /// At some time.
        Medium = "medium",
        /// Perhaps.
        Low = "low",
    }
}

words! {
    /// When a request that was put off is asked about again.
    Until {
        /// When the phase is over in which it was put off.
        EndOfPhase = "end-of-phase",
        /// When the run is done.
        EndOfSprint = "end-of-sprint",
        /// When the next plan of this kind is begun.
        NextSprint = "next-sprint",
    }
}

/// What an agent asks for, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRequest {
    /// What for.
    pub kind: RequestKind,
    /// Its name, once in a run; none until it is asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it is, as the agent wrote it; empty where it wrote none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Everything that the agent wrote, by key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    /// What the rules of the project say of it; none leaves it to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Box<Ruling>>,
}

/// What rules say of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// What becomes of it.
    pub answer: RequestAnswer,
    /// Which rule says so, in words.
    pub why: String,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestAnswer {
    /// It is done: an item is added to the plan.
    Approve(Box<Injection>),
    /// It is not.
    Reject,
    /// It is asked about again later.
    Defer(Until),
    /// It is kept for people, outside of the plan.
    Backlog,
}

impl RequestAnswer {
    /// What a person types for it.
    #[must_use]
    pub fn verb(&self) -> Verb {
        match self {
            Self::Approve(_) => Verb::Approve,
            Self::Reject => Verb::Reject,
            Self::Defer(_) => Verb::Defer,
            Self::Backlog => Verb::Backlog,
        }
    }

    /// What a verb means that says no more.
    #[must_use]
    pub fn from_verb(verb: Verb) -> Option<Self> {
        match verb {
            Verb::Approve => Some(Self::Approve(Box::default())),
            Verb::Reject => Some(Self::Reject),
            Verb::Defer => Some(Self::Defer(Until::EndOfPhase)),
            Verb::Backlog => Some(Self::Backlog),
            Verb::Answer
            | Verb::Retry
            | Verb::Skip
            | Verb::KeepFile
            | Verb::KeepPiton
            | Verb::Merge
            | Verb::Settled => None,
        }
    }
}

/// Where an item is added to a plan.
///
/// *Current* is the item that the run is at. Names are paths of nodes, or ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InsertPosition {
    /// Behind what is current.
    #[default]
    AfterCurrent,
    /// At the end of the phase, or of the one that is current.
    EndOfPhase(Option<String>),
    /// Behind everything.
    EndOfWorkflow,
    /// Behind this one, among its siblings.
    After(String),
    /// Before this one, among its siblings.
    Before(String),
}

impl InsertPosition {
    /// The type of it, as files and agents write it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::AfterCurrent => "after-current",
            Self::EndOfPhase(_) => "end-of-phase",
            Self::EndOfWorkflow => "end-of-workflow",
            Self::After(_) => "after-step",
            Self::Before(_) => "before-step",
        }
    }

    /// The one of this type, by the item that it names.
    #[must_use]
    pub fn parse(word: &str, of: Option<&str>) -> Option<Self> {
        let of = of.map(str::to_owned);
        match word {
            "after-current" => Some(Self::AfterCurrent),
            "end-of-phase" => Some(Self::EndOfPhase(of)),
            "end-of-workflow" => Some(Self::EndOfWorkflow),
            "after-step" => of.map(Self::After),
            "before-step" => of.map(Self::Before),
            _ => None,
        }
    }

    /// The item that it names.
    #[must_use]
    pub fn reference_item(&self) -> Option<&str> {
        match self {
            Self::EndOfPhase(of) => of.as_deref(),
            Self::After(of) | Self::Before(of) => Some(of),
            Self::AfterCurrent | Self::EndOfWorkflow => None,
        }
    }
}

/// What is added to a plan, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injection {
    /// Where; the place that fits the request when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<InsertPosition>,
    /// What to tell the agent; the words of the request when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The model to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How ids begin; `fix-` and the name of the request when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// What is added in the place of one item with the prompt: each an item and
    /// what lies below it, as in [`ByteEdit::Insert`](crate::Edit::Insert).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Vec<PlannedItem>>,
}

/// A request that was put off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deferral {
    /// Until when.
    pub until: Until,
    /// The phase whose end it is put off to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Node>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Who put it off.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// How steps that agents propose are taken in: a plan's `orchestration`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposals {
    /// Where they go that do not say it themselves; none where each says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insert: Option<InsertPosition>,
    /// Whether they are approved without asking a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_approve: bool,
}

/// One row of the rules for requests: what becomes of those that it fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRule {
    /// Of this priority; any when absent.
    pub priority: Option<Priority>,
    /// Of this type; any when absent.
    pub category: Option<String>,
    /// What becomes of it; a person is asked when absent.
    pub answer: Option<RequestAnswer>,
}

/// The rules for requests: the first row that fits decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRules(pub Vec<RequestRule>);

impl Default for RequestRules {
    /// The table of the original tool. Source: `operator.ts` of m42-sprint.
    fn default() -> Self {
        let rule = |priority, category: Option<&str>, answer| RequestRule {
            priority,
            category: category.map(str::to_owned),
            answer: Some(answer),
        };
        let approve = || RequestAnswer::Approve(Box::default());
        Self(vec![
            rule(Some(Priority::Critical), Some("security"), approve()),
            rule(Some(Priority::High), Some("bug"), approve()),
            rule(Some(Priority::Low), None, RequestAnswer::Backlog),
            rule(None, None, RequestAnswer::Defer(Until::EndOfPhase)),
        ])
    }
}

impl RequestRules {
    /// What the rules say of a request. One without a title, or of no priority
    /// that is known, is for people.
    #[must_use]
    pub fn find_ruling(&self, request: &WorkRequest) -> Option<Ruling> {
        let priority = request.priority()?;
        if request.kind != RequestKind::Discovery || request.title.is_empty() {
            return None;
        }
        let category = request.category();
        let rule = self.0.iter().find(|rule| {
            rule.priority.is_none_or(|of| of == priority)
                && (rule.category.is_none() || rule.category.as_deref() == category)
        })?;
        let of = [
            rule.priority.map(Priority::as_str),
            rule.category.as_deref(),
        ];
        let of: Vec<&str> = of.into_iter().flatten().collect();
        let of = if of.is_empty() {
            "any other".to_owned()
        } else {
            of.join(" ")
        };
        Some(Ruling {
            answer: rule.answer.clone()?,
            why: format!("the rule for {of} requests"),
        })
    }
}

impl WorkRequest {
    fn text_field(&self, key: &str) -> Option<&str> {
        let text = self.fields.get(key).and_then(Value::as_str)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// How much it matters, where the agent says so in a word that is known.
    #[must_use]
    pub fn priority(&self) -> Option<Priority> {
        self.text_field("priority").and_then(Priority::parse)
    }

    /// Its type: `bug`, `security`.
    #[must_use]
    pub fn category(&self) -> Option<&str> {
        self.text_field("type")
    }

    /// What is to be done, at length.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.text_field("description")
    }

    /// What an agent is told that does it; none where the request says nothing.
    #[must_use]
    pub fn prompt_text(&self) -> Option<String> {
        if let Some(prompt) = self.text_field("prompt") {
            return Some(prompt.to_owned());
        }
        let title = self.title.trim();
        let head = match self.category() {
            _ if title.is_empty() => String::new(),
            Some("bug") => format!("Fix the bug: {title}"),
            Some("security") => format!("Fix the security issue: {title}"),
            Some(_) | None => title.to_owned(),
        };
        let parts = [Some(head.as_str()), self.description()];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        let prompt = parts.collect::<Vec<_>>().join("\n\n");
        (!prompt.is_empty()).then_some(prompt)
    }

    /// The model that it asks for.
    #[must_use]
    pub fn requested_model(&self) -> Option<&str> {
        let is_word =
            |model: &&str| !model.starts_with('-') && !model.contains(char::is_whitespace);
        self.text_field("model").filter(is_word)
    }

    /// Where it wants to be added: `position`, a word or `{type, stepId}`.
    #[must_use]
    pub fn position(&self) -> Option<InsertPosition> {
        match self.fields.get("position")? {
            Value::String(word) => InsertPosition::parse(word, None),
            Value::Object(position) => {
                let text = |key: &str| position.get(key).and_then(Value::as_str);
                let of = text("stepId").or_else(|| text("phaseId"));
                InsertPosition::parse(text("type")?, of)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }

    /// The ids of the steps that a proposed one waits for.
    pub fn depends_on(&self) -> impl Iterator<Item = &str> {
        let all = self.fields.get("depends-on").and_then(Value::as_array);
        all.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The id that a proposed step wants to have, where it is one.
    #[must_use]
    pub fn requested_id(&self) -> Option<&str> {
        let id = self.fields.get("id").and_then(Value::as_str)?;
        is_item_id(id).then_some(id)
    }

    /// The question that a person is asked, in one line.
    #[must_use]
    pub fn question_text(&self) -> String {
        let what = match self.kind {
            RequestKind::Discovery => "an agent asks for work",
            RequestKind::Step => "an agent proposes a step",
        };
        let line = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            truncate_text(&words.join(" "), QUESTION_CHARS_MAX)
        };
        match (self.title.trim(), self.prompt_text()) {
            ("", None) => format!("{what}, without a title and without any words"),
            ("", Some(prompt)) => format!("{what}, without a title: {}", line(&prompt)),
            (title, _) => format!("{what}: {}", line(title)),
        }
    }

    /// What the agent wrote beside the title, one field a line; what is long is
    /// cut, and says so.
    #[must_use]
    pub fn details_text(&self) -> Option<String> {
        let fields = self.fields.iter().filter(|(key, _)| *key != "title");
        let mut lines: Vec<String> = fields
            .map(|(key, value)| {
                let value = match value {
                    Value::String(text) => truncate_text(text, FIELD_CHARS_MAX),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => truncate_text(&value.to_string(), FIELD_CHARS_MAX),
                };
                format!("{}: {value}", truncate_text(key, QUESTION_CHARS_MAX))
            })
            .collect();
        let left = lines.len().saturating_sub(FIELDS_MAX);
        lines.truncate(FIELDS_MAX);
        if left > 0 {
            lines.push(format!("… (and {left} more fields)"));
        }
        let id = self
            .fields
            .get("id")
            .filter(|_| self.requested_id().is_none());
        if let Some(id) = id.filter(|_| self.kind == RequestKind::Step) {
            let id = truncate_text(&id.to_string(), QUESTION_CHARS_MAX);
            lines.push(format!("{id} is no id of a step: it gets another"));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Whether another one asks for the same, whatever its name.
    #[must_use]
    pub fn is_same_request(&self, other: &Self) -> bool {
        let same = self.kind == other.kind && self.title == other.title;
        same && self.fields == other.fields
    }

    /// The name of a request that is asked about by this decision.
    #[must_use]
    pub fn id_of_decision(kind: RequestKind, decision: DecisionId) -> String {
        let prefix = match kind {
            RequestKind::Discovery => "req",
            RequestKind::Step => "step",
        };
        // Of an id that begins with the time, its end is drawn.
        format!("{prefix}-{:08x}", decision.0.as_u128() & 0xffff_ffff)
    }
}

/// So much of a title is shown in a question, in characters.
const QUESTION_CHARS_MAX: usize = 200;
/// So much of a field is shown beside a question, in characters.
const FIELD_CHARS_MAX: usize = 4_000;
/// So many fields are shown beside a question.
const FIELDS_MAX: usize = 50;
/// Longest id of an item that is added, in characters.
const ID_CHARS_MAX: usize = 80;

/// The beginning of a text, which says how much is missing.
fn truncate_text(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return text.to_owned();
    };
    let (shown, rest) = text.split_at(end);
    format!("{shown} … ({} more characters)", rest.chars().count())
}

fn is_id_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Whether an item that is added may be called so.
#[must_use]
pub fn is_item_id(text: &str) -> bool {
    let is_short = text.chars().count() <= ID_CHARS_MAX;
    is_short && !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(is_id_char)
}

/// The name of a request as a part of an id.
pub(crate) fn sanitize_id(name: &str) -> String {
    let chars = name.chars().take(ID_CHARS_MAX / 2);
    chars.map(|c| if is_id_char(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(priority: &str, category: &str) -> WorkRequest {
        let fields = serde_json::json!({"priority": priority, "type": category});
        WorkRequest {
            kind: RequestKind::Discovery,
            id: None,
            title: "the title".to_owned(),
            fields: fields.as_object().cloned().unwrap_or_default(),
            ruling: None,
        }
    }

    #[track_caller]
    fn check(priority: &str, category: &str, verb: Option<Verb>) {
        let ruling = RequestRules::default().find_ruling(&request(priority, category));
        assert_eq!(ruling.map(|ruling| ruling.answer.verb()), verb);
    }

    #[test]
    fn the_default_rules_are_those_of_the_original() {
        check("critical", "security", Some(Verb::Approve));
        check("high", "bug", Some(Verb::Approve));
        check("low", "docs", Some(Verb::Backlog));
        check("low", "security", Some(Verb::Backlog));
        check("critical", "bug", Some(Verb::Defer));
        check("high", "security", Some(Verb::Defer));
        check("medium", "bug", Some(Verb::Defer));
    }

    #[test]
    fn what_no_rule_can_place_is_for_people() {
        check("urgent", "bug", None);
        check("", "bug", None);
        let untitled = WorkRequest {
            title: String::new(),
            ..request("high", "bug")
        };
        assert_eq!(RequestRules::default().find_ruling(&untitled), None);
    }

    #[test]
    fn a_request_without_a_title_says_so_in_its_question() {
        let untitled = WorkRequest {
            title: String::new(),
            ..request("high", "bug")
        };
        let question = untitled.question_text();
        assert_eq!(
            question,
            "an agent asks for work, without a title and without any words"
        );
    }

    #[test]
    fn what_is_shown_of_a_request_is_bounded_and_says_so() {
        let long = "word ".repeat(4_000);
        let fields = serde_json::json!({"description": long, "list": [long]});
        let request = WorkRequest {
            title: format!("first line\nsecond line {long}"),
            fields: fields.as_object().cloned().unwrap_or_default(),
            ..request("high", "bug")
        };
        let question = request.question_text();
        let begin = "an agent asks for work: first line second line word";
        assert!(question.starts_with(begin), "{question}");
        assert!(question.ends_with("more characters)"), "{question}");
        assert!(question.chars().count() < 300, "{question}");
        let details = request.details_text().expect("it has fields");
        assert!(details.contains("more characters)"), "{details}");
        assert!(details.chars().count() < 9_000);
        // What an agent is told that does it is whole.
        let prompt = request.prompt_text().expect("it has words");
        assert!(prompt.contains(long.trim()));
    }
}
