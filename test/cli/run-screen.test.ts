// What a person types where a run is followed, as the session gets it. Terminal and session are fakes.
import { expect, test, vi } from 'vitest';
import type { Cli } from '../../cli/cli.ts';
import { openRunScreen } from '../../cli/run-screen.ts';
import type { Hands, Input } from '../../cli/typing/input.ts';
import { createPaint } from '../../client/paint.ts';
import { session } from '../client/support.ts';
import { completed, start } from './following.ts';

test('what is typed right after a run has ended is not sent, until something goes on (O18)', async () => {
  const said: string[] = [];
  const typing: Hands[] = [];
  const input: Input = { ask: () => Promise.resolve(null), edit: () => Promise.resolve(null), close: () => '' };
  const cli = {
    self: 'perdure',
    env: {},
    bottom: null,
    err: createPaint(false),
    out: createPaint(false),
    openInput: (hands: Hands) => (typing.push(hands), input),
    print: () => undefined,
    say: (line: string) => void said.push(line),
  } as unknown as Cli;
  const send = vi.fn(() => Promise.resolve());
  const hands = { interrupt: () => undefined, leave: () => undefined };
  const sessions = { send } as unknown as Parameters<typeof openRunScreen>[1]['sessions'];
  const screen = openRunScreen(cli, { sessions, session, own: null, hands });
  const type = (text: string): void => typing[0]?.submit(text, false);
  screen.show(start);
  screen.show(completed);
  type('git status');
  expect(said.at(-1)).toBe('not sent, since the run has ended: git status');
  screen.takeMessages();
  type('and now?');
  screen.show(completed);
  type('while one waits');
  await screen.end();
  expect(send.mock.calls.map((call) => (call as unknown[])[1])).toEqual(['and now?', 'while one waits']);
});
