// Stages for work on the scene: every state, and large crowds.

import { BEAT_MS } from '../src/stage';
import type { Beat, Condition, Figure, Stage, Zone } from '../src/stage';
import { randomSequence } from '../src/scene/motion';
import { ZONES } from '../src/scene/palette';

export interface LabStage extends Stage {
  readonly title: string;
  readonly money: string;
  /** The figure in its portal. */
  readonly portal: string;
}

const NOW = 3200;

type State = Condition | 'portal';

function figure(id: string, hirer: string | null, name: string, zone: Zone | null, state: State, status: string, depth: number, isFork = false): Figure {
  const condition = state === 'portal' ? 'works' : state;
  return { id, hirer, name, zone, depth, condition, isFork, status, isBusy: condition === 'works' };
}

/** A beat that is at this share of its time. */
function at(share: number, duration: number): { start: number; duration: number } {
  return { start: NOW - share * duration, duration };
}

const PORTAL_SHARE = 0.575;

function coins(from: string, to: string, sat: number, share: number, kind: 'coins' | 'change' = 'coins'): Beat {
  return { kind, from, to, msat: sat * 1000, ...at(share, BEAT_MS.coins) };
}

function report(from: string, to: string, share: number): Beat {
  return { kind: 'report', from, to, ...at(share, BEAT_MS.report) };
}

export function ten(): LabStage {
  const list: [string, string | null, string, Zone | null, State, string][] = [
    ['1', null, 'contractor', null, 'works', '213 of 500 sat left'],
    ['1.1', '1', 'investigator', 'library', 'waits', 'waits for 2'],
    ['1.2', '1', 'coder', 'forge', 'works', '52 of 90 sat'],
    ['1.3', '1', 'auditor', 'counting', 'works', '11 of 40 sat'],
    ['1.4', '1', 'tester', 'assay', 'portal', 'steps out'],
    ['1.1.1', '1.1', 'log-reader', 'archive', 'works', '38 of 60 sat'],
    ['1.1.2', '1.1', 'config-diff', 'workshop', 'ran_dry', 'ran dry at 25 sat'],
    ['1.2.1', '1.2', 'reviewer', 'library', 'failed', 'failed: no such file'],
    ['1.2.2', '1.2', 'fuzzer', 'assay', 'cancelled', 'cancelled'],
    ['1.1.1.1', '1.1.1', 'grep', 'archive', 'done', 'reported, 7 sat back'],
    ['1.2!1', '1.2', 'builder', 'forge', 'refused', 'refused: asks 40, has 38'],
  ];
  const depth = (id: string): number => id.replace(/!.*/, '.x').split('.').length - 1;
  return {
    title: 'Why is the payment API failing?',
    money: '287 of 500 sat spent',
    portal: '1.4',
    now: NOW,
    figures: list.map(([id, hirer, name, zone, state, status]) => figure(id, hirer, name, zone, state, status, depth(id))),
    banners: [],
    beats: [
      { kind: 'portal', figure: '1.4', ...at(PORTAL_SHARE, BEAT_MS.portal) },
      coins('1', '1.4', 80, 0.52),
      coins('1.1.1.1', '1.1.1', 7, 0.4, 'change'),
      report('1.1.1.1', '1.1.1', 0.62),
    ],
    selected: null,
  };
}

export function three(): LabStage {
  return {
    title: 'Summarise the changelog',
    money: '18 of 60 sat spent',
    portal: '1.2',
    now: NOW,
    figures: [
      figure('1', null, 'contractor', null, 'waits', 'waits for 2', 0),
      figure('1.1', '1', 'reader', 'library', 'works', '9 of 20 sat', 1),
      figure('1.2', '1', 'writer', 'workshop', 'portal', 'steps out', 1),
    ],
    banners: [],
    beats: [{ kind: 'portal', figure: '1.2', ...at(PORTAL_SHARE, BEAT_MS.portal) }, coins('1', '1.2', 20, 0.5)],
    selected: null,
  };
}

const NAMES: Readonly<Record<Zone, readonly string[]>> = {
  library: ['reader', 'scholar', 'finder'],
  assay: ['tester', 'checker', 'fuzzer'],
  forge: ['coder', 'builder', 'fixer'],
  counting: ['auditor', 'teller', 'estimator'],
  archive: ['log-reader', 'grep', 'indexer'],
  workshop: ['config-diff', 'planner', 'packer'],
};

interface Draft {
  id: string;
  hirer: string | null;
  zone: Zone | null;
  name: string;
  depth: number;
  hires: number;
  state: State;
  status: string;
}

/** The tree of the picture with 60 agents, or a larger one of the same kind. */
export function many(count: number): LabStage {
  const random = randomSequence(7);
  const caps = count <= 100 ? [6, 4, 3, 2, 0] : [12, 8, 6, 5, 3, 0];
  const drafts: Draft[] = [{ id: '0', hirer: null, zone: null, name: 'contractor', depth: 0, hires: 0, state: 'waits', status: 'waits for 6' }];
  while (drafts.length < count) {
    const open = drafts.filter((draft) => draft.hires < (caps[draft.depth] ?? 0));
    open.sort((a, b) => a.depth - b.depth || a.id.localeCompare(b.id));
    const first = drafts[0];
    const hirer = drafts.length <= 6 ? first : open[Math.floor(Math.pow(random(), 1.5) * open.length)];
    if (!hirer) break;
    hirer.hires++;
    const id = hirer.id === '0' ? String(hirer.hires) : `${hirer.id}.${hirer.hires}`;
    const zone = drafts.length <= 6 ? ZONES[drafts.length - 1] : random() < 0.2 && hirer.zone ? hirer.zone : ZONES[(drafts.length * 5 + Math.floor(random() * 2)) % 6];
    if (!zone) break;
    const name = NAMES[zone][Math.floor(random() * 3)] ?? zone;
    drafts.push({ id, hirer: hirer.id, zone, name, depth: hirer.depth + 1, hires: 0, state: 'works', status: '' });
  }
  for (const draft of drafts.slice(1)) decide(draft, random);
  const leaves = drafts.filter((draft) => draft.hires === 0 && draft.state === 'works');
  const portal = leaves.find((draft) => draft.zone === 'assay') ?? leaves[0];
  if (portal) Object.assign(portal, { state: 'portal', status: 'steps out' });
  const refused = leaves.find((draft) => draft.zone === 'library' && draft !== portal);
  if (refused) Object.assign(refused, { state: 'refused', status: 'refused: depth limit 4' });
  const done = drafts.filter((draft) => draft.state === 'done').slice(0, 3);
  return {
    title: 'Port the billing service to Rust',
    money: '2418 of 5000 sat spent',
    portal: portal?.id ?? '0',
    now: NOW,
    figures: drafts.map((draft) => figure(draft.id, draft.hirer, draft.name, draft.zone, draft.state, draft.status, draft.depth)),
    banners: [],
    beats: [
      ...(portal ? [{ kind: 'portal', figure: portal.id, ...at(PORTAL_SHARE, BEAT_MS.portal) } as const, coins(portal.hirer ?? '0', portal.id, 45, 0.5)] : []),
      coins('0', '3', 120, 0.5),
      ...done.map((draft, i) => report(draft.id, draft.hirer ?? '0', 0.35 + 0.2 * i)),
    ],
    selected: null,
  };
}

function decide(draft: Draft, random: () => number): void {
  const x = random();
  if (draft.hires > 0) draft.state = x < 0.7 ? 'waits' : 'works';
  else draft.state = x < 0.56 ? 'works' : x < 0.72 ? 'done' : x < 0.79 ? 'ran_dry' : x < 0.85 ? 'failed' : x < 0.9 ? 'cancelled' : 'works';
  const budget = 20 + Math.floor(random() * 60);
  const spent = Math.floor(budget * (0.2 + 0.7 * random()));
  const words: Record<State, string> = {
    works: `${spent} of ${budget} sat`, waits: `waits for ${draft.hires}`, done: 'reported', ran_dry: `ran dry at ${budget} sat`,
    failed: 'failed', cancelled: 'cancelled', refused: '', portal: '',
  };
  draft.status = words[draft.state];
}

/** The stage of ten with a fork, a walking figure, a portal that cracks, banners, and names from all over the world. */
export function mixed(): LabStage {
  const base = ten();
  const names: Record<string, string> = {
    '1.2': 'مراجع الشيفرة', '1.3': 'a-very-long-name-that-nobody-should-ever-give-to-a-contract-but-somebody-will', '1.1.1': '<b>日志</b>', '1.1.1.1': '',
  };
  return {
    ...base,
    title: 'Everything at once',
    figures: [
      ...base.figures.map((one) => ({ ...one, name: names[one.id] ?? one.name, isBusy: one.id !== '1.2' && one.isBusy })),
      figure('1.3.1', '1.3', 'auditor copy', 'counting', 'works', '3 of 9 sat', 2, true),
      figure('1.4.1', '1.4', 'walker', 'workshop', 'works', 'walks', 2),
    ],
    banners: [{ figure: '1.2', counts: { works: 31, waits: 8, failed: 2 } }, { figure: '1.1.1', counts: { done: 120 } }],
    beats: [
      ...base.beats,
      { kind: 'walk', figure: '1.4.1', ...at(0.5, BEAT_MS.walk) },
      { kind: 'crack', figure: '1.2!1', ...at(0.6, BEAT_MS.crack) },
    ],
    selected: '1.2',
  };
}

export function empty(): LabStage {
  return { title: 'The hall is empty', money: 'nobody works', portal: '', now: NOW, figures: [], banners: [], beats: [], selected: null };
}
