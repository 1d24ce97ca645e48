//! The tables `[roles.NAME]`: how the work of each role of a plan is done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use piton_formats::registry::role_names;
use serde::{Deserialize, Serialize};

/// A table `[roles.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RoleTable {
    /// The file with what its agents are told, in the place of the words of piton, seen
    /// from the project.
    pub prompt: Option<PathBuf>,
    /// The model that they are asked to use, where neither the plan nor a person says
    /// which.
    pub model: Option<String>,
}

/// What is wrong with the tables, if something is.
pub(super) fn check_role_tables(tables: &BTreeMap<String, RoleTable>) -> Result<(), String> {
    let names = role_names();
    let unknown = tables.keys().find(|name| !names.contains(&name.as_str()));
    match unknown {
        Some(name) => Err(format!(
            "roles.{name}: no plan has this role; there are {}",
            names.join(", ")
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn a_role_that_no_plan_has_is_named() {
        let known = "[roles.coder]\nprompt = \"prompts/coder.md\"\nmodel = \"haiku\"\n";
        assert!(Config::parse(known).is_ok());
        let said = Config::parse("[roles.codre]\nmodel = \"haiku\"\n").expect_err("no role");
        assert_eq!(
            said,
            "roles.codre: no plan has this role; there are solution-designer, task-decomposer, coder, quality-reviewer"
        );
    }
}
