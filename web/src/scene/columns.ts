// The column of light behind a figure that rises through its portal. Only its inner back side is drawn, so it never covers
// the figure.

import { AddEquation, BackSide, CustomBlending, CylinderGeometry, OneFactor, OneMinusSrcAlphaFactor, ShaderMaterial } from 'three';
import type { Mesh } from 'three';
import { InstancedShapes } from './instances';
import type { SharedUniforms } from './materials';

const HEIGHT = 2.3;

const VERTEX = `
attribute vec4 foot; // position, how far it is open
attribute vec4 tone; // colour, strength
varying vec2 vUv; varying vec4 vTone;
void main() {
  vUv = uv; vTone = tone;
  vec3 p = vec3(position.x * foot.w, (position.y + 0.5) * ${HEIGHT} * (0.4 + 0.6 * foot.w), position.z * foot.w);
  gl_Position = projectionMatrix * viewMatrix * vec4(foot.xyz + p, 1.0);
}`;

const FRAGMENT = `
varying vec2 vUv; varying vec4 vTone;
uniform float time; uniform float cover;
float hash(float p) { return fract(sin(p * 127.1) * 43758.5453); }
void main() {
  float x = vUv.x * 40.0; float i = floor(x);
  float streak = mix(hash(i), hash(mod(i + 1.0, 40.0)), smoothstep(0.0, 1.0, fract(x)));
  float v = vUv.y;
  float a = pow(1.0 - v, 2.2) * (0.25 + 0.75 * streak) * smoothstep(0.0, 0.03, v);
  a *= (0.75 + 0.25 * sin(time * 2.0 + streak * 9.0)) * vTone.w;
  gl_FragColor = vec4(mix(vTone.rgb, vec3(1.0), 0.08) * a, a * cover);
}`;

export class LightColumns {
  private readonly shapes: InstancedShapes;
  private readonly material: ShaderMaterial;

  constructor(shared: SharedUniforms) {
    this.material = new ShaderMaterial({
      uniforms: { time: shared.time, cover: { value: 0 } },
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      side: BackSide,
      blending: CustomBlending,
      blendEquation: AddEquation,
      blendSrc: OneFactor,
      blendDst: OneMinusSrcAlphaFactor,
    });
    this.shapes = new InstancedShapes(new CylinderGeometry(0.88, 0.65, 1, 48, 1, true), this.material, { foot: 4, tone: 4 });
    this.shapes.mesh.renderOrder = 2;
  }

  get mesh(): Mesh {
    return this.shapes.mesh;
  }

  setNight(isNight: boolean): void {
    this.material.uniforms.cover!.value = isNight ? 0 : 1;
  }

  clear(): void {
    this.shapes.clear();
  }

  add(at: { x: number; y: number; z: number }, open: number, color: ArrayLike<number>, strength: number): void {
    this.shapes.add([at.x, at.y + 0.01, at.z, open], [color[0] ?? 0, color[1] ?? 0, color[2] ?? 0, strength]);
  }

  finish(): void {
    this.shapes.finish();
  }

  dispose(): void {
    this.shapes.dispose();
    this.material.dispose();
  }
}
