// The places where a label may stand: under the feet, then beside, then above with a leader line.

import type { LabelRequest } from './label-solver';

export interface Candidate {
  readonly x: number;
  readonly y: number;
  /** How much worse than the best place this one is, whatever else is in the picture. */
  readonly cost: number;
}

/** Places to try, the cheapest first. Their number and order are the same for all requests of a kind. */
export function candidates(request: LabelRequest): Candidate[] {
  const { x, width: w, height: h, feetY, topY, halfWidth, kind } = request;
  const list: Candidate[] = [];
  const add = (left: number, top: number, cost: number): void => {
    list.push({ x: left, y: top, cost });
  };
  const isAbove = kind === 'amount' || kind === 'sector';
  if (!isAbove) {
    for (const shift of [0, -0.3, 0.3, -0.48, 0.48]) {
      add(x - w / 2 + w * shift, feetY + 5, Math.abs(shift) * 3);
      add(x - w / 2 + w * shift, feetY + 12, 1 + Math.abs(shift) * 3);
    }
    for (const share of [0.5, 0.75, 0.95]) {
      const y = topY + (feetY - topY) * share - h / 2;
      add(x + halfWidth + 5, y, 2.5);
      add(x - halfWidth - 5 - w, y, 2.5);
      for (const [away, cost] of [[40, 9], [80, 14]] as const) {
        add(x + halfWidth + 5 + away, y, cost);
        add(x - halfWidth - 5 - away - w, y, cost);
      }
    }
  }
  const extra = isAbove ? 0 : 6;
  for (const shift of [0, -0.25, 0.25, -0.45, 0.45]) add(x - w / 2 + w * shift, topY - h - 6, extra + Math.abs(shift) * 4);
  if (kind === 'amount') {
    for (const drop of [0, 24]) {
      add(x + halfWidth + 6, topY - h / 2 + drop, 2 + drop * 0.1);
      add(x - halfWidth - 6 - w, topY - h / 2 + drop, 2 + drop * 0.1);
    }
    add(x - w / 2, feetY + 10, 5);
  }
  if (kind === 'sector') {
    add(x - w - halfWidth, topY, 8);
    add(x + halfWidth, topY, 8);
  }
  // The name of a sector far from its lantern would be read as that of something else.
  for (const rise of kind === 'sector' ? [14] : [14, 28, 46, 66, 92]) {
    for (const shift of [0, -0.45, 0.45, -0.8, 0.8]) {
      add(x - w / 2 + w * shift, topY - h - 6 - rise, (isAbove ? 3 : 7) + rise * 0.14 + Math.abs(shift) * 2);
    }
  }
  if (!isAbove) {
    for (const drop of [26, 44, 66, 92, 124]) {
      for (const shift of [0, -0.5, 0.5]) add(x - w / 2 + w * shift, feetY + drop, 6 + drop * 0.14 + Math.abs(shift) * 2);
    }
  }
  return list.sort((a, b) => a.cost - b.cost);
}
