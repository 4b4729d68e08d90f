import { describe, expect, it } from 'vitest';
import { coinAt, coinCount, crackAt, flightCurve, newCurve, pointOn, portalAt, scrollAt, threadCurve, walkAt } from '../../src/scene/motion';
import type { Point } from '../../src/scene/motion';
import { BEAT_MS } from '../../src/stage';

describe('portals', () => {
  it('are shut at first and open after 600 ms', () => {
    expect(portalAt(-1, BEAT_MS.portal)).toEqual({ open: 0, rise: 0 });
    expect(portalAt(0, BEAT_MS.portal).open).toBe(0);
    expect(portalAt(600, BEAT_MS.portal).open).toBe(1);
  });

  it('are shut again at the end, with the figure out', () => {
    expect(portalAt(BEAT_MS.portal, BEAT_MS.portal)).toEqual({ open: 0, rise: 1 });
    expect(portalAt(BEAT_MS.portal - 1, BEAT_MS.portal).rise).toBe(1);
  });

  it('let the figure rise only while they are open', () => {
    for (let ms = 0; ms < BEAT_MS.portal; ms += 10) {
      const { open, rise } = portalAt(ms, BEAT_MS.portal);
      if (rise > 0 && rise < 1) expect(open).toBeGreaterThan(0.9);
    }
  });

  it('crack after they have opened, and stay cracked', () => {
    expect(crackAt(200, BEAT_MS.crack)).toMatchObject({ crack: 0, burst: 0 });
    expect(crackAt(5000, BEAT_MS.crack)).toEqual({ open: 1, crack: 1, burst: 1 });
  });
});

describe('coins', () => {
  it('are as many as the logarithm of the sum', () => {
    expect([0, 1, 999, 1000, 7000, 80_000, 120_000, 1e9, 1e15].map(coinCount)).toEqual([1, 1, 1, 1, 3, 6, 7, 14, 14]);
  });

  it('start one after another and have all arrived at the end', () => {
    expect(coinAt(0, 900, 0, 6)).toBe(0);
    expect(coinAt(0, 900, 5, 6)).toBeNull();
    expect(coinAt(899.99, 900, 5, 6)).toBeGreaterThan(0.99);
    expect(coinAt(899.99, 900, 0, 6)).toBeNull();
  });
});

describe('curves', () => {
  const from = { x: 0, y: 1, z: 0 };
  const to = { x: 6, y: -1, z: 2 };

  it('of coins run about 1.0 above those of threads', () => {
    const thread = pointOn(threadCurve(from, to, newCurve()), 0.5, { x: 0, y: 0, z: 0 });
    const flight = pointOn(flightCurve(from, to, newCurve()), 0.5, { x: 0, y: 0, z: 0 });
    expect(flight.y - thread.y).toBeGreaterThan(0.4);
    expect(flight.y - thread.y).toBeLessThan(1.2);
  });

  it('between others pass above the root, and leave their height if they pass beside it', () => {
    const middle = (a: Point, b: Point): Point => pointOn(threadCurve(a, b, newCurve()), 0.5, { x: 0, y: 0, z: 0 });
    const left = { x: -6, y: 1, z: 0.5 };
    expect(middle(left, { x: 6, y: 0, z: -0.5 }).y).toBeCloseTo(3.9);
    expect(middle(left, { x: 6, y: 0, z: 6 }).y).toBeLessThan(3);
    // A thread of the root itself is low.
    expect(middle({ x: 0, y: 3, z: 0 }, { x: 3, y: 1, z: 0 }).y).toBeLessThan(3.6);
  });

  it('begin and end at the emblems', () => {
    const curve = threadCurve(from, to, newCurve());
    expect(pointOn(curve, 0, { x: 0, y: 0, z: 0 })).toEqual(from);
    expect(pointOn(curve, 1, { x: 0, y: 0, z: 0 })).toEqual(to);
  });
});

describe('walking and scrolls', () => {
  it('begin and end at rest', () => {
    expect(walkAt(0, 1600)).toMatchObject({ along: 0, bob: 0 });
    expect(walkAt(1600, 1600).along).toBe(1);
    expect(Math.abs(walkAt(1600, 1600).sway)).toBeLessThan(1e-9);
    expect([scrollAt(0, 900), scrollAt(900, 900)]).toEqual([0, 1]);
  });
});
