// Small things that stand beside figures or fly between them. Each is one geometry for all its instances.

import { BoxGeometry, CylinderGeometry, TetrahedronGeometry, Vector3 } from 'three';
import type { BufferGeometry } from 'three';
import { MeshBuilder, moved } from './mesh-builder';
import type { Paint } from './mesh-builder';
import { randomSequence } from './motion';
import { COLOR } from './palette';

const BRASS: Paint = { color: COLOR.brass, surface: [1, 0, 0, 0] };
const matte = (color: string): Paint => ({ color, surface: [0, 0, 0, 0] });

/** A reading desk. Its page is lit while the model writes. */
export function buildLectern(page: 'lit' | 'dark'): BufferGeometry {
  const mesh = new MeshBuilder();
  mesh.cylinder([0.055, 0.1], 0.46, [0, 0, 0], matte('#5B4230'), 10);
  mesh.box([0.4, 0.05, 0.3], [0, 0.46, 0], matte('#7A5A3E'), { x: 0.3 });
  mesh.box([0.42, 0.03, 0.03], [0, 0.44, 0.15], BRASS, { x: 0.3 });
  const paper: Paint = page === 'lit' ? { color: '#FFF6E4', surface: [0, 1, 0, 0.4] } : { color: '#CFC4AE', surface: [0, 0.12, 0, 0.2] };
  mesh.box([0.3, 0.02, 0.2], [0, 0.515, 0], paper, { x: 0.3 });
  return mesh.build();
}

export function buildHourglass(): BufferGeometry {
  const mesh = new MeshBuilder();
  const sand: Paint = { color: '#FFE0A8', surface: [0, 0.25, 0, 0] };
  mesh.lathe([[0, 0], [0.1, 0], [0.1, 0.05], [0.02, 0.14], [0.1, 0.23], [0.1, 0.28], [0, 0.28]], null, sand, 14);
  mesh.cylinder([0.13, 0.13], 0.03, [0, -0.03, 0], BRASS, 14).cylinder([0.13, 0.13], 0.03, [0, 0.28, 0], BRASS, 14);
  for (let i = 0; i < 3; i++) {
    const angle = i * 2.1;
    mesh.cylinder([0.012, 0.012], 0.3, [Math.sin(angle) * 0.115, 0, Math.cos(angle) * 0.115], BRASS, 5);
  }
  return mesh.build();
}

/** An empty purse that lies on its side. */
export function buildPurse(): BufferGeometry {
  const mesh = new MeshBuilder();
  const bag: [number, number][] = [[0, 0], [0.16, 0.02], [0.2, 0.1], [0.12, 0.2], [0.06, 0.24], [0.11, 0.32], [0.09, 0.32], [0, 0.26]];
  mesh.lathe(bag, moved(0, 0.1, 0, { x: 1.35, z: 0.3 }, new Vector3(1.1, 0.9, 0.75)), matte('#8A5A2E'), 14);
  mesh.torus(0.075, 0.02, moved(0, 0.13, 0.26, { x: 0.2 }), matte('#E0A04A'), [5, 14]);
  return mesh.build();
}

/** The root's staff: a brass ring with a lamp in it. */
export function buildStaff(): BufferGeometry {
  const mesh = new MeshBuilder();
  mesh.cylinder([0.028, 0.034], 2.15, [0, 0, 0], BRASS, 10);
  mesh.torus(0.16, 0.025, moved(0, 2.32, 0), BRASS, [7, 24]);
  mesh.torus(0.05, 0.018, moved(0, 2.12, 0, { x: Math.PI / 2 }), BRASS, [5, 12]);
  mesh.sphere(0.085, [0, 2.32, 0], { color: COLOR.lantern, surface: [0, 1, 0, 0] }, [12, 8]);
  return mesh.build();
}

/** The lamp's height on the staff. */
export const STAFF_LAMP = 2.32;

/** One piece of a broken portal. */
export function buildShard(): BufferGeometry {
  const mesh = new MeshBuilder();
  mesh.add(new TetrahedronGeometry(1), moved(0, 0, 0, {}, new Vector3(1, 0.45, 1)), { color: '#FFFFFF', surface: [0, 0, 0, 1] });
  return mesh.build();
}

export interface ShardPlace {
  readonly angle: number;
  readonly distance: number;
  readonly height: number;
  readonly size: number;
  readonly turn: readonly [number, number, number];
  /** 0 is dark, 1 is bright. */
  readonly tone: number;
}

/** The pieces around a broken portal: always the same. */
export const SHARDS: readonly ShardPlace[] = (() => {
  const random = randomSequence(3);
  return Array.from({ length: 9 }, (_, i) => ({
    angle: (i / 9) * Math.PI * 2 + random() * 0.4,
    distance: 0.45 + random() * 0.5,
    height: 0.1 + random() * 0.5,
    size: 0.09 + random() * 0.09,
    turn: [random() * 6, random() * 6, random() * 6] as const,
    tone: random(),
  }));
})();

/** A small standing banner beside a figure whose hires are folded. */
export function buildFoldBanner(): BufferGeometry {
  const mesh = new MeshBuilder();
  mesh.cylinder([0.1, 0.13], 0.06, [0, 0, 0], matte('#2B3146'), 12);
  mesh.cylinder([0.022, 0.028], 1.25, [0, 0, 0], BRASS, 8);
  mesh.sphere(0.045, [0, 1.28, 0], BRASS, [8, 6]);
  mesh.add(new BoxGeometry(0.52, 0.03, 0.03), moved(0.2, 1.18, 0), BRASS);
  const cloth: Paint = { color: '#FFFFFF', surface: [0, 0, 0, 1] };
  mesh.plate([[-0.22, 0.36], [0.22, 0.36], [0.22, -0.36], [0, -0.24], [-0.22, -0.36]], 0.025, moved(0.2, 0.8, 0.015), cloth);
  for (let i = 0; i < 3; i++) {
    const bar = 0.28 - i * 0.05;
    mesh.add(new BoxGeometry(bar, 0.045, 0.012), moved(0.2, 0.98 - i * 0.12, 0.025), matte(COLOR.ivory));
  }
  return mesh.build();
}

/** A rolled report with a band in the colour of its sector. It lies along X. */
export function buildScroll(): BufferGeometry {
  const mesh = new MeshBuilder();
  const across = { z: Math.PI / 2 };
  const paper: Paint = { color: COLOR.ivory, surface: [0, 0.25, 0, 0] };
  mesh.add(new CylinderGeometry(0.11, 0.11, 0.52, 16), moved(0, 0, 0, across), paper);
  for (const x of [-0.25, 0.25]) mesh.add(new CylinderGeometry(0.14, 0.14, 0.05, 16), moved(x, 0, 0, across), matte('#C9A05A'));
  mesh.add(new CylinderGeometry(0.117, 0.117, 0.09, 16), moved(0, 0, 0, across), { color: '#FFFFFF', surface: [0, 0.2, 0, 1] });
  return mesh.build();
}

/** A coin that faces +Z. It is unlit: metal near lamps would turn into suns. */
export function buildCoin(tones: { readonly face: string; readonly rim: string; readonly mark: string }): BufferGeometry {
  const mesh = new MeshBuilder();
  mesh.add(new CylinderGeometry(0.21, 0.21, 0.06, 24), moved(0, 0, 0, { x: Math.PI / 2 }), matte(tones.face));
  mesh.torus(0.185, 0.026, moved(0, 0, 0.03), matte(tones.rim), [6, 24]);
  mesh.add(new CylinderGeometry(0.075, 0.075, 0.02, 6), moved(0, 0, 0.035, { x: Math.PI / 2 }), matte(tones.mark));
  return mesh.build();
}

export const COIN_TONES = {
  coins: { face: '#C98A26', rim: '#FFD27A', mark: '#FFDF9C' },
  change: { face: '#CFC3A6', rim: '#F3E8CF', mark: '#F7F0E0' },
} as const;
