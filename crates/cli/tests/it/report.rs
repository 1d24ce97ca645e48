//! `piton report`: what came of a night, in one file.

mod browser;

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};

use crate::harness::{RUN, Running, Said, Scratch};

/// Of 40 items, 20 are done by their checks, 5 fail, 3 ask a person, and 12 wait for one of
/// these three. Some titles are no friends of what shows them.
pub(crate) fn night() -> Scratch {
    let title = |number: usize| match number {
        1 => "<script>document.title = 'gone'</script><img src=http://127.0.0.1:1/x>".to_owned(),
        2 => "\u{202e}reversed \u{1b}[31mred\u{7} [link](http://127.0.0.1:1/) | `code` | *x*"
            .to_owned(),
        3 => "W".repeat(400),
        21 => "</pre></style><style>*{display:none}</style>".to_owned(),
        _ => format!("Story number {number}"),
    };
    let story = |number: usize| {
        let id = format!("s{number:02}");
        let mut story = json!({
            "id": id,
            "title": title(number),
            "acceptanceCriteria": ["x"],
            "passes": false,
        });
        if number <= 20 {
            story["verification"] = json!(format!("test -e {id}.txt"));
        } else if number == 21 {
            story["verification"] =
                json!("printf '<b>red</b> ```\\033[31m\\n%0300d\\n' 0; echo last line; exit 1");
        } else if number > 28 {
            story["dependsOn"] = json!([format!("s{:02}", 26 + number % 3)]);
        }
        story
    };
    let stories: Vec<Value> = (1..=40).map(story).collect();
    let list = json!({"branchName": "night", "userStories": stories});
    let scratch = Scratch::new();
    scratch.write("prd.json", &list.to_string()).agent(
        r#"cat >/dev/null
usage='"usage":{"input_tokens":1200,"output_tokens":300,"cost_usd":0.125}'
case $PITON_ITEM in
s2[2-5]) echo '{"status":"failed","error":"no way to do <it>",'$usage'}'; exit 0;;
s2[678]) echo '{"status":"needs-human","humanNeeded":{"reason":"which <way>?"},'$usage'}'; exit 0;;
esac
echo $PITON_ITEM >$PITON_ITEM.txt
echo '{"status":"completed","summary":"did it",'$usage'}'"#,
    );
    let said = scratch.piton(&[
        "run",
        "prd.json",
        "--agent",
        "./agent.sh",
        "--model",
        "opus",
    ]);
    assert_eq!(said.exit, 3, "{}{}", said.out, said.err);
    scratch
}

#[track_caller]
fn done(said: &Said) -> &str {
    assert_eq!(said.exit, 0, "{}{}", said.out, said.err);
    &said.out
}

/// How often a heading of this number of items stands there.
fn has_list(text: &str, title: &str, count: usize) -> bool {
    text.contains(&format!("{title}: {count}"))
}

#[test]
fn forty_items_are_reported_as_status_counts_them() {
    let scratch = night();
    let report = scratch.json(&["report"]);
    let status = scratch.json(&["status"]);
    let run = &report["runs"][0];
    for key in ["nodes", "nodes_done", "nodes_failed", "nodes_waiting"] {
        let counted = &status["run"]["counters"][key];
        assert!(counted.as_u64() > Some(0), "{key}: {status}");
        assert_eq!(&run["counters"][key], counted, "{key}");
    }
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    assert_eq!(count(&run["done"]), 20, "{run}");
    for (list, expected) in [("failed", 5), ("waiting", 3), ("left", 12)] {
        assert_eq!(count(&run["account"][list]), expected, "{list}");
    }
    assert_eq!(
        count(&report["questions"]),
        count(&status["run"]["decisions"])
    );
    let of_check = run["done"].as_array().expect("a list").iter();
    assert!(
        of_check
            .into_iter()
            .all(|item| item["evidence"]["level"] == "check")
    );
    // What the attempts used adds up in every direction.
    let costs = scratch.json(&["status", "--costs"]);
    assert_eq!(run["costs"]["spend"], costs["run"]["spend"]);
    assert_eq!(run["costs"]["items"], costs["run"]["items"]);
    assert_eq!(run["costs"]["models"], costs["run"]["models"]);
    let hours = run["costs"]["hours"].as_array().expect("hours").iter();
    let attempts: u64 = hours
        .filter_map(|hour| hour["spend"]["attempts"].as_u64())
        .sum();
    assert_eq!(Some(attempts), costs["run"]["spend"]["attempts"].as_u64());
    assert_eq!(report["next"][0], "piton inbox");
    for format in ["md", "html"] {
        let said = scratch.piton(&["report", "--format", format]);
        let text = done(&said);
        for (title, count) in [("Failed", 5), ("Waiting", 3), ("Done", 20), ("Left", 12)] {
            assert!(has_list(text, title, count), "{format} {title}: {text}");
        }
        assert!(text.contains("last line"), "{text}");
    }
}

#[test]
fn what_titles_and_agents_say_is_text_in_each_form() {
    let scratch = night();
    let html = scratch.piton(&["report", "--format", "html"]);
    let html = done(&html);
    for markup in [
        "<script",
        "<img",
        "<b>",
        "</pre></style>",
        "<it>",
        "href",
        "src=http",
    ] {
        let escaped = markup.replace('<', "&lt;").replace('>', "&gt;");
        let is_shown = html.contains(&escaped) || markup == "href";
        assert!(is_shown, "{markup} is shown");
        let is_markup = markup.starts_with('<') && html.contains(markup);
        assert!(!is_markup, "{markup} is markup");
    }
    let markdown = scratch.piton(&["report"]);
    let markdown = done(&markdown);
    assert!(markdown.contains("\\<script\\>"), "{markdown}");
    assert!(markdown.contains("\\[link\\]"), "{markdown}");
    for text in [html, markdown] {
        let hidden = |c: char| c == '\u{202e}' || (c.is_control() && c != '\n');
        assert!(!text.contains(hidden), "{text}");
    }
}

#[test]
fn a_report_of_some_time_has_what_was_done_in_it_grouped_by_run() {
    let scratch = Scratch::new();
    scratch.agent(
        "cat >/dev/null; echo '{\"status\":\"completed\",\"summary\":\"did it\"}'; echo x >>made",
    );
    let list = |id: &str| {
        json!({"branchName": id, "userStories": [
            {"id": id, "title": "T", "acceptanceCriteria": ["x"], "passes": false, "verification": "true"}
        ]})
        .to_string()
    };
    for name in ["one", "two"] {
        scratch.write(&format!("{name}/prd.json"), &list(name));
        let plan = format!("{name}/prd.json");
        let said = scratch.piton(&["run", &plan, "--agent", "./agent.sh"]);
        done(&said);
    }
    let report = scratch.json(&["report", "--since", "1h"]);
    let runs = report["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 2, "{report}");
    for run in runs {
        assert_eq!(run["done"].as_array().map(Vec::len), Some(1), "{run}");
        // No program said what it used: this is unknown, and not nothing.
        assert_eq!(run["costs"]["spend"]["unknown"], 1, "{run}");
        assert_eq!(run["costs"]["spend"].get("cost_usd"), None);
    }
    let later = scratch.json(&["report", "--since", "2099-01-01"]);
    assert_eq!(later["runs"], json!([]));
    let last = scratch.json(&["report"]);
    assert_eq!(last["runs"].as_array().map(Vec::len), Some(1), "{last}");
    let said = scratch.piton(&["report", "--since", "1h"]);
    assert!(
        done(&said).contains("cost unknown; tokens unknown"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("$0"), "{}", said.out);
}

/// The report as it is printed, whatever folder the project is in.
fn shown(scratch: &Scratch) -> String {
    let path = scratch.path();
    let name = path.file_name().expect("a folder").to_string_lossy();
    scratch.shows(&["report"]).replace(&*name, "PROJECT")
}

#[test]
fn a_report_says_that_there_is_nothing_to_report() {
    let scratch = Scratch::new().with_fixed_clock();
    insta::assert_snapshot!(shown(&scratch), @r"
    # Report of PROJECT

    Made 2026-01-15 09:00 UTC.

    No run is recorded here. Start a plan with `piton run`.
    [exit 0]
    ");
    insta::assert_snapshot!(scratch.shows(&["report", "nothing"]), @r"
    error: there is no run `nothing`: nothing is recorded here [run.unknown]
    hint: begin one with `piton run PLAN`
    [exit 2]
    ");
    assert_eq!(scratch.json(&["report"])["runs"], json!([]));
}

#[test]
fn a_small_report_reads_well() {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.sprint("  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n");
    scratch.agent("[ $PITON_ITEM = build ] || { echo 'it does not compile'; exit 1; }");
    scratch.piton(RUN);
    insta::assert_snapshot!(shown(&scratch), @r"
    # Report of PROJECT

    Made 2026-01-15 09:00 UTC.

    **2026-01-15\_demo** **is blocked**: 2 nodes, **1 done**, **1 failed**; 0s of work; cost unknown; tokens unknown

    ## What to type next

    - `piton inbox`

    ## Waits for you

    ### **d1** 2026-01-15\_demo: test: test it

    \`test\` failed: what now? (since 2026-01-15 09:00 UTC)

    ```text
    it does not compile (exit status 1)
    considered:
    - not skip: nothing says that it was done already
    - manual: it has failed 3 times in a row: a person should look at it
    ```

    - `piton decide d1 retry`
    - `piton decide d1 answer --why '...'`
    - `piton decide d1 skip`

    ## Run 2026-01-15\_demo

    Plan `demo`, started 2026-01-15 09:00 UTC.

    it does not compile (exit status 1)

    ### Failed: 1

    **failed** **test** test it: it does not compile (exit status 1)

    - `piton decide d1 retry`
    - `piton transcript 2026-01-15_demo:test`

    ### Done: 1

    | Item | Proof | Attempts | Work | Cost |
    | --- | --- | --- | --- | --- |
    | **build** build it | **agent's word** | 1 | 0s | cost unknown |

    ### Cost and tokens, by hour

    | Hour | Attempts | Cost | Tokens |
    | --- | --- | --- | --- |
    | 2026-01-15 09:00 UTC | 4 | cost unknown | tokens unknown |

    ### By model

    | Model | Attempts | Cost | Tokens |
    | --- | --- | --- | --- |
    | model unknown | 4 | cost unknown | tokens unknown |

    ### By item

    | Item | Attempts | Cost | Tokens |
    | --- | --- | --- | --- |
    | build | 1 | cost unknown | tokens unknown |
    | test | 3 | cost unknown | tokens unknown |
    [exit 0]
    ");
}

#[test]
fn a_report_goes_into_a_file_that_is_new() {
    let scratch = Scratch::new();
    scratch.piton(&["add", "first"]);
    let write = ["report", "--format", "html", "--output", "night.html"];
    done(&scratch.piton(&write));
    let html = scratch.read("night.html");
    assert!(html.starts_with("<!doctype html>"), "{html}");
    let mode = fs::metadata(scratch.file("night.html")).map(|found| found.mode() & 0o777);
    assert_eq!(mode.ok(), Some(0o600), "it says what the store holds");
    let said = scratch.piton(&write);
    assert_eq!(said.exit, 1, "{}", said.err);
    assert!(said.err.contains("[file.exists]"), "{}", said.err);
    assert_eq!(scratch.read("night.html"), html);
    done(&scratch.piton(&["report", "--json", "--output", "night.json"]));
    let json: Value = serde_json::from_str(&scratch.read("night.json")).expect("JSON");
    assert_eq!(json["schema"], "piton.report/1");
}

/// A list of one story that is done at once.
fn one_story() -> Scratch {
    with_one_story(Scratch::new())
}

fn with_one_story(scratch: Scratch) -> Scratch {
    scratch.agent(
        "cat >/dev/null; echo x >>made; echo '{\"status\":\"completed\",\"summary\":\"did it\"}'",
    );
    let story = json!({"id": "a", "title": "T", "acceptanceCriteria": ["x"], "passes": false, "verification": "true"});
    let list = json!({"branchName": "one", "userStories": [story]});
    scratch.write("prd.json", &list.to_string());
    scratch
}

const RUN_LIST: &[&str] = &["run", "prd.json", "--agent", "./agent.sh"];

#[test]
fn a_run_that_ends_stores_its_report_and_names_it_in_a_line() {
    use std::os::unix::fs::PermissionsExt as _;

    let scratch = one_story();
    let said = scratch.piton(RUN_LIST);
    done(&said);
    let named = said
        .err
        .lines()
        .find_map(|line| line.strip_prefix("report: "));
    let path = scratch.file(named.expect("the report is named"));
    let mode = std::fs::metadata(&path).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let html = std::fs::read_to_string(&path).expect("it can be read");
    assert!(html.contains("1 done"), "{html}");
    // A run that is over makes none anew.
    std::fs::remove_file(&path).expect("it is removed");
    done(&scratch.piton(RUN_LIST));
    assert!(!path.exists());
    scratch.piton(&["reopen", "prd:a"]);
    let said = scratch.piton(&[RUN_LIST, &["--json"]].concat());
    let last = said.out.lines().last().unwrap_or_default();
    let account: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(
        scratch.file(account["report"].as_str().expect("a path")),
        path
    );
    assert!(path.exists());
}

#[test]
fn a_report_that_cannot_be_stored_changes_nothing_of_the_run() {
    let scratch = one_story();
    scratch.piton(&["add", "first"]);
    std::fs::write(scratch.home().join("reports"), "mine").expect("it is written");
    let said = scratch.piton(RUN_LIST);
    done(&said);
    let warning = "warning: the report of the run was not made: cannot write";
    let line = said.err.lines().find(|line| line.starts_with(warning));
    let cause = "reports/prd.html: File exists (os error 17) [file.unwritable]";
    assert!(
        line.is_some_and(|line| line.ends_with(cause)),
        "{}",
        said.err
    );
    assert!(!said.err.contains("\nreport: "), "{}", said.err);
    assert!(said.err.contains("run `prd` is done"), "{}", said.err);
    let mine = std::fs::read_to_string(scratch.home().join("reports"));
    assert_eq!(mine.ok().as_deref(), Some("mine"));
}

#[test]
fn a_run_at_work_is_reported_as_of_this_moment() {
    let scratch = one_story();
    scratch.agent("cat >/dev/null; touch began; while [ ! -e go ]; do sleep 0.02; done");
    let running = Running::start(scratch.command(RUN_LIST));
    scratch.until("the agent works", || scratch.has("began"));
    let report = scratch.json(&["report"]);
    assert_eq!(report["runs"][0]["live"], true, "{report}");
    let next = "piton status prd --watch";
    assert_eq!(report["next"][0], next, "{report}");
    let said = scratch.piton(&["report"]);
    assert!(
        done(&said).contains("**is at work, so this is how it stands now**"),
        "{}",
        said.out
    );
    scratch.write("go", "");
    running.end();
}

#[test]
fn reports_go_through_no_link_and_remove_nothing_behind_one() {
    let scratch = with_one_story(Scratch::outside_git());
    scratch.piton(&["add", "first"]);
    for number in 0..30 {
        scratch.write(&format!("site/{number}.html"), "mine");
    }
    std::os::unix::fs::symlink("../site", scratch.home().join("reports")).expect("a link");
    let said = scratch.piton(RUN_LIST);
    done(&said);
    let count = std::fs::read_dir(scratch.file("site")).expect("it is there");
    assert_eq!(count.count(), 30, "{}", said.err);
    assert!(!scratch.has("site/prd.html"));
    assert!(
        said.err.contains("the report of the run was not made"),
        "{}",
        said.err
    );
}
