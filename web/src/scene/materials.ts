// The lit materials: three's standard material with a few lines added. Each is one program for all things of its kind.
//
// The four material numbers of a vertex (`surface`):
//   hall and props: metal, glow, ring that the vertex follows when the hall widens, share of the instance's tint
//   figures:        share of the robe's colour, of the trim, of the skin; metal

import { Color, DoubleSide, MeshDepthMaterial, MeshStandardMaterial, RGBADepthPacking, Vector2 } from 'three';
import type { Material, WebGLProgramParametersWithUniforms } from 'three';
import { RINGS_MAX } from './layout';

/** Rings, the dais and the apron. */
export const LEVELS = RINGS_MAX + 2;

/** Numbers that several materials read. They change from frame to frame. */
export interface SharedUniforms {
  /** Stage time in seconds. */
  readonly time: { value: number };
  /** How much brighter than its colour a glowing surface is. */
  readonly glow: { value: number };
  /** How far the outer edge of each ring is from its final radius, while the hall widens. */
  readonly shift: { value: number[] };
  /** Outside this radius the floor is higher by this much, while the hall gets another ring. */
  readonly sink: { value: Vector2 };
  /** How metallic brass is: less without the environment that it mirrors. */
  readonly metal: { value: number };
  /** Light on the edges of the figures. */
  readonly rim: { value: Color };
}

export function newSharedUniforms(): SharedUniforms {
  return {
    time: { value: 0 },
    glow: { value: 1 },
    shift: { value: new Array<number>(LEVELS).fill(0) },
    sink: { value: new Vector2(1e6, 0) },
    metal: { value: 0.92 },
    rim: { value: new Color(0) },
  };
}

type Hook = (shader: WebGLProgramParametersWithUniforms) => void;

function hook(material: Material, key: string, change: Hook): void {
  material.onBeforeCompile = change;
  material.customProgramCacheKey = () => key;
}

function insertAfter(source: string, chunk: string, text: string): string {
  return source.replace(`#include <${chunk}>`, `#include <${chunk}>\n${text}`);
}

const SHIFT_HEADER = `
uniform float shift[${LEVELS}];
uniform vec2 sink;
vec3 shifted(vec3 p, float level) {
  float r = length(p.xz);
  float moved = r + shift[int(level + 0.5)];
  vec3 q = p;
  if (r > 0.001) q.xz *= moved / r;
  if (r > sink.x) q.y += sink.y;
  return q;
}
`;

/** What a material of stone, wood, brass and lamps adds to the vertex shader. */
interface VertexPart {
  readonly header: string;
  /** The chunk of three's shader after which the body comes. */
  readonly chunk: string;
  readonly body: string;
}

/** A material whose vertices say how metallic they are and how much they glow. */
function surfaceMaterial(key: string, roughness: number, shared: SharedUniforms, uniforms: Partial<SharedUniforms>, part: VertexPart): MeshStandardMaterial {
  const material = new MeshStandardMaterial({ vertexColors: true, roughness });
  hook(material, key, (shader) => {
    Object.assign(shader.uniforms, { ...uniforms, glowGain: shared.glow, metalGain: shared.metal });
    shader.vertexShader = `attribute vec4 surface; varying vec2 vSurface;\n${part.header}${shader.vertexShader}`;
    shader.vertexShader = insertAfter(shader.vertexShader, part.chunk, `vSurface = surface.xy; ${part.body}`);
    shader.fragmentShader = `varying vec2 vSurface; uniform float glowGain, metalGain;\n${shader.fragmentShader}`;
    shader.fragmentShader = insertAfter(shader.fragmentShader, 'roughnessmap_fragment', 'roughnessFactor = mix(roughnessFactor, 0.42, vSurface.x);');
    shader.fragmentShader = insertAfter(shader.fragmentShader, 'metalnessmap_fragment', 'metalnessFactor = vSurface.x * metalGain;');
    shader.fragmentShader = insertAfter(
      shader.fragmentShader,
      'emissivemap_fragment',
      'totalEmissiveRadiance += diffuseColor.rgb * vSurface.y * glowGain; diffuseColor.rgb *= 1.0 - vSurface.y;',
    );
  });
  return material;
}

/** Stone, wood, brass and lamps that do not move. */
export function hallMaterial(shared: SharedUniforms): MeshStandardMaterial {
  const { shift, sink } = shared;
  const part = { header: SHIFT_HEADER, chunk: 'begin_vertex', body: 'transformed = shifted(transformed, surface.z);' };
  return surfaceMaterial('hall', 0.88, shared, { shift, sink }, part);
}

/** Small things that stand beside figures or fly: many of them, each with a tint. */
export function propMaterial(shared: SharedUniforms): MeshStandardMaterial {
  const part = { header: 'attribute vec3 tint;\n', chunk: 'color_vertex', body: 'vColor.rgb *= mix(vec3(1.0), tint, surface.w);' };
  return surfaceMaterial('prop', 0.85, shared, {}, part);
}

/** The shadow of the hall follows its rings. */
export function hallDepthMaterial(shared: SharedUniforms): MeshDepthMaterial {
  const material = new MeshDepthMaterial({ depthPacking: RGBADepthPacking, side: DoubleSide });
  hook(material, 'hall-depth', (shader) => {
    Object.assign(shader.uniforms, { shift: shared.shift, sink: shared.sink });
    shader.vertexShader = 'attribute vec4 surface;' + SHIFT_HEADER + shader.vertexShader;
    shader.vertexShader = insertAfter(
      shader.vertexShader,
      'begin_vertex',
      'transformed = shifted(transformed, surface.z);',
    );
  });
  return material;
}

const FIGURE_VERTEX = `
attribute vec4 surface;
attribute vec3 robe;
attribute vec3 trim;
attribute vec3 skin;
attribute vec3 light;
attribute vec4 effect; // height of the clipping plane, opacity, strength of the light, edge light
varying float vMetal;
varying float vHeight;
varying vec3 vLight;
varying vec4 vEffect;
`;

/** Figures: cloth, skin and brass in the colours of the instance. */
export function figureMaterial(shared: SharedUniforms): MeshStandardMaterial {
  // Alpha to coverage draws forks translucent without sorting, in the same draw call as everyone else.
  const material = new MeshStandardMaterial({ vertexColors: true, roughness: 0.85, alphaToCoverage: true });
  hook(material, 'figure', (shader) => {
    Object.assign(shader.uniforms, { rimLight: shared.rim, metalGain: shared.metal });
    shader.vertexShader = FIGURE_VERTEX + shader.vertexShader;
    shader.vertexShader = insertAfter(
      shader.vertexShader,
      'color_vertex',
      `float own = max(0.0, 1.0 - surface.x - surface.y - surface.z);
       vColor.rgb *= surface.x * robe + surface.y * trim + surface.z * skin + vec3(own);
       vMetal = surface.w; vLight = light; vEffect = effect;`,
    );
    shader.vertexShader = insertAfter(
      shader.vertexShader,
      'begin_vertex',
      'vHeight = (modelMatrix * instanceMatrix * vec4(transformed, 1.0)).y;',
    );
    shader.fragmentShader = `varying float vMetal; varying float vHeight; varying vec3 vLight; varying vec4 vEffect;
      uniform vec3 rimLight; uniform float metalGain;\n${shader.fragmentShader}`;
    shader.fragmentShader = insertAfter(
      shader.fragmentShader,
      'color_fragment',
      'if (vHeight < vEffect.x) discard; diffuseColor.a = vEffect.y;',
    );
    shader.fragmentShader = insertAfter(shader.fragmentShader, 'roughnessmap_fragment', 'roughnessFactor = mix(0.85, 0.42, vMetal);');
    shader.fragmentShader = insertAfter(shader.fragmentShader, 'metalnessmap_fragment', 'metalnessFactor = vMetal * metalGain;');
    shader.fragmentShader = insertAfter(
      shader.fragmentShader,
      'emissivemap_fragment',
      `float near = clamp(1.0 - (vHeight - vEffect.x) / 0.75, 0.0, 1.0);
       totalEmissiveRadiance += vLight * vEffect.z * (pow(near, 4.0) * 0.26 + pow(near, 26.0) * 0.9);
       float edge = 1.0 - abs(dot(normalize(normal), normalize(vViewPosition)));
       totalEmissiveRadiance += (rimLight * diffuseColor.rgb + vLight * (1.0 - vEffect.y)) * vEffect.w * pow(edge, 2.5);`,
    );
  });
  return material;
}

/** A figure that rises casts the shadow of its visible part only. */
export function figureDepthMaterial(): MeshDepthMaterial {
  const material = new MeshDepthMaterial({ depthPacking: RGBADepthPacking });
  hook(material, 'figure-depth', (shader) => {
    shader.vertexShader = 'attribute vec4 effect; varying vec2 vClip;\n' + shader.vertexShader;
    shader.vertexShader = insertAfter(
      shader.vertexShader,
      'begin_vertex',
      'vClip = vec2((modelMatrix * instanceMatrix * vec4(transformed, 1.0)).y, effect.x);',
    );
    shader.fragmentShader = 'varying vec2 vClip;\n' + shader.fragmentShader;
    shader.fragmentShader = insertAfter(shader.fragmentShader, 'map_fragment', 'if (vClip.x < vClip.y) discard;');
  });
  return material;
}
