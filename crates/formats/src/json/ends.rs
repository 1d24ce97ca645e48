//! The ends of a large text: where a list begins and ends, without reading what
//! it holds.

use super::parse::{has_bom, parse};
use crate::ends::{TextEnds, WINDOW_BYTES};
use crate::tree::ValueNode;

/// The ends of a text with the list `key` at its top: up to the first element, and
/// the last elements of [`WINDOW_BYTES`] with all that follows.
///
/// Looks at brackets, quotes and keys, in one pass and without a tree; what stands
/// within values is not checked. `None` where nothing would be left out or too
/// much stands around the list, when there is no such list, when a bracket is not
/// closed, or when something follows the document.
pub fn find_list_ends(text: &str, key: &str) -> Option<TextEnds> {
    let mut skimmer = Skimmer {
        bytes: text.as_bytes(),
        at: if has_bom(text) { 3 } else { 0 },
    };
    skimmer.skip_blanks();
    skimmer.enter_key(text, key)?;
    let elements = skimmer.skim_list()?;
    skimmer.skip_to_end()?;
    let (head, end) = (elements.first()?.0, elements.last()?.1);
    let is_far = |&&(start, _): &&(usize, usize)| end - start >= WINDOW_BYTES;
    let (tail, first) = *elements.iter().rev().find(is_far)?;
    TextEnds {
        head,
        tail,
        first: first - tail,
        open: Vec::new(),
    }
    .if_useful(text)
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

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, want: u8) -> Option<()> {
        (self.peek() == Some(want)).then(|| self.at += 1)
    }

    /// Goes to the value of `key` in the mapping that comes next.
    fn enter_key(&mut self, text: &str, key: &str) -> Option<()> {
        self.eat(b'{')?;
        self.skip_blanks();
        loop {
            let start = self.at;
            self.skip_string()?;
            let found = self.is_key(text.get(start..self.at)?, key);
            self.skip_blanks();
            self.eat(b':')?;
            self.skip_blanks();
            if found {
                return Some(());
            }
            self.skip_value()?;
            self.skip_blanks();
            self.eat(b',')?;
            self.skip_blanks();
        }
    }

    fn is_key(&self, quoted: &str, key: &str) -> bool {
        if quoted.contains('\\') {
            return parse(quoted).root.as_ref().and_then(ValueNode::as_str) == Some(key);
        }
        quoted.len() == key.len() + 2 && &quoted[1..quoted.len() - 1] == key
    }

    /// Where each element of the list that comes next begins and ends.
    fn skim_list(&mut self) -> Option<Vec<(usize, usize)>> {
        let mut elements = Vec::new();
        self.eat(b'[')?;
        self.skip_blanks();
        if self.eat(b']').is_some() {
            return Some(elements);
        }
        loop {
            let start = self.at;
            self.skip_value()?;
            elements.push((start, self.at));
            self.skip_blanks();
            if self.eat(b']').is_some() {
                return Some(elements);
            }
            self.eat(b',')?;
            self.skip_blanks();
        }
    }

    /// Goes over what is left of the mapping, to the end of the text.
    fn skip_to_end(&mut self) -> Option<()> {
        self.skip_blanks();
        while self.eat(b',').is_some() {
            self.skip_blanks();
            self.skip_string()?;
            self.skip_blanks();
            self.eat(b':')?;
            self.skip_blanks();
            self.skip_value()?;
            self.skip_blanks();
        }
        self.eat(b'}')?;
        self.skip_blanks();
        self.peek().is_none().then_some(())
    }

    fn skip_string(&mut self) -> Option<()> {
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
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth > 0 => self.at += 1,
                b'-' | b'0'..=b'9' | b'a'..=b'z' => self.skip_word(),
                _ => return None,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn skip_word(&mut self) {
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
    use super::*;

    fn list(count: usize) -> String {
        let element =
            |nth| format!("    {{\"id\": \"e-{nth:05}\", \"l\": [1, {{\"x\": \"y \\\" ]\"}}]}}");
        (0..count).map(element).collect::<Vec<_>>().join(",\n")
    }

    #[test]
    fn the_ends_are_the_beginning_and_the_last_elements() {
        let entries = list(1_000);
        let text =
            format!("{{\n  \"v\": 1,\n  \"entr\\u0069es\": [\n{entries}\n  ],\n  \"z\": 2\n}}\n");
        let ends = find_list_ends(&text, "entries").expect("ends");
        let short = ends.abridge(&text);
        assert!((WINDOW_BYTES..WINDOW_BYTES + 200).contains(&short.len()));
        assert!(short.starts_with("{\n  \"v\": 1,\n  \"entr\\u0069es\": [\n    {"));
        assert!(short.ends_with("]}\n  ],\n  \"z\": 2\n}\n"));
        let root = parse(&short);
        assert!(root.faults.is_empty());
        let first = &short[ends.head..ends.head + ends.first];
        assert!(parse(first).faults.is_empty(), "{first}");
    }

    #[test]
    fn a_text_without_such_a_list_or_with_much_around_it_has_no_ends() {
        let entries = list(1_000);
        let long = "x".repeat(WINDOW_BYTES * 9);
        for text in [
            format!("{{\"entries\": [{}]}}", list(10)),
            format!("{{\"other\": [{entries}]}}"),
            format!("{{\"entries\": [{entries}]"),
            format!("{{\"entries\": [{entries}]}} x"),
            format!("{{\"a\": \"{long}\", \"entries\": [{entries}]}}"),
            format!("{{\"entries\": [{entries}], \"z\": \"{long}\"}}"),
            "{\"entries\": []}".to_owned(),
            "{\"entries\": {}}".to_owned(),
        ] {
            assert_eq!(find_list_ends(&text, "entries"), None);
        }
    }
}
