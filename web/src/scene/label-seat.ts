// A label while places are sought: what each of its places costs, and which one it has. Costs are computed when they are needed:
// most places can't be the best, whatever is around them.

import type { CoverageMap } from './coverage-map';
import { candidates } from './label-candidates';
import type { Candidate } from './label-candidates';
import { crosses, leaderOf } from './label-leader';
import type { Leader } from './label-leader';
import type { Body, LabelRequest, Placement } from './label-solver';
import { gapSquared, grown, overlap } from './rect';
import type { Rect } from './rect';

/** What a label keeps free around itself: at the edge of the picture, around other things, and around the name of a sector, which stands for itself. */
const EDGE = 8;
const ROOM = 4;
const SECTOR_GAP = 14;
const STAY_BONUS = 5;
/** A place that costs more than this is read wrongly, or hides something. */
const BAD_COST = 20;
/** How many places of others a label tries. */
const BETTER_MAX = 6;

/** What is around the labels. */
export interface Surroundings {
  readonly width: number;
  readonly height: number;
  /** What a label covers costs: by area, for what should stay in sight. */
  readonly sights: CoverageMap<Body>;
  /** The pictures of all figures, with density 1. */
  readonly figures: CoverageMap<Body>;
  /** The figures by id. */
  readonly owned: ReadonlyMap<string, Body>;
  /** Places that labels must keep free. */
  readonly fixed: readonly Rect[];
}

/** Two figures are told apart if one is this much nearer, in pixels. */
const DOUBT = 4;
/** A figure of which less than this is covered, in square pixels, only touches. */
const TOUCH = 4;
/** How much worse it is to cover the own figure than to cover another. */
const OWN_FACTOR = 1.4;

/** What it costs if the line to a figure passes another label, or lies over other figures, for each of the places looked at. */
const LEADER_COST = 25;
const LEADER_LOOKS = 5;
const LEADER_LOOK_COST = 9;

const NOTHING: Body = { left: 0, top: 0, right: 0, bottom: 0, owner: '', weight: 0 };
/** What a label that covers a body pays for each square pixel, and for all of the body besides. */
const COVER_COST = 0.09;
const COVER_ALL_COST = 6;

/** What it costs to cover a square pixel of a body. */
export function coverDensity({ left, top, right, bottom, weight }: Body): number {
  return weight * (COVER_COST + COVER_ALL_COST / Math.max(1, (right - left) * (bottom - top)));
}

export class Seat {
  readonly list: readonly Candidate[];
  /** All places of the label are in here. */
  private readonly reach: Rect;
  private neighbours: readonly Seat[] = [];
  chosen = 0;
  rect: Rect;
  private leader: Leader | null = null;
  /** False if nothing has changed around the label since it looked for its cheapest place. */
  private mayMove = true;
  /** The picture of the own figure. */
  private readonly own: Body;
  /** What each place costs, whatever the other labels do; not a number as long as nobody has asked. */
  private readonly costs: Float64Array;

  constructor(readonly request: LabelRequest, private readonly around: Surroundings, private readonly before: Placement | undefined) {
    this.own = around.owned.get(request.id) ?? NOTHING;
    this.list = candidates(request);
    this.costs = new Float64Array(this.list.length).fill(Number.NaN);
    this.reach = this.reachOf();
    this.rect = this.rectAt(0);
    this.leader = this.leaderFrom(this.rect);
    if (!request.isPinned) this.moveToBest();
  }

  /** Finds the labels that can stand in the way of this one. */
  meet(seats: readonly Seat[]): void {
    this.neighbours = seats.filter((other) => other !== this && overlap(this.reach, other.reach) > 0);
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
    const { width, height, sights, fixed } = this.around;
    const rect = grown(place, ROOM);
    // The cells of the map are about as wide as the room around a label, so what is near costs a little, too.
    let cost = sights.in(place);
    if (rect.left < EDGE || rect.right > width - EDGE || rect.top < EDGE || rect.bottom > height - EDGE) cost += 2000;
    for (const other of fixed) {
      const area = overlap(rect, other);
      if (area > 0) cost += 300 + area * 0.3;
    }
    if (this.request.kind !== 'figure') return cost;
    // Most places are close to the own figure: it counts exactly, not by cells.
    const onOwn = overlap(rect, this.own) * OWN_FACTOR - sights.partOf(this.own, place);
    return cost + onOwn * coverDensity(this.own) + this.costOfDoubt(rect) + this.costOfLeader(place);
  }

  /** A label nearer to another figure than to its own would be read wrongly. */
  private costOfDoubt(rect: Rect): number {
    const limit = Math.sqrt(gapSquared(rect, this.own)) + DOUBT;
    if (!this.isNear(rect, limit)) return 0;
    return 30 + limit * (this.isNear(rect, limit / 4) ? 1.5 : 0.7);
  }

  /** A line over another figure seems to end there. */
  private costOfLeader(place: Rect): number {
    const leader = this.leaderFrom(place);
    if (!leader) return 0;
    const { x1, y1, x2, y2 } = leader;
    let cost = 0;
    for (let i = 0; i < LEADER_LOOKS; i++) {
      const share = (i + 0.5) / LEADER_LOOKS;
      const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
      if (this.isNear({ left: x, top: y, right: x, bottom: y }, DOUBT)) cost += LEADER_LOOK_COST;
    }
    return cost;
  }

  /** Whether another figure is nearer than this to a place. */
  private isNear(rect: Rect, distance: number): boolean {
    const { figures } = this.around;
    const area = grown(rect, distance);
    return figures.in(area) - figures.partOf(this.own, area) > TOUCH;
  }

  /** What other labels add to the cost of a place. A sum above `most` may be too small. */
  private crowding(rect: Rect, most: number): number {
    const wide = grown(rect, ROOM);
    const leader = this.leaderFrom(rect);
    const isSector = this.request.kind === 'sector';
    let cost = 0;
    for (const other of this.neighbours) {
      const area = overlap(wide, other.rect);
      if (area > 0) cost += 400 + area * 0.3;
      else if (isSector !== (other.request.kind === 'sector') && gapSquared(rect, other.rect) < SECTOR_GAP * SECTOR_GAP) cost += 16;
      if (leader && crosses(leader, other.rect)) cost += LEADER_COST;
      if (other.leader && crosses(other.leader, rect)) cost += LEADER_COST;
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
    const before = this.cost();
    if (before < BAD_COST) return;
    const old = this.chosen;
    const better = this.byCost().filter((i) => this.costAt(i) < before - BAD_COST / 2);
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
