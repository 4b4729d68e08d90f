// The camera: frames the living by itself, follows with damping, and yields to the hand for eight seconds.

import { PerspectiveCamera } from 'three';
import { MANY } from './cast';
import type { Actor } from './cast';
import { frame, viewAxes } from './framing';
import type { FramedPoint, View } from './framing';
import { LANTERN_HEIGHT, lanternFeet } from './hall';
import { HOME_AZIMUTH, HOME_ELEVATION } from './layout';
import type { Layout } from './layout';
import { clamp } from './motion';
import { ZONES } from './palette';
import { POSE_TOP } from './robe';

const DEGREE = Math.PI / 180;
export const LENS = 20;
const ELEVATION_MANY = 38 * DEGREE;
export const HAND_MS = 8000;
const AZIMUTH_REACH = 75 * DEGREE;
const ELEVATION_LOW = 12 * DEGREE;
const ELEVATION_HIGH = 72 * DEGREE;
/** The camera is near if it is closer than this share of the distance of its home view. */
const NEAR_SHARE = 0.75;
/** The living keep this share of the picture free on each side. */
const MARGIN = 0.12;
const DAMPING_PER_SECOND = 4.5;
const REST = 1e-3;

function isLiving(actor: Actor): boolean {
  return actor.look === 'works' || actor.look === 'waits' || actor.look === 'arrives';
}

/** The points that the home view must show. */
function framedPoints(layout: Layout, actors: readonly Actor[]): FramedPoint[] {
  const points: FramedPoint[] = [];
  const { apron } = layout;
  const rim = apron.outer + 0.25;
  for (let i = 0; i < 24; i++) {
    const angle = (i / 24) * Math.PI * 2;
    points.push({ x: Math.sin(angle) * rim, y: apron.y - 0.95, z: Math.cos(angle) * rim, reach: 0.99 });
  }
  const feet = lanternFeet(apron);
  for (const zone of ZONES) {
    const foot = feet[zone];
    points.push({ x: foot.x, y: foot.y + (LANTERN_HEIGHT + 0.7) * apron.scale, z: foot.z, reach: 0.9 });
  }
  for (const actor of actors) {
    const reach = isLiving(actor) ? 1 - 2 * MARGIN : 0.96;
    // Where the figure will stand, not where it walks or glides at the moment.
    const { x, y, z } = layout.places.get(actor.figure.id) ?? actor;
    points.push({ x, y, z, reach }, { x, y: y + POSE_TOP[actor.pose] * actor.scale + 0.55, z, reach });
  }
  return points;
}

function copyView(view: View): View {
  return { ...view, target: { ...view.target } };
}

export class CameraRig {
  readonly camera = new PerspectiveCamera(LENS, 1, 1, 400);
  private view: View = { azimuth: HOME_AZIMUTH, elevation: HOME_ELEVATION, distance: 45, target: { x: 0, y: -1.75, z: 0 }, lens: LENS };
  private home: View = copyView(this.view);
  private hand: View | null = null;
  private handUntil = 0;
  private fixed: View | null = null;
  private isPlaced = false;
  private lastMs = 0;
  private aspect = 16 / 9;
  private homeKey = '';

  setAspect(aspect: number): void {
    this.aspect = aspect;
    this.camera.aspect = aspect;
    this.homeKey = '';
  }

  /** Works out the home view anew if the hall or the number of figures changed. */
  setHome(layout: Layout, actors: readonly Actor[], version: number): void {
    const living = actors.reduce((sum, actor, i) => (isLiving(actor) ? (sum * 31 + i) | 0 : sum), 7);
    const key = `${version}/${actors.length}/${living}/${this.aspect.toFixed(3)}`;
    if (key === this.homeKey) return;
    this.homeKey = key;
    const start: View = {
      azimuth: HOME_AZIMUTH,
      elevation: actors.length > MANY ? ELEVATION_MANY : HOME_ELEVATION,
      distance: (0.8 * layout.apron.outer) / Math.tan((LENS / 2) * DEGREE),
      target: { x: 0, y: layout.apron.y * 0.79, z: 0 },
      lens: LENS,
    };
    this.home = frame(framedPoints(layout, actors), start, this.aspect);
  }

  /** Moves towards the goal. Returns true while the camera is still moving. */
  update(nowMs: number): boolean {
    const goal = this.goal(nowMs);
    const seconds = clamp((nowMs - this.lastMs) / 1000, 0, 0.4);
    this.lastMs = nowMs;
    const share = this.isPlaced && !this.fixed ? 1 - Math.exp(-DAMPING_PER_SECOND * (this.hand ? 2.5 : 1) * seconds) : 1;
    this.isPlaced = true;
    const { view } = this;
    let rest = 0;
    const toward = (from: number, to: number, scale: number): number => {
      rest = Math.max(rest, Math.abs(to - from) / scale);
      return from + (to - from) * share;
    };
    view.azimuth = toward(view.azimuth, goal.azimuth, 1);
    view.elevation = toward(view.elevation, goal.elevation, 1);
    view.distance = toward(view.distance, goal.distance, goal.distance);
    view.lens = toward(view.lens, goal.lens, 20);
    view.target.x = toward(view.target.x, goal.target.x, goal.distance * 0.3);
    view.target.y = toward(view.target.y, goal.target.y, goal.distance * 0.3);
    view.target.z = toward(view.target.z, goal.target.z, goal.distance * 0.3);
    if (rest < REST) this.view = copyView(goal);
    this.apply();
    return rest >= REST;
  }

  private goal(nowMs: number): View {
    if (this.fixed) return this.fixed;
    if (this.hand && nowMs >= this.handUntil) this.hand = null;
    return this.hand ?? this.home;
  }

  private apply(): void {
    const { view, camera } = this;
    const { back } = viewAxes(view.azimuth, view.elevation);
    camera.fov = view.lens;
    camera.near = Math.max(0.5, view.distance * 0.05);
    camera.far = view.distance * 4 + 60;
    camera.position.set(view.target.x + back.x * view.distance, view.target.y + back.y * view.distance, view.target.z + back.z * view.distance);
    camera.lookAt(view.target.x, view.target.y, view.target.z);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }

  private takeHand(nowMs: number): View {
    this.handUntil = nowMs + HAND_MS;
    if (!this.hand) this.hand = copyView(this.view);
    return this.hand;
  }

  /** The hand drags the picture by this share of its height. */
  orbit(dx: number, dy: number, nowMs: number): void {
    const view = this.takeHand(nowMs);
    view.azimuth = clamp(view.azimuth - dx * 2.4, HOME_AZIMUTH - AZIMUTH_REACH, HOME_AZIMUTH + AZIMUTH_REACH);
    view.elevation = clamp(view.elevation + dy * 1.8, ELEVATION_LOW, ELEVATION_HIGH);
  }

  /** Zooms, keeping the point under the pointer (-1 to 1) where it is. */
  zoom(factor: number, pointer: { x: number; y: number }, nowMs: number): void {
    const view = this.takeHand(nowMs);
    const before = view.distance;
    view.distance = clamp(before * factor, this.home.distance * 0.16, this.home.distance * 1.35);
    const gain = before - view.distance;
    const slope = Math.tan((view.lens / 2) * DEGREE);
    const { right, up } = viewAxes(view.azimuth, view.elevation);
    const sx = pointer.x * slope * this.aspect * gain;
    const sy = pointer.y * slope * gain;
    // Zoomed out again, the hall is back in the middle.
    const pull = clamp(view.distance / this.home.distance, 0, 1) ** 4;
    const { target } = view;
    target.x = (target.x + right.x * sx + up.x * sy) * (1 - pull) + this.home.target.x * pull;
    target.y = (target.y + right.y * sx + up.y * sy) * (1 - pull) + this.home.target.y * pull;
    target.z = (target.z + right.z * sx + up.z * sy) * (1 - pull) + this.home.target.z * pull;
  }

  /** The next frame shows its goal at once: another request is another picture. */
  cut(): void {
    if (!this.hand) this.isPlaced = false;
  }

  /** Gives up the hand's view. */
  release(): void {
    this.hand = null;
  }

  /** When the hand's eight seconds end, in the time of `update`; `null` if the hand does not hold the camera. */
  get handEnds(): number | null {
    return this.hand ? this.handUntil : null;
  }

  /** Whether the camera shows a part of the hall from near, or is on its way there. */
  get isNear(): boolean {
    return (this.fixed ?? this.hand ?? this.home).distance < this.home.distance * NEAR_SHARE;
  }

  /** For pictures: a view that stays. */
  fix(view: View | null): void {
    this.fixed = view;
  }

  /** The size of one CSS pixel at distance 1. */
  pixel(height: number): number {
    return (2 * Math.tan((this.view.lens / 2) * DEGREE)) / Math.max(1, height);
  }

  /** For loops: see `Projector`. */
  get current(): View {
    return this.view;
  }
}
