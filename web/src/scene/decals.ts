// Flat things on the floor: the shadow at a figure's feet, the ring that tells its condition, portals. All are quads of
// one draw call; a shader draws them.

import { PlaneGeometry, ShaderMaterial, CustomBlending, OneFactor, OneMinusSrcAlphaFactor, AddEquation } from 'three';
import type { Mesh } from 'three';
import { InstancedShapes, fill } from './instances';
import { PORTAL_RADIUS } from './layout';
import type { SharedUniforms } from './materials';

/** The ring around the feet. The numbers are those in the shader. */
export const RING_STYLE = { none: 0, solid: 1, dashed: 2, open: 3, thin: 4, dotted: 5, cracks: 6 } as const;

const FIELDS = { center: 4, hue: 4, look: 4 };

const VERTEX = `
attribute vec4 center; // position, radius
attribute vec4 hue;    // colour, kind: 0 feet, 1 portal
attribute vec4 look;   // feet: ring style, ring opacity, shadow, selected; portal: open, crack, 0, opacity
varying vec2 vP;
varying vec4 vHue;
varying vec4 vLook;
varying vec2 vSeed;
void main() {
  vP = position.xy * 2.0;
  vHue = hue;
  vLook = look;
  vSeed = center.xz;
  vec3 p = center.xyz + vec3(position.x, 0.0, -position.y) * 2.0 * center.w;
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}`;

const COMMON = `
varying vec2 vP; varying vec4 vHue; varying vec4 vLook; varying vec2 vSeed;
uniform float time; uniform float isNight;
const float TURN = 6.2831853;
float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }
float noise(vec2 p) {
  vec2 i = floor(p), f = fract(p); f = f * f * (3.0 - 2.0 * f);
  return mix(mix(hash(i), hash(i + vec2(1, 0)), f.x), mix(hash(i + vec2(0, 1)), hash(i + vec2(1, 1)), f.x), f.y);
}
float band(float r, float a, float b) { float w = fwidth(r); return smoothstep(a - w, a + w, r) * (1.0 - smoothstep(b - w, b + w, r)); }
float ticks(float turn, float count, float duty) {
  float x = turn / TURN * count; float w = fwidth(x); w = w > 0.5 ? 0.0 : w;
  return 1.0 - smoothstep(duty - w, duty + w, abs(fract(x) - 0.5) * 2.0);
}
`;

const FEET = `
vec4 drawFeet() {
  float r = length(vP);
  float th = atan(vP.y, vP.x) + 3.14159265;
  int style = int(vLook.x + 0.5);
  float shade = exp(-r * r * 4.5) * vLook.z * smoothstep(1.0, 0.8, r);
  float ring = 0.0;
  // Ink on pale stone must be wider than light on dark stone.
  float inner = isNight > 0.5 ? 0.645 : 0.625;
  if (style == 1) ring = band(r, inner, 0.685);
  else if (style == 2) ring = band(r, inner, 0.685) * ticks(th + time * 0.3, 10.0, 0.55);
  else if (style == 3) ring = band(r, 0.63, 0.685) * step(0.9, mod(th + 2.2, TURN));
  else if (style == 4) ring = band(r, inner + (isNight > 0.5 ? 0.017 : 0.02), 0.685);
  else if (style == 5) ring = band(r, 0.69, 0.715) * ticks(th, 14.0, 0.42);
  else if (style == 6) {
    for (int i = 0; i < 7; i++) {
      float fi = float(i);
      float angle = fi * 0.897 + hash(vec2(fi, 3.0)) * 0.4 + (noise(vec2(r * 6.0, fi * 9.0)) - 0.5) * 0.9;
      float d = abs(sin((th - angle) * 0.5)) * r * 2.0;
      float w = 0.045 * (1.0 - smoothstep(0.35, 0.9, r));
      ring = max(ring, (1.0 - smoothstep(w, w + 0.02, d)) * step(0.28, r));
    }
  }
  ring *= vLook.y;
  float chosen = vLook.w * (band(r, 0.76, 0.82) + 0.35 * exp(-pow((r - 0.79) * 9.0, 2.0)));
  vec3 light = mix(vec3(1.0, 0.93, 0.78) * (isNight > 0.5 ? 1.5 : 0.75), vec3(0.62, 0.36, 0.05), 1.0 - isNight);
  float a = max(shade, max(ring, chosen));
  vec3 k = vHue.rgb * ring + light * chosen * (1.0 - ring);
  return vec4(k, min(1.0, a));
}
`;

const PORTAL = `
vec4 drawPortal() {
  float open = max(0.001, vLook.x);
  float r = length(vP) / open;
  if (r > 1.0) discard;
  float th = atan(vP.y, vP.x) + 3.14159265;
  vec3 c = vHue.rgb;
  float t = time;
  float spin = th + log(r + 0.05) * 3.2 - t * 1.6;
  float cloud = noise(vec2(cos(spin), sin(spin)) * 2.2 + vec2(r * 5.0 + t * 0.6, 0.0));
  float arms = pow(0.5 + 0.5 * sin(th * 3.0 + log(r + 0.04) * 7.0 + t * 2.4), 3.0);
  float well = smoothstep(0.70, 0.0, r);
  vec3 hot = mix(c, vec3(1.0, 0.98, 0.92), 0.5);
  float body = band(r, -1.0, 0.70);
  vec3 k = c * body * (0.14 + 0.7 * arms * cloud + 0.22 * cloud) + hot * pow(well, 3.0) * 0.2 * (0.7 + 0.5 * cloud);
  float a = body * 0.93;
  float r1 = band(r, 0.735, 0.75);
  float r2 = band(r, 0.775, 0.835) * ticks(th + t * 0.5, 48.0, 0.42);
  float r3 = band(r, 0.855, 0.915) * ticks(th - t * 0.35, 12.0, 0.62);
  float r4 = band(r, 0.945, 0.985);
  float marks = band(r, 0.62, 0.68) * ticks(th - t * 0.9, 6.0, 0.16);
  k += hot * (r1 * 1.2 + r4 * 1.5 + marks * 1.3) + mix(c, hot, 0.35) * (r2 * 1.1 + r3 * 0.85);
  a = max(a, max(max(r1, r4), max(r2, r3)));
  a = max(a, band(r, 0.70, 0.99) * 0.38);
  float crack = vLook.y;
  if (crack > 0.0) {
    float gap = 1.0;
    for (int i = 0; i < 6; i++) {
      float fi = float(i);
      float angle = fi * 1.047 + hash(vec2(fi, 3.0)) * 0.7;
      float wobble = (noise(vec2(r * 7.0, fi * 9.0)) - 0.5) * 0.34;
      gap = min(gap, abs(sin((th - angle - wobble) * 0.5)) * r);
    }
    float lines = (1.0 - smoothstep(0.012, 0.03, gap)) * step(r, crack * 1.02);
    float part = hash(vec2(floor(th / 1.047), 1.0));
    vec3 ash = mix(vec3(0.16, 0.06, 0.07), vec3(0.55, 0.13, 0.10), (0.35 + 0.65 * noise(vP * 3.0)) * 0.7);
    vec3 dead = ash * 0.35 * body + vec3(0.9, 0.24, 0.18) * (r4 * 0.9 * step(0.25, part) + r1 * 0.7 * step(0.4, part) + r2 * 0.35 * step(0.5, part));
    float deadA = max(body * 0.8, max(r4 * step(0.25, part), 0.4));
    k = mix(k, dead, crack);
    a = mix(a, deadA, crack);
    k = mix(k, vec3(1.0, 0.55, 0.35) * 1.35, lines * 0.9);
    a = max(a, lines);
  }
  a *= smoothstep(1.0, 0.985, r) * vLook.w;
  return vec4(k * a, a);
}
`;

export class Decals {
  private readonly quads: InstancedShapes;
  private readonly material: ShaderMaterial;
  private readonly spare: [number[], number[], number[]] = [[], [], []];

  constructor(shared: SharedUniforms) {
    this.material = new ShaderMaterial({
      uniforms: { time: shared.time, isNight: { value: 1 } },
      vertexShader: VERTEX,
      fragmentShader: `${COMMON}${FEET}${PORTAL}
        void main() { gl_FragColor = vHue.w < 0.5 ? drawFeet() : drawPortal(); if (gl_FragColor.a < 0.004) discard; }`,
      transparent: true,
      depthWrite: false,
      polygonOffset: true,
      polygonOffsetFactor: -2,
      polygonOffsetUnits: -2,
      blending: CustomBlending,
      blendEquation: AddEquation,
      blendSrc: OneFactor,
      blendDst: OneMinusSrcAlphaFactor,
    });
    this.quads = new InstancedShapes(new PlaneGeometry(1, 1), this.material, FIELDS);
    this.quads.mesh.renderOrder = 1;
  }

  get mesh(): Mesh {
    return this.quads.mesh;
  }

  setNight(isNight: boolean): void {
    this.material.uniforms.isNight!.value = isNight ? 1 : 0;
  }

  clear(): void {
    this.quads.clear();
  }

  /** The shadow and the ring at the feet of a figure of this scale. */
  addFeet(
    at: { x: number; y: number; z: number }, scale: number, color: ArrayLike<number>,
    look: { readonly ring: number; readonly ringOpacity: number; readonly shadow: number; readonly isSelected: boolean },
  ): void {
    const { spare } = this;
    this.quads.add(
      fill(spare[0], at.x, at.y + 0.014, at.z, scale),
      fill(spare[1], color[0] ?? 0, color[1] ?? 0, color[2] ?? 0, 0),
      fill(spare[2], look.ring, look.ringOpacity, look.shadow, look.isSelected ? 1 : 0),
    );
  }

  addPortal(at: { x: number; y: number; z: number }, color: ArrayLike<number>, open: number, crack: number): void {
    this.quads.add(
      [at.x, at.y + 0.025, at.z, PORTAL_RADIUS],
      [color[0] ?? 0, color[1] ?? 0, color[2] ?? 0, 1],
      [open, crack, 0, 1],
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
