import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

import type { CastMember } from '../../src/wire';
import { zoneOf, zonesOf } from '../../src/zones';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The agents of a folder of agent files, read just well enough for this test. */
function castOf(folder: string): CastMember[] {
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith('.md'));
  return files.sort().map((file) => {
    const head = readFileSync(join(root, folder, file), 'utf8').split('---')[1] ?? '';
    const field = (name: string): string => new RegExp(`^${name}:(.*(?:\\n  .*)*)`, 'm').exec(head)?.[1]?.trim() ?? '';
    const specialties = field('specialties').replace(/[[\]]/g, '').split(',');
    return {
      name: field('name'),
      description: field('description'),
      specialties: specialties.map((word) => word.trim()).filter((word) => word !== ''),
      model: null,
    };
  });
}

function check(folder: string, zones: Record<string, string>): void {
  const cast = castOf(folder);
  expect(Object.fromEntries(cast.map((agent) => [agent.name, zoneOf(agent)]))).toEqual(zones);
}

test('the_agents_of_the_demo_are_in_their_zones', () => {
  check('examples/payment/agents', {
    'incident-lead': 'archive',
    'runtime-lead': 'archive',
    'source-lead': 'forge',
    'log-investigator': 'archive',
    'config-investigator': 'archive',
    'code-investigator': 'forge',
    'test-investigator': 'assay',
    'docs-investigator': 'library',
    'api-reader': 'forge',
    'client-reader': 'forge',
  });
});

test('the_agents_of_all_examples_are_in_their_zones', () => {
  check('examples/research/agents', {
    'research-lead': 'library',
    'decisions-researcher': 'library',
    'figures-researcher': 'archive',
    'incidents-researcher': 'archive',
  });
  const travel = {
    'head-travel-agent': 'workshop',
    'scheduling-agent': 'workshop',
    'financial-agent': 'counting',
    'flight-agent': 'workshop',
    'experiences-agent': 'workshop',
    'food-agent': 'workshop',
  };
  check('examples/travel/agents', travel);
  check('examples/travel-flat/agents', travel);
  check('examples/workshop/agents', { carpenter: 'forge', foreman: 'workshop', inspector: 'assay', painter: 'library' });
  check('examples/claude/.claude/agents', { 'bug-hunter': 'assay', 'tech-lead': 'workshop', 'test-writer': 'assay' });
});

test('the_built_in_agents_are_in_their_zones', () => {
  check('crates/agent/roster', {
    'general-contractor': 'workshop',
    investigator: 'library',
    researcher: 'library',
    coder: 'forge',
    tester: 'assay',
    reviewer: 'assay',
    writer: 'library',
  });
});

test('an_agent_that_nobody_knows_works_in_the_workshop', () => {
  expect(zonesOf([])('somebody')).toBe('workshop');
  expect(zoneOf({ name: '', description: '', specialties: [], model: null })).toBe('workshop');
  expect(zoneOf({ name: 'מומחה', description: 'קורא יומנים', specialties: ['עץ'], model: null })).toBe('workshop');
});
