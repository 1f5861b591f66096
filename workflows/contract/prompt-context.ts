// Checks the facts by name that a caller adds to the system prompt (L58). The client and the
// activity that opens a run share it.

/**
 * Texts by name, each a part of the system prompt: when one of them is another in a later run, the
 * model is told that one alone.
 */
export type PromptContext = Readonly<Record<string, string>>;

const MOST_FACTS = 50;
/** Characters. */
const LONGEST_NAME = 60;
const LONGEST_CONTEXT = 100_000;

/** Returns a sentence that says what is wrong; undefined for a context that will do. */
export function promptContextProblem(called: string, context: unknown): string | undefined {
  if (typeof context !== 'object' || context === null || Array.isArray(context))
    return `the ${called} is no object: give names and texts, such as { "branch": "main" }`;
  const entries = Object.entries(context as Readonly<Record<string, unknown>>);
  if (entries.length > MOST_FACTS) return `the ${called} has ${entries.length} texts: give at most ${MOST_FACTS}`;
  let characters = 0;
  for (const [name, text] of entries) {
    const quoted = JSON.stringify(name.slice(0, LONGEST_NAME));
    if (name.trim() === '' || name.length > LONGEST_NAME || /\p{C}/u.test(name))
      return `the ${called} has the name ${quoted}: give 1 to ${LONGEST_NAME} characters on one line`;
    if (typeof text !== 'string') return `${quoted} of the ${called} is no text: give one`;
    characters += text.length;
  }
  if (characters <= LONGEST_CONTEXT) return undefined;
  return `the ${called} has ${characters} characters: give at most ${LONGEST_CONTEXT}, or a file to read`;
}
