// The way from the rendered scene to the screen: bloom by night, then one pass for tone, vignette and colour.

import { HalfFloatType, Vector2, WebGLRenderTarget } from 'three';
import type { Camera, Scene, WebGLRenderer } from 'three';
import { EffectComposer } from 'three/addons/postprocessing/EffectComposer.js';
import { RenderPass } from 'three/addons/postprocessing/RenderPass.js';
import { ShaderPass } from 'three/addons/postprocessing/ShaderPass.js';
import { UnrealBloomPass } from 'three/addons/postprocessing/UnrealBloomPass.js';
import type { Quality, Theme } from '../stage';
import { clamp } from './motion';
import { THEMES } from './palette';

const FINISH = {
  name: 'finish',
  uniforms: {
    tDiffuse: { value: null },
    exposure: { value: 1 },
    vignette: { value: 0.2 },
    isNight: { value: 1 },
  },
  vertexShader: 'varying vec2 vUv; void main() { vUv = uv; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }',
  // The curve is the ACES fit that three uses; written out, because three applies its own only on the screen.
  fragmentShader: `
varying vec2 vUv; uniform sampler2D tDiffuse; uniform float exposure, vignette, isNight;
vec3 curve(vec3 v) { vec3 a = v * (v + 0.0245786) - 0.000090537; vec3 b = v * (0.983729 * v + 0.4329510) + 0.238081; return a / b; }
vec3 filmic(vec3 color) {
  const mat3 into = mat3(0.59719, 0.07600, 0.02840, 0.35458, 0.90834, 0.13383, 0.04823, 0.01566, 0.83777);
  const mat3 back = mat3(1.60475, -0.10208, -0.00327, -0.53108, 1.10813, -0.07276, -0.07367, -0.00605, 1.07602);
  return clamp(back * curve(into * (color * exposure / 0.6)), 0.0, 1.0);
}
vec3 encode(vec3 c) { return mix(pow(c, vec3(0.41666)) * 1.055 - 0.055, c * 12.92, vec3(lessThanEqual(c, vec3(0.0031308)))); }
float hash(vec2 p) { return fract(sin(dot(p, vec2(12.9898, 78.233))) * 43758.5453); }
void main() {
  vec3 k = encode(filmic(max(texture2D(tDiffuse, vUv).rgb, 0.0)));
  float d = length((vUv - 0.5) * vec2(1.05, 1.0));
  k *= 1.0 - vignette * smoothstep(0.38, 0.85, d);
  if (isNight > 0.5) {
    float l = dot(k, vec3(0.299, 0.587, 0.114));
    k = mix(k, k * vec3(0.93, 0.98, 1.10), (1.0 - smoothstep(0.0, 0.35, l)) * 0.6);
    k = mix(vec3(l), k, 1.08);
  }
  // A little noise hides the steps in dark gradients.
  k += (hash(gl_FragCoord.xy) - 0.5) / 255.0;
  gl_FragColor = vec4(k, 1.0);
}`,
};

export class Post {
  private readonly composer: EffectComposer;
  private readonly bloom: UnrealBloomPass;
  private readonly finish: ShaderPass;

  constructor(renderer: WebGLRenderer, scene: Scene, camera: Camera) {
    const target = new WebGLRenderTarget(1, 1, { type: HalfFloatType, samples: 4 });
    this.composer = new EffectComposer(renderer, target);
    this.composer.addPass(new RenderPass(scene, camera));
    this.bloom = new UnrealBloomPass(new Vector2(1, 1), 0, 0, 1);
    this.composer.addPass(this.bloom);
    this.finish = new ShaderPass(FINISH);
    this.composer.addPass(this.finish);
  }

  setLook(theme: Theme, quality: Quality): void {
    const look = THEMES[theme];
    this.bloom.enabled = look.bloom !== null && quality === 'full';
    if (look.bloom) [this.bloom.strength, this.bloom.threshold] = look.bloom;
    this.finish.uniforms.exposure!.value = look.exposure;
    this.finish.uniforms.vignette!.value = look.vignette;
    this.finish.uniforms.isNight!.value = theme === 'night' ? 1 : 0;
  }

  setSize(width: number, height: number, pixelRatio: number): void {
    this.composer.setPixelRatio(pixelRatio);
    this.composer.setSize(width, height);
    // The blur is so many pixels wide: with more pixels its wider levels count more, so that the glow keeps its size.
    this.bloom.radius = clamp(0.5 * (pixelRatio - 1), 0, 0.5);
  }

  render(): void {
    this.composer.render();
  }

  dispose(): void {
    for (const pass of this.composer.passes) pass.dispose();
    this.composer.dispose();
  }
}
