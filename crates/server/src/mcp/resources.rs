//! What can be read without a tool: three texts, for clients that show such.

use piton_core::memory::{MemoryKind, MemoryRow};
use piton_engine::Failure;
use piton_engine::verbs::learn::{self, Filter};
use piton_engine::verbs::{prepare, status};

use super::answer::Answer;
use super::desk::{Desk, nothing_held};
use super::reading::TOKENS_MAX;
use super::words;

/// The form of all of them.
pub(super) const MARKDOWN: &str = "text/markdown";

/// A text that can be read.
pub(super) struct Resource {
    pub(super) uri: &'static str,
    name: &'static str,
    about: &'static str,
    pub(super) read: fn(&Desk) -> Result<Answer, Failure>,
}

/// The resources, in the order in which they are listed.
pub(super) static RESOURCES: [Resource; 3] = [
    Resource {
        uri: "piton://item",
        name: "item",
        about: "What to know of the item that is worked on",
        read: item,
    },
    Resource {
        uri: "piton://guardrails",
        name: "guardrails",
        about: "What to keep to, whatever happens",
        read: guardrails,
    },
    Resource {
        uri: "piton://progress",
        name: "progress",
        about: "Where everything stands",
        read: progress,
    },
];

impl Resource {
    /// As it is listed.
    pub(super) fn listed(&self) -> rmcp::model::Resource {
        rmcp::model::Resource::new(self.uri, self.name)
            .with_description(self.about)
            .with_mime_type(MARKDOWN)
    }
}

fn item(desk: &Desk) -> Result<Answer, Failure> {
    let held = desk.held()?.ok_or_else(nothing_held)?;
    let prepared = prepare::prepare_held(&desk.world, &held.item, Some(TOKENS_MAX))?;
    Ok(Answer::of(prepared.in_markdown()).whole(format!("piton prepare {}", held.item)))
}

fn guardrails(desk: &Desk) -> Result<Answer, Failure> {
    let filter = Filter {
        kind: Some(MemoryKind::Guardrail),
        ..Filter::default()
    };
    let rows = learn::list(&desk.world, &filter)?;
    if rows.is_empty() {
        return Ok(Answer::of("There are no guardrails.\n"));
    }
    // Where they do not all fit, the latest are told, as in prompts.
    let told: String = rows.iter().rev().map(guardrail).collect();
    Ok(Answer::of(format!("# Guardrails\n{told}")).whole("piton learn list --kind guardrail"))
}

fn guardrail(row: &MemoryRow) -> String {
    let memory = &row.memory;
    let title = memory.title.as_deref().unwrap_or(&row.id);
    let when = memory
        .context
        .as_deref()
        .map(|when| format!("When: {when}\n\n"));
    format!(
        "\n## {title}\n\n{}{}\n",
        when.unwrap_or_default(),
        memory.content.trim()
    )
}

fn progress(desk: &Desk) -> Result<Answer, Failure> {
    let status = status::status(&desk.world, None)?;
    Ok(Answer::of(format!("# Progress\n\n{}\n", words::status(&status))).whole("piton status"))
}
