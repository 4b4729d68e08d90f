// Colours, light and sectors of the hall. No three.js here: the labels
// and the tests use this file, too.

import type { Look } from '../looks';
import type { Condition, Theme, Zone } from '../stage';

export const COLOR = {
  ivory: '#F3EBDD',
  brass: '#C8963E',
  lantern: '#FFC97A',
  ink: '#1E2533',
  skin: '#F0DFC6',
  eye: '#141A28',
  amber: '#FFA62B',
  red: '#FF4A3A',
  ash: '#8F8B86',
} as const;

/** Red, green and blue, as shaders take them. */
export type Triple = readonly [number, number, number];

export type EmblemName = 'book' | 'hex' | 'triangle' | 'coin' | 'square' | 'plus' | 'star';

export interface Sector {
  readonly name: string;
  readonly color: string;
  /** Direction of the middle of the sector in degrees: 0 points to the viewer, 90 to the right. */
  readonly degrees: number;
  readonly emblem: EmblemName;
}

export const SECTORS: Readonly<Record<Zone, Sector>> = {
  library: { name: 'Library', color: '#558AD4', degrees: -150, emblem: 'book' },
  assay: { name: 'Assay', color: '#59D9AB', degrees: 30, emblem: 'hex' },
  forge: { name: 'Forge', color: '#EE8434', degrees: 90, emblem: 'triangle' },
  counting: { name: 'Counting House', color: '#EBCF60', degrees: 150, emblem: 'coin' },
  archive: { name: 'Archive', color: '#AD70AB', degrees: -30, emblem: 'square' },
  workshop: { name: 'Workshop', color: '#A0A6B1', degrees: -90, emblem: 'plus' },
};

export const ZONES: readonly Zone[] = ['library', 'assay', 'forge', 'counting', 'archive', 'workshop'];

export interface ThemeLook {
  readonly sky: { readonly top: string; readonly mid: string; readonly low: string; readonly gain: number };
  readonly stone: string;
  readonly riser: string;
  readonly pale: string;
  readonly base: string;
  /** How much of the sector's colour the slabs and the mosaic band carry. */
  readonly tint: number;
  readonly band: number;
  readonly hemisphere: readonly [sky: string, ground: string, intensity: number];
  readonly sun: readonly [color: string, intensity: number, from: readonly [number, number, number]];
  /** By day the lamps would only warm the stone around them: they stay dark. */
  readonly lantern: number;
  readonly key: number;
  readonly environment: number;
  readonly exposure: number;
  readonly bloom: readonly [strength: number, threshold: number] | null;
  readonly vignette: number;
}

export const THEMES: Readonly<Record<Theme, ThemeLook>> = {
  night: {
    sky: { top: '#172031', mid: '#2B3A54', low: '#1D2638', gain: 1 },
    stone: '#54678A',
    riser: '#435470',
    pale: '#A8ADB2',
    base: '#33272A',
    tint: 0.12,
    band: 0.66,
    hemisphere: ['#7CA6D8', '#18243A', 0.5],
    sun: ['#B4D4FF', 1.4, [-9, 12, -8]],
    lantern: 30,
    key: 10,
    environment: 0.3,
    exposure: 1.02,
    bloom: [0.26, 1.0],
    vignette: 0.2,
  },
  day: {
    sky: { top: '#F0DFBF', mid: '#FFF0D2', low: '#F0DCB8', gain: 2.3 },
    stone: '#C2B295',
    riser: '#A8977A',
    pale: '#EADCC2',
    base: '#7D5A3C',
    tint: 0.19,
    band: 0.95,
    hemisphere: ['#D3E2FF', '#E0C49A', 0.75],
    sun: ['#FFE6BD', 3.1, [-9, 11, 3]],
    lantern: 0,
    key: 0,
    environment: 0.42,
    exposure: 0.95,
    bloom: null,
    vignette: 0.05,
  },
};

/** Text colours of the line under the name. Each has a contrast of at least 4.5 to 1 with the label's background. */
export const LOOK_TEXT: Readonly<Record<Theme, Readonly<Record<Look, string>>>> = {
  night: {
    works: '#9FE3C3',
    waits: '#FFD596',
    arrives: '#CFE6FF',
    done: '#E9DFC9',
    ran_dry: '#FFB44A',
    failed: '#FF8C7C',
    cancelled: '#B9B3AC',
    refused: '#FF9A86',
  },
  day: {
    works: '#1C6B4C',
    waits: '#7D5410',
    arrives: '#1F4F8A',
    done: '#4C463A',
    ran_dry: '#8A4F00',
    failed: '#A3231B',
    cancelled: '#5D5852',
    refused: '#A3301F',
  },
};

/** The colour of a thread to a hire, by condition. `null`: from lantern light to the colour of the sector. */
export const THREAD_COLOR: Readonly<Record<Condition, string | null>> = {
  works: null,
  waits: null,
  done: '#CFC4AE',
  ran_dry: COLOR.amber,
  failed: '#FF5A46',
  cancelled: '#B3ADA6',
  refused: '#E0604C',
};
