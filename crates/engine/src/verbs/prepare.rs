//! `piton prepare`: what somebody who begins with an item should know.

use piton_core::prepare::{Prepared, Situation, prepare as notes};

use super::record::item::asked_about;
use crate::failure::Failure;
use crate::preparing::{self, BlockersOf, PrepareRequest, TOKENS};
use crate::session::Session;
use crate::world::World;

/// What somebody who begins with an item should know, in at most so many
/// tokens. Of an item that nothing is known about: what holds for all.
///
/// # Errors
///
/// When an item is named that may be several, or there is a store that cannot
/// be read.
pub fn prepare(world: &World, item: &str, tokens_max: Option<usize>) -> Result<Prepared, Failure> {
    let tokens_max = tokens_max.unwrap_or(TOKENS);
    let Some(session) = Session::read(world, &world.cwd)? else {
        let nothing = Situation {
            item,
            ..Situation::default()
        };
        return Ok(notes(&nothing, tokens_max));
    };
    let meant = asked_about(&session, item)?;
    let request = PrepareRequest {
        run: meant.run,
        node: &meant.node,
        now: world.now(),
        tokens_max,
        blockers: BlockersOf::Project,
    };
    Ok(preparing::prepare(&session.store, &request)?)
}
