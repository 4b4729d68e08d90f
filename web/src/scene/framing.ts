// Where the camera must be to frame a set of points. Pure arithmetic: the camera itself is in `camera.ts`.

import type { Point } from './motion';

export interface View {
  /** Radians; 0 looks from the front. */
  azimuth: number;
  /** Radians above the floor. */
  elevation: number;
  distance: number;
  target: Point;
  /** Degrees. */
  lens: number;
}

/** A point that must be in the picture, and the largest distance from the middle that it may have: 1 is the edge. */
export interface FramedPoint extends Point {
  readonly reach: number;
}

interface Axes {
  readonly right: Point;
  readonly up: Point;
  readonly back: Point;
}

export function viewAxes(azimuth: number, elevation: number): Axes {
  const back = { x: Math.sin(azimuth) * Math.cos(elevation), y: Math.sin(elevation), z: Math.cos(azimuth) * Math.cos(elevation) };
  const right = { x: Math.cos(azimuth), y: 0, z: -Math.sin(azimuth) };
  const up = { x: back.y * right.z - back.z * right.y, y: back.z * right.x - back.x * right.z, z: back.x * right.y - back.y * right.x };
  return { right, up, back };
}

function dot(a: Point, b: Point): number {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

/** A point on the screen: -1 to 1 from left to right and from bottom to top. */
export function projected(point: Point, view: View, aspect: number): { x: number; y: number; depth: number } {
  const { right, up, back } = viewAxes(view.azimuth, view.elevation);
  const from = { x: point.x - view.target.x, y: point.y - view.target.y, z: point.z - view.target.z };
  const depth = view.distance - dot(from, back);
  const slope = Math.tan((view.lens * Math.PI) / 360);
  return { x: dot(from, right) / (depth * slope * aspect), y: dot(from, up) / (depth * slope), depth };
}

/** Raises and backs off a view of this direction and lens until every point is within its reach. The hall stays in the middle. */
export function frame(points: readonly FramedPoint[], start: View, aspect: number): View {
  const view: View = { ...start, target: { ...start.target } };
  if (points.length === 0) return view;
  const { up } = viewAxes(view.azimuth, view.elevation);
  const slope = Math.tan((view.lens * Math.PI) / 360);
  for (let round = 0; round < 24; round++) {
    // The edges that the picture would need on each side so that every point keeps its margin.
    let left = Infinity;
    let rightmost = -Infinity;
    let bottom = Infinity;
    let top = -Infinity;
    for (const point of points) {
      const p = projected(point, view, aspect);
      left = Math.min(left, p.x / point.reach);
      rightmost = Math.max(rightmost, p.x / point.reach);
      bottom = Math.min(bottom, p.y / point.reach);
      top = Math.max(top, p.y / point.reach);
    }
    const dy = ((bottom + top) / 2) * view.distance * slope;
    const need = Math.max(rightmost, -left, (top - bottom) / 2);
    view.target.x += up.x * dy;
    view.target.y += up.y * dy;
    view.target.z += up.z * dy;
    view.distance *= 1 + (need - 1) * 0.9;
    if (Math.abs(need - 1) < 0.002 && Math.abs(dy) < 0.01) break;
  }
  return view;
}
