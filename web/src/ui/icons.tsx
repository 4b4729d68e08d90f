// Glyphs. A state and a zone are always shown by shape and word, and never by colour alone.
import { LOOK_PATHS, type Look } from '../looks';
import type { Zone } from '../stage';

export const LOOK_WORDS: Readonly<Record<Look, string>> = {
  works: 'works',
  waits: 'waits',
  arrives: 'arrives',
  done: 'reported',
  ran_dry: 'ran dry',
  failed: 'failed',
  cancelled: 'cancelled',
  refused: 'refused',
};

const ZONES: Readonly<Record<Zone | 'root', string>> = {
  library: 'M.6 3C2.6 1.8 5 2 6.6 3.6V12C5 10.6 2.6 10.2.6 11.2ZM13.4 3C11.4 1.8 9 2 7.4 3.6V12C9 10.6 11.4 10.2 13.4 11.2Z',
  assay: 'M7 .8 12.4 3.9V10.1L7 13.2 1.6 10.1V3.9Z',
  forge: 'M7 1 13 11.8H1Z',
  counting: 'M7 1a6 6 0 1 0 .01 0ZM7 4.6a2.4 2.4 0 1 1-.01 0Z',
  archive: 'M1.6 1.6H12.4V12.4H1.6ZM4.6 5.2V7.4H9.4V5.2Z',
  workshop: 'M5 1H9V5H13V9H9V13H5V9H1V5H5Z',
  root: 'M7 .4 8.7 4 12.7 3.7 10.4 7 12.7 10.3 8.7 10 7 13.6 5.3 10 1.3 10.3 3.6 7 1.3 3.7 5.3 4Z',
};

export const ZONE_WORDS: Readonly<Record<Zone, string>> = {
  library: 'Library',
  forge: 'Forge',
  assay: 'Assay',
  archive: 'Archive',
  counting: 'Counting House',
  workshop: 'Workshop',
};

function Shape({ path, size, view }: { path: string; size: number; view: number }) {
  return (
    <svg class="glyph" viewBox={`0 0 ${view} ${view}`} width={size} height={size} aria-hidden="true" focusable="false">
      <path d={path} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}

function LookGlyph({ look, size = 11 }: { look: Look; size?: number }) {
  return <Shape path={LOOK_PATHS[look]} size={size} view={12} />;
}

export function ZoneGlyph({ zone, size = 13 }: { zone: Zone | null; size?: number }) {
  return (
    <span class={`zone zone-${zone ?? 'root'}`}>
      <Shape path={ZONES[zone ?? 'root']} size={size} view={14} />
    </span>
  );
}

const SIGNS = {
  copy: 'M5 1.5H13.5V11H11V13.5H2.5V4H5ZM6.5 3V4H11V9.5H12V3ZM4 5.5V12H9.5V5.5Z',
  close: 'M3.2 2.1 8 6.9 12.8 2.1 13.9 3.2 9.1 8 13.9 12.8 12.8 13.9 8 9.1 3.2 13.9 2.1 12.8 6.9 8 2.1 3.2Z',
  right: 'M5.5 2.5 11 8 5.5 13.5 4.4 12.4 8.8 8 4.4 3.6Z',
  moon: 'M9.5 1.6A6.6 6.6 0 1 0 14.4 10 5.4 5.4 0 0 1 9.5 1.6Z',
  sun: 'M8 4.6a3.4 3.4 0 1 0 .01 0ZM7.3.8H8.7V3H7.3ZM7.3 13H8.7V15.2H7.3ZM.8 7.3H3V8.7H.8ZM13 7.3H15.2V8.7H13ZM2.4 3.4 3.4 2.4 5 4 4 5ZM11 12 12 11 13.6 12.6 12.6 13.6ZM2.4 12.6 4 11 5 12 3.4 13.6ZM11 4 12.6 2.4 13.6 3.4 12 5Z',
  play: 'M4 2.5 13 8 4 13.5Z',
  pause: 'M3.5 2.5H6.5V13.5H3.5ZM9.5 2.5H12.5V13.5H9.5Z',
  link: 'M6.6 9.4A3.4 3.4 0 0 1 6.6 4.6L8.8 2.4A3.4 3.4 0 0 1 13.6 7.2L12.1 8.7 11 7.6 12.5 6.1A1.8 1.8 0 0 0 9.9 3.5L7.7 5.7A1.8 1.8 0 0 0 7.7 8.3ZM9.4 6.6A3.4 3.4 0 0 1 9.4 11.4L7.2 13.6A3.4 3.4 0 0 1 2.4 8.8L3.9 7.3 5 8.4 3.5 9.9A1.8 1.8 0 0 0 6.1 12.5L8.3 10.3A1.8 1.8 0 0 0 8.3 7.7Z',
  frame: 'M8 1.5a6.5 6.5 0 1 0 .01 0ZM8 3a5 5 0 1 1-.01 0ZM8 6a2 2 0 1 0 .01 0Z',
  full: 'M1.5 1.5H6V3H3V6H1.5ZM10 1.5H14.5V6H13V3H10ZM1.5 10H3V13H6V14.5H1.5ZM13 10H14.5V14.5H10V13H13Z',
} as const;

export function Sign({ name, size = 14 }: { name: keyof typeof SIGNS; size?: number }) {
  return <Shape path={SIGNS[name]} size={size} view={16} />;
}

/** The state of a contract: glyph, word and colour together. */
export function LookBadge({ look, words }: { look: Look; words?: string }) {
  return (
    <span class={`look look-${look}`}>
      <LookGlyph look={look} />
      <span>{words ?? LOOK_WORDS[look]}</span>
    </span>
  );
}
