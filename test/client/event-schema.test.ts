// The events' schema, and the file that it is published in.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { eventJsonSchema, eventSchema } from '../../client/event-schema.ts';
import type { QueryEvent } from '../../client/runtime/query.ts';
import { heldToSchema } from '../support/held-to-schema.ts';

/** The compiler finds an event that the types allow and the schema does not. */
const known = (event: QueryEvent): z.input<typeof eventSchema> => event;

const session = { type: 'session', sessionId: 's-1' };
const delta = { type: 'text_delta', iteration: 1, index: 0, text: 'Hi.', step: 2, attempt: 1 };

test('docs/events.v1.schema.json is what the schema says: `npx vitest run test/client/event-schema.test.ts -u` (Q12)', async () => {
  await expect(`${JSON.stringify(eventJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../docs/events.v1.schema.json',
  );
});

test('an event of another type, with another field or without one is not known (Q12)', () => {
  expect(known(heldToSchema(session as QueryEvent))).toBe(session);
  expect(heldToSchema(delta)).toBe(delta);
  const { text: _, ...without } = delta;
  for (const odd of [{ ...session, type: 'sesion' }, { ...session, more: 1 }, without])
    expect(() => heldToSchema(odd)).toThrow(/event-schema.ts does not know/);
});

test('the published schema takes what a later version adds, and refuses what is no event (Q12)', () => {
  const validate = new Ajv2020({ strict: false }).compile(eventJsonSchema());
  expect([session, delta, { ...delta, more: 1 }].map((event) => validate(event))).toEqual([true, true, true]);
  expect([{ type: 'text_delta' }, {}, { ...delta, text: 1 }].map((event) => validate(event))).toEqual([
    false,
    false,
    false,
  ]);
});
