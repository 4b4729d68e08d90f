import { describe, expect, it } from 'vitest';
import { overlap, placeLabels } from '../../src/scene/label-solver';
import type { Body, LabelRequest, Placement, Rect } from '../../src/scene/label-solver';
import { amountText } from '../../src/scene/label-elements';
import { randomSequence } from '../../src/scene/motion';

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

function solve(requests: readonly LabelRequest[], fixed: Rect[] = []): Map<string, Placement> {
  return placeLabels(requests, { ...FIELD, bodies: requests.map(bodyOf), fixed }, new Map());
}

describe('labels', () => {
  it('stand under the feet where there is room', () => {
    const one = request('a', 800, 500);
    const place = solve([one]).get('a');
    expect(place?.y).toBeGreaterThanOrEqual(500);
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
    const [rect] = rects([one], solve([one], [head]));
    if (rect) expect(overlap(rect, head)).toBe(0);
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
    const again = placeLabels(moved, { ...FIELD, bodies: moved.map(bodyOf), fixed: [] }, first);
    for (const [id, place] of again) expect(place.candidate).toBe(first.get(id)?.candidate);
  });

  it('of amounts push no other label away', () => {
    const figures = [request('a', 700, 500), request('b', 820, 500)];
    const amount = request('m', 700, 530, { kind: 'amount', topY: 510, width: 60, height: 20 });
    const field = { ...FIELD, bodies: figures.map(bodyOf), fixed: [] };
    const alone = placeLabels(figures, field, new Map());
    const together = placeLabels([...figures, amount], field, new Map());
    for (const one of figures) expect(together.get(one.id)).toEqual(alone.get(one.id));
  });

  it('say sums in sat', () => {
    expect([80_000, 250, 1_234_567_000, 12_345].map(amountText)).toEqual(['80 sat', '0.25 sat', '1,234,567 sat', '12.3 sat']);
  });
});
