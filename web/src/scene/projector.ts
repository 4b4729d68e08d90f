// Projects many points with one view: the axes are worked out once.

import { viewAxes } from './framing';
import type { View } from './framing';
import type { Point } from './motion';

export interface ScreenPoint {
  x: number;
  y: number;
  /** Distance from the eye along its line of sight. */
  depth: number;
}

export class Projector {
  private readonly axes;
  private readonly slope: number;

  constructor(private readonly view: View, private readonly width: number, private readonly height: number) {
    this.axes = viewAxes(view.azimuth, view.elevation);
    this.slope = Math.tan((view.lens * Math.PI) / 360);
  }

  /** To CSS pixels. */
  point(p: Point, out: ScreenPoint): ScreenPoint {
    const { right, up, back } = this.axes;
    const { target, distance } = this.view;
    const x = p.x - target.x;
    const y = p.y - target.y;
    const z = p.z - target.z;
    out.depth = distance - (x * back.x + y * back.y + z * back.z);
    const scale = this.unit(out.depth);
    out.x = this.width / 2 + (x * right.x + y * right.y + z * right.z) * scale;
    out.y = this.height / 2 - (x * up.x + y * up.y + z * up.z) * scale;
    return out;
  }

  /** Pixels for one unit of length at this depth. */
  unit(depth: number): number {
    return this.height / 2 / (Math.max(0.1, depth) * this.slope);
  }
}
