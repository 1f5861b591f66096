// Bodies and addresses that no program would send: each is answered in the error envelope, and none
// is a defect of the server.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stagedManaged } from './staged.ts';

const bodies: readonly (readonly [path: string, body: object])[] = [
  [
    '/agents',
    {
      name: 'a',
      model: { id: 'm', effort: 'low' },
      metadata: { a: 'b' },
      tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'bash', enabled: true }] }],
    },
  ],
  ['/memory_stores', { name: 'a', description: 'b', metadata: {} }],
  ['/environments', { name: 'a', config: { type: 'cloud', networking: { type: 'unrestricted' } } }],
  ['/sessions', { agent: 'agent_x', environment_id: 'env_default', metadata: {} }],
  [
    `/sessions/sesn_${'a'.repeat(26)}/events`,
    { events: [{ type: 'user.message', content: [{ type: 'text', text: 'x' }] }, { type: 'user.interrupt' }] },
  ],
];

/** Puts `value` where the path of choices leads in a copy of `body`. */
function mutate(body: unknown, choices: readonly number[], value: unknown): unknown {
  const [choice, ...rest] = choices;
  if (choice === undefined || typeof body !== 'object' || body === null) return value;
  const keys = Object.keys(body);
  const key = keys.length === 0 ? 'odd' : keys[choice % keys.length]!;
  if (Array.isArray(body))
    return body.map((item: unknown, at) => (String(at) === key ? mutate(item, rest, value) : item));
  return { ...body, [key]: mutate((body as Readonly<Record<string, unknown>>)[key], rest, value) };
}

const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('__proto__', null, [], {}, -1, '\u0000', '💥', 'x'.repeat(2_000)),
);

test('any body is answered with a resource or the error envelope, never with a defect (G16)', async () => {
  const { ask } = stagedManaged();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...bodies),
      fc.array(fc.nat(9), { maxLength: 6 }),
      anything,
      async ([path, body], choices, value) => {
        const response = await ask(path, {
          method: 'POST',
          headers: { 'x-api-key': 'secret', 'content-type': 'application/json' },
          body: JSON.stringify(mutate(body, choices, value)),
        });
        const answer = (await response.json()) as { type: string; error?: { type: string; message: string } };
        expect([answer, response.status < 500]).toEqual([answer, true]);
        if (response.ok) return;
        expect(answer).toMatchObject({ type: 'error', error: { type: expect.any(String) as unknown } });
        expect(answer.error?.message).toMatch(/^[^\n]+$/);
      },
    ),
    { numRuns: 200 },
  );
});

test('any address is answered in the envelope (G13 G16)', async () => {
  const { ask } = stagedManaged();
  const names = fc.constantFrom(
    'limit',
    'page',
    'order',
    'statuses[]',
    'types',
    'created_at[gt]',
    'version',
    '[]',
    'a[0]',
  );
  const paths = fc.constantFrom(
    '/agents',
    '/agents/x',
    '/environments',
    '/sessions',
    '/sessions/x/events',
    '/odd',
    '/sessions/x/events/stream',
  );
  await fc.assert(
    fc.asyncProperty(paths, fc.dictionary(names, fc.string()), async (path, query) => {
      const response = await ask(`${path}?${new URLSearchParams(query).toString()}`, {
        headers: { 'x-api-key': 'secret' },
      });
      const answer = (await response.json()) as { request_id?: string };
      expect([query, response.status < 500]).toEqual([query, true]);
      if (!response.ok) expect(answer.request_id).toBe(response.headers.get('request-id'));
    }),
    { numRuns: 150 },
  );
});
