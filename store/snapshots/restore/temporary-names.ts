// Names of files that Perdure writes in a workspace before they take the place of others. A process
// that is killed leaves them: no snapshot holds them.
import { randomBytes } from 'node:crypto';

const RESTORED = /^\.perdure-[0-9a-f]{16}\.tmp$/;
const APPLIED = /^\.perdure-apply-([1-9][0-9]*)-[0-9a-f]{8}\.tmp$/;

/** Tells whether a name, without its folder, is one of a file that is being written. */
export const isTemporaryName = (name: string): boolean => RESTORED.test(name) || APPLIED.test(name);

/**
 * Names the temporary file of a step. `run` is eight hexadecimal digits: of a killed run all names
 * can be told.
 */
export const temporaryName = (run: string, step: number): string =>
  `.perdure-${run}${step.toString(16).padStart(8, '0')}.tmp`;

/** Names a file that this process writes by itself. */
export const ownTemporaryName = (): string => `.perdure-apply-${process.pid}-${randomBytes(4).toString('hex')}.tmp`;

/** Returns the id of the process that writes such a file by itself; null for another name. */
export function writerOf(name: string): number | null {
  const pid = APPLIED.exec(name)?.[1];
  return pid === undefined ? null : Number(pid);
}
