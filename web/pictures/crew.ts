// The teams of the pictures: agents for every zone, and plans that say who hires whom, what each part costs and how it ends. The real
// program runs them; only the model is scripted (`model.ts`).

/** How a part of the work ends. `works` goes on for ever; `refused` is a hire with a budget that is too small. */
export type End = 'works' | 'done' | 'fails' | 'runs dry' | 'refused' | 'is stopped';

export interface Part {
  readonly agent: string;
  /** In sat. */
  readonly budget: number;
  readonly end: End;
  readonly hires: readonly Part[];
  /** Whether it goes on with its own work while its hires work. */
  readonly isBackground: boolean;
  /** Hires that it makes only when the model is told to go on: see `Model.release`. */
  readonly later: readonly Part[];
  /** Its last reply waits until the model is told to go on. */
  readonly isHeld: boolean;
}

const part = (agent: string, budget: number, end: End, ...hires: Part[]): Part => ({
  agent, budget, end, hires, isBackground: false, later: [], isHeld: false,
});
const inBackground = (one: Part): Part => ({ ...one, isBackground: true });
const held = (one: Part): Part => ({ ...one, isHeld: true });
const hiresLater = (one: Part, ...later: Part[]): Part => ({ ...one, later });

const AGENTS: Readonly<Record<string, string>> = {
  contractor: 'Leads the work and hires specialists.',
  investigator: 'Searches documentation and reads it.',
  reader: 'Reads documents and summarises them.',
  scholar: 'Reads documents and research.',
  coder: 'Writes code and fixes bugs.',
  builder: 'Builds and compiles the code.',
  fixer: 'Repairs broken code.',
  tester: 'Tests the service and verifies fixes.',
  fuzzer: 'Tests and checks with random input.',
  checker: 'Checks quality and security.',
  auditor: 'Audits costs and budgets.',
  estimator: 'Estimates prices and costs.',
  'log-reader': 'Reads logs and their history.',
  grep: 'Searches logs and archived data.',
  indexer: 'Indexes files and archives.',
  toolsmith: 'Looks after tools and machines.',
  planner: 'Plans tools and machines.',
};

/** Ten agents: every state once. The contractor hires the tester later, and grep reports later. */
export const TEN: Part = hiresLater(
  inBackground(part(
    'contractor', 640, 'works',
    part(
      'investigator', 270, 'works',
      inBackground(part('log-reader', 125, 'works', held(part('grep', 20, 'done')), part('indexer', 20, 'is stopped'))),
      part('toolsmith', 25, 'runs dry'), part('scholar', 20, 'fails'),
    ),
    inBackground(part('coder', 100, 'works', part('builder', 5, 'refused'))),
    part('auditor', 40, 'works'),
  )),
  part('tester', 60, 'works'),
);

/** Twenty agents. */
export const TWENTY: Part = part(
  'contractor', 1500, 'works',
  part('investigator', 240, 'works', part('reader', 50, 'works'), part('reader', 50, 'done'), part('indexer', 50, 'works')),
  inBackground(part('coder', 240, 'works', part('builder', 50, 'works'), part('fixer', 50, 'works'), part('tester', 50, 'fails'))),
  part('auditor', 180, 'works', part('estimator', 50, 'works'), part('estimator', 50, 'done')),
  inBackground(part('tester', 180, 'works', part('fuzzer', 50, 'works'), part('checker', 50, 'is stopped'))),
  part('log-reader', 180, 'works', part('grep', 50, 'works'), part('grep', 30, 'runs dry')),
  part('planner', 180, 'works', part('toolsmith', 50, 'works')),
);

const LEADS = ['investigator', 'coder', 'auditor', 'tester', 'log-reader', 'planner'];
/** Every lead hires for its own sector. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  investigator: ['reader', 'scholar'],
  coder: ['builder', 'fixer'],
  auditor: ['estimator', 'auditor'],
  tester: ['checker', 'tester'],
  'log-reader': ['grep', 'indexer'],
  planner: ['toolsmith', 'planner'],
};
// At most 32 calls to one provider run at the same time, and an agent that works has one.
const ENDS: readonly End[] = ['works', 'done', 'works', 'runs dry', 'works', 'done', 'works', 'is stopped', 'done', 'works', 'fails', 'works', 'done'];

/** Sixty agents on four levels. A coder and a tester hire one more later, and one leaf of the planner reports later. */
export const SIXTY: Part = ((): Part => {
  let count = 0;
  const leaf = (agent: string): Part => {
    const end = ENDS[count++ % ENDS.length] ?? 'works';
    return part(agent, end === 'runs dry' ? 30 : 50, end);
  };
  const leads = LEADS.map((lead, place) => {
    const [first = '', second = ''] = BELOW[lead] ?? [];
    const middle = (agent: string, ...hires: Part[]): Part => part(agent, 165, 'works', ...hires);
    const hires = [middle(first, leaf(second), leaf(first)), middle(second, leaf(first), leaf(second)), middle(first, leaf(first), leaf(second))];
    if (lead === 'coder') hires[2] = hiresLater(inBackground(middle(first, leaf(second))), part('fixer', 45, 'works'));
    if (lead === 'tester') hires[1] = hiresLater(inBackground(middle(second, leaf(first))), part('checker', 45, 'works'));
    if (lead === 'planner') hires[0] = inBackground(middle(first, held(part(second, 50, 'done')), leaf(first)));
    if (lead === 'tester') hires[2] = middle(first, leaf(first), leaf(second), part(second, 5, 'refused'));
    const whole = part(lead, 600, 'works', ...hires);
    return place % 2 === 0 ? inBackground(whole) : whole;
  });
  return part('contractor', 4300, 'works', ...leads);
})();

export interface Numbered {
  readonly part: Part;
  /** Whether it, or one above it, is hired only after a release. */
  readonly isLater: boolean;
}

/** All parts with their numbers, such as `1.2`. A refused hire gets no number of its own, so it comes last in each list. */
export function numbered(root: Part): Map<string, Numbered> {
  const all = new Map<string, Numbered>();
  const visit = (one: Part, number: string, isLater: boolean): void => {
    all.set(number, { part: one, isLater });
    const hired = one.hires.filter((hire) => hire.end !== 'refused');
    one.hires.forEach((hire, index) => visit(hire, `${number}.${index + 1}`, isLater));
    one.later.forEach((hire, index) => visit(hire, `${number}.${hired.length + index + 1}`, true));
  };
  visit(root, '1', false);
  return all;
}

/** Whether a part goes on until somebody ends it or releases it. */
export function staysOpen(one: Part): boolean {
  return one.end === 'works' || one.isHeld || one.end === 'is stopped';
}

/** A call needs so much money in hand, in sat: less, and the part runs dry. */
const LAST_CALL_SAT = 12;
/** A hirer keeps this much for itself. */
const HIRER_SAT = 50;
/** More would be more calls than an agent may make. */
const OWN_SAT_MAX = 150;

/** What a part spends on its own replies before it hires, in sat: about half of what it does not pass on. */
export function ownCost({ agent, budget, end, hires, later }: Part): number {
  const passedOn = [...hires, ...later].filter((hire) => hire.end !== 'refused').reduce((sum, hire) => sum + hire.budget, 0);
  if (end === 'fails') return 0;
  const own = budget - passedOn;
  const spare = own - (passedOn > 0 ? HIRER_SAT : LAST_CALL_SAT);
  return Math.max(0, Math.min(own * (0.5 + 0.06 * (agent.length % 5)), spare, OWN_SAT_MAX));
}

export function agentFile(name: string): string {
  const team = Object.keys(AGENTS).filter((other) => other !== 'contractor');
  return `---
name: ${name}
description: ${AGENTS[name]}
specialties: [${name}]
tools: [read_file]
model: scripted/crew
delegation:
  team: [${team.join(', ')}]
  recursive: true
---
You are a ${name}.
`;
}

export const AGENT_NAMES = Object.keys(AGENTS);
