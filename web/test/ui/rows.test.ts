import { expect, test } from 'vitest';
import { listRows, NO_FOLDS, OPEN_ROWS_MAX, openAbove, openSiblings, plant, setOpen, treeKey, typeAhead, windowOf, type TreeNode } from '../../src/ui/rows';

const node = (id: string, name = id): TreeNode => ({ id, name, hirer: id.includes('.') ? id.replace(/\.[^.]+$/, '') : null });
const NODES = ['1', '1.1', '1.1.1', '1.1.2', '1.2', '2'].map((id) => node(id, `agent ${id}`));
const forest = plant(NODES);
const rows = listRows(forest, NO_FOLDS);
const hirerOf = (id: string) => forest.byId.get(id)?.hirer ?? null;

test('rows are in the order of the tree, with level and place', () => {
  expect(rows.map((row) => `${row.id} level ${row.level} ${row.place}/${row.siblings} below ${row.below}`)).toEqual([
    '1 level 1 1/2 below 4',
    '1.1 level 2 1/2 below 2',
    '1.1.1 level 3 1/2 below 0',
    '1.1.2 level 3 2/2 below 0',
    '1.2 level 2 2/2 below 0',
    '2 level 1 2/2 below 0',
  ]);
});

test('a folded row hides everything below it', () => {
  expect(listRows(forest, setOpen(NO_FOLDS, '1', false)).map((row) => row.id)).toEqual(['1', '2']);
  expect(listRows(forest, setOpen(NO_FOLDS, '1.1', false)).map((row) => row.id)).toEqual(['1', '1.1', '1.2', '2']);
});

/** So many leads that a tree begins folded, each with two workers. */
const crowd = (leads: number): TreeNode[] => [node('1'), ...Array.from({ length: leads }, (_, at) => ['', '.1', '.2'].map((end) => node(`1.${at + 1}${end}`))).flat()];

test('a big tree begins folded below its roots, and one key opens all rows of a level, also those that come later', () => {
  const before = plant(crowd(OPEN_ROWS_MAX));
  expect(listRows(before, NO_FOLDS)).toHaveLength(OPEN_ROWS_MAX + 1);
  const closed = setOpen(NO_FOLDS, '1.4', false);
  const folds = openSiblings(before, closed, '1.2');
  const after = listRows(plant(crowd(OPEN_ROWS_MAX + 7)), folds);
  expect(after).toHaveLength(3 * (OPEN_ROWS_MAX + 7) + 1);
  // A row that is closed by hand afterwards stays closed.
  expect(listRows(before, setOpen(folds, '1.3', false))).toHaveLength(3 * OPEN_ROWS_MAX + 1 - 2);
});

test('a row that is chosen elsewhere is unfolded, even below a row that was closed by hand', () => {
  const big = plant(crowd(OPEN_ROWS_MAX));
  const ids = (folds: typeof NO_FOLDS) => listRows(big, folds).map((row) => row.id);
  expect(ids(openAbove(big, NO_FOLDS, '1.5.2'))).toContain('1.5.2');
  const closed = setOpen(setOpen(NO_FOLDS, '1', false), '1.5', false);
  expect(ids(openAbove(big, closed, '1.5.2'))).toContain('1.5.2');
  // Nothing is drawn again if nothing changes.
  expect(openAbove(big, NO_FOLDS, '1.5')).toBe(NO_FOLDS);
});

test('arrows, Home and End move and open as the ARIA practices say', () => {
  const key = (name: string, focused: string | null, all = rows) => treeKey(name, all, focused, hirerOf);
  expect(key('ArrowDown', '1')).toEqual({ kind: 'go', id: '1.1' });
  expect(key('ArrowUp', '1')).toEqual({ kind: 'go', id: '1' });
  expect(key('End', '1')).toEqual({ kind: 'go', id: '2' });
  expect(key('Home', '2')).toEqual({ kind: 'go', id: '1' });
  expect(key('ArrowRight', '1.1')).toEqual({ kind: 'go', id: '1.1.1' });
  expect(key('ArrowRight', '1.2')).toBeNull();
  expect(key('ArrowLeft', '1.1.2')).toEqual({ kind: 'go', id: '1.1' });
  expect(key('ArrowLeft', '1.1')).toEqual({ kind: 'close', id: '1.1' });
  expect(key('ArrowLeft', '2')).toBeNull();
  expect(key('Enter', '1.2')).toEqual({ kind: 'choose', id: '1.2' });
  expect(key('x', '1')).toBeNull();
  const folded = listRows(forest, setOpen(NO_FOLDS, '1', false));
  expect(key('ArrowRight', '1', folded)).toEqual({ kind: 'open', id: '1' });
  expect(key('ArrowDown', null, [])).toBeNull();
});

test('typing goes to the next name that begins so, and round', () => {
  const names = plant([node('1', 'lead'), node('1.1', 'coder'), node('1.2', 'Clerk'), node('1.3', 'tester')]);
  const all = listRows(names, NO_FOLDS);
  const find = (typed: string, from: string) => typeAhead(typed, all, from, (id) => names.byId.get(id)?.name ?? '');
  expect(find('c', '1')).toBe('1.1');
  expect(find('c', '1.1')).toBe('1.2');
  expect(find('cc', '1.2')).toBe('1.1');
  expect(find('cl', '1.1')).toBe('1.2');
  expect(find('te', '1')).toBe('1.3');
  expect(find('z', '1')).toBeNull();
});

test('10,000 contracts are listed quickly, and only a window of them is drawn', () => {
  const many: TreeNode[] = [node('1')];
  for (let at = 1; at < 10_000; at += 1) many.push({ id: `1.${at}`, name: 'x', hirer: at < 64 ? (many[at - 1]?.id ?? null) : '1' });
  const start = performance.now();
  const open = openSiblings(plant(many), NO_FOLDS, '1.1');
  expect(listRows(plant(many), { ...open, byHand: new Map(many.map(({ id }) => [id, true])) })).toHaveLength(10_000);
  // Far more than it takes: other programs run on the same machine.
  expect(performance.now() - start).toBeLessThan(5000);
  expect(windowOf(4000, 400, 40, 10_000, 8)).toEqual({ from: 92, to: 118 });
  expect(windowOf(0, 0, 40, 0)).toEqual({ from: 0, to: 0 });
});

test('a contract whose hirer is unknown is a root', () => {
  expect(listRows(plant([node('1.4')]), NO_FOLDS)).toMatchObject([{ id: '1.4', level: 1 }]);
});
