// A question aside as its activity answers it: from what is stored by then, within the run's
// budget, and with nothing that is to be hidden.
import { expect, test } from 'vitest';
import { answerAside } from '../../../activities/run/answer-aside.ts';
import { type ParsedRequest, reply, text, toolUse } from '../../../scripted-model/index.ts';
import type { AnswerAside } from '../../../workflows/contract/activities.ts';
import { benchDeps, fakeAttempt, look, prompt, SESSION } from '../../support/bench-deps.ts';
import { continuationProblem } from '../../support/continuation.ts';
import { aim, lookingBench } from '../../support/looking-bench.ts';

async function asked(script: Parameters<typeof benchDeps>[0]['script'], redact = (words: string) => words) {
  const bench = await benchDeps({ script });
  const first = await bench.call();
  if (first.kind !== 'message') throw new Error(first.kind);
  const { config, cap } = bench.input();
  const deps = { ...bench.deps, redact };
  const ask = (more: Partial<AnswerAside> = {}, attempt = fakeAttempt()) =>
    answerAside(deps)(attempt, {
      head: first.head,
      question: 'Why?',
      said: [],
      config,
      cap,
      step: 9,
      iteration: 1,
      ...more,
    });
  return { ...bench, ask, head: first.head };
}

test('nothing is asked when the budget of the run is spent, and nothing costs nothing (L51)', async () => {
  const { ask, bodies } = await asked([reply('One.')]);
  expect(await ask({ left: { usd: 0 } })).toMatchObject({ kind: 'failed', detail: 'the budget of the run is spent' });
  expect(bodies()).toHaveLength(1);
});

test('what is to be hidden is hidden in the answer, and nothing is stored', async () => {
  const { ask, deps, head } = await asked([reply('One.'), reply('It is hunter2.')], (words) =>
    words.replaceAll('hunter2', '***'),
  );
  const before = await deps.transcripts.view(SESSION, head);
  expect(await ask()).toMatchObject({ kind: 'answered', text: 'It is ***.', cut: false });
  expect((await deps.transcripts.view(SESSION, head)).length).toBe(before.length);
});

test('a reply that is stored counts, though its step is not over, and so do prompts that wait to be stored (L39 L61)', async () => {
  const { ask, input, bodies } = await asked([
    reply([text('I look.'), toolUse('look', {})]),
    reply('So.'),
    reply('So.'),
  ]);
  await ask({ head: null, call: input(), said: [prompt('Do it.')] });
  await ask({ said: [prompt('And that.')] });
  const [, stored, waits] = bodies().map((body) => JSON.stringify((body as ParsedRequest).messages));
  expect(stored).toContain('I look.');
  expect(stored?.match(/Do it\./g)).toHaveLength(1);
  expect(waits).toMatch(/And that\.".*Why\?/);
});

test('where no reply is stored, or the model did not answer, it says so (L20)', async () => {
  const { ask, input } = await asked([reply('One.')]);
  const never = { ...input(), step: 77 };
  const none = await ask({ head: null, call: never });
  expect(none).toMatchObject({ kind: 'failed', detail: 'the model has not answered yet: ask again when it has' });
  const attempt = fakeAttempt();
  attempt.abort('stop');
  expect(await ask({}, attempt)).toMatchObject({ kind: 'failed', detail: 'it was stopped' });
});

test.each([
  ['the API', [], ['signed']],
  ['us', ['compaction'], ['plain']],
])(
  'after a summary by %s it is answered at once, as the next request begins (L10 L22 L58)',
  async (_, refused, made) => {
    const isAside = ({ messages }: ParsedRequest): boolean => JSON.stringify(messages.at(-1)).includes('Why?');
    const h = await lookingBench(9, { hear: (request) => (isAside(request) ? reply('So.') : undefined) }, [look, aim]);
    for (const part of refused) h.deps().models.refuse('claude-sonnet-5-5', part);
    expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
    const { config } = h.opened;
    const question = { head: h.head(), question: 'Why?', said: [], config, step: 900, iteration: 0 };
    expect(await answerAside(h.deps())(fakeAttempt(), question)).toMatchObject({ kind: 'answered', text: 'So.' });
    const sent = h.last();
    expect(await h.call([prompt('Go on.')])).toMatchObject({ kind: 'message' });
    const withoutQuestion = { ...sent, messages: sent.messages.slice(0, -1) };
    expect(continuationProblem(withoutQuestion, h.last())).toBeUndefined();
    expect([await h.summaries(), await h.dropped(), h.model.problems]).toEqual([made, [], []]);
  },
);
