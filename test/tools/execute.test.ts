import { expect, test } from 'vitest';
import { z } from 'zod';
import { FatalToolFailure, ToolFailure, type Tool } from '../../tools/tool.ts';
import { executeCall, executeEarly, bench, callRun, done, request, simpleTool } from './support.ts';

const fails = (error: unknown): Partial<Tool> => ({
  call: async () => {
    throw error;
  },
});

async function outcomeOf(tool: Tool, input: unknown = {}, more: Parameters<typeof bench>[1] = {}): Promise<unknown> {
  const { outcome, facts } = done(await executeCall(bench([tool], more), request(tool.name, input), callRun()));
  const { content, isError, log } = outcome;
  return { content, isError, decision: log.decision, outcome: log.outcome, facts };
}

test('a call that runs has an outcome with its log (L33)', async () => {
  const ran = await executeCall(bench([simpleTool({})]), request('simple', { text: 'hello' }), callRun());
  expect(ran).toEqual({
    kind: 'done',
    outcome: {
      index: 2,
      toolUseId: 'toolu_1',
      isError: false,
      content: 'hello',
      log: {
        key: 'chain.head.2',
        name: 'simple',
        decision: 'allowed',
        duration: expect.any(Number) as number,
        outcome: 'ok',
      },
    },
    facts: { result: expect.any(String) as string },
  });
});

test('every step can refuse, in order: schema, own check, permission (L33)', async () => {
  const ran: string[] = [];
  const tool = simpleTool({
    validate: async (input) => (
      ran.push('check'),
      (input as { text?: string }).text === 'bad' ? 'That will not do.' : undefined
    ),
    canUse: () => ({ kind: 'deny', why: 'not today' }),
    call: async () => (ran.push('call'), { content: '' }),
  });
  expect(await outcomeOf(tool, { text: 3 })).toMatchObject({
    isError: true,
    decision: 'not_run',
    facts: { error: true },
  });
  expect(ran).toEqual([]);
  expect(await outcomeOf(tool, { text: 'bad' })).toMatchObject({ content: 'That will not do.', decision: 'not_run' });
  expect(await outcomeOf(tool)).toMatchObject({
    content: 'Not run: simple was denied: not today',
    decision: 'denied',
    outcome: 'not_run',
    facts: { error: true },
  });
  expect(ran).toEqual(['check', 'check']);
});

test.each([
  [new ToolFailure('no such file'), 'no such file', {}],
  [new TypeError('x is undefined'), 'simple failed: TypeError: x is undefined (a defect of the tool).', {}],
  ['a string', 'simple failed: a string (a defect of the tool).', {}],
  [new FatalToolFailure('no key'), 'no key', { fatal: { reason: 'fatal_tool_error', detail: 'no key' } }],
])('what a tool throws is an outcome the model can read: %s (L33 L34)', async (thrown, content, facts) => {
  const expected = { content, isError: true, decision: 'allowed', outcome: 'error', facts: { error: true, ...facts } };
  expect(await outcomeOf(simpleTool(fails(thrown)))).toMatchObject(expected);
});

test('a denial can end the run (L34)', async () => {
  const denying = (more: object): Tool => simpleTool({ canUse: () => ({ kind: 'deny', why: 'rule 7', ...more }) });
  const detail = 'Not run: simple was denied: rule 7';
  expect(await outcomeOf(denying({ fatal: true }))).toMatchObject({
    facts: { fatal: { reason: 'fatal_tool_error', detail } },
  });
  expect(await outcomeOf(denying({ interrupt: true, fatal: true }))).toMatchObject({
    facts: { fatal: { reason: 'permission_denied', detail } },
  });
});

test('a failing shell call says that it cancels its siblings (L36)', async () => {
  const tool = simpleTool({ call: async () => ({ content: 'x', isError: true, cancelsSiblings: true }) });
  expect(await outcomeOf(tool)).toMatchObject({ facts: { error: true, cancelsSiblings: true } });
});

test.each(['', ' \n\t', '\u2028'])('an empty output is said to be one: %j', async (content) => {
  expect(await outcomeOf(simpleTool({ call: async () => ({ content }) }))).toMatchObject({ content: '(no output)' });
});

test('lone surrogates of an output become well-formed text', async () => {
  const tool = simpleTool({ call: async () => ({ content: 'a\ud800b' }) });
  expect(await outcomeOf(tool)).toMatchObject({ content: 'a\ufffdb' });
});

test('a tool that returns no text has failed', async () => {
  const tool = simpleTool({ call: async () => undefined as never });
  expect(await outcomeOf(tool)).toMatchObject({ isError: true, outcome: 'error' });
});

test('a result over 50,000 characters is stored whole and can be read back by the name in its preview (L6)', async () => {
  const text = 'ä😀\n'.repeat(20_000);
  const reader = simpleTool({
    name: 'reader',
    call: async (input, context) => {
      const bytes = await context.readStored((input as { text: string }).text);
      return { content: bytes === null ? 'null' : String(Buffer.from(bytes).toString() === text) };
    },
  });
  const shared = bench([simpleTool({ call: async () => ({ content: text }) }), reader]);
  const { content, whole } = done(await executeCall(shared, request('simple'), callRun())).outcome;
  expect(content.length).toBeLessThan(11_000);
  expect(whole?.bytes).toBe(Buffer.byteLength(text));
  const name = /perdure:result\/[0-9a-f]{64}/.exec(content)?.[0];
  expect(name).toBe(`perdure:result/${whole?.hash}`);
  const key = 'another' as never;
  expect(await executeCall(shared, request('reader', { text: name }), callRun({ key }))).toMatchObject({
    outcome: { content: 'true' },
  });
  const absent = `perdure:result/${'0'.repeat(64)}`;
  expect(
    await executeCall(shared, request('reader', { text: absent }), callRun({ key: 'third' as never })),
  ).toMatchObject({
    outcome: { content: 'null' },
  });
});

test('a result of exactly 50,000 characters is sent whole (L6)', async () => {
  const tool = simpleTool({ call: async () => ({ content: 'x'.repeat(50_000) }) });
  const ran = await executeCall(bench([tool]), request('simple'), callRun());
  expect(ran).toMatchObject({ outcome: { content: 'x'.repeat(50_000) }, facts: { tokens: 12_500 } });
  expect(ran).not.toHaveProperty('outcome.whole');
});

test('an early call runs without a claim and records nothing (L37)', async () => {
  const tool = simpleTool({ risk: 'read', inputSchema: z.looseObject({}) });
  const shared = bench([tool]);
  const creating = {
    ...shared,
    store: { ...shared.store, create: () => Promise.reject(new Error('nothing is created')) },
  };
  const early = await executeEarly(creating, request('simple'), { ...callRun(), id: 'early-1' });
  expect(early).toMatchObject({ kind: 'done', outcome: { content: 'done', log: { key: null, outcome: 'ok' } } });
});

test('the tool gets the call key as its idempotency key, the same on every attempt (L40)', async () => {
  const keys: string[] = [];
  const tool = simpleTool({
    recovery: 'rerun',
    call: async (_, context) => (keys.push(context.idempotencyKey), fails(0).call?.({}, context) as never),
  });
  for (const mayHaveBegun of [false, true])
    await executeCall(bench([tool]), request('simple'), callRun({ mayHaveBegun }));
  expect(keys).toEqual(['chain.head.2', 'chain.head.2']);
});
