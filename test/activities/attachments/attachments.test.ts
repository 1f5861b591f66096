// What a model call attaches: texts of providers, and files that someone else has changed, as the
// built-in tools have seen them.
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAttachments } from '../../../activities/attachments/attachments.ts';
import { formatLog } from '../../../system/log.ts';
import { callModel } from '../../../activities/call-model.ts';
import { createBuiltinTools } from '../../../tools/builtin/builtin-tools.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { createCallRunner } from '../../../activities/calls/call-runner.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { reply, toolUse, type ScriptedModelOptions } from '../../../scripted-model/index.ts';
import { callKey, type Hash } from '../../../workflows/contract/ids.ts';
import type { AttachmentProvider } from '../../../activities/attachments/prefetch.ts';
import type { Append } from '../../../workflows/contract/activities.ts';
import { benchDeps, fakeAttempt, prompt } from '../../support/bench-deps.ts';
import { noHooks } from '../../support/no-hooks.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';
import { noticeForModel } from '../../../store/view/notices.ts';

type Setup = {
  readonly script: ScriptedModelOptions['script'];
  readonly providers?: readonly AttachmentProvider[];
  readonly folders?: readonly string[];
};

/** A session whose iterations are made one by one: the calls of a reply run before the next. */
async function session({ script, providers = [], folders = [] }: Setup) {
  const [store, cwd] = [memoryStore(), join(tempDir(), 'workspace')];
  mkdirSync(cwd);
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const bench = await benchDeps({ script, store, run: { cwd, additionalDirectories: folders } });
  const tools = createCallRunner(store, createRegistry(createBuiltinTools({ sandbox })), noHooks);
  const attachments = createAttachments(providers, () => {});
  const deps = { ...bench.deps, tools, attachments };
  const model = callModel(deps);
  let [head, append, step]: [Hash | null, readonly Append[], number] = [null, [prompt('Do it.')], 2];
  const turn = async (): Promise<readonly unknown[]> => {
    const result = await model(fakeAttempt(), bench.input({ head, append, step: step++, iteration: step }));
    if (result.kind !== 'message') throw new Error(JSON.stringify(result));
    const before = head === null ? 0 : (await bench.entries(head)).length;
    const added = (await bench.entries(result.head)).slice(before);
    const items = [];
    for (const { index } of result.calls.filter(({ outcome }) => outcome === undefined)) {
      const key = callKey('chain', result.head, index);
      const config = await deps.config(bench.opened.config);
      const call = (await bench.entries(result.head)).findLast((entry) => entry.kind === 'reply')?.message.content[
        index
      ];
      if (call?.type !== 'tool_use') throw new Error('no call');
      await tools
        .bind(config, { ...call, index })
        .runClaimed(fakeAttempt(), { key, iteration: 1, say: () => {}, safe: false });
      items.push({ index, key });
    }
    [head, append] = [result.head, items.length > 0 ? [{ kind: 'outcomes', items }] : [prompt(`More ${step}.`)]];
    return added.flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
  };
  return { ...bench, cwd, turn, attachments, head: () => head, file: (name: string) => join(cwd, name) };
}

const changed = (...paths: readonly string[]) => expect.objectContaining({ kind: 'files_changed', paths });

test('a file that was read and then changed by someone else is told once, and again when it changes again (L43)', async () => {
  const { turn, file, bodies } = await session({
    script: [reply([toolUse('read', { path: 'a.txt' })]), reply('1'), reply('2'), reply('3'), reply('4'), reply('5')],
  });
  writeFileSync(file('a.txt'), 'one');
  writeFileSync(file('b.txt'), 'never read');
  await turn();
  expect(await turn()).toEqual([]);
  writeFileSync(file('a.txt'), 'two, longer');
  writeFileSync(file('b.txt'), 'changed');
  expect(await turn()).toEqual([changed('a.txt')]);
  expect(JSON.stringify(bodies().at(-1))).toContain('a.txt');
  expect(await turn()).toEqual([]);
  rmSync(file('a.txt'));
  expect(await turn()).toEqual([changed('a.txt (deleted)')]);
  expect(await turn()).toEqual([]);
});

test('a file of another folder of the run is told of by its whole path (Q7 L43)', async () => {
  const lib = realpathSync(tempDir());
  const far = join(lib, 'a.txt');
  writeFileSync(far, 'one');
  const script = [reply([toolUse('read', { path: far })]), reply('1'), reply('2')];
  const { turn } = await session({ script, folders: [lib] });
  await turn();
  expect(await turn()).toEqual([]);
  writeFileSync(far, 'two, longer');
  expect(await turn()).toEqual([changed(far)]);
});

test("what the agent's own file tools change is not told, what another changes after them is (L43)", async () => {
  const { turn, file } = await session({
    script: [
      reply([toolUse('write', { path: 'sub/new.txt', content: 'one' })]),
      reply([toolUse('edit', { path: 'sub/new.txt', old_string: 'one', new_string: 'three' })]),
      reply('1'),
      reply('2'),
    ],
  });
  await turn();
  expect(await turn()).toEqual([]);
  expect(await turn()).toEqual([]);
  writeFileSync(file('sub/new.txt'), 'by someone else');
  expect(await turn()).toEqual([changed('sub/new.txt')]);
});

test('a worker that takes a session over finds in the transcript what was seen and told (L43)', async () => {
  const { turn, file, deps, opened, head } = await session({
    script: [reply([toolUse('read', { path: 'a.txt' })]), reply('1'), reply('2')],
  });
  writeFileSync(file('a.txt'), 'one');
  await turn();
  await turn();
  const config = await deps.config(opened.config);
  const seen = await deps.transcripts.view(config.session, head());
  writeFileSync(file('a.txt'), 'two, longer');
  expect(await turn()).toEqual([changed('a.txt')]);
  const told = await deps.transcripts.view(config.session, head());
  const other = createAttachments([], () => {});
  const notice = { kind: 'notice', notice: changed('a.txt') };
  expect(await other.collect(config, { view: seen, added: [] })).toEqual([notice]);
  expect(await other.collect(config, { view: told, added: [] })).toEqual([]);
});

test('what a provider says is attached once until it says something else (L43)', async () => {
  let said = 'remember the milk';
  let asked = 0;
  const collect = (): string => (asked++, said);
  const { turn, attachments, deps, opened, bodies } = await session({
    script: [reply('1'), reply('2'), reply('3')],
    providers: [{ name: 'memory', collect }],
  });
  const config = await deps.config(opened.config);
  attachments.prefetch(config);
  await until(() => asked === 1);
  expect(await turn()).toEqual([{ kind: 'attachment', source: 'memory', text: '> remember the milk' }]);
  expect(JSON.stringify(bodies()[0])).toContain('remember the milk');
  await until(() => asked === 2);
  expect(await turn()).toEqual([]);
  said = 'and the bread';
  await until(() => {
    attachments.prefetch(config);
    return asked > 3;
  });
  expect(await turn()).toEqual([{ kind: 'attachment', source: 'memory', text: '> and the bread' }]);
});

test('what was attached by an earlier version is sent as it was, and only what is new is quoted (L43)', async () => {
  const old = {
    kind: 'attachment',
    source: 'the workspace’s file AGENTS.md',
    text: 'Use tabs.\nAnd no blanks.',
  } as const;
  expect(noticeForModel(old)).toBe('From the workspace’s file AGENTS.md:\nUse tabs.\nAnd no blanks.');
});

test('a provider, and the line about one that failed, know the trace of the run’s caller (O15 L43)', async () => {
  const { deps, opened } = await session({ script: [] });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const told: (string | undefined)[] = [];
  const lines: string[] = [];
  const collect: AttachmentProvider['collect'] = (context) => {
    told.push(context.traceparent);
    throw new Error('boom');
  };
  const attachments = createAttachments([{ name: 'mail', collect }], (_level, message, fields) => {
    lines.push(formatLog(message, fields));
  });
  attachments.prefetch({ ...(await deps.config(opened.config)), traceparent });
  await until(() => lines.length > 0);
  expect(told).toEqual([traceparent]);
  expect(lines).toEqual([
    expect.stringContaining(`boom (session s-test, query chain.1, depth 0, run 1, trace ${'a'.repeat(32)})`),
  ]);
});
