// Measures and parses JSON from outside, and wraps a text that is not JSON.
// Reads and writes small state files. A file is checked when it is read and replaced as a whole, so
// that no reader ever sees half of one.
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { codeOf, reasonOf } from './text.ts';

/**
 * Tells whether `value` is nested more than `limit` levels deep. It does not recurse: the value may
 * be built to overflow a stack.
 */
export function isDeeperThan(value: unknown, limit: number): boolean {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > limit) return true;
    for (const child of Object.values(next.value)) open.push({ value: child, depth: next.depth + 1 });
  }
  return false;
}

/**
 * JSON that is nested more levels deep cannot be written as JSON again, and no tool has a use for
 * it.
 */
export const DEEPEST_JSON = 1_000;

/** Returns undefined for a text that is not one JSON value, or is nested too deep. */
export function parseInput(json: string): { readonly value: unknown } | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return isDeeperThan(value, DEEPEST_JSON) ? undefined : { value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Returns the stand-in for the input of a call that is not one JSON text. The API takes back only
 * an object; the text is kept in it, and such a call is answered with an error, whatever its tool
 * would accept (L15, L28).
 */
export function wrapUnparsable(json: string): { readonly unparsable: string } {
  return { unparsable: json };
}

/**
 * Tells whether `input` was made by `wrapUnparsable`: a tool's own field of this name holds another
 * text, or comes with other fields.
 */
export function isBrokenInput(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Object.keys(input).length !== 1) return false;
  const { unparsable } = input as { readonly unparsable?: unknown };
  return typeof unparsable === 'string' && parseInput(unparsable) === undefined;
}

/**
 * Levels of an input. Deeper input overflows stacks further down: JSON.stringify, a schema that
 * recurses. No tool has a use for it.
 */
export const DEEPEST_INPUT = 200;

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
