// Turns the events of a session into a stage at a time. The stage is always the state after some event, never a mixture: when
// events come fast, the director shows them one after the other, at most 2 s late. Time is an argument; nothing here reads a clock.

import { isUnderWay } from './director/cues';
import { type Crowd, crowdAt } from './director/crowd';
import { LivePlan } from './director/plan';
import { ReplayPlan } from './director/replay';
import type { Moment, SessionLog } from './log';
import type { Beat, Stage, Zone } from './stage';
import type { CastMember } from './wire';
import { zonesOf } from './zones';

export { FIGURES_MAX, UNFOLDED_MAX } from './director/crowd';
export { BEHIND_MS_MAX, GAP_MS } from './director/plan';

/** What the stage shows. */
export type Mode =
  /** The events as they come. */
  | { readonly kind: 'live' }
  /** The state after this many events. Nothing moves. */
  | { readonly kind: 'still'; readonly index: number }
  /** The session again, at a speed at which it can be read. `spread` if it was faster than that. */
  | { readonly kind: 'replay'; readonly spread: boolean; readonly start: number; readonly end: number };

export class Director {
  readonly log: SessionLog;
  readonly #live: LivePlan;
  #still: number | null = null;
  #replay: ReplayPlan | null = null;
  #selected: string | null = null;
  readonly #unfolded = new Set<string>();
  /** Counts the changes of what is folded. */
  #folds = 0;
  #cast: readonly CastMember[] | null = null;
  #zones: (agent: string) => Zone = () => 'workshop';
  #crowd: { readonly key: string; readonly crowd: Crowd } | null = null;

  constructor(log: SessionLog) {
    this.log = log;
    this.#live = new LivePlan(log);
  }

  /** Takes the new events of the log, which came now, and plans when each is shown. */
  feed(now: number): void {
    this.#live.feed(now);
  }

  /**
   * Takes the new events of the log and shows their end state at once: for events that happened before the page opened. Without
   * new events it does nothing.
   */
  skip(): void {
    this.#live.skip();
  }

  /** Shows the state after this many events. Nothing moves. Live events go on in the background. */
  scrub(index: number): void {
    this.#replay = null;
    this.#still = Math.min(Math.max(0, Math.trunc(index)), this.log.length);
  }

  /** Returns to what happens now. */
  toLive(): void {
    this.#replay = null;
    this.#still = null;
  }

  /** Plays the session again from this many events on. It returns to live at its end. */
  replay(now: number, from = 0): void {
    this.#still = null;
    this.#replay = new ReplayPlan(this.log, Math.min(Math.max(0, Math.trunc(from)), this.log.length), now);
  }

  mode(now: number): Mode {
    if (this.#still !== null) return { kind: 'still', index: this.#still };
    const replay = this.#replayAt(now);
    if (replay === null) return { kind: 'live' };
    return { kind: 'replay', spread: replay.isSpread, start: replay.start, end: replay.end };
  }

  /** Whether the session is shown slower than it was. */
  spread(now: number): boolean {
    return this.#still === null && this.#replayAt(now)?.isSpread === true;
  }

  /** Whether live events come so fast that portals are closer together and entrances faster. */
  get isCompressed(): boolean {
    return this.#live.isCompressed;
  }

  /** How many milliseconds the live picture is behind the facts. At most 2,000. */
  behind(now: number): number {
    return this.#live.behind(now);
  }

  /** How many events are shown. */
  cursor(now: number): number {
    if (this.#still !== null) return this.#still;
    return this.#replayAt(now)?.cursor(now) ?? this.#live.cursor(now);
  }

  /** The state that is shown. */
  moment(now: number): Moment {
    return this.log.moment(this.cursor(now));
  }

  get selected(): string | null {
    return this.#selected;
  }

  select(id: string | null): void {
    this.#selected = id;
  }

  /** Shows the hires of a figure with a banner. */
  unfold(id: string): void {
    this.#unfolded.delete(id);
    this.#unfolded.add(id);
    this.#folds += 1;
  }

  /** Everything that is drawn at this time. */
  at(now: number): Stage {
    const crowd = this.#crowdAt(now);
    const selected = this.#selected === null ? null : crowd.standsFor(this.#selected);
    const beats = this.#beats(now).filter((beat) => isDrawn(beat, crowd));
    return { now, figures: crowd.figures, banners: crowd.banners, beats, selected };
  }

  /** Whether something moves at this time. */
  isMoving(now: number): boolean {
    return this.nextChange(now) === now;
  }

  /** When the stage changes next: now while something moves, `null` if nothing is planned. */
  nextChange(now: number): number | null {
    if (this.#still !== null) return null;
    const plan = this.#replayAt(now) ?? this.#live;
    let next = plan.nextShow(now) ?? Number.POSITIVE_INFINITY;
    for (const beat of plan.beats()) {
      if (isUnderWay(beat, now)) return now;
      if (beat.start > now) next = Math.min(next, beat.start);
    }
    if (plan instanceof ReplayPlan) next = Math.min(next, plan.end);
    return Number.isFinite(next) ? next : null;
  }

  /** A replay that has ended is live again. */
  #replayAt(now: number): ReplayPlan | null {
    return this.#replay !== null && now < this.#replay.end ? this.#replay : null;
  }

  #crowdAt(now: number): Crowd {
    const { log } = this;
    const cursor = this.cursor(now);
    const isLive = this.#still === null && this.#replayAt(now) === null && cursor === log.length;
    const key = `${cursor} ${this.#folds} ${isLive ? log.version : 'past'}`;
    if (this.#cast !== log.cast) {
      this.#cast = log.cast;
      this.#zones = zonesOf(log.cast);
      this.#crowd = null;
    }
    if (this.#crowd?.key === key) return this.#crowd.crowd;
    const choice = { unfolded: this.#unfolded, zones: this.#zones, isLive };
    const crowd = crowdAt(log, log.moment(cursor), choice);
    this.#crowd = { key, crowd };
    return crowd;
  }

  /** The beats that are under way, and the walk that follows a portal. */
  #beats(now: number): readonly Beat[] {
    if (this.#still !== null) return [];
    const plan = this.#replayAt(now) ?? this.#live;
    const under: Beat[] = [];
    const rising = new Set<string>();
    for (const beat of plan.beats()) {
      const isNow = isUnderWay(beat, now);
      if (isNow && beat.kind === 'portal') rising.add(beat.figure);
      if (isNow || (beat.kind === 'walk' && beat.start > now && rising.has(beat.figure))) under.push(beat);
    }
    return under;
  }
}

function isDrawn(beat: Beat, crowd: Crowd): boolean {
  const isSelf = (id: string): boolean => crowd.standsFor(id) === id;
  switch (beat.kind) {
    case 'portal':
    case 'walk':
    case 'crack':
      return isSelf(beat.figure);
    case 'coins':
    case 'change':
    case 'report':
      return isSelf(beat.from) && isSelf(beat.to);
  }
}
