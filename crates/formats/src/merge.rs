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

use crate::format::{self, Format, Grade, Recognised};
use crate::markdown::{newline, with_newline};
use crate::problem::Source;
use crate::project_format::Derived;
use crate::registry;
use crate::sequence::{chunks, matched, taken};
use crate::tree::{Node, Parsed};
use crate::{conflict, json, yaml};

use part::{Part, Side};
use rules::{Count, Merge, Syntax};

/// Three versions of a text.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'t> {
    /// What both began with; empty where both added the file.
    pub base: &'t str,
    /// The one that is written over.
    pub ours: &'t str,
    /// The one that is merged into it.
    pub theirs: &'t str,
}

/// How a contradiction is marked.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'t> {
    /// What our side is called.
    pub ours: &'t str,
    /// What their side is called.
    pub theirs: &'t str,
    /// How long a mark is; git's are 7.
    pub size: usize,
}

/// One text made of three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
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
/// Whether a person has to look at it stands in [`Merged::conflicts`].
#[must_use]
pub fn merge(path: &str, versions: Versions<'_>, marks: Marks<'_>) -> Merged {
    let Versions { base, ours, theirs } = versions;
    if ours == theirs || theirs == base {
        return Merged::clean(ours);
    }
    if ours == base {
        return Merged::clean(theirs);
    }
    if let Some(derived) = derived_at(path) {
        return Merged::clean((derived.merge)([base, ours, theirs]));
    }
    let whole = lines_alike(versions);
    let mut merged = merge_lines_alike(path, [&whole[0], &whole[1], &whole[2]], marks);
    end_as_before(&mut merged.text, versions);
    merged
}

/// Merges the versions of the file at `path`, and lets ours hold where the sides
/// contradict each other. None where one of them cannot be read as what the file is.
#[must_use]
pub fn merge_preferring_ours(path: &str, versions: Versions<'_>) -> Option<String> {
    let Versions { base, ours, theirs } = versions;
    if ours == theirs || theirs == base {
        return Some(ours.to_owned());
    }
    if ours == base {
        return Some(theirs.to_owned());
    }
    let whole = lines_alike(versions);
    let alike = Versions {
        base: &whole[0],
        ours: &whole[1],
        theirs: &whole[2],
    };
    let (_, rules) = rules_at(path, alike)?;
    // A mark that both changed is a contradiction here as well, and what is counted is
    // what one side counted.
    let rules = Merge {
        settles_marks: false,
        recount: Merge::JSON.recount,
        ..*rules
    };
    let (mut text, _) = our_side(&rules, alike).ok()?;
    end_as_before(&mut text, versions);
    Some(text)
}

/// Ours of the file at `path`, with what theirs adds to the base: what theirs took out
/// or said otherwise stays as it is in ours. None where a version cannot be read as what
/// the file is.
#[must_use]
pub fn with_additions(path: &str, versions: Versions<'_>) -> Option<String> {
    let Versions { base, ours, theirs } = versions;
    let (_, rules) = rules_at(path, versions)?;
    // Neither has said it before: all that the two say is there, and the base holds.
    let grown = Versions {
        base: "",
        ours: base,
        theirs,
    };
    let theirs = match base {
        "" => theirs.to_owned(),
        _ => merge_preferring_ours(path, grown)?,
    };
    rules.read_all([base, ours, &theirs])?;
    merge_preferring_ours(
        path,
        Versions {
            base,
            ours,
            theirs: &theirs,
        },
    )
}

/// The versions with the line ends of ours, each with one at its end.
fn lines_alike(versions: Versions<'_>) -> [String; 3] {
    let newline = newline(versions.ours);
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
fn end_as_before(text: &mut String, Versions { base, ours, theirs }: Versions<'_>) {
    let ends = |text: &str| text.ends_with('\n');
    let is_theirs = !base.is_empty() && ends(ours) == ends(base);
    if !ends(if is_theirs { theirs } else { ours }) {
        let bare = text.strip_suffix(newline(ours)).map(str::len);
        text.truncate(bare.unwrap_or(text.len()));
    }
}

/// Merges versions with the same line ends, each with one at its end.
fn merge_lines_alike(path: &str, [base, ours, theirs]: [&str; 3], marks: Marks<'_>) -> Merged {
    let versions = Versions { base, ours, theirs };
    if ours == theirs || theirs == base {
        return Merged::clean(ours);
    }
    let lines = by_lines(versions, Meeting::Marked(marks));
    let Some((format, rules)) = rules_at(path, versions) else {
        return lines;
    };
    let merged = as_tree(rules, versions, marks, &lines);
    let is_fine = |text: &str| {
        let problems = format.check(Source { name: path, text }, Grade::Strict);
        problems.is_empty()
    };
    match merged {
        Ok(merged) if merged.conflicts > 0 => merged,
        Ok(merged) if !is_fine(&merged.text) && is_fine(ours) && is_fine(theirs) => {
            whole(ours, theirs, marks).because("merged, it would break the rules of its format")
        }
        Ok(merged) => merged,
        Err(why) if lines.conflicts == 0 && breaks(rules, &lines.text, versions) => {
            whole(ours, theirs, marks).because(why)
        }
        Err(why) => lines.because(why),
    }
}

impl Merged {
    fn clean(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            conflicts: 0,
            by_lines: None,
        }
    }

    fn because(self, why: &'static str) -> Self {
        Self {
            by_lines: Some(why),
            ..self
        }
    }
}

/// What is made of a file of the project for people to read, if it lies at `path`.
fn derived_at(path: &str) -> Option<Derived> {
    let mut derived = registry::face_files().filter_map(|file| file.derived);
    let is_it = |derived: &Derived| std::path::Path::new(path).ends_with(derived.path);
    derived.find(is_it)
}

/// What the file at `path` is, by the first version that says so.
fn rules_at(path: &str, versions: Versions<'_>) -> Option<(&'static Format, &'static Merge)> {
    let texts = [versions.ours, versions.theirs, versions.base];
    texts.iter().find_map(|text| {
        let format = match format::recognise(path, text).ok()? {
            Recognised::Format(format) => format,
            Recognised::Empty(_) | Recognised::Unreadable(_) => return None,
        };
        Some((format, format.merge?))
    })
}

/// Whether a text cannot be read although both sides can.
fn breaks(rules: &Merge, text: &str, versions: Versions<'_>) -> bool {
    let is_read = |text| rules.read(text).is_some();
    is_read(versions.ours) && is_read(versions.theirs) && !is_read(text)
}

fn as_tree(
    rules: &Merge,
    versions: Versions<'_>,
    marks: Marks<'_>,
    lines: &Merged,
) -> Result<Merged, &'static str> {
    let (our_text, part) = our_side(rules, versions)?;
    if !part.contradicts() {
        let says_the_same = |text: &str| {
            let of_lines = rules.read(text).flatten();
            let of_tree = rules.read(&our_text).flatten();
            of_lines
                .zip(of_tree)
                .is_some_and(|(a, b)| json::same(&a, &b))
        };
        if lines.conflicts == 0 && says_the_same(&lines.text) {
            return Ok(lines.clone());
        }
        return Ok(Merged::clean(our_text));
    }
    // What is counted waits for a person to settle the rest, and is no conflict.
    let their_text = rules.text_of(&part, Side::Theirs, &our_text);
    let their_text = their_text.ok_or(NOT_IN_PLACE)?;
    let their_text = rules.with_counts(their_text, &(rules.recount)(&our_text))?;
    let spans = |side, text: &str| {
        let mut spans = Vec::new();
        if let Some(Some(node)) = rules.read(text) {
            part.push_spans(side, &node, &mut spans);
        }
        spans
    };
    let (our_spans, their_spans) = (
        spans(Side::Ours, &our_text),
        spans(Side::Theirs, &their_text),
    );
    Ok(marked(
        (&our_text, &our_spans),
        (&their_text, &their_spans),
        marks,
    ))
}

/// The merged tree, and the text that says what it says on our side.
fn our_side(rules: &Merge, versions: Versions<'_>) -> Result<(String, Part), &'static str> {
    let Versions { base, ours, theirs } = versions;
    let is_unresolved = |text| conflict::problem(Source { name: "", text }).is_some();
    if [base, ours, theirs].into_iter().any(is_unresolved) {
        return Err("a version of it holds an unresolved merge");
    }
    let Some([base, ours_tree, theirs]) = rules.read_all([base, ours, theirs]) else {
        return Err("a version of it cannot be read");
    };
    let nodes = [base.as_ref(), ours_tree.as_ref(), theirs.as_ref()];
    let part = rules.part("", nodes).ok_or("nothing would be left of it")?;
    // Lines that merge bring comments along that the tree knows nothing of.
    let kept = by_lines(versions, Meeting::Kept).text;
    let mut begun = [kept.as_str(), ours].into_iter();
    let text = begun.find_map(|text| rules.text_of(&part, Side::Ours, text));
    let text = text.ok_or(NOT_IN_PLACE)?;
    let counts = (rules.recount)(&text);
    Ok((rules.with_counts(text, &counts)?, part))
}

impl Merge {
    /// The tree of a text, none in one that holds nothing; `None` where it
    /// cannot be read.
    fn read(&self, text: &str) -> Option<Option<Node>> {
        let parsed: Parsed = match self.syntax {
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
    fn read_all(&self, texts: [&str; 3]) -> Option<[Option<Node>; 3]> {
        if self.syntax == Syntax::Markdown {
            let parse = |text| blocks::parse(text, (self.head)(text), self.item_name);
            let [base, mut ours, mut theirs] = texts.map(parse);
            blocks::align(&base, &mut ours);
            blocks::align(&base, &mut theirs);
            return Some([base, ours, theirs].map(|blocks| Some(blocks::to_node(&blocks))));
        }
        let [base, ours, theirs] = texts.map(|text| self.read(text));
        Some([base?, ours?, theirs?])
    }

    /// The text that says what `part` says on that side, made from `text`.
    fn text_of(&self, part: &Part, side: Side, text: &str) -> Option<String> {
        self.write(text, &part.of_side(side).pop()?)
    }

    fn write(&self, text: &str, wanted: &Node) -> Option<String> {
        match self.syntax {
            Syntax::Json => json::patch(text, wanted).ok(),
            Syntax::Yaml => yaml::patch(text, wanted).ok(),
            Syntax::Markdown => Some(blocks::render(wanted)),
        }
    }

    /// The text with what is counted in it.
    fn with_counts(&self, text: String, counts: &[Count]) -> Result<String, &'static str> {
        let Some(Some(mut wanted)) = self.read(&text).filter(|_| !counts.is_empty()) else {
            return Ok(text);
        };
        for (path, value) in counts {
            set(&mut wanted, path, value);
        }
        self.write(&text, &wanted).ok_or(NOT_IN_PLACE)
    }
}

const NOT_IN_PLACE: &str = "it cannot be changed in place";

/// Sets what stands at `path`, where something does.
fn set(node: &mut Node, path: &[&str], value: &Node) {
    let Some((key, rest)) = path.split_first() else {
        node.clone_from(value);
        return;
    };
    if let crate::tree::Value::Map(map) = &mut node.value {
        let mut pairs = map.pairs.iter_mut();
        if let Some((_, node)) = pairs.find(|(have, _)| have.text == *key) {
            set(node, rest, value);
        }
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What becomes of lines that both sides changed.
#[derive(Clone, Copy)]
enum Meeting<'m> {
    Marked(Marks<'m>),
    /// What both put in stays, one behind the other; else ours does.
    Kept,
}

/// Merges lines as git does.
fn by_lines(versions: Versions<'_>, how: Meeting<'_>) -> Merged {
    let lines = [versions.base, versions.ours, versions.theirs].map(lines_of);
    let lines = [&lines[0][..], &lines[1][..], &lines[2][..]];
    let mut out = Merged::clean("");
    for chunk in chunks(lines) {
        let [base, ours, theirs] = [0, 1, 2].map(|side| &lines[side][chunk[side].clone()]);
        match (taken(&chunk, lines), how) {
            (Some(1), _) => out.text.extend(ours.iter().copied()),
            (Some(_), _) => out.text.extend(theirs.iter().copied()),
            (None, Meeting::Kept) => {
                let theirs = theirs.iter().filter(|_| base.is_empty());
                out.text.extend(ours.iter().chain(theirs).copied());
            }
            (None, Meeting::Marked(marks)) => out.push_conflict(ours, theirs, marks),
        }
    }
    out
}

/// Both texts whole, one after the other.
fn whole(ours: &str, theirs: &str, marks: Marks<'_>) -> Merged {
    let mut out = Merged::clean("");
    out.push_conflict(&[ours], &[theirs], marks);
    out
}

/// A text and what of it contradicts.
type Contradicting<'t> = (&'t str, &'t [Range<usize>]);

/// Two texts as one, with what differs between marks. What contradicts is never
/// taken apart, whatever lines it has in common.
fn marked(ours: Contradicting<'_>, theirs: Contradicting<'_>, marks: Marks<'_>) -> Merged {
    let (ours, theirs) = (
        tagged(ours, Some(Side::Ours)),
        tagged(theirs, Some(Side::Theirs)),
    );
    let bare = |lines: &[Tagged<'_>]| -> Vec<String> {
        lines.iter().map(|(_, line)| (*line).to_owned()).collect()
    };
    let mut out = Merged::clean("");
    let (mut i, mut j) = (0, 0);
    let ends = [(ours.len(), theirs.len())];
    for (at, to) in matched(&ours, &theirs).into_iter().chain(ends) {
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
type Tagged<'t> = (Option<u8>, &'t str);

fn tagged<'t>((text, spans): Contradicting<'t>, side: Option<Side>) -> Vec<Tagged<'t>> {
    let mut at = 0;
    // Blocks of YAML go on to where the next one begins.
    let ends = |span: &Range<usize>| span.start..text[..span.end].trim_end().len();
    let spans: Vec<Range<usize>> = spans.iter().map(ends).collect();
    let tag = |bytes: Range<usize>| {
        let meets = |span: &Range<usize>| span.start < bytes.end && bytes.start < span.end;
        side.filter(|_| spans.iter().any(meets))
            .map(|side| side as u8)
    };
    let lines = lines_of(text).into_iter();
    lines
        .map(|line| {
            at += line.len();
            (tag(at - line.len()..at), line)
        })
        .collect()
}

impl Merged {
    fn push_conflict<T: AsRef<str>>(&mut self, ours: &[T], theirs: &[T], marks: Marks<'_>) {
        self.conflicts += 1;
        self.push_mark('<', marks.ours, marks.size);
        self.text.extend(ours.iter().map(AsRef::as_ref));
        self.push_mark('=', "", marks.size);
        self.text.extend(theirs.iter().map(AsRef::as_ref));
        self.push_mark('>', marks.theirs, marks.size);
    }

    fn push_mark(&mut self, mark: char, name: &str, size: usize) {
        let newline = newline(&self.text);
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
