// The 3D view: draws stages, at most one frame for each animation frame, and none when nothing changes.

import './labels.css';
import type { Box, FrameStats, MountScene, Quality, Scene, SceneOptions, Stage, Theme } from '../stage';
import { CameraRig } from './camera';
import { Cast } from './cast';
import type { Actor } from './cast';
import type { View } from './framing';
import { Labels, SOLVE_AGAIN_MS, bodyRect } from './labels';
import type { Point } from './motion';
import { listenToPointer } from './pointer';
import { Projector } from './projector';
import type { ScreenPoint } from './projector';
import type { Rect } from './rect';
import { QualityChooser } from './quality';
import { Bodies } from './bodies';
import { landmarksOf } from './hall';
import type { Landmarks } from './hall';
import { PORTAL_RADIUS } from './layout';
import type { Apron } from './layout';
import { World } from './world';

const RESTORE_MS = 5000;
/** How often the page asks whether the graphics card is ready. */
const LOOK_MS = 4;
const EMPTY: Stage = { now: 0, figures: [], banners: [], beats: [], selected: null };

/** The scene with what the development page needs more. */
export interface HallScene extends Scene {
  /** Holds the camera at a view, for pictures. `null` lets it go. */
  fixView(view: View | null): void;
  /** Where a figure stands, for views. */
  placeOf(id: string): { x: number; y: number; z: number } | null;
}

class HallView implements HallScene {
  private readonly rig = new CameraRig();
  private readonly cast = new Cast();
  private readonly labels: Labels;
  private readonly chooser: QualityChooser;
  private world: World;
  private theme: Theme;
  private stage: Stage = EMPTY;
  private width: number;
  private height: number;
  private frameRequest = 0;
  private handTimer = 0;
  private labelTimer = 0;
  private lostTimer = 0;
  /** Runs while a frame is measured. */
  private measureTimer = 0;
  private isLost = false;
  /** How often the page was hidden or shown. */
  private hidings = 0;
  private isDisposed = false;
  private numbers: FrameStats = { drawCalls: 0, triangles: 0, updateMs: 0, frameMs: 0, quality: 'full' };
  private lookKey = '';
  private landmarks: { readonly apron: Apron; readonly of: Landmarks } | null = null;
  private readonly cleanups: (() => void)[] = [];

  constructor(private readonly options: SceneOptions) {
    this.theme = options.theme;
    this.chooser = new QualityChooser(options.quality);
    this.width = options.canvas.clientWidth || 1;
    this.height = options.canvas.clientHeight || 1;
    this.world = new World(options.canvas, this.rig);
    options.overlay.style.pointerEvents = 'none';
    this.labels = new Labels(options.overlay);
    this.labels.setTheme(this.theme);
    this.listen();
    this.resize(this.width, this.height);
  }

  private listen(): void {
    const { canvas } = this.options;
    const on = (target: EventTarget, name: string, act: (event: Event) => void): void => {
      target.addEventListener(name, act);
      this.cleanups.push(() => target.removeEventListener(name, act));
    };
    this.cleanups.push(
      listenToPointer(canvas, this.rig, { onMove: () => this.handMoved(), onClick: (x, y) => this.pick(x, y) }),
    );
    on(canvas, 'webglcontextlost', (event) => this.contextLost(event));
    on(canvas, 'webglcontextrestored', () => this.contextRestored());
    on(document, 'visibilitychange', () => {
      this.hidings++;
      this.requestFrame();
    });
    this.watchPixelRatio();
    // Labels are measured with the fonts that are there; other fonts have other widths.
    on(document.fonts, 'loadingdone', () => {
      this.labels.clear();
      this.requestFrame();
    });
  }

  /** A window on another screen, or at another zoom, has other pixels. */
  private watchPixelRatio(): void {
    const stop = new AbortController();
    const watch = (): void => {
      const query = matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
      const change = (): void => {
        watch();
        this.resize(this.width, this.height);
      };
      query.addEventListener('change', change, { signal: stop.signal, once: true });
    };
    watch();
    this.cleanups.push(() => stop.abort());
  }

  show(stage: Stage): void {
    this.stage = stage;
    this.requestFrame();
  }

  setTheme(theme: Theme): void {
    if (theme === this.theme) return;
    this.theme = theme;
    this.labels.setTheme(theme);
    this.requestFrame();
  }

  forceQuality(quality: Quality | null): void {
    this.chooser.force(quality);
    this.requestFrame();
  }

  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.rig.setAspect(this.width / this.height);
    if (!this.isLost) this.world.resize(this.width, this.height);
    this.labels.clear();
    this.requestFrame();
  }

  frameAll(): void {
    this.rig.release();
    this.requestFrame();
  }

  fixView(view: View | null): void {
    this.rig.fix(view);
    this.requestFrame();
  }

  placeOf(id: string): { x: number; y: number; z: number } | null {
    return this.cast.byId.get(id) ?? null;
  }

  stats(): FrameStats {
    return this.numbers;
  }

  boxes(): { figures: Map<string, Box>; portals: Map<string, Box>; labels: Map<string, Box> } {
    const figures = new Map<string, Box>();
    const portals = new Map<string, Box>();
    for (const actor of this.cast.actors) {
      if (!actor.screen.isVisible) continue;
      const isRefused = actor.figure.condition === 'refused';
      if (actor.isPresent || isRefused) figures.set(actor.figure.id, toBox(bodyRect(actor)));
      if (actor.portalOpen > 0) portals.set(actor.figure.id, portalBox(actor));
    }
    const labels = new Map<string, Box>();
    for (const [id, box] of this.labels.boxes()) labels.set(id.startsWith('figure/') ? id.slice(7) : id, box);
    return { figures, portals, labels };
  }

  private requestFrame(): void {
    if (this.frameRequest !== 0 || this.isDisposed || this.isLost || document.hidden || !this.options.canvas.isConnected) return;
    this.frameRequest = requestAnimationFrame((ms) => this.drawFrame(ms));
  }

  private drawFrame(ms: number): void {
    this.frameRequest = 0;
    if (this.isDisposed || this.isLost || document.hidden) return;
    const start = performance.now();
    this.applyLook();
    const root = this.cast.rootId;
    this.cast.update(this.stage);
    if (this.cast.rootId !== root) this.rig.cut();
    this.rig.setHome(this.cast.layout, this.cast.actors, this.cast.layoutVersion);
    const isMoving = this.rig.update(ms);
    this.options.onView(this.rig.isNear ? 'near' : 'whole');
    const projector = new Projector(this.rig.current, this.width, this.height);
    const landmarks = this.landmarksAt(this.cast.apron);
    this.project(projector);
    this.world.update(this.stage, this.cast, landmarks, this.rig);
    this.updateLabels(projector, landmarks, ms);
    const updateMs = performance.now() - start;
    const { drawCalls, triangles } = this.world.render();
    this.numbers = { drawCalls, triangles, updateMs, frameMs: this.numbers.frameMs, quality: this.chooser.quality };
    if (this.measureTimer === 0) this.measure(start, this.world.fence());
    if (isMoving) this.requestFrame();
  }

  /** The frame took until the graphics card has drawn it. One frame is measured at a time. */
  private measure(start: number, isDrawn: () => boolean): void {
    const hidings = this.hidings;
    const look = (): void => {
      if (!isDrawn()) {
        this.measureTimer = window.setTimeout(look, LOOK_MS);
        return;
      }
      this.measureTimer = 0;
      // A hidden page is drawn late: that is no slowness.
      if (hidings !== this.hidings) return;
      const frameMs = performance.now() - start;
      this.numbers = { ...this.numbers, frameMs };
      if (this.chooser.addFrame(frameMs)) this.requestFrame();
    };
    this.measureTimer = window.setTimeout(look, LOOK_MS);
  }

  private landmarksAt(apron: Apron): Landmarks {
    if (this.landmarks?.apron !== apron) this.landmarks = { apron, of: landmarksOf(apron) };
    return this.landmarks.of;
  }

  private applyLook(): void {
    const key = `${this.theme}/${this.chooser.quality}/${this.chooser.resolution}`;
    if (key === this.lookKey) return;
    this.lookKey = key;
    this.world.setLook(this.theme, this.chooser.quality, this.chooser.resolution);
  }

  private project(projector: Projector): void {
    const spot: ScreenPoint = { x: 0, y: 0, depth: 0 };
    const point = { x: 0, y: 0, z: 0 };
    for (const actor of this.cast.actors) {
      const { screen } = actor;
      projector.point(actor, spot);
      screen.x = spot.x;
      screen.feetY = spot.y;
      screen.unit = projector.unit(spot.depth);
      const isInFront = spot.depth > 0.5;
      projector.point(actor.emblem, spot);
      screen.emblemX = spot.x;
      screen.emblemY = spot.y;
      topOf(actor, point);
      screen.topY = projector.point(point, spot).y;
      const margin = screen.unit;
      const isAcross = screen.x > -margin && screen.x < this.width + margin;
      screen.isVisible = isInFront && isAcross && screen.feetY > -margin && screen.topY < this.height + margin;
    }
  }

  private updateLabels(projector: Projector, landmarks: Landmarks, ms: number): void {
    const next = this.labels.update({
      stage: this.stage,
      actors: this.cast.actors,
      byId: this.cast.byId,
      amounts: this.world.traffic.amounts,
      landmarks,
      projector,
      width: this.width,
      height: this.height,
      nowMs: ms,
    });
    clearTimeout(this.labelTimer);
    if (next === 'next frame') this.requestFrame();
    if (next === 'soon') this.labelTimer = window.setTimeout(() => this.requestFrame(), SOLVE_AGAIN_MS + 20);
  }

  private handMoved(): void {
    this.requestFrame();
    clearTimeout(this.handTimer);
    const ends = this.rig.handEnds;
    if (ends !== null) this.handTimer = window.setTimeout(() => this.requestFrame(), ends - performance.now() + 20);
  }

  private pick(x: number, y: number): void {
    const inside = (box: Box): boolean => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
    for (const [id, box] of this.labels.boxes()) {
      if (!inside(box)) continue;
      if (id.startsWith('banner/')) return this.options.onUnfold(id.slice(7));
      if (id.startsWith('figure/')) return this.options.onSelect(id.slice(7));
    }
    const banner = this.stage.banners.find(({ figure }) => {
      const actor = this.cast.byId.get(figure);
      return actor !== undefined && inside(bannerBox(actor));
    });
    if (banner) return this.options.onUnfold(banner.figure);
    let best: Actor | null = null;
    for (const actor of this.cast.actors) {
      // Of two figures behind one another, the nearer one is meant.
      if (actor.screen.isVisible && inside(toBox(bodyRect(actor))) && (!best || actor.screen.feetY > best.screen.feetY)) best = actor;
    }
    this.options.onSelect(best?.figure.id ?? null);
  }

  private contextLost(event: Event): void {
    event.preventDefault();
    this.isLost = true;
    cancelAnimationFrame(this.frameRequest);
    this.frameRequest = 0;
    clearTimeout(this.lostTimer);
    this.lostTimer = window.setTimeout(() => this.options.onLost(), RESTORE_MS);
  }

  private contextRestored(): void {
    clearTimeout(this.lostTimer);
    if (this.isDisposed) return;
    this.world.dispose();
    try {
      this.world = new World(this.options.canvas, this.rig);
    } catch {
      // The browser gives no second context: the page shows 2D, as it does when the first one does not come back.
      this.options.onLost();
      return;
    }
    this.isLost = false;
    this.lookKey = '';
    this.world.resize(this.width, this.height);
    this.requestFrame();
  }

  dispose(): void {
    this.isDisposed = true;
    cancelAnimationFrame(this.frameRequest);
    clearTimeout(this.handTimer);
    clearTimeout(this.labelTimer);
    clearTimeout(this.lostTimer);
    clearTimeout(this.measureTimer);
    for (const cleanup of this.cleanups) cleanup();
    this.labels.dispose();
    this.world.dispose();
    // Browsers allow a few contexts only, and take the oldest away when there are too many.
    this.options.canvas.getContext('webgl2')?.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

/** The highest point of a figure: that of its emblem, if it has one. */
function topOf(actor: Actor, out: Point): void {
  const hasEmblem = actor.isPresent && actor.pose !== 'heap' && actor.figure.condition !== 'refused';
  const spot = hasEmblem ? actor.emblem : actor;
  out.x = spot.x;
  out.z = spot.z;
  if (hasEmblem) out.y = Math.max(actor.y + 0.4, actor.emblem.y + (actor.isRoot ? 0.26 : 0.2));
  else out.y = actor.y + (actor.pose === 'heap' && actor.isPresent ? Math.max(0.4, Bodies.top(actor)) : 0.7);
}

function toBox(rect: Rect): Box {
  return { x: rect.left, y: rect.top, width: rect.right - rect.left, height: rect.bottom - rect.top };
}

function portalBox(actor: Actor): Box {
  const { x, feetY, unit } = actor.screen;
  return { x: x - unit * PORTAL_RADIUS, y: feetY - unit * 0.62, width: unit * 2 * PORTAL_RADIUS, height: unit * 1.24 };
}

function bannerBox(actor: Actor): Box {
  const { x, feetY, unit } = actor.screen;
  return { x: x + unit * 0.5 * actor.scale, y: feetY - unit * 1.3, width: unit * 0.8, height: unit * 1.4 };
}

/** Makes the scene. Throws if the browser has no WebGL. */
export const mountScene = ((options: SceneOptions): HallScene => new HallView(options)) satisfies MountScene;
