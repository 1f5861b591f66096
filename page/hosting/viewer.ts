// Remembers who asks while a view is drawn for them: the frame of a page says it, and the sheet
// hides what they may not do. The server refuses it all the same.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Person } from './people.ts';

const viewers = new AsyncLocalStorage<Pick<Person, 'name' | 'role'>>();

export const drawFor = <T>(person: Person, draw: () => T): T => viewers.run(person, draw);

/** Returns who the view is drawn for; undefined for a stranger and where no request is served. */
export const viewerNow = (): Pick<Person, 'name' | 'role'> | undefined => viewers.getStore();
