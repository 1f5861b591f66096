// Refusals of a part of the request: kept thinking, a field or a beta that a server does not know.
import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { classifyFailure } from '../../../activities/model/classify.ts';

const BOUND =
  'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
const HEADER =
  ' That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `system` prompt differs from the one this block was created with.';

const nested = (message: string): string =>
  `litellm.BadRequestError: AnthropicException - ${JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })}. Received Model Group=claude`;

function verdictOf(message: string, status = 400, type = 'invalid_request_error') {
  const body = { type: 'error', error: { type, message } };
  return classifyFailure(APIError.generate(status, body, message, new Headers()), 0, (text) => text);
}

describe('thinking that is bound to another conversation', () => {
  test.each([
    ['as the API says it to who sent the header', BOUND],
    ['as it says it without the header', BOUND + HEADER],
    [
      'with what is missing',
      `${BOUND} The \`thinking\` block that preceded this one when it was created is missing from this request.`,
    ],
    ['within the error of a gateway', nested(BOUND + HEADER)],
  ])('has a verdict of its own, %s', (_how, message) => {
    expect(verdictOf(message)).toEqual({ kind: 'unbound_thinking', detail: `400: ${message}`, status: 400 });
  });

  test.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    'messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.',
  ])('is not any complaint about thinking: %s', (message) => {
    expect(verdictOf(message)).toEqual({ kind: 'failed', detail: `400: ${message}`, status: 400 });
  });

  test('is no verdict on a failure of the server that quotes it', () => {
    expect(verdictOf(BOUND, 500, 'api_error')?.kind).toBe('retry');
  });
});

describe('a field or a beta that a server does not know', () => {
  test.each([
    ['thinking.adaptive.block_binding: Extra inputs are not permitted', 'thinking.adaptive.block_binding'],
    ['thinking.enabled.block_binding: Extra inputs are not permitted', 'thinking.enabled.block_binding'],
    ['messages.3.clear_at: Extra inputs are not permitted', 'messages.3.clear_at'],
    [
      'litellm.BadRequestError: BedrockException - {"message":"thinking.adaptive.block_binding: Extra inputs are not permitted"}. Received Model Group=bedrock-fable',
      'thinking.adaptive.block_binding',
    ],
    [nested('thinking.adaptive.block_binding: Extra inputs are not permitted'), 'thinking.adaptive.block_binding'],
    ['Failed to deserialize the JSON body: unknown field `block_binding`, expected `type`', 'block_binding'],
    ["Unrecognized key(s) in object: 'block_binding'", 'block_binding'],
    ['json: unknown field "block_binding"', 'block_binding'],
    ["Unknown parameter: 'thinking.block_binding'.", 'thinking.block_binding'],
    ['Unrecognized request argument supplied: block_binding', 'block_binding'],
    [
      'Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.',
      'anthropic-beta',
    ],
    [
      nested(
        'Unexpected value(s) `a-2026-02-20`, `b-2025-12-15` for the `anthropic-beta` header. Please consult our documentation.',
      ),
      'anthropic-beta',
    ],
    ['invalid beta flag', 'anthropic-beta'],
    ['The anthropic-beta value compact-2026-09-04 is not supported on this platform.', 'anthropic-beta'],
  ])('%s', (message, field) => {
    expect(verdictOf(message)).toEqual({ kind: 'refused_field', field, detail: `400: ${message}`, status: 400 });
  });

  test.each([
    'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens',
    'messages.0.content.0.type: Input tag is not one of the expected content block types',
    'tools.0.name: String should match pattern',
    'This model does not support the effort parameter.',
    'Access to the beta you asked for is limited.',
  ])('is not any refusal: %s', (message) => {
    expect(verdictOf(message)?.kind).toBe('failed');
  });
});

describe('a summary that the API has signed, and tools in messages', () => {
  test.each([
    ['messages.0.content.0: Invalid `signature` in `compaction` block', 'refused_summary'],
    [nested('messages.0.content.0: Invalid `signature` in `compaction` block'), 'refused_summary'],
    [
      'messages.0.content.0: `content` of the `compaction` block differs from what its `signature` recorded',
      'refused_summary',
    ],
    ['messages: only one `compaction` block with content may be sent: the newest', 'refused_summary'],
    ['messages.0.content.0.compaction.encrypted_content: Extra inputs are not permitted', 'refused_summary'],
    ['`output_config.task_budget.remaining` cannot be combined with a `compaction` block', 'failed'],
    [
      "messages.3.content.0: Input tag 'tool_addition' found using 'type' does not match any of the expected tags: 'text'",
      'refused_tools',
    ],
    ['messages.3.content.0.tool_addition: Extra inputs are not permitted', 'refused_tools'],
    ['messages.3.content.0.tool_removal.tool.tool_reference.name: String should match pattern', 'failed'],
  ])('%s: %s', (message, kind) => {
    expect(verdictOf(message)?.kind).toBe(kind);
  });

  test.each([
    [
      'messages.3.content.1.tool_addition.tool.tool_definition.definition.input_schema: JSON schema is invalid',
      { message: 3, block: 1 },
    ],
    ['tools.12.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12', { tool: 12 }],
    [nested('tools.0.custom.input_schema.type: Field required'), { tool: 0 }],
  ])('a definition is told apart by where it stands: %s', (message, at) => {
    expect(verdictOf(message)).toMatchObject({ kind: 'refused_definition', at });
  });
});
