import { describe, expect, it } from 'vitest';
import { ALL_NEAR_MAX, MIDDLE_MAX, NEAR_MAX, chooseDetails } from '../../src/scene/lod';
import { POSES, buildFigure } from '../../src/scene/robe';
import type { Detail, Pose } from '../../src/scene/robe';

function triangles(pose: Pose, detail: Detail): number {
  return (buildFigure(pose, detail).getIndex()?.count ?? 0) / 3;
}

function count(details: readonly Detail[], detail: Detail): number {
  return details.filter((one) => one === detail).length;
}

describe('levels of detail', () => {
  it.each(POSES.filter((pose) => pose !== 'root'))('a far figure in pose %s has at most 200 triangles', (pose) => {
    expect(triangles(pose, 'far')).toBeLessThanOrEqual(200);
  });

  it('has fewer triangles the farther a figure is', () => {
    for (const pose of POSES) expect(triangles(pose, 'near')).toBeGreaterThan(triangles(pose, 'middle'));
  });

  it('draws everyone near while there are few and they are large', () => {
    expect(count(chooseDetails(new Array(ALL_NEAR_MAX).fill(60)), 'near')).toBe(ALL_NEAR_MAX);
  });

  it('limits near and middle figures of a crowd to the largest', () => {
    const heights = Array.from({ length: 1000 }, (_, i) => 100 - i * 0.02);
    const details = chooseDetails(heights);
    expect([count(details, 'near'), count(details, 'middle'), count(details, 'far')]).toEqual([NEAR_MAX, MIDDLE_MAX, 1000 - NEAR_MAX - MIDDLE_MAX]);
    expect(details.slice(0, NEAR_MAX).every((detail) => detail === 'near')).toBe(true);
  });

  it('draws small and hidden figures far', () => {
    expect(chooseDetails([0, 5, 21])).toEqual(['far', 'far', 'far']);
  });

  it('stays below 500,000 triangles for the bodies of 1,000 figures, shadows included', () => {
    const near = triangles('stand', 'near') * 2 * NEAR_MAX;
    const middle = triangles('stand', 'middle') * MIDDLE_MAX;
    const far = triangles('stand', 'far') * 1000;
    expect(near + middle + far).toBeLessThan(380_000);
  });
});
