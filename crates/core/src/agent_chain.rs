//! A chain of agents: which one is started next, where a service had enough or a model
//! refused.
//!
//! What is known of the agents is folded from the ends of attempts: the limits stand in
//! the row of the run, refusals in that of the item. Design:
//! `docs/design/0064-a-chain-of-agents.md`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{Outcome, Report};
use crate::item::ItemRow;
use crate::policy;
use crate::trouble::Trouble;

/// An agent that is passed over from the end of an attempt on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnavailableAgent {
    /// The agent, as its attempts name it.
    pub agent: String,
    /// Until when its service has enough, for all items of the run; none where its model
    /// refused this one item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Which agent an item is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentChoice<'a> {
    /// This one, now.
    Start(&'a str),
    /// None before this time: all have had enough.
    WaitUntil(Timestamp),
}

/// Which agent gives way to others after an attempt, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTurn {
    /// The one that is passed over.
    pub unavailable: UnavailableAgent,
    /// When the item may be started again; none where another agent may start it now.
    pub wait_until: Option<Timestamp>,
}

/// What is known of the agents of a chain with regard to one item.
#[derive(Clone, Copy, Debug)]
pub struct AgentChain<'a> {
    /// In the order in which they are tried, at least one.
    pub agents: &'a [String],
    /// Until when services have enough, by agent.
    pub limits: &'a BTreeMap<String, Timestamp>,
    /// The agents whose models refused the item.
    pub refused_by: &'a [String],
    /// The agent in whose conversation the item goes on.
    pub ongoing: Option<&'a str>,
}

impl<'a> AgentChain<'a> {
    /// What is known with regard to an item, given the limits of its run.
    #[must_use]
    pub fn of_item(
        agents: &'a [String],
        limits: &'a BTreeMap<String, Timestamp>,
        item: &'a ItemRow,
    ) -> Self {
        let ongoing = item.tries.ongoing.as_deref();
        Self {
            agents,
            limits,
            refused_by: &item.tries.refused_by,
            ongoing: ongoing.map(|ongoing| ongoing.agent.as_str()),
        }
    }

    /// The agent that works on the item next.
    ///
    /// The first one that may, or the one that has begun. Where all have refused, what the
    /// item is worth is decided as with one agent. An agent without others has no turn to
    /// lose: its items wait by themselves.
    #[must_use]
    pub fn choose_agent(&self, now: Timestamp) -> AgentChoice<'a> {
        if let [only] = self.agents {
            return AgentChoice::Start(only);
        }
        let is_willing = |agent: &&'a String| !self.refused_by.contains(*agent);
        let mut able: Vec<&'a String> = self.agents.iter().filter(is_willing).collect();
        if able.is_empty() {
            able = self.agents.iter().collect();
        }
        let mut free = able.iter().filter(|agent| !self.is_limited(agent, now));
        let begun = free
            .clone()
            .find(|agent| Some(agent.as_str()) == self.ongoing);
        if let Some(agent) = begun.or_else(|| free.next()) {
            return AgentChoice::Start(agent);
        }
        let ends = able.iter().filter_map(|agent| self.limits.get(*agent));
        AgentChoice::WaitUntil(ends.min().copied().unwrap_or(now))
    }

    /// Whether the service of an agent has enough at this time.
    #[must_use]
    pub fn is_limited(&self, agent: &str, now: Timestamp) -> bool {
        self.limits.get(agent).is_some_and(|until| *until > now)
    }

    /// Not before this time may the item be started; none where that time has come.
    ///
    /// What was put off waits for a service, and not for its time, where the agent that
    /// works now has another one.
    #[must_use]
    pub fn not_before(&self, item: &ItemRow, now: Timestamp) -> Option<Timestamp> {
        let own = item.not_before(now);
        if item.hold_at(now).is_some() || !item.stage.needs_agent() {
            return own;
        }
        let is_put_off = item.tries.put_off > 0;
        match self.choose_agent(now) {
            AgentChoice::WaitUntil(until) => own.filter(|_| !is_put_off).max(Some(until)),
            AgentChoice::Start(agent) => {
                let is_known = self.limits.values().any(|until| *until > now);
                let is_others = is_put_off && !self.is_limited(agent, now);
                own.filter(|_| !(is_known && is_others))
            }
        }
    }

    /// Which agent is passed over after an attempt of `agent`, if one is, and who is next.
    ///
    /// `put_off` says how often in a row the item was put off before.
    #[must_use]
    pub fn turn_after(
        &self,
        agent: &str,
        report: &Report,
        put_off: u32,
        now: Timestamp,
    ) -> Option<AgentTurn> {
        let unavailable = self.unavailable_after(agent, report, put_off, now)?;
        let (mut limits, mut refused_by) = (self.limits.clone(), self.refused_by.to_vec());
        match unavailable.until {
            Some(until) => drop(limits.insert(agent.to_owned(), until)),
            None => refused_by.push(agent.to_owned()),
        }
        let others = AgentChain {
            limits: &limits,
            refused_by: &refused_by,
            ongoing: None,
            ..*self
        };
        let wait_until = match others.choose_agent(now) {
            _ if self.agents.len() < 2 => unavailable.until,
            AgentChoice::Start(_) => None,
            AgentChoice::WaitUntil(until) => Some(until),
        };
        Some(AgentTurn {
            unavailable,
            wait_until,
        })
    }

    /// A refusal sends the item on as long as another agent has not refused it; the
    /// last one's is a failure of the item.
    fn unavailable_after(
        &self,
        agent: &str,
        report: &Report,
        put_off: u32,
        now: Timestamp,
    ) -> Option<UnavailableAgent> {
        let agent_name = || agent.to_owned();
        if report.is_rate_limited() {
            let resets = report.program.resets_at.unwrap_or(now);
            return Some(UnavailableAgent {
                agent: agent_name(),
                until: Some(policy::rate_limit_wait_end(resets, put_off + 1, now)),
            });
        }
        let is_refused = report.program.trouble == Some(Trouble::Refusal)
            && report.outcome != Outcome::Completed;
        let is_other = |other: &&String| *other != agent && !self.refused_by.contains(*other);
        let goes_on = is_refused && self.agents.iter().any(|other| is_other(&other));
        goes_on.then(|| UnavailableAgent {
            agent: agent_name(),
            until: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::ProgramReport;

    const NOON: i64 = 1_000_000;

    fn at(after_s: i64) -> Timestamp {
        Timestamp::from_second(NOON + after_s).expect("a time")
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    #[derive(Default)]
    struct Case<'a> {
        agents: &'a [&'a str],
        /// Agents, and in how many seconds they serve again.
        limits: &'a [(&'a str, i64)],
        refused_by: &'a [&'a str],
        ongoing: Option<&'a str>,
    }

    impl Case<'_> {
        #[track_caller]
        fn check<T: PartialEq + std::fmt::Debug>(
            &self,
            ask: impl Fn(&AgentChain<'_>) -> T,
            expect: &T,
        ) {
            let limits = self.limits.iter();
            let limits = limits.map(|(agent, after_s)| ((*agent).to_owned(), at(*after_s)));
            let said = ask(&AgentChain {
                agents: &names(self.agents),
                limits: &limits.collect(),
                refused_by: &names(self.refused_by),
                ongoing: self.ongoing,
            });
            assert_eq!(said, *expect);
        }
    }

    /// Chain, limits, refusals, the conversation that goes on, and who is chosen: an agent,
    /// or the seconds until one may be.
    type ChoiceRow = (
        &'static [&'static str],
        &'static [(&'static str, i64)],
        &'static [&'static str],
        Option<&'static str>,
        Result<&'static str, i64>,
    );

    const BOTH: &[&str] = &["claude", "codex"];

    const CHOICES: &[ChoiceRow] = &[
        (BOTH, &[], &[], None, Ok("claude")),
        (BOTH, &[("claude", 60)], &[], None, Ok("codex")),
        // The first again, from the second of its reset on.
        (BOTH, &[("claude", 0)], &[], None, Ok("claude")),
        (BOTH, &[("claude", -1)], &[], None, Ok("claude")),
        (BOTH, &[("claude", 60), ("codex", 30)], &[], None, Err(30)),
        (BOTH, &[], &["claude"], None, Ok("codex")),
        // An agent that refused the item does not get it because the other has enough.
        (BOTH, &[("codex", 30)], &["claude"], None, Err(30)),
        (BOTH, &[], &["claude", "codex"], None, Ok("claude")),
        (
            BOTH,
            &[("claude", 9)],
            &["codex", "claude"],
            None,
            Ok("codex"),
        ),
        // A conversation that was begun goes on, unless its agent may not.
        (BOTH, &[], &[], Some("codex"), Ok("codex")),
        (BOTH, &[("codex", 30)], &[], Some("codex"), Ok("claude")),
        (BOTH, &[], &["codex"], Some("codex"), Ok("claude")),
        (BOTH, &[], &[], Some("gemini"), Ok("claude")),
        // One agent is as without a chain: its items wait by themselves.
        (&["claude"], &[("claude", 60)], &[], None, Ok("claude")),
    ];

    #[test]
    fn the_first_agent_that_may_is_chosen() {
        for (agents, limits, refused_by, ongoing, expect) in CHOICES.iter().copied() {
            let case = Case {
                agents,
                limits,
                refused_by,
                ongoing,
            };
            let chosen = |chain: &AgentChain<'_>| match chain.choose_agent(at(0)) {
                AgentChoice::Start(agent) => Ok(agent.to_owned()),
                AgentChoice::WaitUntil(until) => Err(until.as_second() - NOON),
            };
            case.check(chosen, &expect.map(str::to_owned));
        }
    }

    fn ended(outcome: Outcome, trouble: Option<Trouble>, resets_in_s: Option<i64>) -> Report {
        Report {
            program: ProgramReport {
                trouble,
                resets_at: resets_in_s.map(at),
                ..ProgramReport::default()
            },
            ..Report::with_outcome(outcome)
        }
    }

    #[test]
    fn a_limit_holds_for_its_agent_and_a_refusal_for_its_item() {
        use Outcome::{Completed, Failed, Interrupted};
        let by_claude = |until: Option<i64>| {
            Some(UnavailableAgent {
                agent: "claude".to_owned(),
                until: until.map(at),
            })
        };
        let limited = |resets| ended(Interrupted, Some(Trouble::RateLimit), resets);
        let refused = || ended(Failed, Some(Trouble::Refusal), None);
        let only: &[&str] = &["claude"];
        let check = |agents: &[&str], refused_by: &[&str], report: Report, expect| {
            let case = Case {
                agents,
                refused_by,
                ..Case::default()
            };
            case.check(
                |chain| chain.unavailable_after("claude", &report, 0, at(0)),
                &expect,
            );
        };
        check(BOTH, &[], limited(Some(7_200)), by_claude(Some(7_200)));
        check(BOTH, &[], limited(None), by_claude(Some(10)));
        check(only, &[], limited(Some(7_200)), by_claude(Some(7_200)));
        check(BOTH, &[], refused(), by_claude(None));
        check(BOTH, &["codex"], refused(), None);
        check(only, &[], refused(), None);
        // It did the item after all.
        let did_it = ended(Completed, Some(Trouble::Refusal), None);
        check(BOTH, &[], did_it, None);
        let wrong = ended(Failed, Some(Trouble::Logic), None);
        check(BOTH, &[], wrong, None);
        let offline = ended(Interrupted, Some(Trouble::Network), None);
        check(BOTH, &[], offline, None);
    }
}
