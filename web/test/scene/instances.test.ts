import { BoxGeometry, Matrix4, MeshBasicMaterial } from 'three';
import { describe, expect, it } from 'vitest';
import { InstancedShapes, InstancedThings } from '../../src/scene/instances';

const COUNT = 150;

describe('instances', () => {
  it('keep matrices and numbers when their buffers grow', () => {
    const things = new InstancedThings(new BoxGeometry(), new MeshBasicMaterial(), { tint: 3 });
    let disposals = 0;
    things.mesh.addEventListener('dispose', () => disposals++);
    for (let i = 0; i < COUNT; i++) things.add(new Matrix4().makeTranslation(i, 0, 0), [i, 2 * i, 0]);
    things.finish();
    expect([things.mesh.count, things.mesh.visible]).toEqual([COUNT, true]);
    const matrix = new Matrix4();
    const tints = things.mesh.geometry.getAttribute('tint');
    for (const i of [0, 63, 64, 149]) {
      things.mesh.getMatrixAt(i, matrix);
      expect([matrix.elements[12], tints.getX(i), tints.getY(i)]).toEqual([i, i, 2 * i]);
    }
    // From 64 to 128 and to 256: each time the old buffer is given back.
    expect(disposals).toBe(2);
  });

  it('are not drawn when there are none', () => {
    const shapes = new InstancedShapes(new BoxGeometry(), new MeshBasicMaterial(), { spot: 4 });
    shapes.add([1, 2, 3, 4]);
    shapes.finish();
    expect([shapes.mesh.visible, shapes.mesh.geometry.instanceCount]).toEqual([true, 1]);
    shapes.clear();
    shapes.finish();
    expect([shapes.mesh.visible, shapes.mesh.geometry.instanceCount]).toEqual([false, 0]);
  });
});
