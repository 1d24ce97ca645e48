//! What is written is read back the same.

use piton_formats::sprint::{
    Children, GateStatus, GateTracking, NodePointer, NodeProgress, PhaseNode, PhaseStatus,
    SourceText, SprintGate, SprintHumanNeeded, SprintProgress, SprintSettings, SprintStatus,
    SprintStop, Stats, parse_progress, render_progress, update_progress,
};
use piton_formats::yaml::{ValueNode, parse, render};
use piton_simkit::seed::cases;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// Texts that writers of YAML get wrong, and any other.
fn text() -> BoxedStrategy<String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[-?:,#&*!|>'\"%@`\\[\\]{} \t\na0é]{0,10}",
        any::<String>(),
        vec("[ \t]{0,3}[a:#' -]{0,6}", 0..5).prop_map(|lines| lines.join("\n")),
        select(vec![
            "",
            "no",
            "y",
            "null",
            "~",
            "5",
            "1e3",
            "0x1f",
            "6673e79",
            "12:30:45",
            "2026-01-15",
            "2026-01-15T00:00:00Z",
            "true",
            "- a",
            "a: b",
            "a #b",
            "---",
            "...",
            "<<",
            "=",
            " ",
            "\n",
            "\n\n",
            "a\n",
            "a\n\n",
            " a\nb",
            "a\n b\n",
            "a \nb",
            "\ta\nb",
            "\r\n",
            "\u{feff}",
            "\u{85}",
            "\u{2028}x",
            "{{x}}",
            "a:",
            ".inf",
            "0o7",
            "+1",
            "1_0",
        ])
        .prop_map(str::to_owned),
    ]
    .boxed()
}

fn tree() -> BoxedStrategy<ValueNode> {
    let leaf = prop_oneof![
        3 => text().prop_map(ValueNode::string),
        1 => select(vec!["null", "true", "5", "-1.5", "6673e79", "2026-01-15"]).prop_map(ValueNode::plain),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(ValueNode::seq),
            btree_map(text(), inner, 0..5).prop_map(ValueNode::map),
        ]
    })
    .boxed()
}

fn extra() -> BoxedStrategy<Vec<(String, ValueNode)>> {
    btree_map("x-[a-z]{1,5}", tree(), 0..3)
        .prop_map(|map| map.into_iter().collect())
        .boxed()
}

prop_compose! {
    fn gate()(
        script in text(),
        on_fail_prompt in text(),
        max_retries in 0..9_u64,
        timeout_s in select(vec![1.0, 60.0, 0.5, 1e30, f64::INFINITY]),
        extra in extra(),
    ) -> SprintGate {
        SprintGate { script, on_fail_prompt, max_retries, timeout_s, extra }
    }
}

prop_compose! {
    fn gate_tracking()(
        attempts in any::<u32>(),
        status in select(GateStatus::ALL),
        last_output in of(text()),
        last_exit_code in of(any::<i64>()),
        error in of(text()),
        extra in extra(),
    ) -> GateTracking {
        GateTracking { attempts: attempts.into(), status, last_output, last_exit_code, error, extra }
    }
}

prop_compose! {
    fn human_needed()(reason in text(), details in of(text()), extra in extra()) -> SprintHumanNeeded {
        SprintHumanNeeded { reason, details, extra }
    }
}

prop_compose! {
    fn words_of_a_node()(
        id in text(),
        status in select(PhaseStatus::ALL),
        (prompt, model, summary, error) in (of(text()), of(text()), of(text()), of(text())),
        (started_at, completed_at, elapsed, commit) in (of(text()), of(text()), of(text()), of(text())),
        (injected_at, next_retry_at) in (of(text()), of(text())),
        depends_on in vec(text(), 0..3),
        extra in extra(),
    ) -> PhaseNode {
        PhaseNode { id, status, prompt, model, injected_at, depends_on, extra, progress: NodeProgress { summary, error, started_at, completed_at, elapsed, commit, next_retry_at, ..NodeProgress::default() }, ..PhaseNode::default() }
    }
}

prop_compose! {
    fn leaf()(
        node in words_of_a_node().boxed(),
        flags in (of(any::<bool>()), of(any::<bool>()), of(any::<bool>()), of(any::<bool>())),
        gate in of(gate().boxed()),
        gate_tracking in of(gate_tracking().boxed()),
        human_needed in of(human_needed().boxed()),
        retry_count in of(0..5_u64),
    ) -> PhaseNode {
        let (parallel, wait_for_parallel, break_after, injected) = flags;
        PhaseNode { parallel, wait_for_parallel, break_after, injected, gate, progress: NodeProgress { gate_tracking, human_needed, retry_count, ..node.progress }, ..node }
    }
}

fn phase() -> BoxedStrategy<PhaseNode> {
    let step = (leaf().boxed(), of(vec(leaf().boxed(), 0..3))).prop_map(|(mut node, phases)| {
        node.children = phases.map_or(Children::None, Children::Phases);
        node
    });
    (leaf().boxed(), of(vec(step, 0..3)))
        .prop_map(|(mut node, steps)| {
            node.children = steps.map_or(Children::None, Children::Steps);
            node
        })
        .boxed()
}

prop_compose! {
    fn stats()(
        (started_at, completed_at, elapsed) in (of(text()), of(text()), of(text())),
        total_phases in any::<u32>(),
        completed_phases in any::<u32>(),
        total_steps in of(0..9_u64),
        current_iteration in of(0..9_u64),
        extra in extra(),
    ) -> Stats {
        Stats {
            started_at, completed_at, elapsed,
            total_phases: total_phases.into(),
            completed_phases: completed_phases.into(),
            total_steps,
            completed_steps: total_steps,
            current_iteration,
            max_iterations: current_iteration,
            extra,
        }
    }
}

/// An opaque part that is there is not null; null is kept in `extra`.
fn part() -> impl Strategy<Value = Option<ValueNode>> {
    of(tree().prop_filter("null is kept elsewhere", |node| !node.is_null()))
}

prop_compose! {
    fn progress()(
        sprint_id in text(),
        status in select(SprintStatus::ALL),
        phases in vec(phase(), 0..3),
        (phase, step, sub_phase) in (0..9_usize, of(0..9_usize), of(0..9_usize)),
        (stats, current_extra, extra) in (stats().boxed(), extra(), extra()),
        (step_queue, prompts, retry, operator_queue) in (part(), part(), part(), part()),
        (pause_reason, error, summary, last_activity) in (of(text()), of(text()), of(text()), of(text())),
        human_needed in of(human_needed().boxed()),
    ) -> SprintProgress {
        SprintProgress { sprint_id, status, phases, current: NodePointer { phase, step, sub_phase }, current_extra, stats, extra, step_queue, operator_queue, summary, last_activity, settings: SprintSettings { prompts, retry, ..SprintSettings::default() }, stop: SprintStop { pause_reason, error, human_needed, ..SprintStop::default() }, ..SprintProgress::default() }
    }
}

fn only(extra: &mut Vec<(String, ValueNode)>, wanted: &[(String, ValueNode)]) {
    extra.retain(|(key, _)| wanted.iter().any(|(have, _)| have == key));
    extra.sort_by_key(|(key, _)| wanted.iter().position(|(have, _)| have == key));
}

/// Takes out the unknown keys that the text had before, which stay in it.
fn forget_what_only_stood_there(read: &mut SprintProgress, wanted: &SprintProgress) {
    fn human(read: &mut Option<SprintHumanNeeded>, wanted: Option<&SprintHumanNeeded>) {
        if let (Some(read), Some(wanted)) = (read, wanted) {
            only(&mut read.extra, &wanted.extra);
        }
    }
    fn nodes(read: &mut [PhaseNode], wanted: &[PhaseNode]) {
        for (read, wanted) in read.iter_mut().zip(wanted) {
            only(&mut read.extra, &wanted.extra);
            human(
                &mut read.progress.human_needed,
                wanted.progress.human_needed.as_ref(),
            );
            if let (Some(read), Some(wanted)) = (&mut read.gate, &wanted.gate) {
                only(&mut read.extra, &wanted.extra);
            }
            if let (Some(read), Some(wanted)) = (
                &mut read.progress.gate_tracking,
                &wanted.progress.gate_tracking,
            ) {
                only(&mut read.extra, &wanted.extra);
            }
            if let Some(read) = read.children.as_mut() {
                nodes(read, wanted.children.as_slice());
            }
        }
    }
    only(&mut read.extra, &wanted.extra);
    only(&mut read.current_extra, &wanted.current_extra);
    only(&mut read.stats.extra, &wanted.stats.extra);
    human(
        &mut read.stop.human_needed,
        wanted.stop.human_needed.as_ref(),
    );
    nodes(&mut read.phases, &wanted.phases);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_string_is_read_back_from_any_place(text in text()) {
        let node = ValueNode::map([
            ("key", ValueNode::string(&text)),
            ("list", ValueNode::seq(vec![ValueNode::string(&text), ValueNode::seq(vec![ValueNode::string(&text)])])),
        ]);
        let out = render(&node);
        prop_assert_eq!(parse(&out).root, Some(node), "{}", out);
        let whole = ValueNode::string(&text);
        prop_assert_eq!(parse(&render(&whole)).root, Some(whole));
    }

    #[test]
    fn any_tree_is_read_back(tree in tree()) {
        let out = render(&tree);
        let parsed = parse(&out);
        prop_assert!(parsed.faults.is_empty(), "{:?}\n{}", parsed.faults, out);
        prop_assert_eq!(parsed.root, Some(tree), "{}", out);
    }

    #[test]
    fn any_progress_is_read_back(progress in progress()) {
        let out = render_progress(&progress);
        let (read, problems) = parse_progress(SourceText { name: "P", text: &out });
        prop_assert_eq!(read.as_ref(), Some(&progress), "{:?}\n{}", problems, out);
    }

    #[test]
    fn any_progress_becomes_any_other_in_place(before in progress(), after in progress()) {
        let text = render_progress(&before);
        let out = update_progress(&text, after.clone());
        let (read, problems) = parse_progress(SourceText { name: "P", text: &out });
        let mut read = read.expect("a document");
        forget_what_only_stood_there(&mut read, &after);
        prop_assert_eq!(&read, &after, "{:?}\n{}", problems, out);
        prop_assert_eq!(update_progress(&out, after.clone()), out);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        parse(&text);
    }
}
