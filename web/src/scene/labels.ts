// Keeps the labels of a scene: which figures are named, their elements, and where they are on the screen.

import type { Banner, Box, Stage, Theme, Zone } from '../stage';
import { MANY } from './cast';
import type { Actor } from './cast';
import type { Landmarks } from './hall';
import { SVG, amountLabel, bannerLabel, figureLabel, sectorLabel } from './label-elements';
import type { LabelSize } from './label-elements';
import { leaderOf } from './label-leader';
import { placeLabels } from './label-solver';
import type { Body, LabelRequest, Placement } from './label-solver';
import type { Projector, ScreenPoint } from './projector';
import { overlap } from './rect';
import type { Rect } from './rect';
import type { Amount } from './traffic';
import { ZONES } from './palette';

/** How many of many figures are named at most, and how much of the picture their labels may cover: more of them hide what they name. */
const LABELS_MAX = 48;
const LABELS_SHARE_MAX = 0.3;
/** An average label with the room around it, in square pixels. */
const LABEL_AREA = 5000;
/** With more figures than this, labels are smaller. */
const LARGE_MAX = 14;
export const SOLVE_AGAIN_MS = 160;
const MOVED_PIXELS = 3;
/** With more figures than this, the search for places is spread over several frames, and takes about this long in each. */
const AT_ONCE_MAX = 200;
const SOLVE_MS_MAX = 0.4;
/** The height of a face that can be recognised, with the emblem above it. */
const FACE_MIN = 14;
/** How much of that is the emblem, which must stay in sight. */
const EMBLEM_SHARE = 0.42;

interface Label {
  readonly element: HTMLElement;
  /** Text and look: another key needs another element. */
  readonly key: string;
  width: number;
  height: number;
  /** A line and the dot at its end. */
  leader: SVGGElement | null;
  isShown: boolean;
}

/** A label for this frame. */
interface Wanted {
  readonly label: Label;
  readonly request: LabelRequest;
}

/** A label whose size may not be known yet. */
interface Draft {
  readonly label: Label;
  readonly request: Omit<LabelRequest, 'width' | 'height'>;
}

/** When labels want the next update. */
export type LabelsNext = 'next frame' | 'soon' | 'when something changes';

/** What labels must know about the frame. */
export interface LabelScene {
  readonly stage: Stage;
  readonly actors: readonly Actor[];
  readonly byId: ReadonlyMap<string, Actor>;
  readonly amounts: readonly Amount[];
  readonly landmarks: Landmarks;
  readonly projector: Projector;
  readonly width: number;
  readonly height: number;
  readonly nowMs: number;
}

/** Who is named: everyone up to 25; above that depth 0 and 1, trouble, newcomers and the selected lineage. */
export function isNamed(actor: Actor, crowd: 'few' | 'many'): boolean {
  if (crowd === 'few' || actor.figure.depth <= 1 || actor.isSelected || actor.isLineage) return true;
  return actor.look === 'ran_dry' || actor.look === 'failed' || actor.look === 'refused' || actor.look === 'arrives';
}

/** How many figures are named at most in a picture of this many square pixels. */
export function namedMax(crowd: 'few' | 'many', area: number): number {
  return crowd === 'few' ? MANY : Math.max(1, Math.min(LABELS_MAX, Math.floor((area * LABELS_SHARE_MAX) / LABEL_AREA)));
}

function priorityOf(actor: Actor): number {
  if (actor.isRoot) return 0;
  if (actor.isSelected) return 1;
  if (actor.figure.depth <= 1) return 3;
  if (actor.isLineage) return 4;
  if (actor.look === 'ran_dry' || actor.look === 'failed' || actor.look === 'refused') return 5;
  return 6 + Math.min(9, actor.figure.depth);
}

export class Labels {
  private readonly layer = document.createElement('div');
  private readonly lines = document.createElementNS(SVG, 'svg');
  private readonly labels = new Map<string, Label>();
  private placements = new Map<string, Placement>();
  /** What the placements were found for: labels follow figures that have moved since. */
  private placedFor: ReadonlyMap<string, Wanted> = new Map();
  private theme: Theme = 'night';
  private solvedAt = Number.NEGATIVE_INFINITY;
  /** There are labels that the last solution does not know, or room that it did not have. */
  private isStale = false;
  /** The calculation that runs, and the labels it began with. */
  private solving: { readonly wanted: ReadonlyMap<string, Wanted>; readonly steps: ReturnType<typeof placeLabels> } | null = null;
  private readonly spot: ScreenPoint = { x: 0, y: 0, depth: 0 };
  private readonly foot: ScreenPoint = { x: 0, y: 0, depth: 0 };

  constructor(private readonly overlay: HTMLElement) {
    this.layer.className = 'label-layer';
    this.lines.setAttribute('class', 'label-lines');
    this.layer.append(this.lines);
    overlay.append(this.layer);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.layer.dataset.theme = theme;
    this.clear();
  }

  /** Measures all labels again: call it when fonts have loaded. */
  clear(): void {
    for (const label of this.labels.values()) this.remove(label);
    this.labels.clear();
    this.placements.clear();
    this.solving = null;
    this.solvedAt = Number.NEGATIVE_INFINITY;
  }

  /** Places the labels, and says when they want the next update. */
  update(scene: LabelScene): LabelsNext {
    const wanted = this.collect(scene);
    if (this.removeOthers(wanted)) this.isStale = true;
    const isOld = scene.nowMs - this.solvedAt > SOLVE_AGAIN_MS;
    if (!this.solving && (this.isStale || (isOld && this.movedBy(wanted) > MOVED_PIXELS))) this.startSolving(wanted, scene);
    const isSolved = this.solve(scene);
    const moved = this.movedBy(wanted);
    if (isSolved || this.solving || moved > 0.25) this.place(wanted, scene);
    if (this.solving || this.isStale) return 'next frame';
    return moved > MOVED_PIXELS ? 'soon' : 'when something changes';
  }

  /** How far figures have moved since their labels got their places, in pixels. */
  private movedBy(wanted: ReadonlyMap<string, Wanted>): number {
    let moved = 0;
    for (const [id, { request }] of wanted) {
      const before = this.placedFor.get(id)?.request;
      if (before) moved = Math.max(moved, Math.abs(before.x - request.x), Math.abs(before.feetY - request.feetY), Math.abs(before.topY - request.topY));
    }
    return moved;
  }

  /** Removes the labels that nobody wants any more. True if that makes room for others. */
  private removeOthers(wanted: ReadonlyMap<string, Wanted>): boolean {
    let makesRoom = false;
    for (const [id, label] of this.labels) {
      if (wanted.has(id)) continue;
      this.remove(label);
      this.labels.delete(id);
      this.placements.delete(id);
      // The room of an amount stays free: it had only taken what others left.
      if (!id.startsWith('amount/')) makesRoom = true;
    }
    return makesRoom;
  }

  private startSolving(wanted: ReadonlyMap<string, Wanted>, scene: LabelScene): void {
    this.solvedAt = scene.nowMs;
    this.isStale = false;
    const requests = [...wanted.values()].map(({ request }) => request);
    this.solving = { wanted, steps: placeLabels(requests, this.field(scene), this.placements) };
  }

  /** Continues the search for places: for a limited time in a frame with many figures, to the end otherwise. True when the places are known. */
  private solve(scene: LabelScene): boolean {
    if (!this.solving) return false;
    const { wanted, steps } = this.solving;
    // Without any places there would be no labels until the end.
    const isAtOnce = scene.actors.length <= AT_ONCE_MAX || this.placements.size === 0;
    const end = performance.now() + SOLVE_MS_MAX;
    let step = steps.next();
    while (!step.done && (isAtOnce || performance.now() < end)) step = steps.next();
    if (!step.done) return false;
    this.solving = null;
    this.placements = step.value;
    this.placedFor = wanted;
    return true;
  }

  private collect(scene: LabelScene): Map<string, Wanted> {
    const drafts: Draft[] = [];
    for (const zone of ZONES) this.wantSector(zone, scene, drafts);
    const crowd = scene.actors.length > MANY ? 'many' : 'few';
    const named = scene.actors.filter((actor) => isCentreIn(actor, scene) && isNamed(actor, crowd) && (actor.isPresent || actor.portalOpen > 0.3));
    const most = namedMax(crowd, scene.width * scene.height);
    if (named.length > most) named.sort((a, b) => priorityOf(a) - priorityOf(b)).length = most;
    const size = scene.actors.length > LARGE_MAX ? 'small' : 'large';
    for (const actor of named) this.wantFigure(actor, size, drafts);
    for (const banner of scene.stage.banners) this.wantBanner(banner, scene, drafts);
    for (const amount of scene.amounts) this.wantAmount(amount, scene, drafts);
    this.measure();
    return new Map(drafts.map(({ label, request }) => [request.id, { label, request: { ...request, width: label.width, height: label.height } }]));
  }

  /** Measures the new labels, all after one another: the browser computes their layout only once. */
  private measure(): void {
    for (const label of this.labels.values()) {
      if (label.width > 0) continue;
      label.width = label.element.offsetWidth;
      label.height = label.element.offsetHeight;
    }
  }

  /** The element for this key: the one there is, or a new one. */
  private labelFor(id: string, key: string, make: () => HTMLElement): Label {
    const known = this.labels.get(id);
    if (known?.key === key) return known;
    if (known) this.remove(known);
    const element = make();
    element.style.visibility = 'hidden';
    this.layer.append(element);
    const made: Label = { element, key, width: 0, height: 0, leader: null, isShown: false };
    this.labels.set(id, made);
    this.isStale = true;
    return made;
  }

  private wantFigure(actor: Actor, size: LabelSize, drafts: Draft[]): void {
    const { figure, screen } = actor;
    const id = `figure/${figure.id}`;
    const key = [figure.name, figure.status, actor.look, figure.zone, size, actor.isRoot].join('\u0000');
    const label = this.labelFor(id, key, () => figureLabel(figure, actor.look, this.theme, size));
    label.element.classList.toggle('label-selected', actor.isSelected);
    const body = bodyRect(actor);
    drafts.push({
      label,
      request: {
        id, kind: 'figure', x: screen.x, feetY: body.bottom, topY: body.top,
        halfWidth: (body.right - body.left) / 2, priority: priorityOf(actor), isPinned: actor.isRoot,
      },
    });
  }

  private wantSector(zone: Zone, scene: LabelScene, drafts: Draft[]): void {
    const { foot, top } = scene.landmarks.lamps[zone];
    scene.projector.point(top, this.spot);
    scene.projector.point(foot, this.foot);
    if (this.spot.depth < 1 || this.spot.x < 20 || this.spot.x > scene.width - 20 || this.spot.y < 10 || this.spot.y > scene.height) return;
    // A lamp behind a figure is not seen: its name would hang in the air.
    const { x, y } = this.spot;
    if (scene.actors.length <= MANY && scene.actors.some((actor) => actor.screen.isVisible && isInside(bodyRect(actor), x, y + 8))) return;
    const id = `sector/${zone}`;
    const label = this.labelFor(id, zone, () => sectorLabel(zone, this.theme));
    const unit = scene.projector.unit(this.spot.depth);
    drafts.push({
      label,
      request: {
        id, kind: 'sector', x: this.spot.x, feetY: this.foot.y + unit * 0.25, topY: this.spot.y,
        halfWidth: unit * 0.5, priority: 2, isPinned: false,
      },
    });
  }

  private wantAmount(amount: Amount, scene: LabelScene, drafts: Draft[]): void {
    scene.projector.point(amount.at, this.spot);
    if (this.spot.depth < 1) return;
    const id = `amount/${amount.key}`;
    const label = this.labelFor(id, `${amount.msat}/${amount.recipient}`, () => amountLabel(amount));
    drafts.push({
      label,
      request: {
        id, kind: 'amount', x: this.spot.x, feetY: this.spot.y + 20, topY: this.spot.y + 4,
        halfWidth: 10, priority: 5, isPinned: false,
      },
    });
  }

  private wantBanner(banner: Banner, scene: LabelScene, drafts: Draft[]): void {
    const actor = scene.byId.get(banner.figure);
    if (!actor || !actor.screen.isVisible) return;
    const id = `banner/${banner.figure}`;
    const key = JSON.stringify(banner.counts);
    const label = this.labelFor(id, key, () => bannerLabel(banner, this.theme));
    const { screen } = actor;
    const height = screen.unit * 1.3;
    drafts.push({
      label,
      request: {
        id, kind: 'banner', x: screen.x + screen.unit * 0.85 * actor.scale,
        feetY: screen.feetY - screen.unit * 0.4, topY: screen.feetY - height, halfWidth: screen.unit * 0.3, priority: 4, isPinned: false,
      },
    });
  }

  private field(scene: LabelScene): { width: number; height: number; bodies: Body[]; fixed: Rect[] } {
    const bodies: Body[] = [];
    for (const actor of scene.actors) {
      const { screen, figure } = actor;
      if (!screen.isVisible) continue;
      bodies.push({ ...bodyRect(actor), owner: `figure/${figure.id}`, weight: actor.isRoot ? 2.5 : 1 });
      if (!actor.isPresent || figure.condition === 'refused' || figure.condition === 'cancelled') continue;
      const head = headRect(actor);
      if (head.bottom - head.top < FACE_MIN) continue;
      const emblem = { ...head, bottom: head.top + (head.bottom - head.top) * EMBLEM_SHARE };
      bodies.push({ ...head, owner: '', weight: actor.isRoot ? 4 : 2.5 }, { ...emblem, owner: '', weight: 20 });
    }
    for (const zone of ZONES) {
      const { top } = scene.landmarks.lamps[zone];
      scene.projector.point(top, this.spot);
      const unit = scene.projector.unit(this.spot.depth);
      const { x, y } = this.spot;
      // The lamp must be seen; its banner may be covered.
      bodies.push({ left: x - unit * 0.4, top: y, right: x + unit * 0.4, bottom: y + unit, owner: '', weight: 2 });
      bodies.push({ left: x, top: y + unit, right: x + unit * 0.75, bottom: y + unit * 2, owner: '', weight: 0.5 });
    }
    for (const prop of scene.landmarks.props) {
      scene.projector.point(prop.at, this.spot);
      const unit = scene.projector.unit(this.spot.depth);
      bodies.push({
        left: this.spot.x - unit * prop.halfWidth, top: this.spot.y - unit * prop.height, right: this.spot.x + unit * prop.halfWidth,
        bottom: this.spot.y + unit * 0.25, owner: '', weight: 0.25,
      });
    }
    return { width: scene.width, height: scene.height, bodies, fixed: this.avoided() };
  }

  /** Elements of the page over the canvas that labels must not cover are marked with `data-avoid-labels`. */
  private avoided(): Rect[] {
    const origin = this.layer.getBoundingClientRect();
    return [...(this.overlay.parentElement?.querySelectorAll('[data-avoid-labels]') ?? [])].map((element) => {
      const rect = element.getBoundingClientRect();
      const left = rect.left - origin.left;
      const top = rect.top - origin.top;
      return { left: left - 6, top: top - 6, right: left + rect.width + 6, bottom: top + rect.height + 6 };
    });
  }

  /** Puts elements where the solution says. Labels follow figures that have moved since. */
  private place(wanted: ReadonlyMap<string, Wanted>, { width, height }: LabelScene): void {
    const rects: Rect[] = [];
    for (const [id, { label, request }] of wanted) {
      const placement = this.placements.get(id);
      let isShown = false;
      if (placement) {
        const base = this.placedFor.get(id)?.request ?? request;
        const x = placement.x + (request.x - base.x);
        const y = placement.y + (request.feetY - base.feetY);
        const rect = { left: x, top: y, right: x + label.width, bottom: y + label.height };
        // Labels that drifted into each other or over the edge wait for the next solution.
        isShown = x >= 0 && y >= 0 && rect.right <= width && rect.bottom <= height && rects.every((other) => overlap(other, rect) === 0);
        if (isShown) rects.push(rect);
        label.element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
        this.drawLeader(label, request, rect, isShown && request.kind === 'figure');
      } else this.drawLeader(label, request, null, false);
      if (label.isShown !== isShown) {
        label.isShown = isShown;
        label.element.style.visibility = isShown ? 'visible' : 'hidden';
      }
    }
  }

  private drawLeader(label: Label, request: LabelRequest, rect: Rect | null, isWanted: boolean): void {
    const ends = rect && isWanted ? leaderOf(request, rect) : null;
    if (!ends) {
      label.leader?.remove();
      label.leader = null;
      return;
    }
    if (!label.leader) {
      label.leader = document.createElementNS(SVG, 'g');
      const dot = document.createElementNS(SVG, 'circle');
      dot.setAttribute('r', '2.5');
      label.leader.append(document.createElementNS(SVG, 'line'), dot);
      this.lines.append(label.leader);
    }
    const [line, dot] = label.leader.children;
    for (const [name, value] of Object.entries(ends)) line?.setAttribute(name, value.toFixed(1));
    dot?.setAttribute('cx', ends.x2.toFixed(1));
    dot?.setAttribute('cy', ends.y2.toFixed(1));
  }

  private remove(label: Label): void {
    label.element.remove();
    label.leader?.remove();
  }

  /** Where the shown labels are, by kind and id, such as `figure/1.2`. */
  boxes(): Map<string, Box> {
    const origin = this.layer.getBoundingClientRect();
    const boxes = new Map<string, Box>();
    for (const [id, label] of this.labels) {
      if (!label.isShown) continue;
      const rect = label.element.getBoundingClientRect();
      boxes.set(id, { x: rect.left - origin.left, y: rect.top - origin.top, width: rect.width, height: rect.height });
    }
    return boxes;
  }

  dispose(): void {
    this.layer.remove();
  }
}

/** Whether the centre of a figure is in the picture. The name of a figure outside would be read as the name of another figure. */
function isCentreIn({ screen: { x, feetY, topY, isVisible } }: Actor, { width, height }: LabelScene): boolean {
  const y = (feetY + topY) / 2;
  return isVisible && x >= 0 && x <= width && y >= 0 && y <= height;
}

function isInside(rect: Rect, x: number, y: number): boolean {
  return x > rect.left && x < rect.right && y > rect.top && y < rect.bottom;
}

/** The picture of a figure or of its portal. */
export function bodyRect(actor: Actor): Rect {
  const { screen } = actor;
  const isPortal = actor.portalOpen > 0;
  const half = screen.unit * (isPortal ? 0.95 : 0.5 * actor.scale);
  return {
    left: screen.x - half,
    right: screen.x + half,
    top: screen.topY,
    bottom: screen.feetY + screen.unit * (isPortal ? 0.6 : 0.34 * actor.scale),
  };
}

/** The picture of the emblem and the face under it, which tell who a figure is. */
export function headRect(actor: Actor): Rect {
  const { emblemX, emblemY, unit } = actor.screen;
  const size = unit * actor.scale;
  return { left: emblemX - size * 0.26, right: emblemX + size * 0.26, top: emblemY - size * 0.24, bottom: emblemY + size * 0.8 };
}
