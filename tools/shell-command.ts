// A shell command as a list of simple commands. It is used to judge, never to run, so a command
// that cannot be read for certain is `null`, and null is never read-only.
export type ShellRedirect = { readonly operator: string; readonly target: ShellWord };

/** The operator that joins a command to the one before it; a newline is `;`. */
export type ShellOperator = ';' | '|' | '&&' | '||';

export type SimpleCommand = {
  readonly joint: ShellOperator;
  readonly words: readonly ShellWord[];
  readonly redirects: readonly ShellRedirect[];
};

/** One word of a shell command, without its quotes, and what the shell would still do to it. */
export type ShellWord = {
  readonly text: string;
  /** False when the shell would put something else in its place: a variable, braces, a tilde. */
  readonly literal: boolean;
  /** Position in `text` of the first unquoted `*`, `?` or `[`; -1 without one. */
  readonly glob: number;
};

/** The subject that the pattern of a permission rule is held against (L55). */
export type RuleSubject =
  /**
   * `tree`: everything below the path is meant too. The path is relative to the workspace, or
   * absolute. `sieved`: the tool leaves out what the context's `mayShow` refuses.
   */
  | { readonly kind: 'path'; readonly path: string; readonly tree?: boolean; readonly sieved?: true }
  /** One of a list of names: a pattern is one of them, or has `*` for any characters. */
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'command';
      readonly text: string;
      /** The simple commands; null when the text cannot be read for certain. */
      readonly commands: readonly SimpleCommand[] | null;
      /** Tells whether these commands, one after the other, read and do nothing else. */
      readonly readsOnly: (commands: readonly SimpleCommand[]) => boolean;
    };
