// Finds a call that a model wrote into its text instead of making it (L15): such a reply ends, and
// nothing has run. The forms are those that models fall into; what quotes them is code in Markdown.

/** The opening of a call, or of a list of calls, where a line begins. */
const OPENING = /^ {0,3}<(?:[a-z]+:)?(?:invoke\b|function_calls>|tool_call>)/i;
const NAME = /<(?:[a-z]+:)?invoke\s+name\s*=\s*["']([^"'\n]{1,200})["']|"name"\s*:\s*"([^"\n]{1,200})"/i;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Characters after an opening in which the call's name stands. */
const NAME_WITHIN = 500;

/** Returns the name of the first call outside of code that `isTool` knows, or undefined. */
export function findTextCall(text: string, isTool: (name: string) => boolean): string | undefined {
  let fence: string | null = null;
  let at = 0;
  for (const line of text.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined) fence = fenceAfter(fence, mark);
    else if (fence === null && OPENING.test(line)) {
      const [, invoked, listed] = NAME.exec(text.slice(at, at + NAME_WITHIN)) ?? [];
      const name = invoked ?? listed;
      if (name !== undefined && isTool(name)) return name;
    }
    at += line.length + 1;
  }
  return undefined;
}

/** A fence is closed by one of the same character that is no shorter. */
function fenceAfter(open: string | null, mark: string): string | null {
  if (open === null) return mark;
  return mark[0] === open[0] && mark.length >= open.length ? null : open;
}
