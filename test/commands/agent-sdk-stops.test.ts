// Programs that see what a model says before its tools have run, that leave the loop, and that
// abort.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { SDKMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { Options } from '../../client/agent-sdk/shapes/options.ts';
import { AbortError } from '../../client/agent-sdk/values.ts';
import { reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';

/** A command that runs until a file is there, and then leaves another. */
const waiting = (name: string) =>
  toolUse('bash', { command: `until [ -e ${name}-may-end ]; do sleep 0.1; done; touch ${name}-ended` });

async function place(script: Parameters<typeof modelFor>[0]) {
  oneRuntime();
  const model = await modelFor(script);
  const { cwd, env, run } = cliPlace(model);
  const said: string[] = [];
  const options: Options = { cwd, env, permissionMode: 'bypassPermissions', stderr: (line) => said.push(line) };
  return { cwd, env, run, model, said, options };
}

const kindOf = (message: SDKMessage): string => ('subtype' in message ? message.subtype : message.type);

test('assistant is told before what it calls has run, and tool_progress while it does (Q7)', async () => {
  const { cwd, options } = await place([reply([text('I wait.'), waiting('a')]), reply('Over.')]);
  const kinds: string[] = [];
  for await (const message of query({ prompt: 'Go.', options })) {
    kinds.push(kindOf(message));
    if (message.type !== 'assistant' || kinds.includes('user')) continue;
    expect(existsSync(join(cwd, 'a-ended'))).toBe(false);
    writeFileSync(join(cwd, 'a-may-end'), '');
  }
  expect(kinds.filter((kind) => kind !== 'tool_progress')).toEqual([
    'init',
    'assistant',
    'user',
    'assistant',
    'success',
  ]);
  expect(kinds.indexOf('tool_progress')).toBeGreaterThan(-1);
});

test.each([
  [
    'break',
    async (messages: ReturnType<typeof query>) => {
      for await (const message of messages) if (message.type === 'tool_progress') break;
    },
  ],
  [
    'return() beside a next() that waits',
    async (messages: ReturnType<typeof query>) => {
      let left: Promise<unknown> | undefined;
      for await (const message of messages)
        if (message.type === 'tool_progress' || message.type === 'assistant')
          left ??= Promise.resolve().then(() => messages.return());
      await left;
    },
  ],
] as const)('%s interrupts the run and what it runs, and nothing goes on with it (Q7)', async (_, leave) => {
  const { cwd, options, model, said, run } = await place([reply([waiting('a')]), reply('Never asked.')]);
  const messages = query({ prompt: 'Go.', options });
  await leave(messages);
  expect(await messages.next()).toEqual({ done: true, value: undefined });
  expect(existsSync(join(cwd, 'a-ended'))).toBe(false);
  const [, session = ''] = /session (\S+) has no result: options.resume goes on with it/.exec(said.join('\n')) ?? [];
  const shown = await run('show', session, '--json');
  expect(shown.out).toContain('aborted_tools');
  expect(model.requests).toHaveLength(1);
});

test('an abortController that is aborted ends the query with AbortError, at once and before it begins (Q7)', async () => {
  const { cwd, options, said, run } = await place([reply([waiting('a')])]);
  const abortController = new AbortController();
  const all = async () => {
    for await (const message of query({ prompt: 'Go.', options: { ...options, abortController } }))
      if (message.type === 'tool_progress') abortController.abort();
  };
  await expect(all()).rejects.toThrow(AbortError);
  expect(existsSync(join(cwd, 'a-ended'))).toBe(false);
  const [, session = ''] = /session (\S+) has no result/.exec(said.join('\n')) ?? [];
  expect((await run('show', session, '--json')).out).toContain('aborted_tools');
  await expect(all()).rejects.toMatchObject({ name: 'AbortError' });
});

test('a query with a name that was left without a result goes on when it is asked again, with its message (Q9)', async () => {
  const { env, options, model } = await place([reply([waiting('a')]), reply('All of it.'), reply('Never asked.')]);
  const named = { ...options, env: { ...env, PERDURE_SESSION: 'p' } };
  const sessions = new Set<string>();
  for await (const message of query({ prompt: 'Go.', options: { ...named, sessionId: 'order-1' } })) {
    sessions.add(message.session_id ?? '');
    if (message.type === 'tool_progress') break;
  }
  const results: unknown[] = [];
  for (const _ of [1, 2])
    for await (const message of query({ prompt: 'Go.', options: { ...named, sessionId: 'order-1' } })) {
      sessions.add(message.session_id ?? '');
      if (message.type === 'result') results.push('result' in message ? message.result : message.subtype);
    }
  expect([...sessions]).toEqual(['order-1']);
  expect(results).toEqual(['All of it.', 'All of it.']);
  expect(model.requests).toHaveLength(2);
});

test('a program that breaks at its result has it: under its name it gets the same again, and nothing is asked anew (Q9)', async () => {
  const { options, model } = await place([reply('Done.'), reply('Never asked.')]);
  const results: unknown[] = [];
  for (const _ of [1, 2])
    for await (const message of query({ prompt: 'Go.', options: { ...options, sessionId: 'order-2' } }))
      if (message.type === 'result') {
        results.push([message.uuid, message.subtype]);
        break;
      }
  expect(results[0]).toEqual([expect.any(String), 'success']);
  expect(results[1]).toEqual(results[0]);
  expect(model.requests).toHaveLength(1);
});
