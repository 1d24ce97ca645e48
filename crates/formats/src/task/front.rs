//! The YAML at the head of a task file.

use crate::problem::Problem;
use crate::shape::{self, Field, Keys, Shape, may, must};
use crate::sprint::Source;
use crate::tree::{Map, Node, Span};
use crate::yaml;

/// What stands at the head of a task file. A value of the wrong type is told of
/// and left out here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    /// What is to be done, in at most 100 characters.
    pub task: Option<String>,
    /// The command that tells whether it is done.
    pub test_command: Option<String>,
    /// Whether criteria are looked at in a browser.
    pub browser_validation: Option<bool>,
    /// Where the browser goes: `base_url`, also written `browser_url`.
    pub base_url: Option<String>,
    /// How many agents are started at most.
    pub max_iterations: Option<u64>,
    /// The model to use.
    pub model: Option<String>,
    /// Keys that piton does not know, in their order.
    pub other: Vec<(String, Node)>,
    /// The lines between the two `---`.
    pub span: Span,
}

/// The keys of the front matter.
static SHAPE: Shape = shape::closed(&[
    must("task", Shape::TEXT),
    must("test_command", Shape::TEXT),
    may("browser_validation", Shape::Bool),
    may("base_url", Shape::TEXT),
    may("max_iterations", Shape::Integer { min: Some(1) }),
    may("model", Shape::TEXT),
    Field::tolerated("browser_url", Shape::TEXT),
]);

/// Which keys of the front matter are known, and which nothing reads.
pub(super) fn keys(text: &str) -> Keys {
    let body = opened(text).and_then(|body| Some((body, closed(text, body)?.0)));
    let root = body.and_then(|(body, end)| Some((body, yaml::parse(&text[body..end]).root?)));
    let Some((body, root)) = root else {
        return Keys::default();
    };
    let mut keys = shape::keys(&root, &SHAPE);
    for key in &mut keys.unknown {
        key.span = moved(key.span, body);
    }
    keys
}

/// Reads the front matter, and tells at which byte the Markdown begins.
pub(super) fn read(source: Source<'_>) -> (Option<Front>, usize, Vec<Problem>) {
    let text = source.text;
    let Some(body) = opened(text) else {
        return (None, 0, Vec::new());
    };
    let Some((end, head)) = closed(text, body) else {
        return (None, 0, not_closed(source, body));
    };
    let parsed = yaml::parse(&text[body..end]);
    let faults = parsed.faults.into_iter().map(|mut fault| {
        fault.span = moved(fault.span, body);
        fault.problem("FRONT_MATTER_SYNTAX", source.name)
    });
    let mut problems: Vec<Problem> = faults.collect();
    let mut front = Front {
        span: Span {
            start: body,
            end,
            line: 2,
            column: 1,
        },
        ..Front::default()
    };
    match parsed.root.as_ref().map(|root| (root, root.as_map())) {
        Some((_, Some(map))) => Filler {
            source,
            body,
            problems: &mut problems,
        }
        .fill(&mut front, map),
        Some((root, None)) if !root.is_null() => problems.push(
            Problem::error("WRONG_TYPE", source.name, "", moved(root.span, body)).saying(
                format!("the front matter is {}, not a mapping", root.describe()),
                "write `key: value` lines between the two `---`",
            ),
        ),
        Some(_) | None => {}
    }
    (Some(front), head, problems)
}

/// Where the line behind an opening `---` starts.
fn opened(text: &str) -> Option<usize> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = bare.split_inclusive('\n').next()?;
    (line.ends_with('\n') && line.trim_end() == "---")
        .then_some(text.len() - bare.len() + line.len())
}

/// Where the closing line starts, and where the Markdown behind it does.
fn closed(text: &str, body: usize) -> Option<(usize, usize)> {
    let mut at = body;
    for line in text[body..].split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// A lone `---` at the top is a line across the page, unless keys follow.
fn not_closed(source: Source<'_>, body: usize) -> Vec<Problem> {
    let next = source.text[body..].lines().next().unwrap_or_default();
    let is_key = next.split_once(':').is_some_and(|(key, _)| {
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    });
    if !is_key {
        return Vec::new();
    }
    let span = Span {
        start: 0,
        end: body,
        line: 1,
        column: 1,
    };
    vec![
        Problem::warning("FRONT_MATTER_NOT_CLOSED", source.name, "", span).saying(
            "the front matter has no end, so none of it counts",
            "put a line `---` behind its last key",
        ),
    ]
}

fn moved(span: Span, body: usize) -> Span {
    Span {
        start: span.start + body,
        end: span.end + body,
        line: span.line + 1,
        column: span.column,
    }
}

struct Filler<'a, 'p> {
    source: Source<'a>,
    body: usize,
    problems: &'p mut Vec<Problem>,
}

impl Filler<'_, '_> {
    fn fill(&mut self, front: &mut Front, map: &Map) {
        for (key, node) in map.iter() {
            let name = key.text.as_str();
            match name {
                "task" => front.task = self.text(name, node),
                "test_command" => front.test_command = self.text(name, node),
                "model" => front.model = self.text(name, node),
                "base_url" => front.base_url = self.text(name, node),
                // Both are in use; the one of the format's own words wins.
                "browser_url" if map.get("base_url").is_none() => {
                    front.base_url = self.text(name, node);
                }
                "browser_validation" => {
                    let value = node.as_bool();
                    front.browser_validation = self.of_type(name, node, value, "true or false");
                }
                "max_iterations" => {
                    let value = node.as_u64().filter(|value| *value > 0);
                    front.max_iterations = self.of_type(name, node, value, "a number from 1 on");
                }
                _ => front.other.push((key.text.clone(), node.clone())),
            }
        }
    }

    fn text(&mut self, name: &str, node: &Node) -> Option<String> {
        self.of_type(name, node, node.as_str().map(str::to_owned), "text")
    }

    fn of_type<T>(
        &mut self,
        name: &str,
        node: &Node,
        value: Option<T>,
        expected: &str,
    ) -> Option<T> {
        if value.is_none() && !node.is_null() {
            let span = moved(node.span, self.body);
            self.problems.push(
                Problem::error("WRONG_TYPE", self.source.name, name, span).saying(
                    format!("`{name}` is {}, not {expected}", node.describe()),
                    format!("write {expected} behind `{name}:`"),
                ),
            );
        }
        value
    }
}
