import { describe, expect, it } from 'vitest';
import { CoverageMap } from '../../src/scene/coverage-map';
import { grown, overlap } from '../../src/scene/rect';
import type { Rect } from '../../src/scene/rect';
import { randomSequence } from '../../src/scene/motion';

const [WIDTH, HEIGHT] = [400, 300];

function rects(seed: number, count: number): Rect[] {
  const random = randomSequence(seed);
  return Array.from({ length: count }, () => {
    const [left, top] = [random() * WIDTH - 20, random() * HEIGHT - 20];
    return { left, top, right: left + 5 + random() * 80, bottom: top + 5 + random() * 60 };
  });
}

const inPicture = (rect: Rect): Rect => ({ left: Math.max(0, rect.left), top: Math.max(0, rect.top), right: Math.min(WIDTH, rect.right), bottom: Math.min(HEIGHT, rect.bottom) });

describe('a coverage map', () => {
  it('knows what is covered, up to a cell at each edge', () => {
    const covering = rects(1, 40);
    const map = new CoverageMap(WIDTH, HEIGHT, covering, () => 1);
    for (const area of rects(2, 60)) {
      const exact = (by: number): number => covering.reduce((sum, one) => sum + overlap(inPicture(grown(area, by)), grown(one, by)), 0);
      expect(map.coveredIn(area)).toBeLessThanOrEqual(exact(4) + 1e-6);
      expect(map.coveredIn(area)).toBeGreaterThanOrEqual(exact(-4) - 1e-6);
    }
  });

  it('is exact where edges lie on the borders of cells', () => {
    const map = new CoverageMap(WIDTH, HEIGHT, [{ left: 40, top: 20, right: 80, bottom: 60 }], () => 2);
    expect(map.coveredIn({ left: 60, top: 0, right: 100, bottom: 40 })).toBeCloseTo(2 * 20 * 20);
    expect(map.coveredIn({ left: 80, top: 0, right: 100, bottom: 100 })).toBeCloseTo(0);
    expect(map.coveredIn({ left: -50, top: -50, right: 900, bottom: 900 })).toBeCloseTo(2 * 40 * 40);
  });

  it('can leave one rectangle out', () => {
    const covering = rects(3, 30);
    const map = new CoverageMap(WIDTH, HEIGHT, covering, () => 1);
    covering.forEach((one, i) => {
      const others = new CoverageMap(WIDTH, HEIGHT, covering.filter((_, k) => k !== i), () => 1);
      for (const area of rects(i + 10, 5)) expect(map.coveredIn(area) - map.partOf(one, area)).toBeCloseTo(others.coveredIn(area), 6);
    });
  });

  it('of a picture without size is empty', () => {
    expect(new CoverageMap(0, 0, [], () => 1).coveredIn({ left: 0, top: 0, right: 9, bottom: 9 })).toBe(0);
  });
});
