// What becomes of a session whose server refuses a part of what it is sent, as another platform or
// gateway does: it goes on without that part.
import { expect, test } from 'vitest';
import { fault, reply, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { look, prompt } from '../support/bench-deps.ts';
import { aim, lookingBench } from '../support/looking-bench.ts';
import { notice } from '../support/transcript.ts';
import type { Entry } from '../../store/log/entries.ts';
import { beginEpoch, tellPreamble } from '../../store/transcript/preamble.ts';

const TURNS = 9;
const hasSummary = ({ messages: [first] }: ParsedRequest): boolean =>
  JSON.stringify(first).includes('"type":"compaction"');
const refusal = (message: string): Reply => fault({ status: 400, message });

/** The session goes on at a server that refuses what `hears` says. */
async function moves(h: Awaited<ReturnType<typeof lookingBench>>, moved: { to: boolean }) {
  moved.to = true;
  const one = await h.call();
  const { length } = h.bodies();
  const two = await h.call([prompt('Go on.')]);
  return { kinds: [one.kind, two.kind], again: h.bodies().length - length };
}

test.each<[string, (request: ParsedRequest) => string | undefined]>([
  [
    'no betas, and says not which it refuses',
    (request) => ('block_binding' in (request.thinking ?? {}) || hasSummary(request) ? 'invalid beta flag' : undefined),
  ],
  [
    'no such block and no such field',
    (request) =>
      hasSummary(request)
        ? "messages.0.content.0: Input tag 'compaction' found using 'type' does not match any of the expected tags: 'text'"
        : 'block_binding' in (request.thinking ?? {})
          ? 'thinking.adaptive.block_binding: Extra inputs are not permitted'
          : undefined,
  ],
  [
    'not the beta of summaries, which it names',
    (request) =>
      hasSummary(request) ? 'Unexpected value(s) `compact-2026-09-04` for the `anthropic-beta` header.' : undefined,
  ],
  [
    'no signature of another account, in words alone',
    (request) => (hasSummary(request) ? 'messages.0.content.0: Invalid `signature` in `compaction` block' : undefined),
  ],
])('a signed summary is sent in words, for good, at a server that knows %s (L59)', async (_, refuses) => {
  const moved = { to: false };
  const h = await lookingBench(TURNS, {
    hear: (request) => {
      const refused = moved.to ? refuses(request) : undefined;
      return refused === undefined ? (moved.to ? reply('Fine.') : undefined) : refusal(refused);
    },
  });
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  expect(await moves(h, moved)).toEqual({ kinds: ['message', 'message'], again: 1 });
  expect([await h.epochs(), h.model.problems]).toEqual([['first', 'summary_refused'], []]);
});

test('tools that messages brought are sent with the others, in a new epoch, at a server that knows no betas (L58 L59)', async () => {
  const moved = { to: false };
  const refuses = ({ thinking, messages }: ParsedRequest): boolean =>
    'block_binding' in (thinking ?? {}) || JSON.stringify(messages).includes('"tool_addition"');
  const hear = (request: ParsedRequest): Reply | undefined =>
    moved.to ? (refuses(request) ? refusal('invalid beta flag') : reply('Fine.')) : undefined;
  const h = await lookingBench(2, { hear }, [look, aim]);
  expect(await moves(h, moved)).toEqual({ kinds: ['message', 'message'], again: 1 });
  expect([await h.epochs(), h.model.problems]).toEqual([['first', 'server'], []]);
});

test('tools of a summary are sent with the others, without it, at a server that refuses inline tools (L58 L59)', async () => {
  const moved = { to: false };
  const isRefused = ({ messages }: ParsedRequest): boolean =>
    moved.to && /"(?:tool_addition|tool_changes)"/.test(JSON.stringify(messages));
  const words = 'Unexpected value(s) `inline-tools-2026-09-15` for the `anthropic-beta` header.';
  const hear = (request: ParsedRequest): Reply | undefined =>
    isRefused(request) ? refusal(words) : moved.to ? reply('Fine.') : undefined;
  const h = await lookingBench(TURNS, { hear }, [look, aim]);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  expect(await moves(h, moved)).toEqual({ kinds: ['message', 'message'], again: 1 });
  const { models } = h.deps();
  const refused = ['inline_tools', 'compaction'].filter((part) => models.isRefused('claude-sonnet-5-5', part));
  expect([refused, await h.epochs(), h.model.problems]).toEqual([['inline_tools'], ['first', 'summary_refused'], []]);
});

test('a role that is refused after it was taken begins an epoch, which holds after a restart (L58 L59)', async () => {
  const h = await lookingBench(1, {}, [look, aim]);
  await h.call();
  h.next.push(refusal("messages.3: role 'system' is not supported on this model"));
  await h.call();
  await h.call();
  h.restart();
  h.setTools([look]);
  await h.call();
  await h.call();
  expect([await h.epochs(), await h.dropped(), h.warnings]).toEqual([['first', 'server'], [], []]);
  expect(JSON.stringify(h.last().messages)).toContain('Not available any more, a call is refused: aim.');
});

test('what was told in words where the role was refused stays so after a restart, and costs no thinking (L22 L58)', async () => {
  const h = await lookingBench(1, { first: [look, aim] });
  h.next.push(refusal("messages.3: role 'system' is not supported on this model"));
  await h.call();
  h.restart();
  h.setTools([look]);
  await h.call();
  await h.call();
  expect(h.last().messages.map(({ role }) => role)).not.toContain('system');
  expect(JSON.stringify(h.last().messages)).toContain('Not available any more, a call is refused: aim.');
  expect([await h.epochs(), await h.dropped()]).toEqual([['first'], []]);
});

test('a tool whose definition the API does not take is left out alone, and others come by messages (L44)', async () => {
  const h = await lookingBench(1, {}, [look, aim]);
  const words = 'input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12';
  h.next.push(refusal(`messages.3.content.0.tool_addition.tool.tool_definition.definition.${words}`));
  expect(await h.call([prompt('And now?')])).toMatchObject({ kind: 'message' });
  expect(JSON.stringify(h.last())).not.toContain('"aim"');
  expect(h.deps().models.isRefused('claude-sonnet-5-5', 'inline_tools')).toBe(false);
  expect(h.warnings).toEqual([expect.stringContaining('the tool aim is not offered')]);
  expect([await h.epochs(), h.model.problems]).toEqual([['first'], []]);
});

test('what an earlier release told is told in words where the role is refused, as that did, and costs no thinking (L58 L59)', () => {
  const telling = { bySystem: true, bringsTools: true } as const;
  const preamble = (date: string) => ({ system: [{ name: 'the date', text: date }], tools: [] });
  const changed = (by: object): Entry =>
    notice({
      kind: 'preamble_changed',
      parts: preamble('Date: 2').system,
      ended: [],
      toolsGone: [],
      toolsBack: [],
      ...by,
    });
  const told = (by: object) =>
    tellPreamble([beginEpoch('first', preamble('Date: 1'), telling), changed(by)], preamble('Date: 2'), {
      telling: {},
      checksPrefix: true,
    }).told;
  expect(told({})).toEqual([]);
  expect(told({ by: 'user' })).toEqual([]);
  expect(told({ by: 'tools' })).toMatchObject([{ kind: 'epoch', why: 'server' }]);
});

test('where what messages told of tools does not hold together the tools are sent anew, once (L44 L58)', async () => {
  const h = await lookingBench(2, {}, [look, aim]);
  const words = "messages.3.content.0: tool 'aim' is not defined at this position in the conversation";
  h.next.push(fault({ status: 400, message: words, errorCode: 'tool_reference_unresolved' }));
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(await h.call()).toMatchObject({ kind: 'message' });
  expect(h.warnings).toEqual([expect.stringContaining('they are sent anew')]);
  expect([await h.epochs(), await h.dropped(), h.model.problems]).toEqual([['first', 'tools'], [], []]);
});
