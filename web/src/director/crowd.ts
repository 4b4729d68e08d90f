// Which figures are drawn. Above 200, subtrees fold into banners: finished ones first, and the deepest first.

import type { Moment, RefusedHire, SessionLog } from '../log';
import type { Banner, Condition, Figure, Zone } from '../stage';
import type { TreeContract } from '../wire';

/** How many figures are drawn. */
export const FIGURES_MAX = 200;
/** How many figures are drawn after people unfolded banners. */
export const UNFOLDED_MAX = 1000;
/** How many refused hires of a contract are drawn: the newest. */
const REFUSED_MAX = 3;

export interface Choice {
  /** Banners that a person unfolded, the oldest first. */
  readonly unfolded: ReadonlySet<string>;
  readonly zones: (agent: string) => Zone;
  /** Whether agents are shown with what they do at this moment. */
  readonly isLive: boolean;
}

export interface Crowd {
  readonly figures: readonly Figure[];
  readonly banners: readonly Banner[];
  /** The drawn figure that stands for an id: itself, or the one with its banner. `null` if nobody does. */
  readonly standsFor: (id: string) => string | null;
}

interface Node {
  readonly id: string;
  readonly parent: number;
  readonly depth: number;
  readonly condition: Condition;
  /** What is drawn: a contract, or a hire that was refused. */
  readonly of: TreeContract | RefusedHire;
  /** How many nodes are below it. They follow it in the list. */
  below: number;
  /** How many of them still run. */
  running: number;
  isHidden: boolean;
}

/** The figures of the newest request: each request has the hall to itself. */
export function crowdAt(log: SessionLog, moment: Moment, choice: Choice): Crowd {
  const { nodes, places } = nodesAt(log, moment);
  foldAway(nodes, places, choice);
  return drawn(nodes, places, (node) => figureOf(node, log, moment, choice));
}

function nodesAt(log: SessionLog, moment: Moment): { nodes: Node[]; places: Map<string, number> } {
  const nodes: Node[] = [];
  const places = new Map<string, number>();
  const add = (id: string, parent: number, condition: Condition, of: Node['of']): void => {
    const depth = (nodes[parent]?.depth ?? -1) + 1;
    places.set(id, nodes.length);
    nodes.push({ id, parent, depth, condition, of, below: 0, running: 0, isHidden: false });
  };
  const root = moment.newestRoot;
  const first = root === null ? moment.contracts.length : moment.contracts.indexOf(root);
  for (let at = first; at < moment.contracts.length; at += 1) {
    const contract = moment.contracts[at];
    if (contract === undefined) continue;
    const parent = contract.hirer === null ? -1 : (places.get(contract.hirer) ?? -1);
    // A contract whose hirer is unknown has no place: that can only be if its hirer's fact was not understood.
    if (contract.hirer !== null && parent < 0) continue;
    add(contract.path, parent, contract.state, contract);
    if (contract.refusals === 0) continue;
    const place = nodes.length - 1;
    for (const hire of log.refused(contract.path, moment.index).slice(-REFUSED_MAX)) add(hire.id, place, 'refused', hire);
  }
  count(nodes);
  return { nodes, places };
}

/** Hires follow their hirer, so that one pass from the end adds up every subtree. */
function count(nodes: readonly Node[]): void {
  for (let place = nodes.length - 1; place > 0; place -= 1) {
    const node = nodes[place];
    const parent = nodes[node?.parent ?? -1];
    if (node === undefined || parent === undefined) continue;
    parent.below += node.below + 1;
    parent.running += node.running + (isRunning(node.condition) ? 1 : 0);
  }
}

function isRunning(condition: Condition): boolean {
  return condition === 'works' || condition === 'waits';
}

function figureOf({ depth, of }: Node, log: SessionLog, moment: Moment, choice: Choice): Figure {
  return 'why' in of ? refusedFigure(of, depth, choice) : contractFigure(of, depth, log, moment, choice);
}

function refusedFigure(hire: RefusedHire, depth: number, choice: Choice): Figure {
  return {
    id: hire.id,
    hirer: hire.hirer,
    name: hire.agent,
    zone: choice.zones(hire.agent),
    depth,
    condition: 'refused',
    isFork: false,
    status: `refused: ${hire.why}`,
    isBusy: false,
  };
}

function contractFigure(contract: TreeContract, depth: number, log: SessionLog, moment: Moment, choice: Choice): Figure {
  const asks = moment.details(contract).openRequest !== null;
  const isHeldUp = choice.isLive && log.activity(contract.path)?.does === 'waits';
  return {
    id: contract.path,
    hirer: contract.hirer,
    name: log.nameOf(contract),
    zone: contract.hirer === null ? null : choice.zones(contract.agent),
    depth,
    condition: contract.state,
    isFork: contract.context === 'fork',
    status: log.status(contract, moment),
    isBusy: asks && !isHeldUp,
  };
}

function foldAway(nodes: Node[], places: ReadonlyMap<string, number>, choice: Choice): void {
  let drawn = nodes.reduce((sum, node) => sum + (node.isHidden ? 0 : 1), 0);
  const kept = new Set<number>();
  let extra = 0;
  for (const id of choice.unfolded) {
    const place = places.get(id);
    if (place === undefined) continue;
    extra += childrenOf(nodes, place).length;
    for (let above = place; above >= 0; above = nodes[above]?.parent ?? -1) kept.add(above);
  }
  const limit = Math.min(UNFOLDED_MAX, FIGURES_MAX + extra);
  const hirers = nodes.map((_, place) => place).filter((place) => (nodes[place]?.below ?? 0) > 0);
  const rank = (place: number): number => ((nodes[place]?.running ?? 0) > 0 ? 0 : 1000) + (nodes[place]?.depth ?? 0);
  hirers.sort((one, other) => rank(other) - rank(one) || other - one);
  for (const place of hirers) {
    if (drawn <= limit) return;
    if (!kept.has(place)) drawn = foldBelow(nodes, place, drawn, limit);
  }
  // Even what was unfolded by hand is too much.
  for (const place of hirers) {
    if (drawn <= UNFOLDED_MAX) return;
    drawn = foldBelow(nodes, place, drawn, UNFOLDED_MAX);
  }
}

/** Folds the subtree below a node. Returns how many figures that takes away. */
function hideBelow(nodes: readonly Node[], place: number): number {
  const node = nodes[place];
  let hidden = 0;
  if (node === undefined || node.isHidden) return hidden;
  for (let at = place + 1; at <= place + node.below; at += 1) {
    const below = nodes[at];
    if (below === undefined || below.isHidden) continue;
    below.isHidden = true;
    hidden += 1;
  }
  return hidden;
}

/** Folds the subtree below a node, but keeps as many of its hires as there is room for. Returns how many figures are left. */
function foldBelow(nodes: readonly Node[], place: number, drawn: number, limit: number): number {
  const hidden = hideBelow(nodes, place);
  const room = limit - (drawn - hidden);
  if (hidden === 0 || room <= 0) return drawn - hidden;
  const hires = childrenOf(nodes, place).sort((one, other) => importance(other) - importance(one));
  const kept = hires.slice(0, room);
  for (const hire of kept) hire.isHidden = false;
  return drawn - hidden + kept.length;
}

/** Who still runs, or is in trouble, is drawn rather than others. */
function importance(node: Node): number {
  if (isRunning(node.condition) || node.running > 0) return 2;
  return node.condition === 'done' ? 0 : 1;
}

function childrenOf(nodes: readonly Node[], place: number): Node[] {
  const children: Node[] = [];
  const end = place + (nodes[place]?.below ?? 0);
  for (let at = place + 1; at <= end; ) {
    const child = nodes[at];
    if (child === undefined) break;
    children.push(child);
    at += child.below + 1;
  }
  return children;
}

function drawn(nodes: readonly Node[], places: ReadonlyMap<string, number>, draw: (node: Node) => Figure): Crowd {
  const figures: Figure[] = [];
  /** The drawn figure above each node, or the node itself. */
  const anchors: number[] = [];
  const counts = new Map<number, Partial<Record<Condition, number>>>();
  nodes.forEach((node, place) => {
    const anchor = node.isHidden ? (anchors[node.parent] ?? -1) : place;
    anchors.push(anchor);
    if (!node.isHidden) return void figures.push(draw(node));
    const folded = counts.get(anchor) ?? {};
    folded[node.condition] = (folded[node.condition] ?? 0) + 1;
    counts.set(anchor, folded);
  });
  const banners: Banner[] = [];
  for (const [place, folded] of counts) banners.push({ figure: nodes[place]?.id ?? '', counts: folded });
  const standsFor = (id: string): string | null => {
    const place = places.get(id);
    return place === undefined ? null : (nodes[anchors[place] ?? -1]?.id ?? null);
  };
  return { figures, banners, standsFor };
}
