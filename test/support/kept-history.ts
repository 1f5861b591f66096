// Kept histories: recorded once, when a scenario has none yet, and never again. They are what
// sessions in the field look like; the replay test holds today's workflow against them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import proto, { type temporal } from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;

export const historiesFolder = fileURLToPath(new URL('../histories/', import.meta.url));

/** `name` in a file's words: the rule ids and the reason of a scenario. */
export async function keepHistory(name: string, handle: WorkflowHandle): Promise<void> {
  const path = `${historiesFolder}${fileName(name)}.json`;
  if (existsSync(path)) return;
  if (process.env.CI)
    throw new Error(`the scenario "${name}" has no kept history: run the server tier once and commit ${path}`);
  const plain = History.toObject(History.fromObject(await handle.fetchHistory()), {
    longs: String,
    enums: String,
    bytes: String,
  });
  writeFileSync(path, withoutIdentities(plain));
}

export function readHistory(file: string): temporal.api.history.v1.History {
  return History.fromObject(JSON.parse(readFileSync(`${historiesFolder}${file}`, 'utf8')) as object);
}

const fileName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 80)
    .replace(/-+$/, '');

/** Which worker on which machine did it is nobody's business. */
function withoutIdentities(history: object): string {
  return `${JSON.stringify(history, (_key, value: unknown) => (namesMachine(value) ? 'worker' : value), 1)}\n`;
}

/** Identities of workers and the names of their sticky queues. */
function namesMachine(value: unknown): boolean {
  return typeof value === 'string' && value.length < 300 && value.includes(hostname());
}
