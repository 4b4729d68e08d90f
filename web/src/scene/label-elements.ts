// The HTML of labels. Text comes from models and strangers: it is set with `textContent` only.

import type { Banner, Condition, Figure, Theme, Zone } from '../stage';
import { satsDown } from '../money';
import { emblemPath } from './emblems';
import { zoneOf } from './layout';
import { COLOR, LOOK_TEXT, SECTORS } from './palette';
import { LOOK_PATHS, type Look } from '../looks';
import type { EmblemName } from './palette';
import type { Amount } from './traffic';

export const SVG = 'http://www.w3.org/2000/svg';
/** Longer text is cut before the browser lays it out; the ellipsis comes from CSS. */
const TEXT_MAX = 120;

function icon(path: string, box: number, color: string | null): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', `0 0 ${box} ${box}`);
  const shape = document.createElementNS(SVG, 'path');
  shape.setAttribute('d', path);
  shape.setAttribute('fill-rule', 'evenodd');
  if (color !== null) shape.setAttribute('fill', color);
  svg.append(shape);
  return svg;
}

function line(className: string, mark: SVGSVGElement, text: string): HTMLElement {
  const row = document.createElement('span');
  row.className = `label-line ${className}`;
  row.dir = 'ltr';
  row.append(mark, words(text));
  return row;
}

function words(text: string): HTMLElement {
  const element = document.createElement('span');
  element.className = 'label-text';
  element.dir = 'auto';
  element.textContent = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
  return element;
}

function box(className: string): HTMLElement {
  const element = document.createElement('div');
  element.className = `label ${className}`;
  return element;
}

/** On paper the pale sectors need darker icons. */
function inkOn(theme: Theme, color: string): string {
  return theme === 'night' ? color : `color-mix(in srgb, ${color} 82%, ${COLOR.ink})`;
}

export type LabelSize = 'small' | 'large';

export function figureLabel(figure: Figure, look: Look, theme: Theme, size: LabelSize): HTMLElement {
  const isRoot = figure.depth === 0;
  const element = box(`label-figure${isRoot ? ' label-root' : ''}${size === 'small' ? ' label-small' : ''}`);
  const emblem: EmblemName = isRoot ? 'star' : SECTORS[zoneOf(figure)].emblem;
  const color = inkOn(theme, isRoot ? COLOR.lantern : SECTORS[zoneOf(figure)].color);
  element.append(line('label-name', icon(emblemPath(emblem), 14, color), nameOrUnnamed(figure.name)));
  const status = look === 'arrives' ? 'arrives' : figure.status;
  if (status !== '') {
    const row = line('label-status', icon(LOOK_PATHS[look], 12, null), status);
    row.style.color = LOOK_TEXT[theme][look];
    element.append(row);
  }
  return element;
}

export function sectorLabel(zone: Zone, theme: Theme): HTMLElement {
  const element = box('label-sector');
  const { name, color, emblem } = SECTORS[zone];
  const text = document.createElement('span');
  text.textContent = name;
  element.append(icon(emblemPath(emblem), 14, inkOn(theme, color)), text);
  return element;
}

/** `80 sat → tester`. */
export function amountLabel({ msat, isChange, recipient }: Amount): HTMLElement {
  const element = box(`label-amount${isChange ? ' label-change' : ''}`);
  const sum = document.createElement('span');
  sum.textContent = `${satsDown(msat)} sat →`;
  element.append(sum, words(nameOrUnnamed(recipient)));
  return element;
}

function nameOrUnnamed(name: string): string {
  return name === '' ? 'unnamed' : name;
}

const BANNER_ORDER: readonly Condition[] = ['works', 'waits', 'done', 'ran_dry', 'failed', 'cancelled', 'refused'];

export function bannerLabel(banner: Banner, theme: Theme): HTMLElement {
  const element = box('label-banner');
  for (const condition of BANNER_ORDER) {
    const count = banner.counts[condition] ?? 0;
    if (count === 0) continue;
    const part = line('', icon(LOOK_PATHS[condition], 12, null), String(count));
    part.style.color = LOOK_TEXT[theme][condition];
    element.append(part);
  }
  return element;
}
