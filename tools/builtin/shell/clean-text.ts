// Makes output for a terminal that does not exist plain text for a model: no colours, no cursor
// movement, no NUL.

/* oxlint-disable no-control-regex */
const ESCAPES = new RegExp(
  [
    '\\u001b\\][^\\u0007\\u001b\\n]{0,4096}(?:\\u0007|\\u001b\\\\)', // title and links: until a bell or ESC \
    '\\u001b\\[[0-?]*[ -/]*[@-~]', // colour, cursor, modes
    '\\u001b[PX^_][^\\u001b\\n]{0,4096}\\u001b\\\\', // device strings
    '\\u001b[ -/]*[0-~]', // two or three characters
  ].join('|'),
  'g',
);
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/* oxlint-enable no-control-regex */

/**
 * Makes a terminal's output plain. Line ends become LF: a carriage return alone, as of a progress
 * bar, starts a new line. Invalid UTF-8 becomes U+FFFD.
 */
export function cleanText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll(ESCAPES, '')
    .replaceAll(/\r+\n?/g, '\n')
    .replaceAll(CONTROLS, '');
}
