// Finds places for labels so that no two overlap: under the feet, then beside, then above with a leader line. Pure, and
// the same every time for the same input.

import { CoverageMap } from './coverage-map';
import { PlacedLabel, coverDensity } from './placed-label';
import type { Surroundings } from './placed-label';
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
  const coverCosts = new CoverageMap(width, height, bodies, coverDensity);
  yield;
  const all = bodies.filter(({ owner }) => owner !== '');
  const figures = new CoverageMap(width, height, all, () => 1);
  yield;
  return { width, height, fixed, coverCosts, figures, figureById: new Map(all.map((figure) => [figure.owner, figure])) };
}

/** Gives each label its cheapest place, the most important label first. */
function* labelsFor(requests: readonly LabelRequest[], around: Surroundings, before: ReadonlyMap<string, Placement>): Steps<PlacedLabel[]> {
  const sorted = [...requests].sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
  const labels: PlacedLabel[] = [];
  for (const request of sorted) {
    labels.push(new PlacedLabel(request, around, before.get(request.id)));
    if (labels.length % STEP === 0) yield;
  }
  for (const label of labels) label.findNeighbours(labels);
  return labels;
}

/** Each label in turn takes its cheapest place, until no label moves. */
function* settle(labels: readonly PlacedLabel[]): Steps<void> {
  const free = labels.filter(({ request }) => !request.isPinned);
  for (let round = 0, hasMoved = true; round < ROUNDS && hasMoved; round++) {
    hasMoved = false;
    for (const [i, label] of free.entries()) {
      if (label.moveToBest()) hasMoved = true;
      if (i % STEP === STEP - 1) yield;
    }
  }
  if (labels.length > FEW) return;
  for (const [i, label] of free.entries()) {
    label.takeBetter();
    if (i % STEP === STEP - 1) yield;
  }
}

/**
 * Finds places for the labels, in steps that are short for a thousand figures, too. A label without room is not in the answer.
 * No two answers overlap.
 */
export function* placeLabels(requests: readonly LabelRequest[], field: Field, before: ReadonlyMap<string, Placement>): Steps<Map<string, Placement>> {
  const around = yield* surroundings(field);
  const lasting = yield* labelsFor(requests.filter(({ kind }) => kind !== 'amount'), around, before);
  yield* settle(lasting);
  // Amounts come and go: they take the room that is left, so that they push no other label away.
  const besideLabels = { ...around, fixed: [...field.fixed, ...lasting.map(({ rect }) => rect)] };
  const passing = yield* labelsFor(requests.filter(({ kind }) => kind === 'amount'), besideLabels, before);
  yield* settle(passing);
  return withoutOverlap([...lasting, ...passing], field);
}

function withoutOverlap(labels: readonly PlacedLabel[], { width, height, fixed }: Field): Map<string, Placement> {
  const answer = new Map<string, Placement>();
  const taken: Rect[] = [...fixed];
  const isFree = (rect: Rect): boolean => {
    if (rect.left < 0 || rect.top < 0 || rect.right > width || rect.bottom > height) return false;
    const wide = grown(rect, GAP);
    return taken.every((other) => overlap(wide, other) === 0);
  };
  for (const label of labels) {
    // A label whose place is not free gets the cheapest place that is.
    if (!isFree(label.rect)) {
      const free = label.byCost().find((i) => isFree(label.rectAt(i)));
      if (free === undefined) continue;
      label.moveTo(free);
    }
    taken.push(label.rect);
    answer.set(label.request.id, { x: label.rect.left, y: label.rect.top, candidate: label.chosen });
  }
  return answer;
}
