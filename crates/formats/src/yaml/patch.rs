//! A text changed in as few places as possible so that it says something else.
//!
//! What did not change keeps its bytes, and so does everything that is no
//! value: comments, blank lines, line ends, the mark at the beginning, the
//! newline that is or is not at the end. The spans of the parser are exact for
//! scalars without a block and for what stands in brackets; where a block ends
//! is found out here, because comments and blank lines behind it belong to no value.
//!
//! The result is read again and must say what was wanted. What cannot be done
//! this way (an alias to something that changed, a document with faults) is
//! refused, and the caller writes the whole document anew.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use thiserror::Error;

use super::emit::{
    push_flow, push_indent, push_key, push_literal_at, push_part, push_value, render,
};
use super::parse::parse;
use crate::tree::{Map, MapKey, Scalar, Style, Value, ValueNode};

/// Why a text cannot be changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the text cannot be changed in place: {0}")]
pub struct YamlPatchError(&'static str);

type PatchResult = Result<(), YamlPatchError>;

/// Up to this many keys a mapping is searched, beyond it they are hashed.
const KEYS_SEARCHED_MAX: usize = 16;

/// The text, changed so that it says `wanted`; the order of the keys of a
/// mapping does not count.
///
/// # Errors
///
/// [`YamlPatchError`] when the text is not one YAML document without faults, or
/// when the result would not say what is wanted.
pub fn patch(text: &str, wanted: &ValueNode) -> Result<String, YamlPatchError> {
    let parsed = parse(text);
    if !parsed.faults.is_empty() {
        return Err(YamlPatchError("it has faults"));
    }
    let root = parsed.root.ok_or(YamlPatchError("it holds no document"))?;
    if is_same_yaml(&root, wanted) {
        return Ok(text.to_owned());
    }
    let ends_in_newline = text.ends_with('\n');
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // With a newline at the end every line is like every other.
    let padded = if ends_in_newline {
        text.to_owned()
    } else {
        format!("{text}{newline}")
    };
    let mut patcher = YamlPatcher {
        text: &padded,
        newline,
        edits: Vec::new(),
    };
    patcher.patch_value(&root, wanted, &ValueSlot::ROOT)?;
    // A tree is far larger than its text: there is one of them at a time.
    drop(root);
    let edits = std::mem::take(&mut patcher.edits);
    let out = patcher.apply_edits(0..padded.len(), edits)?;
    let says = |text: &str| {
        let parsed = parse(text);
        parsed.faults.is_empty() && parsed.root.is_some_and(|root| is_same_yaml(&root, wanted))
    };
    if !ends_in_newline
        && let Some(bare) = out.strip_suffix(newline)
        && says(bare)
    {
        return Ok(bare.to_owned());
    }
    if says(&out) {
        return Ok(out);
    }
    Err(YamlPatchError("the result would say something else"))
}

/// Whether two nodes say the same, whatever the order of their keys.
fn is_same_yaml(a: &ValueNode, b: &ValueNode) -> bool {
    match (&a.value, &b.value) {
        (Value::Scalar(a), Value::Scalar(b)) => a == b,
        (Value::Seq(a), Value::Seq(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_yaml(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.pairs.len() != b.pairs.len() {
                return false;
            }
            let by_key = KeyIndex::of_map(b);
            a.iter().enumerate().all(|(index, (key, node))| {
                let there = match b.pairs.get(index) {
                    Some((other, node)) if other.text == key.text => Some(node),
                    Some(_) | None => by_key.get(b, &key.text).map(|at| &b.pairs[at].1),
                };
                there.is_some_and(|there| is_same_yaml(node, there))
            })
        }
        _ => false,
    }
}

/// The keys of a mapping, to be asked for.
struct KeyIndex<'m>(Option<HashMap<&'m str, usize>>);

impl<'m> KeyIndex<'m> {
    fn of_map(map: &'m Map) -> Self {
        Self((map.pairs.len() > KEYS_SEARCHED_MAX).then(|| {
            let texts = map.pairs.iter().map(|(key, _)| key.text.as_str());
            texts.zip(0..).collect()
        }))
    }

    fn get(&self, map: &'m Map, key: &str) -> Option<usize> {
        match &self.0 {
            Some(hashed) => hashed.get(key).copied(),
            None => map.pairs.iter().position(|(have, _)| have.text == key),
        }
    }
}

/// What a value hangs on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotHolder {
    Document,
    Key,
    Dash,
}

/// Where a value hangs.
struct ValueSlot {
    holder: SlotHolder,
    /// The byte behind the colon or the dash.
    after: usize,
    /// The column of the key or the dash.
    indent: usize,
}

impl ValueSlot {
    const ROOT: Self = Self {
        holder: SlotHolder::Document,
        after: 0,
        indent: 0,
    };
}

/// A change of the text.
struct YamlEdit {
    range: Range<usize>,
    text: String,
}

struct YamlPatcher<'t> {
    text: &'t str,
    newline: &'static str,
    edits: Vec<YamlEdit>,
}

fn is_absent(node: &ValueNode) -> bool {
    node.span.start == node.span.end
        && matches!(&node.value, Value::Scalar(scalar)
            if scalar.style == Style::Plain && scalar.text.is_empty())
}

/// Where the first key or element of a collection stands.
fn first_start(node: &ValueNode) -> Option<usize> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::Seq(items) => items.first().map(|item| item.span.start),
        Value::Map(map) => map.pairs.first().map(|(key, _)| key.span.start),
    }
}

impl YamlPatcher<'_> {
    // Places.

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line of `at`, before its line break.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline);
        if end > at && self.text.as_bytes()[end - 1] == b'\r' {
            end - 1
        } else {
            end
        }
    }

    /// The start of the line behind that of `at`.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// What stands before `at` in its line.
    fn text_before(&self, at: usize) -> &str {
        let lead = &self.text[self.line_start(at)..at];
        lead.strip_prefix('\u{feff}').unwrap_or(lead)
    }

    fn is_inline(&self, at: usize) -> bool {
        self.text_before(at).bytes().any(|b| b != b' ')
    }

    /// Whether a collection that is not empty stands in brackets.
    fn is_flow(&self, node: &ValueNode) -> bool {
        let opens = matches!(self.text.as_bytes().get(node.span.start), Some(b'[' | b'{'));
        opens && first_start(node).is_none_or(|first| first > node.span.start)
    }

    /// The byte behind the colon of a key.
    fn after_colon(&self, key: &MapKey) -> Result<usize, YamlPatchError> {
        let rest = &self.text[key.span.end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        let at = key.span.end + blanks;
        if self.text.as_bytes().get(at) == Some(&b':') {
            Ok(at + 1)
        } else {
            Err(YamlPatchError("a key without a colon behind it"))
        }
    }

    /// The byte behind the last one of a value that hangs at `after`.
    fn content_end(&self, node: &ValueNode, after: usize) -> Result<usize, YamlPatchError> {
        if is_absent(node) {
            return Ok(after.max(node.span.start.min(self.line_end(after))));
        }
        if node.span.start < after {
            return self.alias_end(after);
        }
        match &node.value {
            Value::Scalar(scalar) if scalar.style == Style::Block => {
                Ok(self.block_end(scalar, node.span.start..node.span.end))
            }
            Value::Scalar(_) => Ok(node.span.end),
            Value::Seq(_) | Value::Map(_) if self.is_flow(node) => Ok(node.span.end),
            Value::Seq(items) => {
                let [.., last] = items.as_slice() else {
                    return Ok(node.span.end);
                };
                let before = items.iter().rev().nth(1);
                if before.is_some_and(|before| before.span.start >= last.span.start) {
                    return Err(YamlPatchError("an alias at the end of a list"));
                }
                self.content_end(last, last.span.start.max(node.span.start))
            }
            Value::Map(map) => match map.pairs.last() {
                Some((key, last)) if key.span.start >= node.span.start => {
                    self.content_end(last, self.after_colon(key)?)
                }
                Some(_) => Err(YamlPatchError("keys that a `<<` brought")),
                None => Ok(node.span.end),
            },
        }
    }

    fn alias_end(&self, after: usize) -> Result<usize, YamlPatchError> {
        let rest = &self.text[after..];
        let name = rest.trim_start_matches([' ', '\t']);
        if !name.starts_with('*') {
            return Err(YamlPatchError("an alias that cannot be found"));
        }
        let len = name.find([' ', '\t', '\r', '\n']).unwrap_or(name.len());
        Ok(self.text.len() - name.len() + len)
    }

    /// The end of the last line of a block scalar. Blank lines behind it are
    /// part of it only when they are part of what it says.
    fn block_end(&self, scalar: &Scalar, span: Range<usize>) -> usize {
        let content = &self.text[span.clone()];
        let last = scalar.text.strip_suffix('\n').unwrap_or(&scalar.text);
        let ends_blank = last.rsplit('\n').next().unwrap_or_default();
        if !content.is_empty() && !last.is_empty() && ends_blank.trim().is_empty() {
            let lines = content.trim_end_matches([' ', '\t']);
            let lines = lines.strip_suffix('\n').unwrap_or(lines);
            return span.start + lines.strip_suffix('\r').unwrap_or(lines).len();
        }
        let end = span.start + content.len();
        self.text[..end]
            .trim_end_matches([' ', '\t', '\r', '\n'])
            .len()
    }

    // Edits.

    /// Replaces bytes by text that was made here.
    fn push_edit(&mut self, range: Range<usize>, text: &str) {
        let text = if self.newline == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', self.newline)
        };
        self.edits.push(YamlEdit { range, text });
    }

    /// Replaces the end of a line, or more, by text without a newline at its
    /// end. A comment that follows moves to the first of several new lines:
    /// behind the last it might become text.
    fn push_line_edit(&mut self, range: Range<usize>, text: &str) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let line_end = self.line_end(range.end);
        let tail = &self.text[range.end..line_end];
        match text.split_once('\n') {
            Some((first, rest)) if !tail.trim().is_empty() => {
                let text = format!("{first}{tail}\n{rest}");
                self.push_edit(range.start..line_end, &text);
            }
            Some(_) | None => self.push_edit(range, text),
        }
    }

    /// The bytes of `range` with edits that lie within it.
    fn apply_edits(
        &self,
        range: Range<usize>,
        mut edits: Vec<YamlEdit>,
    ) -> Result<String, YamlPatchError> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut out = String::with_capacity(range.len() + 64);
        let mut at = range.start;
        for edit in edits {
            if edit.range.start < at || edit.range.end > range.end {
                return Err(YamlPatchError("two changes at one place"));
            }
            out.push_str(&self.text[at..edit.range.start]);
            out.push_str(&edit.text);
            at = edit.range.end;
        }
        out.push_str(&self.text[at..range.end]);
        Ok(out)
    }

    // Values.

    fn patch_value(
        &mut self,
        present: &ValueNode,
        wanted: &ValueNode,
        slot: &ValueSlot,
    ) -> PatchResult {
        if is_same_yaml(present, wanted) {
            return Ok(());
        }
        if is_absent(present) || present.span.start < slot.after {
            return self.replace_value(present, wanted, slot);
        }
        match (&present.value, &wanted.value) {
            (Value::Scalar(old), Value::Scalar(new)) if old.tag.is_none() => {
                self.patch_scalar(present, old, new, slot)
            }
            (Value::Seq(old), Value::Seq(_)) if !old.is_empty() && self.is_flow(present) => {
                self.patch_flow(present, wanted);
                Ok(())
            }
            (Value::Map(old), Value::Map(_)) if !old.pairs.is_empty() && self.is_flow(present) => {
                self.patch_flow(present, wanted);
                Ok(())
            }
            (Value::Map(old), Value::Map(new))
                if !old.pairs.is_empty() && !new.pairs.is_empty() =>
            {
                self.patch_block_map(present, old, new, wanted, slot)
            }
            (Value::Seq(old), Value::Seq(new)) if !old.is_empty() && !new.is_empty() => {
                self.patch_block_seq(present, old, new, wanted, slot)
            }
            _ => self.replace_value(present, wanted, slot),
        }
    }

    /// Writes a value anew, with everything between it and what it hangs on.
    fn replace_value(
        &mut self,
        present: &ValueNode,
        wanted: &ValueNode,
        slot: &ValueSlot,
    ) -> PatchResult {
        let end = self.content_end(present, slot.after)?;
        if slot.holder == SlotHolder::Document {
            self.push_line_edit(present.span.start..end, &render(wanted));
            return Ok(());
        }
        let mut out = String::new();
        push_part(
            &mut out,
            wanted,
            slot.indent,
            slot.holder == SlotHolder::Dash,
        );
        // A comment behind the key of a list or mapping stays behind the key.
        let line_end = self.line_end(slot.after);
        let header = &self.text[slot.after..line_end];
        if line_end < end && header.trim_start().starts_with('#') {
            let (first, rest) = out.split_once('\n').unwrap_or((&out, ""));
            out = format!("{first}{header}\n{rest}");
        }
        self.push_line_edit(slot.after..end, &out);
        Ok(())
    }

    fn patch_scalar(
        &mut self,
        present: &ValueNode,
        old: &Scalar,
        new: &Scalar,
        slot: &ValueSlot,
    ) -> PatchResult {
        if old.style == Style::Block {
            return self.patch_block_scalar(present, old, new, slot);
        }
        let span = present.span.start..present.span.end;
        let quote = self.text.as_bytes().get(span.start).copied();
        let mut out = String::new();
        let block = (slot.holder != SlotHolder::Document).then_some(slot.indent);
        push_value(&mut out, new, quote, block);
        self.push_line_edit(span, &out);
        Ok(())
    }

    /// Text in a block stays in a block, at the same indentation.
    fn patch_block_scalar(
        &mut self,
        present: &ValueNode,
        old: &Scalar,
        new: &Scalar,
        slot: &ValueSlot,
    ) -> PatchResult {
        let span = present.span.start..present.span.end;
        let end = self.block_end(old, span.clone());
        let line_end = self.line_end(slot.after);
        let header = &self.text[slot.after..line_end];
        let blanks = header.len() - header.trim_start().len();
        let indicator = header.trim_start();
        let len = indicator.find([' ', '\t']).unwrap_or(indicator.len());
        let has_block = indicator.starts_with(['|', '>']) && end >= line_end;
        let comment = &indicator[len.min(indicator.len())..];
        let indent = self.text_before(span.start).len();
        let mut out = String::new();
        let fits = has_block
            && slot.holder != SlotHolder::Document
            && self.text_before(span.start).bytes().all(|b| b == b' ')
            && push_literal_at(&mut out, new, comment, slot.indent, indent);
        if fits {
            let out = out.strip_suffix('\n').unwrap_or(&out).to_owned();
            self.push_edit(slot.after + blanks..end, &out);
            return Ok(());
        }
        if !has_block {
            return Err(YamlPatchError("a block whose beginning cannot be found"));
        }
        out.clear();
        let block = (slot.holder != SlotHolder::Document).then_some(slot.indent);
        push_value(&mut out, new, None, block);
        let (first, rest) = out.split_once('\n').unwrap_or((&out, ""));
        let breaks = if rest.is_empty() { "" } else { "\n" };
        let out = format!("{first}{comment}{breaks}{rest}");
        let out = out.strip_suffix('\n').unwrap_or(&out).to_owned();
        self.push_edit(slot.after + blanks..end, &out);
        Ok(())
    }

    /// A collection in brackets: changed within where its shape stays, else
    /// written anew.
    fn patch_flow(&mut self, present: &ValueNode, wanted: &ValueNode) {
        let mark = self.edits.len();
        if self.patch_within_flow(present, wanted).is_none() {
            self.edits.truncate(mark);
            let mut out = String::new();
            push_flow(&mut out, wanted);
            self.push_edit(present.span.start..present.span.end, &out);
        }
    }

    fn patch_within_flow(&mut self, present: &ValueNode, wanted: &ValueNode) -> Option<()> {
        let bounds = present.span.start..present.span.end;
        let mut inner = |old: &ValueNode, new: &ValueNode| {
            if is_same_yaml(old, new) {
                return Some(());
            }
            let inside = old.span.start > bounds.start && old.span.end < bounds.end;
            if !inside || is_absent(old) {
                return None;
            }
            match (&old.value, &new.value) {
                (Value::Scalar(a), Value::Scalar(b)) if a.tag.is_none() && b.tag.is_none() => {
                    let mut out = String::new();
                    push_flow(&mut out, new);
                    self.push_edit(old.span.start..old.span.end, &out);
                    Some(())
                }
                (Value::Seq(_), Value::Seq(_)) | (Value::Map(_), Value::Map(_))
                    if self.is_flow(old) =>
                {
                    self.patch_flow(old, new);
                    Some(())
                }
                _ => None,
            }
        };
        match (&present.value, &wanted.value) {
            (Value::Seq(old), Value::Seq(new)) if old.len() == new.len() => old
                .iter()
                .zip(new)
                .try_for_each(|(old, new)| inner(old, new)),
            (Value::Map(old), Value::Map(new)) if old.pairs.len() == new.pairs.len() => {
                let keys = KeyIndex::of_map(new);
                old.iter().try_for_each(|(key, node)| {
                    let at = keys.get(new, &key.text)?;
                    inner(node, &new.pairs[at].1)
                })
            }
            _ => None,
        }
    }

    // Mappings.

    fn patch_block_map(
        &mut self,
        present: &ValueNode,
        old: &Map,
        new: &Map,
        wanted: &ValueNode,
        slot: &ValueSlot,
    ) -> PatchResult {
        let in_order = old
            .pairs
            .windows(2)
            .all(|two| two[0].0.span.start < two[1].0.span.start);
        let first = old.pairs[0].0.span.start;
        if !in_order || first < slot.after {
            return Err(YamlPatchError("keys that a `<<` brought"));
        }
        let (have, keys) = (KeyIndex::of_map(old), KeyIndex::of_map(new));
        let (mut at_start, mut behind) = (Vec::new(), vec![Vec::new(); old.pairs.len()]);
        let mut last = None;
        for (index, (key, _)) in new.pairs.iter().enumerate() {
            match (have.get(old, &key.text), last) {
                (Some(at), _) => last = Some(at),
                (None, Some(at)) => {
                    let list: &mut Vec<usize> = &mut behind[at];
                    list.push(index);
                }
                (None, None) => at_start.push(index),
            }
        }
        if last.is_none() {
            return self.replace_value(present, wanted, slot);
        }
        let indent = self.text_before(first).len();
        let inline = self.is_inline(first);
        if !at_start.is_empty() {
            self.insert_first_pairs(new, &at_start, first, indent);
        }
        for (index, (key, node)) in old.pairs.iter().enumerate() {
            let slot = ValueSlot {
                holder: SlotHolder::Key,
                after: self.after_colon(key)?,
                indent,
            };
            match keys.get(new, &key.text) {
                Some(at) => self.patch_value(node, &new.pairs[at].1, &slot)?,
                None => {
                    let end = self.content_end(node, slot.after)?;
                    let range = if inline && index == 0 {
                        key.span.start..end
                    } else {
                        self.line_start(key.span.start)..self.next_line(end)
                    };
                    self.push_edit(range, "");
                }
            }
            if !behind[index].is_empty() {
                let at = self.next_line(self.content_end(node, slot.after)?);
                let mut out = String::new();
                for new_at in &behind[index] {
                    push_indent(&mut out, indent);
                    let (key, node) = &new.pairs[*new_at];
                    push_pair(&mut out, key, node, indent);
                }
                self.push_edit(at..at, &out);
            }
        }
        Ok(())
    }

    /// New keys before the first one, which may stand behind a dash.
    fn insert_first_pairs(&mut self, new: &Map, which: &[usize], first: usize, indent: usize) {
        let mut out = String::new();
        for at in which {
            let (key, node) = &new.pairs[*at];
            push_pair(&mut out, key, node, indent);
            push_indent(&mut out, indent);
        }
        self.push_edit(first..first, &out);
    }

    // Lists.

    /// The dash of every element of a block list that hangs at `after`.
    fn find_dashes(&self, items: &[ValueNode], after: usize) -> Result<Vec<usize>, YamlPatchError> {
        let lost = YamlPatchError("a list whose dashes cannot be found");
        let mut dashes: Vec<usize> = Vec::with_capacity(items.len());
        let mut indent = None;
        let mut from = after;
        for item in items {
            let dash = self.find_dash(from, indent).ok_or(lost)?;
            indent.get_or_insert(self.text_before(dash).len());
            dashes.push(dash);
            from = self.next_line(self.content_end(item, dash + 1)?);
        }
        Ok(dashes)
    }

    /// The next dash; what may stand before it are blank lines and comments,
    /// and for the first one what belongs to the key.
    fn find_dash(&self, from: usize, indent: Option<usize>) -> Option<usize> {
        let mut at = from;
        loop {
            let line = self.text.get(at..self.line_end(at))?;
            let rest = line.trim_start_matches(' ');
            let dash = at + line.len() - rest.len();
            let is_dash = rest == "-" || rest.starts_with("- ") || rest.starts_with("-\t");
            if is_dash && indent.is_none_or(|indent| self.text_before(dash).len() == indent) {
                return Some(dash);
            }
            let is_nothing = rest.trim().is_empty() || rest.starts_with('#');
            let is_header = indent.is_none() && (at == from);
            let next = self.next_line(at);
            if !(is_nothing || is_header) || next <= at || next >= self.text.len() {
                return None;
            }
            at = next;
        }
    }

    fn patch_block_seq(
        &mut self,
        present: &ValueNode,
        old: &[ValueNode],
        new: &[ValueNode],
        wanted: &ValueNode,
        slot: &ValueSlot,
    ) -> PatchResult {
        let after = self.seq_start(present, slot);
        let dashes = self.find_dashes(old, after)?;
        let targets = match_elements(old, new);
        let kept: Vec<usize> = targets.iter().copied().flatten().collect();
        let inline = self.is_inline(dashes[0]);
        let first_goes = !kept.contains(&0);
        if kept.is_empty() || (inline && (first_goes || targets[0].is_none())) {
            return self.replace_value(present, wanted, slot);
        }
        let list = BlockList {
            old,
            new,
            indent: self.text_before(dashes[0]).len(),
            dashes,
            targets,
            floor: self.first_element_floor(after),
        };
        if kept.windows(2).all(|two| two[0] < two[1]) {
            self.patch_in_order(&list)
        } else if inline {
            self.replace_value(present, wanted, slot)
        } else {
            self.patch_reordered(&list)
        }
    }

    /// Where to look for the first dash of a list.
    fn seq_start(&self, present: &ValueNode, slot: &ValueSlot) -> usize {
        if slot.holder == SlotHolder::Document {
            self.line_start(present.span.start)
        } else {
            slot.after
        }
    }

    /// Before this nothing belongs to the first element of a list.
    fn first_element_floor(&self, after: usize) -> usize {
        if self.text_before(after).is_empty() {
            after
        } else {
            self.next_line(after)
        }
    }

    /// Where the comments begin that stand directly above a line.
    fn comments_start(&self, line: usize, floor: usize) -> usize {
        let mut at = line;
        while at > floor {
            let above = self.line_start(at - 1);
            if above < floor || !self.text[above..at].trim_start().starts_with('#') {
                break;
            }
            at = above;
        }
        at
    }

    fn patch_in_order(&mut self, list: &BlockList<'_>) -> PatchResult {
        let mut wanted: Vec<Option<&ValueNode>> = vec![None; list.old.len()];
        let mut behind: Vec<Vec<&ValueNode>> = vec![Vec::new(); list.old.len()];
        let mut at_start = Vec::new();
        let mut last: Option<usize> = None;
        for (target, node) in list.targets.iter().zip(list.new) {
            match (target, last) {
                (Some(at), _) => {
                    wanted[*at] = Some(node);
                    last = Some(*at);
                }
                (None, Some(at)) => behind[at].push(node),
                (None, None) => at_start.push(node),
            }
        }
        if !at_start.is_empty() {
            let line = self.line_start(list.dashes[0]);
            let at = self.comments_start(line, list.floor);
            let text = list.render_elements(&at_start);
            self.push_edit(at..at, &text);
        }
        for (index, item) in list.old.iter().enumerate() {
            let dash = list.dashes[index];
            let end = self.next_line(self.content_end(item, dash + 1)?);
            match wanted[index] {
                Some(wanted) => self.patch_value(item, wanted, &list.slot_of_element(index))?,
                None => self.push_edit(self.line_start(dash)..end, ""),
            }
            if !behind[index].is_empty() {
                let text = list.render_elements(&behind[index]);
                self.push_edit(end..end, &text);
            }
        }
        Ok(())
    }

    /// Writes the elements in another order, each with the comments directly
    /// above it; what else stands between them stays where it is.
    fn patch_reordered(&mut self, list: &BlockList<'_>) -> PatchResult {
        let (mut gaps, mut bodies) = (Vec::new(), Vec::new());
        let mut from = list.floor;
        for (item, dash) in list.old.iter().zip(&list.dashes) {
            let end = self.next_line(self.content_end(item, dash + 1)?);
            let line = self.line_start(*dash);
            let body = self.comments_start(line, from);
            gaps.push(from..body);
            bodies.push((body..end, line));
            from = end;
        }
        let mut out = String::new();
        for (index, (target, node)) in list.targets.iter().zip(list.new).enumerate() {
            if let Some(gap) = gaps.get(index) {
                out.push_str(&self.text[gap.clone()]);
            }
            let Some(at) = target else {
                let mut text = String::new();
                list.push_element(&mut text, node);
                out.push_str(&text.replace('\n', self.newline));
                continue;
            };
            let before = std::mem::take(&mut self.edits);
            self.patch_value(&list.old[*at], node, &list.slot_of_element(*at))?;
            let edits = std::mem::replace(&mut self.edits, before);
            out.push_str(&self.apply_edits(bodies[*at].0.clone(), edits)?);
        }
        for gap in gaps.iter().skip(list.new.len()) {
            out.push_str(&self.text[gap.clone()]);
        }
        for (index, (body, line)) in bodies.iter().enumerate() {
            if !list.targets.contains(&Some(index)) {
                out.push_str(&self.text[body.start..*line]);
            }
        }
        self.edits.push(YamlEdit {
            range: list.floor..from,
            text: out,
        });
        Ok(())
    }
}

/// A block list that changes.
struct BlockList<'l> {
    old: &'l [ValueNode],
    new: &'l [ValueNode],
    indent: usize,
    dashes: Vec<usize>,
    /// Which old element each new one is.
    targets: Vec<Option<usize>>,
    floor: usize,
}

impl BlockList<'_> {
    fn slot_of_element(&self, index: usize) -> ValueSlot {
        ValueSlot {
            holder: SlotHolder::Dash,
            after: self.dashes[index] + 1,
            indent: self.indent,
        }
    }

    fn push_element(&self, out: &mut String, node: &ValueNode) {
        push_indent(out, self.indent);
        out.push('-');
        push_part(out, node, self.indent, true);
    }

    fn render_elements(&self, nodes: &[&ValueNode]) -> String {
        let mut out = String::new();
        for node in nodes {
            self.push_element(&mut out, node);
        }
        out
    }
}

fn push_pair(out: &mut String, key: &MapKey, node: &ValueNode, indent: usize) {
    push_key(out, &key.text, indent);
    push_part(out, node, indent, false);
}

/// Which old element each new one is: by their ids when all have one, else
/// what is the same at both ends, and in between one by one.
fn match_elements(old: &[ValueNode], new: &[ValueNode]) -> Vec<Option<usize>> {
    fn id(node: &ValueNode) -> Option<&str> {
        node.get("id").and_then(ValueNode::text)
    }
    if old.iter().chain(new).all(|node| id(node).is_some()) {
        let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (index, node) in old.iter().enumerate() {
            let name = id(node).unwrap_or_default();
            places.entry(name).or_default().push_back(index);
        }
        let mut place = |node| places.get_mut(id(node).unwrap_or_default())?.pop_front();
        return new.iter().map(&mut place).collect();
    }
    let pairs = || old.iter().zip(new);
    let front = pairs().take_while(|(a, b)| is_same_yaml(a, b)).count();
    let shorter = old.len().min(new.len()) - front;
    let ends = old.iter().rev().zip(new.iter().rev()).take(shorter);
    let back = ends.take_while(|(a, b)| is_same_yaml(a, b)).count();
    (0..new.len())
        .map(|index| {
            if index >= new.len() - back {
                Some(old.len() - (new.len() - index))
            } else {
                (index < old.len() - back).then_some(index)
            }
        })
        .collect()
}
