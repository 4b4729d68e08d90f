// A model server for recordings, with the protocol of OpenAI. Its replies are written here, for what the rehearsal never does:
// forks, labels, questions to the hirer, work in the background, refused hires, a model that fails.

import { createServer } from 'node:http';

const call = (name, input) => ({ name, input });

/** The reply to a conversation: calls, a text, or an HTTP status. `turn` counts the replies before. */
const replies = {
  boss: (turn, last) => {
    if (last.includes('TWIN-TASK')) return 'The twin is done.';
    const plan = [
      [
        call('Agent', { prompt: 'TWIN-TASK: count what you know.', name: 'twin of the boss', description: 'a fork' }),
        call('Agent', { prompt: 'Ask me something.', subagent_type: 'helper', name: 'העוזר של אליעזר', run_in_background: true }),
        call('Agent', { prompt: 'Break.', subagent_type: 'breaker', name: 'breaker', run_in_background: true }),
        call('Agent', { prompt: 'Fix the pipe.', subagent_type: 'plumber' }),
        call('Agent', { prompt: 'Do my work.', subagent_type: 'boss' }),
      ],
      [call('message_agent', { id: '1.2', text: 'The answer is 42.' }), call('wait_for_agents', { timeout_s: 20 })],
      [call('message_agent', { id: '1.2', text: 'The answer is 42.' }), call('wait_for_agents', { timeout_s: 20 })],
    ];
    return plan[turn] ?? 'Everything was done that could be done.';
  },
  helper: (turn) => [[call('ask_hirer', { question: 'What is the answer?' })], 'It is 42.'][turn] ?? 'It is 42.',
  breaker: () => 401,
};

function textOf(message) {
  return typeof message?.content === 'string' ? message.content : JSON.stringify(message?.content ?? '');
}

function chunks(reply) {
  const delta =
    typeof reply === 'string'
      ? { content: reply }
      : { tool_calls: reply.map(({ name, input }, index) => ({ index, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } })) };
  const finish_reason = typeof reply === 'string' ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 500, completion_tokens: 40, total_tokens: 540 };
  return [
    { choices: [{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage },
  ].map((chunk) => ({ id: 'chat', object: 'chat.completion.chunk', ...chunk }));
}

/** Starts the server. Returns its address and a function that stops it. */
export async function startModel() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (request.method !== 'POST') return response.end('{"object":"list","data":[]}');
    const { model, messages } = JSON.parse(body);
    const turn = messages.filter((message) => message.role === 'assistant').length;
    const reply = replies[model](turn, messages.slice(-2).map(textOf).join('\n'));
    if (process.env.SHOW) console.error(model, turn, JSON.stringify(reply), messages.slice(-2).map(textOf).join(' | ').slice(0, 900));
    if (typeof reply === 'number') {
      response.writeHead(reply, { 'content-type': 'application/json' });
      return response.end('{"error":{"message":"this key is not valid","type":"invalid_request_error"}}');
    }
    // Hires that run at the same time must not all end at the same moment.
    await new Promise((done) => setTimeout(done, model === 'boss' ? 300 : 150));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks(reply)) response.write(`data: ${JSON.stringify({ ...chunk, model })}\n\n`);
    return response.end('data: [DONE]\n\n');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, stop: () => server.close() };
}

/** The team, as agent files. */
export const team = {
  'boss.md': `---
name: boss
description: Hands out the work.
specialties: [planning]
tools: [read_file]
model: scripted/boss
delegation:
  team: [helper, breaker]
  dialect: Agent
---
You are the boss.
`,
  'helper.md': `---
name: helper
description: Asks questions about data.
specialties: [data]
tools: [read_file]
model: scripted/helper
---
You help.
`,
  'breaker.md': `---
name: breaker
description: Tests whether failures are shown.
specialties: [tests]
tools: [read_file]
model: scripted/breaker
---
You break.
`,
};
