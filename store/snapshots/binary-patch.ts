// Writes a patch of a file as `git diff --binary` does, in ASCII alone: text of another encoding,
// which git prints as it lies, would be falsified where a patch is a string.
import { deflateSync } from 'node:zlib';
import type { HeldFile, HeldPair } from './compare.ts';
import type { RawPath } from './listing.ts';

/** The content of each version, empty where there is none. */
type Contents = { readonly from: Buffer; readonly to: Buffer };

const NO_BLOB = '0'.repeat(40);
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Bytes of a line, of which its first letter tells the count. */
const LINE_BYTES = LETTERS.length;
const ESCAPES = new Map(['\x07a', '\bb', '\tt', '\nn', '\vv', '\ff', '\rr', '""', '\\\\'].map(([of, as]) => [of, as]));

/** `prefix` comes before the path, as in `makePatch`. */
export function binaryPatch({ path, from, to }: HeldPair, contents: Contents, prefix: RawPath): string {
  const [before, after] = ['a/', 'b/'].map((side) => quoteName(`${side}${prefix}${path}`));
  const lines = [`diff --git ${before} ${after}`, ...modeLines(from, to)];
  if (from?.blob === to?.blob) return toText(lines);
  const mode = from && from.mode === to?.mode ? ` ${from.mode}` : '';
  lines.push(`index ${from?.blob ?? NO_BLOB}..${to?.blob ?? NO_BLOB}${mode}`);
  const { from: had, to: has } = contents;
  // An empty file that comes or goes has nothing more to tell.
  if (had.length + has.length > 0) lines.push('GIT binary patch', ...literalLines(has), ...literalLines(had));
  return toText(lines);
}

const toText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

function modeLines(from: HeldFile | null, to: HeldFile | null): readonly string[] {
  if (from === null) return to === null ? [] : [`new file mode ${to.mode}`];
  if (to === null) return [`deleted file mode ${from.mode}`];
  return from.mode === to.mode ? [] : [`old mode ${from.mode}`, `new mode ${to.mode}`];
}

/** Quotes a name as git does with `core.quotePath`. */
function quoteName(name: RawPath): string {
  const quoted = name.replace(
    /[^\x20-\x7e]|["\\]/g,
    (byte) => `\\${ESCAPES.get(byte) ?? byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return quoted === name ? name : `"${quoted}"`;
}

function literalLines(content: Buffer): readonly string[] {
  const packed = deflateSync(content);
  const lines = [`literal ${content.length}`];
  for (let at = 0; at < packed.length; at += LINE_BYTES) {
    const part = packed.subarray(at, at + LINE_BYTES);
    lines.push(`${LETTERS[part.length - 1]}${toBase85(part)}`);
  }
  return [...lines, ''];
}

/** Writes four bytes as five digits, the last ones filled with zeros. */
function toBase85(bytes: Buffer): string {
  const filled = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(filled);
  let text = '';
  for (let at = 0; at < filled.length; at += 4) {
    let value = filled.readUInt32BE(at);
    let digits = '';
    for (let digit = 0; digit < 5; digit += 1) {
      digits = `${DIGITS[value % DIGITS.length]}${digits}`;
      value = Math.floor(value / DIGITS.length);
    }
    text += digits;
  }
  return text;
}
