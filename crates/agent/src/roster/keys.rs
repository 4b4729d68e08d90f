//! The keys of agent files: those that mean something here, and those that mean something elsewhere.

/// Those that are read here.
const OURS: &[&str] = &[
    "background",
    "budget",
    "color",
    "delegation",
    "description",
    "disallowedTools",
    "maxTurns",
    "max_turns",
    "memory",
    "model",
    "name",
    "specialties",
    "tools",
];

/// Those that other programs read.
const OTHERS: &[&str] = &[
    "allowed-tools",
    "argument-hint",
    "autoCompactWindow",
    "disable",
    "display_name",
    "effort",
    "hidden",
    "hooks",
    "initialPrompt",
    "isolation",
    "kind",
    "license",
    "mcpServers",
    "metadata",
    "mode",
    "observeSubagents",
    "observer",
    "observerMessage",
    "omitClaudeMd",
    "permission",
    "permissionMode",
    "skills",
    "steps",
    "temperature",
    "timeout_mins",
    "top_p",
    "version",
];

/// Whether a key is read here.
pub(super) fn is_ours(key: &str) -> bool {
    OURS.contains(&key)
}

/// Whether a key is read anywhere.
pub(super) fn is_known(key: &str) -> bool {
    is_ours(key) || OTHERS.contains(&key)
}
