// What watchers are told of a reply once it is stored.
import { expect, test } from 'vitest';
import type { Tool } from '../../tools/tool.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { fault, gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, touching } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

test('a whole reply is told with the head that it is stored under, before what it calls has run (Q7 L60)', async () => {
  const held = gate();
  const waits: Tool = { ...touching().tool, call: () => held.hold.then(() => ({ content: 'touched' })) };
  const defaults = { permissionMode: 'bypass' } as const;
  const bench = await benchDeps({ script: [reply([toolUse('touch', {})])], tools: [waits], defaults });
  const calling = bench.call();
  await until(() => bench.lines.some(({ type }) => type === 'reply'));
  const told = bench.lines.find((line) => line.type === 'reply');
  const head = told?.type === 'reply' ? told.head : undefined;
  expect((await bench.entries(head ?? ('' as Hash))).map(({ kind }) => kind)).toContain('reply');
  held.release();
  expect(await calling).toMatchObject({ kind: 'message' });
});

test('of a reply that was cut the head is not told: it is not known yet whether it stays (Q7 L26)', async () => {
  const bench = await benchDeps({
    script: [fault({ maxTokensAfter: { block: 0, chars: 3 } }, [text('I will go on.')])],
  });
  expect(await bench.call()).toMatchObject({ kind: 'cut_off' });
  expect(bench.lines.find(({ type }) => type === 'reply')).not.toHaveProperty('head');
});
