/** Quotes a note that stands among others, so that only our own lists begin a line with `===`. */
export function quoteNote(text: string): string {
  return text.replaceAll(/^(?=[ \t]*=== )/gm, '> ');
}
