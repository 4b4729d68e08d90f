// Everything that is drawn with three.js, for one WebGL context. A lost context needs a new world.

import { Color, Mesh, PCFShadowMap, Scene as ThreeScene, WebGLRenderer } from 'three';
import type { BufferGeometry, MeshStandardMaterial, Object3D, Texture, WebGLRenderTarget } from 'three';
import type { Quality, Stage, Theme } from '../stage';
import { Belongings } from './belongings';
import { Glows } from './billboards';
import { Bodies } from './bodies';
import type { CameraRig } from './camera';
import type { Cast } from './cast';
import { makeEmblemAtlas } from './emblems';
import { Floor } from './floor';
import { buildHall } from './hall';
import type { Landmarks } from './hall';
import { LEVELS, hallDepthMaterial, hallMaterial, newSharedUniforms } from './materials';
import { THEMES, ZONES } from './palette';
import { Post } from './post';
import { Surroundings, makeEnvironment } from './surroundings';
import { Traffic } from './traffic';

const PIXEL_RATIO_MAX = 2;

export class World {
  readonly traffic: Traffic;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new ThreeScene();
  private readonly shared = newSharedUniforms();
  private readonly surroundings: Surroundings;
  private readonly floor: Floor;
  private readonly hallMesh: Mesh<BufferGeometry, MeshStandardMaterial>;
  private readonly glows = new Glows();
  private readonly bodies: Bodies;
  private readonly belongings: Belongings;
  private readonly post: Post;
  private readonly atlas: Texture;
  private readonly environment: WebGLRenderTarget;
  private builtVersion = -1;
  private builtTheme: Theme | null = null;
  private theme: Theme = 'night';
  private quality: Quality = 'full';
  private resolution = 1;
  private size = { width: 0, height: 0 };
  private readonly addObject = (object: Object3D): void => {
    this.scene.add(object);
  };

  constructor(canvas: HTMLCanvasElement, rig: CameraRig) {
    this.renderer = new WebGLRenderer({ canvas, antialias: false, powerPreference: 'high-performance' });
    this.renderer.info.autoReset = false;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.environment = makeEnvironment(this.renderer);
    this.scene.environment = this.environment.texture;
    this.atlas = makeEmblemAtlas();
    this.surroundings = new Surroundings(this.scene);
    this.floor = new Floor(this.shared);
    this.hallMesh = new Mesh(undefined, hallMaterial(this.shared));
    this.hallMesh.customDepthMaterial = hallDepthMaterial(this.shared);
    this.hallMesh.castShadow = true;
    this.hallMesh.receiveShadow = true;
    this.hallMesh.frustumCulled = false;
    this.bodies = new Bodies(this.shared);
    this.belongings = new Belongings(this.shared, this.atlas, this.glows);
    this.traffic = new Traffic(this.shared, this.glows);
    this.scene.add(this.floor.mesh, this.hallMesh, this.glows.mesh, ...this.belongings.objects, ...this.traffic.objects);
    this.post = new Post(this.renderer, this.scene, rig.camera);
  }

  /** `resolution` is how many pixels are drawn for each CSS pixel when the quality is reduced. */
  setLook(theme: Theme, quality: Quality, resolution: number): void {
    this.theme = theme;
    const isNight = theme === 'night';
    this.surroundings.setLook(theme, quality);
    this.scene.environment = quality === 'full' ? this.environment.texture : null;
    this.shared.metal.value = quality === 'full' ? 0.92 : 0.35;
    this.bodies.setTheme(theme);
    this.belongings.setTheme(theme);
    this.traffic.setTheme(theme);
    this.shared.glow.value = isNight ? 1.7 : 1.05;
    this.shared.rim.value.set(isNight ? new Color('#C4D6FF').multiplyScalar(0.4) : new Color(0));
    this.post.setLook(theme, quality);
    if (this.quality !== quality || this.resolution !== resolution) {
      this.quality = quality;
      this.resolution = resolution;
      this.applySize();
    }
  }

  resize(width: number, height: number): void {
    this.size = { width, height };
    this.applySize();
  }

  private applySize(): void {
    const { width, height } = this.size;
    if (width <= 0 || height <= 0) return;
    const ratio = this.quality === 'full' ? Math.min(PIXEL_RATIO_MAX, window.devicePixelRatio || 1) : this.resolution;
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.post.setSize(width, height, ratio);
    this.surroundings.setAspect(width / height);
  }

  /** Writes the stage into the buffers. Nothing is drawn yet. */
  update(stage: Stage, cast: Cast, landmarks: Landmarks, rig: CameraRig): void {
    this.shared.time.value = (stage.now / 1000) % 3600;
    if (this.builtVersion !== cast.layoutVersion || this.builtTheme !== this.theme) this.build(cast);
    this.widen(cast);
    this.glows.clear();
    this.addLampGlows(landmarks, cast.apron.scale);
    this.traffic.setPixel(rig.pixel(this.size.height));
    this.bodies.update(cast.actors, this.addObject);
    this.belongings.update(cast.actors, stage.banners, cast.byId, stage.now, this.surroundings.portalLights);
    this.traffic.update(cast.actors, cast.byId, stage.beats, stage.now, rig.camera);
    this.glows.finish();
  }

  /** Draws one frame. Returns draw calls and triangles of all its passes. */
  render(): { drawCalls: number; triangles: number } {
    this.renderer.info.reset();
    this.post.render();
    const { calls, triangles } = this.renderer.info.render;
    return { drawCalls: calls, triangles };
  }

  private build(cast: Cast): void {
    this.builtVersion = cast.layoutVersion;
    this.builtTheme = this.theme;
    const look = THEMES[this.theme];
    this.hallMesh.geometry.dispose();
    this.hallMesh.geometry = buildHall(cast.layout, look, this.theme === 'night' ? 'lit' : 'dark');
    this.floor.lay(cast.layout, look);
  }

  /** While the hall widens, its rings glide from their old radii to the new ones. */
  private widen(cast: Cast): void {
    const shift = this.shared.shift.value;
    shift.fill(0);
    this.shared.sink.value.set(1e6, 0);
    const { previous, layout } = cast;
    this.surroundings.fit(cast.apron);
    if (!previous) return;
    for (let level = 0; level <= layout.rings.length && level < LEVELS; level++) shift[level] = cast.shiftOf(level);
    const lower = cast.apron.y - layout.apron.y;
    const edge = layout.rings[previous.rings.length - 1]?.outer;
    if (lower !== 0 && edge !== undefined) this.shared.sink.value.set(edge + 0.01, lower);
  }

  private addLampGlows({ lamps }: Landmarks, scale: number): void {
    if (this.theme !== 'night') return;
    for (const zone of ZONES) {
      const { glass } = lamps[zone];
      this.glows.add(glass.x, glass.y, glass.z, 2.2 * scale, [1, 0.58, 0.2], 0.3);
    }
  }

  /** A mark in the work of the graphics card. The answer says whether the card has got there; a lost context has nothing to wait for. */
  fence(): () => boolean {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return () => {
      if (sync === null || gl.isContextLost()) return true;
      if (gl.getSyncParameter(sync, gl.SYNC_STATUS) !== gl.SIGNALED) return false;
      gl.deleteSync(sync);
      return true;
    };
  }

  dispose(): void {
    this.traffic.dispose();
    this.belongings.dispose();
    this.bodies.dispose();
    this.glows.dispose();
    this.floor.dispose();
    this.hallMesh.geometry.dispose();
    this.hallMesh.material.dispose();
    this.hallMesh.customDepthMaterial?.dispose();
    this.surroundings.dispose();
    this.atlas.dispose();
    this.environment.dispose();
    this.post.dispose();
    this.renderer.dispose();
  }
}
