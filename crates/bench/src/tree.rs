//! The work that every program does: a tree of agents. The task says how deep and how wide the tree is, so the fake model
//! needs no memory: it answers each request from the request alone.

use memchr::memmem;

/// A tree in which each agent above the last level hires `fanout` agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) fanout: u64,
    pub(crate) depth: u32,
}

impl Tree {
    /// The task of the root.
    pub(crate) fn task(self) -> String {
        format!("TREE depth={} fanout={}", self.depth, self.fanout)
    }

    /// Finds the first task in a text.
    pub(crate) fn find(text: &[u8]) -> Option<Tree> {
        let at = memmem::find(text, b"TREE depth=")?;
        let task = &text[at..];
        let depth = number(task, b"depth=")?.try_into().ok()?;
        Some(Tree { fanout: number(task, b"fanout=")?, depth })
    }

    /// The number of agents on the last level.
    pub(crate) fn leaves(self) -> u64 {
        self.fanout.pow(self.depth)
    }

    /// The number of agents that hire.
    pub(crate) fn hirers(self) -> u64 {
        (0..self.depth).map(|level| self.fanout.pow(level)).sum()
    }

    pub(crate) fn agents(self) -> u64 {
        self.hirers() + self.leaves()
    }

    /// The number of requests: one for each agent, and a second one for each agent that hires.
    pub(crate) fn requests(self) -> u64 {
        self.agents() + self.hirers()
    }

    /// The answer of the root if no report was lost.
    pub(crate) fn answer(self) -> String {
        done(self.depth, self.leaves(), 0)
    }

    /// The answer of an agent to the reports of its hires: the sum of their leaves and errors. A missing report is an error.
    pub(crate) fn sum<'a>(self, reports: impl Iterator<Item = &'a [u8]>) -> String {
        let (mut reported, mut leaves, mut errors) = (0, 0, 0);
        for report in reports {
            let Some(at) = memmem::find(report, b"done d=") else { continue };
            let (Some(n), Some(err)) = (number(&report[at..], b"n="), number(&report[at..], b"err=")) else { continue };
            reported += 1;
            leaves += n;
            errors += err;
        }
        done(self.depth, leaves, errors + self.fanout.saturating_sub(reported))
    }
}

fn done(depth: u32, leaves: u64, errors: u64) -> String {
    format!("done d={depth} n={leaves} err={errors}")
}

/// Returns the number after the first occurrence of a name.
pub(crate) fn number(text: &[u8], name: &[u8]) -> Option<u64> {
    let after = &text[memmem::find(text, name)? + name.len()..];
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&after[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_counts_its_agents_and_requests() {
        let tree = Tree { fanout: 10, depth: 3 };
        assert_eq!((tree.agents(), tree.leaves(), tree.requests()), (1111, 1000, 1222));
        assert_eq!(Tree::find(tree.task().as_bytes()), Some(tree));
        assert_eq!(Tree { fanout: 5, depth: 0 }.agents(), 1);
    }

    #[test]
    fn a_missing_or_unreadable_report_is_an_error() {
        let tree = Tree { fanout: 3, depth: 1 };
        let sum = |reports: &[&str]| tree.sum(reports.iter().map(|report| report.as_bytes()));
        let done = "<result>done d=0 n=1 err=0</result>";
        assert_eq!(sum(&[done, done, done]), tree.answer());
        assert_eq!(sum(&[done, "refused", done]), "done d=1 n=2 err=1");
        assert_eq!(sum(&["done d=1 n=9 err=2"]), "done d=1 n=9 err=4");
    }
}
