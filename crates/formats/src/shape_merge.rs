//! What can be understood of a file that does not fit its shape, and how what
//! is known is written into it.
//!
//! The table of what a format demands strictly also says what to make of a
//! value that is not as it should be: it is left out of what is understood,
//! and stays in the file.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use piton_core::AttemptId;
use piton_core::native::Native;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::json::{self, is_same_json};
use crate::native::{VERSION, native_body, native_of_body};
use crate::native_file::{PROJECT, RenderError};
use crate::problem::{Problem, Severity};
use crate::shape::{FieldShape, FormatVersion, Shape, TextShape, check, is_date_time};
use crate::tree::{Map, MapKey, ScalarKind, Span, Value, ValueNode};

/// Beyond this a JSON reader that knows doubles only would round.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// Reads `text`, or says what is wrong with its syntax.
pub(crate) fn parse_json(text: &str, file: &str) -> Result<ValueNode, Vec<Problem>> {
    let parsed = json::parse(text);
    match parsed.root {
        Some(root) if parsed.faults.is_empty() => Ok(root),
        Some(_) | None => {
            let faults = parsed.faults.into_iter();
            Err(faults
                .map(|fault| fault.into_problem("INVALID_JSON", file))
                .collect())
        }
    }
}

/// What `shape` demands and `root` does not have, as warnings; errors where
/// `is_fatal` says so of a problem.
pub(crate) fn shape_warnings(
    root: &ValueNode,
    shape: &Shape,
    file: &str,
    root_name: &str,
    is_fatal: impl Fn(&Problem) -> bool,
) -> Vec<Problem> {
    let mut problems = check(root, shape, file, root_name);
    for problem in &mut problems {
        if !is_fatal(problem) {
            problem.severity = Severity::Warning;
        }
    }
    // A key that a newer version added is no mistake.
    if has_newer_minor(root) {
        problems.retain(|problem| problem.is_error() || problem.code != "UNKNOWN_KEY");
    }
    problems
}

/// Whether a document is of a version that may have keys which piton does not
/// know.
pub(crate) fn has_newer_minor(root: &ValueNode) -> bool {
    version_of_document(root).is_some_and(|version| version.minor > FormatVersion::CURRENT.minor)
}

/// The version that a document names; a number without quotes counts as well.
pub(crate) fn version_of_document(root: &ValueNode) -> Option<FormatVersion> {
    FormatVersion::parse(root.get("version")?.text()?)
}

/// The error of a document that is too new to be read.
pub(crate) fn too_new_problem(root: &ValueNode, file: &str, root_name: &str) -> Option<Problem> {
    let sentence = version_of_document(root)?.check_readable().err()?;
    let span = root.get("version").map_or(root.span, |node| node.span);
    let path = format!("{root_name}.version");
    Some(
        Problem::error("VERSION_TOO_NEW", file, path, span)
            .with_message(sentence, "update piton; the file is left as it is"),
    )
}

/// Warns of each id in a list that another element has as well.
pub(crate) fn repeated_id_problems(list: &[ValueNode], path: &str, file: &str) -> Vec<Problem> {
    let mut seen = HashSet::new();
    let mut problems = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let Some((id, at)) = node
            .get("id")
            .and_then(|node| Some((node.as_str()?, node.span)))
        else {
            continue;
        };
        if !seen.insert(id) {
            let path = format!("{path}[{index}].id");
            problems.push(
                Problem::warning("DUPLICATE_ID", file, path, at).with_message(
                    "another element before this one has the same id",
                    "give each an id of its own",
                ),
            );
        }
    }
    problems
}

/// What of `node` is as `shape` has it, written in one way.
pub(crate) fn normalize_node(node: &ValueNode, shape: &Shape) -> Option<ValueNode> {
    match shape {
        Shape::Any => Some(node.clone()),
        Shape::Each(_) => node.as_map().map(|_| node.clone()),
        Shape::Text(text) => normalize_text(node.as_str()?, *text),
        Shape::Integer { min } => whole_number(node)
            .filter(|value| min.is_none_or(|min| *value >= i64::from(min)))
            .map(|value| ValueNode::plain(value.to_string())),
        Shape::Number { min } => {
            let value = node.as_f64().filter(|value| value.is_finite())?;
            let fits = min.is_none_or(|min| value >= f64::from(min));
            fits.then(|| node.clone())
        }
        Shape::Bool => node.as_bool().map(ValueNode::bool),
        Shape::Null => node.is_null().then(|| node.clone()),
        Shape::List(items) => {
            let items = node
                .as_seq()?
                .iter()
                .map(|item| normalize_node(item, items));
            Some(ValueNode::seq(items.flatten().collect()))
        }
        Shape::Map(fields, _) => {
            let map = node.as_map()?;
            let pairs = fields.iter().filter_map(|field| {
                let value = normalize_node(map.get(field.key)?, &field.shape)?;
                Some((field.key, value))
            });
            Some(ValueNode::map(pairs))
        }
        Shape::Either(shapes) => shapes.iter().find_map(|shape| normalize_node(node, shape)),
        Shape::Named(named) => normalize_node(node, &named.shape),
    }
}

fn normalize_text(text: &str, wanted: TextShape) -> Option<ValueNode> {
    match wanted {
        // An id of the wrong form still is the name of something.
        TextShape::Any | TextShape::NotEmpty | TextShape::Pattern(_) => {
            Some(ValueNode::string(text))
        }
        TextShape::OneOf(words) => words.contains(&text).then(|| ValueNode::string(text)),
        TextShape::DateTime => parse_instant(text).map(|time| ValueNode::string(time.to_string())),
    }
}

fn whole_number(node: &ValueNode) -> Option<i64> {
    node.as_i64().or_else(|| {
        let value = node.as_f64()?;
        let is_whole = value.fract() == 0.0 && value.abs() <= INTEGER_MAX;
        // `3.0` is a whole number in JSON.
        is_whole.then(|| format!("{value:.0}").parse().ok())?
    })
}

/// The time that a text of RFC 3339 names.
pub(crate) fn parse_instant(text: &str) -> Option<Timestamp> {
    is_date_time(text).then(|| text.to_ascii_uppercase().parse().ok())?
}

/// The time that a text names, taken as UTC when it has no zone.
pub(crate) fn parse_instant_or_utc(text: &str) -> Option<Timestamp> {
    parse_instant(text).or_else(|| {
        let civil: DateTime = text.trim().parse().ok()?;
        let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
        Some(zoned.timestamp())
    })
}

/// What `have`, which stands in a file, becomes so that it says `wanted`.
///
/// What says the same stays as it is written; what `wanted` does not speak of
/// stays. What cannot be understood stays where `native`, the form that the
/// wanted thing was taken from, has the same: it was never understood.
pub(crate) fn merge_node(
    have: &ValueNode,
    native: Option<&ValueNode>,
    wanted: &ValueNode,
    shape: &Shape,
) -> ValueNode {
    match (shape, &have.value, &wanted.value) {
        (Shape::Named(named), _, _) => merge_node(have, native, wanted, &named.shape),
        (Shape::Map(fields, _), Value::Map(map), Value::Map(_)) => {
            merge_fields(map, native, wanted, fields)
        }
        (Shape::Each(items), Value::Map(map), Value::Map(want)) => merge_each(map, want, items),
        (Shape::List(items), Value::Seq(list), Value::Seq(want)) if has_maps(items) => {
            merge_list(list, native, want, items)
        }
        _ if is_unchanged(have, native, wanted, shape) => have.clone(),
        _ => wanted.clone(),
    }
}

fn is_unchanged(
    have: &ValueNode,
    native: Option<&ValueNode>,
    wanted: &ValueNode,
    shape: &Shape,
) -> bool {
    if matches!(shape, Shape::Any) {
        return is_same_json(have, wanted) || to_json(have) == to_json(wanted);
    }
    match normalize_node(have, shape) {
        Some(said) => {
            normalize_node(wanted, shape).is_some_and(|wanted| is_same_json(&said, &wanted))
        }
        None => native.is_some_and(|native| is_same_json(native, have)),
    }
}

fn has_maps(shape: &Shape) -> bool {
    match shape {
        Shape::Map(..) => true,
        Shape::Named(named) => has_maps(&named.shape),
        Shape::Any
        | Shape::Text(_)
        | Shape::Integer { .. }
        | Shape::Number { .. }
        | Shape::Bool
        | Shape::Null
        | Shape::List(_)
        | Shape::Each(_)
        | Shape::Either(_) => false,
    }
}

fn merge_fields(
    have: &Map,
    native: Option<&ValueNode>,
    wanted: &ValueNode,
    fields: &[FieldShape],
) -> ValueNode {
    let mut map = have.clone();
    for field in fields {
        let Some(want) = wanted.get(field.key) else {
            continue;
        };
        let native_value = native.and_then(|native| native.get(field.key));
        let place = map.pairs.iter().position(|(key, _)| key.text == field.key);
        match place {
            Some(at) => {
                let node = &map.pairs[at].1;
                map.pairs[at].1 = merge_node(node, native_value, want, &field.shape);
            }
            // What is demanded and was not there was filled in, not known.
            None if field.required && native.is_some() && native_value.is_none() => {}
            None => insert_key(&mut map, field.key, want.clone(), fields),
        }
    }
    node_without_span(Value::Map(map))
}

fn merge_each(have: &Map, wanted: &Map, shape: &Shape) -> ValueNode {
    let mut map = have.clone();
    let places: HashMap<&str, usize> = have
        .pairs
        .iter()
        .enumerate()
        .map(|(at, (key, _))| (key.text.as_str(), at))
        .collect();
    for (key, want) in wanted.iter() {
        match places.get(key.text.as_str()) {
            Some(at) => map.pairs[*at].1 = merge_node(&map.pairs[*at].1, None, want, shape),
            None => map.pairs.push((MapKey::new(&key.text), want.clone())),
        }
    }
    node_without_span(Value::Map(map))
}

/// Elements are the same by their title, in the order in which they come.
fn merge_list(
    have: &[ValueNode],
    native: Option<&ValueNode>,
    wanted: &[ValueNode],
    shape: &Shape,
) -> ValueNode {
    let title = |node: &ValueNode| {
        node.get("title")
            .and_then(ValueNode::text)
            .unwrap_or_default()
            .to_owned()
    };
    let mut known: HashMap<String, VecDeque<usize>> = HashMap::new();
    let maps = have
        .iter()
        .enumerate()
        .filter(|(_, node)| node.as_map().is_some());
    for (index, node) in maps {
        known.entry(title(node)).or_default().push_back(index);
    }
    // What was taken from the native form has the order of the mappings there.
    let natives = native
        .and_then(ValueNode::as_seq)
        .unwrap_or_default()
        .iter();
    let mut natives = natives.filter(|node| node.as_map().is_some());
    let mut out = Vec::with_capacity(wanted.len());
    for want in wanted {
        let native = natives.next();
        let known = known.get_mut(&title(want)).and_then(VecDeque::pop_front);
        out.push(match known {
            Some(index) => merge_node(&have[index], native, want, shape),
            None => want.clone(),
        });
    }
    // An element that is no observation was never imported, so it stays in the list.
    for (index, node) in have.iter().enumerate() {
        if node.as_map().is_none() {
            out.insert(index.min(out.len()), node.clone());
        }
    }
    ValueNode::seq(out)
}

/// Puts a new key where the table has it.
pub(crate) fn insert_key(map: &mut Map, key: &str, node: ValueNode, fields: &[FieldShape]) {
    let rank = |name: &str| fields.iter().position(|field| field.key == name);
    let own = rank(key);
    let before = map
        .pairs
        .iter()
        .rposition(|(have, _)| own.is_none() || rank(&have.text).is_some_and(|at| Some(at) < own));
    let at = before.map_or(0, |at| at + 1);
    map.pairs.insert(at, (MapKey::new(key), node));
}

/// Gives a key this value, in its place or in a new one.
pub(crate) fn set_key(map: &mut Map, key: &str, node: ValueNode, fields: &[FieldShape]) {
    match map.pairs.iter_mut().find(|(have, _)| have.text == key) {
        Some((_, value)) => *value = node,
        None => insert_key(map, key, node, fields),
    }
}

fn node_without_span(value: Value) -> ValueNode {
    ValueNode {
        value,
        span: Span::default(),
    }
}

/// A document that is a mapping, to be changed.
pub(crate) fn into_map(node: ValueNode) -> Result<Map, RenderError> {
    match node.value {
        Value::Map(map) => Ok(map),
        Value::Scalar(_) | Value::Seq(_) => Err(RenderError("not a JSON object".to_owned())),
    }
}

pub(crate) fn from_map(map: Map) -> ValueNode {
    node_without_span(Value::Map(map))
}

/// The id that an element has.
pub(crate) fn id_of_element(node: &ValueNode) -> Option<String> {
    node.get("id")
        .and_then(ValueNode::as_str)
        .map(str::to_owned)
}

/// When an element of a log says that it happened.
pub(crate) fn timestamp_of_element(node: &ValueNode) -> Option<Timestamp> {
    node.get("timestamp")
        .and_then(ValueNode::as_str)
        .and_then(parse_instant_or_utc)
}

/// A list of elements with ids, to be shown rows.
pub(crate) struct Elements {
    list: Vec<ValueNode>,
    by_id: HashMap<String, Vec<usize>>,
    shape: &'static Shape,
    /// When the thing that an element says happened, where the list is a log.
    time_of: Option<fn(&ValueNode) -> Option<Timestamp>>,
    changed: bool,
}

impl Elements {
    /// The list under `key`, whose elements `name_of` names; none is an empty one.
    pub(crate) fn from_map(
        map: &Map,
        key: &str,
        shape: &'static Shape,
        name_of: fn(&ValueNode) -> Option<String>,
    ) -> Result<Self, RenderError> {
        let list = match map.get(key) {
            None => Vec::new(),
            Some(node) if node.is_null() => Vec::new(),
            Some(node) => node
                .as_seq()
                .ok_or_else(|| RenderError(format!("`{key}` is {}, not a list", node.describe())))?
                .to_vec(),
        };
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, node) in list.iter().enumerate() {
            if let Some(name) = name_of(node) {
                by_id.entry(name).or_default().push(index);
            }
        }
        Ok(Self {
            list,
            by_id,
            shape,
            time_of: None,
            changed: false,
        })
    }

    /// The same list as a log: what is not there yet comes behind the last that
    /// happened before it or at the same time.
    pub(crate) fn ordered_by_time(mut self, time_of: fn(&ValueNode) -> Option<Timestamp>) -> Self {
        self.time_of = Some(time_of);
        self
    }

    /// The first element that is called so.
    pub(crate) fn get(&self, id: &str) -> Option<&ValueNode> {
        self.list.get(*self.by_id.get(id)?.first()?)
    }

    /// All of them.
    pub(crate) fn list(&self) -> &[ValueNode] {
        &self.list
    }

    /// Shows a thing called `id`: in its place; at the end where it has none yet,
    /// or, in a log, where its time is.
    ///
    /// `fresh` is how it is written where it is not there yet.
    pub(crate) fn write_element(
        &mut self,
        id: &str,
        native: Option<&ValueNode>,
        wanted: &ValueNode,
        fresh: ValueNode,
    ) {
        let all = self.by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        let Some(first) = all.first().copied() else {
            if !self.is_under_first_name(id, native, wanted) {
                self.push(id, fresh);
            }
            return;
        };
        // Where several have the name, one that says it already is the one.
        if !self.has_same_element(all, native, wanted) {
            self.list[first] = merge_node(&self.list[first], native, wanted, self.shape);
            self.changed = true;
        }
    }

    fn has_same_element(
        &self,
        all: &[usize],
        native: Option<&ValueNode>,
        wanted: &ValueNode,
    ) -> bool {
        let mut all = all.iter().map(|at| &self.list[*at]);
        all.any(|have| is_same_json(&merge_node(have, native, wanted, self.shape), have))
    }

    fn push(&mut self, id: &str, mut node: ValueNode) {
        // What it was taken from may have none, and would not be known again.
        if let Value::Map(map) = &mut node.value
            && map.get("id").is_none()
        {
            map.pairs
                .insert(0, (MapKey::new("id"), ValueNode::string(id)));
        }
        let index = self.position_for(&node);
        if index < self.list.len() {
            let behind = self.by_id.values_mut().flatten();
            behind.filter(|at| **at >= index).for_each(|at| *at += 1);
        }
        self.by_id.entry(id.to_owned()).or_default().push(index);
        self.list.insert(index, node);
        self.changed = true;
    }

    /// Where an element that is not there yet belongs.
    fn position_for(&self, node: &ValueNode) -> usize {
        let end = self.list.len();
        let Some(time_of) = self.time_of else {
            return end;
        };
        let Some(time) = time_of(node) else {
            return end;
        };
        let is_later = |other: &ValueNode| time_of(other).is_some_and(|other| other > time);
        let before = self.list.iter().rposition(|other| !is_later(other));
        before.map_or(0, |before| before + 1)
    }

    /// Whether the thing stands in the file under a name that another one has
    /// as well, for which it was called `NAME-2` in the journal.
    fn is_under_first_name(
        &self,
        id: &str,
        native: Option<&ValueNode>,
        wanted: &ValueNode,
    ) -> bool {
        let Some((base, suffix)) = id.rsplit_once('-') else {
            return false;
        };
        if suffix.is_empty() || !suffix.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        self.has_same_under_id(base, native, wanted)
    }

    /// Whether an element of this id says what is wanted, but for the id.
    pub(crate) fn has_same_under_id(
        &self,
        id: &str,
        native: Option<&ValueNode>,
        wanted: &ValueNode,
    ) -> bool {
        let all = self.by_id.get(id);
        all.is_some_and(|all| self.has_same_element(all, native, &with_id(wanted, id)))
    }

    /// The list, when it is not as it was.
    pub(crate) fn into_changed(self) -> Option<ValueNode> {
        self.changed.then(|| ValueNode::seq(self.list))
    }
}

fn with_id(node: &ValueNode, id: &str) -> ValueNode {
    let mut node = node.clone();
    if let Value::Map(map) = &mut node.value {
        set_key(map, "id", ValueNode::string(id), &[]);
    }
    node
}

/// The element that a thing was taken from, where it was kept.
pub(crate) fn native_node(native: Option<&Native>, face: &str) -> Option<ValueNode> {
    let native = native.filter(|native| native.version == VERSION);
    let parsed = json::parse(native_body(native, face)?);
    parsed
        .root
        .filter(|root| parsed.faults.is_empty() && root.as_map().is_some())
}

/// What is written of a thing that is not in the file yet: on what it was taken
/// from, where that was kept.
pub(crate) fn merge_on_native(
    native: Option<&ValueNode>,
    wanted: &ValueNode,
    shape: &Shape,
) -> ValueNode {
    match native {
        Some(node) => merge_node(node, Some(node), wanted, shape),
        None => wanted.clone(),
    }
}

/// An element as it is read once it is written, with its text.
pub(crate) fn render_and_parse(node: &ValueNode) -> Option<(String, ValueNode)> {
    let text = json::render(node);
    let root = json::parse(&text).root?;
    Some((text, root))
}

/// The text of an element, to be kept with what was taken from it.
pub(crate) fn native_of_element(text: &str, node: &ValueNode, face: &str) -> Option<Native> {
    let body = text.get(node.span.start..node.span.end)?;
    Some(native_of_body(face, body.to_owned()))
}

/// Sixteen bytes that only these parts have.
pub(crate) fn digest(parts: &[&str]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for part in parts {
        // The length keeps `a` `bc` and `ab` `c` apart.
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut out = [0; 16];
    out.iter_mut()
        .zip(hasher.finalize())
        .for_each(|(out, byte)| *out = byte);
    out
}

/// An id made of a digest, as UUIDs of version 8 are: the same for the same
/// entry, whenever it is read.
pub(crate) fn attempt_id_of_digest(digest: [u8; 16]) -> AttemptId {
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let bits = u128::from_be_bytes(digest) & !(VERSION | VARIANT);
    let bits = bits | (8 << 76) | (0b10 << 62);
    format!("{bits:032x}")
        .parse()
        .expect("32 hexadecimal digits are a UUID")
}

/// What a document says beside these lists, by key, its project under one word
/// whatever it calls that; of its metadata what is not counted anew.
pub(crate) fn document_fields(
    text: &str,
    project: &str,
    lists: &[&str],
) -> BTreeMap<String, String> {
    const COUNTED: [&str; 4] = ["version", "total_entries", "oldest_entry", "last_updated"];
    let root = json::parse(text).root;
    let pairs = root
        .as_ref()
        .and_then(ValueNode::as_map)
        .map(|map| map.iter());
    let pairs = pairs.into_iter().flatten();
    let inner =
        |(key, node): (&MapKey, &ValueNode)| match node.as_map().filter(|_| key.text == "metadata")
        {
            Some(map) => map
                .iter()
                .map(|(key, node)| (key.text.clone(), node.clone()))
                .collect(),
            None => vec![(key.text.clone(), node.clone())],
        };
    pairs
        .flat_map(inner)
        .filter(|(key, node)| {
            let key = key.as_str();
            !node.is_null() && !lists.contains(&key) && !COUNTED.contains(&key)
        })
        .map(|(key, node)| {
            let key = if key == project {
                PROJECT.to_owned()
            } else {
                key
            };
            let value = node
                .as_str()
                .map_or_else(|| json::render(&node), str::to_owned);
            (key, value)
        })
        .collect()
}

/// A tree as a JSON value. A number that no double holds becomes its text.
pub(crate) fn to_json(node: &ValueNode) -> Json {
    match &node.value {
        Value::Seq(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(map) => Json::Object(
            map.iter()
                .map(|(key, value)| (key.text.clone(), to_json(value)))
                .collect(),
        ),
        Value::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Null => Json::Null,
            ScalarKind::Bool(value) => Json::Bool(value),
            ScalarKind::Int(_) | ScalarKind::Float(_) => serde_json::from_str(&scalar.text)
                .unwrap_or_else(|_| Json::String(scalar.text.clone())),
            ScalarKind::Timestamp | ScalarKind::Text => Json::String(scalar.text.clone()),
        },
    }
}

/// A JSON value as a tree.
pub(crate) fn from_json(value: &Json) -> ValueNode {
    match value {
        Json::Null => ValueNode::plain("null"),
        Json::Bool(value) => ValueNode::bool(*value),
        Json::Number(number) => ValueNode::plain(number.to_string()),
        Json::String(text) => ValueNode::string(text),
        Json::Array(items) => ValueNode::seq(items.iter().map(from_json).collect()),
        Json::Object(map) => ValueNode::map(map.iter().map(|(key, value)| (key, from_json(value)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::OtherKeys;

    static SHAPE: Shape = Shape::Map(
        &[
            FieldShape::required("id", Shape::TEXT),
            FieldShape::required("at", Shape::DATE_TIME),
            FieldShape::optional("count", Shape::COUNT),
            FieldShape::optional("word", Shape::one_of(&["a", "b"])),
        ],
        OtherKeys::Closed,
    );

    #[track_caller]
    fn node(text: &str) -> ValueNode {
        parse_json(text, "f").expect("JSON")
    }

    #[track_caller]
    fn check_merge(have: &str, native: Option<&str>, wanted: &str, expect: &str) {
        let native = native.map(node);
        let out = merge_node(&node(have), native.as_ref(), &node(wanted), &SHAPE);
        assert_eq!(json::render(&out), json::render(&node(expect)));
    }

    #[test]
    fn what_says_the_same_stays_as_it_is_written() {
        check_merge(
            r#"{"x": null, "at": "2026-01-15T11:00:00.000+01:00", "count": 3.0, "id": "a"}"#,
            None,
            r#"{"id": "a", "at": "2026-01-15T10:00:00Z", "count": 3, "word": "b"}"#,
            r#"{"x": null, "at": "2026-01-15T11:00:00.000+01:00", "count": 3.0, "id": "a", "word": "b"}"#,
        );
    }

    #[test]
    fn what_was_never_understood_stays_and_what_others_broke_does_not() {
        let foreign = r#"{"id": "a", "at": "yesterday", "word": "c"}"#;
        let wanted = r#"{"id": "a", "at": "2026-01-15T10:00:00Z", "word": "a"}"#;
        check_merge(foreign, Some(foreign), wanted, foreign);
        check_merge(foreign, None, wanted, wanted);
        check_merge(
            r#"{"id": "a"}"#,
            Some(r#"{"id": "a"}"#),
            wanted,
            r#"{"id": "a", "word": "a"}"#,
        );
    }

    #[test]
    fn a_time_needs_a_zone_unless_it_is_only_sorted_by() {
        assert_eq!(parse_instant("2026-01-15 10:00:00"), None);
        assert_eq!(
            parse_instant("2026-01-15t10:00:00z"),
            parse_instant("2026-01-15T10:00:00Z")
        );
        assert_eq!(
            parse_instant_or_utc("2026-01-15 10:00:00"),
            parse_instant("2026-01-15T10:00:00Z")
        );
    }
}
