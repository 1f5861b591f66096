// Searches of the web that the API makes by itself (L88): offered where the configuration says so,
// paused and going on, kept, and sent back to models that know them and to others.
import { expect, test } from 'vitest';
import { callModel } from '../../activities/call-model.ts';
import { openRun } from '../../activities/run/open-run.ts';
import {
  fault,
  gate,
  reply,
  text,
  thinking,
  toolUse,
  type ParsedRequest,
  type ReplyBlock,
} from '../../scripted-model/index.ts';
import { renderEntries } from '../../store/view/render-entries.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import { benchDeps, fakeAttempt, prompt, type BenchOptions } from '../support/bench-deps.ts';
import { thrown } from '../support/thrown.ts';
import { until } from '../support/until.ts';

const webSearch = { maxUses: 3, blockedDomains: ['example.org'] };
const definition = {
  type: 'web_search_20250305',
  name: 'web_search',
  max_uses: 3,
  blocked_domains: ['example.org'],
};
const pages = [{ url: 'https://a.example/x', title: 'A "title"', text: 'Words of others.' }];
const found: ReplyBlock = { type: 'web_search', query: 'how tall', results: pages };
const left: ReplyBlock = { type: 'web_search', query: 'how tall', id: 'srvtoolu_1' };
const rest: ReplyBlock = { type: 'web_search_result', id: 'srvtoolu_1', results: pages };
const paused = { stop_reason: 'pause_turn' } as const;

const bench = ({ defaults, ...more }: BenchOptions) => benchDeps({ defaults: { webSearch, ...defaults }, ...more });
const toolsOf = (body: unknown): readonly unknown[] => (body as ParsedRequest).tools ?? [];
const namesOf = (body: unknown) => toolsOf(body).map((tool) => (tool as { readonly name: string }).name);
const sent = (body: unknown) => (body as ParsedRequest).messages;

test('the tool is sent after the others where the configuration offers it, and not otherwise (L88)', async () => {
  const with_ = await bench({ script: [reply('ok')] });
  await with_.call();
  expect(toolsOf(with_.bodies()[0])).toEqual([expect.objectContaining({ name: 'look' }), definition]);
  const without = await benchDeps({ script: [reply('ok')] });
  await without.call();
  expect(namesOf(without.bodies()[0])).toEqual(['look']);
});

test.each<[string, Partial<RunOptions>]>([
  ['denies it', { permissions: { deny: ['web_search'] } }],
  [
    'would ask about it, for nobody can be asked about one search',
    { permissionMode: 'default', permissions: { ask: ['web_search'] } },
  ],
  ['offers other tools alone', { tools: ['look'] }],
])('a run that %s is not offered it (L55 L57 L88)', async (_name, run) => {
  const one = await bench({ script: [reply('ok')], run });
  await one.call();
  expect([namesOf(one.bodies()[0]), one.warnings]).toEqual([['look'], []]);
});

test('a model of which nobody says that it has searches is not offered it, and the worker says so once (L88)', async () => {
  const one = await bench({ script: [reply('ok')], run: { model: 'qwen3-coder' } });
  await one.call();
  expect(namesOf(one.bodies()[0])).toEqual(['look']);
  expect(one.warnings).toEqual(['qwen3-coder is not offered searches of the web: nothing says that its API has them']);
});

test('a run that wants the tool where no configuration offers it is refused with the key that does (L88)', async () => {
  const { deps, cwd } = await benchDeps({ script: [] });
  const options = { cwd, tools: ['look', 'web_search'] };
  const opened = await openRun(deps)(fakeAttempt(), { chain: 'c', run: 2, step: 3, options });
  expect(opened).toMatchObject({
    detail: 'this worker has no tool "web_search": searches of the web are offered by "webSearch" of its configuration',
  });
});

test('what was found is kept whole and sent back as it came, and is billed by the search (L16 L51 L88)', async () => {
  const content = [thinking('Hm.'), found, text('It is tall.')];
  const one = await bench({ script: [reply(content), reply('ok')] });
  const result = await one.call();
  if (result.kind !== 'message') throw new Error(result.kind);
  expect(result.calls).toEqual([]);
  const entry = (await one.entries(result.head)).find(({ kind }) => kind === 'reply');
  if (entry?.kind !== 'reply') throw new Error('no reply');
  const types = entry.message.content.map(({ type }) => type);
  expect(types).toEqual(['thinking', 'server_tool_use', 'web_search_tool_result', 'text']);
  const { usage } = result.spend;
  const tokens = usage.input * 2 + usage.output * 10 + usage.cacheRead * 0.1 + usage.cacheWrite * 2.5;
  expect(result.spend.usd).toBeCloseTo(0.01 + tokens / 1_000_000, 8);
  await one.call(fakeAttempt(), { head: result.head, append: [prompt('And?')], step: 3 });
  expect(sent(one.bodies()[1])[1]).toEqual({ role: 'assistant', content: entry.message.content });
  expect(one.model.problems).toEqual([]);
});

test('watchers are told what is searched for when it is, and again when the reply is told anew (L60 L88)', async () => {
  const one = await bench({ script: [reply([found, text('Tall.')])] });
  await one.call();
  const told = one.lines.filter(({ type }) => type === 'web_search');
  expect(told).toEqual([{ type: 'web_search', iteration: 1, index: 0, query: 'how tall' }]);
});

test('a paused reply goes on with what it has, however often, and is one reply, billed as the requests were (L88)', async () => {
  const first = reply([thinking('First.'), text('Let me see. '), left], paused);
  const second = reply([rest, thinking('More.'), found], paused);
  const one = await bench({ script: [first, second, reply([thinking('Enough.'), text('It is tall.')]), reply('ok')] });
  const result = await one.call();
  if (result.kind !== 'message') throw new Error(result.kind);
  const entry = (await one.entries(result.head)).findLast(({ kind }) => kind === 'reply');
  if (entry?.kind !== 'reply') throw new Error('no reply');
  const { content, stop_reason, usage } = entry.message;
  expect([stop_reason, content.map(({ type }) => type)]).toEqual([
    'end_turn',
    [
      'thinking',
      'text',
      'server_tool_use',
      'web_search_tool_result',
      'thinking',
      'server_tool_use',
      'web_search_tool_result',
      'thinking',
      'text',
    ],
  ]);
  const bodies = one.bodies();
  expect(bodies.slice(0, 3).map((body) => sent(body).at(-1)?.role)).toEqual(['user', 'assistant', 'assistant']);
  expect(sent(bodies[1]).at(-1)?.content).toEqual(content.slice(0, 3));
  expect(sent(bodies[2]).at(-1)?.content).toEqual(content.slice(0, 7));
  expect(toolsOf(bodies[2])).toEqual(toolsOf(bodies[0]));
  expect(usage).toMatchObject({ server_tool_use: { web_search_requests: 2 } });
  expect(entry.spend).toEqual(result.spend);
  expect(result.spend.usd).toBeGreaterThan(0.02);
  // What the window holds is what the last request held.
  expect(result.contextTokens).toBeLessThan(
    result.spend.usage.input + result.spend.usage.cacheRead + result.spend.usage.cacheWrite + result.spend.usage.output,
  );
  await one.call(fakeAttempt(), { head: result.head, append: [prompt('And?')], step: 3 });
  expect(sent(one.bodies()[3])[1]).toEqual({ role: 'assistant', content });
  expect([one.model.problems, one.warnings]).toEqual([[], []]);
});

test('deltas of a reply that goes on are numbered on, and one request is told of (L60 L88)', async () => {
  const one = await bench({ script: [reply([text('One.'), left], paused), reply([rest, text('Two.')])] });
  await one.call();
  const told = one.lines.flatMap((line) =>
    line.type === 'text_delta' || line.type === 'web_search' ? [[line.type, line.index]] : [],
  );
  expect(told).toEqual([
    ['text_delta', 0],
    ['web_search', 1],
    ['text_delta', 3],
  ]);
  expect(one.lines.filter(({ type }) => type === 'request_start')).toHaveLength(1);
});

test('calls of a reply that goes on run as those of any other (L37 L88)', async () => {
  const script = [reply([left], paused), reply([rest, toolUse('look', {}, 'toolu_a')])];
  const one = await bench({ script });
  expect(await one.call()).toMatchObject({ kind: 'message', calls: [{ index: 2, name: 'look', outcome: {} }] });
});

test('after a crash a paused reply goes on from where it was, and no search is paid for twice (L14 L88)', async () => {
  const held = gate();
  const script = [
    reply([text('One.'), left], paused),
    { ...reply([rest, text('lost')]), hold: held.hold },
    reply([rest, text('Two.')]),
  ];
  const one = await bench({ script });
  const dying = fakeAttempt();
  const died = expect(one.call(dying)).rejects.toThrow('given up');
  await until(() => one.bodies().length === 2);
  dying.abort('lost');
  held.release();
  await died;
  const result = await one.call(fakeAttempt(2, dying.left));
  expect(sent(one.bodies()[2]).at(-1)).toMatchObject({ role: 'assistant' });
  if (result.kind !== 'message') throw new Error(result.kind);
  const entry = (await one.entries(result.head)).findLast(({ kind }) => kind === 'reply');
  expect(entry).toMatchObject({ message: { content: [{ text: 'One.' }, {}, {}, { text: 'Two.' }] } });
  expect(one.lines.filter(({ type }) => type === 'web_search')).toHaveLength(2);
  expect(one.model.problems).toEqual([]);
});

test('an attempt that is asked something else than the paused one begins anew (L59 L88)', async () => {
  const script = [reply([left], paused), fault({ hangUp: true }), reply('ok'), reply('ok')];
  const one = await bench({ script });
  const dying = fakeAttempt();
  await thrown(one.call(dying));
  expect(await one.call(fakeAttempt(2, dying.left), { append: [prompt('Other.')] })).toMatchObject({ kind: 'message' });
  expect(sent(one.bodies()[2]).at(-1)?.role).toBe('user');
});

test('a continuation that the API refuses begins anew, once (L88)', async () => {
  const refused = fault({ status: 400, message: 'messages.1: odd' });
  const one = await bench({ script: [reply([left], paused), refused, reply('Tall.')] });
  expect(await one.call()).toMatchObject({ kind: 'message' });
  expect(sent(one.bodies()[2]).at(-1)?.role).toBe('user');
  expect(one.warnings).toEqual([expect.stringContaining('begins anew, for its continuation was refused')]);
});

test('a stop keeps what a paused reply had, and sends back no search without its result (L16 L39 L88)', async () => {
  const held = gate();
  const script = [reply([text('One.'), left], paused), { ...reply([text('Two.')]), hold: held.hold }, reply('ok')];
  const one = await bench({ script });
  const stopped = fakeAttempt();
  const result = one.call(stopped);
  await until(() => one.bodies().length === 2);
  stopped.abort('stop');
  held.release();
  const kept = await result;
  expect(kept.kind).toBe('interrupted');
  if (!('head' in kept)) return;
  await one.call(fakeAttempt(), { head: kept.head, append: [prompt('Go on.')], step: 3 });
  expect(sent(one.bodies()[2])[1]).toEqual({ role: 'assistant', content: [expect.objectContaining({ text: 'One.' })] });
  expect(one.model.problems).toEqual([]);
});

test('a reply that is paused without end, or past the budget, is taken as it is (L51 L88)', async () => {
  const one = await bench({ script: [{ ...reply([found], paused), times: 'any' }] });
  expect(await one.call()).toMatchObject({ kind: 'message', calls: [] });
  expect(one.bodies()).toHaveLength(21);
  const poor = await bench({ script: [{ ...reply([found], paused), times: 'any' }] });
  expect(await poor.call(fakeAttempt(), { left: { usd: 0.005 } })).toMatchObject({ kind: 'message' });
  expect(poor.bodies()).toHaveLength(1);
});

test.each([
  "tools.1: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: 'custom'",
  "'claude-sonnet-5-5' does not support tool types: web_search_20250305",
  'Web search is not enabled for this organization',
  'tools.1.web_search_20250305.blocked_domains: Extra inputs are not permitted',
])('a server that says %j is asked without it, and not again (L88)', async (message) => {
  const one = await bench({ script: [fault({ status: 400, message }), reply('ok'), reply('ok')] });
  const call = one.caller();
  const result = await call(fakeAttempt(), {});
  if (!('head' in result)) throw new Error(result.kind);
  await call(fakeAttempt(), { head: result.head, append: [prompt('And?')], step: 3 });
  expect(one.bodies().map(namesOf)).toEqual([['look', 'web_search'], ['look'], ['look']]);
  expect(one.warnings).toEqual([expect.stringContaining('the tool web_search is not offered')]);
});

test('a model without searches goes on from what was found, in words, and the first one as it was (L19 L59 L88)', async () => {
  const content = [thinking('Hm.'), found, text('It is tall.')];
  const one = await bench({
    script: [reply(content), reply('ok'), reply('ok')],
    run: { fallbackModels: ['qwen3-coder'] },
  });
  const call = async (more: object) => {
    const result = await one.call(fakeAttempt(), more);
    if (!('head' in result)) throw new Error(result.kind);
    return result.head;
  };
  const head = await call({});
  const next = await call({ head, append: [prompt('And?')], step: 3, model: 1 });
  const [, said] = sent(one.bodies()[1]);
  expect(said).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: '[searched the web for "how tall"]' },
      { type: 'text', text: '[found "A \\"title\\"" <https://a.example/x>]' },
      { type: 'text', text: 'It is tall.' },
    ],
  });
  expect(namesOf(one.bodies()[1])).toEqual(['look']);
  await call({ head: next, append: [prompt('Then?')], step: 4 });
  const back = sent(one.bodies()[2])[1]?.content as readonly { readonly type: string }[];
  expect(back.map(({ type }) => type)).toEqual(['thinking', 'server_tool_use', 'web_search_tool_result', 'text']);
  expect(one.model.problems).toEqual([]);
});

test('a search that is denied later is out of the next request: no message could take it away (L58 L88)', async () => {
  const one = await bench({ script: [reply('ok'), reply('ok')] });
  const first = await one.call();
  if (!('head' in first)) throw new Error(first.kind);
  const options = { cwd: one.cwd, permissions: { deny: ['web_search'] } };
  const denied = await openRun(one.deps)(fakeAttempt(), { chain: 'chain', run: 2, step: 3, options });
  if (denied.kind === 'refused') throw new Error(denied.detail);
  const input = one.input({ head: first.head, append: [prompt('And?')], step: 4, config: denied.config });
  const second = modelResultOf(await callModel(one.deps)(fakeAttempt(), input));
  expect(namesOf(one.bodies()[1])).toEqual(['look']);
  if (!('head' in second)) throw new Error(second.kind);
  const epochs = (await one.entries(second.head)).flatMap((entry) => (entry.kind === 'epoch' ? [entry.why] : []));
  expect(epochs).toEqual(['first', 'tools']);
});

test('what a summary is made of, and the entry that it names, have the search and what it found (L10 L88)', async () => {
  const one = await bench({ script: [reply([found, text('Tall.')])] });
  const result = await one.call();
  if (!('head' in result)) throw new Error(result.kind);
  expect(renderEntries(await one.entries(result.head), 0, new Map())).toContain(
    'Assistant:\n[searched the web for "how tall"]\n[found "A \\"title\\"" <https://a.example/x>]\nTall.',
  );
});

test('a search that failed is said, and costs nothing (L88)', async () => {
  const failed: ReplyBlock = { type: 'web_search', query: 'x', error: 'max_uses_exceeded' };
  const one = await bench({ script: [reply([failed, text('No.')]), reply('ok')] });
  const result = await one.call();
  if (!('head' in result)) throw new Error(result.kind);
  expect(result.spend.usd).toBeLessThan(0.01);
  expect(renderEntries(await one.entries(result.head), 0, new Map())).toContain(
    '[the search failed: max uses exceeded]',
  );
  await one.call(fakeAttempt(), { head: result.head, append: [prompt('And?')], step: 3 });
  expect(one.model.problems).toEqual([]);
});

test('a search beside calls of ours is carried out with their results, and both are sent back so (L39 L88)', async () => {
  const script = [
    reply([thinking('Hm.'), left, toolUse('look', {}, 'toolu_a')]),
    reply([rest, thinking('So.'), text('Tall.')]),
    reply('ok'),
  ];
  const one = await bench({ script });
  const first = await one.call();
  if (!('head' in first)) throw new Error(first.kind);
  const second = await one.call(fakeAttempt(), { head: first.head, append: [], step: 3 });
  expect(sent(one.bodies()[1])[1]?.content).toMatchObject([{}, { id: 'srvtoolu_1' }, { id: 'toolu_a' }]);
  if (!('head' in second)) throw new Error(second.kind);
  await one.call(fakeAttempt(), { head: second.head, append: [prompt('And?')], step: 4 });
  const [, asked, , answered] = sent(one.bodies()[2]);
  expect(asked?.content).toMatchObject([{ type: 'thinking' }, { id: 'srvtoolu_1' }, { id: 'toolu_a' }]);
  expect(answered?.content).toMatchObject([{ tool_use_id: 'srvtoolu_1' }, { type: 'thinking' }, { text: 'Tall.' }]);
  expect([one.model.problems, one.warnings]).toEqual([[], []]);
});

test('where more is said between them than results, the search is left out, for good (L39 L59 L88)', async () => {
  const script = [reply([left, toolUse('look', {}, 'toolu_a')]), reply([thinking('So.'), text('ok')]), reply('ok')];
  const one = await bench({ script });
  const first = await one.call();
  if (!('head' in first)) throw new Error(first.kind);
  const second = await one.call(fakeAttempt(), { head: first.head, append: [prompt('Quick.')], step: 3 });
  if (!('head' in second)) throw new Error(second.kind);
  await one.call(fakeAttempt(), { head: second.head, append: [prompt('And?')], step: 4 });
  for (const body of one.bodies().slice(1)) expect(sent(body)[1]?.content).toMatchObject([{ id: 'toolu_a' }]);
  expect([one.model.problems, one.warnings]).toEqual([[], []]);
});
