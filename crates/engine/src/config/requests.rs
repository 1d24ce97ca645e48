//! The table `[requests]`: what becomes of what agents ask for beside their work.

use piton_core::attempt::Report;
use piton_core::request::{Priority, RequestAnswer, RequestRule, RequestRules, Until};
use serde::{Deserialize, Serialize};

/// The table `[requests]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RequestsConfig {
    /// Whether rules decide; a person is asked about each request otherwise.
    pub automatic: bool,
    /// The rules, in the place of those of the original; the first that fits
    /// decides.
    pub rules: Option<Vec<RuleTable>>,
}

impl Default for RequestsConfig {
    fn default() -> Self {
        Self {
            automatic: true,
            rules: None,
        }
    }
}

/// One of `[[requests.rules]]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleTable {
    /// Which requests: of this priority.
    pub priority: Option<Priority>,
    /// Which requests: of this type.
    #[serde(rename = "type")]
    pub category: Option<String>,
    /// What becomes of them.
    #[serde(rename = "do")]
    pub what: RuleAnswer,
}

/// What a rule may say.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleAnswer {
    /// Add an item to the plan.
    Approve,
    /// Do nothing.
    Reject,
    /// Keep it for people.
    Backlog,
    /// Ask a person at once.
    Ask,
    /// Ask when the phase is over.
    EndOfPhase,
    /// Ask when the run is done.
    EndOfSprint,
    /// Ask when the next plan is begun.
    NextSprint,
}

impl RuleAnswer {
    fn request_answer(self) -> Option<RequestAnswer> {
        Some(match self {
            Self::Ask => return None,
            Self::Approve => RequestAnswer::Approve(Box::default()),
            Self::Reject => RequestAnswer::Reject,
            Self::Backlog => RequestAnswer::Backlog,
            Self::EndOfPhase => RequestAnswer::Defer(Until::EndOfPhase),
            Self::EndOfSprint => RequestAnswer::Defer(Until::EndOfSprint),
            Self::NextSprint => RequestAnswer::Defer(Until::NextSprint),
        })
    }
}

impl RequestsConfig {
    fn request_rules(&self) -> RequestRules {
        let Some(rules) = &self.rules else {
            return RequestRules::default();
        };
        let rules = rules.iter().map(|rule| RequestRule {
            priority: rule.priority,
            category: rule.category.clone(),
            answer: rule.what.request_answer(),
        });
        RequestRules(rules.collect())
    }

    /// Notes with each request of a report what the rules say of it.
    pub fn apply_rules(&self, report: &mut Report) {
        if !self.automatic || report.requests.is_empty() {
            return;
        }
        let rules = self.request_rules();
        for request in &mut report.requests {
            request.ruling = rules.find_ruling(request).map(Box::new);
        }
    }
}
