//! What agents ask for beside their work (`operatorRequests`, `proposedSteps`).

use crate::harness::Scratch;

const THREE: &str = "  - {id: one, prompt: do one}\n  - {id: two, prompt: do two}\n  - {id: three, prompt: do three}\n";

/// An agent that asks for something at `one`.
fn agent(fields: &str) -> String {
    format!(
        "cat >/dev/null\necho \"$PITON_ITEM\" >>order\ncase $PITON_ITEM in one)\ncat <<'END'\n```json\n{{\"status\": \"completed\", \"summary\": \"s\", {fields}}}\n```\nEND\n;;\n*) echo '{{\"status\": \"completed\", \"summary\": \"s\"}}' ;;\nesac"
    )
}

fn asks_for(request: &str) -> String {
    agent(&format!("\"operatorRequests\": [{request}]"))
}

const BUG: &str = r#"{"title": "fix the login", "description": "It crashes.", "priority": "high", "type": "bug", "context": {"relatedFiles": ["src/login.rs"]}, "effort": 3}"#;
const MEDIUM: &str =
    r#"{"title": "tidy", "description": "Later.", "priority": "medium", "type": "refactor"}"#;

fn project(body: &str, config: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.sprint(THREE).agent(body);
    if !config.is_empty() {
        scratch.write(".piton/config.toml", config);
    }
    scratch
}

const BY_HAND: &str = "[requests]\nautomatic = false\n";

fn id_in(text: &str) -> String {
    let at = text.find("req-").expect("a request has a name");
    text[at..at + 12].to_owned()
}

#[test]
fn a_request_is_in_the_inbox_and_in_the_file_with_every_field() {
    let scratch = project(&asks_for(BUG), BY_HAND).with_fixed_clock();
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let inbox = scratch.piton(&["inbox"]).out;
    for part in [
        "an agent asks for work: fix the login",
        "effort: 3",
        "src/login.rs",
    ] {
        assert!(inbox.contains(part), "{inbox}");
    }
    let text = scratch.read("demo/PROGRESS.yaml");
    let at = text.find("operator-queue:").expect("it stands in the file");
    let lines = text[at..].lines();
    let queue: Vec<&str> = lines
        .take_while(|line| line.starts_with(['o', ' ']))
        .collect();
    let queue = queue.join("\n");
    let queue = queue.replace(&id_in(&queue), "req-ID");
    insta::assert_snapshot!(queue, @r"
    operator-queue:
      - id: req-ID
        title: fix the login
        description: It crashes.
        priority: high
        type: bug
        context:
          relatedFiles:
            - src/login.rs
        effort: 3
        status: pending
        created-at: '2026-01-15T09:00:00.000Z'
        discovered-in: one
    ");
}

#[test]
fn an_approved_request_is_worked_on_next_and_marked_in_the_file() {
    let scratch = project(&asks_for(BUG), "");
    assert_eq!(scratch.run(&[]).exit, 0);
    let order = scratch.read("order");
    let order: Vec<&str> = order.lines().collect();
    assert_eq!((order[0], order[2], order[3]), ("one", "two", "three"));
    assert!(order[1].starts_with("fix-req-"), "{order:?}");
    let text = scratch.read("demo/PROGRESS.yaml");
    for part in [
        "injected: true",
        "injected-at:",
        "status: approved",
        "idPrefix: fix-req-",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let said = scratch.piton(&["files", "check", "demo/PROGRESS.yaml"]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn a_request_that_is_put_off_comes_back_and_is_decided_once() {
    let scratch = project(&asks_for(MEDIUM), BY_HAND);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let put_off = scratch.piton(&["decide", "d1", "defer", "--until", "end-of-sprint"]);
    assert_eq!(put_off.exit, 0, "{}", put_off.err);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(inbox.contains("put off until end-of-sprint"), "{inbox}");
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("deferred-until: end-of-sprint"), "{text}");
    assert_eq!(scratch.run(&[]).exit, 0);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(!inbox.contains("put off"), "{inbox}");
    let said = scratch.piton(&["decide", "d1", "backlog", "--why", "some day"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("status: backlog"), "{text}");
    assert!(!text.contains("deferred-until"), "{text}");
    let backlog = scratch.read("demo/BACKLOG.yaml");
    for part in [
        "title: tidy",
        "operator-notes: some day",
        "status: pending-review",
    ] {
        assert!(backlog.contains(part), "{part}: {backlog}");
    }
    let again = scratch.piton(&["decide", "d1", "approve"]);
    assert_eq!(again.exit, 1, "{}", again.err);
    assert!(again.err.contains("decision 1 is"), "{}", again.err);
}

#[test]
fn a_request_without_a_title_is_asked_about_in_words() {
    let untitled = r#"{"description": "Something is odd.", "priority": "high", "type": "bug"}"#;
    let scratch = project(&asks_for(untitled), "");
    assert_eq!(scratch.run(&[]).exit, 0);
    let inbox = scratch.piton(&["inbox"]).out;
    let question = "an agent asks for work, without a title: Something is odd.";
    assert!(inbox.contains(question), "{inbox}");
    assert_eq!(
        scratch.read("order"),
        "one\ntwo\nthree\n",
        "no rule decides it"
    );
}

#[test]
fn an_edit_of_the_queue_decides_a_request() {
    let scratch = project(&asks_for(MEDIUM), BY_HAND);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let text = scratch.read("demo/PROGRESS.yaml");
    let at = text.find("operator-queue:").expect("it stands in the file");
    let (before, queue) = text.split_at(at);
    let queue = queue.replace("status: pending", "status: approved");
    scratch.write("demo/PROGRESS.yaml", &format!("{before}{queue}"));
    assert_eq!(scratch.run(&[]).exit, 0);
    let order = scratch.read("order");
    assert!(order.contains("fix-req-"), "{order}");
    assert!(scratch.piton(&["inbox"]).out.is_empty());
}

#[test]
fn a_queue_that_is_taken_over_is_live() {
    let scratch = Scratch::new();
    scratch.agent("cat >/dev/null\necho \"$PITON_ITEM\" >>order\necho '{\"status\": \"completed\", \"summary\": \"s\"}'");
    let queue = "operator-queue:\n  # found by hand\n  - {id: req-abc123, title: Fix it, description: It is broken., priority: high, type: bug, status: pending, created-at: '2026-01-20T10:30:00Z', discovered-in: one}\n  - {id: req-old, title: Old, description: d, priority: low, type: docs, status: rejected, created-at: '2026-01-20T10:30:00Z', discovered-in: one, rejection-reason: no}\n";
    scratch.write(
        "demo/PROGRESS.yaml",
        &format!("sprint-id: 2026-01-15_demo\nstatus: in-progress\nphases:\n  - {{id: one, status: completed, prompt: do one}}\n  - {{id: two, status: pending, prompt: do two}}\ncurrent: {{phase: 1, step: null, sub-phase: null}}\nstats: {{started-at: '2026-01-20T10:00:00Z', total-phases: 2, completed-phases: 1}}\n{queue}"),
    );
    assert_eq!(scratch.run(&[]).exit, 0);
    let inbox = scratch.piton(&["inbox"]).out;
    assert!(inbox.contains("an agent asks for work: Fix it"), "{inbox}");
    assert!(!inbox.contains("Old"), "{inbox}");
    let said = scratch.piton(&["decide", "d1", "reject", "--why", "no need"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/PROGRESS.yaml");
    for part in [
        "rejection-reason: no need",
        "rejection-reason: no",
        "# found by hand",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_proposed_step_is_taken_in_as_the_sprint_says() {
    let step =
        "\"proposedSteps\": [{\"id\": \"more\", \"prompt\": \"do more\", \"priority\": \"low\"}]";
    let scratch = Scratch::new();
    let settings =
        "orchestration: {enabled: true, insertStrategy: after-current, autoApprove: true}\n";
    scratch
        .sprint(&format!("{THREE}{settings}"))
        .agent(&agent(step));
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.read("order"), "one\nmore\ntwo\nthree\n");
    // Without that a person is asked, and the queue of the file says so.
    let scratch = project(&agent(step), "");
    assert_eq!(scratch.run(&[]).exit, 0);
    let text = scratch.read("demo/PROGRESS.yaml");
    assert!(text.contains("step-queue:"), "{text}");
    let said = scratch.piton(&["decide", "d1", "approve"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("order"), "one\ntwo\nthree\nmore\n");
}

#[test]
fn the_backlog_is_the_list_of_people_and_is_added_to() {
    let low = r#"{"title": "some day", "description": "d", "priority": "low", "type": "docs"}"#;
    let scratch = project(&asks_for(low), "").with_fixed_clock();
    let before =
        "# ours\nitems:\n  - id: mine # keep\n    title: by hand\n    status: acknowledged\n";
    scratch.write("demo/BACKLOG.yaml", before);
    assert_eq!(scratch.run(&[]).exit, 0);
    let text = scratch.read("demo/BACKLOG.yaml");
    let added = text.strip_prefix(before).expect("what was there stays");
    insta::assert_snapshot!(added.replace(&id_in(added), "req-ID"), @r"
    - id: req-ID
      title: some day
      description: d
      category: documentation
      suggested-priority: low
      operator-notes: the rule for low requests
      source:
        request-id: req-ID
        discovered-in: one
        discovered-at: '2026-01-15T09:00:00.000Z'
      created-at: '2026-01-15T09:00:00.000Z'
      status: pending-review
    ");
    // What people change there stays, and nothing is added twice.
    let changed = text.replace("pending-review", "acknowledged");
    scratch.write("demo/BACKLOG.yaml", &changed);
    assert_eq!(scratch.piton(&["files", "sync"]).exit, 0);
    assert_eq!(scratch.run(&[]).exit, 0);
    assert_eq!(scratch.read("demo/BACKLOG.yaml"), changed);
    // What is no list of it stays as it is, and that is said.
    let scratch = project(&asks_for(low), "");
    scratch.write("demo/BACKLOG.yaml", "items: 5\n");
    let said = scratch.run(&[]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert!(
        said.err.contains("BACKLOG.yaml is not kept up to date"),
        "{}",
        said.err
    );
    assert_eq!(scratch.read("demo/BACKLOG.yaml"), "items: 5\n");
}

#[test]
fn an_entry_that_is_taken_out_of_the_queue_is_rejected() {
    let scratch = project(&asks_for(MEDIUM), BY_HAND);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let text = scratch.read("demo/PROGRESS.yaml");
    let at = text.find("operator-queue:").expect("it stands in the file");
    let before = &text[..at];
    scratch.write(
        "demo/PROGRESS.yaml",
        &format!("{before}operator-queue: []\n"),
    );
    let said = scratch.piton(&["files", "sync"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    assert_eq!(scratch.piton(&["inbox"]).out, "");
    let text = scratch.read("demo/PROGRESS.yaml");
    let part = "rejection-reason: its entry was taken out of the file";
    assert!(text.contains(part), "{text}");
}

#[test]
fn an_answer_in_words_is_shown_as_one() {
    let scratch = project(&asks_for(MEDIUM), BY_HAND);
    assert_eq!(scratch.run(&["--once"]).exit, 5);
    let said = scratch.piton(&["decide", "d1", "answer", "--why", "leave it"]);
    assert_eq!(said.exit, 0, "{}", said.err);
    let text = scratch.read("demo/PROGRESS.yaml");
    for part in [
        "status: answered",
        "decision: answer",
        "reasoning: leave it",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let said = scratch.piton(&["files", "check", "demo/PROGRESS.yaml"]);
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn a_decision_about_a_request_says_what_it_did() {
    #[track_caller]
    fn check(typed: &[&str], expect: &str) {
        let scratch = project(&asks_for(MEDIUM), BY_HAND);
        assert_eq!(scratch.run(&["--once"]).exit, 5);
        let typed = [&["decide", "d1"], typed].concat();
        let said = scratch.piton(&typed);
        assert_eq!(said.exit, 0, "{}", said.err);
        assert!(said.err.contains(expect), "{}", said.err);
    }
    check(&["approve"], "added `fix-req-");
    check(&["reject"], "rejected; it is not done");
    check(&["defer"], "put off until end-of-phase");
    check(&["backlog"], "kept in BACKLOG.yaml");
}
