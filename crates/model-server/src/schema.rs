//! The schema of a reply, as a server understands it that forces a model to follow the schema. It knows only the keywords that
//! every such server can turn into a grammar.

use serde_json::Value;

const KEYWORDS: [&str; 10] = [
    "type",
    "const",
    "enum",
    "anyOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
];

/// Returns why a schema can't be turned into a grammar.
pub(crate) fn fault(schema: &Value) -> Option<String> {
    let Some(fields) = schema.as_object() else { return Some(format!("{schema} is not a schema")) };
    if let Some(unknown) = fields.keys().find(|key| !KEYWORDS.contains(&key.as_str())) {
        return Some(format!("the keyword {unknown} is not supported"));
    }
    if list(&schema["enum"]).is_empty() && !schema["enum"].is_null() {
        return Some("an enum without values".into());
    }
    let below = fields.get("items").into_iter().chain(list(&schema["anyOf"]));
    let properties = schema["properties"].as_object().into_iter().flatten().map(|(_, schema)| schema);
    below.chain(properties).find_map(fault)
}

/// Returns whether a reply follows a schema.
pub(crate) fn follows(reply: &Value, schema: &Value) -> bool {
    let is_one = |others: &Value| others.is_null() || list(others).contains(reply);
    let fits_any = schema["anyOf"].is_null() || list(&schema["anyOf"]).iter().any(|schema| follows(reply, schema));
    let is_const = schema.get("const").is_none_or(|only| only == reply);
    fits_any && is_const && is_one(&schema["enum"]) && has_type(reply, schema) && fields(reply, schema)
}

fn has_type(reply: &Value, schema: &Value) -> bool {
    match schema["type"].as_str() {
        Some("object") => reply.is_object(),
        Some("array") => {
            let (items, count) = (list(reply), list(reply).len() as u64);
            reply.is_array()
                && schema["minItems"].as_u64().is_none_or(|least| least <= count)
                && schema["maxItems"].as_u64().is_none_or(|most| count <= most)
                && schema.get("items").is_none_or(|schema| items.iter().all(|item| follows(item, schema)))
        }
        Some("string") => reply.is_string(),
        Some("number") => reply.is_number(),
        Some("integer") => reply.is_i64() || reply.is_u64(),
        Some("boolean") => reply.is_boolean(),
        _ => true,
    }
}

/// Whether an object has the fields that it must have, and no others. A value that is not an object has none.
fn fields(reply: &Value, schema: &Value) -> bool {
    let Some(fields) = reply.as_object() else { return true };
    let is_there = |name: &Value| name.as_str().is_some_and(|name| fields.contains_key(name));
    let is_allowed = |(name, value): (&String, &Value)| match schema["properties"].get(name) {
        Some(schema) => follows(value, schema),
        None => schema["additionalProperties"] != false,
    };
    list(&schema["required"]).iter().all(is_there) && fields.iter().all(is_allowed)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
