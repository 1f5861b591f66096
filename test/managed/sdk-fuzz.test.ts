// Requests that the SDK's types allow, and such with one value changed, by the SDK itself: each is
// answered in its types or in its error envelope, and none is a defect of the server. FUZZ_SEED and
// FUZZ_REQUESTS draw others and more: 10,000 are half a minute.
import Anthropic, { toFile } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { servedRoutes } from '../../managed/surface.ts';
import { random, type Random } from '../support/random.ts';
import { type SdkMethod, sdkMethods } from './sdk-methods.ts';
import { AGENT, HEADERS, post, stagedManaged, text } from './staged.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 1_500);
/** One in so many requests has a value that its type does not have. */
const WRONG_IN = 3;

type Face = ReturnType<typeof stagedManaged>;

/** Ids of what exists, by the names of fields. */
async function seeded({ client, ask }: Face) {
  const agent = await client.beta.agents.create(AGENT);
  const own = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const session = await client.beta.sessions.create({ agent: agent.id, environment_id: own.id });
  const file = await client.beta.files.upload({ file: await toFile(Buffer.from('x'), 'x.txt') });
  const made = await ask(`/x/perdure/environments/${own.id}/keys`, post({}, HEADERS));
  const { key } = (await made.json()) as { key: string };
  const { memoryStores } = client.beta;
  const { id: store } = await memoryStores.create({ name: 'Notes' });
  const memory = await memoryStores.memories.create(store, { path: '/a', content: 'a' });
  const vault = await client.beta.vaults.create({ display_name: 'Ana' });
  const auth = { type: 'mcp_oauth', mcp_server_url: 'https://example.com/mcp', access_token: 'token' } as const;
  const credential = await client.beta.vaults.credentials.create(vault.id, { auth });
  const at = { agent: agent.id, environment_id: 'env_default', initial_events: [text('Go.')] };
  const deployment = await client.beta.deployments.create({ ...at, name: 'Report' });
  const { id: run } = await client.beta.deployments.run(deployment.id);
  const deployments = { deployment: deployment.id, run };
  const ids = {
    vault: vault.id,
    credential: credential.id,
    agent: agent.id,
    environment: own.id,
    session: session.id,
    file: file.id,
    ...deployments,
  };
  return { ...ids, store, memory: memory.id, version: memory.memory_version_id, key };
}

type Seeded = Awaited<ReturnType<typeof seeded>>;

const ODD = ['', ' ', '..', '%2e%2e', '__proto__', '\u0000', '💥', 'x'.repeat(3_000), 'null', '-1', '\ud800'] as const;

function stringFor({ agent, environment, session, ...own }: Seeded, name: string, dice: Random): string {
  if (dice.nat(9) === 0) return dice.pick(ODD);
  if (/deployment_?run/i.test(name)) return own.run;
  if (/deployment/i.test(name)) return own.deployment;
  if (/agent/i.test(name)) return agent;
  if (/environment/i.test(name)) return dice.pick([environment, 'env_default']);
  if (/session|scope/i.test(name)) return session;
  if (/memory_?store/i.test(name)) return own.store;
  if (/memory_?version/i.test(name)) return own.version;
  if (/memory/i.test(name)) return own.memory;
  if (/vault/i.test(name)) return own.vault;
  if (/credential/i.test(name)) return own.credential;
  if (/file|^ids$/i.test(name)) return own.file;
  if (name === 'expression') return dice.pick(['0 9 * * 1-5', '* * * * *', '0 0 30 2 *', '@daily']);
  if (name === 'timezone') return dice.pick(['UTC', 'America/Los_Angeles', '+02:00']);
  if (name === 'path') return dice.pick(['/a', '/a/b', `/n/${dice.nat(99)}`]);
  if (name === 'path_prefix') return dice.pick(['/', '/n/']);
  if (name === 'mount_path') return dice.pick(['/a.csv', 'a/b', '../x']);
  if (/created|expires/.test(name)) return dice.pick(['2026-01-31T12:00:00Z', '1999-01-01T00:00:00.123456+02:00']);
  if (name === 'data') return dice.pick(['aGVsbG8=', 'no base64!']);
  if (name === 'media_type') return dice.pick(['image/png', 'application/pdf', 'text/plain']);
  return dice.pick(['a', 'claude-sonnet-5-5', 'bash', 'https://example.com/x', `x_${dice.nat(99)}`]);
}

/** Changes one value somewhere in what would be sent. */
function spoil(value: unknown, dice: Random): unknown {
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const key = keys[dice.nat(Math.max(0, keys.length - 1))];
  if (key === undefined || dice.nat(3) === 0) return dice.pick([null, 7, '', [], {}, true, 'odd', [[[]]]] as const);
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = spoil(copy[key], dice);
  return copy;
}

/** What came of a request: null where it was answered as the API would. */
async function problemOf(
  client: Anthropic,
  name: string,
  args: readonly unknown[],
  misfit: SdkMethod['misfit'],
): Promise<string | null> {
  const path = name.split('.');
  const owner = path.slice(0, -1).reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], client.beta);
  const method = (owner as Record<string, (...args: unknown[]) => Promise<unknown>>)[path.at(-1) ?? ''];
  try {
    const answer = await method?.apply(owner, [...args]);
    if (answer instanceof Response) return null;
    if (typeof answer !== 'object' || answer === null || !('controller' in answer)) return misfit(answer);
    (answer as { readonly controller: AbortController }).controller.abort();
    return null;
  } catch (error) {
    if (error instanceof Anthropic.APIError) return envelopeProblem(error);
    // The SDK itself refuses paths that lead elsewhere, and values that no header or address holds.
    if (error instanceof Anthropic.AnthropicError || error instanceof TypeError || error instanceof URIError)
      return null;
    throw error;
  }
}

function envelopeProblem({ status, error, requestID }: InstanceType<typeof Anthropic.APIError>): string | null {
  const body = error as { type?: unknown; request_id?: unknown; error?: { type?: unknown; message?: unknown } };
  if (status === undefined || status >= 500) return `status ${status}: ${JSON.stringify(error)}`;
  const isEnvelope = body?.type === 'error' && typeof body.error?.type === 'string' && requestID === body.request_id;
  const isLine = typeof body?.error?.message === 'string' && /^[^\n]+$/.test(body.error.message);
  return isEnvelope && isLine ? null : `status ${status}: ${JSON.stringify(error)}`;
}

test(`${REQUESTS} requests drawn from the SDK's types are answered in its types or its envelope (G4 G13 G16)`, async () => {
  const face = stagedManaged();
  const dice = random(SEED);
  const methods = sdkMethods(servedRoutes.map(({ name }) => name));
  let known = await seeded(face);
  const answered = new Set<string>();
  for (let n = 0; n < REQUESTS; n += 1) {
    const { name, workers } = servedRoutes[dice.nat(servedRoutes.length - 1)]!;
    const isWorkers = workers.length > 0 && dice.bool();
    const client = isWorkers ? face.as('unused').withOptions({ apiKey: null, authToken: known.key }) : face.client;
    // No type says what a file's content is.
    const drawn =
      name === 'files.upload'
        ? [{ file: await toFile(Buffer.from(dice.pick(ODD)), stringFor(known, 'filename', dice)) }]
        : methods.get(name)!.draw(dice, (field, own) => stringFor(known, field, own));
    const args = dice.nat(WRONG_IN - 1) === 0 ? (spoil(drawn, dice) as readonly unknown[]) : drawn;
    const problem = Array.isArray(args) ? await problemOf(client, name, args, methods.get(name)!.misfit) : null;
    expect(problem, `seed ${SEED}, request ${n}: ${name} ${JSON.stringify(args)}`).toBeNull();
    if (problem === null) answered.add(name);
    // What requests archive and delete is made again.
    if (n % 50 === 49) known = await seeded(face);
  }
  expect([...answered].toSorted()).toEqual(servedRoutes.map(({ name }) => name).toSorted());
});
