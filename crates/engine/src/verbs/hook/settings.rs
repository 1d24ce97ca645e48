//! `piton hook install` and `uninstall`: the settings of agent programs.

use std::path::Path;

use piton_formats::agent_hooks::{HookSettingsError, install, render_new_settings, uninstall};

use crate::agents::hook::settings::{HookProgram, SettingsScope, piton_path_command};
use crate::failure::Failure;
use crate::native_files::text_change::TextChange;
use crate::project::Project;
use crate::world::World;

/// What is to be done with the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallAction {
    /// They are to be there.
    Install,
    /// They are to be gone.
    Uninstall,
}

/// What would be done to the settings of a program. Nothing is done yet.
#[derive(Clone, Debug)]
pub struct HookSettingsChange {
    /// The file of the program's settings.
    pub text: TextChange,
    /// The change, for people, secrets taken out.
    pub shown: String,
}

/// Looks at what is to be done, and does nothing.
///
/// # Errors
///
/// When the settings cannot be read, or are not such as their program reads.
pub fn plan_change(
    world: &World,
    program: HookProgram,
    whose: SettingsScope,
    wish: InstallAction,
) -> Result<HookSettingsChange, Failure> {
    let file = program.settings_file(world, whose)?;
    let hooks = program.hooks(&piton_path_command(world));
    let project = Project::find(world, &world.cwd);
    let text = TextChange::compute(&project, file.clone(), |old| {
        let new = match (wish, old) {
            (InstallAction::Install, None) => Ok(Some(render_new_settings(&hooks))),
            (InstallAction::Install, Some(text)) => install(text, &hooks).map(Some),
            (InstallAction::Uninstall, None) => Ok(None),
            (InstallAction::Uninstall, Some(text)) => uninstall(text, &hooks),
        };
        new.map_err(|cannot| settings_failure(&file, &cannot))
    })?;
    let shown = world.redactor().redact(&text.diff()).into_owned();
    Ok(HookSettingsChange { text, shown })
}

fn settings_failure(file: &Path, cannot: &HookSettingsError) -> Failure {
    Failure::new(
        "file.unreadable",
        format!("{} cannot be changed: {cannot}", file.display()),
    )
    .with_hint("mend it there; it must be JSON without comments")
}
