//! Makes the price table of `crates/models` from the data of the crate `genai-prices`. The table has only what the runtime uses,
//! in a form that is quick to read: one line per provider, each followed by one line per model of the provider.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The place of the table, from the root of the workspace.
pub(crate) const TABLE: &str = "crates/models/src/price/table.jsonl";

/// The prices that the runtime uses: the name in the table and in the data. All but the last are per million tokens.
const PRICES: [(&str, &str); 5] = [
    ("cache_read", "cache_read_mtok"),
    ("cache_write", "cache_write_mtok"),
    ("input", "input_mtok"),
    ("output", "output_mtok"),
    ("thousand_requests", "requests_kcount"),
];

/// Returns the table for the version of `genai-prices` in the workspace's metadata.
pub(crate) fn table(metadata: &Value) -> Result<String, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo's metadata has no packages")?;
    let package = packages.iter().find(|package| package["name"] == "genai-prices").ok_or("genai-prices is missing")?;
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let file = manifest.with_file_name("data").join("prices.json");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let providers: Vec<Value> = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;

    let mut lines = vec![json!({"source": "genai-prices", "version": package["version"], "licence": "MIT"})];
    for provider in &providers {
        let name = &provider["id"];
        lines.push(provider_line(provider).map_err(|why| format!("{name}: {why}"))?);
        for model in provider["models"].as_array().into_iter().flatten() {
            lines.push(model_line(model).map_err(|why| format!("{name} {}: {why}", model["id"]))?);
        }
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    Ok(lines.join("\n") + "\n")
}

fn provider_line(provider: &Value) -> Result<Value, String> {
    let pattern = provider["api_pattern"].as_str().ok_or("the provider has no `api_pattern`")?;
    let (start, url) = (literal_start(pattern), regex(&format!("^(?:{pattern})"))?);
    let is_literal = start == pattern.replace('\\', "");
    let url = if is_literal { json!({"starts_with": start}) } else { json!({"regex": url}) };
    let mut line = json!({"provider": provider["id"], "url": url});
    if let Some(fallbacks) = provider.get("fallback_model_providers") {
        line["fallbacks"] = fallbacks.clone();
    }
    Ok(line)
}

fn model_line(model: &Value) -> Result<Value, String> {
    let prices = match model["prices"].as_array() {
        Some(dated) => dated.iter().map(dated_prices).collect::<Result<_, _>>()?,
        None => vec![Value::Object(used(&model["prices"])?)],
    };
    let mut line = json!({"id": model["id"], "match": rule(&model["match"])?, "prices": prices});
    if let Some(window) = model.get("context_window") {
        line["window"] = window.clone();
    }
    Ok(line)
}

fn dated_prices(value: &Value) -> Result<Value, String> {
    let mut prices = used(&value["prices"])?;
    for (key, when) in value.get("constraint").and_then(Value::as_object).into_iter().flatten() {
        let text = when.as_str().ok_or("a constraint is not a text")?;
        let (name, seconds) = match key.as_str() {
            "start_date" => ("from_s", day(text)? * 86_400),
            "start_time" => ("from_s_of_day", second_of_day(text)?),
            "end_time" => ("until_s_of_day", second_of_day(text)?),
            other => return Err(format!("the constraint `{other}` is unknown")),
        };
        prices.insert(name.to_owned(), seconds.into());
    }
    Ok(prices.into())
}

/// Returns the prices that the runtime uses.
fn used(prices: &Value) -> Result<Map<String, Value>, String> {
    let found = PRICES.iter().filter_map(|(name, key)| Some((*name, prices.get(*key)?)));
    found.map(|(name, price)| Ok((name.to_owned(), price_value(price)?))).collect()
}

/// Returns a price: a number, or a number and the tiers for long prompts, the shortest first.
fn price_value(price: &Value) -> Result<Value, String> {
    let Some(tiers) = price.get("tiers") else {
        return if price.is_number() { Ok(price.clone()) } else { Err(format!("{price} is not a price")) };
    };
    let tier = |tier: &Value| Some((tier["start"].as_u64()?, tier["price"].clone()));
    let tiers: Option<Vec<_>> = tiers.as_array().into_iter().flatten().map(tier).collect();
    let mut tiers = tiers.ok_or_else(|| format!("{price} has an unknown form"))?;
    tiers.sort_by_key(|(start, _)| *start);
    Ok(json!({"base": price["base"], "tiers": tiers}))
}

/// Returns a rule that decides whether a name is one of the model's names. Texts become lowercase, like the names that they are
/// compared with.
fn rule(value: &Value) -> Result<Value, String> {
    let one = value.as_object().filter(|rules| rules.len() == 1).and_then(|rules| rules.iter().next());
    let (kind, operand) = one.ok_or_else(|| format!("{value} is not a rule"))?;
    let operand = match (kind.as_str(), operand) {
        ("and" | "or", Value::Array(rules)) => rules.iter().map(rule).collect::<Result<_, _>>()?,
        ("equals" | "starts_with" | "ends_with" | "contains", Value::String(text)) => text.to_lowercase().into(),
        ("regex", Value::String(pattern)) => match pattern.strip_prefix("^(?!").and_then(|rest| rest.strip_suffix(')'))
        {
            Some(refused) => return Ok(json!({"not": {"regex": regex(&format!("^{refused}"))?}})),
            None => regex(pattern)?,
        },
        _ => return Err(format!("the rule {value} has an unknown form")),
    };
    Ok(json!({kind: operand}))
}

/// Returns a pattern after the text that every match begins with. A search compares this text first, because compiling a pattern
/// takes time.
fn regex(pattern: &str) -> Result<Value, String> {
    if ["(?=", "(?!", "(?<"].iter().any(|look_around| pattern.contains(look_around)) {
        return Err(format!("`{pattern}` looks around, which the runtime's patterns can't do"));
    }
    let anchored = pattern.strip_prefix('^').ok_or_else(|| format!("`{pattern}` does not begin with `^`"))?;
    let whole = anchored.strip_prefix("(?:").and_then(|rest| rest.strip_suffix(')')).unwrap_or(anchored);
    Ok(json!([literal_start(whole), pattern]))
}

fn literal_start(pattern: &str) -> String {
    let mut start = String::new();
    let mut chars = pattern.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => match chars.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => start.push(escaped),
                _ => break,
            },
            // The character before may be absent.
            '?' | '*' | '{' => {
                start.pop();
                break;
            }
            '.' | '+' | '(' | ')' | '[' | ']' | '^' | '$' => break,
            literal => start.push(literal),
        }
    }
    if has_alternatives(pattern) { String::new() } else { start }
}

/// Whether a pattern has alternatives outside of all groups.
fn has_alternatives(pattern: &str) -> bool {
    let (mut depth, mut previous) = (0, ' ');
    pattern.chars().any(|next| {
        let is_escaped = std::mem::replace(&mut previous, next) == '\\';
        match next {
            '(' if !is_escaped => depth += 1,
            ')' if !is_escaped => depth -= 1,
            _ => {}
        }
        next == '|' && depth == 0
    })
}

/// Returns the number of days from 1970 to a date, `YYYY-MM-DD`.
fn day(date: &str) -> Result<i64, String> {
    let numbers: Result<Vec<i64>, _> = date.split('-').map(str::parse).collect();
    let Ok([year, month @ 1..=12, day @ 1..=31]) = numbers.as_deref() else {
        return Err(format!("`{date}` is not a date"));
    };
    // Years begin in March here, so that the day of a leap year is the last one.
    let (year, month) = if *month <= 2 { (year - 1, month + 9) } else { (*year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Ok(year * 365 + leap_days + (153 * month + 2) / 5 + day - 719_469)
}

/// Returns the seconds from midnight to a time, `HH:MM:SSZ`.
fn second_of_day(time: &str) -> Result<i64, String> {
    let numbers: Option<Vec<i64>> = time.strip_suffix('Z').map(|time| time.split(':').flat_map(str::parse).collect());
    match numbers.as_deref() {
        Some([hour @ 0..=23, minute @ 0..=59, second @ 0..=59]) => Ok((hour * 60 + minute) * 60 + second),
        _ => Err(format!("`{time}` is not a time in UTC")),
    }
}
