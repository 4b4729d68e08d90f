// The rows of the tree that are on the page, and what each key does. Pure: the view holds what is folded and the selection.

export interface TreeNode {
  readonly id: string;
  readonly hirer: string | null;
  readonly name: string;
}

export interface Row {
  readonly id: string;
  /** 1 for a root, as `aria-level` counts. */
  readonly level: number;
  readonly hires: number;
  /** How many contracts are below it, at any depth. */
  readonly below: number;
  readonly isOpen: boolean;
  /** Its place among the hires of its hirer, from 1, and how many there are. */
  readonly place: number;
  readonly siblings: number;
}

/** Above this many contracts, a tree begins with its deeper levels folded. */
export const OPEN_ROWS_MAX = 400;

export interface Forest<T extends TreeNode> {
  readonly roots: readonly T[];
  readonly hires: ReadonlyMap<string, readonly T[]>;
  readonly byId: ReadonlyMap<string, T>;
  readonly below: ReadonlyMap<string, number>;
}

/** Hirers must come before their hires. A node whose hirer is unknown is shown as a root. */
export function plant<T extends TreeNode>(nodes: readonly T[]): Forest<T> {
  const byId = new Map<string, T>();
  const hires = new Map<string, T[]>();
  const roots: T[] = [];
  for (const node of nodes) {
    byId.set(node.id, node);
    if (node.hirer === null || !byId.has(node.hirer)) roots.push(node);
    else {
      const known = hires.get(node.hirer);
      if (known) known.push(node);
      else hires.set(node.hirer, [node]);
    }
  }
  const below = new Map<string, number>();
  for (let at = nodes.length - 1; at >= 0; at -= 1) {
    const node = nodes[at];
    if (!node || node.hirer === null || !byId.has(node.hirer)) continue;
    below.set(node.hirer, (below.get(node.hirer) ?? 0) + (below.get(node.id) ?? 0) + 1);
  }
  return { roots, hires, byId, below };
}

/** What a person has opened and closed. */
export interface Folds {
  /** Single rows. */
  readonly byHand: ReadonlyMap<string, boolean>;
  /** The hirers all of whose hires are open, also those that come later. `''` stands for the roots. */
  readonly allOf: ReadonlySet<string>;
}

export const NO_FOLDS: Folds = { byHand: new Map(), allOf: new Set() };

/** The hirer of a row, as `Folds` names it. */
function levelOf(forest: Forest<TreeNode>, node: TreeNode): string {
  return node.hirer !== null && forest.byId.has(node.hirer) ? node.hirer : '';
}

function isOpen(forest: Forest<TreeNode>, folds: Folds, node: TreeNode): boolean {
  const byHand = folds.byHand.get(node.id);
  if (byHand !== undefined) return byHand;
  const level = levelOf(forest, node);
  return forest.byId.size <= OPEN_ROWS_MAX || level === '' || folds.allOf.has(level);
}

export function setOpen(folds: Folds, id: string, isOpen: boolean): Folds {
  return { ...folds, byHand: new Map(folds.byHand).set(id, isOpen) };
}

/** Opens a row and all others of its hirer. */
export function openSiblings(forest: Forest<TreeNode>, folds: Folds, id: string): Folds {
  const node = forest.byId.get(id);
  if (node === undefined) return folds;
  const level = levelOf(forest, node);
  const byHand = new Map(folds.byHand);
  for (const sibling of level === '' ? forest.roots : (forest.hires.get(level) ?? [])) byHand.delete(sibling.id);
  return { byHand, allOf: new Set(folds.allOf).add(level) };
}

/** Opens all rows above one, so that it is seen. The same value if they are open. */
export function openAbove(forest: Forest<TreeNode>, folds: Folds, id: string): Folds {
  let after = folds;
  for (let up = forest.byId.get(forest.byId.get(id)?.hirer ?? ''); up !== undefined; up = forest.byId.get(up.hirer ?? '')) {
    if (!isOpen(forest, after, up)) after = setOpen(after, up.id, true);
  }
  return after;
}

export function listRows(forest: Forest<TreeNode>, folds: Folds): Row[] {
  const rows: Row[] = [];
  // Not recursive: a tree may be 64 levels deep, and a wrong one deeper.
  const stack: { node: TreeNode; level: number; place: number; siblings: number }[] = [];
  const push = (nodes: readonly TreeNode[], level: number) => {
    for (let at = nodes.length - 1; at >= 0; at -= 1) {
      const node = nodes[at];
      if (node) stack.push({ node, level, place: at + 1, siblings: nodes.length });
    }
  };
  push(forest.roots, 1);
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { node, level, place, siblings } = next;
    const hires = forest.hires.get(node.id) ?? [];
    const isUnfolded = hires.length > 0 && isOpen(forest, folds, node);
    rows.push({ id: node.id, level, hires: hires.length, below: forest.below.get(node.id) ?? 0, isOpen: isUnfolded, place, siblings });
    if (isUnfolded) push(hires, level + 1);
  }
  return rows;
}

export type TreeStep =
  | { readonly kind: 'go'; readonly id: string }
  | { readonly kind: 'open'; readonly id: string }
  | { readonly kind: 'close'; readonly id: string }
  | { readonly kind: 'open_all'; readonly id: string }
  | { readonly kind: 'choose'; readonly id: string }
  | null;

/** What a key does in the tree, as the ARIA practices describe it. */
export function treeKey(
  key: string,
  rows: readonly Row[],
  focused: string | null,
  hirerOf: (id: string) => string | null,
  pageRows = 10,
): TreeStep {
  const at = Math.max(
    0,
    rows.findIndex((row) => row.id === focused),
  );
  const row = rows[at];
  if (!row) return null;
  const go = (index: number): TreeStep => {
    const target = rows[Math.min(rows.length - 1, Math.max(0, index))];
    return target ? { kind: 'go', id: target.id } : null;
  };
  switch (key) {
    case 'ArrowDown':
      return go(at + 1);
    case 'ArrowUp':
      return go(at - 1);
    case 'PageDown':
      return go(at + pageRows);
    case 'PageUp':
      return go(at - pageRows);
    case 'Home':
      return go(0);
    case 'End':
      return go(rows.length - 1);
    case 'ArrowRight':
      if (row.hires === 0) return null;
      return row.isOpen ? go(at + 1) : { kind: 'open', id: row.id };
    case 'ArrowLeft': {
      if (row.isOpen) return { kind: 'close', id: row.id };
      const hirer = hirerOf(row.id);
      return hirer !== null && rows.some((other) => other.id === hirer) ? { kind: 'go', id: hirer } : null;
    }
    case '*':
      return { kind: 'open_all', id: row.id };
    case 'Enter':
    case ' ':
      return { kind: 'choose', id: row.id };
    default:
      return null;
  }
}

/** The next row whose name begins with what was typed. One letter typed again goes on to the next match. */
export function typeAhead(
  typed: string,
  rows: readonly Row[],
  focused: string | null,
  nameOf: (id: string) => string,
): string | null {
  const wanted = typed.toLocaleLowerCase();
  const isOneLetter = [...wanted].every((letter) => letter === wanted[0]);
  const start = Math.max(
    0,
    rows.findIndex((row) => row.id === focused),
  );
  const prefix = isOneLetter ? (wanted[0] ?? '') : wanted;
  for (let step = isOneLetter ? 1 : 0; step <= rows.length; step += 1) {
    const row = rows[(start + step) % rows.length];
    if (row && nameOf(row.id).toLocaleLowerCase().startsWith(prefix)) return row.id;
  }
  return null;
}

/** Which rows are drawn: those in the view, and some before and after. */
export function windowOf(
  scrollTop: number,
  height: number,
  rowHeight: number,
  count: number,
  spare = 8,
): { readonly from: number; readonly to: number } {
  const from = Math.max(0, Math.floor(scrollTop / rowHeight) - spare);
  const to = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + spare);
  return { from: Math.min(from, count), to: Math.max(to, 0) };
}
