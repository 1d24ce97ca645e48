use super::super::{parse as parse_json, render};
use super::*;

fn tree(text: &str) -> ValueNode {
    parse_json(text).root.expect("a document")
}

#[track_caller]
fn check(text: &str, wanted: &str, expect: &str) {
    let patched = patch(text, &tree(wanted)).expect("can be changed");
    assert_eq!(patched, expect);
}

#[test]
fn what_says_it_already_keeps_every_byte() {
    let text = "\u{feff}{ \"b\" :1.00,\r\n\t\"a\":[ ],\"c\":\"\\u0041\" }";
    assert_eq!(patch(text, &tree(text)).expect("can be changed"), text);
    check(text, r#"{"a":[],"b":1.00,"c":"A"}"#, text);
}

#[test]
fn a_value_is_changed_where_it_stands() {
    check(
        "{\n\t\"a\": 1.0,\n\t\"b\": \"x\"}\n",
        r#"{"a": 1.0, "b": "y\n"}"#,
        "{\n\t\"a\": 1.0,\n\t\"b\": \"y\\n\"}\n",
    );
}

#[test]
fn a_new_key_comes_behind_the_key_that_it_follows() {
    check(
        "{\r\n    \"a\": 1,\r\n    \"z\": 2\r\n}",
        r#"{"first": 0, "a": 1, "b": {"c": [1]}, "z": 2, "last": []}"#,
        "{\r\n    \"first\": 0,\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"c\": [\r\n            1\r\n        ]\r\n    },\r\n    \"z\": 2,\r\n    \"last\": []\r\n}",
    );
}

#[test]
fn a_key_that_is_not_wanted_goes_with_its_comma() {
    let text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n";
    check(
        text,
        r#"{"b": 2, "c": 3}"#,
        "{\n  \"b\": 2,\n  \"c\": 3\n}\n",
    );
    check(
        text,
        r#"{"a": 1, "c": 3}"#,
        "{\n  \"a\": 1,\n  \"c\": 3\n}\n",
    );
    check(text, r#"{"a": 1}"#, "{\n  \"a\": 1\n}\n");
    check(text, r#"{"d": 1}"#, "{\n  \"d\": 1\n}\n");
    check(text, r"{}", "{}\n");
    check("{}\n", r#"{"a": 1}"#, "{\n  \"a\": 1\n}\n");
}

#[test]
fn an_element_with_an_id_is_put_in_without_touching_the_others() {
    let text = "[\n  {\"id\": 1, \"n\": 1.0},\n  { \"id\": 2 }\n]\n";
    check(
        text,
        r#"[{"id": 1, "n": 1.0}, {"id": 7, "n": 0}, {"id": 2}]"#,
        "[\n  {\"id\": 1, \"n\": 1.0},\n  {\"id\": 7, \"n\": 0},\n  { \"id\": 2 }\n]\n",
    );
    check(
        text,
        r#"[{"id": 2}, {"id": 1, "n": 1.0}]"#,
        "[\n  { \"id\": 2 },\n  {\"id\": 1, \"n\": 1.0}\n]\n",
    );
    check(
        text,
        r#"[{"id": 2, "x": 1}]"#,
        "[\n  { \"id\": 2, \"x\": 1 }\n]\n",
    );
}

#[test]
fn lists_without_ids_are_matched_from_both_ends() {
    check("[1, 2, 3]", "[1, 9, 2, 3]", "[1, 9, 2, 3]");
    check("[1,2,3]", "[1,3]", "[1,3]");
    check("[1,2,3]", "[0,1,2,3,4]", "[0,1,2,3,4]");
    check("[ 1 ]", "[1,2]", "[ 1, 2 ]");
    check("[[1,2],[3]]", "[[1,2],[3,4]]", "[[1,2],[3,4]]");
}

#[test]
fn what_is_new_looks_like_its_like() {
    let text = r#"{
  "runs": [
    {
      "tokens": { "in": 1, "out": 2 },
      "tags": ["a"]
    }
  ],
  "empty": []
}"#;
    let wanted = r#"{"runs":[{"tokens":{"in":1,"out":2},"tags":["a"]},{"tokens":{"in":3,"out":4},"tags":["b","c"]}],"empty":["x"]}"#;
    check(
        text,
        wanted,
        r#"{
  "runs": [
    {
      "tokens": { "in": 1, "out": 2 },
      "tags": ["a"]
    },
    {
      "tokens": { "in": 3, "out": 4 },
      "tags": ["b", "c"]
    }
  ],
  "empty": ["x"]
}"#,
    );
}

#[test]
fn a_dense_file_stays_dense() {
    check(
        r#"{"a":{"b":1}}"#,
        r#"{"a":{"b":1,"c":[1,{"d":2}]},"e":{"f":{}}}"#,
        r#"{"a":{"b":1,"c":[1,{"d":2}]},"e":{"f":{}}}"#,
    );
}

#[test]
fn a_text_with_a_fault_is_not_changed() {
    let wanted = tree("{}");
    for text in ["", "{", "[1,]", "{\"a\":1,\"a\":2}", "{} x"] {
        let refused = patch(text, &wanted);
        assert!(
            matches!(refused, Err(JsonPatchError::Unreadable(_))),
            "{text}"
        );
    }
}

#[test]
fn a_tree_that_no_text_can_say_is_refused() {
    let twice = ValueNode::map([("a", ValueNode::bool(true)), ("a", ValueNode::bool(false))]);
    assert_eq!(patch("{}", &twice), Err(JsonPatchError::Differs));
    let mut deep = ValueNode::plain("1");
    for _ in 0..=DEPTH_MAX {
        deep = ValueNode::seq(vec![deep]);
    }
    assert_eq!(patch("[]", &deep), Err(JsonPatchError::TooDeep));
}

#[test]
fn a_date_of_yaml_is_written_as_a_string() {
    let wanted = crate::yaml::parse("{a: 2026-01-15, b: ~, c: 0x10}\n").root;
    let patched = patch("{\"c\":16}", &wanted.expect("a document"));
    assert_eq!(
        patched.expect("can be changed"),
        "{\"a\":\"2026-01-15\",\"b\":null,\"c\":16}"
    );
    assert_eq!(render(&tree("[]")), "[]\n");
}
