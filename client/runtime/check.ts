// A check of `perdure doctor`: one thing that a machine needs, and its state.

/**
 * One thing a machine needs, and its state. `note`: it works and could be better. `missing`:
 * something will not work, and `found` says what to do.
 */
export type Check = {
  readonly name: string;
  readonly state: 'ok' | 'note' | 'missing';
  /** One line. */
  readonly found: string;
};

export const okCheck = (name: string, found: string): Check => ({ name, state: 'ok', found });
export const noteCheck = (name: string, found: string): Check => ({ name, state: 'note', found });
export const missingCheck = (name: string, found: string): Check => ({ name, state: 'missing', found });
