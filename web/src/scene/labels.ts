// Keeps the labels of a scene: which figures are named, their elements, and where they are on the screen.

import type { Banner, Box, Stage, Theme, Zone } from '../stage';
import { MANY } from './cast';
import type { Actor } from './cast';
import type { Landmarks } from './hall';
import { SVG, amountLabel, bannerLabel, figureLabel, sectorLabel } from './label-elements';
import type { LabelSize } from './label-elements';
import { overlap, placeLabels } from './label-solver';
import type { Body, LabelRequest, Placement, Rect } from './label-solver';
import type { Projector, ScreenPoint } from './projector';
import type { Amount } from './traffic';
import { ZONES } from './palette';

const LABELS_MAX = 48;
/** With more figures than this, labels are smaller. */
const LARGE_MAX = 14;
export const SOLVE_AGAIN_MS = 160;
const MOVED_PIXELS = 3;
/** A label that is nearer than this to its figure needs no line to it. */
const LEADER_MIN = 8;

interface Label {
  readonly element: HTMLElement;
  /** Text and look: another key needs another element. */
  readonly key: string;
  readonly width: number;
  readonly height: number;
  /** A line and the dot at its end. */
  leader: SVGGElement | null;
  request: LabelRequest | null;
  isShown: boolean;
}

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
  private theme: Theme = 'night';
  private solvedAt = Number.NEGATIVE_INFINITY;
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
    this.solvedAt = Number.NEGATIVE_INFINITY;
  }

  /** Places the labels. True if they only followed their figures: they want another update soon. */
  update(scene: LabelScene): boolean {
    const wanted = this.collect(scene);
    let isChanged = false;
    for (const [id, label] of this.labels) {
      if (wanted.has(id)) continue;
      this.remove(label);
      this.labels.delete(id);
      this.placements.delete(id);
      // The room of an amount stays free: it had only taken what others left.
      if (!id.startsWith('amount/')) isChanged = true;
    }
    let moved = 0;
    const requests: LabelRequest[] = [];
    for (const [id, { label, request }] of wanted) {
      const before = label.request;
      if (!before) isChanged = true;
      else moved = Math.max(moved, Math.abs(before.x - request.x), Math.abs(before.feetY - request.feetY), Math.abs(before.topY - request.topY));
      this.labels.set(id, label);
      requests.push(request);
    }
    const isOld = scene.nowMs - this.solvedAt > SOLVE_AGAIN_MS;
    if (isChanged || (moved > MOVED_PIXELS && isOld)) {
      this.solvedAt = scene.nowMs;
      this.placements = placeLabels(requests, this.field(scene), this.placements);
      for (const { label, request } of wanted.values()) label.request = request;
      this.place(wanted, null, scene);
      return false;
    }
    if (moved > 0.25) this.place(wanted, requests, scene);
    return moved > MOVED_PIXELS;
  }

  private collect(scene: LabelScene): Map<string, { label: Label; request: LabelRequest }> {
    const wanted = new Map<string, { label: Label; request: LabelRequest }>();
    for (const zone of ZONES) this.wantSector(zone, scene, wanted);
    const crowd = scene.actors.length > MANY ? 'many' : 'few';
    const named = scene.actors.filter((actor) => actor.screen.isVisible && isNamed(actor, crowd) && (actor.isPresent || actor.portalOpen > 0.3));
    if (named.length > LABELS_MAX) named.sort((a, b) => priorityOf(a) - priorityOf(b)).length = LABELS_MAX;
    const size = scene.actors.length > LARGE_MAX ? 'small' : 'large';
    for (const actor of named) this.wantFigure(actor, size, wanted);
    for (const banner of scene.stage.banners) this.wantBanner(banner, scene, wanted);
    for (const amount of scene.amounts) this.wantAmount(amount, scene, wanted);
    return wanted;
  }

  /** The element for this key: the one there is, or a new one. */
  private labelFor(id: string, key: string, make: () => HTMLElement): Label {
    const known = this.labels.get(id);
    if (known?.key === key) return known;
    if (known) this.remove(known);
    const element = make();
    element.style.visibility = 'hidden';
    this.layer.append(element);
    const made: Label = { element, key, width: element.offsetWidth, height: element.offsetHeight, leader: null, request: null, isShown: false };
    this.labels.set(id, made);
    return made;
  }

  private wantFigure(actor: Actor, size: LabelSize, wanted: Map<string, { label: Label; request: LabelRequest }>): void {
    const { figure, screen } = actor;
    const id = `figure/${figure.id}`;
    const key = [figure.name, figure.status, actor.look, figure.zone, size, actor.isRoot].join('\u0000');
    const label = this.labelFor(id, key, () => figureLabel(figure, actor.look, this.theme, size));
    label.element.classList.toggle('label-selected', actor.isSelected);
    const body = bodyRect(actor);
    wanted.set(id, {
      label,
      request: {
        id, kind: 'figure', width: label.width, height: label.height, x: screen.x, feetY: body.bottom, topY: body.top,
        halfWidth: (body.right - body.left) / 2, priority: priorityOf(actor), isPinned: actor.isRoot,
      },
    });
  }

  private wantSector(zone: Zone, scene: LabelScene, wanted: Map<string, { label: Label; request: LabelRequest }>): void {
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
    wanted.set(id, {
      label,
      request: {
        id, kind: 'sector', width: label.width, height: label.height, x: this.spot.x, feetY: this.foot.y + unit * 0.25, topY: this.spot.y,
        halfWidth: unit * 0.5, priority: 2, isPinned: false,
      },
    });
  }

  private wantAmount(amount: Amount, scene: LabelScene, wanted: Map<string, { label: Label; request: LabelRequest }>): void {
    scene.projector.point(amount.at, this.spot);
    if (this.spot.depth < 1) return;
    const id = `amount/${amount.key}`;
    const label = this.labelFor(id, String(amount.msat), () => amountLabel(amount.msat, amount.isChange));
    wanted.set(id, {
      label,
      request: {
        id, kind: 'amount', width: label.width, height: label.height, x: this.spot.x, feetY: this.spot.y + 20, topY: this.spot.y + 4,
        halfWidth: 10, priority: 5, isPinned: false,
      },
    });
  }

  private wantBanner(banner: Banner, scene: LabelScene, wanted: Map<string, { label: Label; request: LabelRequest }>): void {
    const actor = scene.byId.get(banner.figure);
    if (!actor || !actor.screen.isVisible) return;
    const id = `banner/${banner.figure}`;
    const key = JSON.stringify(banner.counts);
    const label = this.labelFor(id, key, () => bannerLabel(banner, this.theme));
    const { screen } = actor;
    const height = screen.unit * 1.3;
    wanted.set(id, {
      label,
      request: {
        id, kind: 'banner', width: label.width, height: label.height, x: screen.x + screen.unit * 0.85 * actor.scale,
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
      bodies.push({ ...headRect(actor), owner: '', weight: actor.isRoot ? 4 : 2.5 });
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

  /** Puts elements where the solution says. `drift`: requests that moved since; labels follow their figures. */
  private place(wanted: Map<string, { label: Label; request: LabelRequest }>, drift: readonly LabelRequest[] | null, { width, height }: LabelScene): void {
    const rects: Rect[] = [];
    for (const [id, { label, request }] of wanted) {
      const placement = this.placements.get(id);
      let isShown = placement !== undefined;
      if (placement) {
        const base = label.request ?? request;
        const x = placement.x + (drift ? request.x - base.x : 0);
        const y = placement.y + (drift ? request.feetY - base.feetY : 0);
        const rect = { left: x, top: y, right: x + label.width, bottom: y + label.height };
        // Labels that drifted into each other or over the edge wait for the next solution.
        const isOver = x < 0 || y < 0 || rect.right > width || rect.bottom > height;
        if (drift && (isOver || rects.some((other) => overlap(other, rect) > 0))) isShown = false;
        else rects.push(rect);
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
    const ends = rect && isWanted ? leaderEnds(request, rect) : null;
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

/** A line from a label to its figure, if the label is not right beside it. */
export function leaderEnds(request: LabelRequest, rect: Rect): { x1: number; y1: number; x2: number; y2: number } | null {
  const x = Math.min(rect.right - 10, Math.max(rect.left + 10, request.x));
  let ends;
  if (rect.top >= request.feetY - 4) ends = { x1: x, y1: rect.top, x2: request.x, y2: request.feetY };
  else if (rect.bottom <= request.topY + 3) ends = { x1: x, y1: rect.bottom, x2: request.x, y2: request.topY };
  else {
    const isRight = rect.left > request.x;
    const middle = (rect.top + rect.bottom) / 2;
    ends = {
      x1: isRight ? rect.left : rect.right,
      y1: middle,
      x2: request.x + (isRight ? 1 : -1) * request.halfWidth,
      y2: Math.min(request.feetY, Math.max(request.topY, middle)),
    };
  }
  return Math.hypot(ends.x1 - ends.x2, ends.y1 - ends.y2) > LEADER_MIN ? ends : null;
}
