// What a key of the store may look like, and how ids chosen by others become part of one.
import { hashOf } from './hash.ts';

const segment = /^[A-Za-z0-9._-]{1,200}$/;
const ours = /^x-[0-9a-f]{64}$/;

/** Why `key` will not do, or undefined. */
export function keyProblem(key: string): string | undefined {
  const bad = key.split('/').find((part) => !segment.test(part) || part === '.' || part === '..');
  if (bad === undefined) return undefined;
  return `the key "${key.slice(0, 300)}" has a segment "${bad.slice(0, 220)}": use 1 to 200 of [A-Za-z0-9._-], neither "." nor ".."`;
}

/** `id` as one key segment or folder name: itself where it can be, else `x-` and a hash of it. Different ids stay different. */
export function keySegment(id: string): string {
  const plain = keyProblem(id) === undefined && !id.includes('/') && !ours.test(id);
  return plain ? id : `x-${hashOf(Buffer.from(id))}`;
}
