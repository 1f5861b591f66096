// What the built-in tools are made with, once per worker.
import type { Sandbox } from '../sandbox.ts';

export type BuiltinOptions = {
  readonly sandbox: Sandbox;
  /** Perdure's own data: no tool reaches it. */
  readonly dataDir?: string;
  /** Environment variables that shell commands get besides the ordinary ones. */
  readonly passEnv?: readonly string[];
};
