// What the scene draws. The director makes a stage from the state of a session and the time; the scene draws it and knows
// nothing else. This file must not import three.js or Preact.

/** The six sectors of the hall. The root stands on the dais, in no sector. */
export type Zone = 'library' | 'forge' | 'assay' | 'archive' | 'counting' | 'workshop';

/** How a figure looks. `refused` is a hire that never became a contract: a cracked portal with a reason. */
export type Condition = 'works' | 'waits' | 'done' | 'ran_dry' | 'failed' | 'cancelled' | 'refused';

/** A contract, or a hire that was refused. */
export interface Figure {
  /** The path of the contract, such as `1.2`, or `1.2!3` for the third refused hire of contract 1.2. */
  readonly id: string;
  /** The id of the figure that hired it. A root has none. */
  readonly hirer: string | null;
  /** The label that the hirer gave, or the agent's name. Untrusted text. */
  readonly name: string;
  /** `null` for a root. */
  readonly zone: Zone | null;
  /** Levels below the root: 0 for a root. */
  readonly depth: number;
  readonly condition: Condition;
  /** A fork is a copy of its hirer, drawn translucent. */
  readonly isFork: boolean;
  /** What the label says under the name, such as `52 of 90 sat`. Untrusted text. */
  readonly status: string;
  /** Whether its model writes or calls at this moment: the lectern glows. */
  readonly isBusy: boolean;
}

/** A folded subtree: a banner beside its figure with the number of contracts below it. */
export interface Banner {
  /** The figure whose hires are folded. */
  readonly figure: string;
  /** How many contracts are folded, by condition. */
  readonly counts: Readonly<Partial<Record<Condition, number>>>;
}

/** Something that moves. A beat is drawn from `start` to `start + duration`; both in milliseconds of stage time. */
export type Beat = { readonly start: number; readonly duration: number } & (
  | { readonly kind: 'portal'; readonly figure: string } // opens, the figure rises through it, shuts
  | { readonly kind: 'walk'; readonly figure: string } // from its portal to its place
  | { readonly kind: 'crack'; readonly figure: string } // the portal of a refused hire cracks
  | { readonly kind: 'coins'; readonly from: string; readonly to: string; readonly msat: number } // a grant
  | { readonly kind: 'change'; readonly from: string; readonly to: string; readonly msat: number } // money that comes back
  | { readonly kind: 'report'; readonly from: string; readonly to: string } // a scroll
);

/** How long beats take, in milliseconds. */
export const BEAT_MS = { portal: 1400, walk: 1600, crack: 900, coins: 900, change: 900, report: 900 } as const;

/** Everything that is drawn at one moment. */
export interface Stage {
  /** Stage time, in milliseconds. The picture depends on the stage and this time alone. */
  readonly now: number;
  /** Hirers come before their hires. */
  readonly figures: readonly Figure[];
  readonly banners: readonly Banner[];
  readonly beats: readonly Beat[];
  /** The figure that is selected, in the scene and in the 2D view alike. */
  readonly selected: string | null;
}

export type Theme = 'night' | 'day';

export type Quality = 'full' | 'reduced';

/** What the scene tells the page about the last frame: for tests, and for the choice of quality. */
export interface FrameStats {
  readonly drawCalls: number;
  readonly triangles: number;
  /** Milliseconds of JavaScript for one update, without the GPU. */
  readonly updateMs: number;
  readonly frameMs: number;
  readonly quality: Quality;
}

/** A place on the screen, in CSS pixels of the canvas. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The 3D view. `web/src/scene/scene.ts` exports `mountScene`, which makes one. */
export interface Scene {
  /** Draws this stage from now on. The scene asks for frames only while something moves. */
  show(stage: Stage): void;
  setTheme(theme: Theme): void;
  /** `null` lets the scene choose by its frame time. */
  forceQuality(quality: Quality | null): void;
  resize(width: number, height: number): void;
  /** Moves the camera back to the view that frames all living figures. */
  frameAll(): void;
  /** Where figures, portals and labels are on the screen, for tests and for clicks. */
  boxes(): { figures: Map<string, Box>; portals: Map<string, Box>; labels: Map<string, Box> };
  stats(): FrameStats;
  dispose(): void;
}

export interface SceneOptions {
  readonly canvas: HTMLCanvasElement;
  /** An element over the canvas for the labels. It is `aria-hidden`: the 2D view says the same. */
  readonly overlay: HTMLElement;
  readonly theme: Theme;
  readonly quality: Quality | null;
  /** A figure was clicked, or the floor (`null`). */
  readonly onSelect: (id: string | null) => void;
  /** A banner was clicked: unfold it. */
  readonly onUnfold: (id: string) => void;
  /** With each frame: whether the camera shows a part of the hall from near. */
  readonly onView: (view: 'near' | 'whole') => void;
  /** The WebGL context is lost and does not come back: show 2D. */
  readonly onLost: () => void;
}

/** Throws if the browser has no WebGL. */
export type MountScene = (options: SceneOptions) => Scene;
