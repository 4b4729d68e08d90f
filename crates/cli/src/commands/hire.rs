//! `hire`: a person hires an agent under a contract of a session, without a model's decision, from any terminal.

use guildhall::OrderedHire;
use guildhall::kernel::AgentName;

use crate::amount::sats;
use crate::args::HireArgs;
use crate::commands::run::{before, here};
use crate::exit::{Exit, Failure};
use crate::print::{note, out};
use crate::world::World;

/// Hires an agent and prints the result.
pub(crate) async fn hire(world: &World, args: HireArgs) -> Result<Exit, Failure> {
    let agent = AgentName::parse(&args.agent)
        .map_err(|why| Failure::usage(format!("{:?} is not a valid agent name: {why}", args.agent)))?;
    if args.task.trim().is_empty() {
        return Err(Failure::usage("the task is empty: write what the agent must do"));
    }
    let id = &args.to.session.find(&world.hall(here()?)?).await?;
    let hall = world.hall(before(world, id).await?.project)?;
    let budget = args.budget.map(|budget| budget.msat(hall.models().rate()));
    match hall.hire(id, args.to.contract.as_ref(), &agent, args.task.trim(), budget).await? {
        OrderedHire::Hired { contract, money } => {
            out(&format!("{id}/{contract}"))?;
            note(&format!("{agent} is hired with {}; its report goes to the hirer", sats(money)));
            Ok(Exit::Done)
        }
        OrderedHire::WaitsForMoney { contract } => {
            out(&format!("{id}/{contract}"))?;
            let hirer = contract.hirer().filter(|hirer| hirer.level() > 0);
            let hirer = hirer.map_or_else(String::new, |hirer| format!("/{hirer}"));
            note(&format!(
                "{agent} waits for money and begins when other work returns enough; its report goes to the hirer. To give its hirer more money, \
                 run: guildhall topup {id}{hirer} AMOUNT"
            ));
            Ok(Exit::Done)
        }
        OrderedHire::Refused(why) => Err(Failure::refused(format!("{agent} is not hired: {why}. Nothing was spent"))),
        OrderedHire::Waits(Some(holder)) => {
            note(&format!(
                "process {} runs session {id} and has not read the order yet: it stays in the inbox",
                holder.pid
            ));
            Ok(Exit::Temporary)
        }
        OrderedHire::Waits(None) => {
            note(&format!(
                "no process runs session {id} now. To continue it and hire {agent}, run: guildhall resume {id}"
            ));
            Ok(Exit::Done)
        }
    }
}
