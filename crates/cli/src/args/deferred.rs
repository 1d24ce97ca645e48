//! Parts of the command line that are described only when they are typed.

use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a command, described when it is typed or its
/// help is asked for: a short command does not pay for what all others take.
#[derive(Debug)]
pub(crate) struct Deferred<T>(pub(crate) T);

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| T::augment_args(command).mut_args(take_negative_numbers))
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

/// An argument that answers itself for what is no value of it, as `-1` is to most: clap
/// takes that for an option, and says to type it behind `--`, which does not work either.
fn take_negative_numbers(arg: Arg) -> Arg {
    let takes_values = arg.get_action().takes_values();
    arg.allow_negative_numbers(takes_values)
}
