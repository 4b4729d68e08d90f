// The line from a label to its figure, where the label is not right beside it.

import type { LabelRequest } from './label-solver';
import type { Rect } from './rect';

/** A label that is nearer than this to its figure needs no line to it. */
const LEADER_MIN = 8;

/** From the label to the figure. */
export interface Leader {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

export function leaderOf(request: LabelRequest, rect: Rect): Leader | null {
  const x = Math.min(rect.right - 10, Math.max(rect.left + 10, request.x));
  let ends;
  if (rect.top >= request.feetY - 4) ends = { x1: x, y1: rect.top, x2: request.x, y2: request.feetY };
  else if (rect.bottom <= request.topY + 3) ends = { x1: x, y1: rect.bottom, x2: request.x, y2: request.topY };
  else {
    const isRight = rect.left > request.x;
    const middle = (rect.top + rect.bottom) / 2;
    ends = {
      x1: isRight ? rect.left : rect.right,
      y1: middle,
      x2: request.x + (isRight ? 1 : -1) * request.halfWidth,
      y2: Math.min(request.feetY, Math.max(request.topY, middle)),
    };
  }
  const dx = ends.x1 - ends.x2;
  const dy = ends.y1 - ends.y2;
  return dx * dx + dy * dy > LEADER_MIN * LEADER_MIN ? ends : null;
}

/** Whether a line passes through a rectangle. */
export function crosses({ x1, y1, x2, y2 }: Leader, { left, right, top, bottom }: Rect): boolean {
  if (Math.max(x1, x2) <= left || Math.min(x1, x2) >= right || Math.max(y1, y2) <= top || Math.min(y1, y2) >= bottom) return false;
  // The line passes if not all corners are on the same side of it.
  const [dx, dy] = [x2 - x1, y2 - y1];
  const one = dx * (top - y1) - dy * (left - x1);
  const two = dx * (top - y1) - dy * (right - x1);
  const three = dx * (bottom - y1) - dy * (left - x1);
  const four = dx * (bottom - y1) - dy * (right - x1);
  return Math.min(one, two, three, four) < 0 && Math.max(one, two, three, four) > 0;
}
