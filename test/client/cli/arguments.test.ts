// The session that an id or the beginning of one means.
import { expect, test } from 'vitest';
import { sessionMeant } from '../../../client/cli/arguments.ts';
import { ClientProblem } from '../../../client/problem.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { description } from '../support.ts';

const there = ['s-aaaaaaaaa1', 's-aaaaaaaaa2', 's-bbbbbbbbb1', 'nightly', 'nightly-2'];

function meant(given: string) {
  const queries: string[] = [];
  const list = async function* ({ query }: { readonly query: string }) {
    queries.push(query);
    const [, begin = ''] = /STARTS_WITH '(.*)'/.exec(query) ?? [];
    // A session that was handed over has an execution for each part.
    for (const workflowId of there.filter((id) => id.startsWith(begin))) yield* [{ workflowId }, { workflowId }];
    await Promise.resolve();
  };
  const describe = (id: string) =>
    there.includes(id) ? Promise.resolve(description({})) : Promise.reject(new ClientProblem('no_session', 'none'));
  const opened = { temporal: { client: { workflow: { list } } }, sessions: { describe } };
  return {
    queries,
    session: sessionMeant(opened as unknown as Parameters<typeof sessionMeant>[0], given as SessionId),
  };
}

test('a whole id, and one that people chose, is the session itself; else the only one that begins so (O20)', async () => {
  const whole = meant('s-ccccccccc1');
  expect([await whole.session, whole.queries]).toEqual(['s-ccccccccc1', []]);
  expect(await meant('nightly').session).toBe('nightly');
  expect(await meant('s-b').session).toBe('s-bbbbbbbbb1');
  expect(await meant('s-x').session).toBe('s-x');
});

test('where several begin so, they are named (O20)', async () => {
  await expect(meant('s-a').session).rejects.toThrow(
    'several sessions begin with s-a: s-aaaaaaaaa1, s-aaaaaaaaa2; write more of it',
  );
});
