// What goes between figures: threads, coins, change and scrolls.

import { Color, Euler, Matrix4, MeshBasicMaterial, Quaternion, Vector3 } from 'three';
import type { Camera, Object3D } from 'three';
import type { Beat, Theme } from '../stage';
import type { Glows } from './billboards';
import { MANY } from './cast';
import type { Actor } from './cast';
import { InstancedThings } from './instances';
import { HOME_AZIMUTH, zoneOf } from './layout';
import { propMaterial } from './materials';
import { triple } from './mesh-builder';
import type { SharedUniforms } from './materials';
import { coinAt, coinCount, flightCurve, newCurve, pointOn, scrollAt, threadCurve } from './motion';
import type { Curve, Point } from './motion';
import { COLOR, SECTORS, THREAD_COLOR } from './palette';
import type { Triple } from './palette';
import { Threads } from './threads';
import type { ThreadLook } from './threads';
import { COIN_TONES, buildCoin, buildScroll } from './tokens';

/** A sum of money in flight: where its label is. */
export interface Amount {
  readonly key: string;
  readonly msat: number;
  readonly isChange: boolean;
  /** The name of the figure that gets the coins. */
  readonly recipient: string;
  readonly at: Point;
}

export class Traffic {
  readonly objects: Object3D[];
  amounts: Amount[] = [];
  private readonly threads: Threads;
  private readonly coins: Record<'coins' | 'change', InstancedThings>;
  private readonly scrolls: InstancedThings;
  private readonly scrollMaterial;
  private readonly coinMaterial = new MeshBasicMaterial({ vertexColors: true });
  private readonly colors = new Map<string, Triple>();
  private isNight = true;
  private readonly curve: Curve = newCurve();
  private readonly point: Point = { x: 0, y: 0, z: 0 };
  private readonly matrix = new Matrix4();
  private readonly at = new Vector3();
  private readonly turn = new Quaternion();
  private readonly wobble = new Quaternion();
  private readonly euler = new Euler();
  private readonly size = new Vector3();

  constructor(shared: SharedUniforms, private readonly glows: Glows) {
    this.threads = new Threads(shared);
    this.coins = {
      coins: new InstancedThings(buildCoin(COIN_TONES.coins), this.coinMaterial, {}),
      change: new InstancedThings(buildCoin(COIN_TONES.change), this.coinMaterial, {}),
    };
    this.scrollMaterial = propMaterial(shared);
    this.scrolls = new InstancedThings(buildScroll(), this.scrollMaterial, { tint: 3 });
    this.scrolls.mesh.castShadow = true;
    this.objects = [...this.threads.meshes, this.coins.coins.mesh, this.coins.change.mesh, this.scrolls.mesh];
  }

  setTheme(theme: Theme): void {
    this.isNight = theme === 'night';
    this.threads.setNight(this.isNight);
    this.coinMaterial.color.setScalar(this.isNight ? 0.95 : 0.9);
    this.colors.clear();
  }

  setPixel(size: number): void {
    this.threads.setPixel(size);
  }

  private color(hex: string): Triple {
    const known = this.colors.get(hex);
    if (known) return known;
    const color = new Color(hex);
    if (!this.isNight) color.multiplyScalar(0.2);
    const made = triple(color);
    this.colors.set(hex, made);
    return made;
  }

  update(actors: readonly Actor[], byId: ReadonlyMap<string, Actor>, beats: readonly Beat[], now: number, camera: Camera): void {
    this.drawThreads(actors, byId);
    this.coins.coins.clear();
    this.coins.change.clear();
    this.scrolls.clear();
    this.amounts = [];
    for (const beat of beats) {
      const ms = now - beat.start;
      if (ms < 0 || ms > beat.duration) continue;
      if (beat.kind !== 'coins' && beat.kind !== 'change' && beat.kind !== 'report') continue;
      const from = byId.get(beat.from);
      const to = byId.get(beat.to);
      if (!from || !to || from === to) continue;
      flightCurve(from.emblem, to.emblem, this.curve);
      if (beat.kind === 'report') this.drawScroll(from, ms / beat.duration, scrollAt(ms, beat.duration));
      else if (this.drawCoins(beat.kind, beat.msat, ms, beat.duration, camera)) this.addAmount(beat, to, ms / beat.duration);
    }
    this.coins.coins.finish();
    this.coins.change.finish();
    this.scrolls.finish();
  }

  private drawThreads(actors: readonly Actor[], byId: ReadonlyMap<string, Actor>): void {
    this.threads.clear(actors.length);
    const crowd: ThreadCrowd = {
      isMany: actors.length > MANY,
      // The more threads, the fainter the deep ones.
      deep: 0.4 * Math.min(1, Math.sqrt(80 / actors.length)),
      hasChosen: actors.some((actor) => actor.isSelected),
      isNight: this.isNight,
    };
    const color = (hex: string): Triple => this.color(hex);
    actors.forEach((actor, i) => {
      const hirer = actor.figure.hirer === null ? undefined : byId.get(actor.figure.hirer);
      if (!hirer || hirer === actor) return;
      if (actor.look === 'arrives' && actor.portalOpen < 0.05 && actor.lift < -1.5) return;
      const look = threadLook(actor, hirer, crowd, color);
      const isFloor = actor.figure.condition === 'refused' || actor.pose === 'heap';
      const gapFrom = hirer.isRoot ? 0.3 : hirer.figure.condition === 'cancelled' ? 0.05 : 0.22;
      const gapTo = isFloor ? 0.05 : actor.figure.condition === 'done' ? 0.3 : 0.24;
      this.threads.add(threadCurve(hirer.emblem, actor.emblem, this.curve), gapFrom, gapTo, look, (i * 0.37) % 1);
    });
    this.threads.finish();
  }

  /** True if coins are in flight. */
  private drawCoins(kind: 'coins' | 'change', msat: number, ms: number, duration: number, camera: Camera): boolean {
    const count = coinCount(msat);
    const isChange = kind === 'change';
    let isInFlight = false;
    for (let i = 0; i < count; i++) {
      const t = coinAt(ms, duration, i, count);
      if (t === null) continue;
      pointOn(this.curve, t, this.point);
      this.at.set(this.point.x, this.point.y + 0.06 * Math.sin(i * 2.4) + 0.02, this.point.z);
      this.euler.set(0.35 * Math.sin(i * 2.1), 0.75 * Math.sin(i * 1.9 + ms * 0.004), 0);
      this.turn.copy(camera.quaternion).multiply(this.wobble.setFromEuler(this.euler));
      // A coin grows from its purse and shrinks into the other.
      const grown = Math.min(1, Math.min(t, 1 - t) * 12);
      this.size.setScalar((isChange ? 0.82 : 1) * grown);
      this.coins[kind].add(this.matrix.compose(this.at, this.turn, this.size));
      if (this.isNight) this.glows.add(this.at.x, this.at.y, this.at.z, 0.85, isChange ? [0.8, 0.7, 0.48] : [1, 0.58, 0.2], 0.28 * grown);
      isInFlight = true;
    }
    return isInFlight;
  }

  private addAmount(beat: Extract<Beat, { kind: 'coins' | 'change' }>, to: Actor, share: number): void {
    if (share < 0.12 || share > 0.9) return;
    pointOn(this.curve, 0.42, this.point);
    const { x, y, z } = this.point;
    const key = `${beat.kind}/${beat.from}/${beat.to}/${beat.start}`;
    this.amounts.push({ key, msat: beat.msat, isChange: beat.kind === 'change', recipient: to.figure.name, at: { x, y: y + 0.3, z } });
  }

  private drawScroll(from: Actor, share: number, t: number): void {
    const grown = Math.min(1, Math.min(share, 1 - share) * 10);
    const { color } = SECTORS[zoneOf(from.figure)];
    for (let i = 1; i < 9; i++) {
      const behind = t - i * 0.035;
      if (behind <= 0) break;
      pointOn(this.curve, behind, this.point);
      const tone: Triple = this.isNight ? [0.9, 0.83, 0.7] : [0.43, 0.26, 0.07];
      this.glows.add(this.point.x, this.point.y, this.point.z, 0.22 * (1 - i / 10), tone, 0.5 * (1 - i / 9));
    }
    pointOn(this.curve, t, this.point);
    this.at.set(this.point.x, this.point.y, this.point.z);
    this.euler.set(0.3, HOME_AZIMUTH + 0.5 + share * 1.2, 0.35, 'XYZ');
    this.turn.setFromEuler(this.euler);
    this.size.setScalar(1.55 * grown);
    this.scrolls.add(this.matrix.compose(this.at, this.turn, this.size), triple(color));
    if (this.isNight) this.glows.add(this.at.x, this.at.y, this.at.z, 1.5, [0.9, 0.83, 0.7], 0.34 * grown);
  }

  dispose(): void {
    this.threads.dispose();
    this.coins.coins.dispose();
    this.coins.change.dispose();
    this.scrolls.dispose();
    this.coinMaterial.dispose();
    this.scrollMaterial.dispose();
  }
}

/** What the look of a thread depends on beside its two figures. */
export interface ThreadCrowd {
  readonly isMany: boolean;
  /** The opacity of threads that do not begin at the root, if there are many. */
  readonly deep: number;
  readonly hasChosen: boolean;
  readonly isNight: boolean;
}

export function threadLook(actor: Actor, hirer: Actor, { isMany, deep, hasChosen, isNight }: ThreadCrowd, color: (hex: string) => Triple): ThreadLook {
  const { condition } = actor.figure;
  const isLive = condition === 'works' || condition === 'waits';
  const base = THREAD_COLOR[condition];
  const isChosen = hasChosen && actor.isLineage && hirer.isLineage;
  const isDeep = isMany && !hirer.isRoot;
  let opacity = isLive ? 1 : condition === 'done' ? 0.6 : 0.75;
  if (!isChosen) opacity *= isDeep ? deep : isMany ? 0.85 : hasChosen ? 0.55 : 1;
  if (isChosen) opacity = 1;
  // By day the sky is brighter than white: a thin dark thread needs all its strength before it.
  if (!isNight) opacity *= 1.7;
  return {
    from: color(base ?? COLOR.lantern),
    to: color(base ?? SECTORS[zoneOf(actor.figure)].color),
    opacity,
    isDashed: condition === 'refused' || condition === 'cancelled',
    width: (isMany ? 0.75 : 1) * (isChosen ? 1.35 : 1) * (isNight ? 1 : 1.2),
    flow: isLive && (!isDeep || isChosen) ? 1 : 0,
  };
}
