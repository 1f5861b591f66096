import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { harness, userMessage } from '../support/harness.ts';
import { until } from '../support/until.ts';

describe('messages to a session that runs', () => {
  test('ride with the outcomes of the tools, after them, each once and in order (L43 L61)', async () => {
    const h = await harness({
      script: [
        reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]),
        reply('All seen.'),
      ],
    });
    const session = await h.open('Do it.');
    await until(() => existsSync(join(h.cwd, 'begun')));
    const doubled = userMessage('second');
    await session.send('first');
    await session.handle.signal(SIGNALS.message, doubled);
    await session.handle.signal(SIGNALS.message, doubled);
    await session.send('third');
    writeFileSync(join(h.cwd, 'go'), '');
    const ended = await session.ended(1);
    expect(ended.messages).toHaveLength(4);
    expect(h.bodies()[1]?.messages.at(-1)).toMatchObject({
      content: [{ type: 'tool_result' }, { text: 'first' }, { text: 'second' }, { text: 'third' }],
    });
  });

  test('one that arrives during the final reply opens the next run (L32)', async () => {
    const held = gate();
    const h = await harness({ script: [reply('The end', { hold: held.hold, holdAfterEvent: 4 }), reply('Another.')] });
    const session = await h.open('Talk.');
    await until(() => h.bodies().length === 1);
    await session.send('One more thing.');
    held.release();
    expect(await session.ended(2)).toMatchObject({ run: 2, terminal: { reason: 'completed' }, turns: 1 });
    expect(h.bodies()[1]?.messages).toHaveLength(3);
  });
});

describe('a session', () => {
  test('takes further prompts; each run starts anew on turn 1 with its own spend (L52 L2)', async () => {
    const h = await harness({ script: [reply([toolUse('glob', { pattern: '*' })]), reply('One.'), reply('Two.')] });
    const session = await h.open('First.');
    expect(await session.ended(1)).toMatchObject({ run: 1, turns: 2, iterations: 2 });
    await session.send('Second.');
    expect(await session.ended(2)).toMatchObject({ run: 2, turns: 1, iterations: 1 });
    const spends = (await session.entries()).flatMap((entry) =>
      entry.kind === 'run_ended' ? [entry.ended.spend.usage.output] : [],
    );
    expect(spends[1]).toBeLessThan(spends[0] ?? 0);
  });

  test('a run works with the snapshot it opened with, the next with what its message asks for (L57)', async () => {
    const h = await harness({ script: { replies: [{ ...reply('Hi.'), times: 'any' }] } });
    const session = await h.open('First.', { model: 'claude-haiku-4-5', systemPrompt: 'Be brief.' });
    await session.ended(1);
    await session.send('Second.', { options: { model: 'claude-opus-4-5' } });
    await session.ended(2);
    expect(h.bodies().map((body) => body?.model)).toEqual(['claude-haiku-4-5', 'claude-opus-4-5']);
    expect(h.bodies().map((body) => JSON.stringify(body?.system).includes('Be brief.'))).toEqual([true, true]);
  });

  test('an unchanged prefix is read from the prompt cache on the next turn (L22)', async () => {
    const h = await harness({
      script: {
        replies: [
          reply([toolUse('glob', { pattern: '*' })]),
          reply([toolUse('glob', { pattern: '*' })]),
          reply('Done.'),
        ],
      },
    });
    const session = await h.open('Look '.repeat(2_000));
    await session.ended(1);
    const usages = (await session.entries()).flatMap((entry) => (entry.kind === 'reply' ? [entry.message.usage] : []));
    expect(usages[0]?.cache_read_input_tokens).toBe(0);
    for (const usage of usages.slice(1)) expect(usage.cache_read_input_tokens).toBeGreaterThan(2_000);
  });

  test('the system prompt is the same in every request of a run (L58)', async () => {
    const h = await harness({ script: [reply([toolUse('glob', { pattern: '*' })]), reply('Done.')] });
    const session = await h.open('Look.');
    await session.ended(1);
    expect(h.bodies()[1]?.system).toEqual(h.bodies()[0]?.system);
  });
});
