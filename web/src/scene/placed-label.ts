// A label while places are searched: what each of its places costs, and which place it has. A cost is computed when it is needed:
// most places can't be the best, whatever is around them.

import type { CoverageMap } from './coverage-map';
import { candidates } from './label-candidates';
import type { Candidate } from './label-candidates';
import { crosses, leaderOf } from './label-leader';
import type { Leader } from './label-leader';
import type { Body, LabelRequest, Placement } from './label-solver';
import { gapSquared, grown, overlap } from './rect';
import type { Rect } from './rect';

/** The room around a label, in pixels: at the edge of the picture, around other things, and around the name of a sector. */
const EDGE = 8;
const ROOM = 4;
const SECTOR_GAP = 14;
/** The place that a label has already is this much cheaper, so that labels do not jump. */
const STAY_BONUS = 5;
/** A label whose place costs more than this tries to take a better place from others, and how many places it tries. */
const BAD_COST = 20;
const BETTER_MAX = 6;

/** What a place costs: outside the picture; over something of the page, or over another label, and for each square pixel of that. */
const OUTSIDE_COST = 2000;
const FIXED_COST = 300;
const LABEL_COST = 400;
const OVERLAP_COST = 0.3;
/** Closer to the name of a sector than `SECTOR_GAP`. */
const SECTOR_COST = 16;
/** A place that covers a body: for each square pixel, and for the whole body besides. The own figure costs more. */
const COVER_COST = 0.09;
const COVER_ALL_COST = 6;
const OWN_FACTOR = 1.4;
/** A place that is closer to another figure than to its own, and for each pixel of the distance to its own. */
const AMBIGUOUS_COST = 30;
const AMBIGUOUS_FAR_COST = 0.7;
const AMBIGUOUS_CLOSE_COST = 1.5;
/** Two figures are told apart if one is this much closer, in pixels. */
const AMBIGUOUS_PIXELS = 4;
/** A figure of which less than this is covered, in square pixels, only touches. */
const TOUCH = 4;
/** A line to the figure that passes another label. */
const LEADER_LABEL_COST = 25;

const NOTHING: Body = { left: 0, top: 0, right: 0, bottom: 0, owner: '', weight: 0 };

/** What is around the labels. */
export interface Surroundings {
  readonly width: number;
  readonly height: number;
  /** What it costs to cover each square pixel. */
  readonly coverCosts: CoverageMap<Body>;
  /** The pictures of all figures, with density 1. */
  readonly figures: CoverageMap<Body>;
  readonly figureById: ReadonlyMap<string, Body>;
  /** Places that labels must keep free. */
  readonly fixed: readonly Rect[];
}

/** What it costs to cover a square pixel of a body. */
export function coverDensity({ left, top, right, bottom, weight }: Body): number {
  return weight * (COVER_COST + COVER_ALL_COST / Math.max(1, (right - left) * (bottom - top)));
}

export class PlacedLabel {
  private readonly list: readonly Candidate[];
  /** All places of the label are in here. */
  private readonly reach: Rect;
  private neighbours: readonly PlacedLabel[] = [];
  chosen = 0;
  rect: Rect;
  private leader: Leader | null = null;
  /** False if nothing has changed around the label since it looked for its cheapest place. */
  private mayMove = true;
  /** The picture of the own figure. */
  private readonly own: Body;
  /** What each place costs, whatever the other labels do; not a number until it is computed. */
  private readonly costs: Float64Array;

  constructor(readonly request: LabelRequest, private readonly around: Surroundings, private readonly before: Placement | undefined) {
    this.own = around.figureById.get(request.id) ?? NOTHING;
    this.list = candidates(request);
    this.costs = new Float64Array(this.list.length).fill(Number.NaN);
    this.reach = this.reachOf();
    this.rect = this.rectAt(0);
    this.leader = this.leaderFrom(this.rect);
    if (!request.isPinned) this.moveToBest();
  }

  /** Finds the labels that can be in the way of this label. */
  findNeighbours(labels: readonly PlacedLabel[]): void {
    this.neighbours = labels.filter((other) => other !== this && overlap(this.reach, other.reach) > 0);
    this.mayMove = true;
  }

  private reachOf(): Rect {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { x, y } of this.list) {
      left = Math.min(left, x);
      top = Math.min(top, y);
      right = Math.max(right, x);
      bottom = Math.max(bottom, y);
    }
    return grown({ left, top, right: right + this.request.width, bottom: bottom + this.request.height }, SECTOR_GAP);
  }

  rectAt(candidate: number): Rect {
    const { x, y } = this.list[candidate] ?? { x: 0, y: 0 };
    return { left: x, top: y, right: x + this.request.width, bottom: y + this.request.height };
  }

  private leaderFrom(rect: Rect): Leader | null {
    return this.request.kind === 'figure' ? leaderOf(this.request, rect) : null;
  }

  moveTo(candidate: number): void {
    if (candidate === this.chosen) return;
    this.chosen = candidate;
    this.rect = this.rectAt(candidate);
    this.leader = this.leaderFrom(this.rect);
    this.mayMove = true;
    for (const other of this.neighbours) other.mayMove = true;
  }

  /** The places, the cheapest first. */
  byCost(): number[] {
    return this.list.map((_, i) => i).sort((a, b) => this.costAt(a) - this.costAt(b));
  }

  private costAt(candidate: number): number {
    const known = this.costs[candidate] ?? Infinity;
    if (!Number.isNaN(known)) return known;
    const stays = candidate === this.before?.candidate ? STAY_BONUS : 0;
    const cost = (this.list[candidate]?.cost ?? Infinity) + this.costOfPlace(this.rectAt(candidate)) - stays;
    this.costs[candidate] = cost;
    return cost;
  }

  private costOfPlace(place: Rect): number {
    const { width, height, coverCosts, fixed } = this.around;
    const rect = grown(place, ROOM);
    // The cells of the map are about as wide as the room around a label, so what is near costs a little, too.
    let cost = coverCosts.coveredIn(place);
    if (rect.left < EDGE || rect.right > width - EDGE || rect.top < EDGE || rect.bottom > height - EDGE) cost += OUTSIDE_COST;
    for (const other of fixed) {
      const area = overlap(rect, other);
      if (area > 0) cost += FIXED_COST + area * OVERLAP_COST;
    }
    if (this.request.kind !== 'figure') return cost;
    // Most places are close to the own figure: it counts exactly, not by cells.
    const onOwn = overlap(rect, this.own) * OWN_FACTOR - coverCosts.partOf(this.own, place);
    return cost + onOwn * coverDensity(this.own) + this.costOfAmbiguity(rect);
  }

  /** A label nearer to another figure than to its own would be read wrongly. So would a line over another figure, which is nearer, too. */
  private costOfAmbiguity(rect: Rect): number {
    const limit = Math.sqrt(gapSquared(rect, this.own)) + AMBIGUOUS_PIXELS;
    if (!this.isNear(rect, limit)) return 0;
    return AMBIGUOUS_COST + limit * (this.isNear(rect, limit / 4) ? AMBIGUOUS_CLOSE_COST : AMBIGUOUS_FAR_COST);
  }

  /** Whether another figure is nearer than this to a place. */
  private isNear(rect: Rect, distance: number): boolean {
    const { figures } = this.around;
    const area = grown(rect, distance);
    return figures.coveredIn(area) - figures.partOf(this.own, area) > TOUCH;
  }

  /** What other labels add to the cost of a place. A sum above `most` may be too small. */
  private crowding(rect: Rect, most: number): number {
    const wide = grown(rect, ROOM);
    const leader = this.leaderFrom(rect);
    const isSector = this.request.kind === 'sector';
    let cost = 0;
    for (const other of this.neighbours) {
      const area = overlap(wide, other.rect);
      if (area > 0) cost += LABEL_COST + area * OVERLAP_COST;
      else if (isSector !== (other.request.kind === 'sector') && gapSquared(rect, other.rect) < SECTOR_GAP * SECTOR_GAP) cost += SECTOR_COST;
      if (leader && crosses(leader, other.rect)) cost += LEADER_LABEL_COST;
      if (other.leader && crosses(other.leader, rect)) cost += LEADER_LABEL_COST;
      if (cost >= most) break;
    }
    return cost;
  }

  private cost(): number {
    return this.costAt(this.chosen) + this.crowding(this.rect, Infinity);
  }

  /** Moves the label to its cheapest place. True if that is another one. */
  moveToBest(): boolean {
    if (!this.mayMove) return false;
    let best = this.chosen;
    let bestCost = Infinity;
    for (let i = 0; i < this.list.length; i++) {
      // The places are sorted by this part of their cost.
      if ((this.list[i]?.cost ?? Infinity) - STAY_BONUS >= bestCost) break;
      const fixedCost = this.costAt(i);
      if (fixedCost >= bestCost) continue;
      const cost = fixedCost + this.crowding(this.rectAt(i), bestCost - fixedCost);
      if (cost >= bestCost) continue;
      bestCost = cost;
      best = i;
    }
    const moves = best !== this.chosen;
    this.moveTo(best);
    this.mayMove = false;
    return moves;
  }

  /** A label at a bad place takes a good one from others, if all of them together are better off then. */
  takeBetter(): void {
    const costNow = this.cost();
    if (costNow < BAD_COST) return;
    const old = this.chosen;
    const better = this.byCost().filter((i) => this.costAt(i) < costNow - BAD_COST / 2);
    for (const candidate of better.slice(0, BETTER_MAX)) {
      const wide = grown(this.rectAt(candidate), ROOM);
      const pushed = this.neighbours.filter((other) => overlap(wide, other.rect) > 0);
      if (pushed.some(({ request }) => request.isPinned)) continue;
      const places = pushed.map(({ chosen }) => chosen);
      const sum = (): number => pushed.reduce((total, other) => total + other.cost(), this.cost());
      this.moveTo(old);
      const costBefore = sum();
      this.moveTo(candidate);
      for (const other of pushed) other.moveToBest();
      if (sum() < costBefore) return;
      pushed.forEach((other, i) => other.moveTo(places[i] ?? 0));
    }
    this.moveTo(old);
  }
}
