//! `piton prepare`: what an agent that begins with an item should know.

use piton_core::prepare::{self, PrepareInput, PreparedContext, prepare_context as notes};

use super::record::item::{ResolvedItem, resolve_recorded_item};
use super::record::unknown_item::resolve_known_item;
use crate::failure::Failure;
use crate::memory::preparation::{self, BlockerScope, PrepareRequest, TOKENS};
use crate::session::Session;
use crate::world::World;

crate::name_schema!(PreparedContext, prepare::SCHEMA);

/// What an agent that begins with an item should know, in at most so many tokens.
///
/// # Errors
///
/// When the item is unknown, what is named may be several, or there is a store that
/// cannot be read.
pub fn prepare(
    world: &World,
    item: &str,
    tokens_max: Option<usize>,
) -> Result<PreparedContext, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        let message = format!("there is no item `{item}`: nothing is recorded here");
        return Err(Failure::new("item.unknown", message)
            .with_hint("begin with `piton init`, or with `piton run PLAN`"));
    };
    let meant = resolve_known_item(&session, item)?;
    prepare_item(world, &session, &meant, tokens_max)
}

/// The same of an item that the caller was given to work on. The journal need not know
/// it yet: then what holds for all.
///
/// # Errors
///
/// When what is named may be several, or there is a store that cannot be read.
pub fn prepare_held(
    world: &World,
    item: &str,
    tokens_max: Option<usize>,
) -> Result<PreparedContext, Failure> {
    let Some(session) = Session::open_read_only(world, &world.cwd)? else {
        let nothing = PrepareInput {
            item,
            ..PrepareInput::default()
        };
        return Ok(notes(&nothing, tokens_max.unwrap_or(TOKENS)));
    };
    let meant = resolve_recorded_item(&session, item)?;
    prepare_item(world, &session, &meant, tokens_max)
}

fn prepare_item(
    world: &World,
    session: &Session<'_>,
    meant: &ResolvedItem,
    tokens_max: Option<usize>,
) -> Result<PreparedContext, Failure> {
    let tokens_max = tokens_max.unwrap_or(TOKENS);
    let rule_texts = preparation::unparsed_rule_texts(session)?;
    let request = PrepareRequest {
        run: meant.run,
        node: &meant.node,
        now: world.now(),
        tokens_max,
        blockers: BlockerScope::Project,
        rule_texts: &rule_texts,
        unconfirmed: preparation::unconfirmed_policy(session)?,
    };
    Ok(preparation::prepare_item(&*session.store, &request)?)
}
