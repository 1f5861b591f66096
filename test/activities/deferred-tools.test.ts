// Tools of MCP servers that are too many for each request: the model is told their names, and has
// those that it finds or calls.
import { expect, test } from 'vitest';
import { openRun } from '../../activities/run/open-run.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { foundTools } from '../../store/transcript/found-tools.ts';
import { addFindTools } from '../../tools/find-tools.ts';
import { createRegistry } from '../../tools/registry.ts';
import type { Tool } from '../../tools/tool.ts';
import { benchDeps, fakeAttempt, look, prompt, SESSION } from '../support/bench-deps.ts';
import { lookingBench, toolOf } from '../support/looking-bench.ts';
import { noHooks } from '../support/no-hooks.ts';
import { offered } from '../support/offered.ts';

/** About 1,000 tokens each: forty are more than a request has. */
const shopTool = (name: string): Tool => ({
  ...toolOf(`mcp__shop__${name}`),
  description: `${name}. ${'x'.repeat(4_000)}`,
});
const many = [
  look,
  ...Array.from({ length: 40 }, (_, n) => shopTool(`thing_${n}`)),
  shopTool('refund_order'),
  shopTool('list_orders'),
];
const few = many.slice(0, 10);

const looking = (tools: readonly Tool[], run = {}) => lookingBench(1, { first: tools, run }, tools);
const thought = (...content: ReturnType<typeof toolUse>[]) => reply([thinking('Hm.'), text('So.'), ...content]);
const find = (query: string) => thought(toolUse('find_tools', { query }));

test('many tools of servers are named and not sent, and one that is found comes by a message (L22 L44 L74)', async () => {
  const h = await looking(many);
  const first = h.last();
  expect(offered(first)).toEqual(['find_tools', 'look']);
  expect(JSON.stringify(first.system)).toContain('- mcp__shop__: list_orders, refund_order, thing_0');
  h.next.push(find('refund'));
  await h.call();
  await h.call();
  expect(offered(h.last())).toEqual(['find_tools', 'look', 'mcp__shop__refund_order']);
  expect(h.last().tools).toEqual(first.tools);
  expect(h.last().system).toEqual(first.system);
  h.next.push(thought(toolUse('mcp__shop__refund_order', {})));
  await h.call();
  await h.call();
  expect(JSON.stringify(h.last().messages.at(-1))).toContain('mcp__shop__refund_order says');
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('a model that takes no tools from messages gets a found one among the tools (L44 L74)', async () => {
  const h = await looking(many, { model: 'claude-sonnet-5' });
  h.next.push(find('refund'));
  await h.call();
  await h.call();
  expect(h.last().tools?.map((tool) => Reflect.get(tool, 'name') as string)).toEqual([
    'find_tools',
    'look',
    'mcp__shop__refund_order',
  ]);
  expect(h.model.problems).toEqual([]);
});

test.each(['claude-sonnet-5', 'claude-sonnet-5-5'])(
  'with %s what was found is still there after a summary, for a worker that begins with it (L10 L74)',
  async (model) => {
    const h = await looking(many, { model });
    h.next.push(find('refund'));
    await h.call();
    for (let n = 0; n < 12; n += 1) await h.call();
    expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
    h.restart();
    await h.call([prompt('Go on.')]);
    await h.call();
    const brought = JSON.stringify(h.last());
    expect(brought).toContain('"name":"mcp__shop__refund_order"');
    expect(brought).not.toContain('"name":"mcp__shop__list_orders"');
    expect([await h.dropped(), h.model.problems]).toEqual([[], []]);
  },
);

test('one that is called by its name without having been found runs, and is sent from then on (L33 L74)', async () => {
  const h = await looking(many);
  h.next.push(thought(toolUse('mcp__shop__list_orders', {})));
  await h.call();
  await h.call();
  expect(JSON.stringify(h.last().messages)).toContain('mcp__shop__list_orders says');
  expect(offered(h.last())).toContain('mcp__shop__list_orders');
});

test('what was found after a point is not known at that point (L74)', async () => {
  const h = await looking(many);
  const before = h.head();
  h.next.push(find('refund'));
  await h.call();
  const at = async (head: typeof before) => {
    const view = await h.deps().transcripts.view(SESSION, head);
    return [...foundTools({ view, added: [] })];
  };
  expect([await at(h.head()), await at(before)]).toEqual([['mcp__shop__refund_order'], []]);
});

test('tools that were sent stay when others make them too many, and what came late is found (L22 L44 L74)', async () => {
  const h = await looking(few);
  h.setTools(many);
  await h.call();
  const names = offered(h.last());
  expect(names).toEqual([...few.map(({ name }) => name), 'find_tools']);
  expect(JSON.stringify(h.last().messages)).toContain('list_orders, refund_order');
  h.setTools(few);
  await h.call();
  expect(offered(h.last())).toEqual(few.map(({ name }) => name));
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('few tools of servers are sent as all others are (L44 L74)', async () => {
  const h = await looking(few);
  expect(offered(h.last())).toEqual(few.map(({ name }) => name).sort());
});

async function opened(deferTools: boolean | number | undefined, tools: readonly Tool[], run: object = {}) {
  const { deps, cwd, lines } = await benchDeps({ script: [] });
  const registry = addFindTools(createRegistry(tools));
  const worker = {
    ...deps,
    tools: createCallRunner(deps.store, registry, noHooks),
    defaults: { ...deps.defaults, ...(deferTools !== undefined && { deferTools }) },
  };
  const options = { cwd, ...run };
  const result = await openRun(worker)(fakeAttempt(), { chain: 'c', run: 1, step: 1, options });
  if (result.kind === 'refused') throw new Error(result.detail);
  const told = lines.flatMap((line) =>
    line.type === 'notice' && line.notice.kind === 'about_tools' ? [line.notice.text] : [],
  );
  return { told, fixed: result.rules.fixedTokens };
}

test('people are told of what is left out, and the window is planned without it (L10 L74)', async () => {
  const usual = await opened(undefined, many);
  expect(usual.told).toEqual([
    expect.stringMatching(/^42 tools of MCP servers are left out of requests \(about 43,\d{3} tokens in each\) until/),
  ]);
  expect(usual.fixed).toBeLessThan(3_000);
  const never = await opened(false, many);
  expect(never.told).toEqual([]);
  expect(never.fixed).toBeGreaterThan(40_000);
  expect((await opened(undefined, many, { tools: ['mcp__shop__refund_order'] })).told).toEqual([]);
});

test('the configuration says from how many tokens on, and "true" from the first (L57 L74)', async () => {
  expect((await opened(100_000, many)).told).toEqual([]);
  expect((await opened(2_000, few)).told).toHaveLength(1);
  expect((await opened(true, few)).told).toHaveLength(1);
  expect((await opened(undefined, few)).told).toEqual([]);
});
