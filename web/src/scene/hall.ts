// The stone, wood and brass of the hall that does not move: dais, risers, lips, stairs, candle niches, base, lanterns and
// the props of the sectors. One geometry, built anew when the rings change.

import { BoxGeometry, CircleGeometry, Color, Matrix4, PlaneGeometry, Vector3 } from 'three';
import type { BufferGeometry } from 'three';
import type { Zone } from '../stage';
import { HOME_AZIMUTH, LANTERN_ARC, STAIR_WIDTH, STEP } from './layout';
import type { Apron, Layout } from './layout';
import { MeshBuilder, mixed, moved } from './mesh-builder';
import type { Paint } from './mesh-builder';
import { randomSequence } from './motion';
import { HOLES, OUTLINES } from './emblems';
import { COLOR, SECTORS, ZONES } from './palette';
import type { ThemeLook } from './palette';
import { buildSectorProps } from './sector-props';

const DEGREE = Math.PI / 180;
const FLAT = { x: Math.PI / 2 };
export const LANTERN_HEIGHT = 2.35;
/** Walls reach this far below the floor at their foot, so that no gap shows the sky. */
const HIDDEN = 0.08;
const PROP_SCALE = 1.08;

function stone(color: Color | string, level: number): Paint {
  return { color, surface: [0, 0, level, 0] };
}

function brass(level: number): Paint {
  return { color: COLOR.brass, surface: [1, 0, level, 0] };
}

/** Where the lantern of each sector stands. */
export function lanternFeet(apron: Apron): Record<Zone, Vector3> {
  const feet = {} as Record<Zone, Vector3>;
  const radius = apron.outer - 0.5 * apron.scale;
  for (const zone of ZONES) {
    const angle = SECTORS[zone].degrees * DEGREE - (LANTERN_ARC * apron.scale) / radius;
    feet[zone] = new Vector3(Math.sin(angle) * radius, apron.y, Math.cos(angle) * radius);
  }
  return feet;
}

/** What labels must know of the things on the apron. */
export interface Landmarks {
  /** Foot, lamp and tip of each lantern. */
  readonly lamps: Readonly<Record<Zone, { readonly foot: Vector3; readonly glass: Vector3; readonly top: Vector3 }>>;
  /** The boxes of the props: three for each sector. */
  readonly props: readonly { readonly at: Vector3; readonly halfWidth: number; readonly height: number }[];
}

export function landmarksOf(apron: Apron): Landmarks {
  const feet = lanternFeet(apron);
  const lamps = {} as Record<Zone, { foot: Vector3; glass: Vector3; top: Vector3 }>;
  const up = (foot: Vector3, height: number): Vector3 => foot.clone().setY(foot.y + height * apron.scale);
  for (const zone of ZONES) {
    const foot = feet[zone];
    lamps[zone] = { foot, glass: up(foot, LANTERN_HEIGHT + 0.2), top: up(foot, LANTERN_HEIGHT + 0.75) };
  }
  const props = ZONES.flatMap((zone) => {
    const { angle, radius, isFlipped } = propSpot(zone, apron);
    return [-1.3, 0.1, 1.3].map((x, i) => {
      const turn = angle + ((isFlipped ? -1 : 1) * x * PROP_SCALE * apron.scale) / radius;
      const at = new Vector3(Math.sin(turn) * radius, apron.y, Math.cos(turn) * radius);
      return { at, halfWidth: (i === 0 ? 0.7 : 0.45) * apron.scale, height: (i === 0 ? 1.2 : 0.8) * apron.scale };
    });
  });
  return { lamps, props };
}

/** Where the props of a sector stand. At the back of the hall they face inwards, to the viewer. */
function propSpot(zone: Zone, apron: Apron): { angle: number; radius: number; isFlipped: boolean } {
  const { degrees } = SECTORS[zone];
  return { angle: degrees * DEGREE, radius: apron.inner + 0.85 * apron.scale, isFlipped: Math.abs(degrees) > 120 };
}

/** Whether candles and lamps burn: by night. */
export type Lamps = 'lit' | 'dark';

/** The whole hall as one geometry. */
export function buildHall(layout: Layout, look: ThemeLook, lamps: Lamps): BufferGeometry {
  const mesh = new MeshBuilder();
  addDais(mesh, layout, look);
  addTerraces(mesh, layout, look);
  addBase(mesh, layout, look);
  addStairs(mesh, layout, look);
  if (lamps === 'lit') addNiches(mesh, layout);
  addLanterns(mesh, layout, lamps);
  addSectorProps(mesh, layout);
  return mesh.build();
}

/** Segments of a circle of this radius: round enough at the size it is seen. */
function sides(radius: number): number {
  return Math.round(Math.min(160, 56 + radius * 8));
}

function addLip(mesh: MeshBuilder, radius: number, y: number, level: number): void {
  mesh.torus(radius - 0.01, 0.034, moved(0, y - 0.02, 0, FLAT), brass(level), [6, sides(radius)]);
}

function addDais(mesh: MeshBuilder, layout: Layout, look: ThemeLook): void {
  const outer = layout.rings[0]?.outer ?? 2.2;
  mesh.lathe([[1.46, 0], [1.46, 0.06], [1.42, 0.075], [0, 0.075]], null, stone(mixed(look.pale, look.stone, 0.25), 0), 72);
  mesh.lathe([[outer, -STEP - HIDDEN], [outer + 0.001, -0.06]], null, riser(look, 0, -STEP), 72);
  mesh.lathe([[1.02, 0.07], [1.02, 0.14], [0.98, 0.16], [0, 0.16]], null, stone(look.pale, 0), 64);
  mesh.torus(1.46, 0.03, moved(0, 0.07, 0, FLAT), brass(0), [6, 72]);
  mesh.torus(1.02, 0.022, moved(0, 0.15, 0, FLAT), brass(0), [6, 64]);
  for (let i = 0; i < 6; i++) {
    const angle = i * 60 * DEGREE;
    mesh.box([0.035, 0.012, 0.38], [Math.sin(angle) * 1.24, 0.072, Math.cos(angle) * 1.24], brass(0), { y: angle });
  }
  addLip(mesh, outer, 0, 0);
}

/** A riser is darker at its foot. */
function riser(look: ThemeLook, level: number, foot: number): Paint {
  return {
    ...stone(look.riser, level),
    each: (vertex) => vertex.color.multiplyScalar(vertex.position.y <= foot + 0.01 ? 0.55 : 1),
  };
}

function addTerraces(mesh: MeshBuilder, layout: Layout, look: ThemeLook): void {
  layout.rings.forEach((ring, level) => {
    if (level === 0) return;
    const { y, inner, outer } = ring;
    const foot = level === layout.rings.length - 1 ? layout.apron.y : y - STEP;
    // The ground under the joints between the slabs. Its inner edge belongs to the ring before.
    const ground: Paint = {
      ...stone(mixed(look.riser, '#000000', 0.35), level),
      each: (vertex) => {
        if (Math.hypot(vertex.position.x, vertex.position.z) < inner + 0.01) vertex.surface = [0, 0, level - 1, 0];
      },
    };
    mesh.lathe([[outer, y - 0.05], [inner - 0.06, y - 0.045]], null, ground, sides(outer));
    const wall = [[outer - 0.03, foot - HIDDEN], [outer - 0.03, y - 0.09], [outer, y - 0.07], [outer, y - 0.03]] as const;
    mesh.lathe(wall, null, riser(look, level, foot), sides(outer));
    addLip(mesh, outer, y, level);
  });
}

function addBase(mesh: MeshBuilder, layout: Layout, look: ThemeLook): void {
  const { y, inner, outer } = layout.apron;
  const level = layout.rings.length;
  const rim = stone(mixed(look.pale, look.stone, 0.55), level);
  const around = sides(outer);
  const ground: Paint = {
    ...stone(mixed(look.riser, '#000000', 0.35), level),
    each: (vertex) => {
      if (Math.hypot(vertex.position.x, vertex.position.z) < inner + 0.01) vertex.surface = [0, 0, level - 1, 0];
    },
  };
  mesh.lathe([[outer - 0.2, y - 0.05], [inner - 0.06, y - 0.045]], null, ground, around);
  mesh.lathe(
    [[outer + 0.02, y - 0.16], [outer + 0.02, y - 0.02], [outer, y + 0.05], [outer - 0.25, y + 0.05], [outer - 0.25, y - 0.06]],
    null, rim, around,
  );
  mesh.lathe(
    [[outer + 0.22, y - 1], [outer + 0.22, y - 0.78], [outer + 0.1, y - 0.72], [outer - 0.06, y - 0.62], [outer - 0.06, y - 0.2],
      [outer + 0.02, y - 0.16]],
    null, stone(look.base, level), around,
  );
  mesh.torus(outer + 0.02, 0.045, moved(0, y - 0.1, 0, FLAT), brass(level), [6, around]);
  mesh.torus(outer + 0.22, 0.035, moved(0, y - 0.79, 0, FLAT), brass(level), [6, around]);
}

function addStairs(mesh: MeshBuilder, layout: Layout, look: ThemeLook): void {
  const pale = mixed(look.pale, look.stone, 0.42);
  const levels = [...layout.rings.map((ring) => ({ y: ring.y, outer: ring.outer })), {
    y: layout.apron.y,
    outer: layout.apron.outer - 0.25,
  }];
  const steps = 4;
  for (let side = 0; side < 6; side++) {
    const turn = new Matrix4().makeRotationY(side * 60 * DEGREE);
    const block = (r1: number, r2: number, y: number, height: number, width: number, x: number, paint: Paint): void => {
      const matrix = turn.clone().multiply(moved(x, y + height / 2, (r1 + r2) / 2));
      mesh.add(new BoxGeometry(width, height, r2 - r1), matrix, paint);
    };
    for (let k = 1; k < levels.length; k++) {
      const upper = levels[k - 1];
      const lower = levels[k];
      if (!upper || !lower) continue;
      const drop = upper.y - lower.y;
      for (let i = 0; i < steps; i++) {
        const height = drop * (1 - (i + 1) / (steps + 1));
        const color = pale.clone().multiplyScalar(0.9 + 0.06 * i);
        // Blocks do not share a side: two stones on one plane would flicker.
        block(upper.outer + (i === 0 ? -0.02 : 0.2 * i), upper.outer + 0.2 * (i + 1), lower.y - 0.02, height + 0.02, STAIR_WIDTH * 0.78, 0, stone(color, k - 1));
      }
      const runner = upper.outer + 0.2 * steps;
      // The near half of the runner follows the ring above, the far half its own.
      const follow = (paint: Paint): Paint => ({
        ...paint,
        each: (vertex) => {
          const level = vertex.position.z < 0 ? k - 1 : k;
          vertex.surface = [paint.surface[0], 0, level, 0];
        },
      });
      block(runner, lower.outer - 0.02, lower.y - 0.02, 0.035, STAIR_WIDTH * 0.7, 0, follow(stone(pale.clone().multiplyScalar(0.78), k)));
      for (const x of [-1, 1]) {
        block(runner, lower.outer - 0.02, lower.y + 0.002, 0.02, 0.03, x * STAIR_WIDTH * 0.36, follow(brass(k)));
      }
    }
  }
}

function addNiches(mesh: MeshBuilder, layout: Layout): void {
  const random = randomSequence(5);
  layout.rings.forEach((ring, level) => {
    const radius = ring.outer - (level > 0 ? 0.03 : 0) + 0.006;
    const spacing = Math.max(1.1, layout.apron.outer / 22);
    const count = Math.round((radius * 1.1) / spacing) * 6;
    for (let i = 0; i < count; i++) {
      const angle = ((i + 0.5) / count) * Math.PI * 2;
      const off = ((angle / (60 * DEGREE)) % 1) * 60 * DEGREE;
      if (Math.min(off, 60 * DEGREE - off) * radius < STAIR_WIDTH * 0.8) continue;
      const matrix = new Matrix4().makeRotationY(angle).multiply(moved(0, ring.y - STEP * 0.62, radius));
      const color = mixed('#FF9A3C', '#7A3A12', 0.2 + 0.4 * random());
      const flame: Paint = { color, surface: [0, 1, level, 0] };
      mesh.add(new PlaneGeometry(0.09, 0.12), matrix, flame);
      mesh.add(new CircleGeometry(0.045, 6, 0, Math.PI), matrix.clone().multiply(moved(0, 0.06, 0)), flame);
    }
  });
}

const parts = new Map<string, MeshBuilder>();

/** Parts that are the same in every hall are built once. */
function remembered(key: string, build: (part: MeshBuilder) => void): MeshBuilder {
  const known = parts.get(key);
  if (known) return known;
  const part = new MeshBuilder();
  build(part);
  parts.set(key, part);
  return part;
}

function addLanterns(mesh: MeshBuilder, layout: Layout, lamps: Lamps): void {
  const feet = lanternFeet(layout.apron);
  const level = layout.rings.length;
  for (const zone of ZONES) {
    const lantern = remembered(`lantern/${zone}/${lamps}`, (part) => buildLantern(part, zone, lamps));
    mesh.join(lantern, moved(feet[zone].x, feet[zone].y, feet[zone].z, {}, layout.apron.scale), level);
  }
}

function buildLantern(mesh: MeshBuilder, zone: Zone, lamps: Lamps): void {
  const level = 0;
  const iron = stone('#2B3146', level);
  const metal = brass(level);
  const top = LANTERN_HEIGHT;
  mesh.lathe([[0.24, 0], [0.25, 0.05], [0.18, 0.12], [0.1, 0.18], [0.075, 0.3], [0.055, 0.5], [0.05, top + 0.05]], null, iron, 12);
  mesh.torus(0.07, 0.022, moved(0, 0.62, 0, FLAT), metal, [5, 12]);
  mesh.torus(0.065, 0.02, moved(0, top - 0.3, 0, FLAT), metal, [5, 12]);
  mesh.sphere(0.06, [0, top + 0.66, 0], metal, [10, 6]);
  mesh.lathe([[0.31, top + 0.38], [0.27, top + 0.42], [0.12, top + 0.55], [0.05, top + 0.62], [0, top + 0.63]], null, metal, 6);
  mesh.cylinder([0.2, 0.14], 0.07, [0, top - 0.03, 0], metal, 6);
  const glass: Paint = { color: lamps === 'lit' ? '#FFBE62' : '#FFE2AD', surface: [0, lamps === 'lit' ? 1 : 0.35, level, 0] };
  mesh.cylinder([0.19, 0.15], 0.36, [0, top + 0.02, 0], glass, 6);
  for (let i = 0; i < 6; i++) {
    const angle = (i * Math.PI) / 3;
    mesh.cylinder([0.013, 0.013], 0.4, [Math.sin(angle) * 0.195, top + 0.01, Math.cos(angle) * 0.195], metal, 4);
  }
  addPennant(mesh, zone, level);
}

/** A banner on the lantern, turned to the viewer, with the emblem of the sector. */
function addPennant(mesh: MeshBuilder, zone: Zone, level: number): void {
  const at = (x: number, y: number, z: number): Matrix4 =>
    moved(0, LANTERN_HEIGHT - 0.14, 0, { y: HOME_AZIMUTH }).multiply(moved(x, y, z));
  mesh.add(new BoxGeometry(0.68, 0.035, 0.035), at(0.36, 0, 0.07), brass(level));
  const { color, emblem } = SECTORS[zone];
  const cloth: Paint = {
    ...stone(mixed(color, '#000000', 0.12), level),
    each: (vertex) => vertex.color.multiplyScalar(1 - 0.3 * Math.max(0, -vertex.position.y - 0.1)),
  };
  mesh.plate([[-0.26, 0.5], [0.26, 0.5], [0.26, -0.5], [0, -0.32], [-0.26, -0.5]], 0.03, at(0.36, -0.52, 0.09), cloth);
  mesh.plate([[-0.26, 0.025], [0.26, 0.025], [0.26, -0.025], [-0.26, -0.025]], 0, at(0.36, -0.1, 0.094), stone(COLOR.ivory, level));
  const mark = (outline: readonly (readonly [number, number])[], z: number, paint: Paint): void => {
    mesh.plate(outline.map(([x, y]) => [x * 0.15, y * 0.15] as const), 0.012, at(0.36, -0.42, z), paint);
  };
  mark(OUTLINES[emblem], 0.105, stone(COLOR.ivory, level));
  const hole = HOLES[emblem];
  if (hole) mark(hole, 0.109, cloth);
}

function addSectorProps(mesh: MeshBuilder, layout: Layout): void {
  const { apron } = layout;
  for (const zone of ZONES) {
    const { angle, radius, isFlipped } = propSpot(zone, apron);
    const props = remembered(`props/${zone}`, (part) => buildSectorProps(part, zone));
    const turn = { y: angle + (isFlipped ? Math.PI : 0) };
    mesh.join(props, moved(Math.sin(angle) * radius, apron.y, Math.cos(angle) * radius, turn, PROP_SCALE * apron.scale), layout.rings.length);
  }
}
