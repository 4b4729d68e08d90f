// `window.hall`: what the page shows, for tests. Read-only: every value is a copy, and nothing here changes the page.
import type { Theme } from '../stage';
import { currentScene } from './scene_box';
import type { SessionStore } from './session_store';

interface Shown {
  readonly theme: Theme;
  readonly mode: '2d' | '3d';
}

let current: () => Shown = () => ({ theme: 'night', mode: '2d' });
let store: SessionStore | null = null;

const copy = <T>(value: T): T => structuredClone(value);
const record = <T>(map: ReadonlyMap<string, T>): Record<string, T> => Object.fromEntries(map);

const hall = Object.freeze({
  get session() {
    return store?.session ?? null;
  },
  /** The id of the newest event that is shown, such as `12.3`. */
  get cursor() {
    return store === null ? null : store.log.idAfter(store.cursor);
  },
  /** The id of the newest event that came. */
  get newest() {
    return store === null ? null : store.log.idAfter(store.log.length);
  },
  /** The state at the cursor, in the form of `GET tree?at=`. */
  get tree() {
    return store === null ? null : copy(store.moment.tree);
  },
  get stage() {
    return store === null ? null : copy(store.stage);
  },
  get selected() {
    return store?.selected ?? null;
  },
  get role() {
    return store?.role ?? null;
  },
  get connection() {
    return store?.connection.kind ?? null;
  },
  get isLive() {
    return store?.isLive ?? null;
  },
  /** What the scene says about its last frame; `null` without a scene. */
  get stats() {
    return copy(currentScene()?.stats() ?? null);
  },
  /** Where figures, portals and labels are, in CSS pixels of the canvas; `null` without a scene. */
  get boxes() {
    const boxes = currentScene()?.boxes();
    if (boxes === undefined) return null;
    return copy({ figures: record(boxes.figures), portals: record(boxes.portals), labels: record(boxes.labels) });
  },
  get theme() {
    return current().theme;
  },
  get mode() {
    return current().mode;
  },
});

declare global {
  interface Window {
    readonly hall: typeof hall;
  }
}

export function showStore(shown: SessionStore | null): void {
  store = shown;
}

export function exposeHall(shown: () => Shown): void {
  current = shown;
  // Not `'hall' in window`: browsers make elements with an id properties of the window.
  if (!Object.hasOwn(window, 'hall')) Object.defineProperty(window, 'hall', { value: hall, writable: false, configurable: false });
}
