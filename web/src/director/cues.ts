// What an event means for the picture, and the beats that show it.

import { hirerOf } from '../fold';
import type { SessionLog } from '../log';
import { BEAT_MS, type Beat } from '../stage';
import type { Msat } from '../wire';

/** An event that something moves for. */
export type Cue =
  | { readonly kind: 'enter'; readonly figure: string; readonly hirer: string | null; readonly grant: Msat }
  | { readonly kind: 'crack'; readonly figure: string }
  | { readonly kind: 'leave'; readonly figure: string; readonly hirer: string | null; readonly change: Msat }
  | { readonly kind: 'raise'; readonly figure: string; readonly hirer: string; readonly money: Msat };

/** The figure has risen when it begins to walk; the portal shuts behind it. */
const WALK_AFTER_MS = 1100;
/** The grant is on its way while the figure rises. */
const COINS_AFTER_MS = 300;

/** From the opening of the portal until the figure stands at its place. */
export const ENTRANCE_MS = WALK_AFTER_MS + BEAT_MS.walk;

/** `null` for an event that changes only words and numbers. */
export function cueOf(log: SessionLog, index: number): Cue | null {
  const event = log.event(index);
  if (event?.kind !== 'fact') return null;
  const { contract, fact } = event;
  const hirer = hirerOf(contract);
  switch (fact.kind) {
    case 'opened':
      return { kind: 'enter', figure: contract, hirer, grant: fact.brief.grant.money };
    case 'closed':
      return { kind: 'leave', figure: contract, hirer, change: fact.report.change };
    case 'refused': {
      const refused = log.refusedAt(index);
      return refused === null ? null : { kind: 'crack', figure: refused.id };
    }
    case 'heard': {
      const isGrant = fact.stimulus.kind === 'top_up' && hirer !== null;
      return isGrant ? { kind: 'raise', figure: contract, hirer, money: fact.stimulus.money } : null;
    }
    default:
      return null;
  }
}

/** The beats of a cue. `tempo` below 1 makes an entrance shorter. */
export function beatsOf(cue: Cue, start: number, tempo: number): Beat[] {
  switch (cue.kind) {
    case 'enter': {
      const beats: Beat[] = [
        { kind: 'portal', figure: cue.figure, start, duration: BEAT_MS.portal * tempo },
        { kind: 'walk', figure: cue.figure, start: start + WALK_AFTER_MS * tempo, duration: BEAT_MS.walk * tempo },
      ];
      if (cue.hirer !== null && cue.grant > 0) {
        const at = start + COINS_AFTER_MS * tempo;
        beats.push({ kind: 'coins', from: cue.hirer, to: cue.figure, msat: cue.grant, start: at, duration: BEAT_MS.coins * tempo });
      }
      return beats;
    }
    case 'crack':
      return [{ kind: 'crack', figure: cue.figure, start, duration: BEAT_MS.crack }];
    case 'leave': {
      if (cue.hirer === null) return [];
      const way = { from: cue.figure, to: cue.hirer, start };
      const report: Beat = { kind: 'report', ...way, duration: BEAT_MS.report };
      return cue.change > 0 ? [report, { kind: 'change', ...way, msat: cue.change, duration: BEAT_MS.change }] : [report];
    }
    case 'raise':
      return [{ kind: 'coins', from: cue.hirer, to: cue.figure, msat: cue.money, start, duration: BEAT_MS.coins }];
  }
}

/** Whether a beat is part of the entrance of this figure. */
export function isEntrance(beat: Beat, figure: string): boolean {
  if (beat.kind === 'portal' || beat.kind === 'walk') return beat.figure === figure;
  return beat.kind === 'coins' && beat.to === figure;
}

export function endOf(beat: Beat): number {
  return beat.start + beat.duration;
}

/** A beat that has less than this left is over: sums of times are not exact to the last digit. */
const OVER_MS = 0.001;

export function isUnderWay(beat: Beat, now: number): boolean {
  return beat.start <= now && now < endOf(beat) - OVER_MS;
}

/**
 * Makes a beat faster from `from` on, so that what would happen at `end` happens at `soon`. What is drawn at `from` does not jump.
 */
export function hurried(beat: Beat, from: number, end: number, soon: number): Beat {
  const factor = end > from ? Math.max(0, soon - from) / (end - from) : 1;
  const mapped = (time: number): number => (time <= from ? time : from + (time - from) * factor);
  const last = endOf(beat);
  if (last <= from || factor >= 1) return beat;
  if (beat.start >= from) return { ...beat, start: mapped(beat.start), duration: beat.duration * factor };
  const done = (from - beat.start) / beat.duration;
  const duration = (mapped(last) - from) / (1 - done);
  return { ...beat, start: mapped(last) - duration, duration };
}
