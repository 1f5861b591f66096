import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { hello, model, post, refusal, type Body } from './support.ts';

const EDITING = 'context-management-2025-06-27';
const THRESHOLD = 'compact-2026-01-12';

async function send(body: Body, ...betas: readonly string[]) {
  const server = await model([reply('ok')]);
  const response = await post(
    server,
    { ...hello, ...body },
    betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') },
  );
  return response.status === 200 ? 'ok' : (await refusal(response)).message;
}

test.each<[string, unknown, string]>([
  ['context_management', { edits: [] }, EDITING],
  ['context_management', { edits: [] }, THRESHOLD],
  ['fallbacks', 'default', 'server-side-fallback-2026-07-01'],
  ['mcp_servers', [], 'mcp-client-2026-09-15'],
  ['thread', { type: 'create' }, 'message-threads-2026-08-12'],
  ['output_format', null, 'structured-outputs-2025-11-13'],
])('%s needs its own header and no other will do (Beta headers, 2026-11)', async (field, value, beta) => {
  const body = { [field]: value };
  expect(await send(body)).toBe(`${field}: Extra inputs are not permitted`);
  expect(await send(body, 'token-efficient-tools-2026-01-01')).toBe(`${field}: Extra inputs are not permitted`);
  expect(await send(body, 'another', beta)).toBe('ok');
});

const edits = (...types: readonly string[]): Body => ({
  context_management: { edits: types.map((type) => ({ type })) },
});

test('edits of the context are of known kinds, with their header, thinking first (Context editing, 2026-08)', async () => {
  expect(
    await send(edits('clear_thinking_20251015', 'clear_tool_uses_20250919', 'compact_20260112'), EDITING, THRESHOLD),
  ).toBe('ok');
  expect(await send(edits('clear_tool_uses_20250919'), THRESHOLD)).toBe('ok');
  expect(await send(edits('compact_20260112'), EDITING)).toContain("Input tag 'compact_20260112' found using 'type'");
  expect(await send(edits('clear_tool_uses_20250919', 'clear_thinking_20251015'), EDITING)).toContain(
    '`clear_thinking_20251015` must be the first',
  );
  const low = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 49_999 } };
  expect(await send({ context_management: { edits: [low] } }, THRESHOLD)).toContain(
    'trigger.value must be at least 50000',
  );
});
