// Reads and writes small state files. A file is checked when it is read and replaced as a whole, so
// that no reader ever sees half of one.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { codeOf, reasonOf } from './text.ts';

type JsonFile<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'absent' }
  /** The text is not JSON, or does not satisfy the schema. */
  | { readonly kind: 'damaged'; readonly why: string };

/** Throws the system's error when the file exists and cannot be read. */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): JsonFile<T> {
  const text = readIfPresent(path);
  if (text === null) return { kind: 'absent' };
  const json = parseJson(text);
  if (json.kind !== 'read') return json;
  const checked = schema.safeParse(json.value);
  if (checked.success) return { kind: 'read', value: checked.data };
  const issue = checked.error.issues[0];
  return { kind: 'damaged', why: `${issue?.path.join('.') || 'the whole'}: ${issue?.message ?? 'not understood'}` };
}

/**
 * Writes a temporary file and renames it over the old one, so that the file holds the old value or
 * the new one. With `durable` it is the new one also after a power cut, at the cost of two syncs;
 * without, a power cut may bring the old one back, or leave the file damaged.
 */
export function writeJsonFile(path: string, value: unknown, durable: Durable): void {
  replaceFile(path, `${JSON.stringify(value)}\n`, durable);
}

type Durable = 'durable' | 'not durable';

/** Writes a text in the same way, for its owner alone. */
export function replaceFile(path: string, text: string, durable: Durable): void {
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: 'wx' });
    if (durable === 'durable') syncToDisk(temporary);
    renameSync(temporary, path);
    if (durable === 'durable') syncToDisk(dirname(path));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function parseJson(text: string): JsonFile<unknown> {
  try {
    return { kind: 'read', value: JSON.parse(text) as unknown };
  } catch (error) {
    return { kind: 'damaged', why: reasonOf(error) };
  }
}
