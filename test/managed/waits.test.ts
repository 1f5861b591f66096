// Waits as events (pure), and the rules of what settles them (the real SDK against the app, with a
// transcript in memory).
import { describe, expect, test } from 'vitest';
import { NO_MESSAGE } from '../../managed/events/wait-parts.ts';
import { callEventId, emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import type { Entry } from '../../client/index.ts';
import { OWNER } from '../../page/hosting/people.ts';
import { nextSegment } from '../../store/view/append.ts';
import { emptyView } from '../../store/view/view.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { GivenResult, SettledEntry, WaitingCall } from '../../workflows/contract/waits.ts';
import { callBlock, outcome, outcomes, reply, runEnded } from '../support/transcript.ts';
import { description } from '../client/support.ts';
import { AGENT, codeOf, errorOf, HEADERS, stagedManaged, text, token } from './staged.ts';

const SESSION = `sesn_${'a'.repeat(26)}`;
const T = 1_770_000_000_000;

const asked = (session = SESSION) =>
  [
    { kind: 'run_started', run: 1, config: 'c' as Hash, at: T },
    { kind: 'user', id: 'm' as MessageId, body: { kind: 'text', text: `Go ${session}.` } },
    reply([callBlock('c1', { id: '7' }, 'get_order'), callBlock('c2', { command: 'git push' }, 'bash')], {
      judged: { 0: 'custom', 1: 'ask' },
      at: T + 1,
    }),
  ] satisfies Entry[];
const wait = (...calls: WaitingCall[]): Entry => ({ kind: 'wait', calls, at: T + 2 });
const settled = (call: string, how: SettledEntry['how'], more: Partial<SettledEntry> = {}): Entry => ({
  kind: 'settled',
  call,
  how,
  at: T + 3,
  ...more,
});
const both = wait({ call: '1.1.0', why: 'custom' }, { call: '1.1.1', why: 'ask' });
const shipped = { body: { kind: 'text', text: 'shipped' } } as const;

const project = (entries: readonly Entry[], session = SESSION) => projectEntries(emptyProjection(session), entries);
const written = (entries: readonly Entry[]) => project(entries).facts.map((fact) => fact.make(new Map()));
const typesOf = (entries: readonly Entry[]): readonly string[] =>
  project(entries)
    .facts.map(({ type }) => type)
    .filter((type) => !type.startsWith('span.'));

describe('a custom tool and an ask in one reply', () => {
  const denied = settled('1.1.1', 'deny', { message: 'no pushes', by: 'ann' });
  const trace = [
    ...asked(),
    both,
    settled('1.1.0', 'result', { result: shipped }),
    denied,
    outcomes(outcome(0, 'shipped'), outcome(1, 'Not run: denied', { isError: true })),
    runEnded(1),
  ];

  test('are told, waited for and settled as the contract traces it (G37 G38 G39)', () => {
    expect(typesOf(trace)).toEqual([
      'user.message',
      'session.status_running',
      'agent.tool_use',
      'agent.custom_tool_use',
      'session.usage',
      'session.status_idle',
      'user.custom_tool_result',
      'session.usage',
      'session.status_idle',
      'user.tool_confirmation',
      'session.status_running',
      'agent.tool_result',
      'session.usage',
      'session.status_idle',
    ]);
    const events = written(trace);
    const idOf = (type: string) => events.find((event) => event.type === type)?.id ?? '';
    const [custom, bash] = [idOf('agent.custom_tool_use'), idOf('agent.tool_use')];
    const idles = events.filter((event) => event.type === 'session.status_idle');
    expect(idles.map(({ stop_reason }) => stop_reason)).toEqual([
      { type: 'requires_action', event_ids: [custom, bash] },
      { type: 'requires_action', event_ids: [bash] },
      { type: 'end_turn' },
    ]);
    expect(events.find(({ type }) => type === 'agent.tool_use')).toMatchObject({ evaluated_permission: 'ask' });
    expect(events.find(({ type }) => type === 'user.custom_tool_result')).toMatchObject({
      custom_tool_use_id: custom,
      content: [{ type: 'text', text: 'shipped' }],
      is_error: false,
    });
    expect(events.find(({ type }) => type === 'user.tool_confirmation')).toMatchObject({
      tool_use_id: bash,
      result: 'deny',
      deny_message: 'no pushes',
    });
  });

  test('have unique ids and rising times, the same however the transcript is read (G30 G31)', () => {
    const whole = written(trace);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    const times = whole.map(({ processed_at }) => String(processed_at));
    expect(times).toEqual([...new Set(times)].toSorted());
    for (let cut = 0; cut <= trace.length; cut += 1) {
      const first = project(trace.slice(0, cut));
      const second = projectEntries(first.projection, trace.slice(cut));
      const facts = [...first.facts, ...second.facts];
      expect(facts.map((fact) => fact.make(new Map()))).toEqual(whole);
    }
  });

  test('have the usage of the replies so far right before each idle (G38)', () => {
    const events = written(trace);
    for (const [at, { type }] of events.entries())
      if (type === 'session.status_idle') expect(events[at - 1]).toMatchObject({ type: 'session.usage' });
  });
});

test('a time that is over, and a decision without words, are told as what they are (G37)', () => {
  const expired = [...asked(), wait({ call: '1.1.1', why: 'ask' }), settled('1.1.1', 'expired')];
  expect(typesOf(expired).slice(-2)).toEqual(['session.status_idle', 'session.status_running']);
  const bare = written([...asked(), both, settled('1.1.1', 'deny', { message: NO_MESSAGE })]);
  expect(bare.find(({ type }) => type === 'user.tool_confirmation')).not.toHaveProperty('deny_message');
});

test('a call that asks once more waits anew under its event, and both decisions are told (G33 L55)', () => {
  const twice = [
    ...asked(),
    wait({ call: '1.1.1', why: 'ask' }),
    settled('1.1.1', 'allow'),
    wait({ call: '1.1.1+2', why: 'ask' }),
    settled('1.1.1+2', 'deny', { message: 'no' }),
  ];
  const confirmations = written(twice).filter((event) => event.type === 'user.tool_confirmation');
  expect(confirmations.map(({ result }) => result)).toEqual(['allow', 'deny']);
  expect(new Set(confirmations.map(({ tool_use_id }) => tool_use_id)).size).toBe(1);
  expect(new Set(confirmations.map(({ id }) => id)).size).toBe(2);
});

test('a custom call that an interrupt ends has a result if an app was told of it, and no event else (G45)', () => {
  const interrupted: Entry = { kind: 'steered', steered: { action: 'interrupt', at: T + 3 } };
  const end = [interrupted, outcomes(outcome(0, 'stopped', { isError: true })), runEnded(1)];
  expect(typesOf([...asked(), both, ...end]).slice(6)).toEqual([
    'user.interrupt',
    'user.custom_tool_result',
    'session.usage',
    'session.status_idle',
  ]);
  expect(typesOf([...asked(), ...end])).not.toContain('user.custom_tool_result');
  expect(typesOf([...asked(), ...end])).not.toContain('agent.custom_tool_use');
});

type Stage = { readonly entries: readonly Entry[]; readonly waits?: number };

/** A session whose transcript goes on from stage to stage, each time it is settled or looked at. */
async function staged(stages: readonly Stage[], advanceBy: 'looks' | 'settling' = 'settling') {
  let at = 0;
  const next = (): void => void (at = Math.min(at + 1, stages.length - 1));
  const heads: Hash[] = [];
  const given: GivenResult[] = [];
  const all = stagedManaged({
    newestStep: async () => {
      const head = heads[at] ?? null;
      if (advanceBy === 'looks') next();
      return { head };
    },
    giveResult: async (_session, result) => {
      given.push(result);
      next();
    },
  });
  const agent = await all.client.beta.agents.create(AGENT);
  const { id } = await all.client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
  await all.client.beta.sessions.events.send(id, { events: [text('Go.')] });
  for (const { entries } of stages) {
    const { hash, bytes } = nextSegment(emptyView(id as SessionId), entries);
    await all.store.put(bytes);
    heads.push(hash);
  }
  const { waits = 0 } = stages[0] ?? {};
  all.described.set(id, description({ session: id as SessionId, phase: 'parked', ...(waits > 0 && { waits }) }));
  all.calls.length = 0;
  const { projection } = project(stages[0]?.entries ?? [], id);
  const [custom, bash] = [callEventId(projection, 0), callEventId(projection, 1)];
  const send = (...events: readonly object[]) => all.client.beta.sessions.events.send(id, { events: events as never });
  return { ...all, id, custom, bash, send, given, next };
}

const openStage = (): Stage => ({ entries: [...asked(), both], waits: 2 });
const result = (custom_tool_use_id: string, words: string) => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  content: [{ type: 'text', text: words }],
});

describe('what is sent to a session that waits', () => {
  test('is refused for a message with the ids, and for calls of another kind, before anything is done (G44 G45)', async () => {
    const { send, custom, bash, client, id, calls, given } = await staged([openStage()]);
    expect((await client.beta.sessions.retrieve(id)).status).toBe('idle');
    const message = await errorOf(send(text('Hello?')));
    expect([message.status, codeOf(message)]).toEqual([400, 'session_requires_action']);
    expect(message.message).toContain(`waiting on responses to events [${custom}, ${bash}]; only`);
    const confirmation = { type: 'user.tool_confirmation', result: 'allow' };
    const refusals: readonly (readonly [object, string])[] = [
      [{ ...confirmation, tool_use_id: custom }, 'is an event of type agent.custom_tool_use'],
      [{ ...confirmation, tool_use_id: 'sevt_x' }, 'is no call of this session'],
      [result(bash, 'x'), 'is an event of type agent.tool_use'],
      [{ ...confirmation, tool_use_id: bash, deny_message: 'x' }, 'deny_message goes with'],
      [{ ...confirmation, tool_use_id: bash, result: 'deny', deny_message: 'x'.repeat(2_001) }, 'over 2000 characters'],
      [{ type: 'user.tool_result', tool_use_id: bash }, 'does not wait'],
    ];
    for (const [event, why] of refusals) {
      const refused = await errorOf(send(result(custom, 'shipped'), event));
      expect([refused.status, refused.message]).toEqual([400, expect.stringContaining(why)]);
    }
    expect((await errorOf(send(result(custom, 'a'), result(custom, 'b')))).message).toContain('settled twice');
    expect([calls, given]).toEqual([[], []]);
  });

  test('settles a call once: the same again finds it, and something else is refused (G45 G47)', async () => {
    const { send, custom, given } = await staged([
      openStage(),
      { entries: [...asked(), both, settled('1.1.0', 'result', { result: shipped, by: OWNER })] },
    ]);
    const { data: first } = await send(result(custom, 'shipped'));
    expect(given).toMatchObject([{ call: '1.1.0', result: { body: { text: 'shipped' } }, by: OWNER }]);
    expect((await send(result(custom, 'shipped'))).data).toEqual(first);
    const other = await errorOf(send(result(custom, 'lost')));
    expect([other.status, other.message]).toEqual([400, expect.stringContaining('by a user.custom_tool_result')]);
    expect(given).toHaveLength(1);
  });

  test('is kept where it is refused, once, and listed for whoever looks (G50)', async () => {
    const { as, ask, send, custom, id } = await staged([
      { entries: [...asked(), both, settled('1.1.0', 'result', { result: shipped, by: OWNER })] },
    ]);
    await send(result(custom, 'shipped'));
    for (const words of ['lost', 'lost', 'found'])
      expect((await errorOf(send(result(custom, words)))).status).toBe(400);
    const headers = { ...HEADERS, 'x-api-key': token('look') };
    const path = `/x/perdure/sessions/${id}/refused`;
    const kept = {
      type: 'refused_result',
      tool_use_id: custom,
      reason: 'late',
      by: OWNER,
      work_id: null,
      is_error: false,
    };
    expect(await (await ask(path, { headers })).json()).toEqual({
      data: ['lost', 'found'].map((words) => ({
        ...kept,
        created_at: expect.any(String) as unknown,
        content: [{ type: 'text', text: words }],
      })),
    });
    await as('secret').beta.sessions.archive(id);
    await as('secret').beta.sessions.delete(id);
    expect((await ask(path, { headers })).status).toBe(404);
  });

  test('may be confirmed by whoever decides, and nothing else may be sent by them (G19)', async () => {
    const allowed = { entries: [...asked(), both, settled('1.1.1', 'allow', { by: 'decideer' })] };
    const { as, id, bash, custom, calls } = await staged([openStage(), openStage(), allowed], 'looks');
    const { events } = as(token('decide')).beta.sessions;
    const decide = (...sent: readonly object[]) => events.send(id, { events: sent as never });
    const confirmation = { type: 'user.tool_confirmation', result: 'allow', tool_use_id: bash };
    for (const more of [[text('Hi.')], [{ type: 'user.interrupt' }], [confirmation, result(custom, 'x')]])
      expect((await errorOf(decide(...more))).status).toBe(403);
    expect((await decide(confirmation)).data).toMatchObject([{ type: 'user.tool_confirmation', result: 'allow' }]);
    expect(calls).toMatchObject([['approve', id, '1.1.1', { by: 'decideer' }]]);
  });

  test('is sent once its call waits, where an event told of the call before that (G49)', async () => {
    const allowed = { entries: [...asked(), both, settled('1.1.1', 'allow', { by: OWNER })] };
    const early: Stage = { entries: asked() };
    const { send, bash, calls } = await staged([early, early, early, openStage(), allowed], 'looks');
    const { data } = await send({ type: 'user.tool_confirmation', result: 'allow', tool_use_id: bash });
    expect(data).toMatchObject([{ type: 'user.tool_confirmation', tool_use_id: bash }]);
    expect(calls.filter(([name]) => name === 'approve')).toHaveLength(1);
  });

  test('loses to who was faster with what that was, and to the end of the run (G47)', async () => {
    const denied = { entries: [...asked(), both, settled('1.1.1', 'deny', { message: 'no', by: 'ann' })] };
    const ended = { entries: [...asked(), both, outcomes(outcome(0, 'x'), outcome(1, 'y')), runEnded(1)] };
    for (const [after, why] of [
      [denied, 'by a user.tool_confirmation'],
      [ended, 'does not wait'],
    ] as const) {
      const { send, bash } = await staged([openStage(), openStage(), after], 'looks');
      const lost = await errorOf(send({ type: 'user.tool_confirmation', result: 'allow', tool_use_id: bash }));
      expect([lost.status, lost.message]).toEqual([400, expect.stringContaining(why)]);
    }
  });

  test('takes a system message with a result, and not where the result was taken without it (G46)', async () => {
    const stage = { entries: [...asked(), both, settled('1.1.0', 'result', { result: shipped, by: OWNER })] };
    const { send, custom, given } = await staged([openStage(), stage]);
    const system = { type: 'system.message', content: [{ type: 'text', text: 'Be brief.' }] };
    const lost = await errorOf(send(result(custom, 'shipped'), system));
    expect(given).toMatchObject([{ call: '1.1.0', system: { text: 'Be brief.' } }]);
    expect([lost.status, lost.message]).toEqual([400, expect.stringContaining('was taken without it')]);
  });

  test('is a message where an interrupt, or what settles all, comes in the same request (G45)', async () => {
    const { send, calls } = await staged([openStage()]);
    await send({ type: 'user.interrupt' }, text('Something else.'));
    expect(calls.map(([name]) => name)).toEqual(['interrupt', 'start']);
  });
});
