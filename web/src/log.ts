// Everything that is known of a session: its events in order, its texts, its cast, what its agents do at the moment, and its
// state after any event. Scrubbing is fast because a snapshot is kept after every few events.

import { detailsOf, Fold, PathIndex, type Snapshot } from './fold';
import { Moment } from './log/moment';
import { firstWords, isolated, refusalWords, statusLine } from './log/words';
import { follows, parseId, type Place, START } from './stream';
import type { ActivityEvent, CastMember, Fact, HallEvent, Path, Refusal, StoredEvent, TextRef, TreeContract } from './wire';

export { comparePaths, hirerOf } from './fold';
export { Moment } from './log/moment';
export { firstWords, isolated, listed, refusalWords, waitsWords } from './log/words';

/** A hire that was refused. Its id is `1.2!3` for the third refused hire of contract 1.2. */
export interface RefusedHire {
  readonly id: string;
  readonly hirer: Path;
  /** The index of its event. */
  readonly index: number;
  /** The agent that was not hired. Untrusted text. */
  readonly agent: string;
  /** Such as `asks 40 sat, has 38 sat`. */
  readonly why: string;
}

/** Something worth a mark on a timeline. */
export interface Marker {
  readonly index: number;
  readonly kind: 'request' | 'hire' | 'report' | 'failure' | 'refusal' | 'order' | 'unknown';
  readonly contract: Path | null;
  /** Session time, in milliseconds. */
  readonly at: number;
  /** What happened, for people. Has untrusted text in it. */
  readonly words: string;
}

/** A fact that this page does not know. */
export interface UnknownSeen {
  readonly index: number;
  readonly contract: Path | null;
  readonly name: string;
  readonly value: unknown;
}

/** An event that does not follow the one before it. */
export class OutOfOrder extends Error {}

/** At most this many events are applied to a snapshot to get any state. */
const SNAPSHOT_EVERY = 512;
/** More snapshots are not kept: in a session with more than 262,144 events, every second one goes. */
const SNAPSHOTS_MAX = 512;

export class SessionLog {
  cast: readonly CastMember[] = [];
  /** Counts every change: of events, of the cast, of activities. */
  version = 0;
  readonly #events: StoredEvent[] = [];
  /** The session time of each event, never going back. */
  readonly #times: number[] = [];
  readonly #texts = new Map<string, string>();
  readonly #activities = new Map<Path, ActivityEvent>();
  readonly #refused = new Map<Path, RefusedHire[]>();
  readonly #markers: Marker[] = [];
  readonly #unknown: UnknownSeen[] = [];
  readonly #agents = new Map<Path, string>();
  /** The invoices that were paid. */
  readonly #paid = new Set<string>();
  #last: Place = START;
  readonly #index = new PathIndex();
  readonly #head = new Fold(undefined, this.#index);
  #snapshots: Snapshot[] = [new Fold().snapshot()];
  #every = SNAPSHOT_EVERY;
  #newest: Moment | null = null;
  /** The state that was asked for last, to go on from. */
  #scrub: { readonly fold: Fold; index: number; moment: Moment | null } | null = null;

  /** How many stored events there are. */
  get length(): number {
    return this.#events.length;
  }

  event(index: number): StoredEvent | undefined {
    return this.#events[index];
  }

  /** The id after this many events: `0.0` after none. */
  idAfter(index: number): string {
    return this.#events[index - 1]?.id ?? '0.0';
  }

  /** Takes an event. Returns whether it is a stored event that was not known. Throws if an event before it is missing. */
  add(event: HallEvent): boolean {
    if (event.kind === 'cast') {
      this.cast = event.agents;
    } else if (event.kind === 'activity') {
      return this.#act(event);
    } else if (!this.#store(event)) {
      return false;
    }
    this.version += 1;
    return event.kind !== 'cast';
  }

  #store(event: StoredEvent): boolean {
    const place = parseId(event.id);
    const step = place === null ? 'gap' : follows(this.#last, place);
    if (step === 'known') return false;
    if (place === null || step === 'gap') throw new OutOfOrder(`event ${event.id} does not follow ${this.idAfter(this.length)}`);
    const index = this.#events.length;
    this.#last = place;
    this.#events.push(event);
    this.#times.push(Math.max(event.at ?? 0, this.#times.at(-1) ?? 0));
    if (event.kind === 'fact') this.#note(event.contract, event.fact, event.texts, index);
    else this.#noteAccount(event, index);
    this.#head.apply(event);
    this.#newest = null;
    if (this.#events.length % this.#every === 0) this.#keep();
    return true;
  }

  #keep(): void {
    this.#snapshots.push(this.#head.snapshot());
    if (this.#snapshots.length <= SNAPSHOTS_MAX) return;
    this.#snapshots = this.#snapshots.filter((_, place) => place % 2 === 0);
    this.#every *= 2;
  }

  #act(event: ActivityEvent): boolean {
    const contract = this.#head.contract(event.contract)?.view();
    // An activity may come after the answer that it was about.
    if (contract === undefined || detailsOf(contract).openRequest !== event.ask) return false;
    this.#activities.set(event.contract, event);
    this.version += 1;
    return false;
  }

  #note(contract: Path, fact: Fact, texts: Readonly<Record<string, string>>, index: number): void {
    for (const hash of Object.keys(texts)) this.#texts.set(hash, texts[hash] ?? '');
    switch (fact.kind) {
      case 'opened':
        this.#agents.set(contract, fact.brief.agent);
        return this.#mark(index, contract.includes('.') ? 'hire' : 'request', contract, `${isolated(fact.brief.agent)} begins`);
      case 'answered':
        this.#activities.delete(contract);
        return;
      case 'refused':
        if (fact.agent !== null) this.#refuse(contract, index, fact.agent, fact.ordinal, fact.why);
        return;
      case 'heard':
        if (fact.stimulus.kind === 'out_of_tokens') this.#mark(index, 'failure', contract, 'out of tokens');
        else if (fact.from === 'owner') this.#mark(index, 'order', contract, `told: ${fact.stimulus.kind.replaceAll('_', ' ')}`);
        return;
      case 'closed': {
        this.#activities.delete(contract);
        const isTrouble = fact.report.outcome !== 'done';
        const words = `${isolated(this.#agents.get(contract) ?? contract)}: ${OUTCOMES[outcomeName(fact.report.outcome)]}`;
        return this.#mark(index, isTrouble ? 'failure' : 'report', contract, words);
      }
      case 'unknown':
        this.#unknown.push({ index, contract, name: fact.name, value: fact.value });
        return this.#mark(index, 'unknown', contract, `unknown fact: ${firstWords(fact.name)}`);
      case 'asked':
      case 'queued':
      case 'raised':
      case 'waiting':
      case 'woke':
      case 'nudged':
      case 'compacted':
      case 'closing':
        return;
    }
  }

  #noteAccount(event: Exclude<StoredEvent, { kind: 'fact' }>, index: number): void {
    if (event.fact.kind === 'funded' && event.fact.payment !== null) this.#paid.add(event.fact.payment);
    if (event.fact.kind !== 'unknown') return;
    this.#unknown.push({ index, contract: null, name: event.fact.name, value: event.fact.value });
    this.#mark(index, 'unknown', null, `unknown fact: ${firstWords(event.fact.name)}`);
  }

  /** A hire that had waited for money keeps its path. */
  #refuse(hirer: Path, index: number, agent: string, ordinal: number | null, reason: Refusal): void {
    const known = this.#refused.get(hirer) ?? [];
    const why = refusalWords(reason);
    const id = ordinal === null ? `${hirer}!${known.length + 1}` : `${hirer}.${ordinal}`;
    this.#refused.set(hirer, [...known, { id, hirer, index, agent, why }]);
    this.#mark(index, 'refusal', hirer, `${isolated(agent)}: refused: ${why}`);
  }

  #mark(index: number, kind: Marker['kind'], contract: Path | null, words: string): void {
    this.#markers.push({ index, kind, contract, at: this.#times[index] ?? 0, words });
  }

  /** The state after all events. */
  newest(): Moment {
    this.#newest ??= new Moment(this.length, this.#head);
    return this.#newest;
  }

  /** The state after this many events. */
  moment(index: number): Moment {
    const wanted = Math.min(Math.max(0, Math.trunc(index)), this.length);
    if (wanted === this.length) return this.newest();
    const place = Math.floor(wanted / this.#every);
    let scrub = this.#scrub;
    if (scrub === null || scrub.index > wanted || scrub.index < place * this.#every) {
      scrub = { fold: new Fold(this.#snapshots[place], this.#index), index: place * this.#every, moment: null };
    }
    for (; scrub.index < wanted; scrub.index += 1) {
      const event = this.#events[scrub.index];
      if (event !== undefined) scrub.fold.apply(event);
      scrub.moment = null;
    }
    this.#scrub = scrub;
    scrub.moment ??= new Moment(wanted, scrub.fold);
    return scrub.moment;
  }

  /** The beginning of a text, at most 280 characters. `null` if no event had it. */
  excerpt(text: TextRef | null): string | null {
    return text === null ? null : (this.#texts.get(text.hash) ?? null);
  }

  /** The name of a contract: the label that its hirer gave, or its agent's name. Untrusted text. */
  nameOf(contract: TreeContract): string {
    const label = this.excerpt(contract.label);
    return label === null || label.trim() === '' ? contract.agent : firstWords(label);
  }

  /** What an agent does at this moment. `null` if nothing is known. */
  activity(contract: Path): ActivityEvent | null {
    return this.#activities.get(contract) ?? null;
  }

  /** The refused hires of a contract, of all events or of the first ones. */
  refused(contract: Path, index = this.length): readonly RefusedHire[] {
    const all = this.#refused.get(contract) ?? [];
    return all.length === 0 || (all.at(-1)?.index ?? 0) < index ? all : all.filter((hire) => hire.index < index);
  }

  /** The contracts with refused hires. */
  get refusers(): Iterable<Path> {
    return this.#refused.keys();
  }

  /** The refused hire that an event is about. */
  refusedAt(index: number): RefusedHire | null {
    const event = this.#events[index];
    if (event?.kind !== 'fact' || event.fact.kind !== 'refused') return null;
    return this.#refused.get(event.contract)?.find((hire) => hire.index === index) ?? null;
  }

  /** Whether this Lightning invoice was paid. An invoice has the id of its payment. */
  isPaid(invoice: string): boolean {
    return this.#paid.has(invoice);
  }

  get markers(): readonly Marker[] {
    return this.#markers;
  }

  /** Facts that this page does not know: they are listed, and the numbers of their contracts are in doubt. */
  get unknown(): readonly UnknownSeen[] {
    return this.#unknown;
  }

  /** Whether every amount is exact. It is not above 90,000 bitcoin. */
  get isExact(): boolean {
    return this.#head.isExact;
  }

  /** The session time after this many events, in milliseconds. */
  timeAfter(index: number): number {
    return this.#times[Math.min(index, this.length) - 1] ?? 0;
  }

  /** What the label of a contract says under its name. */
  status(contract: TreeContract, moment: Moment): string {
    if (moment.isDoubtful(contract.path)) {
      const unknown = this.#unknown.find((seen) => seen.contract === contract.path);
      return `unknown fact: ${firstWords(unknown?.name ?? '?', 40)}`;
    }
    return statusLine(contract, moment.spent(contract.path), this.excerpt(contract.report?.text ?? null));
  }
}

const OUTCOMES = { done: 'reports', failed: 'failed', cancelled: 'cancelled', exhausted: 'ran dry' } as const;

function outcomeName(outcome: Extract<Fact, { kind: 'closed' }>['report']['outcome']): keyof typeof OUTCOMES {
  return typeof outcome === 'string' ? outcome : 'exhausted';
}
