// The sector of the hall in which an agent works, from what its team says about it. Words are counted: those of its name and its
// specialties weigh more than those of its description. The same cast always gives the same zones.

import type { Zone } from './stage';
import type { CastMember } from './wire';

/** Beginnings of words, by zone. A word counts for the zone with the longest beginning that it has. */
const STEMS: Readonly<Record<Exclude<Zone, 'workshop'>, readonly string[]>> = {
  library: [
    'research', 'docs', 'document', 'literature', 'librar', 'runbook', 'manual', 'survey', 'comparison', 'summar',
    'writ', 'edit', 'read', 'investigat', 'fact', 'find', 'decision', 'reason', 'translat', 'knowledge', 'wiki', 'web',
    'search', 'synthesis',
  ],
  forge: [
    'cod', 'program', 'implement', 'refactor', 'build', 'compil', 'develop', 'engineer', 'bug', 'fix', 'debug', 'patch',
    'deploy', 'handler', 'client', 'http', 'api', 'backend', 'frontend', 'script', 'retr', 'wood', 'carpent',
  ],
  assay: [
    'test', 'check', 'review', 'security', 'quality', 'verif', 'validat', 'inspect', 'critique', 'lint', 'safety',
    'assur', 'reproduc', 'hunt', 'proof',
  ],
  archive: [
    'log', 'data', 'histor', 'file', 'memor', 'archiv', 'record', 'config', 'setting', 'incident', 'outage', 'measure',
    'figure', 'metric', 'storage', 'database', 'index', 'backup', 'event',
  ],
  counting: [
    'money', 'cost', 'budget', 'financ', 'price', 'pric', 'account', 'bill', 'invoice', 'payment', 'tax', 'treasur', 'expens',
    'spend', 'bookkeep', 'fee', 'wallet', 'audit', 'estimat',
  ],
};

const ZONES = Object.keys(STEMS) as readonly (keyof typeof STEMS)[];

/** How much a word weighs. A word of a description names things around the work, too. */
const WEIGHT = { name: 4, specialty: 6, description: 1 } as const;

/** Fewer points than this tell nothing: `finds` alone is in the description of every second agent. */
const POINTS_MIN = 2;

/** Leads and planners coordinate others: they belong to no trade. */
const COORDINATES = new Set([
  'lead', 'leads', 'leader', 'head', 'chief', 'foreman', 'contractor', 'manager', 'planner', 'planning', 'coordination',
  'coordinator', 'plans', 'orchestrator', 'director',
]);

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

function zoneOfWord(word: string): keyof typeof STEMS | null {
  let best: keyof typeof STEMS | null = null;
  let length = 0;
  for (const zone of ZONES) {
    for (const stem of STEMS[zone]) {
      if (stem.length > length && word.startsWith(stem)) [best, length] = [zone, stem.length];
    }
  }
  return best;
}

/** The zone of an agent. An agent without any word that tells works in the Workshop. */
export function zoneOf(agent: CastMember): Zone {
  const points = new Map<Zone, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) {
      if (COORDINATES.has(word)) points.set('workshop', (points.get('workshop') ?? 0) + weight);
      const zone = zoneOfWord(word);
      if (zone !== null) points.set(zone, (points.get(zone) ?? 0) + weight);
    }
  };
  add(agent.name, WEIGHT.name);
  // The first specialty is what the agent is hired for most.
  agent.specialties.forEach((specialty, place) => add(specialty, place === 0 ? WEIGHT.specialty : WEIGHT.specialty / 2));
  add(agent.description, WEIGHT.description);
  let zone: Zone = 'workshop';
  let most = POINTS_MIN - 1;
  for (const candidate of [...ZONES, 'workshop'] as const) {
    const count = points.get(candidate) ?? 0;
    if (count > most) [zone, most] = [candidate, count];
  }
  return zone;
}

/** The zones of a cast. Agents that are not in it work in the Workshop. */
export function zonesOf(cast: readonly CastMember[]): (agent: string) => Zone {
  const zones = new Map(cast.map((agent) => [agent.name, zoneOf(agent)]));
  return (agent) => zones.get(agent) ?? 'workshop';
}
