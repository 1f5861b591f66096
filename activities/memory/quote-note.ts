/** Of a note that stands among others: only who lists them begins a line so. */
export function quoteNote(text: string): string {
  return text.replaceAll(/^(?=[ \t]*=== )/gm, '> ');
}
