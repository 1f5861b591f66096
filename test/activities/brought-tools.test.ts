// Tools that messages brought, over summaries that the API has signed and over fallbacks that take
// none from messages.
import { expect, test } from 'vitest';
import { fault } from '../../scripted-model/index.ts';
import { look, prompt } from '../support/bench-deps.ts';
import { aim, lookingBench, toolOf } from '../support/looking-bench.ts';

const TURNS = 9;
const both = [look, aim];

test('a tool that was brought in what is summed up and is gone since is taken away again (L10 L44)', async () => {
  const h = await lookingBench(TURNS, {}, both);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  h.setTools([look]);
  await h.call();
  const [block, ...rest] = h.last().messages;
  expect(JSON.stringify(block)).toContain('"tool_addition"');
  expect(JSON.stringify(rest)).toContain('"tool_removal"');
  await h.call();
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('one that is there still is not brought again behind the summary, and one that comes is (L10 L44)', async () => {
  const h = await lookingBench(TURNS, {}, both);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  h.setTools([...both, toolOf('zoom')]);
  await h.call();
  const brought = JSON.stringify(h.last().messages.slice(1)).match(/"tool_definition","definition":\{"name":"\w+"/g);
  expect(brought).toEqual(['"tool_definition","definition":{"name":"zoom"']);
  expect([await h.epochs(), h.model.problems]).toEqual([['first'], []]);
});

test('a fallback right after a summary costs the first model none of its thinking (L19 L59)', async () => {
  const h = await lookingBench(TURNS, { run: { fallbackModels: ['claude-sonnet-5'] } }, both);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call([], 1);
  expect(h.last().tools?.map((tool) => Reflect.get(tool, 'name') as string)).toEqual(['look', 'aim']);
  await h.call([prompt('Back.')]);
  expect(JSON.stringify(h.last())).toContain(`Thought ${TURNS}.`);
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('an epoch that begins while a fallback answers takes tools from messages when the first model goes on (L19 L44)', async () => {
  const h = await lookingBench(1, { run: { fallbackModels: ['claude-sonnet-5'] }, answers: 1 });
  await h.call();
  await h.call();
  h.setTools(both);
  await h.call();
  expect(JSON.stringify(h.last())).toContain('Thought 3.');
  expect([await h.epochs(), h.model.problems]).toEqual([['first'], []]);
});

test('a summary by a fallback that was sent the tools otherwise keeps none of what the first model thought (L19 L59)', async () => {
  const h = await lookingBench(TURNS, { run: { fallbackModels: ['claude-fable-5-2'] } }, both);
  h.deps().models.refuse('claude-fable-5-2', 'inline_tools');
  expect(await h.sumUp({ model: 1 })).toMatchObject({ kind: 'compacted' });
  expect((await h.entries()).at(-1)).not.toHaveProperty('keepsThinking');
  await h.call();
  expect(JSON.stringify(h.last())).not.toContain(`Thought ${TURNS}.`);
  await h.call();
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('one that was gone in what is summed up, and came back in what is kept, is known behind the summary (L10 L44)', async () => {
  const h = await lookingBench(20, {}, both);
  h.setTools([look]);
  for (let n = 0; n < 38; n += 1) await h.call();
  h.setTools(both);
  await h.call();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(JSON.stringify(h.last().messages.slice(1))).toContain('"tool_addition"');
  h.setTools([look]);
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('a second summary repeats the tools of the first, and a removal that is kept behind it still finds its tool (L10 L44)', async () => {
  const h = await lookingBench(TURNS, {}, both);
  const changesIn = () =>
    (h.last().messages[0]?.content as readonly { readonly tool_changes?: readonly object[] }[] | undefined)?.[0]
      ?.tool_changes;
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  for (let n = 0; n < 58; n += 1) await h.call();
  h.setTools([look]);
  await h.call();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(await h.summaries()).toEqual(['signed', 'signed']);
  expect(changesIn()).toMatchObject([{ type: 'tool_addition', tool: { definition: { name: 'aim' } } }]);
  expect(JSON.stringify(h.last().messages.slice(1)).match(/"tool_(?:addition|removal)"/g)).toEqual(['"tool_removal"']);
  expect([await h.dropped(), await h.epochs(), h.warnings, h.model.problems]).toEqual([[], ['first'], [], []]);
});

test('the tools of a summary are said anew where they do not hold together, without the summary (L44 L58)', async () => {
  const h = await lookingBench(TURNS, {}, both);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  const words = "messages.0: tool 'aim' is not defined at this position in the conversation";
  h.next.push(fault({ status: 400, message: words, errorCode: 'tool_reference_unresolved' }));
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(JSON.stringify(h.last().messages)).not.toContain('"tool_changes"');
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first', 'summary_refused'], []]);
});
