// The hand on the canvas: a drag turns the camera, the wheel zooms, a click picks.

import type { CameraRig } from './camera';

const CLICK_PIXELS = 5;

export interface PointerActions {
  /** The camera was moved. */
  readonly onMove: () => void;
  /** A click at this place, in CSS pixels of the canvas. */
  readonly onClick: (x: number, y: number) => void;
}

/** Listens on the canvas. Returns a function that stops it. */
export function listenToPointer(canvas: HTMLCanvasElement, rig: CameraRig, actions: PointerActions): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  let held: { id: number; x: number; y: number; travel: number } | null = null;
  const place = (event: MouseEvent): { x: number; y: number; width: number; height: number } => {
    const rect = canvas.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top, width: rect.width, height: rect.height };
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || held) return;
    held = { id: event.pointerId, x: event.clientX, y: event.clientY, travel: 0 };
    canvas.setPointerCapture(event.pointerId);
  }, { signal });
  canvas.addEventListener('pointermove', (event) => {
    if (!held || held.id !== event.pointerId) return;
    const dx = event.clientX - held.x;
    const dy = event.clientY - held.y;
    held.x = event.clientX;
    held.y = event.clientY;
    held.travel += Math.abs(dx) + Math.abs(dy);
    if (held.travel < CLICK_PIXELS) return;
    const { height } = place(event);
    rig.orbit(dx / height, dy / height, performance.now());
    actions.onMove();
  }, { signal });
  canvas.addEventListener('pointerup', (event) => {
    if (!held || held.id !== event.pointerId) return;
    const isClick = held.travel < CLICK_PIXELS;
    held = null;
    if (!isClick) return;
    const { x, y } = place(event);
    actions.onClick(x, y);
  }, { signal });
  canvas.addEventListener('pointercancel', () => {
    held = null;
  }, { signal });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    const { x, y, width, height } = place(event);
    const lines = event.deltaMode === 0 ? event.deltaY / 100 : event.deltaY / 3;
    const factor = Math.exp(Math.max(-3, Math.min(3, lines)) * 0.16);
    rig.zoom(factor, { x: (x / width) * 2 - 1, y: 1 - (y / height) * 2 }, performance.now());
    actions.onMove();
  }, { signal, passive: false });
  return () => stop.abort();
}
