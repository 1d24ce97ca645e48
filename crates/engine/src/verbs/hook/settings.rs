//! `piton hook install` and `uninstall`: the settings of agent programs.

use std::path::Path;

use piton_formats::agent_hooks::{CannotHook, fresh, install, uninstall};

use crate::failure::Failure;
use crate::hook::settings::{Program, Whose, piton};
use crate::text_change::TextChange;
use crate::world::World;

/// What is to be done with the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// They are to be there.
    Install,
    /// They are to be gone.
    Uninstall,
}

/// What would be done to the settings of a program. Nothing is done yet.
#[derive(Clone, Debug)]
pub struct Change {
    /// The program.
    pub program: Program,
    /// The file of its settings.
    pub text: TextChange,
    /// The change, for people, secrets taken out.
    pub shown: String,
}

/// Looks at what is to be done, and does nothing.
///
/// # Errors
///
/// When the settings cannot be read, or are not such as their program reads.
pub fn look(world: &World, program: Program, whose: Whose, wish: Wish) -> Result<Change, Failure> {
    let file = program.file(world, whose)?;
    let hooks = program.hooks(&piton(world));
    let text = TextChange::look(file.clone(), |old| {
        let new = match (wish, old) {
            (Wish::Install, None) => Ok(Some(fresh(&hooks))),
            (Wish::Install, Some(text)) => install(text, &hooks).map(Some),
            (Wish::Uninstall, None) => Ok(None),
            (Wish::Uninstall, Some(text)) => uninstall(text, &hooks),
        };
        new.map_err(|cannot| damaged(&file, &cannot))
    })?;
    let shown = world.redactor().redact(&text.diff()).into_owned();
    Ok(Change {
        program,
        text,
        shown,
    })
}

fn damaged(file: &Path, cannot: &CannotHook) -> Failure {
    Failure::new(
        "file.unreadable",
        format!("{} cannot be changed: {cannot}", file.display()),
    )
    .hint("mend it there; it must be JSON without comments")
}
