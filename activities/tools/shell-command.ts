// Reads a shell command as a list of simple commands, and gives up on anything else: it is used to judge, never to run, so what
// it cannot read for certain is `null`, and null is never read-only.
export type Redirect = { readonly operator: string; readonly target: Word };

/** The operator that joins a command to the one before it; a newline is `;`. */
export type Joint = ';' | '|' | '&&' | '||';

export type SimpleCommand = {
  readonly joint: Joint;
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
};

// One word of a shell command, with its quotes taken away, and what the shell would still do to it.

export type Word = {
  readonly text: string;
  /** False when the shell would put something else in its place: a variable, braces, a tilde. */
  readonly literal: boolean;
  /** Where in `text` the first unquoted `*`, `?` or `[` stands; -1 when nowhere. */
  readonly glob: number;
};
