// When events are shown. Portals open 120 ms apart, and a report is shown only after its figure has arrived; but no event is shown
// more than 2 s after it came: when many come, gaps get smaller first, then entrances get faster. Pure: time is an argument.

import type { SessionLog } from '../log';
import type { Beat } from '../stage';
import { beatsOf, type Cue, cueOf, ENTRANCE_MS, endOf, hurried, isEntrance } from './cues';

/** Between two portals. */
export const GAP_MS = 120;
/** No event is shown later than this after it came. */
export const BEHIND_MS_MAX = 2000;
/** Portals open earlier than that, so that there is time left for the entrance. */
const PORTAL_BEHIND_MS_MAX = 1600;
/** An entrance is never planned shorter than this part of a full one. Only the limit above makes it shorter. */
const TEMPO_MIN = 0.05;
/** Beats are forgotten this long after their end. */
const KEEP_MS = 1000;

interface Pending {
  readonly index: number;
  readonly arrival: number;
  readonly cue: Cue | null;
  show: number;
}

interface Entrance {
  readonly start: number;
  readonly end: number;
}

/** A beat, and the event that it shows. */
interface Planned {
  readonly index: number;
  beat: Beat;
}

/** The plan of a live session. */
export class LivePlan {
  readonly #log: SessionLog;
  /** How many events are shown. */
  #shown = 0;
  /** The events that come next, in order. */
  #pending: Pending[] = [];
  #planned: Planned[] = [];
  #beats: readonly Beat[] = [];
  /** The entrances that have begun and not ended. */
  readonly #entrances = new Map<string, Entrance>();
  #lastPortal = Number.NEGATIVE_INFINITY;
  #isCompressed = false;

  constructor(log: SessionLog) {
    this.#log = log;
  }

  /** Whether the events that are planned come too fast for the usual gaps and entrances. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /** How many events are shown at this time. */
  cursor(now: number): number {
    let count = 0;
    while ((this.#pending[count]?.show ?? Number.POSITIVE_INFINITY) <= now) count += 1;
    return this.#shown + count;
  }

  /** How long the oldest event that is not shown has waited. */
  behind(now: number): number {
    const oldest = this.#pending.find((pending) => pending.show > now);
    return oldest === undefined ? 0 : now - oldest.arrival;
  }

  /** All beats that are planned or were over a short time ago. */
  beats(): readonly Beat[] {
    return this.#beats;
  }

  /** When the next event is shown after this time. */
  nextShow(now: number): number | null {
    return this.#pending.find((pending) => pending.show > now)?.show ?? null;
  }

  /** Shows all events at once, and nothing moves. If there is no new event, what moves goes on. */
  skip(): void {
    if (this.#shown + this.#pending.length === this.#log.length) return;
    this.#shown = this.#log.length;
    this.#pending = [];
    this.#planned = [];
    this.#beats = [];
    this.#entrances.clear();
    this.#isCompressed = false;
  }

  /** Takes the new events of the log: they came now. */
  feed(now: number): void {
    this.#settle(now);
    for (let index = this.#shown + this.#pending.length; index < this.#log.length; index += 1) {
      this.#pending.push({ index, arrival: now, cue: cueOf(this.#log, index), show: now });
    }
    this.#plan(now);
  }

  /** Events whose time has come are not planned again. */
  #settle(now: number): void {
    const count = this.cursor(now) - this.#shown;
    for (const { cue, show } of this.#pending.splice(0, count)) {
      if (cue?.kind === 'enter' || cue?.kind === 'crack') this.#lastPortal = show;
    }
    this.#shown += count;
    this.#planned = this.#planned.filter(({ index, beat }) => index < this.#shown && endOf(beat) > now - KEEP_MS);
    for (const [figure, { start, end }] of this.#entrances) {
      if (end <= now || start > now) this.#entrances.delete(figure);
    }
  }

  #plan(now: number): void {
    const gap = this.#gap(now);
    // How fast everything must be so that the last event is not too late.
    let tempo = 1;
    this.#walk(now, gap, 1, (pending, wanted) => {
      const late = wanted - now > 0 ? (pending.arrival + BEHIND_MS_MAX - now) / (wanted - now) : 1;
      tempo = Math.min(tempo, late);
      return wanted;
    });
    tempo = Math.max(TEMPO_MIN, tempo);
    this.#isCompressed = gap < GAP_MS || tempo < 1;
    const entrances = new Map<string, Entrance>();
    this.#walk(now, gap * tempo, tempo, (pending, wanted) => {
      pending.show = Math.min(wanted, pending.arrival + BEHIND_MS_MAX);
      this.#show(pending, tempo, now, entrances);
      return pending.show;
    });
    for (const [figure, entrance] of entrances) this.#entrances.set(figure, entrance);
    this.#beats = this.#planned.map(({ beat }) => beat);
  }

  /** The gap between portals with which none of them is too late. */
  #gap(now: number): number {
    let [gap, portals] = [GAP_MS, 0];
    for (const { cue, arrival } of this.#pending) {
      if (cue?.kind !== 'enter' && cue?.kind !== 'crack') continue;
      portals += 1;
      gap = Math.min(gap, Math.max(0, arrival + PORTAL_BEHIND_MS_MAX - now) / portals);
    }
    return gap;
  }

  /** Goes through the pending events with the time at which each should be shown. `at` returns the time at which it is. */
  #walk(now: number, gap: number, tempo: number, at: (pending: Pending, wanted: number) => number): void {
    let [time, portal] = [now, this.#lastPortal];
    const arrivals = new Map<string, number>();
    for (const pending of this.#pending) {
      const { cue } = pending;
      let wanted = time;
      if (cue?.kind === 'enter' || cue?.kind === 'crack') wanted = Math.max(time, portal + gap);
      if (cue?.kind === 'leave') {
        const begun = this.#entrances.get(cue.figure);
        const arrives = arrivals.get(cue.figure) ?? (begun === undefined ? now : now + (begun.end - now) * tempo);
        wanted = Math.max(time, arrives);
      }
      time = at(pending, wanted);
      if (cue?.kind === 'enter' || cue?.kind === 'crack') portal = time;
      if (cue?.kind === 'enter') arrivals.set(cue.figure, time + ENTRANCE_MS * tempo);
    }
  }

  #show({ index, cue, show }: Pending, tempo: number, now: number, entrances: Map<string, Entrance>): void {
    if (cue === null) return;
    if (cue.kind === 'leave') this.#hurry(cue.figure, show, now, entrances);
    if (cue.kind === 'enter') entrances.set(cue.figure, { start: show, end: show + ENTRANCE_MS * tempo });
    for (const beat of beatsOf(cue, show, tempo)) this.#planned.push({ index, beat });
  }

  /** A figure arrives before its report is shown. */
  #hurry(figure: string, show: number, now: number, entrances: Map<string, Entrance>): void {
    const entrance = entrances.get(figure) ?? this.#entrances.get(figure);
    if (entrance === undefined || entrance.end <= show) return;
    const from = Math.max(now, entrance.start);
    for (const planned of this.#planned) {
      if (isEntrance(planned.beat, figure)) planned.beat = hurried(planned.beat, from, entrance.end, show);
    }
    entrances.set(figure, { start: entrance.start, end: Math.max(show, from) });
  }
}
