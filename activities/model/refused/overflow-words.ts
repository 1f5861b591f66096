// Tells whether a server says that a request is too long for its model (L23, L24), and not that too
// many came, or that its cap does not fit.
import { overflowRows } from './overflow-rows.ts';

/**
 * Words about a limit over time or of an account: waiting helps there, and a shorter request does
 * not.
 */
const OF_TIME = [
  'rate.?limit',
  'too many requests',
  'quota',
  'throttl',
  'per[ -](second|minute|hour|day|month)',
  '\\b(tpm|rpm|tpd|itpm)\\b',
  'before trying again',
  'concurren',
].join('|');

const LIMIT_OF_TIME = new RegExp(OF_TIME, 'i');

/**
 * Tells whether the sentence is about the length. `more` are words of the configuration, found in
 * small or large letters.
 */
export function isOverflow(text: string, more: readonly string[] = []): boolean {
  const lower = text.toLowerCase();
  if (more.some((words) => lower.includes(words.trim().toLowerCase()))) return true;
  if (LIMIT_OF_TIME.test(text) || roomLeft(text) !== undefined) return false;
  return overflowRows.some(({ words }) => words.test(text));
}

/**
 * The sentences of vLLM and of Text Generation Inference about a cap that does not fit where the
 * prompt does.
 */
const CAPS: readonly RegExp[] = [
  /too large: .*\((?<cap>\d+) > (?<window>\d+) - (?<input>\d+)\)/,
  /must be <= (?<window>\d+)\. Given: (?<input>\d+) `?inputs`? tokens/,
];

/** Tokens. With less room a shorter request is what helps. */
const LEAST_ROOM = 1_024;

/**
 * Returns the tokens that a reply may have with this prompt, where a refusal says that; undefined
 * for other refusals, or for too few tokens.
 */
export function roomLeft(text: string): number | undefined {
  const counts = CAPS.map((words) => words.exec(text)?.groups).find((found) => found !== undefined);
  const room = Number(counts?.['window']) - Number(counts?.['input']);
  return room >= LEAST_ROOM ? room : undefined;
}
