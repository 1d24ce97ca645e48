//! From text to the tree.

use super::build::try_parse;
use super::faults::find_unprintable;
use super::shallow;
use crate::conflict;
use crate::tree::ParsedTree;

/// Reads `text` as one YAML document.
///
/// A leading byte order mark and CRLF are accepted. A duplicate key, an
/// unknown tag or a second document is a fault, and reading goes on; a syntax
/// error ends it. The size of `text` is the caller's to bound.
pub fn parse(text: &str) -> ParsedTree {
    if let Some(fault) = find_unprintable(text) {
        return ParsedTree {
            root: None,
            faults: vec![fault],
        };
    }
    let (parsed, shallow) = try_parse(text);
    let parsed = shallow
        .and_then(|at| shallow::parse_indented(text, at))
        .unwrap_or(parsed);
    conflict::with_conflict_fault(parsed, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::ValueNode;

    #[track_caller]
    fn faults(text: &str) -> Vec<(u32, u32, String)> {
        parse(text)
            .faults
            .into_iter()
            .map(|fault| (fault.span.line, fault.span.column, fault.message))
            .collect()
    }

    #[test]
    fn a_duplicate_key_names_both_places() {
        assert_eq!(
            faults("a: 1\nb: 2\na: 3\n"),
            [(
                3,
                1,
                "the key `a` stands here a second time; the first is in line 1, column 1"
                    .to_owned()
            )]
        );
    }

    #[test]
    fn a_duplicate_among_many_keys_is_found() {
        let mut text: String = (0..100).map(|i| format!("k{i}: {i}\n")).collect();
        text.push_str("k3: again\nk99: again\n");
        assert_eq!(faults(&text).len(), 2);
    }

    #[test]
    fn what_follows_from_a_fault_is_no_fault_of_its_own() {
        for text in [
            "a:\n  - b: |\n      text\n: c: d\n  - e\n",
            "a: 1\n<<: b: c\n",
            "a: 1\n!x b: c\nd: e: f\n",
            "a: 1\n---\nb: 2\nc: 3\n  d: 4\n",
        ] {
            assert_eq!(faults(text).len(), 1, "{text}: {:?}", faults(text));
        }
        let far_apart = "a: 1\na: 2\nb: 3\nc: d: e\n";
        assert_eq!(faults(far_apart).len(), 2);
    }

    #[test]
    fn a_tab_is_called_a_tab() {
        assert_eq!(
            faults("a:\n\tb: 1\n")[0].2,
            "a tab where YAML allows only spaces"
        );
    }

    #[test]
    fn a_merge_gives_way_to_the_keys_of_the_mapping_itself() {
        let parsed = parse("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n");
        assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
        let root = parsed.root.expect("a document");
        let used = root.get("use").expect("present");
        assert_eq!(used.get("x").and_then(ValueNode::as_i64), Some(1));
        assert_eq!(used.get("y").and_then(ValueNode::as_i64), Some(3));
        assert_eq!(used.as_map().map(|map| map.pairs.len()), Some(2));
    }

    #[test]
    fn an_alias_bomb_is_stopped() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..30 {
            let refs = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
        }
        let parsed = parse(&text);
        assert!(parsed.root.is_none());
        assert!(parsed.faults[0].message.contains("aliases that add more"));
    }

    #[test]
    fn nesting_without_end_is_stopped() {
        for text in [
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "{a: ".repeat(100_000),
        ] {
            let parsed = parse(&text);
            assert!(parsed.root.is_none());
            assert_eq!(parsed.faults.len(), 1);
        }
    }

    #[test]
    fn a_byte_order_mark_and_crlf_are_accepted() {
        let parsed = parse("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n");
        assert!(parsed.faults.is_empty(), "{:?}", parsed.faults);
        let root = parsed.root.expect("a document");
        assert_eq!(root.get("a").and_then(ValueNode::as_i64), Some(1));
        assert_eq!(root.get("b").and_then(ValueNode::as_str), Some("x\ny\n"));
    }

    #[test]
    fn a_second_document_is_a_fault_and_the_first_is_kept() {
        let parsed = parse("a: 1\n---\nb: 2\n");
        assert_eq!(parsed.faults.len(), 1);
        assert!(parsed.root.expect("the first").get("a").is_some());
    }

    #[test]
    fn an_unquoted_template_is_a_mapping_with_a_mapping_for_key() {
        let parsed = parse("prompt: {{item.prompt}}\n");
        let root = parsed.root.expect("js-yaml reads it too");
        let prompt = root
            .get("prompt")
            .and_then(ValueNode::as_map)
            .expect("a mapping");
        assert!(prompt.pairs[0].0.is_collection);
    }

    #[test]
    fn control_characters_are_named_with_their_place() {
        assert_eq!(
            faults("a: ä\u{7}\n"),
            [(1, 5, "the control character U+0007".to_owned())]
        );
    }
}
