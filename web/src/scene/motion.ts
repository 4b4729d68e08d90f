// How things move: pure functions of the time since a beat began. Nothing here reads a clock.

export interface Point {
  x: number;
  y: number;
  z: number;
}

const PORTAL_OPEN_MS = 600;
const RISE_FROM_MS = 350;
const RISE_TO_MS = 1100;
const SHUT_MS = 300;
const CRACK_OPEN_MS = 300;

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}

/** From 0 at `from` to 1 at `to`, with a smooth start and end. */
export function smooth(value: number, from: number, to: number): number {
  const t = clamp((value - from) / (to - from), 0, 1);
  return t * t * (3 - 2 * t);
}

/** Fast at first, then slower, from 0 to 1. */
function easeOut(t: number): number {
  const rest = 1 - clamp(t, 0, 1);
  return 1 - rest * rest * rest;
}

export interface PortalState {
  /** 0 is shut, 1 is open. */
  readonly open: number;
  /** 0 is below the floor, 1 stands on it. */
  readonly rise: number;
}

/** A portal `ms` after its beat began: open after 600 ms; it shuts during the last 300 ms, with the figure out. */
export function portalAt(ms: number, duration: number): PortalState {
  if (ms < 0) return { open: 0, rise: 0 };
  if (ms >= duration) return { open: 0, rise: 1 };
  const scale = duration / 1400;
  const opened = easeOut(ms / (PORTAL_OPEN_MS * scale));
  const shut = 1 - smooth(ms, duration - SHUT_MS * scale, duration);
  return { open: opened * shut, rise: smooth(ms, RISE_FROM_MS * scale, RISE_TO_MS * scale) };
}

export interface CrackState {
  readonly open: number;
  /** 0 is whole, 1 is broken. */
  readonly crack: number;
  /** 0: the shards lie in the portal; 1: they hang around it. */
  readonly burst: number;
}

/** A refused portal `ms` after its beat began: it opens, then cracks, and stays cracked. */
export function crackAt(ms: number, duration: number): CrackState {
  if (ms < 0) return { open: 0, crack: 0, burst: 0 };
  const scale = duration / 900;
  const crack = smooth(ms, CRACK_OPEN_MS * scale, 520 * scale);
  return { open: easeOut(ms / (CRACK_OPEN_MS * scale)), crack, burst: easeOut((ms / scale - 380) / 520) };
}

export interface WalkState {
  /** 0 is at the portal, 1 at the place. */
  readonly along: number;
  readonly bob: number;
  readonly sway: number;
}

/** A walking figure glides, bobs and sways. */
export function walkAt(ms: number, duration: number): WalkState {
  const t = clamp(ms / duration, 0, 1);
  const stride = Math.sin(t * Math.PI);
  const step = t * duration * 0.011;
  return {
    along: smooth(t, 0, 1),
    bob: Math.abs(Math.sin(step)) * 0.07 * stride,
    sway: Math.sin(step) * 0.06 * stride,
  };
}

const COINS_MAX = 14;

/** How many coins stand for a sum: its logarithm, at least one. */
export function coinCount(msat: number): number {
  const sat = Math.max(0, msat) / 1000;
  return clamp(Math.round(Math.log2(sat + 1)), 1, COINS_MAX);
}

/** Where coin `index` of `count` is on its arc, 0 to 1, or `null` before its start and after its end. */
export function coinAt(ms: number, duration: number, index: number, count: number): number | null {
  const span = Math.min(0.6, (count - 1) * 0.1);
  const lag = count > 1 ? (span * index) / (count - 1) : 0;
  const t = (ms / duration) * (1 + span) - lag;
  return t < 0 || t > 1 ? null : t;
}

/** How far a scroll has flown, 0 to 1. */
export function scrollAt(ms: number, duration: number): number {
  return smooth(ms / duration, 0, 1) * 0.6 + clamp(ms / duration, 0, 1) * 0.4;
}

/** A cubic curve in space: start, two handles, end. */
export interface Curve {
  readonly a: Point;
  readonly b: Point;
  readonly c: Point;
  readonly d: Point;
}

export function newCurve(): Curve {
  const point = (): Point => ({ x: 0, y: 0, z: 0 });
  return { a: point(), b: point(), c: point(), d: point() };
}

/** The length of a vector. `Math.hypot` takes several times as long, which counts with a thousand threads. */
export function lengthOf(x: number, y: number, z: number): number {
  return Math.sqrt(x * x + y * y + z * z);
}

function setPoint(point: Point, x: number, y: number, z: number): void {
  point.x = x;
  point.y = y;
  point.z = z;
}

/** The root stands around the axis of the hall: a curve that passes it must be this high, to leave its face and star in sight. */
const ROOT_REACH = 1.3;
const ROOT_TOP = 3.9;

/** The height of both handles, at least `top`, with which a curve between two others passes above the root. */
function aboveRoot(from: Point, to: Point, top: number): number {
  const isAtRoot = (end: Point): boolean => lengthOf(end.x, 0, end.z) < ROOT_REACH;
  if (isAtRoot(from) || isAtRoot(to)) return top;
  const dx = to.x - from.x;
  const dz = to.z - from.z;
  const along = clamp(-(from.x * dx + from.z * dz) / Math.max(1e-6, dx * dx + dz * dz), 0, 1);
  if (lengthOf(from.x + dx * along, 0, from.z + dz * along) > ROOT_REACH) return top;
  // In its middle a curve is at an eighth of each end and three eighths of each handle.
  return Math.max(top, (ROOT_TOP - (from.y + to.y) / 8) / 0.75);
}

/** The curve of a thread from one emblem to another: a low arc. */
export function threadCurve(from: Point, to: Point, out: Curve): Curve {
  const distance = lengthOf(to.x - from.x, to.y - from.y, to.z - from.z);
  const top = aboveRoot(from, to, Math.max(from.y, to.y) + 0.25 + distance * 0.13);
  const mx = (from.x + to.x) / 2;
  const mz = (from.z + to.z) / 2;
  setPoint(out.a, from.x, from.y, from.z);
  setPoint(out.b, from.x + (mx - from.x) * 0.62, top, from.z + (mz - from.z) * 0.62);
  setPoint(out.c, to.x + (mx - to.x) * 0.62, top, to.z + (mz - to.z) * 0.62);
  setPoint(out.d, to.x, to.y, to.z);
  return out;
}

/** The curve of coins and scrolls: 1.0 higher than the threads. */
export function flightCurve(from: Point, to: Point, out: Curve): Curve {
  const distance = lengthOf(to.x - from.x, to.y - from.y, to.z - from.z);
  const top = aboveRoot(from, to, Math.max(from.y, to.y) + 1.0 + distance * 0.14);
  setPoint(out.a, from.x, from.y, from.z);
  setPoint(out.b, from.x + (to.x - from.x) * 0.2, top, from.z + (to.z - from.z) * 0.2);
  setPoint(out.c, from.x + (to.x - from.x) * 0.7, top, from.z + (to.z - from.z) * 0.7);
  setPoint(out.d, to.x, to.y, to.z);
  return out;
}

export function pointOn(curve: Curve, t: number, out: Point): Point {
  const s = 1 - t;
  const wa = s * s * s;
  const wb = 3 * s * s * t;
  const wc = 3 * s * t * t;
  const wd = t * t * t;
  out.x = wa * curve.a.x + wb * curve.b.x + wc * curve.c.x + wd * curve.d.x;
  out.y = wa * curve.a.y + wb * curve.b.y + wc * curve.c.y + wd * curve.d.y;
  out.z = wa * curve.a.z + wb * curve.b.z + wc * curve.c.z + wd * curve.d.z;
  return out;
}

/** A repeatable sequence of numbers between 0 and 1. */
export function randomSequence(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
