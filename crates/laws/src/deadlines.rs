//! Deadlines and margins: a contract begins to wrap up one margin before its deadline, and its hires are due by then.

use guildhall_kernel::{Grant, Millis, WRAP_UP_MARGIN_MAX};

use crate::violation::{Found, Law};

/// A margin is the grant's time divided by this, up to the longest margin.
const MARGIN_DIVISOR: u64 = 5;

/// A hire may be refused for lack of time if at most this much time is left until its deadline.
const TIME_TO_WORK_MIN: Millis = Millis(1000);

/// Returns the margin of a grant.
fn margin(grant: &Grant) -> u64 {
    grant.margin.unwrap_or_default().0
}

/// Returns the margin of a grant that begins at `from`.
fn margin_from(deadline: Millis, from: Millis) -> Millis {
    let time = deadline.0.saturating_sub(from.0);
    Millis(time / MARGIN_DIVISOR).min(WRAP_UP_MARGIN_MAX)
}

/// Checks the deadline of a hire that is asked for at `at`, and its margin.
pub(crate) fn check_hire(hirer: &Grant, hire: &Grant, at: Millis, found: &mut Found<'_>) {
    let in_time = match (hirer.deadline, hire.deadline) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(mine), Some(its)) => u128::from(its.0) + u128::from(margin(hirer)) <= u128::from(mine.0),
    };
    let (mine, its) = (hirer.deadline, hire.deadline);
    found.demand(
        in_time,
        Law::Grants,
        format_args!("the hire is due {its:?}, too late for its hirer, which is due {mine:?}"),
    );
    if let Some(deadline) = hire.deadline {
        found.demand(
            deadline > at,
            Law::Refusals,
            format_args!("the hire is due at {deadline}, but it is already {at}"),
        );
        if let Some(margin) = hire.margin {
            let due = margin_from(deadline, at);
            found.demand(margin == due, Law::Grants, format_args!("the margin is {margin}, but must be {due}"));
        }
    }
    check_stored(hire, found);
}

/// Checks the margin of a root that was opened at `at`. The root's time began with the request, which is not a fact of
/// the contract: some time between the session's beginning and the opening.
pub(crate) fn check_root(grant: &Grant, at: Millis, found: &mut Found<'_>) {
    check_stored(grant, found);
    if let (Some(deadline), Some(margin)) = (grant.deadline, grant.margin) {
        let (least, most) = (margin_from(deadline, at), margin_from(deadline, Millis(0)));
        let fits = (least..=most).contains(&margin);
        found.demand(fits, Law::Grants, format_args!("the root's margin is {margin}, not {least} to {most}"));
    }
}

/// Checks that a margin is stored if and only if there is a deadline.
fn check_stored(grant: &Grant, found: &mut Found<'_>) {
    let what = match (grant.deadline, grant.margin) {
        (Some(_), Some(_)) | (None, None) => return,
        (Some(_), None) => "the grant has a deadline without a margin",
        (None, Some(_)) => "the grant has a margin without a deadline",
    };
    found.broken(Law::Grants, format_args!("{what}"));
}

/// Returns whether it is time to wrap up.
pub(crate) fn is_near(grant: &Grant, at: Millis) -> bool {
    let then = u128::from(at.0) + u128::from(margin(grant));
    grant.deadline.is_some_and(|deadline| then >= u128::from(deadline.0))
}

/// Returns whether a hire with this deadline may be refused for lack of time.
pub(crate) fn is_too_near(deadline: Millis, now: Millis) -> bool {
    u128::from(deadline.0) <= u128::from(now.0) + u128::from(TIME_TO_WORK_MIN.0)
}
