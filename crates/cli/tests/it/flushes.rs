//! What an event costs beside its commit: one flush for each small file of the
//! project that shows it, and none for what is made of another file.

use crate::harness::Scratch;

struct Event {
    /// Whose files are kept.
    family: &'static str,
    args: &'static [&'static str],
    /// The files that show it.
    shown_in: &'static [&'static str],
    /// What is made of one of these.
    made_of_it: &'static [&'static str],
}

const FAILED: &[&str] = &[
    "record",
    "keel",
    "--outcome",
    "failed",
    "--error",
    "no oak: none",
];
const LOGGED: &[&str] = &["log", "milestone_reached", "--description", "Afloat"];
const SIGN: &[&str] = &[
    "learn",
    "add",
    "--kind",
    "guardrail",
    "--title",
    "Measure",
    "--trigger",
    "Before a cut",
    "Twice.",
];

const EVENTS: [Event; 6] = [
    Event {
        family: "ralph-json",
        args: FAILED,
        shown_in: &[".ralph/progress.json"],
        made_of_it: &[],
    },
    Event {
        family: "ralph-json",
        args: LOGGED,
        shown_in: &[],
        made_of_it: &[],
    },
    Event {
        family: "agent-os",
        args: LOGGED,
        shown_in: &[".agent-os/progress/progress.json"],
        made_of_it: &[".agent-os/progress/progress.md"],
    },
    Event {
        family: "ralph-dir",
        args: LOGGED,
        shown_in: &[".ralph/progress.md"],
        made_of_it: &[],
    },
    Event {
        family: "ralph-dir",
        args: SIGN,
        shown_in: &[".ralph/guardrails.md"],
        made_of_it: &[],
    },
    Event {
        family: "ralph-dir",
        args: FAILED,
        shown_in: &[".ralph/errors.log", ".ralph/progress.md"],
        made_of_it: &[],
    },
];

impl Event {
    fn project(&self) -> Scratch {
        let scratch = Scratch::new();
        let init = ["init", "--yes", "--with", self.family];
        assert_eq!(scratch.piton(&init).exit, 0);
        // Whatever is made once is made, by other things than the event is about.
        for args in [FAILED, LOGGED, SIGN] {
            let other = |word: &&str| word.replace("oak", "ash").replace("Measure", "Ask");
            let args: Vec<String> = args.iter().map(other).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            assert_eq!(scratch.piton(&args).exit, 0);
        }
        scratch
    }

    /// How often native files and what is known of them are flushed: the event dies
    /// at each of these flushes, and at no later one.
    fn flushes(&self) -> usize {
        let dies_at = |nth: usize| {
            let scratch = self.project();
            let mut command = scratch.command(self.args);
            command.env("PITON_FAILPOINT", format!("exchange.flush:{nth}"));
            let ended = command.output().expect("piton starts").status;
            assert!([None, Some(0)].contains(&ended.code()), "{ended}");
            ended.code().is_none()
        };
        (1..).take_while(|nth| dies_at(*nth)).count()
    }
}

#[test]
fn an_event_costs_a_flush_for_each_small_file_that_shows_it() {
    for event in &EVENTS {
        let of = format!("{} {:?}", event.family, event.args);
        let scratch = event.project();
        let files = || event.shown_in.iter().chain(event.made_of_it);
        let texts = || files().map(|file| scratch.read(file));
        let before: Vec<String> = texts().collect();
        assert_eq!(scratch.piton(event.args).exit, 0, "{of}");
        let is_shown = texts().zip(before).all(|(now, before)| now != before);
        assert!(is_shown, "{of}");
        assert_eq!(event.flushes(), event.shown_in.len(), "{of}");
    }
}
