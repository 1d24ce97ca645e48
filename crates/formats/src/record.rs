//! A struct bound to the table of a document, for reading and writing alike.
//!
//! [`record!`] lists, key by key, what a mapping must hold strictly and which
//! field of a struct holds it. That one list is the table for the strict check
//! and the schema, finds the field for a key that is read, and gives the order
//! in which keys are written. Which value a field takes, and what it writes, is
//! up to its type: a [`FieldSlot`].

mod write;

use std::borrow::Cow;

use piton_core::evidence::{ClaimOverrides, WeakenedProof, Worth};

use crate::report::{KEPT, MapPosition, ProblemReport, ValuePath, closest_word};
use crate::shape::{FieldShape, Shape, closed_map, has_key, optional_field};
use crate::shape_merge::normalize_node;
use crate::tree::{Map, MapKey, ScalarKind, ValueNode};

pub(crate) use write::{AsJson, merge_record, push_yaml};

/// Binds the table of a mapping to a struct: a field of the struct for each row.
/// `..extra`: the struct keeps other keys in a field of that name. Further
/// methods of [`TableRecord`] may follow.
macro_rules! record {
    (
        static $table:ident: $record:ty {
            $($($slot:ident).+: $field:expr,)*
            $(.. $extra:ident)?
        }
        $($method:item)*
    ) => {
        pub(crate) static $table: &[crate::shape::FieldShape] = &[$($field),*];

        impl crate::record::TableRecord for $record {
            fn columns(&self) -> crate::record::Columns<'_> {
                vec![$({
                    static FIELD: crate::shape::FieldShape = $field;
                    crate::record::column(&FIELD, &self.$($slot).+)
                }),*]
            }

            fn slot(
                &mut self,
                key: &str,
            ) -> Option<(&'static crate::shape::FieldShape, &mut dyn crate::record::FieldSlot)> {
                $({
                    static FIELD: crate::shape::FieldShape = $field;
                    if key == FIELD.key {
                        return Some((&FIELD, &mut self.$($slot).+));
                    }
                })*
                None
            }

            $(
                fn extra(&self) -> &[(String, crate::tree::ValueNode)] {
                    &self.$extra
                }

                fn store_extra(&mut self, others: crate::record::ExtraPairs) {
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
        $(impl crate::record::OptionalValue for $word {
            fn to_written(&self) -> crate::record::WrittenValue<'_> {
                crate::record::WrittenValue::text(self.as_str())
            }

            fn read_present(
                node: &crate::tree::ValueNode,
                at: &mut crate::record::ValuePosition<'_, '_>,
            ) -> Option<Self> {
                let word = node.as_str().and_then(Self::parse);
                if word.is_none() {
                    at.report_unknown_word(node, Self::WORDS);
                }
                word
            }
        })*
    };
}

pub(crate) use {record, words};

/// Keys that no field holds, in their order.
pub(crate) type ExtraPairs = Vec<(String, ValueNode)>;

/// Keys and what is written under them, in the order of the table.
pub(crate) type Columns<'r> = Vec<(&'static str, Option<WrittenValue<'r>>)>;

/// A struct whose fields hold the values of a mapping: see [`record!`].
pub(crate) trait TableRecord {
    /// Every key with what its field writes; nothing where the key stays out.
    fn columns(&self) -> Columns<'_>;

    /// The field that holds a key, with what the table says of the key.
    fn slot(&mut self, key: &str) -> Option<(&'static FieldShape, &mut dyn FieldSlot)>;

    /// Every key that piton knows here, in the order in which they are written.
    ///
    /// The value of such a key that is not written is gone; the value of any other
    /// key belongs to another program or a person.
    fn written_columns(&self) -> Columns<'_> {
        self.columns()
    }

    /// Other keys. One that is written already is left out.
    fn extra(&self) -> &[(String, ValueNode)] {
        &[]
    }

    /// Keeps keys that no field holds.
    fn store_extra(&mut self, _: ExtraPairs) {}

    /// What tells it from others of its list.
    fn id(&self) -> &str {
        ""
    }

    /// Reads the record that stands under a key.
    fn read_record(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self>
    where
        Self: Sized + Default,
    {
        let Some(map) = node.as_map() else {
            at.report_mistyped(node, "a mapping");
            return None;
        };
        let mut record = Self::default();
        at.fill_record(&mut record, map);
        Some(record)
    }
}

/// What a field writes.
#[derive(Clone)]
pub(crate) enum WrittenValue<'r> {
    Text(Cow<'r, str>),
    Flag(bool),
    Integer(i128),
    Number(f64),
    Null,
    Tree(&'r ValueNode),
    Texts(&'r [String]),
    /// A mapping, with the keys beside those of its table.
    Record(&'r dyn TableRecord, &'r [(String, ValueNode)]),
    Records(Vec<&'r dyn TableRecord>),
}

impl<'r> WrittenValue<'r> {
    pub(crate) fn text(text: &'r str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn record(record: &'r dyn TableRecord) -> Self {
        Self::Record(record, record.extra())
    }
}

/// What is made of values that are not as they should be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ReadMode {
    /// Only what could be written so is taken; the rest stays as it is.
    Literal,
    /// What can be understood is taken.
    Lenient,
}

/// Where a value that is read stands.
pub(crate) struct ValuePosition<'a, 'r> {
    pub(crate) report: &'a mut ProblemReport<'r>,
    /// The mapping that holds it.
    pub(crate) place: MapPosition<'a>,
    pub(crate) key: &'a MapKey,
    pub(crate) manner: ReadMode,
}

impl ValuePosition<'_, '_> {
    /// Reads the mapping at this place into a record.
    pub(crate) fn fill_record(&mut self, record: &mut dyn TableRecord, map: &Map) {
        let (place, key) = (self.place, self.key);
        let path = place.path.key(&key.text);
        fill_record(record, MapPosition { map, path }, self.report, self.manner);
    }

    fn is_lenient(&self) -> bool {
        self.manner == ReadMode::Lenient
    }

    pub(crate) fn report_mistyped(&mut self, node: &ValueNode, wanted: &str) {
        let key = &self.key.text;
        let message = format!("`{key}` must be {wanted}, not {}", node.describe());
        self.report_error("WRONG_TYPE", node, message, KEPT);
    }

    /// Reports a value that is none of the words of a format.
    pub(crate) fn report_unknown_word(&mut self, node: &ValueNode, words: &[&str]) {
        let listed = words.join("`, `");
        let hint = match node.as_str().and_then(|text| closest_word(text, words)) {
            Some(meant) => format!("write `{meant}`, or another of `{listed}`"),
            None => format!("write one of `{listed}`"),
        };
        let name = self.key.text.replace('_', " ");
        let message = match node.as_str() {
            Some(text) => format!("there is no {name} `{}`", text.escape_debug()),
            None => format!("the {name} must be a word, not {}", node.describe()),
        };
        self.report_error("INVALID_VALUE", node, message, &hint);
    }

    /// Reports a number or the like that should be in quotes.
    fn report_unquoted(&mut self, node: &ValueNode) {
        let key = &self.key.text;
        let message = format!("`{key}` should be a text, not {}", node.describe());
        let path = self.place.path.key(key);
        self.report
            .warning("WRONG_TYPE", path, node.span, (message, "put it in quotes"));
    }

    pub(crate) fn report_error(
        &mut self,
        code: &'static str,
        node: &ValueNode,
        message: String,
        hint: &str,
    ) {
        let span = if node.is_null() {
            self.key.span
        } else {
            node.span
        };
        let path = self.place.path.key(&self.key.text);
        self.report.error(code, path, span, (message, hint));
    }
}

/// A field of a struct that stands under a key of a mapping.
pub(crate) trait FieldSlot {
    /// What is written under `key`; nothing where the key stays out.
    fn value_to_write(&self, key: &str) -> Option<WrittenValue<'_>>;

    /// Takes a value. `false`: it stays where it is, among the other keys.
    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool;
}

/// What may be there or not. Absent and null are two things: null is kept.
pub(crate) trait OptionalValue: Sized {
    fn to_written(&self) -> WrittenValue<'_>;

    /// Reads a value that is not null, or reports what is wrong with it.
    fn read_present(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self>;
}

impl<T: OptionalValue> FieldSlot for Option<T> {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        self.as_ref().map(T::to_written)
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        *self = Some(node)
            .filter(|node| !node.is_null())
            .and_then(|node| T::read_present(node, at));
        self.is_some()
    }
}

impl<R: TableRecord + Default> OptionalValue for R {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::record(self)
    }

    fn read_present(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        R::read_record(node, at)
    }
}

/// Gives a type of single values its two directions: what is written of it, how
/// it is read, leniently or not, and what to call for where it is something else.
macro_rules! optional {
    ($type:ty: $value:ident => $written:expr, $read:expr, $wanted:expr) => {
        impl OptionalValue for $type {
            fn to_written(&self) -> WrittenValue<'_> {
                let $value = self;
                $written
            }

            fn read_present(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
                let value = $read(node, at.is_lenient());
                if value.is_none() {
                    at.report_mistyped(node, $wanted(at.is_lenient()));
                }
                value
            }
        }
    };
}

optional! {
    bool: flag => WrittenValue::Flag(*flag),
    |node: &ValueNode, _| node.as_bool(),
    |lenient| if lenient { "`true` or `false`" } else { "true or false" }
}
optional! {
    u64: count => WrittenValue::Integer((*count).into()),
    |node: &ValueNode, lenient| if lenient { count_of_node(node) } else { node.as_u64() },
    whole_number_words
}
optional! {
    f64: number => WrittenValue::Number(*number),
    |node: &ValueNode, lenient: bool| {
        node.as_f64().filter(|number| !lenient || number.is_finite())
    },
    |_| "a number"
}
optional! {
    usize: index => WrittenValue::Integer(i128::try_from(*index).unwrap_or(i128::MAX)),
    |node: &ValueNode, _| usize::try_from(node.as_u64()?).ok(),
    whole_number_words
}

/// A whole number that is not negative, however it is written: `3`, `3.0`, `3e0`.
pub(crate) fn count_of_node(node: &ValueNode) -> Option<u64> {
    let value = node.as_f64().filter(|value| *value >= 0.0)?;
    let whole = || Some(format!("{value:.0}")).filter(|_| value.fract() == 0.0);
    let exact = node.as_u64().or_else(|| node.text()?.parse().ok());
    exact.or_else(|| whole()?.parse().ok())
}

fn whole_number_words(lenient: bool) -> &'static str {
    if lenient {
        "a whole number, 0 or more"
    } else {
        "a whole number"
    }
}

impl OptionalValue for String {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::text(self)
    }

    /// Numbers and dates without quotes keep their source text.
    fn read_present(node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> Option<Self> {
        let Some(text) = node.text() else {
            at.report_mistyped(node, "a text");
            return None;
        };
        // Who wrote a number for a name meant its digits.
        let is_meant = matches!(node.kind(), Some(ScalarKind::Text | ScalarKind::Timestamp));
        if at.is_lenient() && !is_meant {
            at.report_unquoted(node);
        }
        Some(text.to_owned())
    }
}

impl OptionalValue for i64 {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::Integer((*self).into())
    }

    fn read_present(node: &ValueNode, _: &mut ValuePosition<'_, '_>) -> Option<Self> {
        node.as_i64()
    }
}

impl OptionalValue for ValueNode {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::Tree(self)
    }

    fn read_present(node: &ValueNode, _: &mut ValuePosition<'_, '_>) -> Option<Self> {
        Some(node.clone())
    }
}

/// Gives values that are always written theirs: one that is not understood
/// counts as the default.
macro_rules! always {
    ($($type:ty),*) => {
        $(impl FieldSlot for $type {
            fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
                Some(OptionalValue::to_written(self))
            }

            fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
                let mut value: Option<Self> = None;
                value.read_value(node, at);
                *self = value.unwrap_or_default();
                true
            }
        })*
    };
}

always!(f64, u64, usize);

impl FieldSlot for String {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        Some(WrittenValue::text(self))
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        if node.is_null() {
            at.report_mistyped(node, "a text");
        }
        let mut text: Option<Self> = None;
        text.read_value(node, at);
        *self = text.unwrap_or_default();
        true
    }
}

/// A list of ids; an empty one is not written.
impl FieldSlot for Vec<String> {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        (!self.is_empty()).then_some(WrittenValue::Texts(self))
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        let text = |node: &ValueNode| node.text().filter(|_| !node.is_null()).map(str::to_owned);
        let items = node.as_seq().map(|items| items.iter().map(text));
        match items.and_then(Iterator::collect) {
            Some(texts) => *self = texts,
            None if !node.is_null() => at.report_mistyped(node, "a list of ids"),
            None => {}
        }
        !self.is_empty()
    }
}

/// A list that says something even where it is empty.
impl OptionalValue for Vec<String> {
    fn to_written(&self) -> WrittenValue<'_> {
        WrittenValue::Texts(self)
    }

    fn read_present(node: &ValueNode, _: &mut ValuePosition<'_, '_>) -> Option<Self> {
        let texts = node.as_seq()?.iter().filter_map(ValueNode::as_str);
        Some(texts.map(str::to_owned).collect())
    }
}

impl FieldSlot for ClaimOverrides {
    fn value_to_write(&self, _: &str) -> Option<WrittenValue<'_>> {
        (!self.is_empty()).then(|| WrittenValue::record(self))
    }

    fn read_value(&mut self, node: &ValueNode, at: &mut ValuePosition<'_, '_>) -> bool {
        // They are piton's own, and read alike in all formats.
        let mut at = ValuePosition {
            report: &mut *at.report,
            manner: ReadMode::Lenient,
            ..*at
        };
        let mut claims: Option<Self> = None;
        claims.read_value(node, &mut at);
        *self = claims.unwrap_or_default();
        !self.is_empty()
    }
}

record! {
    static CLAIMS: ClaimOverrides {
        changed: optional_field("changed", Shape::one_of(Worth::WORDS)),
        word: optional_field("word", Shape::one_of(Worth::WORDS)),
        weakened: optional_field("weakened", Shape::one_of(WeakenedProof::WORDS)),
    }
}

impl Shape {
    /// What little proof is worth for an item: `[claims]` of piton's settings.
    pub const CLAIMS: Self = closed_map(CLAIMS);
}

words!(Worth, WeakenedProof);

/// A key with what its field writes. One that must be there and may be null is
/// null where the field has nothing.
pub(crate) fn column<'r>(
    field: &'static FieldShape,
    slot: &'r dyn FieldSlot,
) -> (&'static str, Option<WrittenValue<'r>>) {
    let null = field.is_null_when_absent().then_some(WrittenValue::Null);
    (field.key, slot.value_to_write(field.key).or(null))
}

impl FieldShape {
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
pub(crate) fn fill_record(
    record: &mut dyn TableRecord,
    place: MapPosition<'_>,
    report: &mut ProblemReport<'_>,
    manner: ReadMode,
) {
    let mut others = ExtraPairs::new();
    for (key, node) in place.map.iter() {
        let mut at = ValuePosition {
            report: &mut *report,
            place,
            key,
            manner,
        };
        let is_kept = match record.slot(&key.text) {
            None => true,
            Some((field, slot)) => {
                let is_taken = slot.read_value(node, &mut at);
                let is_said = is_taken || (node.is_null() && field.is_null_when_absent());
                !is_said && !at.is_lenient()
            }
        };
        if is_kept {
            others.push((key.text.clone(), node.clone()));
        }
    }
    record.store_extra(others);
}

/// What is understood of a mapping that should be of that shape.
pub(crate) fn read_lenient<T: TableRecord + Default>(node: &ValueNode, shape: &Shape) -> Option<T> {
    node.as_map()?;
    let node = normalize_node(node, shape)?;
    let mut record = T::default();
    let mut report = ProblemReport {
        file: "",
        problems: &mut Vec::new(),
    };
    let (map, path) = (node.as_map()?, ValuePath::ROOT);
    fill_record(
        &mut record,
        MapPosition { map, path },
        &mut report,
        ReadMode::Literal,
    );
    Some(record)
}

/// The pairs of a mapping under other keys than those of a table.
pub(crate) fn extra_pairs(node: &ValueNode, fields: &[FieldShape]) -> ExtraPairs {
    let pairs = node.as_map().into_iter().flat_map(Map::iter);
    let others = pairs.filter(|(key, _)| !has_key(fields, &key.text));
    others
        .map(|(key, node)| (key.text.clone(), node.clone()))
        .collect()
}

/// A value that stands somewhere, without what is wrong with it.
pub(crate) fn read_without_problems<T: OptionalValue>(node: &ValueNode) -> Option<T> {
    let (map, key) = (Map::default(), MapKey::new(""));
    let mut at = ValuePosition {
        report: &mut ProblemReport {
            file: "",
            problems: &mut Vec::new(),
        },
        place: MapPosition {
            map: &map,
            path: ValuePath::ROOT,
        },
        key: &key,
        manner: ReadMode::Lenient,
    };
    T::read_present(node, &mut at)
}

/// A record as a tree.
pub(crate) fn node_of_record(record: &dyn TableRecord) -> ValueNode {
    merge_record(record, record.extra(), None)
}
