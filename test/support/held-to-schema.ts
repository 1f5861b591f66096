// Every event that a test collects, from a follower, a watcher or `--json`, satisfies the published
// schema (Q12).
import { z } from 'zod';
import { eventSchema } from '../../client/event-schema.ts';

/** Returns it. Throws for one that the schema does not know. */
export function heldToSchema<Event>(event: Event): Event {
  const { error } = eventSchema.safeParse(event);
  if (error)
    throw new Error(`client/event-schema.ts does not know ${JSON.stringify(event)}: ${z.prettifyError(error)}`);
  return event;
}
