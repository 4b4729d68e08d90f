import { describe, expect, it } from 'vitest';
import { Cast, lineageOf } from '../../src/scene/cast';
import { BEAT_MS } from '../../src/stage';
import type { Beat, Stage } from '../../src/stage';
import { figure, tree } from './figures';

const FIGURES = [figure('1', null), figure('1.1', 'forge'), figure('1.2', 'library', { condition: 'refused' }), figure('1.1.1', 'assay')];

function stage(now: number, more: Partial<Stage> = {}): Stage {
  return { now, figures: FIGURES, banners: [], beats: [], selected: null, ...more };
}

function shown(now: number, more: Partial<Stage> = {}): Cast {
  const cast = new Cast();
  cast.update(stage(now, more));
  return cast;
}

const ARRIVAL: Beat[] = [
  { kind: 'portal', figure: '1.1', start: 1000, duration: BEAT_MS.portal },
  { kind: 'walk', figure: '1.1', start: 2400, duration: BEAT_MS.walk },
];

describe('a figure that is hired', () => {
  const at = (now: number) => shown(now, { beats: ARRIVAL }).byId.get('1.1');

  it('is not there before its portal opens', () => {
    expect(at(900)).toMatchObject({ isPresent: false, portalOpen: 0 });
  });

  it('rises in an open portal at its door', () => {
    const actor = at(1700);
    const door = shown(1700).layout.doors.get('1.1');
    expect(actor).toMatchObject({ isPresent: true, look: 'arrives', x: door?.x, z: door?.z });
    expect(actor?.portalOpen).toBeGreaterThan(0.95);
    expect(actor?.lift).toBeLessThan(-0.1);
  });

  it('walks from the door to its place', () => {
    const cast = shown(3200, { beats: ARRIVAL });
    const door = cast.layout.doors.get('1.1');
    const place = cast.layout.places.get('1.1');
    const actor = cast.byId.get('1.1');
    const way = Math.hypot((place?.x ?? 0) - (door?.x ?? 0), (place?.z ?? 0) - (door?.z ?? 0));
    expect(Math.hypot((actor?.x ?? 0) - (door?.x ?? 0), (actor?.z ?? 0) - (door?.z ?? 0))).toBeCloseTo(way / 2, 0);
  });

  it('stands at its place when the beats are over, with or without them in the stage', () => {
    const after = at(9000);
    const place = shown(9000).layout.places.get('1.1');
    expect(after?.x).toBeCloseTo(place?.x ?? NaN);
    expect(shown(9000).byId.get('1.1')?.x).toBe(after?.x);
  });
});

describe('the cast', () => {
  it('depends on the stage alone: two casts that show the same stage agree', () => {
    const one = shown(1700, { beats: ARRIVAL });
    const other = new Cast();
    other.update(stage(100));
    other.update(stage(1700, { beats: ARRIVAL }));
    expect(other.byId.get('1.1')).toEqual(one.byId.get('1.1'));
  });

  it('shows a refused hire as a cracked portal', () => {
    expect(shown(5000).byId.get('1.2')).toMatchObject({ look: 'refused', portalOpen: 1, crack: 1 });
  });

  it('glides when a ring widens, and jumps when the time jumps', () => {
    const wide = tree(12, 11, () => 'forge');
    const beats: Beat[] = [{ kind: 'portal', figure: '1.5', start: 1000, duration: 1400 }];
    const cast = new Cast();
    const outer = figure('1.1.1', 'assay');
    cast.update(stage(990, { figures: [...wide.slice(0, 2), outer], beats }));
    const before = cast.byId.get('1.1.1')?.z ?? 0;
    cast.update(stage(1000, { figures: [...wide, outer], beats }));
    expect(cast.byId.get('1.1.1')?.z).toBeCloseTo(before);
    cast.update(stage(1350, { figures: [...wide, outer], beats }));
    expect(cast.byId.get('1.1.1')?.z).toBeGreaterThan(before);
    const target = cast.layout.places.get('1.1.1')?.z;
    cast.update(stage(60_000, { figures: [...wide, outer], beats }));
    expect(cast.byId.get('1.1.1')?.z).toBe(target);
  });

  it('glides after a long pause, too: a page at rest gets no stages', () => {
    const wide = tree(12, 11, () => 'forge');
    const outer = figure('1.1.1', 'assay');
    const cast = new Cast();
    cast.update(stage(990, { figures: [...wide.slice(0, 2), outer] }));
    const before = cast.byId.get('1.1.1')?.z ?? 0;
    const beats: Beat[] = [{ kind: 'portal', figure: '1.5', start: 10_000, duration: 1400 }];
    cast.update(stage(10_000, { figures: [...wide, outer], beats }));
    expect(cast.byId.get('1.1.1')?.z).toBeCloseTo(before);
    expect(cast.layout.places.get('1.1.1')?.z).not.toBeCloseTo(before);
  });

  it('survives figures that come twice and hirers in a circle', () => {
    const odd = [figure('1', null, { hirer: '1.1' }), figure('1.1', 'forge'), figure('1.1', 'forge')];
    expect(shown(0, { figures: odd, selected: '1.1' }).actors).toHaveLength(2);
  });
});

describe('lineage', () => {
  it('is the selected figure, everyone above and everyone below', () => {
    const figures = tree(13, 3);
    expect([...lineageOf(figures, '1.2')].sort()).toEqual(['1', '1.2', '1.2.1', '1.2.2', '1.2.3']);
    expect(lineageOf(figures, null).size).toBe(0);
    expect(lineageOf(figures, 'nobody').size).toBe(0);
  });
});
