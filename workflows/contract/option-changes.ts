// What a message changes of its session's options: one is given anew, or taken back with null (L57).
import type { OptionChanges, RunOptions } from './session.ts';

/** A workspace cannot be taken back: its null stays, and is refused where options are checked. */
export function withChanges<Options extends Partial<RunOptions>>(options: Options, changes: OptionChanges): Options {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const all = Object.entries({ ...options, ...Object.fromEntries(given) });
  return Object.fromEntries(all.filter(([key, value]) => value !== null || key === 'cwd')) as Options;
}
