use super::*;
use crate::tree::ValueNode;

static PART: NamedShape = NamedShape {
    name: "Part",
    shape: Shape::Map(
        &[
            FieldShape::required("kind", Shape::one_of(&["blocker", "finding", "completion"])),
            FieldShape::optional("parts", Shape::List(&Shape::Named(&PART))),
        ],
        OtherKeys::Closed,
    ),
};

static WHOLE: Shape = Shape::Map(
    &[
        FieldShape::required("version", Shape::Text(TextShape::Pattern(Pattern::Version)))
            .with_about("The version of the format"),
        FieldShape::optional("at", Shape::DATE_TIME),
        FieldShape::optional("count", Shape::Integer { min: Some(1) }),
        FieldShape::optional("share", Shape::Number { min: None }),
        FieldShape::optional("ready", Shape::Bool),
        FieldShape::optional(
            "name",
            Shape::Either(&[Shape::Text(TextShape::NotEmpty), Shape::Null]),
        ),
        FieldShape::optional("parts", Shape::List(&Shape::Named(&PART))),
        FieldShape::optional("repos", Shape::Each(&Shape::Map(&[], OtherKeys::Open))),
    ],
    OtherKeys::Closed,
);

fn told(root: &ValueNode) -> String {
    let lines: Vec<String> = check(root, &WHOLE, "f", "whole")
        .into_iter()
        .map(|p| {
            format!(
                "{}:{} {}: {} [{}] {}",
                p.line, p.column, p.path, p.message, p.code, p.hint
            )
        })
        .collect();
    lines.join("\n")
}

#[track_caller]
fn json(text: &str) -> ValueNode {
    crate::json::parse(text).root.expect("a document")
}

#[test]
fn every_problem_is_told_with_its_path_and_what_is_allowed() {
    let root = json(
        r#"{"versoin": 1, "at": "2026-01-15 10:00", "count": 0, "share": 1e400,
"ready": "yes", "name": "", "parts": [{"kind": "x"}, {"kind": "Finding", "parts": [7, {}]}],
"repos": {"a": {"any": 1}, "b": [1]}}"#,
    );
    insta::assert_snapshot!(told(&root), @r##"
    1:2 whole.versoin: unknown key "versoin" [UNKNOWN_KEY] write one of `version`, `at`, `count`, `share`, `ready`, `name`, `parts`, `repos`
    1:2 whole.version: missing key "version" [MISSING_KEY] add it: a text such as "1.0"
    1:22 whole.at: invalid value "2026-01-15 10:00" [INVALID_VALUE] write a time with its zone, such as "2026-01-15T10:30:00Z"
    1:51 whole.count: invalid value 0 [INVALID_VALUE] write a whole number, 1 or more
    1:63 whole.share: number out of range 1e400 [NUMBER_OUT_OF_RANGE] write a number
    2:10 whole.ready: invalid value "yes" [WRONG_TYPE] write `true` or `false`
    2:25 whole.name: invalid value "" [INVALID_VALUE] write a text that is not empty
    2:48 whole.parts[0].kind: invalid value "x" [INVALID_VALUE] write one of `blocker`, `finding`, `completion`
    2:63 whole.parts[1].kind: invalid value "Finding" [INVALID_VALUE] write one of `finding`, `blocker`, `completion`
    2:84 whole.parts[1].parts[0]: invalid value 7 [WRONG_TYPE] write a mapping
    2:87 whole.parts[1].parts[1].kind: missing key "kind" [MISSING_KEY] add it: one of `blocker`, `finding`, `completion`
    3:33 whole.repos.b: invalid value: a list [WRONG_TYPE] write a mapping
    "##);
}

#[test]
fn a_yaml_document_is_checked_alike() {
    let text = "version: '1.0'\nat: 2026-01-15T10:00:00Z\nname: ~\nready: True\ncount: 3\n";
    let root = crate::yaml::parse(text).root.expect("a document");
    assert_eq!(told(&root), "");
}

#[test]
fn a_time_has_a_zone() {
    for text in [
        "2026-01-15T10:00:00Z",
        "2026-01-15t10:00:00.123456789012z",
        "2026-01-15T10:00:00-03:30",
        "2024-02-29T23:59:59+00:00",
    ] {
        assert!(is_date_time(text), "{text}");
    }
    for text in [
        "",
        "Z",
        "2026-01-15",
        "2026-01-15T10:00:00",
        "2026-01-15 10:00:00Z",
        "2026-02-29T10:00:00Z",
        "2026-01-15T24:00:00Z",
        "2026-01-15T10:00Z",
        "2026-01-15T10:00:00.Z",
        "2026-01-15T10:00:00+0200",
        "2026-01-15T10:00:00+24:00",
        "2026-01-15T10:00:00Zé",
        "é026-01-15T10:00:00Z",
        "+002026-01-15T10:00:00Z",
    ] {
        assert!(!is_date_time(text), "{text}");
    }
}

#[test]
fn versions_compare_as_numbers() {
    let version = |text: &str| FormatVersion::parse(text).expect("a version");
    assert!(version("10.0") > version("2.0"));
    assert!(version("1.10").check_readable().is_ok());
    assert!(version("2.0").check_readable().is_err());
    assert!(version("99999999999999999999.0").check_readable().is_err());
    assert_eq!(version("1"), FormatVersion::CURRENT);
    for text in ["", "1.", ".1", "v1", "1.x", "-1.0", "1.0.beta"] {
        assert_eq!(FormatVersion::parse(text), None, "{text}");
    }
}

#[test]
fn a_pattern_and_its_expression_say_the_same() {
    let pieces = [
        "",
        "1",
        "0007",
        ".",
        "-",
        "a",
        "A",
        "learning-",
        "pattern-",
        "2026-01-15",
        "/",
        "#",
        "é",
        "\n",
    ];
    for pattern in [
        Pattern::Version,
        Pattern::EntryId,
        Pattern::LearningId,
        Pattern::PatternId,
        Pattern::RunId,
        Pattern::PullRequest,
    ] {
        assert!(pattern.is_match(pattern.example()));
        let schema = serde_json::json!({"pattern": pattern.regex()});
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let text = format!("{a}{b}{c}{d}");
                        let value = serde_json::Value::String(text.clone());
                        assert_eq!(
                            pattern.is_match(&text),
                            validator.is_valid(&value),
                            "{text:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_schema_says_what_the_table_says() {
    let schema = json_schema(&WHOLE, "https://example.org/whole.json", "Whole");
    assert!(jsonschema::meta::is_valid(&schema));
    insta::assert_snapshot!(schema.to_string(), @r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.org/whole.json","title":"Whole","type":"object","required":["version"],"additionalProperties":false,"properties":{"version":{"description":"The version of the format","type":"string","pattern":"^\\d+\\.\\d+$"},"at":{"type":"string","format":"date-time"},"count":{"type":"integer","minimum":1},"share":{"type":"number"},"ready":{"type":"boolean"},"name":{"anyOf":[{"type":"string","minLength":1},{"type":"null"}]},"parts":{"type":"array","items":{"$ref":"#/$defs/Part"}},"repos":{"type":"object","additionalProperties":{"type":"object","properties":{}}}},"$defs":{"Part":{"type":"object","required":["kind"],"additionalProperties":false,"properties":{"kind":{"type":"string","enum":["blocker","finding","completion"]},"parts":{"type":"array","items":{"$ref":"#/$defs/Part"}}}}}}"##);
}
