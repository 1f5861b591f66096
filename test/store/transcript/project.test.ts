// A transcript is projected onto the messages that the model sees.
import type { ContentBlock, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import type { Entry, ReplyEntry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { CALL_CUT, CONTINUE, GO_ON, INTERRUPTED, NO_OUTCOME, NO_OUTPUT } from '../../../store/view/notices.ts';
import { mediaKey } from '../../../store/log/bodies.ts';
import { countRequestCharacters } from '../../../store/transcript/request-size.ts';
import { project } from '../../../store/view/project.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import {
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../../support/transcript.ts';

const seen = (...entries: Entry[]): MessageParam[] => project(entries, new Map());
const said = (text: string) => ({ type: 'text', text });
const result = (id: string, content: string) => ({ type: 'tool_result', tool_use_id: id, content });

test('a run is seen as user, assistant, results, assistant', () => {
  const entries = [
    runStarted(1),
    user('read it'),
    reply([thinkingBlock('hm'), textBlock('I will'), callBlock('a'), callBlock('b', { path: 'x' })]),
    outcomes(outcome(2, 'one'), outcome(3, 'two', { isError: true })),
    transition(1, 'next_turn'),
    reply([textBlock('done')]),
    runEnded(1),
    runStarted(2),
    user('thanks'),
  ];
  expect(seen(...entries)).toEqual([
    { role: 'user', content: [said('read it')] },
    { role: 'assistant', content: (entries[2] as ReplyEntry).message.content },
    { role: 'user', content: [result('a', 'one'), { ...result('b', 'two'), is_error: true }] },
    { role: 'assistant', content: [textBlock('done')] },
    { role: 'user', content: [said('thanks')] },
  ]);
});

test('outcomes come first and in block order, whenever they were stored and whatever was said meanwhile (L39)', () => {
  const messages = seen(
    user('go'),
    reply([callBlock('a'), callBlock('b'), callBlock('c')]),
    outcomes(outcome(2, 'early')),
    user('hurry'),
    outcomes(outcome(1, 'second'), outcome(0, 'first')),
    notice({ kind: 'interrupted' }),
  );
  expect(messages.at(-1)?.content).toEqual([
    result('a', 'first'),
    result('b', 'second'),
    result('c', 'early'),
    said('hurry'),
    said(INTERRUPTED),
  ]);
});

test('of duplicate ids in one reply the first is sent, with its outcome (L39)', () => {
  const messages = seen(
    user('go'),
    reply([callBlock('a', { n: 1 }), callBlock('a', { n: 2 }), callBlock('b')]),
    outcomes(outcome(0, 'first'), outcome(1, 'not run: a duplicate'), outcome(2, 'other')),
  );
  expect(messages[1]?.content).toEqual([callBlock('a', { n: 1 }), callBlock('b')]);
  expect(messages[2]?.content).toEqual([result('a', 'first'), result('b', 'other')]);
});

test('a call without an outcome gets one that says so, and of two outcomes the first is sent (L39)', () => {
  const messages = seen(
    user('go'),
    reply([callBlock('a'), callBlock('b')]),
    outcomes(outcome(0, 'one'), outcome(0, 'another'), outcome(7, 'of nothing')),
  );
  expect(messages[2]?.content).toEqual([result('a', 'one'), { ...result('b', NO_OUTCOME), is_error: true }]);
});

test('an id that an earlier reply used, or that the API refuses, is sent under another name, the same each time', () => {
  const entries = [
    user('go'),
    reply([callBlock('call_0')]),
    outcomes(outcome(0, 'one')),
    reply([callBlock('call_0'), callBlock(''), callBlock('ä b')]),
    outcomes(outcome(0, 'two'), outcome(1, 'three'), outcome(2, 'four')),
  ];
  const messages = seen(...entries);
  const sent = (messages[3]?.content ?? []) as ContentBlock[];
  const ids = sent.map((block) => block.type === 'tool_use' && block.id);
  expect(new Set(['call_0', ...ids]).size).toBe(4);
  expect(messages[4]?.content).toEqual([
    result(String(ids[0]), 'two'),
    result(String(ids[1]), 'three'),
    result(String(ids[2]), 'four'),
  ]);
  expect(seen(...entries, reply([textBlock('ok')]), user('more')).slice(0, 5)).toEqual(messages);
});

test('a reply never ends with thinking, and thinking in it goes back as it came (L59)', () => {
  const messages = seen(
    user('go'),
    reply([thinkingBlock('a'), textBlock('b'), thinkingBlock('c'), textBlock(' '), thinkingBlock('d')]),
    user('and?'),
    reply([thinkingBlock('only this')]),
    user('well?'),
  );
  expect(messages).toEqual([
    { role: 'user', content: [said('go')] },
    { role: 'assistant', content: [thinkingBlock('a'), textBlock('b')] },
    { role: 'user', content: [said('and?'), said('well?')] },
  ]);
});

test('of an interrupted reply what is complete is sent, unfinished thinking and server calls are not (L16)', () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} } as ContentBlock;
  const messages = seen(
    user('go'),
    reply([thinkingBlock('unsigned', ''), textBlock('half a sen'), callBlock('a'), search], { fate: 'interrupted' }),
    outcomes(outcome(2, 'not run: interrupted', { isError: true })),
    notice({ kind: 'interrupted' }),
    user('what I meant is'),
  );
  expect(messages[1]?.content).toEqual([textBlock('half a sen'), callBlock('a')]);
  expect(messages[2]?.content).toEqual([
    { ...result('a', 'not run: interrupted'), is_error: true },
    said(INTERRUPTED),
    said('what I meant is'),
  ]);
});

test('a cut reply is followed by the request to continue, a cut call by a word about it, and people’s notices by nothing (L27)', () => {
  const messages = seen(
    user('go'),
    reply([textBlock('once upon')], { fate: 'cut' }),
    transition(1, 'max_output_tokens_recovery'),
    notice({ kind: 'continue' }),
    reply([callBlock('a')], { fate: 'cut' }),
    outcomes(outcome(0, 'x')),
    notice({ kind: 'call_cut' }),
    notice({ kind: 'error', text: 'secret' }),
    notice({ kind: 'max_turns_reached', limit: 1, turnNotTaken: 2 }),
  );
  expect(messages[2]?.content).toEqual([said(CONTINUE)]);
  expect(messages[4]?.content).toEqual([result('a', 'x'), said(CALL_CUT)]);
});

test('empty texts are dropped, lone surrogates replaced, empty results filled (L58)', () => {
  const messages = seen(
    user('  \n'),
    user('\u001c\u0085'),
    user('a\ud800b'),
    reply([textBlock(''), textBlock('x\udc00'), callBlock('a', { 'k\ud800': ['\udfff', '\\ud800', '😀'] })]),
    outcomes(outcome(2, '')),
  );
  expect(messages).toEqual([
    { role: 'user', content: [said('a\ufffdb')] },
    { role: 'assistant', content: [textBlock('x\ufffd'), callBlock('a', { 'k\ufffd': ['\ufffd', '\\ud800', '😀'] })] },
    { role: 'user', content: [result('a', NO_OUTPUT)] },
  ]);
});

test('two replies with nothing said between them, and a transcript that begins or ends with a reply, get a user message (L58)', () => {
  const go = { role: 'user', content: [said(GO_ON)] };
  expect(seen()).toEqual([go]);
  expect(seen(reply([textBlock('a')]), user(' '), reply([textBlock('b')]))).toEqual([
    go,
    { role: 'assistant', content: [textBlock('a')] },
    go,
    { role: 'assistant', content: [textBlock('b')] },
    go,
  ]);
});

test('a call that no tool could have taken is sent in a shape that the API accepts (L58)', () => {
  const messages = seen(user('go'), reply([callBlock('a', 'text', 'no such/tool'), callBlock('b', null, '')]));
  expect(messages[1]?.content).toEqual([
    callBlock('a', { value: 'text' }, 'no_such_tool'),
    callBlock('b', { value: null }, 'unnamed'),
  ]);
});

test('blocks go back as they came but for what a request may not have (L58)', () => {
  const cited = {
    type: 'char_location' as const,
    cited_text: 'x',
    document_index: 0,
    document_title: null,
    start_char_index: 0,
    end_char_index: 1,
  };
  const text: ContentBlock = { type: 'text', text: 'so', citations: [{ ...cited, file_id: null }] };
  expect(seen(user('go'), reply([text]))[1]?.content).toEqual([{ ...text, citations: [cited] }]);
});

test('a stored message is sent with its text, and one that was not resolved is an error', () => {
  const hash = hashOf(Buffer.from('long'));
  const entry: Entry = { kind: 'user', id: 'm' as MessageId, body: { kind: 'stored', hash, bytes: 4 } };
  expect(project([entry], new Map([[hash, 'long']]))).toEqual([{ role: 'user', content: [said('long')] }]);
  expect(() => project([entry], new Map())).toThrow(hash);
});

test('an image is shown where it stands in its message, and counts by its size on a screen (Q7 L10)', () => {
  const hash = hashOf(Buffer.from('image'));
  const media = [{ hash, bytes: 900_000, mediaType: 'image/png', characters: 6_400, at: 5 }] as const;
  const entry = {
    kind: 'user',
    id: 'm' as MessageId,
    body: { kind: 'text', text: 'Look: what is it?', media },
  } as const;
  const data = 'A'.repeat(1_200_000);
  const messages = project([entry], new Map([[mediaKey(hash), data]]));
  const source = { type: 'base64', media_type: 'image/png', data };
  expect(messages).toEqual([
    { role: 'user', content: [said('Look:'), { type: 'image', source }, said(' what is it?')] },
  ]);
  expect(countRequestCharacters(messages)).toBeLessThan(7_000);
});

test('a message that was too large for its run is shown in part, without its images (L6 Q7)', () => {
  const hash = hashOf(Buffer.from('image'));
  const media = [{ hash, bytes: 9, mediaType: 'image/png', characters: 6_400, at: 0 }] as const;
  const entry = {
    kind: 'user',
    id: 'm' as MessageId,
    body: { kind: 'text', text: 'x'.repeat(9_000), media },
  } as const;
  const tooLong = runEnded(1, { reason: 'prompt_too_long', detail: 'too long' });
  const [message] = seen(runStarted(1), entry, tooLong, runStarted(2), user('again'));
  expect(JSON.stringify(message)).not.toContain('"image"');
});
