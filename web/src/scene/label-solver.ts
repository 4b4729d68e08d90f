// Finds places for labels so that no two overlap: under the feet, then beside, then above with a leader line. Pure, and
// the same every time for the same input.

import { CoverageMap } from './coverage-map';
import { Seat, coverDensity } from './label-seat';
import type { Surroundings } from './label-seat';
import { grown, overlap } from './rect';
import type { Rect } from './rect';

/** Something that a label should not cover. */
export interface Body extends Rect {
  /** The id of the figure, or an empty string for lanterns and props. */
  readonly owner: string;
  readonly weight: number;
}

export interface LabelRequest {
  readonly id: string;
  readonly kind: 'figure' | 'amount' | 'sector' | 'banner';
  readonly width: number;
  readonly height: number;
  /** The middle of the figure, its lowest and highest point, and half its width, in pixels. */
  readonly x: number;
  readonly feetY: number;
  readonly topY: number;
  readonly halfWidth: number;
  /** Lower is more important. The least important labels are left out if there is no room. */
  readonly priority: number;
  /** Stays at its first candidate if that is in the picture. */
  readonly isPinned: boolean;
}

export interface Placement {
  readonly x: number;
  readonly y: number;
  /** Which candidate was taken: the next solution prefers it, so that labels do not jump. */
  readonly candidate: number;
}

export interface Field {
  readonly width: number;
  readonly height: number;
  readonly bodies: readonly Body[];
  /** Places that labels must keep free. */
  readonly fixed: readonly Rect[];
}

/** How much room the labels of the answer have at least between them. */
const GAP = 3;
const ROUNDS = 14;
/** For how many labels there is time to exchange places. */
const FEW = 32;
/** How many labels are looked at in one step. */
const STEP = 8;

/** A calculation in short steps. */
type Steps<T> = Generator<void, T, void>;

function* surroundings({ width, height, bodies, fixed }: Field): Steps<Surroundings> {
  const sights = new CoverageMap(width, height, bodies, coverDensity);
  yield;
  const owned = bodies.filter(({ owner }) => owner !== '');
  const figures = new CoverageMap(width, height, owned, () => 1);
  yield;
  return { width, height, fixed, sights, figures, owned: new Map(owned.map((figure) => [figure.owner, figure])) };
}

/** Makes a seat for each label, the most important first. */
function* seatsFor(requests: readonly LabelRequest[], around: Surroundings, before: ReadonlyMap<string, Placement>): Steps<Seat[]> {
  const sorted = [...requests].sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
  const seats: Seat[] = [];
  for (const request of sorted) {
    seats.push(new Seat(request, around, before.get(request.id)));
    if (seats.length % STEP === 0) yield;
  }
  for (const seat of seats) seat.meet(seats);
  return seats;
}

/** Each label in turn takes its cheapest place, until nobody moves. */
function* settle(seats: readonly Seat[]): Steps<void> {
  const free = seats.filter(({ request }) => !request.isPinned);
  for (let round = 0; round < ROUNDS; round++) {
    const moves = free.filter((seat) => seat.moveToBest());
    if (moves.length === 0) break;
    yield;
  }
  if (seats.length > FEW) return;
  for (const [i, seat] of free.entries()) {
    seat.takeBetter();
    if (i % STEP === STEP - 1) yield;
  }
}

/**
 * Looks for places for the labels, in steps that are short for a thousand figures, too. A label without room is not in the answer.
 * No two answers overlap.
 */
export function* placeLabelsInSteps(requests: readonly LabelRequest[], field: Field, before: ReadonlyMap<string, Placement>): Steps<Map<string, Placement>> {
  const around = yield* surroundings(field);
  const lasting = yield* seatsFor(requests.filter(({ kind }) => kind !== 'amount'), around, before);
  yield* settle(lasting);
  // Amounts come and go: they take the room that is left, so that they push no other label away.
  const left = { ...around, fixed: [...field.fixed, ...lasting.map((seat) => seat.rect)] };
  const passing = yield* seatsFor(requests.filter(({ kind }) => kind === 'amount'), left, before);
  yield* settle(passing);
  return withoutOverlap([...lasting, ...passing], field);
}

/** The same at once. */
export function placeLabels(requests: readonly LabelRequest[], field: Field, before: ReadonlyMap<string, Placement>): Map<string, Placement> {
  const steps = placeLabelsInSteps(requests, field, before);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function withoutOverlap(seats: readonly Seat[], { width, height, fixed }: Field): Map<string, Placement> {
  const answer = new Map<string, Placement>();
  const taken: Rect[] = [...fixed];
  const isFree = (rect: Rect): boolean => {
    if (rect.left < 0 || rect.top < 0 || rect.right > width || rect.bottom > height) return false;
    const wide = grown(rect, GAP);
    return taken.every((other) => overlap(wide, other) === 0);
  };
  for (const seat of seats) {
    // If the place is not free, the cheapest one that is.
    if (!isFree(seat.rect)) {
      const free = seat.byCost().find((i) => isFree(seat.rectAt(i)));
      if (free === undefined) continue;
      seat.moveTo(free);
    }
    taken.push(seat.rect);
    answer.set(seat.request.id, { x: seat.rect.left, y: seat.rect.top, candidate: seat.chosen });
  }
  return answer;
}
