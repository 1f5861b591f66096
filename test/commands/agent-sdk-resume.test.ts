// Programs that resume a session whose call waits for a decision: the program that was asked is
// gone.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { query } from '../../client/agent-sdk/query.ts';
import type { SDKMessage, SDKUserMessage } from '../../client/agent-sdk/shapes/messages.ts';
import type { Options } from '../../client/agent-sdk/shapes/options.ts';
import type { QueryPrompt } from '../../client/agent-sdk/shapes/query.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { killWhen } from '../support/kill-when.ts';
import { oneRuntime } from '../support/one-runtime.ts';

const SDK = JSON.stringify(join(import.meta.dirname, '../../dist/client/agent-sdk/index.js'));

/** Is asked, and never answers. */
const PROGRAM = `
  const { writeFileSync } = await import('node:fs');
  const { query } = await import(${SDK});
  const canUseTool = () => (writeFileSync('asked', ''), new Promise(() => undefined));
  for await (const _ of query({ prompt: 'Make it.', options: { sessionId: process.argv[1], canUseTool } }));`;

/** A session whose first call waits, and whose program was killed. */
async function leftWaiting(...more: Parameters<typeof reply>[0][]) {
  oneRuntime();
  const model = await modelFor([
    reply([toolUse('bash', { command: 'echo effect >> effects' })]),
    ...more.map((text) => reply(text)),
  ]);
  const { cwd, env } = cliPlace(model);
  const session = `order-${randomUUID()}`;
  const program = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, session], {
    cwd,
    env,
    stdio: 'ignore',
  });
  onTestFinished(() => void program.kill('SIGKILL'));
  const ended = once(program, 'exit');
  await killWhen(program, () => existsSync(join(cwd, 'asked')));
  await ended;
  const asked: string[] = [];
  const said: string[] = [];
  const options: Options = {
    cwd,
    env,
    resume: session,
    stderr: (line) => said.push(line),
    canUseTool: async (name, input) => {
      asked.push(`${name} ${String(input['command'])}`);
      return { behavior: 'allow', updatedInput: input };
    },
  };
  return { cwd, session, model, asked, said, options };
}

async function* emptyStream(): AsyncGenerator<SDKUserMessage, void> {}

const user = (content: string): SDKUserMessage => ({
  type: 'user',
  message: { role: 'user', content },
  parent_tool_use_id: null,
});

async function readAll(prompt: QueryPrompt, options: Options, onResult = (): void => undefined) {
  const told: SDKMessage[] = [];
  for await (const message of query({ prompt, options })) {
    told.push(message);
    if (message.type === 'result') onResult();
  }
  return told;
}

const kinds = (told: readonly SDKMessage[]): readonly string[] =>
  told
    .map((message) => ('subtype' in message ? message.subtype : message.type))
    .filter((kind) => kind !== 'tool_progress');

test('an empty stream goes on with a call that waits: canUseTool is asked, and the run comes to its end (Q7 L55)', async () => {
  const { asked, options, session } = await leftWaiting('Made.');
  const told = await readAll(emptyStream(), options);
  expect(asked).toEqual(['Bash echo effect >> effects']);
  expect(kinds(told)).toEqual(['init', 'user', 'assistant', 'success']);
  expect(told.at(-1)).toMatchObject({ result: 'Made.', session_id: session });
  // At rest there is nothing to go on with.
  expect(kinds(await readAll(emptyStream(), options))).toEqual(['init']);
});

test('a stream that stays open without a message goes on with it, too, and its messages are answered after it (Q7)', async () => {
  const { asked, options } = await leftWaiting('Made.', 'You are welcome.');
  const { hold, release } = gate();
  const told = await readAll(
    (async function* () {
      await hold;
      yield user('Thanks.');
    })(),
    options,
    release,
  );
  expect(asked).toHaveLength(1);
  expect(kinds(told)).toEqual(['init', 'user', 'assistant', 'success', 'assistant', 'success']);
  expect(told.at(-1)).toMatchObject({ result: 'You are welcome.' });
});

test('a message that comes with it reaches the run of the call that waits, which is asked about once (Q7)', async () => {
  const { asked, options, model } = await leftWaiting('Made, and told.');
  const told = await readAll('And tell me.', options);
  expect(asked).toHaveLength(1);
  expect(told.at(-1)).toMatchObject({ result: 'Made, and told.' });
  expect(model.requests).toHaveLength(2);
});

test('without anybody to ask, an empty stream says so and leaves the call waiting (Q7)', async () => {
  const { said, options, cwd, session } = await leftWaiting();
  const { canUseTool: _, ...others } = options;
  expect(kinds(await readAll(emptyStream(), others))).toEqual(['init']);
  expect(said.join('\n')).toContain(`a call of session ${session} waits: give the option canUseTool`);
  expect(existsSync(join(cwd, 'effects'))).toBe(false);
});
