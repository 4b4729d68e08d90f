// What is around the hall: the sky behind everything, the table under it, the light, and the tiny world that brass mirrors.

import {
  BackSide, CircleGeometry, Color, DirectionalLight, HemisphereLight, Mesh, PMREMGenerator, PlaneGeometry, PointLight, Scene,
  ShaderMaterial, SphereGeometry, Vector3,
} from 'three';
import type { WebGLRenderTarget, WebGLRenderer } from 'three';
import type { Quality, Theme } from '../stage';
import { LANTERN_HEIGHT, lanternFeet } from './hall';
import type { Apron } from './layout';
import { COLOR, THEMES, ZONES } from './palette';

/** Lights of portals. Their number is fixed: another number would compile all materials anew. */
const PORTAL_LIGHTS = 2;

const SKY_FRAGMENT = `
varying vec2 v; uniform vec3 top, mid, low; uniform float isNight, aspect, gain;
float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }
void main() {
  float d = length((v - vec2(0.5, 0.52)) * vec2(1.0, 0.9));
  vec3 k = mix(mid, mix(low, top, smoothstep(0.2, 0.9, v.y)), smoothstep(0.05, 0.62, d));
  if (isNight > 0.5) {
    vec2 q = v * vec2(aspect, 1.0) * 90.0; vec2 i = floor(q);
    vec2 f = fract(q) - 0.5 - (vec2(hash(i), hash(i + 7.0)) - 0.5) * 0.7;
    float star = step(0.93, hash(i + 3.0)) * smoothstep(0.085, 0.0, length(f)) * hash(i + 5.0);
    k += vec3(0.5, 0.6, 0.85) * star * smoothstep(0.3, 0.95, v.y) * smoothstep(0.25, 0.6, d);
  }
  gl_FragColor = vec4(k * gain, 1.0);
}`;

const TABLE_VERTEX = `
varying vec2 p;
void main() { vec4 w = modelMatrix * vec4(position, 1.0); p = w.xz; gl_Position = projectionMatrix * viewMatrix * w; }`;

const TABLE_FRAGMENT = `
varying vec2 p; uniform float radius, isNight;
void main() {
  float d = (length(p) - radius) / radius;
  if (isNight > 0.5) {
    float g = exp(-max(d, 0.0) * 2.6); float shade = exp(-max(d, 0.0) * 14.0);
    vec3 k = mix(vec3(0.028, 0.06, 0.12), vec3(0.004, 0.006, 0.014), shade) + vec3(1.0, 0.32, 0.07) * 0.02 * g * (1.0 - shade);
    gl_FragColor = vec4(k, g * 0.8);
  } else {
    float g = exp(-max(d, 0.0) * 6.0) * 0.5 + exp(-max(length(p - vec2(0.09, 0.07) * radius) / radius - 1.0, 0.0) * 9.0) * 0.35;
    gl_FragColor = vec4(vec3(0.14, 0.095, 0.045), g * 0.75);
  }
}`;

const MIRROR_FRAGMENT = `
varying vec3 p;
void main() {
  float y = p.y;
  vec3 a = vec3(0.10, 0.14, 0.28), b = vec3(0.95, 0.62, 0.34), c = vec3(0.34, 0.46, 0.8);
  vec3 k = y < 0.0 ? mix(b * 0.5, a * 0.4, smoothstep(0.0, -0.4, y)) : mix(b, c, smoothstep(0.0, 0.55, y));
  k += vec3(3.0, 2.4, 1.6) * smoothstep(0.93, 0.97, dot(p, normalize(vec3(0.6, 0.5, 0.7))));
  k += vec3(1.6, 2.0, 3.0) * smoothstep(0.9, 0.97, dot(p, normalize(vec3(-0.7, 0.6, -0.5))));
  gl_FragColor = vec4(k, 1.0);
}`;

/** The world that brass mirrors: a warm horizon, a cool zenith, two bright cards. */
export function makeEnvironment(renderer: WebGLRenderer): WebGLRenderTarget {
  const world = new Scene();
  const material = new ShaderMaterial({
    side: BackSide,
    vertexShader: 'varying vec3 p; void main() { p = normalize(position); gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }',
    fragmentShader: MIRROR_FRAGMENT,
  });
  const ball = new Mesh(new SphereGeometry(10, 24, 12), material);
  world.add(ball);
  const generator = new PMREMGenerator(renderer);
  const target = generator.fromScene(world, 0.03);
  generator.dispose();
  ball.geometry.dispose();
  material.dispose();
  return target;
}

export class Surroundings {
  readonly sun = new DirectionalLight();
  readonly portalLights: PointLight[] = [];
  private lantern = 0;
  private readonly hemisphere = new HemisphereLight();
  private readonly key = new PointLight(COLOR.lantern, 0, 8, 1.8);
  private readonly lanterns = ZONES.map(() => new PointLight(COLOR.lantern, 0, 7.5, 2));
  private readonly sky: Mesh<PlaneGeometry, ShaderMaterial>;
  private readonly table: Mesh<CircleGeometry, ShaderMaterial>;

  constructor(private readonly scene: Scene) {
    this.sky = new Mesh(
      new PlaneGeometry(2, 2),
      new ShaderMaterial({
        depthTest: false,
        depthWrite: false,
        uniforms: {
          top: { value: new Color() }, mid: { value: new Color() }, low: { value: new Color() },
          isNight: { value: 1 }, aspect: { value: 1 }, gain: { value: 1 },
        },
        vertexShader: 'varying vec2 v; void main() { v = uv; gl_Position = vec4(position.xy, 1.0, 1.0); }',
        fragmentShader: SKY_FRAGMENT,
      }),
    );
    this.sky.frustumCulled = false;
    this.sky.renderOrder = -10;
    this.table = new Mesh(
      new CircleGeometry(1, 96),
      new ShaderMaterial({
        transparent: true,
        depthWrite: false,
        uniforms: { radius: { value: 10 }, isNight: { value: 1 } },
        vertexShader: TABLE_VERTEX,
        fragmentShader: TABLE_FRAGMENT,
      }),
    );
    this.table.rotation.x = -Math.PI / 2;
    this.table.renderOrder = -5;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.normalBias = 0.03;
    this.sun.shadow.radius = 3.5;
    for (let i = 0; i < PORTAL_LIGHTS; i++) this.portalLights.push(new PointLight('#FFFFFF', 0, 5, 1.8));
    this.key.position.set(0.9, 3.4, 2.6);
    scene.add(this.sky, this.table, this.sun, this.sun.target, this.hemisphere, this.key, ...this.lanterns, ...this.portalLights);
  }

  /** Reduced quality has no shadows, no mirrored world and no light from portals: a flat sky light stands in for them. */
  setLook(theme: Theme, quality: Quality): void {
    const isFull = quality === 'full';
    this.sun.castShadow = isFull;
    for (const light of this.portalLights) light.visible = isFull;
    const look = THEMES[theme];
    const isNight = theme === 'night' ? 1 : 0;
    const { uniforms } = this.sky.material;
    (uniforms.top!.value as Color).set(look.sky.top);
    (uniforms.mid!.value as Color).set(look.sky.mid);
    (uniforms.low!.value as Color).set(look.sky.low);
    uniforms.gain!.value = look.sky.gain;
    uniforms.isNight!.value = isNight;
    this.table.material.uniforms.isNight!.value = isNight;
    this.hemisphere.color.set(look.hemisphere[0]);
    this.hemisphere.groundColor.set(isFull ? look.hemisphere[1] : '#8C735C');
    this.hemisphere.intensity = look.hemisphere[2] + (isFull ? 0 : look.environment * 1.6);
    this.sun.color.set(look.sun[0]);
    this.sun.intensity = look.sun[1];
    this.sun.userData.from = look.sun[2];
    this.key.intensity = look.key;
    this.lantern = look.lantern;
    this.scene.environmentIntensity = look.environment;
  }

  setAspect(aspect: number): void {
    this.sky.material.uniforms.aspect!.value = aspect;
  }

  /** Fits table, lanterns and shadow to the hall. */
  fit(apron: Apron): void {
    const radius = apron.outer;
    this.table.material.uniforms.radius!.value = radius;
    this.table.scale.setScalar(radius * 6);
    this.table.position.y = apron.y - 1;
    const feet = lanternFeet(apron);
    ZONES.forEach((zone, i) => {
      const lantern = this.lanterns[i];
      if (!lantern) return;
      const foot = feet[zone];
      lantern.position.set(foot.x * 0.98, foot.y + (LANTERN_HEIGHT + 1.35) * apron.scale, foot.z * 0.98);
      lantern.distance = 7.5 * apron.scale;
      lantern.intensity = this.lantern * apron.scale * apron.scale;
    });
    const [x, y, z] = (this.sun.userData.from as readonly [number, number, number] | undefined) ?? [-9, 12, -8];
    this.sun.position.copy(new Vector3(x, y, z).normalize().multiplyScalar(radius * 2.2));
    const { camera } = this.sun.shadow;
    camera.left = camera.bottom = -radius * 1.1;
    camera.right = camera.top = radius * 1.1;
    camera.near = 1;
    camera.far = radius * 5;
    camera.updateProjectionMatrix();
  }

  dispose(): void {
    this.sky.geometry.dispose();
    this.sky.material.dispose();
    this.table.geometry.dispose();
    this.table.material.dispose();
    this.sun.dispose();
  }
}
