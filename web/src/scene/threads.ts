// The threads from hirers to their hires. A thread is a ribbon that always faces the eye: it tapers, ends in an arrowhead,
// and is dashed if the hire was refused or cancelled. All threads are one draw call.

import { BufferAttribute, BufferGeometry, ShaderMaterial, DoubleSide } from 'three';
import type { Mesh } from 'three';
import { InstancedShapes, fill } from './instances';
import type { SharedUniforms } from './materials';
import { lengthOf } from './motion';
import type { Curve } from './motion';

/** `position`: share of the way, side (-1 or 1), part (0 body, 1 arrowhead). */
function ribbon(steps: number): BufferGeometry {
  const positions: number[] = [];
  const indices: number[] = [];
  const row = (u: number, part: number): void => {
    positions.push(u, -1, part, u, 1, part);
  };
  for (let i = 0; i <= steps; i++) row(i / steps, 0);
  row(0, 1);
  row(1, 1);
  for (let i = 0; i <= steps + 1; i++) {
    if (i === steps) continue;
    const a = i * 2;
    indices.push(a, a + 1, a + 2, a + 2, a + 1, a + 3);
  }
  const shape = new BufferGeometry();
  shape.setAttribute('position', new BufferAttribute(new Float32Array(positions), 3));
  shape.setIndex(indices);
  return shape;
}

const VERTEX = `
attribute vec3 a; attribute vec3 b; attribute vec3 c; attribute vec3 d;
attribute vec4 hueFrom; // colour, opacity
attribute vec4 hueTo;   // colour, dashed
attribute vec4 shape;   // first and last share of the curve, length, width
attribute vec2 flow;    // strength of the light that runs along the thread, its phase
uniform float time; uniform float pixel;
varying vec4 vColor; varying float vAcross; varying float vAlong; varying vec2 vDash; varying float vHead;
vec3 at(float t) { float s = 1.0 - t; return s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d; }
void main() {
  float length_ = max(0.01, shape.z);
  // Near the eye a thread need not be as wide.
  float scale = shape.w * clamp(length(cameraPosition - d) / 40.0, 0.62, 1.0);
  float headShare = min(0.4, 0.21 * scale / max(0.01, 3.0 * length(d - c)));
  float last = shape.y - headShare;
  float u = position.x;
  float t = position.z < 0.5 ? mix(shape.x, last, u) : mix(last, shape.y, u);
  vec3 p = at(t);
  float e = 0.01;
  vec3 along = at(min(1.0, t + e)) - at(max(0.0, t - e));
  vec3 view = cameraPosition - p;
  vec3 side = normalize(cross(along, view));
  float pulse = position.z < 0.5 ? flow.x * pow(max(0.0, cos((u * 2.2 - time * 0.6 + flow.y) * 6.2831853)), 14.0) : 0.0;
  float wide = position.z < 0.5 ? mix(0.036, 0.02, u) * scale * (1.0 + 0.9 * pulse) : (1.0 - u) * 0.08 * scale;
  float thin = pixel * length(view) * (position.z < 0.5 ? 0.75 : 0.0);
  float fade = position.z < 0.5 ? min(1.0, wide / max(thin, 0.0001) + 0.35) : 1.0;
  p += side * position.y * max(wide, thin);
  float way = position.z < 0.5 ? u : 1.0;
  float strength = min(1.0, 0.62 + 0.38 * (1.0 - way) + 0.4 * pulse);
  vColor = vec4(mix(hueFrom.rgb, hueTo.rgb, way) * (1.0 + 1.2 * pulse), hueFrom.a * strength * fade);
  if (position.z > 0.5) vColor.a = hueFrom.a;
  vAcross = position.y; vAlong = t * length_; vDash = vec2(hueTo.a, position.z); vHead = position.z;
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}`;

const FRAGMENT = `
varying vec4 vColor; varying float vAcross; varying float vAlong; varying vec2 vDash; varying float vHead;
uniform float isNight;
void main() {
  float edge = vHead > 0.5 ? 1.0 : smoothstep(1.0, 0.5, abs(vAcross));
  float dash = 1.0;
  if (vDash.x > 0.5 && vDash.y < 0.5) {
    float x = fract(vAlong * 3.2);
    float w = fwidth(vAlong * 3.2);
    dash = smoothstep(0.0, w, x) * (1.0 - smoothstep(0.55, 0.55 + w, x));
  }
  float a = min(1.0, vColor.a) * edge * dash;
  if (a < 0.01) discard;
  vec3 k = vColor.rgb * (isNight > 0.5 ? 0.9 + 0.35 * (1.0 - abs(vAcross)) : 1.0);
  gl_FragColor = vec4(k, a);
}`;

const FIELDS = { a: 3, b: 3, c: 3, d: 3, hueFrom: 4, hueTo: 4, shape: 4, flow: 2 };

export interface ThreadLook {
  readonly from: ArrayLike<number>;
  readonly to: ArrayLike<number>;
  readonly opacity: number;
  readonly isDashed: boolean;
  readonly width: number;
  readonly flow: number;
}

/** The length of the curve, near enough. */
function curveLength({ a, b, c, d }: Curve): number {
  const chord = lengthOf(d.x - a.x, d.y - a.y, d.z - a.z);
  const handles = lengthOf(b.x - a.x, b.y - a.y, b.z - a.z) + lengthOf(c.x - b.x, c.y - b.y, c.z - b.z) + lengthOf(d.x - c.x, d.y - c.y, d.z - c.z);
  return (chord + handles) / 2;
}

export class Threads {
  private readonly fine: InstancedShapes;
  private readonly coarse: InstancedShapes;
  private current: InstancedShapes;
  private readonly material: ShaderMaterial;
  private readonly spare: [number[], number[], number[], number[], number[], number[], number[], number[]] = [[], [], [], [], [], [], [], []];

  constructor(shared: SharedUniforms) {
    this.material = new ShaderMaterial({
      uniforms: { time: shared.time, pixel: { value: 0.001 }, isNight: { value: 1 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
    });
    this.fine = new InstancedShapes(ribbon(48), this.material, FIELDS);
    this.coarse = new InstancedShapes(ribbon(14), this.material, FIELDS);
    this.current = this.fine;
    for (const mesh of this.meshes) mesh.renderOrder = 3;
  }

  get meshes(): Mesh[] {
    return [this.fine.mesh, this.coarse.mesh];
  }

  setNight(isNight: boolean): void {
    this.material.uniforms.isNight!.value = isNight ? 1 : 0;
  }

  /** The size of a pixel at distance 1. No thread gets thinner than that. */
  setPixel(size: number): void {
    this.material.uniforms.pixel!.value = size;
  }

  clear(count: number): void {
    this.fine.clear();
    this.coarse.clear();
    this.current = count > 150 ? this.coarse : this.fine;
  }

  /** `gapFrom` and `gapTo`: how far from the emblems the thread begins and ends. */
  add(curve: Curve, gapFrom: number, gapTo: number, look: ThreadLook, phase: number): void {
    const length = curveLength(curve);
    const { a, b, c, d } = curve;
    // At its ends, a curve runs at three times the distance of its handle.
    const first = Math.min(0.4, gapFrom / (3 * lengthOf(b.x - a.x, b.y - a.y, b.z - a.z)));
    const last = Math.max(0.5, 1 - gapTo / (3 * lengthOf(d.x - c.x, d.y - c.y, d.z - c.z)));
    const { from, to } = look;
    const spare = this.spare;
    this.current.add(
      fill(spare[0], a.x, a.y, a.z, 0),
      fill(spare[1], b.x, b.y, b.z, 0),
      fill(spare[2], c.x, c.y, c.z, 0),
      fill(spare[3], d.x, d.y, d.z, 0),
      fill(spare[4], from[0] ?? 0, from[1] ?? 0, from[2] ?? 0, look.opacity),
      fill(spare[5], to[0] ?? 0, to[1] ?? 0, to[2] ?? 0, look.isDashed ? 1 : 0),
      fill(spare[6], first, last, length, look.width),
      fill(spare[7], look.flow, phase, 0, 0),
    );
  }

  finish(): void {
    this.fine.finish();
    this.coarse.finish();
  }

  dispose(): void {
    this.fine.dispose();
    this.coarse.dispose();
    this.material.dispose();
  }
}
