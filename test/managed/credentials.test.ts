// Every kind of credential against every row of the table of paths (G19 G55): who may not ask is
// refused with 401 or 403, and nothing is written for it.
import { type Anthropic, toFile } from '@anthropic-ai/sdk';
import { sessionsTokenFromSecret } from '@anthropic-ai/sdk/lib/environments/worker';
import { describe, expect, test } from 'vitest';
import { ownRoutes, servedRoutes, type ServedRoute } from '../../managed/surface.ts';
import { WorkQueues } from '../../store/sandbox/queue.ts';
import type { Store } from '../../store/values/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { AGENT, post, stagedManaged, token } from './staged.ts';

function countingStore(): Store & { readonly reads: () => number; readonly writes: () => number } {
  const store = memoryStore();
  let [reads, writes] = [0, 0];
  const counted =
    <Args extends unknown[], Result>(write: (...args: Args) => Result) =>
    (...args: Args): Result => ((writes += 1), write(...args));
  return {
    ...store,
    read: (key) => ((reads += 1), store.read(key)),
    put: counted(store.put),
    create: counted(store.create),
    writeStep: counted(store.writeStep),
    reads: () => reads,
    writes: () => writes,
  };
}

type Side = {
  readonly agent: string;
  readonly environment: string;
  readonly session: string;
  readonly work: string;
  /** A memory store that is attached to the session. */
  readonly store: string;
  /** A skill of the session's agent, and its version. */
  readonly skill: string;
  readonly version: string;
  readonly key: string;
  readonly sessionToken: string;
};

/** A session with a worker's lease in an environment of its own, and the same once more. */
async function staged() {
  const store = countingStore();
  const face = stagedManaged({ store });
  const queues = new WorkQueues({ store, now: Date.now });
  const agent = (await face.client.beta.agents.create(AGENT)).id;
  const lease = async (worker: Anthropic, environment_id: string, session: string) => {
    await queues.of(environment_id).ensure(session, 'ana');
    const { id: work, secret } = (await worker.beta.environments.work.poll(environment_id))!;
    const sessionToken = sessionsTokenFromSecret(secret)!;
    const { beta } = worker.withOptions({ authToken: sessionToken });
    await beta.environments.work.ack(work, { environment_id });
    await beta.environments.work.heartbeat(work, { environment_id, expected_last_heartbeat: 'NO_HEARTBEAT' });
    return { work, sessionToken };
  };
  const side = async (name: string): Promise<Side> => {
    const environment = (await face.client.beta.environments.create({ name, config: { type: 'self_hosted' } })).id;
    const { id: notes } = await face.client.beta.memoryStores.create({ name });
    const resources = [{ type: 'memory_store' as const, memory_store_id: notes }];
    const files = [await toFile(Buffer.from(`---\nname: ${name}\ndescription: x\n---\n`), 'a/SKILL.md')];
    const { id: skill, latest_version_id: version } = await face.client.beta.skills.create({ files });
    const skills = [{ type: 'custom' as const, skill_id: skill }];
    const chosen = { type: 'agent_with_overrides' as const, id: agent, skills };
    const { sessions } = face.client.beta;
    const session = (await sessions.create({ agent: chosen, environment_id: environment, resources })).id;
    const made = await face.ask(`/x/perdure/environments/${environment}/keys`, post({}));
    const { key } = (await made.json()) as { key: string };
    const worker = face.as('unused').withOptions({ apiKey: null, authToken: key });
    return {
      agent,
      environment,
      session,
      store: notes,
      skill,
      version,
      key,
      ...(await lease(worker, environment, session)),
    };
  };
  return { ...face, reads: store.reads, writes: store.writes, own: await side('own'), other: await side('other') };
}

type Staged = Awaited<ReturnType<typeof staged>>;

const RANKS = ['look', 'decide', 'steer'] as const;
const changed = (secret: string): string => `${secret.slice(0, -2)}${secret.endsWith('AA') ? 'BB' : 'AA'}`;

/** `may`: of a row, asked about what is the credential's own, or of somebody else. */
type Credential = {
  readonly secret: (staged: Staged) => string;
  readonly may: (route: ServedRoute, whose: 'own' | 'other') => boolean;
};

const never = (): boolean => false;
const ofPerson =
  (rank: number) =>
  ({ role }: ServedRoute): boolean =>
    role !== null && RANKS.indexOf(role) <= rank;
const ofWorker =
  (kind: 'environment key' | 'session token') =>
  ({ workers, path }: ServedRoute, whose: 'own' | 'other'): boolean =>
    (workers as readonly string[]).includes(kind) && (whose === 'own' || !path.includes('{'));

const credentials: Readonly<Record<string, Credential>> = {
  none: { secret: () => '', may: never },
  unknown: { secret: () => 'x'.repeat(43), may: never },
  'a changed environment key': { secret: ({ own }) => changed(own.key), may: never },
  'a changed session token': { secret: ({ own }) => changed(own.sessionToken), may: never },
  'a session token with another session': {
    secret: ({ own, other }) => retold(own.sessionToken, own.session, other.session),
    may: never,
  },
  'the token of the server': { secret: () => 'secret', may: ofPerson(2) },
  'the role look': { secret: () => token('look'), may: ofPerson(0) },
  'the role decide': { secret: () => token('decide'), may: ofPerson(1) },
  'the role steer': { secret: () => token('steer'), may: ofPerson(2) },
  'an environment key': { secret: ({ own }) => own.key, may: ofWorker('environment key') },
  'a session token': { secret: ({ own }) => own.sessionToken, may: ofWorker('session token') },
};

/** A token whose body names another session under the same signature. */
function retold(secret: string, from: string, to: string): string {
  const [, prefix = '', body = '', signature = ''] = /^(pdr-ses-)([^.]*)\.(.*)$/.exec(secret)!;
  const text = Buffer.from(body, 'base64url').toString().replace(from, to);
  return `${prefix}${Buffer.from(text).toString('base64url')}.${signature}`;
}

const idsOf = ({
  agent,
  environment,
  session,
  work,
  store,
  skill,
  version,
}: Side): Readonly<Record<string, string>> => ({
  agent_id: agent,
  environment_id: environment,
  session_id: session,
  work_id: work,
  memory_store_id: store,
  skill_id: skill,
  version,
});

/** Returns whether a request is refused for who asks. */
async function isRefused({ ask }: Staged, secret: string, { method, path }: ServedRoute, side: Side): Promise<boolean> {
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idsOf(side)[name] ?? 'x');
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const body = method === 'post' ? { body: '{}' } : {};
  const query = path.endsWith('/fence') ? '?call=sevt_x' : '';
  const response = await ask(`${url}${query}`, { method: method.toUpperCase(), headers, ...body });
  if (response.ok) {
    await response.body?.cancel();
    return false;
  }
  const { error } = (await response.json()) as { error: { message: string } };
  expect(response.status, `${path}: ${error.message}`).toBeLessThan(500);
  // The fence answers who may ask with 403, too, where the call is over.
  return response.status === 401 || (response.status === 403 && !error.message.startsWith('Not run: call'));
}

describe.each(Object.entries(credentials))('%s', (_name, { secret, may }) => {
  test('is refused wherever its row of the table does not let it in, and nothing is written (G7 G19 G55)', async () => {
    const face = await staged();
    for (const route of [...servedRoutes, ...ownRoutes])
      for (const whose of ['own', 'other'] as const) {
        if (may(route, whose)) continue;
        const before = face.writes();
        expect([route.name, whose, await isRefused(face, secret(face), route, face[whose])]).toEqual([
          route.name,
          whose,
          true,
        ]);
        expect([route.name, face.writes() - before, face.calls]).toEqual([route.name, 0, []]);
      }
  });

  test('is let in wherever its row of the table lets it in (G7 G19 G55)', async () => {
    // What one request deletes, the next one needs.
    for (const route of [...servedRoutes, ...ownRoutes]) {
      if (!may(route, 'own')) continue;
      const face = await staged();
      expect([route.name, await isRefused(face, secret(face), route, face.own)]).toEqual([route.name, false]);
    }
  });
});

test('the token of a lease that is over reads and sends nothing of its session (G55)', async () => {
  const face = await staged();
  const { own, client } = face;
  await client.beta.environments.work.stop(own.work, { environment_id: own.environment, force: true });
  const ofSessions = servedRoutes.filter(({ path }) => path.includes('{session_id}'));
  for (const route of ofSessions.filter(({ name }) => name !== 'sessions.events.send'))
    expect([route.name, await isRefused(face, own.sessionToken, route, own)]).toEqual([route.name, true]);
  const text = [{ type: 'text', text: 'Go.' }];
  for (const [status, event] of [
    [403, { type: 'user.message', content: text }],
    [403, { type: 'user.interrupt' }],
    [400, { type: 'user.tool_result', tool_use_id: 'sevt_x', content: text }],
  ] as const) {
    const response = await face.ask(`/sessions/${own.session}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${own.sessionToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: [event] }),
    });
    expect([event.type, response.status]).toEqual([event.type, status]);
  }
});

test('an environment key that is made up, or of another environment, costs no look at the store (G19)', async () => {
  const face = await staged();
  const { own, other } = face;
  const poll = servedRoutes.find(({ name }) => name === 'environments.work.poll')!;
  const before = face.reads();
  for (const secret of [
    `pdr-env-${own.environment}-${'A'.repeat(43)}`,
    own.key.replace(own.environment, other.environment),
  ])
    expect(await isRefused(face, secret, poll, own)).toBe(true);
  expect(face.reads() - before).toBe(0);
});
