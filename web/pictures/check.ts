// What a picture of the hall must have: labels that do not overlap and can be read, figures that are large enough and inside the
// frame, colours of the palette, and no burnt or drowned areas.
import type { Page } from 'playwright-core';
import type { Box } from '../src/stage';

/** A picture as pixels, four bytes each. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8ClampedArray;
}

/** Reads a PNG with the browser's own decoder, on a page that has no policy. */
export async function decode(page: Page, png: Buffer): Promise<Pixels> {
  const { width, height, base64 } = await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('no 2D context');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let packed = '';
    for (let at = 0; at < data.length; at += 0x8000) packed += String.fromCharCode(...data.subarray(at, at + 0x8000));
    return { width: image.width, height: image.height, base64: btoa(packed) };
  }, png.toString('base64'));
  return { width, height, data: new Uint8ClampedArray(Buffer.from(base64, 'base64')) };
}

type Colour = readonly [number, number, number];

function at({ width, data }: Pixels, x: number, y: number): Colour {
  const index = 4 * (y * width + x);
  return [data[index] ?? 0, data[index + 1] ?? 0, data[index + 2] ?? 0];
}

/** The share of pixels that are pure white or pure black. */
export function clipped(pixels: Pixels, area: Box): number {
  let count = 0;
  let all = 0;
  each(pixels, area, (colour) => {
    all += 1;
    if (colour.every((channel) => channel >= 254) || colour.every((channel) => channel <= 1)) count += 1;
  });
  return count / all;
}

/** The most common colours of an area, the most common first. */
export function dominant(pixels: Pixels, area: Box, count: number): Colour[] {
  const sums = new Map<number, [number, number, number, number]>();
  each(pixels, area, ([red, green, blue]) => {
    const bucket = ((red >> 5) << 10) | ((green >> 5) << 5) | (blue >> 5);
    const sum = sums.get(bucket) ?? [0, 0, 0, 0];
    sums.set(bucket, [sum[0] + red, sum[1] + green, sum[2] + blue, sum[3] + 1]);
  });
  const sorted = [...sums.values()].sort((one, other) => other[3] - one[3]);
  return sorted.slice(0, count).map(([red, green, blue, n]) => [red / n, green / n, blue / n]);
}

/** How far a colour is from the nearest of some others, from 0 to 441. */
export function distance(colour: Colour, others: readonly string[]): number {
  const parse = (hex: string): Colour => [1, 3, 5].map((start) => Number.parseInt(hex.slice(start, start + 2), 16)) as unknown as Colour;
  return Math.min(...others.map(parse).map((other) => Math.hypot(...colour.map((channel, index) => channel - (other[index] ?? 0)))));
}

function each(pixels: Pixels, area: Box, visit: (colour: Colour) => void): void {
  for (let y = Math.max(0, Math.floor(area.y)); y < Math.min(pixels.height, area.y + area.height); y += 1) {
    for (let x = Math.max(0, Math.floor(area.x)); x < Math.min(pixels.width, area.x + area.width); x += 1) visit(at(pixels, x, y));
  }
}

/** The pairs of boxes that overlap by more than a hair. */
export function overlaps(boxes: Readonly<Record<string, Box>>): string[] {
  const all = Object.entries(boxes);
  return all.flatMap(([name, one], index) =>
    all
      .slice(index + 1)
      .filter(([, other]) => one.x + 0.5 < other.x + other.width && other.x + 0.5 < one.x + one.width && one.y + 0.5 < other.y + other.height && other.y + 0.5 < one.y + one.height)
      .map(([other]) => `${name} and ${other}`),
  );
}

function luminance(colour: Colour): number {
  const [red, green, blue] = colour.map((channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4)) as unknown as Colour;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export function contrast(one: Colour, other: Colour): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** A piece of text on the picture: its colour, and where it is. */
export interface Words {
  readonly text: string;
  readonly colour: Colour;
  readonly box: Box;
}

/** The least contrast of each text with what is behind it, by the colours at the edge of its box. */
export function contrasts(pixels: Pixels, words: readonly Words[]): { text: string; ratio: number }[] {
  return words.map(({ text, colour, box }) => {
    const edge = dominant(pixels, { x: box.x, y: box.y, width: box.width, height: 2 }, 1)[0] ?? [0, 0, 0];
    return { text, ratio: contrast(colour, edge) };
  });
}
