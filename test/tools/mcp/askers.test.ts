// Whom a server means that asks in the middle of a call: it does not say which one.
import type { ElicitRequest } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { Askers } from '../../../tools/mcp/link.ts';

const asked: ElicitRequest['params'] = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const never = new AbortController().signal;
const unclear = 'cannot be told which call asks';

function asker(session: string) {
  return { session, answer: () => Promise.resolve({ action: 'accept', content: { by: session } } as const) };
}

test('of calls of one session the last that began is asked, and none while those of another are under way (L77)', async () => {
  const [askers, first, last, other] = [new Askers(), asker('one'), asker('one'), asker('two')];
  await expect(askers.ask(asked, never)).rejects.toThrow(unclear);
  askers.begin(first);
  askers.begin(last);
  expect(await askers.ask(asked, never)).toMatchObject({ content: { by: 'one' } });
  askers.begin(other);
  await expect(askers.ask(asked, never)).rejects.toThrow(unclear);
  askers.end(other);
  askers.begin({ session: 'one' });
  expect(await askers.ask(asked, never)).toEqual({ action: 'cancel' });
});

test('once a call was given up nobody is asked: the question may be for that one (L77)', async () => {
  const [askers, over, underWay] = [new Askers(), asker('one'), asker('one')];
  askers.begin(over);
  askers.begin(underWay);
  askers.giveUp(over);
  await expect(askers.ask(asked, never)).rejects.toThrow(unclear);
});
