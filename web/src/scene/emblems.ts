// The emblem of each sector: one outline, drawn as a label icon (SVG), as a plate on banners, and as a cell of a texture
// for the emblems above the hoods.

import { CanvasTexture, LinearMipmapLinearFilter, SRGBColorSpace } from 'three';
import type { Condition } from '../stage';
import type { EmblemName } from './palette';

type Outline = readonly (readonly [number, number])[];

function ngon(count: number, radius: (i: number) => number): Outline {
  return Array.from({ length: count }, (_, i) => {
    const angle = (i / count) * Math.PI * 2;
    return [Math.sin(angle) * radius(i), Math.cos(angle) * radius(i)] as const;
  });
}

/** Outlines around the middle, clockwise from the top, within about 1 unit. */
export const OUTLINES: Readonly<Record<EmblemName, Outline>> = {
  book: [
    [0, 0.5], [0.45, 0.76], [0.8, 0.76], [1.05, 0.62], [1.05, -0.6], [0.8, -0.46], [0.45, -0.46],
    [0, -0.76], [-0.45, -0.46], [-0.8, -0.46], [-1.05, -0.6], [-1.05, 0.62], [-0.8, 0.76], [-0.45, 0.76],
  ],
  hex: ngon(6, () => 0.92),
  triangle: [[0, 1], [0.98, -0.7], [-0.98, -0.7]],
  coin: ngon(32, () => 0.9),
  square: [[-0.8, 0.8], [0.8, 0.8], [0.8, -0.8], [-0.8, -0.8]],
  plus: [
    [-0.32, 0.92], [0.32, 0.92], [0.32, 0.32], [0.92, 0.32], [0.92, -0.32], [0.32, -0.32],
    [0.32, -0.92], [-0.32, -0.92], [-0.32, -0.32], [-0.92, -0.32], [-0.92, 0.32], [-0.32, 0.32],
  ],
  star: ngon(12, (i) => (i % 2 ? 0.52 : 1)),
};

/** Holes, and the fold of the book. */
export const HOLES: Readonly<Partial<Record<EmblemName, Outline>>> = {
  coin: ngon(24, () => 0.38),
  square: [[-0.4, 0.28], [0.4, 0.28], [0.4, -0.02], [-0.4, -0.02]],
  book: [[-0.06, 0.5], [0.06, 0.5], [0.06, -0.72], [-0.06, -0.72]],
};

const CHECK: Outline = [[-0.95, 0.05], [-0.66, 0.34], [-0.25, -0.06], [0.66, 0.85], [0.95, 0.56], [-0.25, -0.64]];

/** An SVG path in a box of 14 by 14. */
export function emblemPath(name: EmblemName): string {
  const part = (outline: Outline): string =>
    outline.map(([x, y], i) => `${i ? 'L' : 'M'}${(7 + x * 6.2).toFixed(2)} ${(7 - y * 6.2).toFixed(2)}`).join('') + 'Z';
  const hole = HOLES[name];
  return part(OUTLINES[name]) + (hole ? part(hole) : '');
}

const NAMES: readonly EmblemName[] = ['book', 'hex', 'triangle', 'coin', 'square', 'plus', 'star'];
type Style = 'whole' | 'hollow' | 'cracked' | 'check';
const STYLES: readonly Style[] = ['whole', 'hollow', 'cracked', 'check'];
export const ATLAS_COLUMNS = 8;
export const ATLAS_ROWS = 4;
const CELL = 128;
/** The emblem's unit in pixels of its cell: room is left for the halves of a cracked emblem. */
const UNIT = 46;
/** Half the size of a cell in emblem units. */
export const CELL_UNITS = CELL / 2 / UNIT;

export function emblemStyle(condition: Condition): Style {
  switch (condition) {
    case 'ran_dry':
      return 'hollow';
    case 'failed':
      return 'cracked';
    case 'done':
      return 'check';
    case 'works':
    case 'waits':
    case 'cancelled':
    case 'refused':
      return 'whole';
  }
}

/** Column and row of an emblem in the texture. */
export function emblemCell(name: EmblemName, style: Style): [number, number] {
  return [NAMES.indexOf(name), STYLES.indexOf(style)];
}

function trace(pen: CanvasRenderingContext2D, outline: Outline, scale: number): void {
  outline.forEach(([x, y], i) => (i ? pen.lineTo(x * scale, -y * scale) : pen.moveTo(x * scale, -y * scale)));
  pen.closePath();
}

/** White where the emblem is, shaded at its edges as if bevelled. */
function paintEmblem(pen: CanvasRenderingContext2D, outline: Outline, hole: Outline | undefined, scale: number): void {
  pen.beginPath();
  trace(pen, outline, scale);
  if (hole) trace(pen, hole, scale);
  pen.fillStyle = '#E2E2E2';
  pen.fill('evenodd');
  pen.save();
  pen.clip('evenodd');
  pen.lineWidth = 9;
  pen.lineJoin = 'round';
  pen.translate(-2, -2);
  pen.strokeStyle = '#A8A8A8';
  pen.stroke();
  pen.translate(4, 4);
  pen.strokeStyle = '#FFFFFF';
  pen.stroke();
  pen.restore();
}

function paintCracked(pen: CanvasRenderingContext2D, outline: Outline, hole: Outline | undefined): void {
  for (const side of [-1, 1]) {
    pen.save();
    pen.translate(side * 12, side * -5);
    pen.rotate(side * 0.2);
    pen.beginPath();
    pen.moveTo(side * 70, -70);
    for (let i = 0; i <= 8; i++) pen.lineTo(i % 2 ? 7 : -7, -70 + (i * 140) / 8);
    pen.lineTo(side * 70, 70);
    pen.clip();
    paintEmblem(pen, outline, hole, UNIT * 0.95);
    pen.restore();
  }
}

/** All emblems in all styles, white on nothing. The instance's colour tints them. */
export function makeEmblemAtlas(): CanvasTexture {
  const canvas = document.createElement('canvas');
  canvas.width = ATLAS_COLUMNS * CELL;
  canvas.height = ATLAS_ROWS * CELL;
  const pen = canvas.getContext('2d');
  if (!pen) throw new Error('the browser gives no 2D canvas');
  NAMES.forEach((name, column) => {
    STYLES.forEach((style, row) => {
      pen.save();
      pen.beginPath();
      pen.rect(column * CELL, row * CELL, CELL, CELL);
      pen.clip();
      pen.translate((column + 0.5) * CELL, (row + 0.5) * CELL);
      const outline = OUTLINES[name];
      if (style === 'whole') paintEmblem(pen, outline, HOLES[name], UNIT);
      else if (style === 'cracked') paintCracked(pen, outline, HOLES[name]);
      else if (style === 'check') paintEmblem(pen, CHECK, undefined, UNIT * 1.05);
      else paintEmblem(pen, outline, outline.map(([x, y]) => [x * 0.58, y * 0.58] as const), UNIT * 1.05);
      pen.restore();
    });
  });
  const texture = new CanvasTexture(canvas);
  texture.colorSpace = SRGBColorSpace;
  texture.minFilter = LinearMipmapLinearFilter;
  texture.anisotropy = 4;
  return texture;
}
