import { expect, test } from 'vitest';
import { readTranscript } from '../../src/ui/transcript';

const lines = (...all: unknown[]) => all;

const TASK = { type: 'user', uuid: 'u1', stored: { fact: { opened: {} } }, message: { content: [{ type: 'text', text: 'Why?' }] } };
const REPLY = {
  type: 'assistant',
  uuid: 'u2',
  stored: { fact: { answered: { id: 1 } } },
  message: {
    model: 'm',
    content: [
      { type: 'text', text: 'I hire.' },
      { type: 'tool_use', id: 'c1', name: 'delegate_task', input: { specialty: 'logs', budget: 5 } },
    ],
  },
};
const HIRE = { type: 'system', subtype: 'asked', content: 'ask #2: hire', stored: { fact: { asked: { ask: { hire: { brief: { path: '1.1' } } }, origin: { call: { reply: 1, index: 0 } } } } } };
const RESULT = { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found', is_error: false }] } };

test('a call has its arguments, its result and the contract that it hired', () => {
  expect(readTranscript(lines(TASK, REPLY, HIRE, RESULT))).toEqual([
    { kind: 'task', id: 'u1-0', at: null, text: 'Why?' },
    {
      kind: 'reply',
      id: 'u2',
      at: null,
      text: 'I hire.',
      model: 'm',
      calls: [
        { id: 'c1', name: 'delegate_task', input: [['specialty', 'logs'], ['budget', '5']], result: 'found', isError: false, hired: '1.1' },
      ],
    },
  ]);
});

test('asks for a reply or a tool are not shown again', () => {
  const ask = { type: 'system', subtype: 'asked', content: 'x', stored: { fact: { asked: { ask: { model: {} } } } } };
  expect(readTranscript(lines(ask))).toEqual([]);
});

test('a report that repeats the last reply is not shown twice', () => {
  const last = { type: 'assistant', uuid: 'u5', message: { content: [{ type: 'text', text: 'It was X.' }] } };
  const closed = (told: string) => ({
    type: 'system',
    subtype: 'closed',
    uuid: 'u6',
    content: 'closed: done',
    texts: { h: told },
    stored: { fact: { closed: { text: { final: { hash: 'h' } } } } },
  });
  const report = (told: string) => readTranscript(lines(last, closed(told))).at(-1);
  expect(report('It was X.')).toEqual({ kind: 'report', id: 'u6', at: null, summary: 'closed: done', text: '' });
  expect(report('Another text')).toMatchObject({ text: 'Another text' });
});

test('unknown and unreadable lines are shown as notes', () => {
  const turns = readTranscript(lines(TASK, '{"type": "sys', { type: 'system', subtype: 'levitated', content: 'new kind' }, { type: 'odd' }, [1]));
  expect(turns.map((turn) => (turn.kind === 'note' ? turn.subtype : turn.kind))).toEqual(['task', 'unreadable', 'levitated', 'odd', 'unreadable']);
});

test('a result without its call is still shown', () => {
  expect(readTranscript(lines(RESULT))).toMatchObject([{ kind: 'shown', from: null, text: 'found' }]);
});

test('what an agent was shown says who said it', () => {
  const said = (fact: object) => ({ type: 'user', stored: { fact }, message: { content: [{ type: 'text', text: 'Look there.' }] } });
  const from = (fact: object) => {
    const [turn] = readTranscript(lines(said(fact)));
    return turn?.kind === 'shown' ? turn.from : 'another kind';
  };
  expect(from({ heard: { from: { owner: { command: 3 } }, stimulus: { message: {} } } })).toEqual({ kind: 'owner' });
  expect(from({ heard: { from: { contract: '1.2#7' }, stimulus: { message: {} } } })).toEqual({ kind: 'contract', path: '1.2' });
  expect(from({ nudged: 'promise' })).toEqual({ kind: 'runtime' });
  expect(from({ answered: { id: 1 } })).toBeNull();
});

test('a report that the runtime put together is shown', () => {
  const closed = { type: 'system', subtype: 'closed', uuid: 'u6', content: 'closed', texts: { h: 'So far: nothing.' }, stored: { fact: { closed: { text: { assembled: { hash: 'h' } } } } } };
  expect(readTranscript(lines(closed))).toMatchObject([{ kind: 'report', text: 'So far: nothing.' }]);
});
