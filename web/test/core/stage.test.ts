import { describe, expect, test } from 'vitest';

import { Director, FIGURES_MAX, UNFOLDED_MAX } from '../../src/director';
import { SessionLog } from '../../src/log';
import type { Stage } from '../../src/stage';
import { eventsOf, isStored, names, recorded } from './recorded';
import { directed, Script } from './script';

describe('scrubbing', () => {
  const { stream, trees } = recorded('twice');
  const events = eventsOf(stream);

  test('shows_the_state_after_any_event_without_beats', () => {
    const log = new SessionLog();
    for (const event of events) log.add(event);
    const director = new Director(log);
    director.skip();
    for (let index = 0; index <= log.length; index += 1) {
      director.scrub(index);
      const stage = director.at(1);
      const tree = trees[log.idAfter(index)];
      const newest = tree?.contracts.filter((contract) => contract.hirer === null).at(-1)?.path ?? '-';
      const shown = tree?.contracts.filter(({ path }) => path === newest || path.startsWith(`${newest}.`)) ?? [];
      const figures = stage.figures.filter((figure) => figure.condition !== 'refused');
      expect(figures.map(({ id, condition }) => [id, condition])).toEqual(shown.map(({ path, state }) => [path, state]));
      expect(stage.beats).toEqual([]);
      expect(director.isMoving(1)).toBe(false);
    }
  });

  test('does_not_stop_live_events_and_returns_to_them', () => {
    const log = new SessionLog();
    const director = new Director(log);
    const stored = events.filter(isStored);
    for (const event of stored.slice(0, 40)) log.add(event);
    director.skip();
    director.scrub(5);
    for (const event of stored.slice(40)) log.add(event);
    director.feed(100);
    expect(director.cursor(3000)).toBe(5);
    expect(director.mode(3000)).toEqual({ kind: 'still', index: 5 });
    director.toLive();
    expect(director.cursor(3000)).toBe(log.length);
    expect(director.mode(3000)).toEqual({ kind: 'live' });
  });
});

describe('a_replay', () => {
  test.each(names)('of_%s_ends_with_the_end_state_and_reports_come_after_arrivals', (name) => {
    const log = new SessionLog();
    for (const event of eventsOf(recorded(name).stream)) log.add(event);
    const director = new Director(log);
    director.skip();
    expect(director.cursor(0)).toBe(log.length);
    expect(director.at(0).beats).toEqual([]);
    director.replay(1000);
    const mode = director.mode(1000);
    if (mode.kind !== 'replay') throw new Error('it is a replay');
    expect(director.spread(1000)).toBe(mode.spread);
    // The live demo takes its time; the others are rehearsals, which end within a second or two.
    expect(mode.spread).toBe(!name.startsWith('demo'));
    let before = 0;
    const wrong: string[] = [];
    for (let now = 1000; now < mode.end; now += 50) {
      const arriving = new Set<string>();
      if (director.cursor(now) < before) wrong.push(`${now}: goes back`);
      before = director.cursor(now);
      const { beats } = director.at(now);
      for (const beat of beats) if (beat.kind === 'walk' || beat.kind === 'portal') arriving.add(beat.figure);
      for (const beat of beats) if (beat.kind === 'report' && arriving.has(beat.from)) wrong.push(`${now}: ${beat.from}`);
    }
    expect(wrong).toEqual([]);
    expect(before).toBe(log.length);
    expect(director.mode(mode.end)).toEqual({ kind: 'live' });
    const figures = director.at(mode.end).figures.filter((figure) => figure.condition !== 'refused');
    const { contracts, newestRoot } = log.newest();
    expect(figures).toHaveLength(contracts.filter(({ path }) => path.split('.')[0] === newestRoot?.path).length);
  });

  test('of_a_session_that_ended_within_a_second_takes_long_enough_to_read_and_says_so', () => {
    const log = new SessionLog();
    for (const event of eventsOf(recorded('travel').stream)) log.add(event);
    expect(log.timeAfter(log.length)).toBeLessThan(2000);
    const director = new Director(log);
    director.replay(0);
    const mode = director.mode(0);
    expect(mode).toMatchObject({ kind: 'replay', spread: true });
    const contracts = log.newest().contracts.length;
    expect(mode.kind === 'replay' ? mode.end : 0).toBeGreaterThan(contracts * 1000);
  });

  test('of_a_slow_session_leaves_out_idle_time_and_is_not_called_spread', () => {
    const script = new Script().open('1');
    script.at = 60_000;
    script.hire('1.1');
    script.at = 120_000;
    script.close('1.1');
    const director = directed(script, 0);
    director.replay(0);
    expect(director.mode(0)).toMatchObject({ kind: 'replay', spread: false });
    expect(director.cursor(20_000)).toBe(director.log.length);
  });
});

describe('a_crowd', () => {
  const crowd = (hires: number, closed: number): Director => {
    const script = new Script().open('1');
    for (let place = 1; place <= hires; place += 1) script.hire(`1.${place}`);
    for (let place = 1; place <= closed; place += 1) script.close(`1.${place}`);
    return directed(script, null);
  };
  const total = (stage: Stage): number =>
    stage.figures.length + stage.banners.flatMap((banner) => Object.values(banner.counts)).reduce((sum, count) => sum + count, 0);

  test('of_200_is_drawn_and_of_201_is_folded_in_part', () => {
    const full = crowd(199, 0).at(0);
    expect([full.figures.length, full.banners]).toEqual([200, []]);
    const folded = crowd(205, 100).at(0);
    expect(folded.figures).toHaveLength(FIGURES_MAX);
    expect(folded.banners).toEqual([{ figure: '1', counts: { done: 6 } }]);
    expect(folded.figures.filter((figure) => figure.condition === 'works')).toHaveLength(105);
  });

  test('folds_finished_subtrees_first_and_unfolds_on_demand', () => {
    const script = new Script().open('1');
    for (let group = 1; group <= 6; group += 1) {
      script.hire(`1.${group}`);
      for (let place = 1; place <= 50; place += 1) script.hire(`1.${group}.${place}`);
    }
    for (let place = 1; place <= 50; place += 1) script.close(`1.2.${place}`);
    for (let place = 1; place <= 50; place += 1) script.close(`1.5.${place}`, 'x', 'failed');
    const director = directed(script, null);
    const stage = director.at(0);
    expect(stage.figures.length).toBeLessThanOrEqual(FIGURES_MAX);
    expect(total(stage)).toBe(307);
    expect(stage.banners.find((banner) => banner.figure === '1.2')?.counts).toEqual({ done: 50 });
    expect(stage.banners.find((banner) => banner.figure === '1.5')?.counts).toEqual({ failed: 50 });
    director.unfold('1.2');
    const wider = director.at(0);
    expect(wider.banners.some((banner) => banner.figure === '1.2')).toBe(false);
    expect(wider.figures.length).toBeGreaterThan(stage.figures.length);
    expect(total(wider)).toBe(307);
    // A figure that is in a banner is selected by its banner.
    director.select('1.5.7');
    expect(director.at(0).selected).toBe('1.5');
  });

  test('is_unfolded_to_1000_at_most', () => {
    const director = crowd(3000, 0);
    director.unfold('1');
    const stage = director.at(0);
    expect(stage.figures).toHaveLength(UNFOLDED_MAX);
    expect(total(stage)).toBe(3001);
  });

  test('of_10000_with_64_levels_is_staged_in_time', () => {
    const script = new Script().open('1');
    let path = '1';
    for (let level = 0; level < 64; level += 1) script.hire((path = `${path}.1`));
    for (let place = 2; place <= 9_936; place += 1) script.hire(`1.${(place % 90) + 2}.${place}`.replace(/^1\.(\d+)\.(\d+)$/, place <= 91 ? '1.$2' : '1.$1.$2'));
    const log = new SessionLog();
    for (const event of script.events) log.add(event);
    const director = new Director(log);
    let before = performance.now();
    director.feed(0);
    const fed = performance.now() - before;
    before = performance.now();
    const stage = director.at(2000);
    const staged = performance.now() - before;
    expect(stage.figures.length).toBeLessThanOrEqual(FIGURES_MAX);
    expect(total(stage)).toBe(log.newest().contracts.length);
    before = performance.now();
    for (let frame = 1; frame <= 20; frame += 1) director.at(2000 + frame);
    const frames = (performance.now() - before) / 20;
    console.log(`10,000 contracts: fed ${fed.toFixed(0)} ms, staged ${staged.toFixed(0)} ms, each further frame ${frames.toFixed(2)} ms`);
    // Far more than it takes: other programs run on the same machine.
    expect(fed).toBeLessThan(3000);
    expect(staged).toBeLessThan(2000);
    expect(frames).toBeLessThan(200);
  });
});

test('an_empty_session_is_an_empty_stage', () => {
  const director = new Director(new SessionLog());
  director.feed(0);
  expect(director.at(5)).toEqual({ now: 5, figures: [], banners: [], beats: [], selected: null });
  director.replay(5);
  expect(director.at(6).figures).toEqual([]);
  director.select('1');
  expect(director.at(6).selected).toBeNull();
});

test('the_next_request_has_the_hall_to_itself', () => {
  const script = new Script().open('1').hire('1.1').close('1.1').close('1').open('2').hire('2.1');
  const director = directed(script, null);
  expect(director.at(0).figures.map((figure) => figure.id)).toEqual(['2', '2.1']);
  director.scrub(3);
  expect(director.at(0).figures.map((figure) => figure.id)).toEqual(['1', '1.1']);
});
