// A prompt run for a program (L52), on a data folder of its own: server and worker come and go with
// it.
import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { query, type Query } from '../../client/runtime/query.ts';
import { oneRuntime } from '../support/one-runtime.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { pdfOf, pngOf } from '../support/images.ts';
import { reply, text, toolUse } from '../../scripted-model/index.ts';

test('query() yields the events of a run and returns its result; the next prompt goes on with the session (L52)', async () => {
  oneRuntime();
  const model = await modelFor([
    reply([text('Making it.'), toolUse('bash', { command: 'echo hi > made.txt' })]),
    reply('Made.'),
    reply('As I said.'),
  ]);
  const { cwd, env } = cliPlace(model);
  const { signal } = new AbortController();
  const listeners = (): number => getEventListeners(signal, 'abort').length;
  const ask = async (prompt: string, session?: string) => {
    const types: string[] = [];
    const config = { permissionMode: 'bypass' } as const;
    const events = query({
      prompt,
      options: { cwd, env, config, signal, ...(session === undefined ? {} : { session }) },
    });
    for (;;) {
      const next = await events.next();
      if (next.done === true) return { result: next.value, types };
      types.push(next.value.type);
      if (!['session', 'result'].includes(next.value.type)) expect(listeners()).toBe(1);
    }
  };
  const first = await ask('Make it.');
  expect(first.result).toMatchObject({ reason: 'completed', turns: 2, text: 'Made.' });
  expect(first.types[0]).toBe('session');
  expect(first.types.at(-1)).toBe('result');
  expect(first.types).toEqual(expect.arrayContaining(['run_start', 'text_delta', 'tool_end']));
  expect(readFileSync(join(cwd, 'made.txt'), 'utf8')).toBe('hi\n');
  const second = await ask('What did you say?', first.result.sessionId);
  expect(second.result).toMatchObject({ sessionId: first.result.sessionId, reason: 'completed', text: 'As I said.' });
  expect(listeners()).toBe(0);
  expect(model.problems).toEqual([]);
});

test('images and documents of a prompt reach the model where they stand, and again in each later request (Q7 L85)', async () => {
  oneRuntime();
  const model = await modelFor([reply([toolUse('glob', { pattern: '*' })]), reply('A small grey picture.')]);
  const { cwd, env } = cliPlace(model);
  const data = pngOf(4, 4).toString('base64');
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } } as const;
  const pages = { type: 'base64', media_type: 'application/pdf', data: pdfOf(2).toString('base64') } as const;
  const document = { type: 'document', source: pages } as const;
  const prompt = [{ type: 'text', text: 'Look:' }, image, { type: 'text', text: 'What is it?' }, document] as const;
  expect(await query({ prompt, options: { cwd, env } }).result()).toMatchObject({ text: 'A small grey picture.' });
  for (const request of model.requests) {
    const { messages } = request.body as { readonly messages: readonly { readonly content: readonly object[] }[] };
    expect(messages[0]?.content).toMatchObject([{ text: 'Look:' }, image, { text: '\nWhat is it?' }, document]);
  }
  expect(model.problems).toEqual([]);
});

/** A run in which an effect must be asked about. */
async function asking(options: Query['options']) {
  oneRuntime();
  const model = await modelFor([reply([toolUse('bash', { command: 'echo model > made.txt' })]), reply('Done.')]);
  const { cwd, env } = cliPlace(model);
  const events = query({ prompt: 'Make it.', options: { cwd, env, config: {}, ...options } });
  const ended = async () => {
    for (;;) {
      const next = await events.next();
      if (next.done === true) return next.value;
    }
  };
  return { ended, made: join(cwd, 'made.txt'), told: () => JSON.stringify(model.requests[1]?.body) };
}

test('a model is offered the tools that query() names, and its system prompt has what was appended (L57 L58)', async () => {
  oneRuntime();
  const model = await modelFor([reply('Done.')]);
  const { cwd, env } = cliPlace(model);
  const options = { cwd, env, tools: ['read', 'grep'], appendSystemPrompt: 'Answer in French.' };
  await query({ prompt: 'Look.', options }).result();
  const asked = model.requests[0]?.body as { readonly tools: readonly { readonly name: string }[] };
  expect(asked.tools.map(({ name }) => name)).toEqual(['grep', 'read']);
  expect(JSON.stringify(asked)).toContain('Answer in French.');
});

test.each([{}, { permissionMode: null }])(
  'without anyone to ask, query() denies what would ask, and comes to an end: %j (L52 L55)',
  async (options) => {
    const { ended, made, told } = await asking(options);
    expect(await ended()).toMatchObject({ reason: 'completed', text: 'Done.' });
    expect(told()).toContain(String.raw`in permission mode \"dontAsk\" what would ask is denied`);
    expect(existsSync(made)).toBe(false);
  },
);

test('query() asks its `onApproval` about a call that waits, and does what it says (L52 L55)', async () => {
  const { ended, made } = await asking({
    onApproval: ({ tool, input }) => {
      expect({ tool, input }).toEqual({ tool: 'bash', input: { command: 'echo model > made.txt' } });
      return { kind: 'allow', input: { command: 'echo program > made.txt' } };
    },
  });
  expect(await ended()).toMatchObject({ reason: 'completed', text: 'Done.' });
  expect(readFileSync(made, 'utf8')).toBe('program\n');
});

test('what `onApproval` throws ends query(), and decides nothing (L52 L55)', async () => {
  const { ended, made } = await asking({
    onApproval: () => {
      throw new Error('my own mistake');
    },
  });
  await expect(ended()).rejects.toThrow('my own mistake');
  expect(existsSync(made)).toBe(false);
});

test('an input from `onApproval` that the tool refuses ends query(), and is not asked for again (L52 L55)', async () => {
  const onApproval = vi.fn(() => ({ kind: 'allow', input: {} }) as const);
  const { ended, made } = await asking({ onApproval });
  await expect(ended()).rejects.toThrow(
    /^the input that onApproval gave call 1\.1\.0 \(bash\) was not taken: [^\n]*the edited input will not do: [^\n]*command[^\n]*$/,
  );
  expect(onApproval).toHaveBeenCalledOnce();
  expect(existsSync(made)).toBe(false);
});

test('a program that stops to listen while its answer is on its way ends in good order, and the call is decided (L52 L55)', async () => {
  const model = await modelFor([reply([toolUse('bash', { command: 'echo hi > made.txt' })]), reply('Done.')]);
  const place = cliPlace(model);
  const script = join(import.meta.dirname, 'breaking-program.mjs');
  const child = spawn(process.execPath, [script], {
    cwd: place.cwd,
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const [status] = (await once(child, 'close')) as [number | null];
  expect({ status, err }).toEqual({ status: 0, err: expect.not.stringContaining('Error') });
  expect((await place.run('approvals', '--json')).out).toBe('');
  const watched = await place.run('watch', '--json', out.trim());
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ reason: 'completed', text: 'Done.' });
  expect(readFileSync(join(place.cwd, 'made.txt'), 'utf8')).toBe('hi\n');
});
