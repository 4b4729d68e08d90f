// A recorded session, played again at a speed at which people can read it.

import type { SessionLog } from '../log';
import type { Beat } from '../stage';
import { beatsOf, type Cue, cueOf, ENTRANCE_MS } from './cues';

/** A pause in which nothing happens is not longer than this. */
const IDLE_MS_MAX = 2500;
/** Between two portals. */
const PORTAL_MS = 600;
/** From the arrival of a figure to its report. */
const WORK_MS = 800;
/** Between two reports. */
const REPORT_MS = 500;
/** A replay is not longer than this: a larger session goes faster. */
const REPLAY_MS_MAX = 180_000;
/** A replay that is longer than the session by less than this part, and this time, was fast enough to read. */
const SPREAD_FACTOR = 1.25;
const SPREAD_MS = 1000;
/** The picture stays for a moment before the replay ends. */
const TAIL_MS = 1200;

export class ReplayPlan {
  readonly start: number;
  readonly end: number;
  /** Whether the session is shown slower than it was, because it was too fast to read. */
  readonly isSpread: boolean;
  readonly from: number;
  /** When each event from `from` on is shown. Never going back. */
  readonly #shows: readonly number[];
  /** In the order of their starts. */
  readonly #beats: readonly Beat[];

  /** Plans the events of the log from this index on. */
  constructor(log: SessionLog, from: number, now: number) {
    const timeline = new Timeline(log, from);
    const factor = Math.min(1, REPLAY_MS_MAX / Math.max(1, timeline.length));
    const shows: number[] = [];
    const beats: Beat[] = [];
    for (const { time, cue } of timeline.steps) {
      const show = now + time * factor;
      shows.push(show);
      if (cue !== null) beats.push(...beatsOf(cue, show, factor));
    }
    this.start = now;
    this.from = from;
    this.#shows = shows;
    this.#beats = beats.sort((one, other) => one.start - other.start);
    this.isSpread = timeline.isSpread;
    this.end = now + timeline.length * factor + TAIL_MS;
  }

  /** How many events are shown at this time. */
  cursor(now: number): number {
    let [low, high] = [0, this.#shows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#shows[middle] ?? 0) <= now) low = middle + 1;
      else high = middle;
    }
    return this.from + low;
  }

  beats(): readonly Beat[] {
    return this.#beats;
  }

  nextShow(now: number): number | null {
    return this.#shows[this.cursor(now) - this.from] ?? null;
  }
}

interface Step {
  readonly time: number;
  readonly cue: Cue | null;
}

/** The times of the events at reading speed, from 0. */
class Timeline {
  readonly steps: Step[] = [];
  #time = 0;
  /** The time that the session itself took, without long pauses. */
  #usual = 0;
  #portal = Number.NEGATIVE_INFINITY;
  #report = Number.NEGATIVE_INFINITY;
  readonly #arrivals = new Map<string, number>();

  constructor(log: SessionLog, from: number) {
    for (let index = from; index < log.length; index += 1) {
      const passed = index === from ? 0 : log.timeAfter(index + 1) - log.timeAfter(index);
      const cue = cueOf(log, index);
      this.#usual += Math.min(passed, IDLE_MS_MAX);
      const time = Math.max(this.#time + Math.min(passed, IDLE_MS_MAX), this.#earliest(cue));
      this.#time = time;
      this.#note(cue, time);
      this.steps.push({ time, cue });
    }
  }

  /** The time of the last event. */
  get length(): number {
    return this.#time;
  }

  /** Whether the session is shown clearly slower than it was. */
  get isSpread(): boolean {
    return this.#time > this.#usual * SPREAD_FACTOR + SPREAD_MS;
  }

  #earliest(cue: Cue | null): number {
    if (cue?.kind === 'enter' || cue?.kind === 'crack') return this.#portal + PORTAL_MS;
    if (cue?.kind !== 'leave') return 0;
    return Math.max(this.#report + REPORT_MS, (this.#arrivals.get(cue.figure) ?? Number.NEGATIVE_INFINITY) + WORK_MS);
  }

  #note(cue: Cue | null, time: number): void {
    if (cue?.kind === 'enter' || cue?.kind === 'crack') this.#portal = time;
    if (cue?.kind === 'enter') this.#arrivals.set(cue.figure, time + ENTRANCE_MS);
    if (cue?.kind === 'leave') this.#report = time;
  }
}
