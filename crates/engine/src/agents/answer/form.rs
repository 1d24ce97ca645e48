//! The form in which prompts ask for a verdict: a JSON object with a `status`.
//!
//! It is found wherever it stands: in a fenced block, over several lines, in a
//! line of its own, at the end of a sentence. The last one that an agent printed
//! is what it meant; one that cannot be read takes the ones before it back.

use std::borrow::Cow;
use std::ops::Range;

use piton_core::attempt::HumanNeeded;
use piton_core::request::{RequestKind, WorkRequest};
use serde_json::{Map, Value};

use super::status::AnswerStatus;

/// What prompts write where a status belongs: an agent that repeats its prompt
/// has not answered yet.
const PLACEHOLDER: &str = "STATUS";

/// Keys of an object that is a verdict without a word of explanation.
const KEYS: &[&str] = &[
    "status",
    "summary",
    "error",
    "message",
    "reason",
    "details",
    "humanNeeded",
    "human-needed",
    "human_needed",
    "pieces",
    "operatorRequests",
    "operator-requests",
    "operator_requests",
    "proposedSteps",
    "proposed-steps",
    "proposed_steps",
    "usage",
    "evidence",
    "notes",
];

/// Keys of which one makes an object with a status one of the form; of a
/// success only the first.
const EXPLANATIONS: &[&str] = &[
    "summary",
    "error",
    "humanNeeded",
    "human-needed",
    "human_needed",
];

/// So much is parsed of objects of any length, in bytes; an output that holds
/// more of them, one within the other, was made to cost time.
const PARSED_BYTES_MAX: usize = 8 << 20;
/// After that an object is parsed up to this length.
const SMALL_BYTES_MAX: usize = 16 << 10;

/// What an agent answered, in the form that prompts ask for.
#[derive(Debug)]
pub(super) struct AgentAnswer {
    pub(super) status: AnswerStatus,
    pub(super) summary: Option<String>,
    pub(super) error: Option<String>,
    pub(super) human: Option<HumanNeeded>,
    /// What it ran to check its work, and what that printed.
    pub(super) checked: Option<String>,
    /// Whatever stands there: what cannot be read spoils no answer.
    pub(super) pieces: serde_json::Value,
    /// What it asks for beside its work.
    pub(super) requests: Vec<WorkRequest>,
    /// What it used: `input_tokens`, `output_tokens`, `cost_usd`.
    pub(super) usage: serde_json::Value,
}

/// A block of the form.
#[derive(Debug)]
pub(super) enum StatusBlock {
    /// It can be read.
    Whole {
        answer: Box<AgentAnswer>,
        /// What was read otherwise than it stands there.
        notes: Vec<String>,
    },
    /// It cannot, so that it is no verdict.
    Broken(BlockFault),
}

/// Why a block is no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockFault {
    /// Its end is missing.
    CutOff,
    /// It is no JSON.
    Malformed,
    /// Its status is none that is known.
    UnknownStatus(String),
}

/// A block, and where in the output its status stands.
#[derive(Debug)]
struct BlockCandidate {
    at: usize,
    /// Where its object begins.
    start: usize,
    block: StatusBlock,
}

/// The last block of the form, and where it stands.
pub(super) fn last_block(output: &str) -> Option<(usize, StatusBlock)> {
    // Most outputs have none; the scan is not needed then.
    if !has_status_key(output) {
        return None;
    }
    let candidates = BlockScan::new(output).run();
    let last = candidates.into_iter().max_by_key(|one| one.at)?;
    Some((last.at, last.block))
}

fn has_status_key(text: &str) -> bool {
    let quoted = b"\"status\"";
    let mut windows = text.as_bytes().windows(quoted.len());
    windows.any(|window| window.eq_ignore_ascii_case(quoted))
}

/// An object whose end was not seen yet.
#[derive(Debug)]
struct OpenObject {
    start: usize,
    /// Where its key `status` stands.
    status: Option<usize>,
    /// How many of its lists are open: a key within is not its own.
    lists: u32,
}

/// One pass over an output.
struct BlockScan<'o> {
    output: &'o str,
    /// Where the last line that says something begins, fences left out.
    last_line: usize,
    /// Where it ends.
    end: usize,
    open: Vec<OpenObject>,
    found: Vec<BlockCandidate>,
    /// How much may still be parsed whatever its length.
    budget: usize,
}

impl<'o> BlockScan<'o> {
    fn new(output: &'o str) -> Self {
        let says_something = |line: &str| !line.trim().is_empty() && !is_fence(line);
        let last = lines_with_offsets(output)
            .filter(|(_, line)| says_something(line))
            .last();
        Self {
            output,
            last_line: last.map_or(0, |(at, _)| at),
            end: last.map_or(0, |(at, line)| at + line.trim_end().len()),
            open: Vec::new(),
            found: Vec::new(),
            budget: PARSED_BYTES_MAX,
        }
    }

    fn run(mut self) -> Vec<BlockCandidate> {
        let mut skip_to = 0;
        for (at, line) in lines_with_offsets(self.output) {
            if at < skip_to {
                continue;
            }
            if !is_fence(line) {
                self.scan_line(at, line);
                continue;
            }
            self.abandon_open_objects();
            // A closed fence around nothing but an object is read as a whole:
            // only there can a text hold a line break.
            let inside = at + line.len();
            if let Some(end) = self.read_fenced_block(inside) {
                skip_to = end;
            }
        }
        self.abandon_open_objects();
        self.found
    }

    /// Reads the block behind an opening fence, if it is an object and nothing
    /// else; where it ends then.
    fn read_fenced_block(&mut self, inside: usize) -> Option<usize> {
        let rest = &self.output[inside..];
        let close = lines_with_offsets(rest).find(|(_, line)| is_fence(line))?.0;
        let text = rest[..close].trim();
        let status = text.starts_with('{') && text.ends_with('}') && has_status_key(text);
        if !status {
            return None;
        }
        let (object, notes) = parse_object(text)?;
        let start = inside + (rest.len() - rest.trim_start().len());
        let place = BlockPosition {
            range: start..start + text.len(),
            is_whole: true,
        };
        self.add_object(start, &place, &object, notes);
        Some(inside + close)
    }

    fn scan_line(&mut self, at: usize, line: &str) {
        let mut text: Option<usize> = None;
        let mut is_escaped = false;
        for (offset, c) in line.char_indices() {
            let here = at + offset;
            if let Some(start) = text {
                match c {
                    _ if is_escaped => is_escaped = false,
                    '\\' => is_escaped = true,
                    '"' => {
                        text = None;
                        self.mark_status_key(start, here, &line[offset + 1..]);
                    }
                    _ => {}
                }
                continue;
            }
            match c {
                '"' => text = Some(here),
                '{' => self.open.push(OpenObject {
                    start: here,
                    status: None,
                    lists: 0,
                }),
                '}' => self.close_object(here),
                '[' => self.change_list_depth(|lists| lists.saturating_add(1)),
                ']' => self.change_list_depth(|lists| lists.saturating_sub(1)),
                _ => {}
            }
        }
    }

    fn change_list_depth(&mut self, change: impl Fn(u32) -> u32) {
        if let Some(open) = self.open.last_mut() {
            open.lists = change(open.lists);
        }
    }

    /// A text has ended; it may be the key `status` of the innermost object.
    fn mark_status_key(&mut self, start: usize, end: usize, rest: &str) {
        let is_status = self.output[start + 1..end].eq_ignore_ascii_case("status");
        if !is_status || !rest.trim_start().starts_with(':') {
            return;
        }
        if let Some(open) = self.open.last_mut().filter(|open| open.lists == 0) {
            open.status.get_or_insert(start);
        }
    }

    fn close_object(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let has_inner = self.found.last().is_some_and(|one| one.start > open.start);
        if open.status.is_none() && !has_inner {
            return;
        }
        let place = BlockPosition {
            range: open.start..end + 1,
            is_whole: false,
        };
        if place.range.len() > self.budget.max(SMALL_BYTES_MAX) {
            return;
        }
        self.budget = self.budget.saturating_sub(place.range.len());
        match (parse_object(&self.output[place.range.clone()]), open.status) {
            (Some((object, notes)), status) => {
                // What stands within an object is a part of it, not a verdict.
                while self.found.last().is_some_and(|one| one.start > open.start) {
                    self.found.pop();
                }
                if let Some(at) = status {
                    self.add_object(at, &place, &object, notes);
                }
            }
            (None, Some(at)) => self.add_broken_block(at, &open, BlockFault::Malformed),
            (None, None) => {}
        }
    }

    /// The objects that are open will not be closed any more.
    fn abandon_open_objects(&mut self) {
        for open in std::mem::take(&mut self.open) {
            if let Some(at) = open.status {
                self.add_broken_block(at, &open, BlockFault::CutOff);
            }
        }
    }

    /// A block that cannot be read; nothing where it is talk of one, or code.
    fn add_broken_block(&mut self, at: usize, open: &OpenObject, fault: BlockFault) {
        let place = BlockPosition {
            range: open.start..self.output.len(),
            is_whole: false,
        };
        if place.is_at_line_start(self.output) || open.start >= self.last_line {
            self.found.push(BlockCandidate {
                at,
                start: open.start,
                block: StatusBlock::Broken(fault),
            });
        }
    }

    /// A whole object; nothing where it is of another form.
    fn add_object(
        &mut self,
        at: usize,
        place: &BlockPosition,
        object: &Map<String, Value>,
        notes: Vec<String>,
    ) {
        let Some(word) = find_field(object, &["status"]).and_then(Value::as_str) else {
            return;
        };
        if word.trim() == PLACEHOLDER || !self.is_verdict(word, place, object) {
            return;
        }
        let block = match AnswerStatus::parse(word) {
            Some(status) => build_block(status, word, object, notes),
            None => StatusBlock::Broken(BlockFault::UnknownStatus(word.to_owned())),
        };
        self.found.push(BlockCandidate {
            at,
            start: place.range.start,
            block,
        });
    }

    /// Whether an object with a status is a verdict, and not any JSON that an
    /// agent shows: a line of a log, an answer of some service.
    fn is_verdict(&self, word: &str, place: &BlockPosition, object: &Map<String, Value>) -> bool {
        let begins_line = place.is_at_line_start(self.output);
        let ends_line = place.is_at_line_end(self.output);
        // In the middle of a sentence it is talk of one.
        if !begins_line && !ends_line {
            return false;
        }
        let explains =
            |keys: &[&str]| find_field(object, keys).is_some_and(|value| !value.is_null());
        let keys = match AnswerStatus::parse(word) {
            Some(AnswerStatus::Completed | AnswerStatus::Partial) => &EXPLANATIONS[..1],
            Some(AnswerStatus::Failed | AnswerStatus::Blocked | AnswerStatus::NeedsHuman)
            | None => EXPLANATIONS,
        };
        if explains(keys) {
            return true;
        }
        let is_bare = object.keys().all(|key| KEYS.contains(&key.as_str()));
        // A failure needs no words to be believed; a success does, unless it
        // stands where a verdict belongs.
        let is_failure = matches!(word, "failed" | "blocked" | "needs-human");
        let behind = self.output.get(place.range.end..self.end).unwrap_or("");
        let is_last = behind.trim_matches(is_markup).is_empty();
        let stands_alone = begins_line && ends_line && is_bare;
        stands_alone && (place.is_whole || is_last || is_failure)
    }
}

/// Where an object stands.
struct BlockPosition {
    range: Range<usize>,
    /// It is all that a fenced block holds.
    is_whole: bool,
}

impl BlockPosition {
    /// Whether nothing stands before it in its line, markup aside.
    fn is_at_line_start(&self, output: &str) -> bool {
        let mut before = output[..self.range.start].chars().rev();
        let stop = before.find(|c| *c == '\n' || !is_markup(*c));
        stop.is_none_or(|c| c == '\n')
    }

    /// Whether nothing stands behind it in its line, markup aside.
    fn is_at_line_end(&self, output: &str) -> bool {
        let mut behind = output[self.range.end..].chars();
        let stop = behind.find(|c| *c == '\n' || !is_markup(*c));
        stop.is_none_or(|c| c == '\n')
    }
}

fn is_markup(c: char) -> bool {
    c.is_whitespace() || matches!(c, '`' | '*' | '_' | '>' | '-' | ';' | ',' | '.')
}

/// Whether a line opens or closes a fenced block, and holds nothing of it.
fn is_fence(line: &str) -> bool {
    let bare = line.trim_start();
    (bare.starts_with("```") || bare.starts_with("~~~")) && !bare.contains('{')
}

/// The lines of a text with their ends, each with where it begins.
fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = at;
        at += line.len();
        (begin, line)
    })
}

/// The object that a text is, and what had to be changed to read it.
fn parse_object(text: &str) -> Option<(Map<String, Value>, Vec<String>)> {
    if let Ok(Value::Object(object)) = serde_json::from_str(text) {
        return Some((object, Vec::new()));
    }
    let (repaired, notes) = repair_json(text);
    match serde_json::from_str(&repaired) {
        Ok(Value::Object(object)) if !notes.is_empty() => Some((object, notes)),
        Ok(_) | Err(_) => None,
    }
}

/// The text without commas before a closing bracket and without line breaks
/// within texts.
fn repair_json(text: &str) -> (String, Vec<String>) {
    let mut out = String::with_capacity(text.len());
    let (mut commas, mut breaks) = (false, false);
    let (mut in_text, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        if in_text {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_text = false,
                '\n' | '\t' => {
                    breaks = true;
                    out.push_str(if c == '\n' { "\\n" } else { "\\t" });
                    continue;
                }
                _ => {}
            }
        } else if c == '"' {
            in_text = true;
        } else if c == ',' && text[at + 1..].trim_start().starts_with(['}', ']']) {
            commas = true;
            continue;
        }
        out.push(c);
    }
    let notes = [
        (commas, "a comma before a closing bracket was passed over"),
        (breaks, "a line break within a text was kept"),
    ];
    let notes = notes.into_iter().filter(|(seen, _)| *seen);
    (out, notes.map(|(_, note)| note.to_owned()).collect())
}

/// The value of the first of these keys that an object has.
fn find_field<'v>(object: &'v Map<String, Value>, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().find_map(|key| {
        let exact = object.get(*key);
        exact.or_else(|| {
            let mut others = object.iter();
            let other = others.find(|(other, _)| other.eq_ignore_ascii_case(key));
            other.map(|(_, value)| value)
        })
    })
}

fn build_block(
    status: AnswerStatus,
    word: &str,
    object: &Map<String, Value>,
    mut notes: Vec<String>,
) -> StatusBlock {
    if word != status.as_str() {
        let note = format!("the status `{word}` was read as `{}`", status.as_str());
        notes.insert(0, note);
    }
    let text = |keys: &[&str]| find_field(object, keys).and_then(text_of_value);
    let value = |key: &str| object.get(key).cloned().unwrap_or_default();
    let answer = AgentAnswer {
        status,
        summary: text(&["summary"]).or_else(|| match status {
            AnswerStatus::Completed | AnswerStatus::Partial => text(&["message"]),
            AnswerStatus::Failed | AnswerStatus::Blocked | AnswerStatus::NeedsHuman => None,
        }),
        error: text(&["error", "reason", "message"]).filter(|_| status != AnswerStatus::Completed),
        human: parse_human_needed(object),
        checked: text(&["evidence"]),
        pieces: value("pieces"),
        requests: parse_requests(object),
        usage: value("usage"),
    };
    StatusBlock::Whole {
        answer: Box::new(answer),
        notes,
    }
}

/// Where an agent says what it asks for beside its work.
const REQUESTS: [(RequestKind, &[&str]); 2] = [
    (
        RequestKind::Discovery,
        &["operatorRequests", "operator-requests", "operator_requests"],
    ),
    (
        RequestKind::Step,
        &["proposedSteps", "proposed-steps", "proposed_steps"],
    ),
];

/// What an agent asks for beside its work. What is of no form is kept as it is
/// written: a person reads it.
fn parse_requests(object: &Map<String, Value>) -> Vec<WorkRequest> {
    let mut found = Vec::new();
    for (kind, keys) in REQUESTS {
        let said = match find_field(object, keys) {
            Some(Value::Array(all)) => all.as_slice(),
            Some(Value::Null) | None => continue,
            Some(one) => std::slice::from_ref(one),
        };
        found.extend(said.iter().map(|value| parse_request(kind, value)));
    }
    found
}

fn parse_request(kind: RequestKind, value: &Value) -> WorkRequest {
    let (title, fields) = match value {
        Value::Object(fields) => {
            let keys: &[&str] = match kind {
                RequestKind::Discovery => &["title"],
                RequestKind::Step => &["title", "prompt"],
            };
            let title = find_field(fields, keys).and_then(|title| match title {
                Value::Number(number) => Some(number.to_string()),
                Value::Bool(word) => Some(word.to_string()),
                Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    text_of_value(title)
                }
            });
            (title, fields.clone())
        }
        Value::String(text) => (Some(text.clone()), Map::new()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            let key = "content".to_owned();
            (None, [(key, value.clone())].into_iter().collect())
        }
    };
    WorkRequest {
        kind,
        id: None,
        title: title.unwrap_or_default().trim().to_owned(),
        fields,
        ruling: None,
    }
}

fn parse_human_needed(object: &Map<String, Value>) -> Option<HumanNeeded> {
    let bare = |reason| HumanNeeded {
        reason,
        details: None,
    };
    match find_field(object, &["humanNeeded", "human-needed", "human_needed"]) {
        Some(Value::Object(human)) => {
            let text = |keys: &[&str]| find_field(human, keys).and_then(text_of_value);
            Some(HumanNeeded {
                reason: text(&["reason", "question"])?,
                details: text(&["details"]),
            })
        }
        Some(value) => text_of_value(value).map(bare),
        None => {
            let reason = find_field(object, &["reason", "question"]);
            reason.and_then(text_of_value).map(bare)
        }
    }
}

/// A value as a text; a list of texts one a line.
fn text_of_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Array(values) => {
            let lines: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            Cow::Owned(lines.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    (!text.trim().is_empty()).then(|| text.into_owned())
}
