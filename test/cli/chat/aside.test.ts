// What is typed while a run is followed: messages, but for what is asked aside.
import { expect, test, vi } from 'vitest';
import { createAsides } from '../../../cli/chat/aside.ts';
import type { SideAnswer } from '../../../client/sessions/updates/update.ts';
import { session } from '../../client/support.ts';

const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };

function typing(answer: () => Promise<SideAnswer>) {
  const said: string[] = [];
  const askAside = vi.fn(answer);
  const send = vi.fn();
  const say = (line: string): void => void said.push(line);
  return { said, askAside, send, ...createAsides({ sessions: { askAside }, session, say }, send) };
}

test('what begins with /btw is asked aside and its answer waited for; all else is sent (O20)', async () => {
  const { submit, answered, said, askAside, send } = typing(() =>
    Promise.resolve({ answer: 'Three.', cut: true, model: 'claude-a', usage, costUsd: null }),
  );
  submit('/btw what have\nyou found?', false);
  submit('/btws', true);
  submit('by the way', false);
  submit(' /btw ', false);
  await answered();
  expect(askAside.mock.calls).toEqual([[session, 'what have\nyou found?']]);
  expect(send.mock.calls).toEqual([
    ['/btws', true],
    ['by the way', false],
  ]);
  expect(said).toEqual([
    'asked on the side: the run continues',
    'add a question after /btw',
    'Three.',
    'aside, by claude-a · 2 tokens · cost unknown · the rest of the answer is left out',
  ]);
});

test('a question that is not answered says why, and ends nothing (O20)', async () => {
  const { submit, answered, said } = typing(() => Promise.reject(new Error('session s-1: not answered: Overloaded')));
  submit('/btw why?', false);
  await answered();
  expect(said).toEqual(['asked on the side: the run continues', 'session s-1: not answered: Overloaded']);
});
