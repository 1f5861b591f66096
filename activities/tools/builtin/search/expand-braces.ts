// The braces of a glob.
import { ToolFailure } from '../../tool.ts';

const MAX_ALTERNATIVES = 256;

/** `{a,b}` as alternatives, nested ones too; braces without a comma are characters. */
export function expandBraces(pattern: string): readonly string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const choice = firstChoice(next);
    if (choice === undefined) done.push(next);
    else open.push(...choice);
    if (done.length + open.length > MAX_ALTERNATIVES) {
      throw new ToolFailure(`The pattern has more than ${MAX_ALTERNATIVES} alternatives: use a simpler one.`);
    }
  }
  return done;
}

/** Characters of all alternatives: what matching one name may take, and a search matches thousands between two looks at other work. */
const MAX_CHARACTERS = 4_000;

/** Of a pattern that a model wrote. Throws ToolFailure. */
export function refuseCostly(pattern: string): void {
  const characters = expandBraces(pattern).reduce((sum, { length }) => sum + length, 0);
  if (characters <= MAX_CHARACTERS) return;
  throw new ToolFailure(
    `The pattern stands for ${characters} characters once its braces are expanded: use a simpler one.`,
  );
}

function firstChoice(pattern: string): string[] | undefined {
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
