// Small state files: read as a whole and checked, replaced as a whole, so that no reader ever sees
// half of one.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { codeOf, reasonOf } from './text.ts';

export type JsonFile<T> =
  | { readonly kind: 'read'; readonly value: T }
  | { readonly kind: 'absent' }
  /** Not JSON, or not what it should hold. */
  | { readonly kind: 'damaged'; readonly why: string };

/** Throws the system's error when the file is there and cannot be read. */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): JsonFile<T> {
  const text = readIfPresent(path);
  if (text === null) return { kind: 'absent' };
  const json = parse(text);
  if (json.kind !== 'read') return json;
  const checked = schema.safeParse(json.value);
  if (checked.success) return { kind: 'read', value: checked.data };
  const issue = checked.error.issues[0];
  return { kind: 'damaged', why: `${issue?.path.join('.') || 'the whole'}: ${issue?.message ?? 'not understood'}` };
}

/**
 * Written beside and renamed over: the file holds the old value or the new one. `durable`: also
 * after a power cut the new one, at the cost of two syncs; else a power cut may bring the old one
 * back, or leave the file damaged.
 */
export function writeJsonFile(path: string, value: unknown, durable: 'durable' | 'not durable'): void {
  const beside = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(beside, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx' });
    if (durable === 'durable') sync(beside);
    renameSync(beside, path);
    if (durable === 'durable') sync(dirname(path));
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

function sync(path: string): void {
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

function parse(text: string): JsonFile<unknown> {
  try {
    return { kind: 'read', value: JSON.parse(text) as unknown };
  } catch (error) {
    return { kind: 'damaged', why: reasonOf(error) };
  }
}
