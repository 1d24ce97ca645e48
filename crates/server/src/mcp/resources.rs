//! What can be read without a tool: three texts, for clients that show such.

use piton_core::memory::MemoryKind;
use piton_core::prepare::{PreparedNote, QUOTED, Section};
use piton_engine::Failure;
use piton_engine::verbs::learn::{self, MemoryFilter};
use piton_engine::verbs::{prepare, status};

use super::answer::ToolAnswer;
use super::client_session::{ClientSession, no_item_failure};
use super::read_tools::TOKENS_MAX;
use super::words;

/// The form of all of them.
pub(super) const MARKDOWN: &str = "text/markdown";

/// A text that can be read.
pub(super) struct Resource {
    pub(super) uri: &'static str,
    name: &'static str,
    about: &'static str,
    pub(super) read: fn(&ClientSession) -> Result<ToolAnswer, Failure>,
}

/// The resources, in the order in which they are listed.
pub(super) static RESOURCES: [Resource; 3] = [
    Resource {
        uri: "piton://item",
        name: "item",
        about: "What to know of the item that is worked on",
        read: read_item,
    },
    Resource {
        uri: "piton://guardrails",
        name: "guardrails",
        about: "What to keep to, whatever happens",
        read: read_guardrails,
    },
    Resource {
        uri: "piton://progress",
        name: "progress",
        about: "Where everything stands",
        read: read_progress,
    },
];

impl Resource {
    /// As it is listed.
    pub(super) fn protocol_resource(&self) -> rmcp::model::Resource {
        rmcp::model::Resource::new(self.uri, self.name)
            .with_description(self.about)
            .with_mime_type(MARKDOWN)
    }
}

fn read_item(desk: &ClientSession) -> Result<ToolAnswer, Failure> {
    let held = desk.held_item()?.ok_or_else(no_item_failure)?;
    let prepared = prepare::prepare_held(&desk.world, &held.item, Some(TOKENS_MAX))?;
    Ok(ToolAnswer::from_text(prepared.render_markdown())
        .with_full_command(format!("piton prepare {}", held.item)))
}

fn read_guardrails(desk: &ClientSession) -> Result<ToolAnswer, Failure> {
    let filter = MemoryFilter {
        kind: Some(MemoryKind::Guardrail),
        ..MemoryFilter::default()
    };
    let rows = learn::list(&desk.world, &filter)?.memories;
    if rows.is_empty() {
        return Ok(ToolAnswer::from_text("There are no guardrails.\n"));
    }
    // Where they do not all fit, the latest are told, as in prompts.
    let told = rows.iter().rev().map(|known| {
        PreparedNote::from_memory(Section::Guardrails, &known.row, Vec::new()).render_markdown()
    });
    let told: String = told.collect();
    Ok(
        ToolAnswer::from_text(format!("# Guardrails\n\n{QUOTED}\n\n{told}"))
            .with_full_command("piton learn list --kind guardrail"),
    )
}

fn read_progress(desk: &ClientSession) -> Result<ToolAnswer, Failure> {
    let status = status::status(&desk.world, None)?;
    Ok(
        ToolAnswer::from_text(format!("# Progress\n\n{}\n", words::render_status(&status)))
            .with_full_command("piton status"),
    )
}
