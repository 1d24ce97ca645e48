//! The YAML at the head of a task file.

use crate::problem::Problem;
use crate::shape::{self, FieldShape, KeyComparison, Shape, optional_field, required_field};
use crate::sprint::SourceText;
use crate::tree::{Map, Span, ValueNode};
use crate::yaml;

/// What stands at the head of a task file. A value of the wrong type is told of
/// and left out here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrontMatter {
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
    pub other: Vec<(String, ValueNode)>,
    /// The lines between the two `---`.
    pub span: Span,
}

/// The keys of the front matter.
static SHAPE: Shape = shape::closed_map(&[
    required_field("task", Shape::TEXT),
    required_field("test_command", Shape::TEXT),
    optional_field("browser_validation", Shape::Bool),
    optional_field("base_url", Shape::TEXT),
    optional_field("max_iterations", Shape::Integer { min: Some(1) }),
    optional_field("model", Shape::TEXT),
    FieldShape::tolerated("browser_url", Shape::TEXT),
]);

/// Which keys of the front matter are known, and which nothing reads.
pub(super) fn compare_keys(text: &str) -> KeyComparison {
    let front = find_opening(text).zip(front_text(text));
    let root = front.and_then(|(body, front)| Some((body, yaml::parse(front).root?)));
    let Some((body, root)) = root else {
        return KeyComparison::default();
    };
    let mut keys = shape::compare_keys(&root, &SHAPE);
    for key in &mut keys.unknown {
        key.span = shift_span(key.span, body);
    }
    keys
}

/// What stands between the two `---` at the head of a text, if there are any.
pub(crate) fn front_text(text: &str) -> Option<&str> {
    let body = find_opening(text)?;
    Some(&text[body..find_closing(text, body)?.0])
}

/// Reads the front matter, and tells at which byte the Markdown begins.
pub(super) fn parse_front_matter(
    source: SourceText<'_>,
) -> (Option<FrontMatter>, usize, Vec<Problem>) {
    let text = source.text;
    let Some(body) = find_opening(text) else {
        return (None, 0, Vec::new());
    };
    let Some((end, head)) = find_closing(text, body) else {
        return (None, 0, not_closed_problems(source, body));
    };
    let parsed = yaml::parse(&text[body..end]);
    let faults = parsed.faults.into_iter().map(|mut fault| {
        fault.span = shift_span(fault.span, body);
        fault.into_problem("FRONT_MATTER_SYNTAX", source.name)
    });
    let mut problems: Vec<Problem> = faults.collect();
    let mut front = FrontMatter {
        span: Span {
            start: body,
            end,
            line: 2,
            column: 1,
        },
        ..FrontMatter::default()
    };
    match parsed.root.as_ref().map(|root| (root, root.as_map())) {
        Some((_, Some(map))) => Filler {
            source,
            body,
            problems: &mut problems,
        }
        .fill(&mut front, map),
        Some((root, None)) if !root.is_null() => problems.push(
            Problem::error("WRONG_TYPE", source.name, "", shift_span(root.span, body))
                .with_message(
                    format!("the front matter is {}, not a mapping", root.describe()),
                    "write `key: value` lines between the two `---`",
                ),
        ),
        Some(_) | None => {}
    }
    (Some(front), head, problems)
}

/// Where the line behind an opening `---` starts.
fn find_opening(text: &str) -> Option<usize> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = bare.split_inclusive('\n').next()?;
    (line.ends_with('\n') && line.trim_end() == "---")
        .then_some(text.len() - bare.len() + line.len())
}

/// Where the closing line starts, and where the Markdown behind it does.
fn find_closing(text: &str, body: usize) -> Option<(usize, usize)> {
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
fn not_closed_problems(source: SourceText<'_>, body: usize) -> Vec<Problem> {
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
        Problem::warning("FRONT_MATTER_NOT_CLOSED", source.name, "", span).with_message(
            "the front matter has no end, so none of it counts",
            "put a line `---` behind its last key",
        ),
    ]
}

fn shift_span(span: Span, body: usize) -> Span {
    Span {
        start: span.start + body,
        end: span.end + body,
        line: span.line + 1,
        column: span.column,
    }
}

struct Filler<'a, 'p> {
    source: SourceText<'a>,
    body: usize,
    problems: &'p mut Vec<Problem>,
}

impl Filler<'_, '_> {
    fn fill(&mut self, front: &mut FrontMatter, map: &Map) {
        for (key, node) in map.iter() {
            let name = key.text.as_str();
            match name {
                "task" => front.task = self.read_text(name, node),
                "test_command" => front.test_command = self.read_text(name, node),
                "model" => front.model = self.read_text(name, node),
                "base_url" => front.base_url = self.read_text(name, node),
                // Both are in use; the one of the format's own words wins.
                "browser_url" if map.get("base_url").is_none() => {
                    front.base_url = self.read_text(name, node);
                }
                "browser_validation" => {
                    let value = node.as_bool();
                    front.browser_validation = self.expect_type(name, node, value, "true or false");
                }
                "max_iterations" => {
                    let value = node.as_u64().filter(|value| *value > 0);
                    front.max_iterations =
                        self.expect_type(name, node, value, "a number from 1 on");
                }
                _ => front.other.push((key.text.clone(), node.clone())),
            }
        }
    }

    fn read_text(&mut self, name: &str, node: &ValueNode) -> Option<String> {
        self.expect_type(name, node, node.as_str().map(str::to_owned), "text")
    }

    fn expect_type<T>(
        &mut self,
        name: &str,
        node: &ValueNode,
        value: Option<T>,
        expected: &str,
    ) -> Option<T> {
        if value.is_none() && !node.is_null() {
            let span = shift_span(node.span, self.body);
            self.problems.push(
                Problem::error("WRONG_TYPE", self.source.name, name, span).with_message(
                    format!("`{name}` is {}, not {expected}", node.describe()),
                    format!("write {expected} behind `{name}:`"),
                ),
            );
        }
        value
    }
}
