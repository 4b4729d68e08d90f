// The paving: bevelled slabs and mosaic tiles in polar coordinates. One slab is a template of 20 triangles that the
// vertex shader bends to its place, so the whole floor is one draw call and follows the rings when they widen.

import { BufferAttribute, BufferGeometry, Color, MeshStandardMaterial } from 'three';
import type { Mesh } from 'three';
import type { Zone } from '../stage';
import { InstancedShapes } from './instances';
import type { Layout, Ring } from './layout';
import { LEVELS } from './materials';
import type { SharedUniforms } from './materials';
import { mixed } from './mesh-builder';
import { randomSequence } from './motion';
import { SECTORS, ZONES } from './palette';
import type { ThemeLook } from './palette';

const TURN = Math.PI * 2;
const JOINT = 0.012;
const BAND_WIDTH = 0.26;

/** The slab template. `position`: share of the angle, height in bevels, share of the radius; `inset`: bevels inwards. */
function slabTemplate(): BufferGeometry {
  const positions: number[] = [];
  const insets: number[] = [];
  const normals: number[] = [];
  const steps = 2;
  const corner = (u: number, v: number, isTop: boolean): number[] => {
    const insetU = isTop ? (u === 0 ? 1 : u === 1 ? -1 : 0) : 0;
    const insetV = isTop ? (v === 0 ? 1 : -1) : 0;
    return [u, isTop ? 0 : -1, v, insetU, insetV];
  };
  const quad = (corners: number[][], normal: readonly [number, number, number]): void => {
    for (const i of [0, 1, 2, 0, 2, 3]) {
      const c = corners[i] ?? [];
      positions.push(c[0] ?? 0, c[1] ?? 0, c[2] ?? 0);
      insets.push(c[3] ?? 0, c[4] ?? 0);
      normals.push(...normal);
    }
  };
  const s = Math.SQRT1_2;
  for (let i = 0; i < steps; i++) {
    const u0 = i / steps;
    const u1 = (i + 1) / steps;
    // Tangent (to larger angles), up, outwards.
    quad([corner(u0, 0, true), corner(u0, 1, true), corner(u1, 1, true), corner(u1, 0, true)], [0, 1, 0]);
    quad([corner(u0, 1, true), corner(u0, 1, false), corner(u1, 1, false), corner(u1, 1, true)], [0, s, s]);
    quad([corner(u0, 0, false), corner(u0, 0, true), corner(u1, 0, true), corner(u1, 0, false)], [0, s, -s]);
  }
  quad([corner(0, 0, false), corner(0, 1, false), corner(0, 1, true), corner(0, 0, true)], [-s, s, 0]);
  quad([corner(1, 0, true), corner(1, 1, true), corner(1, 1, false), corner(1, 0, false)], [s, s, 0]);
  const shape = new BufferGeometry();
  shape.setAttribute('position', new BufferAttribute(new Float32Array(positions), 3));
  shape.setAttribute('normal', new BufferAttribute(new Float32Array(normals), 3));
  shape.setAttribute('inset', new BufferAttribute(new Float32Array(insets), 2));
  return shape;
}

const FIELDS = { span: 4, lift: 4, slabColor: 3 };

const VERTEX_HEADER = `
attribute vec2 inset;
attribute vec4 span;  // inner and outer radius, first and last angle
attribute vec4 lift;  // height, bevel, ring, inner radius of the ring (negative: no shade at its foot)
attribute vec3 slabColor;
uniform float shift[${LEVELS}];
uniform vec2 sink;
uniform vec4 ringEdges[${LEVELS}]; // inner and outer radius of each ring
vec3 slabNormal; vec3 slabPosition; float slabShade;
void bendSlab() {
  float middle = (span.x + span.y) * 0.5;
  float angle = mix(span.z, span.w, position.x) + inset.x * lift.y / middle;
  float r = mix(span.x, span.y, position.z) + inset.y * lift.y;
  slabShade = lift.w < 0.0 ? 1.0 : 0.5 + 0.5 * min(1.0, (r - lift.w) / 0.55);
  int level = int(lift.z + 0.5);
  vec4 edges = ringEdges[level];
  float share = clamp((r - edges.x) / max(0.01, edges.y - edges.x), 0.0, 1.0);
  float y = lift.x + position.y * lift.y;
  if (r > sink.x) y += sink.y;
  r += mix(level > 0 ? shift[level - 1] : 0.0, shift[level], share);
  float s = sin(angle), c = cos(angle);
  slabPosition = vec3(s * r, y, c * r);
  slabNormal = normal.x * vec3(c, 0.0, -s) + vec3(0.0, normal.y, 0.0) + normal.z * vec3(s, 0.0, c);
}
`;

function zoneAtAngle(angle: number): Zone {
  let best: Zone = 'workshop';
  let bestCosine = -2;
  for (const zone of ZONES) {
    const cosine = Math.cos(angle - (SECTORS[zone].degrees * Math.PI) / 180);
    if (cosine > bestCosine) {
      bestCosine = cosine;
      best = zone;
    }
  }
  return best;
}

export class Floor {
  private readonly slabs: InstancedShapes;
  private readonly material: MeshStandardMaterial;
  private readonly edges = { value: new Array<number>(LEVELS * 4).fill(0) };
  private random = randomSequence(11);

  constructor(shared: SharedUniforms) {
    this.material = new MeshStandardMaterial({ roughness: 0.88 });
    this.material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, { shift: shared.shift, sink: shared.sink, ringEdges: this.edges });
      shader.vertexShader = `varying vec3 vSlab;${VERTEX_HEADER}${shader.vertexShader}`
        .replace('#include <beginnormal_vertex>', 'bendSlab(); vec3 objectNormal = slabNormal; vSlab = slabColor * slabShade;')
        .replace('#include <begin_vertex>', 'vec3 transformed = slabPosition;');
      shader.fragmentShader = `varying vec3 vSlab;\n${shader.fragmentShader}`.replace(
        '#include <color_fragment>',
        'diffuseColor.rgb = vSlab;',
      );
    };
    this.material.customProgramCacheKey = () => 'floor';
    this.slabs = new InstancedShapes(slabTemplate(), this.material, FIELDS);
    this.slabs.mesh.receiveShadow = true;
  }

  get mesh(): Mesh {
    return this.slabs.mesh;
  }

  /** Lays the floor of this layout. */
  lay(layout: Layout, look: ThemeLook): void {
    this.random = randomSequence(11);
    this.slabs.clear();
    const { rings, apron } = layout;
    // A large hall has larger slabs: their number stays within the limit for triangles.
    const grain = Math.min(3, Math.max(1, apron.outer / 14));
    rings.forEach((ring, level) => this.setEdges(level, ring.inner, ring.outer));
    this.setEdges(rings.length, apron.inner, apron.outer);
    const dais = rings[0];
    if (dais) this.layRow(1.47, dais.outer, 0, 0, 1, { tint: 0.1, pale: 0.35, foot: -1 }, look);
    rings.slice(1).forEach((ring, i) => this.layRing(ring, i + 1, grain, look));
    const edge = apron.outer - 0.25;
    const rows = Math.max(2, Math.round((edge - apron.inner) / (0.85 * grain)));
    this.layRows(apron.inner + 0.02, edge, apron.y, rings.length, rows, grain, look.tint * 0.55, apron.inner, look);
    this.slabs.finish();
  }

  private setEdges(level: number, inner: number, outer: number): void {
    this.edges.value[level * 4] = inner;
    this.edges.value[level * 4 + 1] = outer;
  }

  private layRing(ring: Ring, level: number, grain: number, look: ThemeLook): void {
    const bandInner = ring.outer - BAND_WIDTH;
    const rows = Math.max(2, Math.round((bandInner - ring.inner) / (0.85 * grain)));
    this.layRows(ring.inner + 0.02, bandInner, ring.y, level, rows, grain, look.tint, ring.inner, look);
    this.layBand(bandInner, ring.outer - 0.02, ring.y, level, grain, look);
  }

  private layRows(
    inner: number, outer: number, y: number, level: number, rows: number, grain: number, tint: number, foot: number, look: ThemeLook,
  ): void {
    for (let row = 0; row < rows; row++) {
      const r1 = inner + ((outer - inner) * row) / rows;
      const r2 = inner + ((outer - inner) * (row + 1)) / rows;
      this.layRow(r1, r2, y, level, grain, { tint, pale: 0, foot, stagger: (row % 2) * 0.5 }, look);
    }
  }

  private layRow(
    r1: number, r2: number, y: number, level: number, grain: number,
    style: { tint: number; pale: number; foot: number; stagger?: number }, look: ThemeLook,
  ): void {
    const middle = (r1 + r2) / 2;
    const count = 6 * Math.max(2, Math.round(((Math.PI / 3) * middle) / grain));
    const gap = JOINT / middle;
    for (let i = 0; i < count; i++) {
      const a1 = ((i + (style.stagger ?? 0)) / count) * TURN;
      const a2 = ((i + 1 + (style.stagger ?? 0)) / count) * TURN;
      const zone = zoneAtAngle((a1 + a2) / 2);
      const color = mixed(look.stone, SECTORS[zone].color, style.tint);
      if (style.pale > 0) color.lerp(new Color(look.pale), style.pale);
      color.multiplyScalar(0.86 + 0.26 * this.random());
      color.offsetHSL((this.random() - 0.5) * 0.015, 0, 0);
      const bevel = 0.035 * Math.min(2, grain);
      this.slabs.add(
        [r1 + JOINT, r2 - JOINT, a1 + gap, a2 - gap],
        [y, bevel, level, style.foot],
        [color.r, color.g, color.b],
      );
    }
  }

  private layBand(r1: number, r2: number, y: number, level: number, grain: number, look: ThemeLook): void {
    const count = 6 * Math.round(((Math.PI / 3) * r2) / (0.3 * grain));
    const gap = JOINT / r2;
    for (let i = 0; i < count; i++) {
      const a1 = (i / count) * TURN;
      const a2 = ((i + 1) / count) * TURN;
      const zone = zoneAtAngle((a1 + a2) / 2);
      const color = mixed(look.stone, SECTORS[zone].color, look.band).multiplyScalar(0.75 + 0.4 * this.random());
      this.slabs.add([r1 + 0.01, r2 - 0.01, a1 + gap, a2 - gap], [y, 0.02, level, -1], [color.r, color.g, color.b]);
    }
  }

  dispose(): void {
    this.slabs.dispose();
    this.material.dispose();
  }
}
