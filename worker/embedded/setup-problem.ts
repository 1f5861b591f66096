// Something a person has to put right before perdure can start: the message is for them and needs no stack.

/** `message`: what happened, to what, what to do. One line, but for a list of what was tried. */
export class SetupProblem extends Error {
  override readonly name = 'SetupProblem';
}

/** The first line of an error's message, for the end of a sentence. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]?.trim() || 'no reason given';
}

/** The `code` of a system error, such as ENOENT; undefined for any other value. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
