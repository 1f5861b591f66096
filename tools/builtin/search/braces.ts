// Expands the braces of a glob.
import { ToolFailure } from '../../failures.ts';

const MAX_ALTERNATIVES = 256;

/** Expands `{a,b}` into alternatives, nested ones too; braces without a comma are characters. */
export function expandBraces(pattern: string): readonly string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const choice = expandFirstChoice(next);
    if (choice === undefined) done.push(next);
    else open.push(...choice);
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new ToolFailure(`The pattern has more than ${MAX_ALTERNATIVES} alternatives: use a simpler one.`);
    }
  }
  return done;
}

/** Returns the alternatives, and the pattern with its braces as characters. */
export function expandReadings(pattern: string): readonly string[] {
  return [...new Set([...expandBraces(pattern), pattern])];
}

/**
 * Characters of all alternatives: the cost of matching one name, and a search matches thousands
 * between two looks at other work.
 */
const MAX_CHARACTERS = 4_000;

/** Refuses a pattern of a model that would cost too much to match. Throws ToolFailure. */
export function refuseCostly(pattern: string): void {
  const characters = expandBraces(pattern).reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_CHARACTERS) return;
  throw new ToolFailure(
    `The pattern stands for ${characters} characters once its braces are expanded: use a simpler one.`,
  );
}

function expandFirstChoice(pattern: string): string[] | undefined {
  const stack: { readonly open: number; readonly commas: number[] }[] = [];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '\\') at++;
    else if (character === '{') stack.push({ open: at, commas: [] });
    else if (character === ',') stack.at(-1)?.commas.push(at);
    else if (character === '}') {
      const group = stack.pop();
      if (group === undefined || group.commas.length === 0) continue;
      const cuts = [group.open, ...group.commas, at];
      return cuts
        .slice(1)
        .map((cut, n) => pattern.slice(0, group.open) + pattern.slice((cuts[n] ?? 0) + 1, cut) + pattern.slice(at + 1));
    }
  }
  return undefined;
}
