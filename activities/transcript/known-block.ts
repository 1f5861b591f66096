// The blocks of a reply that a request may have, each with the fields that it may have there (L58). For one kind or one field more than
// it knows, the API refuses the request and every later one of the session: what is not listed here stays in the transcript only.
import { isDeepStrictEqual } from 'node:util';
import type { ContentBlock, ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { z } from 'zod';

const text = z.string();
const count = z.int();
/** The API gives server tools ids of their own, and refuses others. */
const serverId = text.regex(/^srvtoolu_[a-zA-Z0-9_]+$/);

function of<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.object({ type: z.literal(type), ...fields });
}

/** A field that a block can do without: one of another shape is left out. */
function extra<Schema extends z.ZodType>(schema: Schema) {
  return z.optional(schema.nullable().catch(null));
}

const cited = { cited_text: text };
const inDocument = { ...cited, document_index: count, document_title: text.nullable() };
const citation = z.discriminatedUnion('type', [
  of('char_location', { ...inDocument, start_char_index: count, end_char_index: count }),
  of('page_location', { ...inDocument, start_page_number: count, end_page_number: count }),
  of('content_block_location', { ...inDocument, start_block_index: count, end_block_index: count }),
  of('web_search_result_location', { ...cited, encrypted_index: text, title: text.nullable(), url: text }),
  of('search_result_location', {
    ...cited,
    search_result_index: count,
    source: text,
    title: text.nullable(),
    start_block_index: count,
    end_block_index: count,
  }),
]);
const citations = z.array(z.unknown()).transform((all) => all.flatMap((each) => citation.safeParse(each).data ?? []));

const source = z.discriminatedUnion('type', [
  of('base64', { media_type: z.literal('application/pdf'), data: text }),
  of('text', { media_type: z.literal('text/plain'), data: text }),
]);
const document = of('document', {
  source,
  title: extra(text),
  citations: extra(z.object({ enabled: z.boolean() })),
});

/** No tool that we offer calls others: what has another caller is sent as the model's own call. */
const called = { caller: z.optional(of('direct', {}).catch({ type: 'direct' })) };

const serverCall = of('server_tool_use', {
  id: serverId,
  name: z.enum([
    'web_search',
    'web_fetch',
    'code_execution',
    'bash_code_execution',
    'text_editor_code_execution',
    'tool_search_tool_regex',
    'tool_search_tool_bm25',
  ]),
  input: z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value)),
  ...called,
});

function result<Type extends string, Content extends z.ZodType>(type: Type, content: Content) {
  return of(`${type}_tool_result`, { tool_use_id: serverId, content });
}

function error<Type extends string>(type: Type) {
  return of(`${type}_tool_result_error`, { error_code: text });
}

function ran<Type extends string>(type: Type) {
  const output = of(`${type}_output`, { file_id: text });
  return of(`${type}_result`, { stdout: text, stderr: text, return_code: count, content: z.array(output) });
}

const page = of('web_search_result', { url: text, title: text, encrypted_content: text, page_age: extra(text) });
const fetched = of('web_fetch_result', { url: text, content: document, retrieved_at: extra(text) });
const encrypted = of('encrypted_code_execution_result', {
  encrypted_stdout: text,
  stderr: text,
  return_code: count,
  content: z.array(of('code_execution_output', { file_id: text })),
});
const viewed = of('text_editor_code_execution_view_result', {
  content: text,
  file_type: z.enum(['text', 'image', 'pdf']),
  num_lines: extra(count),
  start_line: extra(count),
  total_lines: extra(count),
});
const created = of('text_editor_code_execution_create_result', { is_file_update: z.boolean() });
const replaced = of('text_editor_code_execution_str_replace_result', {
  lines: extra(z.array(text)),
  new_lines: extra(count),
  new_start: extra(count),
  old_lines: extra(count),
  old_start: extra(count),
});
const found = of('tool_search_tool_search_result', {
  tool_references: z.array(of('tool_reference', { tool_name: text })),
});
const said = { error_message: extra(text) };

const serverResults = [
  result('web_search', z.union([error('web_search'), z.array(page)])).extend(called),
  result('web_fetch', z.union([error('web_fetch'), fetched])).extend(called),
  result('code_execution', z.union([error('code_execution'), ran('code_execution'), encrypted])),
  result('bash_code_execution', z.union([error('bash_code_execution'), ran('bash_code_execution')])),
  result(
    'text_editor_code_execution',
    z.union([error('text_editor_code_execution').extend(said), viewed, created, replaced]),
  ),
  result('tool_search', z.union([error('tool_search').extend(said), found])),
] as const;

const block = z.discriminatedUnion('type', [
  of('text', { text, citations: extra(citations) }),
  of('thinking', { thinking: text, signature: text.min(1) }),
  of('redacted_thinking', { data: text.min(1) }),
  of('tool_use', { id: text, name: text, input: z.optional(z.unknown()), ...called, toolset_name: extra(text) }),
  serverCall,
  ...serverResults,
]);

/** The block itself when there is nothing to leave out; null when a request may not have it at all. */
export function knownBlock(given: ContentBlock): ContentBlockParam | null {
  const { data } = block.safeParse(given);
  if (data === undefined) return null;
  return (isDeepStrictEqual(data, given) ? given : data) as ContentBlockParam;
}
