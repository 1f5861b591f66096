// Hides secrets in texts that people read and the store keeps.

/** Returns the text without the secrets of this process. */
export type Redact = (text: string) => string;

/** Characters. A shorter secret would also be found in words that are not secret. */
const SHORTEST_SECRET = 6;

const REPLACEMENT = '[redacted]';

/**
 * Matches an escaping backslash; JSON within JSON doubles it each time. The count is bounded so
 * that a run of them is not scanned again from each.
 */
const ESCAPE = String.raw`\\{1,8}`;

/**
 * Returns a function that hides secrets in whatever spelling they come back: as they are,
 * percent-encoded, JSON-escaped, in base64 at any offset. It is for texts that people read and the
 * store keeps; what a model says in a reply is not touched (L16).
 */
export function createRedact(secrets: readonly string[]): Redact {
  const spellings = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, ...listBase64Spellings(secret)])
    // The longer one of two that begin alike goes first.
    .toSorted((one, other) => other.length - one.length);
  if (spellings.length === 0) return (text) => text;
  const any = new RegExp([...new Set(spellings)].map(anyEscapePattern).join('|'), 'giu');
  return (text) => text.replace(any, REPLACEMENT);
}

/**
 * Returns the secret in base64 at each of three offsets within a longer text. Letters that hold
 * bits of its neighbours are left out.
 */
function listBase64Spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const whole = (offset + bytes.length) % 3 === 0;
    return encoded.slice(Math.ceil((offset * 8) / 6), whole ? undefined : -1);
  });
}

/** Returns a pattern for the text with any of its characters escaped, as a URL or JSON would. */
function anyEscapePattern(text: string): string {
  return Array.from(text, escapePatternOf).join('');
}

function escapePatternOf(character: string): string {
  const literal = character.replace(/[\\^$.*+?()[\]{}|/]/u, String.raw`\$&`);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25)?${toHex(byte, 2)}`).join('');
  const units = Array.from({ length: character.length }, (_, at) => toHex(character.charCodeAt(at), 4));
  const unicode = units.map((unit) => `${ESCAPE}u${unit}`).join('');
  return `(?:${[literal, percent, unicode, ...(OTHER_SPELLINGS[character] ?? [])].join('|')})`;
}

/** Other spellings of a character: base64 for URLs, a blank in a query, JSON's short escapes. */
const OTHER_SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  '+': ['-'],
  '/': ['_', `${ESCAPE}/`],
  ' ': [String.raw`\+`],
  '"': [`${ESCAPE}"`],
  '\\': [String.raw`\\\\`],
};

function toHex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
