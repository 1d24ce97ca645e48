//! Which kinds of store there are, and how an address names one of them.
//!
//! A new back end is a module that fills in a [`Backend`], and a line in [`BACKENDS`].

use std::ffi::{OsStr, OsString};
use std::path::Path;

use piton_core::name::NameRange;

use crate::sqlite;
use crate::store::{FaultKind, RebuildStep, RestoreReport, Store, StoreFault, StoreOptions};

/// All back ends. The first one is that of an address without a scheme.
static BACKENDS: [Backend; 1] = [sqlite::BACKEND];

/// Opens the store at a place.
type OpenStore = fn(&OsStr, StoreOptions) -> Result<Box<dyn Store>, StoreFault>;

/// Makes the views of the store at a place anew.
type RebuildStore = fn(&OsStr, &mut dyn FnMut(RebuildStep)) -> Result<RestoreReport, StoreFault>;

/// How the stores of one kind are made, opened and restored. The place is what
/// follows the scheme in the address.
#[derive(Debug)]
pub(crate) struct Backend {
    /// What comes before the `:` of an address.
    pub(crate) scheme: &'static str,
    /// The form of an address, for messages.
    pub(crate) form: &'static str,
    /// See [`StoreAddress::create_if_missing`].
    pub(crate) create_if_missing: fn(&OsStr, NameRange) -> Result<bool, StoreFault>,
    /// See [`StoreAddress::open`].
    pub(crate) open: OpenStore,
    /// See [`StoreAddress::restore`].
    pub(crate) restore: fn(&Path, &OsStr) -> Result<RestoreReport, StoreFault>,
    /// See [`StoreAddress::rebuild`].
    pub(crate) rebuild: RebuildStore,
    /// See [`StoreAddress::do_while_closed`].
    pub(crate) do_while_closed: fn(&OsStr, &mut dyn FnMut()) -> Result<(), StoreFault>,
}

/// Names a store: its kind, and where it lies.
#[derive(Clone, Debug)]
pub struct StoreAddress {
    backend: &'static Backend,
    place: OsString,
}

impl StoreAddress {
    /// Parses the path of a folder, or `SCHEME:PLACE`. A path whose first part
    /// looks like a scheme is written with `./` before it.
    ///
    /// # Errors
    ///
    /// [`FaultKind::UnknownBackend`] with the addresses that are known.
    pub fn parse(address: &OsStr) -> Result<Self, StoreFault> {
        let (scheme, place) = split_scheme(address);
        let backend = match scheme {
            Some(scheme) => BACKENDS.iter().find(|backend| backend.scheme == scheme),
            None => BACKENDS.first(),
        };
        if let Some(backend) = backend {
            return Ok(Self {
                backend,
                place: place.to_owned(),
            });
        }
        // Not the address itself: it may hold a password.
        let forms: Vec<&str> = BACKENDS.iter().map(|backend| backend.form).collect();
        Err(StoreFault::without_source(
            FaultKind::UnknownBackend,
            format!(
                "no store is of the kind `{}`; the address of a store is the path of a folder or {}",
                scheme.unwrap_or_default(),
                forms.join(", ")
            ),
        ))
    }

    /// Makes an empty store where there is none; whether it did. It appears
    /// whole or not at all. The names that the store gives out begin at
    /// `naming`, for good.
    ///
    /// # Errors
    ///
    /// When it cannot be made there.
    pub fn create_if_missing(&self, naming: NameRange) -> Result<bool, StoreFault> {
        (self.backend.create_if_missing)(&self.place, naming)
    }

    /// Opens the store.
    ///
    /// # Errors
    ///
    /// [`FaultKind::Missing`] without a store, [`FaultKind::Newer`] when a newer
    /// piton wrote it, and others where it cannot be read or written.
    pub fn open(&self, options: StoreOptions) -> Result<Box<dyn Store>, StoreFault> {
        (self.backend.open)(&self.place, options)
    }

    /// Puts a backup in the place of the store, which is kept, or where there
    /// is none. The backup is verified first.
    ///
    /// # Errors
    ///
    /// When the backup is damaged or no backup, when any process has the store
    /// open, or when it cannot be written. Nothing is changed then.
    pub fn restore(&self, from: &Path) -> Result<RestoreReport, StoreFault> {
        (self.backend.restore)(from, &self.place)
    }

    /// Makes the views of the store anew from its journal, in another store that takes
    /// its place; the present one is kept.
    ///
    /// # Errors
    ///
    /// When the journal itself is damaged, when any process has the store open, or when
    /// it cannot be written. Nothing is changed then.
    pub fn rebuild(
        &self,
        report: &mut dyn FnMut(RebuildStep),
    ) -> Result<RestoreReport, StoreFault> {
        (self.backend.rebuild)(&self.place, report)
    }

    /// Does `work` while no process has the store open and none can write to it, so that
    /// its files can be moved.
    ///
    /// # Errors
    ///
    /// [`FaultKind::InUse`] when any process has the store open, and others when it
    /// cannot be read or written. Nothing is done then.
    pub fn do_while_closed(&self, work: &mut dyn FnMut()) -> Result<(), StoreFault> {
        (self.backend.do_while_closed)(&self.place, work)
    }
}

/// The scheme of an address, and what follows it. A scheme has at least two
/// characters.
fn split_scheme(address: &OsStr) -> (Option<&str>, &OsStr) {
    let split = address.to_str().and_then(|text| text.split_once(':'));
    match split {
        Some((scheme, place)) if is_scheme(scheme) => (Some(scheme), OsStr::new(place)),
        Some(_) | None => (None, address),
    }
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expect: &str) {
        let place = match StoreAddress::parse(OsStr::new(address)) {
            Ok(address) => format!("{} at {}", address.backend.scheme, address.place.display()),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(place, expect);
    }

    #[test]
    fn an_address_is_a_path_or_names_its_back_end() {
        check("/home/ada/.piton", "sqlite at /home/ada/.piton");
        check("sqlite:/home/ada/.piton", "sqlite at /home/ada/.piton");
        check("./a:b", "sqlite at ./a:b");
    }

    #[test]
    fn an_unknown_scheme_is_refused_without_its_password() {
        check(
            "postgres://ada:secret@host/db",
            "no store is of the kind `postgres`; the address of a store is the path of a folder or sqlite:FOLDER",
        );
    }
}
