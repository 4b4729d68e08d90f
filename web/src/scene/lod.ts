// How much detail each figure gets: by its size on the screen and by the number of figures.

import type { Detail } from './robe';

/** Up to this many figures, all of them may be near. */
export const ALL_NEAR_MAX = 70;
export const NEAR_MAX = 24;
export const MIDDLE_MAX = 64;
/** Heights on the screen, in pixels. */
const NEAR_PIXELS = 40;
const MIDDLE_PIXELS = 22;

/** The detail of each figure, given its height on the screen in pixels. A height of 0 is out of sight. */
export function chooseDetails(heights: ArrayLike<number>): Detail[] {
  const count = heights.length;
  const nearMax = count <= ALL_NEAR_MAX ? ALL_NEAR_MAX : NEAR_MAX;
  const details = new Array<Detail>(count).fill('far');
  const order: number[] = [];
  for (let i = 0; i < count; i++) if ((heights[i] ?? 0) >= MIDDLE_PIXELS) order.push(i);
  if (order.length > nearMax) order.sort((a, b) => (heights[b] ?? 0) - (heights[a] ?? 0) || a - b);
  let near = 0;
  let middle = 0;
  for (const i of order) {
    if (near < nearMax && (heights[i] ?? 0) >= NEAR_PIXELS) {
      details[i] = 'near';
      near++;
    } else if (middle < MIDDLE_MAX) {
      details[i] = 'middle';
      middle++;
    }
  }
  return details;
}
