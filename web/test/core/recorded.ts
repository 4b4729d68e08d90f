// The recorded sessions that tests play again. `record.mjs` makes them.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

import { SessionLog } from '../../src/log';
import { type Frame, FrameReader } from '../../src/stream';
import { type HallEvent, type Ledger, readEvent, type SessionView, type StoredEvent, type Tree } from '../../src/wire';

export interface Recorded {
  readonly name: string;
  /** The bytes of the stream, as they came. */
  readonly stream: string;
  /** The reply of `GET tree?at=` for every event. */
  readonly trees: Readonly<Record<string, Tree>>;
  readonly view: SessionView;
  readonly ledger: Ledger;
}

const folder = join(dirname(fileURLToPath(import.meta.url)), 'fixtures');

export const names: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.json.gz'))
  .map((file) => file.replace('.json.gz', ''));

export function recorded(name: string): Recorded {
  const text = gunzipSync(readFileSync(join(folder, `${name}.json.gz`))).toString('utf8');
  return { name, ...(JSON.parse(text) as Omit<Recorded, 'name'>) };
}

export function framesOf(stream: string): Frame[] {
  return new FrameReader().push(new TextEncoder().encode(stream));
}

export function eventsOf(stream: string): HallEvent[] {
  const events = framesOf(stream).map((frame) => readEvent(frame.name, frame.id, frame.data));
  return events.filter((event) => event !== null);
}

export function isStored(event: HallEvent): event is StoredEvent {
  return event.kind !== 'cast' && event.kind !== 'activity';
}

export function logOf(events: readonly HallEvent[]): SessionLog {
  const log = new SessionLog();
  for (const event of events) log.add(event);
  return log;
}

/** Random numbers that are the same in every run: mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
