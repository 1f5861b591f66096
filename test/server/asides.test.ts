// Questions that people ask aside, on a real server: answered from the conversation as it is sent,
// which keeps no trace of them.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ParsedRequest } from '../../scripted-model/index.ts';
import { fault, gate, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { clientOf, harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { newKeys } from '../support/new-keys.ts';
import { until } from '../support/until.ts';

const MODEL = 'claude-sonnet-5-5';
const config = { model: MODEL, batchSummaries: false, memory: false };

const QUESTION = 'What have you found?';
const isAside = (request: ParsedRequest): boolean => JSON.stringify(request.messages.at(-1)).includes(QUESTION);

/** Where the cache may break changes from one request to the next. */
const unmarked = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, given: unknown) => (key === 'cache_control' ? undefined : given)));

describe('a question that is asked aside', () => {
  test('between two runs is answered from the cached conversation, which has no trace of it, and counts as spent (L22 L58)', async () => {
    const replies = [reply([thinking('Hm.'), text('Three files.')]), reply('Four.')];
    const h = await harness({
      script: (request) => (isAside(request) ? reply('I found three.') : replies.shift()),
      worker: { config },
    });
    const session = await h.open('Look around.', { thinkingTokens: 2_000 });
    await session.ended(1);
    const before = await session.memo();
    const entries = await session.entries();
    const aside = await clientOf(h, h.taskQueue).askAside(session.id, QUESTION);
    expect(aside).toMatchObject({ answer: 'I found three.', cut: false, model: MODEL });
    expect(aside.costUsd).toBeGreaterThan(0);
    // The conversation is read from the cache; only what came since, and the question, is not.
    expect(aside.usage.cacheRead).toBeGreaterThan(10 * aside.usage.input);
    expect(aside.usage.cacheWrite).toBe(0);
    const after = await until(async () => {
      const memo = await session.memo();
      return (memo?.facts?.tokens ?? 0) > (before?.facts?.tokens ?? 0) ? memo : null;
    });
    expect(after?.facts?.tokens).toBe((before?.facts?.tokens ?? 0) + totalTokens(aside.usage));
    expect([after?.head, await session.entries()]).toEqual([before?.head, entries]);
    await session.send('And now?');
    await session.ended(2);
    const [first, asked, next] = h.bodies();
    const head = asked!.messages.slice(0, -1);
    expect(unmarked(next!.messages.slice(0, head.length))).toEqual(unmarked(head));
    for (const part of ['system', 'tools', 'thinking', 'output_config', 'max_tokens', 'model'] as const)
      expect(asked![part as keyof ParsedRequest], part).toEqual(next![part as keyof ParsedRequest]);
    expect(asked).not.toHaveProperty('tool_choice');
    // The one place where the cache was written is marked again, and the question is not.
    expect(JSON.stringify(head)).toContain(JSON.stringify(first!.messages.at(-1)?.content));
    expect(JSON.stringify(asked!.messages.at(-1))).not.toContain('cache_control');
    expect(JSON.stringify(next)).not.toContain(QUESTION);
    expect(h.liveText(session.id)).not.toContain('I found three.');
    expect(h.model.problems).toEqual([]);
  });

  test('while a call is at work is answered at once; the run goes on as it was, and pays for it (L39 L51)', async () => {
    const h = await harness({
      script: (request) => {
        if (isAside(request)) return reply('I wait for a command.');
        if (request.messages.length === 1)
          return reply([text('I wait.'), toolUse('bash', { command: 'touch begun; cat pipe' })]);
        return reply('Done.');
      },
      worker: { config },
    });
    execFileSync('mkfifo', [`${h.cwd}/pipe`]);
    const session = await h.open('Go.');
    await until(() => existsSync(`${h.cwd}/begun`));
    const aside = await clientOf(h, h.taskQueue).askAside(session.id, QUESTION);
    expect(aside.answer).toBe('I wait for a command.');
    writeFileSync(`${h.cwd}/pipe`, 'hello');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    const [, asked, next] = h.bodies();
    expect(unmarked(next!.messages.slice(0, 2))).toEqual(unmarked(asked!.messages.slice(0, 2)));
    expect(JSON.stringify(asked!.messages.at(-1))).toContain('it was at work when the question below was asked');
    expect(JSON.stringify(next!.messages.at(-1))).toContain('hello');
    const all = await session.entries();
    const own = all.flatMap((entry) => (entry.kind === 'reply' ? [entry.message.usage.output_tokens] : []));
    const [spend] = all.flatMap((entry) => (entry.kind === 'run_ended' ? [entry.ended.spend] : []));
    expect(spend?.usage.output).toBe(own.reduce((sum, tokens) => sum + tokens, aside.usage.output));
    expect((await session.memo())?.facts?.cents).toBeCloseTo((spend?.usd ?? 0) * 100, 2);
    await keepHistory('a question that was asked aside', session.handle);
    expect(h.model.problems).toEqual([]);
  });

  test('is refused in one line, or answered by none, where that cannot be; three are answered at a time, over handovers (L4)', async () => {
    const [first, asides] = [gate(), gate()];
    let answers: readonly (() => ReturnType<typeof reply>)[] = [];
    const h = await harness({
      script: (request) => {
        if (!JSON.stringify(request.messages.at(-1)).includes('aside')) return reply('Done.', { hold: first.hold });
        const [next, ...rest] = answers;
        answers = rest;
        return next?.() ?? reply('Well.', { hold: asides.hold });
      },
      worker: { config },
      keys: newKeys(),
      handover: { events: 5, signals: 5_000, iterations: 1 },
    });
    const session = await h.open('Go.');
    const client = clientOf(h, h.taskQueue);
    const ask = (question: string) => client.askAside(session.id, question).then(({ answer }) => answer);
    await until(() => h.bodies().length === 1);
    await expect(ask('Ready?')).rejects.toThrow('the model has not answered yet: ask again when it has');
    await expect(ask(' ')).rejects.toThrow('the question is empty');
    await expect(ask('x'.repeat(10_001))).rejects.toThrow('the question has 10001 characters: give at most 10000');
    first.release();
    await session.ended(1);
    answers = [
      () => reply([toolUse('bash', { command: 'touch made' })]),
      () => reply('x'.repeat(30_000)),
      () => fault({ status: 529, message: 'Overloaded' }),
    ];
    await expect(ask('One?')).rejects.toThrow('the model wanted to call a tool instead of answering in words');
    expect((await client.askAside(session.id, 'Two?')).cut).toBe(true);
    await expect(ask('Three?')).rejects.toThrow(/not answered: .*Overloaded/);
    expect(existsSync(`${h.cwd}/made`)).toBe(false);
    const open = [1, 2, 3].map((n) => ask(`Held ${n}?`));
    await until(() => h.bodies().length === 7);
    await expect(ask('Four?')).rejects.toThrow('3 questions are being answered aside already: wait for one');
    await session.send('On.');
    await session.ended(2);
    asides.release();
    expect(await Promise.all(open)).toEqual(['Well.', 'Well.', 'Well.']);
    await session.send('And on.');
    expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('ends with its session (L49)', async () => {
    const held = gate();
    const h = await harness({
      script: (request) => (isAside(request) ? reply('Never.', { hold: held.hold }) : reply('Done.')),
      worker: { config },
    });
    const session = await h.open('Go.');
    await session.ended(1);
    const client = clientOf(h, h.taskQueue);
    const asked = client.askAside(session.id, QUESTION);
    const why = asked.catch(String);
    await until(() => h.bodies().some(isAside));
    await session.handle.cancel();
    expect(await why).toContain('not answered: ');
    await until(async () => (await session.memo())?.phase === 'closed');
    await expect(client.askAside(session.id, QUESTION)).rejects.toThrow('was cancelled and takes nothing more');
    held.release();
  });
});
