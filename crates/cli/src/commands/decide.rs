//! `piton decide`.

use clap::{Args as ClapArgs, ValueEnum};
use piton_engine::caller::{CommandAccess, Permission};
use piton_engine::model::Node;
use piton_engine::model::request::{Injection, Until};
use piton_engine::model::{DecisionChoice, DecisionKind, Verb};
use piton_engine::verbs::inbox::{self, DecisionAnswer, DecisionResult, RequestTerms};
use piton_engine::{CommandExit, Failure};

use crate::args::position::PlaceArgs;
use crate::invocation::{Invocation, TypedCommand};
use crate::output::CliOutput;
use crate::show::outcome::show_outcome;

#[derive(Debug, ClapArgs)]
pub(crate) struct DecideArgs {
    /// The id of the decision, as `piton inbox` shows it
    id: String,
    /// The decision
    verb: VerbArg,
    /// The text of the answer, or the reason
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The same as TEXT
    #[arg(long, value_name = "TEXT", conflicts_with = "text")]
    why: Option<String>,
    #[command(flatten)]
    terms: RequestArgs,
}

// What more may be said of what an agent asks for. No doc comment: clap would show it as
// the help of the command.
#[derive(Debug, ClapArgs)]
struct RequestArgs {
    /// With `defer`: when to ask again [default: end-of-phase]
    #[arg(long)]
    until: Option<UntilArg>,
    #[command(flatten)]
    place: PlaceArgs,
    /// With `approve`: the prompt for the agent [default: the text of the request]
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// With `approve`: the model to use
    #[arg(long)]
    model: Option<String>,
    /// With `approve`: the prefix of the new id
    #[arg(long, value_name = "PREFIX")]
    id_prefix: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerbArg {
    /// Accept: continue after a breakpoint, merge the work in review
    Approve,
    /// Try again with TEXT in the prompt
    Answer,
    /// Try again
    Retry,
    /// Skip the item
    Skip,
    /// Import the version in the file
    KeepFile,
    /// Write the version in the journal, and keep the old file beside it
    KeepPiton,
    /// Import the changes that fit, and write the rest from the journal
    Merge,
    /// Decline a request, or send the work in review back
    Reject,
    /// Ask again later: see --until
    Defer,
    /// Move the request to the backlog
    Backlog,
}

impl From<VerbArg> for Verb {
    fn from(verb: VerbArg) -> Self {
        match verb {
            VerbArg::Approve => Self::Approve,
            VerbArg::Answer => Self::Answer,
            VerbArg::Retry => Self::Retry,
            VerbArg::Skip => Self::Skip,
            VerbArg::KeepFile => Self::KeepFile,
            VerbArg::KeepPiton => Self::KeepPiton,
            VerbArg::Merge => Self::Merge,
            VerbArg::Reject => Self::Reject,
            VerbArg::Defer => Self::Defer,
            VerbArg::Backlog => Self::Backlog,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum UntilArg {
    /// When the phase ends
    EndOfPhase,
    /// When the sprint is done
    EndOfSprint,
    /// When the next sprint starts
    NextSprint,
}

impl TypedCommand for DecideArgs {
    const ABOUT: &'static str = "Make a decision that waits in the inbox";
    const AFTER_HELP: &'static str = "Examples:\n  piton decide d1 answer 'port 5433'\n  piton decide d2 retry\n  piton decide d3 skip 'not needed any more'\n  piton decide d4 approve\n  piton decide d5 keep-file\n  piton decide d6 defer --until end-of-sprint\n  piton decide d6 approve --at end-of-phase\n  piton decide d7 reject 'the name says too little'";

    fn permission(&self) -> Permission {
        Permission::new("piton decide", CommandAccess::Person)
    }

    fn run(self, call: &mut Invocation<'_>) -> Result<CommandExit, Failure> {
        let terms = self.terms.request_terms();
        let answer = DecisionAnswer {
            verb: self.verb.into(),
            terms: &terms,
            why: self.text.or(self.why),
        };
        let decided = inbox::decide(call.world, &self.id, answer, &mut |notice| {
            call.show_notice(&notice);
        })?;
        call.print(&decided, |decided, _, output| {
            show_decision(decided, output)
        });
        Ok(CommandExit::Done)
    }
}

impl RequestArgs {
    /// What was typed of what becomes of a request.
    fn request_terms(self) -> RequestTerms {
        RequestTerms {
            until: self.until.map(|until| match until {
                UntilArg::EndOfPhase => Until::EndOfPhase,
                UntilArg::EndOfSprint => Until::EndOfSprint,
                UntilArg::NextSprint => Until::NextSprint,
            }),
            injection: Injection {
                position: self.place.position(),
                prompt: self.prompt,
                model: self.model,
                id_prefix: self.id_prefix,
                items: Vec::new(),
            },
        }
    }
}

fn show_decision(decided: &DecisionResult, output: &mut CliOutput) {
    if let Some(decided) = &decided.file {
        let what = match decided.way {
            Some(DecisionChoice::LeftAlone) => {
                "left alone, and not kept up to date any more; `piton init` begins to keep it again"
            }
            Some(DecisionChoice::FileHolds) => "what it says holds",
            Some(DecisionChoice::PitonHolds) => "piton's version holds",
            Some(DecisionChoice::Merged) => {
                "what is new in it is taken; for the rest piton's version holds"
            }
            Some(DecisionChoice::Retired | DecisionChoice::FollowedOn) => "decided",
            // It was asked before questions said what can be done.
            None => "decided",
        };
        let kept = decided.kept.as_ref();
        let kept = kept.map(|kept| format!("; what was there is kept as {kept}"));
        let file = &decided.file;
        output.print_note(&format!("{file}: {what}{}", kept.unwrap_or_default()));
    }
    if let Some(decided) = &decided.memory {
        let what = match (decided.way, decided.verb) {
            (Some(DecisionChoice::Retired), _) => "retired; it stays on record",
            (None, Verb::Approve) => "confirmed",
            (None, Verb::Reject) => "rejected; agents are not shown it",
            (Some(_) | None, _) => "followed on",
        };
        output.print_note(&format!("{}: {what}", decided.memory));
    }
    if let Some(decided) = &decided.question {
        let told = match (decided.verb == Verb::Answer, &decided.node) {
            (true, Some(node)) => {
                let node = Node::shown(node);
                format!("answered; it is remembered, and the next prompt of {node} tells it")
            }
            (true, None) => "answered; it is remembered".to_owned(),
            (false, _) => "closed without an answer".to_owned(),
        };
        output.print_note(&format!("{}: {told}", decided.question));
    }
    if let Some(decided) = &decided.request {
        let what = match (decided.verb, decided.until) {
            (Verb::Reject, _) => "rejected; it is not done".to_owned(),
            (Verb::Backlog, _) => "kept in BACKLOG.yaml beside the plan".to_owned(),
            (Verb::Defer, Some(until)) => format!("put off until {until}"),
            (verb, _) => format!("decided: {verb}"),
        };
        if decided.verb != Verb::Approve {
            output.print_note(&format!("{}: {what}", decided.request));
        }
    }
    if let Some(decided) = &decided.review {
        let what = match (decided.verb, decided.kind) {
            (Verb::Approve, DecisionKind::Review) => "approved; it is merged next",
            (Verb::Approve, _) => "approved",
            (Verb::Reject, _) => "rejected; an agent goes on with it, and is told why",
            _ => "left out",
        };
        output.print_note(&format!("{}: {what}", Node::shown(&decided.node)));
    }
    if let Some(outcome) = &decided.run {
        show_outcome(outcome, output);
    }
}
