// Three props for each sector, as seen from the front: one at the left, one in the middle, one at the right. They stand on
// the apron, about four units wide.

import { CircleGeometry, Color, CylinderGeometry, ConeGeometry } from 'three';
import type { Zone } from '../stage';
import { moved, mixed } from './mesh-builder';
import type { MeshBuilder, Paint } from './mesh-builder';
import { randomSequence } from './motion';
import { COLOR, SECTORS } from './palette';

const WOOD = '#5B4230';
const WOOD_LIGHT = '#7A5A3E';
const IRON = '#3A4154';
const STEEL = '#4A526A';

class Kit {
  readonly color: string;

  constructor(readonly mesh: MeshBuilder, zone: Zone) {
    this.color = SECTORS[zone].color;
  }

  matte(color: Color | string): Paint {
    return { color, surface: [0, 0, 0, 0] };
  }

  metal(color: Color | string = COLOR.brass): Paint {
    return { color, surface: [1, 0, 0, 0] };
  }

  glow(color: Color | string, strength = 1): Paint {
    return { color, surface: [0, strength, 0, 0] };
  }
}

export function buildSectorProps(mesh: MeshBuilder, zone: Zone): void {
  const kit = new Kit(mesh, zone);
  switch (zone) {
    case 'library':
      return buildLibrary(kit);
    case 'forge':
      return buildForge(kit);
    case 'assay':
      return buildAssay(kit);
    case 'archive':
      return buildArchive(kit);
    case 'counting':
      return buildCountingHouse(kit);
    case 'workshop':
      return buildWorkshop(kit);
  }
}

/** A shelf of books, a pile of books, an open book on a stand. */
function buildLibrary(kit: Kit): void {
  const { mesh } = kit;
  const random = randomSequence(97);
  const wood = kit.matte(WOOD);
  mesh.box([1.3, 0.08, 0.42], [-1.3, 0, 0], wood);
  mesh.box([0.08, 1.25, 0.42], [-1.95, 0, 0], wood).box([0.08, 1.25, 0.42], [-0.65, 0, 0], wood);
  mesh.box([1.42, 0.08, 0.46], [-1.3, 1.22, 0], kit.matte(WOOD_LIGHT));
  mesh.box([1.3, 0.05, 0.4], [-1.3, 0.6, 0], wood).box([1.3, 1.2, 0.05], [-1.3, 0.02, -0.18], kit.matte('#3C2B20'));
  const covers = [kit.color, '#D8C8A8', '#8A3F36', '#3F5F96', '#B58A46', '#2F4A78', '#E9DDC6'];
  for (const y of [0.08, 0.65]) {
    let x = -1.88;
    while (x < -0.76) {
      const width = 0.06 + random() * 0.06;
      const height = 0.34 + random() * 0.14;
      const cover = covers[Math.floor(random() * covers.length)] ?? kit.color;
      mesh.box([width * 0.9, height, 0.26], [x + width / 2, y, 0.02], kit.matte(cover), { z: random() < 0.1 ? 0.12 : 0 });
      x += width;
    }
  }
  const pile: [string, number, number][] = [['#8A3F36', 0.5, 0.1], [kit.color, 0.46, 0.3], ['#D8C8A8', 0.42, -0.2], ['#3F5F96', 0.38, 0.5]];
  pile.forEach(([cover, width, turn], i) => {
    mesh.box([width, 0.11, width * 0.72], [0.05, i * 0.11, 0.1], kit.matte(cover), { y: turn });
    mesh.box([width * 0.96, 0.07, width * 0.7], [0.06, i * 0.11 + 0.02, 0.115], kit.matte('#E9DDC6'), { y: turn });
  });
  mesh.cylinder([0.07, 0.12], 0.62, [1.25, 0, 0], kit.matte(WOOD_LIGHT), 10);
  mesh.box([0.62, 0.06, 0.46], [1.25, 0.62, 0], wood, { x: 0.35 });
  mesh.box([0.27, 0.05, 0.38], [1.11, 0.68, 0.01], kit.matte(COLOR.ivory), { x: 0.35, z: 0.12 });
  mesh.box([0.27, 0.05, 0.38], [1.39, 0.68, 0.01], kit.matte(COLOR.ivory), { x: 0.35, z: -0.12 });
}

/** A furnace with fire, an anvil with glowing iron, brass bars with a hammer. */
function buildForge(kit: Kit): void {
  const { mesh } = kit;
  const brick = kit.matte('#6A4F4A');
  const soot = kit.matte('#4D3A3A');
  mesh.box([1.1, 0.75, 0.85], [-1.35, 0, -0.05], brick).box([1.2, 0.1, 0.95], [-1.35, 0.75, -0.05], soot);
  mesh.add(new CylinderGeometry(0.16, 0.34, 0.95, 4), moved(-1.35, 1.3, -0.1, { y: Math.PI / 4 }), brick);
  mesh.box([0.3, 0.1, 0.3], [-1.35, 1.75, -0.1], soot);
  mesh.add(new CircleGeometry(0.28, 14, 0, Math.PI), moved(-1.35, 0.16, 0.39), kit.glow('#FF7A2E'));
  mesh.box([0.56, 0.14, 0.02], [-1.35, 0.04, 0.375], kit.glow('#FF9A3E'));
  mesh.cylinder([0.22, 0.28], 0.34, [0, 0, 0.05], kit.matte(WOOD_LIGHT), 14);
  mesh.box([0.36, 0.12, 0.26], [0, 0.34, 0.05], kit.matte(IRON)).box([0.7, 0.16, 0.26], [0, 0.46, 0.05], kit.matte(STEEL));
  mesh.add(new ConeGeometry(0.13, 0.36, 6), moved(0.5, 0.54, 0.05, { z: -Math.PI / 2 }), kit.matte(STEEL));
  mesh.box([0.34, 0.035, 0.09], [-0.04, 0.625, 0.05], kit.glow('#FF8A3A'));
  for (let i = 0; i < 3; i++) {
    const isTop = i === 2;
    mesh.box([0.5, 0.12, 0.2], [1.25 + (isTop ? 0.1 : 0), isTop ? 0.12 : 0, isTop ? 0 : (i - 0.5) * 0.28], kit.metal());
  }
  mesh.box([0.05, 0.8, 0.05], [1.75, 0, -0.15], kit.matte(WOOD_LIGHT), { z: 0.25 });
  mesh.box([0.26, 0.15, 0.15], [1.65, 0.75, -0.15], kit.matte(IRON), { z: 0.25 });
}

/** Scales, a glass flask, crystals. */
function buildAssay(kit: Kit): void {
  const { mesh } = kit;
  const brass = kit.metal();
  mesh.cylinder([0.045, 0.055], 1.15, [-1.2, 0, 0], brass, 10).cylinder([0.3, 0.34], 0.08, [-1.2, 0, 0], brass, 20);
  mesh.box([1.15, 0.045, 0.05], [-1.2, 1.12, 0], brass, { z: 0.09 }).sphere(0.08, [-1.2, 1.2, 0], brass, [12, 8]);
  for (const side of [-1, 1]) {
    const x = -1.2 + side * 0.54;
    mesh.cylinder([0.21, 0.08], 0.07, [x, 0.6 + side * 0.05, 0], brass, 18);
    for (const lean of [-1, 1]) {
      mesh.cylinder([0.01, 0.01], 0.52, [x + lean * 0.09, 0.63 + side * 0.05, 0], brass, 4, { z: lean * 0.17 });
    }
  }
  mesh.cylinder([0.26, 0.3], 0.16, [0.1, 0, 0], kit.matte('#6B7594'), 18);
  mesh.sphere(0.25, [0.1, 0.42, 0], kit.glow(mixed(kit.color, '#FFFFFF', 0.12), 0.75), [18, 12]);
  mesh.cylinder([0.06, 0.09], 0.3, [0.1, 0.58, 0], kit.glow(kit.color, 0.5), 12).cylinder([0.09, 0.09], 0.04, [0.1, 0.86, 0], brass, 12);
  const deep = new Color(kit.color).multiplyScalar(0.55).lerp(new Color(kit.color), 0.35);
  const crystals: [number, number, number, number, number][] = [
    [1.15, 0, 0.62, 0.17, 0.1], [1.4, 0.12, 0.42, 0.13, -0.35], [0.98, 0.14, 0.36, 0.12, 0.4], [1.3, -0.2, 0.34, 0.1, -0.15],
  ];
  for (const [x, z, height, width, lean] of crystals) {
    mesh.add(new CylinderGeometry(width * 0.75, width, height, 6), moved(x, height / 2, z, { z: lean }), kit.glow(deep, 0.7));
    const up = height * 0.5 + width * 0.6;
    const tip = moved(x - Math.sin(lean) * up, height / 2 + Math.cos(lean) * up, z, { z: lean });
    mesh.add(new ConeGeometry(width * 0.75, width * 1.3, 6), tip, kit.glow(kit.color, 0.7));
  }
}

/** A cabinet of drawers, a stack of scrolls, an urn. */
function buildArchive(kit: Kit): void {
  const { mesh } = kit;
  mesh.box([1.15, 1.1, 0.5], [-1.3, 0, -0.05], kit.matte(WOOD_LIGHT));
  for (let column = 0; column < 3; column++) {
    for (let row = 0; row < 4; row++) {
      const x = -1.67 + column * 0.37;
      mesh.box([0.33, 0.22, 0.03], [x, 0.06 + row * 0.26, 0.2], kit.matte('#8D6B55'));
      mesh.sphere(0.03, [x, 0.17 + row * 0.26, 0.23], kit.metal(), [8, 5]);
    }
  }
  mesh.box([1.25, 0.07, 0.6], [-1.3, 1.1, -0.05], kit.matte(new Color(kit.color).multiplyScalar(0.6)));
  const stack: [number, number][] = [[-1, 0], [0, 0], [1, 0], [-0.5, 1], [0.5, 1], [0, 2]];
  for (const [across, row] of stack) {
    const at = [0.1 + across * 0.27, 0.14 + row * 0.235] as const;
    mesh.add(new CylinderGeometry(0.13, 0.13, 0.62, 14), moved(at[0], at[1], 0, { x: Math.PI / 2 }), kit.matte(COLOR.ivory));
    mesh.add(new CylinderGeometry(0.138, 0.138, 0.09, 14), moved(at[0], at[1], 0.1, { x: Math.PI / 2 }), kit.matte(kit.color));
  }
  const urn: [number, number][] = [
    [0.2, 0], [0.17, 0.05], [0.27, 0.2], [0.33, 0.38], [0.3, 0.58], [0.19, 0.7], [0.16, 0.75], [0.22, 0.84], [0.18, 0.84], [0, 0.78],
  ];
  mesh.lathe(urn, moved(1.3, 0, 0), kit.matte('#7D5A7C'), 22);
  mesh.torus(0.33, 0.018, moved(1.3, 0.4, 0, { x: Math.PI / 2 }), kit.metal(), [5, 24]);
  mesh.torus(0.17, 0.018, moved(1.3, 0.75, 0, { x: Math.PI / 2 }), kit.metal(), [5, 20]);
}

/** A strongbox, stacks of coins, an abacus. */
function buildCountingHouse(kit: Kit): void {
  const { mesh } = kit;
  const random = randomSequence(41);
  const brass = kit.metal();
  mesh.box([1, 0.52, 0.6], [-1.25, 0, 0], kit.matte(WOOD_LIGHT));
  mesh.add(new CylinderGeometry(0.3, 0.3, 1, 16, 1, false, 0, Math.PI), moved(-1.25, 0.52, 0, { z: Math.PI / 2 }), kit.matte(WOOD));
  for (const x of [-1.62, -0.88]) mesh.box([0.09, 0.54, 0.63], [x, 0, 0], brass);
  mesh.box([0.2, 0.2, 0.06], [-1.25, 0.38, 0.31], brass);
  const stacks: [number, number, number][] = [[0, 0.1, 9], [0.3, -0.05, 6], [0.1, -0.25, 12], [0.38, 0.25, 3], [-0.22, 0.25, 4]];
  for (const [x, z, count] of stacks) {
    for (let i = 0; i < count; i++) {
      mesh.cylinder([0.13, 0.13], 0.043, [x + (random() - 0.5) * 0.03, i * 0.05, z + (random() - 0.5) * 0.03], kit.metal(kit.color), 12);
    }
  }
  const wood = kit.matte(WOOD);
  mesh.box([0.06, 0.8, 0.08], [0.95, 0, 0], wood).box([0.06, 0.8, 0.08], [1.75, 0, 0], wood);
  mesh.box([0.86, 0.06, 0.08], [1.35, 0.76, 0], wood).box([0.86, 0.06, 0.08], [1.35, 0, 0], wood);
  for (let row = 0; row < 3; row++) {
    mesh.add(new CylinderGeometry(0.012, 0.012, 0.8, 5), moved(1.35, 0.22 + row * 0.2, 0, { z: Math.PI / 2 }), brass);
    let x = 1.02;
    for (let bead = 0; bead < 6; bead++) {
      mesh.sphere(0.055, [x, 0.22 + row * 0.2, 0], kit.matte(bead < 2 + row ? kit.color : COLOR.ivory), [8, 6]);
      x += 0.09 + (bead === 1 + row ? 0.16 : 0);
    }
  }
}

/** A bench with tools, a gear, a barrel of planks. */
function buildWorkshop(kit: Kit): void {
  const { mesh } = kit;
  mesh.box([1.25, 0.09, 0.6], [-1.25, 0.58, 0], kit.matte(WOOD_LIGHT));
  for (const [x, z] of [[-1.8, 0.22], [-0.7, 0.22], [-1.8, -0.22], [-0.7, -0.22]] as const) mesh.box([0.1, 0.6, 0.1], [x, 0, z], kit.matte(WOOD));
  mesh.box([0.24, 0.2, 0.22], [-0.85, 0.67, 0.05], kit.matte(IRON)).box([0.3, 0.06, 0.12], [-1.5, 0.67, 0.05], kit.matte(COLOR.ivory));
  mesh.box([0.05, 0.05, 0.5], [-1.2, 0.67, 0], kit.matte('#8A94A8'), { y: 0.6 });
  const gear = Array.from({ length: 48 }, (_, i) => {
    const angle = (i / 48) * Math.PI * 2;
    const radius = i % 6 < 3 ? 0.48 : 0.38;
    return [Math.sin(angle) * radius, Math.cos(angle) * radius] as const;
  });
  mesh.plate(gear, 0.12, moved(0.15, 0.46, 0.06, { y: 0.15, x: -0.22 }), kit.metal('#9AA1AE'));
  const hub = Array.from({ length: 20 }, (_, i) => [Math.sin((i / 20) * Math.PI * 2) * 0.15, Math.cos((i / 20) * Math.PI * 2) * 0.15] as const);
  mesh.plate(hub, 0, moved(0.15, 0.46, 0.06, { y: 0.15, x: -0.22 }).multiply(moved(0, 0, 0.004)), kit.matte('#20242F'));
  const barrel: [number, number][] = [[0.28, 0], [0.34, 0.2], [0.35, 0.35], [0.34, 0.5], [0.28, 0.7], [0.24, 0.7], [0.22, 0.6], [0, 0.6]];
  mesh.lathe(barrel, moved(1.3, 0, 0), kit.matte(WOOD_LIGHT), 20);
  for (const y of [0.14, 0.54]) mesh.torus(0.328, 0.02, moved(1.3, y, 0, { x: Math.PI / 2 }), kit.metal(), [5, 24]);
  mesh.box([0.09, 1.1, 0.06], [1.25, 0.2, 0.05], kit.matte('#A98D66'), { x: 0.1, z: 0.15 });
  mesh.box([0.07, 1.0, 0.06], [1.38, 0.2, -0.05], kit.matte('#C3A67A'), { x: -0.1, z: -0.12 });
}
