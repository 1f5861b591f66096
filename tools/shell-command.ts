// Reads a shell command as a list of simple commands, and gives up on anything else: it is used to
// judge, never to run, so what it cannot read for certain is `null`, and null is never read-only.
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

/** The subject that the pattern of a permission rule is held against (L55). */
export type RuleSubject =
  /**
   * `tree`: what lies below the path is meant too. Relative to the workspace, or absolute.
   * `sieved`: of what lies below, the tool leaves out what the context's `mayShow` says.
   */
  | { readonly kind: 'path'; readonly path: string; readonly tree?: boolean; readonly sieved?: true }
  /** One of a list of names: a pattern is one of them, or has `*` for any characters. */
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'command';
      readonly text: string;
      /** Null when it cannot be read for certain. */
      readonly commands: readonly SimpleCommand[] | null;
      /** Whether these commands, one after the other, read and do nothing else. */
      readonly readsOnly: (commands: readonly SimpleCommand[]) => boolean;
    };
