//! The way into a large text: where a list ends, without reading what it holds.

use super::emit::{At, push};
use super::parse::{has_bom, parse};
use super::style::{Form, Spot};
use crate::tree::Node;

/// Where the next element of a list goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendPoint {
    /// The byte behind the last element, or behind the bracket of an empty list.
    pub offset: usize,
    /// What the line of an element begins with.
    pub indent: String,
    /// Whether the list holds nothing.
    pub is_empty: bool,
    /// Whether the elements stand on the line of their bracket.
    pub is_inline: bool,
    unit: String,
    newline: &'static str,
    /// What stands between the last two elements.
    gap: Option<String>,
    last: Option<String>,
}

/// Finds the end of the list at `path`, a key for each level.
///
/// Looks at brackets, quotes and the keys on the way, in one pass and without
/// a tree. `None` when there is no such list, when a bracket is not closed, or
/// when something follows the document; what stands within other values is not
/// checked.
pub fn append_point(text: &str, path: &[&str]) -> Option<AppendPoint> {
    let mut skimmer = Skimmer {
        bytes: text.as_bytes(),
        at: if has_bom(text) { 3 } else { 0 },
    };
    skimmer.blanks();
    let mut unit = None;
    for key in path {
        skimmer.enter(text, key, &mut unit)?;
    }
    let list = skimmer.list()?;
    skimmer.close(path.len())?;
    let newline = if text[..list.start].contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let line = text[..list.start].rfind('\n').map_or(0, |at| at + 1);
    let outer = indentation(&text[line..]);
    let unit = unit.unwrap_or_else(|| "  ".to_owned());
    let head = &text[list.start + 1..list.first];
    let is_inline = if list.is_empty {
        // A text that has no lines gets none.
        !text.contains('\n')
    } else {
        !head.contains('\n')
    };
    let indent = match head.rsplit_once('\n') {
        Some((_, indent)) if !list.is_empty => indent.to_owned(),
        Some(_) | None => format!("{outer}{unit}"),
    };
    let gap = text.get(list.before..list.last);
    Some(AppendPoint {
        offset: list.offset,
        gap: gap.filter(|gap| !gap.is_empty()).map(str::to_owned),
        indent,
        is_empty: list.is_empty,
        is_inline,
        unit,
        newline,
        last: text.get(list.last..list.offset).map(str::to_owned),
    })
}

/// The text to put in at [`AppendPoint::offset`], with the comma before it,
/// written as the element before it is.
pub fn render_element(node: &Node, point: &AppendPoint) -> String {
    let before = point.last.as_deref().map(parse).and_then(|last| last.root);
    let mut form = match (&before, &point.last) {
        (Some(root), Some(text)) => Form::of(text, root),
        _ => Form::fresh(),
    };
    form.unit.clone_from(&point.unit);
    form.newline = point.newline;
    let mut out = String::new();
    let like = before.as_ref().map(|_| Spot::Root);
    let at = At {
        spot: like.unwrap_or(Spot::Element { list: "" }),
        indent: &point.indent,
        inline: point.is_inline,
    };
    match &point.gap {
        Some(gap) => out.push_str(gap),
        None => out.push_str(&lead(point)),
    }
    push(&mut out, node, &form, &at);
    if point.is_empty && !point.is_inline {
        out.push_str(point.newline);
        let outer = point.indent.strip_suffix(&point.unit);
        out.push_str(outer.unwrap_or_default());
    }
    out
}

/// What comes before an element that has no two before it.
fn lead(point: &AppendPoint) -> String {
    let comma = if point.is_empty { "" } else { "," };
    let blank = if point.is_empty { "" } else { " " };
    if point.is_inline {
        format!("{comma}{blank}")
    } else {
        format!("{comma}{}{}", point.newline, point.indent)
    }
}

fn indentation(line: &str) -> &str {
    let len = line
        .bytes()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    &line[..len]
}

/// A list whose brackets were found.
struct List {
    start: usize,
    first: usize,
    /// Where the element before the last ends.
    before: usize,
    last: usize,
    offset: usize,
    is_empty: bool,
}

/// Goes over a text without understanding more of it than it must.
struct Skimmer<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Skimmer<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, want: u8) -> Option<()> {
        (self.peek() == Some(want)).then(|| self.at += 1)
    }

    /// Goes to the value of `key` in the mapping that comes next.
    fn enter(&mut self, text: &str, key: &str, unit: &mut Option<String>) -> Option<()> {
        self.eat(b'{')?;
        let head = self.at;
        self.blanks();
        if let Some((_, indent)) = text[head..self.at].rsplit_once('\n') {
            // The first mapping on the way is the document: one level.
            unit.get_or_insert_with(|| indent.to_owned());
        }
        loop {
            let start = self.at;
            self.string()?;
            let found = self.is_key(text.get(start..self.at)?, key);
            self.blanks();
            self.eat(b':')?;
            self.blanks();
            if found {
                return Some(());
            }
            self.value()?;
            self.blanks();
            self.eat(b',')?;
            self.blanks();
        }
    }

    fn is_key(&self, quoted: &str, key: &str) -> bool {
        if quoted.contains('\\') {
            return parse(quoted).root.as_ref().and_then(Node::as_str) == Some(key);
        }
        quoted.len() == key.len() + 2 && &quoted[1..quoted.len() - 1] == key
    }

    fn list(&mut self) -> Option<List> {
        let start = self.at;
        self.eat(b'[')?;
        self.blanks();
        let first = self.at;
        if self.eat(b']').is_some() {
            let offset = start + 1;
            return Some(List {
                start,
                first,
                before: offset,
                last: offset,
                offset,
                is_empty: true,
            });
        }
        let mut before = first;
        loop {
            let last = self.at;
            self.value()?;
            let offset = self.at;
            self.blanks();
            if self.eat(b']').is_some() {
                return Some(List {
                    start,
                    first,
                    before,
                    last,
                    offset,
                    is_empty: false,
                });
            }
            self.eat(b',')?;
            self.blanks();
            before = offset;
        }
    }

    /// Goes over what is left of `depth` mappings, to the end of the text.
    fn close(&mut self, depth: usize) -> Option<()> {
        for _ in 0..depth {
            self.blanks();
            while self.eat(b',').is_some() {
                self.blanks();
                self.string()?;
                self.blanks();
                self.eat(b':')?;
                self.blanks();
                self.value()?;
                self.blanks();
            }
            self.eat(b'}')?;
        }
        self.blanks();
        self.peek().is_none().then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.eat(b'"')?;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    /// Goes over one value: to the bracket that closes it, or over its word.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth > 0 => self.at += 1,
                b'-' | b'0'..=b'9' | b'a'..=b'z' => self.word(),
                _ => return None,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn word(&mut self) {
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E')
        ) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{patch, same};
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &[&str], expect: &str) {
        let point = append_point(text, path).expect("a list");
        let node = parse(r#"{"id": "b", "n": {"x": 1}}"#)
            .root
            .expect("a document");
        let element = render_element(&node, &point);
        let (before, after) = text.split_at(point.offset);
        let spliced = format!("{before}{element}{after}");
        assert_eq!(spliced, expect);
        assert!(parse(&spliced).faults.is_empty());
    }

    #[test]
    fn an_element_is_appended_as_its_like_are_written() {
        check(
            "{\n    \"v\": 1,\n    \"l\": [\n        {\"id\": \"a\", \"n\": {\"x\": 0}}\n    ],\n    \"z\": {\"l\": []}\n}\n",
            &["l"],
            "{\n    \"v\": 1,\n    \"l\": [\n        {\"id\": \"a\", \"n\": {\"x\": 0}},\n        {\"id\": \"b\", \"n\": {\"x\": 1}}\n    ],\n    \"z\": {\"l\": []}\n}\n",
        );
        check(
            "{\r\n\t\"a\\u0062\": {\r\n\t\t\"l\": [\r\n\t\t\t{\r\n\t\t\t\t\"id\": 1\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}",
            &["ab", "l"],
            "{\r\n\t\"a\\u0062\": {\r\n\t\t\"l\": [\r\n\t\t\t{\r\n\t\t\t\t\"id\": 1\r\n\t\t\t},\r\n\t\t\t{\r\n\t\t\t\t\"id\": \"b\",\r\n\t\t\t\t\"n\": {\r\n\t\t\t\t\t\"x\": 1\r\n\t\t\t\t}\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}",
        );
    }

    #[test]
    fn an_empty_list_opens_up() {
        check(
            "{\n  \"l\": []\n}\n",
            &["l"],
            "{\n  \"l\": [\n    {\n      \"id\": \"b\",\n      \"n\": {\n        \"x\": 1\n      }\n    }\n  ]\n}\n",
        );
    }

    #[test]
    fn what_stands_between_two_elements_is_repeated() {
        check(
            r#"{"l":[{"id":"a"},{"id":"c"}]}"#,
            &["l"],
            r#"{"l":[{"id":"a"},{"id":"c"},{"id":"b","n":{"x":1}}]}"#,
        );
        check(
            r#"{"l":[]}"#,
            &["l"],
            r#"{"l":[{"id": "b", "n": {"x": 1}}]}"#,
        );
    }

    #[test]
    fn what_is_no_list_or_is_cut_off_has_no_end() {
        for text in [
            "",
            "{",
            "[",
            "{\"l\": 1}",
            "{\"l\": {}}",
            "{\"m\": []}",
            "{\"l\": [1, 2}",
            "{\"l\": [1]",
            "{\"l\": [1]} x",
            "{\"l\": [1,]}",
            "{\"l\": [\"\\",
            "{\"l\": [[}",
            "{\"l\"",
        ] {
            assert_eq!(append_point(text, &["l"]), None, "{text}");
        }
    }

    #[test]
    fn appending_says_the_same_as_patching() {
        let text = "{\"l\": [{\"id\": \"a\"}]}";
        let point = append_point(text, &["l"]).expect("a list");
        let element = parse("{\"id\": \"b\"}").root.expect("a document");
        let rendered = render_element(&element, &point);
        let spliced = format!(
            "{}{rendered}{}",
            &text[..point.offset],
            &text[point.offset..]
        );
        let wanted = parse(&spliced).root.expect("a document");
        let patched = patch(text, &wanted).expect("can be changed");
        assert!(same(&wanted, &parse(&patched).root.expect("a document")));
        assert_eq!(patched, spliced);
    }
}
