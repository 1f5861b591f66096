// Runs git, and the program that writes the files of a workspace, confined.

/**
 * Runs a program held as an agent's command is, and returns what it printed as latin1. It may write
 * to the shadow repository; with `writes` only to that folder and to `cwd`. Rejects with a sentence
 * that it said.
 */
export type RunHeld = (
  argv: readonly string[],
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly cwd: string;
    readonly writes?: string;
    /** Rejects with OutOfBounds after so long. */
    readonly timeoutMs?: number;
  },
) => Promise<string>;

export type ShadowReading = {
  /** The bare repository. */
  readonly gitDir: string;
  /** The path of git. */
  readonly git: string;
  readonly run: RunHeld;
};
