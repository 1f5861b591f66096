// Where a request may have a system message, and which models take one (G46): the real SDK against
// the app.
import { describe, expect, test } from 'vitest';
import { emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { LONGEST_SYSTEM_MESSAGE } from '../../workflows/contract/people.ts';
import { userAppends } from '../../workflows/machine/transitions.ts';
import { AGENT, codeOf, errorOf, stagedManaged, text } from './staged.ts';

const system = (...texts: readonly string[]) => ({
  type: 'system.message' as const,
  content: texts.map((words) => ({ type: 'text' as const, text: words })),
});

async function begun(model = 'claude-sonnet-5-5') {
  const all = stagedManaged();
  const agent = await all.client.beta.agents.create({ ...AGENT, model });
  const { id } = await all.client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
  const send = (...events: readonly object[]) => all.client.beta.sessions.events.send(id, { events: events as never });
  return { ...all, id, send };
}

describe('a system message', () => {
  test('goes with the message before it, in one piece, and is queued with an id of its own', async () => {
    const { send, calls } = await begun();
    const { data = [] } = await send(text('One.'), text('Go.'), system('Be brief.', 'Be kind.'));
    expect(data).toMatchObject([{}, {}, { ...system('Be brief.\nBe kind.'), processed_at: null }]);
    const starts = calls.filter(([name]) => name === 'start').map((call) => call[4]);
    expect(starts).toMatchObject([
      { messageId: data[0]?.id },
      { messageId: data[1]?.id, systemMessage: { id: data[2]?.id, text: 'Be brief.\nBe kind.' } },
    ]);
    expect(starts[0]).not.toHaveProperty('systemMessage');
  });

  test.each([
    ['alone', [system('x')], 'must follow a user.message'],
    ['first', [system('x'), text('Go.')], 'must be the last event'],
    ['after an interrupt', [{ type: 'user.interrupt' }, system('x')], 'must follow a user.message'],
    ['twice', [text('Go.'), system('x'), system('y')], 'must be the last event'],
    ['blank', [text('Go.'), system(' ')], 'has no text'],
    ['too long', [text('Go.'), system('x'.repeat(LONGEST_SYSTEM_MESSAGE + 1))], 'give at most'],
    ['without blocks', [text('Go.'), system()], 'content'],
  ])('is refused where it stands %s, and nothing is sent', async (_where, events, why) => {
    const { send, calls } = await begun();
    const refused = await errorOf(send(...events));
    expect([refused.status, refused.message]).toEqual([400, expect.stringContaining(why)]);
    expect(calls).toEqual([]);
  });

  test('is refused for a model that takes none, and among initial events', async () => {
    const { send, calls, client } = await begun('claude-haiku-4-5');
    const refused = await errorOf(send(text('Go.'), system('x')));
    expect([refused.status, codeOf(refused)]).toEqual([400, 'model_does_not_support_mid_conversation_system']);
    const agent = await client.beta.agents.create(AGENT);
    const initial_events = [text('Go.'), system('x')] as never;
    const body = { agent: agent.id, environment_id: 'env_default', initial_events };
    expect((await errorOf(client.beta.sessions.create(body))).status).toBe(400);
    expect(calls).toEqual([]);
  });

  test('is an event with the id that its sender was answered', () => {
    const id = `sevt_${'s'.repeat(26)}`;
    const body = { kind: 'text', text: 'Go.' } as const;
    const appends = userAppends({ id: 'm' as MessageId, body, system: { id, text: 'Be brief.' } });
    const { facts } = projectEntries(emptyProjection('sesn_x'), appends as Extract<Append, { kind: 'user' }>[]);
    expect(facts.map((fact) => fact.make(new Map()))).toMatchObject([
      { type: 'user.message' },
      { id, ...system('Be brief.'), processed_at: expect.any(String) as unknown },
    ]);
  });
});
