// Tools of a query under the names that its program knows: what the model is offered and says, what
// hooks and canUseTool are told, and what comes out. Its searches of the web, which the API makes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';

const PROGRAM = `
  const { query } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'))});
  const told = (name, value) => console.log(JSON.stringify({ name, value }));
  const hook = async ({ tool_name, tool_input }) => (told('hook', [tool_name, tool_input]), {});
  const options = {
    tools: ['Bash', 'TodoWrite', 'Task', 'WebSearch', 'NotebookEdit'],
    hooks: { PreToolUse: [{ matcher: 'TodoWrite|Bash', hooks: [hook] }] },
    canUseTool: async (name, input) => (told('asked', [name, input]), { behavior: 'allow', updatedInput: input }),
  };
  for await (const message of query({ prompt: 'How tall is it?', options })) {
    if (message.subtype === 'init') told('init', message.tools);
    if (message.type === 'assistant') told('assistant', message.message.content.map(({ type, name }) => name ?? type));
    if (message.type === 'result') told('result', [message.result, message.usage.server_tool_use, Object.values(message.modelUsage)[0].webSearchRequests]);
  }`;

const pages = [{ url: 'https://a.example/', title: 'A', text: 'Tall.' }];
const todos = [{ content: 'Look.', status: 'in_progress', activeForm: 'Looking' }];

test('a query’s tools go by one set of names for the model, hooks, callbacks and messages, and it searches (Q7 L88 L89)', async () => {
  const model = await modelFor([
    reply([{ type: 'web_search', query: 'height', id: 'srvtoolu_1' }], { stop_reason: 'pause_turn' }),
    reply([
      { type: 'web_search_result', id: 'srvtoolu_1', results: pages },
      toolUse('TodoWrite', { todos }, 'toolu_1'),
      toolUse('Bash', { command: 'touch a' }, 'toolu_2'),
    ]),
    reply([text('It is tall.')]),
  ]);
  const { cwd, env } = cliPlace(model);
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { cwd, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, err }).toMatchObject({ status: 0 });
  expect(err).toContain('the option tools names NotebookEdit: there is no such tool here');
  const lines = out.trim().split('\n');
  const told = lines.map((line) => JSON.parse(line) as { readonly name: string; readonly value: unknown });
  const of = (name: string) => told.filter((each) => each.name === name).map(({ value }) => value);

  const [init] = of('init') as [string[]];
  const offered = model.requests.map(({ body }) =>
    (body as { tools: { name: string }[] }).tools.map(({ name }) => name),
  );
  expect(offered[0]?.map((name) => (name === 'web_search' ? 'WebSearch' : name)).toSorted()).toEqual(init.toSorted());
  expect(offered[2]).toEqual(offered[0]);
  expect(of('hook')).toEqual([
    ['TodoWrite', { todos: [{ content: 'Look.', status: 'in_progress', activeForm: 'Look.' }] }],
    ['Bash', { command: 'touch a' }],
  ]);
  expect(of('asked')).toEqual([['Bash', { command: 'touch a' }]]);
  expect(of('assistant')).toEqual([['web_search', 'web_search_tool_result', 'TodoWrite', 'Bash'], ['text']]);
  expect(of('result')).toEqual([['It is tall.', { web_search_requests: 1, web_fetch_requests: 0 }, 1]]);
  const last = JSON.stringify(model.requests[2]?.body);
  expect(last).toContain('"name":"TodoWrite"');
  expect(model.problems).toEqual([]);
});
