//! A struct bound to the table of a document, for reading and writing alike.
//!
//! [`record!`] lists, key by key, what a mapping must hold strictly and which
//! field of a struct holds it. That one list is the table for the strict check
//! and the schema, finds the field for a key that is read, and gives the order
//! in which keys are written. Which value a field takes, and what it writes, is
//! up to its type: a [`Slot`].

mod write;

use std::borrow::Cow;

use piton_core::evidence::{ClaimOverrides, WeakenedProof, Worth};

use crate::report::{Path, Report, closest};
use crate::shape::{Field, Shape, has_key, may};
use crate::tolerant::{KEPT, Place, count};
use crate::tree::{Key, Kind, Map, Node};
use crate::understood::understood;

pub(crate) use write::{AsJson, merged, push_yaml};

/// Binds the table of a mapping to a struct: a field of the struct for each row.
/// `..extra`: the struct keeps other keys in a field of that name. Further
/// methods of [`Record`] may follow.
macro_rules! record {
    (
        static $table:ident: $record:ty {
            $($slot:ident: $field:expr,)*
            $(.. $extra:ident)?
        }
        $($method:item)*
    ) => {
        pub(crate) static $table: &[crate::shape::Field] = &[$($field),*];

        impl crate::record::Record for $record {
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

            $(
                fn extra(&self) -> &[(String, crate::tree::Node)] {
                    &self.$extra
                }

                fn keep(&mut self, others: crate::record::Extra) {
                    self.$extra = others;
                }
            )?

            $($method)*
        }
    };
}

/// Gives types of words their two directions.
macro_rules! words {
    ($($word:ty),*) => {
        $(impl crate::record::Optional for $word {
            fn written(&self) -> crate::record::Written<'_> {
                crate::record::Written::text(self.as_str())
            }

            fn read(
                node: &crate::tree::Node,
                at: &mut crate::record::At<'_, '_>,
            ) -> Option<Self> {
                let word = node.as_str().and_then(Self::parse);
                if word.is_none() {
                    at.no_word(node, Self::WORDS);
                }
                word
            }
        })*
    };
}

pub(crate) use {record, words};

/// Keys that no field holds, in their order.
pub(crate) type Extra = Vec<(String, Node)>;

/// Keys and what is written under them, in the order of the table.
pub(crate) type Columns<'r> = Vec<(&'static str, Option<Written<'r>>)>;

/// A struct whose fields hold the values of a mapping: see [`record!`].
pub(crate) trait Record {
    /// Every key with what its field writes; nothing where the key stays out.
    fn columns(&self) -> Columns<'_>;

    /// The field that holds a key, with what the table says of the key.
    fn slot(&mut self, key: &str) -> Option<(&'static Field, &mut dyn Slot)>;

    /// Every key that piton knows here, in the order in which they are written.
    ///
    /// The value of such a key that is not written is gone; that of any other
    /// key belongs to somebody else.
    fn written(&self) -> Columns<'_> {
        self.columns()
    }

    /// Other keys. One that is written already is left out.
    fn extra(&self) -> &[(String, Node)] {
        &[]
    }

    /// Keeps keys that no field holds.
    fn keep(&mut self, _: Extra) {}

    /// What tells it from others of its list.
    fn id(&self) -> &str {
        ""
    }

    /// Reads the record that stands under a key.
    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self>
    where
        Self: Sized + Default,
    {
        let Some(map) = node.as_map() else {
            at.mistyped(node, "a mapping");
            return None;
        };
        let mut record = Self::default();
        at.fill(&mut record, map);
        Some(record)
    }
}

/// What a field writes.
#[derive(Clone)]
pub(crate) enum Written<'r> {
    Text(Cow<'r, str>),
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
    pub(crate) fn text(text: &'r str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn record(record: &'r dyn Record) -> Self {
        Self::Record(record, record.extra())
    }
}

/// What is made of values that are not as they should be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    /// Only what could be written so is taken; the rest stays as it is.
    Literal,
    /// What can be understood is taken.
    Lenient,
}

/// Where a value that is read stands.
pub(crate) struct At<'a, 'r> {
    pub(crate) report: &'a mut Report<'r>,
    /// The mapping that holds it.
    pub(crate) place: Place<'a>,
    pub(crate) key: &'a Key,
    pub(crate) manner: Manner,
}

impl At<'_, '_> {
    /// Reads the mapping at this place into a record.
    pub(crate) fn fill(&mut self, record: &mut dyn Record, map: &Map) {
        let (place, key) = (self.place, self.key);
        let path = place.path.key(&key.text);
        fill(record, Place { map, path }, self.report, self.manner);
    }

    fn is_lenient(&self) -> bool {
        self.manner == Manner::Lenient
    }

    pub(crate) fn mistyped(&mut self, node: &Node, wanted: &str) {
        let key = &self.key.text;
        let message = format!("`{key}` must be {wanted}, not {}", node.describe());
        self.error("WRONG_TYPE", node, (message, KEPT));
    }

    /// Reports a value that is none of the words of a format.
    pub(crate) fn no_word(&mut self, node: &Node, words: &[&str]) {
        let listed = words.join("`, `");
        let hint = match node.as_str().and_then(|text| closest(text, words)) {
            Some(meant) => format!("write `{meant}`, or another of `{listed}`"),
            None => format!("write one of `{listed}`"),
        };
        let name = self.key.text.replace('_', " ");
        let message = match node.as_str() {
            Some(text) => format!("there is no {name} `{}`", text.escape_debug()),
            None => format!("the {name} must be a word, not {}", node.describe()),
        };
        self.error("INVALID_VALUE", node, (message, &hint));
    }

    /// Reports a number or the like that should be in quotes.
    fn unquoted(&mut self, node: &Node) {
        let key = &self.key.text;
        let message = format!("`{key}` should be a text, not {}", node.describe());
        let path = self.place.path.key(key);
        self.report
            .warning("WRONG_TYPE", path, node.span, (message, "put it in quotes"));
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

impl<R: Record + Default> Optional for R {
    fn written(&self) -> Written<'_> {
        Written::record(self)
    }

    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        R::read(node, at)
    }
}

/// Gives a type of single values its two directions: what is written of it, how
/// it is read, leniently or not, and what to call for where it is something else.
macro_rules! optional {
    ($type:ty: $value:ident => $written:expr, $read:expr, $wanted:expr) => {
        impl Optional for $type {
            fn written(&self) -> Written<'_> {
                let $value = self;
                $written
            }

            fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
                let value = $read(node, at.is_lenient());
                if value.is_none() {
                    at.mistyped(node, $wanted(at.is_lenient()));
                }
                value
            }
        }
    };
}

optional! {
    bool: flag => Written::Flag(*flag),
    |node: &Node, _| node.as_bool(),
    |lenient| if lenient { "`true` or `false`" } else { "true or false" }
}
optional! {
    u64: count => Written::Integer((*count).into()),
    |node: &Node, lenient| if lenient { count(node) } else { node.as_u64() },
    whole_number
}
optional! {
    f64: number => Written::Number(*number),
    |node: &Node, lenient: bool| {
        node.as_f64().filter(|number| !lenient || number.is_finite())
    },
    |_| "a number"
}
optional! {
    usize: index => Written::Integer(i128::try_from(*index).unwrap_or(i128::MAX)),
    |node: &Node, _| usize::try_from(node.as_u64()?).ok(),
    whole_number
}

fn whole_number(lenient: bool) -> &'static str {
    if lenient {
        "a whole number, 0 or more"
    } else {
        "a whole number"
    }
}

impl Optional for String {
    fn written(&self) -> Written<'_> {
        Written::text(self)
    }

    /// Numbers and dates that nobody quoted keep their source text.
    fn read(node: &Node, at: &mut At<'_, '_>) -> Option<Self> {
        let Some(text) = node.text() else {
            at.mistyped(node, "a text");
            return None;
        };
        // Who wrote a number for a name meant its digits.
        let is_meant = matches!(node.kind(), Some(Kind::Text | Kind::Timestamp));
        if at.is_lenient() && !is_meant {
            at.unquoted(node);
        }
        Some(text.to_owned())
    }
}

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
        Some(Written::text(self))
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

/// A list that says something even where it is empty.
impl Optional for Vec<String> {
    fn written(&self) -> Written<'_> {
        Written::Texts(self)
    }

    fn read(node: &Node, _: &mut At<'_, '_>) -> Option<Self> {
        let texts = node.as_seq()?.iter().filter_map(Node::as_str);
        Some(texts.map(str::to_owned).collect())
    }
}

impl Slot for ClaimOverrides {
    fn written(&self, _: &str) -> Option<Written<'_>> {
        (!self.is_empty()).then(|| Written::record(self))
    }

    fn read(&mut self, _: &Node, at: &mut At<'_, '_>) -> bool {
        // They are piton's own, and read alike in all formats.
        *self = at.report.reader().claims(at.place);
        !self.is_empty()
    }
}

record! {
    static CLAIMS: ClaimOverrides {
        changed: may("changed", Shape::one_of(Worth::WORDS)),
        word: may("word", Shape::one_of(Worth::WORDS)),
        weakened: may("weakened", Shape::one_of(WeakenedProof::WORDS)),
    }
}

words!(Worth, WeakenedProof);

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
/// the file. The record keeps the pairs that no field takes.
pub(crate) fn fill(
    record: &mut dyn Record,
    place: Place<'_>,
    report: &mut Report<'_>,
    manner: Manner,
) {
    let mut others = Extra::new();
    for (key, node) in place.map.iter() {
        let mut at = At {
            report: &mut *report,
            place,
            key,
            manner,
        };
        let is_kept = match record.slot(&key.text) {
            None => true,
            Some((field, slot)) => {
                let is_taken = slot.read(node, &mut at);
                let is_said = is_taken || (node.is_null() && field.is_null_when_absent());
                !is_said && !at.is_lenient()
            }
        };
        if is_kept {
            others.push((key.text.clone(), node.clone()));
        }
    }
    record.keep(others);
}

/// What is understood of a mapping that should be of that shape.
pub(crate) fn understand<T: Record + Default>(node: &Node, shape: &Shape) -> Option<T> {
    node.as_map()?;
    let node = understood(node, shape)?;
    let mut record = T::default();
    let mut report = Report {
        file: "",
        problems: &mut Vec::new(),
    };
    let (map, path) = (node.as_map()?, Path::ROOT);
    fill(
        &mut record,
        Place { map, path },
        &mut report,
        Manner::Literal,
    );
    Some(record)
}

/// The pairs of a mapping under other keys than those of a table.
pub(crate) fn others(node: &Node, fields: &[Field]) -> Extra {
    let pairs = node.as_map().into_iter().flat_map(Map::iter);
    let others = pairs.filter(|(key, _)| !has_key(fields, &key.text));
    others
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect()
}

/// A value that stands somewhere, without what is wrong with it.
pub(crate) fn read_alone<T: Optional>(node: &Node) -> Option<T> {
    let (map, key) = (Map::default(), Key::new(""));
    let mut at = At {
        report: &mut Report {
            file: "",
            problems: &mut Vec::new(),
        },
        place: Place {
            map: &map,
            path: Path::ROOT,
        },
        key: &key,
        manner: Manner::Lenient,
    };
    T::read(node, &mut at)
}

/// A record as a tree.
pub(crate) fn node_of(record: &dyn Record) -> Node {
    merged(record, record.extra(), None)
}
