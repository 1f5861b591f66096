// perdure btw: a question aside, from a command line that has no part in the run.
import { expect, test } from 'vitest';
import type { ParsedRequest } from '../../scripted-model/index.ts';
import { reply } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor } from '../support/cli.ts';
import { until } from '../support/until.ts';

const isAside = ({ messages }: ParsedRequest): boolean => JSON.stringify(messages.at(-1)).includes('what was it?');

test('`perdure btw` prints the answer, says what it took, and leaves no trace in the conversation (O19)', async () => {
  const model = await modelFor((request) => (isAside(request) ? reply('A greeting.') : reply('Hello.')));
  const place = cliPlace(model);
  place.start(['dev']);
  const first = await place.run('run', '--json', 'hi');
  const id = String(jsonLines(first.out).at(-1)?.sessionId);
  const asked = await place.run('btw', id.slice(0, 6), 'what', 'was', 'it?');
  expect(asked).toMatchObject({ status: 0, out: 'A greeting.\n' });
  expect(asked.err).toMatch(/aside, by \S+ · [\d,]+ tokens · (\$0\.\d+|cost unknown)\n/);
  const [json] = jsonLines((await place.run('btw', id, '--json', 'what was it?')).out);
  expect(json).toMatchObject({ session: id, answer: 'A greeting.', cut: false });
  const shown = await place.run('show', id, '--full');
  expect(shown.out).toContain('Hello.');
  expect(shown.out).not.toMatch(/greeting|what was it/);
  expect(await place.run('btw', id, ' ')).toMatchObject({ status: 2, err: 'perdure: the question is empty\n' });
  expect((await place.run('cancel', id)).status).toBe(0);
  await until(async () => (await place.run('list')).out.includes('closed'));
  const closed = await place.run('btw', id, 'what was it?');
  expect(closed).toMatchObject({ status: 2, err: expect.stringMatching(/^perdure: session \S+ was cancelled.*\n$/) });
});
