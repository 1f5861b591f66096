// Splits what a terminal sends into keys and pastes. A paste stands between two marks and comes
// whole, so that a large one costs no more than its characters.

const BEGIN = '\u001b[200~';
const END = '\u001b[201~';
/** A shorter beginning of a mark may be the key Escape, which must not wait for what follows. */
const SHORTEST_HELD = 3;

export type TypedPart = { readonly kind: 'keys' | 'paste'; readonly text: string };

/** Returns a function that takes the next piece of the input and gives the parts that are whole. */
export function pasteSplitter(): (input: string) => readonly TypedPart[] {
  let held = '';
  let pasted: string[] | null = null;
  return (input) => {
    const parts: TypedPart[] = [];
    let rest = held + input;
    held = '';
    while (rest !== '') {
      const mark: string = pasted === null ? BEGIN : END;
      const at = rest.indexOf(mark);
      const kept = at < 0 ? heldLength(rest, mark) : 0;
      const text = rest.slice(0, at < 0 ? rest.length - kept : at);
      if (pasted !== null) pasted.push(text);
      else if (text !== '') parts.push({ kind: 'keys', text });
      if (at < 0) {
        held = rest.slice(rest.length - kept);
        break;
      }
      if (pasted !== null) parts.push({ kind: 'paste', text: pasted.join('') });
      pasted = pasted === null ? [] : null;
      rest = rest.slice(at + mark.length);
    }
    return parts;
  };
}

/** Characters at the end of `text` that may be the beginning of `mark`. */
function heldLength(text: string, mark: string): number {
  for (let length = mark.length - 1; length >= SHORTEST_HELD; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
