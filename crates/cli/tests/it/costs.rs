//! What attempts used, what they may use, and what an agent's word is worth.

use crate::harness::{DEMO, Scratch};

const TWO: &str = "  - id: build\n    prompt: build it\n  - id: test\n    prompt: test it\n";

/// An agent that says what it used.
fn using(usage: &str) -> String {
    format!(r#"echo '{{"status":"completed","summary":"did it","usage":{usage}}}'"#)
}

fn project(agent: &str) -> Scratch {
    let scratch = Scratch::new().with_fixed_clock();
    scratch.sprint(TWO).agent(agent);
    scratch
}

mod sums {
    use super::*;

    #[test]
    fn what_is_known_is_summed_by_item_by_model_and_for_the_project() {
        let scratch = project(&using(
            r#"{"input_tokens":1200,"output_tokens":300,"cache_read_tokens":5000,"cost_usd":0.62}"#,
        ));
        assert_eq!(scratch.run(&["--model", "opus"]).exit, 0);
        scratch.piton(&["record", "project:notes", "--cost-usd", "0.5"]);
        scratch.piton(&["record", "project:notes"]);
        insta::assert_snapshot!(scratch.shows(&["status", "--costs"]), @r"
        2026-01-15_demo
          build          1 attempt   1200 in, 300 out, 5000 from cache                       $0.62 said
          test           1 attempt   1200 in, 300 out, 5000 from cache                       $0.62 said
        by model
          opus           2 attempts  2400 in, 600 out, 10000 from cache                      $1.24 said
        run, in all      2 attempts  2400 in, 600 out, 10000 from cache                      $1.24 said
        project, in all  4 attempts  2400 in, 600 out, 10000 from cache, 2 attempts unknown  $1.74 said, 1 attempt unknown
        [exit 0]
        ");
        let costs = scratch.json(&["status", "--costs"]);
        assert_eq!(costs["run"]["spend"]["cost_usd"], 1.24);
        assert_eq!(costs["run"]["models"]["opus"]["attempts"], 2);
        assert_eq!(costs["project"]["unknown"], 1);
        let shown = scratch.piton(&["status", DEMO]).out;
        let used = "Used: 2400 in, 600 out, 10000 from cache; $1.24 said\n";
        assert!(shown.contains(used), "{shown}");
        let status = scratch.json(&["status", DEMO]);
        assert_eq!(status["run"]["spend"]["input_tokens"], 2400);
        assert_eq!(status["run"]["nodes"][0]["spend"]["cost_usd"], 0.62);
        assert_eq!(
            scratch.json(&["journal", "verify"])["damage"],
            serde_json::json!([])
        );
    }

    #[test]
    fn rows_of_models_add_up_also_where_a_model_is_not_known() {
        let scratch = project(&using(r#"{"input_tokens":1200,"cost_usd":0.62}"#));
        assert_eq!(scratch.run(&["--once"]).exit, 5);
        assert_eq!(scratch.run(&["--model", "opus"]).exit, 0);
        insta::assert_snapshot!(scratch.shows(&["status", "--costs"]), @"
        2026-01-15_demo
          build            1 attempt   1200 in  $0.62 said
          test             1 attempt   1200 in  $0.62 said
        by model
          opus             1 attempt   1200 in  $0.62 said
          (model unknown)  1 attempt   1200 in  $0.62 said
        run, in all        2 attempts  2400 in  $1.24 said
        project, in all    2 attempts  2400 in  $1.24 said
        [exit 0]
        ");
        let costs = scratch.json(&["status", "--costs"]);
        assert_eq!(costs["run"]["model_unknown"]["input_tokens"], 1200);
        assert_eq!(costs["project_models"]["opus"]["input_tokens"], 1200);
    }

    #[test]
    fn what_nobody_knows_is_shown_nowhere_as_nothing() {
        let scratch = project("echo fine");
        assert_eq!(scratch.run(&[]).exit, 0);
        let shown = scratch.piton(&["status", DEMO]).out;
        assert!(!shown.contains("Used") && !shown.contains('$'), "{shown}");
        let status = scratch.json(&["status", DEMO]);
        assert!(status["run"].get("spend").is_none(), "{status}");
        insta::assert_snapshot!(scratch.shows(&["status", "--costs"]), @r"
        2026-01-15_demo
          build          1 attempt   tokens unknown  cost unknown
          test           1 attempt   tokens unknown  cost unknown
        run, in all      2 attempts  tokens unknown  cost unknown
        project, in all  2 attempts  tokens unknown  cost unknown
        [exit 0]
        ");
    }

    #[test]
    fn before_anything_was_tried_there_is_nothing_to_sum() {
        let scratch = Scratch::new();
        insta::assert_snapshot!(scratch.shows(&["status", "--costs"]), @r"
        no attempt is over yet
        [exit 0]
        ");
    }

    #[test]
    fn a_recorded_attempt_tells_its_tokens_by_type() {
        let scratch = Scratch::new().with_fixed_clock();
        let typed = "record|notes|--input-tokens|10|--output-tokens|3|--cache-read-tokens|500|--cache-write-tokens|40|--reasoning-tokens|2|--cost-usd|0.0042";
        let said = scratch.shows(&typed.split('|').collect::<Vec<_>>());
        assert!(
            said.contains(
                "used 10 in, 3 out, 500 from cache, 40 to cache, 2 of reasoning; $0.0042 said"
            ),
            "{said}"
        );
        let json = br#"{"prd_id":"notes","usage":{"input_tokens":7,"cost_usd":1}}"#;
        assert_eq!(
            scratch.fed(&["record", "-", "--cost-usd", "2"], json).exit,
            0
        );
        insta::assert_snapshot!(scratch.shows(&["recent", "--item", "notes"]), @r"
        2026-01-15 09:00 UTC  notes-1 completed
            used 10 in, 3 out, 500 from cache, 40 to cache, 2 of reasoning; $0.0042 said
        2026-01-15 09:00 UTC  notes-2 completed
            used 7 in; $2.00 said
        [exit 0]
        ");
        let past = scratch.json(&["recent", "--item", "notes"]);
        assert_eq!(past["attempts"][0]["usage"]["cache_write_tokens"], 40);
        assert_eq!(
            past["attempts"][1]["usage"],
            serde_json::json!({"input_tokens": 7, "cost_usd": 2.0})
        );
        let wrong = br#"{"prd_id":"notes","usage":{"tokens":7}}"#;
        assert_eq!(scratch.fed(&["record", "-"], wrong).exit, 2);
    }
}

mod budgets {
    use super::*;

    #[test]
    fn a_run_pauses_before_an_agent_that_its_budget_has_nothing_left_for() {
        let scratch = project(&using(r#"{"cost_usd":3}"#));
        let said = scratch.run(&["--budget-usd", "2.50"]);
        assert_eq!(said.exit, 5, "{}", said.err);
        assert!(
            said.err.contains("reached its limit: budget ($2.50)"),
            "{}",
            said.err
        );
        let hint = format!("`piton run {DEMO} --budget-usd 6`");
        assert!(said.err.contains(&hint), "{}", said.err);
        // It counts for all invocations together, and starts nothing.
        let said = scratch.run(&["--budget-usd", "3"]);
        assert_eq!(
            (said.exit, said.err.contains("> test")),
            (5, false),
            "{}",
            said.err
        );
        assert_eq!(scratch.run(&["--budget-usd", "4"]).exit, 0);
    }

    #[test]
    fn budgets_of_the_configuration_hold_and_a_flag_goes_before_that_of_the_run() {
        let scratch = project(&using(r#"{"input_tokens":900,"output_tokens":100}"#));
        let budget = "[budget]\nrun-tokens = 1000\nproject-tokens = 5000\n";
        scratch.write(".piton/config.toml", budget);
        let said = scratch.run(&[]);
        assert!(
            said.err.contains("limit: budget (1000 tokens)"),
            "{}",
            said.err
        );
        scratch.piton(&["record", "project:notes", "--input-tokens", "4000"]);
        let said = scratch.run(&["--budget-tokens", "9000"]);
        assert_eq!(said.exit, 5);
        assert!(
            said.err.contains("limit: project budget (5000 tokens)"),
            "{}",
            said.err
        );
    }

    #[test]
    fn who_trusts_in_a_budget_is_told_once_what_does_not_count() {
        let scratch = project("echo fine");
        let said = scratch.run(&["--budget-usd", "5"]);
        assert_eq!(said.exit, 0);
        let warning = "what 1 attempt cost is not known, and does not count for the budget";
        assert_eq!(said.err.matches(warning).count(), 1, "{}", said.err);
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let scratch = project("echo fine");
        for wrong in ["-1", "five", ""] {
            assert_eq!(scratch.run(&["--budget-usd", wrong]).exit, 2, "{wrong}");
        }
        scratch.write(".piton/config.toml", "[budget]\nrun-usd = -5\n");
        assert_eq!(scratch.run(&[]).exit, 2);
    }
}

mod claims {
    use super::*;

    /// A project whose files are all committed, so that a change shows.
    fn committed(config: &str) -> Scratch {
        let scratch = project("echo fine");
        scratch.write(".piton/config.toml", config);
        scratch.git(&["add", "--all"]);
        scratch.git(&["commit", "--quiet", "-m", "first"]);
        scratch
    }

    fn level(scratch: &Scratch) -> String {
        let evidence = &scratch.json(&["status", DEMO])["run"]["nodes"][0]["evidence"];
        evidence["level"].as_str().unwrap_or("none").to_owned()
    }

    const WORD_ASKS: &str = "[claims]\nword = \"ask\"\n";

    #[test]
    fn a_word_without_a_change_is_accepted_in_a_sprint_and_shown_as_one() {
        let scratch = committed("");
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0);
        assert!(said.err.contains("(agent's word)"), "{}", said.err);
        assert_eq!(level(&scratch), "word");
        let status = scratch.shows(&["status"]);
        assert!(status.contains("(agent's word)"), "{status}");
    }

    #[test]
    fn a_change_is_evidence() {
        let scratch = committed(WORD_ASKS);
        scratch.agent("echo $$ >made; echo fine");
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0);
        assert!(said.err.contains("(1 file changed)"), "{}", said.err);
        assert_eq!(level(&scratch), "changed");
    }

    #[test]
    fn an_empty_commit_is_no_change() {
        let scratch = committed(WORD_ASKS);
        scratch.agent("git commit --quiet --allow-empty -m done; echo fine");
        assert_eq!(scratch.run(&[]).exit, 3);
    }

    #[test]
    fn a_person_may_be_asked() {
        let scratch = committed(WORD_ASKS);
        assert_eq!(scratch.run(&[]).exit, 3);
        insta::assert_snapshot!(scratch.shows(&["inbox"]), @r"
        d1  `build` is said to be done, and its attempts changed nothing: is it done?  2026-01-15_demo at build: build it
            fine
            piton decide d1 approve
            piton decide d1 retry
            piton decide d1 answer --why '...'
            piton decide d1 skip
        [exit 0]
        ");
        assert_eq!(scratch.piton(&["decide", "d1", "approve"]).exit, 0);
        assert_eq!(level(&scratch), "person");
        assert_eq!(scratch.progress("status").as_deref(), Some("interrupted"));
        assert_eq!(scratch.run(&[]).exit, 3, "the next one is asked about, too");
    }

    #[test]
    fn old_words_of_the_configuration_hold_and_are_told_once() {
        for old in ["worth = \"ask\"", "change = true"] {
            let scratch = committed(&format!("[claims]\n{old}\n"));
            let said = scratch.run(&[]);
            assert_eq!(said.exit, 3, "{}", said.err);
            let told = "the old form still works";
            assert_eq!(said.err.matches(told).count(), 1, "{}", said.err);
        }
    }

    #[test]
    fn a_given_command_may_have_to_pass() {
        let config = "[claims]\nword = \"check\"\ncheck = \"test -e checked\"\n";
        let scratch = committed(config);
        scratch.agent("grep -q 'The check of' && touch checked; echo fine");
        let said = scratch.run(&[]);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert_eq!(level(&scratch), "check");
        let progress = scratch.read("demo/PROGRESS.yaml");
        assert!(
            !progress.contains("gate"),
            "no gate of the plan: {progress}"
        );
        let scratch = committed("[claims]\nword = \"check\"\n");
        let said = scratch.run(&[]);
        assert!(said.err.contains("needs a command"), "{}", said.err);
    }

    #[test]
    fn a_check_that_is_being_run_is_said_to_be() {
        let scratch = committed("");
        let slow = "  - id: build\n    prompt: build it\n    gate:\n      script: sleep 2\n      on-fail: {prompt: fix it}\n";
        scratch.sprint(slow).agent("echo x >>made; echo fine");
        scratch.write(".piton/config.toml", "[claims]\nbaseline = \"never\"\n");
        let running = scratch.start_run(&[]);
        crate::harness::until("the check runs", || {
            let status = scratch.piton(&["status", DEMO, "--json"]).out;
            status.contains("\"being_checked\":true") || status.contains("\"being_checked\": true")
        });
        let status = scratch.shows(&["status"]);
        assert!(status.contains("being checked"), "{status}");
        let attempts = scratch.json(&["recent"]).to_string();
        assert!(!attempts.contains("task_completed"), "{attempts}");
        assert_eq!(running.end().exit, 0);
    }
}
