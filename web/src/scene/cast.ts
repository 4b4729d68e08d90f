// From a stage to what is drawn: where each figure is at this moment, how it stands, what its portal does. No three.js
// objects here; the writers of the other files turn actors into instances.

import type { Beat, Figure, Stage } from '../stage';
import { HOME_AZIMUTH, layOut, newSlotMemory } from './layout';
import type { Apron, Layout, Place, SlotMemory } from './layout';
import { crackAt, portalAt, smooth, walkAt } from './motion';
import type { Point } from './motion';
import type { Look } from '../looks';
import { POSE_TOP } from './robe';
import type { Detail, Pose } from './robe';

export const MANY = 25;
const WIDEN_MS = 700;
const BODY_SCALE = 1.08;
const RISE_DEPTH = 2.0;

export interface Actor {
  figure: Figure;
  readonly isRoot: boolean;
  look: Look;
  pose: Pose;
  /** The floor under the figure. */
  x: number;
  y: number;
  z: number;
  facing: number;
  sway: number;
  scale: number;
  /** Height of the body above the floor: negative while it rises. */
  lift: number;
  /** False while the figure has not yet come through its portal. */
  isPresent: boolean;
  portalOpen: number;
  crack: number;
  burst: number;
  /** Where threads, coins and scrolls begin and end. */
  readonly emblem: Point;
  /** In the lineage of the selected figure. */
  isLineage: boolean;
  isSelected: boolean;
  /** Set for this frame by the size on the screen. */
  detail: Detail;
  /** Set by the projection of this frame. */
  readonly screen: ScreenSpot;
}

/** Where an actor is on the screen, in CSS pixels. */
export interface ScreenSpot {
  x: number;
  feetY: number;
  topY: number;
  emblemX: number;
  emblemY: number;
  /** Pixels for one unit of length. */
  unit: number;
  isVisible: boolean;
}

interface FigureBeats {
  portal: Beat | null;
  walk: Beat | null;
  crack: Beat | null;
}

function lookOf(actor: { portalOpen: number; lift: number }, figure: Figure): Look {
  if (figure.condition === 'refused') return 'refused';
  return actor.portalOpen > 0 || actor.lift < -0.05 ? 'arrives' : figure.condition;
}

function poseOf(figure: Figure, isRoot: boolean): Pose {
  if (figure.condition === 'cancelled') return 'heap';
  if (isRoot) return 'root';
  switch (figure.condition) {
    case 'works':
    case 'refused':
      return 'stand';
    case 'waits':
      return 'bow';
    case 'done':
      return 'calm';
    case 'ran_dry':
      return 'droop';
    case 'failed':
      return 'recoil';
  }
}

function sameFigures(a: readonly Figure[], b: readonly Figure[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const p = a[i];
    const q = b[i];
    if (!p || !q || p.id !== q.id || p.depth !== q.depth || p.zone !== q.zone || p.hirer !== q.hirer) return false;
  }
  return true;
}

/** The selected figure, everyone above it and everyone below it. */
export function lineageOf(figures: readonly Figure[], selected: string | null): Set<string> {
  const lineage = new Set<string>();
  if (selected === null) return lineage;
  const hirers = new Map(figures.map((figure) => [figure.id, figure.hirer]));
  const below = new Set([selected]);
  for (const figure of figures) {
    if (figure.hirer !== null && below.has(figure.hirer)) below.add(figure.id);
  }
  let above: string | null | undefined = selected;
  // A bad stage could hold a circle of hirers: stop when one comes again.
  while (above !== null && above !== undefined && hirers.has(above) && !lineage.has(above)) {
    lineage.add(above);
    above = hirers.get(above);
  }
  for (const id of below) if (hirers.has(id)) lineage.add(id);
  return lineage;
}

function indexBeats(beats: readonly Beat[]): Map<string, FigureBeats> {
  const index = new Map<string, FigureBeats>();
  for (const beat of beats) {
    if (beat.kind !== 'portal' && beat.kind !== 'walk' && beat.kind !== 'crack') continue;
    let entry = index.get(beat.figure);
    if (!entry) {
      entry = { portal: null, walk: null, crack: null };
      index.set(beat.figure, entry);
    }
    entry[beat.kind] = beat;
  }
  return index;
}

export class Cast {
  layout: Layout;
  /** The first figure of the stage. */
  rootId: string | null = null;
  /** Figures in the order of the stage. */
  readonly actors: Actor[] = [];
  readonly byId = new Map<string, Actor>();
  /** Changes when the hall must be built anew. */
  layoutVersion = 0;
  /** The layout that the hall is leaving, and how far the way to the new one is done. */
  previous: Layout | null = null;
  widened = 1;
  private memory: SlotMemory = newSlotMemory();
  private figures: readonly Figure[] = [];
  private widenStart = 0;
  private lastNow = Number.NEGATIVE_INFINITY;
  private lineage = new Set<string>();
  private lineageKey: string | null = null;

  constructor() {
    this.layout = layOut([], this.memory);
  }

  update(stage: Stage): void {
    // A scrub: nothing glides, everything is in place. A page at rest gets no stages, so a long pause is no scrub.
    const isJump = stage.now < this.lastNow || stage.beats.length === 0 || stage.figures.length < this.figures.length;
    this.lastNow = stage.now;
    const isNewSet = !sameFigures(stage.figures, this.figures);
    if (isNewSet) this.changeLayout(stage, isJump);
    this.figures = stage.figures;
    if (isNewSet || stage.selected !== this.lineageKey) {
      this.lineage = lineageOf(stage.figures, stage.selected);
      this.lineageKey = stage.selected;
    }
    if (isJump) this.previous = null;
    this.widened = this.previous ? smooth(stage.now - this.widenStart, 0, WIDEN_MS) : 1;
    if (this.widened >= 1) this.previous = null;
    this.updateActors(stage);
  }

  private changeLayout(stage: Stage, isJump: boolean): void {
    const root = stage.figures[0]?.id ?? null;
    // Another root is another request: its figures have the same paths, but they are not the same.
    if (root !== this.rootId) this.memory = newSlotMemory();
    const isSameRoot = root === this.rootId;
    this.rootId = root;
    const before = this.layout;
    this.layout = layOut(stage.figures, this.memory);
    if (isSameHall(before, this.layout)) return;
    this.layoutVersion++;
    if (isJump || !isSameRoot) return;
    this.previous = before;
    this.widenStart = stage.now;
  }

  private updateActors(stage: Stage): void {
    const beats = indexBeats(stage.beats);
    const isMany = stage.figures.length > MANY;
    const seen = new Set<string>();
    this.actors.length = 0;
    for (const figure of stage.figures) {
      const place = this.layout.places.get(figure.id);
      const door = this.layout.doors.get(figure.id);
      if (!place || !door || seen.has(figure.id)) continue;
      seen.add(figure.id);
      let actor = this.byId.get(figure.id);
      if (!actor || actor.isRoot !== (figure.depth === 0)) {
        actor = newActor(figure);
        this.byId.set(figure.id, actor);
      }
      actor.figure = figure;
      actor.isLineage = this.lineage.has(figure.id);
      actor.isSelected = stage.selected === figure.id;
      this.placeActor(actor, place, door, beats.get(figure.id), stage.now, isMany);
      this.actors.push(actor);
    }
    if (this.byId.size > seen.size) {
      for (const id of this.byId.keys()) if (!seen.has(id)) this.byId.delete(id);
    }
  }

  /** The root is larger in a large hall, so that it is found. */
  private rootScale(isMany: boolean): number {
    return isMany ? 1.62 * Math.min(1.5, Math.max(1, this.layout.apron.outer / 22)) : 1.36;
  }

  /** A place on its way from the narrower hall to the wider one. */
  private glide(id: string, place: Place): { x: number; y: number; z: number; angle: number } {
    if (!this.previous) return place;
    const old = this.previous.places.get(id);
    if (!old) return this.onMovingRing(place);
    const t = this.widened;
    let turn = place.angle - old.angle;
    turn = Math.atan2(Math.sin(turn), Math.cos(turn));
    const angle = old.angle + turn * t;
    const radius = old.radius + (place.radius - old.radius) * t;
    return { x: Math.sin(angle) * radius, y: old.y + (place.y - old.y) * t, z: Math.cos(angle) * radius, angle };
  }

  /** How far the outer edge of a ring is from its final radius. */
  shiftOf(ring: number): number {
    const { previous, layout } = this;
    if (!previous) return 0;
    const last = previous.rings[previous.rings.length - 1]?.outer ?? 0;
    const before = ring < layout.rings.length ? (previous.rings[ring]?.outer ?? last) : previous.apron.outer;
    const after = layout.rings[ring]?.outer ?? layout.apron.outer;
    return (before - after) * (1 - this.widened);
  }

  /** The apron on its way. */
  get apron(): Apron {
    const { previous, widened } = this;
    const { apron } = this.layout;
    if (!previous) return apron;
    const between = (from: number, to: number): number => from + (to - from) * widened;
    return {
      y: between(previous.apron.y, apron.y),
      inner: between(previous.apron.inner, apron.inner),
      outer: between(previous.apron.outer, apron.outer),
      scale: between(previous.apron.scale, apron.scale),
    };
  }

  /** A place of a newcomer while the rings under it move. */
  private onMovingRing(place: Place): Place {
    const { previous, layout } = this;
    const ring = layout.rings[place.ring];
    if (!previous || !ring || place.ring === 0) return place;
    const share = (place.radius - ring.inner) / (ring.outer - ring.inner);
    const inner = this.shiftOf(place.ring - 1);
    const radius = place.radius + inner + (this.shiftOf(place.ring) - inner) * share;
    const isNewRing = place.ring >= previous.rings.length;
    const y = place.y + (isNewRing ? (previous.apron.y - layout.apron.y) * (1 - this.widened) : 0);
    return { ...place, x: Math.sin(place.angle) * radius, y, z: Math.cos(place.angle) * radius, radius };
  }

  private placeActor(actor: Actor, place: Place, door: Place, beats: FigureBeats | undefined, now: number, isMany: boolean): void {
    const { figure } = actor;
    const spot = this.glide(figure.id, place);
    actor.x = spot.x;
    actor.y = spot.y;
    actor.z = spot.z;
    actor.scale = BODY_SCALE * (actor.isRoot ? this.rootScale(isMany) : 1);
    actor.facing = actor.isRoot ? HOME_AZIMUTH - 0.12 : HOME_AZIMUTH - Math.sin(spot.angle - HOME_AZIMUTH) * 0.38;
    actor.lift = figure.condition === 'works' ? 0.015 * Math.sin(now * 0.003 + spot.angle * 5) : 0;
    actor.sway = 0;
    actor.isPresent = true;
    actor.portalOpen = 0;
    actor.crack = figure.condition === 'refused' ? 1 : 0;
    actor.burst = actor.crack;
    if (figure.condition === 'refused') {
      actor.portalOpen = 1;
      if (beats?.crack) {
        const state = crackAt(now - beats.crack.start, beats.crack.duration);
        actor.portalOpen = state.open;
        actor.crack = state.crack;
        actor.burst = state.burst;
      }
    } else if (beats) moveActor(actor, spot, this.onMovingRing(door), beats, now);
    actor.look = lookOf(actor, figure);
    actor.pose = poseOf(figure, actor.isRoot);
    setEmblem(actor, now);
  }
}

function isSameHall(a: Layout, b: Layout): boolean {
  return a.rings.length === b.rings.length && a.rings.every((ring, i) => ring.outer === b.rings[i]?.outer);
}

function newActor(figure: Figure): Actor {
  return {
    figure, isRoot: figure.depth === 0, look: figure.condition, pose: 'stand', x: 0, y: 0, z: 0, facing: 0, sway: 0, scale: 1,
    lift: 0, isPresent: true, portalOpen: 0, crack: 0, burst: 0, emblem: { x: 0, y: 0, z: 0 }, isLineage: false, isSelected: false, detail: 'near',
    screen: { x: 0, feetY: 0, topY: 0, emblemX: 0, emblemY: 0, unit: 0, isVisible: false },
  };
}

/** Rises at the door, walks to the place. A beat that has not begun keeps the figure at the beat's start. */
function moveActor(actor: Actor, spot: Point & { angle: number }, door: Place, beats: FigureBeats, now: number): void {
  const { portal, walk } = beats;
  const walkMs = walk ? now - walk.start : null;
  const isInPortal = portal !== null && now < portal.start + portal.duration;
  if (portal && isInPortal) {
    const state = portalAt(now - portal.start, portal.duration);
    actor.portalOpen = state.open;
    actor.isPresent = state.rise > 0;
    actor.lift = -(1 - state.rise) * RISE_DEPTH * actor.scale;
  }
  if (walk && walkMs !== null && walkMs >= 0) {
    const state = walkAt(walkMs, walk.duration);
    // Along the terrace, not straight through its inner edge.
    const radius = Math.hypot(door.x, door.z) + (Math.hypot(spot.x, spot.z) - Math.hypot(door.x, door.z)) * state.along;
    const turn = Math.atan2(Math.sin(spot.angle - door.angle), Math.cos(spot.angle - door.angle));
    const angle = door.angle + turn * state.along;
    actor.x = Math.sin(angle) * radius;
    actor.z = Math.cos(angle) * radius;
    actor.lift += state.bob;
    actor.sway = state.sway;
    return;
  }
  if (isInPortal || walk) {
    actor.x = door.x;
    actor.y = door.y;
    actor.z = door.z;
  }
}

/** Height of the emblem above the hood. */
const EMBLEM_ABOVE = 0.3;

function setEmblem(actor: Actor, now: number): void {
  const top = POSE_TOP[actor.pose] * actor.scale + actor.lift;
  // Who bows has the head before the feet.
  const ahead = actor.pose === 'bow' ? 0.48 * actor.scale : 0;
  actor.emblem.x = actor.x + Math.sin(actor.facing) * ahead;
  actor.emblem.z = actor.z + Math.cos(actor.facing) * ahead;
  if (actor.figure.condition === 'refused') actor.emblem.y = actor.y + 0.12;
  else if (actor.pose === 'heap') actor.emblem.y = actor.y + top - 0.35;
  else actor.emblem.y = actor.y + top + EMBLEM_ABOVE + (actor.figure.condition === 'done' ? 0.17 : 0) + 0.03 * Math.sin(now * 0.002 + actor.x);
  if (!actor.isPresent) actor.emblem.y = actor.y + 0.1;
}
