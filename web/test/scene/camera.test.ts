import { describe, expect, it } from 'vitest';
import { CameraRig, HAND_MS, LENS } from '../../src/scene/camera';
import { Cast } from '../../src/scene/cast';
import { projected } from '../../src/scene/framing';
import { Projector } from '../../src/scene/projector';
import { QualityChooser } from '../../src/scene/quality';
import type { Figure } from '../../src/stage';
import { tree } from './figures';

const ASPECT = 16 / 9;

function rigFor(figures: Figure[]): { rig: CameraRig; cast: Cast } {
  const cast = new Cast();
  cast.update({ now: 0, figures, banners: [], beats: [], selected: null });
  const rig = new CameraRig();
  rig.setAspect(ASPECT);
  rig.setHome(cast.layout, cast.actors, cast.layoutVersion);
  rig.update(0);
  return { rig, cast };
}

describe('the camera', () => {
  it.each([1, 3, 10, 20, 60, 200, 1000])('frames %i living figures with a margin of 12 %', (count) => {
    const { rig, cast } = rigFor(tree(count, 6));
    for (const actor of cast.actors) {
      for (const y of [actor.y, actor.emblem.y]) {
        const spot = projected({ x: actor.x, y, z: actor.z }, rig.current, ASPECT);
        expect(Math.abs(spot.x)).toBeLessThanOrEqual(0.77);
        expect(Math.abs(spot.y)).toBeLessThanOrEqual(0.77);
      }
    }
  });

  it('shows figures of at least 40 pixels at 20 agents', () => {
    const { rig, cast } = rigFor(tree(20, 6));
    const projector = new Projector(rig.current, 1600, 900);
    const low = { x: 0, y: 0, depth: 0 };
    const high = { x: 0, y: 0, depth: 0 };
    for (const actor of cast.actors) {
      projector.point(actor, low);
      projector.point({ x: actor.x, y: actor.y + 1.7, z: actor.z }, high);
      expect(low.y - high.y).toBeGreaterThanOrEqual(40);
    }
  });

  it('has a lens of 20 degrees, 33 above the floor, 38 when the hall is full', () => {
    const view = (count: number) => rigFor(tree(count, 5)).rig.current;
    expect([view(10).lens, view(60).lens]).toEqual([LENS, LENS]);
    expect((view(10).elevation * 180) / Math.PI).toBeCloseTo(33);
    expect((view(60).elevation * 180) / Math.PI).toBeCloseTo(38);
  });

  it('rests at home: it asks for no frames', () => {
    const { rig } = rigFor(tree(10, 3));
    expect(rig.update(16)).toBe(false);
  });

  it('yields to the hand for eight seconds, then returns', () => {
    const { rig } = rigFor(tree(10, 3));
    const home = rig.current.azimuth;
    rig.orbit(0.2, 0.05, 1000);
    for (let ms = 1000; ms < 1000 + HAND_MS; ms += 50) rig.update(ms);
    expect(rig.current.azimuth).not.toBeCloseTo(home, 2);
    for (let ms = 1000 + HAND_MS; ms < 14_000; ms += 50) rig.update(ms);
    expect(rig.current.azimuth).toBeCloseTo(home, 4);
    expect(rig.update(14_050)).toBe(false);
  });

  it('knows when the hand has come near, and when it is home again', () => {
    const { rig } = rigFor(tree(10, 3));
    rig.update(1000);
    expect(rig.isNear).toBe(false);
    rig.zoom(0.6, { x: 0, y: 0 }, 1000);
    for (let ms = 1000; ms < 3000; ms += 50) rig.update(ms);
    expect(rig.isNear).toBe(true);
    for (let ms = 3000; ms < 14_000; ms += 50) rig.update(ms);
    expect(rig.isNear).toBe(false);
  });

  it('keeps the hand within limits', () => {
    const { rig } = rigFor(tree(10, 3));
    for (let i = 0; i < 50; i++) {
      rig.orbit(1, 1, 100);
      rig.zoom(0.5, { x: 0.5, y: 0.5 }, 100);
    }
    for (let ms = 100; ms < 4000; ms += 50) rig.update(ms);
    expect(rig.current.elevation).toBeLessThanOrEqual((72.1 * Math.PI) / 180);
    expect(rig.current.distance).toBeGreaterThan(3);
    expect(Math.abs(rig.current.azimuth)).toBeLessThan(1.5);
  });
});

describe('quality', () => {
  const run = (chooser: QualityChooser, ms: number, frames: number): void => {
    for (let i = 0; i < frames; i++) chooser.addFrame(ms);
  };

  it('is reduced after a second of frames above 33 ms', () => {
    const chooser = new QualityChooser(null);
    run(chooser, 40, 20);
    expect(chooser.quality).toBe('full');
    run(chooser, 40, 20);
    expect(chooser.quality).toBe('reduced');
  });

  it('stays full when frames are fast, and when it is forced', () => {
    const fast = new QualityChooser(null);
    run(fast, 17, 500);
    expect(fast.quality).toBe('full');
    const forced = new QualityChooser('full');
    run(forced, 400, 500);
    expect(forced.quality).toBe('full');
  });

  it('is reduced after a few frames on a very slow machine, but not by one accident', () => {
    const slow = new QualityChooser(null);
    run(slow, 4000, 3);
    expect(slow.quality).toBe('reduced');
    const steady = new QualityChooser(null);
    run(steady, 17, 5);
    run(steady, 3000, 1);
    run(steady, 17, 5);
    run(steady, 3000, 1);
    expect(steady.quality).toBe('full');
  });

  it('gets coarser if reduced frames are slow, too', () => {
    const chooser = new QualityChooser(null);
    run(chooser, 300, 60);
    expect(chooser.resolution).toBe(0.5);
    chooser.force('full');
    expect(chooser.resolution).toBe(1);
  });
});
