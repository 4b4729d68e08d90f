// The teams of the pictures: agents for every zone, and plans that say who hires whom and how each hire ends. The real program runs
// them; only the model is scripted (`model.ts`).

/** How a part of the work ends. `works` goes on for ever; `refused` is a hire with a budget that is too small. */
export type End = 'works' | 'done' | 'fails' | 'runs dry' | 'refused' | 'is stopped';

export interface Part {
  readonly agent: string;
  readonly budget: number;
  readonly end: End;
  readonly hires: readonly Part[];
}

const part = (agent: string, budget: number, end: End, ...hires: Part[]): Part => ({ agent, budget, end, hires });

const AGENTS: Readonly<Record<string, string>> = {
  contractor: 'Leads the work and hires specialists.',
  investigator: 'Searches documentation and reads it.',
  reader: 'Reads documents and summarises them.',
  coder: 'Writes code and fixes bugs.',
  builder: 'Builds and compiles the code.',
  fixer: 'Repairs broken code.',
  tester: 'Tests the service and verifies fixes.',
  fuzzer: 'Tests with random input.',
  checker: 'Checks quality and security.',
  auditor: 'Audits costs and budgets.',
  estimator: 'Estimates prices and costs.',
  'log-reader': 'Reads logs and their history.',
  grep: 'Searches logs and archived data.',
  indexer: 'Indexes files and archives.',
  'config-diff': 'Compares settings of machines.',
  planner: 'Plans tools and machines.',
  reviewer: 'Reads documents and research.',
};

/** Ten agents: every state once. */
export const TEN: Part = part(
  'contractor', 500, 'works',
  part('investigator', 150, 'works', part('log-reader', 60, 'works', part('grep', 20, 'done')), part('config-diff', 25, 'runs dry')),
  part('coder', 90, 'works', part('reviewer', 20, 'fails'), part('fuzzer', 20, 'is stopped'), part('builder', 1, 'refused')),
  part('auditor', 40, 'works'),
  part('tester', 60, 'works'),
);

/** Twenty agents. */
export const TWENTY: Part = part(
  'contractor', 2000, 'works',
  part('investigator', 300, 'works', part('reader', 60, 'works'), part('reader', 60, 'done'), part('indexer', 60, 'works')),
  part('coder', 300, 'works', part('builder', 60, 'works'), part('fixer', 60, 'works'), part('tester', 60, 'fails')),
  part('auditor', 250, 'works', part('estimator', 60, 'works'), part('estimator', 60, 'done')),
  part('tester', 250, 'works', part('fuzzer', 60, 'works'), part('checker', 60, 'is stopped')),
  part('log-reader', 250, 'works', part('grep', 60, 'works'), part('grep', 25, 'runs dry')),
  part('planner', 250, 'works', part('config-diff', 60, 'works')),
);

const LEADS = ['investigator', 'coder', 'auditor', 'tester', 'log-reader', 'planner'];
const BELOW: Readonly<Record<string, readonly string[]>> = {
  investigator: ['reader', 'indexer', 'grep'],
  coder: ['builder', 'fixer', 'tester'],
  auditor: ['estimator', 'auditor', 'reader'],
  tester: ['checker', 'fuzzer', 'fixer'],
  'log-reader': ['grep', 'indexer', 'config-diff'],
  planner: ['config-diff', 'planner', 'estimator'],
};
// At most 32 calls to one provider run at the same time, and an agent that works has one.
const ENDS: readonly End[] = ['works', 'done', 'works', 'runs dry', 'works', 'done', 'works', 'is stopped', 'done', 'works', 'fails', 'works', 'done'];

/** Sixty agents on four levels. */
export const SIXTY: Part = ((): Part => {
  let count = 0;
  const leaf = (agent: string): Part => {
    const end = ENDS[count++ % ENDS.length] ?? 'works';
    return part(agent, end === 'runs dry' ? 25 : 60, end);
  };
  const leads = LEADS.map((lead) => {
    const below = BELOW[lead] ?? [];
    const hires = [0, 1, 2].map((number) => {
      const agent = below[number] ?? 'reader';
      return part(agent, 300, 'works', leaf(below[(number + 1) % 3] ?? 'grep'), leaf(below[(number + 2) % 3] ?? 'grep'));
    });
    return part(lead, 1200, 'works', ...hires);
  });
  return part('contractor', 9000, 'works', ...leads.slice(0, 5), part('planner', 1200, 'works', ...(leads[5]?.hires ?? []).slice(0, 2), leaf('planner')));
})();

/** All parts with their numbers, such as `1.2`. A refused hire gets no number of its own, so it comes last in each list. */
export function numbered(root: Part): Map<string, Part> {
  const all = new Map<string, Part>();
  const visit = (one: Part, number: string): void => {
    all.set(number, one);
    one.hires.forEach((hire, index) => visit(hire, `${number}.${index + 1}`));
  };
  visit(root, '1');
  return all;
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
