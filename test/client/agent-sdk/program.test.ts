// Checks which queries are recognised under a name, which never are, and what identifies a query.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type QueryRequest, identityOf, programQuery } from '../../../client/agent-sdk/program/program.ts';
import { createSdkMcpServer, tool } from '../../../client/agent-sdk/tools.ts';
import { formatIdentity, processIdentity } from '../../../system/process/identity.ts';
import { tempDir } from '../../support/temp-dir.ts';

const asked = (identity: string, more: Partial<QueryRequest> = {}): QueryRequest => ({
  identity,
  program: undefined,
  session: undefined,
  ...more,
});

/** Asks as another process of the same name would: it shares the files, and no memory. */
function started(root: string, name: string) {
  const other = join(tempDir(), 'data');
  mkdirSync(join(other, 'programs'), { recursive: true });
  for (const file of readdirSync(join(root, 'programs')))
    writeFileSync(join(other, 'programs', file), readFileSync(join(root, 'programs', file)));
  return (identity: string) => programQuery(other, asked(identity, { program: name }), () => undefined);
}

const ask = (root: string, given: QueryRequest, say: (line: string) => void = () => undefined) =>
  programQuery(root, given, say);

test('a program with a name knows what it had received and continued, but for a line that a crash cut off (Q9)', () => {
  const root = tempDir();
  const first = (identity: string) => ask(root, asked(identity, { program: 'daily report' }));
  const [one, two] = [first('a'), first('a')];
  expect([one.isKnown, one.received, one.continuedSession]).toEqual([false, 0, undefined]);
  one.noteReceived(3);
  one.noteReceived(7);
  one.noteContinued('s-found');
  one.noteReceivedOf('s-1.agent-a-0', 4);
  const [log = ''] = readdirSync(join(root, 'programs'));
  appendFileSync(join(root, 'programs', log), `${readFileSync(join(root, 'programs', log), 'utf8').split(' ')[0]} 9`);
  const again = started(root, 'daily report');
  const [oneAgain, twoAgain, new3] = [again('a'), again('a'), again('a')];
  expect([oneAgain.isKnown, oneAgain.received, oneAgain.continuedSession]).toEqual([true, 7, 's-found']);
  expect(['s-1.agent-a-0', 's-1.agent-b-0'].map((agent) => oneAgain.receivedOf(agent))).toEqual([4, 0]);
  expect([twoAgain.isKnown, twoAgain.received]).toEqual([true, 0]);
  expect(new3.isKnown).toBe(false);
  expect([oneAgain.session, twoAgain.session]).toEqual([one.session, two.session]);
  expect(one.session).toMatch(/^daily-report-[0-9a-f]{16}$/);
});

test('under a name, ids of sessions and messages follow from who asks what, in which place (Q9)', () => {
  const root = tempDir();
  const [a, b] = ['a', 'b'].map((identity) => ask(root, asked(identity, { program: 'p' })));
  const ids = [a?.messageId('x'), a?.messageId('x'), a?.messageId('y'), b?.messageId('x')];
  expect(new Set([a?.session, b?.session, ...ids]).size).toBe(6);
  const again = started(root, 'p')('a');
  expect([again.messageId('x'), again.messageId('x'), again.messageId('y')]).toEqual(ids.slice(0, 3));
  expect(ask(root, asked('a', { program: 'q' })).session).not.toBe(a?.session);
});

test('without a name the same words are another session and another message, and leave nothing once they are over (Q9)', () => {
  const root = tempDir();
  const [one, two] = [ask(root, asked('a')), ask(root, asked('a'))];
  expect(one.session).not.toBe(two.session);
  expect([one.isKnown, two.isKnown]).toEqual([false, false]);
  expect(one.messageId('x')).not.toBe(two.messageId('x'));
  expect(ask(root, asked('a', { resume: 's-1' })).session).toBe('s-1');
  expect(readdirSync(join(root, 'programs'))).toEqual([expect.stringMatching(/\.open$/)]);
  const more = tempDir();
  const over = ask(more, asked('a'));
  over.noteContinued('s-found');
  over.end();
  expect(readdirSync(join(more, 'programs'))).toEqual([]);
});

test('the same query under a sessionId is the same, however often it is asked; other words are its next message (Q9)', () => {
  const root = tempDir();
  const opening = (identity: string) => ask(root, asked(identity, { session: 'order-7' }));
  const first = opening('a');
  first.noteReceived(4);
  const [again, next, same] = [opening('a'), opening('b'), opening('b')];
  expect([first.isKnown, again.isKnown, again.received]).toEqual([false, true, 4]);
  expect(again.messageId('x')).toBe(ask(tempDir(), asked('a', { session: 'order-7' })).messageId('x'));
  expect([next.isKnown, same.isKnown]).toEqual([false, false]);
  expect(next.messageId('x')).not.toBe(same.messageId('x'));
  expect(new Set([first, again, next, same].map(({ session }) => session))).toEqual(new Set(['order-7']));
});

test('a program without a name is told, once, which sessions a process of it that is gone left in the middle (Q9)', () => {
  const [root, other] = [tempDir(), tempDir()];
  const own = ask(root, asked('a'));
  const [file = ''] = readdirSync(join(root, 'programs'));
  expect(readFileSync(join(root, 'programs', file), 'utf8').split('\n')[1]).toBe(own.session);
  const script = file.split('-')[0] ?? '';
  mkdirSync(join(other, 'programs'));
  const put = (name: string, owner: object, session: string): void =>
    writeFileSync(join(other, 'programs', name), `${formatIdentity(owner as never)}\n${session}\n`);
  const dead = { ...processIdentity(), startTime: '1' };
  put(`${script}-alive.open`, processIdentity(), 's-alive');
  put(`${script}-dead.open`, dead, 's-dead');
  put(`other-dead.open`, dead, 's-other');
  const said: string[] = [];
  for (const _ of [1, 2]) ask(other, asked('a'), (line) => said.push(line));
  expect(said).toEqual([
    'session s-dead, which an earlier process of this program began, was cut off: options.resume goes on with it',
  ]);
  expect(readdirSync(join(other, 'programs'))).toEqual(
    expect.arrayContaining([`${script}-alive.open`, 'other-dead.open']),
  );
});

const shop = (description: string, field: z.ZodType = z.string()) =>
  createSdkMcpServer({ name: 'shop', tools: [tool('t', description, { a: field }, async () => ({ content: [] }))] });
const base = {
  model: 'm',
  maxTurns: 3,
  hooks: { Stop: [{ hooks: [async () => ({})] }] },
  abortController: new AbortController(),
};

test.each([
  ['another prompt', 'other', base],
  ['another system prompt', 'p', { ...base, systemPrompt: 'You serve Bob.' }],
  ['a variable more', 'p', { ...base, env: { ...process.env, ACCOUNT: '2' } }],
  ['a hook more', 'p', { ...base, hooks: { ...base.hooks, PreToolUse: [{ hooks: [] }] } }],
  ['a callback', 'p', { ...base, canUseTool: async () => ({ behavior: 'allow' as const }) }],
  ['a tool', 'p', { ...base, mcpServers: { shop: shop('T.') } }],
  ['an option that is not known here', 'p', { ...base, novelty: 1 }],
])('a query with %s is another query (Q9)', (_, prompt, options) => {
  expect(identityOf(prompt, options, '/w')).not.toBe(identityOf('p', base, '/w'));
});

test('a query is the same in whatever order its options come, with a tool that was mended, and not in another folder (Q9)', () => {
  const one = identityOf(
    'p',
    { ...base, mcpServers: { shop: shop('T.') }, env: { ...process.env, PERDURE_SESSION: 'x' } },
    '/w',
  );
  const { model, ...rest } = { ...base, env: { ...process.env, UNSET: undefined }, mcpServers: { shop: shop('T.') } };
  expect(identityOf('p', { ...rest, model, systemPrompt: undefined } as never, '/w')).toBe(one);
  expect(identityOf('p', { ...rest, model, mcpServers: { shop: shop('T.', z.number()) } }, '/w')).not.toBe(one);
  expect(identityOf('p', { ...rest, model }, '/v')).not.toBe(one);
  const round: Record<string, unknown> = { at: new Date(0), big: 1n };
  round['round'] = round;
  expect(identityOf('p', { round } as never, '/w')).toContain('1970-01-01');
});
