// A growing set of equal things that is one draw call. Each frame: `clear`, `add` for each thing, `finish`.

import {
  DynamicDrawUsage,
  InstancedBufferAttribute,
  InstancedBufferGeometry,
  InstancedMesh,
  Matrix4,
  Mesh,
} from 'three';
import type { BufferGeometry, Material } from 'three';

const CAPACITY_FIRST = 64;

/** Fills a reused array: thousands of instances a frame would otherwise leave as many arrays behind. */
export function fill(target: number[], a: number, b: number, c: number, d: number): number[] {
  target[0] = a;
  target[1] = b;
  target[2] = c;
  target[3] = d;
  return target;
}

/** Names and sizes of the numbers that each instance carries. */
export type Fields = Readonly<Record<string, number>>;

interface Column {
  readonly name: string;
  readonly size: number;
  data: Float32Array;
  attribute: InstancedBufferAttribute;
}

function newColumn(name: string, size: number, capacity: number): Column {
  const data = new Float32Array(capacity * size);
  return { name, size, data, attribute: dynamicAttribute(data, size) };
}

function dynamicAttribute(data: Float32Array, size: number): InstancedBufferAttribute {
  const attribute = new InstancedBufferAttribute(data, size);
  attribute.setUsage(DynamicDrawUsage);
  return attribute;
}

/** Keeps the columns of a geometry: how many instances there are, and their numbers. */
class Columns {
  count = 0;
  capacity = CAPACITY_FIRST;
  readonly list: Column[];

  constructor(private readonly geometry: BufferGeometry, fields: Fields) {
    this.list = Object.entries(fields).map(([name, size]) => newColumn(name, size, this.capacity));
    for (const column of this.list) geometry.setAttribute(column.name, column.attribute);
  }

  /** Makes room for one more. True if the buffers are new. */
  grow(): boolean {
    if (this.count < this.capacity) return false;
    this.capacity *= 2;
    // The buffers on the graphics card have a fixed size: give them back.
    this.geometry.dispose();
    for (const column of this.list) {
      const data = new Float32Array(this.capacity * column.size);
      data.set(column.data);
      column.data = data;
      column.attribute = dynamicAttribute(data, column.size);
      this.geometry.setAttribute(column.name, column.attribute);
    }
    return true;
  }

  upload(): void {
    for (const column of this.list) uploadPart(column.attribute, this.count * column.size);
  }
}

function uploadPart(attribute: InstancedBufferAttribute, length: number): void {
  attribute.clearUpdateRanges();
  if (length === 0) return;
  attribute.addUpdateRange(0, length);
  attribute.needsUpdate = true;
}

function write(columns: Columns, index: number, values: readonly ArrayLike<number>[]): void {
  for (let c = 0; c < columns.list.length; c++) {
    const column = columns.list[c];
    const value = values[c];
    if (!column || !value) continue;
    const start = index * column.size;
    for (let i = 0; i < column.size; i++) column.data[start + i] = value[i] ?? 0;
  }
}

/** Lit things, each with a matrix. */
export class InstancedThings {
  readonly mesh: InstancedMesh;
  private readonly columns: Columns;
  private matrices: Float32Array;

  constructor(geometry: BufferGeometry, material: Material, fields: Fields) {
    this.columns = new Columns(geometry, fields);
    this.mesh = new InstancedMesh(geometry, material, this.columns.capacity);
    this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
    this.matrices = this.mesh.instanceMatrix.array as Float32Array;
  }

  clear(): void {
    this.columns.count = 0;
  }

  /** Adds one. `values` follow the order of the fields. */
  add(matrix: Matrix4, ...values: ArrayLike<number>[]): void {
    if (this.columns.grow()) {
      const data = new Float32Array(this.columns.capacity * 16);
      data.set(this.matrices);
      this.matrices = data;
      // The buffer of the old matrices is given back with the mesh's other resources.
      this.mesh.dispose();
      this.mesh.instanceMatrix = dynamicAttribute(data, 16);
    }
    const index = this.columns.count++;
    this.matrices.set(matrix.elements, index * 16);
    write(this.columns, index, values);
  }

  finish(): void {
    this.mesh.count = this.columns.count;
    this.mesh.visible = this.columns.count > 0;
    uploadPart(this.mesh.instanceMatrix, this.columns.count * 16);
    this.columns.upload();
  }

  dispose(): void {
    this.mesh.geometry.dispose();
    this.mesh.dispose();
  }
}

/** Things that a shader of their own places: billboards, decals, threads, slabs. */
export class InstancedShapes {
  readonly mesh: Mesh<InstancedBufferGeometry>;
  private readonly columns: Columns;

  constructor(shape: BufferGeometry, material: Material, fields: Fields) {
    const geometry = new InstancedBufferGeometry();
    geometry.setIndex(shape.getIndex());
    for (const [name, attribute] of Object.entries(shape.attributes)) geometry.setAttribute(name, attribute);
    geometry.instanceCount = 0;
    this.columns = new Columns(geometry, fields);
    this.mesh = new Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
  }

  clear(): void {
    this.columns.count = 0;
  }

  add(...values: ArrayLike<number>[]): void {
    this.columns.grow();
    write(this.columns, this.columns.count++, values);
  }

  finish(): void {
    this.mesh.geometry.instanceCount = this.columns.count;
    this.mesh.visible = this.columns.count > 0;
    this.columns.upload();
  }

  dispose(): void {
    this.mesh.geometry.dispose();
  }
}
