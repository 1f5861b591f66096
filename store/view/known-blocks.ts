// The blocks of a reply that a request may have, each with the fields that it may have there (L58).
// The API refuses a request, and every later one of the session, for one kind or one field more
// than it knows: what is not listed here stays in the transcript only.
import { isDeepStrictEqual } from 'node:util';
import type { ContentBlock, ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { z } from 'zod';

const text = z.string();
const count = z.int();
/** The API gives calls of server tools such ids, and refuses others. */
const serverId = text.regex(/^srvtoolu_[a-zA-Z0-9_]+$/);

function toTypedBlock<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.object({ type: z.literal(type), ...fields });
}

/** Makes a field optional for a block: one of another shape is left out. */
function optionalField<Schema extends z.ZodType>(schema: Schema) {
  return z.optional(schema.nullable().catch(null));
}

const cited = { cited_text: text };
const inDocument = { ...cited, document_index: count, document_title: text.nullable() };
const citation = z.discriminatedUnion('type', [
  toTypedBlock('char_location', { ...inDocument, start_char_index: count, end_char_index: count }),
  toTypedBlock('page_location', { ...inDocument, start_page_number: count, end_page_number: count }),
  toTypedBlock('content_block_location', { ...inDocument, start_block_index: count, end_block_index: count }),
  toTypedBlock('web_search_result_location', { ...cited, encrypted_index: text, title: text.nullable(), url: text }),
  toTypedBlock('search_result_location', {
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
  toTypedBlock('base64', { media_type: z.literal('application/pdf'), data: text }),
  toTypedBlock('text', { media_type: z.literal('text/plain'), data: text }),
]);
const document = toTypedBlock('document', {
  source,
  title: optionalField(text),
  citations: optionalField(z.object({ enabled: z.boolean() })),
});

/** Our tools never call other tools: a call with another caller is sent as the model's own. */
const called = { caller: z.optional(toTypedBlock('direct', {}).catch({ type: 'direct' })) };

const serverCall = toTypedBlock('server_tool_use', {
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

function resultBlock<Type extends string, Content extends z.ZodType>(type: Type, content: Content) {
  return toTypedBlock(`${type}_tool_result`, { tool_use_id: serverId, content });
}

function errorResult<Type extends string>(type: Type) {
  return toTypedBlock(`${type}_tool_result_error`, { error_code: text });
}

function runResult<Type extends string>(type: Type) {
  const output = toTypedBlock(`${type}_output`, { file_id: text });
  return toTypedBlock(`${type}_result`, { stdout: text, stderr: text, return_code: count, content: z.array(output) });
}

const page = toTypedBlock('web_search_result', {
  url: text,
  title: text,
  encrypted_content: text,
  page_age: optionalField(text),
});
const fetched = toTypedBlock('web_fetch_result', { url: text, content: document, retrieved_at: optionalField(text) });
const encrypted = toTypedBlock('encrypted_code_execution_result', {
  encrypted_stdout: text,
  stderr: text,
  return_code: count,
  content: z.array(toTypedBlock('code_execution_output', { file_id: text })),
});
const viewed = toTypedBlock('text_editor_code_execution_view_result', {
  content: text,
  file_type: z.enum(['text', 'image', 'pdf']),
  num_lines: optionalField(count),
  start_line: optionalField(count),
  total_lines: optionalField(count),
});
const created = toTypedBlock('text_editor_code_execution_create_result', { is_file_update: z.boolean() });
const replaced = toTypedBlock('text_editor_code_execution_str_replace_result', {
  lines: optionalField(z.array(text)),
  new_lines: optionalField(count),
  new_start: optionalField(count),
  old_lines: optionalField(count),
  old_start: optionalField(count),
});
const found = toTypedBlock('tool_search_tool_search_result', {
  tool_references: z.array(toTypedBlock('tool_reference', { tool_name: text })),
});
const errorText = { error_message: optionalField(text) };

const serverResults = [
  resultBlock('web_search', z.union([errorResult('web_search'), z.array(page)])).extend(called),
  resultBlock('web_fetch', z.union([errorResult('web_fetch'), fetched])).extend(called),
  resultBlock('code_execution', z.union([errorResult('code_execution'), runResult('code_execution'), encrypted])),
  resultBlock('bash_code_execution', z.union([errorResult('bash_code_execution'), runResult('bash_code_execution')])),
  resultBlock(
    'text_editor_code_execution',
    z.union([errorResult('text_editor_code_execution').extend(errorText), viewed, created, replaced]),
  ),
  resultBlock('tool_search', z.union([errorResult('tool_search').extend(errorText), found])),
] as const;

const block = z.discriminatedUnion('type', [
  toTypedBlock('text', { text, citations: optionalField(citations) }),
  toTypedBlock('thinking', { thinking: text, signature: text.min(1) }),
  toTypedBlock('redacted_thinking', { data: text.min(1) }),
  toTypedBlock('tool_use', {
    id: text,
    name: text,
    input: z.optional(z.unknown()),
    ...called,
    toolset_name: optionalField(text),
  }),
  serverCall,
  ...serverResults,
]);

/** Returns the block itself when all of it is known, and null when a request may not have it. */
export function keepKnownFields(original: ContentBlock): ContentBlockParam | null {
  const { data } = block.safeParse(original);
  if (data === undefined) return null;
  return (isDeepStrictEqual(data, original) ? original : data) as ContentBlockParam;
}
