// Some blocks and fields are left out of a stored reply when it is sent: for one kind or field that
// the API does not know, it would refuse the session for good.
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import { prepareReply } from '../../../store/view/sent-reply.ts';
import { callBlock, reply, textBlock, thinkingBlock } from '../../support/transcript.ts';

type Fields = Readonly<Record<string, unknown>>;

const sent = (...content: readonly Fields[]): readonly unknown[] =>
  prepareReply(reply(content as unknown as ContentBlock[]), new Set()).blocks;
const hi = textBlock('Hi.') as unknown as Fields;
const use = (id: string, name = 'web_search', more: Fields = {}) => ({
  type: 'server_tool_use',
  id,
  name,
  input: { query: 'q' },
  ...more,
});
const page = { type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e', page_age: null };
const found = (id: string, content: unknown = [page], more: Fields = {}) => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content,
  ...more,
});
const location = { type: 'char_location', cited_text: 'x', document_index: 0, document_title: null };
const cited = { ...location, start_char_index: 0, end_char_index: 1 };

test.each<[string, Fields]>([
  ['a kind that nobody knows', { type: 'novelty', value: 1 }],
  ['a tool_result', { type: 'tool_result', tool_use_id: 'a', content: 'x' }],
  ['an image', { type: 'image', source: {} }],
  ['thinking without a signature', { type: 'thinking', thinking: 'Hm.' }],
  ['thinking with an empty signature', { type: 'thinking', thinking: 'Hm.', signature: '' }],
  ['redacted thinking without data', { type: 'redacted_thinking' }],
  ['a text that is none', { type: 'text', text: 5 }],
  ['a call whose name is none', { type: 'tool_use', id: 'a', name: null, input: {} }],
  ['a server call without a result', use('srvtoolu_1')],
  ['a server result without a call', found('srvtoolu_1')],
  ['a file for a container', { type: 'container_upload', file_id: 'f' }],
])('%s is not sent, and what stands beside it is (L58)', (_name, block) => {
  expect(sent(block, hi)).toEqual([hi]);
  expect(sent(block)).toEqual([]);
});

const call = callBlock('a', { n: 1 }) as unknown as Fields;
const signed = thinkingBlock('Hm.') as unknown as Fields;
test.each<[string, Fields]>([
  ['a text', hi],
  ['thinking', signed],
  ['redacted thinking', { type: 'redacted_thinking', data: 'x' }],
  ['a call', call],
])('of %s a field that nobody knows is not sent (L58)', (_name, block) => {
  expect(sent({ novelty: 1, ...block }, hi)).toEqual([block, hi]);
});

test('a block with nothing to leave out is sent as it came, to the order of its fields (L22)', () => {
  const turned = { input: { b: 1, a: 2 }, name: 'read', id: 'a', type: 'tool_use' };
  expect(JSON.stringify(sent(turned))).toBe(JSON.stringify([turned]));
});

test('a call without input, or by a caller that we know nothing of, is sent as one that the API takes (L58)', () => {
  expect(sent({ type: 'tool_use', id: 'a', name: 'read' })).toMatchObject([{ id: 'a', input: { value: null } }]);
  expect(sent({ ...call, caller: 'x' })).toEqual([call]);
  expect(sent({ ...call, caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } })).toEqual([call]);
});

test('calls that the API ran are sent with their results, and only whole (L58)', () => {
  const pair = [use('srvtoolu_1'), found('srvtoolu_1')];
  expect(sent(...pair, hi)).toEqual([...pair, hi]);
  const failed = { type: 'web_search_tool_result_error', error_code: 'unavailable' };
  const other = [use('srvtoolu_2'), found('srvtoolu_2', failed)];
  expect(sent(...pair, ...other, hi)).toEqual([...pair, ...other, hi]);
  expect(sent(...pair, ...pair, hi)).toEqual([...pair, hi]);
  expect(sent(found('srvtoolu_1'), use('srvtoolu_1'), hi)).toEqual([hi]);
  expect(sent(use('srvtoolu_1', 'web_fetch'), found('srvtoolu_1'), hi)).toEqual([hi]);
  expect(sent(use('toolu_1'), found('toolu_1'), hi)).toEqual([hi]);
  expect(sent(use('srvtoolu_1'), found('srvtoolu_1', 'a text'), hi)).toEqual([hi]);
  expect(sent(use('srvtoolu_1', 'novelty'), found('srvtoolu_1'), hi)).toEqual([hi]);
  const more = [
    use('srvtoolu_1', 'web_search', { novelty: 1 }),
    found('srvtoolu_1', [{ ...page, novelty: 1 }], { novelty: 1 }),
  ];
  expect(sent(...more, hi)).toEqual([...pair, hi]);
});

test.each<[string, string, Fields]>([
  [
    'web_fetch',
    'web_fetch',
    {
      type: 'web_fetch_result',
      url: 'u',
      retrieved_at: null,
      content: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'x' },
        title: null,
        citations: { enabled: true },
      },
    },
  ],
  [
    'code_execution',
    'code_execution',
    { type: 'code_execution_result', stdout: '', stderr: '', return_code: 0, content: [] },
  ],
  [
    'bash_code_execution',
    'bash_code_execution',
    {
      type: 'bash_code_execution_result',
      stdout: '',
      stderr: '',
      return_code: 0,
      content: [{ type: 'bash_code_execution_output', file_id: 'f' }],
    },
  ],
  [
    'text_editor_code_execution',
    'text_editor_code_execution',
    { type: 'text_editor_code_execution_create_result', is_file_update: false },
  ],
  [
    'tool_search_tool_regex',
    'tool_search',
    { type: 'tool_search_tool_search_result', tool_references: [{ type: 'tool_reference', tool_name: 'read' }] },
  ],
])('a call of %s that the API ran is sent as it came (L58)', (name, result, content) => {
  const pair = [
    use('srvtoolu_1', name, { caller: { type: 'direct' } }),
    { type: `${result}_tool_result`, tool_use_id: 'srvtoolu_1', content },
  ];
  expect(sent(...pair, hi)).toEqual([...pair, hi]);
});

test('citations that the API would refuse are not sent, others are (L58)', () => {
  const odd = [{ ...location, type: 'novelty' }, location, 5, null];
  expect(sent({ ...hi, citations: [...odd, { ...cited, file_id: 'f', novelty: 1 }] })).toEqual([
    { ...hi, citations: [cited] },
  ]);
  for (const citations of ['abc', {}, 5, null]) expect(sent({ ...hi, citations })).toEqual([hi]);
});
