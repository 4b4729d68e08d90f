// What all screens share.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Theme } from '../stage';
import type { Settings } from './route';
import type { Vault } from './vault';

export interface Shared {
  readonly vault: Vault;
  readonly settings: Settings;
  readonly theme: Theme;
  readonly setTheme: (theme: Theme) => void;
  /** Whether the 3D view is shown. */
  readonly mode: '2d' | '3d';
  readonly setMode: (mode: '2d' | '3d') => void;
  /** Why there is no 3D view, or `null` if there can be one. */
  readonly no3d: string | null;
  /** Why the 3D view went away while the page was open. */
  readonly lost3d: string | null;
  readonly setNo3d: (why: string) => void;
  readonly go: (hash: string) => void;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === null) throw new Error('every screen is inside the app');
  return shared;
}
