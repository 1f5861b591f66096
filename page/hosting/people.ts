// The people of a page and what each may do: look, decide about waiting calls, or steer sessions.
// Each has a token of their own.
// Remembers who asks while a view is drawn for them: the frame of a page says it, and the sheet
// hides what they may not do. The server refuses it all the same.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import { z } from 'zod';
import { readJsonFile } from '../../system/json.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

/** Each role includes those before it. */
const ROLES = ['look', 'decide', 'steer'] as const;
export type Role = (typeof ROLES)[number];

/** Name in Temporal's history for users of the API with the data folder's own token. */
export const OWNER = 'the owner';

export type Person = {
  /** The name; null for the owner of the data folder. */
  readonly name: string | null;
  readonly role: Role;
  readonly token: string;
};

const LEAST_TOKEN = 32;
const schema = z
  .array(
    z.strictObject({
      name: z
        .string()
        .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u, 'letters, digits, spaces and . _ @ -, at most 60'),
      role: z.enum(ROLES),
      token: z
        .string()
        .regex(/^[\w-]+$/, 'letters, digits, "_" and "-"')
        .min(LEAST_TOKEN)
        .max(200),
    }),
  )
  .min(1);

/** Reads the file that `option` names. Throws SetupProblem. */
export function readPeople(path: string, option = '--page-tokens'): readonly Person[] {
  const file = readJsonFile(path, schema);
  const refused = (why: string): SetupProblem => new SetupProblem(`${option} ${path} ${why}`);
  if (file.kind === 'absent')
    throw refused('does not exist: write [{ "name": "ana", "role": "steer", "token": "…" }] there');
  if (file.kind === 'damaged')
    throw refused(`will not do (${file.why}): it has a list of name, role (${ROLES.join(', ')}) and token`);
  if ((statSync(path).mode & 0o077) !== 0) throw refused('can be read by others: chmod 600 it');
  if (file.value.some(({ name }) => isOwners(name)))
    throw refused(`names somebody "${OWNER}", as the API's own token is named: give another name`);
  for (const key of ['name', 'token'] as const)
    if (new Set(file.value.map((person) => person[key])).size < file.value.length)
      throw refused(`gives one ${key} twice`);
  return file.value;
}

/** Recognizes the owner's name in any spelling. */
const isOwners = (name: string): boolean =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim() === OWNER;

/** Returns the person with this token, or null, in a time that does not depend on the token. */
export function personWith(people: readonly Person[], token: string): Person | null {
  const found = people.filter((person) => isSame(person.token, token));
  return found[0] ?? null;
}

function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

export function mayDo(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** `hasAgents`: the rail has that section. */
type Viewer = Pick<Person, 'name' | 'role'> & { readonly hasAgents: boolean };

const viewers = new AsyncLocalStorage<Viewer>();

export const drawFor = <T>({ name, role }: Person, hasAgents: boolean, draw: () => T): T =>
  viewers.run({ name, role, hasAgents }, draw);

/** Returns who the view is drawn for; undefined for a stranger and where no request is served. */
export const viewerNow = (): Viewer | undefined => viewers.getStore();
