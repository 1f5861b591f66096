// What a server asks in the middle of a call, and who is asked (L77).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnswerServer } from '../../../tools/mcp/servers.ts';
import type { ToolContext } from '../../../tools/tool.ts';
import { effectsIn, oddServer, openTestServers } from '../../support/mcp/servers.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

test('what a server asks while calls of two sessions are under way is put to the people of neither (L77)', async () => {
  const { registry, call } = await openTestServers({ odd: oddServer({}, { asksPeople: true }) });
  await registry.refresh?.();
  const asked: string[] = [];
  const of = (session: string): Partial<ToolContext> => ({
    session,
    askPeople: () => {
      asked.push(session);
      return Promise.resolve({ kind: 'answered', text: 'red' });
    },
  });
  const stop = new AbortController();
  const hanging = expect(call('mcp__odd__hang', {}, { ...of('one'), signal: stop.signal })).rejects.toBe('interrupt');
  for (const other of [of('two'), { session: 'two' }])
    expect((await call('mcp__odd__choose', {}, other)).content).toContain('cannot be told which call asks');
  expect((await call('mcp__odd__choose', {}, { session: 'one' })).content).toBe('{"action":"cancel"}');
  expect((await call('mcp__odd__choose', {}, of('one'))).content).toContain('"red"');
  expect(asked).toEqual(['one']);
  stop.abort('interrupt');
  await hanging;
});

test('what a server asks late for a call that was given up is put to nobody, and the next call is on a new connection (L77)', async () => {
  const effects = join(tempDir(), 'effects');
  const { registry, call } = await openTestServers({ odd: oddServer({ effects }, { asksPeople: true }) });
  await registry.refresh?.();
  const asked: string[] = [];
  const of = (name: string): Partial<ToolContext> => ({
    session: 'one',
    askPeople: () => {
      asked.push(name);
      return Promise.resolve({ kind: 'answered', text: 'red' });
    },
  });
  const [stop, end] = [new AbortController(), new AbortController()];
  const begun = (tool: string) => until(() => effectsIn(effects).some(({ call: name }) => name === tool));
  const over = call('mcp__odd__ask_late', {}, { ...of('over'), signal: stop.signal });
  await begun('ask_late');
  const underWay = call('mcp__odd__hang', {}, { ...of('under way'), signal: end.signal });
  await begun('hang');
  stop.abort('interrupt');
  await expect(over).rejects.toBe('interrupt');
  const { answered } = await until(() => effectsIn(effects).find((effect) => effect.answered) ?? null);
  expect(answered?.message).toContain('cannot be told which call asks');
  expect((await call('mcp__odd__choose', {}, of('next'))).content).toContain('red');
  expect(asked).toEqual(['next']);
  expect(effectsIn(effects).filter(({ started }) => started)).toHaveLength(2);
  end.abort('interrupt');
  await expect(underWay).rejects.toBe('interrupt');
});

test('a call that is given up takes no connection from one that is about to use it (L75 L77)', async () => {
  const effects = join(tempDir(), 'effects');
  const { registry, call } = await openTestServers({ odd: oddServer({ effects }, { asksPeople: true }) });
  await registry.refresh?.();
  const stop = new AbortController();
  const over = call('mcp__odd__hang', {}, { session: 'one', signal: stop.signal });
  await until(() => effectsIn(effects).some(({ call: name }) => name === 'hang'));
  let begin: (() => void) | null = null;
  const fence = (): Promise<void> => new Promise((resolve) => (begin = resolve));
  const next = call('mcp__odd__echo', { text: 'hi' }, { session: 'two', fence });
  const go = await until(() => begin);
  stop.abort('interrupt');
  await expect(over).rejects.toBe('interrupt');
  go();
  expect((await next).content).toContain('hi');
});

test('a page that a server has people open is put to them with its address, and yes or no is the answer (L77)', async () => {
  const { registry, call } = await openTestServers({ odd: oddServer({}, { asksPeople: true }) });
  await registry.refresh?.();
  const asked: unknown[] = [];
  const of = (text: string): Partial<ToolContext> => ({
    askPeople: (question) => {
      asked.push(question);
      return Promise.resolve({ kind: 'answered', text });
    },
  });
  expect((await call('mcp__odd__visit', {}, of('yes'))).content).toBe('{"action":"accept"}');
  expect((await call('mcp__odd__visit', {}, of('no'))).content).toBe('{"action":"decline"}');
  const page = 'You are to open this page of shop.example yourself:\nhttps://shop.example/in?x=1\nIt says: Sign in.';
  expect(asked[0]).toEqual({
    why: 'the MCP server odd asks a question',
    question: `The MCP server odd asks: ${page}`,
    options: ['yes', 'no'],
  });
});

test('a function of the configuration answers what a server asks, instead of people or before them (L77)', async () => {
  const told: unknown[] = [];
  const answers: AnswerServer = (asked) => {
    told.push(asked);
    return Promise.resolve(asked.mode === 'form' ? { action: 'accept', content: { colour: 'green' } } : null);
  };
  const { registry, call } = await openTestServers({ odd: oddServer({}, { answers }) });
  await registry.refresh?.();
  expect((await call('mcp__odd__choose')).content).toBe('{"action":"accept","content":{"colour":"green"}}');
  const askPeople = (): Promise<never> => Promise.reject(new Error('nobody is asked'));
  expect((await call('mcp__odd__visit', {}, { askPeople })).content).toBe('{"action":"cancel"}');
  const colour = { type: 'string', enum: ['red', 'green'], description: 'Of the door' };
  expect(told).toEqual([
    {
      serverName: 'odd',
      mode: 'form',
      message: 'Which colour?',
      requestedSchema: { type: 'object', properties: { colour }, required: ['colour'] },
    },
    { serverName: 'odd', mode: 'url', message: 'Sign in.', url: 'https://shop.example/in?x=1', elicitationId: 'e-1' },
  ]);
});
