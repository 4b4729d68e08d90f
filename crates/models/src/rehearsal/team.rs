//! Whom a hirer can hire: what the tool for hiring says of its team.

use guildhall_agent::ToolSpec;
use serde_json::Value;

use super::words::cut;

/// The tool for hiring.
pub(super) const HIRE: &str = "delegate_task";

/// How many members of a team are considered.
const MEMBERS_MAX: usize = 64;
/// How much of a description is read, in bytes.
const ABOUT_BYTES_MAX: usize = 1024;

/// Somebody who can be hired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// What the tool says of them, specialties included.
    pub(super) about: String,
}

/// The team: the names that the schema allows, with the line `- NAME: ABOUT` that the description has for each. Without
/// names in the schema, all who have a line.
pub(super) fn team(tools: &[ToolSpec]) -> Vec<Member> {
    let Some(tool) = tools.iter().find(|tool| tool.name == HIRE) else { return Vec::new() };
    let described = tool.description.lines().filter_map(|line| line.trim_start().strip_prefix("- "));
    let described: Vec<Member> = described
        .filter_map(|line| line.split_once(": "))
        .map(|(name, about)| member(name.trim().trim_matches('`'), about))
        .take(MEMBERS_MAX)
        .collect();
    let allowed = tool.schema.pointer("/properties/specialty/enum").and_then(Value::as_array);
    let Some(allowed) = allowed else { return described };
    let names = allowed.iter().filter_map(Value::as_str).take(MEMBERS_MAX);
    let known = |name: &str| described.iter().find(|member| member.name == name).cloned();
    names.map(|name| known(name).unwrap_or_else(|| member(name, ""))).collect()
}

fn member(name: &str, about: &str) -> Member {
    Member { name: name.to_owned(), about: cut(about.trim(), ABOUT_BYTES_MAX).to_owned() }
}

#[cfg(test)]
mod tests {
    use guildhall_agent::ToolSpec;
    use serde_json::{Value, json};

    use super::{HIRE, Member, team};

    fn spec(schema: Value) -> Vec<ToolSpec> {
        let description = "Hires one of your team:\n- ann: Reads. (specialties: x)\n- bob: Writes: much.\n".to_owned();
        vec![ToolSpec { name: HIRE.to_owned(), description, schema }]
    }

    fn member(name: &str, about: &str) -> Member {
        Member { name: name.to_owned(), about: about.to_owned() }
    }

    #[test]
    fn the_team_is_what_the_tool_says_it_is() {
        let all = [member("ann", "Reads. (specialties: x)"), member("bob", "Writes: much.")];
        assert_eq!(team(&spec(Value::Null)), all);
        let allowed = json!({ "properties": { "specialty": { "enum": ["bob", "cy", 7] } } });
        assert_eq!(team(&spec(allowed)), [member("bob", "Writes: much."), member("cy", "")]);
        assert_eq!(team(&[]), []);
    }
}
