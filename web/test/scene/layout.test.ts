import { describe, expect, it } from 'vitest';
import { PORTAL_RADIUS, STAIR_WIDTH, RINGS_MAX, STEP, layOut, newSlotMemory, zoneOf } from '../../src/scene/layout';
import type { Layout } from '../../src/scene/layout';
import { SECTORS } from '../../src/scene/palette';
import type { Figure } from '../../src/stage';
import { chain, figure, tree } from './figures';

const DISTANCE_MIN = 1.3;

function nearest(layout: Layout): number {
  const places = [...layout.places.values()];
  let least = Infinity;
  places.forEach((a, i) => {
    for (const b of places.slice(i + 1)) {
      if (Math.abs(a.y - b.y) < STEP - 0.01) least = Math.min(least, Math.hypot(a.x - b.x, a.z - b.z));
    }
  });
  return least;
}

function checkSectors(figures: readonly Figure[], layout: Layout): void {
  for (const one of figures) {
    if (one.depth === 0) continue;
    const place = layout.places.get(one.id);
    const middle = (SECTORS[zoneOf(one)].degrees * Math.PI) / 180;
    const away = (place?.angle ?? 9) - middle;
    expect(Math.abs(Math.atan2(Math.sin(away), Math.cos(away)))).toBeLessThan(Math.PI / 6);
  }
}

describe('layout', () => {
  it.each([
    ['ten', tree(10, 3)],
    ['sixty', tree(60, 5)],
    ['two hundred', tree(200, 8)],
    ['a thousand', tree(1000, 12)],
    ['a hundred in one zone', tree(100, 7, () => 'workshop')],
    ['a chain of 64', chain(64, 'forge')],
    ['forty hires of one root', tree(41, 40)],
  ])('keeps %s apart, each in the sector of its zone', (_, figures) => {
    const layout = layOut(figures, newSlotMemory());
    expect(layout.places.size).toBe(figures.length);
    expect(nearest(layout)).toBeGreaterThanOrEqual(DISTANCE_MIN);
    checkSectors(figures, layout);
  });

  it('puts each depth on a ring 0.6 lower, and the root on the dais', () => {
    const layout = layOut(tree(40, 3), newSlotMemory());
    expect(layout.places.get('1')).toMatchObject({ x: 0, z: 0 });
    expect(layout.places.get('1.1')?.y).toBeCloseTo(-0.6);
    expect(layout.places.get('1.1.1')?.y).toBeCloseTo(-1.2);
  });

  it('keeps everyone in their slot when others join in another order', () => {
    const all = tree(60, 5);
    const memory = newSlotMemory();
    let before = layOut(all.slice(0, 6), memory);
    for (let count = 7; count <= all.length; count++) {
      // The stage may list figures in the order of the tree: newcomers are not always last.
      const figures = all.slice(0, count).sort((a, b) => (a.id < b.id ? -1 : 1));
      const after = layOut(figures, memory);
      for (const [id, place] of before.places) {
        const next = after.places.get(id);
        if (!next || place.radius < 0.1) continue;
        // The slot is the same: row and distance from the middle of the sector. Only the ring may have moved outwards.
        const inner = (layout: Layout, ring: number): number => layout.rings[ring]?.inner ?? 0;
        expect(next.radius - inner(after, next.ring)).toBeCloseTo(place.radius - inner(before, place.ring), 6);
        expect(next.radius).toBeGreaterThanOrEqual(place.radius - 1e-9);
      }
      expect(nearest(after)).toBeGreaterThanOrEqual(DISTANCE_MIN);
      before = after;
    }
  });

  it('gives a figure that went and came again its old place', () => {
    const memory = newSlotMemory();
    const all = tree(30, 4);
    const first = layOut(all, memory);
    layOut(all.slice(0, 9), memory);
    expect(layOut(all, memory).places).toEqual(first.places);
  });

  it('opens portals on the terrace of the figure, not on top of others', () => {
    const figures = tree(60, 5);
    const layout = layOut(figures, newSlotMemory());
    expect(layout.doors.size).toBe(figures.length);
    for (const [id, door] of layout.doors) {
      expect(door.y).toBe(layout.places.get(id)?.y);
      for (const [other, place] of layout.places) {
        if (other !== id && place.ring === door.ring) expect(Math.hypot(place.x - door.x, place.z - door.z)).toBeGreaterThanOrEqual(1.3);
      }
    }
  });

  it('keeps portals off the stairs where there is room', () => {
    const figures = [figure('1', null), figure('1.1', 'forge'), figure('1.1.1', 'forge'), figure('1.1.1.1', 'forge'), figure('1.1.1.2', 'forge')];
    const layout = layOut(figures, newSlotMemory());
    for (const one of figures.slice(1)) {
      const door = layout.doors.get(one.id);
      const away = Math.abs((door?.angle ?? 0) - (SECTORS.forge.degrees * Math.PI) / 180);
      const toStairs = (Math.PI / 6 - away) * (door?.radius ?? 0) - STAIR_WIDTH / 2;
      expect(toStairs, one.id).toBeGreaterThanOrEqual(PORTAL_RADIUS - 0.06);
    }
  });

  it('folds levels deeper than the last ring into it', () => {
    const layout = layOut(chain(64, 'library'), newSlotMemory());
    expect(layout.rings).toHaveLength(RINGS_MAX + 1);
    expect(layout.apron.outer).toBeLessThan(60);
  });

  it('lays out an empty hall, several roots and unknown hirers', () => {
    expect(layOut([], newSlotMemory()).rings).toHaveLength(3);
    const odd = [figure('1', null), figure('2', null), { ...figure('9.9', 'forge'), hirer: 'nobody' }];
    expect(layOut(odd, newSlotMemory()).places.size).toBe(3);
  });
});
