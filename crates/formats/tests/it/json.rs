//! JSON that is changed in place, for any text and any change.

use piton_formats::json::{
    Value, ValueNode, find_list_ends, is_same_json, parse, parse_stream, patch, render,
};
use piton_simkit::seed::cases;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

fn scalar() -> BoxedStrategy<ValueNode> {
    prop_oneof![
        "[ -~]{0,6}".prop_map(ValueNode::string),
        any::<String>().prop_map(ValueNode::string),
        select(vec![
            "1", "1.0", "1.00", "-0", "1e400", "-1.5E-3", "true", "false", "null"
        ])
        .prop_map(ValueNode::plain),
    ]
    .boxed()
}

/// Few keys and few ids, so that two documents have some in common.
fn document() -> BoxedStrategy<ValueNode> {
    scalar()
        .prop_recursive(4, 40, 5, |inner| {
            let ids = (btree_map(0..6_u8, inner.clone(), 0..5), any::<bool>());
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(ValueNode::seq),
                btree_map("[abcd]", inner, 0..5).prop_map(ValueNode::map),
                ids.prop_map(|(items, reverse)| by_id(items, reverse)),
            ]
        })
        .boxed()
}

fn by_id(items: std::collections::BTreeMap<u8, ValueNode>, reverse: bool) -> ValueNode {
    let mut items: Vec<ValueNode> = items
        .into_iter()
        .map(|(id, node)| {
            ValueNode::map([("id", ValueNode::string(format!("e{id}"))), ("n", node)])
        })
        .collect();
    if reverse {
        items.reverse();
    }
    ValueNode::seq(items)
}

/// How a file of somebody else is written.
#[derive(Clone, Copy, Debug)]
struct Look {
    newline: &'static str,
    unit: &'static str,
    colon: &'static str,
    /// Collections deeper than this stand on one line.
    inline_below: usize,
    pad: &'static str,
    bom: bool,
    end: &'static str,
}

fn look() -> impl Strategy<Value = Look> {
    (
        select(vec!["\n", "\r\n"]),
        select(vec!["  ", "    ", "\t", ""]),
        select(vec![": ", ":", " : "]),
        0..4_usize,
        select(vec!["", " "]),
        any::<bool>(),
        select(vec!["", "\n", "\n\n"]),
    )
        .prop_map(|(newline, unit, colon, inline_below, pad, bom, end)| Look {
            newline,
            unit,
            colon,
            inline_below,
            pad,
            bom,
            end,
        })
}

impl Look {
    fn write(&self, node: &ValueNode) -> String {
        let bom = if self.bom { "\u{feff}" } else { "" };
        format!("{bom}{}{}", self.value(node, 0), self.end)
    }

    fn value(&self, node: &ValueNode, depth: usize) -> String {
        match &node.value {
            Value::Scalar(_) => render(node).trim_end_matches('\n').to_owned(),
            Value::Seq(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1));
                self.frame(&items.collect::<Vec<_>>(), ('[', ']'), depth)
            }
            Value::Map(map) => {
                let pairs = map.iter().map(|(key, value)| {
                    let key = render(&ValueNode::string(&key.text));
                    let value = self.value(value, depth + 1);
                    format!("{}{}{value}", key.trim_end_matches('\n'), self.colon)
                });
                self.frame(&pairs.collect::<Vec<_>>(), ('{', '}'), depth)
            }
        }
    }

    fn frame(&self, items: &[String], (open, close): (char, char), depth: usize) -> String {
        if items.is_empty() || depth >= self.inline_below {
            return format!("{open}{}{}{}{close}", self.pad, items.join(", "), self.pad);
        }
        let line = format!("{}{}", self.newline, self.unit.repeat(depth + 1));
        let items = items.join(&format!(",{line}"));
        let end = format!("{}{}", self.newline, self.unit.repeat(depth));
        format!("{open}{line}{items}{end}{close}")
    }
}

fn read(text: &str) -> ValueNode {
    let parsed = parse(text);
    assert!(parsed.faults.is_empty(), "{text}\n{:?}", parsed.faults);
    parsed.root.unwrap()
}

/// How many bytes two texts share at the front and at the back.
fn shared(a: &str, b: &str) -> (usize, usize) {
    let front = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let room = a.len().min(b.len()) - front;
    let back = a.bytes().rev().zip(b.bytes().rev()).take(room);
    (front, back.take_while(|(a, b)| a == b).count())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_document_is_read_back(node in document()) {
        let text = render(&node);
        prop_assert_eq!(&read(&text), &node);
        let records = parse_stream(&format!("{text}{text}\n"));
        prop_assert_eq!(records.len(), 2);
        prop_assert!(records.iter().all(|record| record.root.as_ref() == Some(&node)));
    }

    #[test]
    fn any_text_is_made_to_say_any_document(have in document(), want in document(), look in look()) {
        let text = look.write(&have);
        prop_assert_eq!(&patch(&text, &read(&text)).unwrap(), &text);
        let patched = patch(&text, &want).unwrap();
        prop_assert!(is_same_json(&read(&patched), &want), "{}\n{}", text, patched);
        prop_assert_eq!(patched.starts_with('\u{feff}'), look.bom);
        prop_assert!(patched.ends_with(look.end));
        if look.newline == "\r\n" && look.inline_below > 0 && text.contains('\n') {
            prop_assert!(!patched.replace("\r\n", "").contains('\n') || look.end.contains('\n'));
        }
    }

    #[test]
    fn an_edit_changes_only_its_span(
        before in document(),
        (old, new) in (scalar(), scalar()),
        behind in document(),
        look in look(),
    ) {
        let with = |node: &ValueNode| ValueNode::map([
            ("before", before.clone()),
            ("x", ValueNode::seq(vec![before.clone(), node.clone(), behind.clone()])),
            ("behind", behind.clone()),
        ]);
        let text = look.write(&with(&old));
        let span = read(&text).get("x").and_then(ValueNode::as_seq).unwrap()[1].span;
        let patched = patch(&text, &with(&new)).unwrap();
        let (front, back) = shared(&text, &patched);
        prop_assert!(front >= span.start || patched == text);
        prop_assert!(text.len() - back <= span.end || patched == text);
    }

    #[test]
    fn what_is_put_into_a_list_with_ids_touches_nothing_else(
        items in btree_map(0..9_u8, scalar(), 1..8),
        at in 0..9_usize,
        look in look(),
    ) {
        let list = by_id(items, false);
        let text = look.write(&list);
        let mut wanted = list.as_seq().unwrap().to_vec();
        let at = at.min(wanted.len());
        let added = ValueNode::map([("id", ValueNode::string("new")), ("n", ValueNode::plain("1"))]);
        wanted.insert(at, added);
        let patched = patch(&text, &ValueNode::seq(wanted)).unwrap();
        let (front, back) = shared(&text, &patched);
        prop_assert_eq!(front + back, text.len(), "{}\n{}", text, patched);
    }
}

#[test]
fn a_large_file_is_skimmed_read_and_patched_in_one_pass() {
    let entry = "    {\"id\": \"e\", \"list\": [1, 2, {\"x\": \"y \\\" ]\"}]}";
    let entries = vec![entry; 60_000].join(",\n");
    let text = format!("{{\n  \"v\": 1,\n  \"entries\": [\n{entries}\n  ],\n  \"z\": 2\n}}\n");
    let ends = find_list_ends(&text, "entries").unwrap();
    let abridged = ends.abridge(&text);
    assert!(abridged.ends_with("\n  ],\n  \"z\": 2\n}\n"));
    assert!(abridged.len() < 9_000);
    read(&abridged);
    let wanted = read(&text.replace("\"v\": 1", "\"v\": 3"));
    assert_eq!(
        patch(&text, &wanted).unwrap(),
        text.replace("\"v\": 1", "\"v\": 3")
    );
}
