//! `hire`: somebody is put to work under a contract of a session without a model's decision, from this terminal or another.

use guildhall::Spawned;
use guildhall::kernel::AgentName;

use crate::amount::sats;
use crate::args::HireArgs;
use crate::commands::run::{before, here};
use crate::exit::{Exit, Failure};
use crate::print::{note, out};
use crate::world::World;

/// Hires somebody, and says what became of it.
pub(crate) async fn hire(world: &World, args: HireArgs) -> Result<Exit, Failure> {
    let agent = AgentName::parse(&args.agent)
        .map_err(|why| Failure::usage(format!("{:?} is no agent's name: {why}", args.agent)))?;
    if args.task.trim().is_empty() {
        return Err(Failure::usage("the task is empty"));
    }
    let id = &args.to.session.find(&world.hall(here()?)?).await?;
    let hall = world.hall(before(world, id).await?.project)?;
    let budget = args.budget.map(|budget| budget.msat(hall.models().rate()));
    match hall.hire(id, args.to.contract.as_ref(), &agent, args.task.trim(), budget).await? {
        Spawned::Hired { contract, money } => {
            out(&format!("{id}/{contract}"))?;
            note(&format!("{agent} is hired with {}; its report goes to the hirer", sats(money)));
            Ok(Exit::Done)
        }
        Spawned::Refused(why) => Err(Failure::refused(format!("{agent} is not hired: {why}. Nothing was spent"))),
        Spawned::Waits(Some(holder)) => {
            note(&format!("{id} has not heard it yet; process {} runs it", holder.pid));
            Ok(Exit::Temporary)
        }
        Spawned::Waits(None) => {
            note(&format!("nobody runs {id} now: {agent} is hired when it goes on with: guildhall resume {id}"));
            Ok(Exit::Done)
        }
    }
}
