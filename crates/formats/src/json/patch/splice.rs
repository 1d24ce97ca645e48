//! Elements taken out of a collection and put into it, with their commas.

use std::collections::BTreeMap;

use super::super::byte_edit::ByteEdit;
use super::super::emit::JsonPosition;
use super::super::style::JsonStyle;
use crate::tree::Span;

/// What is to become of the elements of one collection that is not empty.
pub(super) struct Splice {
    bracket: Span,
    spans: Vec<(usize, usize)>,
    kept: Vec<bool>,
    /// What comes before all (0) or behind the element at an index less one.
    inserts: BTreeMap<usize, Vec<String>>,
}

impl Splice {
    /// Nothing stays until it is said to.
    pub(super) fn new(bracket: Span, spans: Vec<(usize, usize)>) -> Self {
        let kept = vec![false; spans.len()];
        Self {
            bracket,
            spans,
            kept,
            inserts: BTreeMap::new(),
        }
    }

    pub(super) fn mark_kept(&mut self, index: usize) {
        self.kept[index] = true;
    }

    /// Puts in `text` behind the element at `after`, which stays, or before all.
    pub(super) fn insert(&mut self, after: Option<usize>, text: String) {
        let slot = after.map_or(0, |index| index + 1);
        self.inserts.entry(slot).or_default().push(text);
    }

    /// Notes the edits.
    pub(super) fn push_edits(
        self,
        text: &str,
        form: &JsonStyle<'_>,
        inner: &JsonPosition<'_>,
        edits: &mut Vec<ByteEdit>,
    ) {
        if self.inserts.is_empty() && self.kept.iter().all(|kept| *kept) {
            return;
        }
        let separator = self.separator(text, form, inner);
        let Some(first_kept) = self.kept.iter().position(|kept| *kept) else {
            return self.replace_all(&separator, edits);
        };
        for (slot, texts) in &self.inserts {
            edits.push(self.insertion_edit(*slot, texts, &separator, first_kept));
        }
        self.push_removals(edits);
    }

    fn insertion_edit(
        &self,
        slot: usize,
        texts: &[String],
        separator: &str,
        first: usize,
    ) -> ByteEdit {
        let mut out = String::new();
        for text in texts {
            if slot == 0 {
                out.push_str(text);
                out.push_str(separator);
            } else {
                out.push_str(separator);
                out.push_str(text);
            }
        }
        let at = match slot.checked_sub(1) {
            None => self.spans[first].0,
            Some(index) => self.spans[index].1,
        };
        ByteEdit {
            start: at,
            end: at,
            text: out,
        }
    }

    fn push_removals(&self, edits: &mut Vec<ByteEdit>) {
        let mut from = 0;
        while let Some(start) = (from..self.spans.len()).find(|index| !self.kept[*index]) {
            let behind = (start..self.spans.len()).find(|index| self.kept[*index]);
            let (start, end) = match behind {
                // With the comma behind them, or, at the end, the one before.
                Some(behind) => (self.spans[start].0, self.spans[behind].0),
                None => (self.spans[start - 1].1, self.spans[self.spans.len() - 1].1),
            };
            edits.push(ByteEdit {
                start,
                end,
                text: String::new(),
            });
            from = behind.unwrap_or(self.spans.len());
        }
    }

    /// Nothing stays: what comes takes the place of all that was.
    fn replace_all(self, separator: &str, edits: &mut Vec<ByteEdit>) {
        let texts: Vec<String> = self.inserts.into_values().flatten().collect();
        edits.push(ByteEdit {
            start: self.spans[0].0,
            end: self.spans[self.spans.len() - 1].1,
            text: texts.join(separator),
        });
    }

    /// What stands between two elements, with the comma.
    fn separator(&self, text: &str, form: &JsonStyle<'_>, inner: &JsonPosition<'_>) -> String {
        let gap = |index: usize| &text[self.spans[index].1..self.spans[index + 1].0];
        match self.spans.len() {
            0 | 1 if inner.inline => form.comma.to_owned(),
            0 | 1 => {
                let head = &text[self.bracket.start + 1..self.spans[0].0];
                let blank = head
                    .rfind('\n')
                    .map_or(0, |at| at - usize::from(head[..at].ends_with('\r')));
                format!(",{}", &head[blank..])
            }
            // A blank line between two groups is no habit.
            len => {
                let (first, last) = (gap(0), gap(len - 2));
                let shorter = if first.len() < last.len() {
                    first
                } else {
                    last
                };
                shorter.to_owned()
            }
        }
    }
}
