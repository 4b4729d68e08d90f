// Makes figures for the tests of the scene.

import type { Condition, Figure, Zone } from '../../src/stage';

export function figure(id: string, zone: Zone | null, more: Partial<Figure> = {}): Figure {
  const depth = id.split('.').length - 1;
  const hirer = depth === 0 ? null : id.slice(0, id.lastIndexOf('.'));
  const condition: Condition = 'works';
  return { id, hirer, name: id, zone, depth, condition, isFork: false, status: '', isBusy: false, ...more };
}

const ZONES: readonly Zone[] = ['library', 'forge', 'assay', 'archive', 'counting', 'workshop'];

/** A tree with this many figures: each hires `width` others. */
export function tree(count: number, width: number, zoneOf: (i: number) => Zone = (i) => ZONES[i % 6] ?? 'workshop'): Figure[] {
  const figures = [figure('1', null)];
  for (let i = 0; figures.length < count; i++) {
    const hirer = figures[i];
    if (!hirer) break;
    for (let k = 1; k <= width && figures.length < count; k++) figures.push(figure(`${hirer.id}.${k}`, zoneOf(figures.length)));
  }
  return figures;
}

/** A chain in which each figure hires the next. */
export function chain(depth: number, zone: Zone): Figure[] {
  const figures = [figure('1', null)];
  for (let i = 0; i < depth; i++) figures.push(figure(`${figures[i]?.id}.1`, zone));
  return figures;
}
