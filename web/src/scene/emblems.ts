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

/** Icons of conditions, in a box of 12 by 12. */
export const LOOK_PATHS: Readonly<Record<Condition | 'arrives', string>> = {
  works: 'M6 2.4A3.6 3.6 0 1 1 5.99 2.4Z',
  waits: 'M2.5 1.5H9.5L6.6 6 9.5 10.5H2.5L5.4 6Z',
  arrives: 'M6 1a5 5 0 1 0 .01 0ZM6 3.4a2.6 2.6 0 1 1-.01 0Z',
  done: 'M1.2 6.4 2.8 4.8 4.9 6.9 9.4 2.2 11 3.8 4.9 10.1Z',
  ran_dry: 'M6 1.2 9.2 6.4A3.7 3.7 0 1 1 2.8 6.4ZM6 4 4.4 6.9A1.9 1.9 0 1 0 7.6 6.9Z',
  failed: 'M2.6 1.2 6 4.6 9.4 1.2 10.8 2.6 7.4 6 10.8 9.4 9.4 10.8 6 7.4 2.6 10.8 1.2 9.4 4.6 6 1.2 2.6Z',
  cancelled: 'M1.5 5H10.5V7H1.5Z',
  refused: 'M6 .9A5.1 5.1 0 1 0 11.1 6H9A3 3 0 1 1 6 3ZM7.4 1.1 6.9 3.6 8.6 5 11 4.6Z',
};

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
