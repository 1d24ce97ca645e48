//! The table `[merge]`: what the work of several agents has to pass together.

use std::collections::BTreeMap;

use piton_core::amount::parse_duration;
use piton_core::gate::Gate;
use piton_core::policy::Repositories;
use serde::{Deserialize, Serialize};

use super::Config;
use super::repositories::{RepositoryTable, override_command, table_of_own_repository};

/// The table `[merge]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MergeConfig {
    /// The command that each merged tree has to pass, beside the check of its item.
    pub check: Option<String>,
    /// How long it may take, as a duration.
    pub check_timeout: String,
    /// Whether work waits for a person to look at it before it is merged.
    pub review: bool,
}

impl Default for MergeConfig {
    fn default() -> Self {
        Self {
            check: None,
            check_timeout: "10m".to_owned(),
            review: false,
        }
    }
}

impl MergeConfig {
    /// What is wrong with it, if something is.
    ///
    /// # Errors
    ///
    /// A value that cannot be.
    pub fn check(&self) -> Result<(), String> {
        let timeout = parse_duration(&self.check_timeout);
        timeout.map_err(|error| format!("merge.check-timeout: {error}"))?;
        Ok(())
    }

    /// The check of a run that is this command.
    fn gate_of_script(&self, script: String) -> Gate {
        Gate {
            script,
            on_fail_prompt: String::new(),
            runs_max: 1,
            timeout_s: parse_duration(&self.check_timeout).unwrap_or(600),
        }
    }
}

impl Config {
    /// The check that merged trees have to pass, and what stands in its place in other
    /// repositories of a run, by their names.
    #[must_use]
    pub fn merge_checks(
        &self,
        known: Option<&Repositories>,
    ) -> (Option<Gate>, BTreeMap<String, Option<Gate>>) {
        let gate = |own: Option<&RepositoryTable>| {
            let own = own.and_then(|table| table.check.as_ref());
            override_command(own, self.merge.check.as_ref())
                .map(|script| self.merge.gate_of_script(script))
        };
        let has_own = |name: &String| {
            let table = self.repositories.get(name)?;
            table.check.as_ref().map(|_| table)
        };
        let others = known.iter().flat_map(|known| &known.others);
        let others = others.filter_map(|name| Some((name.clone(), gate(Some(has_own(name)?)))));
        (
            gate(table_of_own_repository(&self.repositories, known)),
            others.collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_cannot_be_is_named_by_its_key() {
        let config: MergeConfig = toml::from_str("check-timeout = \"soon\"").expect("TOML");
        let said = config.check().expect_err("no duration");
        assert!(said.starts_with("merge.check-timeout: "), "{said}");
    }
}
