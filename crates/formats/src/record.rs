//! A struct bound to the table of a document, for reading and writing alike.
//!
//! [`record!`] lists, key by key, what a mapping must hold strictly and which
//! field of a struct holds it. That one list is the table for the strict check
//! and the schema, finds the field for a key that is read, and gives the order
//! in which keys are written. Which value a field takes, and what it writes, is
//! up to its type: a [`Slot`].

mod write;

use piton_core::evidence::{ClaimOverrides, WeakenedProof, Worth};

use crate::report::{Path, Report};
use crate::shape::{Field, Shape};
use crate::tolerant::Place;
use crate::tree::{Key, Map, Node};

pub(crate) use write::{AsJson, merged, push_yaml};

/// Keys that no field holds, in their order.
pub(crate) type Extra = Vec<(String, Node)>;

/// Keys and what is written under them, in the order of the table.
pub(crate) type Columns<'r> = Vec<(&'static str, Option<Written<'r>>)>;

/// A struct whose fields hold the values of a mapping.
pub(crate) trait Table {
    /// Every key with what its field writes; nothing where the key stays out.
    fn columns(&self) -> Columns<'_>;

    /// The field that holds a key, with what the table says of the key.
    fn slot(&mut self, key: &str) -> Option<(&'static Field, &mut dyn Slot)>;
}

/// Something that is written as a mapping.
pub(crate) trait Record {
    /// Every key that piton knows here, in the order in which they are written.
    ///
    /// The value of such a key that is not written is gone; that of any other
    /// key belongs to somebody else.
    fn written(&self) -> Columns<'_>;

    /// Other keys. One that is written already is left out.
    fn extra(&self) -> &[(String, Node)] {
        &[]
    }

    /// What tells it from others of its list.
    fn id(&self) -> &str {
        ""
    }
}

/// What a field writes.
#[derive(Clone)]
pub(crate) enum Written<'r> {
    Text(&'r str),
    Flag(bool),
    Integer(i128),
    Number(f64),
    Null,
    Tree(&'r Node),
    Texts(&'r [String]),
    /// A mapping, with the keys beside those of its table.
    Record(&'r dyn Record, &'r [(String, Node)]),
    Records(Vec<&'r dyn Record>),
}

impl<'r> Written<'r> {
    pub(crate) fn record(record: &'r dyn Record) -> Self {
        Self::Record(record, record.extra())
    }
}

/// Where a value that is read stands.
pub(crate) struct At<'a, 'r> {
    pub(crate) report: &'a mut Report<'r>,
    /// The mapping that holds it.
    pub(crate) place: Place<'a>,
    pub(crate) key: &'a Key,
}

impl At<'_, '_> {
    /// Reads the mapping at this place into a record.
    pub(crate) fn fill(&mut self, record: &mut impl Table, map: &Map) -> Extra {
        let (place, key) = (self.place, self.key);
        fill(record, map, place.path.key(&key.text), self.report)
    }

    pub(crate) fn mistyped(&mut self, node: &Node, wanted: &str) {
        let key = &self.key.text;
        let message = format!("`{key}` must be {wanted}, not {}", node.describe());
        let hint = "correct the value; until then it is kept as it stands and has no effect";
        self.error("WRONG_TYPE", node, (message, hint));
    }

    pub(crate) fn error(&mut self, code: &'static str, node: &Node, words: (String, &str)) {
        let span = if node.is_null() {
            self.key.span
        } else {
            node.span
        };
        let path = self.place.path.key(&self.key.text);
        self.report.error(code, path, span, words);
    }
}

/// A field of a struct that stands under a key of a mapping.
pub(crate) trait Slot {
    /// What is written under `key`; nothing where the key stays out.
    fn written(&self, key: &str) -> Option<Written<'_>>;

    /// Takes a value. `false`: it stays where it is, among the other keys.
    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool;
}

/// What may be there or not. Absent and null are two things: null is kept.
pub(crate) trait Optional: Sized {
    fn written(&self) -> Written<'_>;

    /// Reads a value that is not null, or reports what is wrong with it.
    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self>;
}

impl<T: Optional> Slot for Option<T> {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        self.as_ref().map(T::written)
    }

    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
        *self = Some(node)
            .filter(|node| !node.is_null())
            .and_then(|node| T::read(node, at));
        self.is_some()
    }
}

/// Gives a type of single values its two directions.
macro_rules! optional {
    ($type:ty, $value:ident => $written:expr, $read:expr, $wanted:literal) => {
        impl Optional for $type {
            fn written(&self) -> Written<'_> {
                let $value = self;
                $written
            }

            fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
                let value = $read(node);
                if value.is_none() {
                    at.mistyped(node, $wanted);
                }
                value
            }
        }
    };
}

optional!(bool, flag => Written::Flag(*flag), Node::as_bool, "true or false");
optional!(f64, number => Written::Number(*number), Node::as_f64, "a number");
optional!(u64, count => Written::Integer((*count).into()), Node::as_u64, "a whole number");
// Numbers and dates that nobody quoted keep their source text.
optional!(
    String,
    text => Written::Text(text),
    |node: &Node| node.text().map(str::to_owned),
    "a text"
);
optional!(
    usize,
    index => Written::Integer(i128::try_from(*index).unwrap_or(i128::MAX)),
    |node: &Node| usize::try_from(node.as_u64()?).ok(),
    "a whole number"
);

impl Optional for i64 {
    fn written(&self) -> Written<'_> {
        Written::Integer((*self).into())
    }

    fn read(node: &Node, _: &mut At<'_, '_>) -> Option<Self> {
        node.as_i64()
    }
}

impl Optional for Node {
    fn written(&self) -> Written<'_> {
        Written::Tree(self)
    }

    fn read(node: &Node, _: &mut At<'_, '_>) -> Option<Self> {
        Some(node.clone())
    }
}

/// Gives values that are always written theirs: one that is not understood
/// counts as the default.
macro_rules! always {
    ($($type:ty),*) => {
        $(impl Slot for $type {
            fn written(&self, _: &str) -> Option<Written<'_>> {
                Some(Optional::written(self))
            }

            fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
                let mut value: Option<Self> = None;
                value.read(node, at);
                *self = value.unwrap_or_default();
                true
            }
        })*
    };
}

always!(f64, u64, usize);

impl Slot for String {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        Some(Written::Text(self))
    }

    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
        if node.is_null() {
            at.mistyped(node, "a text");
        }
        let mut text: Option<Self> = None;
        text.read(node, at);
        *self = text.unwrap_or_default();
        true
    }
}

/// A list of ids; an empty one is not written.
impl Slot for Vec<String> {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        (!self.is_empty()).then_some(Written::Texts(self))
    }

    fn read(&mut self, node: &Node, at: &mut At<'_, '_>) -> bool {
        let text = |node: &Node| node.text().filter(|_| !node.is_null()).map(str::to_owned);
        let items = node.as_seq().map(|items| items.iter().map(text));
        match items.and_then(Iterator::collect) {
            Some(texts) => *self = texts,
            None if !node.is_null() => at.mistyped(node, "a list of ids"),
            None => {}
        }
        !self.is_empty()
    }
}

impl Slot for ClaimOverrides {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        (!self.is_empty()).then(|| Written::record(self))
    }

    fn read(&mut self, _: &Node, at: &mut At<'_, '_>) -> bool {
        *self = at.report.reader().claims(at.place);
        !self.is_empty()
    }
}

impl Record for ClaimOverrides {
    fn written(&self) -> Columns<'_> {
        let proof = [
            ("changed", self.changed.map(Worth::as_str)),
            ("word", self.word.map(Worth::as_str)),
            ("weakened", self.weakened.map(WeakenedProof::as_str)),
        ];
        let text = |(key, word): (_, Option<_>)| (key, word.map(Written::Text));
        proof.into_iter().map(text).collect()
    }
}

/// A key with what its field writes. One that must be there and may be null is
/// null where the field has nothing.
pub(crate) fn column<'r>(
    field: &'static Field,
    slot: &'r dyn Slot,
) -> (&'static str, Option<Written<'r>>) {
    let null = field.is_null_when_absent().then_some(Written::Null);
    (field.key, slot.written(field.key).or(null))
}

impl Field {
    /// Whether nothing is written as null.
    fn is_null_when_absent(&self) -> bool {
        let Shape::Either(shapes) = self.shape else {
            return false;
        };
        self.required && shapes.iter().any(|shape| matches!(shape, Shape::Null))
    }
}

/// Reads the values of a mapping into the fields of a struct, in the order of
/// the file. Returns the pairs that no field takes.
pub(crate) fn fill(
    record: &mut impl Table,
    map: &Map,
    path: Path<'_>,
    report: &mut Report<'_>,
) -> Extra {
    let mut others = Extra::new();
    for (key, node) in map.iter() {
        let place = Place { map, path };
        let mut at = At {
            report: &mut *report,
            place,
            key,
        };
        let taken = record.slot(&key.text).is_some_and(|(field, slot)| {
            let is_taken = slot.read(node, &mut at);
            is_taken || (node.is_null() && field.is_null_when_absent())
        });
        if !taken {
            others.push((key.text.clone(), node.clone()));
        }
    }
    others
}

/// Binds the table of a mapping to a struct: a field of the struct for each row.
macro_rules! record {
    ($table:ident, $record:ty { $($slot:ident: $field:expr,)* }) => {
        pub(super) static $table: &[crate::shape::Field] = &[$($field),*];

        impl crate::record::Table for $record {
            fn columns(&self) -> crate::record::Columns<'_> {
                vec![$({
                    static FIELD: crate::shape::Field = $field;
                    crate::record::column(&FIELD, &self.$slot)
                }),*]
            }

            fn slot(
                &mut self,
                key: &str,
            ) -> Option<(&'static crate::shape::Field, &mut dyn crate::record::Slot)> {
                $({
                    static FIELD: crate::shape::Field = $field;
                    if key == FIELD.key {
                        return Some((&FIELD, &mut self.$slot));
                    }
                })*
                None
            }
        }
    };
}

pub(crate) use record;
