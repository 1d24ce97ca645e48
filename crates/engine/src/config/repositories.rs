//! The tables `[repositories.NAME]`: what is another in a repository of a run over
//! several.

use std::collections::BTreeMap;

use piton_core::policy::Repositories;
use serde::{Deserialize, Serialize};

use super::WorkspaceConfig;

/// A table `[repositories.NAME]`. An empty command is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RepositoryTable {
    /// In the place of `check` under `[merge]`.
    pub check: Option<String>,
    /// In the place of `setup` under `[workspace]`.
    pub setup: Option<String>,
    /// In the place of `teardown` under `[workspace]`.
    pub teardown: Option<String>,
}

/// The tables, by the names that plans have for the repositories.
pub type RepositoryTables = BTreeMap<String, RepositoryTable>;

/// The table of the repository in which the project lies, by what a run calls that.
#[must_use]
pub fn table_of_own_repository<'t>(
    tables: &'t RepositoryTables,
    known: Option<&Repositories>,
) -> Option<&'t RepositoryTable> {
    let mut own = known.iter().flat_map(|known| &known.own);
    own.find_map(|name| tables.get(name))
}

/// The names of tables that are no repository of a run.
#[must_use]
pub fn unknown_tables<'t>(tables: &'t RepositoryTables, known: &Repositories) -> Vec<&'t str> {
    let names = tables.keys().map(String::as_str);
    let is_known = |name: &str| known.own.iter().chain(&known.others).any(|own| own == name);
    names.filter(|name| !is_known(name)).collect()
}

/// What stands in the place of a command where a table says something.
pub(super) fn override_command(own: Option<&String>, usual: Option<&String>) -> Option<String> {
    let command = own.or(usual)?;
    (!command.trim().is_empty()).then(|| command.clone())
}

impl WorkspaceConfig {
    /// The same for lanes of a repository that has a table.
    #[must_use]
    pub fn for_repository(&self, table: Option<&RepositoryTable>) -> Self {
        let own = |of: fn(&RepositoryTable) -> Option<&String>| table.and_then(of);
        Self {
            setup: override_command(own(|table| table.setup.as_ref()), self.setup.as_ref()),
            teardown: override_command(
                own(|table| table.teardown.as_ref()),
                self.teardown.as_ref(),
            ),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_table_replaces_what_it_says_and_nothing_else() {
        let text = "[workspace]\nsetup = \"npm ci\"\nteardown = \"down\"\n\
            [merge]\ncheck = \"make test\"\n\
            [repositories.web]\nsetup = \"\"\ncheck = \"npm test\"\n\
            [repositories.docs]\ncheck = \" \"\n";
        let config = Config::parse(text).expect("TOML");
        let web = config.repositories.get("web");
        let workspace = config.workspace.for_repository(web);
        assert_eq!(workspace.setup, None);
        assert_eq!(workspace.teardown.as_deref(), Some("down"));
        let none = config.workspace.for_repository(None);
        assert_eq!(none.setup.as_deref(), Some("npm ci"));
        let known = Repositories {
            own: vec!["shop".to_owned()],
            others: ["api", "docs", "web"].map(str::to_owned).into(),
        };
        let (check, others) = config.merge_checks(Some(&known));
        assert_eq!(check.expect("that of all").script, "make test");
        let script = |name: &str| {
            others
                .get(name)
                .map(|own| own.as_ref().map(|it| &*it.script))
        };
        assert_eq!(script("api"), None);
        assert_eq!(script("docs"), Some(None));
        assert_eq!(script("web"), Some(Some("npm test")));
        assert!(unknown_tables(&config.repositories, &known).is_empty());
        let known = Repositories {
            own: vec!["web".to_owned()],
            others: vec!["docs".to_owned()],
        };
        let (check, _) = config.merge_checks(Some(&known));
        assert_eq!(check.expect("its own").script, "npm test");
        assert_eq!(
            table_of_own_repository(&config.repositories, Some(&known)),
            web
        );
    }

    #[test]
    fn a_name_of_no_repository_is_found() {
        let config = Config::parse("[repositories.wbe]\ncheck = \"true\"\n").expect("TOML");
        let known = Repositories {
            own: vec!["shop".to_owned()],
            others: vec!["web".to_owned()],
        };
        assert_eq!(unknown_tables(&config.repositories, &known), ["wbe"]);
    }
}
