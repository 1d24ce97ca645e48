use piton_core::RunId;
use piton_core::evidence::WeakenedProof;

use super::layout::layout_of_root;
use super::passes::{items_mut, write_passes};
use super::*;
use crate::problem::SourceText;
use crate::tree::ValueNode;

fn told(text: &str) -> String {
    let (_, problems) = parse_prd(SourceText {
        name: "prd.json",
        text,
    });
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{problem} {}", problem.path))
        .collect();
    lines.join("\n")
}

#[track_caller]
fn prd(text: &str) -> Prd {
    let (prd, problems) = parse_prd(SourceText {
        name: "prd.json",
        text,
    });
    assert!(problems.is_empty(), "{problems:#?}");
    prd.expect("a list")
}

const FEATURES: &str = r#"{
  "features": [
    {"id": "base", "description": "Lay the ground", "steps": ["dig", "pour"], "passes": true, "notes": ""},
    {"id": 7, "description": "Build", "steps": [], "passes": false, "may_depend_on": ["base"],
     "verification": {"tests": ["make test"], "build": "make", "custom": []}, "verificationCommands": ["./look"]}
  ],
  "verification": "make lint"
}
"#;

const STORIES: &str = r#"{
	"project": "Shop",
	"branchName": "ralph/shop",
	"userStories": [
		{
			"id": "US-001",
			"title": "Cart",
			"description": "As a buyer",
			"acceptanceCriteria": ["It adds", "It sums"],
			"priority": 1,
			"passes": false,
			"notes": "",
			"labels": ["x"]
		}
	]
}"#;

#[test]
fn features_are_read_in_order_with_their_commands() {
    let prd = prd(FEATURES);
    assert_eq!(prd.layout, PrdLayout::Features);
    assert_eq!(prd.verification, ["make lint"]);
    let [base, build] = prd.items.as_slice() else {
        panic!("two items: {:?}", prd.items);
    };
    assert_eq!((base.id.as_str(), base.passes), ("base", Some(true)));
    assert_eq!(base.steps, ["dig", "pour"]);
    assert_eq!(build.id, "7");
    assert_eq!(build.depends_on, ["base"]);
    assert_eq!(build.verification, ["make test", "make", "./look"]);
}

#[test]
fn user_stories_are_read_with_their_criteria() {
    let prd = prd(STORIES);
    assert_eq!(prd.layout, PrdLayout::UserStories);
    assert_eq!(prd.branch_name.as_deref(), Some("ralph/shop"));
    assert_eq!(prd.items[0].criteria, ["It adds", "It sums"]);
    assert_eq!(prd.items[0].priority, Some(1.0));
}

#[test]
fn a_list_in_another_place_is_read_and_its_marks_are_set() {
    let item = r#"{"id": 1, "title": "Cart", "dependencies": [2], "passes": false}"#;
    let other = r#"{"id": 2, "title": "Base", "passes": true}"#;
    for (before, after) in [
        (r#"{"branch_name": "b", "stories": ["#, "]}"),
        (r#"{"branch_name": "b", "tasks": ["#, "]}"),
        ("[", "]"),
    ] {
        let text = format!("{before}{item}, {other}{after}");
        let prd = prd(&text);
        let ids: Vec<&str> = prd.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["1", "2"]);
        assert_eq!(prd.items[0].depends_on, ["2"]);
        assert_eq!(prd.branch_name.is_some(), before.contains("branch_name"));
        let set = set_passes(&text, "1", true);
        assert_eq!(set, text.replace("\"passes\": false", "\"passes\": true"));
    }
    let twice = r#"[{"id": "a", "passes": true}, {"id": "a"}]"#;
    assert!(
        told(twice).contains("DUPLICATE_ID] [1].id"),
        "{}",
        told(twice)
    );
    let broken = told(r#"[{"id": "a\nb", "passes": true}]"#);
    assert!(broken.contains("CONTROL_IN_ID] [0].id"), "{broken}");
    assert!(broken.contains(r"`a\nb`"), "{broken}");
}

#[test]
fn what_proof_is_worth_for_a_story_is_read() {
    let text = STORIES.replace(
        "\"labels\": [\"x\"]",
        "\"claims\": {\"weakened\": \"note\"}",
    );
    let claims = prd(&text).items[0].claims;
    assert_eq!(claims.weakened, Some(WeakenedProof::Note));
    assert_eq!((claims.changed, claims.word), (None, None));
    let slip = text.replace("weakened", "weekend");
    let keys = crate::shape::compare_keys(
        &crate::json::parse(&slip).root.expect("JSON"),
        &USER_STORIES_SHAPE,
    );
    let told: Vec<String> = keys.unknown.iter().map(ToString::to_string).collect();
    assert!(
        told.contains(&"the key `weekend` is not known; `weakened` is".to_owned()),
        "{told:?}"
    );
}

#[test]
fn all_that_is_wrong_is_told() {
    let text = r#"{"features": [
  {"id": "a", "depends_on": ["b", "gone"], "passes": "yes"},
  {"id": "b", "dependsOn": ["a"], "steps": ["x", {}]},
  {"id": "a"}, {"title": "none"}, {"id": null}, 5]}"#;
    insta::assert_snapshot!(told(text), @r##"
    prd.json:2:29: warning: `a` depends on `gone`, which is not there [MISSING_REFERENCE] features[0].depends_on
    prd.json:2:29: error: items depend on each other: `a` on `b` on `a` [CYCLE_DETECTED] features[0].depends_on
    prd.json:2:54: error: `passes` must be `true` or `false`, not the string `yes` [WRONG_TYPE] features[0].passes
    prd.json:3:50: error: a text belongs here, not a mapping [WRONG_TYPE] features[1].steps[1]
    prd.json:4:10: error: a second item is called `a`; the first is in line 2 [DUPLICATE_ID] features[2].id
    prd.json:4:16: error: an item without an id [MISSING_ID] features[3].id
    prd.json:4:35: error: an item without an id [MISSING_ID] features[4].id
    prd.json:4:49: error: an item is a mapping, not the number 5 [WRONG_TYPE] features[5]
    "##);
}

#[test]
fn what_is_no_list_is_named_and_left_alone() {
    let cases = [
        ("", PrdLayout::Empty),
        ("[", PrdLayout::Unreadable),
        (r#"{"features": []}"#, PrdLayout::Features),
        (r#"{"userStories": []}"#, PrdLayout::UserStories),
        (
            r#"{"stories": [{"passes": true}, {"id": 2}]}"#,
            PrdLayout::Requirements(PrdItemsLocation::Key("stories")),
        ),
        (
            r#"{"tasks": [{"passes": false}]}"#,
            PrdLayout::Requirements(PrdItemsLocation::Key("tasks")),
        ),
        (
            r#"[{"passes": false}]"#,
            PrdLayout::Requirements(PrdItemsLocation::Top),
        ),
        (
            r#"{"tasks": [{"id": 1, "status": "pending"}]}"#,
            PrdLayout::Foreign(vec!["`tasks`".to_owned()]),
        ),
        (
            r#"[{"passes": true}, 5]"#,
            PrdLayout::Foreign(vec!["a list".to_owned()]),
        ),
        (
            r#"{"version": "1", "id": "x-12ab", "title": "X", "status": "pending", "steps": []}"#,
            PrdLayout::Single,
        ),
        (
            r#"{"name": 1}"#,
            PrdLayout::Foreign(vec!["`name`".to_owned()]),
        ),
        ("[]", PrdLayout::Foreign(vec!["a list".to_owned()])),
    ];
    for (text, layout) in cases {
        assert_eq!(detect_layout(text), layout, "{text}");
        assert!(!layout.describe().is_empty());
    }
    assert!(told(r#"{"name": 1}"#).contains("NOT_A_PRD_LIST"));
}

/// The text with the mark of one item set, as a face of a run is written.
fn set_passes(text: &str, id: &str, passes: bool) -> String {
    let mut root = crate::json::parse(text).root.expect("JSON");
    let at = layout_of_root(&root).items_location().expect("a list");
    let items = items_mut(&mut root, at).iter_mut();
    let mut named = items.filter(|item| item.get("id").and_then(ValueNode::text) == Some(id));
    write_passes(named.next().expect("an item"), passes);
    crate::json::patch(text, &root).expect("can be changed")
}

#[test]
fn passing_is_written_where_it_stands() {
    let patched = set_passes(STORIES, "US-001", true);
    assert_eq!(
        patched,
        STORIES.replace("\"passes\": false", "\"passes\": true")
    );
    let patched = set_passes(FEATURES, "7", true);
    assert_eq!(
        patched,
        FEATURES.replace("\"passes\": false", "\"passes\": true")
    );
    let without = r#"{"features":[{"id":"a","notes":"n"}]}"#;
    assert_eq!(
        set_passes(without, "a", false),
        r#"{"features":[{"id":"a","passes":false,"notes":"n"}]}"#
    );
}

#[test]
fn the_files_that_a_story_is_about_are_its_scope() {
    for (keys, scope) in [
        (
            r#""related_files": ["src/a.rs", "docs/"]"#,
            vec!["src/a.rs", "docs/"],
        ),
        (r#""relatedFiles": "src""#, vec!["src"]),
        (
            r#""files": ["src", "tests"], "related_files": ["docs"]"#,
            vec!["docs", "src", "tests"],
        ),
        (r#""labels": ["x"]"#, vec![]),
    ] {
        let text = STORIES.replace("\"labels\": [\"x\"]", keys);
        let plan = super::plan_of_prd(&prd(&text), RunId::PROJECT, "a", "prd.json");
        let id = &prd(&text).items[0].id;
        let item = plan.items.iter().find(|item| item.id == *id);
        assert_eq!(item.expect("it is planned").scope.0, scope, "{keys}");
    }
}
