// Things that always face the eye: soft glows and motes, and the emblems above the hoods. One draw call each.

import {
  AddEquation, CustomBlending, OneFactor, OneMinusSrcAlphaFactor, PlaneGeometry, ShaderMaterial,
} from 'three';
import type { Mesh, Texture } from 'three';
import type { Condition } from '../stage';
import { ATLAS_COLUMNS, ATLAS_ROWS, CELL_UNITS, emblemCell, emblemStyle } from './emblems';
import { InstancedShapes, fill } from './instances';
import type { EmblemName } from './palette';

const GLOW_VERTEX = `
attribute vec4 spot;  // position, size
attribute vec4 tone;  // colour, opacity
attribute float cover; // 0 adds light, 1 covers
varying vec2 vP; varying vec4 vTone; varying float vCover;
void main() {
  vP = position.xy * 2.0; vTone = tone; vCover = cover;
  vec4 view = viewMatrix * vec4(spot.xyz, 1.0);
  view.xy += position.xy * spot.w;
  gl_Position = projectionMatrix * view;
}`;

const GLOW_FRAGMENT = `
varying vec2 vP; varying vec4 vTone; varying float vCover;
void main() {
  float r = length(vP);
  if (r > 1.0) discard;
  float fall = 1.0 - r;
  float a = (0.55 * pow(fall, 5.0) + 0.45 * pow(fall, 2.2)) * vTone.a;
  gl_FragColor = vec4(vTone.rgb * a, a * vCover);
}`;

export class Glows {
  private readonly quads: InstancedShapes;
  private readonly spare: [number[], number[], number[]] = [[], [], []];
  private readonly material = new ShaderMaterial({
    vertexShader: GLOW_VERTEX,
    fragmentShader: GLOW_FRAGMENT,
    transparent: true,
    depthWrite: false,
    blending: CustomBlending,
    blendEquation: AddEquation,
    blendSrc: OneFactor,
    blendDst: OneMinusSrcAlphaFactor,
  });

  constructor() {
    this.quads = new InstancedShapes(new PlaneGeometry(1, 1), this.material, { spot: 4, tone: 4, cover: 1 });
    this.quads.mesh.renderOrder = 5;
  }

  get mesh(): Mesh {
    return this.quads.mesh;
  }

  clear(): void {
    this.quads.clear();
  }

  /** `size` is the diameter. */
  add(x: number, y: number, z: number, size: number, color: ArrayLike<number>, opacity: number, kind: 'light' | 'dust' = 'light'): void {
    const { spare } = this;
    this.quads.add(
      fill(spare[0], x, y, z, size),
      fill(spare[1], color[0] ?? 0, color[1] ?? 0, color[2] ?? 0, opacity),
      fill(spare[2], kind === 'light' ? 0 : 1, 0, 0, 0),
    );
  }

  finish(): void {
    this.quads.finish();
  }

  dispose(): void {
    this.quads.dispose();
    this.material.dispose();
  }
}

const EMBLEM_VERTEX = `
attribute vec4 spot;  // position, size
attribute vec4 tone;  // colour, opacity
attribute vec2 cell;
varying vec2 vUv; varying vec4 vTone;
void main() {
  vUv = (cell + vec2(uv.x, 1.0 - uv.y)) / vec2(${ATLAS_COLUMNS}.0, ${ATLAS_ROWS}.0);
  vUv.y = 1.0 - vUv.y;
  vTone = tone;
  vec4 view = viewMatrix * vec4(spot.xyz, 1.0);
  view.xy += position.xy * spot.w;
  gl_Position = projectionMatrix * view;
}`;

const EMBLEM_FRAGMENT = `
varying vec2 vUv; varying vec4 vTone;
uniform sampler2D atlas;
void main() {
  vec4 t = texture2D(atlas, vUv);
  float w = max(fwidth(t.a), 0.02);
  float a = clamp((t.a - 0.5) / w + 0.5, 0.0, 1.0) * vTone.a;
  if (a < 0.02) discard;
  vec3 shade = t.rgb / max(t.a, 0.2);
  gl_FragColor = vec4(vTone.rgb * (0.35 + 0.75 * shade), a);
}`;

export class Emblems {
  private readonly quads: InstancedShapes;
  private readonly spare: [number[], number[]] = [[], []];
  private readonly material: ShaderMaterial;

  constructor(atlas: Texture) {
    this.material = new ShaderMaterial({
      uniforms: { atlas: { value: atlas } },
      vertexShader: EMBLEM_VERTEX,
      fragmentShader: EMBLEM_FRAGMENT,
      transparent: true,
      depthWrite: false,
    });
    this.quads = new InstancedShapes(new PlaneGeometry(1, 1), this.material, { spot: 4, tone: 4, cell: 2 });
    this.quads.mesh.renderOrder = 4;
  }

  get mesh(): Mesh {
    return this.quads.mesh;
  }

  clear(): void {
    this.quads.clear();
  }

  /** `size` is the emblem's unit: half its height. */
  add(
    x: number, y: number, z: number, size: number, name: EmblemName, condition: Condition, color: ArrayLike<number>, opacity: number,
  ): void {
    const { spare } = this;
    this.quads.add(
      fill(spare[0], x, y, z, size * 2 * CELL_UNITS),
      fill(spare[1], color[0] ?? 0, color[1] ?? 0, color[2] ?? 0, opacity),
      emblemCell(name, emblemStyle(condition)),
    );
  }

  finish(): void {
    this.quads.finish();
  }

  dispose(): void {
    this.quads.dispose();
    this.material.dispose();
  }
}
