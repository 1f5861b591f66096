// Replies whose calls bring nothing new: the model is told, then people, then the run ends (L34).
import { expect, test } from 'vitest';
import type { OutcomeFacts } from '../../../workflows/contract/activities.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Move, ToolsRan } from '../../../workflows/machine/events.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { apply } from '../../../workflows/machine/transitions.ts';
import { call, rules, state, toolsRan, userMessage } from '../../support/machine.ts';

/** A reply that calls each of these tools; a result is `name=digest`, none where only named. */
function reply(...calls: readonly string[]): ToolsRan {
  const made = calls.map((each, at) => call(at, { name: each.split('=')[0]!, signature: each.split('=')[0]! }));
  const facts = calls.map((each): OutcomeFacts => (each.includes('=') ? { result: each.split('=')[1]! } : {}));
  return toolsRan(made, { facts });
}

type Played = { readonly state: RunState; readonly move: Move; readonly notices: readonly unknown[] };

/** Plays replies to their end or to the last; returns what was said after each. */
function play(replies: readonly ToolsRan[], limits = rules, has = (): boolean => true): Played {
  let now = state();
  const notices: unknown[] = [];
  let move: Move = { do: 'call_model' };
  for (const event of replies) {
    now = absorb(now, limits, event, has);
    move = decide(now, limits, event, has);
    if (move.do !== 'go_round') break;
    const told = 'append' in move.transition ? (move.transition.append ?? []) : [];
    notices.push(...told);
    now = { ...apply(now, move.transition), pending: [] };
  }
  return { state: now, move, notices };
}

const times = (count: number, ...calls: readonly string[]): readonly ToolsRan[] =>
  Array.from({ length: count }, () => reply(...calls));

const said = (count: number, calls: readonly string[], more = {}) => ({
  kind: 'notice',
  notice: { kind: 'same_results', calls, times: count, ...more },
});

test('the same call with the same result is told to the model at the fifth reply and to people at the tenth (L34)', () => {
  expect(play(times(4, 'read=a')).notices).toEqual([]);
  const told = [said(5, ['read']), said(10, ['read'], { forPeople: true })];
  expect(play(times(30, 'read=a')).notices).toEqual(told);
});

test('it ends the run at the bound with a reason that says what was repeated (L34)', () => {
  const { move } = play(times(100, 'read=a'));
  expect(move).toMatchObject({
    do: 'end',
    terminal: { reason: 'fatal_tool_error', detail: expect.stringMatching(/^100 replies in a row .*\(read\)/) },
    append: [{ notice: { kind: 'error' } }],
  });
  expect(play(times(99, 'read=a')).move).toMatchObject({ do: 'go_round' });
  expect(play(times(300, 'read=a'), { ...rules, maxSameResults: null }).move).toMatchObject({ do: 'go_round' });
});

test('calls that take turns, and batches, are as much the same (L34)', () => {
  const turns = Array.from({ length: 12 }, (_, at) => reply(at % 2 === 0 ? 'read=a' : 'edit=failed'));
  expect(play(turns).notices).toHaveLength(2);
  expect(play(times(5, 'read=a', 'glob=b')).notices).toEqual([said(5, ['read', 'glob'])]);
});

test.each<[string, ToolsRan]>([
  ['another result', reply('read=b')],
  ['another call', reply('glob=a')],
  ['another call beside it', reply('read=a', 'glob=a')],
  ['a call that was stopped, or waited for somebody', reply('wait')],
  ['a message of a person', { ...reply('read=a'), queued: [userMessage('m')] }],
])('%s is something new, and the count begins again (L34)', (_what, event) => {
  expect(play([...times(4, 'read=a'), event, ...times(3, 'read=a')]).notices).toEqual([]);
});

test('a run of an earlier release is told nothing and does not end (L3 L34)', () => {
  const { maxSameResults: _none, ...earlier } = rules;
  expect(play(times(150, 'read=a'), earlier)).toMatchObject({ move: { do: 'go_round' }, notices: [] });
  const without = play(times(150, 'read=a'), rules, () => false);
  expect(without).toMatchObject({ move: { do: 'go_round' }, notices: [] });
});

test('what is remembered of them stays small (L4)', () => {
  const many = Array.from({ length: 200 }, (_, at) => reply(`read=${at}`));
  expect(play(many).state.repeats?.results).toHaveLength(8);
});
