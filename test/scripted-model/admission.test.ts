import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { headers, hello, model, post, refusal, sdk } from './support.ts';

test('a missing or a bad key is a 401, and no problem of the client’s shape', async () => {
  const server = await model([reply('ok', { times: 'any' })]);
  const { 'x-api-key': _key, ...keyless } = headers;
  const send = (extra: Record<string, string>) =>
    fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      headers: { ...keyless, ...extra },
      body: JSON.stringify(hello),
    });
  expect(await refusal(await send({}))).toMatchObject({ status: 401, type: 'authentication_error' });
  expect(await refusal(await send({ 'x-api-key': 'bad-key' }))).toMatchObject({
    status: 401,
    message: 'invalid x-api-key',
  });
  expect((await send({ authorization: 'Bearer bad-key' })).status).toBe(401);
  expect((await send({ authorization: 'Bearer good' })).status).toBe(200);
  expect(server.problems).toEqual([]);
});

test('a missing version, another content type and broken JSON are refused', async () => {
  const server = await model([reply('ok')]);
  const { 'anthropic-version': _version, ...unversioned } = headers;
  const response = await fetch(`${server.url}/v1/messages`, { method: 'POST', headers: unversioned, body: '{}' });
  expect(await refusal(response)).toMatchObject({ status: 400, message: 'anthropic-version: header is required' });
  expect((await refusal(await post(server, hello, { 'content-type': 'text/plain' }))).status).toBe(415);
  expect((await refusal(await post(server, '{"model":'))).message).toContain('not valid JSON');
  expect(server.problems).toHaveLength(3);
});

test('both versions of the API are spoken: the new one refuses sampling parameters, the old one takes them', async () => {
  const server = await model([reply('ok', { times: 'any' })]);
  const sampled = { ...hello, temperature: 1 };
  const version = (date: string) => ({ 'anthropic-version': date });
  expect((await post(server, sampled, version('2023-06-01'))).status).toBe(200);
  expect((await refusal(await post(server, sampled, version('2026-10-21')))).message).toContain('temperature: ');
  expect((await refusal(await post(server, hello, version('2024-01-01')))).message).toContain('is not a valid version');
});

test('a beta field is let in with a beta header', async () => {
  const server = await model([reply('ok')]);
  const body = { ...hello, context_management: {} };
  expect((await post(server, body, { 'anthropic-beta': 'context-management-2025-06-27' })).status).toBe(200);
});

test('a body over 32 MB is a 413', async () => {
  const server = await model([reply('ok')]);
  const huge = { ...hello, messages: [{ role: 'user', content: 'x'.repeat(33 * 1_024 * 1_024) }] };
  expect(await refusal(await post(server, huge))).toMatchObject({ status: 413, type: 'request_too_large' });
  expect(server.problems).toEqual([]);
});

test('a prompt over the window is too long, in the words of the API', async () => {
  const server = await model([reply('ok')], { window: 1_000 });
  const long = { ...hello, messages: [{ role: 'user', content: 'x'.repeat(8_000) }] };
  expect(await refusal(await post(server, long))).toMatchObject({
    status: 400,
    message: expect.stringMatching(/^prompt is too long: \d+ tokens > 1000 maximum$/),
  });
  expect((await post(server, hello)).status).toBe(200);
  expect(server.problems).toEqual([]);
});

test('a model can be looked up with the limits of the server, and other paths are not found', async () => {
  const server = await model({ replies: [], window: 50_000, maxOutputTokens: 4_000 });
  const found = await sdk(server).models.retrieve('claude-test-1');
  expect(found).toMatchObject({ id: 'claude-test-1', max_input_tokens: 50_000, max_tokens: 4_000 });
  expect((await post(server, hello, {}, '/v1/complete')).status).toBe(404);
});
