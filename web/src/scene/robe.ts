// The body of a figure: a robe turned on a lathe, a hood, a head with two eyes, sleeves with hands. One geometry for each
// pose and level of detail; the colours of robe, trim and skin come from the instance.

import { CylinderGeometry, Matrix4, Quaternion, SphereGeometry, Vector3 } from 'three';
import type { BufferGeometry } from 'three';
import { MeshBuilder, latheShape, moved } from './mesh-builder';
import type { Paint, Surface } from './mesh-builder';
import { smooth } from './motion';
import { COLOR } from './palette';

export type Pose = 'stand' | 'bow' | 'calm' | 'droop' | 'recoil' | 'heap' | 'root';
export const POSES: readonly Pose[] = ['stand', 'bow', 'calm', 'droop', 'recoil', 'heap', 'root'];

export type Detail = 'near' | 'middle' | 'far';

/** The height of the hood's tip in each pose, before the figure's scale. */
export const POSE_TOP: Readonly<Record<Pose, number>> = {
  stand: 1.72,
  bow: 1.5,
  calm: 1.72,
  droop: 1.66,
  recoil: 1.72,
  heap: 0.9,
  root: 1.72,
};

interface Grain {
  readonly robe: readonly [sides: number, rows: number];
  readonly hood: readonly [number, number];
  readonly head: readonly [number, number];
  readonly arm: number;
  readonly ring: readonly [number, number];
}

const GRAINS: Readonly<Record<Detail, Grain>> = {
  near: { robe: [28, 12], hood: [18, 11], head: [16, 11], arm: 10, ring: [4, 14] },
  middle: { robe: [14, 6], hood: [10, 6], head: [10, 7], arm: 6, ring: [3, 8] },
  far: { robe: [7, 3], hood: [6, 4], head: [6, 4], arm: 0, ring: [0, 0] },
};

const ROBE: Surface = [1, 0, 0, 0];
const ROBE_LIGHT: Surface = [0.9, 0, 0, 0];
const TRIM: Surface = [0, 1, 0, 0];
const SKIN: Surface = [0, 0, 1, 0];
const OWN: Surface = [0, 0, 0, 0];
const METAL: Surface = [0, 0, 0, 1];
const BRASS: Paint = { color: COLOR.brass, surface: METAL };
const FLAT = { x: Math.PI / 2 };

/** Radius and height. */
const PROFILE: readonly (readonly [number, number])[] = [
  [0.49, 0], [0.52, 0.025], [0.505, 0.07], [0.44, 0.26], [0.365, 0.5], [0.3, 0.72], [0.27, 0.86], [0.275, 0.96], [0.25, 1.03], [0.17, 1.09],
];

const FOLDS = 7;

/** How much a fold widens the robe at this angle and height. */
function foldAt(angle: number, y: number, depth: number): number {
  return depth * Math.cos(FOLDS * angle + 0.6) * Math.pow(Math.max(0, 1 - y / 0.85), 1.3);
}

function robeRadius(y: number): number {
  for (let i = 1; i < PROFILE.length; i++) {
    const low = PROFILE[i - 1];
    const high = PROFILE[i];
    if (low && high && y <= high[1] && high[1] > low[1]) {
      return low[0] + ((high[0] - low[0]) * (y - low[1])) / (high[1] - low[1]);
    }
  }
  return 0.17;
}

/** Heights at which the robe has vertices: the hem needs three, the rest is spread. */
function robeRows(rows: number): number[] {
  if (rows <= 3) return [0, 0.07, 0.72, 1.06];
  const heights = [0, 0.025, 0.075, 0.085];
  for (let i = 1; i <= rows - 3; i++) heights.push(0.085 + (1.09 - 0.085) * (i / (rows - 3)));
  return heights;
}

function robeShape([sides, rows]: readonly [number, number], depth: number): BufferGeometry {
  const shape = latheShape(robeRows(rows).map((y) => [robeRadius(y), y] as const), sides);
  const position = shape.getAttribute('position');
  for (let i = 0; i < position.count; i++) {
    const x = position.getX(i);
    const z = position.getZ(i);
    const k = 1 + foldAt(Math.atan2(x, z), position.getY(i), depth);
    position.setX(i, x * k);
    position.setZ(i, z * k);
  }
  shape.computeVertexNormals();
  return shape;
}

/** Darker to the hem and in the folds; the hem itself is trim. */
function robePaint(hasHem: boolean): Paint {
  return {
    color: '#FFFFFF',
    surface: ROBE,
    each: (vertex) => {
      const { x, y, z } = vertex.position;
      const height = Math.min(1, Math.max(0, y / 0.9));
      const fold = foldAt(Math.atan2(x, z), y, 1);
      vertex.color.setScalar((1 - 0.34 * (1 - height)) * (1 + 0.2 * fold));
      if (hasHem && y < 0.08) {
        vertex.surface = TRIM;
        vertex.color.setScalar(0.8);
      }
    },
  };
}

/** The gap of the hood for the face, in radians. It closes towards the tip. */
const FACE_GAP = 1.95;

/** A sphere with a gap for the face; its tip is pushed up and back. */
function hoodShape([across, up]: readonly [number, number], closing: number): BufferGeometry {
  const shape = new SphereGeometry(0.355, across, up, Math.PI / 2 + FACE_GAP / 2, Math.PI * 2 - FACE_GAP);
  const position = shape.getAttribute('position');
  for (let i = 0; i < position.count; i++) {
    let y = position.getY(i);
    const t = Math.max(0, (y + 0.02) / 0.355);
    const around = Math.atan2(position.getX(i), position.getZ(i));
    const radius = Math.hypot(position.getX(i), position.getZ(i));
    const half = FACE_GAP / 2;
    const open = half * (1 - closing * smooth(t, 0.5, 1));
    const share = (Math.abs(around) - half) / (Math.PI - half);
    const turned = Math.sign(around) * (open + share * (Math.PI - open));
    let x = Math.sin(turned) * radius;
    let z = Math.cos(turned) * radius;
    y += t * t * 0.12;
    z -= t * t * t * 0.17;
    const low = Math.max(0, (-y - 0.12) / 0.24);
    x *= 1 + low * 0.25;
    z = z * (1 + low * 0.15) - low * 0.02;
    position.setXYZ(i, x, y, z);
  }
  shape.computeVertexNormals();
  return shape;
}

/** The hood and its dark lining, which is a smaller copy seen from inside. */
function addHood(mesh: MeshBuilder, grain: Grain, matrix: Matrix4, lining: Paint, closing: number): void {
  mesh.add(hoodShape(grain.hood, closing), matrix, {
    color: '#FFFFFF',
    surface: ROBE_LIGHT,
    each: (vertex) => {
      vertex.color.setScalar(0.88 + 0.2 * Math.max(0, vertex.position.y / 0.4));
    },
  });
  const inner: [number, number] = [Math.min(10, grain.hood[0]), Math.min(7, grain.hood[1])];
  mesh.add(hoodShape(inner, closing), matrix.clone().multiply(new Matrix4().makeScale(0.97, 0.97, 0.97)), lining);
}

/** Two ivory strips down the front. */
function addStole(mesh: MeshBuilder): void {
  const rows = 10;
  for (const side of [-1, 1]) {
    const strip = new CylinderGeometry(1, 1, 1, 1, rows, true);
    const position = strip.getAttribute('position');
    for (let i = 0; i < position.count; i++) {
      const share = position.getY(i) + 0.5;
      const y = 0.1 + share * 0.93;
      const isRight = i % 2 === 1;
      const angle = side * (0.26 + 0.1 * (1 - y)) + (isRight ? 0.1 : -0.1);
      const radius = robeRadius(y) * (1 + foldAt(angle, y, 0.06)) + 0.016;
      position.setXYZ(i, Math.sin(angle) * radius, y, Math.cos(angle) * radius);
    }
    strip.computeVertexNormals();
    mesh.add(strip, null, { color: '#FFFFFF', surface: TRIM });
  }
}

function addArm(mesh: MeshBuilder, grain: Grain, side: number, hand: readonly [number, number, number]): void {
  const shoulder = new Vector3(0.235 * side, 0.92, 0.03);
  const wrist = new Vector3(hand[0] * side, hand[1], hand[2]);
  const along = wrist.clone().sub(shoulder);
  const length = along.length();
  along.normalize();
  const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), along);
  const one = new Vector3(1, 1, 1);
  const middle = shoulder.clone().addScaledVector(along, length / 2);
  const sleeve = new CylinderGeometry(0.135, 0.085, length, grain.arm, 1, false);
  mesh.add(sleeve, new Matrix4().compose(middle, turn, one), { color: '#F2F2F2', surface: ROBE_LIGHT });
  mesh.sphere(0.1, [shoulder.x * 0.95, shoulder.y, shoulder.z], { color: '#F2F2F2', surface: ROBE_LIGHT }, [Math.min(8, grain.arm), 5]);
  if (grain.arm >= 10) {
    const flat = new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), Math.PI / 2);
    mesh.torus(0.128, 0.018, new Matrix4().compose(wrist, turn.clone().multiply(flat), one), BRASS, grain.ring);
  }
  const palm = wrist.clone().addScaledVector(along, 0.035);
  mesh.sphere(0.088, [palm.x, palm.y, palm.z], { color: '#FFFFFF', surface: SKIN }, [Math.min(8, grain.arm), 6]);
}

const HANDS: Readonly<Record<Exclude<Pose, 'heap' | 'root'>, readonly [number, number, number]>> = {
  stand: [0.2, 0.86, 0.46],
  bow: [0.07, 0.7, 0.34],
  calm: [0.09, 0.72, 0.36],
  droop: [0.34, 0.42, 0.2],
  recoil: [0.4, 0.7, 0.12],
};

function addHead(mesh: MeshBuilder, pose: Pose, detail: Detail): void {
  const grain = GRAINS[detail];
  const tilt = pose === 'bow' ? 0.35 : pose === 'droop' ? 0.12 : pose === 'recoil' ? -0.35 : -0.16;
  const head = moved(0, 1.335, 0, { x: tilt });
  const at = (matrix: Matrix4): Matrix4 => head.clone().multiply(matrix);
  mesh.add(new SphereGeometry(0.285, ...grain.head), at(moved(0, 0, 0.045)), {
    color: '#FFFFFF',
    surface: SKIN,
    each: (vertex) => {
      // Cheeks are a little warmer.
      const { x, y, z } = vertex.position;
      if (detail === 'near' && z > 0.1) {
        const cheek = Math.exp(-((Math.abs(x) - 0.16) ** 2 + (y + 0.07) ** 2) / 0.004);
        vertex.color.setRGB(1, 1 - 0.16 * cheek, 1 - 0.2 * cheek);
      }
    },
  });
  const isShut = pose === 'bow' || pose === 'calm';
  const eye: Paint = { color: COLOR.eye, surface: OWN };
  const eyeDetail: [number, number] = detail === 'near' ? [8, 6] : detail === 'middle' ? [6, 4] : [4, 2];
  for (const side of [-1, 1]) {
    const size = isShut ? new Vector3(1.25, 0.28, 0.5) : new Vector3(0.85, 1.4, 0.55);
    mesh.add(new SphereGeometry(detail === 'far' ? 0.05 : 0.042, ...eyeDetail), at(moved(0.105 * side, 0.015, 0.312, {}, size)), eye);
    if (detail === 'near' && !isShut) {
      mesh.add(new SphereGeometry(0.012, 5, 4), at(moved(0.105 * side - 0.012, 0.042, 0.334)), { color: '#FFFFFF', surface: OWN });
    }
  }
  addHood(mesh, grain, head, { color: '#B4B4B4', surface: ROBE, isInsideOut: true }, pose === 'bow' ? 0.3 : 0.8);
  if (pose === 'root') addCrown(mesh, head, detail);
}

function addCrown(mesh: MeshBuilder, head: Matrix4, detail: Detail): void {
  const at = (matrix: Matrix4): Matrix4 => head.clone().multiply(matrix);
  for (let i = 0; i < 7; i++) {
    const angle = (i / 7) * Math.PI * 2;
    mesh.cone(0.055, 0.2, at(moved(Math.sin(angle) * 0.3, 0.32, Math.cos(angle) * 0.3 - 0.05)), BRASS, 4);
    if (detail === 'near') {
      const tip = at(moved(Math.sin(angle) * 0.3, 0.425, Math.cos(angle) * 0.3 - 0.05));
      mesh.add(new SphereGeometry(0.022, 6, 5), tip, BRASS);
    }
  }
  mesh.torus(0.31, 0.036, at(moved(0, 0.2, -0.04, FLAT)), BRASS, detail === 'far' ? [4, 10] : [7, 32]);
}

/** Leans everything above `from` forwards, the more the higher it is. */
function bend(mesh: MeshBuilder, angle: number, from: number): void {
  mesh.transform((position, normal) => {
    if (position.y <= from) return;
    const t = Math.min(1, (position.y - from) / 0.85);
    const turn = angle * t * t * (3 - 2 * t);
    const cos = Math.cos(turn);
    const sin = Math.sin(turn);
    const { y, z } = position;
    position.y = from + (y - from) * cos - z * sin;
    position.z = (y - from) * sin + z * cos;
    const { y: ny, z: nz } = normal;
    normal.y = ny * cos - nz * sin;
    normal.z = ny * sin + nz * cos;
  });
}

/** A cancelled figure: an empty robe on the floor with its hood on top. */
function buildHeap(detail: Detail): BufferGeometry {
  const mesh = new MeshBuilder();
  const grain = GRAINS[detail];
  const robe = robeShape(grain.robe, 0.2);
  mesh.add(robe, moved(0, 0, 0, { y: 0.4 }, new Vector3(1.2, 0.4, 1.15)), {
    color: '#FFFFFF',
    surface: ROBE,
    each: (vertex) => {
      const { x, y, z } = vertex.position;
      vertex.color.setScalar((0.5 + 0.5 * Math.min(1, y)) * (1 + 0.35 * foldAt(Math.atan2(x, z), y, 1)));
    },
  });
  const hood = moved(0.04, 0.5, 0.12, { y: 0.5, x: 0.25, z: 0.28 }, new Vector3(1, 0.92, 1));
  addHood(mesh, grain, hood, { color: '#14151C', surface: OWN, isInsideOut: true }, 0);
  return mesh.build();
}

/** The geometry of a figure in a pose. A figure that is far away has at most 200 triangles. */
export function buildFigure(pose: Pose, detail: Detail): BufferGeometry {
  if (pose === 'heap') return buildHeap(detail);
  const grain = GRAINS[detail];
  const mesh = new MeshBuilder();
  mesh.add(robeShape(grain.robe, 0.06), null, robePaint(true));
  if (grain.arm > 0) {
    mesh.torus(0.282, 0.022, moved(0, 0.84, 0, FLAT), BRASS, detail === 'near' ? [4, 20] : [3, 12]);
    if (detail === 'near') addStole(mesh);
    if (pose === 'root') {
      addArm(mesh, grain, -1, [0.3, 0.9, 0.42]);
      addArm(mesh, grain, 1, [0.46, 0.82, 0.22]);
    } else {
      addArm(mesh, grain, -1, HANDS[pose]);
      addArm(mesh, grain, 1, HANDS[pose]);
    }
    const collar: Paint = { color: '#FFFFFF', surface: TRIM };
    mesh.torus(0.2, 0.075, moved(0, 1.07, 0, FLAT), collar, detail === 'near' ? [6, 18] : [4, 10]);
  }
  addHead(mesh, pose, detail);
  if (pose === 'bow') bend(mesh, 0.55, 0.15);
  if (pose === 'droop') bend(mesh, 0.26, 0.1);
  return mesh.build();
}
