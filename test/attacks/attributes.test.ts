// What a session tells lists of itself never ends it: a server terminates a workflow that puts more
// than 2 KiB into one attribute.
import { expect, test } from 'vitest';
import { jsonBytes, LARGEST_TAGS, tagsProblem, tagValues } from '../../workflows/contract/facts.ts';
import { attributeValues } from '../../workflows/contract/visibility.ts';
import { reply } from '../../scripted-model/index.ts';
import { harness, userMessage } from '../support/harness.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';

const script = { replies: [{ ...reply('Yes.'), times: 'any' as const }] };

const tags = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag-${n}`, value]));

test.each([
  ['of one byte', tags(20, 'x'.repeat(100))],
  ['of three bytes', tags(20, '界'.repeat(50))],
  ['of four bytes', tags(12, '🙂'.repeat(50))],
  ['that JSON escapes', tags(20, '"'.repeat(90))],
])('tags of characters %s that are too large together are refused by a client, with a sentence', async (_of, given) => {
  expect(Object.keys(given).every((name) => tagsProblem({ [name]: given[name] }) === undefined)).toBe(true);
  const bytes = Buffer.byteLength(JSON.stringify(tagValues(given)));
  expect(tagsProblem(given)).toBe(
    `the tags are ${bytes} bytes together, and a server keeps ${LARGEST_TAGS} of them: give fewer or shorter ones`,
  );
});

test('a session that was begun with them, or is sent them, by a client of another kind goes on (L57 O1)', async () => {
  const h = await harness({ script });
  const session = await h.open('First.', { tags: tags(20, '界'.repeat(100)) });
  await session.ended(1);
  const send = (text: string, given: Record<string, string>) =>
    session.handle.signal(SIGNALS.message, { ...userMessage(text), options: { tags: given } });
  await send('Second.', tags(20, '🙂'.repeat(50)));
  expect(await session.ended(2)).toMatchObject({ terminal: { detail: expect.stringContaining('the tags are') } });
  await send('Third.', { team: 'web' });
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('what lists are told of tags has a bound in bytes, and the largest that a client takes are told whole', () => {
  const memo = (given: Record<string, string>) =>
    ({ phase: 'idle', last: null, facts: { turns: 0, tokens: 0, cents: 0, tags: given } }) as never;
  const cut = attributeValues(memo(tags(20, '界'.repeat(100))), false).tags;
  expect(Buffer.byteLength(JSON.stringify(cut))).toBeLessThanOrEqual(LARGEST_TAGS);
  expect(cut.length).toBeGreaterThan(3);
  let largest = tags(20, 'é'.repeat(38));
  expect(tagsProblem(largest)).toBeUndefined();
  for (let n = 20; tagsProblem({ ...largest, last: 'x'.repeat(n) }) === undefined && n < 100; n += 1)
    largest = { ...largest, last: 'x'.repeat(n) };
  expect(attributeValues(memo(largest), false).tags).toEqual(tagValues(largest));
  expect(jsonBytes(largest)).toBe(Buffer.byteLength(JSON.stringify(largest)));
});
