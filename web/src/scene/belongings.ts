// What belongs to figures and is not their body: lectern, hourglass, purse, staff, the ring at their feet, the emblem
// above them, their portal, and the banner of folded hires.

import { Color, Euler, Matrix4, Quaternion, Vector3 } from 'three';
import type { Object3D, PointLight, Texture } from 'three';
import type { Banner, Condition, Theme } from '../stage';
import { Emblems } from './billboards';
import type { Glows } from './billboards';
import type { Actor } from './cast';
import { LightColumns } from './columns';
import { Decals, RING_STYLE } from './decals';
import { InstancedThings } from './instances';
import { HOME_AZIMUTH, zoneOf } from './layout';
import { propMaterial } from './materials';
import type { SharedUniforms } from './materials';
import { mixed, triple } from './mesh-builder';
import { randomSequence } from './motion';
import { COLOR, SECTORS } from './palette';
import type { EmblemName, Triple } from './palette';
import { SHARDS, STAFF_LAMP, buildFoldBanner, buildHourglass, buildLectern, buildPurse, buildShard, buildStaff } from './tokens';

const WHITE: Triple = [1, 1, 1];
const RED = new Color('#E05545');

interface Tones {
  readonly emblem: Triple;
  readonly ring: Triple;
  readonly ringStyle: number;
  readonly ringOpacity: number;
  readonly zone: Triple;
  readonly zoneName: EmblemName;
}

function emblemColor(own: string, isRoot: boolean, condition: Condition, isNight: boolean): Color {
  if (!isNight) return dayEmblemColor(own, isRoot, condition).multiplyScalar(0.6);
  if (condition === 'failed') return new Color('#FF4434');
  if (condition === 'ran_dry') return new Color(COLOR.amber);
  const base = new Color(isRoot ? COLOR.lantern : own);
  if (condition === 'done') return base.lerp(new Color(COLOR.ivory), 0.75).multiplyScalar(1.05);
  return base.multiplyScalar(condition === 'waits' ? 0.85 : 1.25);
}

function dayEmblemColor(own: string, isRoot: boolean, condition: Condition): Color {
  if (condition === 'failed') return new Color('#C4221A');
  if (condition === 'ran_dry') return new Color('#C46F00');
  if (isRoot) return new Color('#A8711C');
  return mixed(own, COLOR.ink, condition === 'done' ? 0.6 : 0.34);
}

function ringLook(own: string, isRoot: boolean, condition: Condition, isNight: boolean): [Color, number, number] {
  if (isRoot) return [new Color(0), RING_STYLE.none, 0];
  if (!isNight) return dayRingLook(own, condition);
  switch (condition) {
    case 'works':
      return [mixed(own, '#FFFFFF', 0.15).multiplyScalar(1.4), RING_STYLE.solid, 0.9];
    case 'waits':
      return [new Color(COLOR.lantern).multiplyScalar(1.2), RING_STYLE.dashed, 0.8];
    case 'ran_dry':
      return [new Color(COLOR.amber).multiplyScalar(1.3), RING_STYLE.open, 0.95];
    case 'failed':
      return [new Color(COLOR.red).multiplyScalar(1.5), RING_STYLE.cracks, 1];
    case 'done':
      return [mixed(own, COLOR.ivory, 0.6).multiplyScalar(0.9), RING_STYLE.thin, 0.7];
    case 'cancelled':
      return [new Color(COLOR.ash), RING_STYLE.dotted, 0.55];
    case 'refused':
      return [new Color(0), RING_STYLE.none, 0];
  }
}

/** By day a ring is ink on pale stone. The tone curve brightens unlit colours, so these are darker than they look. */
function dayRingLook(own: string, condition: Condition): [Color, number, number] {
  switch (condition) {
    case 'works':
      return [mixed(own, COLOR.ink, 0.35).multiplyScalar(0.35), RING_STYLE.solid, 0.95];
    case 'waits':
      return [new Color('#8A5200').multiplyScalar(0.5), RING_STYLE.dashed, 0.95];
    case 'ran_dry':
      return [new Color('#C46F00').multiplyScalar(0.7), RING_STYLE.open, 1];
    case 'failed':
      return [new Color('#C4221A').multiplyScalar(0.8), RING_STYLE.cracks, 1];
    case 'done':
      return [mixed(own, COLOR.ink, 0.35).multiplyScalar(0.4), RING_STYLE.thin, 0.9];
    case 'cancelled':
      return [new Color('#4A4640'), RING_STYLE.dotted, 0.8];
    case 'refused':
      return [new Color(0), RING_STYLE.none, 0];
  }
}

export class Belongings {
  readonly objects: Object3D[];
  readonly emblems: Emblems;
  private readonly decals: Decals;
  private readonly columns: LightColumns;
  private readonly material;
  private readonly sets: Record<'lit' | 'unlit' | 'hourglass' | 'purse' | 'staff' | 'shard' | 'banner', InstancedThings>;
  private readonly tones = new Map<string, Tones>();
  private theme: Theme = 'night';
  private readonly matrix = new Matrix4();
  private readonly local = new Matrix4();
  private readonly at = new Vector3();
  private readonly turn = new Quaternion();
  private readonly euler = new Euler(0, 0, 0, 'YXZ');
  private readonly size = new Vector3();

  constructor(shared: SharedUniforms, atlas: Texture, private readonly glows: Glows) {
    this.emblems = new Emblems(atlas);
    this.decals = new Decals(shared);
    this.columns = new LightColumns(shared);
    this.material = propMaterial(shared);
    const make = (geometry: ReturnType<typeof buildPurse>): InstancedThings => {
      const set = new InstancedThings(geometry, this.material, { tint: 3 });
      set.mesh.castShadow = true;
      set.mesh.receiveShadow = true;
      return set;
    };
    this.sets = {
      lit: make(buildLectern('lit')), unlit: make(buildLectern('dark')), hourglass: make(buildHourglass()), purse: make(buildPurse()),
      staff: make(buildStaff()), shard: make(buildShard()), banner: make(buildFoldBanner()),
    };
    this.objects = [this.decals.mesh, this.columns.mesh, this.emblems.mesh, ...Object.values(this.sets).map((set) => set.mesh)];
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.tones.clear();
    this.decals.setNight(theme === 'night');
    this.columns.setNight(theme === 'night');
  }

  private tonesOf(actor: Actor): Tones {
    const { condition } = actor.figure;
    const zone = zoneOf(actor.figure);
    const key = `${actor.isRoot ? 'root' : zone}/${condition}`;
    const known = this.tones.get(key);
    if (known) return known;
    const isNight = this.theme === 'night';
    const { color, emblem } = SECTORS[zone];
    const [ring, ringStyle, ringOpacity] = ringLook(color, actor.isRoot, condition, isNight);
    const made: Tones = {
      emblem: triple(emblemColor(color, actor.isRoot, condition, isNight)),
      ring: triple(ring),
      ringStyle,
      ringOpacity,
      zone: triple(new Color(actor.isRoot ? COLOR.lantern : color)),
      zoneName: actor.isRoot ? 'star' : emblem,
    };
    this.tones.set(key, made);
    return made;
  }

  /** Draws what belongs to these figures at this stage time, in milliseconds. */
  update(actors: readonly Actor[], banners: readonly Banner[], byId: ReadonlyMap<string, Actor>, now: number, lights: readonly PointLight[]): void {
    this.decals.clear();
    this.columns.clear();
    this.emblems.clear();
    for (const set of Object.values(this.sets)) set.clear();
    this.lightPortals(actors, lights);
    const isCrowd = actors.length > 200;
    for (const set of Object.values(this.sets)) set.mesh.castShadow = !isCrowd;
    for (const actor of actors) {
      if (isCrowd && !actor.screen.isVisible) continue;
      const tones = this.tonesOf(actor);
      if (actor.portalOpen > 0) this.addPortal(actor, tones, now);
      if (actor.figure.condition === 'refused') this.addShards(actor, isCrowd);
      else if (actor.isPresent) this.addPerson(actor, tones, now, isCrowd);
    }
    for (const banner of banners) this.addBanner(banner, byId);
    this.decals.finish();
    this.columns.finish();
    this.emblems.finish();
    for (const set of Object.values(this.sets)) set.finish();
  }

  /** The first open portals throw light by night, one light each. A portal that is alone has the second light behind its figure. */
  private lightPortals(actors: readonly Actor[], lights: readonly PointLight[]): void {
    const open = this.theme === 'night' ? actors.filter((actor) => actor.portalOpen > 0 && actor.figure.condition !== 'refused') : [];
    lights.forEach((light, i) => {
      const isBehind = i === 1 && open.length === 1;
      const actor = open[isBehind ? 0 : i];
      light.intensity = actor ? (isBehind ? 2.5 : 3.2) * actor.portalOpen : 0;
      if (!actor) return;
      light.color.setRGB(...this.tonesOf(actor).zone);
      light.position.set(actor.x, actor.y + 0.5, actor.z + (isBehind ? -0.8 : 1.15));
    });
  }

  private addPerson(actor: Actor, tones: Tones, now: number, isCrowd: boolean): void {
    const { figure } = actor;
    const isNight = this.theme === 'night';
    const isRising = actor.portalOpen > 0;
    const feet = actor.isRoot ? 1.3 : 1;
    if (!isRising || actor.isSelected) {
      const ringOpacity = isRising ? 0 : tones.ringOpacity;
      const shadow = isRising ? 0 : isNight ? 0.75 : 0.4;
      this.decals.addFeet(actor, feet, tones.ring, { ring: tones.ringStyle, ringOpacity, shadow, isSelected: actor.isSelected });
    }
    if (figure.condition !== 'cancelled' && actor.emblem.y > actor.y + 0.3) {
      const size = actor.isRoot ? 0.24 : figure.condition === 'done' ? 0.24 : 0.165;
      this.emblems.add(actor.emblem.x, actor.emblem.y, actor.emblem.z, size, tones.zoneName, figure.condition, tones.emblem, figure.isFork ? 0.7 : 1);
      if (isNight && !isCrowd && (figure.condition === 'works' || isRising)) {
        this.glows.add(actor.emblem.x, actor.emblem.y, actor.emblem.z, 0.95, tones.zone, 0.35);
      }
    }
    if (!isRising) this.addThings(actor, tones, now);
  }

  private addThings(actor: Actor, tones: Tones, now: number): void {
    const { figure } = actor;
    const isNight = this.theme === 'night';
    if (actor.isRoot && figure.condition !== 'cancelled') this.addStaff(actor, isNight);
    if (actor.detail === 'far') return;
    switch (figure.condition) {
      case 'works':
        if (!actor.isRoot && actor.sway === 0) this.addLectern(actor, tones, isNight);
        break;
      case 'waits':
        this.addBeside(this.sets.hourglass, actor, HOME_AZIMUTH - 1.2, actor.isRoot ? 1.12 : 0.86, 1.3);
        break;
      case 'ran_dry':
        this.addBeside(this.sets.purse, actor, HOME_AZIMUTH + 1.15, actor.isRoot ? 1.1 : 0.82, 1.35);
        break;
      case 'failed':
        if (isNight) this.glows.add(actor.x, actor.y + 0.3, actor.z, 2.1, [1, 0.04, 0.02], 0.35);
        break;
      case 'cancelled':
        this.addDust(actor, now);
        break;
      case 'done':
      case 'refused':
        break;
    }
  }

  /** Places a thing at a distance from a figure, in a direction. */
  private addBeside(set: InstancedThings, actor: Actor, direction: number, distance: number, scale: number, tint: Triple = WHITE): void {
    this.euler.set(0, direction, 0);
    this.turn.setFromEuler(this.euler);
    this.at.set(actor.x + Math.sin(direction) * distance, actor.y + 0.03, actor.z + Math.cos(direction) * distance);
    this.size.setScalar(scale);
    set.add(this.matrix.compose(this.at, this.turn, this.size), tint);
  }

  private addLectern(actor: Actor, tones: Tones, isNight: boolean): void {
    const isLit = actor.figure.isBusy;
    const direction = actor.facing + 0.55;
    this.addBeside(isLit ? this.sets.lit : this.sets.unlit, actor, direction, 0.78, 1, tones.zone);
    if (isLit && isNight) {
      this.glows.add(actor.x + Math.sin(direction) * 0.7, actor.y + 0.62, actor.z + Math.cos(direction) * 0.7, 1.3, tones.zone, 0.45);
    }
  }

  private addStaff(actor: Actor, isNight: boolean): void {
    const scale = actor.scale / (1.32 * 1.08);
    this.euler.set(0, actor.facing, 0);
    this.turn.setFromEuler(this.euler);
    this.size.setScalar(scale);
    this.at.set(actor.x, actor.y + Math.max(actor.lift, -3), actor.z);
    this.matrix.compose(this.at, this.turn, this.size).multiply(this.local.makeTranslation(0.66, 0, 0.32));
    this.sets.staff.add(this.matrix, WHITE);
    if (!isNight) return;
    this.at.set(0.66, STAFF_LAMP, 0.32).applyQuaternion(this.turn).multiplyScalar(scale);
    this.glows.add(actor.x + this.at.x, actor.y + this.at.y, actor.z + this.at.z, 1.4, [1, 0.58, 0.2], 0.55);
    this.glows.add(actor.x, actor.y + 1.5, actor.z, 4.2, [1, 0.58, 0.2], 0.1);
  }

  /** Ash that rises from an empty robe. */
  private addDust(actor: Actor, now: number): void {
    const random = randomSequence(21);
    const tone: Triple = this.theme === 'night' ? [0.32, 0.3, 0.27] : [0.15, 0.13, 0.11];
    for (let i = 0; i < 14; i++) {
      const age = (random() + now * 0.00012) % 1;
      const x = actor.x + (random() - 0.5) * 0.7 + age * 0.4;
      const z = actor.z + (random() - 0.5) * 0.6;
      this.glows.add(x, actor.y + 0.25 + age * 1.3, z, 0.07 + 0.06 * random(), tone, (1 - age) * 0.9, 'dust');
    }
  }

  private addPortal(actor: Actor, tones: Tones, now: number): void {
    const isNight = this.theme === 'night';
    if (actor.figure.condition === 'refused') {
      this.decals.addPortal(actor, actor.crack > 0.5 ? triple(RED) : tones.zone, actor.portalOpen, actor.crack);
      if (isNight) this.glows.add(actor.x, actor.y + 0.2, actor.z, 2.4, [1, 0.12, 0.06], 0.16);
      return;
    }
    const open = actor.portalOpen;
    this.decals.addPortal(actor, tones.zone, open, 0);
    this.columns.add(actor, open, tones.zone, (isNight ? 0.7 : 0.75) * open);
    const random = randomSequence(4);
    const mote = triple(mixed(new Color(...tones.zone), '#FFFFFF', 0.5));
    for (let i = 0; i < 30; i++) {
      const age = (random() + now * 0.00035) % 1;
      const angle = random() * 6.28 + age * 2;
      const distance = (0.55 + 0.4 * random()) * open;
      const size = 0.06 + 0.09 * random();
      const x = actor.x + Math.sin(angle) * distance;
      const z = actor.z + Math.cos(angle) * distance;
      this.glows.add(x, actor.y + age * 2.3, z, size, mote, (1 - age) * open * (isNight ? 0.95 : 0.8));
    }
    if (isNight) this.glows.add(actor.x, actor.y + 0.35, actor.z, 3, tones.zone, 0.16 * open);
  }

  private addShards(actor: Actor, isCrowd: boolean): void {
    if (actor.burst <= 0 || (isCrowd && actor.screen.unit < 13)) return;
    for (const shard of SHARDS) {
      this.euler.set(shard.turn[1] * actor.burst, shard.turn[0], shard.turn[2] * actor.burst);
      this.turn.setFromEuler(this.euler);
      const distance = shard.distance * actor.burst;
      this.at.set(Math.sin(shard.angle) * distance, 0.05 + shard.height * actor.burst, Math.cos(shard.angle) * distance);
      this.at.x += actor.x;
      this.at.y += actor.y;
      this.at.z += actor.z;
      this.size.setScalar(shard.size);
      this.sets.shard.add(this.matrix.compose(this.at, this.turn, this.size), triple(mixed('#5A3038', '#C8523F', shard.tone)));
    }
  }

  private addBanner(banner: Banner, byId: ReadonlyMap<string, Actor>): void {
    const actor = byId.get(banner.figure);
    if (!actor) return;
    const tint = actor.isRoot ? triple(new Color(COLOR.brass)) : triple(mixed(SECTORS[zoneOf(actor.figure)].color, '#000000', 0.12));
    const [x, z] = bannerSpot(actor);
    this.euler.set(0, HOME_AZIMUTH, 0);
    this.turn.setFromEuler(this.euler);
    this.at.set(x, actor.y, z);
    this.size.setScalar(1);
    this.sets.banner.add(this.matrix.compose(this.at, this.turn, this.size), tint);
  }

  dispose(): void {
    for (const set of Object.values(this.sets)) set.dispose();
    this.decals.dispose();
    this.columns.dispose();
    this.emblems.dispose();
    this.material.dispose();
  }
}

/** Where the banner of folded hires stands: behind the figure's right shoulder. */
function bannerSpot(actor: { x: number; z: number; scale: number }): [number, number] {
  const distance = 0.62 * actor.scale;
  return [actor.x + Math.cos(HOME_AZIMUTH) * distance, actor.z - 0.2 - Math.sin(HOME_AZIMUTH) * distance];
}
