// Where figures stand. The root stands on the dais; each depth is a ring 0.6 lower; a sector belongs to each zone.
// A figure keeps its slot when others join: slots are remembered by id, so this file must not depend on the order in
// which a stage lists its figures, except for figures it has never seen.

import type { Figure, Zone } from '../stage';
import { SECTORS } from './palette';

export const STEP = 0.6;
export const STAIR_WIDTH = 1.05;
const DAIS_RADIUS = 2.2;
const DAIS_TOP = 0.16;
/** Deeper levels share the last ring. */
export const RINGS_MAX = 8;
const ROW_FIRST = 0.92;
const ROW_PITCH = 1.5;
const ROW_LAST = 0.9;
const SPACING = 1.5;
/** The least arc between a figure and the border of its sector, where the stairs are. */
const BORDER = 0.88;
const RING_WIDTH_MIN = 1.8;
const APRON_WIDTH = 1.75;
/** How far the lantern of a sector stands from the sector's middle, against the angle. */
export const LANTERN_ARC = 2.85;
const SECTOR_RADIANS = Math.PI / 3;
/** The direction from which the camera looks at home, in radians: 0 is the front. Here it judges which slots look far apart. */
export const HOME_AZIMUTH = (-5 * Math.PI) / 180;
export const HOME_ELEVATION = (33 * Math.PI) / 180;
export const PORTAL_RADIUS = 0.92;
/** Between the middle of an open portal and anybody else. */
const PORTAL_ROOM = 1.35;
/** With more figures than this, new figures take the free slot nearest to their hirer. */
const PICTURE_SEARCH_MAX = 150;

export interface Ring {
  readonly y: number;
  readonly inner: number;
  readonly outer: number;
  readonly rows: number;
}

export interface Apron {
  readonly y: number;
  readonly inner: number;
  readonly outer: number;
  /** Lanterns and props grow with a large hall. */
  readonly scale: number;
}

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** 0 points to the viewer, growing to the right. */
  readonly angle: number;
  readonly radius: number;
  readonly ring: number;
}

export interface Layout {
  /** The dais is ring 0. */
  readonly rings: readonly Ring[];
  readonly apron: Apron;
  readonly places: ReadonlyMap<string, Place>;
  /** Where the portal of a figure opens. */
  readonly doors: ReadonlyMap<string, Place>;
}

interface Slot {
  readonly ring: number;
  readonly zone: Zone;
  readonly row: number;
  /** Distance from the middle of the sector along the row. It stays the same when the ring widens. */
  readonly arc: number;
  readonly doorArc: number;
}

/** The slots of every figure seen so far. */
export type SlotMemory = Map<string, Slot>;

export function newSlotMemory(): SlotMemory {
  return new Map();
}

function ringOf(figure: Figure): number {
  return Math.min(figure.depth, RINGS_MAX);
}

export function zoneOf(figure: Figure): Zone {
  return figure.zone ?? 'workshop';
}

function sectorAngle(zone: Zone): number {
  return (SECTORS[zone].degrees * Math.PI) / 180;
}

function rowRadius(inner: number, row: number): number {
  return inner + ROW_FIRST + row * ROW_PITCH;
}

/** The greatest distance from the middle of a sector at this radius. */
function arcLimit(radius: number): number {
  return Math.max(0, (SECTOR_RADIANS * radius) / 2 - BORDER);
}

function placeAt(angle: number, radius: number, y: number, ring: number): Place {
  return { x: Math.sin(angle) * radius, y, z: Math.cos(angle) * radius, angle, radius, ring };
}

/** A place as the home camera sees it: right and up. */
function pictureOf(place: { x: number; y: number; z: number }): [number, number] {
  const right = place.x * Math.cos(HOME_AZIMUTH) - place.z * Math.sin(HOME_AZIMUTH);
  const near = place.x * Math.sin(HOME_AZIMUTH) + place.z * Math.cos(HOME_AZIMUTH);
  return [right, place.y * Math.cos(HOME_ELEVATION) - near * Math.sin(HOME_ELEVATION)];
}

/** The arcs that a newcomer may take in a row. */
function rowCandidates(limit: number, isCrowded: boolean): number[] {
  const pitch = isCrowded ? SPACING + 0.02 : 0.75;
  const arcs = [0];
  for (let arc = pitch; arc <= limit + 1e-6; arc += pitch) arcs.push(arc, -arc);
  if (limit > 0.3 && !isCrowded) arcs.push(limit, -limit);
  return arcs;
}

class RingFiller {
  private readonly rows = new Map<string, number[]>();

  constructor(
    private readonly ring: number,
    private readonly inner: number,
    private readonly placed: { place: Place; picture: [number, number] }[],
    private readonly isLast: boolean,
  ) {}

  /** In the front sectors a lantern stands between the last ring and the viewer. */
  private isBehindLantern(zone: Zone, row: number, arc: number): boolean {
    if (!this.isLast || Math.abs(SECTORS[zone].degrees) > 60) return false;
    const radius = rowRadius(this.inner, row) + 2.2;
    const arcOfLantern = LANTERN_ARC * Math.max(1, radius / 13);
    const lantern = placeAt(sectorAngle(zone) - arcOfLantern / radius, radius, 0, this.ring);
    return Math.abs(pictureOf(lantern)[0] - pictureOf(this.placeOf(zone, row, arc))[0]) < 0.9;
  }

  private occupied(zone: Zone, row: number): number[] {
    const key = `${zone}/${row}`;
    const found = this.rows.get(key);
    if (found) return found;
    const made: number[] = [];
    this.rows.set(key, made);
    return made;
  }

  isFree(zone: Zone, row: number, arc: number): boolean {
    if (Math.abs(arc) > arcLimit(rowRadius(this.inner, row)) + 1e-6) return false;
    return this.occupied(zone, row).every((other) => Math.abs(other - arc) >= SPACING - 1e-6);
  }

  take(zone: Zone, row: number, arc: number): Place {
    this.occupied(zone, row).push(arc);
    const place = this.placeOf(zone, row, arc);
    this.placed.push({ place, picture: pictureOf(place) });
    return place;
  }

  placeOf(zone: Zone, row: number, arc: number): Place {
    const radius = rowRadius(this.inner, row);
    return placeAt(sectorAngle(zone) + arc / radius, radius, -STEP * this.ring, this.ring);
  }

  /** A slot for a newcomer: the first row with room; in it the arc whose picture is far from the others. */
  choose(zone: Zone, hirer: Place | undefined, isCrowded: boolean): { row: number; arc: number } {
    for (let row = 0; ; row++) {
      const limit = arcLimit(rowRadius(this.inner, row));
      const free = rowCandidates(limit, isCrowded).filter((arc) => this.isFree(zone, row, arc));
      if (free.length === 0) continue;
      let best = free[0] ?? 0;
      let bestScore = -Infinity;
      for (const arc of free) {
        const hidden = this.isBehindLantern(zone, row, arc) ? 0.6 : 0;
        const score = this.score(this.placeOf(zone, row, arc), arc, hirer) - hidden;
        if (score > bestScore) {
          bestScore = score;
          best = arc;
        }
      }
      return { row, arc: best };
    }
  }

  private score(place: Place, arc: number, hirer: Place | undefined): number {
    const [right, up] = pictureOf(place);
    let gap = 2.4;
    if (this.placed.length <= PICTURE_SEARCH_MAX) {
      for (const { picture } of this.placed) {
        gap = Math.min(gap, Math.hypot((right - picture[0]) / 1.15, (up - picture[1]) / 1.5));
      }
    }
    // Behind the root, its body would hide the figure; in one line with the root, the thread.
    const isBehindRoot = up > 0 && up < 3.4;
    if (isBehindRoot || (hirer && hirer.radius < 0.1)) gap = Math.min(gap, Math.abs(right) / 1.5);
    let turn = 0;
    if (hirer && hirer.radius >= 0.1) {
      const away = place.angle - hirer.angle;
      turn = Math.abs(Math.atan2(Math.sin(away), Math.cos(away)));
    }
    return gap - Math.abs(arc) * 0.05 - turn * 0.2;
  }

  /** Where the portal opens: beside the place, in the same row, off the stairs and away from everyone. Else at the place itself. */
  doorFor(zone: Zone, row: number, arc: number): number {
    const limit = arcLimit(rowRadius(this.inner, row)) + BORDER - STAIR_WIDTH / 2 - PORTAL_RADIUS;
    const others = this.occupied(zone, row).filter((other) => other !== arc);
    const onStairs = (door: number): number => Math.max(0, Math.abs(door) - limit);
    const doors = [1.5, -1.5, 1.3, -1.3, 1, -1, 0.75, -0.75]
      .map((distance) => arc + distance)
      .filter((door) => onStairs(door) < Math.max(0.05, onStairs(arc)) && others.every((other) => Math.abs(other - door) >= PORTAL_ROOM))
      .filter((door) => !this.isBehindLantern(zone, row, door))
      .sort((a, b) => onStairs(a) - onStairs(b) || Math.abs(a) - Math.abs(b));
    return doors[0] ?? arc;
  }
}

function fillRing(
  figures: readonly Figure[],
  filler: RingFiller,
  ring: number,
  memory: SlotMemory,
  places: Map<string, Place>,
  doors: Map<string, Place>,
): number {
  let rows = 1;
  const newcomers: Figure[] = [];
  const perZone = new Map<Zone, number>();
  for (const figure of figures) {
    const zone = zoneOf(figure);
    perZone.set(zone, (perZone.get(zone) ?? 0) + 1);
    const slot = memory.get(figure.id);
    if (slot && slot.ring === ring && slot.zone === zone && filler.isFree(zone, slot.row, slot.arc)) {
      places.set(figure.id, filler.take(zone, slot.row, slot.arc));
      doors.set(figure.id, filler.placeOf(zone, slot.row, slot.doorArc));
      rows = Math.max(rows, slot.row + 1);
    } else newcomers.push(figure);
  }
  const taken: { readonly id: string; readonly zone: Zone; readonly row: number; readonly arc: number }[] = [];
  for (const figure of newcomers) {
    const zone = zoneOf(figure);
    const hirer = figure.hirer === null ? undefined : places.get(figure.hirer);
    const { row, arc } = filler.choose(zone, hirer, (perZone.get(zone) ?? 0) > 12);
    places.set(figure.id, filler.take(zone, row, arc));
    taken.push({ id: figure.id, zone, row, arc });
    rows = Math.max(rows, row + 1);
  }
  // Portals open when everybody who comes now has a place: none of them is on a portal of another.
  for (const { id, zone, row, arc } of taken) {
    const doorArc = filler.doorFor(zone, row, arc);
    memory.set(id, { ring, zone, row, arc, doorArc });
    doors.set(id, filler.placeOf(zone, row, doorArc));
  }
  return rows;
}

/** Roots share the dais. One root stands in the middle; more stand around it. */
function placeRoots(roots: readonly Figure[], places: Map<string, Place>, doors: Map<string, Place>): void {
  roots.forEach((root, index) => {
    const angle = index * 2.4;
    const place = index === 0 ? placeAt(0, 0, DAIS_TOP, 0) : placeAt(angle, 1.55, 0, 0);
    places.set(root.id, place);
    doors.set(root.id, place);
  });
}

/** Places every figure. `memory` holds the slots of earlier calls and receives the new ones. */
export function layOut(figures: readonly Figure[], memory: SlotMemory): Layout {
  const byRing = new Map<number, Figure[]>();
  let deepest = 0;
  for (const figure of figures) {
    const ring = ringOf(figure);
    deepest = Math.max(deepest, ring);
    const list = byRing.get(ring);
    if (list) list.push(figure);
    else byRing.set(ring, [figure]);
  }
  const last = Math.max(figures.length < 6 ? 2 : 3, deepest);
  const places = new Map<string, Place>();
  const doors = new Map<string, Place>();
  placeRoots(byRing.get(0) ?? [], places, doors);
  const placed = [...places.values()].map((place) => ({ place, picture: pictureOf(place) }));
  const rings: Ring[] = [{ y: 0, inner: 0, outer: DAIS_RADIUS, rows: 1 }];
  for (let ring = 1; ring <= last; ring++) {
    const inner = rings[ring - 1]?.outer ?? DAIS_RADIUS;
    const filler = new RingFiller(ring, inner, placed, ring === last);
    const rows = fillRing(byRing.get(ring) ?? [], filler, ring, memory, places, doors);
    const width = Math.max(RING_WIDTH_MIN, ROW_FIRST + (rows - 1) * ROW_PITCH + ROW_LAST);
    rings.push({ y: -STEP * ring, inner, outer: inner + width, rows });
  }
  const radius = rings[last]?.outer ?? DAIS_RADIUS;
  const scale = Math.min(2.4, Math.max(1, radius / 12));
  const apron = { y: -STEP * last - 0.42, inner: radius, outer: radius + APRON_WIDTH * scale, scale };
  return { rings, apron, places, doors };
}
