//! Three versions of a native file made one: base, ours and theirs.
//!
//! A file is merged as a tree, by what its family says of it (`rules`): what
//! only one side changed is taken, what both added is kept once each, what is
//! counted is counted again. The result is written into our text, so that what
//! did not change keeps its bytes. What contradicts is marked as git marks it,
//! and nothing else is. `part` merges trees, `blocks` is Markdown as one.
//!
//! A text that cannot be read as what it is, is merged by lines as git would.
//! Which files are merged, and who asks for it, is decided elsewhere; see
//! `docs/design/0023-merging-files.md`.

pub mod attributes;
mod blocks;
mod part;
pub(crate) mod rules;

use std::ops::Range;

use crate::format::{self, Format, Grade, RecognisedFile};
use crate::markdown::{newline_of, with_newline};
use crate::problem::SourceText;
use crate::project_format::DerivedFile;
use crate::registry;
use crate::sequence::{align_chunks, changed_side, match_elements};
use crate::tree::{ParsedTree, ValueNode};
use crate::{conflict, json, yaml};

use part::{MergedPart, Side};
use rules::{CountedValue, MergeRules, Syntax};

/// Three versions of a text.
#[derive(Clone, Copy, Debug)]
pub struct MergeVersions<'t> {
    /// What both began with; empty where both added the file.
    pub base: &'t str,
    /// The one that is written over.
    pub ours: &'t str,
    /// The one that is merged into it.
    pub theirs: &'t str,
}

/// How a contradiction is marked.
#[derive(Clone, Copy, Debug)]
pub struct ConflictMarks<'t> {
    /// What our side is called.
    pub ours: &'t str,
    /// What their side is called.
    pub theirs: &'t str,
    /// How long a mark is; git's are 7.
    pub size: usize,
}

/// One text made of three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    /// The text; where versions contradict each other, both stand between marks.
    pub text: String,
    /// How many places are marked.
    pub conflicts: usize,
    /// Why a native file was merged by its lines; none where it was merged as what
    /// it is, and where it is no native file.
    pub by_lines: Option<&'static str>,
}

/// Merges the versions of the file at `path`. Nothing of either side is lost:
/// what is not in the text as merged stands between marks.
///
/// Whether a person has to look at it stands in [`MergedText::conflicts`].
#[must_use]
pub fn merge(path: &str, versions: MergeVersions<'_>, marks: ConflictMarks<'_>) -> MergedText {
    let MergeVersions { base, ours, theirs } = versions;
    if ours == theirs || theirs == base {
        return MergedText::clean(ours);
    }
    if ours == base {
        return MergedText::clean(theirs);
    }
    if let Some(derived) = derived_file_at(path) {
        return MergedText::clean((derived.merge)([base, ours, theirs]));
    }
    let whole = normalize_line_ends(versions);
    let mut merged = merge_normalized(path, [&whole[0], &whole[1], &whole[2]], marks);
    restore_final_newline(&mut merged.text, versions);
    merged
}

/// Merges the versions of the file at `path`, and lets ours hold where the sides
/// contradict each other. None where one of them cannot be read as what the file is.
#[must_use]
pub fn merge_preferring_ours(path: &str, versions: MergeVersions<'_>) -> Option<String> {
    let MergeVersions { base, ours, theirs } = versions;
    if ours == theirs || theirs == base {
        return Some(ours.to_owned());
    }
    if ours == base {
        return Some(theirs.to_owned());
    }
    let whole = normalize_line_ends(versions);
    let alike = MergeVersions {
        base: &whole[0],
        ours: &whole[1],
        theirs: &whole[2],
    };
    let (_, rules) = find_rules(path, alike)?;
    // A mark that both changed is a contradiction here as well, and what is counted is
    // what one side counted.
    let rules = MergeRules {
        settles_marks: false,
        recount: MergeRules::JSON.recount,
        ..*rules
    };
    let (mut text, _) = merge_our_side(&rules, alike).ok()?;
    restore_final_newline(&mut text, versions);
    Some(text)
}

/// Ours of the file at `path`, with what theirs adds to the base: what theirs took out
/// or said otherwise stays as it is in ours. None where a version cannot be read as what
/// the file is.
#[must_use]
pub fn merge_additions(path: &str, versions: MergeVersions<'_>) -> Option<String> {
    let MergeVersions { base, ours, theirs } = versions;
    let (_, rules) = find_rules(path, versions)?;
    // Neither has said it before: all that the two say is there, and the base holds.
    let grown = MergeVersions {
        base: "",
        ours: base,
        theirs,
    };
    let theirs = match base {
        "" => theirs.to_owned(),
        _ => merge_preferring_ours(path, grown)?,
    };
    rules.parse_all([base, ours, &theirs])?;
    merge_preferring_ours(
        path,
        MergeVersions {
            base,
            ours,
            theirs: &theirs,
        },
    )
}

/// The versions with the line ends of ours, each with one at its end.
fn normalize_line_ends(versions: MergeVersions<'_>) -> [String; 3] {
    let newline = newline_of(versions.ours);
    [versions.base, versions.ours, versions.theirs].map(|text| {
        let mut text = with_newline(&text.replace("\r\n", "\n"), newline);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(newline);
        }
        text
    })
}

/// Lets a merged text end with a line end only where the side that decides about it
/// does.
fn restore_final_newline(
    text: &mut String,
    MergeVersions { base, ours, theirs }: MergeVersions<'_>,
) {
    let ends = |text: &str| text.ends_with('\n');
    let is_theirs = !base.is_empty() && ends(ours) == ends(base);
    if !ends(if is_theirs { theirs } else { ours }) {
        let bare = text.strip_suffix(newline_of(ours)).map(str::len);
        text.truncate(bare.unwrap_or(text.len()));
    }
}

/// Merges versions with the same line ends, each with one at its end.
fn merge_normalized(
    path: &str,
    [base, ours, theirs]: [&str; 3],
    marks: ConflictMarks<'_>,
) -> MergedText {
    let versions = MergeVersions { base, ours, theirs };
    if ours == theirs || theirs == base {
        return MergedText::clean(ours);
    }
    let lines = merge_lines(versions, ConflictHandling::Marked(marks));
    let Some((format, rules)) = find_rules(path, versions) else {
        return lines;
    };
    let merged = merge_as_tree(rules, versions, marks, &lines);
    let is_fine = |text: &str| {
        let problems = format.check(SourceText { name: path, text }, Grade::Strict);
        problems.is_empty()
    };
    match merged {
        Ok(merged) if merged.conflicts > 0 => merged,
        Ok(merged) if !is_fine(&merged.text) && is_fine(ours) && is_fine(theirs) => {
            whole_conflict(ours, theirs, marks)
                .with_reason("merged, it would break the rules of its format")
        }
        Ok(merged) => merged,
        Err(why) if lines.conflicts == 0 && is_broken_by_merge(rules, &lines.text, versions) => {
            whole_conflict(ours, theirs, marks).with_reason(why)
        }
        Err(why) => lines.with_reason(why),
    }
}

impl MergedText {
    fn clean(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            conflicts: 0,
            by_lines: None,
        }
    }

    fn with_reason(self, why: &'static str) -> Self {
        Self {
            by_lines: Some(why),
            ..self
        }
    }
}

/// What is made of a file of the project for people to read, if it lies at `path`.
fn derived_file_at(path: &str) -> Option<DerivedFile> {
    let mut derived = registry::project_files().filter_map(|file| file.derived);
    let is_it = |derived: &DerivedFile| std::path::Path::new(path).ends_with(derived.path);
    derived.find(is_it)
}

/// What the file at `path` is, by the first version that says so.
fn find_rules(
    path: &str,
    versions: MergeVersions<'_>,
) -> Option<(&'static Format, &'static MergeRules)> {
    let texts = [versions.ours, versions.theirs, versions.base];
    texts.iter().find_map(|text| {
        let format = match format::recognise_file(path, text).ok()? {
            RecognisedFile::Format(format) => format,
            RecognisedFile::Empty(_) | RecognisedFile::Unreadable(_) => return None,
        };
        Some((format, format.merge?))
    })
}

/// Whether a text cannot be read although both sides can.
fn is_broken_by_merge(rules: &MergeRules, text: &str, versions: MergeVersions<'_>) -> bool {
    let is_read = |text| rules.parse_text(text).is_some();
    is_read(versions.ours) && is_read(versions.theirs) && !is_read(text)
}

fn merge_as_tree(
    rules: &MergeRules,
    versions: MergeVersions<'_>,
    marks: ConflictMarks<'_>,
    lines: &MergedText,
) -> Result<MergedText, &'static str> {
    let (our_text, part) = merge_our_side(rules, versions)?;
    if !part.has_conflict() {
        let says_the_same = |text: &str| {
            let of_lines = rules.parse_text(text).flatten();
            let of_tree = rules.parse_text(&our_text).flatten();
            of_lines
                .zip(of_tree)
                .is_some_and(|(a, b)| json::is_same_json(&a, &b))
        };
        if lines.conflicts == 0 && says_the_same(&lines.text) {
            return Ok(lines.clone());
        }
        return Ok(MergedText::clean(our_text));
    }
    // What is counted waits for a person to settle the rest, and is no conflict.
    let their_text = rules.render_side(&part, Side::Theirs, &our_text);
    let their_text = their_text.ok_or(NOT_IN_PLACE)?;
    let their_text = rules.write_counts(their_text, &(rules.recount)(&our_text))?;
    let spans = |side, text: &str| {
        let mut spans = Vec::new();
        if let Some(Some(node)) = rules.parse_text(text) {
            part.push_conflict_spans(side, &node, &mut spans);
        }
        spans
    };
    let (our_spans, their_spans) = (
        spans(Side::Ours, &our_text),
        spans(Side::Theirs, &their_text),
    );
    Ok(mark_conflicts(
        ConflictingText {
            text: &our_text,
            spans: &our_spans,
        },
        ConflictingText {
            text: &their_text,
            spans: &their_spans,
        },
        marks,
    ))
}

/// The merged tree, and the text that says what it says on our side.
fn merge_our_side(
    rules: &MergeRules,
    versions: MergeVersions<'_>,
) -> Result<(String, MergedPart), &'static str> {
    let MergeVersions { base, ours, theirs } = versions;
    let is_unresolved =
        |text| conflict::find_unresolved_merge(SourceText { name: "", text }).is_some();
    if [base, ours, theirs].into_iter().any(is_unresolved) {
        return Err("a version of it holds an unresolved merge");
    }
    let Some([base, ours_tree, theirs]) = rules.parse_all([base, ours, theirs]) else {
        return Err("a version of it cannot be read");
    };
    let nodes = [base.as_ref(), ours_tree.as_ref(), theirs.as_ref()];
    let part = rules
        .merge_nodes("", nodes)
        .ok_or("nothing would be left of it")?;
    // Lines that merge bring comments along that the tree knows nothing of.
    let kept = merge_lines(versions, ConflictHandling::Kept).text;
    let mut begun = [kept.as_str(), ours].into_iter();
    let text = begun.find_map(|text| rules.render_side(&part, Side::Ours, text));
    let text = text.ok_or(NOT_IN_PLACE)?;
    let counts = (rules.recount)(&text);
    Ok((rules.write_counts(text, &counts)?, part))
}

impl MergeRules {
    /// The tree of a text, none in one that holds nothing; `None` where it
    /// cannot be read.
    fn parse_text(&self, text: &str) -> Option<Option<ValueNode>> {
        let parsed: ParsedTree = match self.syntax {
            Syntax::Json => json::parse(text),
            Syntax::Yaml => yaml::parse(text),
            Syntax::Markdown => {
                let blocks = blocks::parse(text, (self.head)(text), self.item_name);
                return Some(Some(blocks::to_node(&blocks)));
            }
        };
        if crate::document::is_blank(text) {
            return Some(None);
        }
        parsed.faults.is_empty().then_some(parsed.root)
    }

    /// Base, ours and theirs.
    fn parse_all(&self, texts: [&str; 3]) -> Option<[Option<ValueNode>; 3]> {
        if self.syntax == Syntax::Markdown {
            let parse = |text| blocks::parse(text, (self.head)(text), self.item_name);
            let [base, mut ours, mut theirs] = texts.map(parse);
            blocks::align_names(&base, &mut ours);
            blocks::align_names(&base, &mut theirs);
            return Some([base, ours, theirs].map(|blocks| Some(blocks::to_node(&blocks))));
        }
        let [base, ours, theirs] = texts.map(|text| self.parse_text(text));
        Some([base?, ours?, theirs?])
    }

    /// The text that says what `part` says on that side, made from `text`.
    fn render_side(&self, part: &MergedPart, side: Side, text: &str) -> Option<String> {
        self.write_tree(text, &part.nodes_of_side(side).pop()?)
    }

    fn write_tree(&self, text: &str, wanted: &ValueNode) -> Option<String> {
        match self.syntax {
            Syntax::Json => json::patch(text, wanted).ok(),
            Syntax::Yaml => yaml::patch(text, wanted).ok(),
            Syntax::Markdown => Some(blocks::render(wanted)),
        }
    }

    /// The text with what is counted in it.
    fn write_counts(&self, text: String, counts: &[CountedValue]) -> Result<String, &'static str> {
        let Some(Some(mut wanted)) = self.parse_text(&text).filter(|_| !counts.is_empty()) else {
            return Ok(text);
        };
        for (path, value) in counts {
            set_at_path(&mut wanted, path, value);
        }
        self.write_tree(&text, &wanted).ok_or(NOT_IN_PLACE)
    }
}

const NOT_IN_PLACE: &str = "it cannot be changed in place";

/// Sets what stands at `path`, where something does.
fn set_at_path(node: &mut ValueNode, path: &[&str], value: &ValueNode) {
    let Some((key, rest)) = path.split_first() else {
        node.clone_from(value);
        return;
    };
    if let crate::tree::Value::Map(map) = &mut node.value {
        let mut pairs = map.pairs.iter_mut();
        if let Some((_, node)) = pairs.find(|(have, _)| have.text == *key) {
            set_at_path(node, rest, value);
        }
    }
}

fn split_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What becomes of lines that both sides changed.
#[derive(Clone, Copy)]
enum ConflictHandling<'m> {
    Marked(ConflictMarks<'m>),
    /// What both put in stays, one behind the other; else ours does.
    Kept,
}

/// Merges lines as git does.
fn merge_lines(versions: MergeVersions<'_>, how: ConflictHandling<'_>) -> MergedText {
    let lines = [versions.base, versions.ours, versions.theirs].map(split_lines);
    let lines = [&lines[0][..], &lines[1][..], &lines[2][..]];
    let mut out = MergedText::clean("");
    for chunk in align_chunks(lines) {
        let [base, ours, theirs] = [0, 1, 2].map(|side| &lines[side][chunk[side].clone()]);
        match (changed_side(&chunk, lines), how) {
            (Some(1), _) => out.text.extend(ours.iter().copied()),
            (Some(_), _) => out.text.extend(theirs.iter().copied()),
            (None, ConflictHandling::Kept) => {
                let theirs = theirs.iter().filter(|_| base.is_empty());
                out.text.extend(ours.iter().chain(theirs).copied());
            }
            (None, ConflictHandling::Marked(marks)) => out.push_conflict(ours, theirs, marks),
        }
    }
    out
}

/// Both texts whole, one after the other.
fn whole_conflict(ours: &str, theirs: &str, marks: ConflictMarks<'_>) -> MergedText {
    let mut out = MergedText::clean("");
    out.push_conflict(&[ours], &[theirs], marks);
    out
}

/// A text and what of it contradicts.
#[derive(Clone, Copy)]
struct ConflictingText<'t> {
    text: &'t str,
    spans: &'t [Range<usize>],
}

/// Two texts as one, with what differs between marks. What contradicts is never
/// taken apart, whatever lines it has in common.
fn mark_conflicts(
    ours: ConflictingText<'_>,
    theirs: ConflictingText<'_>,
    marks: ConflictMarks<'_>,
) -> MergedText {
    let (ours, theirs) = (
        tag_lines(ours, Some(Side::Ours)),
        tag_lines(theirs, Some(Side::Theirs)),
    );
    let bare = |lines: &[TaggedLine<'_>]| -> Vec<String> {
        lines.iter().map(|(_, line)| (*line).to_owned()).collect()
    };
    let mut out = MergedText::clean("");
    let (mut i, mut j) = (0, 0);
    let ends = [(ours.len(), theirs.len())];
    for (at, to) in match_elements(&ours, &theirs).into_iter().chain(ends) {
        if at > i || to > j {
            let (ours, theirs) = (bare(&ours[i..at]), bare(&theirs[j..to]));
            out.push_conflict(&ours, &theirs, marks);
        }
        out.text.extend(ours.get(at).map(|(_, line)| *line));
        (i, j) = (at + 1, to + 1);
    }
    out
}

/// A line, and whose it is where it contradicts.
type TaggedLine<'t> = (Option<u8>, &'t str);

fn tag_lines<'t>(source: ConflictingText<'t>, side: Option<Side>) -> Vec<TaggedLine<'t>> {
    let ConflictingText { text, spans } = source;
    let mut at = 0;
    // Blocks of YAML go on to where the next one begins.
    let ends = |span: &Range<usize>| span.start..text[..span.end].trim_end().len();
    let spans: Vec<Range<usize>> = spans.iter().map(ends).collect();
    let tag = |bytes: Range<usize>| {
        let meets = |span: &Range<usize>| span.start < bytes.end && bytes.start < span.end;
        side.filter(|_| spans.iter().any(meets))
            .map(|side| side as u8)
    };
    let lines = split_lines(text).into_iter();
    lines
        .map(|line| {
            at += line.len();
            (tag(at - line.len()..at), line)
        })
        .collect()
}

impl MergedText {
    fn push_conflict<T: AsRef<str>>(&mut self, ours: &[T], theirs: &[T], marks: ConflictMarks<'_>) {
        self.conflicts += 1;
        self.push_mark('<', marks.ours, marks.size);
        self.text.extend(ours.iter().map(AsRef::as_ref));
        self.push_mark('=', "", marks.size);
        self.text.extend(theirs.iter().map(AsRef::as_ref));
        self.push_mark('>', marks.theirs, marks.size);
    }

    fn push_mark(&mut self, mark: char, name: &str, size: usize) {
        let newline = newline_of(&self.text);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(newline);
        }
        self.text.extend(std::iter::repeat_n(mark, size));
        if !name.is_empty() {
            self.text.push(' ');
            self.text.push_str(name);
        }
        self.text.push_str(newline);
    }
}
