// Approvals as values (L55): a call that would ask runs nothing until a decision for exactly it is
// there.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { findClaim, hashInput as hashOf } from '../../activities/calls/journal.ts';
import type { PermissionDecision, Tool } from '../../tools/tool.ts';
import type { CallRun, CallEnvironment } from '../../activities/calls/call-context.ts';
import { noHooksBut } from '../support/no-hooks.ts';
import {
  executeCall,
  executeEarly,
  bench,
  callRun,
  done,
  losingFirstOutcome,
  request,
  simpleTool,
  tempFolder,
  type Executed,
} from './support.ts';

const session = 'session-1' as SessionId;

/** A tool that notes what it ran with, and runs of one call of it. */
function asking(more: Partial<Tool> = {}, bench_: Partial<CallEnvironment> = {}) {
  const ran: unknown[] = [];
  const tool = simpleTool({ call: async (input) => (ran.push(input), { content: 'done' }), ...more });
  const shared = bench([tool], { mode: 'default', ...bench_ });
  const run = (decision?: Decision, run_: Partial<CallRun> = {}): Promise<Executed> =>
    executeCall(shared, request('simple', { text: 'x' }), callRun({ ...run_, ...(decision ? { decision } : {}) }));
  const store = (input: string): Promise<Hash> => shared.store.put(Buffer.from(input));
  return { ran, run, shared, store };
}

const inputOfX = hashOf({ text: 'x' });
const BAD = `That will not do.\n${'It is bad. '.repeat(100)}`;

function askOf(executed: Executed): Ask {
  if (executed.kind !== 'ask') throw new Error(JSON.stringify(executed));
  return executed.ask;
}

test('a call that would ask runs nothing, claims nothing and records nothing (L55)', async () => {
  const { ran, run, shared } = asking();
  const create = (): never => {
    throw new Error('nothing is created');
  };
  const watched = { ...shared, store: { ...shared.store, create } };
  const asked = await executeCall(watched, request('simple', { text: 'x' }), callRun());
  expect(asked).toEqual({
    kind: 'ask',
    ask: {
      tool: 'simple',
      reason: 'simple would run a command that may change things. Default mode asks first.',
      inputHash: inputOfX,
    },
  });
  expect(await run()).toEqual(asked);
  expect(ran).toEqual([]);
});

test('a reason stays within 500 characters (L55)', async () => {
  const { run } = asking({ canUse: () => ({ kind: 'ask', rule: 'y'.repeat(9_000) }) });
  expect(askOf(await run()).reason).toHaveLength(500);
});

test('an allowed call runs, and its log says what was allowed (L55)', async () => {
  const { ran, run } = asking();
  const { outcome } = done(await run({ kind: 'allow', inputHash: inputOfX }));
  expect(outcome).toMatchObject({ content: 'done', log: { decision: 'allowed', approved: { inputHash: inputOfX } } });
  expect(ran).toEqual([{ text: 'x' }]);
});

test.each([hashOf({ text: 'y' }), '', `${inputOfX}.2`, '../../x'])(
  'a decision for another input runs nothing: %s (L55)',
  async (hash) => {
    const { ran, run } = asking();
    expect(await run({ kind: 'allow', inputHash: hash })).toMatchObject({
      outcome: { content: 'Not run: the decision was for another input.', isError: true, log: { decision: 'not_run' } },
    });
    expect(ran).toEqual([]);
  },
);

test('an edited input runs instead; both hashes are recorded and the model is told (L55)', async () => {
  const { ran, run, store } = asking();
  const edited = await store('{"text": "edited"}');
  const { outcome } = done(await run({ kind: 'allow', inputHash: inputOfX, edited }));
  expect(ran).toEqual([{ text: 'edited' }]);
  expect(outcome.content).toBe(
    '(a person edited the input of this call before allowing it; it ran with {"text":"edited"})\ndone',
  );
  expect(outcome.log.approved).toEqual({ inputHash: inputOfX, editedHash: edited });
});

test.each([
  ['by the schema', '{"text": 3}', 'The input of simple is not valid'],
  ['by the check of the tool', '{"text": "bad"}', 'That will not do.'],
  ['by a deny rule', '{"text": "never"}', 'simple was denied: the rule'],
  ['because it is no JSON', '{', 'is no JSON'],
])(
  'an edited input is validated again, and refused %s: the question is put again (L55 O12)',
  async (_, json, sentence) => {
    const { ran, run, store } = asking(
      {
        validate: async (input) => ((input as { text?: string }).text === 'bad' ? BAD : undefined),
        subject: (input) => ({ kind: 'path', path: (input as { text?: string }).text ?? '' }),
      },
      { permissions: { deny: ['simple(never)'], ask: ['simple'] } },
    );
    const edited = await store(json);
    const { inputHash, reason, tool } = askOf(await run({ kind: 'allow', inputHash: inputOfX, edited }));
    expect({ inputHash, tool }).toEqual({ inputHash: inputOfX, tool: 'simple' });
    expect(reason).toMatch(/^nothing has run; the edited input will not do: \S.*$/);
    expect(reason).toContain(sentence);
    expect(reason.length).toBeLessThanOrEqual(500);
    expect(ran).toEqual([]);
    // The next decision is as good as the first would have been.
    const right = await store('{"text": "right"}');
    const { outcome } = done(await run({ kind: 'allow', inputHash: inputOfX, edited: right, by: 'ana' }));
    expect(outcome.log.approved).toEqual({ inputHash: inputOfX, editedHash: right, by: 'ana' });
    expect(ran).toEqual([{ text: 'right' }]);
  },
);

test('what is wrong with an edited input is said on one line (L55)', async () => {
  const { run, store } = asking();
  const edited = await store('{"text": 3, "other": 1}');
  const { reason } = askOf(await run({ kind: 'allow', inputHash: inputOfX, edited }));
  expect(reason).toMatch(/ is not valid: text: [^;]+; input: [^;]+$/);
  expect(reason).not.toMatch(/ - |\n/);
});

test('an edited input that a rule marks fatal ends the run, as the model’s own would (L34 L55)', async () => {
  const evil: PermissionDecision = { kind: 'deny', why: 'a security rule', fatal: true };
  const canUse = (input: unknown) =>
    (input as { text?: string }).text === 'evil' ? evil : { kind: 'ask' as const, rule: 'r' };
  const { ran, run, store } = asking({ canUse });
  const edited = await store('{"text": "evil"}');
  const { facts } = done(await run({ kind: 'allow', inputHash: inputOfX, edited }));
  expect(facts.fatal).toMatchObject({ reason: 'fatal_tool_error' });
  expect(ran).toEqual([]);
});

test.each(['0'.repeat(64), '../x', ''])('an edited input that is not stored runs nothing: %j (L55)', async (edited) => {
  const { ran, run } = asking();
  const { reason } = askOf(await run({ kind: 'allow', inputHash: inputOfX, edited: edited as Hash }));
  expect(reason).toContain('it is not in the store');
  expect(ran).toEqual([]);
});

test('after a wrong edit of an input that a hook had put in place, the decision is still about the hook’s (L55)', async () => {
  const preTool = async () => ({ decision: null, input: { text: 'hooked' }, stop: null, failed: [] });
  const hooks = noHooksBut({ has: (name) => name === 'preTool', preTool });
  const { ran, run, store } = asking({}, { hooks });
  const { inputHash } = askOf(await run());
  expect(inputHash).toBe(hashOf({ text: 'hooked' }));
  const again = askOf(await run({ kind: 'allow', inputHash, edited: await store('[]') }));
  expect(again.inputHash).toBe(inputHash);
  expect(done(await run({ kind: 'allow', inputHash })).outcome.log.approved).toEqual({ inputHash });
  expect(ran).toEqual([{ text: 'hooked' }]);
});

test('a working directory that is gone is no fault of an edited input: the model is told, nobody is asked again (L38 L55)', async () => {
  const cwd = tempFolder();
  const { ran, run, store } = asking({}, { cwd, dir: join(cwd, 'gone') });
  const moved = await run({ kind: 'allow', inputHash: inputOfX, edited: await store('{"text": "edited"}') });
  expect(done(moved)).toMatchObject({ outcome: { log: { outcome: 'not_run' } }, facts: { modify: { cwd } } });
  expect(ran).toEqual([]);
});

test('a denial says who and why, and ends the run when it interrupts (L55 L34 O12)', async () => {
  const { ran, run } = asking();
  const content = 'Not run: simple was denied by a person: too risky';
  expect(done(await run({ kind: 'deny', reason: 'too risky', by: 'ana' }))).toMatchObject({
    outcome: { content, isError: true, log: { decision: 'denied', outcome: 'not_run', deniedBy: 'ana' } },
    facts: { error: true },
  });
  const other = asking();
  expect(done(await other.run({ kind: 'deny', reason: 'x'.repeat(9_000), interrupt: true })).facts.fatal).toEqual({
    reason: 'permission_denied',
    detail: expect.stringMatching(/^.{1999}…$/) as string,
  });
  expect(ran).toEqual([]);
});

test('the same decision used twice runs the call once (L55)', async () => {
  const { ran, run, shared } = asking();
  const allow = { kind: 'allow', inputHash: inputOfX } as const;
  expect(await run(allow)).toEqual(await run(allow));
  expect(ran).toHaveLength(1);
  expect((await findClaim(shared.store, { session, key: callRun().key }))?.generation).toBe(1);
});

test('an edited call that died is reported with what was decided (L40 L55)', async () => {
  const { run, shared, store } = asking({
    call: async () => {
      throw Object.assign(new Error('the worker died'), { name: 'Died' });
    },
  });
  const edited = await store('{"text":"edited"}');
  const allow = { kind: 'allow', inputHash: inputOfX, edited } as const;
  const dying = losingFirstOutcome(shared.store);
  const call = request('simple', { text: 'x' });
  await expect(executeCall({ ...shared, store: dying }, call, callRun({ decision: allow }))).rejects.toThrow(
    'the worker is gone',
  );
  expect(done(await run(allow, { mayHaveBegun: true })).outcome).toMatchObject({
    content: expect.stringContaining('outcome unknown') as string,
    log: { outcome: 'unknown', approved: { inputHash: inputOfX, editedHash: edited } },
  });
});

test('an early call that would ask is given up, and nothing of it counts (L37)', async () => {
  const { ran, shared } = asking({ risk: 'read', canUse: () => ({ kind: 'ask' }) });
  expect(await executeEarly(shared, request('simple'), { ...callRun(), id: 'early' })).toMatchObject({ kind: 'void' });
  expect(ran).toEqual([]);
});
