//! `piton prepare`: what somebody who begins with an item should know.

use piton_core::prepare::{Prepared, Situation, prepare as notes};

use super::record::item::{Meant, asked_about};
use super::record::unknown::known_item;
use crate::failure::Failure;
use crate::preparing::{self, BlockersOf, PrepareRequest, TOKENS};
use crate::session::Session;
use crate::world::World;

/// What somebody who begins with an item should know, in at most so many tokens.
///
/// # Errors
///
/// When nobody knows the item, what is named may be several, or there is a store
/// that cannot be read.
pub fn prepare(world: &World, item: &str, tokens_max: Option<usize>) -> Result<Prepared, Failure> {
    let Some(session) = Session::read(world, &world.cwd)? else {
        let message = format!("there is no item `{item}`: nothing is recorded here");
        return Err(Failure::new("item.unknown", message)
            .hint("begin with `piton init`, or with `piton run PLAN`"));
    };
    let meant = known_item(&session, item)?;
    of_item(world, &session, &meant, tokens_max)
}

/// The same of an item that somebody was given to work on, which nobody need
/// know yet: then what holds for all.
///
/// # Errors
///
/// When what is named may be several, or there is a store that cannot be read.
pub fn prepare_held(
    world: &World,
    item: &str,
    tokens_max: Option<usize>,
) -> Result<Prepared, Failure> {
    let Some(session) = Session::read(world, &world.cwd)? else {
        let nothing = Situation {
            item,
            ..Situation::default()
        };
        return Ok(notes(&nothing, tokens_max.unwrap_or(TOKENS)));
    };
    let meant = asked_about(&session, item)?;
    of_item(world, &session, &meant, tokens_max)
}

fn of_item(
    world: &World,
    session: &Session<'_>,
    meant: &Meant,
    tokens_max: Option<usize>,
) -> Result<Prepared, Failure> {
    let tokens_max = tokens_max.unwrap_or(TOKENS);
    let rule_texts = preparing::rule_texts(session)?;
    let request = PrepareRequest {
        run: meant.run,
        node: &meant.node,
        now: world.now(),
        tokens_max,
        blockers: BlockersOf::Project,
        rule_texts: &rule_texts,
    };
    Ok(preparing::prepare(&session.store, &request)?)
}
