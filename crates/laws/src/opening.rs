//! How a contract begins: as the root of a request, or with exactly the brief of its hirer's ask.

use std::sync::Arc;

use guildhall_kernel::{AskId, BRIEF_BYTES_MAX, Brief, Context, DEPTH_MAX, Path, Stored, TextRef};

use crate::contract::{Asked, Contract, Edge, Kind, Tree};
use crate::deadlines;
use crate::purse::{last_least, wide};
use crate::violation::{Found, Law};

/// Adds a contract to the tree.
pub(crate) fn opened(tree: &mut Tree, stored: &Stored, brief: &Arc<Brief>, found: &mut Found<'_>) -> usize {
    let path = &stored.contract;
    found.demand(brief.path == *path, Law::Replay, format_args!("was opened with the brief of {}", brief.path));
    check_brief(brief, found);
    let edge = path.hirer().and_then(|hirer| check_hired(tree, &hirer, brief, found));
    if path.level() == 0 {
        check_root(tree, brief, found);
        deadlines::check_root(&brief.grant, stored.at, found);
    }
    let mut contract = Contract::new(Arc::clone(brief), edge);
    if brief.path != *path {
        let renamed = Brief { path: path.clone(), ..(**brief).clone() };
        contract.brief = Arc::new(renamed);
    }
    let me = tree.add(contract);
    if let Some(edge) = edge
        && let Some(Asked { kind: Kind::Hire(hired), .. }) = tree.contracts[edge.hirer].ask_mut(edge.ask)
    {
        hired.child = Some(me);
    }
    me
}

fn check_brief(brief: &Brief, found: &mut Found<'_>) {
    let (granted, kept) = (wide(brief.grant.money), wide(brief.fee) + wide(brief.severance));
    found.demand(kept <= granted, Law::Purse, format_args!("the fee and the severance take {kept} of {granted}"));
    let (severance, least) = (wide(brief.severance), last_least(&brief.tariff));
    found.demand(
        severance >= least,
        Law::Severance,
        format_args!("the severance is {severance} msat, but the minimum is {least}"),
    );
    let (level, depth) = (brief.path.level(), brief.grant.depth);
    let deepest = level + usize::from(depth);
    found.demand(
        deepest <= usize::from(DEPTH_MAX),
        Law::Purse,
        format_args!("the grant allows {depth} levels below level {level}, more than the maximum"),
    );
    let bytes = brief_bytes(&brief.task, &brief.terms);
    found.demand(
        bytes <= BRIEF_BYTES_MAX,
        Law::Grants,
        format_args!("the brief has {bytes} bytes, more than the maximum"),
    );
}

fn brief_bytes(task: &TextRef, terms: &[TextRef]) -> u64 {
    terms.iter().fold(u64::from(task.bytes), |sum, term| sum.saturating_add(u64::from(term.bytes)))
}

fn check_root(tree: &Tree, brief: &Brief, found: &mut Found<'_>) {
    let alone = brief.lineage.upward().next().is_none();
    found.demand(alone, Law::Grants, format_args!("a root has a lineage"));
    match &brief.context {
        Context::Fresh => {}
        Context::Fork { .. } => found.broken(Law::Grants, format_args!("a root can't be a fork")),
        Context::After { root, .. } => {
            let closed = tree.find(root).is_some_and(|at| tree.contracts[at].is_closed());
            found.demand(
                closed && root.level() == 0,
                Law::Grants,
                format_args!("continues after {root}, which is not a closed root"),
            );
        }
    }
}

fn check_hired(tree: &Tree, hirer: &Path, brief: &Arc<Brief>, found: &mut Found<'_>) -> Option<Edge> {
    let Some(at) = tree.find(hirer) else {
        found.broken(Law::Hires, format_args!("its hirer {hirer} is unknown"));
        return None;
    };
    let above = &tree.contracts[at];
    let Some((ask, due)) = admitted(above, brief.path.ordinal()) else {
        found.broken(Law::Hires, format_args!("{hirer} never asked for this hire"));
        return None;
    };
    found.demand(!above.is_closed(), Law::Closing, format_args!("its hirer {hirer} has closed"));
    let open = above.is_open(ask);
    found.demand(open, Law::Hires, format_args!("{hirer}{ask}, which made this hire, was answered already"));
    found.demand(due == brief, Law::Hires, format_args!("the brief differs from the brief of {hirer}{ask}"));
    Some(Edge { hirer: at, ask })
}

fn admitted(above: &Contract, ordinal: u32) -> Option<(AskId, &Arc<Brief>)> {
    let id = above.row.ask(ordinal)?;
    let Kind::Hire(hired) = &above.ask(id)?.kind else { return None };
    Some((id, &hired.brief))
}
