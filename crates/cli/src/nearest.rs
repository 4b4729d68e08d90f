//! The known name that is nearest to what a person typed.

/// Returns the known name that needs the fewest changed letters, if they are few: at most a third of what was typed.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let most = typed.len() / 3;
    let changes = |name: &str| changes(&typed, &name.to_lowercase().chars().collect::<Vec<_>>());
    let near = known.into_iter().map(|name| (changes(name), name)).filter(|(changes, _)| *changes <= most);
    near.min_by_key(|(changes, _)| *changes).map(|(_, name)| name)
}

/// How many letters must be added, removed, replaced, or swapped with their neighbours, to get from one word to the other.
fn changes(from: &[char], to: &[char]) -> usize {
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for (at, letter) in from.iter().enumerate() {
        let mut row = vec![at + 1];
        for (column, other) in to.iter().enumerate() {
            let replaced = rows[at][column] + usize::from(letter != other);
            let mut least = replaced.min(row[column] + 1).min(rows[at][column + 1] + 1);
            if at > 0 && column > 0 && *letter == to[column - 1] && from[at - 1] == *other {
                least = least.min(rows[at - 1][column - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_is_found_if_few_letters_differ() {
        let known = ["help", "cost", "agents", "exit", "sonnet", "gpt-5-mini"];
        for (typed, found) in [
            ("hlep", Some("help")),
            ("sonet", Some("sonnet")),
            ("Sonnet", Some("sonnet")),
            ("gpt5-mini", Some("gpt-5-mini")),
            ("exitt", Some("exit")),
            ("nonsense", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), found, "{typed}");
        }
    }
}
