//! `{{name.property}}` in prompts.
//!
//! Variables are filled in in four rounds: `item`, the type of the item,
//! `phase`, `sprint`. A later round sees what an earlier one put in, so that
//! the prompt of an item may itself name `{{phase.id}}`.

use super::field::to_text;
use crate::yaml::ValueNode;

/// What the variables stand for.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) item: Option<ItemScope<'s>>,
    pub(super) phase: Option<(&'s str, usize)>,
    pub(super) sprint_id: &'s str,
    /// A sprint without a name leaves `{{sprint.name}}` as it is.
    pub(super) sprint_name: Option<&'s str>,
}

/// An element of a collection.
#[derive(Clone, Copy)]
pub(super) struct ItemScope<'s> {
    pub(super) node: &'s ValueNode,
    pub(super) id: &'s str,
    pub(super) index: usize,
    /// The word after `for-each`.
    pub(super) kind: &'s str,
    /// The collection it stands in.
    pub(super) collection: &'s str,
}

impl ItemScope<'_> {
    /// The text for a property; one that the item does not have is empty.
    fn property(&self, name: &str) -> String {
        match name {
            "id" => self.id.to_owned(),
            "index" => self.index.to_string(),
            "type" => self.kind.to_owned(),
            _ => self.node.get(name).map(to_text).unwrap_or_default(),
        }
    }
}

/// Fills in the variables of `template`.
pub(super) fn substitute(template: &str, scope: &Scope<'_>) -> String {
    let mut text = template.to_owned();
    if let Some(item) = &scope.item {
        text = replace_variables(text, "item", |name| Some(item.property(name)));
        if item.kind != "item" {
            text = replace_variables(text, item.kind, |name| Some(item.property(name)));
        }
    }
    if let Some((id, index)) = scope.phase {
        text = replace_variables(text, "phase", |name| match name {
            "id" => Some(id.to_owned()),
            "index" => Some(index.to_string()),
            _ => None,
        });
    }
    replace_variables(text, "sprint", |name| match name {
        "id" => Some(scope.sprint_id.to_owned()),
        "name" => scope.sprint_name.map(str::to_owned),
        _ => None,
    })
}

/// Replaces each `{{<owner>.<word>}}` for which there is a value.
fn replace_variables(text: String, owner: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        at += found;
        let replacement =
            parse_variable(&text[at..], owner).and_then(|(word, len)| Some((value(word)?, len)));
        match replacement {
            Some((value, len)) => {
                out.push_str(&text[copied..at]);
                out.push_str(&value);
                at += len;
                copied = at;
            }
            // One brace on: `{{{item.id}}` has its variable at the second.
            None => at += 1,
        }
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}

/// The word of a variable at the start of `text`, and its length in all.
fn parse_variable<'t>(text: &'t str, owner: &str) -> Option<(&'t str, usize)> {
    let rest = text.strip_prefix("{{")?.strip_prefix(owner)?;
    let rest = rest.strip_prefix('.')?;
    let len = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
        .count();
    let closed = len > 0 && rest[len..].starts_with("}}");
    closed.then(|| (&rest[..len], 2 + owner.len() + 1 + len + 2))
}

/// The variables that nothing filled in, as they stand in the text.
pub(super) fn unresolved_variables(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("{{") {
        let start = at + found;
        let inner = &text[start + 2..];
        let len = inner.find('}').unwrap_or(inner.len());
        if len > 0 && inner[len..].starts_with("}}") {
            at = start + 2 + len + 2;
            out.push(&text[start..at]);
        } else {
            at = start + 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> ValueNode {
        ValueNode::map([
            (
                "prompt",
                ValueNode::string("do {{phase.id}} for {{sprint.id}}"),
            ),
            (
                "tags",
                ValueNode::seq(vec![ValueNode::string("a"), ValueNode::string("b")]),
            ),
            ("done", ValueNode::plain("True")),
            ("commit", ValueNode::plain("6673e79")),
        ])
    }

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let node = node();
        let scope = Scope {
            item: Some(ItemScope {
                node: &node,
                id: "step-0",
                index: 0,
                kind: "step",
                collection: "step",
            }),
            phase: Some(("build", 2)),
            sprint_id: "s1",
            sprint_name: Some("$& name"),
        };
        assert_eq!(substitute(template, &scope), expect);
    }

    #[test]
    fn variables_are_filled_in() {
        check(
            "{{item.id}} {{step.index}} {{phase.index}} {{sprint.name}}",
            "step-0 0 2 $& name",
        );
        check("{{item.prompt}}", "do build for s1");
        check(
            "{{item.tags}} {{item.done}} {{item.commit}}",
            "a,b true 6673e79",
        );
        check("[{{item.nothing}}]", "[]");
        check("{{{item.id}}}", "{step-0}");
    }

    #[test]
    fn what_is_no_variable_stays() {
        check(
            "{{ item.id }} {{phase.name}} {{other.id}}",
            "{{ item.id }} {{phase.name}} {{other.id}}",
        );
        check("{{item.depends-on}} {{", "{{item.depends-on}} {{");
    }

    #[test]
    fn what_is_left_over_is_found() {
        assert_eq!(
            unresolved_variables("a {{x.y}} {{}} {{ z\n}} {{{w}} {{v}"),
            ["{{x.y}}", "{{ z\n}}", "{{{w}}"]
        );
        assert!(unresolved_variables("plain").is_empty());
    }
}
