// Remembers who asks while a view is drawn for them: the frame of a page says it, and the sheet
// hides what they may not do. The server refuses it all the same.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Person } from './people.ts';

/** `hasAgents`: the rail has that section. */
type Viewer = Pick<Person, 'name' | 'role'> & { readonly hasAgents: boolean };

const viewers = new AsyncLocalStorage<Viewer>();

export const drawFor = <T>({ name, role }: Person, hasAgents: boolean, draw: () => T): T =>
  viewers.run({ name, role, hasAgents }, draw);

/** Returns who the view is drawn for; undefined for a stranger and where no request is served. */
export const viewerNow = (): Viewer | undefined => viewers.getStore();
