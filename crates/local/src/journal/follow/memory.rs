//! The newest events of one session in memory, shared by all who follow it. It has no side effects.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use guildhall_kernel::Hash;

use crate::journal::event::{Cursor, Event};
use crate::journal::event_pages::{Page, Place};

/// How many events of a session stay in memory.
const NEWEST_MAX: usize = 1024;

/// How many of them keep the form in which they are sent. Most followers have the newest events, and the others make that form again.
const ENCODED_MAX: usize = 64;

/// How many events a follower takes at once. A follower that does not continue keeps no more events than this in memory.
const TAKEN_MAX: usize = 128;

/// How many bytes of texts of a session stay in memory. Only those who make the form of a new event need them, and older texts are
/// read from the database.
const NEWEST_TEXT_BYTES_MAX: usize = 128 * 1024;

/// The newest events of a session.
#[derive(Debug)]
pub(super) struct Memory {
    newest: Newest,
    /// Events of this process that come after events of another process. They join the others when those were read.
    ahead: Option<Run>,
    /// The newest event that is known to be stored.
    end: Cursor,
    check: Check,
    texts: NewestTexts,
}

/// The newest events without a gap.
#[derive(Debug)]
enum Newest {
    /// Nobody has asked for events yet, so none are kept.
    NotRead,
    /// They are being read from the database. Events that are stored meanwhile are kept.
    Reading,
    Read(Run),
}

/// Whether it is known what other processes have stored.
#[derive(Debug, PartialEq, Eq)]
enum Check {
    Worked,
    /// The database could not be checked, so followers read it themselves, and get the error.
    Failed,
}

/// Events without a gap.
#[derive(Debug)]
struct Run {
    /// The place before the first event.
    before: Cursor,
    events: VecDeque<Arc<Event>>,
}

/// What memory has for a follower.
#[derive(Debug)]
pub(super) enum Look {
    /// The next events.
    Events(VecDeque<Arc<Event>>),
    /// No event is known that the follower does not have.
    NoMore,
    /// The next events are no longer in memory.
    Earlier,
    /// The next events are not in memory yet.
    Lacking,
    /// The place of the follower comes after all events in memory. They may be not all that are stored.
    Beyond,
    /// There is no event with the id after which the follower wants to continue.
    Unknown,
}

/// What to read from the database so that memory has the newest events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The newest events.
    Newest,
    /// The events after this one.
    After(Cursor),
}

impl Memory {
    pub(super) fn new() -> Memory {
        let texts = NewestTexts::default();
        Memory { newest: Newest::NotRead, ahead: None, end: Cursor::START, check: Check::Worked, texts }
    }

    /// Returns what memory has from this place on.
    pub(super) fn look(&self, place: Place) -> Look {
        let Newest::Read(run) = &self.newest else { return Look::Lacking };
        if self.check == Check::Failed {
            return Look::Lacking;
        }
        let found = match place {
            Place::After(at) => run.after(at),
            Place::Fact(seq) => run.starting_with(seq),
        };
        match found {
            Ok(first) if first < run.events.len() => {
                Look::Events(run.events.range(first..).take(TAKEN_MAX).cloned().collect())
            }
            Ok(_) if self.end > run.last() => Look::Lacking,
            Ok(_) => Look::NoMore,
            Err(look) => look,
        }
    }

    /// Returns what to read. The caller reads it after this, and adds it.
    pub(super) fn begin_read(&mut self) -> Missing {
        match &self.newest {
            Newest::Read(run) => Missing::After(run.last()),
            Newest::NotRead | Newest::Reading => {
                self.newest = Newest::Reading;
                Missing::Newest
            }
        }
    }

    /// Adds what was read from the database. Returns how many events are new.
    pub(super) fn add_read(&mut self, page: Page) -> usize {
        let mut run = match std::mem::replace(&mut self.newest, Newest::Reading) {
            Newest::Read(run) => run,
            Newest::NotRead | Newest::Reading => Run { before: page.before, events: VecDeque::new() },
        };
        // Events of this process are kept as they are: all who send them share their form.
        let own = self.ahead.as_ref().map(|ahead| ahead.before);
        let read = page.events.into_iter().take_while(|event| own.is_none_or(|own| event.id <= own));
        let mut added = run.extend(read.map(Arc::new));
        if let Some(ahead) = self.ahead.take_if(|ahead| ahead.before <= run.last()) {
            added += run.extend(ahead.events);
        }
        run.forget_old();
        self.end = self.end.max(run.last());
        self.newest = Newest::Read(run);
        self.check = Check::Worked;
        added
    }

    /// Adds durable events of this process.
    pub(super) fn add_own(&mut self, events: Vec<Arc<Event>>) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        self.end = self.end.max(last.id);
        let before = first.before();
        let is_continued = |run: &Run| (run.before..=run.last()).contains(&before);
        let run = match &mut self.newest {
            Newest::NotRead => return,
            Newest::Read(run) if is_continued(run) => run,
            Newest::Reading | Newest::Read(_) => {
                self.ahead = self.ahead.take().filter(is_continued);
                self.ahead.get_or_insert_with(|| Run { before, events: VecDeque::new() })
            }
        };
        run.extend(events);
        run.forget_old();
    }

    /// Records which event is the newest, according to the database. Returns whether it was not known.
    pub(super) fn stored(&mut self, end: Cursor) -> bool {
        let is_new = end > self.end;
        self.end = self.end.max(end);
        is_new
    }

    /// Records that the database could not be checked.
    pub(super) fn check_failed(&mut self) {
        self.check = Check::Failed;
    }

    pub(super) fn add_text(&mut self, hash: Hash, text: &[u8]) {
        match self.newest {
            Newest::NotRead => {}
            Newest::Reading | Newest::Read(_) => self.texts.add(hash, text),
        }
    }

    pub(super) fn text(&self, hash: Hash) -> Option<&Vec<u8>> {
        self.texts.by_hash.get(&hash)
    }
}

impl Run {
    fn last(&self) -> Cursor {
        self.events.back().map_or(self.before, |last| last.id)
    }

    /// Adds the events that continue this run. Returns how many.
    fn extend(&mut self, events: impl IntoIterator<Item = Arc<Event>>) -> usize {
        let before = self.events.len();
        for event in events {
            if event.before() == self.last() {
                self.events.push_back(event);
            }
        }
        self.events.len() - before
    }

    fn forget_old(&mut self) {
        let too_many = self.events.len().saturating_sub(NEWEST_MAX);
        if let Some(last) = self.events.drain(..too_many).next_back() {
            self.before = last.id;
        }
        let older = self.events.len().saturating_sub(ENCODED_MAX);
        for event in self.events.range_mut(..older).rev().take_while(|event| event.is_encoded()) {
            *event = Arc::new(event.without_encoded());
        }
    }

    /// Returns the index of the event after this place. Every event adds one to one of the two counts of its id.
    fn after(&self, at: Cursor) -> Result<usize, Look> {
        let counts = (at.facts.checked_sub(self.before.facts), at.account.checked_sub(self.before.account));
        let (Some(facts), Some(account)) = counts else { return Err(Look::Earlier) };
        let index = usize::try_from(facts.saturating_add(account)).unwrap_or(usize::MAX);
        let reached = match index.checked_sub(1) {
            None => Some(self.before),
            Some(last) => self.events.get(last).map(|event| event.id),
        };
        match reached {
            Some(reached) if reached == at => Ok(index),
            Some(_) => Err(Look::Unknown),
            None => Err(Look::Beyond),
        }
    }

    /// Returns the index of the event of this fact, or the end if the fact is not stored yet.
    fn starting_with(&self, seq: u64) -> Result<usize, Look> {
        if seq <= self.before.facts {
            return Err(Look::Earlier);
        }
        Ok(self.events.partition_point(|event| event.id.facts < seq))
    }
}

/// The texts that were stored with the newest events.
#[derive(Debug, Default)]
struct NewestTexts {
    by_hash: HashMap<Hash, Vec<u8>>,
    /// In the order in which they are removed.
    order: VecDeque<Hash>,
    bytes: usize,
}

impl NewestTexts {
    /// Adds a text, and removes the oldest texts if there are too many bytes. Many facts name the same text.
    fn add(&mut self, hash: Hash, text: &[u8]) {
        if self.by_hash.contains_key(&hash) {
            return;
        }
        self.bytes += text.len();
        self.order.push_back(hash);
        self.by_hash.insert(hash, text.to_vec());
        while self.bytes > NEWEST_TEXT_BYTES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.by_hash.remove(&oldest).map_or(0, |text| text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use guildhall_kernel::{Hash, Millis, Msat, SessionFact, UnixMs};

    use super::{Look, Memory, Missing, NEWEST_MAX, NEWEST_TEXT_BYTES_MAX, NewestTexts, TAKEN_MAX};
    use crate::journal::event::{AccountFact, Cursor, Event, EventKind};
    use crate::journal::event_pages::{Page, Place};

    fn at(account: u64) -> Cursor {
        Cursor { facts: 0, account }
    }

    /// An event of the account. An event of this process has a time.
    fn event(n: u64, durable_at: Option<UnixMs>) -> Event {
        let fact = SessionFact::Funded { money: Msat::ZERO, root: None, payment: None };
        Event::new(at(n), EventKind::Account(AccountFact { n, after: 0, at: Millis(1), fact }), durable_at)
    }

    fn read(memory: &mut Memory, numbers: std::ops::RangeInclusive<u64>) -> usize {
        let before = at(numbers.start() - 1);
        memory.add_read(Page { before, events: numbers.map(|n| event(n, None)).collect() })
    }

    fn own(memory: &mut Memory, numbers: std::ops::RangeInclusive<u64>) {
        memory.add_own(numbers.map(|n| Arc::new(event(n, Some(UnixMs(n))))).collect());
    }

    /// Describes what memory has after a place. An event of this process has a star.
    fn look(memory: &Memory, after: u64) -> String {
        let describe = |event: &Arc<Event>| match event.durable_at {
            Some(_) => format!("{}*", event.id.account),
            None => event.id.account.to_string(),
        };
        match memory.look(Place::After(at(after))) {
            Look::Events(events) => events.iter().map(describe).collect::<Vec<_>>().join(" "),
            other @ (Look::NoMore | Look::Earlier | Look::Lacking | Look::Beyond | Look::Unknown) => {
                format!("{other:?}")
            }
        }
    }

    #[test]
    fn events_of_this_process_join_those_that_another_process_stored_before_them() {
        let mut memory = Memory::new();
        own(&mut memory, 1..=1);
        assert!(memory.ahead.is_none(), "nobody has asked for events yet");
        assert_eq!((look(&memory, 0), memory.begin_read()), ("Lacking".to_owned(), Missing::Newest));
        read(&mut memory, 1..=2);
        own(&mut memory, 3..=3);
        assert_eq!((look(&memory, 1), look(&memory, 3)), ("2 3*".to_owned(), "NoMore".to_owned()));
        // Another process has stored 4 and 5.
        own(&mut memory, 6..=6);
        own(&mut memory, 7..=7);
        assert_eq!((look(&memory, 2), look(&memory, 3)), ("3*".to_owned(), "Lacking".to_owned()));
        assert_eq!(memory.begin_read(), Missing::After(at(3)));
        assert_eq!(read(&mut memory, 4..=6), 4);
        assert_eq!(look(&memory, 2), "3* 4 5 6* 7*");
    }

    #[test]
    fn an_event_that_was_read_before_it_is_announced_is_not_doubled() {
        let mut memory = Memory::new();
        memory.begin_read();
        own(&mut memory, 3..=3);
        read(&mut memory, 1..=4);
        assert_eq!(look(&memory, 0), "1 2 3*", "the events of this process are kept, and 4 was not announced yet");
        assert!(memory.stored(at(4)));
        assert_eq!(look(&memory, 3), "Lacking");
        read(&mut memory, 4..=5);
        own(&mut memory, 4..=6);
        assert_eq!(look(&memory, 0), "1 2 3* 4 5 6*");
        assert!(!memory.stored(at(6)));
    }

    #[test]
    fn a_place_before_and_after_memory_and_a_place_that_does_not_exist_are_told_apart() {
        let mut memory = Memory::new();
        read(&mut memory, 5..=6);
        assert_eq!([3, 4, 6, 7].map(|n| look(&memory, n)), ["Earlier", "5 6", "NoMore", "Beyond"]);
        let wrong = Place::After(Cursor { facts: 1, account: 4 });
        assert!(matches!(memory.look(wrong), Look::Unknown));
    }

    #[test]
    fn the_newest_events_stay_and_one_look_returns_a_part_of_them() {
        let (mut memory, all) = (Memory::new(), NEWEST_MAX as u64 + 10);
        read(&mut memory, 1..=1);
        for n in 2..=all {
            own(&mut memory, n..=n);
        }
        assert_eq!((look(&memory, 9), look(&memory, all)), ("Earlier".to_owned(), "NoMore".to_owned()));
        let Look::Events(events) = memory.look(Place::After(at(10))) else { panic!("memory begins after 10") };
        assert_eq!((events[0].id, events.len()), (at(11), TAKEN_MAX));
    }

    #[test]
    fn followers_read_the_database_themselves_after_a_failed_check() {
        let mut memory = Memory::new();
        read(&mut memory, 1..=1);
        memory.check_failed();
        assert_eq!(look(&memory, 1), "Lacking");
        assert_eq!(memory.add_read(Page { before: at(1), events: vec![] }), 0);
        assert_eq!(look(&memory, 1), "NoMore");
    }

    #[test]
    fn the_newest_texts_stay_within_their_limit_and_a_repeated_text_takes_no_room() {
        let (mut texts, half) = (NewestTexts::default(), vec![7; NEWEST_TEXT_BYTES_MAX / 2]);
        for number in [1, 1, 1, 2] {
            texts.add(Hash([number; 32]), &half);
        }
        assert_eq!((texts.order.len(), texts.bytes), (2, NEWEST_TEXT_BYTES_MAX));
        texts.add(Hash([3; 32]), b"x");
        let kept = |number| texts.by_hash.contains_key(&Hash([number; 32]));
        assert_eq!((kept(1), kept(2), kept(3), texts.bytes), (false, true, true, half.len() + 1));
    }
}
