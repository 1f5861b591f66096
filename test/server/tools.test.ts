import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, FatalToolFailure, type Tool } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';

/** A batch that can only finish when all of it runs at once. */
function meeting(size: number): Tool {
  let here = 0;
  const all = new AbortController();
  return defineTool({
    name: 'meet',
    description: 'Waits for the others.',
    inputSchema: z.strictObject({}),
    risk: 'execute',
    safe: () => true,
    recovery: 'rerun',
    async call() {
      here += 1;
      if (here === size) all.abort();
      await new Promise<void>((resolve) => {
        if (all.signal.aborted) resolve();
        else all.signal.addEventListener('abort', () => resolve());
      });
      return { content: 'met' };
    },
  });
}

describe('calls of one reply', () => {
  test('safe ones run together (L35)', async () => {
    const h = await harness({
      script: [reply([toolUse('meet', {}), toolUse('meet', {}), toolUse('meet', {})]), reply('Done.')],
      worker: { tools: [meeting(3)] },
    });
    const session = await h.open('Meet.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('unsafe ones run alone, in the model order (L35)', async () => {
    const append = (n: number) =>
      toolUse('bash', { command: `[ ! -e lock ] && touch lock && sleep 0.1 && echo ${n} >> order && rm lock` });
    const h = await harness({ script: [reply([append(1), append(2), append(3)]), reply('Done.')] });
    const session = await h.open('Go.');
    await session.ended(1);
    expect(readFileSync(join(h.cwd, 'order'), 'utf8')).toBe('1\n2\n3\n');
  });

  test('a failing shell call cancels the siblings after it, another failure does not (L36)', async () => {
    const h = await harness({
      script: [
        reply([
          toolUse('read', { path: 'missing' }),
          toolUse('bash', { command: 'exit 3' }),
          toolUse('bash', { command: 'touch after' }),
        ]),
        reply('Done.'),
      ],
    });
    const session = await h.open('Go.');
    await session.ended(1);
    const results = h.bodies()[1]?.messages.at(-1)?.content;
    expect(results).toMatchObject([
      { is_error: true },
      { is_error: true, content: expect.stringContaining('3') },
      { is_error: true, content: expect.stringMatching(/Not run.*before it started/) },
    ]);
    expect(existsSync(join(h.cwd, 'after'))).toBe(false);
  });

  test('a tool that says so ends the run (L34)', async () => {
    const broken = defineTool({
      name: 'vault',
      description: 'Needs credentials.',
      inputSchema: z.strictObject({}),
      risk: 'external',
      recovery: 'report',
      call: () => Promise.reject(new FatalToolFailure('the vault has no credentials: set VAULT_TOKEN')),
    });
    const h = await harness({ script: [reply([toolUse('vault', {})])], worker: { tools: [broken] } });
    const session = await h.open('Open.');
    expect(await session.ended(1)).toMatchObject({
      terminal: { reason: 'fatal_tool_error', detail: expect.stringContaining('VAULT_TOKEN') },
    });
  });

  test('a denial with interrupt ends the run with permission_denied (L34)', async () => {
    const forbidden = defineTool({
      name: 'launch',
      description: 'Never.',
      inputSchema: z.strictObject({}),
      risk: 'external',
      recovery: 'report',
      canUse: () => ({ kind: 'deny', why: 'launching is forbidden', interrupt: true }),
      call: () => Promise.resolve({ content: 'launched' }),
    });
    const h = await harness({ script: [reply([toolUse('launch', {})])], worker: { tools: [forbidden] } });
    const session = await h.open('Launch.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'permission_denied' } });
  });

  test('in mode dontAsk what would ask is denied, says why, and the loop goes on (L55)', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'touch x' })]), reply('I cannot.')] });
    const session = await h.open('Go.', { permissionMode: 'dontAsk' });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(JSON.stringify(h.bodies()[1])).toContain('dontAsk');
    expect(existsSync(join(h.cwd, 'x'))).toBe(false);
  });

  test('the query id and depth of the run reach its tools (L13)', async () => {
    const seen: unknown[] = [];
    const spy = defineTool({
      name: 'spy',
      description: 'Looks at its context.',
      inputSchema: z.strictObject({}),
      risk: 'read',
      recovery: 'rerun',
      call(_input, { queryId, depth }) {
        seen.push({ queryId, depth });
        return Promise.resolve({ content: 'seen' });
      },
    });
    const h = await harness({
      script: [reply([toolUse('spy', {}), toolUse('spy', {})]), reply('Done.')],
      worker: { tools: [spy] },
    });
    const session = await h.open('Look.');
    await session.ended(1);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]).toMatchObject({ queryId: expect.stringMatching(/\.1$/), depth: 0 });
  });

  test('a huge result is stored whole, shown as the same preview ever after, and can be read (L6)', async () => {
    const h = await harness({
      script: (request, n) => {
        const last = JSON.stringify(request.messages.at(-1));
        const name = /perdure:result\/[0-9a-f]{64}/.exec(last)?.[0];
        if (n === 1) return reply([toolUse('bash', { command: 'seq 1 40000' })]);
        if (n === 2) return reply([toolUse('read', { path: name, offset: 20_000, limit: 3 })]);
        return reply('Done.');
      },
    });
    const session = await h.open('Count.');
    await session.ended(1);
    const [, second, third] = h.bodies();
    const shown = JSON.stringify(second?.messages[2]);
    expect(shown.length).toBeLessThan(60_000);
    expect(JSON.stringify(third?.messages[4])).toContain('20001');
    const strip = (message: unknown): string => JSON.stringify(message).replace(/,"cache_control":\{[^}]*\}/g, '');
    expect(strip(third?.messages[2])).toBe(strip(second?.messages[2]));
  });

  test('of duplicate ids only the first runs and is sent (L39)', async () => {
    const twice = [
      toolUse('bash', { command: 'echo 1 >> ran' }, 'toolu_same'),
      toolUse('bash', { command: 'echo 2 >> ran' }, 'toolu_same'),
    ];
    const h = await harness({ script: [reply(twice), reply('Done.')] });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(readFileSync(join(h.cwd, 'ran'), 'utf8')).toBe('1\n');
    expect(h.model.problems).toEqual([]);
  });
});

describe('a working directory', () => {
  test('that is not there ends the run with a sentence, and the session stays open', async () => {
    const h = await harness({ script: [reply('Here.')] });
    const session = await h.open('Go.', { cwd: join(h.cwd, 'nowhere') });
    expect(await session.ended(1)).toMatchObject({
      terminal: { reason: 'model_error', detail: expect.stringContaining('nowhere') },
    });
    writeFileSync(join(h.cwd, 'a'), '');
    await session.send('Again.', { options: { cwd: h.cwd } });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  });
});
