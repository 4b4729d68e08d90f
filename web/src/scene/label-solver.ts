// Finds places for labels so that no two overlap: under the feet, then beside, then above with a leader line. Pure, and
// the same every time for the same input.

export interface Rect {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

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

interface Candidate {
  readonly x: number;
  readonly y: number;
  readonly cost: number;
}

const EDGE = 8;
const GAP = 3;
const ROUNDS = 14;
/** What a label should keep free around the name of a sector, which stands for itself. */
const SECTOR_GAP = 14;
const STAY_BONUS = 5;
/** A place that costs more than this is read wrongly, or hides something. */
const BAD_COST = 20;
/** How many places of others a label tries, and for how many labels there is time to try. */
const BETTER_MAX = 6;
const FEW = 32;
/** How far beside a figure its label may be. */
const REACH_SIDE = 90;

export function overlap(a: Rect, b: Rect): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

function rectAt(request: LabelRequest, x: number, y: number, gap: number): Rect {
  return { left: x - gap, top: y - gap, right: x + request.width + gap, bottom: y + request.height + gap };
}

/** Places to try, the best first. Their number and order are the same for all requests of a kind. */
function candidates(request: LabelRequest): Candidate[] {
  const { x, width: w, height: h, feetY, topY, halfWidth, kind } = request;
  const list: Candidate[] = [];
  const add = (left: number, top: number, cost: number): void => {
    list.push({ x: left, y: top, cost });
  };
  const isAbove = kind === 'amount' || kind === 'sector';
  if (!isAbove) {
    for (const shift of [0, -0.3, 0.3, -0.48, 0.48]) {
      add(x - w / 2 + w * shift, feetY + 5, Math.abs(shift) * 3);
      add(x - w / 2 + w * shift, feetY + 12, 1 + Math.abs(shift) * 3);
    }
    for (const share of [0.5, 0.75, 0.95]) {
      const y = topY + (feetY - topY) * share - h / 2;
      add(x + halfWidth + 5, y, 2.5);
      add(x - halfWidth - 5 - w, y, 2.5);
      for (const [away, cost] of [[40, 9], [80, 14]] as const) {
        add(x + halfWidth + 5 + away, y, cost);
        add(x - halfWidth - 5 - away - w, y, cost);
      }
    }
  }
  const extra = isAbove ? 0 : 6;
  for (const shift of [0, -0.25, 0.25, -0.45, 0.45]) add(x - w / 2 + w * shift, topY - h - 6, extra + Math.abs(shift) * 4);
  if (kind === 'amount') {
    for (const drop of [0, 24]) {
      add(x + halfWidth + 6, topY - h / 2 + drop, 2 + drop * 0.1);
      add(x - halfWidth - 6 - w, topY - h / 2 + drop, 2 + drop * 0.1);
    }
    add(x - w / 2, feetY + 10, 5);
  }
  if (kind === 'sector') {
    add(x - w - halfWidth, topY, 8);
    add(x + halfWidth, topY, 8);
  }
  // The name of a sector far from its lantern would be read as that of something else.
  for (const rise of kind === 'sector' ? [14] : [14, 28, 46, 66, 92]) {
    for (const shift of [0, -0.45, 0.45, -0.8, 0.8]) {
      add(x - w / 2 + w * shift, topY - h - 6 - rise, (isAbove ? 3 : 7) + rise * 0.14 + Math.abs(shift) * 2);
    }
  }
  if (!isAbove) {
    for (const drop of [26, 44, 66, 92, 124]) {
      for (const shift of [0, -0.5, 0.5]) add(x - w / 2 + w * shift, feetY + drop, 6 + drop * 0.14 + Math.abs(shift) * 2);
    }
  }
  return list;
}

interface Seat {
  readonly request: LabelRequest;
  readonly list: Candidate[];
  readonly bodies: Body[];
  readonly staticCosts: number[];
  chosen: number;
  rect: Rect;
}

function gapBetween(a: Rect, b: Rect): number {
  const dx = Math.max(0, a.left - b.right, b.left - a.right);
  const dy = Math.max(0, a.top - b.bottom, b.top - a.bottom);
  return Math.hypot(dx, dy);
}

/** What a candidate costs, whatever the other labels do. */
function staticCost(request: LabelRequest, candidate: Candidate, bodies: readonly Body[], field: Field): number {
  const rect = rectAt(request, candidate.x, candidate.y, 4);
  let cost = candidate.cost;
  if (rect.left < EDGE || rect.right > field.width - EDGE || rect.top < EDGE || rect.bottom > field.height - EDGE) cost += 2000;
  for (const fixed of field.fixed) {
    const area = overlap(rect, fixed);
    if (area > 0) cost += 300 + area * 0.3;
  }
  let own = 0;
  let other = Infinity;
  for (const body of bodies) {
    const area = overlap(rect, body);
    if (area > 0) cost += (body.owner === request.id ? 1.4 : 1) * body.weight * (area * 0.09 + 6);
    if (request.kind !== 'figure' || body.owner === '') continue;
    const gap = gapBetween(rect, body);
    if (body.owner === request.id) own = gap;
    else other = Math.min(other, gap);
  }
  // A label nearer to another figure than to its own would be read wrongly.
  if (other < own + 4) cost += 30 + (own - other + 4) * 1.5;
  return cost;
}

function seatFor(request: LabelRequest, field: Field, before: Placement | undefined): Seat {
  const list = candidates(request);
  const reach = {
    left: request.x - request.width * 1.4 - request.halfWidth - REACH_SIDE,
    right: request.x + request.width * 1.4 + request.halfWidth + REACH_SIDE,
    top: request.topY - request.height - 110,
    bottom: request.feetY + request.height + 140,
  };
  const bodies = field.bodies.filter((body) => overlap(reach, body) > 0);
  const staticCosts = list.map((candidate, i) => {
    const cost = staticCost(request, candidate, bodies, field);
    return i === before?.candidate ? cost - STAY_BONUS : cost;
  });
  let chosen = 0;
  if (!request.isPinned) staticCosts.forEach((cost, i) => (cost < (staticCosts[chosen] ?? Infinity) ? (chosen = i) : 0));
  return { request, list, bodies, staticCosts, chosen, rect: seatRect(request, list[chosen]) };
}

function seatRect(request: LabelRequest, candidate: Candidate | undefined): Rect {
  return rectAt(request, candidate?.x ?? 0, candidate?.y ?? 0, 0);
}

function crowding(seat: Seat, rect: Rect, seats: readonly Seat[]): number {
  const wide = { left: rect.left - 4, top: rect.top - 4, right: rect.right + 4, bottom: rect.bottom + 4 };
  let cost = 0;
  for (const other of seats) {
    if (other === seat) continue;
    const area = overlap(wide, other.rect);
    if (area > 0) cost += 400 + area * 0.3;
    else if ((seat.request.kind === 'sector') !== (other.request.kind === 'sector')) {
      if (gapBetween(rect, other.rect) < SECTOR_GAP) cost += 16;
    }
  }
  return cost;
}

function costOf(seat: Seat, seats: readonly Seat[]): number {
  return (seat.staticCosts[seat.chosen] ?? Infinity) + crowding(seat, seat.rect, seats);
}

function move(seat: Seat, candidate: number): void {
  seat.chosen = candidate;
  seat.rect = seatRect(seat.request, seat.list[candidate]);
}

/** Moves a label to its cheapest place. True if that is another one. */
function moveToBest(seat: Seat, seats: readonly Seat[]): boolean {
  let best = seat.chosen;
  let bestCost = Infinity;
  seat.list.forEach((candidate, i) => {
    const fixedCost = seat.staticCosts[i] ?? Infinity;
    if (fixedCost >= bestCost) return;
    const cost = fixedCost + crowding(seat, seatRect(seat.request, candidate), seats);
    if (cost < bestCost) {
      bestCost = cost;
      best = i;
    }
  });
  if (best === seat.chosen) return false;
  move(seat, best);
  return true;
}

/** A label at a bad place takes a good one from others, if all of them together are better off then. */
function takeBetter(seat: Seat, seats: readonly Seat[]): void {
  const before = costOf(seat, seats);
  if (before < BAD_COST) return;
  const old = seat.chosen;
  const better = seat.list.map((_, i) => i).filter((i) => (seat.staticCosts[i] ?? Infinity) < before - BAD_COST / 2);
  better.sort((a, b) => (seat.staticCosts[a] ?? 0) - (seat.staticCosts[b] ?? 0));
  for (const candidate of better.slice(0, BETTER_MAX)) {
    move(seat, candidate);
    const pushed = seats.filter((other) => other !== seat && overlap(rectAt(seat.request, seat.rect.left, seat.rect.top, GAP), other.rect) > 0);
    if (pushed.some(({ request }) => request.isPinned)) continue;
    const places = pushed.map(({ chosen }) => chosen);
    move(seat, old);
    const costBefore = before + pushed.reduce((sum, other) => sum + costOf(other, seats), 0);
    move(seat, candidate);
    for (const other of pushed) moveToBest(other, seats);
    if (costOf(seat, seats) + pushed.reduce((sum, other) => sum + costOf(other, seats), 0) < costBefore) return;
    pushed.forEach((other, i) => move(other, places[i] ?? 0));
  }
  move(seat, old);
}

/** Each label in turn takes its cheapest place, until nobody moves. */
function settle(seats: readonly Seat[]): void {
  const free = seats.filter(({ request }) => !request.isPinned);
  for (let round = 0; round < ROUNDS; round++) {
    const moves = free.filter((seat) => moveToBest(seat, seats));
    if (moves.length === 0) break;
  }
  if (seats.length <= FEW) for (const seat of free) takeBetter(seat, seats);
}

/** Places for the labels. A label without room is not in the answer. No two answers overlap. */
export function placeLabels(
  requests: readonly LabelRequest[], field: Field, before: ReadonlyMap<string, Placement>,
): Map<string, Placement> {
  const byPriority = (a: LabelRequest, b: LabelRequest): number => a.priority - b.priority || (a.id < b.id ? -1 : 1);
  const seatsOf = (list: readonly LabelRequest[], around: Field): Seat[] =>
    [...list].sort(byPriority).map((request) => seatFor(request, around, before.get(request.id)));
  const lasting = seatsOf(requests.filter(({ kind }) => kind !== 'amount'), field);
  settle(lasting);
  // Amounts come and go: they take the room that is left, so that they push no other label away.
  const fixed = [...field.fixed, ...lasting.map((seat) => seat.rect)];
  const passing = seatsOf(requests.filter(({ kind }) => kind === 'amount'), { ...field, fixed });
  settle(passing);
  const seats = [...lasting, ...passing];
  const answer = new Map<string, Placement>();
  const taken: Rect[] = [...field.fixed];
  const isFree = (rect: Rect): boolean => {
    const wide = { left: rect.left - GAP, top: rect.top - GAP, right: rect.right + GAP, bottom: rect.bottom + GAP };
    if (rect.left < 0 || rect.top < 0 || rect.right > field.width || rect.bottom > field.height) return false;
    return taken.every((other) => overlap(wide, other) === 0);
  };
  for (const seat of seats) {
    let chosen = seat.chosen;
    if (!isFree(seat.rect)) {
      // The cheapest candidate that is free, if there is one.
      const order = seat.list.map((_, i) => i).sort((a, b) => (seat.staticCosts[a] ?? 0) - (seat.staticCosts[b] ?? 0));
      const free = order.find((i) => isFree(seatRect(seat.request, seat.list[i])));
      if (free === undefined) continue;
      chosen = free;
    }
    const place = seat.list[chosen];
    if (!place) continue;
    taken.push(seatRect(seat.request, place));
    answer.set(seat.request.id, { x: place.x, y: place.y, candidate: chosen });
  }
  return answer;
}
