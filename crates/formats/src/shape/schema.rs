//! A shape printed as JSON Schema 2020-12.

use serde_json::{Map, Value, json};

use super::{FieldShape, OtherKeys, Shape, TextShape};

/// Prints `shape` as a JSON Schema called `title`, to be found at `id`.
pub fn json_schema(shape: &Shape, id: &str, title: &str) -> Value {
    let mut printer = Printer { defs: Map::new() };
    let mut out = Map::new();
    out.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    out.insert("$id".to_owned(), json!(id));
    out.insert("title".to_owned(), json!(title));
    out.extend(printer.print(shape));
    if !printer.defs.is_empty() {
        out.insert("$defs".to_owned(), Value::Object(printer.defs));
    }
    Value::Object(out)
}

struct Printer {
    defs: Map<String, Value>,
}

impl Printer {
    fn print(&mut self, shape: &Shape) -> Map<String, Value> {
        let printed = match shape {
            Shape::Any => json!({}),
            Shape::Text(text) => print_text(*text),
            Shape::Integer { min } => print_number("integer", *min),
            Shape::Number { min } => print_number("number", *min),
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Null => json!({"type": "null"}),
            Shape::List(items) => json!({"type": "array", "items": self.print(items)}),
            Shape::Map(fields, rest) => self.print_map(fields, *rest),
            Shape::Each(values) => {
                json!({"type": "object", "additionalProperties": self.print(values)})
            }
            Shape::Either(shapes) => self.print_either(shapes),
            Shape::Named(named) => {
                if !self.defs.contains_key(named.name) {
                    // Named before it is printed, because it may hold itself.
                    self.defs.insert(named.name.to_owned(), Value::Null);
                    let printed = self.print(&named.shape);
                    self.defs
                        .insert(named.name.to_owned(), Value::Object(printed));
                }
                json!({"$ref": format!("#/$defs/{}", named.name)})
            }
        };
        match printed {
            Value::Object(map) => map,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        }
    }

    fn print_map(&mut self, fields: &[FieldShape], rest: OtherKeys) -> Value {
        let mut properties = Map::new();
        for field in fields.iter().filter(|field| !field.tolerated) {
            let mut printed = Map::new();
            if !field.about.is_empty() {
                printed.insert("description".to_owned(), json!(field.about));
            }
            printed.extend(self.print(&field.shape));
            properties.insert(field.key.to_owned(), Value::Object(printed));
        }
        let required: Vec<&str> = fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.key)
            .collect();
        let mut out = Map::new();
        out.insert("type".to_owned(), json!("object"));
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
        }
        if rest == OtherKeys::Closed {
            out.insert("additionalProperties".to_owned(), json!(false));
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        Value::Object(out)
    }

    fn print_either(&mut self, shapes: &[Shape]) -> Value {
        let printed: Vec<Value> = shapes
            .iter()
            .map(|shape| Value::Object(self.print(shape)))
            .collect();
        let is_only_type = |value: &&Value| {
            value
                .as_object()
                .filter(|map| map.len() == 1)
                .and_then(|map| map.get("type"))
                .is_some()
        };
        if printed.iter().filter(is_only_type).count() == printed.len() {
            let types: Vec<&Value> = printed.iter().map(|value| &value["type"]).collect();
            return json!({"type": types});
        }
        json!({"anyOf": printed})
    }
}

fn print_text(text: TextShape) -> Value {
    match text {
        TextShape::Any => json!({"type": "string"}),
        TextShape::NotEmpty => json!({"type": "string", "minLength": 1}),
        TextShape::OneOf(words) => json!({"type": "string", "enum": words}),
        TextShape::Pattern(pattern) => json!({"type": "string", "pattern": pattern.regex()}),
        TextShape::DateTime => json!({"type": "string", "format": "date-time"}),
    }
}

fn print_number(name: &str, min: Option<i32>) -> Value {
    match min {
        None => json!({"type": name}),
        Some(min) => json!({"type": name, "minimum": min}),
    }
}
