// What becomes of a session when its first message meets a kill of the server, an archive or a
// deletion.
import { describe, expect, test } from 'vitest';
import { memoryStore } from '../support/memory-store.ts';
import { AGENT, codeOf, errorOf, stagedManaged, text } from './staged.ts';

describe('a first message', () => {
  type Hooks = Parameters<typeof stagedManaged>;
  async function withNewSession(changes: Hooks[0] = {}, aroundStart: Hooks[1] = (_, start) => start()) {
    const staged = stagedManaged(changes, aroundStart);
    const agent = await staged.client.beta.agents.create(AGENT);
    const { id } = await staged.client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
    const send = () => staged.client.beta.sessions.events.send(id, { events: [text('Go.')] });
    const names = () => staged.calls.map(([name]) => name);
    return { ...staged, id, send, names };
  }
  const dieAfter: Hooks[1] = (_, start) => {
    start();
    throw new Error('killed');
  };

  test('whose server dies as the workflow starts leaves a session that is seen and archived (G3 G22)', async () => {
    const { client, id, send, names, restart } = await withNewSession({}, dieAfter);
    expect((await errorOf(send())).status).toBe(500);
    restart();
    expect((await client.beta.sessions.retrieve(id)).status).toBe('running');
    expect((await client.beta.sessions.list({ statuses: ['running'] })).data).toHaveLength(1);
    expect((await client.beta.sessions.archive(id)).status).toBe('terminated');
    expect(names()).toEqual(['start', 'cancel']);
  });

  test('whose server dies as the workflow starts leaves a session that is deleted whole (G22)', async () => {
    const { client, id, send, described, restart } = await withNewSession({}, dieAfter);
    await errorOf(send());
    restart();
    expect(codeOf(await errorOf(client.beta.sessions.delete(id)))).toBe('session_running');
    described.set(id, { ...described.get(id)!, phase: 'idle' });
    await client.beta.sessions.delete(id);
    expect(described.has(id)).toBe(false);
  });

  test('that ends by itself is terminated before its workflow is over (G25 G70)', async () => {
    const { client, id, send, described } = await withNewSession({});
    await send();
    described.set(id, { ...described.get(id)!, phase: 'closed' });
    expect((await client.beta.sessions.retrieve(id)).status).toBe('terminated');
  });

  test('whose server dies before the workflow starts leaves an idle session (G3)', async () => {
    let isKilled = true;
    const { client, id, send, restart } = await withNewSession({}, (_, start) => {
      if (isKilled) throw new Error('killed');
      start();
    });
    await errorOf(send());
    restart();
    expect((await client.beta.sessions.retrieve(id)).status).toBe('idle');
    isKilled = false;
    await send();
    expect((await client.beta.sessions.retrieve(id)).status).toBe('running');
  });

  test.each(['archive', 'delete'] as const)('that races with %s runs nothing on (G22)', async (end) => {
    const staged = await withNewSession({}, async (session, start) => {
      await staged.client.beta.sessions[end](session);
      start();
    });
    const error = await errorOf(staged.send());
    expect([error.status, codeOf(error)]).toEqual(end === 'archive' ? [400, 'session_archived'] : [404, undefined]);
    expect(staged.names()).toEqual(['start', 'cancel']);
  });

  test('to another server, as a deletion is noted, keeps the session that runs (G22)', async () => {
    const store = memoryStore();
    const other = stagedManaged({ store });
    let beforeNext = async (): Promise<void> => undefined;
    const create: typeof store.create = async (key, bytes) => {
      if (key.startsWith('managed/sessions-')) await beforeNext();
      return store.create(key, bytes);
    };
    const { client, id, described } = await withNewSession({ store: { ...store, create } });
    beforeNext = async () => {
      beforeNext = async () => undefined;
      await other.client.beta.sessions.events.send(id, { events: [text('Go.')] });
      described.set(id, other.described.get(id)!);
    };
    expect(codeOf(await errorOf(client.beta.sessions.delete(id)))).toBe('session_running');
    expect((await client.beta.sessions.retrieve(id)).status).toBe('running');
  });

  test('that comes right after an archive starts no workflow (G22)', async () => {
    const staged = await withNewSession({
      openWorkspace: async (session) => {
        await staged.client.beta.sessions.archive(session);
        return `/srv/${session}`;
      },
    });
    expect(codeOf(await errorOf(staged.send()))).toBe('session_archived');
    expect(staged.names()).toEqual([]);
  });
});
