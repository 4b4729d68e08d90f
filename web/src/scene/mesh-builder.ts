// Collects primitive shapes into one indexed geometry with a colour and four material numbers per vertex, so that a whole
// group of things is one draw call.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  Euler,
  LatheGeometry,
  Matrix3,
  Matrix4,
  Quaternion,
  SphereGeometry,
  TorusGeometry,
  Vector2,
  Vector3,
} from 'three';
import type { Triple } from './palette';

/** The four material numbers. Figures and the hall read them in different ways: see `materials.ts`. */
export type Surface = readonly [number, number, number, number];

/** What a painter may change for one vertex. Positions are those before the matrix of the shape. */
export interface Vertex {
  readonly position: Vector3;
  readonly color: Color;
  surface: Surface;
}

export interface Paint {
  readonly color: Color | string;
  readonly surface: Surface;
  readonly each?: (vertex: Vertex) => void;
  /** The shape is seen from its inside. */
  readonly isInsideOut?: boolean;
}

export interface Turn {
  readonly x?: number;
  readonly y?: number;
  readonly z?: number;
}

/** A matrix that scales, then turns (Y, then X, then Z), then moves. */
export function moved(x: number, y: number, z: number, turn: Turn = {}, scale: number | Vector3 = 1): Matrix4 {
  const size = typeof scale === 'number' ? new Vector3(scale, scale, scale) : scale;
  const euler = new Euler(turn.x ?? 0, turn.y ?? 0, turn.z ?? 0, 'YXZ');
  return new Matrix4().compose(new Vector3(x, y, z), new Quaternion().setFromEuler(euler), size);
}

export class MeshBuilder {
  private readonly positions: number[] = [];
  private readonly normals: number[] = [];
  private readonly colors: number[] = [];
  private readonly surfaces: number[] = [];
  private readonly indices: number[] = [];

  /** Adds a shape and frees it. */
  add(shape: BufferGeometry, matrix: Matrix4 | null, paint: Paint): this {
    if (!shape.getAttribute('normal')) shape.computeVertexNormals();
    const position = shape.getAttribute('position');
    const normal = shape.getAttribute('normal');
    const first = this.positions.length / 3;
    const base = new Color(paint.color);
    const vertex: Vertex = { position: new Vector3(), color: new Color(), surface: paint.surface };
    const point = new Vector3();
    const normalMatrix = matrix ? new Matrix3().getNormalMatrix(matrix) : null;
    for (let i = 0; i < position.count; i++) {
      vertex.position.fromBufferAttribute(position, i);
      vertex.color.copy(base);
      vertex.surface = paint.surface;
      paint.each?.(vertex);
      point.copy(vertex.position);
      if (matrix) point.applyMatrix4(matrix);
      this.positions.push(point.x, point.y, point.z);
      point.fromBufferAttribute(normal, i);
      if (normalMatrix) point.applyMatrix3(normalMatrix).normalize();
      if (paint.isInsideOut) point.negate();
      this.normals.push(point.x, point.y, point.z);
      this.colors.push(vertex.color.r, vertex.color.g, vertex.color.b);
      this.surfaces.push(...vertex.surface);
    }
    this.addIndices(shape, first, paint.isInsideOut === true);
    shape.dispose();
    return this;
  }

  private addIndices(shape: BufferGeometry, first: number, isReversed: boolean): void {
    const index = shape.getIndex();
    const count = index ? index.count : shape.getAttribute('position').count;
    const at = (i: number): number => first + (index ? index.getX(i) : i);
    for (let i = 0; i + 2 < count; i += 3) {
      if (isReversed) this.indices.push(at(i), at(i + 2), at(i + 1));
      else this.indices.push(at(i), at(i + 1), at(i + 2));
    }
  }

  /** A box that stands on `y`. */
  box(size: readonly [number, number, number], at: readonly [number, number, number], paint: Paint, turn: Turn = {}): this {
    return this.add(new BoxGeometry(...size), moved(at[0], at[1] + size[1] / 2, at[2], turn), paint);
  }

  /** A cylinder or cone stump that stands on `y`. */
  cylinder(
    radii: readonly [top: number, bottom: number],
    height: number,
    at: readonly [number, number, number],
    paint: Paint,
    sides = 16,
    turn: Turn = {},
  ): this {
    const shape = new CylinderGeometry(radii[0], radii[1], height, sides);
    return this.add(shape, moved(at[0], at[1] + height / 2, at[2], turn), paint);
  }

  cone(radius: number, height: number, matrix: Matrix4, paint: Paint, sides = 12): this {
    return this.add(new ConeGeometry(radius, height, sides), matrix, paint);
  }

  sphere(radius: number, at: readonly [number, number, number], paint: Paint, detail: readonly [number, number] = [16, 10]): this {
    return this.add(new SphereGeometry(radius, detail[0], detail[1]), moved(at[0], at[1], at[2]), paint);
  }

  torus(radius: number, tube: number, matrix: Matrix4, paint: Paint, detail: readonly [number, number] = [6, 32]): this {
    return this.add(new TorusGeometry(radius, tube, detail[0], detail[1]), matrix, paint);
  }

  /** A body turned around the Y axis. The profile runs from the bottom to the top on the outside. */
  lathe(profile: readonly (readonly [number, number])[], matrix: Matrix4 | null, paint: Paint, sides = 24): this {
    return this.add(latheShape(profile, sides), matrix, paint);
  }

  /** A flat plate, facing +Z, with sides down to `-depth`. Its middle sees the whole outline, which runs clockwise. */
  plate(outline: readonly (readonly [number, number])[], depth: number, matrix: Matrix4, paint: Paint): this {
    return this.add(plateShape(outline, depth), matrix, paint);
  }

  /** Moves everything that was added so far. */
  transform(change: (position: Vector3, normal: Vector3) => void): this {
    const position = new Vector3();
    const normal = new Vector3();
    for (let i = 0; i < this.positions.length; i += 3) {
      position.fromArray(this.positions, i);
      normal.fromArray(this.normals, i);
      change(position, normal);
      position.toArray(this.positions, i);
      normal.toArray(this.normals, i);
    }
    return this;
  }

  /** Adds everything of another builder, moved; it follows this ring of the hall. */
  join(other: MeshBuilder, matrix: Matrix4, ring: number): this {
    const first = this.positions.length / 3;
    const normalMatrix = new Matrix3().getNormalMatrix(matrix);
    const v = new Vector3();
    for (let i = 0; i < other.positions.length; i += 3) {
      v.fromArray(other.positions, i).applyMatrix4(matrix);
      this.positions.push(v.x, v.y, v.z);
      v.fromArray(other.normals, i).applyMatrix3(normalMatrix).normalize();
      this.normals.push(v.x, v.y, v.z);
    }
    for (const value of other.colors) this.colors.push(value);
    other.surfaces.forEach((value, i) => this.surfaces.push(i % 4 === 2 ? ring : value));
    for (const value of other.indices) this.indices.push(first + value);
    return this;
  }

  build(): BufferGeometry {
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(new Float32Array(this.positions), 3));
    geometry.setAttribute('normal', new BufferAttribute(new Float32Array(this.normals), 3));
    geometry.setAttribute('color', new BufferAttribute(new Float32Array(this.colors), 3));
    geometry.setAttribute('surface', new BufferAttribute(new Float32Array(this.surfaces), 4));
    geometry.setIndex(new BufferAttribute(new Uint32Array(this.indices), 1));
    return geometry;
  }
}

export function latheShape(profile: readonly (readonly [number, number])[], sides: number): BufferGeometry {
  // The seam is at the back, where the viewer does not see it.
  return new LatheGeometry(profile.map(([radius, y]) => new Vector2(radius, y)), sides, Math.PI);
}

function plateShape(outline: readonly (readonly [number, number])[], depth: number): BufferGeometry {
  const positions: number[] = [];
  outline.forEach(([x, y], i) => {
    const next = outline[(i + 1) % outline.length] ?? [x, y];
    positions.push(0, 0, 0, next[0], next[1], 0, x, y, 0);
    if (depth > 0) {
      positions.push(x, y, 0, next[0], next[1], -depth, x, y, -depth);
      positions.push(x, y, 0, next[0], next[1], 0, next[0], next[1], -depth);
    }
  });
  const shape = new BufferGeometry();
  shape.setAttribute('position', new BufferAttribute(new Float32Array(positions), 3));
  shape.computeVertexNormals();
  return shape;
}

/** A colour as the three numbers that an instance carries. */
export function triple(color: Color | string): Triple {
  const { r, g, b } = new Color(color);
  return [r, g, b];
}

export function mixed(a: Color | string, b: Color | string, amount: number): Color {
  return new Color(a).lerp(new Color(b), amount);
}
