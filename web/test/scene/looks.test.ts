import { describe, expect, it } from 'vitest';
import { Cast } from '../../src/scene/cast';
import { emblemStyle } from '../../src/scene/emblems';
import { threadLook } from '../../src/scene/traffic';
import type { ThreadCrowd } from '../../src/scene/traffic';
import type { ThreadLook } from '../../src/scene/threads';
import type { Condition } from '../../src/stage';
import { figure } from './figures';

const CONDITIONS: readonly Condition[] = ['works', 'waits', 'done', 'ran_dry', 'failed', 'cancelled', 'refused'];
const CROWD: ThreadCrowd = { isMany: false, deep: 0.4, hasChosen: false, isNight: true };

/** The thread to the second hire below the root, which hired the first. */
function thread(condition: Condition, more: Partial<ThreadCrowd> = {}, selected: string | null = null): ThreadLook {
  const cast = new Cast();
  const figures = [figure('1', null), figure('1.1', 'forge'), figure('1.1.1', 'library', { condition })];
  cast.update({ now: 0, figures, banners: [], beats: [], selected });
  const [hire, hirer] = [cast.byId.get('1.1.1'), cast.byId.get('1.1')];
  if (!hire || !hirer) throw new Error('the figures are missing');
  return threadLook(hire, hirer, { ...CROWD, ...more, hasChosen: selected !== null }, () => [1, 1, 1]);
}

describe('threads', () => {
  it('are dashed if the hire was refused or cancelled', () => {
    expect(CONDITIONS.filter((condition) => thread(condition).isDashed)).toEqual(['cancelled', 'refused']);
  });

  it('carry running light only to who works or waits', () => {
    expect(CONDITIONS.filter((condition) => thread(condition).flow > 0)).toEqual(['works', 'waits']);
  });

  it('below the first level fade if there are many, until their figure is selected', () => {
    expect(thread('works', { isMany: true }).opacity).toBeCloseTo(0.4);
    expect(thread('failed', { isMany: true }, '1.1.1').opacity).toBe(1);
  });
});

describe('emblems', () => {
  it('differ in shape: hollow if it ran dry, cracked if it failed, a check mark if it reported', () => {
    expect(CONDITIONS.map(emblemStyle)).toEqual(['whole', 'whole', 'check', 'hollow', 'cracked', 'whole', 'whole']);
  });
});
