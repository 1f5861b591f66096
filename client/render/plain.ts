// Text from a model, a tool or a file is not allowed to drive a person's terminal: escape sequences, other control characters
// and marks that turn the direction of text around are taken out. Line breaks and tabs stay.

const ESC = '\u001b';
const C1 = '\u0080-\u009f';
/** Whole sequences, so that their parameters are not left standing: CSI, OSC and other strings, two-character ones. */
const sequences = new RegExp(
  `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]` +
    `|${ESC}[\\]PX^_][^\u0007${ESC}]*(?:\u0007|${ESC}\\\\)?` +
    `|${ESC}[ -/]*[0-~]`,
  'g',
);
const controls = new RegExp(`[\u0000-\u0008\u000b-\u001f\u007f${C1}\u200e\u200f\u202a-\u202e\u2066-\u2069]`, 'g');

export function plain(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(sequences, '')
    .replace(/[\u2028\u2029]/g, '\n')
    .replace(controls, '');
}

/** On one line, at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = plain(text.slice(0, most * 4))
    .trim()
    .replace(/\s+/g, ' ');
  const letters = Array.from(line);
  return letters.length <= most && text.length <= most * 4 ? line : `${letters.slice(0, most - 1).join('')}…`;
}

/** JSON that no terminal acts on: what JSON leaves as it is although terminals read it as control. */
export function jsonLine(value: unknown): string {
  const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, escape);
}
