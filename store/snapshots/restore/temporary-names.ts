// Names of files that Perdure writes in a workspace before they take the place of others. A process
// that is killed leaves them: no snapshot holds them.

const NAME = /^\.perdure-[0-9a-f]{16}\.tmp$/;

/** Tells whether a name, without its folder, is one of a file that is being written. */
export const isTemporaryName = (name: string): boolean => NAME.test(name);

/**
 * Names the temporary file of a step. `run` is eight hexadecimal digits: of a killed run all names
 * can be told.
 */
export const temporaryName = (run: string, step: number): string =>
  `.perdure-${run}${step.toString(16).padStart(8, '0')}.tmp`;
