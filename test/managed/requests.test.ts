// What holds for every request: who may ask, what is refused, and in which words.
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { ownRoutes, servedRoutes } from '../../managed/surface.ts';
import { AGENT, codeOf, errorOf, HEADERS, post, stagedManaged, token } from './staged.ts';

describe('every request', () => {
  test('has an id in its header and its error, and never HTML (G13)', async () => {
    const { ask } = stagedManaged();
    for (const path of ['/agents', '/agents/x', '/nothing', '/messages', '/files/file_1/content']) {
      const response = await ask(path, { headers: HEADERS });
      expect(response.headers.get('request-id')).toMatch(/^req_[0-9a-z]{26}$/);
      expect(response.headers.get('content-type')).toContain('application/json');
      const body = (await response.json()) as { request_id?: string };
      if (!response.ok) expect(body.request_id).toBe(response.headers.get('request-id'));
    }
  });

  test.each([
    ['messages.create', (client: Anthropic) => client.messages.create({ model: 'm', max_tokens: 1, messages: [] })],
  ] as const)('to %s is refused by name, not by a bare 404 (G6)', async (_name, request) => {
    const error = await errorOf(Promise.resolve(request(stagedManaged().client)));
    expect(error).toBeInstanceOf(Anthropic.NotFoundError);
    expect([codeOf(error), error.headers?.get('x-should-retry')]).toEqual(['perdure_not_served', 'false']);
  });

  test('needs a token, by either header; Bearer goes first; a cookie is none (G19 G20)', async () => {
    const { ask } = stagedManaged();
    const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await ask('/agents', { headers })).status;
    expect(await status({ 'x-api-key': 'secret' })).toBe(200);
    expect(await status({ authorization: 'Bearer secret' })).toBe(200);
    expect(await status({ authorization: 'Bearer wrong', 'x-api-key': 'secret' })).toBe(401);
    expect(await status({})).toBe(401);
    expect(await status({ cookie: '__Host-perdure=secret' })).toBe(401);
    expect(await status({ 'x-api-key': 'secret', host: 'evil.example' })).toBe(421);
    expect(await status({ 'x-api-key': 'secret', origin: 'https://evil.example' })).toBe(403);
  });

  test.each([...servedRoutes, ...ownRoutes].map((route) => [route.name, route] as const))(
    'to %s asks for the role of its row (G19)',
    async (_name, { method, path, role }) => {
      const { ask } = stagedManaged();
      const url = path.replaceAll(/\{(\w+)\}/g, 'x');
      const ranks = ['look', 'decide', 'steer'];
      for (const own of ranks) {
        const headers = { 'x-api-key': token(own), 'content-type': 'application/json' };
        const { status } = await ask(url, {
          method: method.toUpperCase(),
          headers,
          ...(method === 'post' && { body: '{}' }),
        });
        const needed = role === null ? Infinity : ranks.indexOf(role);
        expect([own, status === 403]).toEqual([own, ranks.indexOf(own) < needed]);
      }
    },
  );

  test('with another date of the beta is refused, and any other beta passed over (G17 G18)', async () => {
    const { ask } = stagedManaged();
    const status = async (beta: string): Promise<number> =>
      (await ask('/agents', { headers: { ...HEADERS, 'anthropic-beta': beta } })).status;
    expect(await status('managed-agents-2026-04-01,files-api-2025-04-14')).toBe(200);
    expect(await status('managed-agents-2026-04-01,managed-agents-2026-04-01-research-preview')).toBe(200);
    expect(await status('managed-agents-2027-01-01')).toBe(400);
  });

  test('has strict bodies: the first unknown field is named by its path (G16)', async () => {
    const { ask } = stagedManaged();
    const errorFor = async (body: unknown) => {
      const response = await ask('/agents', post(body));
      const { error } = (await response.json()) as { error: { message: string; type: string } };
      return [response.status, error.type, error.message];
    };
    expect(await errorFor({ ...AGENT, extra: 1 })).toEqual([
      400,
      'invalid_request_error',
      'extra: Extra inputs are not permitted',
    ]);
    const [, , nested] = await errorFor({ ...AGENT, tools: [{ type: 'agent_toolset_20260401', nested: 1 }] });
    expect(nested).toBe('tools.0.nested: Extra inputs are not permitted');
    expect((await errorFor({ model: 'm' }))[2]).toMatch(/^name: /);
    expect((await errorFor('{'))[2]).toMatch(/^The body is not JSON/);
    expect((await errorFor({ ...AGENT, metadata: { a: 'x'.repeat(513) } }))[2]).toMatch(/^metadata\.a: /);
    const nulls = await ask('/agents', post({ ...AGENT, metadata: null, tools: null }));
    expect(nulls.status).toBe(200);
  });

  test('that is too large, no JSON, or of no known method is refused in the envelope (G13)', async () => {
    const { ask } = stagedManaged();
    expect((await ask('/agents', post({ name: 'x'.repeat(9 * 1024 * 1024) }))).status).toBe(413);
    expect((await ask('/agents', post('a=b', { 'content-type': 'text/plain' }))).status).toBe(415);
    expect((await ask('/agents', { method: 'PUT', headers: HEADERS })).status).toBe(404);
  });

  test('reads lists of an address in every form that the SDKs send (G17)', async () => {
    const { ask } = stagedManaged();
    for (const query of ['statuses[]=idle', 'statuses=idle&statuses=running', 'statuses[0]=idle', 'beta=true'])
      expect([query, (await ask(`/sessions?${query}`, { headers: HEADERS })).status]).toEqual([query, 200]);
    for (const query of ['statuses=odd', 'unknown=1', 'limit=0', 'limit=1001', 'created_at[gt]=today', 'page=x'])
      expect([query, (await ask(`/sessions?${query}`, { headers: HEADERS })).status]).toEqual([query, 400]);
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'with the field %s, which every object has, is refused as any unknown one (G16)',
    async (name) => {
      const { ask } = stagedManaged();
      for (const query of [`${name}=1`, `${name}[]=1`, `${name}=1&${name}=2`])
        expect([query, (await ask(`/sessions?${query}`, { headers: HEADERS })).status]).toEqual([query, 400]);
      for (const value of ['null', '1', '{}']) {
        const body = `{"name":"a","model":"m","${name}":${value}}`;
        expect([body, (await ask('/agents', post(body))).status]).toEqual([body, 400]);
      }
    },
  );

  test('for a stream that is refused takes no place of those that are open (G42)', async () => {
    const { ask, client } = stagedManaged();
    const agent = await client.beta.agents.create(AGENT);
    const { id } = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
    const bad = ['/sessions/x/events/stream', `/sessions/${id}/events/stream?foo=1`];
    for (let n = 0; n < 120; n += 1)
      expect((await ask(bad[n % 2]!, { headers: HEADERS })).status).toBe(n % 2 === 0 ? 404 : 400);
    const stream = await ask(`/sessions/${id}/events/stream`, { headers: HEADERS });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });
});
