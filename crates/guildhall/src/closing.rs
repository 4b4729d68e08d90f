//! Ending a session that can't go on: what its work was set up with can't be read, so nobody knows who works with which model.
//! Everybody in it is cancelled, which needs neither, and what was not charged comes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use guildhall_agent::{Hired, ModelError, Reply, Seat, model_fn};
use guildhall_kernel::{Msat, SessionFact};
use guildhall_local::{Lane, Office, Overruns, Place, Replays, SessionId, UnixMs};

use crate::hall::{Ending, Hall, HallError};
use crate::running::settle;
use crate::setup::newest_root;

impl Hall {
    /// Ends a session whose setup can't be read, at once and without asking any model. Returns whether it did: a session that
    /// can go on, or that another process runs, is left as it is.
    pub async fn end_unreadable(&self, id: &SessionId) -> Result<bool, HallError> {
        if !matches!(newest_root(self.journal(), id).await, Err(HallError::NoSetup { .. })) {
            return Ok(false);
        }
        // Whoever holds the session read its setup while that could be read, and obeys the order to end it.
        if self.journal().running(id).await?.is_some() {
            return Ok(false);
        }
        let root = self.open_root(id).await?;
        let lease = self.journal().lease(id, UnixMs::now()).await?;
        let place = self.empty_place();
        let places = Arc::new(move |_: &_| Some(place.clone()));
        let office = Office::open(self.journal().clone(), lease, places, Overruns::Allow).await?;
        let brief = match self.brief(id, &root).await {
            Ok(brief) => brief,
            // It was asked for and never begun.
            Err(HallError::NobodyThere { .. }) => {
                let (spent, reserved, estimated) = (Msat::ZERO, Some(Msat::ZERO), Some(Msat::ZERO));
                office.account(vec![SessionFact::Ended { root, spent, reserved, estimated }], Vec::new()).await?;
                office.conclude_orders().await?;
                return Ok(true);
            }
            Err(why) => return Err(why),
        };
        self.end(id, Ending::Cancel).await?;
        let report = office.run(brief, Vec::new()).await?;
        settle(self, id, &office, &root, &report).await?;
        Ok(true)
    }

    /// A place at which nobody can work.
    fn empty_place(&self) -> Place {
        let model = model_fn(|_| async {
            let why = "what the work was set up with can't be read".to_owned();
            Err::<Reply, _>(ModelError::Refused { provider: "nobody".to_owned(), why })
        });
        let seat = Seat {
            system: String::new(),
            model: Arc::new(model),
            window: u64::MAX,
            price: Arc::new(|_| Msat::ZERO),
            tools: BTreeMap::new(),
            team: None,
            hired: Hired::ByOwner,
            scribe: self.scribe().clone(),
        };
        Place {
            seat: Arc::new(seat),
            lane: Arc::new(Lane::new(1)),
            tools: Arc::new(Lane::new(1)),
            replays: Replays::No,
            watch: Arc::new(|_, _| {}),
            exists: Arc::new(|_| false),
        }
    }
}
