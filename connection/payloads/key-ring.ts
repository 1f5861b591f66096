// The keys that seal payloads: one file of several keys, of which one seals and all open. To
// rotate, add a key, see that every process has it, make it the active one; keep the old one for as
// long as sessions hold payloads that it sealed.
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { codeOf, reasonOf } from '../../system/text.ts';

const KEY_BYTES = 32;
const id = z.string().regex(/^[0-9a-f]{8}$/, 'eight digits of 0-9 and a-f');
const keyFileSchema = z
  .object({
    /** The id of the key that seals. */
    active: id,
    keys: z.array(z.object({ id, key: z.base64() })).min(1),
  })
  .refine(({ active, keys }) => keys.some((key) => key.id === active), 'the active key is not among the keys')
  .refine(({ keys }) => keys.every(({ key }) => Buffer.from(key, 'base64').length === KEY_BYTES), {
    message: `each key must have ${KEY_BYTES} bytes`,
  })
  .refine(({ keys }) => new Set(keys.map((key) => key.id)).size === keys.length, 'two keys have the same id');

type Key = { readonly id: string; readonly key: Uint8Array };

export type KeyRing = {
  readonly path: string;
  readonly active: () => Key;
  /**
   * Finds a key. It looks into the file again for an unknown one, which may have been added
   * meanwhile.
   */
  readonly find: (id: string) => Key | undefined;
};

/**
 * Milliseconds between two looks at the file: anyone can send payloads sealed with a key that does
 * not exist.
 */
const LOOK_MS = 1_000;

/**
 * Reads the file, and reads it again when an unknown key is asked for. Throws SetupProblem with one
 * line that says what is wrong with it; `missing` is the line for a file that does not exist.
 */
export function openKeyRing(path: string, missing: string, now: () => number = Date.now): KeyRing {
  let keys = readKeys(path, missing);
  let looked = now();
  const find = (wanted: string): Key | undefined => keys.all.get(wanted);
  return {
    path,
    active: () => keys.active,
    find: (wanted) => {
      const known = find(wanted);
      if (known || now() - looked < LOOK_MS) return known;
      looked = now();
      try {
        keys = readKeys(path, missing);
      } catch (error) {
        // The file was damaged or removed while we run: the keys that were read at the start are
        // still right.
        if (!(error instanceof SetupProblem)) throw error;
      }
      return find(wanted);
    },
  };
}

function readKeys(path: string, missing: string): { readonly active: Key; readonly all: ReadonlyMap<string, Key> } {
  const file = readKeyFile(path);
  if (file.kind === 'absent') throw new SetupProblem(missing);
  if (file.kind === 'damaged')
    throw new SetupProblem(`the key file ${path} is damaged (${file.why}): restore it; nothing was changed`);
  if ((statSync(path).mode & 0o077) !== 0)
    throw new SetupProblem(`the key file ${path} can be read by others: run \`chmod 600 ${path}\``);
  const all = new Map(
    file.value.keys.map(({ id: name, key }) => [name, { id: name, key: Buffer.from(key, 'base64') }]),
  );
  return { active: all.get(file.value.active)!, all };
}

function readKeyFile(path: string) {
  try {
    return readJsonFile(path, keyFileSchema);
  } catch (error) {
    const why = codeOf(error) === 'EACCES' ? 'it may not be read' : reasonOf(error);
    throw new SetupProblem(`the key file ${path} cannot be used: ${why}`);
  }
}

/**
 * Makes a new file with one key. The caller has seen that the file is missing, and holds the
 * folder's lock.
 */
export function makeKeyFile(path: string): void {
  const key = { id: randomBytes(4).toString('hex'), key: randomBytes(KEY_BYTES).toString('base64') };
  writeJsonFile(path, { active: key.id, keys: [key] }, 'durable');
}
