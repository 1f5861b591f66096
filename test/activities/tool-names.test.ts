// Tools under other names for the model (L89): they are changed where a request is made and where a
// reply comes in. What is stored and judged has ours.
import { expect, test } from 'vitest';
import { callModel } from '../../activities/call-model.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { MODEL_TOOL_NAMES } from '../../client/agent-sdk/names.ts';
import { reply, text, thinking, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, prompt, type BenchOptions } from '../support/bench-deps.ts';
import { simpleTool } from '../tools/support.ts';

const toolNames = MODEL_TOOL_NAMES;
const tools = ['bash', 'read', 'todo', 'other'].map((name) =>
  simpleTool({ name, description: `About \`bash\`, \`other\` and read.` }),
);

const bench = (more: BenchOptions) => benchDeps({ tools, defaults: { toolNames }, ...more });
type Bench = Awaited<ReturnType<typeof bench>>;

const offered = (body: unknown) =>
  ((body as ParsedRequest).tools ?? []) as readonly { name: string; description: string }[];
const said = (body: unknown, at: number) => (body as ParsedRequest).messages[at]?.content;
const headOf = (result: object): Hash => {
  if (!('head' in result)) throw new Error(JSON.stringify(result));
  return (result as { readonly head: Hash }).head;
};

const ended = ({ lines }: Bench): string =>
  lines.flatMap((line) => (line.type === 'tool_end' ? [line.content] : [])).at(-1) ?? '';

async function stored(one: Bench, head: Hash) {
  return (await one.entries(head)).flatMap((entry) =>
    entry.kind === 'reply' ? entry.message.content.filter(({ type }) => type === 'tool_use') : [],
  );
}

test('the model is offered tools under those names, in their place and in what we say of them (L89 L22)', async () => {
  const one = await bench({ script: [reply('ok')] });
  await one.call();
  expect(offered(one.bodies()[0]).map(({ name }) => name)).toEqual(['Bash', 'other', 'Read', 'TodoWrite']);
  expect(offered(one.bodies()[0])[0]?.description).toBe('About `Bash`, `other` and read.');
});

test.each([
  ['under its name', toolUse('Bash', { command: 'ls', run_in_background: true }, 'toolu_a')],
  ['under ours', toolUse('bash', { command: 'ls', background: true }, 'toolu_a')],
  [
    'under ours and its, where ours goes before',
    toolUse('Bash', { command: 'ls', run_in_background: false, background: true }, 'toolu_a'),
  ],
])('a call %s is stored under ours and sent back under its (L89 L39)', async (_name, block) => {
  const one = await bench({
    script: [reply([thinking('Hm.'), block]), reply([thinking('On.'), text('ok')]), reply('ok')],
  });
  const result = await one.call();
  expect(result).toMatchObject({ kind: 'message', calls: [{ name: 'bash' }] });
  const head = headOf(result);
  const input = { command: 'ls', background: true };
  expect(await stored(one, head)).toMatchObject([{ name: 'bash', input, id: 'toolu_a' }]);
  expect(one.lines.find(({ type }) => type === 'tool_use')).toMatchObject({ name: 'bash', input });
  const next = headOf(await one.call(fakeAttempt(), { head, append: [], step: 3 }));
  expect(said(one.bodies()[1], 1)).toMatchObject([{ type: 'thinking' }, { name: 'Bash', input }]);
  await one.call(fakeAttempt(), { head: next, append: [prompt('And?')], step: 4 });
  expect([one.model.problems, one.warnings]).toEqual([[], []]);
});

test('older names are understood, and words within an input (L89)', async () => {
  const todos = [{ content: 'Look.', status: 'in_progress', activeForm: 'Looking' }];
  const one = await bench({
    script: [reply([toolUse('KillBash', { shell_id: 'b-1' }), toolUse('TodoWrite', { todos })])],
  });
  const head = headOf(await one.call());
  expect(await stored(one, head)).toMatchObject([
    { name: 'bash_stop', input: { id: 'b-1' } },
    { name: 'todo', input: { tasks: [{ text: 'Look.', state: 'doing' }] } },
  ]);
});

test('a tool that has such a name for its own keeps it, and the other goes by ours (L89)', async () => {
  const mine = simpleTool({ name: 'Bash' });
  const one = await bench({ tools: [...tools, mine], script: [reply([toolUse('Bash', {}), toolUse('bash', {})])] });
  const result = await one.call();
  expect(offered(one.bodies()[0]).map(({ name }) => name)).toEqual(['Bash', 'bash', 'other', 'Read', 'TodoWrite']);
  expect(result).toMatchObject({ calls: [{ name: 'Bash' }, { name: 'bash' }] });
});

test('a call of no tool is told those that there are under the names that the model knows (L89 L33)', async () => {
  const one = await bench({ script: [reply([toolUse('Nonsense', {})])] });
  const result = await one.call();
  await one.tool(fakeAttempt(), headOf(result), 0);
  expect(ended(one)).toContain('The tools are: Bash, other, Read, TodoWrite.');
});

test('rules, lists and what calls have left are about our names (L55 L57 L89)', async () => {
  const run = { tools: ['read', 'bash'], permissionMode: 'default', permissions: { deny: ['bash'] } } as const;
  const one = await bench({ script: [reply([toolUse('Bash', {})])], run });
  const result = await one.call();
  expect(offered(one.bodies()[0]).map(({ name }) => name)).toEqual(['Bash', 'Read']);
  await one.tool(fakeAttempt(), headOf(result), 0);
  expect(ended(one)).toContain('rule "bash"');
});

test('a run without the names goes on with the session, which is told so from the beginning (L58 L89)', async () => {
  const one = await bench({ script: [reply([thinking('Hm.'), toolUse('Bash', {})]), reply('ok'), reply('ok')] });
  const first = headOf(await one.call());
  const { toolNames: _, ...defaults } = one.deps.defaults;
  const deps = { ...one.deps, defaults };
  const opened = await openRun(deps)(fakeAttempt(), { chain: 'chain', run: 2, step: 3, options: { cwd: one.cwd } });
  if (opened.kind === 'refused') throw new Error(opened.detail);
  const input = one.input({ head: first, append: [], step: 4, config: opened.config });
  const second = headOf(modelResultOf(await callModel(deps)(fakeAttempt(), input)));
  expect(offered(one.bodies()[1]).map(({ name }) => name)).toEqual(['bash', 'other', 'read', 'todo']);
  expect(said(one.bodies()[1], 1)).toMatchObject([{ name: 'bash' }]);
  const whys = (await one.entries(second)).flatMap((entry) => (entry.kind === 'epoch' ? [entry.why] : []));
  expect([whys, one.model.problems]).toEqual([['first', 'tools'], []]);
});
