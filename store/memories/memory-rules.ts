// Rules for memories (G67): valid paths and texts, and paths that collide.
import { wellFormedText } from '../../system/text.ts';

const MOST_SEGMENTS = 20;
const MOST_PATH_BYTES = 1_024;
/** Bytes of a memory's text. */
export const MOST_MEMORY_BYTES = 102_400;
export const MOST_MEMORIES = 2_000;

/** Control and format characters, line and paragraph separators, and half a character. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Returns why no memory can have the path, or null. */
export function memoryPathProblem(path: string): string | null {
  if (!path.startsWith('/')) return 'a path starts with "/"';
  if (Buffer.byteLength(path) > MOST_PATH_BYTES) return `a path has at most ${MOST_PATH_BYTES} bytes`;
  if (UNSEEN.test(path)) return 'a path has no control or format characters';
  if (path.normalize('NFC') !== path) return 'a path is in Unicode Normalization Form C';
  const segments = path.slice(1).split('/');
  if (segments.length > MOST_SEGMENTS) return `a path has at most ${MOST_SEGMENTS} segments`;
  return segments.every((segment) => !['', '.', '..'].includes(segment))
    ? null
    : 'no segment of a path is empty, "." or ".."';
}

/** Returns why no memory can have the text, or null. */
export function memoryTextProblem(text: string): string | null {
  if (wellFormedText(text) !== text) return 'a memory is UTF-8 text';
  return Buffer.byteLength(text) > MOST_MEMORY_BYTES ? `a memory has at most ${MOST_MEMORY_BYTES} bytes` : null;
}

/**
 * Tells whether two paths cannot be files of one folder: equal ones, or one below the other. File
 * systems may ignore case and form.
 */
export function isInTheWay(a: string, b: string): boolean {
  const [one, other] = [fold(a), fold(b)];
  return one.startsWith(other) || other.startsWith(one);
}

/** Returns the first of paths that are in each other's way; undefined where none are. */
export function findInTheWay(paths: readonly string[]): string | undefined {
  // A path comes right before those that begin with it.
  const folded = paths.map(fold).toSorted();
  const at = folded.findIndex((path, index) => folded[index + 1]?.startsWith(path));
  return paths.find((path) => fold(path) === folded[at]);
}

const fold = (path: string): string => `${path.normalize('NFC').toLowerCase()}/`;
