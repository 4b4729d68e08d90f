import { describe, expect, it } from 'vitest';
import { placeLabels } from '../../src/scene/label-solver';
import type { Body, LabelRequest, Placement } from '../../src/scene/label-solver';
import { overlap } from '../../src/scene/rect';
import type { Rect } from '../../src/scene/rect';
import { Cast } from '../../src/scene/cast';
import { crosses, leaderOf } from '../../src/scene/label-leader';
import { isNamed, namedMax } from '../../src/scene/labels';
import { randomSequence } from '../../src/scene/motion';
import type { Condition } from '../../src/stage';
import { figure } from './figures';

const FIELD = { width: 1600, height: 900 };

function request(id: string, x: number, feetY: number, more: Partial<LabelRequest> = {}): LabelRequest {
  return { id, kind: 'figure', width: 110, height: 40, x, feetY, topY: feetY - 120, halfWidth: 28, priority: 5, isPinned: false, ...more };
}

function bodyOf({ id, x, feetY, topY, halfWidth }: LabelRequest): Body {
  return { left: x - halfWidth, right: x + halfWidth, top: topY, bottom: feetY, owner: id, weight: 1 };
}

function rects(requests: readonly LabelRequest[], placed: ReadonlyMap<string, Placement>): Rect[] {
  return requests.flatMap((one) => {
    const place = placed.get(one.id);
    return place ? [{ left: place.x, top: place.y, right: place.x + one.width, bottom: place.y + one.height }] : [];
  });
}

/** Runs the search to its end. */
function placesOf(...search: Parameters<typeof placeLabels>): { placed: Map<string, Placement>; steps: number } {
  const all = placeLabels(...search);
  for (let steps = 1; ; steps++) {
    const step = all.next();
    if (step.done) return { placed: step.value, steps };
  }
}

function solve(requests: readonly LabelRequest[], fixed: Rect[] = []): Map<string, Placement> {
  return placesOf(requests, { ...FIELD, bodies: requests.map(bodyOf), fixed }, new Map()).placed;
}

describe('labels', () => {
  it('stand under the feet where there is room', () => {
    const one = request('a', 800, 500);
    const place = solve([one]).get('a');
    expect(place?.y).toBeGreaterThanOrEqual(500);
    expect(place?.y).toBeLessThanOrEqual(506);
    expect(place?.x).toBeCloseTo(745);
  });

  it.each([10, 25, 60, 150])('of %i figures at random places never overlap', (count) => {
    for (let seed = 1; seed <= 5; seed++) {
      const random = randomSequence(seed);
      const requests = Array.from({ length: count }, (_, i) =>
        request(`f${i}`, 150 + random() * 1300, 150 + random() * 650, { width: 70 + random() * 130, priority: i }));
      const placed = rects(requests, solve(requests));
      placed.forEach((a, i) => placed.slice(i + 1).forEach((b) => expect(overlap(a, b)).toBe(0)));
      for (const rect of placed) {
        expect(rect.left).toBeGreaterThanOrEqual(0);
        expect(rect.right).toBeLessThanOrEqual(FIELD.width);
        expect(rect.top).toBeGreaterThanOrEqual(0);
        expect(rect.bottom).toBeLessThanOrEqual(FIELD.height);
      }
      if (count <= 25) expect(placed.length).toBeGreaterThanOrEqual(count - 2);
    }
  });

  it('keep the places of the page free', () => {
    const head = { left: 0, top: 0, right: 500, bottom: 200 };
    const one = request('a', 200, 150);
    const placed = rects([one], solve([one], [head]));
    expect(placed).toHaveLength(1);
    for (const rect of placed) expect(overlap(rect, head)).toBe(0);
  });

  it('are nearer to their own figure than to others', () => {
    // Between the feet of one and the emblem of the other there is just room for a label: nobody could say whose it is.
    const requests = [request('a', 800, 500), request('b', 800, 670, { topY: 550 })];
    const placed = solve(requests);
    for (const one of requests) {
      const [rect] = rects([one], placed);
      if (!rect) throw new Error(`${one.id} has no label`);
      const gap = ({ x, feetY, topY, halfWidth }: LabelRequest): number =>
        Math.hypot(Math.max(0, rect.left - x - halfWidth, x - halfWidth - rect.right), Math.max(0, rect.top - feetY, topY - rect.bottom));
      for (const other of requests) if (other !== one) expect(gap(one)).toBeLessThan(gap(other));
    }
  });

  it('take a place from another label if both are better off then', () => {
    // The page leaves the first figure only the place under its feet. The second label, which stands partly there, has others.
    const requests = [request('a', 930, 500, { width: 200 }), request('b', 800, 500)];
    const fixed = [
      { left: 700, top: 100, right: 1300, bottom: 378 }, { left: 962, top: 300, right: 1300, bottom: 490 },
      { left: 1035, top: 490, right: 1300, bottom: 700 }, { left: 700, top: 552, right: 1300, bottom: 900 },
    ];
    const placed = solve(requests, fixed);
    expect(placed.get('a')).toMatchObject({ x: 830, y: 505 });
    expect(placed.get('b')?.y).toBe(505);
  });

  it('leave faces in sight', () => {
    const one = request('a', 800, 500);
    const face: Body = { left: 784, right: 816, top: 520, bottom: 580, owner: '', weight: 2.5 };
    const placed = placesOf([one], { ...FIELD, bodies: [bodyOf(one), face], fixed: [] }, new Map()).placed;
    expect(rects([one], placed).map((rect) => overlap(rect, face))).toEqual([0]);
  });

  it('keep away from the names of sectors', () => {
    const sector = request('s', 800, 600, { kind: 'sector', topY: 577, width: 90, height: 18, priority: 2 });
    const one = request('a', 800, 500);
    const [sign, label] = rects([sector, one], solve([sector, one]));
    if (!sign || !label) throw new Error('a label is missing');
    expect(overlap({ left: sign.left - 10, right: sign.right + 10, top: sign.top - 10, bottom: sign.bottom + 10 }, label)).toBe(0);
  });

  it('that are less important go first if there is no room', () => {
    const crowd = Array.from({ length: 80 }, (_, i) => request(`f${String(i).padStart(2, '0')}`, 800 + (i % 3), 450, { priority: i }));
    const placed = solve(crowd);
    expect(placed.size).toBeLessThan(80);
    expect(placed.has('f00')).toBe(true);
  });

  it('are the same for the same input, and stay when little moves', () => {
    const requests = [request('a', 700, 500), request('b', 760, 510), request('c', 640, 520)];
    const first = solve(requests);
    expect(solve(requests)).toEqual(first);
    const moved = requests.map((one) => ({ ...one, x: one.x + 2 }));
    const again = placesOf(moved, { ...FIELD, bodies: moved.map(bodyOf), fixed: [] }, first).placed;
    for (const [id, place] of again) expect(place.candidate).toBe(first.get(id)?.candidate);
  });

  it('are searched in steps of at most eight labels', () => {
    const random = randomSequence(4);
    const requests = Array.from({ length: 48 }, (_, i) => request(`f${i}`, 150 + random() * 1300, 150 + random() * 650, { priority: i }));
    const { steps } = placesOf(requests, { ...FIELD, bodies: requests.map(bodyOf), fixed: [] }, new Map());
    // Two maps, six groups of labels, and the same groups again in at least one round.
    expect(steps).toBeGreaterThanOrEqual(2 + 6 + 6);
  });

  it('of amounts push no other label away', () => {
    const figures = [request('a', 700, 500), request('b', 820, 500)];
    const amount = request('m', 700, 530, { kind: 'amount', topY: 510, width: 60, height: 20 });
    const field = { ...FIELD, bodies: figures.map(bodyOf), fixed: [] };
    const alone = placesOf(figures, field, new Map()).placed;
    const together = placesOf([...figures, amount], field, new Map()).placed;
    for (const one of figures) expect(together.get(one.id)).toEqual(alone.get(one.id));
  });

  it('have a line to their figure only if they are not right beside it', () => {
    const one = request('a', 800, 500);
    const rect = (left: number, top: number): Rect => ({ left, top, right: left + 110, bottom: top + 40 });
    expect(leaderOf(one, rect(745, 505))).toBeNull();
    expect(leaderOf(one, rect(833, 420))).toBeNull();
    expect(leaderOf(one, rect(745, 540))).toEqual({ x1: 800, y1: 540, x2: 800, y2: 500 });
    expect(leaderOf(one, rect(745, 300))).toEqual({ x1: 800, y1: 340, x2: 800, y2: 380 });
    expect(leaderOf(one, rect(900, 420))).toEqual({ x1: 900, y1: 440, x2: 828, y2: 440 });
  });

  it('avoid places whose line would pass another label', () => {
    const line = { x1: 0, y1: 0, x2: 100, y2: 50 };
    expect(crosses(line, { left: 40, right: 60, top: 10, bottom: 40 })).toBe(true);
    expect(crosses(line, { left: 40, right: 60, top: 35, bottom: 60 })).toBe(false);
    expect(crosses(line, { left: 120, right: 160, top: 0, bottom: 90 })).toBe(false);
    expect(crosses({ x1: 5, y1: 0, x2: 5, y2: 9 }, { left: 5, right: 9, top: 0, bottom: 9 })).toBe(false);
    // The page leaves room below another label, and above, a little farther away.
    const one = request('a', 800, 300, { topY: 180 });
    const between = request('b', 800, 310, { kind: 'banner', isPinned: true });
    const fixed = [{ left: 0, right: 740, top: 0, bottom: 900 }, { left: 860, right: 1600, top: 0, bottom: 900 }, { left: 740, right: 860, top: 90, bottom: 176 }];
    const place = placesOf([one, between], { ...FIELD, bodies: [bodyOf(one)], fixed }, new Map()).placed.get('a');
    expect(place?.y).toBe(42);
  });

  it('name everyone of a few; of many the first level, trouble, newcomers and the selected lineage', () => {
    const cast = new Cast();
    const conditions: readonly Condition[] = ['works', 'waits', 'done', 'cancelled', 'ran_dry', 'failed', 'refused'];
    const figures = [figure('1', null), figure('1.1', 'forge'), ...conditions.map((condition, i) => figure(`1.1.${i + 1}`, 'forge', { condition }))];
    cast.update({ now: 0, figures, banners: [], beats: [], selected: null });
    expect(cast.actors.every((actor) => isNamed(actor, 'few'))).toBe(true);
    const named = cast.actors.filter((actor) => isNamed(actor, 'many')).map(({ figure: { id, condition } }) => (id.length > 3 ? condition : id));
    expect(named).toEqual(['1', '1.1', 'ran_dry', 'failed', 'refused']);
    cast.update({ now: 0, figures, banners: [], beats: [], selected: '1.1' });
    expect(cast.actors.every((actor) => isNamed(actor, 'many'))).toBe(true);
  });

  it('are at most 25 of a few figures; of many, what covers 30 % of the picture, and at most 48', () => {
    expect(namedMax('few', 100)).toBe(25);
    expect(namedMax('many', 520 * 400)).toBe(12);
    expect(namedMax('many', 1600 * 900)).toBe(48);
    expect(namedMax('many', 0)).toBe(1);
  });
});
