// Chooses the quality by the time that frames take: above 33 ms for a second, bloom and shadows go. If frames are still
// slow, the picture gets coarser in two steps. The quality never rises again by itself: on a slow machine it would go up and down.

import type { Quality } from '../stage';

const SLOW_MS = 33;
const PATIENCE_MS = 1000;
/** One slow frame can be an accident, however long it took. */
const SLOW_FRAMES_MIN = 2;
/** The first frame after a change says nothing: programs are compiled. */
const WARM_UP_FRAMES = 1;
const COARSER = [1, 0.7, 0.5] as const;

export class QualityChooser {
  private forced: Quality | null;
  private chosen: Quality = 'full';
  private step = 0;
  private frames = 0;
  private slowFrames = 0;
  private slowMs = 0;

  constructor(forced: Quality | null) {
    this.forced = forced;
  }

  get quality(): Quality {
    return this.forced ?? this.chosen;
  }

  /** How many pixels are drawn for each CSS pixel when the quality is reduced, whatever the screen could show. */
  get resolution(): number {
    return this.quality === 'full' ? 1 : (COARSER[this.step] ?? 1);
  }

  force(quality: Quality | null): void {
    this.forced = quality;
    this.startAgain();
  }

  private startAgain(): void {
    this.frames = 0;
    this.slowFrames = 0;
    this.slowMs = 0;
  }

  /** Tells how long a frame took. Returns true if the quality changed. */
  addFrame(frameMs: number): boolean {
    if (this.forced !== null || (this.chosen === 'reduced' && this.step >= COARSER.length - 1)) return false;
    if (++this.frames <= WARM_UP_FRAMES) return false;
    if (frameMs <= SLOW_MS) {
      this.slowFrames = 0;
      this.slowMs = 0;
      return false;
    }
    this.slowFrames++;
    this.slowMs += frameMs;
    if (this.slowMs < PATIENCE_MS || this.slowFrames < SLOW_FRAMES_MIN) return false;
    if (this.chosen === 'reduced') this.step++;
    this.chosen = 'reduced';
    this.startAgain();
    return true;
  }
}
